//! Lattice reduction.

use super::exact::{Exact, entries, exactly};
use super::matrix::IntMatrix;
use crate::error::{Error, Result};

/// A reduced basis of the lattice that the rows of `basis` generate: Lenstra, Lenstra, Lovász (1982), with
/// delta = 3/4, in the all-integer form of Cohen (1993), Algorithm 2.6.7.
///
/// Errors: dependent rows; an entry of the result does not fit into 64 bits.
pub fn reduce(basis: &IntMatrix) -> Result<IntMatrix> {
    let reduced = exactly!("reduced basis", run(basis))?;
    reduced.ok_or_else(|| Error::Invariant("reduced basis: the rows are dependent".into()))
}

/// Outer `None`: overflow of `T`; middle: a result beyond `i64`; inner: dependent rows.
fn run<T: Exact>(matrix: &IntMatrix) -> Option<Option<Option<IntMatrix>>> {
    let (m, d) = (matrix.rows(), matrix.columns());
    let mut b: Vec<Vec<T>> = (0..m).map(|i| matrix.row(i).iter().map(|&x| T::of(x)).collect()).collect();
    // det[i] = Gram determinant of the first i rows; lambda[i][j] = det[j + 1] mu[i][j].
    let mut det = vec![T::of(1); m + 1];
    let mut lambda = vec![vec![T::of(0); m]; m];
    let mut known = 0;
    let mut k = 0;
    while k < m {
        if k == known {
            for j in 0..=k {
                let mut u = inner(&b[k], &b[j])?;
                for i in 0..j {
                    u = det[i + 1].mul(&u)?.minus(&lambda[k][i], &lambda[j][i])?.div_floor(&det[i])?;
                }
                if j < k {
                    lambda[k][j] = u;
                } else if u.is_zero() {
                    return Some(Some(None));
                } else {
                    det[k + 1] = u;
                }
            }
            known += 1;
        }
        if k == 0 {
            k = 1;
            continue;
        }
        size_reduce(&mut b, &mut lambda, &det, k, k - 1)?;
        // Lovász: det[k + 1] det[k - 1] >= 3/4 det[k]² - lambda².
        let left =
            det[k + 1].mul(&det[k - 1])?.add(&lambda[k][k - 1].mul(&lambda[k][k - 1])?)?.mul(&T::of(4))?;
        let right = det[k].mul(&det[k])?.mul(&T::of(3))?;
        if left.minus(&T::of(1), &right)?.is_negative() {
            exchange(&mut b, &mut lambda, &mut det, k, known)?;
            k = (k - 1).max(1);
        } else {
            for j in (0..k.saturating_sub(1)).rev() {
                size_reduce(&mut b, &mut lambda, &det, k, j)?;
            }
            k += 1;
        }
    }
    let rows: Option<Vec<Vec<i64>>> = b.iter().map(|row| entries(row)).collect();
    Some(rows.map(|rows| Some(IntMatrix::from_entries(m, d, rows.concat()))))
}

fn inner<T: Exact>(a: &[T], b: &[T]) -> Option<T> {
    let mut sum = T::of(0);
    for (x, y) in a.iter().zip(b) {
        if !x.is_zero() && !y.is_zero() {
            sum = sum.add(&x.mul(y)?)?;
        }
    }
    Some(sum)
}

fn size_reduce<T: Exact>(
    b: &mut [Vec<T>],
    lambda: &mut [Vec<T>],
    det: &[T],
    k: usize,
    j: usize,
) -> Option<()> {
    let q = lambda[k][j].div_round(&det[j + 1])?;
    if q.is_zero() {
        return Some(());
    }
    let (head, tail) = b.split_at_mut(k);
    for (x, y) in tail[0].iter_mut().zip(&head[j]) {
        *x = x.minus(&q, y)?;
    }
    lambda[k][j] = lambda[k][j].minus(&q, &det[j + 1])?;
    let (head, tail) = lambda.split_at_mut(k);
    for (x, y) in tail[0][..j].iter_mut().zip(&head[j]) {
        *x = x.minus(&q, y)?;
    }
    Some(())
}

/// Exchanges rows k - 1 and k.
fn exchange<T: Exact>(
    b: &mut [Vec<T>],
    lambda: &mut [Vec<T>],
    det: &mut [T],
    k: usize,
    known: usize,
) -> Option<()> {
    b.swap(k - 1, k);
    let (head, tail) = lambda.split_at_mut(k);
    head[k - 1][..k - 1].swap_with_slice(&mut tail[0][..k - 1]);
    let l = lambda[k][k - 1].clone();
    let new = det[k - 1].mul(&det[k + 1])?.add(&l.mul(&l)?)?.div_floor(&det[k])?;
    for row in lambda.iter_mut().take(known).skip(k + 1) {
        let t = row[k].clone();
        row[k] = det[k + 1].mul(&row[k - 1])?.minus(&l, &t)?.div_floor(&det[k])?;
        row[k - 1] = new.mul(&t)?.add(&l.mul(&row[k])?)?.div_floor(&det[k + 1])?;
    }
    det[k] = new;
    Some(())
}
