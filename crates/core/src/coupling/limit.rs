//! An upper limit of the bound that meeting times give.

use super::MeetingTimes;
use std::fmt::{self, Display, Formatter};

/// Pairs that must still be apart where the lag is shorter than the chain.
const LEAST_APART: u64 = 10;

/// Why meeting times give no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLimit {
    /// No pair has been run.
    NoPairs,
    /// Some pairs were cut short before they met: nothing tells when they would have.
    CutShort {
        /// The number of pairs that were cut short.
        censored: u64,
        /// The number of all pairs.
        pairs: u64,
    },
    /// The lag is shorter than the chain, and too few pairs are still apart to tell how long the slowest are.
    FewApart {
        /// The number of pairs that are still apart.
        apart: u64,
        /// The lag L.
        lag: u64,
        /// The number of steps of the chain.
        t: u64,
    },
}

impl Display for NoLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPairs => write!(f, "there are no pairs"),
            Self::CutShort { censored, pairs } => write!(f, "{censored} of {pairs} pairs were cut short"),
            Self::FewApart { apart, lag, t } => write!(
                f,
                "{} still apart after {t} steps beyond the lag of {lag}, and a pair that was not seen would count up \
                    to {} times (want a lag of at least {t})",
                match apart {
                    0 => "no pair was".to_owned(),
                    1 => "1 pair was".to_owned(),
                    n => format!("{n} pairs were"),
                },
                t.div_ceil(*lag)
            ),
        }
    }
}

impl MeetingTimes {
    /// An upper limit of the total variation distance of the chain's law after `t` steps to its target, at the level `1 - alpha`.
    ///
    /// The distance is at most `E B`, `B = max(0, ceil((τ - L - t)/L))` (Biswas, Jacob, Vanetti 2019, Thm. 2.5). The limit is
    ///
    /// `m · sup{μ : n kl(B̄/m, μ) <= ln(1/alpha)}`, at most 1,
    ///
    /// with B̄ the mean of B over n pairs, m the largest B that was seen (at least 1), and
    /// `kl(x, μ) = x ln(x/μ) + (1 - x) ln((1 - x)/(1 - μ))`. If B is never above m, `P(B̄ <= x) <= exp(-n kl(x/m, E B/m))` (Hoeffding 1963,
    /// Thm. 1), and so `E B` lies below the limit with probability `1 - alpha`. Where no pair is apart it is `1 - alpha^(1/n)`, the exact
    /// limit of a share that was never seen.
    ///
    /// That no pair takes longer than the slowest one that was seen is no theorem: no number of pairs proves it, and a mean that
    /// nothing bounds has no upper limit. So few pairs must not say much: unless 10 or more are still apart, the lag must be at
    /// least `t`. Then a pair that was not seen counts once, unless it takes more than twice the steps of the chain.
    ///
    /// Errors: see [`NoLimit`].
    ///
    /// # Examples
    ///
    /// ```
    /// use congenial_core::coupling::MeetingTimes;
    ///
    /// // Of 100 pairs with lag 50 none is apart after 50 steps: at most 1 - 0.05^(1/100), with probability 95 %.
    /// let mut times = MeetingTimes::new(50);
    /// (0..100).for_each(|pair| times.push(Some(50 + pair % 7)));
    /// let limit = times.limit(50, 0.05).expect("all pairs met");
    /// assert!((limit - (1.0 - 0.05f64.powf(0.01))).abs() < 1e-12);
    /// times.push(None); // a pair that was cut short
    /// assert!(times.limit(50, 0.05).is_err());
    /// ```
    pub fn limit(&self, t: u64, alpha: f64) -> std::result::Result<f64, NoLimit> {
        let (n, censored, apart, lag) = (self.met(), self.censored(), self.apart(t), self.lag());
        let Some(longest) = self.longest() else {
            return Err(match censored {
                0 => NoLimit::NoPairs,
                _ => NoLimit::CutShort { censored, pairs: censored },
            });
        };
        if censored > 0 {
            return Err(NoLimit::CutShort { censored, pairs: n + censored });
        }
        if lag < t && apart < LEAST_APART {
            return Err(NoLimit::FewApart { apart, lag, t });
        }
        let most = super::bound_term(longest, lag, t).max(1) as f64;
        Ok((most * mean_limit(self.mean_bound(t) / most, n, alpha)).min(1.0))
    }
}

/// `sup{μ : n kl(mean, μ) <= ln(1/alpha)}`: above the mean of a law on `[0, 1]`, of which n draws have the mean `mean`, with probability
/// `1 - alpha` (Hoeffding 1963, Thm. 1).
fn mean_limit(mean: f64, n: u64, alpha: f64) -> f64 {
    let room = -libm::log(alpha) / n as f64;
    let divergence = |mu: f64| {
        let below = if mean > 0.0 { mean * libm::log(mean / mu) } else { 0.0 };
        let above = if mean < 1.0 { (1.0 - mean) * (libm::log1p(-mean) - libm::log1p(-mu)) } else { 0.0 };
        below + above
    };
    // It rises from 0 at the mean: bisection, whose upper end is kept.
    let (mut low, mut high) = (mean, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if divergence(middle) > room { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::meet_all;
    use crate::invariant::Linear;
    use crate::kernel::{MetropolizedIndependence, Start};
    use crate::law::DoubleGeometric;
    use crate::testing::{mis_distances, test_stream};

    /// Coverage of a share by sums over its binomial law; where none was seen the exact limit.
    #[test]
    fn means_lie_below_their_limits() {
        for n in [1u64, 7, 60, 500] {
            assert!((mean_limit(0.0, n, 0.05) - (1.0 - libm::pow(0.05, 1.0 / n as f64))).abs() < 1e-12);
            assert_eq!(mean_limit(1.0, n, 0.05), 1.0);
            for share in [0.001, 0.01, 0.1, 0.5, 0.9] {
                // P(K = k), k of n.
                let log_mass = |k: f64| {
                    let n = n as f64;
                    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
                    choose + k * libm::log(share) + (n - k) * libm::log1p(-share)
                };
                let missed = (0..=n).filter(|&k| mean_limit(k as f64 / n as f64, n, 0.05) < share);
                let missed: f64 = missed.map(|k| libm::exp(log_mass(k as f64))).sum();
                assert!(missed <= 0.05 + 1e-9, "{n} {share}: {missed}");
            }
        }
    }

    #[test]
    fn limits_by_hand() {
        let of = |lag: u64, beyond: &[(u64, u64)]| {
            let mut times = MeetingTimes::new(lag);
            beyond.iter().for_each(|&(at, pairs)| (0..pairs).for_each(|_| times.push(Some(lag + at))));
            times
        };
        // None apart: the lag must be as long as the chain.
        let unseen = 1.0 - libm::pow(0.05, 0.01);
        assert!((of(50, &[(3, 100)]).limit(50, 0.05).unwrap() - unseen).abs() < 1e-12);
        assert_eq!(of(49, &[(3, 100)]).limit(50, 0.05), Err(NoLimit::FewApart { apart: 0, lag: 49, t: 50 }));
        // Ten apart tell with every lag, and weigh as much as the slowest of them: here 20 each.
        let ten = of(10, &[(1, 990), (250, 10)]);
        let limit = ten.limit(50, 0.05).unwrap();
        assert!(
            (limit / (20.0 * mean_limit(0.01, 1000, 0.05)) - 1.0).abs() < 1e-12 && limit > ten.mean_bound(50)
        );
        assert_eq!(of(1, &[(1, 1), (250, 10)]).limit(50, 0.05), Ok(1.0));
        let mut cut = of(10, &[(1, 9)]);
        cut.push(None);
        assert_eq!(cut.limit(1, 0.05), Err(NoLimit::CutShort { censored: 1, pairs: 10 }));
        assert_eq!(MeetingTimes::new(1).limit(1, 0.05), Err(NoLimit::NoPairs));
        let words = of(10, &[(3, 100)]).limit(50, 0.05).unwrap_err().to_string();
        assert!(
            words.contains("no pair was still apart after 50 steps") && words.contains("5 times"),
            "{words}"
        );
    }

    /// Against the exact law of chains whose slow states are not rare: 100 times 100 pairs, of which at most 5 are expected below.
    #[test]
    fn limits_lie_above_the_distance() {
        let invariant = Linear::total(3).unwrap();
        let law = DoubleGeometric::new(2.0).unwrap();
        let steps = [1, 3, 10, 30, 100, 300];
        let mut known = 0;
        for rate in [0.06, 0.2, 0.5] {
            let kernel = MetropolizedIndependence::new(&invariant, None, law, rate, None).unwrap();
            let distances = mis_distances(0.5, rate, &steps);
            for lag in [1, 10, 100, 300] {
                let mut below = [0u64; 6];
                for run in 0..100 {
                    let streams = |pair: u64| {
                        let number = 1_000_000 * lag + 1000 * run + 2 * pair;
                        (test_stream(number), test_stream(number + 1))
                    };
                    let mut times = MeetingTimes::new(lag);
                    for met in
                        meet_all(&kernel, lag, 1_000_000, Start::default(), (0..100).map(streams).collect())
                    {
                        times.push(met.unwrap().tau);
                    }
                    for (i, &t) in steps.iter().enumerate() {
                        let limit = times.limit(t, 0.05);
                        known += u64::from(limit.is_ok_and(|limit| limit < 1.0));
                        below[i] += u64::from(limit.is_ok_and(|limit| limit < distances[i]));
                    }
                }
                // 16 are exceeded with probability 1e-5.
                assert!(below.iter().all(|&below| below <= 16), "rate {rate}, lag {lag}: {below:?}");
            }
        }
        assert!(known > 2000, "{known}");
    }
}
