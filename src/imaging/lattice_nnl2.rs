//! Least squares under the equations and inequalities of a whole table, and the closest integers to it.

use super::nnl2::{Nnl2, Nnl2Scratch};
use super::simplex::{SimplexScratch, SimplexValue};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Linear, NO_LOWER, Region};
use crate::rng::Rng;

/// [`Nnl2`] for every component.
#[derive(Debug)]
pub struct LatticeNnl2 {
    components: Vec<(Bounded, Nnl2)>,
}

impl LatticeNnl2 {
    /// Errors: as [`Nnl2::new`].
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

    /// Checks a projection in exact arithmetic. Errors: [`Error::InvariantViolated`].
    pub fn check(&self, noise: &[f64]) -> Result<()> {
        self.components.iter().try_for_each(|(_, nnl2)| nnl2.check(noise))
    }

    /// Whether [`LatticeNnl2::round`] serves the invariant. Errors: a component that is not one total with a lower bound of
    /// every entry, or entries that nothing bounds.
    pub fn check_rounding(&self) -> Result<()> {
        let serves = |(Bounded { component, region }, _): &&(Bounded, Nnl2)| {
            let floors = (0..component.entries.len()).all(|i| region.lower[i] != NO_LOWER);
            let open = region.upper.is_open() && region.rows.is_empty();
            component.is_total() && floors && open
        };
        match self.components.iter().all(|component| serves(&component)) {
            true => Ok(()),
            false => Err(Error::Unsupported {
                method: "nnl2-then-integer-l1",
                what: "these equations and inequalities".into(),
                reason: "their closest integers are an integer program; totals and partitions with a lower bound of \
                         every entry are served",
            }),
        }
    }

    /// The integers with the same sums within the bounds that are closest in L1 to the projection of `noise`, into
    /// `out`: [`SimplexValue::project`] of what each entry is above its lower bound.
    pub fn round<R: Rng + ?Sized>(&self, rng: &mut R, noise: &[f64], out: &mut [i64]) {
        let (mut reals, mut integers) = (SimplexScratch::default(), SimplexScratch::default());
        for (Bounded { component, region }, _) in &self.components {
            let at = |i: usize| component.entries[i] as usize;
            let n = component.entries.len();
            // No value of the projection is further below than the noise is wide: bounds beyond do not matter, and raw
            // counts would cost digits.
            let widest = (0..n).map(|i| noise[at(i)].abs()).fold(0.0, f64::max);
            let deepest = -(2.0 * widest + 2.0) as i64;
            let lower: Vec<i64> = (0..n).map(|i| region.lower[i].max(deepest)).collect();
            let total: i64 = lower.iter().map(|lower| -lower).sum();
            let mut above = vec![0i64; n];
            if (0..n).all(|i| noise[at(i)].fract() == 0.0) {
                let noisy: Vec<i64> = (0..n).map(|i| noise[at(i)] as i64 - lower[i]).collect();
                i64::project(&noisy, total, rng, &mut integers, &mut above);
            } else {
                let noisy: Vec<f64> = (0..n).map(|i| noise[at(i)] - lower[i] as f64).collect();
                f64::project(&noisy, total, rng, &mut reals, &mut above);
            }
            for (i, above) in above.into_iter().enumerate() {
                out[at(i)] = above + lower[i];
            }
        }
    }
}
