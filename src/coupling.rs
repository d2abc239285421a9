//! L-lag coupling: meeting times, and the bound on the distance to the target that they give.
//!
//! Biswas, Jacob, Vanetti (2019), Estimating convergence of Markov chains with L-lag couplings. The driver knows
//! the kernel by its trait alone.

use crate::diagnostics::{Estimate, Moments};
use crate::error::Result;
use crate::kernel::Coupled;
use crate::rng::Rng;

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
pub fn bound_term(tau: u64, lag: u64, t: u64) -> u64 {
    tau.saturating_sub(lag).saturating_sub(t).div_ceil(lag)
}

/// Mean of the bound over pairs that all met, with its standard error. It may exceed 1, where it says
/// nothing.
pub fn tv_bound(taus: &[u64], lag: u64, t: u64) -> Estimate {
    let mut moments = Moments::default();
    taus.iter().for_each(|&tau| moments.push(bound_term(tau, lag, t) as f64));
    moments.estimate()
}

/// The first `t` with `tv_bound(t) <= level`.
pub fn first_below(taus: &[u64], lag: u64, level: f64) -> u64 {
    let (mut above, mut below) = (0, taus.iter().map(|tau| tau - lag).max().unwrap_or(0));
    if tv_bound(taus, lag, 0).mean <= level {
        return 0;
    }
    // The bound falls with t: bisection.
    while below - above > 1 {
        let middle = above + (below - above) / 2;
        if tv_bound(taus, lag, middle).mean <= level {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_by_hand() {
        // ceil((15 - 10 - t)/10) = 1 for t < 5, ceil((32 - 10 - t)/10) = 3, 2 from t = 2, 1 from 12, 0 from 22.
        let taus = [15, 32];
        let mean = |t| tv_bound(&taus, 10, t).mean;
        assert_eq!([mean(0), mean(2), mean(5), mean(12), mean(22)], [2.0, 1.5, 1.0, 0.5, 0.0]);
        assert_eq!(tv_bound(&taus, 10, 0).standard_error, 1.0);
        assert_eq!([first_below(&taus, 10, 1.0), first_below(&taus, 10, 0.1)], [5, 22]);
        assert_eq!(first_below(&taus, 10, 2.0), 0);
    }
}
