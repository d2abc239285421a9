//! A cell of a study of meetings: coupled pairs of chains, and the chains' marginals beside the exact law.

use super::super::cells::Paid;
use super::super::privacy::gamma;
use super::super::release::unsupported;
use super::{Closing, MarginalRow, Pair};
use crate::catalogue::{IntegerNoise, Method, OnLaw, RealNoise};
use crate::coupling::meet;
use crate::engine::{Drawn, Prepared, encode};
use crate::error::Result;
use crate::exact::{ExactLattice, LatticeExact, LatticeScratch};
use crate::grid::{Cell, Meeting, Plan};
use crate::input::{InvariantTable, Subject};
use crate::kernel::{Coupled, LatticeGibbs, LatticeMetropolis};
use crate::law::EuclideanLaplace;
use crate::rng::{Role, TaskKey, stream};
use crate::table::Key;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Prepares a cell: everything that does not depend on the pair.
pub(super) fn prepare<'a>(plan: &'a Plan, cell: &'a Cell, first: bool) -> Result<Box<dyn Prepared + 'a>> {
    let seed = plan.config.seed;
    let Subject::Table(table) = &plan.subject else {
        return Err(unsupported(cell.method.name(), "a hierarchy"));
    };
    cell.law.on(OnTable { plan, cell, seed, table, first })
}

struct OnTable<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    seed: u64,
    table: &'a InvariantTable,
    first: bool,
}

impl<'a> OnLaw for OnTable<'a> {
    type Output = Box<dyn Prepared + 'a>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let law = law(self.cell.calibration.scales[0])?;
        self.with(law)
    }

    fn reals<L: RealNoise>(self, _: fn(f64) -> Result<L>) -> Result<Self::Output> {
        Err(unsupported(self.cell.method.name(), self.cell.law.name()))
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        let law = law(self.cell.calibration.scales[0])?;
        self.with(law)
    }
}

impl<'a> OnTable<'a> {
    fn with<L: ExactLattice>(self, law: L) -> Result<Box<dyn Prepared + 'a>> {
        let (invariant, region) = (&self.table.invariant, Some(&self.table.region));
        match self.cell.method {
            Method::LineGibbs { .. } => self.ready(law, LatticeGibbs::new(invariant, region, law)?),
            Method::LatticeMetropolis { a, basis, .. } => {
                self.ready(law, LatticeMetropolis::new(invariant, law, a, basis)?)
            }
            _ => Err(unsupported(self.cell.method.name(), "a study of meetings")),
        }
    }

    fn ready<L, K>(self, law: L, kernel: K) -> Result<Box<dyn Prepared + 'a>>
    where
        L: ExactLattice,
        K: Coupled<Value = i64, State: Send, Noise: Send> + Send + Sync + 'static,
    {
        let Self { plan, cell, seed, table, first } = self;
        let Some(meeting) = cell.meeting else {
            return Err(unsupported(cell.method.name(), "a study of meetings"));
        };
        let exact = move || LatticeExact::new(&table.invariant, Some(&table.region), law);
        let exact = meeting.marginals.filter(|_| first).map(|extent| (Box::new(exact) as Box<_>, extent));
        Ok(Box::new(Ready {
            plan,
            cell,
            kernel,
            entries: table.invariant.entries(),
            start_scale: law.start_scale(table.invariant.entries()),
            meeting,
            exact,
            key: TaskKey { seed, cell: cell.key, replicate: 0, role: Role::Noise },
        }))
    }
}

/// Makes the exact law: tables that can take seconds.
type ExactLaw<'a> = dyn Fn() -> Result<LatticeExact> + Send + Sync + 'a;

struct Ready<'a, K> {
    plan: &'a Plan,
    cell: &'a Cell,
    kernel: K,
    entries: usize,
    start_scale: f64,
    meeting: Meeting,
    /// For the comparison of marginals: the exact law, which pairs need not wait for; chains and steps.
    exact: Option<(Box<ExactLaw<'a>>, (u64, u64))>,
    key: TaskKey,
}

/// Exact draws that the chains are compared with, for each chain.
const DRAWS_PER_CHAIN: u64 = 20;
/// Batches of exact draws for the noise floor.
const BATCHES: u64 = 20;

impl<K> Prepared for Ready<'_, K>
where
    K: Coupled<Value = i64, State: Send, Noise: Send> + Send + Sync,
{
    fn draw(&self, range: Range<u64>) -> (Drawn, Result<()>) {
        let mut pairs: Vec<Pair> = Vec::new();
        let drawn = range.clone().try_for_each(|replicate| {
            let stream = |role| stream(TaskKey { replicate, role, ..self.key });
            let rngs = (&mut stream(Role::Start), &mut stream(Role::Moves));
            let meeting =
                meet(&self.kernel, self.meeting.lag, self.meeting.max_steps, self.start_scale, rngs)?;
            pairs.push((replicate, meeting));
            Ok(())
        });
        (Drawn::Encoded(encode(&pairs)), drawn)
    }

    fn close(&self) -> Result<Vec<u8>> {
        let paid = Paid::new(f64::NAN, gamma(self.cell, &self.plan.subject));
        Ok(encode(&Closing { paid, marginals: self.marginals()? }))
    }
}

impl<K> Ready<'_, K>
where
    K: Coupled<Value = i64, State: Send, Noise: Send> + Send + Sync,
{
    /// Chains read at t = 1, 10^0.5, 10, …, and exact draws; their streams belong to the key of the chain.
    fn marginals(&self) -> Result<Vec<MarginalRow>> {
        let Some((exact, (chains, steps))) = &self.exact else { return Ok(Vec::new()) };
        let (exact, chains, steps) = (exact()?, *chains, *steps);
        let d = self.entries;
        let chain = TaskKey { cell: self.meeting.chain_key, ..self.key };
        let draw_exact = |first: u64, n: u64| -> Histograms {
            (first..first + n)
                .into_par_iter()
                .fold(
                    || (Histograms::new(d), LatticeScratch::default(), vec![0i64; d]),
                    |(mut all, mut scratch, mut noise), replicate| {
                        let key = TaskKey { replicate, role: Role::Noise, ..chain };
                        exact.draw(&mut stream(key), &mut scratch, &mut noise);
                        all.add(&noise);
                        (all, scratch, noise)
                    },
                )
                .map(|(all, ..)| all)
                .reduce(|| Histograms::new(d), Histograms::merge)
        };
        let reference = draw_exact(0, chains * DRAWS_PER_CHAIN);
        let floors: crate::diagnostics::Moments = (0..BATCHES)
            .map(|batch| draw_exact(chains * (DRAWS_PER_CHAIN + batch), chains).distance(&reference))
            .collect();
        let times = super::half_decades(steps);
        let by_time = (0..chains)
            .into_par_iter()
            .try_fold(
                || vec![Histograms::new(d); times.len()],
                |mut all, replicate| -> Result<_> {
                    let key = |role| TaskKey { replicate, role, ..chain };
                    let mut rng = stream(key(Role::Moves));
                    let mut state = self.kernel.start(&mut stream(key(Role::Start)), self.start_scale)?;
                    let mut noise = self.kernel.noise();
                    let mut done = 0;
                    for (&t, histograms) in times.iter().zip(&mut all) {
                        for _ in done..t {
                            self.kernel.draw(&mut rng, &mut noise);
                            self.kernel.apply(&mut state, &noise);
                        }
                        done = t;
                        histograms.add(self.kernel.position(&state));
                    }
                    Ok(all)
                },
            )
            .try_reduce(
                || vec![Histograms::new(d); times.len()],
                |a, b| Ok(a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()),
            )?;
        Ok(times
            .iter()
            .zip(by_time)
            .map(|(&t, histograms)| MarginalRow {
                cell: Key(self.cell.key),
                lag: self.meeting.lag,
                t,
                chains,
                tv: histograms.distance(&reference),
                floor: floors.mean(),
                floor_sd: floors.deviation(),
            })
            .collect())
    }
}

/// Counts of the values of every entry.
#[derive(Clone)]
struct Histograms {
    draws: u64,
    entries: Vec<HashMap<i64, u64>>,
}

impl Histograms {
    fn new(entries: usize) -> Self {
        Self { draws: 0, entries: vec![HashMap::new(); entries] }
    }

    fn add(&mut self, values: &[i64]) {
        self.draws += 1;
        for (counts, &value) in self.entries.iter_mut().zip(values) {
            *counts.entry(value).or_default() += 1;
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.draws += other.draws;
        for (counts, more) in self.entries.iter_mut().zip(other.entries) {
            for (value, n) in more {
                *counts.entry(value).or_default() += n;
            }
        }
        self
    }

    /// The largest total variation distance over the entries, `½ Σ |p - q|`. Sums of counts over a common
    /// denominator, so that the order of the values does not matter.
    fn distance(&self, other: &Self) -> f64 {
        let (n, m) = (i128::from(self.draws), i128::from(other.draws));
        let entry = |(a, b): (&HashMap<i64, u64>, &HashMap<i64, u64>)| {
            let count =
                |map: &HashMap<i64, u64>, value: &i64| i128::from(map.get(value).copied().unwrap_or(0));
            let shared: i128 =
                a.iter().map(|(value, &p)| (i128::from(p) * m - count(b, value) * n).abs()).sum();
            let only: i128 =
                b.iter().filter(|(v, _)| !a.contains_key(v)).map(|(_, &q)| i128::from(q) * n).sum();
            0.5 * (shared + only) as f64 / (n * m) as f64
        };
        self.entries.iter().zip(&other.entries).map(entry).fold(0.0, f64::max)
    }
}
