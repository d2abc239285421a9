//! Gaussian and Euclidean Laplace noise on any lattice.

use crate::error::{Error, Result};
use crate::invariant::{Component, basis};
use crate::lattice::{BasisKind, IntMatrix, Sparse, orthogonal};
use crate::law::{DiscreteGaussian, EuclideanLaplace, Law};
use crate::rng::{Rng, gamma, normal, open01};

/// Dimensions that are served: preparing takes their cube.
const MAX_PLANES: usize = 1024;
/// Least acceptance that is served.
const MIN_ACCEPTANCE: f64 = 1e-5;

/// Exact sampler of the Gaussian on a lattice, `P(z) ∝ exp(-‖z‖²/(2 sigma²))` over `{z : A z = 0}`: the
/// randomised nearest plane algorithm of Klein (2000) and Gentry, Peikert, Vaikuntanathan (2008), followed by
/// the rejection step of Brakerski, Langlois, Peikert, Regev, Stehlé (2013), Lemma 2.3, which makes it exact.
///
/// Nearest plane gives `z` with probability `exp(-‖z‖²/2σ²) / Π_i ρ_i(Z - c_i)`, where `c_i` is the centre in
/// step i and `ρ_i` the Gaussian sum of width `s_i = σ/‖b̃_i‖`; it is kept with probability
/// `Π_i ρ_i(Z - c_i)/ρ_i(Z) <= 1`. That holds for every sigma; what a small one costs is acceptance. The
/// Gram-Schmidt vectors `b̃_i` of the LLL-reduced basis are in floating point (relative error near 1e-15).
#[derive(Debug, Clone)]
pub struct Klein {
    planes: Planes,
    sigma: f64,
}

/// Exact sampler of `P(z) ∝ exp(-ε ‖z‖₂)` over the lattice `{z : A z = 0}`, without the lattice's theta function.
///
/// `exp(-ε r) ∝ ∫ v^{-1/2} exp(-r²/2v) exp(-ε² v/2) dv`. The pair (v, z) is drawn by rejection: v from the density
/// `∝ v^{-1/2} exp(-ε² v/2) Π_i (1 + sqrt(2πv)/‖b̃_i‖)`, a mixture of gamma laws with positive weights; then z by
/// nearest plane with `σ² = v`; kept with probability `Π_i ρ_i(Z - c_i)/(1 + sqrt(2πv)/‖b̃_i‖)`, at most 1 because
/// `ρ_i(Z - c) <= ρ_i(Z) <= 1 + sqrt(2π) s_i`. What is kept has the density
/// `v^{-1/2} exp(-ε² v/2) exp(-‖z‖²/2v)`, and z alone the law that is wanted.
#[derive(Debug, Clone)]
pub struct EuclideanKlein {
    planes: Planes,
    rate: f64,
    /// Cumulative weights of the gamma shapes 1/2, 1, 3/2, ….
    shapes: Vec<f64>,
}

/// A reduced basis and its Gram-Schmidt data.
#[derive(Debug, Clone)]
struct Planes {
    basis: Vec<Sparse>,
    entries: Vec<u32>,
    /// `mu[j][i]`, i < j: the component of vector j along the i-th Gram-Schmidt vector.
    mu: Vec<Vec<f64>>,
    lengths: Vec<f64>,
}

impl Planes {
    fn new(component: &Component) -> Result<Self> {
        let basis = basis(component, BasisKind::Reduced)?;
        if basis.is_empty() {
            return Err(Error::no_free_dimension());
        }
        if basis.len() > MAX_PLANES {
            return Err(Error::TooLarge {
                what: "nearest plane: the Gram-Schmidt vectors of one component".into(),
                needed: basis.len() as u64,
                limit: MAX_PLANES as u64,
                unit: "dimensions",
            });
        }
        let dense = IntMatrix::from_vectors(&basis, &component.entries);
        let (vectors, squares) = orthogonal(&dense);
        let mu = (0..basis.len())
            .map(|j| {
                let along = |i: usize| {
                    let inner: f64 = vectors[i].iter().zip(dense.row(j)).map(|(a, &b)| a * b as f64).sum();
                    inner / squares[i]
                };
                (0..j).map(along).collect()
            })
            .collect();
        let lengths = squares.into_iter().map(libm::sqrt).collect();
        Ok(Self { basis, entries: component.entries.clone(), mu, lengths })
    }

    /// Nearest plane: a lattice point into `noise`, and `Π_i ρ_i(Z - c_i)/bound(s_i)`.
    fn draw<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        sigma: f64,
        centres: &mut Vec<f64>,
        noise: &mut [i64],
        bound: impl Fn(f64) -> f64,
    ) -> f64 {
        for &entry in &self.entries {
            noise[entry as usize] = 0;
        }
        centres.clear();
        centres.resize(self.basis.len(), 0.0);
        let mut kept = 1.0;
        for j in (0..self.basis.len()).rev() {
            let width = sigma / self.lengths[j];
            let (k, mass) = centred(rng, centres[j], width);
            kept *= mass / bound(width);
            if k != 0 {
                for (centre, mu) in centres.iter_mut().zip(&self.mu[j]) {
                    *centre -= k as f64 * mu;
                }
                for &(entry, x) in &self.basis[j] {
                    noise[entry as usize] += k * i64::from(x);
                }
            }
        }
        kept
    }
}

impl Klein {
    /// Prepares the sampler of one component.
    ///
    /// Errors: no free dimension; a lattice that [`basis`] refuses to reduce; a sigma so small that fewer than
    /// one draw in 10^5 might be kept.
    pub fn new(component: &Component, law: &DiscreteGaussian) -> Result<Self> {
        let klein = Self { planes: Planes::new(component)?, sigma: law.scale() };
        if klein.least_acceptance() < MIN_ACCEPTANCE {
            return Err(Error::Unsupported {
                method: "klein",
                what: format!("sigma {} on this lattice", klein.sigma),
                reason: "sigma is too small beside the lattice's vectors for its rejection step; use line-gibbs",
            });
        }
        Ok(klein)
    }

    /// Lower bound of the probability that a draw is kept.
    pub fn least_acceptance(&self) -> f64 {
        let worst =
            |length: &f64| gaussian_sum(0.5, self.sigma / length) / gaussian_sum(0.0, self.sigma / length);
        self.planes.lengths.iter().map(worst).product()
    }

    /// Draws once, into the component's entries of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, centres: &mut Vec<f64>, noise: &mut [i64]) {
        loop {
            let kept = self.planes.draw(rng, self.sigma, centres, noise, |width| gaussian_sum(0.0, width));
            if open01(rng) < kept {
                return;
            }
        }
    }
}

impl EuclideanKlein {
    /// Prepares the sampler of one component.
    ///
    /// Errors: no free dimension; a lattice that [`basis`] refuses to reduce; an epsilon so large that fewer than
    /// one draw in 10^5 would be kept.
    pub fn new(component: &Component, law: &EuclideanLaplace) -> Result<Self> {
        let planes = Planes::new(component)?;
        // ln of the coefficients of Π (1 + x t_i), with sqrt(v) = x sqrt(2)/ε, times the gamma integrals.
        let mut logs = vec![0.0];
        for length in &planes.lengths {
            let log = libm::log(libm::sqrt(4.0 * std::f64::consts::PI) / (law.rate() * length));
            logs.push(f64::NEG_INFINITY);
            for j in (1..logs.len()).rev() {
                logs[j] = log_add(logs[j], logs[j - 1] + log);
            }
        }
        for (j, log) in logs.iter_mut().enumerate() {
            *log += libm::lgamma(0.5 * (j as f64 + 1.0));
        }
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        let shapes: Vec<f64> = logs
            .iter()
            .map(|log| {
                sum += libm::exp(log - top);
                sum
            })
            .collect();
        let sampler = Self { planes, rate: law.rate(), shapes };
        let typical = sampler.shapes.partition_point(|&s| s < 0.5 * sum);
        let sigma = libm::sqrt(typical as f64 + 1.0) / sampler.rate;
        let kept: f64 = sampler
            .planes
            .lengths
            .iter()
            .map(|length| gaussian_sum(0.5, sigma / length) / envelope(sigma / length))
            .product();
        if kept < MIN_ACCEPTANCE {
            return Err(Error::Unsupported {
                method: "exact",
                what: format!("l2 noise with epsilon {} on this lattice", sampler.rate),
                reason: "fewer than one draw in 100,000 might be kept; use line-gibbs",
            });
        }
        Ok(sampler)
    }

    /// Draws once, into the component's entries of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, centres: &mut Vec<f64>, noise: &mut [i64]) {
        loop {
            let target = open01(rng) * self.shapes[self.shapes.len() - 1];
            let j = self.shapes.partition_point(|&sum| sum <= target).min(self.shapes.len() - 1);
            // Gamma(1/2) is half a squared normal.
            let unit = if j == 0 {
                let x = normal(rng);
                0.5 * x * x
            } else {
                gamma(rng, 0.5 * (j as f64 + 1.0))
            };
            let sigma = libm::sqrt(2.0 * unit) / self.rate;
            let kept = self.planes.draw(rng, sigma.max(1e-9), centres, noise, envelope);
            if open01(rng) < kept {
                return;
            }
        }
    }
}

fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + libm::log1p(libm::exp(low - high)) }
}

/// `1 + sqrt(2π) s`, at least the Gaussian sum of width `s` about any centre.
#[inline]
fn envelope(width: f64) -> f64 {
    1.0 + libm::sqrt(2.0 * std::f64::consts::PI) * width
}

/// `Σ_k exp(-(k - centre)²/(2 width²))` over all integers.
fn gaussian_sum(centre: f64, width: f64) -> f64 {
    use std::f64::consts::PI;
    if width > 0.8 {
        // Poisson summation; the next term is below 1e-21.
        let wave =
            |k: f64| libm::exp(-2.0 * PI * PI * k * k * width * width) * libm::cos(2.0 * PI * k * centre);
        return libm::sqrt(2.0 * PI) * width * (1.0 + 2.0 * wave(1.0) + 2.0 * wave(2.0));
    }
    let near = libm::rint(centre);
    let weight = |k: f64| libm::exp(-0.5 * ((k - centre) / width) * ((k - centre) / width));
    (-10..=10).map(|k| weight(near + f64::from(k))).sum()
}

/// A draw of the Gaussian on the integers about a real centre, and its sum of weights.
fn centred<R: Rng + ?Sized>(rng: &mut R, centre: f64, width: f64) -> (i64, f64) {
    let mass = gaussian_sum(centre, width);
    let mode = libm::rint(centre);
    let precision = 1.0 / (width * width);
    let start = mode - centre;
    let mut rest = open01(rng) * mass;
    let top = libm::exp(-0.5 * precision * start * start);
    rest -= top;
    if rest < 0.0 {
        return (mode as i64, mass);
    }
    // Outwards on both sides: w(x + 1)/w(x) = exp(-precision (x + 1/2)), which shrinks by exp(-precision).
    let shrink = libm::exp(-precision);
    let (mut up, mut down) = (top, top);
    let (mut up_ratio, mut down_ratio) =
        (libm::exp(-precision * (start + 0.5)), libm::exp(-precision * (0.5 - start)));
    for k in 1.. {
        up *= up_ratio;
        up_ratio *= shrink;
        rest -= up;
        if rest < 0.0 {
            return (mode as i64 + k, mass);
        }
        down *= down_ratio;
        down_ratio *= shrink;
        rest -= down;
        if rest < 0.0 {
            return (mode as i64 - k, mass);
        }
        if up < 1e-25 && down < 1e-25 {
            break;
        }
    }
    (mode as i64, mass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, test_stream};

    #[test]
    fn both_forms_of_the_gaussian_sum_agree() {
        for centre in [0.0, 0.2, 0.5, -3.4] {
            for width in [0.79, 0.81, 1.0, 3.0] {
                let direct: f64 = (-60..=60)
                    .map(|k| {
                        let x = (f64::from(k) - centre) / width;
                        libm::exp(-0.5 * x * x)
                    })
                    .sum();
                assert!((gaussian_sum(centre, width) / direct - 1.0).abs() < 1e-14, "{centre} {width}");
            }
        }
    }

    #[test]
    fn centred_draws_have_their_law() {
        let mut rng = test_stream(3);
        for (centre, width) in [(0.3, 0.4), (-7.5, 1.3), (2.9, 6.0)] {
            let draws = 100_000;
            let mut counts = std::collections::HashMap::new();
            for _ in 0..draws {
                *counts.entry(centred(&mut rng, centre, width).0).or_insert(0u64) += 1;
            }
            let mass = gaussian_sum(centre, width);
            let p = |k: i64| {
                let x = (k as f64 - centre) / width;
                libm::exp(-0.5 * x * x) / mass
            };
            assert_frequencies((-60..60).map(|k| (counts.get(&k).copied().unwrap_or(0), p(k))), draws);
        }
    }
}
