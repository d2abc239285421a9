//! Whether chains may be trusted.

use super::ess::{bulk_ess, tail_ess};
use super::rhat::rank_normalised_split_rhat;

/// Above this R-hat chains have not converged.
pub const MOST_RHAT: f64 = 1.01;
/// Below this effective sample size, of bulk or tails, their figures are not to be trusted.
pub const LEAST_ESS: f64 = 400.0;

/// What several chains of one quantity tell of their convergence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixing {
    /// Rank-normalised split R-hat.
    pub rhat: f64,
    /// Effective sample size of the bulk.
    pub bulk: f64,
    /// Effective sample size of the tails.
    pub tail: f64,
}

impl Mixing {
    /// Diagnoses at least two chains of the same number of draws, >= 4. `None` for other input, and where nothing
    /// varies.
    pub fn of(chains: &[&[f64]]) -> Option<Self> {
        let rhat = rank_normalised_split_rhat(chains)?;
        Some(Self { rhat, bulk: bulk_ess(chains)?, tail: tail_ess(chains)? })
    }

    /// Whether R-hat is at most 1.01 and both effective sample sizes at least 400, the thresholds of Vehtari et al. (2021).
    pub fn converged(&self) -> bool {
        self.rhat <= MOST_RHAT && self.bulk >= LEAST_ESS && self.tail >= LEAST_ESS
    }
}
