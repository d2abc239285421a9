//! Methods of one's own: what they are told of a cell, and what becomes of their releases.

use super::super::rows::{Releases, Rows};
use super::imaging::Free;
use crate::catalogue::Method;
use crate::grid::{Cell, Plan};
use crate::input::InvariantTable;
use crate::invariant::{Hierarchy, Linear, NO_LOWER, NO_UPPER, Region};
use crate::own::{Own, OwnReleases, Promises, Structure, Task};
use crate::privacy::Declared;
use crate::rng::{Rng, Role, TaskKey, stream};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Releases that a method is given at once at most, and their counts.
const REPLICATES: u64 = 1 << 12;
const COUNTS: u64 = 1 << 20;

/// The largest integer of which every smaller one is a number of its own.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Key of the streams of a cell's noise: a method of one's own shares it with `unconstrained`, and so with all others.
pub(super) fn noise_key(plan: &Plan, cell: &Cell) -> u64 {
    match cell.method {
        Method::External { .. } => cell.with(Method::Unconstrained, &plan.subject).streams,
        _ => cell.streams,
    }
}

/// A tree, as methods are told of it.
pub(super) fn tree(tree: &Hierarchy) -> Structure {
    let begins = (0..tree.levels()).map(|level| tree.level_nodes(level).start);
    Structure::Tree {
        parents: (0..tree.nodes()).map(|v| tree.parent(v) as i64).collect(),
        levels: begins.chain([tree.nodes()]).map(|v| v as i64).collect(),
    }
}

/// A table, as methods are told of it: what every release keeps is no secret.
fn table(table: &InvariantTable) -> Structure {
    let value = |row: &[(u32, i64)]| row.iter().map(|&(entry, a)| a * table.counts[entry as usize]).sum();
    let bounds = (0..table.counts.len()).flat_map(|entry| {
        let (lower, upper) = table.inequalities.bounds_of(entry);
        let at = |a: i64, bound: i64| (vec![(entry as u32, a)], a * bound);
        let lower = (lower != NO_LOWER).then(|| at(1, lower));
        lower.into_iter().chain((upper != NO_UPPER).then(|| at(-1, upper)))
    });
    Structure::Table {
        entries: table.counts.len(),
        equations: table.invariant.rows().iter().map(|row| (row.clone(), value(row))).collect(),
        inequalities: bounds.chain(table.inequalities.explicit().iter().cloned()).collect(),
    }
}

/// A method for a cell. Errors: it does not serve it.
pub(super) fn ready(
    own: Own,
    cell: &Cell,
    structure: Structure,
    variances: Vec<f64>,
) -> Result<Box<dyn OwnReleases>> {
    let task = Task {
        structure: Arc::new(structure),
        law: cell.law.name(),
        epsilon: cell.epsilon,
        variances,
        options: Vec::new(),
    };
    own.prepare(task).map_err(Error::Own)
}

/// Replicates together, as many as a method is given at once.
pub(super) fn batches(range: Range<u64>, counts: usize) -> impl Iterator<Item = Range<u64>> {
    let most = (COUNTS / counts.max(1) as u64).clamp(1, REPLICATES);
    let end = range.end;
    range.step_by(most as usize).map(move |start| start..(start + most).min(end))
}

/// The seed of a replicate.
pub(super) fn seed(key: TaskKey, replicate: u64) -> u64 {
    stream(TaskKey { replicate, role: Role::Own, ..key }).next_u64()
}

/// What a method released, as integers. Errors: what is none.
pub(super) fn integers(released: &[f64]) -> Result<Vec<i64>> {
    finite(released)?;
    let whole = |(i, &x): (usize, &f64)| match x == x.trunc() && x.abs() <= WHOLE {
        true => Ok(x as i64),
        false => Err(Error::Own(format!("it promises integers, and released {x} as count {}", i + 1))),
    };
    released.iter().enumerate().map(whole).collect()
}

/// Errors: what is no number.
pub(super) fn finite(released: &[f64]) -> Result<()> {
    match released.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::Own(format!("it released {} as count {}", released[i], i + 1))),
    }
}

/// Errors of a real release on a tree, whose sums hold as they do of our own methods: rounding of the largest count is taken out of them. Errors: a sum, or a
/// known count, that is off by more.
pub(super) fn summed(tree: &Hierarchy, released: &[f64], errors: &mut [f64]) -> Result<()> {
    let most = released.iter().fold(1.0f64, |most, y| most.max(y.abs()));
    let rounding = 4.0 * f64::EPSILON * tree.nodes() as f64 * most;
    for v in 0..tree.nodes() {
        let off = match tree.is_known(v) {
            true => errors[v],
            false if tree.is_leaf(v) => 0.0,
            false => errors[v] - errors[tree.children(v)].iter().sum::<f64>(),
        };
        if off.abs() > rounding {
            return Err(Error::violated(format!("node {v}"), off));
        }
        if tree.is_known(v) {
            errors[v] = 0.0;
        }
    }
    tree.sum_up_noise(errors);
    Ok(())
}

/// Prepares a cell on a table.
pub(super) fn prepare(
    own: Own,
    cell: &Cell,
    (seed, noise_key): (u64, u64),
    subject: &InvariantTable,
    (free, variance): (Free, f64),
) -> Result<Box<dyn Releases>> {
    let mut variances = vec![variance; subject.counts.len()];
    subject.known.iter().for_each(|&entry| variances[entry as usize] = 0.0);
    let key = TaskKey { seed, cell: cell.streams, replicate: 0, role: Role::Noise };
    Ok(Box::new(OnTable {
        releases: ready(own, cell, table(subject), variances)?,
        promises: own.promises(),
        free,
        counts: subject.counts.clone(),
        known: subject.known.clone(),
        invariant: subject.invariant.clone(),
        region: subject.region.clone(),
        key,
        noise: TaskKey { cell: noise_key, ..key },
    }))
}

struct OnTable {
    releases: Box<dyn OwnReleases>,
    promises: Promises,
    free: Free,
    counts: Vec<i64>,
    known: Vec<u32>,
    invariant: Linear,
    region: Region,
    /// Of the cell, and of its noise.
    key: TaskKey,
    noise: TaskKey,
}

impl Releases for OnTable {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let entries = self.counts.len();
        for batch in batches(range, entries) {
            let mut counts = vec![0.0; entries * (batch.end - batch.start) as usize];
            let mut widest = Vec::new();
            for (replicate, noise) in batch.clone().zip(counts.chunks_mut(entries)) {
                if !self.promises.mechanism {
                    (self.free)(&mut stream(TaskKey { replicate, ..self.noise }), noise);
                }
                self.known.iter().for_each(|&entry| noise[entry as usize] = 0.0);
                noise.iter_mut().zip(&self.counts).for_each(|(z, &x)| *z += x as f64);
                widest.push(noise.iter().fold(0.0f64, |most, y| most.max(y.abs())));
            }
            let seeds: Vec<u64> = batch.clone().map(|replicate| seed(self.key, replicate)).collect();
            self.releases.release(&seeds, &mut counts).map_err(Error::Own)?;
            for ((replicate, released), widest) in batch.zip(counts.chunks_mut(entries)).zip(widest) {
                let kept = self.check(released, widest)?;
                rows.release(TaskKey { replicate, ..self.key }, released, kept);
            }
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        0.0
    }

    fn pays(&self) -> Option<Declared> {
        self.releases.pays()
    }
}

impl OnTable {
    /// Makes errors of what was released; whether it keeps the invariant. Errors: a promise that is broken.
    fn check(&self, released: &mut [f64], widest: f64) -> Result<bool> {
        let promises = self.promises;
        finite(released)?;
        if promises.nonnegative
            && let Some(i) = released.iter().position(|y| *y < 0.0)
        {
            return Err(Error::violated(format!("count {} is negative", i + 1), released[i]));
        }
        let (equations, inequalities) = if promises.integers {
            let mut noise = integers(released)?;
            noise.iter_mut().zip(&self.counts).for_each(|(y, x)| *y -= x);
            released.iter_mut().zip(&noise).for_each(|(y, &z)| *y = z as f64);
            (self.invariant.check(&noise), self.region.check(&noise))
        } else {
            released.iter_mut().zip(&self.counts).for_each(|(y, &x)| *y -= x as f64);
            let widest = released.iter().fold(widest, |most, z| most.max(z.abs()));
            (self.invariant.check_reals(released, widest), self.region.check_reals(released))
        };
        let kept = equations.is_ok() && inequalities.is_ok();
        if promises.invariant {
            equations?;
        }
        if promises.inequalities {
            inequalities?;
        }
        Ok(kept)
    }
}
