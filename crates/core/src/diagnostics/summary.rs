//! Means with their standard errors.

/// A mean and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean over replicates.
    pub mean: f64,
    /// The standard error of the mean, `sd / sqrt(n)`; NaN for a single replicate.
    pub standard_error: f64,
}

impl Estimate {
    /// Makes an estimate from what tables hold: its standard error is NaN where none is known.
    pub fn new(mean: f64, standard_error: Option<f64>) -> Self {
        Self { mean, standard_error: standard_error.unwrap_or(f64::NAN) }
    }

    /// The square root of a mean square, with its standard error to first order: `error / (2 root)`.
    pub fn root(self) -> Self {
        let root = libm::sqrt(self.mean);
        let standard_error =
            if root > 0.0 { self.standard_error / (2.0 * root) } else { self.standard_error };
        Self { mean: root, standard_error }
    }
}

/// Running mean and variance (Welford 1962).
///
/// # Examples
///
/// ```
/// use congenial_core::diagnostics::Moments;
///
/// let mut moments = Moments::default();
/// [1.0, 2.0, 3.0, 4.0].iter().for_each(|&x| moments.push(x));
/// let estimate = moments.estimate();
/// assert_eq!(estimate.mean, 2.5);
/// // sd² = 5/3, and the standard error is sd/2.
/// assert!((estimate.standard_error - (5.0f64 / 12.0).sqrt()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds one value.
    pub fn push(&mut self, x: f64) {
        self.count += 1;
        let delta = x - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (x - self.mean);
    }

    /// The number of values that were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; NaN if nothing was added.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// Sample standard deviation (divisor n - 1); NaN for fewer than two values.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { f64::NAN } else { libm::sqrt(self.squares / (self.count - 1) as f64) }
    }

    /// The mean with its standard error.
    pub fn estimate(&self) -> Estimate {
        Estimate { mean: self.mean(), standard_error: self.deviation() / libm::sqrt(self.count as f64) }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|x| moments.push(x));
        moments
    }
}
