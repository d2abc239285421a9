//! Conditioning of the noise on a table's invariant: exactly, by rejection or by a chain.

use super::super::rows::{Draw, RECORDS, Releases, Rows, TRACED_CHAINS};
use super::super::{ChainRow, ErrorRow};
use crate::catalogue::unsupported;
use crate::catalogue::{Method, RealNoise};
use crate::chain;
use crate::exact::{ContinuousSampler, ExactLattice, LatticeExact, LatticeScratch, RealRejection, Rejection};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::{Linear, Region};
use crate::kernel::{
    Dispersed, LatticeGibbs, LatticeMetropolis, MetropolizedIndependence, RealGibbs, RealIndependence, Start,
};
use crate::law::Value;
use crate::rng::{Role, Stream, TaskKey, stream};
use crate::{Error, Result};
use std::ops::Range;

/// Prepares a cell with integer noise: everything that does not depend on the replicate.
pub(super) fn integers<L: ExactLattice>(
    cell: &Cell,
    seed: u64,
    table: &InvariantTable,
    law: L,
) -> Result<Box<dyn Releases>> {
    let (invariant, region) = (&table.invariant, Some(&table.region));
    let start = cell.method.start();
    let (draws, tv_error) = match cell.method {
        Method::Klein if !cell.law.needs_delta() => {
            return Err(unsupported(cell.method.name(), cell.law.name()));
        }
        // Nearest plane is what `exact` is for a discrete Gaussian.
        Method::Exact { .. } | Method::Klein => {
            let exact = LatticeExact::new(invariant, region, law).map_err(|why| match why {
                Error::TooLarge { .. } if LatticeGibbs::new(invariant, region, law).is_ok() => {
                    Error::Instead { why: Box::new(why), instead: "line-gibbs" }
                }
                why => why,
            })?;
            let tv_error = exact.tv_error();
            let draws: Drawing = Box::new(move |ready, range, rows| {
                let (mut scratch, mut noise) = (LatticeScratch::default(), ready.zeros::<i64>());
                for replicate in range {
                    exact.draw(&mut ready.stream(replicate, Role::Noise), &mut scratch, &mut noise);
                    ready.release(replicate, &noise, rows)?;
                }
                Ok(())
            });
            (draws, tv_error)
        }
        Method::Rejection { from } => {
            let rejection = Rejection::new(invariant, &table.region, law, from)?;
            let tv_error = rejection.tv_error();
            let draws: Drawing = Box::new(move |ready, range, rows| {
                let (mut scratch, mut noise) = (LatticeScratch::default(), ready.zeros::<i64>());
                for replicate in range {
                    let mut rng = ready.stream(replicate, Role::Noise);
                    let steps = rejection.draw(&mut rng, &mut scratch, &mut noise);
                    ready.release(replicate, &noise, rows)?;
                    let moves = rejection.component_count();
                    rows.chains.push(ChainRow::of(ready.key_of(replicate), 1, (steps, moves), &[]));
                }
                Ok(())
            });
            (draws, tv_error)
        }
        Method::LineGibbs { sweeps, .. } => {
            let kernel = LatticeGibbs::new(invariant, region, law)?;
            let steps = sweeps.unwrap_or(0).saturating_mul(kernel.sweep());
            (chains(kernel, start, steps), f64::NAN)
        }
        Method::LatticeMetropolis { steps, a, basis, .. } => {
            let kernel = LatticeMetropolis::new(invariant, law, a, basis)?;
            (chains(kernel, start, steps.unwrap_or(0)), f64::NAN)
        }
        Method::Mis { steps, proposal_epsilon, solve_for } => {
            let rate = proposal_epsilon.unwrap_or(1.0 / law.scale());
            let dependent = solve_for.dependent(invariant, &table.counts)?;
            let kernel = MetropolizedIndependence::new(invariant, region, law, rate, dependent.as_deref())?;
            let steps = steps.unwrap_or(0).saturating_mul(kernel.component_count());
            (chains(kernel, start, steps), f64::NAN)
        }
        _ => return Err(unsupported(cell.method.name(), "a table")),
    };
    Ok(Ready::boxed(cell, seed, table, (draws, tv_error)))
}

/// Prepares a cell with real noise.
pub(super) fn reals<L: RealNoise>(
    cell: &Cell,
    seed: u64,
    table: &InvariantTable,
    law: L,
) -> Result<Box<dyn Releases>> {
    let (invariant, region) = (&table.invariant, Some(&table.region));
    let start = cell.method.start();
    let (draws, tv_error) = match cell.method {
        Method::Exact { .. } => {
            let exact = ContinuousSampler::new(law, invariant, region)?;
            let draws: Drawing = Box::new(move |ready, range, rows| {
                let mut noise = ready.zeros::<f64>();
                for replicate in range {
                    exact.draw(&mut ready.stream(replicate, Role::Noise), &mut noise);
                    ready.release(replicate, &noise, rows)?;
                }
                Ok(())
            });
            (draws, 0.0)
        }
        Method::Rejection { from } => {
            let rejection = RealRejection::new(invariant, &table.region, law, from)?;
            let draws: Drawing = Box::new(move |ready, range, rows| {
                let mut noise = ready.zeros::<f64>();
                for replicate in range {
                    let steps = rejection.draw(&mut ready.stream(replicate, Role::Noise), &mut noise);
                    ready.release(replicate, &noise, rows)?;
                    let moves = rejection.component_count();
                    rows.chains.push(ChainRow::of(ready.key_of(replicate), 1, (steps, moves), &[]));
                }
                Ok(())
            });
            (draws, 0.0)
        }
        Method::LineGibbs { sweeps, .. } => {
            let kernel = RealGibbs::new(invariant, region, law)?;
            let steps = sweeps.unwrap_or(0).saturating_mul(kernel.sweep());
            (chains(kernel, start, steps), f64::NAN)
        }
        Method::Mis { steps, proposal_epsilon, solve_for } => {
            let rate = proposal_epsilon.unwrap_or(1.0 / law.scale());
            let order = solve_for.order(&table.counts);
            let kernel = RealIndependence::new(invariant, region, law, rate, order.as_deref())?;
            let steps = steps.unwrap_or(0).saturating_mul(kernel.component_count());
            (chains(kernel, start, steps), f64::NAN)
        }
        _ => return Err(unsupported(cell.method.name(), "real noise")),
    };
    Ok(Ready::boxed(cell, seed, table, (draws, tv_error)))
}

/// A number that a release of a table is made of.
trait Released: Value {
    /// Errors: an invariant that is violated.
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

/// Draws a range of releases.
type Drawing = Box<dyn Fn(&Ready, Range<u64>, &mut Rows) -> Result<()> + Send + Sync>;

fn chains<K: Dispersed<Value: Released> + Send + Sync + 'static>(
    kernel: K,
    start: Start,
    steps: u64,
) -> Drawing {
    let together = chain::side_by_side(&kernel) as u64;
    Box::new(move |ready, range, rows| {
        let mut from = range.start;
        while from < range.end {
            let some = from..range.end.min(from + together);
            from = some.end;
            ready.chains(&kernel, start, steps, some, rows)?;
        }
        Ok(())
    })
}

struct Ready {
    invariant: Linear,
    region: Region,
    draws: Drawing,
    /// What the draws are off in total variation; NaN if that is unknown.
    tv_error: f64,
    records: u64,
    key: TaskKey,
}

impl Releases for Ready {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        (self.draws)(self, range, rows)
    }

    fn tv_error(&self) -> f64 {
        self.tv_error
    }
}

impl Ready {
    fn boxed(
        cell: &Cell,
        seed: u64,
        table: &InvariantTable,
        (draws, tv_error): (Drawing, f64),
    ) -> Box<dyn Releases> {
        Box::new(Self {
            invariant: table.invariant.clone(),
            region: table.region.clone(),
            draws,
            tv_error,
            records: cell.records,
            key: TaskKey { seed, cell: cell.streams, replicate: 0, role: Role::Noise },
        })
    }

    fn key_of(&self, replicate: u64) -> TaskKey {
        TaskKey { replicate, ..self.key }
    }

    fn stream(&self, replicate: u64, role: Role) -> Stream {
        stream(TaskKey { replicate, role, ..self.key })
    }

    fn zeros<V: Value>(&self) -> Vec<V> {
        vec![V::default(); self.invariant.entries()]
    }

    fn check<V: Released>(&self, noise: &[V]) -> Result<()> {
        V::check(noise, &self.invariant, &self.region)
    }

    /// Checks a release and records it. Errors: a violated invariant.
    fn release<V: Released>(&self, replicate: u64, noise: &[V], rows: &mut Rows) -> Result<()> {
        self.check(noise)?;
        let errors: Vec<f64> = noise.iter().map(|&z| z.to_f64()).collect();
        rows.errors.push(ErrorRow::of(self.key_of(replicate), 1, &errors, true));
        rows.answer(replicate, &errors);
        if self.records == 0 {
            rows.draws.push(Draw { replicate, iteration: 1, errors: &errors });
        }
        Ok(())
    }

    /// Runs chains from their starts; their last states are the releases, of those that moved. Errors: of the first that fails, with the rows
    /// of those before it.
    fn chains<K: Dispersed<Value: Released>>(
        &self,
        kernel: &K,
        start: Start,
        steps: u64,
        range: Range<u64>,
        rows: &mut Rows,
    ) -> Result<()> {
        let (mut starts, mut started) = (Vec::new(), Ok(()));
        for replicate in range.clone() {
            match kernel.start(start, &mut self.stream(replicate, Role::Start)) {
                Ok(state) => starts.push((state, self.stream(replicate, Role::Moves))),
                Err(error) => {
                    started = Err(error);
                    break;
                }
            }
        }
        let records = if self.records == 0 { RECORDS } else { self.records };
        let mut kept: Vec<Kept> = starts.iter().map(|_| Kept::default()).collect();
        let ends = chain::ends(kernel, starts, steps, records, |chain, noise, put| {
            put(0, noise.iter().map(|z| z.to_f64().abs()).sum());
            if self.records > 0 {
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
                self.release(replicate, kernel.position(state), rows)?;
                for (i, errors) in kept.draws.iter().enumerate() {
                    rows.draws.push(Draw { replicate, iteration: i as u64 + 1, errors });
                }
            }
            let record = end.record;
            let trace = record.traces.first().map_or(&[][..], |trace| trace);
            rows.chains.push(ChainRow::of(self.key_of(replicate), 1, (record.steps, record.moves), trace));
            if replicate < TRACED_CHAINS {
                rows.traces.push(record.traces);
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
