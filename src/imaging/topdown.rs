//! TopDown: non-negative integer counts from the root down.

use super::simplex::{SimplexScratch, SimplexValue};
use crate::invariant::Hierarchy;
use crate::rng::Rng;

/// From the root down: the root's noisy count is rounded to an integer >= 0, then the children of every
/// parent are the non-negative least-squares fit to their noisy counts with the parent as their sum,
/// rounded to the closest integers with that sum ([`SimplexValue::project`]).
///
/// The TopDown idea of the 2020 US Census (Abowd et al. 2022) for one histogram of totals: each level
/// is fitted to its own measurements alone. No solver is needed.
#[derive(Debug)]
pub struct TopDown {
    hierarchy: Hierarchy,
}

/// Space for one release, reused from call to call.
pub type TopDownScratch<V> = SimplexScratch<V>;

impl TopDown {
    /// For releases on `hierarchy`.
    pub fn new(hierarchy: &Hierarchy) -> Self {
        Self { hierarchy: hierarchy.clone() }
    }

    /// The release from the noisy counts of all nodes, into `out`. `rng` breaks ties.
    pub fn release<V: SimplexValue, R: Rng + ?Sized>(
        &self,
        noisy: &[V],
        rng: &mut R,
        scratch: &mut TopDownScratch<V>,
        out: &mut [i64],
    ) {
        out[0] = libm::rint(noisy[0].to_f64()).max(0.0) as i64;
        for v in 0..self.hierarchy.nodes() {
            let children = self.hierarchy.children(v);
            if !children.is_empty() {
                let total = out[v];
                V::project(&noisy[children.clone()], total, rng, scratch, &mut out[children]);
            }
        }
    }
}
