//! What cells cost, measured, and the tasks of a cluster that follow.

use super::{Shard, Unit, Work, attempt, batches, pool};
use crate::failure::Result;
use crate::store::{BatchKey, locked};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What one cell takes of one thread, in seconds.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct CellCost {
    /// Seconds before the first replicate, once in every process.
    pub prepare: f64,
    /// Seconds of each replicate, on average.
    pub replicate: f64,
    /// Why the cell cannot be drawn, if it cannot.
    pub error: Option<String>,
}

impl CellCost {
    /// The seconds of a whole cell.
    pub fn whole(&self, unit: &Unit) -> f64 {
        self.prepare + self.replicate * unit.work() as f64 / unit.each.work.max(1) as f64
    }

    /// The seconds of a batch; those of a part follow from its rough cost beside that of a replicate.
    fn of(&self, unit: &Unit, key: BatchKey) -> f64 {
        self.replicate * unit.cost(key) as f64 / unit.each.work.max(1) as f64
    }
}

/// For how long a cell is drawn to measure it, in seconds; at least one replicate.
const MEASURED: f64 = 0.25;

/// Measures every cell by its first replicates, for a quarter of a second or at least one, on `threads` threads as in a
/// run, each in a pool of its own, so that none helps another; nothing is kept. A cell that fails costs nothing.
/// Errors: threads.
pub fn measure(work: &dyn Work, threads: usize) -> Result<Vec<CellCost>> {
    let units = work.units();
    let all = pool(threads, units.len(), &[])?;
    let own = (0..all.current_num_threads()).map(|_| pool(1, 1, &[])).collect::<Result<Vec<_>>>()?;
    let costs = Mutex::new(vec![CellCost::default(); units.len()]);
    let next = AtomicUsize::new(0);
    all.broadcast(|thread| {
        own[thread.index()].install(|| {
            loop {
                let cell = next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = units.get(cell) else { break };
                let cost = measured(work, cell, unit);
                locked(&costs)[cell] = cost;
            }
        });
    });
    Ok(costs.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn measured(work: &dyn Work, cell: usize, unit: &Unit) -> CellCost {
    let clock = Instant::now();
    let prepared = match attempt(|| work.prepare(cell)) {
        Ok(prepared) => prepared,
        Err(error) => return CellCost { error: Some(error), ..CellCost::default() },
    };
    let prepare = clock.elapsed().as_secs_f64();
    let (clock, mut drawn, mut error) = (Instant::now(), 0, None);
    while drawn < unit.replicates && clock.elapsed().as_secs_f64() < MEASURED && error.is_none() {
        let next = (2 * drawn).clamp(1, unit.replicates);
        error = attempt(|| prepared.draw(drawn..next).1).err();
        drawn = next;
    }
    CellCost { prepare, replicate: clock.elapsed().as_secs_f64() / drawn.max(1) as f64, error }
}

/// A shard as a task of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Task {
    /// The shard.
    pub shard: Shard,
    /// The number of its batches.
    pub batches: usize,
    /// The seconds that it will take.
    pub seconds: f64,
}

/// The shards of a plan as tasks of so many threads each: as many as leave at least `least` seconds to every one of them, at
/// most `most`.
pub fn tasks(work: &dyn Work, costs: &[CellCost], threads: usize, least: f64, most: u64) -> Vec<Task> {
    let total: f64 = shards(work, costs, threads, 1)[0].seconds;
    let most = most.min(batches(work).count() as u64);
    let mut of = ((total / least) as u64).clamp(1, most);
    loop {
        let tasks = shards(work, costs, threads, of);
        if of == 1 || tasks.iter().all(|task| task.seconds >= least) {
            return tasks;
        }
        of -= 1;
    }
}

/// Divides a plan into so many shards, as tasks.
pub fn shards(work: &dyn Work, costs: &[CellCost], threads: usize, of: u64) -> Vec<Task> {
    let mut tasks: Vec<(Task, f64, f64)> = (1..=of)
        .map(|number| (Task { shard: Shard { number, of }, batches: 0, seconds: 0.0 }, 0.0, 0.0))
        .collect();
    let mut last = vec![usize::MAX; tasks.len()];
    for (cell, key) in batches(work) {
        let number = Shard::owner(key, of) as usize - 1;
        let (task, sum, longest) = &mut tasks[number];
        task.batches += 1;
        let seconds = costs[cell].of(&work.units()[cell], key);
        *sum += seconds;
        *longest = f64::max(*longest, seconds);
        // The batches of a cell follow each other.
        if last[number] != cell {
            *sum += costs[cell].prepare;
            last[number] = cell;
        }
    }
    tasks
        .into_iter()
        .map(|(task, sum, longest)| Task { seconds: longest.max(sum / threads as f64), ..task })
        .collect()
}
