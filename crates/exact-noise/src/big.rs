//! What large integers could panic at, with an answer instead: quotients and differences.

use crate::error::{Error, Result};
use dashu_int::UBig;

/// `2^bits`.
pub(crate) fn one(bits: usize) -> UBig {
    UBig::ONE << bits
}

/// `⌊n / d⌋`; a divisor of 0 is a bug.
pub(crate) fn floor(n: &UBig, d: &UBig) -> Result<UBig> {
    if d.is_zero() { Err(Error::Bug("division by zero")) } else { Ok(n / d) }
}

/// `⌈n / d⌉`; a divisor of 0 is a bug.
pub(crate) fn ceil(n: &UBig, d: &UBig) -> Result<UBig> {
    let down = floor(n, d)?;
    Ok(if &down * d == *n { down } else { down + UBig::ONE })
}

/// `max(0, a - b)`.
pub(crate) fn less(a: &UBig, b: &UBig) -> UBig {
    if a > b { a - b } else { UBig::ZERO }
}

/// `⌈n / 2^bits⌉`.
pub(crate) fn shifted_up(n: &UBig, bits: usize) -> UBig {
    let down = n >> bits;
    if (&down << bits) == *n { down } else { down + UBig::ONE }
}

/// A geometric series behind its first term, `start ratio + start ratio² + …` with `ratio = above / below`, rounded up.
/// A ratio of 1 or more is a bug.
pub(crate) fn geometric_tail(start: &UBig, above: &UBig, below: &UBig) -> Result<UBig> {
    ceil(&(start * above), &less(below, above))
}

/// What fits into 64 bits; more is a bug.
pub(crate) fn word(n: &UBig) -> Result<u64> {
    u64::try_from(n).map_err(|_| Error::Bug("more than 64 bits"))
}

/// What fits into 128 bits; more is a bug.
pub(crate) fn double_word(n: &UBig) -> Result<u128> {
    u128::try_from(n).map_err(|_| Error::Bug("more than 128 bits"))
}
