//! Laws as a real release draws them: with bases that are whole numbers over 2^48.

use crate::error::{Error, Result};
use crate::law::{DiscreteGaussian, DoubleGeometric, Law};
use congenial_exact_noise::{Base, Error as Refused, Law as Whole, Ratio};

/// An integer law of a count whose base is dyadic: the weight of noise `z` is `q^|z|` (double geometric) or `q^(z²)` (discrete Gaussian),
/// `q = m / 2^48` with a whole number m.
///
/// From a law of a scale in floating point: q is the smallest such number that pays at most the loss of a unit, `1/lambda` or
/// `1/(2 sigma²)`, which is computed from the scale as a fraction without rounding. So q is above the base of the law,
/// `exp(-1/lambda)` or `exp(-1/(2 sigma²))`, by less than 2^-48.
///
/// Source: `docs/explanation/exact-noise.md`.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::Dyadic;
/// use congenial_core::law::DoubleGeometric;
///
/// let law = Dyadic::double_geometric(DoubleGeometric::new(2.0)?)?;
/// assert_eq!(law.mantissa(), 170_723_203_316_913); // 2^48 e^(-1/2) = 170,723,203,316,912.3…
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dyadic(pub(super) Whole);

impl Dyadic {
    /// The law `q^|z|`. Errors: noise so wide that q would be 1.
    pub fn double_geometric(law: DoubleGeometric) -> Result<Self> {
        let (m, halvings) = dyadic(Law::scale(&law));
        base(one_over(m), halvings).map(Whole::DoubleGeometric).map(Self).map_err(refused)
    }

    /// The law `q^(z²)`. Errors: noise so wide that q would be 1.
    pub fn discrete_gaussian(law: DiscreteGaussian) -> Result<Self> {
        let (m, halvings) = dyadic(Law::scale(&law));
        let square = one_over(m).and_then(|loss| loss.per(m));
        base(square, 2 * halvings - 1).map(Whole::DiscreteGaussian).map(Self).map_err(refused)
    }

    /// `2^48 q`.
    pub fn mantissa(self) -> u64 {
        self.0.base().mantissa()
    }
}

/// A finite number above 0 as `m / 2^halvings`, with an odd m.
fn dyadic(number: f64) -> (u64, i32) {
    let exponent = ((number.to_bits() >> 52) & 0x7ff) as i32;
    let digits = number.to_bits() & ((1 << 52) - 1);
    // Below 2^-1022 numbers have no digit before the point.
    let m = if exponent == 0 { digits } else { digits | 1 << 52 };
    let twos = m.trailing_zeros();
    (m >> twos, 1075 - exponent.max(1) - twos as i32)
}

fn one_over(m: u64) -> congenial_exact_noise::Result<Ratio> {
    Ratio::new(1, m)
}

/// The base that pays at most `loss 2^doublings`.
fn base(loss: congenial_exact_noise::Result<Ratio>, doublings: i32) -> congenial_exact_noise::Result<Base> {
    let mut loss = loss?;
    for _ in 0..doublings.unsigned_abs() {
        loss = if doublings > 0 { loss.times(2) } else { loss.per(2)? };
    }
    Base::from_loss(&loss)
}

/// What the crate refuses, as the core says it.
pub(super) fn refused(why: Refused) -> Error {
    match why {
        Refused::Parameter { what, got, want } => Error::Parameter { name: what, got, want },
        Refused::TooLarge { .. } => Error::Unsupported {
            method: "release",
            what: "noise this wide".into(),
            reason: "its tables of sums have at most 2^16 values on each side of 0; those of exact are longer, and line-gibbs has none",
        },
        other => {
            let reason = "nothing is drawn";
            Error::Unsupported { method: "release", what: format!("this draw ({other})"), reason }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The base of a double geometric law at a scale.
    fn geometric(lambda: f64) -> u64 {
        Dyadic::double_geometric(DoubleGeometric::new(lambda).unwrap()).unwrap().mantissa()
    }

    fn gaussian(sigma: f64) -> u64 {
        Dyadic::discrete_gaussian(DiscreteGaussian::new(sigma).unwrap()).unwrap().mantissa()
    }

    #[test]
    fn numbers_are_whole_numbers_over_powers_of_two() {
        for (number, want) in [
            (1.0, (1, 0)),
            (12.0, (3, -2)),
            (0.375, (3, 3)),
            (0.1, (3_602_879_701_896_397, 55)),
            (f64::MIN_POSITIVE, (1, 1022)),
            (f64::from_bits(3), (3, 1074)),
            ((1u64 << 40) as f64, (1, -40)),
        ] {
            assert_eq!(dyadic(number), want, "{number}");
        }
    }

    /// Against fractions of decimals: scales that are decimals themselves, and what `e^(-loss)` is, to the last digit of a double.
    #[test]
    fn bases_are_those_of_the_loss() {
        let of = |loss: &str| Base::from_loss(&loss.parse().unwrap()).unwrap().mantissa();
        for (lambda, loss) in
            [(2.0, "0.5"), (0.375, "8/3"), (1536.0, "1/1536"), (0.03, "34"), (1e-100, "35"), (10.0, "0.1")]
        {
            assert_eq!(geometric(lambda), of(loss), "{lambda}");
        }
        for (sigma, loss) in [(1.0, "0.5"), (3.0, "1/18"), (0.75, "8/9"), (100.0, "0.00005"), (0.1, "50")] {
            assert_eq!(gaussian(sigma), of(loss), "{sigma}");
        }
        for scale in [0.3, 0.7123, 1.9, 17.3, 912.11] {
            let one = (1u64 << 48) as f64;
            // Above the law's base, by less than 2^-48: a double of that size is off by less than 2^-4 of it.
            let above = |got: u64, want: f64| got as f64 - one * want;
            for above in [
                above(geometric(scale), libm::exp(-1.0 / scale)),
                above(gaussian(scale), libm::exp(-0.5 / (scale * scale))),
            ] {
                assert!((-0.1..1.1).contains(&above), "{scale}: {above}");
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let widest = (1u64 << 40) as f64;
        assert!(Dyadic::double_geometric(DoubleGeometric::new(widest).unwrap()).is_ok());
        let why = Dyadic::discrete_gaussian(DiscreteGaussian::new(widest).unwrap()).unwrap_err();
        assert!(why.to_string().contains("want a loss of at least 2^-48"), "{why}");
    }
}
