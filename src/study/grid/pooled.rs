//! Cells of several master seeds, also as one.

use super::kind::Kind;
use crate::engine::{Drawn, Sink};
use crate::failure::Result;
use crate::grid::Cell;
use crate::study::kind::Tables;
use std::marker::PhantomData;

/// The tables of every cell, and summaries of the cells that stand for those of all seeds, over the replicates of all
/// of them: what one cell with so many replicates would give.
pub(in crate::study) struct PooledTables<'a, K> {
    own: &'a [Cell],
    cells: Box<dyn Tables + 'a>,
    /// By cell that which stands for it.
    places: &'a [usize],
    pooled: Box<dyn Tables + 'a>,
    /// What the cells that came so far leave to the one that stands for them: their replicates, what was computed once a cell, the first
    /// error.
    before: u64,
    closing: Vec<u8>,
    error: Option<String>,
    kind: PhantomData<fn(K)>,
}

impl<'a, K> PooledTables<'a, K> {
    pub(in crate::study) fn new(
        own: &'a [Cell],
        cells: Box<dyn Tables + 'a>,
        places: &'a [usize],
        pooled: Box<dyn Tables + 'a>,
    ) -> Self {
        let (before, closing, error, kind) = (0, Vec::new(), None, PhantomData);
        Self { own, cells, places, pooled, before, closing, error, kind }
    }
}

impl<K: Kind> Sink for PooledTables<'_, K> {
    fn rows(&mut self, cell: usize, rows: Drawn) -> Result<()> {
        let [own, all] = K::twice(rows, self.before)?;
        self.cells.rows(cell, own)?;
        self.pooled.rows(self.places[cell], all)
    }

    fn part(&mut self, cell: usize, part: &[u8]) -> Result<()> {
        self.cells.part(cell, part)?;
        self.pooled.part(self.places[cell], part)
    }

    fn close(&mut self, cell: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
        self.cells.close(cell, closing, error)?;
        self.before += self.own[cell].replicates;
        if self.closing.is_empty() {
            self.closing = closing.to_vec();
        }
        let seed = self.own[cell].at.seed;
        self.error = self.error.take().or_else(|| error.map(|error| format!("seed {seed}: {error}")));
        if self.places.get(cell + 1) == Some(&self.places[cell]) {
            return Ok(());
        }
        let (closing, error) = (std::mem::take(&mut self.closing), self.error.take());
        self.before = 0;
        self.pooled.close(self.places[cell], &closing, error.as_deref())
    }
}

impl<K: Kind> Tables for PooledTables<'_, K> {
    fn finish(self: Box<Self>) -> Result<()> {
        self.cells.finish()?;
        self.pooled.finish()
    }
}
