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

/// What is left of the series for the density `∝ exp(-rate √(a² + x²))` with `rate a = 1/heavy` and the standard deviation
/// `sd = √(a/rate)` of its peak, in cells, where the standard normal has the same quantile `z`; with the rounding of that
/// quantile. `heavy`: 0 for the normal, up to 4, with `a >= 4`.
///
/// For the normal the next term is `(11 z - 2 z³)/(5760 sd³)`. The factors cover the whole rest for `sd >= 1` with a margin
/// of 1.8 (against sums in 40 digits).
#[inline]
pub(super) fn error(z: f64, sd: f64, heavy: f64) -> f64 {
    let z = z.abs();
    let rest = 1e-3 * (1.0 + 3.0 * heavy) * (z * (z * z + 4.0) + 0.01) / (sd * sd * sd);
    rest + 2e-15 * sd * (1.0 + z)
}
