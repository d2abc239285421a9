//! Draws of an integer law from a table.

use super::{IntegerLaw, Sampler};
use crate::rng::{Alias, Rng};

/// Draws of a law on the integers by one word and a table of the sizes `|z|` below [`Tabled::end`]; the rest, less than
/// 1 in 2,300, is drawn from the law given that it lies beyond. So nothing is cut: sizes below the end have their
/// probabilities as [`Alias`] holds them, those beyond theirs to the rounding of f64, and the sign is exactly even.
///
/// Scales above 256 are drawn without a table, by [`super::Law::sample`].
#[derive(Debug, Clone)]
pub struct Tabled<L> {
    law: L,
    /// The sizes `0 … end - 1`, and `end` for what lies beyond; `None` without a table.
    sizes: Option<Alias>,
    end: i64,
}

/// The largest scale with a table: of 32 kB.
const WIDEST: f64 = 256.0;
/// Sizes in a table, in units of the scale.
const SCALES: f64 = 8.0;
/// Columns of a table at least.
const LEAST: usize = 16;

impl<L: IntegerLaw> Tabled<L> {
    /// Makes the table: O(scale).
    pub fn new(law: L) -> Self {
        if law.scale() > WIDEST {
            return Self { law, sizes: None, end: 0 };
        }
        let columns = (libm::ceil(SCALES * law.scale()) as usize + 1).next_power_of_two().max(LEAST);
        let end = columns as i64 - 1;
        let weight = |z: i64| if z == 0 { 1.0 } else { 2.0 * libm::exp(law.log_weight(z)) };
        let mut weights: Vec<f64> = (0..end).map(weight).collect();
        weights.push(2.0 * law.tail(end));
        Self { law, sizes: Some(Alias::new(&weights)), end }
    }

    /// The first size that the table leaves to the tail; 0 without a table.
    pub fn end(&self) -> i64 {
        self.end
    }

    /// The probabilities of the sizes `0 … end - 1` and of what lies beyond, in units of 2^-63; `None` without a table.
    pub fn shares(&self) -> Option<Vec<u64>> {
        self.sizes.as_ref().map(Alias::shares)
    }

    #[cold]
    #[inline(never)]
    fn without<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        self.law.sample(rng)
    }

    #[cold]
    #[inline(never)]
    fn beyond<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        self.law.sample_tail(self.end, rng)
    }
}

impl<L: IntegerLaw> Sampler<i64> for Tabled<L> {
    #[inline(always)]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        let Some(sizes) = &self.sizes else { return self.without(rng) };
        let word = rng.next_u64();
        let mut size = sizes.at(word >> 1) as i64;
        if size == self.end {
            size = self.beyond(rng);
        }
        // The sign is the lowest bit, without a branch.
        let sign = -((word & 1) as i64);
        (size ^ sign) - sign
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric, Law};
    use crate::testing::{assert_frequencies, test_stream};

    /// The probabilities that the table holds are those of the law by its closed form or its sum, the tail included.
    #[test]
    fn tables_hold_the_law() {
        for scale in [0.05, 0.5, 2.0, 5.2, 40.0, 100.0, 256.0] {
            let (geometric, gaussian) =
                (DoubleGeometric::new(scale).unwrap(), DiscreteGaussian::new(scale).unwrap());
            // tanh(1/(2 lambda)) e^(-k/lambda), and the sum over all sizes that weigh anything, the smallest first.
            let first = libm::tanh(0.5 / scale);
            check(geometric, |k| first * libm::exp(-(k as f64) / scale));
            let sum: f64 =
                (1..(60.0 * scale) as i64 + 2).rev().map(|k| libm::exp(gaussian.log_weight(k))).sum();
            check(gaussian, |k| libm::exp(gaussian.log_weight(k)) / (1.0 + 2.0 * sum));
        }
        fn check<L: IntegerLaw>(law: L, p: impl Fn(i64) -> f64) {
            let tabled = Tabled::new(law);
            let shares = tabled.shares().unwrap();
            assert_eq!(shares.iter().sum::<u64>(), 1 << 63);
            let mut below = 0.0;
            for (k, &share) in (0..tabled.end()).zip(&shares) {
                let want = if k == 0 { p(0) } else { 2.0 * p(k) };
                below += want;
                let got = share as f64 / (1u64 << 63) as f64;
                assert!((got - want).abs() < 1e-15, "{law:?} {k}: {got} {want}");
            }
            let beyond = shares[tabled.end() as usize] as f64 / (1u64 << 63) as f64;
            assert!((beyond - (1.0 - below)).abs() < 1e-14 && beyond < 3.4e-4, "{law:?}: {beyond}");
            for from in [1, 2, tabled.end()] {
                let want: f64 = (from..from + (800.0 * law.scale()) as i64 + 2)
                    .rev()
                    .map(|z| libm::exp(law.log_weight(z)))
                    .sum();
                assert!(
                    (law.tail(from) - want).abs() <= 1e-13 * want,
                    "{law:?} {from}: {} {want}",
                    law.tail(from)
                );
            }
        }
    }

    /// Draws within the table and beyond any place have the law.
    #[test]
    fn draws_have_the_law() {
        fn check<L: IntegerLaw>(law: L) {
            let mut rng = test_stream(83);
            let reach = (50.0 * law.scale()) as i64 + 2;
            let total: f64 = (-reach..=reach).map(|z| libm::exp(law.log_weight(z))).sum();
            let draws = 200_000;
            let tabled = Tabled::new(law);
            let mut seen = vec![0u64; 2 * reach as usize + 1];
            (0..draws).for_each(|_| seen[(tabled.draw(&mut rng) + reach) as usize] += 1);
            let p = |z: i64| libm::exp(law.log_weight(z)) / total;
            assert_frequencies((-reach..=reach).map(|z| (seen[(z + reach) as usize], p(z))), draws);
            for from in [1, (2.0 * law.scale()) as i64] {
                let mut seen = vec![0u64; reach as usize];
                (0..draws).for_each(|_| {
                    seen[(law.sample_tail(from, &mut rng) - from).min(reach - 1) as usize] += 1
                });
                let p = |k: usize| libm::exp(law.log_weight(from + k as i64)) / law.tail(from);
                assert_frequencies((0..reach as usize).map(|k| (seen[k], p(k))), draws);
            }
        }
        for scale in [0.7, 2.0, 17.0] {
            check(DoubleGeometric::new(scale).unwrap());
            check(DiscreteGaussian::new(scale).unwrap());
        }
    }

    /// 10^9 draws of each law against its probabilities, by chi-square at the level 1e-6: some 20 s, run by hand.
    #[test]
    #[ignore = "10^9 draws of each law: scripts/nightly draws"]
    fn many_draws_have_the_law() {
        fn check<L: IntegerLaw>(law: L) {
            let draws = 1_000_000_000u64;
            let (mut rng, tabled) = (test_stream(84), Tabled::new(law));
            let reach = (60.0 * law.scale()) as i64 + 2;
            let mut seen = vec![0u64; 2 * reach as usize + 1];
            (0..draws).for_each(|_| seen[(tabled.draw(&mut rng) + reach).clamp(0, 2 * reach) as usize] += 1);
            let total: f64 = 1.0 + 2.0 * law.tail(1);
            let p = |z: i64| libm::exp(law.log_weight(z)) / total;
            assert_frequencies((-reach..=reach).map(|z| (seen[(z + reach) as usize], p(z))), draws);
        }
        for scale in [0.5, 4.0, 100.0] {
            check(DoubleGeometric::new(scale).unwrap());
            check(DiscreteGaussian::new(scale).unwrap());
        }
    }
}
