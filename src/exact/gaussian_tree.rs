//! Gaussian noise on all nodes of a hierarchy, conditioned on its sums: drawn exactly.

use crate::error::Result;
use crate::invariant::Hierarchy;
use crate::law::{Gaussian, Law};
use crate::rng::{Rng, normal};

/// Exact sampler of `q(z) ∝ Π_v w_v(z_v)` over all real vectors in which every parent is the sum of its
/// children and no known node has noise, for Gaussian weights.
///
/// The noise of a node given its subtree is Gaussian with variance
/// `V_v = 1 / (1/sigma_v² + 1/Σ_c V_c)` (`sigma_v²` for a leaf, 0 for a known node). Downwards, the children are drawn
/// independently and the rest of their parent's value is spread over them in proportion to `V_c`.
/// O(nodes), one normal a node.
#[derive(Debug)]
pub struct GaussianTree {
    hierarchy: Hierarchy,
    /// `V_v`, and its square root: by node up to the last that has children or is known; of leaves by level.
    variance: Vec<f64>,
    deviation: Vec<f64>,
    leaf_variance: Vec<f64>,
    leaf_deviation: Vec<f64>,
}

impl GaussianTree {
    /// `laws`: one per level.
    pub fn new(hierarchy: &Hierarchy, laws: &[Gaussian]) -> Result<Self> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        let leaf_variance: Vec<f64> = laws.iter().map(Law::variance).collect();
        let mut variance = vec![0.0; hierarchy.own_end()];
        for v in (0..variance.len()).rev() {
            let own = leaf_variance[hierarchy.level(v)];
            variance[v] = if hierarchy.is_known(v) {
                0.0
            } else if hierarchy.is_leaf(v) {
                own
            } else {
                let leaf = leaf_variance[hierarchy.level(v) + 1];
                let below: f64 =
                    hierarchy.children(v).map(|c| variance.get(c).copied().unwrap_or(leaf)).sum();
                1.0 / (1.0 / own + 1.0 / below)
            };
        }
        let root = |variances: &[f64]| variances.iter().map(|&v| libm::sqrt(v)).collect();
        let (deviation, leaf_deviation) = (root(&variance), root(&leaf_variance));
        Ok(Self { hierarchy: hierarchy.clone(), variance, deviation, leaf_variance, leaf_deviation })
    }

    /// The variance of the root's noise.
    pub fn root_variance(&self) -> f64 {
        self.variance.first().copied().unwrap_or(self.leaf_variance[0])
    }

    /// One draw of the noise of all nodes, into `noise` (one value per node).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) {
        let tree = &self.hierarchy;
        let end = self.variance.len();
        for (z, deviation) in noise.iter_mut().zip(&self.deviation) {
            *z = deviation * normal(rng);
        }
        for (z, v) in noise[end..].iter_mut().zip(end..) {
            *z = self.leaf_deviation[tree.level(v)] * normal(rng);
        }
        for v in 0..end {
            let children = tree.children(v);
            if children.is_empty() {
                continue;
            }
            let leaf = self.leaf_variance[tree.level(v) + 1];
            let variance = |c: usize| self.variance.get(c).copied().unwrap_or(leaf);
            let sum: f64 = noise[children.clone()].iter().sum();
            let spread: f64 = children.clone().map(variance).sum();
            if spread == 0.0 {
                continue;
            }
            let rest = (noise[v] - sum) / spread;
            for c in children {
                noise[c] += rest * variance(c);
            }
        }
        // Parents as sums of what is released, so that the invariant holds to the last rounding.
        self.hierarchy.sum_up_noise(noise);
    }
}
