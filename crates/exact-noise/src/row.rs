//! Weights of the sums of a part of a tree: even functions on the whole numbers, from below, with what they may miss.

use crate::base::Base;
use crate::big;
use crate::error::{Error, Result};
use crate::law::Law;
use crate::mixture::Weights;
use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// Bits up to which entries are machine words.
const SHORT: usize = 62;

/// A function `c` on the whole numbers that is even and falls away from 0, up to a factor, as `low <= c <= low + slack`, and
/// `Σ c <= Σ low + spare`. Entries have `bits` bits or one more; `low` is 0 beyond the reach.
///
/// The peak of every row is at 0, so that errors are counted in units of it: fixed point serves, and exponents would cancel.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// From `-reach` to `reach`.
    entries: Entries,
    reach: i64,
    mass: UBig,
    slack: UBig,
    spare: UBig,
}

#[derive(Debug, Clone)]
enum Entries {
    Short(Vec<u64>),
    Long(Vec<UBig>),
}

impl Row {
    /// The weights of a law, `w(0) = 2^bits`.
    ///
    /// With 128 more bits than asked for, by `w(z + 1) = w(z) ρ(z)`, `ρ(z + 1) = ρ(z) κ`: after `z` steps the error of `ρ` is at most `2z`
    /// units of these, and that of `w` at most `z²`; so an entry is off by less than 2. The tail is below the geometric series
    /// with the last ratio.
    pub(crate) fn of_law(law: Law, bits: usize, limit: u64) -> Result<Self> {
        const GUARD: usize = 128;
        let fixed = bits.saturating_add(GUARD);
        let q = UBig::from(law.base().mantissa()) << fixed.saturating_sub(Base::BITS);
        let curve = match law {
            Law::DoubleGeometric(_) => None,
            Law::DiscreteGaussian(_) => Some((&q * &q) >> fixed),
        };
        let slack = UBig::from(2u64);
        let mut ratio = q;
        let mut weight = big::one(fixed);
        let mut half = vec![big::one(bits)];
        loop {
            weight = (weight * &ratio) >> fixed;
            let entry = &weight >> GUARD;
            if entry.is_zero() {
                break;
            }
            half.push(entry);
            if half.len() as u64 > limit {
                return Err(too_wide(half.len() as u64, limit));
            }
            if let Some(curve) = &curve {
                ratio = (ratio * curve) >> fixed;
            }
        }
        let last = half.last().cloned().unwrap_or_default() + &slack;
        let ratio = match curve {
            None => ratio,
            Some(_) => ratio + (UBig::from(half.len()) << 1),
        };
        let tail = big::geometric_tail(&last, &ratio, &big::one(fixed))?;
        let all = UBig::from(half.len()) << 1;
        Self::of_half(&half, &slack * (all + UBig::ONE) + (tail << 1), slack, bits)
    }

    /// The weights of a sum of two: `c(t) = Σ a(s) b(t - s)`.
    pub(crate) fn of_sum(a: &Self, b: &Self, bits: usize, limit: u64) -> Result<Self> {
        let slack = a.slack_of_sum(b);
        let spare = &a.spare * (&b.mass + &b.spare) + &a.mass * &b.spare;
        let reach = a.reach.checked_add(b.reach).ok_or(Error::Beyond)?;
        let entries = (0..=reach).map(|t| a.sum_at(b, t));
        Self::rounded(entries, slack, spare, reach, bits, limit)
    }

    /// The weights of a sum that has a weight of its own: `c(t) = a(t) b(t)`.
    pub(crate) fn of_product(a: &Self, b: &Self, bits: usize, limit: u64) -> Result<Self> {
        let slack = &a.slack * (b.at(0) + &b.slack) + a.at(0) * &b.slack;
        let spare = &a.slack * (&b.mass + &b.spare) + a.at(0) * &b.spare;
        let reach = a.reach.min(b.reach);
        let entries = (0..=reach).map(|t| a.at(t) * b.at(t));
        Self::rounded(entries, slack, spare, reach, bits, limit)
    }

    /// Cut to `bits` bits: entries lose less than a unit each, which is added to what they may miss.
    fn rounded(
        entries: impl Iterator<Item = UBig>,
        slack: UBig,
        spare: UBig,
        reach: i64,
        bits: usize,
        limit: u64,
    ) -> Result<Self> {
        let mut half = Vec::new();
        let mut fewer = None;
        for entry in entries {
            let fewer = *fewer.get_or_insert(entry.bit_len().saturating_sub(bits));
            let entry = entry >> fewer;
            // Entries fall: all others are 0, too.
            if entry.is_zero() {
                break;
            }
            half.push(entry);
            if half.len() as u64 > limit {
                return Err(too_wide(half.len() as u64, limit));
            }
        }
        let fewer = fewer.unwrap_or(0);
        let all = (UBig::from(reach.unsigned_abs()) << 1) + UBig::ONE;
        let spare = big::shifted_up(&spare, fewer) + all;
        Self::of_half(&half, spare, big::shifted_up(&slack, fewer) + UBig::ONE, bits)
    }

    /// Entries from 0 on, mirrored.
    fn of_half(half: &[UBig], spare: UBig, slack: UBig, bits: usize) -> Result<Self> {
        let reach = i64::try_from(half.len()).ok().and_then(|length| length.checked_sub(1));
        let reach = reach.filter(|reach| *reach >= 0).ok_or(Error::Bug("a row without weights"))?;
        let full = || half.iter().skip(1).rev().chain(half);
        let mass = full().sum();
        let entries = if bits <= SHORT {
            Entries::Short(full().map(big::word).collect::<Result<_>>()?)
        } else {
            Entries::Long(full().cloned().collect())
        };
        Ok(Self { entries, reach, mass, slack, spare })
    }

    /// An entry by its place in the list.
    fn entry(&self, place: usize) -> Option<UBig> {
        match &self.entries {
            Entries::Short(entries) => entries.get(place).copied().map(UBig::from),
            Entries::Long(entries) => entries.get(place).cloned(),
        }
    }

    fn at(&self, t: i64) -> UBig {
        let place = self.reach.checked_add(t).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.entry(place)).unwrap_or_default()
    }

    /// At most what a sum of products misses, over any of them: `c1 c2 - low1 low2 = e1 c2 + low1 e2`.
    fn slack_of_sum(&self, other: &Self) -> UBig {
        &self.slack * (&other.mass + &other.spare) + &self.mass * &other.slack
    }

    /// The smallest `s` with both `s` and `t - s` within reach, and where it stands in the first row and, `other` being even,
    /// where `s - t` stands in the second.
    fn overlap(&self, other: &Self, t: i64) -> Option<(i64, usize, usize)> {
        let s = t.checked_sub(other.reach)?.max(self.reach.checked_neg()?);
        let places = (s.checked_add(self.reach)?, s.checked_sub(t)?.checked_add(other.reach)?);
        Some((s, usize::try_from(places.0).ok()?, usize::try_from(places.1).ok()?))
    }

    /// `low1(s) low2(t - s)` from the first `s` on, with the places of both.
    fn products(&self, other: &Self, i: usize, j: usize) -> impl Iterator<Item = UBig> {
        (i..).zip(j..).map_while(|(i, j)| Some(self.entry(i)? * other.entry(j)?))
    }

    /// `Σ low1(s) low2(t - s)`.
    fn sum_at(&self, other: &Self, t: i64) -> UBig {
        let Some((_, i, j)) = self.overlap(other, t) else { return UBig::ZERO };
        match (&self.entries, &other.entries) {
            (Entries::Short(a), Entries::Short(b)) => {
                dot(a.get(i..).unwrap_or_default(), b.get(j..).unwrap_or_default())
            }
            _ => self.products(other, i, j).sum(),
        }
    }

    /// The weights of the first of two whose sum is `t`, `a(s) b(t - s)`.
    pub(crate) fn split(&self, other: &Self, t: i64) -> Weights {
        let overlap = self.overlap(other, t);
        let low = overlap.map(|(_, i, j)| self.products(other, i, j).collect()).unwrap_or_default();
        let slack = &self.slack * (other.at(0) + &other.slack) + self.at(0) * &other.slack;
        Weights { first: overlap.map_or(0, |(first, ..)| first), low, slack, spare: self.slack_of_sum(other) }
    }

    /// The weights as they are.
    pub(crate) fn weights(&self) -> Weights {
        let low = (0..).map_while(|place| self.entry(place)).collect();
        let (slack, spare) = (self.slack.clone(), self.spare.clone());
        Weights { first: self.reach.saturating_neg(), low, slack, spare }
    }
}

/// `Σ a b` of numbers of at most 2^62, exactly: eight products fit into 128 bits.
fn dot(a: &[u64], b: &[u64]) -> UBig {
    let (mut low, mut high) = (0u128, 0u128);
    let length = a.len().min(b.len());
    let (a, b) = (a.get(..length).unwrap_or_default(), b.get(..length).unwrap_or_default());
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        let products = a.iter().zip(b).map(|(a, b)| u128::from(*a).wrapping_mul(u128::from(*b)));
        let sum = products.fold(0u128, u128::wrapping_add);
        low = low.wrapping_add(sum & u128::from(u64::MAX));
        high = high.wrapping_add(sum >> 64);
    }
    UBig::from(low) + (UBig::from(high) << 64)
}

fn too_wide(needed: u64, limit: u64) -> Error {
    Error::TooLarge { what: "values on each side of 0 in a table of sums", needed, limit }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// Places of the exact values.
    const PLACES: usize = 800;
    /// How far they reach.
    const FAR: i64 = 200;

    /// A row beside the exact values of its function, in units of `2^-800`, of which an entry is worth `2^-units`.
    struct Both {
        row: Row,
        exact: Vec<UBig>,
        units: i64,
        /// Whether it has more than a few bits, so that bounds are near.
        is_fine: bool,
    }

    fn law(law: Law, bits: usize) -> Both {
        let q = UBig::from(law.base().mantissa() >> 44);
        let weight = |z: i64| {
            let power = match law {
                Law::DoubleGeometric(_) => z.unsigned_abs(),
                Law::DiscreteGaussian(_) => z.unsigned_abs().pow(2),
            } as usize;
            if 4 * power > PLACES { UBig::ZERO } else { q.pow(power) << (PLACES - 4 * power) }
        };
        Both {
            row: Row::of_law(law, bits, 1000).unwrap(),
            exact: (-FAR..=FAR).map(weight).collect(),
            units: bits as i64,
            is_fine: bits >= 6,
        }
    }

    fn at(values: &[UBig], z: i64) -> UBig {
        usize::try_from(z + FAR).ok().and_then(|place| values.get(place).cloned()).unwrap_or_default()
    }

    impl Both {
        fn sum(&self, other: &Self, bits: usize) -> Self {
            let fewer = self.row.sum_at(&other.row, 0).bit_len().saturating_sub(bits);
            let exact = |t: i64| {
                (-FAR..=FAR).map(|s| at(&self.exact, s) * at(&other.exact, t - s)).sum::<UBig>() >> PLACES
            };
            let half: Vec<UBig> = (0..=FAR).map(exact).collect();
            let row = Row::of_sum(&self.row, &other.row, bits, 1000).unwrap();
            Self {
                row,
                exact: half.iter().skip(1).rev().chain(&half).cloned().collect(),
                units: self.units + other.units - fewer as i64,
                is_fine: self.is_fine,
            }
            .check()
        }

        fn product(&self, other: &Self, bits: usize) -> Self {
            let fewer = (self.row.at(0) * other.row.at(0)).bit_len().saturating_sub(bits);
            let exact = self.exact.iter().zip(&other.exact).map(|(a, b)| (a * b) >> PLACES).collect();
            let row = Row::of_product(&self.row, &other.row, bits, 1000).unwrap();
            Self { row, exact, units: self.units + other.units - fewer as i64, is_fine: self.is_fine }.check()
        }

        /// `low <= c <= low + slack`, `Σ c <= Σ low + spare`, and the slack is not far off.
        fn check(self) -> Self {
            let mut total = UBig::ZERO;
            let mut missed = UBig::ZERO;
            for z in -FAR..=FAR {
                let exact = at(&self.exact, z);
                let exact = if self.units < 0 {
                    exact >> (-self.units) as usize
                } else {
                    exact << self.units as usize
                };
                let low = self.row.at(z) << PLACES;
                // Exact values are cut at 2^-800.
                assert!(low <= &exact + UBig::ONE, "an entry above the truth at {z}");
                missed = missed.max(big::less(&exact, &low));
                total += exact;
            }
            assert!(missed <= &self.row.slack << PLACES, "an entry misses more than it says");
            assert!(total <= (&self.row.mass + &self.row.spare) << PLACES, "a row misses more than it says");
            if self.is_fine {
                let most = (missed * UBig::from(200u64)) + (UBig::from(2u64) << PLACES);
                assert!(&self.row.slack << PLACES <= most, "a slack without need");
            }
            self
        }
    }

    /// Against exact integers: laws, sums and products of sums, of few bits and of many.
    #[test]
    fn rows_miss_no_more_than_they_say() {
        let base = |sixteenths: u64| Base::from_mantissa(sixteenths << 44).unwrap();
        for bits in [2, 6, 14, 62, 70] {
            let wide = law(Law::DoubleGeometric(base(11)), bits).check();
            let narrow = law(Law::DoubleGeometric(base(5)), bits).check();
            let normal = law(Law::DiscreteGaussian(base(8)), bits).check();
            let pair = wide.sum(&wide, bits);
            let four = pair.sum(&pair, bits);
            let mixed = narrow.sum(&normal, bits).sum(&narrow, bits);
            let weighed = normal.product(&four, bits);
            weighed.sum(&mixed, bits).product(&wide, bits).sum(&weighed, bits);
        }
    }

    /// Rows that miss nothing: what rounding adds, and what a split may miss.
    #[test]
    fn rounding_and_splits_miss_no_more_than_they_say() {
        for sixteenths in [5, 11, 13] {
            let fine = law(Law::DoubleGeometric(Base::from_mantissa(sixteenths << 44).unwrap()), 20).row;
            let low = (-FAR..=FAR).map(|z| fine.at(z) << (PLACES - 20)).collect();
            let row = Row { slack: UBig::ZERO, spare: UBig::ZERO, ..fine };
            let sharp = Both { row, exact: low, units: 20, is_fine: true };
            let sums = [4, 8, 16].map(|bits| sharp.sum(&sharp, bits));
            for (a, b) in sums.iter().zip(sums.iter().skip(1)) {
                for t in [0, 1, 5, 17] {
                    let weights = a.row.split(&b.row, t);
                    let low = |s: i64| {
                        let place = usize::try_from(s - weights.first).ok();
                        place.and_then(|place| weights.low.get(place).cloned()).unwrap_or_default()
                    };
                    let (mut all, mut missed) = (UBig::ZERO, UBig::ZERO);
                    for s in -FAR..=FAR {
                        let value = at(&a.exact, s) * at(&b.exact, t - s);
                        let value = (value << (a.units + b.units + 40) as usize) >> (2 * PLACES);
                        let low = low(s) << 40;
                        assert!(low <= &value + UBig::ONE && value <= &low + (&weights.slack << 40));
                        missed += big::less(&value, &low);
                        all += value;
                    }
                    assert!(missed <= &weights.spare << 40 && !missed.is_zero(), "{missed} of {all}");
                }
            }
        }
    }

    /// What is beyond the reach, by long sums of whole numbers, is bounded beside what the entries may miss (`slack` for each, and for one
    /// more on each side). Of wide laws rows of few bits leave most beyond, those of 0 bits nearly all; of narrow ones the last entry may
    /// be far from 0.
    #[test]
    fn tails_are_bounded_beside_the_entries() {
        for (m, bits) in [255u64, 170, 63, 20].into_iter().flat_map(|m| (0..15).map(move |bits| (m, bits))) {
            let base = Base::from_mantissa(m << 40).unwrap();
            // Terms of the sum: less than 2^-16 of it is left out.
            for (law, terms, power) in
                [(Law::DoubleGeometric(base), 3000, 1), (Law::DiscreteGaussian(base), 60, 2)]
            {
                let row = Row::of_law(law, bits, 1 << 16).unwrap();
                let sizes = (row.reach + 1..row.reach + terms).map(|z| z.unsigned_abs() as usize);
                let exponents: Vec<usize> = sizes.map(|size| size.pow(power)).collect();
                // In units of 2^(-8 last), by Horner's rule from the last one on.
                let last = exponents[exponents.len() - 1];
                let mut sum = UBig::ONE;
                for pair in exponents.windows(2).rev() {
                    sum = (UBig::ONE << (8 * (last - pair[0]))) + sum * UBig::from(m).pow(pair[1] - pair[0]);
                }
                sum *= UBig::from(m).pow(exponents[0]);
                let entries = UBig::from(2 * row.reach.unsigned_abs() + 3);
                let bound = &row.spare - &row.slack * entries;
                assert!(sum << (bits + 1) <= bound << (8 * last), "{law:?}, {bits} bits");
            }
        }
    }

    /// A row of equal entries `low` up to `reach`, of a function that is `miss` above it as far as `far`: it misses just what it says.
    fn flat(low: u64, reach: usize, miss: u64, far: i64) -> (Row, impl Fn(i64) -> UBig) {
        let spare = UBig::from(miss) * UBig::from(2 * far.unsigned_abs() + 1);
        let row = Row::of_half(&vec![UBig::from(low); reach + 1], spare, UBig::from(miss), 40).unwrap();
        let entries = row.clone();
        let exact = move |z: i64| entries.at(z) + UBig::from(if z.abs() <= far { miss } else { 0 });
        (row, exact)
    }

    /// What sums, products and splits say that they miss is no more than they miss: an entry of the slack and two for the ends of the
    /// range are rounding's.
    #[test]
    fn sums_products_and_splits_miss_just_what_they_say() {
        const FAR: i64 = 9;
        let places = || -2 * FAR..=2 * FAR;
        // Products miss as much as they say where one of both reaches as far as the other's function.
        for (reach_a, reach_b) in [(9, 3), (3, 9)] {
            let (a, exact_a) = flat(1000, reach_a, 70, FAR);
            let (b, exact_b) = flat(900, reach_b, 50, FAR);
            let sum = |t: i64| places().map(|s| exact_a(s) * exact_b(t - s)).sum::<UBig>();
            let product = |t: i64| exact_a(t) * exact_b(t);
            let row = Row::of_sum(&a, &b, 40, 1000).unwrap();
            let missed: Vec<UBig> = places().map(|t| sum(t) - row.at(t)).collect();
            let all = UBig::from(2 * (a.reach + b.reach).unsigned_abs() + 1);
            assert_eq!(row.spare, missed.iter().sum::<UBig>() + all, "a sum");
            assert_eq!(row.slack, missed.iter().max().unwrap() + UBig::ONE, "an entry of a sum");
            let row = Row::of_product(&a, &b, 40, 1000).unwrap();
            let missed: Vec<UBig> = places().map(|t| product(t) - row.at(t)).collect();
            let all = UBig::from(2 * a.reach.min(b.reach).unsigned_abs() + 1);
            let total = missed.iter().sum::<UBig>() + all;
            assert!(if reach_a == 9 { row.spare == total } else { row.spare >= total }, "a product");
            assert_eq!(row.slack, missed.iter().max().unwrap() + UBig::ONE, "an entry of a product");
            let weights = a.split(&b, 0);
            let low = |s: i64| {
                let place = usize::try_from(s - weights.first).ok();
                place.and_then(|place| weights.low.get(place).cloned()).unwrap_or_default()
            };
            let missed: Vec<UBig> = places().map(|s| exact_a(s) * exact_b(-s) - low(s)).collect();
            assert_eq!(weights.spare, missed.iter().sum(), "a split");
            assert_eq!(&weights.slack, missed.iter().max().unwrap(), "an entry of a split");
        }
    }

    /// Entries that a cut takes away whole are missed, too: of 1,024 and 400 times 7 on each side, of which 4 bits leave the first.
    #[test]
    fn entries_that_are_cut_away_are_missed() {
        let mut half = vec![UBig::from(7u64); 401];
        half[0] = UBig::from(1024u64);
        let row = |half: &[UBig]| Row::of_half(half, UBig::ZERO, UBig::ZERO, 40).unwrap();
        let cut = Row::of_product(&row(&half), &row(&vec![UBig::ONE; 401]), 4, 1000).unwrap();
        assert_eq!((cut.reach, &cut.mass), (0, &UBig::from(8u64)));
        // A unit is 128.
        assert!((&cut.mass + &cut.spare) * UBig::from(128u64) >= UBig::from(1024u64 + 2 * 400 * 7));
    }
}
