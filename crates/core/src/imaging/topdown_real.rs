//! TopDown without its rounding: non-negative reals from the root down.

use super::descent::{Descent, Family};
use super::simplex::project_reals;
use crate::invariant::{Hierarchy, Piece};

/// Non-negative reals from the root down: what [`super::TopDown`] releases before it rounds. The root's noisy count is moved to
/// 0 if it is below; the children of every parent are the non-negative least-squares fit to their noisy counts with the
/// parent as their sum, `y_i = max(0, noisy_i - theta)`. Known nodes are released as they are, and no other node gets less
/// than what is known below it.
///
/// Rounding has an error of its own under real noise, and takes some away where the scale is below a count: this is the
/// fit alone, to be set beside other releases of reals.
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::{TopDownReal, TopDownRealScratch};
/// use congenial_core::invariant::Hierarchy;
///
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let mut out = [0.0; 3];
/// let noisy = [4.5, 2.0, 3.0];
/// TopDownReal::new(&tree, &[3, 1, 2]).release(&noisy, &mut TopDownRealScratch::default(), &mut out);
/// assert_eq!(out, [4.5, 1.75, 2.75]);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TopDownReal {
    descent: Descent,
}

/// Space for one release, reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct TopDownRealScratch(Family<f64, f64>);

impl TopDownReal {
    /// Prepares releases on `hierarchy`. `counts`: the confidential counts, of which only known ones are looked at.
    pub fn new(hierarchy: &Hierarchy, counts: &[i64]) -> Self {
        Self { descent: Descent::new(hierarchy, counts) }
    }

    /// Makes the release from the noisy counts of all nodes, into `out`. Sums hold to rounding.
    pub fn release(&self, noisy: &[f64], scratch: &mut TopDownRealScratch, out: &mut [f64]) {
        let root = self.root(noisy[0]);
        self.descent.release(root, noisy, &mut scratch.0, out, |_, noisy, total, out| {
            project_reals(noisy, total, out);
        });
    }

    /// The root's count from its noisy one.
    pub fn root(&self, noisy: f64) -> f64 {
        self.descent.root_of_reals(noisy)
    }

    /// The counts of the children of a piece, into `out`, from those of their parents and from the children's noisy
    /// ones.
    pub fn below(
        &self,
        piece: &Piece,
        above: &[f64],
        noisy: &[f64],
        scratch: &mut TopDownRealScratch,
        out: &mut [f64],
    ) {
        self.descent.below(piece, above, noisy, &mut scratch.0, out, |_, noisy, total, out| {
            project_reals(noisy, total, out);
        });
    }
}
