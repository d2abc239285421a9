//! Double geometric jumps, alone and in coupled pairs.

use crate::error::{Error, Result};
use crate::rng::{Alias, Packed, Rng, open01};

/// Double geometric jumps, `P(e) ∝ a^|e|`, drawn by [`Packed`], cut symmetrically where less than 1e-18 lies beyond.
#[derive(Debug)]
pub(super) struct Jumps {
    law: Packed,
    /// a^0, a^1, … up to twice the reach.
    powers: Vec<f64>,
    /// The largest |e|.
    pub reach: i32,
    /// `1 / -ln a`.
    pub scale: f64,
    /// By distance: what is left of the law of a jump where its overlap with the other's is taken away (at distance 0
    /// nothing is; its table is never used). Empty if the reach is too large.
    residuals: Vec<Residual>,
}

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
        let law = Packed::new(&(0..=reach).map(weight).collect::<Vec<_>>());
        let powers = (0..=2 * reach).map(|k| libm::exp(-rate * k as f64)).collect();
        let mut jumps = Self { law, powers, reach: reach as i32, scale: 1.0 / rate, residuals: Vec::new() };
        if reach <= TABLED_REACH {
            jumps.residuals = (0..=TABLED).map(|apart| jumps.residual(apart)).collect();
        }
        Ok(jumps)
    }

    /// `P(e)`.
    #[cfg(test)]
    pub fn p(&self, e: i32) -> f64 {
        self.law.p(e)
    }

    /// The law `∝ max(0, η(e) - η(e - apart))`, for `apart` > 0; a single value for 0.
    fn residual(&self, apart: i32) -> Residual {
        if apart == 0 {
            return Residual { lo: 0, alias: Alias::new(&[1.0]) };
        }
        let p = |e| self.law.p(e);
        let weights: Vec<f64> = (-self.reach..=apart / 2).map(|e| (p(e) - p(e - apart)).max(0.0)).collect();
        Residual { lo: -self.reach, alias: Alias::new(&weights) }
    }

    /// Independent jumps.
    #[inline]
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, jumps: &mut [i32]) {
        self.law.fill(rng, jumps, |jump, e| *jump = e);
    }

    /// Jumps `(e, e')` of two coordinates at distance `apart` = v - w, each with the law of a jump, with
    /// `v + e = w + e'` as often as possible: the maximal coupling.
    #[inline]
    pub fn pair<R: Rng + ?Sized>(&self, rng: &mut R, apart: i64) -> (i32, i32) {
        let (e, u) = self.law.with_uniform(rng);
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
            let other = self.law.with_uniform(rng).0;
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

/// A law on `lo, lo + 1, …`.
#[derive(Debug)]
struct Residual {
    lo: i32,
    alias: Alias,
}

impl Residual {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i32 {
        self.lo + self.alias.at(rng.next_u64() >> 1) as i32
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
            let (e, u) = jumps.law.with_uniform(&mut rng);
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
