//! Bounded integers.

use rand::Rng;

/// Uniform on `0..n`, exactly; `n >= 1`.
///
/// Lemire (2019), Fast random integer generation in an interval: one multiplication, and a division
/// only when the low half of the product is below `n`.
#[inline]
pub fn below<R: Rng + ?Sized>(rng: &mut R, n: u64) -> u64 {
    debug_assert!(n >= 1);
    let mut wide = u128::from(rng.next_u64()) * u128::from(n);
    if (wide as u64) < n {
        let threshold = n.wrapping_neg() % n;
        while (wide as u64) < threshold {
            wide = u128::from(rng.next_u64()) * u128::from(n);
        }
    }
    (wide >> 64) as u64
}
