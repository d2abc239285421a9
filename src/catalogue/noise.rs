//! The noise of a count, as closed forms know it.

use super::{Family, LawKind};
use crate::closed_form::Noise;
use crate::law::{DiscreteGaussian, DoubleGeometric, Law};

/// The noise of one count; `None` for laws that are no product over the counts.
pub fn noise(law: LawKind, scale: f64) -> Option<Noise> {
    match law.family() {
        Family::Laplace => Some(Noise::Laplace(scale)),
        Family::Gaussian => Some(Noise::Gaussian(scale)),
        Family::DoubleGeometric => DoubleGeometric::new(scale).ok().map(|_| Noise::DoubleGeometric(scale)),
        Family::DiscreteGaussian => {
            DiscreteGaussian::new(scale).ok().map(|law| Noise::Variance(law.variance()))
        }
        Family::Euclidean | Family::Nothing => None,
    }
}
