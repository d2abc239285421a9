//! Noise for many counts at once, and the one loop that touches data.

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::free::Free;
use crate::law::Law;
use crate::zero_sum::ZeroSum;
use std::collections::BTreeMap;

/// The largest count.
const MOST_COUNT: u64 = 1 << 53;

/// The noise of `n` independent counts. Errors: those of [`Free`].
pub fn free<B: Bits + ?Sized>(law: Law, n: usize, source: &mut B) -> Result<Vec<i64>> {
    let free = Free::new(law)?;
    (0..n).map(|_| free.draw(source)).collect()
}

/// The noise of groups of counts, one group after the other, each of which sums to zero: the total of every group is known.
///
/// `sizes`: how many counts each group has. Errors: those of [`ZeroSum`].
pub fn partition<B: Bits + ?Sized>(law: Law, sizes: &[usize], source: &mut B) -> Result<Vec<i64>> {
    let mut ready = BTreeMap::new();
    for size in sizes {
        if !ready.contains_key(size) {
            ready.insert(*size, ZeroSum::new(law, *size)?);
        }
    }
    let mut noise = Vec::new();
    for size in sizes {
        let group = ready.get_mut(size).ok_or(Error::Bug("a group that is not ready"))?;
        noise.extend(group.draw(source)?);
    }
    Ok(noise)
}

/// The release, `y = x + z`.
///
/// Refuses lists of different lengths and counts beyond 2^53 in size, of which it names neither value nor place. Noise of
/// this crate never makes a sum overflow, so that no refusal depends on both.
pub fn add(counts: &[i64], noise: &[i64]) -> Result<Vec<i64>> {
    if counts.len() != noise.len() {
        return Err(Error::parameter("noise of counts", noise.len(), "one for each count"));
    }
    if counts.iter().any(|count| count.unsigned_abs() > MOST_COUNT) {
        return Err(Error::parameter("a count", "more", "at most 2^53"));
    }
    counts.iter().zip(noise).map(|(count, noise)| count.checked_add(*noise).ok_or(Error::Beyond)).collect()
}
