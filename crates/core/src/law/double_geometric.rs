//! The double geometric (discrete Laplace) law.

use super::{IntegerLaw, Law, Tabled, positive_scale};
use crate::error::Result;
use crate::rng::{Rng, geometric};

/// Double geometric on the integers: `w(z) = a^|z|` with `a = exp(-1/lambda)`, probability
/// `(1 - a)/(1 + a) w(z)`, variance `2a/(1 - a)²`.
///
/// # Examples
///
/// ```
/// use congenial_core::law::{DoubleGeometric, Law};
///
/// let law = DoubleGeometric::new(2.0)?; // lambda, in counts
/// let a = law.ratio();
/// assert!((a - (-0.5f64).exp()).abs() < 1e-15);
/// assert!((law.variance() - 2.0 * a / (1.0 - a).powi(2)).abs() < 1e-12);
/// assert_eq!(law.log_weight(-6), -3.0);
/// assert!(DoubleGeometric::new(0.0).is_err());
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoubleGeometric {
    lambda: f64,
    rate: f64,
}

impl DoubleGeometric {
    /// Makes the law with the scale `lambda`, in counts; refused unless finite, > 0 and <= 2^40.
    pub fn new(lambda: f64) -> Result<Self> {
        positive_scale("double-geometric scale", lambda).map(Self::with_scale)
    }

    /// Makes the law with a scale that is known to be positive.
    pub(super) fn with_scale(lambda: f64) -> Self {
        Self { lambda, rate: 1.0 / lambda }
    }

    /// The rate `1/lambda`.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// The ratio `a = exp(-1/lambda)` of neighbouring weights.
    pub fn ratio(&self) -> f64 {
        libm::exp(-1.0 / self.lambda)
    }
}

impl Law for DoubleGeometric {
    type Value = i64;
    fn scale(&self) -> f64 {
        self.lambda
    }
    #[inline]
    fn log_weight(&self, z: i64) -> f64 {
        -(z.unsigned_abs() as f64) * self.rate
    }
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        geometric(rng, self.lambda) - geometric(rng, self.lambda)
    }
    #[inline]
    fn log_weights(&self, values: &[i64]) -> f64 {
        -(values.iter().map(|z| z.abs()).sum::<i64>() as f64) * self.rate
    }
    type Sampler = Tabled<Self>;
    fn sampler(&self) -> Tabled<Self> {
        Tabled::new(*self)
    }
    fn variance(&self) -> f64 {
        let one_minus = -libm::expm1(-1.0 / self.lambda);
        2.0 * self.ratio() / (one_minus * one_minus)
    }
}

impl IntegerLaw for DoubleGeometric {
    fn as_double_geometric(&self) -> Option<DoubleGeometric> {
        Some(*self)
    }
    fn tail(&self, from: i64) -> f64 {
        libm::exp(-(from as f64) * self.rate) / -libm::expm1(-self.rate)
    }
    /// Adds a geometric draw to `from`: a geometric law has no memory.
    fn sample_tail<R: Rng + ?Sized>(&self, from: i64, rng: &mut R) -> i64 {
        from + geometric(rng, self.lambda)
    }
}
