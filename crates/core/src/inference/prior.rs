//! What is believed of a leaf's count before anything is released.

use crate::error::{Error, Result};

/// What is believed of a leaf's count before anything is released.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prior {
    /// Every integer weighs the same.
    Flat,
    /// Every integer from one to another weighs the same; ends beyond 2^53 are none.
    Between(i64, i64),
    /// Poisson with this mean.
    Poisson(f64),
    /// Negative binomial with this mean and size (its variance is `mean + mean²/size`).
    NegativeBinomial {
        /// The mean.
        mean: f64,
        /// The size.
        size: f64,
    },
    /// Poisson, given that the count lies in a range.
    TruncatedPoisson {
        /// The mean without the range.
        mean: f64,
        /// From here.
        low: i64,
        /// To there; beyond 2^53: without an end.
        high: i64,
    },
    /// Negative binomial, given that the count lies in a range.
    TruncatedNegativeBinomial {
        /// The mean without the range.
        mean: f64,
        /// The size without the range.
        size: f64,
        /// From here.
        low: i64,
        /// To there; beyond 2^53: without an end.
        high: i64,
    },
}

/// An end from here on is none.
const ENDLESS: i64 = 1 << 53;
/// Terms of the mass of a range at most.
const TERMS: u64 = 1 << 24;

impl Prior {
    /// Every integer >= 0 weighs the same.
    pub const NONNEGATIVE: Self = Self::Between(0, i64::MAX);

    /// This prior, given that the count is from `low` to `high`; ends beyond 2^53 are none. With the ends of another range the range
    /// that both have.
    ///
    /// # Examples
    ///
    /// ```
    /// use congenial_core::inference::Prior;
    ///
    /// assert_eq!(Prior::NONNEGATIVE.within(-3, 9), Prior::Between(0, 9));
    /// assert_eq!(Prior::Poisson(2.0).within(1, 9), Prior::TruncatedPoisson { mean: 2.0, low: 1, high: 9 });
    /// ```
    pub fn within(self, low: i64, high: i64) -> Self {
        let (own_low, own_high) = self.ends();
        let (low, high) = (low.max(own_low), high.min(own_high));
        match self {
            Self::Flat | Self::Between(..) => Self::Between(low, high),
            Self::Poisson(mean) | Self::TruncatedPoisson { mean, .. } => {
                Self::TruncatedPoisson { mean, low, high }
            }
            Self::NegativeBinomial { mean, size } | Self::TruncatedNegativeBinomial { mean, size, .. } => {
                Self::TruncatedNegativeBinomial { mean, size, low, high }
            }
        }
    }

    pub(super) fn check(self) -> Result<()> {
        let good = |name: &'static str, x: f64| match x.is_finite() && x > 0.0 {
            true => Ok(()),
            false => Err(Error::parameter(name, x, "a finite number > 0")),
        };
        match self {
            Self::Flat | Self::Between(..) => Ok(()),
            Self::Poisson(mean) | Self::TruncatedPoisson { mean, .. } => good("mean", mean),
            Self::NegativeBinomial { mean, size } | Self::TruncatedNegativeBinomial { mean, size, .. } => {
                good("mean", mean).and_then(|()| good("size", size))
            }
        }
    }

    /// The logarithm of its probability of x, but for a constant: of flat ones, and of a range [`Prior::log_mass`].
    pub(crate) fn log(self, x: i64) -> f64 {
        let (low, high) = self.ends();
        if x < low || x > high {
            return f64::NEG_INFINITY;
        }
        match self {
            Self::Flat | Self::Between(..) => 0.0,
            Self::Poisson(mean) | Self::TruncatedPoisson { mean, .. } => log_poisson(x as f64, mean),
            Self::NegativeBinomial { mean, size } | Self::TruncatedNegativeBinomial { mean, size, .. } => {
                log_negative_binomial(x as f64, mean, size)
            }
        }
    }

    /// `a` and `b` of the ratios of neighbours without a range: `p(x + 1)/p(x) = (a + b x)/(x + 1)` for all x >= 0.
    pub(super) fn rise(self) -> (f64, f64) {
        match self {
            Self::Flat | Self::Between(..) => (1.0, 1.0),
            Self::Poisson(mean) | Self::TruncatedPoisson { mean, .. } => (mean, 0.0),
            Self::NegativeBinomial { mean, size } | Self::TruncatedNegativeBinomial { mean, size, .. } => {
                let q = mean / (mean + size);
                (q * size, q)
            }
        }
    }

    /// The first and the last count that it allows.
    pub(super) fn ends(self) -> (i64, i64) {
        match self {
            Self::Flat => (i64::MIN, i64::MAX),
            Self::Between(low, high) => (low, high),
            Self::Poisson(_) | Self::NegativeBinomial { .. } => (0, i64::MAX),
            Self::TruncatedPoisson { low, high, .. } | Self::TruncatedNegativeBinomial { low, high, .. } => {
                (low.max(0), high)
            }
        }
    }

    /// Where it begins and ends.
    pub(super) fn support(self) -> (f64, f64) {
        let (low, high) = self.ends();
        let end = |x: i64, none: f64| if x.unsigned_abs() > ENDLESS as u64 { none } else { x as f64 };
        (end(low, f64::NEG_INFINITY), end(high, f64::INFINITY))
    }

    /// A place near which it weighs most; `None` where it is flat.
    pub(super) fn mode(self) -> Option<f64> {
        match self {
            Self::Flat | Self::Between(..) => None,
            Self::Poisson(mean) | Self::TruncatedPoisson { mean, .. } => Some(mean),
            Self::NegativeBinomial { mean, size } | Self::TruncatedNegativeBinomial { mean, size, .. } => {
                Some(if size > 1.0 { mean * (size - 1.0) / size } else { 0.0 })
            }
        }
    }

    /// The logarithm of the mass that the law without a range has in the range; 0 without one, minus infinity of nothing.
    ///
    /// By its terms, from the largest to either side until what is left is below 1e-17 of the sum. Errors: more than 2^24 of them.
    pub(crate) fn log_mass(self) -> Result<f64> {
        if !matches!(self, Self::TruncatedPoisson { .. } | Self::TruncatedNegativeBinomial { .. }) {
            return Ok(0.0);
        }
        // Ratios of neighbours, and what no later one is above.
        let (a, limit) = self.rise();
        let up = |x: f64| (a + limit * x) / (x + 1.0);
        let (low, high) = self.support();
        if low > high {
            return Ok(f64::NEG_INFINITY);
        }
        if (low, high) == (0.0, f64::INFINITY) {
            return Ok(0.0);
        }
        let start = libm::floor(self.mode().unwrap_or(low).clamp(low, high));
        let (mut sum, mut terms) = (1.0, 0u64);
        let (mut term, mut x) = (1.0, start);
        while x < high {
            let ratio = up(x);
            term *= ratio;
            x += 1.0;
            sum += term;
            terms += 1;
            let most = up(x).max(limit);
            if most < 1.0 && term * most < 1e-17 * sum * (1.0 - most) {
                break;
            }
            if terms > TERMS {
                return Err(Error::TooLarge {
                    what: "the mass of a prior between its bounds".into(),
                    needed: (high - low).min(1e18) as u64,
                    limit: TERMS,
                    unit: "terms",
                });
            }
        }
        (term, x) = (1.0, start);
        while x > low {
            // Below the mode ratios fall.
            let ratio = 1.0 / up(x - 1.0);
            if ratio < 1.0 && term * ratio < 1e-17 * sum * (1.0 - ratio) {
                break;
            }
            term *= ratio;
            x -= 1.0;
            sum += term;
        }
        Ok(self.log(start as i64) + libm::log(sum))
    }
}

/// `ln x!`, of any number >= 0.
fn log_factorial(x: f64) -> f64 {
    libm::lgamma(x + 1.0)
}

/// The logarithm of a Poisson probability, of any number x >= 0.
pub(super) fn log_poisson(x: f64, mean: f64) -> f64 {
    x * libm::log(mean) - mean - log_factorial(x)
}

/// The logarithm of a negative binomial probability, of any number x >= 0.
pub(super) fn log_negative_binomial(x: f64, mean: f64, size: f64) -> f64 {
    if size < LARGE {
        return libm::lgamma(x + size) - libm::lgamma(size) - log_factorial(x)
            + size * libm::log(size / (size + mean))
            + x * libm::log(mean / (size + mean));
    }
    // Against the Poisson probability, which it is near: `ln Γ(x + k) - ln Γ(k) - x ln k` by Stirling's series.
    let rise = (size + x - 0.5) * libm::log1p(x / size) - x + series(size + x) - series(size);
    log_poisson(x, mean) + mean + rise - (size + x) * libm::log1p(mean / size)
}

/// Sizes from which Stirling's series is below 1e-17 off.
const LARGE: f64 = 100.0;

/// `ln Γ(z) - (z - 1/2) ln z + z - ln √(2π)`, of large z.
fn series(z: f64) -> f64 {
    let square = z * z;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / z
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mass of ranges is the sum of all terms, by products.
    #[test]
    fn masses_are_sums() {
        let poisson = |mean: f64| (Prior::Poisson(mean), mean, None);
        let negative = |mean: f64, size: f64| (Prior::NegativeBinomial { mean, size }, mean, Some(size));
        for (prior, mean, size) in [
            poisson(0.3),
            poisson(7.5),
            poisson(60.0),
            negative(2.0, 0.4),
            negative(30.0, 5.0),
            negative(9.0, 1.0),
        ] {
            // Up to where nothing is left.
            let mut p = match size {
                None => libm::exp(-mean),
                Some(size) => libm::pow(size / (size + mean), size),
            };
            let mut law = vec![p];
            for x in 0..3000 {
                let x = f64::from(x);
                p *= match size {
                    None => mean / (x + 1.0),
                    Some(size) => mean / (mean + size) * (x + size) / (x + 1.0),
                };
                law.push(p);
            }
            for (low, high) in [(0, 5), (3, 3), (2, i64::MAX), (-7, 40), (10, 90), (0, i64::MAX), (80, 200)] {
                let last = usize::try_from(high).unwrap().min(3000);
                let want = libm::log(law[low.max(0) as usize..=last].iter().rev().sum());
                let got = prior.within(low, high).log_mass().unwrap();
                assert!(
                    (got - want).abs() < 1e-12 * want.abs().max(1.0),
                    "{prior:?} {low} {high}: {got} {want}"
                );
            }
            assert_eq!(prior.within(4, 3).log_mass().unwrap(), f64::NEG_INFINITY);
        }
        let long = Prior::NegativeBinomial { mean: 1e9, size: 0.01 }.within(5, i64::MAX);
        assert!(long.log_mass().unwrap_err().to_string().contains("terms"));
    }

    /// Both forms of the negative binomial agree, and the limit of large sizes is Poisson.
    #[test]
    fn large_sizes_lose_no_digits() {
        for (x, mean, size) in [(0.0, 3.0, 100.0), (7.0, 3.0, 250.0), (40.0, 55.0, 1e3), (2.5, 4.0, 137.5)] {
            let direct: f64 = libm::lgamma(x + size) - libm::lgamma(size) - libm::lgamma(x + 1.0)
                + size * libm::log(size / (size + mean))
                + x * libm::log(mean / (size + mean));
            let got = log_negative_binomial(x, mean, size);
            assert!((got - direct).abs() < 1e-11, "{x} {mean} {size}: {got} {direct}");
        }
        // The first order of the difference: ((x - mean)² - x)/(2 size).
        let (x, mean, size) = (12.0, 9.0, 1e8);
        let off = log_negative_binomial(x, mean, size) - log_poisson(x, mean);
        let want = ((x - mean) * (x - mean) - x) / (2.0 * size);
        assert!((off / want - 1.0).abs() < 1e-5, "{off} {want}");
    }
}
