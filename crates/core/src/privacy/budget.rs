//! A budget and its split over the levels of a hierarchy.

use super::Accountant;
use crate::error::{Error, Result};

/// How the budget is split over the levels that are measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Split {
    /// Every level gets the whole budget: a release of `L` levels pays it `L` times over.
    Each,
    /// Level `l` gets the share `shares[l]`; they sum to 1.
    Shares(Vec<f64>),
}

/// Which definition the noise is calibrated for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guarantee {
    /// epsilon-differential privacy, additive in epsilon: Laplace and double geometric noise.
    Pure,
    /// (epsilon, delta) through rho, which adds over levels: Gaussian and discrete Gaussian noise.
    Concentrated {
        /// The delta at which epsilon is stated; in (0, 1).
        delta: f64,
        /// How an epsilon is read off a rho.
        accountant: Accountant,
    },
}

/// A privacy budget.
///
/// # Examples
///
/// ```
/// use congenial_core::privacy::{Budget, Guarantee, Split};
///
/// // epsilon 1 over two levels, of which the second gets three quarters.
/// let split = Split::Shares(vec![0.25, 0.75]);
/// let budget = Budget { epsilon: 1.0, guarantee: Guarantee::Pure, sensitivity: 1.0, split };
/// let calibration = budget.calibrate(2)?;
/// assert_eq!(calibration.scales, [4.0, 1.0 / 0.75]); // lambda, in counts
/// assert_eq!((calibration.epsilon, calibration.delta), (1.0, 0.0));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// epsilon > 0, of the whole (or of each level, see [`Split::Each`]).
    pub epsilon: f64,
    /// The definition of privacy that the noise is calibrated for.
    pub guarantee: Guarantee,
    /// Sensitivity of the counts of one level: by how much one neighbouring step changes them, in L1
    /// (pure) or L2 (concentrated), > 0.
    pub sensitivity: f64,
    /// The split of the budget over the levels.
    pub split: Split,
}

/// The noise of every level, and what measuring all of them pays.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// By level: lambda (pure) or sigma (concentrated), in counts; 0 for the levels, of which the root's is the first, that are known
    /// whole.
    pub scales: Vec<f64>,
    /// epsilon of the measurements of all levels together.
    pub epsilon: f64,
    /// delta of the measurements of all levels together; 0 for pure privacy.
    pub delta: f64,
}

impl Calibration {
    /// Refuses numbers that have left the range of floating point.
    pub(super) fn checked(self) -> Result<Self> {
        let good = |x: f64| x.is_finite() && x > 0.0;
        match self.scales.iter().find(|scale| !good(**scale)) {
            Some(scale) => Err(Error::parameter("noise scale", scale, "a finite number > 0")),
            None if good(self.epsilon) => Ok(self),
            None => {
                Err(Error::parameter("epsilon of all levels together", self.epsilon, "a finite number > 0"))
            }
        }
    }
}

impl Calibration {
    /// Adds, above the others, so many levels that are known whole and not measured.
    pub fn below_known(mut self, levels: usize) -> Self {
        self.scales.splice(0..0, std::iter::repeat_n(0.0, levels));
        self
    }

    /// The scale of the first level that is measured.
    pub fn first_scale(&self) -> f64 {
        self.scales.iter().copied().find(|scale| *scale > 0.0).unwrap_or(0.0)
    }

    /// A law for each level. Levels that are known whole have no noise: their law, that of the first level below, is
    /// never drawn.
    pub fn laws<L>(&self, law: impl Fn(f64) -> L) -> impl Iterator<Item = L> {
        let first = self.first_scale();
        self.scales.iter().map(move |&scale| law(if scale > 0.0 { scale } else { first }))
    }
}

impl Budget {
    /// What a share of the budget buys: by a share > 0 the scale of the noise of a level, in counts.
    ///
    /// - Pure: `lambda = sensitivity / (epsilon share)`.
    /// - Concentrated: rho is the largest of which the accountant makes no more than epsilon ([`Accountant::rho`]), and
    ///   `sigma = sensitivity / sqrt(2 rho share)` (discrete Gaussian: Canonne, Kamath, Steinke 2020, Thm. 4).
    ///
    /// Errors: a number outside its range.
    pub fn scale(&self) -> Result<impl Fn(f64) -> f64 + use<>> {
        let rho = self.rho()?;
        let Self { epsilon, sensitivity, .. } = *self;
        Ok(move |share| match rho {
            None => sensitivity / (epsilon * share),
            Some((rho, ..)) => sensitivity / libm::sqrt(2.0 * rho * share),
        })
    }

    /// Of concentrated privacy rho, and what it is read by. Errors: a number outside its range.
    fn rho(&self) -> Result<Option<(f64, f64, Accountant)>> {
        for (name, x) in [("epsilon", self.epsilon), ("sensitivity", self.sensitivity)] {
            positive(name, x)?;
        }
        match self.guarantee {
            Guarantee::Pure => Ok(None),
            Guarantee::Concentrated { delta, .. } if !(delta > 0.0 && delta < 1.0) => {
                Err(Error::parameter("delta", delta, "a number in (0, 1)"))
            }
            Guarantee::Concentrated { delta, accountant } => {
                Ok(Some((accountant.rho(self.epsilon, delta), delta, accountant)))
            }
        }
    }

    /// Calibrates the noise of `levels` levels, each by its share ([`Budget::scale`]). All levels pay `Σ epsilon_l`, or `Σ rho_l`,
    /// converted back. Valid for every epsilon.
    ///
    /// Errors: a number outside its range, noise scales that are not finite and > 0, or shares that are not one
    /// positive number per level with the sum 1 (to 1e-9).
    pub fn calibrate(&self, levels: usize) -> Result<Calibration> {
        let (scale, rho) = (self.scale()?, self.rho()?);
        let shares = match &self.split {
            Split::Each => vec![1.0; levels],
            Split::Shares(shares) => {
                if shares.len() != levels {
                    let got = format!("{} shares for {levels} levels", shares.len());
                    return Err(Error::parameter(
                        "split",
                        got,
                        "one share per level that is measured, the highest first",
                    ));
                }
                for &share in shares {
                    positive("split", share)?;
                }
                let sum: f64 = shares.iter().sum();
                if (sum - 1.0).abs() > 1e-9 {
                    return Err(Error::parameter(
                        "split",
                        format!("shares that sum to {sum}"),
                        "shares that sum to 1",
                    ));
                }
                shares.clone()
            }
        };
        let total: f64 = shares.iter().sum();
        let (epsilon, delta) = match rho {
            None => (self.epsilon * total, 0.0),
            Some((rho, delta, accountant)) => (accountant.epsilon(rho * total, delta), delta),
        };
        Calibration { scales: shares.into_iter().map(scale).collect(), epsilon, delta }.checked()
    }
}

fn positive(name: &'static str, x: f64) -> Result<()> {
    match x.is_finite() && x > 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, x, "a finite number > 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_add_up() {
        let pure = Budget { epsilon: 0.5, guarantee: Guarantee::Pure, sensitivity: 2.0, split: Split::Each };
        let all = pure.calibrate(3).unwrap();
        assert_eq!((all.scales, all.epsilon, all.delta), (vec![4.0; 3], 1.5, 0.0));
        let split = Budget { split: Split::Shares(vec![0.2, 0.8]), ..pure.clone() };
        assert_eq!(split.calibrate(2).unwrap().scales, [20.0, 5.0]);
        assert!(split.calibrate(3).is_err());
        for accountant in Accountant::ALL {
            let guarantee = Guarantee::Concentrated { delta: 1e-6, accountant };
            let calibrated = Budget { guarantee, ..split.clone() }.calibrate(2).unwrap();
            assert!((calibrated.epsilon - 0.5).abs() < 1e-12 && calibrated.delta == 1e-6);
            let rho: f64 = calibrated.scales.iter().map(|sigma| 4.0 / (2.0 * sigma * sigma)).sum();
            assert!((accountant.epsilon(rho, 1e-6) - 0.5).abs() < 1e-12);
            // All levels pay the sum of their rho, less than the sum of their epsilons.
            let each = Budget { guarantee, ..pure.clone() }.calibrate(3).unwrap();
            assert!(each.epsilon > 0.5 && each.epsilon < 1.5, "{}", each.epsilon);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let good = Budget { epsilon: 1.0, guarantee: Guarantee::Pure, sensitivity: 1.0, split: Split::Each };
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Budget { epsilon, ..good.clone() }.calibrate(1).is_err());
        }
        assert!(Budget { sensitivity: 0.0, ..good.clone() }.calibrate(1).is_err());
        for (epsilon, sensitivity) in [(1e-300, 1e300), (1e300, 1e-300), (5e-324, 1.0)] {
            let refused =
                Budget { epsilon, sensitivity, ..good.clone() }.calibrate(1).unwrap_err().to_string();
            assert!(refused.contains("noise scale") && refused.contains("a finite number > 0"), "{refused}");
        }
        let refused = Budget { epsilon: 1e308, ..good.clone() }.calibrate(3).unwrap_err().to_string();
        assert!(refused.contains("all levels together"), "{refused}");
        assert!(Budget { split: Split::Shares(vec![0.5, 0.6]), ..good.clone() }.calibrate(2).is_err());
        let guarantee = Guarantee::Concentrated { delta: 0.0, accountant: Accountant::Normal };
        assert!(Budget { guarantee, ..good }.calibrate(2).is_err());
    }
}
