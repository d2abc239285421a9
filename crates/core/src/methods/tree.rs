//! A method on a tree: its noise, its streams, and how its releases are checked and handed on.

use super::draws::{Draws, Out, RECORDS, TRACED_CHAINS};
use super::laws::TreeNoise;
use super::pieces::InPieces;
use super::problem::{OnTree, Problem, Streams};
use super::sums::Sums;
use crate::chain::{self, ChainRecord};
use crate::crew::Crew;
use crate::error::Result;
use crate::invariant::{Hierarchy, Pieces, Region};
use crate::kernel::{Dispersed, Start};
use crate::law::{Sampler, Value};
use crate::rng::{Role, Stream};
use std::ops::Range;
use std::sync::Arc;

/// What the releases of all methods on a tree share.
pub struct Tree<L: TreeNoise> {
    pub(super) hierarchy: Hierarchy,
    /// The pieces of a large tree.
    pub(super) pieces: Option<Pieces>,
    pub(super) counts: Arc<[i64]>,
    /// By level, its law.
    pub(super) laws: Vec<L>,
    pub(super) samplers: Vec<L::Sampler>,
    pub(super) nonnegative: bool,
    /// The inequalities on the noise of the nodes.
    pub(super) region: Region,
    /// Whether the method promises the invariant.
    pub(super) promised: bool,
    pub(super) streams: Streams,
}

/// Draws a range of releases.
pub(super) type Drawing<L> = Box<dyn Fn(&Tree<L>, Range<u64>, &mut Out) -> Result<()> + Send + Sync>;

struct DrawsOfTree<L: TreeNoise> {
    tree: Tree<L>,
    draws: Drawing<L>,
    tv_error: f64,
}

impl<L: TreeNoise> Draws for DrawsOfTree<L> {
    fn draw(&self, range: Range<u64>, out: &mut Out) -> Result<()> {
        (self.draws)(&self.tree, range, out)
    }

    fn tv_error(&self) -> f64 {
        self.tv_error
    }
}

impl<L: TreeNoise> Tree<L> {
    /// Takes a problem on a tree, with a law for each level.
    pub(super) fn new(problem: &Problem, tree: OnTree, laws: Vec<L>) -> Self {
        let OnTree { hierarchy, counts, region, piece } = tree;
        // Sums below known nodes are mended across levels, and inequalities tie nodes across them: such trees stay whole.
        let pieces = match piece {
            _ if hierarchy.has_known() || !region.is_everything() => None,
            Some(most) => Pieces::cut(hierarchy, most),
            None => Pieces::of(hierarchy),
        };
        Self {
            pieces,
            hierarchy: hierarchy.clone(),
            counts: counts.clone(),
            samplers: laws.iter().map(|law| law.sampler()).collect(),
            laws,
            nonnegative: problem.asked.nonnegative(),
            region: region.clone(),
            promised: problem.asked.keeps_equations(),
            streams: problem.streams,
        }
    }

    /// Prepares releases that are drawn like this. `tv_error`: what its draws are off in total variation; NaN if that
    /// is unknown.
    pub(super) fn drawn(
        self,
        tv_error: f64,
        draws: impl Fn(&Self, Range<u64>, &mut Out) -> Result<()> + Send + Sync + 'static,
    ) -> Box<dyn Draws> {
        Box::new(DrawsOfTree { tree: self, draws: Box::new(draws), tv_error })
    }

    /// Prepares releases by chains, whose last states they are.
    pub(super) fn by_chains<K: Dispersed<Value = L::Value> + Send + Sync + 'static>(
        self,
        kernel: K,
        start: Start,
        steps: u64,
    ) -> Box<dyn Draws> {
        self.drawn(f64::NAN, move |tree, mut range, out| {
            range.try_for_each(|replicate| tree.chain(&kernel, start, steps, replicate, out))
        })
    }

    /// Prepares the releases where nothing is left to choose: the confidential counts.
    pub(super) fn settled(self) -> Box<dyn Draws> {
        self.drawn(0.0, |tree, mut range, out| {
            let noise = tree.zeros();
            let released = tree.released(&noise);
            range.try_for_each(|replicate| tree.record(replicate, &noise, &released, out))
        })
    }

    /// Variances of the noise, by level.
    pub(super) fn variances(&self) -> Vec<f64> {
        self.laws.iter().map(|law| law.variance()).collect()
    }

    /// The confidential counts, where no leaf may be negative.
    pub(super) fn floors(&self) -> Option<&[i64]> {
        self.nonnegative.then_some(&self.counts[..])
    }

    pub(super) fn stream(&self, replicate: u64) -> Stream {
        self.streams.stream(replicate, Role::Noise)
    }

    pub(super) fn zeros(&self) -> Vec<L::Value> {
        vec![L::Value::default(); self.hierarchy.nodes()]
    }

    /// Draws a range of releases of a tree in pieces.
    pub(super) fn in_pieces(
        &self,
        range: Range<u64>,
        crew: &dyn Crew,
        mut release: impl FnMut(&InPieces<L>) -> Result<()>,
    ) -> Result<()> {
        let mut pieces =
            range.filter_map(|replicate| InPieces::of(self, crew, self.streams.key_of(replicate)));
        pieces.try_for_each(|pieces| release(&pieces))
    }

    /// Independent noise on all nodes that are not known.
    pub(super) fn fill(&self, rng: &mut Stream, noise: &mut [L::Value]) {
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

    pub(super) fn released(&self, noise: &[L::Value]) -> Vec<L::Value> {
        noise.iter().zip(&*self.counts).map(|(&z, &x)| L::Value::from_count(x) + z).collect()
    }

    /// Runs one chain from its start and records its last state as the release, if it moved.
    fn chain<K: Dispersed<Value = L::Value>>(
        &self,
        kernel: &K,
        start: Start,
        steps: u64,
        replicate: u64,
        out: &mut Out,
    ) -> Result<()> {
        let start = kernel.start(start, &mut self.streams.stream(replicate, Role::Start))?;
        let levels = self.hierarchy.levels();
        let statistics = |noise: &[L::Value], put: &mut dyn FnMut(usize, f64)| {
            for l in 0..levels {
                put(l, noise[self.hierarchy.level_nodes(l)].iter().map(|z| z.to_f64().abs()).sum());
            }
        };
        let mut moves = self.streams.stream(replicate, Role::Moves);
        let end = chain::end(kernel, start, steps, RECORDS, &mut moves, statistics);
        if let Some(state) = end.release() {
            let mut noise = kernel.position(state).to_vec();
            // Sums of reals drift by rounding along a chain; integers do not change here.
            self.hierarchy.sum_up_noise(&mut noise);
            self.record(replicate, &noise, &self.released(&noise), out)?;
        }
        let ChainRecord { steps, moves, traces } = end.record;
        for l in 0..levels {
            let trace = traces.get(l).map_or(&[][..], |trace| trace);
            out.sink.chain(replicate, l as u32 + 1, (steps, moves), trace);
        }
        if replicate < TRACED_CHAINS {
            out.sink.traces(traces);
        }
        Ok(())
    }

    /// Hands a release of integers on. Errors: as [`Tree::record`].
    pub(super) fn record_integers(&self, replicate: u64, released: &[i64], out: &mut Out) -> Result<()> {
        let errors: Vec<i64> = released.iter().zip(&*self.counts).map(|(y, x)| y - x).collect();
        self.record(replicate, &errors, released, out)
    }

    /// Checks a release against its invariant and hands it on.
    ///
    /// Errors: a method that promises the invariant and breaks it.
    pub(super) fn record<V: Value>(
        &self,
        replicate: u64,
        errors: &[V],
        released: &[V],
        out: &mut Out,
    ) -> Result<()> {
        let mut check = self.hierarchy.check_release(released, &self.counts, errors);
        if self.nonnegative {
            check = check.and_then(|()| self.hierarchy.check_nonnegative(released));
        }
        check = check.and_then(|()| self.region.check_noise(errors));
        if self.promised {
            check.clone()?;
            self.hierarchy.check_known(errors)?;
        }
        for l in 0..self.hierarchy.levels() {
            let nodes = self.hierarchy.level_nodes(l);
            let sums = Sums::of(&errors[nodes.clone()], &self.counts[nodes]);
            out.sink.level(replicate, l as u32 + 1, sums, check.is_ok());
        }
        out.sink.counts(replicate, V::errors(errors));
        Ok(())
    }
}
