//! From the root down: the children of every node from their noisy counts and its released one.

use super::simplex::GRAIN;
use crate::invariant::{Hierarchy, Piece};
use crate::law::Value;
use crate::rng::Rng;

/// A descent on a hierarchy. Known nodes are released as they are; every other node gets at least what is known below it.
#[derive(Debug)]
pub(super) struct Descent {
    hierarchy: Hierarchy,
    /// By node: the count, if it is known, else the sum of the known counts below it. Empty if nothing is known.
    least: Vec<i64>,
}

/// The values of a family, reused from call to call.
#[derive(Debug, Clone, Default)]
pub(super) struct Family<V, O = i64> {
    nodes: Vec<u32>,
    noisy: Vec<V>,
    out: Vec<O>,
}

impl Descent {
    /// Prepares a descent. `counts`: the confidential counts, of which only known ones are looked at.
    pub(super) fn new(hierarchy: &Hierarchy, counts: &[i64]) -> Self {
        let mut least = Vec::new();
        if hierarchy.has_known() {
            least =
                (0..hierarchy.nodes()).map(|v| if hierarchy.is_known(v) { counts[v] } else { 0 }).collect();
            for v in (0..hierarchy.nodes()).rev().filter(|&v| !hierarchy.is_known(v)) {
                least[v] += least[hierarchy.children(v)].iter().sum::<i64>();
            }
        }
        Self { hierarchy: hierarchy.clone(), least }
    }

    /// Makes the release, into `out`.
    ///
    /// - `root`: its count, of [`Descent::root`] or [`Descent::root_of_reals`].
    /// - `noisy`: by node.
    /// - `split`: the open children of a node, by place and as nodes; their noisy counts above the least; what they sum
    ///   to, at least 0; where they go.
    pub(super) fn release<V: Value, O: Value>(
        &self,
        root: O,
        noisy: &[V],
        family: &mut Family<V, O>,
        out: &mut [O],
        mut split: impl FnMut(&dyn Fn(usize) -> usize, &[V], O, &mut [O]),
    ) {
        out[0] = root;
        for level in 1..self.hierarchy.levels() {
            let (piece, above, below) = self.hierarchy.split_level(level, out);
            self.below(&piece, above, &noisy[piece.children.clone()], family, below, &mut split);
        }
    }

    /// The root's count: that of [`closest`] to `count + noise`, at least what is known below it and 0. A known count
    /// stays.
    ///
    /// The noise alone is rounded: its law, and which halves there are, do not depend on the count.
    pub(super) fn root<R: Rng + ?Sized>(&self, count: i64, noise: f64, rng: &mut R) -> i64 {
        match self.least.first() {
            Some(&least) if self.hierarchy.is_known(0) => least,
            least => count.saturating_add(closest(noise, rng)).max(least.copied().unwrap_or(0)),
        }
    }

    /// The root's count where nothing is rounded: the noisy one, at least what is known below it and 0. A known count stays.
    pub(super) fn root_of_reals(&self, noisy: f64) -> f64 {
        let least = self.least.first().map_or(0.0, |&least| least as f64);
        if self.is_root_known() { least } else { noisy.max(least) }
    }

    /// Whether the root's count is known.
    pub(super) fn is_root_known(&self) -> bool {
        self.hierarchy.is_known(0)
    }

    /// The counts of the children of a piece, into `out`, from their parents' and their noisy ones; `split` as above.
    pub(super) fn below<V: Value, O: Value>(
        &self,
        piece: &Piece,
        above: &[O],
        noisy: &[V],
        family: &mut Family<V, O>,
        out: &mut [O],
        mut split: impl FnMut(&dyn Fn(usize) -> usize, &[V], O, &mut [O]),
    ) {
        let tree = &self.hierarchy;
        for (v, &total) in piece.parents.clone().zip(above) {
            let children = tree.children(v);
            if children.is_empty() {
                continue;
            }
            let places = piece.places(tree, v);
            if self.least.is_empty() {
                split(&|i| children.start + i, &noisy[places.clone()], total, &mut out[places]);
                continue;
            }
            let Family { nodes, noisy: more, out: shares } = &mut *family;
            nodes.clear();
            nodes.extend(tree.open_children(v).map(|c| c as u32));
            let known = &self.least[children];
            let total = total - O::from_count(known.iter().sum());
            out[places].iter_mut().zip(known).for_each(|(y, &known)| *y = O::from_count(known));
            if nodes.is_empty() {
                continue;
            }
            let place = |c: u32| c as usize - piece.children.start;
            more.clear();
            more.extend(nodes.iter().map(|&c| noisy[place(c)] - V::from_count(self.least[c as usize])));
            shares.resize(nodes.len(), O::default());
            split(&|i| nodes[i] as usize, more, total, shares);
            for (&c, &share) in nodes.iter().zip(&*shares) {
                out[place(c)] += share;
            }
        }
    }
}

/// The closest integer to a real. In the middle between two, to 2^-32, it is each of them with probability 1/2; only there a word is drawn.
///
/// Estimates from integer noise are multiples of `1/q` with a small q: what is within 2^-32 of a half is a half that rounding has moved.
pub(super) fn closest<R: Rng + ?Sized>(z: f64, rng: &mut R) -> i64 {
    let floor = libm::floor(z);
    let up = if is_half(z) { rng.next_u64() >> 63 == 1 } else { z - floor > 0.5 };
    (floor as i64).saturating_add(i64::from(up))
}

/// Whether a real is in the middle between two integers, to 2^-32.
pub(super) fn is_half(z: f64) -> bool {
    (z - libm::floor(z) - 0.5).abs() < GRAIN
}
