//! Effective sample size.

/// Effective sample size of one chain's trace for its mean: `N / tau`,
/// `tau = -1 + 2 Σ_k P_k` with the sums `P_k = rho_2k + rho_2k+1` of neighbouring autocorrelations cut at the first
/// one that is not positive and made monotone (Geyer 1992, initial monotone sequence), at most
/// `N log10 N` (Vehtari et al. 2021).
///
/// - `trace`: at least 4 values at equal distances.
/// - Returns `None` for fewer values or a trace that does not vary.
pub fn effective_sample_size(trace: &[f64]) -> Option<f64> {
    let n = trace.len();
    if n < 4 {
        return None;
    }
    let size = n as f64;
    let mean = trace.iter().sum::<f64>() / size;
    let autocovariance = |lag: usize| -> f64 {
        trace[lag..].iter().zip(trace).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / size
    };
    let variance = autocovariance(0);
    if variance.is_nan() || variance <= 0.0 {
        return None;
    }
    let mut tau = -1.0;
    let mut previous = f64::INFINITY;
    for k in 0..n / 2 {
        let pair = (autocovariance(2 * k) + autocovariance(2 * k + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        previous = pair.min(previous);
        tau += 2.0 * previous;
    }
    Some((size / tau.max(f64::MIN_POSITIVE)).min(size * libm::log10(size)))
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
            let tau = 1e5 / effective_sample_size(&trace).unwrap();
            let expected = (1.0 + phi) / (1.0 - phi);
            // Sokal (1997): relative s.d. of tau is about sqrt(2 (2M + 1)/N), here M <= 60 lags.
            assert!((tau / expected - 1.0).abs() < 4.9 * (2.0f64 * 121.0 / 1e5).sqrt(), "{phi}: {tau}");
        }
        assert_eq!(effective_sample_size(&[1.0; 10]), None);
    }
}
