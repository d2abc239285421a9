//! Quantiles of smooth laws on the integers from those of the same laws on the reals.

use super::Value;

/// Least standard deviation for which the quantile is taken from the continuous law.
pub(super) const LEAST: f64 = 1.0;

/// The integer whose cell of width 1 holds `x`; `None` within `error` of the end of the cell, where a sum must decide.
///
/// For a smooth weight f the sum up to t is the integral up to the edge e = t + 1/2, less f'(e)/24, and so on
/// (Euler and Maclaurin). So a quantile of the law on the integers is the integer next to the continuous quantile, moved by
/// `f'/(24 f)`, the first term of that series, but for what is left of it. Where this is less than the rounding of the
/// quantile itself, an `error` of 0 takes the integer as it is.
#[inline]
pub(super) fn whole(x: f64, error: f64) -> Option<i64> {
    let t = i64::nearest(x);
    // Written so that a NaN is refused.
    ((x - t as f64).abs() <= 0.5 - error).then_some(t)
}

/// What is left of the series for a law that is normal or has lighter peaks and heavier tails, in cells, where the standard
/// normal has the same quantile `z`; with the rounding of that quantile.
///
/// For the normal the next term is `(11 z - 2 z³)/(5760 sd³)`. The factor covers the whole rest with a margin of 1.8 for
/// `sd >= 1` (the tests compare it with sums).
#[inline]
pub(super) fn error(z: f64, sd: f64) -> f64 {
    let z = z.abs();
    1e-3 * (z * (z * z + 4.0) + 0.01) / (sd * sd * sd) + 2e-15 * sd * (1.0 + z)
}
