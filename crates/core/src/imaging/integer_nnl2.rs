//! Least squares under equations and inequalities, then the closest integers.

use super::closest::{ClosestIntegers, ClosestScratch};
use super::nnl2::{Nnl2, Nnl2Scratch};
use super::simplex::{SimplexScratch, SimplexValue};
use crate::error::Result;
use crate::invariant::{Bounded, Linear, NO_LOWER, Region};
use crate::rng::Rng;

/// [`Nnl2`] for every component, then the integers that are closest to it in L1.
#[derive(Debug)]
pub struct IntegerNnl2 {
    /// Totals with a lower bound of every entry and no other.
    totals: Vec<Bounded>,
    others: Vec<(Nnl2, ClosestIntegers)>,
}

/// Space for one image, reused from call to call.
#[derive(Debug, Default)]
pub struct ImageScratch {
    /// Space for least squares.
    pub nnl2: Nnl2Scratch,
    /// Space for the closest integers.
    pub closest: ClosestScratch,
}

impl IntegerNnl2 {
    /// Prepares the projection. Errors: as [`Nnl2::new`] and [`ClosestIntegers::new`].
    pub fn new(invariant: &Linear, region: &Region) -> Result<Self> {
        let (mut totals, mut others) = (Vec::new(), Vec::new());
        for bounded in region.components(invariant) {
            let Bounded { component, region: Region { lower, upper, rows } } = &bounded;
            let n = component.entries.len();
            let floors = (0..n).all(|i| lower[i] != NO_LOWER);
            if component.is_total() && floors && upper.is_open() && rows.is_empty() {
                totals.push(bounded);
            } else {
                let nnl2 = Nnl2::new(component, &lower.of(n), &upper.of(n), rows)?;
                others.push((nnl2, ClosestIntegers::new(&bounded)?));
            }
        }
        Ok(Self { totals, others })
    }

    /// The integers with the same sums, within the bounds and rows, that are closest in L1 to the projection of `noise`, into
    /// `out`: for totals with lower bounds [`SimplexValue::project`] of what each entry is above its lower bound, else
    /// [`ClosestIntegers`].
    ///
    /// Errors: as [`Nnl2::project`] and [`ClosestIntegers::round`].
    pub fn round<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        scratch: &mut ImageScratch,
        noise: &[f64],
        out: &mut [i64],
    ) -> Result<()> {
        self.totals(rng, noise, out);
        if !self.others.is_empty() {
            let mut projected = noise.to_vec();
            for (nnl2, closest) in &self.others {
                nnl2.project(&mut scratch.nnl2, &mut projected)?;
                closest.round(rng, &mut scratch.closest, &projected, out)?;
            }
        }
        Ok(())
    }

    fn totals<R: Rng + ?Sized>(&self, rng: &mut R, noise: &[f64], out: &mut [i64]) {
        let (mut reals, mut integers) = (SimplexScratch::default(), SimplexScratch::default());
        for Bounded { component, region } in &self.totals {
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
