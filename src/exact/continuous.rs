//! Real noise given linear equations.

use crate::error::{Error, Result};
use crate::invariant::{Linear, basis};
use crate::lattice::{BasisKind, IntMatrix, orthonormal};
use crate::law::{Gaussian, Laplace, Law};
use crate::rng::{Rng, exponential, gamma, normal};

/// A continuous law with an exact sampler given `A z = 0`.
pub trait ContinuousExact: Law<Value = f64> {
    /// Prepares it. Errors: a component that it does not serve.
    fn given(self, invariant: &Linear) -> Result<ContinuousSampler>;
}

/// Exact sampler of independent real noise given `A z = 0`.
#[derive(Debug)]
pub struct ContinuousSampler {
    components: Vec<RealComponent>,
}

/// How one component is drawn.
#[derive(Debug)]
enum RealComponent {
    /// Laplace entries with one sum: lambda.
    LaplaceTotal(Vec<u32>, f64),
    /// Laplace entries in no equation.
    LaplaceFree(u32, Laplace),
    /// Gaussian entries with one sum: sigma.
    GaussianTotal(Vec<u32>, f64),
    /// Gaussian entries: sigma, and an orthonormal basis of what the equations leave free.
    Gaussian(Vec<u32>, f64, Vec<Vec<f64>>),
}

impl ContinuousExact for Laplace {
    /// Totals and partitions. A Laplace entry is a difference of two exponentials; given a zero sum of n entries their plus
    /// parts sum to S, as do the minus parts, with density `∝ s^(2n-2) e^(-2s/lambda)`: `S ~ Gamma(2n - 1, rate
    /// 2/lambda)` and `z = S (D - D')` with D, D' independent and uniform on the simplex.
    fn given(self, invariant: &Linear) -> Result<ContinuousSampler> {
        let components = invariant
            .components()
            .into_iter()
            .map(|component| {
                if component.rows.is_empty() {
                    Ok(RealComponent::LaplaceFree(component.entries[0], self))
                } else if component.is_total() {
                    Ok(RealComponent::LaplaceTotal(component.entries, self.scale()))
                } else {
                    Err(Error::Unsupported {
                        method: "exact",
                        what: "laplace noise under equations that share entries".into(),
                        reason: "totals and partitions are served; double-geometric noise has samplers for all",
                    })
                }
            })
            .collect::<Result<_>>()?;
        Ok(ContinuousSampler { components })
    }
}

impl ContinuousExact for Gaussian {
    /// Any equations: entry by entry given those before for a total, else `sigma N ξ` with an orthonormal basis N of the
    /// kernel and standard normal ξ.
    fn given(self, invariant: &Linear) -> Result<ContinuousSampler> {
        let components = invariant
            .components()
            .into_iter()
            .map(|component| {
                if component.is_total() {
                    return Ok(RealComponent::GaussianTotal(component.entries, self.scale()));
                }
                let vectors =
                    basis(&component, BasisKind::Reduced).or_else(|_| basis(&component, BasisKind::Smith))?;
                let vectors = orthonormal(&IntMatrix::from_vectors(&vectors, &component.entries));
                Ok(RealComponent::Gaussian(component.entries, self.scale(), vectors))
            })
            .collect::<Result<_>>()?;
        Ok(ContinuousSampler { components })
    }
}

impl ContinuousSampler {
    /// One draw, into `noise` (one value per entry).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) {
        for component in &self.components {
            match component {
                RealComponent::LaplaceFree(entry, law) => noise[*entry as usize] = law.sample(rng),
                RealComponent::LaplaceTotal(entries, lambda) => {
                    let n = entries.len() as f64;
                    if entries.len() == 1 {
                        noise[entries[0] as usize] = 0.0;
                        continue;
                    }
                    let size = gamma(rng, 2.0 * n - 1.0) * 0.5 * lambda;
                    let mut sums = [0.0, 0.0];
                    for &entry in entries {
                        let plus = exponential(rng);
                        noise[entry as usize] = plus;
                        sums[0] += plus;
                    }
                    let minus: Vec<f64> = entries.iter().map(|_| exponential(rng)).collect();
                    sums[1] = minus.iter().sum();
                    for (&entry, minus) in entries.iter().zip(&minus) {
                        let z = &mut noise[entry as usize];
                        *z = size * (*z / sums[0] - minus / sums[1]);
                    }
                }
                RealComponent::GaussianTotal(entries, sigma) => {
                    // Given the entries so far, the next has mean -sum/left and variance sigma² (1 - 1/left).
                    let mut sum = 0.0;
                    for (left, &entry) in (1..=entries.len()).rev().zip(entries) {
                        let left = left as f64;
                        let z = -sum / left + sigma * libm::sqrt(1.0 - 1.0 / left) * normal(rng);
                        noise[entry as usize] = z;
                        sum += z;
                    }
                }
                RealComponent::Gaussian(entries, sigma, vectors) => {
                    entries.iter().for_each(|&entry| noise[entry as usize] = 0.0);
                    for vector in vectors {
                        let along = sigma * normal(rng);
                        entries.iter().zip(vector).for_each(|(&entry, x)| noise[entry as usize] += along * x);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_form::{Operation, TwoBins};
    use crate::diagnostics::Moments;
    use crate::testing::{assert_distribution, assert_mean, test_stream};

    fn draws(sampler: &ContinuousSampler, entries: usize, n: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = test_stream(seed);
        (0..n)
            .map(|_| {
                let mut noise = vec![0.0; entries];
                sampler.draw(&mut rng, &mut noise);
                noise
            })
            .collect()
    }

    /// Two and three entries of a total against their laws (Congenial (4.6); "Two views", section 4), larger ones
    /// against the closed form of their variance; a lone entry of a total is 0.
    #[test]
    fn laplace_totals_have_their_laws() {
        let lambda = 1.7;
        let sampler = Laplace::new(lambda)
            .unwrap()
            .given(&Linear::partition(&[0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 3]).unwrap())
            .unwrap();
        let all = draws(&sampler, 11, 60_000, 51);
        let entry = |i: usize| all.iter().map(|z| z[i]).collect::<Vec<f64>>();
        let two = TwoBins::new(lambda, Operation::Conditioned).unwrap();
        assert_distribution(entry(0), |x| two.cdf(x));
        let tail = |s: f64| libm::exp(-2.0 * s) * (0.5 + s / 3.0);
        let three = |x: f64| if x < 0.0 { tail(-x / lambda) } else { 1.0 - tail(x / lambda) };
        assert_distribution(entry(3), three);
        assert!(entry(5).iter().all(|&z| z == 0.0));
        let squares: Moments = all.iter().map(|z| z[8] * z[8]).collect();
        let want = lambda * lambda * 9.0 * 4.0 / (5.0 * 6.0);
        assert_mean(squares.mean(), want, squares.deviation(), 60_000);
        assert!(all.iter().all(|z| z[6..].iter().sum::<f64>().abs() < 1e-12));
        assert!(Laplace::new(1.0).unwrap().given(&Linear::margins(2, 2).unwrap()).is_err());
    }

    /// Gaussian entries under equations: their covariances are sigma² times the projection onto the kernel.
    #[test]
    fn gaussian_covariances_are_the_projection() {
        let sigma = 2.0;
        let rows = [vec![1, 2, -1, 0], vec![0, 1, 1, 1]];
        let invariant = Linear::matrix(&IntMatrix::from_rows(&rows).unwrap()).unwrap();
        let sampler = Gaussian::new(sigma).unwrap().given(&invariant).unwrap();
        let total = Gaussian::new(sigma).unwrap().given(&Linear::total(4).unwrap()).unwrap();
        // Rows orthonormalised by hand: (1, 2, -1, 0)/√6 and (-1, 4, 7, 6)/√102.
        let unit = |v: [f64; 4], square: f64| v.map(|x| x / libm::sqrt(square));
        let basis = [unit([1.0, 2.0, -1.0, 0.0], 6.0), unit([-1.0, 4.0, 7.0, 6.0], 102.0)];
        for (sampler, basis) in [(sampler, &basis[..]), (total, &[[0.5; 4]][..])] {
            let all = draws(&sampler, 4, 40_000, 52);
            for i in 0..4 {
                for j in 0..=i {
                    let product: Moments = all.iter().map(|z| z[i] * z[j]).collect();
                    let identity = f64::from(u8::from(i == j));
                    let want = sigma * sigma * (identity - basis.iter().map(|b| b[i] * b[j]).sum::<f64>());
                    assert_mean(product.mean(), want, product.deviation(), 40_000);
                }
            }
        }
    }
}
