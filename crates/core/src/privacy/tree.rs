//! What records pay on a tree: what each change of them costs, and what conditioning on non-negativity adds.
//!
//! # What a change costs
//!
//! One record counts once on every node from its leaf to the root, of those that are measured. A record added or removed in leaf i
//! changes these nodes by 1; one that moves from leaf i to leaf j changes the nodes on both paths below the lowest node that both
//! have. Known nodes ([`Hierarchy::is_known`]) cannot change: a change that would change one is impossible. The loss of a change is the
//! sum of a cost by node: `1/lambda` for pure laws, `1/(2 sigma²)` for Gaussian ones (rho), since all entries of the change are ±1.
//!
//! # What non-negativity adds
//!
//! `c(x)` is the mass of the noise with `x + z >= 0` ([`crate::exact::LeafFloors`]). Between two tables the conditioned
//! release pays the loss of their difference and `ln c(x')/c(x)` besides, and both are attained (see
//! [`super::WorstPair`]).
//!
//! **Claim.** Let all noise be double geometric, and x' = x + u with u a record added in leaf j, or moved to it. With the loss l of u and
//! the rate r = 1/lambda of leaf j, for all tables x and x' of the known counts without a negative leaf,
//!
//! `ln c(x')/c(x) <= ln(1 + e^(l - 2r) - e^(-2r))`.
//!
//! **Proof.** Let S be these tables, and `W(z) = Π_v w_v(z_v)`. Then `c(x) = Σ_{y in S} W(y - x)` and
//! `c(x') = Σ_{y in S} W(y - u - x)`. On a line `y + t u` in S, t runs from some lo to some hi, which may be infinite;
//! with `f(t) = W(y + t u - x)` the line has `Σ f(t)` in c(x) and `Σ f(t - 1)` in c(x'), whose ratio is
//! `1 + (f(lo - 1) - f(hi))/Σ f`. At lo the leaf j is 0, the only one that falls with t, and its noise is `-x_j <= 0`:
//! from lo - 1 to lo its weight grows by the factor e^r, and those of the other nodes fall by e^(l - r) at most. From
//! there on f falls by e^l at most a step. The ratio is largest where f falls as fast as it can, and then for hi
//! infinite, since `e^(2r - l) >= e^(-l)`: `Σ f` is `f(lo - 1) e^(2r - l)/(1 - e^(-l))`. ∎
//!
//! The bound divided by l grows with l, since it is convex in l and 0 at 0. A record removed is one added, seen from the other table. With
//! one rate and m = l/r it is [`super::gamma_bound`].

use crate::error::Result;
use crate::exact::{IntegerTree, LeafFloors};
use crate::invariant::Hierarchy;
use crate::lattice::Sparse;
use crate::law::DoubleGeometric;
use crate::pace;

/// A change of one record on a tree; leaves by their nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeChange {
    /// A record more in a leaf or, seen from the other table, one less.
    Added(u32),
    /// A record that moves.
    Moved {
        /// The leaf that the record leaves.
        from: u32,
        /// The leaf that the record goes to.
        to: u32,
    },
}

impl TreeChange {
    /// What the change adds to the nodes, in their order: 1 from a leaf that gains a record up to the root, -1 from one that loses it, and
    /// nothing where both ways meet. Known nodes are not told apart: a change that costs something ([`TreeCosts::cost`]) has none.
    pub fn step(self, tree: &Hierarchy) -> Sparse {
        let mut nodes = std::collections::BTreeMap::<u32, i32>::new();
        let mut up = |leaf: u32, sign: i32| {
            let mut node = leaf;
            loop {
                *nodes.entry(node).or_default() += sign;
                if node == 0 {
                    break;
                }
                node = tree.parent(node as usize) as u32;
            }
        };
        match self {
            Self::Added(leaf) => up(leaf, 1),
            Self::Moved { from, to } => {
                up(from, -1);
                up(to, 1);
            }
        }
        nodes.into_iter().filter(|(_, sign)| *sign != 0).collect()
    }
}

/// What changes of one record cost on a tree.
#[derive(Debug, Clone)]
pub struct TreeCosts<'a> {
    tree: &'a Hierarchy,
    /// By level: what a change by 1 of one of its nodes costs.
    costs: &'a [f64],
    /// By level of a known node and level below: what a change by 1 of all nodes on the way from the one down to the
    /// other costs, the known one not included. Last: from the root of all, which is included.
    paths: Vec<Vec<f64>>,
    /// By node up to the last that has children: the root of the component that these are parts of.
    root: Vec<u32>,
}

/// The change of its kind that costs most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstChange {
    /// The change.
    pub change: TreeChange,
    /// What the change costs.
    pub cost: f64,
    /// No change of its kind has a larger gamma, if costs are the rates of double geometric laws: [`tree_gamma_bound`].
    pub gamma_bound: f64,
}

/// A bound on `ln(c(x')/c(x)) / loss` for all tables of a tree; the proof is in `src/privacy/tree.rs`. `own`: the rate
/// 1/lambda of the leaf that gains the record, at most `loss`.
pub fn tree_gamma_bound(loss: f64, own: f64) -> f64 {
    // ln(1 + e^(l-2r) - e^(-2r)), without overflow, and without cancellation where it is small.
    let over = loss - 2.0 * own;
    let log = match over >= 0.0 {
        true => over + libm::log1p(libm::exp(-over) - libm::exp(-loss)),
        false => libm::log1p(-libm::exp(over) * libm::expm1(-loss)),
    };
    (log / loss).min(1.0)
}

/// The two largest of some values, of different children.
#[derive(Debug, Clone, Copy)]
struct BestTwo([Option<(f64, u32, u32)>; 2]);

impl BestTwo {
    const NONE: Self = Self([None; 2]);

    /// A value with its leaf and the child that it is below.
    fn add(&mut self, value: f64, leaf: u32, child: u32) {
        let beats = |old: Option<(f64, u32, u32)>| old.is_none_or(|old| value > old.0);
        if beats(self.0[0]) {
            self.0 = [Some((value, leaf, child)), self.0[0]];
        } else if beats(self.0[1]) {
            self.0[1] = Some((value, leaf, child));
        }
    }

    /// The largest.
    fn best(&self) -> Option<(f64, u32)> {
        self.0[0].map(|(value, leaf, _)| (value, leaf))
    }

    /// The largest that is not below a child.
    fn beside(&self, child: u32) -> Option<(f64, u32)> {
        self.0.iter().flatten().find(|best| best.2 != child).map(|&(value, leaf, _)| (value, leaf))
    }
}

impl<'a> TreeCosts<'a> {
    /// Prepares the costs. `costs`: one per level, of a change by 1 of one of its nodes. Errors: another number of
    /// them.
    pub fn new(tree: &'a Hierarchy, costs: &'a [f64]) -> Result<Self> {
        tree.check_one_per_level("costs", costs.len())?;
        let levels = tree.levels();
        let from = |first: usize| {
            let mut sum = 0.0;
            let add = |level: usize| {
                sum += if level < first { 0.0 } else { costs[level] };
                sum
            };
            (0..levels).map(add).collect::<Vec<f64>>()
        };
        let paths = (1..=levels).chain([0]).map(from).collect();
        let mut root: Vec<u32> = Vec::new();
        for v in 0..tree.inner_end() {
            root.push(if v == 0 || tree.is_known(v) { v as u32 } else { root[tree.parent(v)] });
        }
        Ok(Self { tree, costs, paths, root })
    }

    /// The root of the component that a node is a part of, as a node below it; of a known node the one above it.
    fn root(&self, v: usize) -> usize {
        if v == 0 { 0 } else { self.root[self.tree.parent(v)] as usize }
    }

    /// What a change by 1 of all nodes costs from the one below the root of its component down to a node, itself
    /// included, the root too where that is not known. 0 at known nodes.
    fn path(&self, v: usize) -> f64 {
        if self.tree.is_known(v) {
            return 0.0;
        }
        let root = self.root(v);
        let from = if self.tree.is_known(root) { self.tree.level(root) } else { self.paths.len() - 1 };
        self.paths[from][self.tree.level(v)]
    }

    /// What a change costs; `None` if it would change a known count, or is none.
    pub fn cost(&self, change: TreeChange) -> Option<f64> {
        let open = |leaf: u32| !self.tree.is_known(leaf as usize);
        let root = |leaf: u32| self.root(leaf as usize);
        match change {
            TreeChange::Added(leaf) => {
                (open(leaf) && !self.tree.is_known(root(leaf))).then(|| self.path(leaf as usize))
            }
            TreeChange::Moved { from, to } => {
                if from == to || !open(from) || !open(to) || root(from) != root(to) {
                    return None;
                }
                let (mut a, mut b) = (from as usize, to as usize);
                while a != b {
                    if a > b { a = self.tree.parent(a) } else { b = self.tree.parent(b) }
                }
                Some(self.between(from as usize, a) + self.between(to as usize, a))
            }
        }
    }

    /// What a change by 1 of all nodes costs from a node up to the one below an ancestor in its component.
    fn between(&self, v: usize, ancestor: usize) -> f64 {
        self.path(v) - self.path(ancestor)
    }

    /// All leaves that are not known.
    fn leaves(&self) -> impl Iterator<Item = u32> + '_ {
        self.tree.leaves().iter().copied().filter(|&leaf| !self.tree.is_known(leaf as usize))
    }

    /// The first two leaves below each parent that are not known: what changes of the others cost, changes of these do.
    fn some_leaves(&self) -> impl Iterator<Item = u32> + '_ {
        let tree = self.tree;
        let below = move |v| tree.open_children(v).filter(|&c| tree.is_leaf(c)).take(2).map(|c| c as u32);
        let alone = (tree.nodes() == 1).then_some(0);
        alone.into_iter().chain((0..tree.inner_end()).flat_map(below))
    }

    /// The record whose adding costs most; `None` if every leaf lies below a known count, or is one.
    pub fn worst_added(&self) -> Option<WorstChange> {
        let mut worst = Worst::new(self);
        for leaf in self.some_leaves() {
            let change = TreeChange::Added(leaf);
            if let Some(cost) = self.cost(change) {
                worst.keep(change, cost, leaf);
            }
        }
        worst.finish()
    }

    /// The move of a record that costs most; `None` if no two leaves are parts of one component.
    pub fn worst_moved(&self) -> Option<WorstChange> {
        // Leaves below one parent are alike.
        let deepest = self.best_below(2, |leaf| Some(self.path(leaf as usize)));
        let mut worst = Worst::new(self);
        for to in self.some_leaves() {
            self.partners(to, &deepest, |from, cost| worst.keep(TreeChange::Moved { from, to }, cost, to));
        }
        worst.finish()
    }

    /// By node up to the last that has children: the leaves below it and in its component with the largest values; of those below one
    /// parent the last `most` are looked at.
    fn best_below(&self, most: usize, value: impl Fn(u32) -> Option<f64>) -> Vec<BestTwo> {
        let tree = self.tree;
        let end = tree.inner_end();
        let mut best = vec![BestTwo::NONE; end];
        for v in (0..end).rev() {
            let mut leaves = 0;
            for c in tree.children(v).rev().filter(|&c| !tree.is_known(c)) {
                let of = match tree.is_leaf(c) {
                    true if leaves < most => value(c as u32).map(|value| (value, c as u32)),
                    // No node from there on has children.
                    true if tree.children(v).start >= end => break,
                    true => None,
                    false => best[c].best(),
                };
                leaves += usize::from(tree.is_leaf(c));
                if let Some((value, leaf)) = of {
                    best[v].add(value, leaf, c as u32);
                }
            }
        }
        best
    }

    /// Pairs a leaf, at every ancestor in its component, with the best leaf elsewhere below: gives it and the cost of the move.
    fn partners(&self, leaf: u32, best: &[BestTwo], mut pair: impl FnMut(u32, f64)) {
        let mut child = leaf as usize;
        while child != 0 && !self.tree.is_known(child) {
            let above = self.tree.parent(child);
            if let Some((_, other)) = best[above].beside(child as u32) {
                pair(other, self.between(leaf as usize, above) + self.between(other as usize, above));
            }
            child = above;
        }
    }
}

/// The tree with all counts known that no table without a negative leaf can change: all below a known count of which its known parts
/// leave 0.
///
/// `counts`: by node. `None`: nothing is left that can change.
pub(super) fn within_zeros(tree: &Hierarchy, counts: &[i64]) -> Option<Hierarchy> {
    let none = vec![0.0; tree.levels()];
    let costs = TreeCosts::new(tree, &none).expect("one cost for each level");
    let mut left = vec![0i64; costs.root.len()];
    costs.leaves().for_each(|leaf| left[costs.root(leaf as usize)] += counts[leaf as usize]);
    let cannot = |v: usize| {
        let root = costs.root(v);
        tree.is_known(v) || (tree.is_known(root) && left[root] == 0)
    };
    tree.clone().with_known((0..tree.nodes()).map(cannot).collect()).ok()
}

/// What ties the leaves together between which a record moves, if nothing but known totals: the levels of the leaves,
/// and the fewest that one total has. `None`: noise that is not known lies between.
pub(super) fn ties_of_moves(tree: &Hierarchy) -> Option<Vec<(usize, u64)>> {
    let mut fewest: Vec<(usize, u64)> = Vec::new();
    for v in 0..tree.inner_end() {
        let open: Vec<usize> = tree.open_children(v).collect();
        if open.is_empty() {
            continue;
        }
        if !tree.is_known(v) || open.iter().any(|&c| !tree.is_leaf(c)) {
            return None;
        }
        let (level, entries) = (tree.level(open[0]), open.len() as u64);
        if entries > 1 {
            match fewest.iter_mut().find(|(of, _)| *of == level) {
                Some((_, least)) => *least = entries.min(*least),
                None => fewest.push((level, entries)),
            }
        }
    }
    Some(fewest)
}

/// The change that costs most of those that it is shown.
struct Worst<'a> {
    costs: &'a TreeCosts<'a>,
    change: Option<(TreeChange, f64)>,
    /// By level of the leaf that gains: the largest cost, with which the bound on gamma grows.
    most: Vec<f64>,
}

impl<'a> Worst<'a> {
    fn new(costs: &'a TreeCosts<'a>) -> Self {
        Self { costs, change: None, most: vec![0.0; costs.tree.levels()] }
    }

    fn keep(&mut self, change: TreeChange, cost: f64, gains: u32) {
        let most = &mut self.most[self.costs.tree.level(gains as usize)];
        *most = most.max(cost);
        if self.change.is_none_or(|(_, largest)| cost > largest) {
            self.change = Some((change, cost));
        }
    }

    fn finish(self) -> Option<WorstChange> {
        let (change, cost) = self.change?;
        let shown = self.most.iter().zip(self.costs.costs).filter(|(most, _)| **most > 0.0);
        let gamma_bound = shown.map(|(&most, &own)| tree_gamma_bound(most, own)).fold(0.0, f64::max);
        Some(WorstChange { change, cost, gamma_bound })
    }
}

/// The change that pays most among those from or to one table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreePaid {
    /// The change. Its sign is that of `log_ratio`.
    pub change: TreeChange,
    /// `|log_ratio| / loss`.
    pub gamma: f64,
    /// `ln c(x')/c(x)`, x the table: below 0 where a record leaves it.
    pub log_ratio: f64,
    /// The loss of the free noise for the change.
    pub loss: f64,
    /// No change of its kind from or to this table has a larger gamma.
    pub at_most: f64,
    /// The number of changes that were compared.
    pub changes: u64,
}

/// What conditioning on non-negativity pays around one table of a tree, with double geometric noise.
#[derive(Debug)]
pub struct TreeConditioning<'a> {
    costs: TreeCosts<'a>,
    laws: &'a [DoubleGeometric],
    counts: &'a [i64],
    floors: LeafFloors,
}

/// Moves whose `c(x')` is computed.
const MOVES: usize = 24;

impl<'a> TreeConditioning<'a> {
    /// Prepares the conditioning around one table. `rates`: 1/lambda of `laws`, by level; `counts`: by node, none below
    /// 0.
    ///
    /// Errors: as [`IntegerTree::new`].
    pub fn new(
        tree: &'a Hierarchy,
        rates: &'a [f64],
        laws: &'a [DoubleGeometric],
        counts: &'a [i64],
    ) -> Result<Self> {
        let costs = TreeCosts::new(tree, rates)?;
        Ok(Self { costs, laws, counts, floors: LeafFloors::new(tree, laws, counts)? })
    }

    /// The log mass `ln c(x)` and its changes.
    pub fn floors(&self) -> &LeafFloors {
        &self.floors
    }

    /// The worst record added to the table, or removed from it: every leaf is compared. `None` where none can be.
    pub fn added(&self) -> Option<TreePaid> {
        let mut worst: Option<TreePaid> = None;
        let mut changes = 0;
        for leaf in self.costs.leaves() {
            let change = TreeChange::Added(leaf);
            let Some(loss) = self.costs.cost(change) else { continue };
            let more = Some(self.floors.more[leaf as usize]);
            let less = Some(self.floors.less[leaf as usize]).filter(|_| self.counts[leaf as usize] > 0);
            for log_ratio in more.into_iter().chain(less) {
                changes += 1;
                let gamma = log_ratio.abs() / loss;
                if worst.is_none_or(|worst| gamma > worst.gamma) {
                    worst = Some(TreePaid { change, gamma, log_ratio, loss, at_most: gamma, changes: 0 });
                }
            }
        }
        worst.map(|worst| TreePaid { changes, ..worst })
    }

    /// The worst move of a record of the table found, with a bound for all of them. `None` where no record can move.
    ///
    /// c grows with every count, so that `c(x - e_i) <= c(x + e_j - e_i) <= c(x + e_j)`: moves are tried in the order
    /// of the larger of these changes over their loss, with the partner that changes c least, until no other can pay
    /// more, or for 24 of them.
    ///
    /// Errors: as [`IntegerTree::new`].
    pub fn moved(&self) -> Result<Option<TreePaid>> {
        let LeafFloors { more, less, log_mass, .. } = &self.floors;
        let giving = |leaf: u32| self.counts[leaf as usize] > 0;
        // Partners that change c least; and those that cost least, for the bound.
        let givers = self.costs.best_below(usize::MAX, |leaf| giving(leaf).then(|| less[leaf as usize]));
        let takers = self.costs.best_below(usize::MAX, |leaf| Some(-more[leaf as usize]));
        let path = |leaf: u32| self.costs.path(leaf as usize);
        let near_givers = self.costs.best_below(usize::MAX, |leaf| giving(leaf).then(|| -path(leaf)));
        let near_takers = self.costs.best_below(usize::MAX, |leaf| Some(-path(leaf)));
        let mut moves: Vec<(f64, u32, u32, f64)> = Vec::new();
        let mut most = 0.0f64;
        for leaf in self.costs.leaves() {
            let (rise, fall) = (more[leaf as usize], -less[leaf as usize]);
            self.costs.partners(leaf, &givers, |from, loss| moves.push((rise / loss, from, leaf, loss)));
            self.costs.partners(leaf, &near_givers, |_, loss| most = most.max(rise / loss));
            if giving(leaf) {
                self.costs.partners(leaf, &takers, |to, loss| moves.push((fall / loss, leaf, to, loss)));
                self.costs.partners(leaf, &near_takers, |_, loss| most = most.max(fall / loss));
            }
        }
        moves.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        moves.dedup_by_key(|&mut (_, from, to, _)| (from, to));
        let mut worst: Option<TreePaid> = None;
        let mut changes = 0;
        let mut counts = self.counts.to_vec();
        for (i, &(potential, from, to, loss)) in moves.iter().take(MOVES).enumerate() {
            if worst.is_some_and(|worst| worst.gamma >= potential) {
                break;
            }
            counts[from as usize] -= 1;
            counts[to as usize] += 1;
            let tables = || IntegerTree::new(self.costs.tree, self.laws, Some(&counts));
            let there = pace::part(i, MOVES, tables)?.log_mass();
            counts[from as usize] += 1;
            counts[to as usize] -= 1;
            let log_ratio = there - log_mass;
            let gamma = log_ratio.abs() / loss;
            changes += 1;
            if worst.is_none_or(|worst| gamma > worst.gamma) {
                let change = TreeChange::Moved { from, to };
                worst = Some(TreePaid { change, gamma, log_ratio, loss, at_most: gamma, changes: 0 });
            }
        }
        Ok(worst.map(|worst| TreePaid { at_most: most.max(worst.gamma), changes, ..worst }))
    }
}

/// The table with all counts 0, or where a count is known, with what is not known in parts below it in the first leaf
/// of its component: its noise is pressed against the most floors. `counts`: by node, each the sum of its children's.
pub fn tree_corner(tree: &Hierarchy, counts: &[i64]) -> Vec<i64> {
    let mut corner = vec![0; counts.len()];
    // By known node: its count without those of the next known nodes below.
    let mut left = vec![0; counts.len()];
    let mut above = vec![None; counts.len()];
    for v in 0..tree.nodes() {
        above[v] = if v == 0 { None } else { above[tree.parent(v)] };
        if tree.is_known(v) {
            left[v] = counts[v];
            if let Some(known) = above[v] {
                let known: usize = known;
                left[known] -= counts[v];
            }
            above[v] = Some(v);
        }
    }
    for &leaf in tree.leaves() {
        let leaf = leaf as usize;
        if let Some(known) = above[leaf] {
            corner[leaf] = std::mem::take(&mut left[known]);
        }
    }
    tree.sum_up(&mut corner);
    corner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use crate::testing::test_stream;

    /// Tables and moves of a tree say how far they are.
    #[test]
    fn long_work_tells_how_far_it_is() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2]).unwrap();
        let (rates, laws, counts) = ([0.5; 3], laws(&[2.0; 3]), [6, 3, 3, 0, 3, 2, 1]);
        let meter = std::sync::Arc::new(pace::Meter::default());
        let around = pace::lend(&meter, || TreeConditioning::new(&tree, &rates, &laws, &counts)).unwrap();
        assert!(meter.share() > 0.5, "the way down is the second half: {}", meter.share());
        let meter = std::sync::Arc::new(pace::Meter::default());
        let moves = pace::lend(&meter, || around.moved()).unwrap().unwrap().changes;
        assert!(moves > 1 && meter.share() == (moves - 1) as f64 / MOVES as f64, "{moves} {}", meter.share());
    }

    fn laws(scales: &[f64]) -> Vec<DoubleGeometric> {
        scales.iter().map(|&scale| DoubleGeometric::new(scale).unwrap()).collect()
    }

    /// `c(x)` by a sum over all noise of the leaves within `reach`; weights with 1 at 0.
    fn brute(tree: &Hierarchy, laws: &[DoubleGeometric], counts: &[i64], reach: i64) -> f64 {
        let leaves = tree.leaves();
        let mut noise = vec![0; tree.nodes()];
        let mut z: Vec<i64> = leaves.iter().map(|&leaf| -counts[leaf as usize].min(reach)).collect();
        let mut total = 0.0;
        loop {
            for (&leaf, z) in leaves.iter().zip(&z) {
                noise[leaf as usize] = *z;
            }
            tree.sum_up(&mut noise);
            if (0..tree.nodes()).all(|v| !tree.is_known(v) || noise[v] == 0) {
                let log: f64 = (0..tree.nodes()).map(|v| laws[tree.level(v)].log_weight(noise[v])).sum();
                total += libm::exp(log);
            }
            let mut place = 0;
            while place < z.len() && z[place] == reach {
                z[place] = -counts[leaves[place] as usize].min(reach);
                place += 1;
            }
            if place == z.len() {
                return total;
            }
            z[place] += 1;
        }
    }

    /// `ln Σ w(z)` of one leaf: what tables are normalised by.
    fn log_total(law: &DoubleGeometric) -> f64 {
        libm::log((1.0 + law.ratio()) / (1.0 - law.ratio()))
    }

    fn around(tree: &Hierarchy, laws: &[DoubleGeometric], counts: &[i64]) -> LeafFloors {
        LeafFloors::new(tree, laws, counts).unwrap()
    }

    /// The figures of a tree that were computed elsewhere, by brute force.
    #[test]
    fn three_leaves_have_the_known_figures() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0]).unwrap();
        let laws = laws(&[1.0, 1.0]);
        let floors = around(&tree, &laws, &[8, 0, 3, 5]);
        assert!((floors.log_mass + 3.0 * log_total(&laws[1]) - 1.058056).abs() < 1e-6);
        for (got, want) in floors.more[1..].iter().zip([0.193837, 0.001972, 0.000065]) {
            assert!((got - want).abs() < 5e-7, "{got} {want}");
        }
        for (got, want) in floors.less[1..].iter().zip([0.0, -0.010065, -0.000367]) {
            assert!((got - want).abs() < 5e-7, "{got} {want}");
        }
    }

    /// Random small trees, with another scale on every level: all changes of one record against sums over all noise.
    #[test]
    fn changes_are_those_of_sums_over_all_noise() {
        let mut rng = test_stream(61);
        let mut draw = |n: f64| (crate::rng::open01(&mut rng) * n) as usize;
        let mut checked = 0;
        for case in 0..30 {
            let branches = [2, 3, 1][draw(3.0)];
            let mut parents = vec![0; branches + 1];
            for branch in 0..branches {
                let leaves = if branches == 1 { 3 } else { draw(3.0).min(4 / branches) };
                parents.extend(vec![branch + 1; leaves]);
            }
            let tree = Hierarchy::from_parents(&parents).unwrap();
            // Every third with a known node.
            let marks = (0..tree.nodes()).map(|v| case % 3 == 2 && v == draw(2.0)).collect();
            let tree = tree.clone().with_known(marks).unwrap_or(tree);
            let scales: Vec<f64> = (0..tree.levels()).map(|_| [0.3, 0.5, 0.8, 1.1][draw(4.0)]).collect();
            let laws = laws(&scales);
            let mut counts = vec![0i64; tree.nodes()];
            tree.leaves().iter().for_each(|&leaf| counts[leaf as usize] = draw(4.0) as i64);
            let reach = match tree.leaves().len() {
                0..=3 => 40,
                4 => 22,
                _ => 14,
            };
            // Beyond the reach some leaf's weight alone is below e^(-reach/1.1): its mass relative to that of 0 noise.
            let tolerance = 40.0 * libm::exp(-(reach as f64) / 1.1) + 1e-12;
            let here = libm::log(brute(&tree, &laws, &counts, reach));
            let floors = around(&tree, &laws, &counts);
            let open = || tree.leaves().iter().filter(|&&leaf| !tree.is_known(leaf as usize));
            let totals: f64 = open().map(|&leaf| log_total(&laws[tree.level(leaf as usize)])).sum();
            assert!(
                (floors.log_mass + totals - here).abs() < tolerance,
                "{case}: {} {here}",
                floors.log_mass
            );
            for &leaf in open() {
                for (step, got) in [(1, &floors.more), (-1, &floors.less)] {
                    let mut next = counts.clone();
                    next[leaf as usize] += step;
                    if next[leaf as usize] < 0 {
                        continue;
                    }
                    let want = libm::log(brute(&tree, &laws, &next, reach)) - here;
                    let got = got[leaf as usize];
                    assert!(
                        (got - want).abs() < tolerance,
                        "{case} {parents:?} {counts:?} {leaf} {step}: {got} {want}"
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 100, "{checked}");
    }

    /// The sampler's own mass, table by table: counts that press sums far up, where tables are tilted.
    #[test]
    fn changes_are_those_of_the_mass_where_tables_are_tilted() {
        let mut parents = vec![0; 4];
        (1..4).for_each(|branch| parents.extend(vec![branch; 30]));
        let tree = Hierarchy::from_parents(&parents).unwrap();
        let laws = laws(&[0.7, 1.0, 6.0]);
        let mut counts = vec![0i64; tree.nodes()];
        for (i, &leaf) in tree.leaves().iter().enumerate() {
            counts[leaf as usize] = [0, 0, 1, 3, 0, 0, 40][i % 7] * i64::from(i < 60);
        }
        tree.sum_up(&mut counts);
        let floors = around(&tree, &laws, &counts);
        let mass = |counts: &[i64]| IntegerTree::new(&tree, &laws, Some(counts)).unwrap().log_mass();
        for leaf in [4usize, 6, 7, 10, 45, 70, 93] {
            for (step, got) in [(1, &floors.more), (-1, &floors.less)] {
                let mut next = counts.clone();
                next[leaf] += step;
                if next[leaf] >= 0 {
                    let (got, want) = (got[leaf], mass(&next) - mass(&counts));
                    assert!((got - want).abs() < 1e-11 + 2.0 * floors.error, "{leaf} {step}: {got} {want}");
                }
            }
        }
        assert!(floors.more[4] > 0.01 && floors.less[7] < -1e-3, "{} {}", floors.more[4], floors.less[7]);
    }

    /// The bound holds for every table of small trees, and many empty leaves below one root attain it to rounding.
    #[test]
    fn the_bound_holds_and_is_attained() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2]).unwrap();
        for scales in [[1.0, 1.0, 1.0], [0.5, 2.0, 1.0], [3.0, 0.4, 2.0]] {
            let laws = laws(&scales);
            let rates = scales.map(|scale| 1.0 / scale);
            let costs = TreeCosts::new(&tree, &rates).unwrap();
            let (added, moved) = (costs.worst_added().unwrap(), costs.worst_moved().unwrap());
            for table in 0..27 {
                let mut counts = vec![0, 0, 0, table % 3, table / 3 % 3, table / 9];
                tree.sum_up(&mut counts);
                let around = TreeConditioning::new(&tree, &rates, &laws, &counts).unwrap();
                assert!(around.added().unwrap().gamma <= added.gamma_bound);
                let worst = around.moved().unwrap();
                assert!(
                    worst
                        .is_none_or(|worst| worst.gamma <= worst.at_most && worst.gamma <= moved.gamma_bound)
                );
            }
        }
        let star = Hierarchy::from_parents(&[0; 400]).unwrap();
        let rates = [0.3, 0.2];
        let around_star = laws(&rates.map(|rate| 1.0 / rate));
        let counts = vec![0; 400];
        let around = TreeConditioning::new(&star, &rates, &around_star, &counts).unwrap();
        let worst = around.added().unwrap();
        let bound = TreeCosts::new(&star, &rates).unwrap().worst_added().unwrap().gamma_bound;
        assert!((worst.gamma - bound).abs() < 1e-9, "{} {bound}", worst.gamma);
    }

    /// Costs and worst changes of a ragged tree by all pairs of leaves, with and without known nodes.
    #[test]
    fn worst_changes_are_those_of_all_pairs() {
        // 0 -> 1, 2, 3; 1 -> 4, 5, 6; 2 -> 7; 5 -> 8, 9. Leaves 3, 4, 6, 7, 8, 9.
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 1, 2, 5, 5]).unwrap();
        let costs = [0.5, 0.3, 0.7, 0.2];
        for known in [vec![], vec![0], vec![1], vec![0, 5], vec![0, 3, 1]] {
            let mut marks = vec![false; 10];
            known.iter().for_each(|&v: &usize| marks[v] = true);
            let tree = tree.clone().with_known(marks).unwrap();
            let of = TreeCosts::new(&tree, &costs).unwrap();
            let path = |leaf: u32| {
                let mut nodes = vec![leaf as usize];
                while *nodes.last().unwrap() != 0 {
                    nodes.push(tree.parent(*nodes.last().unwrap()));
                }
                nodes
            };
            let cost = |nodes: &[usize]| {
                let free = nodes.iter().all(|&v| !tree.is_known(v));
                free.then(|| nodes.iter().map(|&v| costs[tree.level(v)]).sum::<f64>())
            };
            let (mut added, mut moved) = (0.0f64, 0.0f64);
            for &i in tree.leaves() {
                let want = cost(&path(i));
                let got = of.cost(TreeChange::Added(i));
                assert_eq!(got.is_some(), want.is_some());
                assert!((got.unwrap_or(0.0) - want.unwrap_or(0.0)).abs() < 1e-12);
                added = added.max(want.unwrap_or(0.0));
                for &j in tree.leaves().iter().filter(|&&j| j != i) {
                    let (a, b) = (path(i), path(j));
                    let nodes: Vec<usize> =
                        a.iter().chain(&b).copied().filter(|v| a.contains(v) != b.contains(v)).collect();
                    let want = cost(&nodes);
                    let got = of.cost(TreeChange::Moved { from: i, to: j });
                    assert_eq!(got.is_some(), want.is_some(), "{known:?} {i} {j}");
                    assert!((got.unwrap_or(0.0) - want.unwrap_or(0.0)).abs() < 1e-12);
                    moved = moved.max(want.unwrap_or(0.0));
                }
            }
            assert!((of.worst_added().map_or(0.0, |worst| worst.cost) - added).abs() < 1e-12);
            assert!(
                (of.worst_moved().map_or(0.0, |worst| worst.cost) - moved).abs() < 1e-12,
                "{known:?} {moved}"
            );
        }
    }

    /// Corners keep known counts and put them into one leaf of each component.
    #[test]
    fn corners_keep_known_counts() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2]).unwrap();
        let counts = [10, 6, 4, 5, 1, 2, 2];
        assert_eq!(tree_corner(&tree, &counts), [0; 7]);
        let known =
            |nodes: &[usize]| tree.clone().with_known((0..7).map(|v| nodes.contains(&v)).collect()).unwrap();
        assert_eq!(tree_corner(&known(&[0]), &counts), [10, 10, 0, 10, 0, 0, 0]);
        assert_eq!(tree_corner(&known(&[0, 1]), &counts), [10, 6, 4, 6, 0, 4, 0]);
        // A known leaf keeps its own count, and the rest goes elsewhere.
        assert_eq!(tree_corner(&known(&[0, 3]), &counts), [10, 10, 0, 5, 5, 0, 0]);
        assert_eq!(tree_corner(&known(&[2]), &counts), [4, 0, 4, 0, 0, 4, 0]);
    }
}
