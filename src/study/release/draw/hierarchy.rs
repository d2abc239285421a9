//! A cell on a hierarchy: law + tree + method, prepared once, then drawn replicate by replicate.

use super::super::rows::{RECORDS, Releases, Rows, TRACED_CHAINS};
use super::super::{ChainRow, ErrorRow};
use super::own;
use super::pieces::InPieces;
use crate::catalogue::unsupported;
use crate::catalogue::{IntegerNoise, Method, OnLaw, RealNoise, TreeNoise};
use crate::chain::{self, ChainRecord};
use crate::exact::TreeSampler;
use crate::grid::Cell;
use crate::imaging::{BlueDown, BlueDownScratch, L2, TopDown, TopDownScratch};
use crate::input::HierarchyTable;
use crate::invariant::{Hierarchy, Pieces};
use crate::kernel::{Dispersed, HierarchicalMh, LineGibbs, Start, is_settled};
use crate::law::{EuclideanLaplace, Law, Sampler, Value};
use crate::own::{Own, OwnReleases, Promises};
use crate::privacy::Declared;
use crate::rng::{Role, Stream, TaskKey, stream};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Prepares a cell: everything that does not depend on the replicate.
/// `keys`: the seed of the run, and the key of the cell's noise.
pub(super) fn prepare(cell: &Cell, keys: (u64, u64), table: &HierarchyTable) -> Result<Box<dyn Releases>> {
    // Sums below known nodes are mended across levels: such trees stay whole.
    let pieces = if table.hierarchy.has_known() { None } else { Pieces::of(&table.hierarchy) };
    prepare_cut(cell, keys, table, pieces)
}

/// The same of a tree in given pieces.
pub(super) fn prepare_cut(
    cell: &Cell,
    keys: (u64, u64),
    table: &HierarchyTable,
    pieces: Option<Pieces>,
) -> Result<Box<dyn Releases>> {
    if !cell.law.on_hierarchies() {
        return Err(unsupported(cell.method.name(), cell.law.name()));
    }
    cell.law.on(OnTree { cell, keys, table, pieces })
}

struct OnTree<'a> {
    cell: &'a Cell,
    keys: (u64, u64),
    table: &'a HierarchyTable,
    pieces: Option<Pieces>,
}

impl OnLaw for OnTree<'_> {
    type Output = Box<dyn Releases>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        self.with(law)
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        self.with(law)
    }

    fn euclidean(self, _: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        Err(unsupported(self.cell.method.name(), self.cell.law.name()))
    }
}

impl OnTree<'_> {
    fn with<L: TreeNoise>(self, law: fn(f64) -> Result<L>) -> Result<Box<dyn Releases>> {
        let Self { cell, keys: (seed, noise_key), table, pieces } = self;
        let laws = cell.calibration.laws(law).collect::<Result<Vec<_>>>()?;
        let tree = Tree {
            pieces,
            hierarchy: table.hierarchy.clone(),
            counts: table.counts.clone(),
            samplers: laws.iter().map(Law::sampler).collect(),
            laws,
            nonnegative: cell.method.nonnegative(),
            promised: cell.method.keeps_equations(),
            key: TaskKey { seed, cell: cell.streams, replicate: 0, role: Role::Noise },
            noise_key,
        };
        if let Method::External { own: Some(own) } = cell.method {
            return Ok(Box::new(OwnMethod::new(own, cell, tree)?));
        }
        let (draws, tv_error) = sampler(cell, &tree.laws, table)?;
        Ok(Box::new(Ready { tree, draws, tv_error }))
    }
}

/// Draws a range of releases.
type Drawing<L> = Box<dyn Fn(&Tree<L>, Range<u64>, &mut Rows) -> Result<()> + Send + Sync>;

/// The method, and what its draws are off in total variation; NaN if that is unknown.
fn sampler<L: TreeNoise>(cell: &Cell, laws: &[L], table: &HierarchyTable) -> Result<(Drawing<L>, f64)> {
    let method = &cell.method;
    let (hierarchy, start) = (&table.hierarchy, method.start());
    let counts = method.nonnegative().then_some(&table.counts[..]);
    let variances = || laws.iter().map(|law| law.variance()).collect::<Vec<_>>();
    Ok(match *method {
        Method::Unconstrained => {
            let draws: Drawing<L> = Box::new(|tree, range, rows| {
                if tree.pieces.is_some() {
                    return tree.in_pieces(range, |pieces| pieces.unconstrained(rows));
                }
                let mut noise = tree.zeros();
                for replicate in range {
                    tree.fill(&mut tree.stream(replicate, Role::Noise), &mut noise);
                    tree.record(replicate, &noise, &tree.released(&noise), rows)?;
                }
                Ok(())
            });
            (draws, 0.0)
        }
        Method::Exact { .. } => {
            let sampler = L::tree_sampler(hierarchy, laws, counts).map_err(|why| match why {
                Error::TooLarge { .. } if LineGibbs::new(hierarchy, laws, counts).is_ok() => {
                    Error::Instead { why: Box::new(why), instead: "line-gibbs" }
                }
                why => why,
            })?;
            let tv_error = sampler.tv_error();
            let draws: Drawing<L> = Box::new(move |tree, range, rows| {
                if let (Some(_), Some(sampler)) = (&tree.pieces, sampler.downwards()) {
                    return tree.in_pieces(range, |pieces| pieces.exact(sampler, rows));
                }
                let (mut noise, mut scratch) = (tree.zeros(), Default::default());
                for replicate in range {
                    sampler.draw(&mut tree.stream(replicate, Role::Noise), &mut scratch, &mut noise);
                    tree.record(replicate, &noise, &tree.released(&noise), rows)?;
                }
                Ok(())
            });
            (draws, tv_error)
        }
        Method::LineGibbs { .. } | Method::HierarchicalMh { .. } if is_settled(hierarchy, counts) => {
            let draws: Drawing<L> = Box::new(|tree, mut range, rows| {
                let noise = tree.zeros();
                let released = tree.released(&noise);
                range.try_for_each(|replicate| tree.record(replicate, &noise, &released, rows))
            });
            (draws, 0.0)
        }
        Method::LineGibbs { sweeps, .. } => {
            let kernel = LineGibbs::new(hierarchy, laws, counts)?;
            let steps = sweeps.unwrap_or(0).saturating_mul(kernel.sweep());
            (chains(kernel, start, steps), f64::NAN)
        }
        Method::HierarchicalMh { steps, proposal_scale, .. } => {
            let proposal = match proposal_scale {
                Some(scale) => scale * laws[laws.len() - 1].scale(),
                None => HierarchicalMh::default_proposal(hierarchy, laws),
            };
            let kernel = HierarchicalMh::new(hierarchy, laws, proposal, counts)?;
            (chains(kernel, start, steps.unwrap_or(0)), f64::NAN)
        }
        Method::L2 => {
            let l2 = L2::new(hierarchy, &variances())?;
            let draws: Drawing<L> = Box::new(move |tree, range, rows| {
                if tree.pieces.is_some() {
                    return tree.in_pieces(range, |pieces| pieces.l2(&l2, rows));
                }
                let mut noise = tree.zeros();
                for replicate in range {
                    tree.fill(&mut tree.stream(replicate, Role::Noise), &mut noise);
                    let mut real: Vec<f64> = noise.iter().map(|z| z.to_f64()).collect();
                    l2.project(&mut real);
                    let released: Vec<f64> =
                        real.iter().zip(&*tree.counts).map(|(z, &x)| x as f64 + z).collect();
                    tree.record(replicate, &real, &released, rows)?;
                }
                Ok(())
            });
            (draws, 0.0)
        }
        Method::TopDown => {
            let topdown = TopDown::new(hierarchy, &table.counts);
            let draws: Drawing<L> = Box::new(move |tree, range, rows| {
                if tree.pieces.is_some() {
                    return tree.in_pieces(range, |pieces| pieces.topdown(&topdown, rows));
                }
                let (mut noise, mut scratch) = (tree.zeros(), TopDownScratch::default());
                for replicate in range {
                    let mut rng = tree.stream(replicate, Role::Noise);
                    tree.fill(&mut rng, &mut noise);
                    let mut released = vec![0i64; noise.len()];
                    topdown.release(&tree.released(&noise), &mut rng, &mut scratch, &mut released);
                    tree.record_integers(replicate, &released, rows)?;
                }
                Ok(())
            });
            (draws, 0.0)
        }
        Method::BlueDown => {
            let bluedown = BlueDown::new(hierarchy, &variances(), &table.counts)?;
            let draws: Drawing<L> = Box::new(move |tree, range, rows| {
                if tree.pieces.is_some() {
                    return tree.in_pieces(range, |pieces| pieces.bluedown(&bluedown, rows));
                }
                let (mut noise, mut scratch) = (tree.zeros(), BlueDownScratch::default());
                let mut released = vec![0i64; noise.len()];
                for replicate in range {
                    let mut rng = tree.stream(replicate, Role::Noise);
                    tree.fill(&mut rng, &mut noise);
                    bluedown.release(&tree.counts, &noise, &mut rng, &mut scratch, &mut released);
                    tree.record_integers(replicate, &released, rows)?;
                }
                Ok(())
            });
            (draws, 0.0)
        }
        _ => return Err(unsupported(method.name(), "a hierarchy")),
    })
}

fn chains<L: TreeNoise, K: Dispersed<Value = L::Value> + Send + Sync + 'static>(
    kernel: K,
    start: Start,
    steps: u64,
) -> Drawing<L> {
    Box::new(move |tree, range, rows| {
        range.into_iter().try_for_each(|replicate| tree.chain(&kernel, start, steps, replicate, rows))
    })
}

struct Ready<L: TreeNoise> {
    tree: Tree<L>,
    draws: Drawing<L>,
    tv_error: f64,
}

impl<L: TreeNoise> Releases for Ready<L> {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        (self.draws)(&self.tree, range, rows)
    }

    fn tv_error(&self) -> f64 {
        self.tv_error
    }
}

/// A method that is not ours.
struct OwnMethod<L: TreeNoise> {
    tree: Tree<L>,
    releases: Box<dyn OwnReleases>,
    promises: Promises,
}

impl<L: TreeNoise> OwnMethod<L> {
    /// Errors: it does not serve the cell.
    fn new(own: Own, cell: &Cell, tree: Tree<L>) -> Result<Self> {
        let hierarchy = &tree.hierarchy;
        let mut variances = vec![0.0; hierarchy.nodes()];
        for (level, law) in tree.laws.iter().enumerate() {
            let nodes = hierarchy.level_nodes(level);
            nodes.filter(|&v| !hierarchy.is_known(v)).for_each(|v| variances[v] = law.variance());
        }
        let releases = own::ready(own, cell, own::tree(hierarchy), variances)?;
        Ok(Self { tree, releases, promises: own.promises() })
    }

    /// What it is given of some replicates, one behind the other: noisy counts, or of a mechanism the confidential ones.
    fn given(&self, batch: Range<u64>) -> Vec<f64> {
        let (tree, mut noise) = (&self.tree, self.tree.zeros());
        let mut given = Vec::with_capacity(noise.len() * (batch.end - batch.start) as usize);
        for replicate in batch {
            if !self.promises.mechanism {
                let key = TaskKey { replicate, cell: tree.noise_key, ..tree.key };
                match InPieces::of(tree, key) {
                    Some(pieces) => pieces.fill(&mut noise),
                    None => tree.fill(&mut stream(key), &mut noise),
                }
            }
            given.extend(noise.iter().zip(&*tree.counts).map(|(z, &x)| z.to_f64() + x as f64));
        }
        given
    }

    /// Adds the rows of a release. Errors: a promise that is broken.
    fn record(&self, replicate: u64, released: &[f64], rows: &mut Rows) -> Result<()> {
        let tree = &self.tree;
        if self.promises.integers {
            return tree.record_integers(replicate, &own::integers(released)?, rows);
        }
        own::finite(released)?;
        let counts = || tree.counts.iter().map(|&x| x as f64);
        let mut errors: Vec<f64> = released.iter().zip(counts()).map(|(y, x)| y - x).collect();
        if self.promises.invariant {
            own::summed(&tree.hierarchy, released, &mut errors)?;
        }
        let released: Vec<f64> = errors.iter().zip(counts()).map(|(z, x)| z + x).collect();
        tree.record(replicate, &errors, &released, rows)
    }
}

impl<L: TreeNoise> Releases for OwnMethod<L> {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let nodes = self.tree.hierarchy.nodes();
        for batch in own::batches(range, nodes) {
            let mut counts = self.given(batch.clone());
            let seeds: Vec<u64> =
                batch.clone().map(|replicate| own::seed(self.tree.key, replicate)).collect();
            self.releases.release(&seeds, &mut counts).map_err(Error::Own)?;
            for (replicate, released) in batch.zip(counts.chunks(nodes)) {
                self.record(replicate, released, rows)?;
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

/// What the releases of all methods share.
pub(super) struct Tree<L: TreeNoise> {
    pub(super) hierarchy: Hierarchy,
    /// Of a large tree.
    pub(super) pieces: Option<Pieces>,
    pub(super) counts: Arc<[i64]>,
    laws: Vec<L>,
    pub(super) samplers: Vec<L::Sampler>,
    pub(super) nonnegative: bool,
    /// Whether the method promises the invariant.
    pub(super) promised: bool,
    pub(super) key: TaskKey,
    /// Of the streams of the noise.
    noise_key: u64,
}

impl<L: TreeNoise> Tree<L> {
    fn key_of(&self, replicate: u64) -> TaskKey {
        TaskKey { replicate, ..self.key }
    }

    fn stream(&self, replicate: u64, role: Role) -> Stream {
        stream(TaskKey { replicate, role, ..self.key })
    }

    fn zeros(&self) -> Vec<L::Value> {
        vec![L::Value::default(); self.hierarchy.nodes()]
    }

    /// A range of releases of a tree in pieces.
    fn in_pieces(
        &self,
        range: Range<u64>,
        mut release: impl FnMut(&InPieces<L>) -> Result<()>,
    ) -> Result<()> {
        let mut pieces = range.filter_map(|replicate| InPieces::of(self, self.key_of(replicate)));
        pieces.try_for_each(|pieces| release(&pieces))
    }

    /// Independent noise on all nodes that are not known.
    fn fill(&self, rng: &mut Stream, noise: &mut [L::Value]) {
        for (l, law) in self.samplers.iter().enumerate() {
            let nodes = &mut noise[self.hierarchy.level_nodes(l)];
            nodes.iter_mut().for_each(|z| *z = law.draw(rng));
        }
        if self.hierarchy.has_known() {
            (0..noise.len())
                .filter(|&v| self.hierarchy.is_known(v))
                .for_each(|v| noise[v] = L::Value::default());
        }
    }

    fn released(&self, noise: &[L::Value]) -> Vec<L::Value> {
        noise.iter().zip(&*self.counts).map(|(&z, &x)| L::Value::from_count(x) + z).collect()
    }

    /// Runs one chain from its start and records its last state as the release, if it moved.
    fn chain<K: Dispersed<Value = L::Value>>(
        &self,
        kernel: &K,
        start: Start,
        steps: u64,
        replicate: u64,
        rows: &mut Rows,
    ) -> Result<()> {
        let start = kernel.start(start, &mut self.stream(replicate, Role::Start))?;
        let levels = self.hierarchy.levels();
        let statistics = |noise: &[L::Value], put: &mut dyn FnMut(usize, f64)| {
            for l in 0..levels {
                put(l, noise[self.hierarchy.level_nodes(l)].iter().map(|z| z.to_f64().abs()).sum());
            }
        };
        let end =
            chain::end(kernel, start, steps, RECORDS, &mut self.stream(replicate, Role::Moves), statistics);
        if let Some(state) = end.release() {
            let mut noise = kernel.position(state).to_vec();
            // Sums of reals drift by rounding along a chain; integers do not change here.
            self.hierarchy.sum_up_noise(&mut noise);
            self.record(replicate, &noise, &self.released(&noise), rows)?;
        }
        let ChainRecord { steps, moves, traces } = end.record;
        for l in 0..levels {
            let trace = traces.get(l).map_or(&[][..], |trace| trace);
            rows.chains.push(ChainRow::of(self.key_of(replicate), l as u32 + 1, (steps, moves), trace));
        }
        if replicate < TRACED_CHAINS {
            rows.traces.push(traces);
        }
        Ok(())
    }

    /// Adds the rows of a release of integers. Errors: as [`Tree::record`].
    fn record_integers(&self, replicate: u64, released: &[i64], rows: &mut Rows) -> Result<()> {
        let errors: Vec<i64> = released.iter().zip(&*self.counts).map(|(y, x)| y - x).collect();
        self.record(replicate, &errors, released, rows)
    }

    /// Checks a release against its invariant and adds its rows.
    ///
    /// Errors: a method that promises the invariant and breaks it.
    fn record<V: Value>(&self, replicate: u64, errors: &[V], released: &[V], rows: &mut Rows) -> Result<()> {
        let mut check = self.hierarchy.check_release(released, &self.counts, errors);
        if self.nonnegative {
            check = check.and_then(|()| self.hierarchy.check_nonnegative(released));
        }
        if self.promised {
            check.clone()?;
            self.hierarchy.check_known(errors)?;
        }
        for l in 0..self.hierarchy.levels() {
            let errors = &errors[self.hierarchy.level_nodes(l)];
            rows.errors.push(ErrorRow::of(self.key_of(replicate), l as u32 + 1, errors, check.is_ok()));
        }
        rows.answer(replicate, errors);
        Ok(())
    }
}
