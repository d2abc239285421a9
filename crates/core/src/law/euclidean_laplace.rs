//! The Laplace law of the Euclidean norm.

use super::positive_scale;
use crate::error::Result;

/// `q(z) ∝ exp(-epsilon ‖z‖₂)`: the generalised Laplace mechanism with the ℓ2 norm (Dharangutte, Gao, Gong,
/// Yu, "Integer subspace differential privacy", Def. 9). Not a product over entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EuclideanLaplace {
    rate: f64,
}

impl EuclideanLaplace {
    /// Makes the law with `scale` = 1/epsilon, in counts; refused unless finite, > 0 and <= 2^40.
    pub fn new(scale: f64) -> Result<Self> {
        Ok(Self { rate: 1.0 / positive_scale("l2 scale", scale)? })
    }

    /// The rate epsilon = 1/scale.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}
