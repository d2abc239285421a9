//! Events of a given probability.

use crate::big;
use crate::bits::{Bits, few, many};
use crate::error::Result;
use crate::real::Real;
use dashu_int::UBig;

/// An event: `U < p` for a uniform `U`, whose binary digits are drawn until they decide.
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    real: Real,
    first: u32,
    /// `p` is between `low` and `low + width`, in units of `2^-first`.
    low: u64,
    width: u64,
}

impl Chance {
    /// Prepares the comparison with its first bits, 1 to 32.
    pub(crate) fn new(real: Real, first: u32) -> Result<Self> {
        let span = real.enclose(first as usize)?;
        let low = big::word(&span.low)?;
        Ok(Self { real, first, low, width: big::word(&span.high)?.saturating_sub(low) })
    }

    /// Whether it happens. With the first bits `u`, `U` is between `u` and `u + 1` units: below `p` if `u < low`, not below it if
    /// `u >= low + width`, else open.
    #[inline]
    pub(crate) fn happens<B: Bits + ?Sized>(&self, source: &mut B) -> Result<bool> {
        let u = u64::from(few(source, self.first)?);
        if u.wrapping_sub(self.low) < self.width {
            return self.refine(source, u);
        }
        Ok(u < self.low)
    }

    /// Twice as many bits, again until they decide: of `n` bits at most a few in `2^n` do not.
    #[cold]
    fn refine<B: Bits + ?Sized>(&self, source: &mut B, first: u64) -> Result<bool> {
        let mut bits = self.first as usize;
        let mut u = UBig::from(first);
        loop {
            u = (u << bits) + many(source, bits)?;
            bits = bits.saturating_mul(2);
            let span = self.real.enclose(bits)?;
            if u < span.low {
                return Ok(true);
            }
            if u >= span.high {
                return Ok(false);
            }
        }
    }
}
