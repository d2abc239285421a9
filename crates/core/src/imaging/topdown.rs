//! TopDown: non-negative integer counts from the root down.

use super::descent::{Descent, Family};
use super::simplex::{SimplexScratch, SimplexValue};
use crate::invariant::{Hierarchy, Piece};
use crate::rng::Rng;

/// Non-negative integers from the root down: the root's noisy count is rounded to an integer >= 0, then the children of
/// every parent are the non-negative least-squares fit to their noisy counts with the parent as their sum, rounded to
/// the closest integers with that sum ([`SimplexValue::project`]). Known nodes are released as they are, and no other
/// node gets less than what is known below it.
///
/// The TopDown idea of the 2020 US Census (Abowd et al. 2022) for one histogram of totals: each level
/// is fitted to its own measurements alone. No solver is needed.
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::{TopDown, TopDownScratch};
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut out = [0; 3];
/// let noisy = [4, -2, 5]; // the children miss their parent, and one is below 0
/// TopDown::new(&tree, &[3, 1, 2]).release(&noisy, &mut rng, &mut TopDownScratch::default(), &mut out);
/// assert_eq!(out, [4, 0, 4]);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TopDown {
    descent: Descent,
}

/// Space for one release, reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct TopDownScratch<V> {
    simplex: SimplexScratch<V>,
    family: Family<V>,
}

impl TopDown {
    /// Prepares releases on `hierarchy`. `counts`: the confidential counts, of which only known ones are looked at.
    pub fn new(hierarchy: &Hierarchy, counts: &[i64]) -> Self {
        Self { descent: Descent::new(hierarchy, counts) }
    }

    /// Makes the release from the noisy counts of all nodes, into `out`. `rng` breaks ties.
    pub fn release<V: SimplexValue, R: Rng + ?Sized>(
        &self,
        noisy: &[V],
        rng: &mut R,
        scratch: &mut TopDownScratch<V>,
        out: &mut [i64],
    ) {
        let TopDownScratch { simplex, family } = scratch;
        let root = self.root(noisy[0], rng);
        self.descent.release(root, noisy, family, out, |_, noisy, total, out| {
            V::project(noisy, total, rng, simplex, out);
        });
    }

    /// The root's count from its noisy one. `rng` breaks ties, which integers never make.
    pub fn root<V: SimplexValue, R: Rng + ?Sized>(&self, noisy: V, rng: &mut R) -> i64 {
        self.descent.root(0, noisy.to_f64(), rng)
    }

    /// The counts of the children of a piece, into `out`, from those of their parents and from the children's noisy
    /// ones.
    pub fn below<V: SimplexValue, R: Rng + ?Sized>(
        &self,
        piece: &Piece,
        above: &[i64],
        noisy: &[V],
        rng: &mut R,
        scratch: &mut TopDownScratch<V>,
        out: &mut [i64],
    ) {
        let TopDownScratch { simplex, family } = scratch;
        self.descent.below(piece, above, noisy, family, out, |_, noisy, total, out| {
            V::project(noisy, total, rng, simplex, out);
        });
    }
}
