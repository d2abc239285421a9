//! Line Gibbs: exact draws along one short vector at a time.

use super::Kernel;
use crate::error::Result;
use crate::invariant::Hierarchy;
use crate::law::{Line, LineLaw, Term, Value};
use crate::rng::{Rng, below, open01};

/// Gibbs sampler of `q(z) ∝ Π_v w_v(z_v)` on a hierarchy that moves along one short vector at a time and
/// draws the step exactly from its law along that line ([`LineLaw::line`]): no rejection, no tuning.
///
/// Leaves take turns, and for each the heights of its ancestors do: at the root's the leaf moves alone,
/// and with it all sums above it; below, it moves against another leaf, drawn uniformly from those under
/// the same ancestor, and the sums above that ancestor stay. So every scale of the tree mixes, whichever
/// level carries the strongest weight. With non-negativity the step is restricted to the feasible
/// interval; single leaves alone connect all feasible points.
///
/// One [`Kernel`] step is one move; a *sweep* is one move for each leaf.
#[derive(Debug)]
pub struct LineGibbs<L: LineLaw> {
    hierarchy: Hierarchy,
    tables: L::Tables,
    /// The leaves in depth-first order: below a node they are the range `spans[node]`.
    leaves: Vec<u32>,
    spans: Vec<(u32, u32)>,
    /// By node: the lower bound of a leaf's noise.
    floors: Option<Vec<L::Value>>,
}

/// State of [`LineGibbs`].
#[derive(Debug, Clone)]
pub struct LineState<V> {
    nodes: Vec<V>,
    line: Line<V>,
}

/// One move: the leaf (and the leaf that moves against it), and where in the law of the step.
#[derive(Debug, Clone)]
pub struct LineMove {
    turn: usize,
    /// Height of the next move, and of the first move of the sweep.
    height: usize,
    first: usize,
    leaf: u32,
    partner: Option<u32>,
    u: f64,
}

impl<L: LineLaw> LineGibbs<L> {
    /// - `laws`: one per level.
    /// - `counts`: the confidential counts if releases must not be negative.
    pub fn new(hierarchy: &Hierarchy, laws: &[L], counts: Option<&[i64]>) -> Result<Self> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        let n = hierarchy.nodes();
        let mut size = vec![0u32; n];
        for v in (0..n).rev() {
            size[v] = if hierarchy.is_leaf(v) { 1 } else { size[hierarchy.children(v)].iter().sum() };
        }
        let mut spans = vec![(0, size[0]); n];
        let mut leaves = vec![0; hierarchy.leaves().len()];
        for v in 0..n {
            let mut start = spans[v].0;
            for c in hierarchy.children(v) {
                spans[c] = (start, size[c]);
                start += size[c];
            }
            if hierarchy.is_leaf(v) {
                leaves[spans[v].0 as usize] = v as u32;
            }
        }
        let floors = counts.map(|counts| counts.iter().map(|&x| L::Value::from_count(-x)).collect());
        let tables = L::tables(laws);
        Ok(Self { hierarchy: hierarchy.clone(), tables, leaves, spans, floors })
    }

    /// Moves in one sweep: the number of leaves.
    pub fn sweep(&self) -> u64 {
        self.leaves.len() as u64
    }

    #[inline]
    fn shift(&self, nodes: &mut [L::Value], from: usize, upto: Option<usize>, t: L::Value) {
        let mut v = from;
        while Some(v) != upto {
            nodes[v] += t;
            if v == 0 {
                break;
            }
            v = self.hierarchy.parent(v);
        }
    }
}

impl<L: LineLaw> Kernel for LineGibbs<L> {
    type Value = L::Value;
    type State = LineState<L::Value>;
    type Noise = LineMove;
    const REJECTS: bool = false;

    fn init(&self, position: &[L::Value]) -> Self::State {
        let mut nodes = position.to_vec();
        self.hierarchy.sum_up(&mut nodes);
        LineState { nodes, line: Line::default() }
    }

    fn noise(&self) -> LineMove {
        LineMove { turn: 0, height: 0, first: 0, leaf: 0, partner: None, u: 0.5 }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut LineMove) {
        let leaf = self.leaves[noise.turn];
        noise.leaf = leaf;
        noise.partner = None;
        let level = self.hierarchy.level(leaf as usize);
        let height = if noise.height > level { 0 } else { noise.height };
        noise.height = height + 1;
        noise.turn += 1;
        if noise.turn == self.leaves.len() {
            // The next sweep starts one height on, so that every leaf meets every height.
            noise.turn = 0;
            noise.first = if noise.first + 1 >= self.hierarchy.levels() { 0 } else { noise.first + 1 };
            noise.height = noise.first;
        }
        if height < level {
            let mut ancestor = leaf as usize;
            for _ in 0..=height {
                ancestor = self.hierarchy.parent(ancestor);
            }
            let (start, size) = self.spans[ancestor];
            let partner = self.leaves[start as usize + below(rng, u64::from(size)) as usize];
            noise.partner = (partner != leaf).then_some(partner);
        }
        noise.u = open01(rng);
    }

    #[inline]
    fn apply(&self, state: &mut Self::State, noise: &LineMove) -> bool {
        let tree = &self.hierarchy;
        let LineState { nodes, line } = state;
        let leaf = noise.leaf as usize;
        line.terms.clear();
        let (mut lo, mut hi) = (L::Value::MIN_BOUND, L::Value::MAX_BOUND);
        if let Some(floors) = &self.floors {
            lo = floors[leaf] - nodes[leaf];
        }
        let mut term = |v: usize, at: L::Value| line.terms.push(Term { level: tree.level(v), at });
        let mut meet = None;
        if let Some(partner) = noise.partner {
            let partner = partner as usize;
            if let Some(floors) = &self.floors {
                hi = nodes[partner] - floors[partner];
            }
            let (mut a, mut b) = (leaf, partner);
            while a != b {
                if tree.level(a) >= tree.level(b) {
                    term(a, nodes[a]);
                    a = tree.parent(a);
                } else {
                    term(b, -nodes[b]);
                    b = tree.parent(b);
                }
            }
            meet = Some(a);
        } else {
            let mut v = leaf;
            term(v, nodes[v]);
            while v != 0 {
                v = tree.parent(v);
                term(v, nodes[v]);
            }
        }
        let t = L::line(&self.tables, line, lo, hi, noise.u);
        if t == L::Value::default() {
            return false;
        }
        self.shift(nodes, leaf, meet, t);
        if let Some(partner) = noise.partner {
            self.shift(nodes, partner as usize, meet, -t);
        }
        true
    }

    fn position<'a>(&self, state: &'a Self::State) -> &'a [L::Value] {
        &state.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<L: LineLaw> LineGibbs<L> {
        /// The moves of as many sweeps as there are levels, from the first one: the leaf, and the leaves that it may move against
        /// (itself: alone), all alike.
        pub(in crate::kernel) fn schedule(&self) -> Vec<(u32, Vec<Option<u32>>)> {
            let tree = &self.hierarchy;
            let mut moves = Vec::new();
            for sweep in 0..tree.levels() {
                let mut height = sweep;
                for &leaf in &self.leaves {
                    let level = tree.level(leaf as usize);
                    height = if height > level { 0 } else { height };
                    if height == level {
                        moves.push((leaf, vec![None]));
                    } else {
                        let mut ancestor = leaf as usize;
                        (0..=height).for_each(|_| ancestor = tree.parent(ancestor));
                        let under = |mut v: usize| {
                            while v > ancestor {
                                v = tree.parent(v);
                            }
                            v == ancestor
                        };
                        let partners = self.leaves.iter().filter(|&&other| under(other as usize));
                        moves.push((leaf, partners.map(|&other| (other != leaf).then_some(other)).collect()));
                    }
                    height += 1;
                }
            }
            moves
        }
    }
}
