//! Weighted least squares on a hierarchy.

use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, Piece, Pieces, parents};
use crate::law::Value;
use std::ops::Range;

/// Projects noise on all nodes of a hierarchy onto `parent = Σ children`, minimising
/// `Σ_v (y_v - noisy_v)² / variance_v`. Exact, O(nodes): one pass up, one pass down.
///
/// Upwards every node combines its own value with the sum of its children's, by precision; downwards
/// the rest of a parent's value is spread over the children in proportion to their variances. Acts on
/// the noise alone, since the confidential counts satisfy the invariant.
///
/// Hay, Rastogi, Miklau, Suciu (2010), Boosting the accuracy of differentially private histograms
/// through consistency, with general weights. Known nodes have no noise: they count as measured without variance.
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::L2;
/// use congenial_core::invariant::Hierarchy;
///
/// // A root and two leaves, measured alike.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let mut noise = [3.0, 0.0, 0.0];
/// L2::new(&tree, &[1.0, 1.0])?.project(&mut noise);
/// assert!((noise[0] - 2.0).abs() < 1e-12 && (noise[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct L2 {
    hierarchy: Hierarchy,
    /// By level: the variance of the noise.
    own: Vec<f64>,
    /// By node up to the last that has children or is known: the variance of the combined value, 0 where it is known;
    /// for a parent also the sum over its children.
    combined: Vec<f64>,
    below: Vec<f64>,
}

impl L2 {
    /// Prepares the projection. `variances`: of the noise, one per level, finite and > 0.
    pub fn new(hierarchy: &Hierarchy, variances: &[f64]) -> Result<Self> {
        hierarchy.check_one_per_level("variances", variances.len())?;
        if let Some(bad) = variances.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
            return Err(Error::parameter("variance", bad, "a number > 0"));
        }
        // Beyond that sums of variances and of what one is divided by them leave floating point.
        let (least, most) = (libm::scalbn(1.0, -900), libm::scalbn(1.0, 900));
        if let Some(bad) = variances.iter().find(|v| !(least..=most).contains(*v)) {
            return Err(Error::parameter("variance", format!("{bad:e}"), "a number from 2^-900 to 2^900"));
        }
        let end = hierarchy.own_end();
        let own = variances.to_vec();
        let variance = |v: usize| if hierarchy.is_known(v) { 0.0 } else { own[hierarchy.level(v)] };
        let mut combined: Vec<f64> = (0..end).map(variance).collect();
        let mut below = vec![0.0; end];
        for v in (0..end).rev().filter(|&v| !hierarchy.is_leaf(v)) {
            let leaf = own[hierarchy.level(v) + 1];
            below[v] = hierarchy.children(v).map(|c| combined.get(c).copied().unwrap_or(leaf)).sum();
            if !hierarchy.is_known(v) {
                combined[v] = 1.0 / (1.0 / own[hierarchy.level(v)] + 1.0 / below[v]);
            }
        }
        Ok(Self { hierarchy: hierarchy.clone(), own, combined, below })
    }

    /// Replaces the noise of all nodes by its projection.
    pub fn project(&self, noise: &mut [f64]) {
        let mut sums = vec![0.0; self.below.len()];
        self.combine(noise, |v, sum| sums[v] = sum);
        for level in 1..self.hierarchy.levels() {
            let (piece, above, below) = self.hierarchy.split_level(level, noise);
            self.spread_rest(&piece, above, below, |v, _| sums[v]);
        }
        // Parents as sums of what is released, so that the invariant holds to the last rounding.
        self.hierarchy.sum_up_noise(noise);
    }

    /// Goes one level down: from the estimates of the children of a piece to their projections, given those of their
    /// parents.
    pub fn spread(&self, piece: &Piece, above: &[f64], estimates: &mut [f64]) {
        self.spread_rest(piece, above, estimates, |_, family| f64::sum(family));
    }

    /// Spreads as [`L2::spread`] does, where `sum` tells what the estimates of a node's children sum to.
    #[inline]
    fn spread_rest(
        &self,
        piece: &Piece,
        above: &[f64],
        estimates: &mut [f64],
        sum: impl Fn(usize, &[f64]) -> f64,
    ) {
        let leaf = self.own[piece.level];
        let are_leaves = self.leaf_variance(piece).is_some();
        for (v, &total) in piece.parents.clone().zip(above).take_while(|&(v, _)| v < self.below.len()) {
            if self.below[v] > 0.0 {
                let family = &mut estimates[piece.places(&self.hierarchy, v)];
                let rest = (total - sum(v, family)) / self.below[v];
                if are_leaves {
                    family.iter_mut().for_each(|z| *z += rest * leaf);
                } else {
                    let children = self.hierarchy.children(v);
                    for (z, c) in family.iter_mut().zip(children) {
                        *z += rest * self.combined.get(c).copied().unwrap_or(leaf);
                    }
                }
            }
        }
    }

    /// Goes all the way up: replaces the noise of every node by that of the best linear unbiased estimate of its count
    /// from its own subtree, `v̂ = V_v (y_v / σ_v² + Σ_c ĉ / Σ_c V_c)`, `1 / V_v = 1 / σ_v² + 1 / Σ_c V_c`
    /// ([`L2::variance`]). `keep`: gets every node with children and what their estimates sum to.
    #[inline]
    pub(super) fn combine(&self, noise: &mut [f64], keep: impl FnMut(usize, f64)) {
        let known = (0..self.combined.len()).filter(|&v| self.hierarchy.is_known(v));
        known.for_each(|v| noise[v] = 0.0);
        self.gather_levels(1..self.hierarchy.levels(), noise, keep);
    }

    /// Goes up over some levels, the last first: replaces the noise of the parents of each by that of their estimates.
    fn gather_levels(&self, levels: Range<usize>, noise: &mut [f64], mut keep: impl FnMut(usize, f64)) {
        for level in levels.rev() {
            let (piece, above, below) = self.hierarchy.split_level(level, noise);
            self.gather(&piece, above, below, &mut keep);
        }
    }

    /// Goes one level up: replaces the noise of the parents of a piece by that of their estimates, which follow from it
    /// and from the estimates of their children.
    #[inline]
    fn gather(&self, piece: &Piece, noise: &mut [f64], estimates: &[f64], mut keep: impl FnMut(usize, f64)) {
        let own = self.own[piece.level - 1];
        for (v, z) in piece.parents.clone().zip(noise).take_while(|(v, _)| *v < self.below.len()) {
            if self.below[v] > 0.0 {
                let sum = f64::sum(&estimates[piece.places(&self.hierarchy, v)]);
                keep(v, sum);
                if !self.hierarchy.is_known(v) {
                    *z = self.combined[v] * (*z / own + sum / self.below[v]);
                }
            }
        }
    }

    /// Replaces the noise of all nodes above the last level of a tree without known nodes by that of their estimates.
    /// `last`: the noise of the children of a piece of the last level.
    pub fn estimate(
        &self,
        pieces: &Pieces,
        crew: &dyn Crew,
        noise: &mut [f64],
        last: impl Fn(&Piece, &mut [f64]) + Send + Sync,
    ) {
        let own = pieces.last();
        crew.each(
            own.iter().zip(parents(own, noise)).collect(),
            |children: &mut Vec<f64>, (piece, above)| {
                children.resize(piece.children.len(), 0.0);
                last(piece, children);
                self.gather(piece, above, children, |_, _| ());
            },
        );
        self.gather_levels(1..pieces.levels() - 1, noise, |_, _| ());
    }

    /// By node, the variance of its projection, in counts squared: of independent noise with the variances that were given. One pass down:
    /// with `V` that of a child's estimate from its subtree, `B` the sum of it over the children and `C` the parent's variance, a child has
    /// `V - V²/B + (V/B)² C`.
    pub fn variances(&self) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.hierarchy.nodes());
        all.push(self.variance(0));
        for v in 1..self.hierarchy.nodes() {
            let (own, parent) = (self.variance(v), self.hierarchy.parent(v));
            let below = self.below[parent];
            // Where all children are known there is nothing to spread.
            let share = if below > 0.0 { own / below } else { 0.0 };
            all.push(own - share * own + share * share * all[parent]);
        }
        all
    }

    /// The variance of a node's estimate from its subtree; 0 where it is known.
    pub(super) fn variance(&self, v: usize) -> f64 {
        self.combined.get(v).copied().unwrap_or_else(|| self.own[self.hierarchy.level(v)])
    }

    /// The variance of all children of a piece, if none has children of its own.
    pub(super) fn leaf_variance(&self, piece: &Piece) -> Option<f64> {
        (piece.children.start >= self.combined.len()).then(|| self.own[piece.level])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{below, open01};
    use crate::testing::{random_tree, test_stream};

    /// The variance of every projected node in 200 random trees, some of whose nodes are known: as the sum over noise of one node at a
    /// time, which is projected.
    #[test]
    fn variances_are_those_of_projected_noise() {
        let mut rng = test_stream(146);
        for _ in 0..200 {
            let nodes = 1 + below(&mut rng, 24) as usize;
            let tree = random_tree(nodes, &mut rng);
            let own: Vec<f64> = (0..tree.levels()).map(|_| 0.1 + 10.0 * open01(&mut rng)).collect();
            let l2 = L2::new(&tree, &own).unwrap();
            let mut want = vec![0.0; nodes];
            for u in (0..nodes).filter(|&u| !tree.is_known(u)) {
                let mut noise = vec![0.0; nodes];
                noise[u] = libm::sqrt(own[tree.level(u)]);
                l2.project(&mut noise);
                want.iter_mut().zip(&noise).for_each(|(want, z)| *want += z * z);
            }
            for (v, (got, want)) in l2.variances().iter().zip(&want).enumerate() {
                assert!((got - want).abs() < 1e-10 * (1.0 + want), "node {v} of {tree:?}: {got} {want}");
            }
        }
    }
}
