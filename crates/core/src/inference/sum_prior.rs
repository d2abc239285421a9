//! What is believed of a sum of counts.

use super::posterior::CountLaw;
use super::prior::Prior;
use crate::error::Result;

/// What is believed of a sum of independent counts >= 0: `p(x + 1)/p(x) = (a + b x)/(x + 1)` for all x of a range (the class of Panjer
/// 1981). Sums of counts of the class with one b are in it again, with the sum of their a.
///
/// | prior of a count | a | b |
/// |---|---|---|
/// | Poisson | mean | 0 |
/// | negative binomial, `q = mean/(mean + size)` | `q size` | q |
/// | every integer >= 0 weighs the same | 1 | 1 |
///
/// # Examples
///
/// ```
/// use congenial_core::inference::{Prior, SumPrior};
///
/// // Of two counts, each 0 or more, a sum of 2 has three ways to come about, and a sum of 1 two.
/// let flat = SumPrior::of(Prior::NONNEGATIVE)?;
/// let sum = flat.and(&flat).expect("the class is closed");
/// let law = sum.given(1, &[1.0, 1.0]).expect("both are possible");
/// assert!((law.p(2) - 0.6).abs() < 1e-15);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SumPrior {
    a: f64,
    b: f64,
    low: i64,
    high: i64,
}

impl SumPrior {
    /// The prior of one count, of which no integer below 0 is believed. Refused: parameters that are not finite numbers > 0.
    pub fn of(prior: Prior) -> Result<Self> {
        prior.check()?;
        let (a, b) = prior.rise();
        let (low, high) = prior.ends();
        Ok(Self { a, b, low: low.max(0), high })
    }

    /// The prior of the sum with another sum. `None`: it is not in the class, since b differs, or a range bounds one of them.
    pub fn and(&self, other: &Self) -> Option<Self> {
        let is_whole = |own: &Self| (own.low, own.high) == (0, i64::MAX);
        let both = is_whole(self) && is_whole(other) && self.b == other.b;
        both.then_some(Self { a: self.a + other.a, ..*self })
    }

    /// The posterior of the sum, given what the counts from `from` on make of an observation, but for one factor; all others make it
    /// impossible. `None`: so does the prior.
    pub fn given(&self, from: i64, likelihood: &[f64]) -> Option<CountLaw> {
        let mut log = 0.0;
        let weigh = |(x, &likelihood): (i64, &f64)| {
            if !(self.low..=self.high).contains(&x) {
                return f64::NEG_INFINITY;
            }
            let own = log;
            // By ratios: logarithms of factorials would lose the digits of large counts.
            log += libm::log((self.a + self.b * x as f64) / (x as f64 + 1.0));
            own + libm::log(likelihood)
        };
        CountLaw::of_logs(from, (from..).zip(likelihood).map(weigh).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{below, open01};
    use crate::testing::test_stream;

    /// The law of a sum by convolution of the laws of its counts, from 0.
    fn convolved(laws: &[Vec<f64>]) -> Vec<f64> {
        laws.iter().fold(vec![1.0], |sum, law| {
            let mut next = vec![0.0; sum.len() + law.len() - 1];
            for (i, p) in sum.iter().enumerate() {
                law.iter().enumerate().for_each(|(j, q)| next[i + j] += p * q);
            }
            next
        })
    }

    /// Laws of 300 random sums, given random likelihoods, are those of convolutions: an error of 1e-16 for each of some 60 ratios and 60
    /// products, and so below 1e-12.
    #[test]
    fn sums_are_convolutions() {
        let mut rng = test_stream(831);
        for _ in 0..300 {
            let number = 1 + below(&mut rng, 4);
            let (mean, size) = (0.1 + 9.0 * open01(&mut rng), 0.2 + 5.0 * open01(&mut rng));
            let kind = below(&mut rng, 3);
            let priors: Vec<Prior> = (0..number)
                .map(|_| match kind {
                    0 => Prior::Poisson(mean * (0.1 + open01(&mut rng))),
                    1 => Prior::NegativeBinomial { mean, size },
                    _ => Prior::NONNEGATIVE,
                })
                .collect();
            let sums: Vec<SumPrior> = priors.iter().map(|&prior| SumPrior::of(prior).unwrap()).collect();
            let sum = sums[1..].iter().fold(sums[0], |sum, own| sum.and(own).unwrap());
            let laws: Vec<Vec<f64>> =
                priors.iter().map(|prior| (0..60).map(|x| libm::exp(prior.log(x))).collect()).collect();
            let all = convolved(&laws);
            let from = below(&mut rng, 30) as i64;
            let likelihood: Vec<f64> = (0..1 + below(&mut rng, 12)).map(|_| open01(&mut rng)).collect();
            let law = sum.given(from, &likelihood).unwrap();
            let weights: Vec<f64> =
                likelihood.iter().zip(from as usize..).map(|(own, x)| own * all[x]).collect();
            let total: f64 = weights.iter().sum();
            for (weight, x) in weights.iter().zip(from..) {
                assert!((law.p(x) - weight / total).abs() < 1e-12, "{priors:?} {x}");
            }
        }
    }

    /// Ranges hold; sums of counts that are bounded, or of other ratios, are not in the class.
    #[test]
    fn what_is_not_in_the_class_is_said() {
        let of = |prior| SumPrior::of(prior).unwrap();
        let bounded = of(Prior::Poisson(3.0).within(2, 5));
        assert!(bounded.given(0, &[1.0, 1.0]).is_none());
        assert_eq!(bounded.given(0, &[1.0; 3]).unwrap().p(2), 1.0);
        let whole = of(Prior::Poisson(3.0));
        assert!(bounded.and(&whole).is_none() && whole.and(&bounded).is_none());
        assert!(of(Prior::NONNEGATIVE).and(&whole).is_none());
        let negative = |mean| of(Prior::NegativeBinomial { mean, size: 2.0 });
        assert!(negative(1.0).and(&negative(1.5)).is_none() && negative(1.0).and(&negative(1.0)).is_some());
        assert!(SumPrior::of(Prior::Poisson(-1.0)).is_err());
        // Digits of large counts: the ratio of neighbours is mean/(x + 1).
        let x = (1i64 << 53) - 2;
        let law = of(Prior::Poisson(x as f64)).given(x - 1, &[1.0, 1.0]).unwrap();
        assert!((law.p(x) - 0.5).abs() < 1e-15);
    }
}
