//! Integer matrices.

use std::ops::{Index, IndexMut};

/// A dense matrix, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntMatrix {
    rows: usize,
    columns: usize,
    entries: Vec<i64>,
}

impl IntMatrix {
    /// All zero.
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self { rows, columns, entries: vec![0; rows * columns] }
    }

    /// From rows of equal length; `None` if they are not.
    pub fn from_rows(rows: &[Vec<i64>]) -> Option<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        let even = rows.iter().all(|row| row.len() == columns);
        even.then(|| Self { rows: rows.len(), columns, entries: rows.concat() })
    }

    pub(super) fn from_entries(rows: usize, columns: usize, entries: Vec<i64>) -> Self {
        debug_assert_eq!(entries.len(), rows * columns);
        Self { rows, columns, entries }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[i64] {
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }

    pub(super) fn entries(&self) -> &[i64] {
        &self.entries
    }
}

impl Index<(usize, usize)> for IntMatrix {
    type Output = i64;
    fn index(&self, (i, j): (usize, usize)) -> &i64 {
        &self.entries[i * self.columns + j]
    }
}

impl IndexMut<(usize, usize)> for IntMatrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut i64 {
        &mut self.entries[i * self.columns + j]
    }
}
