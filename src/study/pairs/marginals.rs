//! How far the marginals of many chains are from the exact law, by steps.

use super::times::half_decades;
use crate::Result;
use crate::diagnostics::Moments;
use crate::engine;
use crate::grid::Cell;
use crate::input::Subject;
use crate::kernel::Start;
use crate::law::Errors;
use crate::methods::{Chains, Conditioned, Problem};
use crate::rng::{Role, TaskKey, stream};
use crate::study::tell::records::Named;
use crate::table;
use crate::table::Key;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

table! {
    /// Study `meeting` with `marginal-chains`: one row per chain, number of steps and level. Every distance is a lower
    /// bound on that of the joint laws, but for its noise floor: the same with as many exact draws in the chains'
    /// place. Real values are those of bins, a quarter of the scale of their level's noise wide.
    pub struct MarginalRow in "marginals.parquet" {
        /// the first cell with this law and chain, in `cells.parquet`
        cell: Key;
        /// 1, 10^0.5, 10, … and `marginal-steps`
        t: u64, "kernel steps";
        /// 1 = root; tables have one
        level: u32;
        /// nodes of the level, or entries of the table
        entries: u64;
        /// how many
        chains: u64;
        /// largest total variation distance over the entries, between the chains' values after t steps and 20 times as
        /// many exact draws
        tv: f64, "probability";
        /// its noise floor: mean over 20 batches
        floor: f64, "probability";
        /// its standard deviation over the batches
        floor_sd: f64, "probability";
        /// mean of the distance over the entries
        tv_mean: f64, "probability";
        /// its noise floor
        mean_floor: f64, "probability";
        /// its standard deviation over the batches
        mean_floor_sd: f64, "probability";
        /// Kolmogorov-Smirnov distance of the level's L1 error
        l1: f64, "probability";
        /// its noise floor
        l1_floor: f64, "probability";
        /// its standard deviation over the batches
        l1_floor_sd: f64, "probability";
    }
}

table! {
    /// Study `meeting` with `marginal-chains`: one row per chain, number of steps and entry.
    pub struct EntryMarginalRow in "marginal_entries.parquet" {
        /// as in `marginals.parquet`
        cell: Key;
        /// as there
        t: u64, "kernel steps";
        /// 1 = root; tables have one
        level: u32;
        /// from 1: nodes of a tree level by level, entries of a table in its order
        entry: u64;
        /// total variation distance between the chains' values after t steps and 20 times as many exact draws
        tv: f64, "probability";
        /// its noise floor: mean over 20 batches
        floor: f64, "probability";
        /// its standard deviation over the batches
        floor_sd: f64, "probability";
    }
}

/// Exact draws that the chains are compared with, for each chain.
const DRAWS_PER_CHAIN: u64 = 20;
/// Width of a bin of real values, in scales.
const BIN: f64 = 0.25;
/// Batches of exact draws for the noise floor.
const BATCHES: u64 = 20;
/// What is asked for: chains, and steps of each.
type Extent = (u64, u64);

/// The parts of a comparison: how many, and the rough cost of one in random words.
pub(in crate::study) fn parts((chains, steps): Extent, cell: &Cell, subject: &Subject) -> (u64, u64) {
    // A step moves few counts.
    let moves = 10 * cell.at.method.kind().facts().words;
    let each = moves.saturating_mul(steps).saturating_add(EXACT_WORDS.saturating_mul(subject.nodes() as u64));
    engine::parts(chains.saturating_mul(each), chains)
}

/// Random words of the exact draws for one chain, for every count.
const EXACT_WORDS: u64 = 20 * (DRAWS_PER_CHAIN + BATCHES);

/// A comparison that is asked for: chains read at t = 1, 10^0.5, 10, …, and exact draws; their streams belong to the key of the chain.
pub(in crate::study) struct Comparison<'a> {
    /// What the chain is asked to serve.
    problem: Problem<'a>,
    /// The exact law, made when it is wanted, so that no pair waits for it.
    exact: OnceLock<Result<Conditioned>>,
    extent: Extent,
    /// How many parts it has.
    parts: u64,
    levels: Levels,
    /// The widths of bins of real noise, by node.
    bins: Vec<f64>,
}

/// The nodes of each level.
type Levels = Vec<Range<usize>>;

fn levels(subject: &Subject) -> Levels {
    let mut from = 0;
    let level = |l| {
        from += subject.level_size(l);
        from - subject.level_size(l)..from
    };
    (0..subject.levels()).map(level).collect()
}

/// Steps after which the chains are read.
fn times(steps: u64) -> Vec<u64> {
    let mut times = half_decades(steps);
    if times.last() != Some(&steps) {
        times.push(steps);
    }
    times
}

impl<'a> Comparison<'a> {
    /// Prepares the comparison of a cell's chain.
    pub(in crate::study) fn new(extent: Extent, cell: &'a Cell, subject: &'a Subject) -> Self {
        let (parts, _) = parts(extent, cell, subject);
        let problem = cell.problem(subject);
        let levels = levels(subject);
        let width = |level: usize| match cell.calibration.scales[level] {
            scale if scale > 0.0 => BIN * scale,
            // All its noise is 0.
            _ => 1.0,
        };
        let bins =
            (0..).zip(&levels).flat_map(|(l, nodes)| std::iter::repeat_n(width(l), nodes.len())).collect();
        Self { problem, exact: OnceLock::new(), extent, parts, levels, bins }
    }

    /// How many parts it has.
    pub(in crate::study) fn parts(&self) -> u64 {
        self.parts
    }

    /// Integers as they are, reals by the numbers of their bins.
    fn whole<'b>(&self, noise: Errors<'b>) -> Cow<'b, [i64]> {
        match noise {
            Errors::Integers(noise) => noise.into(),
            Errors::Reals(noise) => {
                noise.iter().zip(&self.bins).map(|(z, bin)| (z / bin).floor() as i64).collect()
            }
        }
    }

    /// A part, from 0: its share of the chains, of the exact draws that they are compared with, and of every batch of
    /// those that make the noise floor.
    pub(in crate::study) fn part(
        &self,
        kernel: &dyn Chains,
        start: Start,
        streams: TaskKey,
        part: u64,
    ) -> Result<Samples> {
        let (chains, steps) = self.extent;
        let share = |n: u64| engine::share(n, part, self.parts);
        let exact = self.exact.get_or_init(|| self.problem.conditioned()).as_ref().map_err(Clone::clone)?;
        let drawn = |from: u64, share: Range<u64>| {
            let mut all = Histograms::default();
            let of = |replicate| stream(TaskKey { replicate, role: Role::Noise, ..streams });
            exact(&mut (from + share.start..from + share.end).map(of), &mut |noise| {
                all.add(&self.whole(noise), &self.levels)
            });
            all
        };
        let reference = drawn(0, share(chains * DRAWS_PER_CHAIN));
        let floors = (0..BATCHES).map(|batch| drawn(chains * (DRAWS_PER_CHAIN + batch), share(chains)));
        let floors = floors.collect();
        let times = times(steps);
        let mut by_time = vec![Histograms::default(); times.len()];
        let replicates: Vec<u64> = share(chains).collect();
        for some in replicates.chunks(kernel.together()) {
            let streams = |&replicate: &u64| {
                let stream = |role| stream(TaskKey { replicate, role, ..streams });
                (stream(Role::Start), stream(Role::Moves))
            };
            let mut seen = vec![0; some.len()];
            kernel.visit(start, some.iter().map(streams).collect(), &times, &mut |chain, position| {
                by_time[seen[chain]].add(&self.whole(position), &self.levels);
                seen[chain] += 1;
            })?;
        }
        Ok(Samples { reference, floors, by_time })
    }
}

/// What chains and exact draws have come to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::study) struct Samples {
    /// Exact draws that the chains are compared with.
    reference: Histograms,
    /// Batches of as many exact draws as there are chains.
    floors: Vec<Histograms>,
    /// The chains, by time.
    by_time: Vec<Histograms>,
}

impl Samples {
    /// How many chains are in them.
    pub(in crate::study) fn chains(&self) -> u64 {
        self.by_time.first().map_or(0, |at| at.draws)
    }

    /// Takes another part in.
    pub(in crate::study) fn merge(&mut self, other: Self) {
        self.reference.merge(other.reference);
        for (own, more) in [(&mut self.floors, other.floors), (&mut self.by_time, other.by_time)] {
            own.resize_with(own.len().max(more.len()), Histograms::default);
            own.iter_mut().zip(more).for_each(|(own, more)| own.merge(more));
        }
    }
}

/// The rows of a comparison of which all parts are there.
pub(in crate::study) fn rows(
    (chains, steps): Extent,
    cell: Key,
    samples: Samples,
    subject: &Subject,
) -> (Vec<MarginalRow>, Vec<EntryMarginalRow>) {
    let Samples { reference, floors, by_time } = samples;
    let floors: Vec<Distances> = floors.par_iter().map(|batch| batch.distances(&reference)).collect();
    let here: Vec<Distances> = by_time.par_iter().map(|at| at.distances(&reference)).collect();
    let (mut by_level, mut by_entry) = (Vec::new(), Vec::new());
    for (&t, here) in times(steps).iter().zip(&here) {
        let of = |get: &dyn Fn(&Distances) -> f64| {
            let floor: Moments = floors.iter().map(get).collect();
            (get(here), floor.mean(), floor.deviation())
        };
        for (l, nodes) in levels(subject).into_iter().enumerate() {
            let level = l as u32 + 1;
            let (tv, floor, floor_sd) =
                of(&|distances| distances.entries[nodes.clone()].iter().copied().fold(0.0, f64::max));
            let (tv_mean, mean_floor, mean_floor_sd) =
                of(&|distances| distances.entries[nodes.clone()].iter().sum::<f64>() / nodes.len() as f64);
            let (l1, l1_floor, l1_floor_sd) = of(&|distances| distances.norms[l]);
            by_level.push(MarginalRow {
                cell,
                t,
                level,
                entries: nodes.len() as u64,
                chains,
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
            by_entry.extend(nodes.map(|entry| {
                let (tv, floor, floor_sd) = of(&|distances| distances.entries[entry]);
                EntryMarginalRow { cell, t, level, entry: entry as u64 + 1, tv, floor, floor_sd }
            }));
        }
    }
    (by_level, by_entry)
}

/// Counts by value.
type Counts = BTreeMap<i64, u64>;

/// Counts of the values of every entry, and of every level's L1 error.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Histograms {
    draws: u64,
    entries: Vec<Counts>,
    norms: Vec<Counts>,
}

/// Distances between two samples: of every entry, and of every level's L1 error.
struct Distances {
    entries: Vec<f64>,
    norms: Vec<f64>,
}

impl Histograms {
    fn add(&mut self, values: &[i64], levels: &[Range<usize>]) {
        self.draws += 1;
        self.entries.resize_with(values.len(), Counts::new);
        self.norms.resize_with(levels.len(), Counts::new);
        for (counts, &value) in self.entries.iter_mut().zip(values) {
            *counts.entry(value).or_default() += 1;
        }
        for (counts, level) in self.norms.iter_mut().zip(levels) {
            let norm: i64 = values[level.clone()].iter().map(|z| z.abs()).sum();
            *counts.entry(norm).or_default() += 1;
        }
    }

    fn merge(&mut self, other: Self) {
        self.draws += other.draws;
        for (own, more) in [(&mut self.entries, other.entries), (&mut self.norms, other.norms)] {
            own.resize_with(own.len().max(more.len()), Counts::new);
            for (counts, more) in own.iter_mut().zip(more) {
                more.into_iter().for_each(|(value, n)| *counts.entry(value).or_default() += n);
            }
        }
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
pub(in crate::study) fn by_cell(run: &Named) -> crate::failure::Result<BTreeMap<Key, Vec<MarginalRow>>> {
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
            let mut all = Histograms::default();
            for draw in draws {
                // One by one, as parts are.
                let mut one = Histograms::default();
                one.add(draw, std::slice::from_ref(&(0..2)));
                all.merge(one);
            }
            all
        };
        let Distances { entries, norms } =
            of(&[[0, 1], [2, 1]]).distances(&of(&[[0, 1], [0, -1], [2, 2], [0, 1]]));
        // Shares 1/2, 1/2 against 3/4, 1/4; 1 against 1/2, 1/4, 1/4; norms 1, 3 against 1, 1, 4, 1.
        assert_eq!((entries, norms), (vec![0.25, 0.5], vec![0.25]));
    }
}
