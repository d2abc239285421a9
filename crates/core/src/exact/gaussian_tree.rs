//! Gaussian noise on all nodes of a hierarchy, conditioned on its sums: drawn exactly.

use super::DownwardSampler;
use crate::error::Result;
use crate::invariant::{Hierarchy, Piece};
use crate::law::{Gaussian, Law};
use crate::rng::{Rng, normal};

/// Exact sampler of `q(z) ∝ Π_v w_v(z_v)` over all real vectors in which every parent is the sum of its
/// children and no known node has noise, for Gaussian weights.
///
/// The noise of a node given its subtree is Gaussian with variance
/// `V_v = 1 / (1/sigma_v² + 1/Σ_c V_c)` (`sigma_v²` for a leaf, 0 for a known node). Downwards, the children are drawn
/// independently and the rest of their parent's value is spread over them in proportion to `V_c`.
/// O(nodes), one normal a node.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::GaussianTree;
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::law::Gaussian;
///
/// // The sum of two leaves has variance 2, and meets a root of variance 1: 1/(1/1 + 1/2).
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let sampler = GaussianTree::new(&tree, &[Gaussian::new(1.0)?; 2])?;
/// assert!((sampler.root_variance() - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), congenial_core::Error>(())
/// ```
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
    /// Prepares the sampler. `laws`: one per level.
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

    /// Draws the noise of all nodes once, into `noise` (one value per node).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) {
        noise[0] = self.root_noise(rng);
        for level in 1..self.hierarchy.levels() {
            let (piece, above, below) = self.hierarchy.split_level(level, noise);
            self.below(&piece, above, rng, &mut (), below);
        }
        // Parents as sums of what is released, so that the invariant holds to the last rounding.
        self.hierarchy.sum_up_noise(noise);
    }
}

impl DownwardSampler for GaussianTree {
    type Value = f64;
    type Scratch = ();
    const ROUNDS: bool = true;

    fn root_noise<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        self.deviation.first().unwrap_or(&self.leaf_deviation[0]) * normal(rng)
    }

    /// Sums hold but for rounding.
    fn below<R: Rng + ?Sized>(
        &self,
        piece: &Piece,
        above: &[f64],
        rng: &mut R,
        (): &mut (),
        noise: &mut [f64],
    ) {
        let inner = &self.deviation[piece.children.start.min(self.deviation.len())..];
        let inner = &inner[..inner.len().min(noise.len())];
        let (own, leaves) = noise.split_at_mut(inner.len());
        for (z, deviation) in own.iter_mut().zip(inner) {
            *z = deviation * normal(rng);
        }
        let deviation = self.leaf_deviation[piece.level];
        leaves.iter_mut().for_each(|z| *z = deviation * normal(rng));
        let leaf = self.leaf_variance[piece.level];
        let variance = |c: usize| self.variance.get(c).copied().unwrap_or(leaf);
        for (v, &total) in piece.parents.clone().zip(above) {
            let children = self.hierarchy.children(v);
            let family = &mut noise[piece.places(&self.hierarchy, v)];
            let sum: f64 = family.iter().sum();
            let spread: f64 = children.clone().map(variance).sum();
            if spread == 0.0 {
                continue;
            }
            let rest = (total - sum) / spread;
            for (z, c) in family.iter_mut().zip(children) {
                *z += rest * variance(c);
            }
        }
    }
}
