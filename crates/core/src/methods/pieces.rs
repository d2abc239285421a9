//! A release of a large tree, piece by piece: every piece has a stream of its own, so that threads share one release and no row depends on
//! how many there are.
//!
//! Errors of the last level, nearly all of a tree, stay in the cache of the thread that draws them, unless something is
//! asked of single nodes.

use super::draws::Out;
use super::laws::TreeNoise;
use super::sums::Sums;
use super::tree::Tree;
use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::imaging::L2;
use crate::invariant::{Piece, Pieces, downwards, upwards};
use crate::law::{Sampler, Value};
use crate::rng::{Stream, TaskKey, piece_stream};

/// One release of a tree in pieces.
pub(super) struct InPieces<'a, L: TreeNoise> {
    pub(super) tree: &'a Tree<L>,
    pieces: &'a Pieces,
    crew: &'a dyn Crew,
    pub(super) key: TaskKey,
}

impl<'a, L: TreeNoise> InPieces<'a, L> {
    /// `None`: the tree is not cut.
    pub(super) fn of(tree: &'a Tree<L>, crew: &'a dyn Crew, key: TaskKey) -> Option<Self> {
        tree.pieces.as_ref().map(|pieces| Self { tree, pieces, crew, key })
    }

    /// The stream of the root.
    pub(super) fn root_stream(&self) -> Stream {
        piece_stream(self.key, 0, 0)
    }

    /// The root's noise, and its stream behind it for whatever else is random there.
    pub(super) fn root_noise(&self) -> (L::Value, Stream) {
        let mut rng = self.root_stream();
        (self.tree.samplers[0].draw(&mut rng), rng)
    }

    /// Draws the noise of the children of a piece; returns its stream for whatever else is random there.
    pub(super) fn noise<V>(&self, piece: &Piece, noise: &mut [V], value: impl Fn(L::Value) -> V) -> Stream {
        let (mut rng, law) = (piece.stream(self.key), &self.tree.samplers[piece.level]);
        noise.iter_mut().for_each(|z| *z = value(law.draw(&mut rng)));
        rng
    }

    /// Independent noise on all nodes.
    pub(super) fn fill(&self, noise: &mut [L::Value]) {
        noise[0] = self.tree.samplers[0].draw(&mut self.root_stream());
        let below = |piece: &Piece, _: &[L::Value], (): &mut (), out: &mut [L::Value]| {
            self.noise(piece, out, |z| z);
        };
        downwards(self.pieces, self.crew, noise, below, |_, _, _| ());
    }

    /// Noise of the estimates of all nodes above the last level from their subtrees.
    pub(super) fn estimates(&self, l2: &L2) -> Vec<f64> {
        let mut noise = vec![0.0; self.pieces.last_start()];
        noise[0] = self.tree.samplers[0].draw(&mut self.root_stream()).to_f64();
        let upper = (1..self.pieces.levels() - 1).flat_map(|level| self.pieces.level(level));
        upper.for_each(|piece| {
            self.noise(piece, &mut noise[piece.children.clone()], Value::to_f64);
        });
        l2.estimate(self.pieces, self.crew, &mut noise, |piece, noise| {
            self.noise(piece, noise, Value::to_f64);
        });
        noise
    }

    /// Noise of the estimates of the children of a piece, and its stream behind its noise. That of the last level is drawn again.
    pub(super) fn estimates_of(&self, piece: &Piece, estimates: &[f64], out: &mut [f64]) -> Stream {
        let rng = self.noise(piece, out, Value::to_f64);
        if let Some(kept) = estimates.get(piece.children.clone()) {
            out.copy_from_slice(kept);
        }
        rng
    }

    /// Draws the counts of a release from the root's down, checks them against their invariant, and adds their rows.
    ///
    /// - `root`: the released count of the root.
    /// - `noise`: draws the noise of what was measured of the children of a piece, and returns its stream for whatever else
    ///   is random there.
    /// - `below`: of a piece, the counts of its parents and what was measured of its children, the counts of the children.
    ///
    /// Errors: a method that promises the invariant and breaks it.
    pub(super) fn release_counts<V: Value, M: Value, S: Default + Send>(
        &self,
        root: V,
        out: &mut Out,
        noise: impl Fn(&Piece, &mut [M]) -> Stream + Send + Sync,
        below: impl Fn(&Piece, &[V], &[M], &mut Stream, &mut S, &mut [V]) + Send + Sync,
    ) -> Result<()> {
        let counts = &self.tree.counts;
        let children = |piece: &Piece, above: &[V], scratch: &mut (Vec<V>, Vec<M>, S), errors: &mut [V]| {
            let (totals, measured, scratch) = scratch;
            let own = &counts[piece.children.clone()];
            measured.resize(own.len(), M::default());
            let mut rng = noise(piece, measured);
            measured.iter_mut().zip(own).for_each(|(y, &x)| *y += M::from_count(x));
            totals.clear();
            totals
                .extend(counts[piece.parents.clone()].iter().zip(above).map(|(&x, &z)| V::from_count(x) + z));
            below(piece, totals, measured, &mut rng, scratch, errors);
            errors.iter_mut().zip(own).for_each(|(y, &x)| *y -= V::from_count(x));
        };
        self.release(root - V::from_count(counts[0]), !V::WHOLE, out, children)
    }

    /// Draws the errors of a release from the root's down, checks it against its invariant, and adds its rows.
    ///
    /// - `summed`: whether parents are to be the sums of what is released, to the last rounding.
    /// - `below`: of a piece and the errors of its parents, those of its children.
    ///
    /// Errors: a method that promises the invariant and breaks it.
    pub(super) fn release<V: Value, S: Default + Send>(
        &self,
        root: V,
        summed: bool,
        out: &mut Out,
        below: impl Fn(&Piece, &[V], &mut S, &mut [V]) + Send + Sync,
    ) -> Result<()> {
        let Self { tree, pieces, key, .. } = *self;
        let hierarchy = &tree.hierarchy;
        let kept = if out.sink.wants_counts() { hierarchy.nodes() } else { pieces.last_start() };
        let mut errors = vec![V::default(); kept];
        errors[0] = root;
        let seen = |piece: &Piece, above: &mut [V], below: &[V]| {
            if summed {
                hierarchy.sum_piece(piece, above, below);
            }
            (self.check(piece, above, below), Sums::of(below, &tree.counts[piece.children.clone()]))
        };
        let last = downwards(pieces, self.crew, &mut errors, below, seen);
        let mut levels = vec![last];
        levels.extend(upwards(pieces, self.crew, &mut errors, seen));
        let root = &errors[..1];
        levels.push(vec![(self.check_nonnegative(0, root), Sums::of(root, &tree.counts[..1]))]);
        levels.reverse();
        let check = levels.iter().flatten().find_map(|(check, _)| check.clone().err());
        if let Some(error) = check.as_ref().filter(|_| tree.promised) {
            return Err(error.clone());
        }
        for (level, own) in (1..).zip(levels) {
            let sums: Sums = own.into_iter().map(|(_, sums)| sums).sum();
            out.sink.level(key.replicate, level, sums, check.is_none());
        }
        out.sink.counts(key.replicate, V::errors(&errors));
        Ok(())
    }

    /// Checks a piece against the invariant. Errors: the first node that breaks it.
    fn check<V: Value>(&self, piece: &Piece, above: &[V], below: &[V]) -> Result<()> {
        self.tree.hierarchy.check_piece(piece, &self.tree.counts, above, below)?;
        self.check_nonnegative(piece.children.start, below)
    }

    /// Checks that no released count is negative, where that is promised; `first`: the first node. Errors: the first that is.
    fn check_nonnegative<V: Value>(&self, first: usize, errors: &[V]) -> Result<()> {
        if !self.tree.nonnegative {
            return Ok(());
        }
        let released = (first..).zip(errors).map(|(v, &z)| (v, V::from_count(self.tree.counts[v]) + z));
        match released.into_iter().find(|&(_, y)| y < V::default()) {
            None => Ok(()),
            Some((v, y)) => Err(Error::violated(format!("node {v}"), y)),
        }
    }
}
