//! Rows of integers, sparse and dense: their values, exactly, and their contents.

use super::exact::Exact;

/// An integer row by its non-zero coefficients: (column, coefficient), as a rule with ascending columns.
pub type Row = Vec<(u32, i64)>;

/// The non-zero coordinates of a lattice vector, by entry of the table.
pub type Sparse = Vec<(u32, i32)>;

/// `Σ a_i z_i`.
#[inline]
pub(crate) fn value(row: &[(u32, i64)], z: &[i64]) -> i128 {
    value_by(row, |i| z[i as usize])
}

/// `Σ a_i z(i)`.
#[inline]
pub(crate) fn value_by(row: &[(u32, i64)], z: impl Fn(u32) -> i64) -> i128 {
    row.iter().map(|&(i, a)| i128::from(a) * i128::from(z(i))).sum()
}

/// `Σ a_i z_i` of a dense row.
pub(crate) fn inner(a: &[i64], z: &[i64]) -> i128 {
    a.iter().zip(z).map(|(&a, &z)| i128::from(a) * i128::from(z)).sum()
}

/// `Σ a_i z_i` of real z, term by term in the row's order.
pub(crate) fn real_value(row: &[(u32, i64)], z: &[f64]) -> f64 {
    row.iter().map(|&(i, a)| a as f64 * z[i as usize]).sum()
}

/// `Σ a_i²`, in floating point.
pub(crate) fn square(row: &[(u32, i64)]) -> f64 {
    row.iter().map(|&(_, a)| a as f64 * a as f64).sum()
}

/// The greatest common divisor, >= 0. `None`: overflow.
pub(crate) fn gcd<T: Exact>(a: &T, b: &T) -> Option<T> {
    let (mut a, mut b) = (a.abs()?, b.abs()?);
    while !b.is_zero() {
        let rest = a.rem(&b)?;
        (a, b) = (b, rest);
    }
    Some(a)
}

/// Divides a row by its content, the greatest common divisor of its entries. `None`: overflow.
pub(super) fn make_primitive<T: Exact>(row: &mut [T]) -> Option<()> {
    let one = T::of(1);
    let mut content = T::of(0);
    for x in row.iter() {
        content = gcd(&content, x)?;
        if content == one {
            return Some(());
        }
    }
    if !content.is_zero() {
        for x in row {
            *x = x.div_floor(&content)?;
        }
    }
    Some(())
}

/// The identity as a dense matrix.
pub(super) fn identity<T: Exact>(n: usize) -> Vec<T> {
    (0..n * n).map(|i| T::of(i64::from(i % (n + 1) == 0))).collect()
}

/// Swaps two rows of a dense matrix of this width.
pub(super) fn swap<T>(values: &mut [T], width: usize, i: usize, j: usize) {
    if i != j {
        let (low, high) = (i.min(j), i.max(j));
        let (head, tail) = values.split_at_mut(high * width);
        head[low * width..(low + 1) * width].swap_with_slice(&mut tail[..width]);
    }
}

/// Row `i` minus `q` times row `j`.
pub(super) fn subtract<T: Exact>(values: &mut [T], width: usize, i: usize, j: usize, q: &T) -> Option<()> {
    for c in 0..width {
        if !values[j * width + c].is_zero() {
            values[i * width + c] = values[i * width + c].minus(q, &values[j * width + c])?;
        }
    }
    Some(())
}

/// Row `i` with the other sign.
pub(super) fn negate<T: Exact>(values: &mut [T], width: usize, i: usize) -> Option<()> {
    for x in &mut values[i * width..(i + 1) * width] {
        *x = x.neg()?;
    }
    Some(())
}
