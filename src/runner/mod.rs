//! Running a plan: cells and ranges of their replicates fan out over a thread pool.

mod conditioning;
mod continuous;
mod cost;
pub(crate) mod expected;
mod hierarchy;
mod imaging;
mod meeting;
mod privacy;
mod progress;
mod rows;
mod statistics;
mod table;
mod worlds;

pub use cost::{CellCost, Task, measure, shards, tasks};
pub(crate) use meeting::half_decades;
pub use rows::{ChainRow, Draw, LevelRow, MarginalRow, MeetingRow, PrivacyRow, Rows};
pub use statistics::Statistics;
pub(crate) use statistics::sorted;
pub use worlds::check_worlds;

use crate::config::{Method, Study};
use crate::failure::Failure;
use crate::grid::{Cell, Plan};
use crate::input::Subject;
use crate::privacy::Gamma;
use crate::results::{Journal, Part};
use progress::Progress;
use rayon::prelude::*;
use rows::Prepared;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What one cell gave.
#[derive(Debug)]
pub struct CellOutcome {
    /// Its rows, in the order of the replicates; those up to the error if one failed.
    pub rows: Rows,
    /// Total variation error of one draw beside the chain's own (exact samplers: truncation).
    pub tv_error: f64,
    /// R-hat per level over the chains that kept traces, if there are any.
    pub rhat: Vec<Option<f64>>,
    /// Distances of chains' marginals to the exact law, by steps.
    pub marginals: Vec<MarginalRow>,
    /// What conditioning on inequalities may add to the loss.
    pub gamma: Gamma,
    /// Why it failed.
    pub error: Option<String>,
}

/// Parts that the replicates of one cell are divided into: enough to keep every core busy to the end.
const PARTS: u64 = 64;

/// Parts that took less are drawn again rather than kept: reading them would not be faster.
const KEPT: Duration = Duration::from_millis(20);

/// Work that was not kept, of all threads together, after which every part is: what a stop can lose has a bound.
const UNKEPT: Duration = Duration::from_secs(20);

/// How a plan is run. No row depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Threads of the pool.
    pub threads: usize,
    /// Whether the first cell that fails ends the run, with what is finished left in the journal.
    pub fail_fast: bool,
    /// Whether no progress is printed.
    pub quiet: bool,
}

/// Runs every cell of a plan. Results depend on the plan alone: not on the threads, nor on their order, nor on what was
/// in the journal, if there is one. Errors: threads, files; with `fail_fast` the first cell that fails.
pub fn run(
    plan: &Plan,
    manner: Manner,
    journal: Option<&Journal>,
) -> crate::failure::Result<Vec<CellOutcome>> {
    pool(manner.threads)?.install(|| run_here(plan, manner, journal))
}

/// The rows of some replicates, up to an error if there is one.
fn draw(cell: &dyn Prepared, range: Range<u64>) -> Part {
    let mut rows = Rows::default();
    let error = attempt(|| cell.replicates(range, &mut rows)).err();
    (rows, error)
}

/// What a cell does, with a panic as its error: the other cells go on.
fn attempt<T>(work: impl FnOnce() -> crate::Result<T>) -> Result<T, String> {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|e| e.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Err(format!("a bug of congenial, please report it: panicked: {text}"))
        }
    }
}

/// With `fail_fast`, what ends the run.
fn ends(plan: &Plan, manner: Manner, cell: usize, error: Option<&String>) -> crate::failure::Result<()> {
    match error.filter(|_| manner.fail_fast) {
        None => Ok(()),
        Some(error) => Err(Failure::CellsFailed {
            failed: 1,
            cells: plan.cells.len(),
            first: format!("{}: {error}", plan.cells[cell].words()),
        }),
    }
}

/// One of several processes that share a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Shard {
    /// Whose part it is among `of` shards, from 1: by a hash of what it is, so that large cells spread over all of them.
    fn owner(key: u64, range: &Range<u64>, of: u64) -> u64 {
        let mixed =
            (key ^ range.start.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 32) % of + 1
    }
}

/// All parts of a plan: cell and replicates.
fn parts(plan: &Plan) -> impl Iterator<Item = (usize, Range<u64>)> {
    plan.cells.iter().enumerate().flat_map(|(i, cell)| ranges(cell).map(move |range| (i, range)))
}

/// Draws the parts of one shard into the journal; returns how many are its own. Parts that are there already stay, but with
/// `retry_failed` those that ended with an error.
///
/// Errors: threads, files; with `fail_fast` the first cell that fails. What a cell refuses before it is drawn is left to the
/// merge, which meets it again.
pub fn run_shard(
    plan: &Plan,
    manner: Manner,
    journal: &Journal,
    shard: Shard,
    retry_failed: bool,
) -> crate::failure::Result<usize> {
    let own: Vec<(usize, Range<u64>)> = parts(plan)
        .filter(|(i, range)| Shard::owner(plan.cells[*i].key, range, shard.of) == shard.number)
        .collect();
    pool(manner.threads)?.install(|| {
        let needed = |i: usize| own.iter().any(|(cell, _)| *cell == i);
        let prepared: Vec<Option<Box<dyn Prepared>>> = (0..plan.cells.len())
            .into_par_iter()
            .map(|i| {
                if !needed(i) {
                    return Ok(None);
                }
                let prepared = attempt(|| prepare(plan, &plan.cells[i], false));
                ends(plan, manner, i, prepared.as_ref().err()).map(|()| prepared.ok())
            })
            .collect::<crate::failure::Result<_>>()?;
        let total = own.iter().map(|(i, range)| work(&plan.cells[*i], range.end - range.start)).sum();
        let progress = Progress::new(total, manner.quiet);
        own.par_iter().with_max_len(1).try_for_each(|(i, range)| {
            let (cell, key) = (&plan.cells[*i], plan.cells[*i].key_text());
            let error = match (&prepared[*i], journal.read(&key, range)) {
                (_, Some((_, error))) if error.is_none() || !retry_failed => error,
                (None, _) => None,
                (Some(prepared), _) => {
                    let part = draw(&**prepared, range.clone());
                    journal.write(&key, range, &part)?;
                    part.1
                }
            };
            ends(plan, manner, *i, error.as_ref())?;
            progress.add(work(cell, range.end - range.start));
            Ok(())
        })
    })?;
    Ok(own.len())
}

/// Parts that no shard has left, of cells that can be drawn at all.
pub fn missing(plan: &Plan, journal: &Journal) -> usize {
    if plan.config.study == Study::Privacy {
        return 0;
    }
    let mut missing = vec![0; plan.cells.len()];
    for (i, range) in parts(plan) {
        missing[i] += usize::from(journal.read(&plan.cells[i].key_text(), &range).is_none());
    }
    plan.cells
        .iter()
        .zip(missing)
        .filter(|(cell, missing)| *missing > 0 && attempt(|| prepare(plan, cell, false)).is_ok())
        .map(|(_, missing)| missing)
        .sum()
}

fn pool(threads: usize) -> crate::failure::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Failure::Usage(format!("cannot start {threads} threads: {e}")))
}

fn run_here(
    plan: &Plan,
    manner: Manner,
    journal: Option<&Journal>,
) -> crate::failure::Result<Vec<CellOutcome>> {
    let prepared: Vec<Result<Box<dyn Prepared>, String>> = plan
        .cells
        .par_iter()
        .enumerate()
        .map(|(i, cell)| {
            let first = first_of_its_chain(&plan.cells[..i], cell);
            let prepared = attempt(|| prepare(plan, cell, first));
            ends(plan, manner, i, prepared.as_ref().err()).map(|()| prepared)
        })
        .collect::<crate::failure::Result<_>>()?;
    let tasks: Vec<(usize, Range<u64>)> = parts(plan).filter(|(i, _)| prepared[*i].is_ok()).collect();
    let total = plan.cells.iter().map(|cell| work(cell, cell.replicates)).fold(0, u64::saturating_add);
    let progress = Progress::new(total, manner.quiet);
    let unkept = AtomicU64::new(0);
    let done = tasks
        .into_par_iter()
        .with_max_len(1)
        .map(|(i, range)| {
            let done = work(&plan.cells[i], range.end - range.start);
            let cell = prepared[i].as_ref().expect("only prepared cells have tasks");
            let key = plan.cells[i].key_text();
            if let Some((rows, error)) = journal.and_then(|journal| journal.read(&key, &range)) {
                ends(plan, manner, i, error.as_ref())?;
                progress.add(done);
                return Ok((i, rows, error));
            }
            let clock = Instant::now();
            let part = draw(&**cell, range.clone());
            let took = clock.elapsed();
            let keep = took >= KEPT || unkept.load(Ordering::Relaxed) >= UNKEPT.as_nanos() as u64;
            match journal.filter(|_| part.0.privacy.is_empty()) {
                Some(journal) if keep => journal.write(&key, &range, &part)?,
                _ => drop(unkept.fetch_add(took.as_nanos() as u64, Ordering::Relaxed)),
            }
            ends(plan, manner, i, part.1.as_ref())?;
            progress.add(done);
            Ok((i, part.0, part.1))
        })
        .collect::<crate::failure::Result<Vec<(usize, Rows, Option<String>)>>>()?;
    progress.finish();
    let gamma = |(cell, prepared): (&Cell, &Result<Box<dyn Prepared>, String>)| match prepared {
        Ok(_) if plan.config.study != Study::Privacy => privacy::gamma(cell, &plan.subject),
        _ => Gamma::Unknown,
    };
    let gammas: Vec<Gamma> = plan.cells.par_iter().zip(&prepared).map(gamma).collect();
    let mut outcomes: Vec<CellOutcome> = prepared
        .iter()
        .map(|cell| CellOutcome {
            rows: Rows::default(),
            tv_error: cell.as_ref().map_or(f64::NAN, |cell| cell.tv_error()),
            rhat: Vec::new(),
            marginals: Vec::new(),
            gamma: Gamma::Unknown,
            error: cell.as_ref().err().cloned(),
        })
        .collect();
    for (i, rows, error) in done {
        let outcome = &mut outcomes[i];
        outcome.rows.append(rows);
        outcome.error = outcome.error.take().or(error);
    }
    for (outcome, gamma) in outcomes.iter_mut().zip(gammas) {
        outcome.gamma = gamma;
    }
    for (outcome, prepared) in outcomes.iter_mut().zip(&prepared) {
        outcome.rhat = outcome.rows.take_rhat();
        if let (Ok(prepared), None) = (prepared, &outcome.error) {
            match attempt(|| prepared.marginals()) {
                Ok(marginals) => outcome.marginals = marginals,
                Err(e) => outcome.error = Some(e),
            }
        }
    }
    Ok(outcomes)
}

/// Whether no cell before has the same chain, with another lag: the marginals of a chain know nothing of lags.
fn first_of_its_chain(before: &[Cell], cell: &Cell) -> bool {
    before.iter().all(|other| other.chain_key != cell.chain_key)
}

/// Everything of a cell that does not depend on the replicate.
fn prepare(plan: &Plan, cell: &Cell, first: bool) -> crate::Result<Box<dyn Prepared>> {
    let seed = plan.config.seed;
    match (&plan.subject, plan.config.study) {
        (Subject::Hierarchy(table), _) => hierarchy::prepare(cell, seed, table),
        (Subject::Table(table), Study::Release) => table::prepare(cell, seed, table),
        (Subject::Table(table), Study::Meeting) => meeting::prepare(cell, seed, table, first),
        (Subject::Table(table), Study::Privacy) => privacy::prepare(cell, table),
    }
}

/// Rough cost of some replicates, in random words a node: for the progress bar alone.
fn work(cell: &Cell, replicates: u64) -> u64 {
    replicates.saturating_mul(match cell.method {
        Method::HierarchicalMh { steps, .. }
        | Method::LatticeMetropolis { steps, .. }
        | Method::Mis { steps, .. } => steps.max(10_000).saturating_mul(10),
        Method::LineGibbs { sweeps, .. } => sweeps.max(100).saturating_mul(60),
        _ => 20,
    })
}

fn ranges(cell: &Cell) -> impl Iterator<Item = Range<u64>> + use<> {
    let replicates = cell.replicates;
    let length = replicates.div_ceil(PARTS);
    (0..replicates.div_ceil(length)).map(move |part| part * length..((part + 1) * length).min(replicates))
}
