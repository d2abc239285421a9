//! Noise of a group of counts whose total is known.

use crate::base::Base;
use crate::big;
use crate::bits::Bits;
use crate::composition;
use crate::error::{Error, Result};
use crate::law::{Law, Precision, within};
use crate::mixture::{Mixture, Weights};
use crate::real::Span;
use crate::sums::Sums;
use dashu_int::UBig;

/// The longest table.
const MOST_ENTRIES: u64 = 1 << 22;

/// The largest group.
const MOST_COUNTS: u64 = 1 << 32;

/// `n` independent draws of one law given that they sum to zero: what a known total leaves.
///
/// Double geometric: a draw is a difference of two geometrics; the minus parts sum to `r` with
/// `P(r) ∝ C(r + n - 1, n - 1)² q^(2r)`, and are a uniform composition of `r`, as the plus parts are. Time O(n + spread of r).
///
/// Discrete Gaussian: sums of halves, as in a [`Tree`](crate::Tree) of one known root.
///
/// Refuses more than 2^32 counts, and noise so wide that a table would have more than 2^22 entries (double geometric,
/// `λ √n` beyond some 6·10^5) or 2^16 on each side of 0 (Gaussian, `σ √n` beyond some 10^4).
///
/// ```
/// use congenial_exact_noise::{Base, Law, System, ZeroSum};
///
/// let law = Law::DoubleGeometric(Base::from_loss(&"0.5".parse()?)?);
/// let noise = ZeroSum::new(law, 100)?.draw(&mut System::new())?;
/// assert_eq!((noise.len(), noise.iter().sum::<i64>()), (100, 0));
/// # Ok::<(), congenial_exact_noise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ZeroSum {
    n: usize,
    way: Way,
}

#[derive(Debug, Clone)]
enum Way {
    /// At most one count.
    Nothing,
    /// The law of `r`.
    Compositions { base: Base, minus: Mixture },
    /// The shape of the whole sum.
    Halves { sums: Box<Sums>, top: usize },
}

impl ZeroSum {
    /// Prepares the draws of `n` counts.
    pub fn new(law: Law, n: usize) -> Result<Self> {
        Self::with_precision(law, n, Precision::default())
    }

    /// Prepares the draws, with other bits of the tables: of the same law.
    pub fn with_precision(law: Law, n: usize, precision: Precision) -> Result<Self> {
        let count = n as u64;
        if count > MOST_COUNTS {
            return Err(Error::TooLarge { what: "counts of a group", needed: count, limit: MOST_COUNTS });
        }
        let way = match law {
            _ if n <= 1 => Way::Nothing,
            Law::DoubleGeometric(base) => {
                refuse_long(base, count, precision.rows as usize)?;
                let weights = minus_parts(base, count, precision.rows as usize, MOST_ENTRIES)?;
                let centre = most_likely(base, count)?;
                Way::Compositions { base, minus: Mixture::new(&weights, precision.rows, centre as i64)? }
            }
            Law::DiscreteGaussian(_) => {
                let mut sums = Box::new(Sums::new(precision.rows));
                let part = sums.leaf(law)?;
                let top = sums.sum_of(&vec![part; n])?;
                sums.fill(&[])?;
                Way::Halves { sums, top }
            }
        };
        Ok(Self { n, way })
    }

    /// Draws the noise of all counts of the group. Errors: the source's; noise beyond 2^61.
    pub fn draw<B: Bits + ?Sized>(&mut self, source: &mut B) -> Result<Vec<i64>> {
        let mut noise = vec![0i64; self.n];
        match &mut self.way {
            Way::Nothing => {}
            Way::Compositions { base, minus } => {
                let n = self.n as u64;
                let r = minus.draw(source, |bits| minus_parts(*base, n, bits, u64::MAX))?;
                let r = u64::try_from(r).map_err(|_| Error::Bug("a negative sum of parts"))?;
                let (plus, minus) =
                    (composition::uniform(source, r, n)?, composition::uniform(source, r, n)?);
                for (noise, (plus, minus)) in noise.iter_mut().zip(plus.into_iter().zip(minus)) {
                    *noise = plus.checked_signed_diff(minus).ok_or(Error::Beyond)?;
                }
            }
            Way::Halves { sums, top } => {
                let places: Vec<usize> = (0..self.n).collect();
                sums.split(*top, 0, &places, &mut noise, source)?;
            }
        }
        within(noise)
    }
}

/// The smallest `r` from which on weights do not rise: `(r + n) q <= r + 1`.
fn most_likely(base: Base, n: u64) -> Result<u64> {
    let (m, one) = (u128::from(base.mantissa()), u128::from(Base::ONE));
    let above = u128::from(n).saturating_mul(m).saturating_sub(one);
    let mode = above.checked_next_multiple_of(one.saturating_sub(m)).unwrap_or(u128::MAX);
    let mode = mode.checked_div(one.saturating_sub(m)).and_then(|mode| u64::try_from(mode).ok());
    let limit = 1u64 << 53;
    mode.filter(|mode| *mode <= limit).ok_or(Error::TooLarge {
        what: "noise of a group",
        needed: u64::MAX,
        limit,
    })
}

/// The bases of the ratio of weights, `(r + n) q` and `r + 1`, as integers.
fn ratio_bases(base: Base, n: u64, r: u64) -> (UBig, UBig) {
    let above = (UBig::from(r) + UBig::from(n)) * UBig::from(base.mantissa());
    (above, (UBig::from(r) + UBig::ONE) * UBig::from(Base::ONE))
}

/// Refuses at once what is certainly too long: if the `K`th ratio behind the most likely `r`, to the power `K`, is above
/// `2^-bits`, there are more than `K` entries.
fn refuse_long(base: Base, n: u64, bits: usize) -> Result<()> {
    let (above, below) = ratio_bases(base, n, most_likely(base, n)?.saturating_add(MOST_ENTRIES));
    let least = Span::quotient(&above, &below, 128)?.power(u128::from(MOST_ENTRIES) << 1).low;
    if least > big::one(128usize.saturating_sub(bits)) {
        return Err(too_long(MOST_ENTRIES));
    }
    Ok(())
}

fn too_long(limit: u64) -> Error {
    Error::TooLarge { what: "entries of a table of sums", needed: limit.saturating_add(1), limit }
}

/// Weights of `r`, from the most likely one in both directions, by
/// `w(r + 1) / w(r) = ((r + n) q / (r + 1))²`, which falls.
///
/// With 64 more bits than asked for: a step adds at most one unit of these to the error, so that an entry is off by less than 2. Beyond
/// the last entry weights fall at least as fast as there: geometric series bound both tails.
fn minus_parts(base: Base, n: u64, bits: usize, limit: u64) -> Result<Weights> {
    const GUARD: usize = 64;
    let mode = most_likely(base, n)?;
    let ratio = |r: u64| {
        let (above, below) = ratio_bases(base, n, r);
        (&above * &above, &below * &below)
    };
    let slack = UBig::from(2u64);
    let mut spare = UBig::ZERO;
    let walk = |up: bool, list: &mut Vec<UBig>| -> Result<UBig> {
        let mut weight = big::one(bits.saturating_add(GUARD));
        let mut entry = big::one(bits);
        let mut r = mode;
        loop {
            let (above, below) = match (up, r.checked_sub(1)) {
                (true, _) => ratio(r),
                (false, Some(before)) => {
                    let (above, below) = ratio(before);
                    (below, above)
                }
                (false, None) => return Ok(UBig::ZERO),
            };
            weight = big::floor(&(weight * &above), &below)?;
            let next = &weight >> GUARD;
            if next.is_zero() {
                return big::geometric_tail(&(entry + &slack), &above, &below);
            }
            r = if up { r.checked_add(1).ok_or(Error::Beyond)? } else { r.saturating_sub(1) };
            list.push(next.clone());
            entry = next;
            if list.len() as u64 > limit {
                return Err(too_long(limit));
            }
        }
    };
    let mut low = Vec::new();
    spare += walk(false, &mut low)?;
    let first = mode.saturating_sub(low.len() as u64);
    low.reverse();
    low.push(big::one(bits));
    spare += walk(true, &mut low)?;
    spare += &slack * UBig::from(low.len());
    Ok(Weights { first: i64::try_from(first).map_err(|_| Error::Beyond)?, low, slack, spare })
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// Weights of few bits against those of many.
    #[test]
    fn weights_miss_no_more_than_they_say() {
        const FINE: usize = 200;
        for (sixteenths, n) in [(3, 2), (12, 3), (15, 2), (15, 40)] {
            let base = Base::from_mantissa(sixteenths << 44).unwrap();
            let fine = minus_parts(base, n, FINE, 1 << 20).unwrap();
            for bits in [2, 7, 20, 62] {
                let weights = minus_parts(base, n, bits, 1 << 20).unwrap();
                let mut missed = UBig::ZERO;
                for (value, r) in fine.low.iter().zip(fine.first..) {
                    let place = usize::try_from(r - weights.first).ok();
                    let low = place.and_then(|place| weights.low.get(place).cloned()).unwrap_or_default();
                    let (low, slack) = (low << (FINE - bits), &weights.slack << (FINE - bits));
                    assert!(low <= value + &fine.slack && *value <= &low + slack, "{r}");
                    missed += big::less(value, &low);
                }
                assert!(missed <= &weights.spare << (FINE - bits), "{base:?}, {n}, {bits} bits");
            }
        }
    }

    /// What is beyond the last entry on either side is bounded beside what the entries may miss: few bits of a wide law of two counts,
    /// against `(r + 1)² q^(2r)` in whole numbers.
    #[test]
    fn tails_of_wide_groups_are_bounded() {
        let m = 255u64;
        let base = Base::from_mantissa(m << 40).unwrap();
        let weight = |r: usize, last: usize| {
            (UBig::from(r + 1).pow(2) * UBig::from(m).pow(2 * r)) << (16 * (last - r))
        };
        for bits in [2, 4, 9] {
            let weights = minus_parts(base, 2, bits, 1 << 20).unwrap();
            let first = weights.first as usize;
            let end = first + weights.low.len();
            let mode = most_likely(base, 2).unwrap() as usize;
            let last = end + 600;
            let beyond: UBig = (0..first).chain(end..=last).map(|r| weight(r, last)).sum();
            let bound = &weights.spare - &weights.slack * UBig::from(weights.low.len());
            assert!(beyond << bits <= bound * weight(mode, last), "{bits} bits");
        }
    }
}
