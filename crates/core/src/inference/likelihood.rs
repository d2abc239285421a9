//! The likelihood of a release, given the laws of its counts.

use super::posterior::{Posterior, Weight};
use super::prior::{Prior, log_negative_binomial, log_poisson};
use crate::error::{Error, Result};
use crate::invariant::Hierarchy;

/// What was released of a tree: noise was added to every node that is not known, and perhaps conditioned on the equations.
#[derive(Debug, Clone, Copy)]
pub struct Release<'a> {
    /// The tree.
    pub tree: &'a Hierarchy,
    /// By level, what its noise weighs.
    pub weights: &'a [Weight],
    /// By node, what was released; of a known node its count.
    pub values: &'a [f64],
}

/// A log likelihood at means (and a size) of the leaves, and how it moves with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The log likelihood, but for the constant of the noise.
    pub log_likelihood: f64,
    /// By leaf, its derivative by the logarithm of the mean.
    pub by_log_mean: Vec<f64>,
    /// Its derivative by the logarithm of the size, of negative binomial counts; else 0.
    pub by_log_size: f64,
}

impl Release<'_> {
    /// The logarithm of the marginal likelihood `L(μ, k) = Σ_x Π_leaves p(x_i | μ_i, k) · Π_v w_v(y_v - s_v(x))` with its gradient.
    /// Leaves are independent, Poisson with the means μ or, with a size, negative binomial (variance `μ + μ²/k`).
    ///
    /// Known counts are part of what is released: the likelihood is that of the noisy values together with them. The constant of the
    /// noise is left out; it depends on neither μ nor k.
    ///
    /// The gradient is that of the leaves' own law in the mean over the posterior (Fisher's identity): by `ln μ_i` it is
    /// `E[x_i | y] - μ_i`, times `k/(k + μ_i)` with a size.
    ///
    /// `means`: by leaf, in the order of [`Hierarchy::leaves`], in counts.
    ///
    /// Errors: another number of means; means or a size that are no finite numbers > 0; those of [`Posterior::on_tree`].
    ///
    /// # Examples
    ///
    /// ```
    /// use congenial_core::inference::{Release, Weight};
    /// use congenial_core::invariant::Hierarchy;
    ///
    /// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
    /// let release = Release { tree: &tree, weights: &[Weight::Exponential(2.0); 2], values: &[9.0, 2.0, 4.0] };
    /// let (low, high) = (release.score(&[1.0, 1.0], None)?, release.score(&[3.0, 5.0], None)?);
    /// assert!(low.log_likelihood < high.log_likelihood && low.by_log_mean[0] > 0.0);
    /// # Ok::<(), congenial_core::Error>(())
    /// ```
    pub fn score(&self, means: &[f64], size: Option<f64>) -> Result<Score> {
        if means.len() != self.tree.leaves().len() {
            return Err(Error::parameter("means", means.len(), "one per leaf"));
        }
        let prior = |&mean: &f64| match size {
            None => Prior::Poisson(mean),
            Some(size) => Prior::NegativeBinomial { mean, size },
        };
        let priors: Vec<Prior> = means.iter().map(prior).collect();
        let posterior = Posterior::on_tree(self.tree, self.weights, self.values, &priors)?;
        let laws = posterior.laws();
        let mut score = Score {
            log_likelihood: posterior.log_evidence(),
            by_log_mean: Vec::with_capacity(means.len()),
            by_log_size: 0.0,
        };
        for (&leaf, &mean) in self.tree.leaves().iter().zip(means) {
            let law = &laws[leaf as usize];
            score.by_log_mean.push(by_log_mean(law.mean(), mean, size));
            if let Some(size) = size {
                score.by_log_size += law.mean_of(|x| by_log_size(x as f64, mean, size));
            }
        }
        Ok(score)
    }
}

/// The likelihood of counts that are there: `Σ_i ln p(x_i | μ_i, k)`, of any numbers x >= 0.
pub(super) fn score_of_counts(counts: &[f64], means: &[f64], size: Option<f64>) -> Score {
    let mut score = Score { log_likelihood: 0.0, by_log_mean: Vec::new(), by_log_size: 0.0 };
    for (&x, &mean) in counts.iter().zip(means) {
        score.by_log_mean.push(by_log_mean(x, mean, size));
        score.log_likelihood += match size {
            None => log_poisson(x, mean),
            Some(size) => {
                score.by_log_size += by_log_size(x, mean, size);
                log_negative_binomial(x, mean, size)
            }
        };
    }
    score
}

fn by_log_mean(x: f64, mean: f64, size: Option<f64>) -> f64 {
    (x - mean) * size.map_or(1.0, |size| size / (size + mean))
}

/// `k d/dk` of a negative binomial's log probability: `k (ψ(x + k) - ψ(k) - ln(1 + μ/k) + (μ - x)/(k + μ))`.
fn by_log_size(x: f64, mean: f64, size: f64) -> f64 {
    size * (digamma_gain(size, x) - libm::log1p(mean / size) + (mean - x) / (size + mean))
}

/// Where the series of ψ is below 1e-16 off.
const LARGE: f64 = 16.0;

/// `ψ(k + x) - ψ(k)`, for k > 0 and x >= 0.
fn digamma_gain(k: f64, x: f64) -> f64 {
    // ψ(z) - ln z, of large z.
    let series = |z: f64| {
        let s = 1.0 / (z * z);
        let terms =
            1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s * (1.0 / 132.0 - s * 691.0 / 32760.0)));
        -0.5 / z - s * (1.0 / 12.0 - s * terms)
    };
    // ψ(z) = ψ(z + 1) - 1/z.
    let (mut k, mut gain, end) = (k, 0.0, k + x);
    let mut z = end;
    while k < LARGE {
        gain += 1.0 / k;
        k += 1.0;
    }
    while z < LARGE {
        gain -= 1.0 / z;
        z += 1.0;
    }
    gain + libm::log1p((z - k) / k) + series(z) - series(k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::below;
    use crate::testing::test_stream;

    /// All counts of the leaves from 0 to a number, each with its log weight by products.
    fn listed(release: &Release, means: &[f64], size: Option<f64>, most: i64) -> (f64, Vec<f64>) {
        let tree = release.tree;
        let p = |x: i64, mean: f64| -> f64 {
            let step = |k: i64| match size {
                None => mean / (k + 1) as f64,
                Some(size) => mean / (mean + size) * (k as f64 + size) / (k + 1) as f64,
            };
            let first = match size {
                None => libm::exp(-mean),
                Some(size) => libm::pow(size / (size + mean), size),
            };
            first * (0..x).map(step).product::<f64>()
        };
        let laws: Vec<Vec<f64>> =
            means.iter().map(|&mean| (0..=most).map(|x| p(x, mean)).collect()).collect();
        let weight = |v: usize, count: i64| -> f64 {
            let z = release.values[v] - count as f64;
            match (tree.is_known(v), release.weights[tree.level(v)]) {
                (true, _) => f64::from(u8::from(z == 0.0)),
                (_, Weight::Exponential(scale)) => libm::exp(-z.abs() / scale),
                (_, Weight::Gaussian(scale)) => libm::exp(-z * z / (2.0 * scale * scale)),
            }
        };
        let (mut total, mut sums) = (0.0, vec![0.0; means.len()]);
        let (mut own, mut counts) = (vec![0i64; means.len()], vec![0i64; tree.nodes()]);
        'all: loop {
            tree.leaves().iter().zip(&own).for_each(|(&leaf, &x)| counts[leaf as usize] = x);
            tree.sum_up(&mut counts);
            let prior: f64 = laws.iter().zip(&own).map(|(law, &x)| law[x as usize]).product();
            let all = prior * (0..tree.nodes()).map(|v| weight(v, counts[v])).product::<f64>();
            total += all;
            sums.iter_mut().zip(&own).for_each(|(sum, &x)| *sum += x as f64 * all);
            for x in &mut own {
                *x += 1;
                if *x <= most {
                    continue 'all;
                }
                *x = 0;
            }
            return (libm::log(total), sums.into_iter().map(|sum| sum / total).collect());
        }
    }

    /// The likelihood is that of all counts of up to five leaves; the gradient is that of finite differences.
    #[test]
    fn likelihoods_are_those_of_all_counts() {
        let mut rng = test_stream(151);
        let mut known_seen = 0;
        for (number, parents) in [&[0, 0, 0][..], &[0, 0, 0, 0, 1, 1, 2], &[0, 0, 0, 1, 1, 1, 2, 2], &[0, 0]]
            .repeat(4)
            .into_iter()
            .enumerate()
        {
            let mut tree = Hierarchy::from_parents(parents).unwrap();
            let leaves = tree.leaves().len();
            let weights: Vec<Weight> = (0..tree.levels())
                .map(|_| match below(&mut rng, 2) {
                    0 => Weight::Exponential(0.2 + 0.05 * below(&mut rng, 5) as f64),
                    _ => Weight::Gaussian(0.3 + 0.1 * below(&mut rng, 8) as f64),
                })
                .collect();
            let mut values: Vec<f64> = (0..tree.nodes()).map(|_| 0.5 * below(&mut rng, 7) as f64).collect();
            if number % 2 == 1 && leaves > 1 {
                (values[0], known_seen) = (4.0, known_seen + 1);
                tree = tree.clone().with_known((0..tree.nodes()).map(|v| v == 0).collect()).unwrap();
            }
            let release = Release { tree: &tree, weights: &weights, values: &values };
            let means: Vec<f64> = (0..leaves).map(|_| 0.2 + 0.3 * below(&mut rng, 6) as f64).collect();
            let most = if leaves > 3 { 13 } else { 40 };
            for size in [None, Some(0.8), Some(5.0)] {
                let score = release.score(&means, size).unwrap();
                let (log, expected) = listed(&release, &means, size, most);
                let off = score.log_likelihood - log;
                assert!(off.abs() < 1e-12 * log.abs().max(1.0), "{parents:?} {size:?}: {off:e}");
                let at = |means: &[f64], size| release.score(means, size).unwrap().log_likelihood;
                let h = 1e-4;
                for i in 0..leaves {
                    let gradient = score.by_log_mean[i];
                    let want = (expected[i] - means[i]) * size.map_or(1.0, |k| k / (k + means[i]));
                    assert!((gradient - want).abs() < 1e-11, "{gradient} {want}");
                    let moved = |by: f64| {
                        let mut moved = means.clone();
                        moved[i] *= libm::exp(by);
                        at(&moved, size)
                    };
                    let want = (moved(h) - moved(-h)) / (2.0 * h);
                    assert!((gradient - want).abs() < 1e-6, "{size:?} {i}: {gradient} {want}");
                }
                if let Some(k) = size {
                    let want = (at(&means, Some(k * libm::exp(h))) - at(&means, Some(k * libm::exp(-h))))
                        / (2.0 * h);
                    let gradient = score.by_log_size;
                    assert!((gradient - want).abs() < 1e-6, "{k}: {gradient} {want}");
                }
            }
        }
        assert!(known_seen > 3);
    }

    /// ψ against its sums, and against differences of ln Γ.
    #[test]
    fn digamma_gains_are_sums() {
        for k in [1e-3, 0.3, 1.0, 7.5, 15.9, 40.0, 1e5] {
            for x in [0u32, 1, 2, 9, 30, 1000] {
                let want: f64 = (0..x).map(|j| 1.0 / (k + f64::from(j))).sum();
                let got = digamma_gain(k, f64::from(x));
                // Rounding of terms of the size 1/k.
                assert!((got - want).abs() < 1e-13 * want.max(1.0 / k).max(1.0), "{k} {x}: {got} {want}");
            }
            let h = 1e-4 * k;
            let psi = |z: f64| (libm::lgamma(z + h) - libm::lgamma(z - h)) / (2.0 * h);
            let want = psi(k + 2.5) - psi(k);
            let got = digamma_gain(k, 2.5);
            assert!((got - want).abs() < 1e-5 * want.abs().max(1e-3), "{k}: {got} {want}");
        }
    }

    #[test]
    fn what_is_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let release = Release { tree: &tree, weights: &[Weight::Gaussian(1.0); 2], values: &[3.0, 1.0, 2.0] };
        let refused = |means: &[f64], size| release.score(means, size).unwrap_err().to_string();
        assert!(refused(&[1.0], None).contains("means: got 1, want one per leaf"));
        assert!(refused(&[1.0, 0.0], None).contains("mean: got 0"));
        assert!(refused(&[1.0, f64::NAN], None).contains("mean: got NaN"));
        assert!(refused(&[1.0, 1.0], Some(-2.0)).contains("size: got -2"));
    }
}
