//! Least squares under the equations and inequalities of a whole table.

use super::nnl2::{Nnl2, Nnl2Scratch};
use crate::error::Result;
use crate::invariant::{Bounded, Linear, Region};

/// [`Nnl2`] for every component.
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::{LatticeNnl2, Nnl2Scratch};
/// use congenial_core::invariant::{Inequalities, Linear};
///
/// // Counts 1, 4, 0 with one total, of which none is released below 0.
/// let region = Inequalities::nonnegative(3).around(&[1, 4, 0])?;
/// let image = LatticeNnl2::new(&Linear::total(3)?, &region)?;
/// let mut noise = [-3.0, 2.0, 1.0];
/// image.project(&mut Nnl2Scratch::default(), &mut noise)?;
/// assert_eq!(noise, [-1.0, 1.0, 0.0]); // released: 0, 5, 0
/// image.check(&noise)?;
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LatticeNnl2 {
    components: Vec<(Bounded, Nnl2)>,
}

impl LatticeNnl2 {
    /// Prepares the projection. Errors: as [`Nnl2::new`].
    pub fn new(invariant: &Linear, region: &Region) -> Result<Self> {
        let projected = |bounded: Bounded| {
            let Region { lower, upper, rows } = &bounded.region;
            let n = bounded.component.entries.len();
            Ok((Nnl2::new(&bounded.component, &lower.of(n), &upper.of(n), rows)?, bounded))
        };
        let components =
            region.components(invariant).into_iter().map(projected).collect::<Result<Vec<_>>>()?;
        Ok(Self { components: components.into_iter().map(|(nnl2, bounded)| (bounded, nnl2)).collect() })
    }

    /// Replaces the noise by its projection. Errors: as [`Nnl2::project`].
    pub fn project(&self, scratch: &mut Nnl2Scratch, noise: &mut [f64]) -> Result<()> {
        self.components.iter().try_for_each(|(_, nnl2)| nnl2.project(scratch, noise))
    }

    /// Checks a projection in exact arithmetic. Errors: [`crate::Error::InvariantViolated`].
    pub fn check(&self, noise: &[f64]) -> Result<()> {
        self.components.iter().try_for_each(|(_, nnl2)| nnl2.check(noise))
    }
}
