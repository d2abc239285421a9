//! Weighted least squares on a hierarchy.

use crate::error::{Error, Result};
use crate::invariant::Hierarchy;

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
/// ```
/// use congenial::imaging::L2;
/// use congenial::invariant::Hierarchy;
///
/// // A root and two leaves, measured alike.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let mut noise = [3.0, 0.0, 0.0];
/// L2::new(&tree, &[1.0, 1.0])?.project(&mut noise);
/// assert!((noise[0] - 2.0).abs() < 1e-12 && (noise[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), congenial::Error>(())
/// ```
#[derive(Debug)]
pub struct L2 {
    hierarchy: Hierarchy,
    /// By level: variance of the noise.
    own: Vec<f64>,
    /// By node up to the last that has children or is known: variance of the combined value, 0 where it is known; for a parent
    /// also the sum over its children.
    combined: Vec<f64>,
    below: Vec<f64>,
}

impl L2 {
    /// `variances`: of the noise, one per level, finite and > 0.
    pub fn new(hierarchy: &Hierarchy, variances: &[f64]) -> Result<Self> {
        hierarchy.check_one_per_level("variances", variances.len())?;
        if let Some(bad) = variances.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
            return Err(Error::parameter("variance", bad, "a number > 0"));
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
        self.combine(noise);
        let tree = &self.hierarchy;
        for v in 0..self.below.len() {
            let children = tree.children(v);
            if self.below[v] > 0.0 {
                let sum: f64 = noise[children.clone()].iter().sum();
                let rest = (noise[v] - sum) / self.below[v];
                let leaf = self.own[tree.level(v) + 1];
                for c in children {
                    noise[c] += rest * self.combined.get(c).copied().unwrap_or(leaf);
                }
            }
        }
        // Parents as sums of what is released, so that the invariant holds to the last rounding.
        tree.sum_up_noise(noise);
    }

    /// Upwards: replaces the noise of every node by that of the best linear unbiased estimate of its count from its own subtree,
    /// `v̂ = V_v (y_v / σ_v² + Σ_c ĉ / Σ_c V_c)`, `1 / V_v = 1 / σ_v² + 1 / Σ_c V_c` ([`L2::variance`]).
    pub(super) fn combine(&self, noise: &mut [f64]) {
        let tree = &self.hierarchy;
        for v in (0..self.below.len()).rev() {
            if tree.is_known(v) {
                noise[v] = 0.0;
            } else if self.below[v] > 0.0 {
                let sum: f64 = noise[tree.children(v)].iter().sum();
                noise[v] = self.combined[v] * (noise[v] / self.own[tree.level(v)] + sum / self.below[v]);
            }
        }
    }

    /// The variance of a node's estimate from its subtree; 0 where it is known.
    pub(super) fn variance(&self, v: usize) -> f64 {
        self.combined.get(v).copied().unwrap_or_else(|| self.own[self.hierarchy.level(v)])
    }
}
