//! A cell on a table under an invariant: law + lattice + method, prepared once, then drawn replicate by replicate.

use super::hierarchy::unsupported;
use super::rows::{ChainRow, Draw, LevelRow, Prepared, RECORDS, Rows, TRACED_CHAINS};
use crate::chain;
use crate::config::{LawKind, Method};
use crate::diagnostics::effective_sample_size;
use crate::error::Result;
use crate::exact::{ExactLattice, LatticeExact, LatticeScratch};
use crate::grid::Cell;
use crate::imaging::LatticeL2;
use crate::input::InvariantTable;
use crate::invariant::Linear;
use crate::kernel::{Coupled, LatticeGibbs, LatticeMetropolis};
use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, LatticeLaw, Law};
use crate::rng::{Role, Stream, TaskKey, stream};
use std::ops::Range;

/// Prepares a cell: everything that does not depend on the replicate.
pub(super) fn prepare(cell: &Cell, seed: u64, table: &InvariantTable) -> Result<Box<dyn Prepared>> {
    let scale = cell.calibration.scales[0];
    match cell.law {
        LawKind::L1 | LawKind::DoubleGeometric => {
            let law = DoubleGeometric::new(scale)?;
            ready(cell, seed, table, law, Some(Box::new(move |rng: &mut Stream| law.sample(rng))))
        }
        LawKind::DiscreteGaussian | LawKind::GeneralizedGaussian => {
            let law = DiscreteGaussian::new(scale)?;
            ready(cell, seed, table, law, Some(Box::new(move |rng: &mut Stream| law.sample(rng))))
        }
        LawKind::L2 => ready(cell, seed, table, EuclideanLaplace::new(scale)?, None),
        LawKind::Laplace | LawKind::Gaussian => Err(unsupported(cell.method.name(), cell.law.name())),
    }
}

/// One draw of independent noise.
type Free = Box<dyn Fn(&mut Stream) -> i64 + Send + Sync>;

fn ready<L: ExactLattice>(
    cell: &Cell,
    seed: u64,
    table: &InvariantTable,
    law: L,
    free: Option<Free>,
) -> Result<Box<dyn Prepared>> {
    let invariant = &table.invariant;
    let no_free = || unsupported(cell.method.name(), cell.law.name());
    let sampler = match cell.method {
        Method::Unconstrained => Sampler::Free(free.ok_or_else(no_free)?),
        Method::L2 => Sampler::L2(free.ok_or_else(no_free)?, LatticeL2::new(invariant)?),
        Method::L2Integer => {
            let l2 = LatticeL2::new(invariant)?;
            l2.check_rounding()?;
            Sampler::L2Integer(free.ok_or_else(no_free)?, l2)
        }
        // Nearest plane is what `exact` is for a Gaussian law; the config refuses it for the others.
        Method::Exact { .. } | Method::Klein => Sampler::Exact(LatticeExact::new(invariant, None, law)?),
        Method::LineGibbs { sweeps, .. } => {
            let kernel = LatticeGibbs::new(invariant, None, law)?;
            let steps = sweeps.saturating_mul(kernel.sweep());
            Sampler::Gibbs(kernel, steps)
        }
        Method::LatticeMetropolis { steps, a, basis } => {
            Sampler::Metropolis(LatticeMetropolis::new(invariant, law, a, basis)?, steps)
        }
        Method::HierarchicalMh { .. } | Method::TopDown => {
            return Err(unsupported(cell.method.name(), "a table"));
        }
    };
    Ok(Box::new(Ready {
        invariant: invariant.clone(),
        law,
        sampler,
        records: cell.records,
        key: TaskKey { seed, cell: cell.key, replicate: 0, role: Role::Noise },
    }))
}

struct Ready<L: LatticeLaw> {
    invariant: Linear,
    law: L,
    sampler: Sampler<L>,
    records: u64,
    key: TaskKey,
}

enum Sampler<L: LatticeLaw> {
    Free(Free),
    L2(Free, LatticeL2),
    L2Integer(Free, LatticeL2),
    Exact(LatticeExact),
    Gibbs(LatticeGibbs<L>, u64),
    Metropolis(LatticeMetropolis<L>, u64),
}

impl<L: ExactLattice> Prepared for Ready<L> {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let d = self.invariant.cells();
        let mut scratch = LatticeScratch::default();
        let mut noise = vec![0i64; d];
        for replicate in range {
            let stream = |role| stream(TaskKey { replicate, role, ..self.key });
            let draw_free = |free: &Free, noise: &mut [i64]| {
                let mut rng = stream(Role::Noise);
                noise.iter_mut().for_each(|z| *z = free(&mut rng));
                rng
            };
            match &self.sampler {
                Sampler::Free(free) => {
                    draw_free(free, &mut noise);
                    let kept = self.invariant.check(&noise).is_ok();
                    self.record(replicate, noise.iter().map(|&z| z as f64).collect(), kept, rows);
                }
                Sampler::L2(free, l2) => {
                    draw_free(free, &mut noise);
                    let mut real: Vec<f64> = noise.iter().map(|&z| z as f64).collect();
                    l2.project(&mut real);
                    l2.check(&real)?;
                    self.record(replicate, real, true, rows);
                }
                Sampler::L2Integer(free, l2) => {
                    let mut rng = draw_free(free, &mut noise);
                    l2.round(&mut rng, &mut noise);
                    self.integer(replicate, &noise, rows)?;
                }
                Sampler::Exact(exact) => {
                    exact.draw(&mut stream(Role::Noise), &mut scratch, &mut noise);
                    self.integer(replicate, &noise, rows)?;
                }
                Sampler::Gibbs(kernel, steps) => self.chain(kernel, *steps, replicate, stream, rows)?,
                Sampler::Metropolis(kernel, steps) => self.chain(kernel, *steps, replicate, stream, rows)?,
            }
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        match &self.sampler {
            Sampler::Exact(exact) => exact.tv_error(),
            Sampler::Gibbs(..) | Sampler::Metropolis(..) => f64::NAN,
            Sampler::Free(_) | Sampler::L2(..) | Sampler::L2Integer(..) => 0.0,
        }
    }
}

impl<L: ExactLattice> Ready<L> {
    /// Checks an integer release and records it. Errors: a violated invariant.
    fn integer(&self, replicate: u64, noise: &[i64], rows: &mut Rows) -> Result<()> {
        self.invariant.check(noise)?;
        self.record(replicate, noise.iter().map(|&z| z as f64).collect(), true, rows);
        Ok(())
    }

    fn record(&self, replicate: u64, errors: Vec<f64>, kept: bool, rows: &mut Rows) {
        rows.errors.push(LevelRow::of(replicate, 1, &errors, kept));
        if self.records == 0 {
            rows.draws.push(Draw { replicate, iteration: 1, errors });
        }
    }

    /// Runs one chain from an over-dispersed start; its last state is the release.
    fn chain<K: Coupled<Value = i64>>(
        &self,
        kernel: &K,
        steps: u64,
        replicate: u64,
        stream: impl Fn(Role) -> Stream,
        rows: &mut Rows,
    ) -> Result<()> {
        let d = self.invariant.cells();
        let start = kernel.start(&mut stream(Role::Start), self.law.start_scale(d));
        let records = if self.records == 0 { RECORDS } else { self.records };
        let mut draws: Vec<Vec<f64>> = Vec::new();
        let mut kept = Ok(());
        let (state, record) =
            chain::run_from(kernel, start, steps, records, &mut stream(Role::Moves), |noise, put| {
                put(0, noise.iter().map(|z| z.unsigned_abs()).sum::<u64>() as f64);
                if self.records > 0 {
                    if kept.is_ok() {
                        kept = self.invariant.check(noise);
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
        rows.chains.push(ChainRow {
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
