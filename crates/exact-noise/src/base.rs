//! Dyadic bases of the laws.

use crate::big;
use crate::error::{Error, Result};
use crate::ratio::Ratio;
use crate::real::Span;
use dashu_int::UBig;

/// The base of a law: `q = m / 2^48` with a whole number `m`, `0 < q < 1`.
///
/// The weight of noise `z` is `q^|z|` (double geometric) or `q^(z²)` (discrete Gaussian): see [`Law`](crate::Law).
///
/// ```
/// use congenial_exact_noise::{Base, Ratio};
///
/// let half: Ratio = "0.5".parse()?;
/// let base = Base::from_loss(&half)?;
/// assert_eq!(base.mantissa(), 170_723_203_316_913); // 2^48 e^(-1/2) = 170,723,203,316,912.3…
/// assert!(base.loss() < half);
/// assert_eq!(base.loss().rounded_up(16), "0.4999999999999960");
/// # Ok::<(), congenial_exact_noise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Base {
    mantissa: u64,
}

impl Base {
    /// Binary digits of a base.
    pub(crate) const BITS: usize = 48;

    /// `2^48`.
    pub(crate) const ONE: u64 = 1 << Self::BITS;

    /// Binary digits of a stated loss.
    const LOSS_BITS: usize = 96;

    /// The smallest base that pays at most `loss`, `q = ⌈2^48 e^(-loss)⌉ / 2^48`.
    ///
    /// - `loss`: for a double geometric `ε / Δ`, what one unit of one count may pay of pure differential privacy; for a discrete
    ///   Gaussian `ρ / Δ²`, of zero-concentrated differential privacy (`σ² = 1 / (2 loss)`).
    /// - Refuses a loss so small, at most about 2^-49, that `q` would be 1. A loss beyond 33.27 gives `q = 2^-48`.
    ///
    /// `2^48 e^(-loss)` is enclosed by a series with its remainder, closer until both ends round up to the same integer; it is irrational
    /// for every rational loss > 0 (Lindemann), so that this ends.
    pub fn from_loss(loss: &Ratio) -> Result<Self> {
        let want = "a loss of at least 2^-48 for a unit";
        if loss.numerator.is_zero() {
            return Err(Error::parameter("loss", loss, want));
        }
        // e^-34 < 2^-49.
        if loss.numerator >= &loss.denominator * UBig::from(34u64) {
            return Self::from_mantissa(1);
        }
        let mut bits = 128usize;
        while bits <= 1 << 14 {
            let fewer = bits.saturating_sub(Self::BITS);
            let power = exponential(loss, bits)?;
            let mantissa = big::shifted_up(&power.low, fewer);
            if mantissa == big::shifted_up(&power.high, fewer) {
                let mantissa = big::word(&mantissa)?;
                return if mantissa == Self::ONE {
                    Err(Error::parameter("loss", loss, want))
                } else {
                    Self::from_mantissa(mantissa)
                };
            }
            bits = bits.saturating_mul(2);
        }
        Err(Error::Bug("a base that no precision decides"))
    }

    /// The base `mantissa / 2^48`. Refuses 0, and 2^48 and more.
    pub fn from_mantissa(mantissa: u64) -> Result<Self> {
        if mantissa == 0 || mantissa >= Self::ONE {
            return Err(Error::parameter("mantissa of a base", mantissa, "from 1 to 2^48 - 1"));
        }
        Ok(Self { mantissa })
    }

    /// `2^48 q`.
    pub fn mantissa(self) -> u64 {
        self.mantissa
    }

    /// `-ln q`, rounded up to a multiple of 2^-96: what one unit pays ([`Base::from_loss`] says of what). Never below the truth, and less
    /// than the loss that was asked for plus 2^-96.
    ///
    /// With `2^k <= m < 2^(k+1)` it is `(48 - k) ln 2 - ln(m / 2^k)`, by `ln y = 2 artanh((y - 1)/(y + 1))`.
    pub fn loss(self) -> Ratio {
        let bits = Self::LOSS_BITS.saturating_add(32);
        let k = self.mantissa.ilog2();
        let first = 1u64.wrapping_shl(k);
        let (two, part) =
            (artanh(1, 3, bits), artanh(self.mantissa ^ first, self.mantissa.saturating_add(first), bits));
        let halvings = UBig::from(48u32.saturating_sub(k));
        let loss = big::less(&(halvings * two.high), &part.low) << 1;
        let numerator = big::shifted_up(&loss, bits.saturating_sub(Self::LOSS_BITS));
        Ratio { numerator, denominator: big::one(Self::LOSS_BITS) }
    }
}

/// `e^(-loss)` for a loss below 34: `(e^y)^(-128)` with `y = loss / 128 < 0.27`.
///
/// `e^y = Σ y^k / k!`; behind a term of at most one unit the others sum to less than `y + y² + … < 1` unit.
fn exponential(loss: &Ratio, bits: usize) -> Result<Span> {
    let y = Span::quotient(&loss.numerator, &(&loss.denominator << 7), bits)?;
    let mut sum = Span::one(bits);
    let mut term = Span::one(bits);
    let mut k = UBig::ZERO;
    while term.high > UBig::ONE {
        k += UBig::ONE;
        term = term.times(&y).over(&k)?;
        sum = sum.plus(&term);
    }
    sum.high += UBig::ONE;
    let one = big::one(bits.saturating_mul(2));
    let mut power = Span { low: big::floor(&one, &sum.high)?, high: big::ceil(&one, &sum.low)?, bits };
    for _ in 0..7 {
        power = power.times(&power);
    }
    Ok(power)
}

/// `artanh(a / b) = Σ (a/b)^(2i+1) / (2i + 1)` for `a / b <= 1/3`. Behind a term of the power `t` the others sum to less than
/// `t (1/9 + 1/81 + …) < t`.
fn artanh(a: u64, b: u64, bits: usize) -> Span {
    let (a, b) = (UBig::from(a), UBig::from(b));
    let (square_a, square_b) = (&a * &a, &b * &b);
    let quotient =
        |n: &UBig, d: &UBig| (big::floor(n, d).unwrap_or_default(), big::ceil(n, d).unwrap_or_default());
    let (mut low, mut high) = quotient(&(a << bits), &b);
    let mut sum = Span { low: low.clone(), high: high.clone(), bits };
    let mut odd = UBig::ONE;
    while high > UBig::ONE {
        low = quotient(&(low * &square_a), &square_b).0;
        high = quotient(&(high * &square_a), &square_b).1;
        odd += UBig::from(2u64);
        sum.low += quotient(&low, &odd).0;
        sum.high += quotient(&high, &odd).1;
    }
    sum.high += UBig::ONE;
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// With few bits, where what series leave out and every rounding count, numbers are between the integers: against many bits.
    #[test]
    fn series_of_few_bits_enclose_their_numbers() {
        const FINE: usize = 200;
        let holds = |few: &Span, fine: &Span, what: &str| {
            let more = FINE - few.bits;
            assert!(&few.low << more <= fine.high, "{what}: {} bits, from below", few.bits);
            assert!(&few.high << more >= fine.low, "{what}: {} bits, from above", few.bits);
        };
        for b in 3..60 {
            for a in 1..=b / 3 {
                let fine = artanh(a, b, FINE);
                (1..30).for_each(|bits| holds(&artanh(a, b, bits), &fine, "artanh"));
            }
        }
        for sixteenths in 1..34 * 16 {
            let loss = Ratio::new(sixteenths, 16).unwrap();
            let fine = exponential(&loss, FINE).unwrap();
            (4..30).for_each(|bits| holds(&exponential(&loss, bits).unwrap(), &fine, "exponential"));
        }
    }
}
