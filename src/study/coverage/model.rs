//! What releases of counts say that follow a model: its coefficients, by the exact likelihood and by who takes releases for counts.

use super::config::{CoveragePart, ModelSpec};
use super::template::{failed, template};
use super::{CoveredRow, Reading};
use crate::failure::Failure;
use crate::grid::{Cell, Plan};
use crate::hash;
use crate::infer::{self, Covariates, Noisy};
use crate::inference::{Coefficient, Fit};
use crate::input::Subject;
use crate::invariant::Hierarchy;
use crate::rng::{Rng, Role, TaskKey, gamma, open01, stream};
use crate::table::Key;
use crate::{Error, Result};

/// The cell of the streams of counts: no run has it.
const COUNTS: u64 = 0x636f_756e_7473_0001;
/// The largest mean of a leaf.
const MOST: f64 = 1e6;

/// A cell whose counts are drawn anew for every release.
pub(super) struct Modelled {
    cell: Key,
    streams: u64,
    seed: u64,
    level: f64,
    spec: ModelSpec,
    noisy: Noisy,
    tree: Hierarchy,
    covariates: Covariates,
    /// The means of the leaves.
    means: Vec<f64>,
    /// The coefficients by which counts are drawn, in the order of a fit.
    truth: Vec<f64>,
}

impl Modelled {
    /// Errors: what the table of leaves has not.
    pub(super) fn new(plan: &Plan, cell: &Cell, spec: &ModelSpec) -> crate::failure::Result<Self> {
        let noisy = template(plan, cell).map_err(|e| Failure::Usage(e.to_string()))?;
        let Subject::Hierarchy(table) = &plan.subject else {
            let message =
                format!("{}: model: want a hierarchy, whose leaves have means", plan.config.path.display());
            return Err(Failure::Usage(message));
        };
        let names: Vec<String> = spec.coefficients.iter().map(|(name, _)| name.clone()).collect();
        let covariates = Covariates::read(&noisy, &spec.leaves, &names, spec.offset.as_ref())?;
        let mean = |leaf: usize| {
            let columns = spec.coefficients.iter().zip(&covariates.columns);
            let log = columns.map(|((_, b), (_, column))| b * column[leaf]).sum::<f64>() + spec.intercept;
            covariates.offset.as_ref().map_or(1.0, |offset| offset[leaf]) * libm::exp(log)
        };
        let means: Vec<f64> = (0..table.hierarchy.leaves().len()).map(mean).collect();
        if let Some(mean) = means.iter().find(|mean| !(**mean > 0.0 && **mean <= MOST)) {
            let message = format!(
                "{}: model: a leaf has the mean {mean}: want at most {MOST}",
                plan.config.path.display()
            );
            return Err(Failure::Usage(message));
        }
        let truth = std::iter::once(spec.intercept).chain(spec.coefficients.iter().map(|(_, b)| *b));
        Ok(Self {
            cell: Key(cell.key),
            streams: cell.streams,
            seed: cell.at.seed,
            level: CoveragePart::of(&plan.config).level,
            spec: spec.clone(),
            noisy,
            tree: table.hierarchy.clone(),
            covariates,
            means,
            truth: truth.chain(spec.size).collect(),
        })
    }

    /// The rows of a replicate: counts, their release, and what two readers say of the coefficients. Errors: the method.
    pub(super) fn rows(&self, replicate: u64) -> Result<Vec<CoveredRow>> {
        // The same counts for all cells of a seed.
        let key = TaskKey { seed: self.seed, cell: COUNTS, replicate, role: Role::Noise };
        let mut rng = stream(key);
        let mut counts = vec![0i64; self.tree.nodes()];
        for (&leaf, &mean) in self.tree.leaves().iter().zip(&self.means) {
            counts[leaf as usize] = drawn(&mut rng, mean, self.spec.size);
        }
        self.tree.sum_up(&mut counts);
        let seed = hash::word(&format!("model {} {} {replicate}", self.seed, self.streams));
        let values = infer::release(&self.noisy, counts, seed).map_err(failed)?;
        let released = Noisy { values, ..self.noisy.clone() };
        let (exact, naive) = infer::fits(&released, self.spec.counts(), &self.covariates, self.level)?;
        let mut rows = Vec::new();
        for (intervals, fit) in [(Reading::Likelihood, exact), (Reading::AsCounts, Some(naive))] {
            match fit {
                Some(Ok(fit)) => rows.extend(self.of_fit(replicate, intervals, fit).into_iter().flatten()),
                // Without a maximum there is no interval: the release is not among those of which it is told.
                None | Some(Err(Error::Model(_))) => {}
                Some(Err(other)) => return Err(other),
            }
        }
        Ok(rows)
    }

    /// The rows of a fit; `None` where an interval has no end.
    fn of_fit(&self, replicate: u64, intervals: Reading, fit: Fit) -> Option<Vec<CoveredRow>> {
        let row = |(class, (own, &truth)): (u32, (Coefficient, &f64))| {
            let (length, error) = (own.high - own.low, own.estimate - truth);
            length.is_finite().then(|| CoveredRow {
                cell: self.cell,
                replicate,
                intervals,
                class,
                covered: f64::from(u8::from(own.low <= truth && truth <= own.high)),
                length,
                bias: error,
                squared: error * error,
                variance: own.standard_error * own.standard_error,
            })
        };
        (1..).zip(fit.coefficients.into_iter().zip(&self.truth)).map(row).collect()
    }
}

/// A count of a model: Poisson, or with a size negative binomial.
fn drawn<R: Rng + ?Sized>(rng: &mut R, mean: f64, size: Option<f64>) -> i64 {
    let Some(size) = size else { return poisson(rng, mean) };
    // Gamma of a shape below 1 is one of 1 more times a power of a uniform number.
    let shape = if size < 1.0 { size + 1.0 } else { size };
    let more = if size < 1.0 { libm::pow(open01(rng), 1.0 / size) } else { 1.0 };
    let own = gamma(rng, shape) * more * mean / size;
    poisson(rng, own)
}

/// A Poisson count by inversion; of a large mean in parts.
fn poisson<R: Rng + ?Sized>(rng: &mut R, mean: f64) -> i64 {
    const PART: f64 = 500.0;
    let (mut left, mut count) = (mean, 0);
    while left > 0.0 {
        let part = left.min(PART);
        left -= part;
        let (mut beyond, mut p, mut x) = (open01(rng), libm::exp(-part), 0i64);
        // Far beyond what a double can tell from 1.
        while beyond >= p && x < 2_000 {
            beyond -= p;
            x += 1;
            p *= part / x as f64;
        }
        count += x;
    }
    count
}
