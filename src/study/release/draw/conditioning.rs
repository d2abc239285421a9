//! Conditioning of integer noise on a table's invariant: exactly, by rejection or by a chain.

use super::super::rows::{ChainLevel, Draw, LevelErrors, RECORDS, Releases, Rows, TRACED_CHAINS};
use super::unsupported;
use crate::chain;
use crate::config::Method;
use crate::diagnostics::effective_sample_size;
use crate::error::Result;
use crate::exact::{ExactLattice, LatticeExact, LatticeScratch, Rejection};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::{Linear, Region};
use crate::kernel::{Dispersed, LatticeGibbs, LatticeMetropolis, MetropolizedIndependence};
use crate::law::LatticeLaw;
use crate::rng::{Role, Stream, TaskKey, stream};
use std::ops::Range;

/// Prepares a cell: everything that does not depend on the replicate.
pub(super) fn prepare<L: ExactLattice>(
    cell: &Cell,
    seed: u64,
    table: &InvariantTable,
    law: L,
) -> Result<Box<dyn Releases>> {
    let (invariant, region) = (&table.invariant, Some(&table.region));
    let sampler = match cell.method {
        // Nearest plane is what `exact` is for a Gaussian law; the config refuses it for the others.
        Method::Exact { .. } | Method::Klein => Sampler::Exact(LatticeExact::new(invariant, region, law)?),
        Method::Rejection { from } => {
            Sampler::Rejection(Rejection::new(invariant, &table.region, law, from)?)
        }
        Method::LineGibbs { sweeps, .. } => {
            let kernel = LatticeGibbs::new(invariant, region, law)?;
            let steps = sweeps.saturating_mul(kernel.sweep());
            Sampler::Gibbs(kernel, steps)
        }
        Method::LatticeMetropolis { steps, a, basis } => {
            Sampler::Metropolis(LatticeMetropolis::new(invariant, law, a, basis)?, steps)
        }
        Method::Mis { steps, proposal_epsilon } => {
            let rate = proposal_epsilon.unwrap_or(1.0 / law.scale());
            let kernel = MetropolizedIndependence::new(invariant, region, law, rate, None)?;
            let steps = steps.saturating_mul(kernel.parts());
            Sampler::Independence(kernel, steps)
        }
        _ => return Err(unsupported(cell.method.name(), "a table")),
    };
    Ok(Box::new(Ready {
        invariant: invariant.clone(),
        region: table.region.clone(),
        law,
        sampler,
        records: cell.records,
        key: TaskKey { seed, cell: cell.key, replicate: 0, role: Role::Noise },
    }))
}

struct Ready<L: LatticeLaw> {
    invariant: Linear,
    region: Region,
    law: L,
    sampler: Sampler<L>,
    records: u64,
    key: TaskKey,
}

enum Sampler<L: LatticeLaw> {
    Exact(LatticeExact),
    Rejection(Rejection),
    Gibbs(LatticeGibbs<L>, u64),
    Metropolis(LatticeMetropolis<L>, u64),
    Independence(MetropolizedIndependence<L>, u64),
}

impl<L: ExactLattice> Releases for Ready<L> {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let d = self.invariant.cells();
        let mut scratch = LatticeScratch::default();
        let mut noise = vec![0i64; d];
        for replicate in range {
            let stream = |role| stream(TaskKey { replicate, role, ..self.key });
            match &self.sampler {
                Sampler::Exact(exact) => {
                    exact.draw(&mut stream(Role::Noise), &mut scratch, &mut noise);
                    self.integer(replicate, &noise, rows)?;
                }
                Sampler::Rejection(rejection) => {
                    let tries = rejection.draw(&mut stream(Role::Noise), &mut scratch, &mut noise);
                    self.integer(replicate, &noise, rows)?;
                    let moves = rejection.parts();
                    rows.chains.push(ChainLevel {
                        replicate,
                        level: 1,
                        steps: tries,
                        moves,
                        ess: None,
                        records: 0,
                    });
                }
                Sampler::Gibbs(kernel, steps) => self.chain(kernel, *steps, replicate, stream, rows)?,
                Sampler::Independence(kernel, steps) => {
                    self.chain(kernel, *steps, replicate, stream, rows)?
                }
                Sampler::Metropolis(kernel, steps) => self.chain(kernel, *steps, replicate, stream, rows)?,
            }
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        match &self.sampler {
            Sampler::Exact(exact) => exact.tv_error(),
            Sampler::Rejection(rejection) => rejection.tv_error(),
            Sampler::Gibbs(..) | Sampler::Metropolis(..) | Sampler::Independence(..) => f64::NAN,
        }
    }
}

impl<L: ExactLattice> Ready<L> {
    fn check(&self, noise: &[i64]) -> Result<()> {
        self.invariant.check(noise).and_then(|()| self.region.check(noise))
    }

    /// Checks an integer release and records it. Errors: a violated invariant.
    fn integer(&self, replicate: u64, noise: &[i64], rows: &mut Rows) -> Result<()> {
        self.check(noise)?;
        let errors: Vec<f64> = noise.iter().map(|&z| z as f64).collect();
        rows.errors.push(LevelErrors::of(replicate, 1, &errors, true));
        if self.records == 0 {
            rows.draws.push(Draw { replicate, iteration: 1, errors });
        }
        Ok(())
    }

    /// Runs one chain from an over-dispersed start; its last state is the release.
    fn chain<K: Dispersed<Value = i64>>(
        &self,
        kernel: &K,
        steps: u64,
        replicate: u64,
        stream: impl Fn(Role) -> Stream,
        rows: &mut Rows,
    ) -> Result<()> {
        let d = self.invariant.cells();
        let start = kernel.start(&mut stream(Role::Start), self.law.start_scale(d))?;
        let records = if self.records == 0 { RECORDS } else { self.records };
        let mut draws: Vec<Vec<f64>> = Vec::new();
        let mut kept = Ok(());
        let (state, record) =
            chain::run_from(kernel, start, steps, records, &mut stream(Role::Moves), |noise, put| {
                put(0, noise.iter().map(|z| z.unsigned_abs()).sum::<u64>() as f64);
                if self.records > 0 {
                    if kept.is_ok() {
                        kept = self.check(noise);
                    }
                    draws.push(noise.iter().map(|&z| z as f64).collect());
                }
            })?;
        kept?;
        let noise = kernel.position(&state).to_vec();
        self.integer(replicate, &noise, rows)?;
        for (i, errors) in draws.into_iter().enumerate() {
            rows.draws.push(Draw { replicate, iteration: i as u64 + 1, errors });
        }
        let trace = record.traces.first().map_or(&[][..], |trace| trace);
        rows.chains.push(ChainLevel {
            replicate,
            level: 1,
            steps: record.steps,
            moves: record.moves,
            ess: effective_sample_size(trace),
            records: trace.len() as u64,
        });
        if replicate < TRACED_CHAINS {
            rows.traces.push(record.traces);
        }
        Ok(())
    }
}
