//! Real numbers between 0 and 1, as integers around them: as close as one asks.

use crate::base::Base;
use crate::big;
use crate::error::Result;
use dashu_int::UBig;

/// A number between `low / 2^bits` and `high / 2^bits`.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) low: UBig,
    pub(crate) high: UBig,
    pub(crate) bits: usize,
}

impl Span {
    /// `n / d`.
    pub(crate) fn quotient(n: &UBig, d: &UBig, bits: usize) -> Result<Self> {
        let n = n << bits;
        Ok(Self { low: big::floor(&n, d)?, high: big::ceil(&n, d)?, bits })
    }

    /// 1.
    pub(crate) fn one(bits: usize) -> Self {
        Self { low: big::one(bits), high: big::one(bits), bits }
    }

    /// A product, both with the bits of the first.
    pub(crate) fn times(&self, other: &Self) -> Self {
        let low = (&self.low * &other.low) >> other.bits;
        let high = big::shifted_up(&(&self.high * &other.high), other.bits);
        Self { low, high, bits: self.bits }
    }

    /// A part.
    pub(crate) fn over(&self, parts: &UBig) -> Result<Self> {
        Ok(Self { low: big::floor(&self.low, parts)?, high: big::ceil(&self.high, parts)?, bits: self.bits })
    }

    /// A sum, both with the same bits.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high, bits: self.bits }
    }

    /// A power, by squares. A square doubles the error of its root and adds one unit.
    pub(crate) fn power(&self, exponent: u128) -> Self {
        let mut power = Self::one(self.bits);
        for place in (0..length(exponent)).rev() {
            power = power.times(&power);
            if exponent.wrapping_shr(place) & 1 == 1 {
                power = power.times(self);
            }
        }
        power
    }

    /// With fewer bits.
    fn cut(&self, bits: usize) -> Self {
        let fewer = self.bits.saturating_sub(bits);
        Self { low: &self.low >> fewer, high: big::shifted_up(&self.high, fewer), bits }
    }
}

/// A power `q^e` of a base, with an integer `e`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Power {
    pub(crate) base: Base,
    pub(crate) exponent: u128,
}

impl Power {
    /// With more bits than the length of the exponent, the error of `q^e` is below one unit of those asked for; with fewer the integers
    /// would lie further apart, and not be wrong.
    fn enclose(&self, bits: usize) -> Span {
        let more = bits.saturating_add(64).saturating_add(length(self.exponent) as usize);
        let q = UBig::from(self.base.mantissa()) << more.saturating_sub(Base::BITS);
        Span { low: q.clone(), high: q, bits: more }.power(self.exponent).cut(bits)
    }
}

/// Binary digits of a number.
fn length(number: u128) -> u32 {
    128u32.saturating_sub(number.leading_zeros())
}

/// A probability.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Real {
    /// `x`.
    Power(Power),
    /// `x / (1 + x)`.
    Odds(Power),
    /// `2x / (1 + x)`.
    TwiceOdds(Power),
}

impl Real {
    /// Integers around it, in units of `2^-bits`. All three rise with `x`, so that the ends of `x` give the ends.
    pub(crate) fn enclose(&self, bits: usize) -> Result<Span> {
        let more = bits.saturating_add(8);
        let (power, factor) = match self {
            Self::Power(power) => return Ok(power.enclose(bits)),
            Self::Odds(power) => (power, UBig::ONE),
            Self::TwiceOdds(power) => (power, UBig::from(2u64)),
        };
        let x = power.enclose(more);
        let low = big::floor(&((&factor * &x.low) << more), &(big::one(more) + &x.low))?;
        let high = big::ceil(&((&factor * &x.high) << more), &(big::one(more) + &x.high))?;
        Ok(Span { low, high, bits: more }.cut(bits))
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// Whatever the number of bits, the truth is between the integers, and these lie next to each other.
    #[test]
    fn integers_lie_around_the_number() {
        const FINE: usize = 300;
        let mut state = 7u64;
        for case in 0..150u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let base = Base::from_mantissa((state >> 16).max(1)).unwrap();
            let power = Power { base, exponent: u128::from([1u32, 2, 7, 100][case as usize % 4]) };
            for real in [Real::Power(power), Real::Odds(power), Real::TwiceOdds(power)] {
                let fine = real.enclose(FINE).unwrap();
                for bits in 1..40 {
                    let span = real.enclose(bits).unwrap();
                    let (low, high) = (&span.low << (FINE - bits), &span.high << (FINE - bits));
                    assert!(low <= fine.high && fine.low <= high, "{real:?}, {bits} bits");
                    assert!(span.high <= &span.low + UBig::from(2u64), "{real:?}, {bits} bits");
                }
            }
        }
    }
}
