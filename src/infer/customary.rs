//! What is said of counts that an office perturbed or rounded, without a formal loss: each by its own published value.

use super::drawn;
use super::interval::{By, Said};
use super::leaves::Leaves;
use super::noisy::Structure;
use super::posterior::Believed;
use super::target::Target;
use super::{Noisy, Shared, Wish, priors};
use crate::failure::{Failure, Result};
use crate::inference::{CountLaw, Prior, SumPrior};
use crate::invariant::Hierarchy;
use crate::rng::{Role, TaskKey, open01, stream};
use crate::sdc::Publishing;
use rayon::prelude::*;

/// Draws of sums.
const CELL: u64 = 0x6375_7374_6f6d_6172;

/// A release without noise.
struct Office<'a> {
    noisy: &'a Noisy,
    tree: &'a Hierarchy,
    publishing: Publishing,
    level: f64,
    /// By node, the least and the largest count that it may have.
    possible: Vec<(f64, f64)>,
}

/// What is said of the targets. Errors: draws, which such a release has not; a prior where counts are known, or that leaves nothing.
pub(super) fn said(
    wish: &Wish,
    (noisy, leaves): (&Noisy, Option<&Leaves>),
    targets: &[Target],
) -> Result<Believed> {
    let refused = |e| noisy.refused(e);
    let office = Office::new(noisy, wish.level)?;
    let Some(prior) = &wish.prior else {
        let said = targets.iter().map(|target| office.without_prior(target)).collect();
        return Ok(Believed { said, draws: 0, words: String::new(), chains: None, kept: Vec::new() });
    };
    let method = noisy.method.name();
    let no_posterior = |why: &str| Err(Failure::data(&noisy.path, format!("{why} of releases by {method}")));
    if wish.draws > 0 {
        return no_posterior("--draws: no joint posterior");
    }
    if office.tree.has_known() {
        return no_posterior("--prior: no posterior beside known counts");
    }
    // Counts are >= 0.
    let prior = if *prior == Shared::Flat { &Shared::Nonnegative } else { prior };
    let evidence = |priors: &[Prior]| office.log_evidence(priors);
    let (priors, words) = priors::of(wish, (noisy, office.tree, leaves), prior, &evidence)?;
    let beliefs = office.beliefs(&priors).map_err(refused)?;
    let sums: Vec<&Target> = targets.iter().filter(|target| matches!(target, Target::Sum(_))).collect();
    let draws = match office.publishing {
        Publishing::CellKeys(_) if !sums.is_empty() => {
            drawn::number(sums.len(), wish.level).map_err(refused)?
        }
        _ => 0,
    };
    let mut of_sums = office.drawn_sums(&beliefs, &sums, (draws, wish.seed)).into_iter();
    let of = |target: &Target| match target {
        Target::Count(v) => office.with_prior(*v, &beliefs[*v]),
        Target::Sum(_) if draws == 0 => office.without_prior(target),
        Target::Sum(_) => Said::of_draws(of_sums.next().unwrap_or_default(), wish.level),
    };
    let said = targets.iter().map(of).collect();
    Ok(Believed { said, draws, words, chains: None, kept: Vec::new() })
}

/// What is believed of a node.
#[derive(Default)]
struct Belief {
    /// Given its published value alone; `None`: nothing is.
    law: Option<CountLaw>,
    /// The probability that the value is true, or a lower bound of it.
    is_true: Option<f64>,
}

impl<'a> Office<'a> {
    /// Errors: a table.
    fn new(noisy: &'a Noisy, level: f64) -> Result<Self> {
        let publishing = noisy.method.publishing().map_err(|e| noisy.refused(e))?;
        let (Some(publishing), Structure::Tree(nodes)) = (publishing, &noisy.structure) else {
            return Err(Failure::data(&noisy.path, "want the release of a tree"));
        };
        let tree = &nodes.tree;
        let mut possible = vec![(0.0, 0.0); tree.nodes()];
        for v in (0..tree.nodes()).rev() {
            let value = noisy.values[v];
            possible[v] = match publishing {
                _ if tree.is_known(v) => (value, value),
                Publishing::Rounding { .. } if !tree.is_leaf(v) => tree
                    .children(v)
                    .fold((0.0, 0.0), |sum, child| (sum.0 + possible[child].0, sum.1 + possible[child].1)),
                _ => publishing
                    .possible(value as i64)
                    .map_or((value, value), |(least, most)| (least as f64, most as f64)),
            };
        }
        Ok(Self { noisy, tree, publishing, level, possible })
    }

    /// The standard deviation of the error of so many counts that cell keys change apart from each other; of rounding it is not known.
    fn deviation(&self, number: usize) -> f64 {
        match &self.publishing {
            Publishing::CellKeys(table) => libm::sqrt(number as f64 * table.variance()),
            Publishing::Rounding { .. } => f64::NAN,
        }
    }

    fn without_prior(&self, target: &Target) -> Said {
        let estimate = self.noisy.estimate(target);
        let sure =
            |(low, high), deviation| Said { low, high, ..Said::around(estimate, 0.0, deviation, By::Bound) };
        match target {
            Target::Count(v) if self.tree.is_known(*v) => Said::around(estimate, 0.0, 0.0, By::Law),
            Target::Count(v) => match &self.publishing {
                Publishing::CellKeys(_) => {
                    let own = self.publishing.interval(estimate as i64, self.level);
                    let (low, high) = own.map_or(self.possible[*v], |(low, high)| (low as f64, high as f64));
                    Said { low, high, ..Said::around(estimate, 0.0, self.deviation(1), By::Law) }
                }
                Publishing::Rounding { .. } => sure(self.possible[*v], f64::NAN),
            },
            Target::Sum(weights) => {
                let ends = |&(v, weight): &(u32, i8)| {
                    let (least, most) = self.possible[v as usize];
                    if weight < 0 { (-most, -least) } else { (least, most) }
                };
                let (least, most) =
                    weights.iter().map(ends).fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
                let open = weights.iter().filter(|(v, _)| !self.tree.is_known(*v as usize)).count();
                let far = self.bernstein(open);
                sure((least.max(estimate - far), most.min(estimate + far)), self.deviation(open))
            }
        }
    }

    /// How far the sum of the errors of so many leaves is at most, with the probability of the level at least. Those of cell keys depend on
    /// each other in nothing, since leaves share no records; each has mean 0, a variance of V at most, and is D at most (Bernstein's
    /// inequality). Of rounding nothing is said.
    fn bernstein(&self, number: usize) -> f64 {
        let Publishing::CellKeys(table) = &self.publishing else { return f64::INFINITY };
        let log = libm::log(2.0 / (1.0 - self.level));
        let part = table.largest() as f64 * log / 3.0;
        let far = part + libm::sqrt(part * part + 2.0 * number as f64 * table.variance() * log);
        libm::floor(far * (1.0 + 1e-12))
    }

    /// What is believed of every node. Errors: a prior that leaves nothing.
    fn beliefs(&self, priors: &[Prior]) -> crate::Result<Vec<Belief>> {
        let tree = self.tree;
        let mut sums: Vec<Option<SumPrior>> = vec![None; tree.nodes()];
        for v in (0..tree.nodes()).rev() {
            sums[v] = match tree.is_leaf(v) {
                true => Some(SumPrior::of(priors[tree.leaf_number(v as u32) - 1])?),
                false => {
                    let mut below = tree.children(v).map(|child| sums[child]);
                    let first = below.next().flatten();
                    below.fold(first, |sum, own| sum?.and(&own?))
                }
            };
        }
        let of = |(v, sum): (usize, &Option<SumPrior>)| {
            let is_told = tree.is_leaf(v) || matches!(self.publishing, Publishing::CellKeys(_));
            let Some(sum) = sum.as_ref().filter(|_| is_told) else { return Ok(Belief::default()) };
            let published = self.noisy.values[v] as i64;
            let law = self.publishing.posterior(published, sum);
            let is_true = match &law {
                Some(law) => Some(law.p(published)),
                None => self.publishing.is_true(published, sum),
            };
            let why = || {
                let (least, most) = self.possible[v];
                format!(
                    "was published as {published}: want a prior under which it may be from {least} to {most}"
                )
            };
            let is_true = is_true.ok_or_else(|| crate::Error::AtNode { node: v, why: why() })?;
            Ok(Belief { law, is_true: Some(is_true) })
        };
        sums.par_iter().enumerate().map(of).collect()
    }

    /// How likely priors make what is published of leaves, in logarithms. What is published above them depends on the same keys, and is
    /// not used. Errors: rounded counts.
    fn log_evidence(&self, priors: &[Prior]) -> crate::Result<f64> {
        let value = |leaf: &u32| self.noisy.values[*leaf as usize] as i64;
        let mut leaves: Vec<(i64, Prior)> =
            self.tree.leaves().iter().map(value).zip(priors.iter().copied()).collect();
        leaves.sort_by_key(|(published, _)| *published);
        // What is alike is told once.
        let told = leaves.chunk_by(|one, other| one == other).map(|alike| {
            let (published, prior) = alike[0];
            Ok(alike.len() as f64 * self.publishing.log_evidence(published, prior)?)
        });
        told.sum()
    }

    fn with_prior(&self, v: usize, Belief { law, is_true }: &Belief) -> Said {
        let Some(law) = law else {
            return Said { is_true: *is_true, ..self.without_prior(&Target::Count(v)) };
        };
        Said { is_true: *is_true, ..Said::of_law(law, self.level) }
    }

    /// Sums over leaves in draws of their posteriors, sum by sum: leaves depend on each other in nothing.
    fn drawn_sums(&self, beliefs: &[Belief], sums: &[&Target], (draws, seed): (usize, u64)) -> Vec<Vec<f64>> {
        let mut leaves: Vec<u32> = sums
            .iter()
            .flat_map(|sum| match sum {
                Target::Sum(weights) => weights.iter().map(|(leaf, _)| *leaf).collect(),
                Target::Count(_) => Vec::new(),
            })
            .collect();
        leaves.sort_unstable();
        leaves.dedup();
        let of_draw = |replicate: u64| -> Vec<f64> {
            let mut rng = stream(TaskKey { seed, cell: CELL, replicate, role: Role::Noise });
            let mut counts = vec![0.0; self.tree.nodes()];
            for &leaf in &leaves {
                let law = beliefs[leaf as usize].law.as_ref();
                counts[leaf as usize] = law.map_or(0.0, |law| law.quantile(open01(&mut rng)) as f64);
            }
            sums.iter().map(|target| target.value(|v| counts[v])).collect()
        };
        let all: Vec<Vec<f64>> = (0..draws as u64).into_par_iter().map(of_draw).collect();
        let of_sum = |place: usize| all.iter().map(|values| values[place]).collect();
        (0..if draws > 0 { sums.len() } else { 0 }).map(of_sum).collect()
    }
}
