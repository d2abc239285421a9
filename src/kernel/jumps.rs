//! Double geometric jumps, alone and in coupled pairs.

use crate::error::{Error, Result};
use crate::rng::{Rng, open01};

/// Double geometric jumps, `P(e) ∝ a^|e|`, by inversion in a table, cut symmetrically where less than 1e-18 lies
/// beyond.
///
/// `P(|e|)` is a multiple of 2^-63 within one unit of its value in f64, the sign exactly even. A jump takes 12 bits:
/// one for the sign, 11 that choose an entry of a table; where those do not decide (about 2 % of draws) 52 more
/// do.
#[derive(Debug)]
pub(super) struct Jumps {
    /// By the 12 bits, the sign lowest: e, or [`UNDECIDED`].
    first: Box<[i32; 2 * ENTRIES as usize]>,
    /// `P(|e| <= k)` in units of 2^-63.
    cumulative: Vec<u64>,
    /// a^0, a^1, … up to twice the reach.
    powers: Vec<f64>,
    /// The largest |e|.
    pub reach: i32,
    /// `1 / -ln a`.
    pub scale: f64,
    /// By distance: what is left of the law of a jump where its overlap with the other's is taken away (at distance 0
    /// nothing is; its table is never used). Empty if the reach is too large.
    residuals: Vec<Alias>,
}

/// Bits of a jump, and jumps that one word holds.
const JUMP_BITS: u32 = 12;
const JUMPS_PER_WORD: usize = 5;
const ENTRIES: u64 = 1 << (JUMP_BITS - 1);
const UNDECIDED: i32 = i32::MIN;
/// Distances with a table of their residual, and the largest reach for which tables are made.
const TABLED: i32 = 24;
const TABLED_REACH: usize = 512;

impl Jumps {
    /// Errors: `a` outside (0, 0.9999].
    pub fn new(a: f64) -> Result<Self> {
        if !(a > 0.0 && a <= 0.9999) {
            return Err(Error::parameter("a", a, "a number in (0, 0.9999]"));
        }
        let rate = -libm::log(a);
        let reach = libm::ceil(42.0 / rate).max(1.0) as usize;
        let weight = |k: usize| if k == 0 { 1.0 } else { 2.0 * libm::exp(-rate * k as f64) };
        let total: f64 = (0..=reach).rev().map(weight).sum();
        let unit = (1u64 << 63) as f64;
        let mut share: Vec<u64> = (0..=reach).map(|k| (weight(k) / total * unit) as u64).collect();
        share[0] = (1u64 << 63) - share[1..].iter().sum::<u64>();
        let mut sum = 0;
        let cumulative: Vec<u64> = share
            .iter()
            .map(|p| {
                sum += p;
                sum
            })
            .collect();
        let width = (1u64 << 63) / ENTRIES;
        let at = |position: u64| cumulative.partition_point(|&c| c <= position) as i32;
        let first = Box::new(std::array::from_fn(|entry| {
            let start = entry as u64 / 2 * width;
            let (low, high) = (at(start), at(start + (width - 1)));
            if low == high { signed(low, entry as u64) } else { UNDECIDED }
        }));
        let powers = (0..=2 * reach).map(|k| libm::exp(-rate * k as f64)).collect();
        let mut jumps =
            Self { first, cumulative, powers, reach: reach as i32, scale: 1.0 / rate, residuals: Vec::new() };
        if reach <= TABLED_REACH {
            jumps.residuals = (0..=TABLED).map(|apart| jumps.residual(apart)).collect();
        }
        Ok(jumps)
    }

    /// `P(e)` as the table has it.
    pub fn p(&self, e: i32) -> f64 {
        let k = e.unsigned_abs() as usize;
        let Some(&high) = self.cumulative.get(k) else { return 0.0 };
        let p = (high - if k == 0 { 0 } else { self.cumulative[k - 1] }) as f64 / (1u64 << 63) as f64;
        if e == 0 { p } else { 0.5 * p }
    }

    /// The law `∝ max(0, η(e) - η(e - apart))`, for `apart` > 0; a single value for 0.
    fn residual(&self, apart: i32) -> Alias {
        if apart == 0 {
            return Alias::new(0, std::iter::once(1.0));
        }
        Alias::new(-self.reach, (-self.reach..=apart / 2).map(|e| (self.p(e) - self.p(e - apart)).max(0.0)))
    }

    /// Independent jumps.
    #[inline]
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, jumps: &mut [i32]) {
        let mut words = jumps.chunks_exact_mut(JUMPS_PER_WORD);
        for some in &mut words {
            self.read(rng.next_u64(), rng, some);
        }
        let rest = words.into_remainder();
        if !rest.is_empty() {
            self.read(rng.next_u64(), rng, rest);
        }
    }

    /// Jumps from the bits of one word.
    #[inline]
    fn read<R: Rng + ?Sized>(&self, mut word: u64, rng: &mut R, jumps: &mut [i32]) {
        for jump in jumps {
            *jump = self.first[(word & (2 * ENTRIES - 1)) as usize];
            if *jump == UNDECIDED {
                *jump = self.decide(word, rng.next_u64() >> JUMP_BITS);
            }
            word >>= JUMP_BITS;
        }
    }

    /// The jump from the 12 bits and 52 more.
    #[cold]
    fn decide(&self, word: u64, more: u64) -> i32 {
        let position = (word >> 1 & (ENTRIES - 1)) << (64 - JUMP_BITS) | more;
        signed(self.cumulative.partition_point(|&c| c <= position) as i32, word)
    }

    /// A jump, and an independent uniform number in [0, 1) of 52 bits.
    #[inline]
    fn with_uniform<R: Rng + ?Sized>(&self, rng: &mut R) -> (i32, f64) {
        let word = rng.next_u64();
        let mut jump = self.first[(word & (2 * ENTRIES - 1)) as usize];
        let mut rest = word >> JUMP_BITS;
        if jump == UNDECIDED {
            jump = self.decide(word, rest);
            rest = rng.next_u64() >> JUMP_BITS;
        }
        (jump, rest as f64 * (1.0 / (1u64 << 52) as f64))
    }

    /// Jumps `(e, e')` of two coordinates at distance `apart` = v - w, each with the law of a jump, with
    /// `v + e = w + e'` as often as possible: the maximal coupling.
    #[inline]
    pub fn pair<R: Rng + ?Sized>(&self, rng: &mut R, apart: i64) -> (i32, i32) {
        let (e, u) = self.with_uniform(rng);
        let Some(residual) = self.residuals.get(apart.unsigned_abs() as usize) else {
            return self.distant_pair(rng, (e, u), apart);
        };
        let apart = apart as i32;
        // Both ways are worked out and one is taken, without a branch that no processor could predict.
        let other = apart.signum() * residual.sample(rng);
        let joint = e + apart;
        let further = (joint.abs() - e.abs()).max(0);
        let keep = if joint.abs() <= self.reach { self.powers[further as usize] } else { 0.0 };
        (e, if u < keep { joint } else { other })
    }

    /// The same where there is no table of the residual.
    #[cold]
    fn distant_pair<R: Rng + ?Sized>(&self, rng: &mut R, (e, u): (i32, f64), apart: i64) -> (i32, i32) {
        if apart == 0 {
            return (e, e);
        }
        // Further apart than two jumps reach nothing is shared.
        let far = 3 * i64::from(self.reach);
        let apart = apart.clamp(-far, far) as i32;
        let joint = e + apart;
        let further = (joint.abs() - e.abs()).max(0);
        if joint.abs() <= self.reach && u < self.powers[further as usize] {
            return (e, joint);
        }
        (e, self.reject(rng, apart))
    }

    /// From the residual by rejection: a jump that the other law would not have kept.
    fn reject<R: Rng + ?Sized>(&self, rng: &mut R, apart: i32) -> i32 {
        loop {
            let other = self.with_uniform(rng).0;
            let there = other - apart;
            let further = there.abs() - other.abs();
            let kept =
                there.abs() <= self.reach && (further <= 0 || open01(rng) < self.powers[further as usize]);
            if !kept {
                return other;
            }
        }
    }
}

/// The size with the sign that the lowest bit of the word says.
fn signed(size: i32, word: u64) -> i32 {
    if word & 1 == 1 { -size } else { size }
}

/// Alias table: Walker (1977), made by Vose (1991).
#[derive(Debug)]
struct Alias {
    /// A power of two of columns: the share of the column's own value, in units of 2^-(63 - bits), its value and the
    /// other one.
    columns: Vec<(u64, i32, i32)>,
    shift: u32,
}

impl Alias {
    /// Of weights on `lo, lo + 1, …`, to 2^-63 of their sum.
    fn new(lo: i32, weights: impl Iterator<Item = f64>) -> Self {
        let weights: Vec<f64> = weights.collect();
        let size = weights.len().next_power_of_two().max(2);
        let bits = size.trailing_zeros();
        let total: f64 = weights.iter().sum();
        let mut share: Vec<u64> =
            weights.iter().map(|w| (w / total * (1u64 << 62) as f64) as u64 * 2).collect();
        share.resize(size, 0);
        // What rounding left over goes to the largest.
        let largest = (0..size).max_by_key(|&k| share[k]).unwrap_or(0);
        share[largest] = share[largest].wrapping_add((1u64 << 63).wrapping_sub(share.iter().sum()));
        let full = 1u64 << (63 - bits);
        let mut columns: Vec<(u64, i32, i32)> = (0..size as i32).map(|k| (full, lo + k, lo + k)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..size).partition(|&k| share[k] < full);
        while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
            columns[low].0 = share[low];
            columns[low].2 = lo + high as i32;
            share[high] -= full - share[low];
            if share[high] < full {
                large.pop();
                small.push(high);
            }
        }
        Self { columns, shift: 63 - bits }
    }

    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i32 {
        let bits = rng.next_u64() >> 1;
        let (share, own, other) = self.columns[(bits >> self.shift) as usize];
        if bits & ((1 << self.shift) - 1) < share { own } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::HashMap;

    #[test]
    fn table_is_the_double_geometric() {
        for a in [0.05, libm::exp(-2.5), libm::exp(-1.0), 0.9] {
            let jumps = Jumps::new(a).unwrap();
            let norm = (1.0 - a) / (1.0 + a);
            let mut total = 0.0;
            for e in -jumps.reach..=jumps.reach {
                let want = norm * libm::pow(a, e.unsigned_abs() as f64);
                assert!((jumps.p(e) - want).abs() < 2e-16, "{a} {e}: {} {want}", jumps.p(e));
                total += jumps.p(e);
            }
            assert!((total - 1.0).abs() < 1e-15);
        }
        assert!(Jumps::new(1.0).is_err() && Jumps::new(0.0).is_err() && Jumps::new(f64::NAN).is_err());
    }

    /// Batches and single draws, decided by 11 bits or by all, have the table's law; the uniform that comes with a
    /// single draw is independent of it.
    #[test]
    fn jumps_have_their_law() {
        let jumps = Jumps::new(libm::exp(-1.0)).unwrap();
        let mut rng = test_stream(5);
        let mut some = [0i32; 9];
        let mut batch = HashMap::<i32, u64>::new();
        let mut single = HashMap::<(i32, bool), u64>::new();
        let draws = 40_000;
        for _ in 0..draws {
            jumps.fill(&mut rng, &mut some);
            some.iter().for_each(|&e| *batch.entry(e).or_default() += 1);
            let (e, u) = jumps.with_uniform(&mut rng);
            *single.entry((e, u < 0.5)).or_default() += 1;
        }
        let count = |e| batch.get(&e).copied().unwrap_or(0);
        assert_frequencies((-20..=20).map(|e| (count(e), jumps.p(e))), 9 * draws);
        let count = |e, low| single.get(&(e, low)).copied().unwrap_or(0);
        let both = (-20..=20).flat_map(|e| [(e, true), (e, false)]);
        assert_frequencies(both.map(|(e, low)| (count(e, low), 0.5 * jumps.p(e))), draws);
    }

    /// Both jumps of a coupled pair have the law of one, and they lead to the same place as often as can be; by the
    /// tables of the residual and by rejection, which is their plain reference.
    #[test]
    fn pairs_have_their_marginals() {
        let tabled = Jumps::new(libm::exp(-1.0)).unwrap();
        let mut rejecting = Jumps::new(libm::exp(-1.0)).unwrap();
        rejecting.residuals.clear();
        let mut rng = test_stream(4);
        for jumps in [&tabled, &rejecting] {
            for apart in [0i64, 1, -3, 24, 40, 100, -1_000_000_000_000] {
                let draws = 100_000;
                let mut seen = HashMap::<(u8, i32), u64>::new();
                let mut together = 0u64;
                for _ in 0..draws {
                    let (e, other) = jumps.pair(&mut rng, apart);
                    *seen.entry((0, e)).or_default() += 1;
                    *seen.entry((1, other)).or_default() += 1;
                    together += u64::from(i64::from(e) + apart == i64::from(other));
                }
                let count = |which, e| seen.get(&(which, e)).copied().unwrap_or(0);
                for which in [0, 1] {
                    assert_frequencies((-20..=20).map(|e| (count(which, e), jumps.p(e))), draws);
                }
                let near = apart.clamp(-1000, 1000) as i32;
                let overlap: f64 = (-200..=200).map(|e| jumps.p(e).min(jumps.p(e + near))).sum();
                if overlap < 1.0 - 1e-9 && overlap > 1e-4 {
                    assert_frequencies([(together, overlap), (draws - together, 1.0 - overlap)], draws);
                } else if apart == 0 {
                    assert_eq!(together, draws);
                } else {
                    // At most 10 expected.
                    assert!(together < 60, "{together}");
                }
            }
        }
    }
}
