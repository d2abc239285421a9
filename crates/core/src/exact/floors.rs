//! What one count more or less in a leaf does to the mass of a tree under non-negativity.

use super::integer_tree::Pass;
use super::parts::{PartId, Parts};
use super::{IntegerTree, Table};
use crate::error::Result;
use crate::invariant::Hierarchy;
use crate::law::IntegerLaw;
use crate::pace;
use std::collections::HashMap;

/// `c(x) = Σ Π_v w_v(s_v)` over the noise z of the leaves with `x + z >= 0`, `s_v` the sums below the nodes (0 at known
/// ones): its logarithm, and by how much it changes with the count of every leaf.
///
/// One count more in leaf i allows the noise with `z_i = -(x_i + 1)` besides, one less forbids that with `z_i = -x_i`. With W(k)
/// the mass of all noise with `z_i = k` and the other leaves as allowed by x,
///
/// `ln c(x + e_i) - ln c(x) = ln(1 + W(-(x_i + 1)) / c(x))`, `ln c(x - e_i) - ln c(x) = ln(1 - W(-x_i) / c(x))`.
///
/// `W(k)` is the leaf's weight times the weight of everything outside it given `z_i = k`. The latter goes down the tree as draws do:
/// from the root, where it is constant, by the law of every node and by sums over the siblings' tables. No difference of logarithms
/// is taken, so small changes are as exact as large ones. Leaves of one count under nodes of one shape share the work.
///
/// Leaves whose floor cuts nothing of their table have changes below [`LeafFloors::error`], given as 0.
#[derive(Debug, Clone)]
pub struct LeafFloors {
    /// The logarithm of the mass, `ln c(x)`, as [`IntegerTree::log_mass`].
    pub log_mass: f64,
    /// By node, for leaves: `ln c(x + e_i) - ln c(x) >= 0`; 0 elsewhere.
    pub more: Vec<f64>,
    /// By node, for leaves with a count above 0: `ln c(x - e_i) - ln c(x) <= 0`; 0 elsewhere.
    pub less: Vec<f64>,
    /// Bound on the share of the law that the tables lack.
    pub error: f64,
}

impl LeafFloors {
    /// Computes the changes around the table `counts` (by node; those of leaves are read).
    ///
    /// Errors: as [`IntegerTree::new`].
    pub fn new<L: IntegerLaw>(hierarchy: &Hierarchy, laws: &[L], counts: &[i64]) -> Result<Self> {
        let upwards = || IntegerTree::with_pass(hierarchy, laws, Some(counts));
        let (sampler, pass) = pace::part(0, 2, upwards)?;
        let down = Down { hierarchy, laws, counts, sampler: &sampler, pass: &pass };
        let like = down.alike();
        let (mut more, mut less) = pace::part(1, 2, || down.walk(&like));
        for &leaf in hierarchy.leaves() {
            let leaf = leaf as usize;
            (more[leaf], less[leaf]) = (more[like[leaf] as usize], less[like[leaf] as usize]);
        }
        Ok(Self { log_mass: sampler.log_mass(), more, less, error: sampler.tv_error() })
    }
}

/// The downward pass.
struct Down<'a, L> {
    hierarchy: &'a Hierarchy,
    laws: &'a [L],
    counts: &'a [i64],
    sampler: &'a IntegerTree,
    pass: &'a Pass,
}

/// The weight of everything outside a part given its sum, from one below the part's table to its end: times the table it is
/// the law of that sum.
struct Outside {
    first: i64,
    weights: Vec<f64>,
}

impl Outside {
    fn new(table: &Table, weight: impl Fn(i64) -> f64) -> Self {
        let (lo, hi) = table.support().into_inner();
        let mut weights: Vec<f64> = (lo - 1..=hi).map(weight).collect();
        let total: f64 = weights[1..].iter().zip(table.entries()).map(|(w, p)| w * p).sum();
        weights.iter_mut().for_each(|w| *w /= total);
        Self { first: lo - 1, weights }
    }

    fn at(&self, z: i64) -> f64 {
        self.weights.get(z.wrapping_sub(self.first) as usize).copied().unwrap_or(0.0)
    }

    /// Outside one of two parts whose sum has this outside.
    fn beside(&self, table: &Table, other: &Table) -> Self {
        let lo = *other.support().start();
        Self::new(table, |x| {
            // Places of x + lo, x + lo + 1, ... among the weights.
            let from = x + lo - self.first;
            let (skip, from) = if from < 0 { ((-from) as usize, 0) } else { (0, from as usize) };
            let weights = self.weights.get(from..).unwrap_or(&[]);
            let others = other.entries().get(skip..).unwrap_or(&[]);
            others.iter().zip(weights).map(|(p, w)| p * w).sum()
        })
    }
}

impl<L: IntegerLaw> Down<'_, L> {
    /// By node: the first that has the same law, place and all.
    fn alike(&self) -> Vec<u32> {
        let tree = self.hierarchy;
        let mut like = vec![0u32; tree.nodes()];
        let mut first: HashMap<(u32, PartId), u32> = HashMap::new();
        for v in 1..tree.nodes() {
            // Below a known count a component of its own begins.
            like[v] = match tree.is_known(v) {
                true => v as u32,
                false => *first.entry((like[tree.parent(v)], self.pass.unit[v])).or_insert(v as u32),
            };
        }
        like
    }

    /// Whether the floor of a leaf cuts its table.
    fn is_cut(&self, leaf: usize) -> bool {
        *self.parts().table(self.pass.unit[leaf]).support().start() == -self.counts[leaf]
    }

    fn parts(&self) -> &Parts {
        self.sampler.parts()
    }

    fn tilt(&self, v: usize) -> f64 {
        self.pass.tilts.as_ref().map_or(0.0, |tilts| tilts[v])
    }

    /// The tilt of the table of a node.
    fn tilt_at(&self, v: usize) -> f64 {
        if v == 0 { 0.0 } else { self.tilt(self.hierarchy.parent(v)) }
    }

    /// The changes of the leaves that come first of those alike.
    fn walk(&self, like: &[u32]) -> (Vec<f64>, Vec<f64>) {
        let tree = self.hierarchy;
        let n = tree.nodes();
        let (mut more, mut less) = (vec![0.0; n], vec![0.0; n]);
        // Whether a floor below matters.
        let mut matters = vec![false; n];
        for v in (0..n).rev() {
            matters[v] = match self.sampler.under(v) {
                Some((_, open)) => open.iter().any(|&child| matters[child as usize]),
                None => !tree.is_known(v) && self.is_cut(v),
            };
        }
        let wanted = |u: usize| matters[u] && like[u] as usize == u;
        let (mut open, mut seen) = (Vec::new(), 0.0);
        if let Some(root) = self.sampler.root().filter(|_| matters[0]) {
            open.push((0, Outside::new(root, |_| 1.0)));
        }
        for v in (0..n).filter(|&v| tree.is_known(v) && matters[v]) {
            if let Some((part, order)) = self.sampler.under(v) {
                let inner = Outside::new(self.parts().table(part), |sum| f64::from(u8::from(sum == 0)));
                self.descend(part, order, inner, &wanted, &mut open);
            }
        }
        while let Some((v, outside)) = open.pop() {
            // The last nodes take nothing: leaves that are alike.
            seen += 1.0;
            pace::at(seen, n as f64);
            let Some((part, order)) = self.sampler.under(v) else {
                (more[v], less[v]) = self.changes(v, &outside);
                continue;
            };
            let (law, tilt) = (&self.laws[tree.level(v)], self.tilt_at(v) - self.tilt(v));
            let table = self.parts().table(part);
            let log_weight = |z: i64| law.log_weight(z) + tilt * z as f64;
            let top = table.support().map(log_weight).fold(f64::NEG_INFINITY, f64::max);
            let inner = Outside::new(table, |z| outside.at(z) * libm::exp(log_weight(z) - top));
            self.descend(part, order, inner, &wanted, &mut open);
        }
        (more, less)
    }

    /// Finds what is outside the `wanted` terms of a part.
    fn descend(
        &self,
        part: PartId,
        order: &[u32],
        outside: Outside,
        wanted: &impl Fn(usize) -> bool,
        found: &mut Vec<(usize, Outside)>,
    ) {
        let (parts, is_wanted) = (self.parts(), |order: &[u32]| order.iter().any(|&u| wanted(u as usize)));
        match parts.halves(part) {
            None if order.len() == 1 => found.push((order[0] as usize, outside)),
            // Free leaves.
            None => {}
            Some((left, right)) => {
                let (first, rest) = order.split_at(parts.terms(left));
                for (half, order, other) in [(left, first, right), (right, rest, left)] {
                    if is_wanted(order) {
                        let outside = outside.beside(parts.table(half), parts.table(other));
                        self.descend(half, order, outside, wanted, found);
                    }
                }
            }
        }
    }

    /// Both changes of a leaf whose floor cuts its table.
    fn changes(&self, leaf: usize, outside: &Outside) -> (f64, f64) {
        let (law, floor) = (&self.laws[self.hierarchy.level(leaf)], -self.counts[leaf]);
        let at_floor = self.parts().table(self.pass.unit[leaf]).at(floor);
        let below = libm::exp(law.log_weight(floor - 1) - law.log_weight(floor) - self.tilt_at(leaf));
        let more = libm::log1p(at_floor * below * outside.at(floor - 1));
        let less = if floor < 0 { libm::log1p(-at_floor * outside.at(floor)) } else { 0.0 };
        (more, less)
    }
}
