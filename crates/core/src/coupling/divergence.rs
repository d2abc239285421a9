//! f-divergences.

use std::fmt::{self, Display, Formatter};

/// `D_f(π‖μ) = E_μ f(dπ/dμ)` for a convex f with f(1) = 0.
///
/// # Examples
///
/// ```
/// use congenial_core::coupling::Divergence;
///
/// // Between the laws (1/2, 1/2) and (1/4, 3/4): E f(ratio) under the second.
/// let of = |divergence: Divergence| 0.25 * divergence.f(2.0) + 0.75 * divergence.f(2.0 / 3.0);
/// assert!((of(Divergence::TotalVariation) - 0.25).abs() < 1e-15);
/// assert!((of(Divergence::ChiSquared) - 1.0 / 3.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Divergence {
    /// `f(r) = |r - 1|/2`: the total variation distance, at most 1.
    TotalVariation,
    /// `f(r) = (r - 1)²`.
    ChiSquared,
    /// `f(r) = r ln r`: `KL(π‖μ)`, in nats.
    KullbackLeibler,
    /// `f(r) = (√r - 1)²/2`: the squared Hellinger distance `1 - Σ √(π μ)`, at most 1.
    HellingerSquared,
}

impl Divergence {
    /// All divergences, in the order in which results list them.
    pub const ALL: [Self; 4] =
        [Self::TotalVariation, Self::ChiSquared, Self::KullbackLeibler, Self::HellingerSquared];

    /// The name of the divergence in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::TotalVariation => "tv",
            Self::ChiSquared => "chi-squared",
            Self::KullbackLeibler => "kl",
            Self::HellingerSquared => "hellinger-squared",
        }
    }

    /// The divergence of a name; `None` for another name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|divergence| divergence.name() == name)
    }

    /// The function `f(ratio)` of the divergence, for a ratio >= 0.
    pub fn f(self, ratio: f64) -> f64 {
        match self {
            Self::TotalVariation => 0.5 * (ratio - 1.0).abs(),
            Self::ChiSquared => (ratio - 1.0) * (ratio - 1.0),
            Self::KullbackLeibler if ratio > 0.0 => ratio * libm::log(ratio),
            Self::KullbackLeibler => 0.0,
            Self::HellingerSquared => {
                let root = libm::sqrt(ratio) - 1.0;
                0.5 * root * root
            }
        }
    }
}

impl Display for Divergence {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divergences of the laws (1/2, 1/2) and (1/4, 3/4) are those by hand.
    #[test]
    fn of_two_coins() {
        let of = |divergence: Divergence| 0.25 * divergence.f(2.0) + 0.75 * divergence.f(2.0 / 3.0);
        let roots = (0.125f64).sqrt() + (0.375f64).sqrt();
        let want = [0.25, 1.0 / 3.0, 0.5 * libm::log(4.0 / 3.0), 1.0 - roots];
        for (divergence, want) in Divergence::ALL.into_iter().zip(want) {
            assert!((of(divergence) - want).abs() < 1e-15, "{divergence}");
            assert_eq!((divergence.f(1.0), Divergence::named(divergence.name())), (0.0, Some(divergence)));
        }
        assert_eq!(Divergence::ALL.map(|divergence| divergence.f(0.0)), [0.5, 1.0, 0.0, 0.5]);
    }
}
