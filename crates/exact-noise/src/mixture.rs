//! One of infinitely many outcomes, exactly: a dyadic table, and the rest of the law behind it.

use crate::big;
use crate::bits::{Bits, many, some};
use crate::error::Result;
use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// Weights of outcomes, all whole numbers `k`, from below and from above.
///
/// The weight of `k` is between `low(k)` and `low(k) + slack`, where `low` is 0 outside the list; all weights together are between `Σ low`
/// and `Σ low + spare`. Only the ratios of weights matter.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// The outcome of the first in the list.
    pub(crate) first: i64,
    pub(crate) low: Vec<UBig>,
    pub(crate) slack: UBig,
    pub(crate) spare: UBig,
}

impl Weights {
    fn low(&self, outcome: i64) -> Option<&UBig> {
        self.low.get(usize::try_from(outcome.checked_sub(self.first)?).ok()?)
    }
}

/// A law on whole numbers, as `Σ n_k δ_k / 2^b` and a rest.
///
/// `n_k = ⌊2^b p_k⌋` or less, from weights of `b` bits. Of `b` random bits those below `Σ n_k` give an outcome; the others, a fraction
/// of about `2^-b` of the number of outcomes, draw from `p_k - n_k / 2^b`, for which weights are computed with more bits and on
/// more outcomes until they decide. So the law is `p` itself, tails included.
#[derive(Debug, Clone)]
pub(crate) struct Mixture {
    bits: u32,
    /// The outcome of the first entry.
    first: i64,
    /// `n_first + … + n_k`.
    ends: Vec<u64>,
    /// From where the rest is looked through.
    centre: i64,
}

impl Mixture {
    /// `bits`: 2 to 62; `centre`: any outcome, best a likely one.
    pub(crate) fn new(weights: &Weights, bits: u32, centre: i64) -> Result<Self> {
        let mut total: UBig = weights.spare.clone();
        for low in &weights.low {
            total += low;
        }
        // n_k = ⌊2^b low' / total'⌋ with both cut to 64 bits, low' down and total' up.
        let fewer = total.bit_len().saturating_sub(63);
        let total = big::double_word(&big::shifted_up(&total, fewer))?;
        let mut mixture = Self { bits, first: weights.first, ends: Vec::new(), centre };
        let mut end = 0u64;
        for low in &weights.low {
            let low = big::double_word(&(low >> fewer))?;
            let share = low.wrapping_shl(bits).checked_div(total).unwrap_or(0) as u64;
            if share == 0 && end == 0 {
                mixture.first = mixture.first.saturating_add(1);
                continue;
            }
            end = end.saturating_add(share);
            mixture.ends.push(end);
        }
        let used = mixture.ends.partition_point(|other| *other < end);
        mixture.ends.truncate(used.saturating_add(1));
        mixture.ends.shrink_to_fit();
        Ok(mixture)
    }

    /// Entries of the table.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Draws once. `weights`: the weights with any number of bits; their ratios must tend to those of the law.
    #[inline]
    pub(crate) fn draw<B: Bits + ?Sized>(
        &self,
        source: &mut B,
        weights: impl Fn(usize) -> Result<Weights>,
    ) -> Result<i64> {
        let u = some(source, self.bits)?;
        let place = self.ends.partition_point(|end| *end <= u);
        if place < self.ends.len() {
            return Ok(self.first.saturating_add_unsigned(place as u64));
        }
        self.rest(source, weights)
    }

    /// `2^b - Σ n_k`.
    pub(crate) fn left(&self) -> u64 {
        1u64.wrapping_shl(self.bits).saturating_sub(self.ends.last().copied().unwrap_or(0))
    }

    /// `n_k`.
    fn share(&self, outcome: i64) -> u64 {
        let place = outcome.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let Some((place, end)) = place.and_then(|place| Some((place, self.ends.get(place)?))) else {
            return 0;
        };
        let before = place.checked_sub(1).and_then(|place| self.ends.get(place));
        end.saturating_sub(before.copied().unwrap_or(0))
    }

    /// Draws from the rest: the outcome `k` in which `U R` falls, where `R = 1 - Σ n_k / 2^b` and outcomes follow each other from the
    /// centre outwards with lengths `p_k - n_k / 2^b`. Bits of `U` and of the lengths are doubled until they decide.
    #[cold]
    fn rest<B: Bits + ?Sized>(
        &self,
        source: &mut B,
        weights: impl Fn(usize) -> Result<Weights>,
    ) -> Result<i64> {
        let rest = self.left();
        let mut bits = self.bits as usize;
        let mut u = many(source, bits)?;
        loop {
            u = (u << bits) + many(source, bits)?;
            bits = bits.saturating_mul(2);
            // In units of 2^-(b + bits), U R is between these.
            let from = &u * UBig::from(rest);
            let to = &from + UBig::from(rest);
            if let Some(outcome) = self.find(&weights(bits)?, bits, &from, &to)? {
                return Ok(outcome);
            }
        }
    }

    /// The outcome whose part has all from `from` to `to` in it; `None` if these weights do not tell.
    fn find(&self, weights: &Weights, bits: usize, from: &UBig, to: &UBig) -> Result<Option<i64>> {
        let all_bits = bits.saturating_add(self.bits as usize);
        let least: UBig = weights.low.iter().sum();
        let most = &least + &weights.spare;
        if least.is_zero() {
            return Ok(None);
        }
        // The end of the parts so far, from below and from above.
        let (mut low_end, mut high_end) = (UBig::ZERO, UBig::ZERO);
        let last = weights.first.saturating_add_unsigned(weights.low.len() as u64);
        let far = self.centre.abs_diff(weights.first).max(self.centre.abs_diff(last));
        let outwards = (0..=far).flat_map(|distance| {
            let above = self.centre.checked_add_unsigned(distance);
            let below = self.centre.checked_sub_unsigned(distance).filter(|_| distance > 0);
            above.into_iter().chain(below)
        });
        for outcome in outwards {
            let low = weights.low(outcome).cloned().unwrap_or_default();
            let high = &low + &weights.slack;
            let share = UBig::from(self.share(outcome)) << bits;
            let begins_before = high_end <= *from;
            low_end += big::less(&big::floor(&(low << all_bits), &most)?, &share);
            high_end += big::less(&big::ceil(&(high << all_bits), &least)?, &share);
            if low_end >= *to {
                return Ok(begins_before.then_some(outcome));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::base::Base;
    use crate::law::Law;
    use crate::row::Row;

    /// For every `U` of some bits: what is decided is right, by the exact parts of `P(k) = (3/4)^|k| / 7`.
    #[test]
    fn the_rest_decides_rightly() {
        const PLACES: usize = 200;
        let law = Law::DoubleGeometric(Base::from_mantissa(3 << 46).unwrap());
        let (mut decided, mut all) = (0, 0);
        for (first, bits) in [(2, 4), (3, 6), (4, 8), (6, 12), (3, 12)] {
            let table =
                Mixture::new(&Row::of_law(law, first, 1000).unwrap().weights(), first as u32, 0).unwrap();
            let weights = Row::of_law(law, bits, 1000).unwrap().weights();
            // Ends of the parts, from the centre outwards, in units of 1/(7 4^200 2^first).
            let mut ends = vec![(0i64, UBig::ZERO)];
            for k in (0..100i64).flat_map(|k| [k, -k].into_iter().take(if k == 0 { 1 } else { 2 })) {
                let size = k.unsigned_abs() as usize;
                let p = UBig::from(3u64).pow(size) << (2 * (PLACES - size) + first);
                let share = (UBig::from(table.share(k)) * UBig::from(7u64)) << (2 * PLACES);
                assert!(share <= p, "a share above its probability");
                let end = &ends.last().unwrap().1 + (p - share);
                ends.push((k, end));
            }
            for u in 0..1u64 << bits {
                let (from, to) = (UBig::from(u * table.left()), UBig::from((u + 1) * table.left()));
                all += 1;
                let Some(k) = table.find(&weights, bits, &from, &to).unwrap() else { continue };
                decided += 1;
                let place = ends.iter().skip(1).position(|(outcome, _)| *outcome == k).unwrap();
                let units = |n: &UBig| (n * UBig::from(7u64)) << (2 * PLACES);
                let part = ends.iter().skip(place).take(2).map(|(_, end)| end << bits).collect::<Vec<_>>();
                assert!(
                    part.first().unwrap() <= &units(&from) && &units(&to) <= part.last().unwrap(),
                    "{k} of {u}"
                );
            }
        }
        println!("{decided} of {all} decided");
        assert!(decided * 2 > all);
    }

    /// For all weights within the bounds, what is decided is right: outcomes from -2 to 2, each with its slack or without.
    #[test]
    fn what_is_decided_holds_for_all_weights_within_the_bounds() {
        const OUTWARDS: [i64; 5] = [0, 1, -1, 2, -2];
        let number = |n: u64| UBig::from(n);
        let mut decided = 0;
        for low in [[1u64, 1, 2], [5, 1, 1], [9, 8, 7], [3, 0, 9]] {
            let list = low.map(number).to_vec();
            let weights = Weights { first: 0, low: list, slack: UBig::ONE, spare: number(2) };
            let low = |k: i64| usize::try_from(k).ok().and_then(|k| low.get(k).copied()).unwrap_or(0);
            let table = Mixture::new(&weights, 3, 0).unwrap();
            for bits in [3usize, 5] {
                for u in 0..1u64 << bits {
                    let (from, to) = (u * table.left(), (u + 1) * table.left());
                    let Some(found) = table.find(&weights, bits, &number(from), &number(to)).unwrap() else {
                        continue;
                    };
                    decided += 1;
                    for extra in (0..32u64).filter(|extra| extra.count_ones() <= 2) {
                        let weight = |i: usize| low(OUTWARDS[i]) + (extra >> i & 1);
                        let all: u64 = (0..5).map(weight).sum();
                        let place = OUTWARDS.iter().position(|k| *k == found).unwrap();
                        let end = |places: usize| -> u64 {
                            (0..places).map(|i| (weight(i) << 3) - table.share(OUTWARDS[i]) * all).sum()
                        };
                        let (begin, end) = (end(place) << bits, end(place + 1) << bits);
                        assert!(begin <= from * all && to * all <= end, "{found} of {u}, {extra:b}");
                    }
                }
            }
        }
        assert!(decided > 20, "{decided}");
    }
}
