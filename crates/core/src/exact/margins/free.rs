//! Two-way tables of double geometric noise without bounds.

use super::pair::Pair;
use super::{by_row, check_size, mean_kept, proposals, put_pair};
use crate::error::{Error, Result};
use crate::exact::parts::{Builder, FreeTerms, PartId, Parts, PartsScratch};
use crate::invariant::{Component, NO_LOWER, NO_UPPER};
use crate::law::{DoubleGeometric, Law};
use crate::rng::{Rng, open01};

/// Entries of alias tables of a row.
const MAX_ALIASES: usize = 1 << 18;

/// Exact sampler of independent double geometric noise on an r × c table given zero row and column sums, by proposals of rows (see the
/// module): `(0.72 r)^((c - 1)/2)` of them a draw, nearly, at any scale. Rows and columns change their parts where that is less.
#[derive(Debug)]
pub struct MarginsTable {
    /// Entries by row.
    entries: Vec<Vec<u32>>,
    row: (Parts, PartId),
    /// None for two rows: one is what the other is not.
    pair: Option<Pair>,
    tv_error: f64,
}

/// Space for one draw, reused from draw to draw.
#[derive(Debug, Clone, Default)]
pub struct MarginsScratch {
    parts: PartsScratch,
    sums: Vec<i64>,
    first: Vec<i64>,
}

impl MarginsTable {
    /// Prepares the sampler of one component, a two-way table.
    ///
    /// Errors: [`Error::TooLarge`] where a draw would take proposals of more than 10^7 entries, or tables at a large
    /// scale more than 2^23 entries, with the nearest size or scale that does not; no free dimension.
    pub fn new(component: &Component, law: DoubleGeometric) -> Result<Self> {
        let size = component.margins.expect("the caller checked the form");
        let entries = by_row(&component.entries, size);
        let (rows, columns) = (entries.len(), entries[0].len());
        if rows < 2 || columns < 2 {
            return Err(Error::no_free_dimension());
        }
        check_size(rows, columns)?;
        let pair = if rows > 2 { Some(Pair::new(columns, &law)?) } else { None };
        // Of two rows with columns that sum to 0 the first has the weights w².
        let laws = [if rows > 2 { law } else { DoubleGeometric::new(0.5 * law.scale())? }];
        let mut build = Builder::new(&laws);
        let unit = vec![build.leaf(0, NO_LOWER, NO_UPPER, 0.0)?; columns];
        let terms = FreeTerms { level: 0, reach: Some(0), tilt: 0.0, depths: None };
        let part = build.sum(terms, &mut (0..columns as u32).collect::<Vec<_>>(), &unit)?;
        let lacking = build.lacking_at_zero(part)?;
        let row = (build.finish().with_aliases(MAX_ALIASES), part);
        // Both errors of a proposal, over the probability that it is kept.
        let rounding = pair.as_ref().map_or(0.0, Pair::rounding);
        let tv_error = ((rows - 1) as f64 * lacking + rounding) * 2.0 * proposals(rows, columns);
        Ok(Self { entries, row, pair, tv_error })
    }

    /// Draws once, into the component's entries of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut MarginsScratch, noise: &mut [i64]) {
        let [.., top, bottom] = &self.entries[..] else { unreachable!("two rows or more") };
        let Some(pair) = &self.pair else {
            self.row.0.fill(self.row.1, 0, top, rng, &mut scratch.parts, noise);
            top.iter().zip(bottom).for_each(|(&top, &bottom)| noise[bottom as usize] = -noise[top as usize]);
            return;
        };
        while open01(rng) >= self.propose(pair, rng, scratch, noise) {}
        let MarginsScratch { sums, first, .. } = scratch;
        first.resize(sums.len(), 0);
        pair.first(rng, sums, first);
        put_pair([top, bottom], first, sums, noise);
    }

    /// Draws all rows but two; returns the probability that they are kept.
    #[inline]
    fn propose<R: Rng + ?Sized>(
        &self,
        pair: &Pair,
        rng: &mut R,
        scratch: &mut MarginsScratch,
        noise: &mut [i64],
    ) -> f64 {
        let MarginsScratch { parts, sums, .. } = scratch;
        let proposed = &self.entries[..self.entries.len() - 2];
        sums.clear();
        sums.resize(self.entries[0].len(), 0);
        for row in proposed {
            self.row.0.fill(self.row.1, 0, row, rng, parts, noise);
            sums.iter_mut().zip(row).for_each(|(s, &entry)| *s -= noise[entry as usize]);
        }
        pair.ratio(sums)
    }

    /// The share of proposals that is kept, as the mean over so many of a fixed stream.
    pub fn kept(&self, trials: u64) -> f64 {
        let Some(pair) = &self.pair else { return 1.0 };
        let mut scratch = MarginsScratch::default();
        mean_kept(trials, self.entries.iter().flatten(), |rng, noise| {
            self.propose(pair, rng, &mut scratch, noise)
        })
    }

    /// Estimate of the total variation distance of a draw to the law: what tables lack, and rounding, over half the
    /// share of proposals that is kept, which is known nearly.
    pub fn tv_error(&self) -> f64 {
        self.tv_error
    }
}
