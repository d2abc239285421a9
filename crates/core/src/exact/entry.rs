//! The law of one entry that no equation ties to others.

use super::Table;
use crate::error::Result;
use crate::invariant::{NO_LOWER, NO_UPPER};
use crate::law::{DiscreteGaussian, DoubleGeometric, Law, Sampler, Tabled};
use crate::rng::{Alias, Rng};

/// Draws of one entry, prepared once for all entries with the same bounds.
#[derive(Debug)]
pub enum Entry {
    /// Double geometric, without bounds.
    Geometric(Tabled<DoubleGeometric>),
    /// Discrete Gaussian, without bounds.
    Gaussian(Tabled<DiscreteGaussian>),
    /// Any law on the integers of a table.
    Within(Within),
}

/// A law on consecutive integers.
#[derive(Debug)]
pub struct Within {
    lo: i64,
    alias: Alias,
    lost: f64,
}

impl Entry {
    /// Prepares the entry's law, within `lower <= z <= upper` where something bounds it. Errors: as [`Table::of_law`].
    pub(super) fn new<L: Law<Value = i64>>(
        law: &L,
        (lower, upper): (i64, i64),
        free: impl Fn(L::Sampler) -> Self,
    ) -> Result<Self> {
        if (lower, upper) == (NO_LOWER, NO_UPPER) {
            return Ok(free(law.sampler()));
        }
        let table = Table::of_law(law, lower, upper)?;
        let (lo, lost) = (*table.support().start(), table.lost());
        Ok(Self::Within(Within { lo, alias: Alias::new(table.entries()), lost }))
    }

    /// Draws one value.
    #[inline]
    pub(super) fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        match self {
            Self::Geometric(law) => law.draw(rng),
            Self::Gaussian(law) => law.draw(rng),
            Self::Within(law) => law.lo + law.alias.at(rng.next_u64() >> 1) as i64,
        }
    }

    /// Bound on the total variation distance to the law.
    pub(super) fn lost(&self) -> f64 {
        match self {
            Self::Within(law) => law.lost,
            _ => 0.0,
        }
    }
}
