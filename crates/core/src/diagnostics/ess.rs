//! Effective sample sizes of several chains.

use super::boxes::quantile;
use super::split::Split;
use crate::fourier::autocorrelations;

/// Effective sample size for the mean of several chains of one quantity, as draws are: Vehtari, Gelman, Simpson, Carpenter, Bürkner
/// (2021), "Rank-normalization, folding, and localization: An improved R-hat", section 3, on chains cut into halves.
///
/// `S / tau` of S draws, with `tau = -1 + 2 Σ_t rho_t` from autocorrelations over all chains,
/// `rho_t = 1 - (W - mean_m acov_m(t)) / var⁺`, `var⁺ = (n - 1)/n W + B/n`, so that chains that disagree have few. The sum is cut by
/// Geyer's initial positive sequence and made monotone; `tau >= 1 / log10 S`.
///
/// - `chains`: at least one, of the same number of draws, >= 4; values that do not vary count one by one.
/// - `None` for anything else.
///
/// # Examples
///
/// ```
/// use congenial_core::diagnostics::mean_ess;
/// use congenial_core::rng::{Role, TaskKey, normal, stream};
///
/// // x' = x/2 + e: tau = (1 + 1/2)/(1 - 1/2) = 3.
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Moves });
/// let mut x = 0.0;
/// let chain: Vec<f64> = std::iter::repeat_with(|| { x = 0.5 * x + normal(&mut rng); x }).take(30_000).collect();
/// let ess = mean_ess(&[&chain]).unwrap();
/// assert!((ess / 10_000.0 - 1.0).abs() < 0.1);
/// ```
pub fn mean_ess(chains: &[&[f64]]) -> Option<f64> {
    Split::of(chains).map(|split| ess(&split))
}

/// Effective sample size of the bulk: that of the normal scores of ranks (as [`mean_ess`], section 4.3 there).
pub fn bulk_ess(chains: &[&[f64]]) -> Option<f64> {
    Split::of(chains).map(|split| ess(&split.scores()))
}

/// Effective sample size of the tails: the smaller one of those of being at most the 5 % and the 95 % quantile (as [`mean_ess`],
/// section 4.3 there).
pub fn tail_ess(chains: &[&[f64]]) -> Option<f64> {
    Some(quantile_ess(chains, 0.05)?.min(quantile_ess(chains, 0.95)?))
}

/// Effective sample size of the share of draws that are at most the quantile `p` of all, `0 <= p <= 1` (as [`mean_ess`], section 4.3
/// there).
pub fn quantile_ess(chains: &[&[f64]], p: f64) -> Option<f64> {
    let mut all: Vec<f64> = chains.concat();
    if all.is_empty() {
        return None;
    }
    let at = quantile(&mut all, p);
    // What is no number is refused, not compared.
    Split::map(chains, |x| if x.is_nan() { x } else { f64::from(x <= at) }).map(|split| ess(&split))
}

/// Lags that are summed one by one before all are computed at once.
const LAGS: usize = 64;

/// Autocovariances, mean over chains.
struct Autocovariances {
    centred: Vec<f64>,
    length: usize,
    all: Vec<f64>,
}

impl Autocovariances {
    fn at(&mut self, lag: usize) -> f64 {
        let n = self.length;
        let chains = self.centred.chunks_exact(n);
        if lag < LAGS {
            let m = chains.len();
            let sum = |chain: &[f64]| chain[lag..].iter().zip(chain).map(|(a, b)| a * b).sum::<f64>();
            return chains.map(sum).sum::<f64>() / (m * n) as f64;
        }
        if self.all.is_empty() {
            self.all = vec![0.0; n];
            let m = chains.len();
            for chain in chains {
                self.all.iter_mut().zip(autocorrelations(chain)).for_each(|(sum, term)| *sum += term);
            }
            self.all.iter_mut().for_each(|sum| *sum /= (m * n) as f64);
        }
        self.all[lag]
    }
}

fn ess(split: &Split) -> f64 {
    let (n, draws) = (split.length, split.values.len() as f64);
    if split.is_constant() {
        return draws;
    }
    let size = n as f64;
    let means: Vec<f64> = split.chains().map(|chain| chain.iter().sum::<f64>() / size).collect();
    let centred =
        split.chains().zip(&means).flat_map(|(chain, mean)| chain.iter().map(move |x| x - mean)).collect();
    let mut acov = Autocovariances { centred, length: n, all: Vec::new() };
    let within = acov.at(0) * size / (size - 1.0);
    // The halves of at least one chain.
    let between = means.iter().copied().collect::<super::Moments>().deviation();
    let total = within * (size - 1.0) / size + between * between;
    let mut rho = vec![0.0; n];
    let mut correlation = |lag| 1.0 - (within - acov.at(lag)) / total;
    let (mut even, mut odd) = (1.0, correlation(1));
    (rho[0], rho[1]) = (even, odd);
    // Geyer's initial positive sequence.
    let mut t = 1;
    while t + 3 < n && even + odd > 0.0 {
        (even, odd) = (correlation(t + 1), correlation(t + 2));
        if even + odd >= 0.0 {
            (rho[t + 1], rho[t + 2]) = (even, odd);
        }
        t += 2;
    }
    // The last even one belongs to it where it is positive.
    if even > 0.0 {
        rho[t - 1] = even;
    }
    // Geyer's initial monotone sequence.
    for s in (1..t.saturating_sub(3)).step_by(2) {
        if rho[s + 1] + rho[s + 2] > rho[s - 1] + rho[s] {
            rho[s + 1] = (rho[s - 1] + rho[s]) / 2.0;
            rho[s + 2] = rho[s + 1];
        }
    }
    let tau = -1.0 + 2.0 * rho[..t - 1].iter().sum::<f64>() + rho[t - 1];
    draws / tau.max(1.0 / libm::log10(draws))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal;
    use crate::testing::test_stream;

    /// An autoregression x' = phi x + e has tau = (1 + phi)/(1 - phi).
    #[test]
    fn autoregression() {
        let mut rng = test_stream(3);
        for phi in [0.0, 0.5, 0.9] {
            let mut x = 0.0;
            let trace: Vec<f64> = (0..100_000)
                .map(|_| {
                    x = phi * x + normal(&mut rng);
                    x
                })
                .collect();
            let expected = (1.0 + phi) / (1.0 - phi);
            // Sokal (1997): relative s.d. of tau is about sqrt(2 (2M + 1)/N), here M <= 60 lags.
            let within = 4.9 * (2.0f64 * 121.0 / 1e5).sqrt();
            for ess in [mean_ess(&[&trace]), bulk_ess(&[&trace])] {
                let tau = 1e5 / ess.unwrap();
                assert!((tau / expected - 1.0).abs() < within, "{phi}: {tau}");
            }
        }
        assert_eq!(mean_ess(&[&[1.0; 10]]), Some(10.0));
        assert_eq!(mean_ess(&[&[1.0; 10], &[1.0; 9]]), None);
        assert_eq!([tail_ess(&[]), tail_ess(&[&[f64::NAN; 8]])], [None, None]);
    }
}
