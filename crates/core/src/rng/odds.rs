//! One of several, with fixed odds.

use super::{Rng, below};

/// A law on `0..n` for a fixed weight of each: even, or by weights (to 2^-53 of their sum).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Odds {
    n: u64,
    /// By choice but for the last, the probability of it and those before, in units of 2^-64; empty if all are even.
    upto: Vec<u64>,
}

impl Odds {
    /// The law that gives each of `n >= 1` choices the same probability.
    pub fn even(n: usize) -> Self {
        Self { n: n as u64, upto: Vec::new() }
    }

    /// The law with probabilities in proportion to `weights` > 0, at least one of them.
    pub fn of(weights: &[f64]) -> Self {
        if weights.iter().all(|weight| *weight == weights[0]) {
            return Self::even(weights.len());
        }
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let upto = weights[..weights.len() - 1].iter().map(|weight| {
            sum += weight;
            // Saturating.
            (sum / total * 18_446_744_073_709_551_616.0) as u64
        });
        Self { n: weights.len() as u64, upto: upto.collect() }
    }

    /// Draws one choice.
    #[inline]
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> usize {
        if self.upto.is_empty() {
            return below(rng, self.n) as usize;
        }
        let word = rng.next_u64();
        self.upto.partition_point(|&upto| upto <= word)
    }

    /// Draws one choice where a draw `even` of even odds is already there: it is that one if all are even.
    #[inline]
    pub fn given<R: Rng + ?Sized>(&self, even: usize, rng: &mut R) -> usize {
        if self.upto.is_empty() { even } else { self.draw(rng) }
    }

    /// The probability of choice `i`.
    pub fn p(&self, i: usize) -> f64 {
        if self.upto.is_empty() {
            return 1.0 / self.n as f64;
        }
        let upto = |i: usize| self.upto.get(i).map_or(1u128 << 64, |&upto| u128::from(upto));
        let before = if i == 0 { 0 } else { upto(i - 1) };
        (upto(i) - before) as f64 / 18_446_744_073_709_551_616.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, test_stream};

    #[test]
    fn draws_have_their_odds() {
        let mut rng = test_stream(71);
        for weights in [vec![3.0, 1e-3, 2.0, 0.5], vec![2.0; 5], vec![1.0, 0.1]] {
            let odds = Odds::of(&weights);
            let total: f64 = weights.iter().sum();
            let mut seen = vec![0u64; weights.len()];
            (0..100_000).for_each(|_| seen[odds.draw(&mut rng)] += 1);
            for (i, weight) in weights.iter().enumerate() {
                assert!((odds.p(i) - weight / total).abs() < 1e-15);
            }
            assert_frequencies((0..weights.len()).map(|i| (seen[i], weights[i] / total)), 100_000);
        }
        assert_eq!((Odds::even(1).draw(&mut rng), Odds::of(&[0.3]).p(0)), (0, 1.0));
    }
}
