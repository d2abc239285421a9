//! L-lag coupling: meeting times, and the bound on the distance to the target that they give.
//!
//! Biswas, Jacob, Vanetti (2019), Estimating convergence of Markov chains with L-lag couplings. The driver knows
//! the kernel by its trait alone.

use crate::diagnostics::Estimate;
use crate::error::Result;
use crate::kernel::Coupled;
use crate::rng::Rng;
use std::collections::BTreeMap;

/// One coupled pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "harness", derive(serde::Serialize, serde::Deserialize))]
pub struct Meeting {
    /// `τ = inf{t > L : X_t = Y_{t-L}}`; `None` if the pair was cut short before it met (censored).
    pub tau: Option<u64>,
    /// The lag L.
    pub lag: u64,
    /// Kernel steps of both chains together.
    pub steps: u64,
    /// How many of them changed the state.
    pub moves: u64,
}

/// Runs X alone for `lag` steps, then (X_t, Y_{t-L}) by the coupled kernel until they are equal.
///
/// - `starts`: both chains begin at independent draws of [`crate::kernel::Dispersed::start`] with this scale, from `rngs.0`;
///   the moves come from `rngs.1`.
/// - `lag` >= 1; `max_steps`: the pair is cut short when X has made this many steps.
///
/// Errors: no start.
pub fn meet<K, R>(kernel: &K, lag: u64, max_steps: u64, scale: f64, rngs: (&mut R, &mut R)) -> Result<Meeting>
where
    K: Coupled,
    K::Value: PartialEq,
    R: Rng,
{
    let (starts, rng) = rngs;
    let mut x = kernel.start(starts, scale)?;
    let mut y = kernel.start(starts, scale)?;
    let (mut a, mut b) = (kernel.noise(), kernel.noise());
    let (mut steps, mut moves) = (0, 0);
    for _ in 0..lag.min(max_steps) {
        kernel.draw(rng, &mut a);
        moves += u64::from(kernel.apply(&mut x, &a));
        steps += 1;
    }
    let mut tau = None;
    for t in lag + 1..=max_steps {
        kernel.draw_pair(rng, (&x, &y), (&mut a, &mut b));
        moves += u64::from(kernel.apply(&mut x, &a)) + u64::from(kernel.apply(&mut y, &b));
        steps += 2;
        if kernel.position(&x) == kernel.position(&y) {
            tau = Some(t);
            break;
        }
    }
    Ok(Meeting { tau, lag, steps, moves })
}

/// `max(0, ceil((τ - L - t)/L))`: its mean bounds the total variation distance of the chain's law after `t` steps
/// to its target (Biswas, Jacob, Vanetti 2019, Thm. 2.5).
pub fn bound_term(beyond: u64, lag: u64, t: u64) -> u64 {
    beyond.saturating_sub(t).div_ceil(lag)
}

/// Meeting times of many pairs of one lag: how many pairs met `τ - L` steps after the lag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeetingTimes {
    lag: u64,
    /// By `τ - L`.
    met: BTreeMap<u64, u64>,
    censored: u64,
}

impl MeetingTimes {
    /// No pairs yet; `lag` >= 1.
    pub fn new(lag: u64) -> Self {
        Self { lag: lag.max(1), met: BTreeMap::new(), censored: 0 }
    }

    /// Adds a pair; `None`: it was cut short.
    pub fn push(&mut self, tau: Option<u64>) {
        match tau {
            Some(tau) => *self.met.entry(tau.saturating_sub(self.lag)).or_default() += 1,
            None => self.censored += 1,
        }
    }

    /// Pairs that met.
    pub fn met(&self) -> u64 {
        self.met.values().sum()
    }

    /// Pairs that were cut short.
    pub fn censored(&self) -> u64 {
        self.censored
    }

    /// A bound exists where every pair met.
    pub fn is_bounded(&self) -> bool {
        self.censored == 0 && !self.met.is_empty()
    }

    /// The largest `τ - L` of a pair that met.
    pub fn longest(&self) -> Option<u64> {
        self.met.keys().next_back().copied()
    }

    /// `τ - L` of the pair with this number when they are sorted, from 0; pairs that were cut short come last and have none.
    pub fn sorted(&self, number: u64) -> Option<u64> {
        let mut before = 0;
        self.met.iter().find_map(|(&beyond, &pairs)| {
            before += pairs;
            (number < before).then_some(beyond)
        })
    }

    /// Mean of the bound after `t` steps over the pairs that met, with its standard error. It may exceed 1, where it says
    /// nothing; where a pair was cut short it is none.
    pub fn bound(&self, t: u64) -> Estimate {
        let terms =
            || self.met.iter().map(|(&beyond, &pairs)| (bound_term(beyond, self.lag, t), pairs as f64));
        let n = self.met() as f64;
        let mean = terms().map(|(term, pairs)| term as f64 * pairs).sum::<f64>() / n;
        let squares: f64 =
            terms().map(|(term, pairs)| pairs * (term as f64 - mean) * (term as f64 - mean)).sum();
        // A single pair says nothing of its error.
        let deviation = if n < 2.0 { f64::NAN } else { libm::sqrt(squares / (n - 1.0)) };
        Estimate { mean, standard_error: deviation / libm::sqrt(n) }
    }

    /// The first `t` at which the bound is at most `level`.
    pub fn first_below(&self, level: f64) -> u64 {
        let (mut above, mut below) = (0, self.longest().unwrap_or(0));
        if self.met.is_empty() || self.bound(0).mean <= level {
            return 0;
        }
        // The bound falls with t: bisection.
        while below - above > 1 {
            let middle = above + (below - above) / 2;
            if self.bound(middle).mean <= level {
                below = middle;
            } else {
                above = middle;
            }
        }
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_by_hand() {
        // ceil((15 - 10 - t)/10) = 1 for t < 5, ceil((32 - 10 - t)/10) = 3, 2 from t = 2, 1 from 12, 0 from 22.
        let mut times = MeetingTimes::new(10);
        times.push(Some(32));
        times.push(Some(15));
        let mean = |t| times.bound(t).mean;
        assert_eq!([mean(0), mean(2), mean(5), mean(12), mean(22)], [2.0, 1.5, 1.0, 0.5, 0.0]);
        assert_eq!(times.bound(0).standard_error, 1.0);
        assert_eq!([times.first_below(1.0), times.first_below(0.1)], [5, 22]);
        assert_eq!(times.first_below(2.0), 0);
        assert_eq!([times.sorted(0), times.sorted(1), times.sorted(2)], [Some(5), Some(22), None]);
        assert!(times.is_bounded());
        times.push(None);
        assert!(!times.is_bounded() && (times.met(), times.longest()) == (2, Some(22)));
    }
}
