//! Elimination: rank, inverses and solutions of integer systems, fraction-free; and of real ones.

use super::exact::Exact;
use super::matrix::IntMatrix;
use super::row::{gcd, make_primitive};
use crate::error::{Error, Result};

/// Columns of a matrix that is brought into normal form.
pub const MAX_DIMENSION: usize = 2048;

/// Refuses a matrix that is too large for dense normal forms.
pub(crate) fn check_dimension(size: usize) -> Result<()> {
    if size <= MAX_DIMENSION {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "the normal form of the invariant".into(),
        needed: size as u64,
        limit: MAX_DIMENSION as u64,
        unit: "rows or columns",
    })
}

/// The indices of the first rows that are linearly independent: as many as the rank.
///
/// Errors: more than [`MAX_DIMENSION`] rows or columns.
pub fn independent_rows(a: &IntMatrix) -> Result<Vec<usize>> {
    check_dimension(a.rows().max(a.columns()))?;
    Ok(match independent::<i128>(a) {
        Some(rows) => rows,
        None => independent::<dashu_int::IBig>(a).expect("big integers do not overflow"),
    })
}

fn independent<T: Exact>(a: &IntMatrix) -> Option<Vec<usize>> {
    let mut echelon = Echelon::new();
    let mut chosen = Vec::new();
    for i in 0..a.rows() {
        if echelon.add(a.row(i).iter().map(|&x| T::of(x)).collect())? {
            chosen.push(i);
        }
    }
    Some(chosen)
}

/// Independent rows, each with its pivot: none before it has anything left there.
pub(crate) struct Echelon<T>(Vec<(usize, Vec<T>)>);

impl<T: Exact> Echelon<T> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn rank(&self) -> usize {
        self.0.len()
    }

    /// Adds a row; whether it is independent of those before. `None`: overflow.
    pub(crate) fn add(&mut self, mut row: Vec<T>) -> Option<bool> {
        for (pivot, other) in &self.0 {
            clear(&mut row, other, *pivot)?;
        }
        let pivot = row.iter().position(|x| !x.is_zero());
        self.0.extend(pivot.map(|pivot| (pivot, row)));
        Some(pivot.is_some())
    }
}

/// Clears the entry of a row at the pivot of another: the primitive multiple of their combination. `None`: overflow.
pub(super) fn clear<T: Exact>(row: &mut [T], by: &[T], pivot: usize) -> Option<()> {
    if row[pivot].is_zero() {
        return Some(());
    }
    let common = gcd(&by[pivot], &row[pivot])?;
    let (own, factor) = (by[pivot].div_floor(&common)?, row[pivot].div_floor(&common)?);
    for (x, y) in row.iter_mut().zip(by) {
        *x = x.mul(&own)?.minus(&factor, y)?;
    }
    make_primitive(row)
}

/// Gauss-Jordan elimination of rows whose last entry is the right-hand side: the pivots as (row, column).
///
/// - `order`: the columns that may be pivots, the most wanted first; `true` for those that are taken before all others
///   where their pivot is ±1.
///
/// `None`: no solution, or overflow.
pub(crate) fn gauss_jordan(system: &mut [Vec<i128>], order: &[(usize, bool)]) -> Option<Vec<(usize, usize)>> {
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    let mut open = vec![true; system.len()];
    for units_only in [true, false] {
        for &(column, early) in order {
            if (units_only && !early) || pivots.iter().any(|&(_, c)| c == column) {
                continue;
            }
            let candidates = (0..system.len()).filter(|&i| open[i] && system[i][column] != 0);
            let Some(at) = candidates.min_by_key(|&i| system[i][column].abs()) else { continue };
            if units_only && system[at][column].abs() != 1 {
                continue;
            }
            open[at] = false;
            pivots.push((at, column));
            let row = std::mem::take(&mut system[at]);
            for other in system.iter_mut().filter(|other| !other.is_empty()) {
                clear(other, &row, column)?;
            }
            system[at] = row;
        }
    }
    let solvable = system.iter().zip(open).all(|(row, open)| !open || row.last() == Some(&0));
    solvable.then_some(pivots)
}

/// `det(M)` and `det(M) M⁻¹` for the matrix with the given columns, by fraction-free Gauss-Jordan elimination
/// (Bareiss). `None`: overflow, or a singular matrix.
pub(crate) fn adjugate(columns: &[Vec<i128>]) -> Option<(Vec<Vec<i128>>, i128)> {
    let n = columns.len();
    let mut m: Vec<Vec<i128>> = (0..n)
        .map(|i| {
            let row = columns.iter().map(|column| column[i]);
            row.chain((0..n).map(|j| i128::from(i == j))).collect()
        })
        .collect();
    let mut before = 1i128;
    for k in 0..n {
        let pivot = (k..n).find(|&i| m[i][k] != 0)?;
        m.swap(k, pivot);
        let row = m[k].clone();
        for (i, other) in m.iter_mut().enumerate() {
            if i != k {
                let factor = other[k];
                for (x, y) in other.iter_mut().zip(&row) {
                    *x = x.checked_mul(row[k])?.checked_sub(factor.checked_mul(*y)?)? / before;
                }
            }
        }
        before = row[k];
    }
    // Every diagonal entry is now the determinant up to the sign of the row exchanges, which both sides share.
    Some((m.into_iter().map(|row| row[n..].to_vec()).collect(), before))
}

/// The real solution of `m x = b` by elimination with pivots; `None` for a singular matrix.
pub(crate) fn solve(mut m: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&i, &j| m[i][c].abs().total_cmp(&m[j][c].abs()))?;
        if m[pivot][c].abs() < 1e-12 {
            return None;
        }
        m.swap(c, pivot);
        b.swap(c, pivot);
        for i in c + 1..n {
            let factor = m[i][c] / m[c][c];
            let row = m[c].clone();
            m[i].iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
            b[i] -= factor * b[c];
        }
    }
    for c in (0..n).rev() {
        let rest: f64 = (c + 1..n).map(|j| m[c][j] * b[j]).sum();
        b[c] = (b[c] - rest) / m[c][c];
    }
    Some(b)
}
