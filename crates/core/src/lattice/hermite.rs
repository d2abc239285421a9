//! The Hermite normal form.

use super::exact::{Exact, entries, exactly};
use super::matrix::IntMatrix;
use super::row::{identity, negate, subtract, swap};
use crate::error::Result;
use std::cmp::Ordering;

/// `U A = H`: `U` unimodular, `H` in row echelon form with pivots > 0, the entries above a pivot in
/// `0..pivot`, zero rows last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hermite {
    /// k × k.
    pub u: IntMatrix,
    /// k × d.
    pub h: IntMatrix,
    /// Columns of the pivots: as many as the rank of `A`.
    pub pivots: Vec<usize>,
}

/// The row-style Hermite normal form.
///
/// Errors: an entry of the result does not fit into 64 bits.
pub fn hermite(a: &IntMatrix) -> Result<Hermite> {
    exactly!("Hermite normal form", run(a))
}

fn run<T: Exact>(matrix: &IntMatrix) -> Option<Option<Hermite>> {
    let (k, d) = (matrix.rows(), matrix.columns());
    let mut h: Vec<T> = matrix.entries().iter().map(|&x| T::of(x)).collect();
    let mut u: Vec<T> = identity(k);
    let mut pivots = Vec::new();
    for column in 0..d {
        let top = pivots.len();
        // Euclid's algorithm on the column, by the smallest entry.
        loop {
            let smallest = (top..k).filter(|&i| !h[i * d + column].is_zero()).reduce(|a, b| {
                if h[b * d + column].cmp_abs(&h[a * d + column]) == Ordering::Less { b } else { a }
            });
            let Some(smallest) = smallest else { break };
            swap(&mut h, d, top, smallest);
            swap(&mut u, k, top, smallest);
            if h[top * d + column].is_negative() {
                negate(&mut h, d, top)?;
                negate(&mut u, k, top)?;
            }
            let mut clean = true;
            for i in top + 1..k {
                let q = h[i * d + column].div_round(&h[top * d + column])?;
                subtract(&mut h, d, i, top, &q)?;
                subtract(&mut u, k, i, top, &q)?;
                clean &= h[i * d + column].is_zero();
            }
            if clean {
                for i in 0..top {
                    let q = h[i * d + column].div_floor(&h[top * d + column])?;
                    subtract(&mut h, d, i, top, &q)?;
                    subtract(&mut u, k, i, top, &q)?;
                }
                pivots.push(column);
                break;
            }
        }
    }
    let (Some(u), Some(h)) = (entries(&u), entries(&h)) else { return Some(None) };
    Some(Some(Hermite { u: IntMatrix::from_entries(k, k, u), h: IntMatrix::from_entries(k, d, h), pivots }))
}
