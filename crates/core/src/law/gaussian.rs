//! The Gaussian law.

use super::{Bounded, Law, Line, LineLaw, LinePair, RealLaw, Term, Value, maximal, positive_scale};
use crate::error::Result;
use crate::rng::{Rng, normal, normal_cdf, normal_quantile};

/// Gaussian on the reals: `w(z) = exp(-z²/(2 sigma²))`, variance `sigma²`.
///
/// # Examples
///
/// ```
/// use congenial_core::law::{Gaussian, Law, RealLaw};
///
/// let law = Gaussian::new(2.0)?; // sigma, in counts
/// assert_eq!((law.variance(), law.log_weight(2.0)), (4.0, -0.5));
/// // Along (1, 1, 1, 1) four of them are one of half the sigma.
/// assert!((law.along(&[1.0; 4]).scale() - 1.0).abs() < 1e-15);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaussian {
    sigma: f64,
}

impl Gaussian {
    /// Makes the law with the standard deviation `sigma`, in counts; refused unless finite, > 0 and <= 2^40.
    pub fn new(sigma: f64) -> Result<Self> {
        Ok(Self { sigma: positive_scale("gaussian sigma", sigma)? })
    }
}

impl Law for Gaussian {
    type Value = f64;
    fn scale(&self) -> f64 {
        self.sigma
    }
    #[inline]
    fn log_weight(&self, z: f64) -> f64 {
        let x = z / self.sigma;
        -0.5 * x * x
    }
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        normal(rng) * self.sigma
    }
    type Sampler = Self;
    fn sampler(&self) -> Self {
        *self
    }
    fn variance(&self) -> f64 {
        self.sigma * self.sigma
    }
}

impl LineLaw for Gaussian {
    /// The precision `1/sigma²` of each level.
    type Tables = Vec<f64>;
    fn tables(laws: &[Self]) -> Vec<f64> {
        laws.iter().map(|law| 1.0 / (law.sigma * law.sigma)).collect()
    }

    /// Gaussian weights along a line multiply to a Gaussian; bounds truncate it.
    #[inline]
    fn line(precisions: &Vec<f64>, line: &mut Line<f64>, lo: f64, hi: f64, u: f64) -> f64 {
        let (mean, sd) = along(precisions, &line.terms);
        let t = mean + sd * truncated_quantile((lo - mean) / sd, (hi - mean) / sd, u);
        t.clamp(lo, hi)
    }

    fn line_pair<R: Rng + ?Sized>(
        precisions: &Vec<f64>,
        x: Bounded<f64>,
        y: Bounded<f64>,
        apart: f64,
        u: f64,
        rng: &mut R,
    ) -> Option<LinePair<f64>> {
        Some(maximal::<Self, R>(precisions, x, y, apart, u, rng))
    }
}

impl RealLaw for Gaussian {
    fn along(self, coefficients: &[f64]) -> Self {
        Self { sigma: self.sigma / libm::sqrt(coefficients.iter().map(|c| c * c).sum()) }
    }

    fn line_log_density(precisions: &Vec<f64>, line: &mut Line<f64>, lo: f64, hi: f64, t: f64) -> f64 {
        let (mean, sd) = along(precisions, &line.terms);
        let x = (t - mean) / sd;
        -0.5 * x * x - libm::log(sd) - log_mass((lo - mean) / sd, (hi - mean) / sd)
    }
}

/// Mean and standard deviation of the product of Gaussian weights along a line.
#[inline]
pub(super) fn along<V: Value>(precisions: &[f64], terms: &[Term<V>]) -> (f64, f64) {
    let (mut precision, mut pull) = (0.0, 0.0);
    for term in terms {
        precision += precisions[term.level];
        pull -= precisions[term.level] * term.at.to_f64();
    }
    (pull / precision, 1.0 / libm::sqrt(precision))
}

/// The `u`-quantile of a standard normal restricted to `[lo, hi]`.
pub(super) fn truncated_quantile(lo: f64, hi: f64, u: f64) -> f64 {
    if lo == f64::NEG_INFINITY && hi == f64::INFINITY {
        normal_quantile(u)
    } else if lo > 0.0 {
        // Work in the lower tail, where probabilities are accurate.
        -lower_tail_quantile(-hi, -lo, 1.0 - u)
    } else {
        lower_tail_quantile(lo, hi, u)
    }
}

fn lower_tail_quantile(lo: f64, hi: f64, u: f64) -> f64 {
    if hi < -FAR {
        return -far_tail_quantile(-hi, -lo, 1.0 - u);
    }
    let (below, upto) = (normal_cdf(lo), normal_cdf(hi));
    let p = (below + u * (upto - below)).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
    normal_quantile(p).clamp(lo, hi)
}

/// Where probabilities come near the end of f64, and the series below is exact to 1e-9.
const FAR: f64 = 30.0;

/// `ln ∫ exp(-x²/2)` over `[lo, hi]`.
fn log_mass(lo: f64, hi: f64) -> f64 {
    // In the lower tail, where probabilities are accurate.
    let (lo, hi) = if lo > 0.0 { (-hi, -lo) } else { (lo, hi) };
    if hi < -FAR {
        let above = log_tail(-hi);
        return above
            + libm::log1p(-if lo == f64::NEG_INFINITY { 0.0 } else { libm::exp(log_tail(-lo) - above) });
    }
    libm::log(normal_cdf(hi) - normal_cdf(lo)) + 0.5 * libm::log(2.0 * std::f64::consts::PI)
}

/// `ln ∫_x^∞ exp(-y²/2) dy` for `x >= FAR`: Mills' ratio by its asymptotic series.
fn log_tail(x: f64) -> f64 {
    let y = 1.0 / (x * x);
    -0.5 * x * x - libm::log(x) + libm::log1p(-y * (1.0 - 3.0 * y * (1.0 - 5.0 * y)))
}

/// The `u`-quantile on `[lo, hi]` with `lo >= FAR`, by Newton steps on the logarithm of the tail.
fn far_tail_quantile(lo: f64, hi: f64, u: f64) -> f64 {
    let start = log_tail(lo);
    let rest = if hi.is_finite() { libm::exp(log_tail(hi) - start) } else { 0.0 };
    let target = start + libm::log1p(-u * (1.0 - rest));
    // The tail falls like exp(-x²/2): a start that is right to 1/x².
    let mut x = libm::sqrt(lo * lo - 2.0 * libm::log1p(-u * (1.0 - rest)));
    for _ in 0..4 {
        x += (log_tail(x) - target) / (x + 1.0 / x);
    }
    x.clamp(lo, hi)
}
