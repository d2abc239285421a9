//! The Smith normal form.

use super::exact::{Exact, entries, exactly};
use super::matrix::IntMatrix;
use super::row::{identity, negate, subtract, swap};
use crate::error::Result;
use std::cmp::Ordering;

/// `U A V = D`, with `U` and `V` unimodular and `D` diagonal, each diagonal entry > 0 and a divisor of the
/// next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smith {
    /// k × k.
    pub u: IntMatrix,
    /// The non-zero diagonal entries: as many as the rank of `A`.
    pub diagonal: Vec<i64>,
    /// d × d. Its last d - rank columns are a basis of `{z : A z = 0}`.
    pub v: IntMatrix,
}

/// The Smith normal form by elimination with the smallest pivot.
///
/// Errors: an entry of the result does not fit into 64 bits.
pub fn smith(a: &IntMatrix) -> Result<Smith> {
    exactly!("Smith normal form", run(a))
}

/// Outer `None`: overflow of `T`; inner: a result beyond `i64`.
fn run<T: Exact>(matrix: &IntMatrix) -> Option<Option<Smith>> {
    let (k, d) = (matrix.rows(), matrix.columns());
    // V is kept transposed, so that operations on columns of A are operations on rows of it.
    let mut work = Work {
        a: matrix.entries().iter().map(|&x| T::of(x)).collect(),
        u: identity(k),
        vt: identity(d),
        k,
        d,
    };
    let mut rank = 0;
    while let Some(pivot) = work.smallest(rank) {
        // Entries that explode would take hours to be refused at the end.
        if work.a.iter().chain(&work.u).chain(&work.vt).any(T::is_hopeless) {
            return Some(None);
        }
        work.swap_rows(rank, pivot.0);
        work.swap_columns(rank, pivot.1);
        if work.clear(rank)? {
            if work.at(rank, rank).is_negative() {
                work.negate_row(rank)?;
            }
            // The pivot must divide all that is left: bring in a row with an entry that it does not divide.
            match work.undivided(rank)? {
                Some(row) => work.add_row(rank, row, &T::of(-1))?,
                None => rank += 1,
            }
        }
    }
    let diagonal = (0..rank).map(|i| work.at(i, i).to_i64()).collect::<Option<Vec<_>>>();
    let (Some(diagonal), Some(u), Some(vt)) = (diagonal, entries(&work.u), entries(&work.vt)) else {
        return Some(None);
    };
    let v = (0..d * d).map(|i| vt[i % d * d + i / d]).collect();
    Some(Some(Smith { u: IntMatrix::from_entries(k, k, u), diagonal, v: IntMatrix::from_entries(d, d, v) }))
}

struct Work<T> {
    a: Vec<T>,
    u: Vec<T>,
    vt: Vec<T>,
    k: usize,
    d: usize,
}

impl<T: Exact> Work<T> {
    fn at(&self, i: usize, j: usize) -> &T {
        &self.a[i * self.d + j]
    }

    /// The smallest non-zero entry at or below and right of (from, from).
    fn smallest(&self, from: usize) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        for i in from..self.k {
            for j in from..self.d {
                let smaller = |b: (usize, usize)| self.at(i, j).cmp_abs(self.at(b.0, b.1)) == Ordering::Less;
                if !self.at(i, j).is_zero() && best.is_none_or(smaller) {
                    best = Some((i, j));
                }
            }
        }
        best
    }

    /// Reduces row and column of the pivot by it; whether nothing but the pivot is left there.
    fn clear(&mut self, p: usize) -> Option<bool> {
        if self.at(p, p).is_negative() {
            self.negate_row(p)?;
        }
        let mut clean = true;
        for i in p + 1..self.k {
            if !self.at(i, p).is_zero() {
                let q = self.at(i, p).div_round(self.at(p, p))?;
                self.add_row(i, p, &q)?;
                clean &= self.at(i, p).is_zero();
            }
        }
        for j in p + 1..self.d {
            if !self.at(p, j).is_zero() {
                let q = self.at(p, j).div_round(self.at(p, p))?;
                self.add_column(j, p, &q)?;
                clean &= self.at(p, j).is_zero();
            }
        }
        Some(clean)
    }

    /// A row below the pivot with an entry that the pivot does not divide.
    fn undivided(&self, p: usize) -> Option<Option<usize>> {
        let pivot = self.at(p, p);
        if *pivot == T::of(1) {
            return Some(None);
        }
        for i in p + 1..self.k {
            for j in p + 1..self.d {
                let x = self.at(i, j);
                if !x.rem(pivot)?.is_zero() {
                    return Some(Some(i));
                }
            }
        }
        Some(None)
    }

    fn swap_rows(&mut self, i: usize, j: usize) {
        swap(&mut self.a, self.d, i, j);
        swap(&mut self.u, self.k, i, j);
    }

    fn swap_columns(&mut self, i: usize, j: usize) {
        for row in 0..self.k {
            self.a.swap(row * self.d + i, row * self.d + j);
        }
        swap(&mut self.vt, self.d, i, j);
    }

    fn negate_row(&mut self, i: usize) -> Option<()> {
        negate(&mut self.a, self.d, i)?;
        negate(&mut self.u, self.k, i)
    }

    /// Row `i` minus `q` times row `j`.
    fn add_row(&mut self, i: usize, j: usize, q: &T) -> Option<()> {
        subtract(&mut self.a, self.d, i, j, q)?;
        subtract(&mut self.u, self.k, i, j, q)
    }

    /// Column `i` minus `q` times column `j`.
    fn add_column(&mut self, i: usize, j: usize, q: &T) -> Option<()> {
        for row in 0..self.k {
            let (x, y) = (self.at(row, i), self.at(row, j));
            if !y.is_zero() {
                self.a[row * self.d + i] = x.minus(q, y)?;
            }
        }
        subtract(&mut self.vt, self.d, i, j, q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Large dense matrices whose forms leave 64 bits are refused as soon as that is plain.
    #[test]
    fn exploding_entries_are_refused() {
        let mut word = 1u64;
        let mut entry = || {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word as i64 >> 1
        };
        let rows: Vec<Vec<i64>> = (0..30).map(|_| (0..60).map(|_| entry()).collect()).collect();
        let refused = smith(&IntMatrix::from_rows(&rows).unwrap()).unwrap_err().to_string();
        assert!(refused.contains("does not fit into 64 bits"), "{refused}");
    }
}
