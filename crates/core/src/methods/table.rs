//! A method on a table: its streams, and how its releases are checked and handed on.

use super::draws::{Draws, Out, RECORDS, TRACED_CHAINS};
use super::problem::{OnTable, Problem, Streams};
use super::sums::Sums;
use crate::chain;
use crate::error::{Error, Result};
use crate::imaging::ImageScratch;
use crate::invariant::{Linear, Region};
use crate::kernel::{Dispersed, Start};
use crate::law::{Errors, Law, Sampler, Value};
use crate::rng::{Role, Stream};
use std::ops::Range;

/// Fills a draw with independent noise.
pub type Free = Box<dyn Fn(&mut Stream, &mut [f64]) + Send + Sync>;

/// Makes what fills a draw with independent noise of a law.
pub(super) fn free<L: Law>(law: &L) -> Free {
    let law = law.sampler();
    Box::new(move |rng, noise| noise.iter_mut().for_each(|z| *z = law.draw(rng).to_f64()))
}

/// A number that a release of a table is made of.
pub(super) trait Released: Value {
    /// Checks noise against the invariant. Errors: it is violated.
    fn check(noise: &[Self], invariant: &Linear, region: &Region) -> Result<()>;
}

impl Released for i64 {
    fn check(noise: &[i64], invariant: &Linear, region: &Region) -> Result<()> {
        invariant.check(noise).and_then(|()| region.check(noise))
    }
}

impl Released for f64 {
    fn check(noise: &[f64], invariant: &Linear, region: &Region) -> Result<()> {
        invariant.check_reals(noise, 0.0).and_then(|()| region.check_reals(noise))
    }
}

/// What the releases of all methods on a table share.
pub(super) struct Table {
    pub(super) invariant: Linear,
    pub(super) region: Region,
    pub(super) counts: Vec<i64>,
    streams: Streams,
}

impl Table {
    fn new(problem: &Problem, table: OnTable) -> Self {
        let OnTable { invariant, region, counts, .. } = table;
        let (invariant, region, counts) = (invariant.clone(), region.clone(), counts.to_vec());
        Self { invariant, region, counts, streams: problem.streams }
    }

    pub(super) fn stream(&self, replicate: u64) -> Stream {
        self.streams.stream(replicate, Role::Noise)
    }

    pub(super) fn zeros<V: Value>(&self) -> Vec<V> {
        vec![V::default(); self.invariant.entries()]
    }

    fn check<V: Released>(&self, noise: &[V]) -> Result<()> {
        V::check(noise, &self.invariant, &self.region)
    }

    /// Checks a release of conditioned noise and hands it on. Errors: a violated invariant.
    pub(super) fn release<V: Released>(&self, replicate: u64, noise: &[V], out: &mut Out) -> Result<()> {
        self.check(noise)?;
        let errors: Vec<f64> = noise.iter().map(|&z| z.to_f64()).collect();
        out.sink.level(replicate, 1, Sums::of(&errors, &self.counts), true);
        out.sink.counts(replicate, Errors::Reals(&errors));
        if self.streams.records == 0 {
            out.sink.draw(replicate, 1, &errors);
        }
        Ok(())
    }

    /// Hands on what a draw by proposals took: steps, and parts that were drawn.
    pub(super) fn proposals(&self, replicate: u64, steps: (u64, u64), out: &mut Out) {
        out.sink.chain(replicate, 1, steps, &[]);
    }

    /// Runs chains from their starts; their last states are the releases, of those that moved. Errors: of the first that fails; those
    /// before it were handed on.
    fn chains<K: Dispersed<Value: Released>>(
        &self,
        kernel: &K,
        start: Start,
        steps: u64,
        range: Range<u64>,
        out: &mut Out,
    ) -> Result<()> {
        let stream = |replicate, role| self.streams.stream(replicate, role);
        let (mut starts, mut started) = (Vec::new(), Ok(()));
        for replicate in range.clone() {
            match kernel.start(start, &mut stream(replicate, Role::Start)) {
                Ok(state) => starts.push((state, stream(replicate, Role::Moves))),
                Err(error) => {
                    started = Err(error);
                    break;
                }
            }
        }
        let recorded = self.streams.records;
        let records = if recorded == 0 { RECORDS } else { recorded };
        let mut kept: Vec<Kept> = starts.iter().map(|_| Kept::default()).collect();
        let ends = chain::ends(kernel, starts, steps, records, |chain, noise, put| {
            put(0, noise.iter().map(|z| z.to_f64().abs()).sum());
            if recorded > 0 {
                let kept = &mut kept[chain];
                if kept.violated.is_none() {
                    kept.violated = self.check(noise).err();
                }
                kept.draws.push(noise.iter().map(|&z| z.to_f64()).collect());
            }
        });
        for ((replicate, end), kept) in range.zip(ends).zip(kept) {
            if let Some(state) = end.release() {
                kept.violated.map_or(Ok(()), Err)?;
                self.release(replicate, kernel.position(state), out)?;
                for (i, errors) in kept.draws.iter().enumerate() {
                    out.sink.draw(replicate, i as u64 + 1, errors);
                }
            }
            let record = end.record;
            let trace = record.traces.first().map_or(&[][..], |trace| trace);
            out.sink.chain(replicate, 1, (record.steps, record.moves), trace);
            if replicate < TRACED_CHAINS {
                out.sink.traces(record.traces);
            }
        }
        started
    }
}

/// What is recorded of a chain.
#[derive(Default)]
struct Kept {
    draws: Vec<Vec<f64>>,
    /// What the first recorded state violates, if one does.
    violated: Option<Error>,
}

/// Draws a range of releases.
type Drawing = Box<dyn Fn(&Table, Range<u64>, &mut Out) -> Result<()> + Send + Sync>;

struct DrawsOfTable {
    table: Table,
    draws: Drawing,
    tv_error: f64,
}

impl Draws for DrawsOfTable {
    fn draw(&self, range: Range<u64>, out: &mut Out) -> Result<()> {
        (self.draws)(&self.table, range, out)
    }

    fn tv_error(&self) -> f64 {
        self.tv_error
    }
}

/// Prepares releases that are drawn like this. `tv_error`: what its draws are off in total variation; NaN if that is
/// unknown.
pub(super) fn drawn(
    problem: &Problem,
    table: OnTable,
    tv_error: f64,
    draws: impl Fn(&Table, Range<u64>, &mut Out) -> Result<()> + Send + Sync + 'static,
) -> Box<dyn Draws> {
    Box::new(DrawsOfTable { table: Table::new(problem, table), draws: Box::new(draws), tv_error })
}

/// Prepares releases by chains, whose last states they are.
pub(super) fn by_chains<K: Dispersed<Value: Released> + Send + Sync + 'static>(
    problem: &Problem,
    table: OnTable,
    kernel: K,
    steps: u64,
) -> Box<dyn Draws> {
    let together = chain::side_by_side(&kernel) as u64;
    let start = problem.asked.start();
    drawn(problem, table, f64::NAN, move |table, range, out| {
        let mut from = range.start;
        while from < range.end {
            let some = from..range.end.min(from + together);
            from = some.end;
            table.chains(&kernel, start, steps, some, out)?;
        }
        Ok(())
    })
}

/// Prepares releases of free noise that is moved to the invariant. `image` moves it, and says whether the release keeps
/// the invariant. Errors of it: a promise that is broken.
pub(super) fn moved(
    problem: &Problem,
    table: OnTable,
    free: Free,
    image: impl Fn(&Table, &mut Stream, &mut ImageScratch, &mut [f64]) -> Result<bool> + Send + Sync + 'static,
) -> Box<dyn Draws> {
    drawn(problem, table, 0.0, move |table, range, out| {
        let (mut scratch, mut noise) = (ImageScratch::default(), table.zeros::<f64>());
        for replicate in range {
            let mut rng = table.stream(replicate);
            free(&mut rng, &mut noise);
            let kept = image(table, &mut rng, &mut scratch, &mut noise)?;
            out.release(replicate, &noise, &table.counts, kept);
        }
        Ok(())
    })
}

/// The largest absolute value of some noise.
pub(super) fn widest(noise: &[f64]) -> f64 {
    noise.iter().fold(0.0f64, |widest, z| widest.max(z.abs()))
}

/// Noise that is these integers.
pub(super) fn set(noise: &mut [f64], integers: &[i64]) {
    noise.iter_mut().zip(integers).for_each(|(noise, &z)| *noise = z as f64);
}
