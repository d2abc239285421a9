//! What the statistical tests share.
#![allow(dead_code)]

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Level of every statistical test: the chance that a correct sampler fails it, for its fixed seed.
pub const ALPHA: f64 = 1e-6;

/// Pearson's chi-square test of counts against probabilities that sum to at most 1; the rest, and the
/// outcomes expected fewer than 10 times, are pooled.
pub fn assert_frequencies(cells: impl IntoIterator<Item = (u64, f64)>, draws: u64) {
    let n = draws as f64;
    let (mut statistic, mut kept) = (0.0, 0);
    let (mut rest_count, mut rest_p) = (draws, 1.0);
    for (count, p) in cells {
        if n * p >= 10.0 {
            statistic += (count as f64 - n * p) * (count as f64 - n * p) / (n * p);
            kept += 1;
            rest_count -= count;
            rest_p -= p;
        }
    }
    if n * rest_p >= 10.0 {
        statistic += (rest_count as f64 - n * rest_p).powi(2) / (n * rest_p);
        kept += 1;
    } else {
        // A rare event pooled from tails: at most 10 expected; 60 or more has probability below 1e-25.
        assert!(rest_count < 60, "{rest_count} draws where {} are expected", n * rest_p);
    }
    assert!(kept >= 2, "nothing to test");
    let p_value = ChiSquared::new(f64::from(kept - 1)).unwrap().sf(statistic);
    assert!(p_value > ALPHA, "chi-square {statistic:.1} on {} degrees of freedom, p = {p_value:e}", kept - 1);
}

/// Kolmogorov-Smirnov test of independent draws against a continuous distribution function, by the
/// Dvoretzky-Kiefer-Wolfowitz bound with Massart's constant.
pub fn assert_distribution(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let limit = ((2.0 / ALPHA).ln() / (2.0 * n)).sqrt();
    let distance = draws.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
        let p = cdf(x);
        worst.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
    });
    assert!(distance <= limit, "KS distance {distance}, limit {limit}");
}

/// Two-sample Kolmogorov-Smirnov test, each sample within its own DKW bound.
pub fn assert_same_distribution(mut a: Vec<f64>, mut b: Vec<f64>) {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let bound = |n: usize| ((4.0 / ALPHA).ln() / (2.0 * n as f64)).sqrt();
    let limit = bound(a.len()) + bound(b.len());
    let share = |sorted: &[f64], x: f64| sorted.partition_point(|&y| y <= x) as f64 / sorted.len() as f64;
    let distance = a.iter().chain(&b).map(|&x| (share(&a, x) - share(&b, x)).abs()).fold(0.0, f64::max);
    assert!(distance <= limit, "two-sample KS distance {distance}, limit {limit}");
}

/// Asserts that a mean of `n` draws with the given standard deviation is `expected`, at level ALPHA.
pub fn assert_mean(mean: f64, expected: f64, deviation: f64, n: usize) {
    // Two-sided normal quantile for 1e-6 is 4.9.
    let limit = 4.9 * deviation / (n as f64).sqrt();
    assert!((mean - expected).abs() <= limit, "mean {mean}, expected {expected} ± {limit}");
}

/// The stream of a test.
pub fn test_stream(seed: u64) -> congenial::rng::Stream {
    use congenial::rng::{Role, TaskKey, stream};
    stream(TaskKey { seed, cell: 0, replicate: 0, role: Role::Noise })
}
