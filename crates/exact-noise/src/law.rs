//! Laws of a count's noise, and how many bits are tried first.

use crate::base::Base;
use crate::error::{Error, Result};

/// The largest noise.
pub(crate) const MOST_NOISE: u64 = 1 << 61;

/// Refuses noise beyond the largest.
pub(crate) fn within(noise: Vec<i64>) -> Result<Vec<i64>> {
    let is_beyond = noise.iter().any(|noise| noise.unsigned_abs() > MOST_NOISE);
    if is_beyond { Err(Error::Beyond) } else { Ok(noise) }
}

/// The law of the noise of one count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Law {
    /// `P(z) = (1 - q)/(1 + q) q^|z|`, the discrete Laplace law. A unit pays `-ln q` of pure differential privacy; so it does where noise
    /// is drawn given sums.
    DoubleGeometric(Base),
    /// `P(z) ∝ q^(z²)`, `σ² = 1/(-2 ln q)`. A change by `u` pays `u² (-ln q)` of zero-concentrated differential privacy.
    DiscreteGaussian(Base),
}

impl Law {
    /// The base of the law.
    pub fn base(self) -> Base {
        match self {
            Self::DoubleGeometric(base) | Self::DiscreteGaussian(base) => base,
        }
    }
}

/// How many bits are tried first. The law does not depend on it: fewer bits decide less often, and more are computed then. For tests,
/// which see what is otherwise rare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precision {
    pub(crate) first: u32,
    pub(crate) rows: u32,
}

impl Precision {
    /// - `first`: bits of a comparison with a probability, 1 to 32.
    /// - `rows`: bits of the weights in a table, 2 to 62.
    pub fn new(first: u32, rows: u32) -> Result<Self> {
        if !(1..=32).contains(&first) {
            return Err(Error::parameter("first bits", first, "1 to 32"));
        }
        if !(2..=62).contains(&rows) {
            return Err(Error::parameter("bits of rows", rows, "2 to 62"));
        }
        Ok(Self { first, rows })
    }
}

impl Default for Precision {
    /// 32 and 62 bits.
    fn default() -> Self {
        Self { first: 32, rows: 62 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_beyond_the_largest_is_refused() {
        assert_eq!(within(vec![0, 1 << 61, -(1 << 61)]).map(|noise| noise.len()), Ok(3));
        for beyond in [(1 << 61) + 1, -(1 << 61) - 1, i64::MIN] {
            assert_eq!(within(vec![0, beyond]), Err(Error::Beyond));
        }
    }
}
