//! How far the marginals of many chains are from the exact law, by steps.

use super::super::records::Named;
use super::half_decades;
use crate::diagnostics::Moments;
use crate::error::Result;
use crate::input::Subject;
use crate::kernel::{Dispersed, Start};
use crate::rng::{Role, Stream, TaskKey, stream};
use crate::table;
use crate::table::Key;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

table! {
    /// Distance of the chains of a cell to the exact law on one level.
    #[derive(serde::Deserialize)]
    pub struct MarginalRow in "marginals.parquet", "Study `meeting` with `marginal-chains`: one row per chain, number of steps and level. Every distance is a lower bound on that of the joint laws, but for its noise floor: the same with as many exact draws in the chains' place." {
        cell: Key, "", "the first cell with this law and chain, in `cells.parquet`";
        t: u64, "kernel steps", "1, 10^0.5, 10, … and `marginal-steps`";
        level: u32, "", "1 = root; tables have one";
        entries: u64, "", "nodes of the level, or entries of the table";
        chains: u64, "", "how many";
        tv: f64, "probability", "largest total variation distance over the entries, between the chains' values after t steps and 20 times as many exact draws";
        floor: f64, "probability", "its noise floor: mean over 20 batches";
        floor_sd: f64, "probability", "its standard deviation over the batches";
        tv_mean: f64, "probability", "mean of the distance over the entries";
        mean_floor: f64, "probability", "its noise floor";
        mean_floor_sd: f64, "probability", "its standard deviation over the batches";
        l1: f64, "probability", "Kolmogorov-Smirnov distance of the level's L1 error";
        l1_floor: f64, "probability", "its noise floor";
        l1_floor_sd: f64, "probability", "its standard deviation over the batches";
    }
}

table! {
    /// The same for one entry.
    #[derive(serde::Deserialize)]
    pub struct EntryMarginalRow in "marginal_entries.parquet", "Study `meeting` with `marginal-chains`: one row per chain, number of steps and entry." {
        cell: Key, "", "as in `marginals.parquet`";
        t: u64, "kernel steps", "as there";
        level: u32, "", "1 = root; tables have one";
        entry: u64, "", "from 1: nodes of a tree level by level, entries of a table in its order";
        tv: f64, "probability", "total variation distance between the chains' values after t steps and 20 times as many exact draws";
        floor: f64, "probability", "its noise floor: mean over 20 batches";
        floor_sd: f64, "probability", "its standard deviation over the batches";
    }
}

/// What a comparison gives.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Marginals {
    pub(super) levels: Vec<MarginalRow>,
    pub(super) entries: Vec<EntryMarginalRow>,
}

/// Draws from the exact law: as many as there are replicates in the range, each from its stream, handed on one by one.
pub(super) type Exact = Box<dyn Fn(TaskKey, Range<u64>, &mut dyn FnMut(&[i64])) + Send + Sync>;

/// Makes the exact law. Errors: it is not served.
pub(super) type MakeExact<'a> = Box<dyn Fn() -> Result<Exact> + Send + Sync + 'a>;

/// Exact draws that the chains are compared with, for each chain.
const DRAWS_PER_CHAIN: u64 = 20;
/// Batches of exact draws for the noise floor.
const BATCHES: u64 = 20;
/// Exact draws in one task.
const TASK: u64 = 256;

/// A comparison that is asked for.
pub(super) struct Comparison<'a> {
    make: MakeExact<'a>,
    chains: u64,
    steps: u64,
    /// The nodes of each level.
    levels: Vec<Range<usize>>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(make: MakeExact<'a>, (chains, steps): (u64, u64), subject: &Subject) -> Self {
        let mut from = 0;
        let level = |l| {
            from += subject.level_size(l);
            from - subject.level_size(l)..from
        };
        Self { make, chains, steps, levels: (0..subject.levels()).map(level).collect() }
    }

    /// Chains read at t = 1, 10^0.5, 10, …, and exact draws; their streams belong to the key of the chain.
    pub(super) fn run<K>(&self, kernel: &K, start: Start, cell: Key, chain: TaskKey) -> Result<Marginals>
    where
        K: Dispersed<Value = i64, State: Send, Noise: Send> + Send + Sync,
    {
        let exact = (self.make)()?;
        let reference = self.draws(&exact, chain, 0, self.chains * DRAWS_PER_CHAIN);
        let floors: Vec<Distances> = (0..BATCHES)
            .map(|batch| self.draws(&exact, chain, self.chains * (DRAWS_PER_CHAIN + batch), self.chains))
            .map(|batch| batch.distances(&reference))
            .collect();
        let mut times = half_decades(self.steps);
        if times.last() != Some(&self.steps) {
            times.push(self.steps);
        }
        let by_time = (0..self.chains)
            .into_par_iter()
            .try_fold(
                || vec![self.histograms(); times.len()],
                |mut all, replicate| -> Result<_> {
                    let key = |role| TaskKey { replicate, role, ..chain };
                    let mut rng: Stream = stream(key(Role::Moves));
                    let mut state = kernel.start(start, &mut stream(key(Role::Start)))?;
                    let mut noise = kernel.noise();
                    let mut done = 0;
                    for (&t, histograms) in times.iter().zip(&mut all) {
                        for _ in done..t {
                            kernel.draw(&mut rng, &mut noise);
                            kernel.apply(&mut state, &noise);
                        }
                        done = t;
                        histograms.add(kernel.position(&state));
                    }
                    Ok(all)
                },
            )
            .try_reduce(
                || vec![self.histograms(); times.len()],
                |a, b| Ok(a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()),
            )?;
        let mut marginals = Marginals::default();
        for (&t, histograms) in times.iter().zip(by_time) {
            self.rows(cell, t, &histograms.distances(&reference), &floors, &mut marginals);
        }
        Ok(marginals)
    }

    fn histograms(&self) -> Histograms {
        let entries = self.levels.last().map_or(0, |level| level.end);
        Histograms {
            draws: 0,
            entries: vec![BTreeMap::new(); entries],
            norms: vec![BTreeMap::new(); self.levels.len()],
            levels: self.levels.clone(),
        }
    }

    fn draws(&self, exact: &Exact, chain: TaskKey, first: u64, n: u64) -> Histograms {
        (0..n.div_ceil(TASK))
            .into_par_iter()
            .fold(
                || self.histograms(),
                |mut all, task| {
                    let from = first + task * TASK;
                    exact(chain, from..(from + TASK).min(first + n), &mut |noise| all.add(noise));
                    all
                },
            )
            .reduce(|| self.histograms(), Histograms::merge)
    }

    fn rows(&self, cell: Key, t: u64, here: &Distances, floors: &[Distances], rows: &mut Marginals) {
        let of = |get: &dyn Fn(&Distances) -> f64| {
            let floor: Moments = floors.iter().map(get).collect();
            (get(here), floor.mean(), floor.deviation())
        };
        for (l, level) in self.levels.iter().enumerate() {
            let number = l as u32 + 1;
            let (tv, floor, floor_sd) =
                of(&|distances| distances.entries[level.clone()].iter().copied().fold(0.0, f64::max));
            let (tv_mean, mean_floor, mean_floor_sd) =
                of(&|distances| distances.entries[level.clone()].iter().sum::<f64>() / level.len() as f64);
            let (l1, l1_floor, l1_floor_sd) = of(&|distances| distances.norms[l]);
            rows.levels.push(MarginalRow {
                cell,
                t,
                level: number,
                entries: level.len() as u64,
                chains: self.chains,
                tv,
                floor,
                floor_sd,
                tv_mean,
                mean_floor,
                mean_floor_sd,
                l1,
                l1_floor,
                l1_floor_sd,
            });
            rows.entries.extend(level.clone().map(|entry| {
                let (tv, floor, floor_sd) = of(&|distances| distances.entries[entry]);
                EntryMarginalRow { cell, t, level: number, entry: entry as u64 + 1, tv, floor, floor_sd }
            }));
        }
    }
}

/// Counts by value.
type Counts = BTreeMap<i64, u64>;

/// Counts of the values of every entry, and of every level's L1 error.
#[derive(Clone)]
struct Histograms {
    draws: u64,
    entries: Vec<Counts>,
    norms: Vec<Counts>,
    levels: Vec<Range<usize>>,
}

/// Distances between two samples: of every entry, and of every level's L1 error.
struct Distances {
    entries: Vec<f64>,
    norms: Vec<f64>,
}

impl Histograms {
    fn add(&mut self, values: &[i64]) {
        self.draws += 1;
        for (counts, &value) in self.entries.iter_mut().zip(values) {
            *counts.entry(value).or_default() += 1;
        }
        for (counts, level) in self.norms.iter_mut().zip(&self.levels) {
            let norm: i64 = values[level.clone()].iter().map(|z| z.abs()).sum();
            *counts.entry(norm).or_default() += 1;
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.draws += other.draws;
        let own = self.entries.iter_mut().chain(&mut self.norms);
        for (counts, more) in own.zip(other.entries.into_iter().chain(other.norms)) {
            for (value, n) in more {
                *counts.entry(value).or_default() += n;
            }
        }
        self
    }

    fn distances(&self, other: &Self) -> Distances {
        let (n, m) = (i128::from(self.draws), i128::from(other.draws));
        // Differences over a common denominator, so that sums are exact.
        let differences = |a: &Counts, b: &Counts| -> Vec<i128> {
            let mut all: BTreeMap<i64, i128> = BTreeMap::new();
            a.iter().for_each(|(&value, &p)| *all.entry(value).or_default() += i128::from(p) * m);
            b.iter().for_each(|(&value, &q)| *all.entry(value).or_default() -= i128::from(q) * n);
            all.into_values().collect()
        };
        let variation = |(a, b): (&Counts, &Counts)| {
            let sum: i128 = differences(a, b).iter().map(|x| x.abs()).sum();
            0.5 * sum as f64 / (n * m) as f64
        };
        let kolmogorov = |(a, b): (&Counts, &Counts)| {
            let (mut sum, mut largest) = (0i128, 0i128);
            for difference in differences(a, b) {
                sum += difference;
                largest = largest.max(sum.abs());
            }
            largest as f64 / (n * m) as f64
        };
        Distances {
            entries: self.entries.iter().zip(&other.entries).map(variation).collect(),
            norms: self.norms.iter().zip(&other.norms).map(kolmogorov).collect(),
        }
    }
}

/// The rows by cell. Errors: the table.
pub(super) fn by_cell(run: &Named) -> crate::failure::Result<BTreeMap<Key, Vec<MarginalRow>>> {
    let mut marginals: BTreeMap<Key, Vec<MarginalRow>> = BTreeMap::new();
    run.run.each(|row: MarginalRow| {
        marginals.entry(row.cell).or_default().push(row);
        Ok(())
    })?;
    Ok(marginals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        let of = |draws: &[[i64; 2]]| {
            let (one, level) = (BTreeMap::new(), 0..2);
            let mut all =
                Histograms { draws: 0, entries: vec![one.clone(); 2], norms: vec![one], levels: vec![level] };
            draws.iter().for_each(|draw| all.add(draw));
            all
        };
        let Distances { entries, norms } =
            of(&[[0, 1], [2, 1]]).distances(&of(&[[0, 1], [0, -1], [2, 2], [0, 1]]));
        // Shares 1/2, 1/2 against 3/4, 1/4; 1 against 1/2, 1/4, 1/4; norms 1, 3 against 1, 1, 4, 1.
        assert_eq!((entries, norms), (vec![0.25, 0.5], vec![0.25]));
    }
}
