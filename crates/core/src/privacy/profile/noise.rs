//! Integer noise by its law and scale.

/// A law of integer noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegerNoise {
    /// The weight `exp(-|z|/lambda)`.
    DoubleGeometric,
    /// The weight `exp(-z²/(2 sigma²))`.
    DiscreteGaussian,
}

impl IntegerNoise {
    /// The scale of the law whose weight is a power of the one of a scale.
    pub(super) fn scale_of_power(self, scale: f64, power: u32) -> f64 {
        match self {
            Self::DoubleGeometric => scale / f64::from(power),
            Self::DiscreteGaussian => scale / libm::sqrt(f64::from(power)),
        }
    }
}
