//! Draws from many small tables by one word each.

use super::alias;
use super::xoshiro::{LANES, Row};

/// Alias tables of several laws on consecutive integers, each by [`alias::push`].
#[derive(Debug, Default)]
pub(crate) struct AliasRows {
    laws: Vec<Law>,
    columns: Vec<u64>,
}

/// One law: its first column, how many it has less 1, and the integer there.
#[derive(Debug)]
struct Law {
    first: u32,
    mask: u32,
    low: i64,
}

impl AliasRows {
    /// Adds a law by its weights on `low, low + 1, …`, not all 0.
    pub fn push(&mut self, low: i64, weights: &[f64]) {
        let first = self.columns.len();
        alias::push(weights, &mut self.columns);
        self.laws.push(Law { first: first as u32, mask: (self.columns.len() - first - 1) as u32, low });
    }

    /// The number of laws.
    pub fn rows(&self) -> usize {
        self.laws.len()
    }

    /// The number of columns of all laws together.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The value of law `k` that a uniform word stands for.
    #[inline]
    pub fn at(&self, k: usize, word: u64) -> i64 {
        let &Law { first, mask, low } = &self.laws[k];
        let (bits, mask) = (word >> 1, u64::from(mask));
        let entry = self.columns[(u64::from(first) + (bits & mask)) as usize];
        low + alias::pick(entry, mask, bits) as i64
    }

    /// Makes the tables for words of several streams at once. All values lie within 16 bits.
    pub fn lanes(&self) -> AliasLanes {
        let width = self.laws.iter().map(|law| law.mask + 1).max().unwrap_or(1);
        let (mut shares, mut values) = (Vec::new(), Vec::new());
        for &Law { first, mask, low } in &self.laws {
            for column in 0..width {
                let entry = self.columns[(first + (column & mask)) as usize];
                let value = |k: u64| u32::from((low + k as i64) as i16 as u16);
                shares.push(entry & !u64::from(mask));
                values.push(value(u64::from(column & mask)) | value(entry & u64::from(mask)) << 16);
            }
        }
        AliasLanes { width: width as u16, shares, values }
    }
}

/// [`AliasRows`] with as many columns for every law: shorter ones are there several times.
#[derive(Debug)]
pub(crate) struct AliasLanes {
    width: u16,
    /// By column, its own share: below it the bits take the lower half of the column's values, else the upper.
    shares: Vec<u64>,
    values: Vec<u32>,
}

impl AliasLanes {
    /// The values that uniform words stand for, in every lane: [`AliasRows::at`] of the lane's law and word.
    #[inline(always)]
    pub fn at(&self, laws: &Row<u16>, words: &Row<u64>) -> Row<i16> {
        let mut places = Row([0u16; LANES]);
        for l in 0..LANES {
            places.0[l] = laws.0[l] * self.width + ((words.0[l] >> 1) as u16 & (self.width - 1));
        }
        let (mut shares, mut values) = (Row([0u64; LANES]), Row([0u32; LANES]));
        for l in 0..LANES {
            let place = usize::from(places.0[l]);
            shares.0[l] = self.shares[place];
            values.0[l] = self.values[place];
        }
        let mut chosen = Row([0i16; LANES]);
        for l in 0..LANES {
            let shift = if words.0[l] >> 1 < shares.0[l] { 0 } else { 16 };
            chosen.0[l] = (values.0[l] >> shift) as i16;
        }
        chosen
    }
}
