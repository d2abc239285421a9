//! Exact draws and projections on arrays.

use crate::arrays::{self, Rows};
use crate::config::written;
use crate::failure::{exception, guarded, refused, usage};
use crate::invariant::Invariant;
use crate::waiting::{Waiting, wait};
use congenial::catalogue::{IntegerNoise, LawKind, OnLaw, RealNoise, TreeNoise};
use congenial::config::{Point, SplitSpec};
use congenial::engine::Watch;
use congenial::exact::{ContinuousSampler, ExactLattice, LatticeExact, LatticeScratch, TreeSampler};
use congenial::failure::Failure;
use congenial::grid::calibrate;
use congenial::imaging::{
    BlueDown, BlueDownScratch, ImageScratch, IntegerL2, IntegerNnl2, L2, LatticeL1, LatticeL2, LatticeNnl2,
    TopDown, TopDownScratch,
};
use congenial::input::{InvariantTable, Subject};
use congenial::invariant::{Hierarchy, Region, check_free};
use congenial::law::{EuclideanLaplace, Value};
use congenial::making;
use congenial::privacy::Calibration;
use congenial::rng::{Role, Stream, TaskKey, stream};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::cell::OnceCell;

/// A noise law with its scale, or the budget that gives it.
#[pyclass(frozen, module = "congenial")]
pub struct Law {
    kind: LawKind,
    /// By level; one for all.
    scales: Option<Vec<f64>>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    sensitivity: f64,
    split: SplitSpec,
}

#[pymethods]
impl Law {
    #[new]
    #[pyo3(signature = (name, *, epsilon=None, delta=None, sensitivity=1.0, split="each", scale=None))]
    fn new(
        name: &str,
        epsilon: Option<f64>,
        delta: Option<f64>,
        sensitivity: f64,
        split: &str,
        scale: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let is_noise = |law: &LawKind| law.is_noise();
        let kind = LawKind::named(name).filter(is_noise).ok_or_else(|| {
            let names: Vec<&str> =
                LawKind::ALL.iter().filter(|law| law.is_noise()).map(|law| law.name()).collect();
            usage(format!("law: got `{name}`, want one of {}", names.join(", ")))
        })?;
        // One alone has its own words: it may be no finite number.
        let scales = match scale.map(|scale| (scale, scale.extract::<f64>())) {
            None => None,
            Some((_, Ok(one))) => Some(vec![one]),
            Some((all, Err(_))) => Some(arrays::reals(all, "scale")?),
        };
        if let Some(wrong) = scales.iter().flatten().find(|x| !(x.is_finite() && **x > 0.0)) {
            return Err(usage(format!("scale: got {wrong}, want a finite number > 0")));
        }
        match (&scales, epsilon) {
            (None, None) => return Err(usage(format!("law `{name}`: want `epsilon` or `scale`"))),
            (Some(_), Some(_)) => {
                return Err(usage(format!("law `{name}`: want one of `epsilon` and `scale`")));
            }
            _ => {}
        }
        if scales.is_none() && kind.needs_delta() != delta.is_some() {
            let want = if delta.is_none() { "want `delta` beside `epsilon`" } else { "it takes no `delta`" };
            return Err(usage(format!("law `{name}`: {want}")));
        }
        let split = SplitSpec::named(split).ok_or_else(|| {
            usage(format!("split: got `{split}`, want `each`, `even`, or shares as `0.5/0.5`"))
        })?;
        Ok(Self { kind, scales, epsilon, delta, sensitivity, split })
    }

    /// The name in configs and results.
    #[getter]
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn __repr__(&self) -> String {
        let noise = match (&self.scales, self.epsilon) {
            (Some(scales), _) => format!("scale={scales:?}"),
            (None, Some(epsilon)) => format!("epsilon={epsilon:?}"),
            (None, None) => String::new(),
        };
        format!("Law({:?}, {noise})", self.kind.name())
    }
}

impl Law {
    fn calibration(&self, subject: &Subject) -> congenial::Result<Calibration> {
        let (levels, known) = (subject.levels(), subject.known_levels());
        if let Some(scales) = &self.scales {
            let scales = match (&scales[..], levels - known) {
                ([one], levels) => vec![*one; levels],
                (all, levels) if all.len() == levels => all.to_vec(),
                (all, levels) => {
                    let want = "one, or one for each level that is measured";
                    return Err(congenial::Error::Parameter {
                        name: "scale",
                        got: format!("{} for {levels} levels", all.len()),
                        want,
                    });
                }
            };
            return Ok(Calibration { scales, epsilon: f64::NAN, delta: 0.0 }.below_known(known));
        }
        let &Self { kind: law, delta, sensitivity, .. } = self;
        let at = Point { law, delta, sensitivity, split: self.split.clone(), ..Point::default() };
        calibrate(&at, self.epsilon.unwrap_or(f64::NAN), subject, &OnceCell::new())
    }
}

/// Rows of integers, or of reals.
enum Made {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
}

impl Made {
    fn into_array<'py>(self, py: Python<'py>, columns: usize, alone: bool) -> PyResult<Bound<'py, PyAny>> {
        fn shaped<'py, T: numpy::Element>(
            py: Python<'py>,
            values: Vec<T>,
            columns: usize,
            alone: bool,
        ) -> PyResult<Bound<'py, PyAny>> {
            let rows = values.len() / columns.max(1);
            let array = PyArray1::from_vec(py, values);
            Ok(if alone { array.into_any() } else { array.reshape([rows, columns])?.into_any() })
        }
        match self {
            Self::Integers(values) => shaped(py, values, columns, alone),
            Self::Reals(values) => shaped(py, values, columns, alone),
        }
    }
}

/// Why nothing is returned.
enum Stopped {
    Failed(Failure),
    Memory(String),
}

impl Stopped {
    fn exception(self) -> PyErr {
        match self {
            Self::Failed(failure) => exception(failure),
            Self::Memory(text) => PyMemoryError::new_err(text),
        }
    }
}

type Drawn<T> = Result<T, Stopped>;

fn core(error: congenial::Error) -> Stopped {
    Stopped::Failed(Failure::Usage(error.to_string()))
}

/// How rows are made: each by a stream of its own, so that they are the same for any number of threads.
struct Loop<'a> {
    seed: u64,
    rows: usize,
    columns: usize,
    threads: usize,
    waiting: &'a Waiting,
}

impl Loop<'_> {
    /// Makes every row; `each`: of its number. Errors: no memory, that it was stopped, and of `each`.
    fn run<V: Default + Clone + Send, S>(
        &self,
        scratch: impl Fn() -> S + Sync,
        each: impl Fn(usize, &mut Stream, &mut S, &mut [V]) -> congenial::Result<()> + Sync,
    ) -> Drawn<Vec<V>> {
        let Self { seed, rows, columns, .. } = *self;
        let mut all: Vec<V> = Vec::new();
        let wanted = rows.checked_mul(columns);
        let there = wanted.is_some_and(|wanted| all.try_reserve_exact(wanted).is_ok());
        if !there {
            return Err(Stopped::Memory(format!(
                "size: {rows} rows of {columns} counts do not fit into memory"
            )));
        }
        all.resize(rows * columns, V::default());
        let (next, failure) =
            (std::sync::Mutex::new(all.chunks_mut(columns.max(1)).enumerate()), std::sync::Mutex::new(None));
        let work = || {
            let mut scratch = scratch();
            loop {
                if self.waiting.is_stopped() {
                    break;
                }
                // Some at a time.
                let some: Vec<(usize, &mut [V])> = match next.lock() {
                    Ok(mut next) => next.by_ref().take((1 << 14) / columns.max(1) + 1).collect(),
                    Err(_) => break,
                };
                if some.is_empty() {
                    break;
                }
                for (row, out) in some {
                    let key = TaskKey { seed, cell: 0, replicate: row as u64, role: Role::Noise };
                    if let Err(error) = each(row, &mut stream(key), &mut scratch, out) {
                        if let Ok(mut failure) = failure.lock() {
                            let first: &mut Option<(usize, congenial::Error)> = &mut failure;
                            if first.as_ref().is_none_or(|(before, _)| row < *before) {
                                *first = Some((row, error));
                            }
                        }
                        return;
                    }
                }
            }
        };
        // More than eight for each core are of no use.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 1..self.threads.min(rows.max(1)).min(8 * cores) {
                // One that cannot be started is one less.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        if let Ok(Some((row, error))) = failure.into_inner() {
            return Err(Stopped::Failed(Failure::Usage(format!("row {row} (from 0): {error}"))));
        }
        match self.waiting.is_stopped() {
            true => Err(Stopped::Failed(Failure::Interrupted("it was stopped".into()))),
            false => Ok(all),
        }
    }
}

/// Exact draws of the noise given the invariant.
struct Exact<'a> {
    invariant: &'a Invariant,
    calibration: &'a Calibration,
    law: LawKind,
    rows: Loop<'a>,
}

impl Exact<'_> {
    fn unserved(&self) -> congenial::Error {
        congenial::Error::Unsupported {
            method: "exact",
            what: format!("the law `{}` on a {}", self.law.name(), self.invariant.subject.name()),
            reason: "they do not go together",
        }
    }

    fn tree<L: TreeNoise>(
        &self,
        tree: &Hierarchy,
        law: fn(f64) -> congenial::Result<L>,
    ) -> Drawn<Vec<L::Value>>
    where
        L::Value: Send,
        L::Exact: Sync,
    {
        if !self.law.on_hierarchies() {
            return Err(core(self.unserved()));
        }
        let laws = self.calibration.laws(law).collect::<congenial::Result<Vec<_>>>().map_err(core)?;
        let counts = self.invariant.nonnegative.then(|| self.invariant.confidential());
        let sampler = L::tree_sampler(tree, &laws, counts).map_err(core)?;
        self.rows.run(Default::default, |_, rng, scratch, noise| {
            sampler.draw(rng, scratch, noise);
            tree.check(noise)?;
            tree.check_known(noise)?;
            let released = |counts: &[i64]| -> Vec<L::Value> {
                counts.iter().zip(&*noise).map(|(&x, &z)| L::Value::from_count(x) + z).collect()
            };
            counts.map_or(Ok(()), |counts| tree.check_nonnegative(&released(counts)))
        })
    }

    fn lattice<L: ExactLattice>(
        &self,
        table: &InvariantTable,
        law: fn(f64) -> congenial::Result<L>,
    ) -> Drawn<Vec<i64>> {
        check_free(&table.invariant).map_err(core)?;
        let law = law(self.calibration.scales[0]).map_err(core)?;
        let sampler = LatticeExact::new(&table.invariant, Some(&table.region), law).map_err(core)?;
        self.rows.run(LatticeScratch::default, |_, rng, scratch, noise| {
            sampler.draw(rng, scratch, noise);
            table.invariant.check(noise).and_then(|()| table.region.check(noise))
        })
    }
}

impl OnLaw for Exact<'_> {
    type Output = Drawn<Made>;

    fn integers<L: IntegerNoise>(
        self,
        law: fn(f64) -> congenial::Result<L>,
    ) -> congenial::Result<Drawn<Made>> {
        Ok(match &*self.invariant.subject {
            Subject::Hierarchy(table) => self.tree(&table.hierarchy, law),
            Subject::Table(table) => self.lattice(table, law),
        }
        .map(Made::Integers))
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> congenial::Result<L>) -> congenial::Result<Drawn<Made>> {
        Ok(match &*self.invariant.subject {
            Subject::Hierarchy(table) => self.tree(&table.hierarchy, law),
            Subject::Table(table) => {
                check_free(&table.invariant)?;
                let law = law(self.calibration.scales[0])?;
                let sampler = ContinuousSampler::new(law, &table.invariant, Some(&table.region))?;
                self.rows.run(
                    || (),
                    |_, rng, (), noise| {
                        sampler.draw(rng, noise);
                        table.invariant.check_reals(noise, 0.0).and_then(|()| table.region.check_reals(noise))
                    },
                )
            }
        }
        .map(Made::Reals))
    }

    fn euclidean(
        self,
        law: fn(f64) -> congenial::Result<EuclideanLaplace>,
    ) -> congenial::Result<Drawn<Made>> {
        match &*self.invariant.subject {
            Subject::Hierarchy(_) => Err(self.unserved()),
            Subject::Table(table) => Ok(self.lattice(table, law).map(Made::Integers)),
        }
    }
}

/// An integer argument within bounds.
fn within(name: &str, given: &Bound<PyAny>, least: i128, most: i128, want: &str) -> PyResult<i128> {
    let number: Option<i128> = given.extract().ok();
    number
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| usage(format!("{name}: got {}, want {want}", written(given))))
}

fn seed_of(given: &Bound<PyAny>) -> PyResult<u64> {
    Ok(within("seed", given, 0, i128::from(u64::MAX), "an integer from 0 to 2^64 - 1")? as u64)
}

/// Threads that are asked for.
pub fn threads_of(given: Option<&Bound<PyAny>>) -> PyResult<usize> {
    let given = given.map(|given| within("threads", given, 1, 65535, "an integer from 1 to 65535"));
    Ok(making::threads(given.transpose()?.map(|n| n as usize)))
}

/// Draws the noise given the invariant, exactly. What is returned keeps it, or an `Error` is raised; `MemoryError`
/// where the rows do not fit into memory.
#[pyfunction]
#[pyo3(signature = (invariant, law, size=None, seed=None, *, threads=None))]
pub fn exact<'py>(
    py: Python<'py>,
    invariant: &Invariant,
    law: &Law,
    size: Option<&Bound<'py, PyAny>>,
    seed: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let most = i128::from(i64::MAX);
    let rows = size.map(|size| within("size", size, 0, most, "an integer >= 0")).transpose()?;
    let seed = seed.map_or(Ok(1), seed_of)?;
    let threads = threads_of(threads)?;
    let columns = invariant.size();
    let calibration = guarded(|| law.calibration(&invariant.subject))?;
    // A row as it is drawn, and what a sampler knows of a count.
    arrays::room("size", 8 * columns as u128 * (rows.unwrap_or(1) as u128 + OF_SAMPLER))?;
    let drawn = wait(py, false, |waiting| {
        let rows = Loop { seed, rows: rows.unwrap_or(1) as usize, columns, threads, waiting };
        law.kind.on(Exact { invariant, calibration: &calibration, law: law.kind, rows })
    })?;
    drawn.map_err(refused)?.map_err(Stopped::exception)?.into_array(py, columns, size.is_none())
}

/// Numbers that a sampler or a projection keeps for a count, roughly.
const OF_SAMPLER: u128 = 16;
/// Where between its ends `l1` takes what several projections are, by default.
const BETA: f64 = 0.5;

/// The projections, by the names of methods.
const TREE_KINDS: [&str; 3] = ["l2", "topdown", "bluedown"];
const TABLE_KINDS: [&str; 5] = ["l2", "l1", "nnl2", "l2-then-integer-l1", "nnl2-then-integer-l1"];

/// Moves noisy counts to the closest that keep the invariant. What is returned keeps it, or an `Error` is raised.
///
/// `variances`: of the noise by level of a tree, for `l2` and `bluedown`; `beta`: of `l1`, by default 0.5. Other kinds
/// refuse them. Refused are numbers beyond 2^53 in size, that are not finite or masked, and rows whose absolute values
/// sum up to more than 2^60.
#[pyfunction]
#[pyo3(signature = (invariant, noisy, kind="l2", *, seed=None, variances=None, beta=None, threads=None))]
#[allow(clippy::too_many_arguments)]
pub fn project<'py>(
    py: Python<'py>,
    invariant: &Invariant,
    noisy: &Bound<'py, PyAny>,
    kind: &str,
    seed: Option<&Bound<'py, PyAny>>,
    variances: Option<&Bound<'py, PyAny>>,
    beta: Option<f64>,
    threads: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let columns = invariant.size();
    let kinds = match &*invariant.subject {
        Subject::Hierarchy(_) => &TREE_KINDS[..],
        Subject::Table(_) => &TABLE_KINDS[..],
    };
    if !kinds.contains(&kind) {
        let on = invariant.subject.name();
        return Err(usage(format!("kind: got `{kind}`, want one of {} on a {on}", kinds.join(", "))));
    }
    let seed = seed.map_or(Ok(1), seed_of)?;
    let threads = threads_of(threads)?;
    let tree = matches!(&*invariant.subject, Subject::Hierarchy(_));
    let takes = |name: &str, given: bool, takes: bool, which: &str| match given && !takes {
        true => Err(usage(format!(
            "{name}: got some for `{kind}` on a {}, only {which}",
            invariant.subject.name()
        ))),
        false => Ok(()),
    };
    takes(
        "variances",
        variances.is_some(),
        tree && kind != "topdown",
        "`l2` and `bluedown` on a hierarchy take them",
    )?;
    takes("beta", beta.is_some(), kind == "l1", "`l1` on a table takes it")?;
    if tree && kind == "l2" && invariant.nonnegative {
        return Err(usage(
            "kind: `l2` leaves it aside that nothing is negative, want `topdown` or `bluedown`",
        ));
    }
    let variances = variances.map(|given| arrays::reals(given, "variances")).transpose()?;
    let Rows { values: noisy, rows, alone } = arrays::rows(noisy, "noisy", columns)?;
    arrays::room("noisy", 8 * columns as u128 * (rows as u128 + OF_SAMPLER))?;
    let projected = wait(py, false, |waiting| {
        let rows = Loop { seed, rows, columns, threads, waiting };
        match &*invariant.subject {
            Subject::Hierarchy(table) => {
                let levels = table.hierarchy.levels();
                let variances = variances.unwrap_or_else(|| vec![1.0; levels]);
                on_tree(kind, invariant, &table.hierarchy, &variances, &noisy, &rows)
            }
            Subject::Table(table) => on_table(kind, table, beta.unwrap_or(BETA), &noisy, &rows),
        }
    })?;
    projected.map_err(Stopped::exception)?.into_array(py, columns, alone)
}

fn on_tree(
    kind: &str,
    invariant: &Invariant,
    tree: &Hierarchy,
    variances: &[f64],
    noisy: &[f64],
    rows: &Loop,
) -> Drawn<Made> {
    let counts = invariant.confidential();
    let of = |row: usize| &noisy[row * rows.columns..(row + 1) * rows.columns];
    let checked = |released: &[i64]| {
        let noise: Vec<i64> = released.iter().zip(counts).map(|(y, x)| y - x).collect();
        invariant.check_integers(released, &noise)?;
        // Also without being asked.
        tree.check_nonnegative(released)
    };
    let errors = |row: usize| of(row).iter().zip(counts).map(|(y, &x)| y - x as f64).collect::<Vec<f64>>();
    match kind {
        "l2" => {
            let l2 = L2::new(tree, variances).map_err(core)?;
            let reals = rows.run(
                || (),
                |row, _, (), out: &mut [f64]| {
                    let mut errors = errors(row);
                    // Known counts have no noise.
                    (0..errors.len()).filter(|&v| tree.is_known(v)).for_each(|v| errors[v] = 0.0);
                    l2.project(&mut errors);
                    out.iter_mut().zip(&errors).zip(counts).for_each(|((y, z), &x)| *y = x as f64 + z);
                    invariant.check(out, &errors)
                },
            );
            reals.map(Made::Reals)
        }
        "topdown" => {
            let topdown = TopDown::new(tree, counts);
            let integers = rows.run(
                || (TopDownScratch::default(), TopDownScratch::default()),
                |row, rng, (whole, real), out: &mut [i64]| {
                    match whole_numbers(of(row)) {
                        Some(noisy) => topdown.release(&noisy, rng, whole, out),
                        None => topdown.release(of(row), rng, real, out),
                    }
                    checked(out)
                },
            );
            integers.map(Made::Integers)
        }
        _ => {
            let bluedown = BlueDown::new(tree, variances, counts).map_err(core)?;
            let integers = rows.run(BlueDownScratch::default, |row, rng, scratch, out: &mut [i64]| {
                bluedown.release(counts, &errors(row), rng, scratch, out);
                checked(out)
            });
            integers.map(Made::Integers)
        }
    }
}

/// Integers that are exactly these numbers.
fn whole_numbers(values: &[f64]) -> Option<Vec<i64>> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    values.iter().map(|&x| (x == x.trunc() && x.abs() <= MOST).then_some(x as i64)).collect()
}

/// Refuses the projections that leave inequalities aside where a table has some. Errors: in the words of the caller's
/// argument `kind`, with one that keeps them.
fn check_keeps_inequalities(kind: &str, region: &Region) -> Drawn<()> {
    if matches!(kind, "l2" | "l2-then-integer-l1") && !region.is_everything() {
        let other = if kind == "l2" { "nnl2" } else { "nnl2-then-integer-l1" };
        let message = format!("kind: `{kind}` leaves the inequalities aside, want `{other}`");
        return Err(Stopped::Failed(Failure::Usage(message)));
    }
    Ok(())
}

/// Makes integer noise a release, by adding the counts. Errors: beyond 64 bits.
fn add_counts(noise: &mut [i64], counts: &[i64]) -> congenial::Result<()> {
    for (y, x) in noise.iter_mut().zip(counts) {
        let (got, want) = (y.to_string(), "counts of 64 bits");
        *y = y.checked_add(*x).ok_or(congenial::Error::Parameter { name: "noisy", got, want })?;
    }
    Ok(())
}

fn on_table(kind: &str, table: &InvariantTable, beta: f64, noisy: &[f64], rows: &Loop) -> Drawn<Made> {
    let (invariant, region, counts) = (&table.invariant, &table.region, &table.counts[..]);
    check_free(invariant).map_err(core)?;
    check_keeps_inequalities(kind, region)?;
    let errors = |row: usize| {
        let row = &noisy[row * rows.columns..(row + 1) * rows.columns];
        row.iter().zip(counts).map(|(y, &x)| y - x as f64).collect::<Vec<f64>>()
    };
    let released = |out: &mut [f64], errors: &[f64]| {
        out.iter_mut().zip(errors).zip(counts).for_each(|((y, z), &x)| *y = x as f64 + z);
    };
    let widest = |errors: &[f64]| errors.iter().fold(0.0f64, |widest, z| widest.max(z.abs()));
    match kind {
        "l2" => {
            let l2 = LatticeL2::new(invariant).map_err(core)?;
            let reals = rows.run(
                || (),
                |row, _, (), out: &mut [f64]| {
                    let mut errors = errors(row);
                    let before = widest(&errors);
                    l2.project(&mut errors);
                    released(out, &errors);
                    invariant.check_reals(&errors, before)
                },
            );
            reals.map(Made::Reals)
        }
        "l1" => {
            let l1 = LatticeL1::new(invariant, region, beta).map_err(core)?;
            let reals = rows.run(
                || (),
                |row, _, (), out: &mut [f64]| {
                    let mut errors = errors(row);
                    let before = widest(&errors);
                    l1.project(&mut errors);
                    released(out, &errors);
                    invariant.check_reals(&errors, before)?;
                    region.check_bounds(&errors)
                },
            );
            reals.map(Made::Reals)
        }
        "nnl2" => {
            let nnl2 = LatticeNnl2::new(invariant, region).map_err(core)?;
            let reals = rows.run(ImageScratch::default, |row, _, scratch, out: &mut [f64]| {
                let mut errors = errors(row);
                nnl2.project(&mut scratch.nnl2, &mut errors)?;
                released(out, &errors);
                nnl2.check(&errors)
            });
            reals.map(Made::Reals)
        }
        "l2-then-integer-l1" => {
            let l2 = IntegerL2::new(invariant).map_err(core)?;
            let integers = rows.run(ImageScratch::default, |row, rng, scratch, out: &mut [i64]| {
                l2.round(rng, &mut scratch.closest, &errors(row), out)?;
                invariant.check(out)?;
                add_counts(out, counts)
            });
            integers.map(Made::Integers)
        }
        _ => {
            let nnl2 = IntegerNnl2::new(invariant, region).map_err(core)?;
            let integers = rows.run(ImageScratch::default, |row, rng, scratch, out: &mut [i64]| {
                nnl2.round(rng, scratch, &errors(row), out)?;
                invariant.check(out)?;
                region.check(out)?;
                add_counts(out, counts)
            });
            integers.map(Made::Integers)
        }
    }
}
