//! Draws from many small tables by one word each.

use super::alias;

/// Alias tables of several laws on consecutive integers, each by [`alias::push`].
#[derive(Debug, Default)]
pub(crate) struct AliasRows {
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
    pub fn push(&mut self, low: i64, weights: &[f64]) {
        let first = self.columns.len();
        alias::push(weights, &mut self.columns);
        self.rows.push(Row { first: first as u32, mask: (self.columns.len() - first - 1) as u32, low });
    }

    /// How many laws.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Columns of all.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The value of law `k` that a uniform word stands for.
    #[inline]
    pub fn at(&self, k: usize, word: u64) -> i64 {
        self.view().at(k, word)
    }

    /// The tables for many draws: where they are is looked up once.
    #[inline(always)]
    pub fn view(&self) -> AliasView<'_> {
        AliasView { rows: &self.rows, columns: &self.columns }
    }
}

/// [`AliasRows`] in registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AliasView<'a> {
    rows: &'a [Row],
    columns: &'a [u64],
}

impl AliasView<'_> {
    /// As [`AliasRows::at`].
    #[inline(always)]
    pub fn at(self, k: usize, word: u64) -> i64 {
        let &Row { first, mask, low } = &self.rows[k];
        let (bits, mask) = (word >> 1, u64::from(mask));
        let entry = self.columns[(u64::from(first) + (bits & mask)) as usize];
        low + alias::pick(entry, mask, bits) as i64
    }
}
