//! Line Gibbs: exact draws along one short vector at a time.

use super::known::{KnownSums, with_zeros};
use super::{Coupled, Dispersed, Kernel, NEAR, Start, Step, leaf_log_density};
use crate::error::Result;
use crate::invariant::Hierarchy;
use crate::law::{Line, LineLaw, LinePair, Term, Value};
use crate::rng::{Rng, below, open01};

/// Gibbs sampler of `q(z) ∝ Π_v w_v(z_v)` on a hierarchy that moves along one short vector at a time and
/// draws the step exactly from its law along that line ([`LineLaw::line`]): no rejection, no tuning.
///
/// A leaf is drawn uniformly, and with it the height of one of its ancestors: at the root's the leaf moves alone, and
/// with it all sums above it; below, it moves against another leaf, drawn uniformly from those under the same ancestor,
/// and the sums above that ancestor stay. So every scale of the tree mixes, whichever level carries the strongest
/// weight. Heights are drawn in proportion to the nodes of the level that moves, but none less often than an eighth of
/// the lowest: a move among siblings is for one leaf, a move higher up for the sums of many. With non-negativity the
/// step is restricted to the feasible interval; single leaves alone connect all feasible points.
///
/// A known node is as far as a leaf's height goes: leaves below one move against each other only, and pairs connect all feasible points
/// there. A leaf that would move against itself is given another partner below the same known node.
///
/// One [`Kernel`] step is one move; a *sweep* is as many moves as there are leaves.
///
/// Real noise lives on a grid, so that sums are exact and two chains can be equal: multiples of a power of two, `2^-51`
/// times what bounds every sum of starts (`2^-36` of the scale for 263 leaves), at most 1. A step is rounded to the grid,
/// as a floating-point number would be to its last digit: distribution functions move by less than half of this unit times
/// the largest density. Where the noise of a level is narrower than `2^20` units there is no grid, and no pairs meet.
///
/// # Examples
///
/// ```
/// use congenial_core::chain;
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::kernel::{Dispersed, Kernel, LineGibbs, Start};
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// // No leaf is released below 0.
/// let (tree, counts) = (Hierarchy::from_parents(&[0, 0, 0, 1, 1])?, [6, 4, 2, 0, 4]);
/// let kernel = LineGibbs::new(&tree, &[DoubleGeometric::new(1.0)?; 3], Some(&counts))?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Moves });
/// let start = kernel.start(Start::OverDispersed, &mut rng)?;
/// let (last, _) = chain::run(&kernel, start, 50 * kernel.sweep(), 0, &mut rng, |_, _| ())?;
/// let noise = kernel.position(&last);
/// tree.check(noise)?;
/// assert!(tree.leaves().iter().all(|&v| counts[v as usize] + noise[v as usize] >= 0));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LineGibbs<L: LineLaw> {
    hierarchy: Hierarchy,
    tables: L::Tables,
    /// By level, its law.
    laws: Vec<L>,
    /// The leaves that are not known, in depth-first order, component by component: those of a node's component below it are the range
    /// `spans[node]`.
    leaves: Vec<u32>,
    spans: Vec<(u32, u32)>,
    /// Heights, each as often as it is drawn among all.
    heights: Vec<usize>,
    /// By node: the lower bound of a leaf's noise.
    floors: Option<Vec<L::Value>>,
    known: KnownSums,
    /// Added and taken off again it rounds a real number to the grid; 0 for integers, and without a grid.
    shift: L::Value,
    /// Pairs of chains on the reals that differ by no more, anywhere, are near.
    near: f64,
}

/// State of [`LineGibbs`].
#[derive(Debug, Clone)]
pub struct LineState<V> {
    nodes: Vec<V>,
    line: Line<V>,
}

/// One move: the leaf (and the leaf that moves against it), and how far.
#[derive(Debug, Clone)]
pub struct LineMove<V> {
    leaf: u32,
    partner: Option<u32>,
    step: Step<V>,
}

impl<L: LineLaw> LineGibbs<L> {
    /// Prepares the chain.
    ///
    /// - `laws`: one per level.
    /// - `counts`: the confidential counts if releases must not be negative.
    pub fn new(hierarchy: &Hierarchy, laws: &[L], counts: Option<&[i64]>) -> Result<Self> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        let hierarchy = &with_zeros(hierarchy, counts)?;
        let n = hierarchy.nodes();
        let mut size = vec![0u32; n];
        for v in (0..n).rev() {
            size[v] = match hierarchy.is_leaf(v) {
                true => u32::from(!hierarchy.is_known(v)),
                false => hierarchy.open_children(v).map(|c| size[c]).sum(),
            };
        }
        let mut spans = vec![(0, 0); n];
        let mut leaves = Vec::new();
        for v in 0..n {
            if v == 0 || hierarchy.is_known(v) {
                spans[v] = (leaves.len() as u32, size[v]);
                leaves.resize(leaves.len() + size[v] as usize, 0);
            }
            let mut start = spans[v].0;
            for c in hierarchy.open_children(v) {
                spans[c] = (start, size[c]);
                start += size[c];
            }
            if hierarchy.is_leaf(v) && !hierarchy.is_known(v) {
                leaves[spans[v].0 as usize] = v as u32;
            }
        }
        let floors = counts.map(|counts| counts.iter().map(|&x| L::Value::from_count(-x)).collect());
        let tables = L::tables(laws);
        let measured = |&v: &usize| !hierarchy.is_known(v);
        let scales = (0..n).filter(measured).map(|v| laws[hierarchy.level(v)].scale());
        let least = scales.fold(f64::INFINITY, f64::min);
        Ok(Self {
            hierarchy: hierarchy.clone(),
            tables,
            laws: laws.to_vec(),
            shift: shift(&leaves, |leaf| laws[hierarchy.level(leaf)].variance(), least),
            near: NEAR * least,
            leaves,
            spans,
            heights: heights(hierarchy),
            floors,
            known: KnownSums::new(hierarchy),
        })
    }

    /// The value itself, or the closest on the grid of real ones.
    #[inline]
    fn on_grid(&self, z: L::Value) -> L::Value {
        if L::Value::WHOLE { z } else { z + self.shift - self.shift }
    }

    /// The ancestor under which a leaf moves against another one: `height + 1` levels up, or the first that is known; `None`
    /// beyond the root, where it moves alone.
    #[inline]
    fn ancestor(&self, leaf: usize, height: usize) -> Option<usize> {
        let mut v = leaf;
        // The same without known nodes, in 3 % fewer instructions of a whole move.
        if !self.hierarchy.has_known() {
            return (height < self.hierarchy.level(leaf)).then(|| {
                (0..=height).for_each(|_| v = self.hierarchy.parent(v));
                v
            });
        }
        for _ in 0..=height {
            if v == 0 {
                return None;
            }
            v = self.hierarchy.parent(v);
            if self.hierarchy.is_known(v) {
                break;
            }
        }
        Some(v)
    }

    /// The leaves that are tied to one by a known node, itself among them; none where nothing ties it.
    fn component(&self, leaf: usize) -> &[u32] {
        let mut v = leaf;
        while v != 0 && !self.hierarchy.is_known(v) {
            v = self.hierarchy.parent(v);
        }
        let (start, size) = if self.hierarchy.is_known(v) { self.spans[v] } else { (0, 0) };
        &self.leaves[start as usize..(start + size) as usize]
    }

    /// Moves in one sweep: the number of leaves.
    pub fn sweep(&self) -> u64 {
        self.leaves.len() as u64
    }

    /// Lays out the line of a move; returns the bounds of the step, and where the paths up from the leaf and its partner
    /// meet.
    #[inline(always)]
    fn lay(
        &self,
        noise: &LineMove<L::Value>,
        nodes: &[L::Value],
        line: &mut Line<L::Value>,
    ) -> (L::Value, L::Value, Option<usize>) {
        let tree = &self.hierarchy;
        let leaf = noise.leaf as usize;
        line.terms.clear();
        let (mut lo, mut hi) = (L::Value::MIN_BOUND, L::Value::MAX_BOUND);
        if let Some(floors) = &self.floors {
            lo = floors[leaf] - nodes[leaf];
        }
        let mut term = |v: usize, at: L::Value| line.terms.push(Term { level: tree.level(v), at });
        let Some(partner) = noise.partner else {
            let mut v = leaf;
            term(v, nodes[v]);
            while v != 0 {
                v = tree.parent(v);
                term(v, nodes[v]);
            }
            return (lo, hi, None);
        };
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
        (lo, hi, Some(a))
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

/// See [`LineGibbs::on_grid`]. `variance`: of a leaf's law; `least`: the smallest scale.
fn shift<V: Value>(leaves: &[u32], variance: impl Fn(usize) -> f64, least: f64) -> V {
    // Over-dispersed starts stay below 45 sqrt(2 variance).
    let bound: f64 = leaves.iter().map(|&leaf| libm::sqrt(2.0 * 2025.0 * variance(leaf as usize))).sum();
    let (_, exponent) = libm::frexp(bound);
    let unit = libm::ldexp(1.0, (exponent - 51).min(0));
    match V::WHOLE || least < unit * (1u64 << 20) as f64 {
        true => V::default(),
        false => V::nearest(unit * 1.5 * (1u64 << 52) as f64),
    }
}

/// Heights from 0 to that of the highest level that is not known whole, each in proportion to the nodes of its level,
/// at least an eighth of the leaves, in eighths.
fn heights(hierarchy: &Hierarchy) -> Vec<usize> {
    let measured: Vec<usize> = (0..hierarchy.levels()).map(|l| hierarchy.measured(l)).collect();
    let leaves = hierarchy.leaves().iter().filter(|&&leaf| !hierarchy.is_known(leaf as usize)).count() as f64;
    let times = |height: usize| {
        let nodes = measured[hierarchy.levels() - 1 - height];
        libm::ceil(8.0 * nodes as f64 / leaves).clamp(1.0, 8.0) as usize
    };
    let known = measured.iter().take_while(|&&measured| measured == 0).count();
    (0..hierarchy.levels() - known).flat_map(|height| std::iter::repeat_n(height, times(height))).collect()
}

impl<L: LineLaw> Kernel for LineGibbs<L> {
    type Value = L::Value;
    type State = LineState<L::Value>;
    type Noise = LineMove<L::Value>;
    const REJECTS: bool = false;

    fn init(&self, position: &[L::Value]) -> Self::State {
        let mut nodes: Vec<L::Value> = position.iter().map(|&z| self.on_grid(z)).collect();
        self.hierarchy.sum_up_noise(&mut nodes);
        LineState { nodes, line: Line::default() }
    }

    fn noise(&self) -> Self::Noise {
        LineMove { leaf: 0, partner: None, step: Step::At(0.5) }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut Self::Noise) {
        let choice = below(rng, (self.leaves.len() * self.heights.len()) as u64) as usize;
        let (height, leaf) =
            (self.heights[choice / self.leaves.len()], self.leaves[choice % self.leaves.len()]);
        noise.leaf = leaf;
        noise.partner = None;
        if let Some(ancestor) = self.ancestor(leaf as usize, height) {
            let (start, size) = self.spans[ancestor];
            let partner = self.leaves[start as usize + below(rng, u64::from(size)) as usize];
            noise.partner = (partner != leaf).then_some(partner);
            if noise.partner.is_none() && self.hierarchy.has_known() {
                let component = self.component(leaf as usize);
                while component.len() > 1 && noise.partner.is_none() {
                    let partner = component[below(rng, component.len() as u64) as usize];
                    noise.partner = (partner != leaf).then_some(partner);
                }
            }
        }
        noise.step = Step::At(open01(rng));
    }

    #[inline]
    fn apply(&self, state: &mut Self::State, noise: &Self::Noise) -> bool {
        let LineState { nodes, line } = state;
        let (lo, hi, meet) = self.lay(noise, nodes, line);
        let t = match noise.step {
            Step::At(u) => self.on_grid(L::line(&self.tables, line, lo, hi, u)),
            Step::By(t) => t,
        };
        if t == L::Value::default() {
            return false;
        }
        self.shift(nodes, noise.leaf as usize, meet, t);
        if let Some(partner) = noise.partner {
            self.shift(nodes, partner as usize, meet, -t);
        }
        true
    }

    fn position<'a>(&self, state: &'a Self::State) -> &'a [L::Value] {
        &state.nodes
    }
}

impl<L: LineLaw> Dispersed for LineGibbs<L> {
    fn start<R: Rng + ?Sized>(&self, start: Start, rng: &mut R) -> Result<Self::State> {
        let bounds = |v: u32| (self.floors.as_ref().map(|floors| floors[v as usize]), None);
        let grid = |z| self.on_grid(z);
        let nodes = self.known.start((&self.hierarchy, &self.laws), start, rng, grid, bounds);
        Ok(self.init(&nodes))
    }

    /// Weighs starts where there are no floors and no known nodes, into which starts would be moved.
    fn weighted_start<R: Rng + ?Sized>(
        &self,
        start: Start,
        rng: &mut R,
    ) -> Result<Option<(Self::State, f64)>> {
        if self.floors.is_some() || self.hierarchy.has_known() {
            return Ok(None);
        }
        let state = self.start(start, rng)?;
        let weight = |v: usize| {
            let law = &self.laws[self.hierarchy.level(v)];
            let drawn =
                if self.hierarchy.is_leaf(v) { leaf_log_density(law, start, state.nodes[v]) } else { 0.0 };
            law.log_weight(state.nodes[v]) - drawn
        };
        let log_weight = (0..self.hierarchy.nodes()).map(weight).sum();
        Ok(Some((state, log_weight)))
    }
}

/// On the integers Y moves the leaf that stands for X's, against the one that stands for X's partner, by the same uniform. A leaf on
/// which the chains agree stands for itself; of those under one parent on which they do not, the one with the k-th smallest noise in Y
/// stands for the one with the k-th smallest in X. Leaves under one parent have one law, so that chains that differ by an exchange of
/// leaves move alike, and meet when the exchanged ones happen to be equal. (With the same leaf for both, two chains on 263 leaves in
/// three levels do not meet in 10^7 moves: a difference of sums higher up leaves new differences behind in leaf after leaf.) Each chain
/// draws its leaf and its partner uniformly, since what stands for what is one-to-one under every ancestor. The step increases with the
/// uniform, and where it leads with where it begins.
///
/// On the reals both chains move the same leaves. By one uniform they come close, and never meet. So where they are near, at every
/// node, the steps are those of [`crate::law::maximal()`]: they lead the first leaf to the same value as often as can be, and its
/// difference goes to the partner, or from a leaf that moves alone out of the tree. A pair that misses is far apart again, which is why
/// such steps do not serve chains that are not near: each one that misses leaves a new difference behind.
impl<L: LineLaw> Coupled for LineGibbs<L> {
    #[inline]
    fn draw_pair<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        (x, y): (&Self::State, &Self::State),
        (a, b): (&mut Self::Noise, &mut Self::Noise),
    ) {
        self.draw(rng, a);
        b.step = a.step;
        if L::Value::WHOLE {
            b.leaf = self.stand_in(a.leaf, &x.nodes, &y.nodes);
            b.partner = a.partner.map(|partner| self.stand_in(partner, &x.nodes, &y.nodes));
            return;
        }
        (b.leaf, b.partner) = (a.leaf, a.partner);
        let is_near = |(x, y): (&L::Value, &L::Value)| (*x - *y).to_f64().abs() <= self.near;
        if x.nodes.iter().zip(&y.nodes).all(is_near) {
            self.draw_near(rng, (x, y), (a, b));
        }
    }
}

impl<L: LineLaw> LineGibbs<L> {
    /// Steps of two chains that are near, along one line.
    fn draw_near<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        (x, y): (&LineState<L::Value>, &LineState<L::Value>),
        (a, b): (&mut LineMove<L::Value>, &mut LineMove<L::Value>),
    ) {
        let Step::At(u) = a.step else { return };
        let leaf = a.leaf as usize;
        let apart = x.nodes[leaf] - y.nodes[leaf];
        let [(mut of_x, x_lo, x_hi), (mut of_y, y_lo, y_hi)] = [x, y].map(|state| {
            let mut line = Line::default();
            let (lo, hi, _) = self.lay(a, &state.nodes, &mut line);
            (line, lo, hi)
        });
        let lines = ((&mut of_x, x_lo, x_hi), (&mut of_y, y_lo, y_hi));
        if let Some(LinePair { x, y }) = L::line_pair(&self.tables, lines.0, lines.1, apart, u, rng) {
            let x = self.on_grid(x);
            a.step = Step::By(x);
            b.step = Step::By(y.map_or(x + apart, |y| self.on_grid(y)));
        }
    }

    /// The leaf of Y that stands for a leaf of X: the same, or another one under the same parent.
    #[inline]
    fn stand_in(&self, leaf: u32, x: &[L::Value], y: &[L::Value]) -> u32 {
        let here = leaf as usize;
        if x[here] == y[here] {
            return leaf;
        }
        let siblings = self.hierarchy.children(self.hierarchy.parent(here));
        let apart = || siblings.clone().filter(|&v| x[v] != y[v] && self.hierarchy.is_leaf(v));
        // Equal noise is told apart by the leaf.
        let before = |z: &[L::Value], v: usize, w: usize| z[v] < z[w] || (z[v] == z[w] && v < w);
        let rank = apart().filter(|&v| before(x, v, here)).count();
        let same = |w: &usize| apart().filter(|&v| before(y, v, *w)).count() == rank;
        apart().find(same).map_or(leaf, |w| w as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric, Gaussian, Laplace, Law};
    use crate::testing::{LogWeight, assert_bounded, assert_harmonized, assert_meets, step_law, test_stream};
    use std::collections::HashMap;

    /// A ragged tree: 0 -> 1, 2 (a leaf), 3; 1 -> 4, 5; 3 -> 6, 7.
    fn tiny() -> Hierarchy {
        Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 3, 3]).unwrap()
    }

    impl<L: LineLaw> LineGibbs<L> {
        /// Every leaf and partner that a move can draw, with its probability.
        pub(in crate::kernel) fn moves(&self) -> Vec<(f64, u32, Option<u32>)> {
            let share = 1.0 / (self.leaves.len() * self.heights.len()) as f64;
            let mut all = Vec::new();
            for &leaf in &self.leaves {
                for &height in &self.heights {
                    let Some(ancestor) = self.ancestor(leaf as usize, height) else {
                        all.push((share, leaf, None));
                        continue;
                    };
                    let (start, size) = self.spans[ancestor];
                    let share = share / f64::from(size);
                    for &partner in &self.leaves[start as usize..(start + size) as usize] {
                        let others: Vec<u32> =
                            self.component(leaf as usize).iter().copied().filter(|&v| v != leaf).collect();
                        if partner == leaf && !others.is_empty() {
                            let share = share / others.len() as f64;
                            all.extend(others.into_iter().map(|other| (share, leaf, Some(other))));
                        } else {
                            all.push((share, leaf, (partner != leaf).then_some(partner)));
                        }
                    }
                }
            }
            all
        }

        /// The transition law from a position.
        fn row(&self, from: &[L::Value]) -> Vec<(Vec<L::Value>, f64)> {
            let mut row = Vec::new();
            for (p, leaf, partner) in self.moves() {
                let law = step_law(|u| {
                    let mut state = self.init(from);
                    self.apply(&mut state, &LineMove { leaf, partner, step: Step::At(u) });
                    state.nodes
                });
                row.extend(law.into_iter().map(|(to, q)| (to, p * q)));
            }
            row
        }
    }

    fn cases() -> Vec<(LineGibbs<DoubleGeometric>, Vec<i64>)> {
        let law = DoubleGeometric::new(0.45).unwrap();
        let two = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let forked = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2]).unwrap();
        let counts = [5, 1, 4, 0, 1, 4];
        vec![
            (LineGibbs::new(&two, &[law; 2], None).unwrap(), vec![0, 4, -4]),
            (LineGibbs::new(&forked, &[law; 3], None).unwrap(), vec![3, 3, 0, 3, 0, 0]),
            (LineGibbs::new(&forked, &[law; 3], Some(&counts)).unwrap(), vec![3, 2, 1, 1, 1, 1]),
        ]
    }

    /// What stands for what is one-to-one on the moves, move by move with the same probability: so Y moves as X does.
    #[test]
    fn both_chains_draw_their_moves_alike() {
        let law = DoubleGeometric::new(1.5).unwrap();
        let kernel = LineGibbs::new(&tiny(), &[law; 3], None).unwrap();
        let mut rng = test_stream(5);
        for _ in 0..200 {
            let (x, y) = (
                kernel.start(Start::default(), &mut rng).unwrap(),
                kernel.start(Start::FreeNoise, &mut rng).unwrap(),
            );
            let stands = |v: u32| kernel.stand_in(v, &x.nodes, &y.nodes);
            let sorted = |mut moves: Vec<(f64, u32, Option<u32>)>| {
                moves.sort_by(|a, b| a.partial_cmp(b).unwrap());
                moves
            };
            let theirs = kernel.moves().into_iter().map(|(p, a, b)| (p, stands(a), b.map(stands))).collect();
            assert_eq!(sorted(theirs), sorted(kernel.moves()));
        }
        let total: f64 = kernel.moves().iter().map(|(p, ..)| p).sum();
        assert!((total - 1.0).abs() < 1e-12);
    }

    /// The draws are those moves, and a chain that agrees with itself makes its own.
    #[test]
    fn pairs_that_have_met_stay_together() {
        let sigma = DiscreteGaussian::new(1.3).unwrap();
        let kernel = LineGibbs::new(&tiny(), &[sigma; 3], Some(&[9, 3, 2, 4, 1, 2, 4, 0])).unwrap();
        let mut rng = test_stream(6);
        let mut x = kernel.start(Start::default(), &mut rng).unwrap();
        let mut y = x.clone();
        let (mut a, mut b) = (kernel.noise(), kernel.noise());
        let mut seen = std::collections::HashMap::new();
        for _ in 0..40_000 {
            kernel.draw_pair(&mut rng, (&x, &y), (&mut a, &mut b));
            *seen.entry((a.leaf, a.partner)).or_insert(0u64) += 1;
            kernel.apply(&mut x, &a);
            kernel.apply(&mut y, &b);
            assert_eq!(x.nodes, y.nodes);
        }
        let mut law = std::collections::HashMap::new();
        kernel.moves().into_iter().for_each(|(p, a, b)| *law.entry((a, b)).or_insert(0.0) += p);
        assert_eq!(seen.len(), law.len());
        crate::testing::assert_frequencies(law.iter().map(|(which, &p)| (seen[which], p)), 40_000);
    }

    /// Noise of leaves within ±6, as far as it is kept.
    fn points(kernel: &LineGibbs<DoubleGeometric>, keep: impl Fn(&Vec<i64>) -> bool) -> Vec<Vec<i64>> {
        let tree = &kernel.hierarchy;
        let leaves: Vec<usize> = kernel.leaves.iter().map(|&v| v as usize).collect();
        let (reach, side) = (6i64, 13usize);
        (0..side.pow(leaves.len() as u32))
            .map(|index| {
                let mut z = vec![0; tree.nodes()];
                for (k, &leaf) in leaves.iter().enumerate() {
                    z[leaf] = (index / side.pow(k as u32) % side) as i64 - reach;
                }
                tree.sum_up(&mut z);
                z
            })
            .filter(|z| kernel.floors.as_ref().is_none_or(|floors| leaves.iter().all(|&v| z[v] >= floors[v])))
            .filter(keep)
            .collect()
    }

    /// Weights bound the divergences for both kinds of starts: leaves from the law itself, and a Laplace law that is
    /// rounded.
    #[test]
    fn weights_bound_the_divergences() {
        let law = DoubleGeometric::new(0.45).unwrap();
        for (kernel, _) in cases() {
            let leaves = kernel.leaves.clone();
            if kernel.floors.is_some() {
                assert!(kernel.weighted_start(Start::default(), &mut test_stream(1)).unwrap().is_none());
                continue;
            }
            let points = points(&kernel, |z| leaves.iter().map(|&v| z[v as usize].abs()).sum::<i64>() <= 7);
            let rows: HashMap<&Vec<i64>, _> = points.iter().map(|z| (z, kernel.row(z))).collect();
            let target = |z: &[i64]| law.log_weights(z);
            let scale = libm::sqrt(2.0 * law.variance());
            let below = |x: f64| {
                let tail = 0.5 * libm::exp(-x.abs() / scale);
                if x < 0.0 { tail } else { 1.0 - tail }
            };
            let rounded = |z: i64| libm::log(below(z as f64 + 0.5) - below(z as f64 - 0.5));
            let wide = |z: &[i64]| leaves.iter().map(|&v| rounded(z[v as usize])).sum();
            let free = |z: &[i64]| leaves.iter().map(|&v| law.log_weight(z[v as usize])).sum();
            let starts: [(Start, LogWeight); 2] = [(Start::OverDispersed, &wide), (Start::FreeNoise, &free)];
            for (start, log) in starts {
                let how = (&[0, 1, 2, 4, 8, 16][..], (300, 16));
                assert_harmonized(
                    &kernel,
                    &points,
                    |z| rows[&z.to_vec()].clone(),
                    [&target, log],
                    start,
                    how,
                );
            }
        }
    }

    /// Where a step lies in the law of its line, in tenths.
    fn tenth<L: LineLaw<Value = f64>>(
        kernel: &LineGibbs<L>,
        state: &LineState<f64>,
        noise: &LineMove<f64>,
    ) -> usize {
        let mut line = Line::default();
        let (lo, hi, _) = kernel.lay(noise, &state.nodes, &mut line);
        let Step::By(t) = noise.step else { panic!("a pair that is not near") };
        (1..10).filter(|&k| L::line(&kernel.tables, &mut line, lo, hi, 0.1 * f64::from(k)) < t).count()
    }

    /// Pairs on the reals that are near: each chain's step has its law. What is near is taken for wide, so that many miss.
    fn check_near<L: LineLaw<Value = f64>>(law: L, counts: Option<&[i64]>, known: bool) {
        let tree = tiny();
        let marks = (0..tree.nodes()).map(|v| known && v == 0).collect();
        let tree = tree.with_known(marks).unwrap();
        let mut kernel = LineGibbs::new(&tree, &[law; 3], counts).unwrap();
        kernel.near = 4.0;
        let mut rng = test_stream(9);
        let (mut a, mut b) = (kernel.noise(), kernel.noise());
        let (mut seen, draws) = ([[0u64; 10]; 2], 10_000);
        let mut x = kernel.start(Start::default(), &mut rng).unwrap();
        let (mut y, mut moved) = (x.clone(), 0);
        for _ in 0..draws {
            // Y some steps behind X's own.
            y.clone_from(&x);
            for _ in 0..3 {
                kernel.draw(&mut rng, &mut a);
                kernel.apply(&mut x, &a);
            }
            let apart = x.nodes.iter().zip(&y.nodes).fold(0.0f64, |most, (x, y)| most.max((x - y).abs()));
            if apart > kernel.near {
                continue;
            }
            kernel.draw_pair(&mut rng, (&x, &y), (&mut a, &mut b));
            moved += 1;
            // From where Y is towards X, so that what draws it there shows.
            let leaf = a.leaf as usize;
            let towards = |tenth: usize| if x.nodes[leaf] < y.nodes[leaf] { 9 - tenth } else { tenth };
            seen[0][towards(tenth(&kernel, &x, &a))] += 1;
            seen[1][towards(tenth(&kernel, &y, &b))] += 1;
        }
        assert!(moved > draws / 2);
        for seen in seen {
            crate::testing::assert_frequencies(seen.map(|seen| (seen, 0.1)), moved);
        }
    }

    #[test]
    fn near_pairs_on_the_reals_have_their_laws() {
        let counts = [9, 3, 2, 4, 1, 2, 4, 0];
        for known in [false, true] {
            for counts in [None, Some(&counts[..])] {
                check_near(Laplace::new(1.3).unwrap(), counts, known);
                check_near(Gaussian::new(1.3).unwrap(), counts, known);
            }
        }
    }

    /// Pairs on the reals meet, stay together, and keep sums exactly; nothing is released below 0.
    #[test]
    fn pairs_on_the_reals_meet() {
        let counts = [9, 3, 2, 4, 1, 2, 4, 0];
        let laws = [0.5, 1.0, 3.0].map(|scale| Laplace::new(scale).unwrap());
        for known in [false, true] {
            let tree = tiny().with_known((0..8).map(|v| known && v == 0).collect()).unwrap();
            for counts in [None, Some(&counts[..])] {
                let kernel = LineGibbs::new(&tree, &laws, counts).unwrap();
                for pair in 0..50 {
                    let [x, y] = assert_meets(&kernel, pair);
                    assert_eq!(x.nodes, y.nodes);
                    for v in (0..8).filter(|&v| !tree.is_leaf(v)) {
                        assert_eq!(x.nodes[v], tree.children(v).map(|c| x.nodes[c]).sum::<f64>());
                    }
                    assert!(!known || x.nodes[0] == 0.0);
                    let floors = counts.iter().flat_map(|counts| counts.iter().zip(&x.nodes));
                    assert!(floors.clone().skip(1).all(|(&count, z)| z + count as f64 >= 0.0));
                }
            }
        }
    }

    /// Values are multiples of a unit where the noise of every level is wide, and as they come where it is not.
    #[test]
    fn the_grid_is_fine() {
        let kernel = |least: f64| {
            let laws = [least, 1.0, 1.0].map(|scale| Laplace::new(scale).unwrap());
            LineGibbs::new(&tiny(), &laws, None).unwrap()
        };
        let unit = libm::ldexp(1.0, -42);
        for (least, on_grid) in [(1.0, true), (1e-6, true), (1e-8, false)] {
            let kernel = kernel(least);
            let mut rng = test_stream(4);
            let (mut state, mut noise) = (kernel.start(Start::default(), &mut rng).unwrap(), kernel.noise());
            for _ in 0..1000 {
                kernel.draw(&mut rng, &mut noise);
                kernel.apply(&mut state, &noise);
            }
            let whole = state.nodes.iter().all(|z| (z / unit).fract() == 0.0);
            assert_eq!(whole, on_grid, "{least}");
            assert!(!on_grid || kernel.hierarchy.check(&state.nodes).is_ok());
        }
    }

    /// The chain on the reals with two free dimensions, its law by steps of the density on a grid of an eighth of the scale.
    #[test]
    fn bound_on_the_reals_lies_above_the_distance() {
        const PER_SCALE: i64 = 8;
        const REACH: i64 = 9 * PER_SCALE;
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let mut kernel = LineGibbs::new(&tree, &[Laplace::new(1.0).unwrap(); 2], None).unwrap();
        // With pairs that must come as close as usual the chain is at its law before any meets.
        kernel.near = 4.0;
        let points: Vec<(i64, i64)> =
            (-REACH..=REACH).flat_map(|i| (-REACH..=REACH).map(move |j| (i, j))).collect();
        let weight = |&(i, j): &(i64, i64)| {
            libm::exp(-((i.abs() + j.abs() + (i + j).abs()) as f64) / PER_SCALE as f64)
        };
        let total: f64 = points.iter().map(weight).sum();
        let target: Vec<f64> = points.iter().map(|point| weight(point) / total).collect();
        let moves = kernel.moves();
        // The line through a point, by what does not change along it.
        let line = |(_, leaf, partner): &(f64, u32, Option<u32>), (i, j): (i64, i64)| match (partner, leaf) {
            (Some(_), _) => (i + j + 2 * REACH) as usize,
            (None, 1) => (j + REACH) as usize,
            (None, _) => (i + REACH) as usize,
        };
        let lines = (4 * REACH + 1) as usize;
        let step = |law: &[f64]| {
            let mut after = vec![0.0; law.len()];
            for own in &moves {
                let (mut mass, mut weights) = (vec![0.0; lines], vec![0.0; lines]);
                for ((p, w), &point) in law.iter().zip(&target).zip(&points) {
                    mass[line(own, point)] += p;
                    weights[line(own, point)] += w;
                }
                for ((after, w), &point) in after.iter_mut().zip(&target).zip(&points) {
                    let line = line(own, point);
                    *after += own.0 * mass[line] * w / weights[line];
                }
            }
            after
        };
        let (start, pairs) = ([0.0, 3.0, -2.0], 4000);
        let from = (3 * PER_SCALE, -2 * PER_SCALE);
        let mut law: Vec<f64> = points.iter().map(|&point| f64::from(u8::from(point == from))).collect();
        let mut times = crate::coupling::MeetingTimes::new(10);
        for pair in 0..pairs {
            let states = (kernel.init(&start), kernel.init(&start));
            times.push(crate::coupling::couple(&kernel, states, 10, 100_000, &mut test_stream(pair)).tau);
        }
        assert!(times.is_bounded());
        let mut seen = 0;
        for t in 0..200 {
            let distance = 0.5 * law.iter().zip(&target).map(|(p, q)| (p - q).abs()).sum::<f64>();
            let bound = times.bound(t);
            // 4.9 standard errors, pairs that need not be seen, and the grid: a half for twice as fine.
            let limit = bound.mean + 4.9 * bound.standard_error + 0.004 + 0.002;
            assert!(distance <= limit, "t = {t}: distance {distance}, bound {bound:?}");
            seen += u32::from(bound.mean < 0.9 && distance > 0.02);
            law = step(&law);
        }
        assert!(seen > 2, "bounds say nothing where the distance is large");
        assert!(times.bound(199).mean < 0.05);
    }

    #[test]
    fn bound_lies_above_the_distance() {
        for (kernel, start) in cases() {
            let points = points(&kernel, |z| z.iter().map(|z| z.abs()).sum::<i64>() <= 18);
            let both = assert_bounded(&kernel, &points, |from| kernel.row(from), &start, (6, 2000));
            assert!(both[0].0 > 0.9, "{}", both[0].0);
        }
    }
}
