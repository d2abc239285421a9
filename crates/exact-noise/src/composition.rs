//! Uniform compositions: how a total falls into parts when every way is as likely.

use crate::bits::{Bits, below};
use crate::error::{Error, Result};

/// Parts >= 0 that sum to `total`, uniform among all `C(total + n - 1, n - 1)` ways: `n - 1` bars on `total + n - 1` places, all sets
/// of places alike. `n >= 1`.
pub(crate) fn uniform<B: Bits + ?Sized>(source: &mut B, total: u64, n: u64) -> Result<Vec<u64>> {
    let bars = n.checked_sub(1).ok_or(Error::Bug("no part"))?;
    let places = total.checked_add(bars).ok_or(Error::Beyond)?;
    let mut parts = Vec::new();
    let mut begin = 0u64;
    for bar in subset(source, bars, places)? {
        parts.push(bar.checked_sub(begin).ok_or(Error::Bug("bars out of order"))?);
        begin = bar.saturating_add(1);
    }
    parts.push(places.saturating_sub(begin));
    Ok(parts)
}

/// A uniform set of `size` of the numbers below `end`, in order. Of more than half it draws those that are left out.
fn subset<B: Bits + ?Sized>(source: &mut B, size: u64, end: u64) -> Result<Vec<u64>> {
    let others = end.checked_sub(size).ok_or(Error::Bug("a subset larger than its set"))?;
    if others >= size {
        return distinct(source, size, end);
    }
    let mut left_out = distinct(source, others, end)?.into_iter().peekable();
    Ok((0..end).filter(|number| left_out.next_if_eq(number).is_none()).collect())
}

/// The first `size` different ones of independent uniform numbers below `end`, in order: all sets are alike.
fn distinct<B: Bits + ?Sized>(source: &mut B, size: u64, end: u64) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    loop {
        let missing = size.saturating_sub(numbers.len() as u64);
        if missing == 0 {
            return Ok(numbers);
        }
        for _ in 0..missing {
            numbers.push(below(source, end)?);
        }
        numbers.sort_unstable();
        numbers.dedup();
    }
}
