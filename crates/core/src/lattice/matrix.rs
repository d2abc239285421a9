//! Integer matrices.

use super::row::{Row, Sparse};
use std::ops::{Index, IndexMut, Range};

/// A dense matrix, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntMatrix {
    rows: usize,
    columns: usize,
    entries: Vec<i64>,
}

impl IntMatrix {
    /// Makes a matrix of zeros.
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self { rows, columns, entries: vec![0; rows * columns] }
    }

    pub(crate) fn identity(n: usize) -> Self {
        Self::from_entries(n, n, (0..n * n).map(|i| i64::from(i % (n + 1) == 0)).collect())
    }

    /// Makes a matrix of some of the rows that sparse columns have.
    pub(crate) fn from_columns<'a>(
        rows: Range<usize>,
        columns: impl ExactSizeIterator<Item = &'a Row>,
    ) -> Self {
        let mut matrix = Self::zero(rows.len(), columns.len());
        for (j, column) in columns.enumerate() {
            for &(i, a) in column.iter().filter(|(i, _)| rows.contains(&(*i as usize))) {
                matrix[(i as usize - rows.start, j)] = a;
            }
        }
        matrix
    }

    /// Makes a matrix with sparse vectors as rows; `entries`: what the columns stand for, ascending.
    pub(crate) fn from_vectors(vectors: &[Sparse], entries: &[u32]) -> Self {
        let mut matrix = Self::zero(vectors.len(), entries.len());
        for (i, vector) in vectors.iter().enumerate() {
            for &(entry, x) in vector {
                let j = entries.binary_search(&entry).expect("an entry of the component");
                matrix[(i, j)] = i64::from(x);
            }
        }
        matrix
    }

    /// The matrix of the rows with these numbers.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let entries = rows.iter().flat_map(|&i| self.row(i)).copied().collect();
        Self::from_entries(rows.len(), self.columns, entries)
    }

    /// Makes a matrix of rows of equal length; `None` if they are not.
    pub fn from_rows(rows: &[Vec<i64>]) -> Option<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        let even = rows.iter().all(|row| row.len() == columns);
        even.then(|| Self { rows: rows.len(), columns, entries: rows.concat() })
    }

    pub(super) fn from_entries(rows: usize, columns: usize, entries: Vec<i64>) -> Self {
        debug_assert_eq!(entries.len(), rows * columns);
        Self { rows, columns, entries }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `i`, from 0.
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
