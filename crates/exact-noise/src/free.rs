//! Independent noise of one law.

use crate::base::Base;
use crate::big;
use crate::bits::{Bits, few};
use crate::chance::Chance;
use crate::error::{Error, Result};
use crate::law::{Law, MOST_NOISE, Precision};
use crate::real::{Power, Real};

/// Independent draws of one law.
///
/// A double geometric is 0 with probability `(1 - q)/(1 + q)`, else a fair sign times 1 plus a geometric `G`. Given `G < 2^J` the binary
/// digits of `G` are independent, digit j is 1 with probability `q^(2^j)/(1 + q^(2^j))`, and `⌊G / 2^J⌋` is geometric with base
/// `q^(2^J)`. `J` is such that `q^(2^J) <= 2^-32`: a draw compares `J + 2` times 32 bits, whatever its value, up to events
/// of probability 2^-32.
///
/// A discrete Gaussian, `r^(z²)`, is a double geometric of base `q = r^s` that is kept with probability `r^(z² - s|z| + ⌊s²/4⌋)`, where
/// `s = max(1, ⌊2σ⌋)`; the number of trials does not depend on the value. About 1.3 trials; each compares the same number of bits.
///
/// ```
/// use congenial_exact_noise::{Base, Free, Law, System};
///
/// let law = Law::DiscreteGaussian(Base::from_loss(&"1/50".parse()?)?); // sigma = 5
/// let noise = Free::new(law)?.draw(&mut System::new())?;
/// assert!(noise.abs() < 200);
/// # Ok::<(), congenial_exact_noise::Error>(())
/// ```
///
/// Sources: Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy, for the rejection, here with powers of one
/// dyadic number; the digits are proved in `docs/explanation/exact-noise.md`.
#[derive(Debug, Clone)]
pub struct Free {
    proposal: DoubleGeometric,
    acceptance: Option<Acceptance>,
}

impl Free {
    /// Prepares the draws.
    pub fn new(law: Law) -> Result<Self> {
        Self::with_precision(law, Precision::default())
    }

    /// Prepares the draws, with other first bits: of the same law.
    pub fn with_precision(law: Law, precision: Precision) -> Result<Self> {
        let first = precision.first;
        Ok(match law {
            Law::DoubleGeometric(base) => {
                Self { proposal: DoubleGeometric::new(base, 1, first)?, acceptance: None }
            }
            Law::DiscreteGaussian(base) => {
                let acceptance = Acceptance::new(base, first)?;
                let proposal = DoubleGeometric::new(base, acceptance.slope, first)?;
                Self { proposal, acceptance: Some(acceptance) }
            }
        })
    }

    /// Draws once. Errors: the source's; noise beyond 2^61.
    #[inline]
    pub fn draw<B: Bits + ?Sized>(&self, source: &mut B) -> Result<i64> {
        let Some(acceptance) = &self.acceptance else { return self.proposal.draw(source) };
        loop {
            let noise = self.proposal.draw(source)?;
            if acceptance.keeps(noise.unsigned_abs(), source)? {
                return Ok(noise);
            }
        }
    }
}

/// Draws of `q^|z|`, `q` a power of a base.
#[derive(Debug, Clone)]
struct DoubleGeometric {
    /// `2q / (1 + q)`.
    nonzero: Chance,
    /// The chances of the digits below `2^J`, the highest first.
    digits: Vec<Chance>,
    /// `q^(2^J)`.
    beyond: Chance,
    /// `2^J`.
    reach: u64,
}

impl DoubleGeometric {
    fn new(base: Base, exponent: u64, first: u32) -> Result<Self> {
        let power = |place| Power { base, exponent: u128::from(exponent).wrapping_shl(place) };
        let length = negligible(base, exponent, first)?;
        let digit = |place| Chance::new(Real::Odds(power(place)), first);
        Ok(Self {
            nonzero: Chance::new(Real::TwiceOdds(power(0)), first)?,
            digits: (0..length).rev().map(digit).collect::<Result<_>>()?,
            beyond: Chance::new(Real::Power(power(length)), first)?,
            reach: 1u64.wrapping_shl(length),
        })
    }

    #[inline]
    fn draw<B: Bits + ?Sized>(&self, source: &mut B) -> Result<i64> {
        let is_minus = few(source, 1)? == 1;
        let nonzero = u64::from(self.nonzero.happens(source)?);
        let mut digits = 0u64;
        for digit in &self.digits {
            digits = (digits << 1) | u64::from(digit.happens(source)?);
        }
        let mut size = digits.saturating_add(1).saturating_mul(nonzero);
        // Drawn of every value; where the value is 0 it does not count.
        while self.beyond.happens(source)? {
            size = size.saturating_add(self.reach.saturating_mul(nonzero));
            if size > MOST_NOISE {
                return Err(Error::Beyond);
            }
        }
        let size = i64::try_from(size).map_err(|_| Error::Beyond)?;
        Ok(if is_minus { size.saturating_neg() } else { size })
    }
}

/// The smallest place `k` with `q^(exponent 2^k) <= 2^-bits`.
fn negligible(base: Base, exponent: u64, bits: u32) -> Result<u32> {
    let more = (bits as usize).saturating_add(32);
    for place in 0..60 {
        let power = Power { base, exponent: u128::from(exponent).wrapping_shl(place) };
        if Real::Power(power).enclose(more)?.high <= big::one(32) {
            return Ok(place);
        }
    }
    Err(Error::Bug("a base too close to 1"))
}

/// Keeps `z` with probability `r^e`, `e = z² - s|z| + ⌊s²/4⌋ >= 0`: one event for each binary digit of `e`.
#[derive(Debug, Clone)]
struct Acceptance {
    base: Base,
    first: u32,
    slope: u64,
    /// `⌊s²/4⌋`.
    top: u128,
    /// `r^(2^i)`; those beyond are below 2^-32.
    digits: Vec<Chance>,
}

impl Acceptance {
    fn new(base: Base, first: u32) -> Result<Self> {
        // (2σ)² = 2/(-ln r).
        let loss = base.loss();
        let squared = big::double_word(&big::floor(&(loss.denominator << 1), &loss.numerator)?)?;
        let slope = u64::try_from(squared.isqrt()).map_err(|_| Error::Bug("sigma beyond 2^63"))?.max(1);
        let digit =
            |place| Chance::new(Real::Power(Power { base, exponent: 1u128.wrapping_shl(place) }), first);
        let digits = (0..negligible(base, 1, first)?).map(digit).collect::<Result<_>>()?;
        let square = u128::from(slope).saturating_mul(u128::from(slope));
        Ok(Self { base, first, slope, top: square >> 2, digits })
    }

    /// Compares for every digit, whether it is set or not.
    #[inline]
    fn keeps<B: Bits + ?Sized>(&self, size: u64, source: &mut B) -> Result<bool> {
        let exponent = self.exponent(size)?;
        let mut rest = exponent;
        let mut keeps = true;
        for digit in &self.digits {
            let happens = digit.happens(source)?;
            keeps &= happens | (rest & 1 == 0);
            rest >>= 1;
        }
        if rest > 0 {
            let exponent = rest.wrapping_shl(self.digits.len() as u32);
            keeps &=
                Chance::new(Real::Power(Power { base: self.base, exponent }), self.first)?.happens(source)?;
        }
        Ok(keeps)
    }

    #[inline]
    fn exponent(&self, size: u64) -> Result<u128> {
        let (size, slope) = (u128::from(size), u128::from(self.slope));
        let square = size.checked_mul(size).and_then(|square| square.checked_add(self.top));
        let linear = size.checked_mul(slope);
        square.zip(linear).and_then(|(a, b)| a.checked_sub(b)).ok_or(Error::Bug("a negative exponent"))
    }
}
