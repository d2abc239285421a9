//! Geometric draws.

use super::exponential::exponential;
use rand::Rng;

/// Geometric on 0, 1, 2, …: `P(k) = (1 - a) a^k` with `a = exp(-1/scale)`.
///
/// It is the integer part of an exponential with mean `scale`. Beyond 2^53 the draw is rounded.
#[inline]
pub fn geometric<R: Rng + ?Sized>(rng: &mut R, scale: f64) -> i64 {
    (exponential(rng) * scale) as i64
}
