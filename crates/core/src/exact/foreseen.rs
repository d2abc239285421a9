//! What the tables of a tree will take, before any is made: from variances alone.

use super::parts::{Arena, How, PartId, Shape, steps};
use super::pull::{Slope, moments};
use super::table::{MAX_ENTRIES, reach, too_large};
use crate::error::{Error, Result};
use crate::invariant::NO_LOWER;
use crate::law::IntegerLaw;

/// Multiplications of all convolutions: an hour or so.
const MAX_STEPS: f64 = 1e13;
/// Bytes of all tables.
const MAX_BYTES: f64 = (1u64 << 36) as f64;
/// Standard deviations that hold all but 1e-18 of a normal law.
const NORMAL: f64 = 17.6;
/// Standard deviations that the table of a sum without bounds on both sides has at least: half of a normal law has
/// 14.6, a sum of many terms nearly as many as a normal law.
const LEAST: f64 = 14.5;
const LEAST_OF_MANY: f64 = 16.5;
const MANY: usize = 64;

/// Parts by their sizes.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    parts: Vec<Size>,
    /// Multiplications of all convolutions.
    steps: f64,
    bytes: f64,
}

/// The size of a table: its entries, roughly, its variance, and the number of terms that it is a sum of.
#[derive(Debug, Clone, Copy)]
struct Size {
    entries: f64,
    variance: f64,
    terms: usize,
}

impl Size {
    fn of(entries: f64, variance: f64, terms: usize) -> Self {
        Self { entries: entries.clamp(1.0, MAX_ENTRIES as f64), variance, terms }
    }
}

impl Sizes {
    /// Multiplications of all convolutions. Errors: [`Error::TooLarge`].
    pub(super) fn steps(&self) -> Result<f64> {
        let refused = |what: &str, needed: f64, limit: f64, unit| {
            let what = format!("exact: {what}");
            Err(Error::TooLarge { what, needed: needed as u64, limit: limit as u64, unit })
        };
        if self.steps > MAX_STEPS {
            return refused("convolving the tables of this tree", self.steps, MAX_STEPS, "multiplications");
        }
        if self.bytes > MAX_BYTES {
            return refused("the tables of this tree", self.bytes, MAX_BYTES, "bytes");
        }
        Ok(self.steps)
    }
}

impl Arena for Sizes {
    fn len(&self) -> usize {
        self.parts.len()
    }

    fn make<L: IntegerLaw>(&mut self, laws: &[L], how: How, shape: &Shape) -> Result<()> {
        let size = |part: PartId| self.parts[part as usize];
        let next = match *shape {
            Shape::Leaf { level, floor, tilt, .. } => {
                let reach = reach(&laws[level]);
                let (_, variance) = moments(&laws[level], floor, f64::from_bits(tilt));
                let widest = (reach + reach.min(floor.saturating_neg().max(0)) + 1) as f64;
                // A factor that shifts a law narrows it where it meets its floor, or spreads it down to there.
                let down = floor.saturating_neg().max(0).saturating_add(reach + 1) as f64;
                let entries =
                    if tilt == 0 { widest } else { (2.0 * NORMAL * libm::sqrt(variance) + 1.0).min(down) };
                Size::of(entries, variance, 1)
            }
            Shape::Leaves { level, n, reach: most, tilt, .. } => {
                let (_, variance) = moments(&laws[level], NO_LOWER, f64::from_bits(tilt));
                let variance = n as f64 * variance;
                let entries = NORMAL * libm::sqrt(variance) + 2.0 * reach(&laws[level]) as f64;
                Size::of(most.map_or(entries, |most| entries.min(2.0 * most as f64 + 1.0)), variance, n)
            }
            Shape::Node { level, inner, .. } => {
                let inner = size(inner);
                let variance = Slope::of(&laws[level]).narrowed(0.0, inner.variance);
                // Tails of geometric laws are longer.
                let tails = if laws[level].as_double_geometric().is_some() { 2.0 } else { 1.0 };
                Size::of(inner.entries.min(tails * NORMAL * libm::sqrt(variance) + 1.0), variance, 1)
            }
            Shape::Split(left, right) => {
                let (left, right) = (size(left), size(right));
                let (variance, terms) = (left.variance + right.variance, left.terms + right.terms);
                let deviation = libm::sqrt(variance);
                let least = if terms >= MANY { LEAST_OF_MANY } else { LEAST };
                // What has bounds on both sides is narrower than its deviation says.
                let at_most = left.entries + right.entries - 1.0;
                if (least * deviation).min(at_most) > MAX_ENTRIES as f64 {
                    return Err(too_large((NORMAL * deviation) as usize));
                }
                self.steps += steps(left.entries, right.entries, how);
                // A sum is as wide as either side.
                let most = (NORMAL * deviation).max(left.entries).max(right.entries);
                Size::of((left.entries + right.entries - 1.0).min(most), variance, terms)
            }
        };
        self.bytes += 8.0 * next.entries * if how.certified { 2.0 } else { 1.0 };
        self.parts.push(next);
        Ok(())
    }
}
