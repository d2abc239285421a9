//! Draws from many small tables by one word each.

use crate::rng::alias;

/// Alias tables of several laws on consecutive integers, each by [`alias::push`].
#[derive(Debug, Default)]
pub(super) struct AliasRows {
    rows: Vec<Row>,
    columns: Vec<u64>,
}

/// One law: its first column, how many it has less 1, and the integer there.
#[derive(Debug)]
struct Row {
    first: u32,
    mask: u32,
    low: i64,
}

impl AliasRows {
    /// Adds a law by its weights on `low, low + 1, …`, not all 0.
    pub(super) fn push(&mut self, low: i64, weights: &[f64]) {
        let first = self.columns.len();
        alias::push(weights, &mut self.columns);
        self.rows.push(Row { first: first as u32, mask: (self.columns.len() - first - 1) as u32, low });
    }

    /// Columns so far.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The value of law `k` that a uniform word stands for.
    #[inline]
    pub(super) fn at(&self, k: usize, word: u64) -> i64 {
        let &Row { first, mask, low } = &self.rows[k];
        let columns = &self.columns[first as usize..];
        low + alias::pick(columns, u64::from(mask), word >> 1) as i64
    }
}
