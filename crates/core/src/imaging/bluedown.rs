//! BlueDown: best linear unbiased estimates upwards, non-negative integer counts downwards.

use super::L2;
use super::descent::{Descent, Family, is_half};
use super::simplex::{WeightedScratch, project_weighted};
use crate::error::Result;
use crate::invariant::{Hierarchy, Piece};
use crate::law::Value;
use crate::rng::Rng;

/// Upwards, every node gets the best linear unbiased estimate of its count from its own subtree, by inverse variances
/// (`v̂ = V_v (y_v / σ_v² + Σ ĉ / Σ V_c)`, `1 / V_v = 1 / σ_v² + 1 / Σ V_c`). Downwards, the children of a node are the
/// non-negative least-squares fit to these estimates, weighted by `1 / V`, with the node's released count as their sum,
/// rounded to the integers with that sum that are closest to it in L1. The root's estimate is rounded to the closest
/// integer >= 0, a half up or down with probability 1/2 each. Known nodes are released as they are, and no other node
/// gets less than what is known below it.
///
/// Ghazi, Kamath, Manurangsi, Sealfon (2026), Denoising the US Census: Succinct Block Hierarchical Regression (arXiv
/// 2603.10099), for one count at every node. Without non-negativity and rounding this is [`L2`]. No solver is needed: O(nodes log
/// children).
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::{BlueDown, BlueDownScratch};
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let (tree, counts) = (Hierarchy::from_parents(&[0, 0, 0])?, [9, 4, 5]);
/// let image = BlueDown::new(&tree, &[1.0, 1.0], &counts)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut out = [0; 3];
/// // The root's noise 3 counts for 2/3 beside the sum 0 of its children's: 2, of which each child gets half.
/// image.release(&counts, &[3, 1, -1], &mut rng, &mut BlueDownScratch::default(), &mut out);
/// assert_eq!(out, [11, 6, 5]);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct BlueDown {
    descent: Descent,
    estimates: L2,
}

/// Space for one release, reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct BlueDownScratch {
    estimates: Vec<f64>,
    weights: Vec<f64>,
    weighted: WeightedScratch,
    family: Family<f64>,
}

impl BlueDown {
    /// Prepares releases on a hierarchy.
    ///
    /// - `variances`: of the noise, one per level, finite and > 0.
    /// - `counts`: the confidential counts, of which only known ones are looked at.
    ///
    /// Errors: as [`L2::new`].
    pub fn new(hierarchy: &Hierarchy, variances: &[f64], counts: &[i64]) -> Result<Self> {
        Ok(Self { descent: Descent::new(hierarchy, counts), estimates: L2::new(hierarchy, variances)? })
    }

    /// Makes the release from the noise of all nodes around `counts`, into `out`. `rng` breaks ties.
    ///
    /// Estimates are linear, so that they are made of the noise alone: large counts cost no digits.
    pub fn release<V: Value, R: Rng + ?Sized>(
        &self,
        counts: &[i64],
        noise: &[V],
        rng: &mut R,
        scratch: &mut BlueDownScratch,
        out: &mut [i64],
    ) {
        let BlueDownScratch { estimates, weights, weighted, family } = scratch;
        self.estimate(noise, estimates);
        let root = self.root(counts[0], estimates[0], rng);
        estimates.iter_mut().zip(counts).for_each(|(estimate, &count)| *estimate += count as f64);
        self.descent.release(root, estimates, family, out, |node, noisy, total, out| {
            weights.clear();
            weights.extend((0..noisy.len()).map(|i| self.estimates.variance(node(i))));
            project_weighted(noisy, weights, total, rng, weighted, out);
        });
    }

    /// The noise of the estimates of all nodes from their subtrees, into `estimates`.
    fn estimate<V: Value>(&self, noise: &[V], estimates: &mut Vec<f64>) {
        estimates.clear();
        estimates.extend(noise.iter().map(|z| z.to_f64()));
        self.estimates.combine(estimates, |_, _| ());
    }

    /// Whether the noise of the root's estimate is a half, to 2^-32: [`BlueDown::release`] then reads one word, before
    /// all others, whose first bit says where it goes.
    pub fn is_tied<V: Value>(&self, noise: &[V]) -> bool {
        let mut estimates = Vec::new();
        self.estimate(noise, &mut estimates);
        !self.descent.is_root_known() && is_half(estimates[0])
    }

    /// The estimates of all nodes from their subtrees, from which it goes down.
    pub fn estimates(&self) -> &L2 {
        &self.estimates
    }

    /// The root's count from the noise of its estimate. `rng` is read where that is a half, to 2^-32 ([`BlueDown::is_tied`]).
    pub fn root<R: Rng + ?Sized>(&self, count: i64, noise: f64, rng: &mut R) -> i64 {
        self.descent.root(count, noise, rng)
    }

    /// The counts of the children of a piece, into `out`, from those of their parents and from the children's own
    /// estimates.
    pub fn below<R: Rng + ?Sized>(
        &self,
        piece: &Piece,
        above: &[i64],
        estimates: &[f64],
        rng: &mut R,
        scratch: &mut BlueDownScratch,
        out: &mut [i64],
    ) {
        let BlueDownScratch { weights, weighted, family, .. } = scratch;
        self.descent.below(piece, above, estimates, family, out, |node, noisy, total, out| {
            weights.clear();
            match self.estimates.leaf_variance(piece) {
                Some(variance) => weights.resize(noisy.len(), variance),
                None => weights.extend((0..noisy.len()).map(|i| self.estimates.variance(node(i)))),
            }
            project_weighted(noisy, weights, total, rng, weighted, out);
        });
    }
}
