//! A cell on a hierarchy: law + tree + method, prepared once, then drawn replicate by replicate.

use super::super::rows::{ChainLevel, LevelErrors, RECORDS, Releases, Rows, TRACED_CHAINS};
use super::unsupported;
use crate::chain::{self, ChainRecord};
use crate::config::{LawKind, Method};
use crate::diagnostics::effective_sample_size;
use crate::error::Result;
use crate::exact::{TreeLaw, TreeSampler};
use crate::grid::Cell;
use crate::imaging::{L2, SimplexScratch, SimplexValue, TopDown};
use crate::input::HierarchyTable;
use crate::invariant::Hierarchy;
use crate::kernel::{HierarchicalMh, Kernel, LineGibbs};
use crate::law::{DiscreteGaussian, DoubleGeometric, Gaussian, Laplace, LineLaw, Value};
use crate::rng::{Role, Stream, TaskKey, stream};
use std::ops::Range;
use std::sync::Arc;

/// Prepares a cell: everything that does not depend on the replicate.
pub(super) fn prepare(cell: &Cell, seed: u64, table: &HierarchyTable) -> Result<Box<dyn Releases>> {
    match cell.law {
        LawKind::Laplace => prepare_law(cell, seed, table, Laplace::new),
        LawKind::DoubleGeometric => prepare_law(cell, seed, table, DoubleGeometric::new),
        LawKind::Gaussian => prepare_law(cell, seed, table, Gaussian::new),
        LawKind::DiscreteGaussian => prepare_law(cell, seed, table, DiscreteGaussian::new),
        LawKind::L1 | LawKind::L2 | LawKind::GeneralizedGaussian => {
            Err(unsupported(cell.method.name(), cell.law.name()))
        }
    }
}

fn prepare_law<L>(
    cell: &Cell,
    seed: u64,
    table: &HierarchyTable,
    law: impl Fn(f64) -> Result<L>,
) -> Result<Box<dyn Releases>>
where
    L: LineLaw + TreeLaw<Value: SimplexValue>,
{
    let laws = cell.calibration.scales.iter().map(|&scale| law(scale)).collect::<Result<Vec<_>>>()?;
    let hierarchy = &table.hierarchy;
    let counts = cell.method.nonnegative().then_some(&table.counts[..]);
    let sampler = match cell.method {
        Method::Unconstrained => Sampler::Unconstrained,
        Method::Exact { .. } => Sampler::Exact(L::tree_sampler(hierarchy, &laws, counts)?),
        Method::LineGibbs { sweeps, .. } => {
            Sampler::LineGibbs(LineGibbs::new(hierarchy, &laws, counts)?, sweeps)
        }
        Method::HierarchicalMh { steps, proposal_scale, .. } => {
            let proposal = match proposal_scale {
                Some(scale) => scale * laws[laws.len() - 1].scale(),
                None => HierarchicalMh::default_proposal(hierarchy, &laws),
            };
            Sampler::HierarchicalMh(HierarchicalMh::new(hierarchy, &laws, proposal, counts)?, steps)
        }
        Method::L2 => {
            Sampler::L2(L2::new(hierarchy, &laws.iter().map(|law| law.variance()).collect::<Vec<_>>())?)
        }
        Method::TopDown => Sampler::TopDown(TopDown::new(hierarchy)),
        _ => {
            return Err(unsupported(cell.method.name(), "a hierarchy"));
        }
    };
    let key = TaskKey { seed, cell: cell.key, replicate: 0, role: Role::Noise };
    let nonnegative = cell.method.nonnegative();
    Ok(Box::new(Ready {
        hierarchy: hierarchy.clone(),
        counts: table.counts.clone(),
        laws,
        sampler,
        nonnegative,
        key,
    }))
}

struct Ready<L: LineLaw + TreeLaw> {
    hierarchy: Hierarchy,
    counts: Arc<[i64]>,
    laws: Vec<L>,
    sampler: Sampler<L>,
    nonnegative: bool,
    key: TaskKey,
}

enum Sampler<L: LineLaw + TreeLaw> {
    Unconstrained,
    Exact(L::Sampler),
    LineGibbs(LineGibbs<L>, u64),
    HierarchicalMh(HierarchicalMh<L>, u64),
    L2(L2),
    TopDown(TopDown),
}

impl<L: LineLaw + TreeLaw<Value: SimplexValue>> Releases for Ready<L> {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let n = self.hierarchy.nodes();
        let mut noise = vec![L::Value::default(); n];
        let mut exact = <L::Sampler as TreeSampler>::Scratch::default();
        let mut simplex = SimplexScratch::default();
        for replicate in range {
            let stream = |role| stream(TaskKey { replicate, role, ..self.key });
            match &self.sampler {
                Sampler::Unconstrained => {
                    self.fill(&mut stream(Role::Noise), &mut noise);
                    self.record(replicate, &noise, &self.released(&noise), rows)?;
                }
                Sampler::Exact(sampler) => {
                    sampler.draw(&mut stream(Role::Noise), &mut exact, &mut noise);
                    self.record(replicate, &noise, &self.released(&noise), rows)?;
                }
                Sampler::LineGibbs(kernel, sweeps) => {
                    let steps = sweeps.saturating_mul(kernel.sweep());
                    self.chain(kernel, steps, replicate, stream, &mut noise, rows)?;
                }
                Sampler::HierarchicalMh(kernel, steps) => {
                    self.chain(kernel, *steps, replicate, stream, &mut noise, rows)?;
                }
                Sampler::L2(l2) => {
                    self.fill(&mut stream(Role::Noise), &mut noise);
                    let mut real: Vec<f64> = noise.iter().map(|z| z.to_f64()).collect();
                    l2.project(&mut real);
                    let released: Vec<f64> =
                        real.iter().zip(&*self.counts).map(|(z, &x)| x as f64 + z).collect();
                    self.record(replicate, &real, &released, rows)?;
                }
                Sampler::TopDown(topdown) => {
                    let mut rng = stream(Role::Noise);
                    self.fill(&mut rng, &mut noise);
                    let noisy = self.released(&noise);
                    let mut released = vec![0i64; n];
                    topdown.release(&noisy, &mut rng, &mut simplex, &mut released);
                    let errors: Vec<i64> = released.iter().zip(&*self.counts).map(|(y, x)| y - x).collect();
                    self.record(replicate, &errors, &released, rows)?;
                }
            }
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        match &self.sampler {
            Sampler::Exact(sampler) => sampler.tv_error(),
            // What a chain leaves is not known here; imaging and free noise have none.
            Sampler::LineGibbs(..) | Sampler::HierarchicalMh(..) => f64::NAN,
            Sampler::Unconstrained | Sampler::L2(_) | Sampler::TopDown(_) => 0.0,
        }
    }
}

impl<L: LineLaw + TreeLaw<Value: SimplexValue>> Ready<L> {
    /// Independent noise on all nodes.
    fn fill(&self, rng: &mut Stream, noise: &mut [L::Value]) {
        for (l, law) in self.laws.iter().enumerate() {
            for z in &mut noise[self.hierarchy.level_nodes(l)] {
                *z = law.sample(rng);
            }
        }
    }

    fn released(&self, noise: &[L::Value]) -> Vec<L::Value> {
        noise.iter().zip(&*self.counts).map(|(&z, &x)| L::Value::from_count(x) + z).collect()
    }

    /// Runs one chain from an over-dispersed start, the leaves' free noise (never from the confidential
    /// counts), and records its last state as the release.
    fn chain<K: Kernel<Value = L::Value>>(
        &self,
        kernel: &K,
        steps: u64,
        replicate: u64,
        stream: impl Fn(Role) -> Stream,
        start: &mut [L::Value],
        rows: &mut Rows,
    ) -> Result<()> {
        self.fill(&mut stream(Role::Start), start);
        if self.nonnegative {
            for &leaf in self.hierarchy.leaves() {
                let (z, floor) =
                    (&mut start[leaf as usize], L::Value::from_count(-self.counts[leaf as usize]));
                if *z < floor {
                    *z = floor;
                }
            }
        }
        let levels = self.hierarchy.levels();
        let statistics = |noise: &[L::Value], put: &mut dyn FnMut(usize, f64)| {
            for l in 0..levels {
                put(l, noise[self.hierarchy.level_nodes(l)].iter().map(|z| z.to_f64().abs()).sum());
            }
        };
        let (state, record) =
            chain::run(kernel, start, steps, RECORDS, &mut stream(Role::Moves), statistics)?;
        let mut noise = kernel.position(&state).to_vec();
        // Sums of reals drift by rounding along a chain; integers do not change here.
        self.hierarchy.sum_up(&mut noise);
        self.record(replicate, &noise, &self.released(&noise), rows)?;
        let ChainRecord { steps, moves, traces } = record;
        for (l, trace) in traces.iter().enumerate() {
            rows.chains.push(ChainLevel {
                replicate,
                level: l as u32 + 1,
                steps,
                moves,
                ess: effective_sample_size(trace),
                records: trace.len() as u64,
            });
        }
        if replicate < TRACED_CHAINS {
            rows.traces.push(traces);
        }
        Ok(())
    }

    /// Checks a release against its invariant and adds its rows.
    ///
    /// Errors: a method that promises the invariant and breaks it.
    fn record<V: Value>(&self, replicate: u64, errors: &[V], released: &[V], rows: &mut Rows) -> Result<()> {
        let mut check = self.hierarchy.check_release(released, &self.counts, errors);
        if self.nonnegative {
            check = check.and_then(|()| self.hierarchy.check_nonnegative(released));
        }
        let promised = !matches!(self.sampler, Sampler::Unconstrained);
        if promised {
            check.clone()?;
        }
        for l in 0..self.hierarchy.levels() {
            let errors = &errors[self.hierarchy.level_nodes(l)];
            rows.errors.push(LevelErrors::of(replicate, l as u32 + 1, errors, check.is_ok()));
        }
        Ok(())
    }
}
