//! Uniform numbers.

use rand::Rng;

/// Uniform on the open interval (0, 1): the 2^52 midpoints `(k + 1/2) / 2^52`.
///
/// Neither 0 nor 1 can occur, so logarithms and quantiles of it are finite.
#[inline]
pub fn open01<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// +1 or -1 with probability 1/2 each.
#[inline]
pub fn sign<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    f64::from_bits(1.0f64.to_bits() | (rng.next_u64() & (1 << 63)))
}
