//! Monte Carlo standard errors of several chains.

use super::beta::beta_quantile;
use super::ess::{mean_ess, quantile_ess};
use super::summary::Moments;

/// Monte Carlo standard error of the mean over all chains: `sd / sqrt(ess)`, with the effective sample size for the mean
/// ([`mean_ess`]; Vehtari et al. 2021, section 4.4). `None` where that has none.
pub fn mcse_mean(chains: &[&[f64]]) -> Option<f64> {
    let ess = mean_ess(chains)?;
    let all: Moments = chains.iter().flat_map(|chain| chain.iter().copied()).collect();
    Some(all.deviation() / libm::sqrt(ess))
}

/// Monte Carlo standard error of the quantile `p`, `0 < p < 1`, over all chains: half the distance of the order statistics that a
/// normal's ± 1 standard deviation of the share below it reaches (Vehtari et al. 2021, section 4.4). `None` for chains without
/// an effective sample size.
pub fn mcse_quantile(chains: &[&[f64]], p: f64) -> Option<f64> {
    let ess = quantile_ess(chains, p)?;
    let mut all = chains.concat();
    Some(QuantileError::new(all.len(), p, ess).of(&mut all))
}

/// Where the standard error of a quantile is read off: the places of two order statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantileError {
    low: usize,
    high: usize,
}

impl QuantileError {
    /// Finds the places for the quantile `p`, `0 < p < 1`, of `n >= 1` values that are together worth `ess` independent
    /// ones.
    pub fn new(n: usize, p: f64, ess: f64) -> Self {
        let last = (n - 1) as f64;
        // Φ(-1) and Φ(1), to the digits in use.
        let [low, high] = [0.158_655_3, 0.841_344_7]
            .map(|share| beta_quantile(share, ess * p + 1.0, ess * (1.0 - p) + 1.0) * (last + 1.0) - 1.0);
        Self { low: libm::floor(low).max(0.0) as usize, high: libm::ceil(high).min(last) as usize }
    }

    /// The standard error of the quantile, read off the `n` values; their order changes.
    pub fn of(self, values: &mut [f64]) -> f64 {
        let mut at = |place: usize| *values.select_nth_unstable_by(place, f64::total_cmp).1;
        (at(self.high) - at(self.low)) / 2.0
    }
}
