//! Small dense matrices, square and symmetric, row by row: what a kind of coefficients of the joined attributes has.

/// What cancels to less than this part of its terms is 0.
const ROUNDING: f64 = 1e-13;

/// The inverse of a positive definite matrix of `n` rows (Cholesky's way); `None`: it is not, to rounding.
pub(super) fn inverse(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut lower = matrix.to_vec();
    for k in 0..n {
        let before = lower[k * n..k * n + k].iter().map(|x| x * x).sum::<f64>();
        let pivot = lower[k * n + k] - before;
        if pivot <= ROUNDING * lower[k * n + k] || !pivot.is_finite() {
            return None;
        }
        let root = libm::sqrt(pivot);
        lower[k * n + k] = root;
        for i in k + 1..n {
            let product: f64 = (0..k).map(|j| lower[i * n + j] * lower[k * n + j]).sum();
            lower[i * n + k] = (lower[i * n + k] - product) / root;
        }
    }
    // Column by column of the identity: down, then up.
    let mut inverse = vec![0.0; n * n];
    let mut column = vec![0.0; n];
    for c in 0..n {
        for i in 0..n {
            let before: f64 = (c..i).map(|j| lower[i * n + j] * column[j]).sum();
            column[i] =
                (if i == c { 1.0 } else { 0.0 } - if i < c { 0.0 } else { before }) / lower[i * n + i];
            if i < c {
                column[i] = 0.0;
            }
        }
        for i in (0..n).rev() {
            let after: f64 = (i + 1..n).map(|j| lower[j * n + i] * column[j]).sum();
            column[i] = (column[i] - after) / lower[i * n + i];
        }
        (0..n).for_each(|i| inverse[i * n + c] = column[i]);
    }
    Some(inverse)
}

/// `G` with `M G M = M`, symmetric, of a positive semidefinite matrix: the inverse on as many rows as are independent, 0 elsewhere.
pub(super) fn generalised_inverse(matrix: &[f64], n: usize) -> Vec<f64> {
    let mut swept = matrix.to_vec();
    let diagonal: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
    let mut open: Vec<usize> = (0..n).collect();
    let mut done = vec![false; n];
    // The largest pivot first, beside what it was.
    let share =
        |swept: &[f64], i: usize| if diagonal[i] > 0.0 { swept[i * n + i] / diagonal[i] } else { 0.0 };
    while let Some(at) =
        (0..open.len()).max_by(|&a, &b| share(&swept, open[a]).total_cmp(&share(&swept, open[b])))
    {
        let k = open.swap_remove(at);
        if share(&swept, k) <= 1e-11 {
            break;
        }
        done[k] = true;
        let pivot = swept[k * n + k];
        let row: Vec<f64> = swept[k * n..(k + 1) * n].to_vec();
        let column: Vec<f64> = (0..n).map(|i| swept[i * n + k]).collect();
        for i in 0..n {
            for j in 0..n {
                swept[i * n + j] = match (i == k, j == k) {
                    (true, true) => 1.0 / pivot,
                    (true, false) => row[j] / pivot,
                    (false, true) => -column[i] / pivot,
                    (false, false) => swept[i * n + j] - column[i] * row[j] / pivot,
                };
            }
        }
    }
    // Of a sweep the block of what was swept is the inverse.
    for i in 0..n {
        for j in 0..n {
            if !(done[i] && done[j]) {
                swept[i * n + j] = 0.0;
            }
        }
    }
    swept
}

/// What is known of a vector with the covariance `cov` once `hᵀ x` is measured with a variance: replaces the covariance, and gives the gain
/// by which the measurement less `hᵀ x` moves the vector. 0s where `hᵀ x` is known already.
pub(super) fn measured(cov: &mut [f64], h: &[f64], variance: f64) -> Vec<f64> {
    let n = h.len();
    let product = |row: &[f64]| row.iter().zip(h).map(|(v, h)| v * h).sum::<f64>();
    let along: Vec<f64> = cov.chunks_exact(n).map(product).collect();
    let size = |row: &[f64]| row.iter().zip(h).map(|(v, h)| (v * h).abs()).sum::<f64>();
    let terms: f64 = cov.chunks_exact(n).zip(h).map(|(row, h)| h.abs() * size(row)).sum();
    let total = product(&along) + variance;
    if total <= ROUNDING * terms || total <= 0.0 {
        return vec![0.0; n];
    }
    // Of what is known nothing is left but rounding.
    let rounding = if variance == 0.0 { ROUNDING } else { 0.0 };
    for (row, a) in cov.chunks_exact_mut(n).zip(&along) {
        for (v, b) in row.iter_mut().zip(&along) {
            let less = a * b / total;
            let rest = *v - less;
            *v = if rest.abs() <= rounding * less.abs() { 0.0 } else { rest };
        }
    }
    along.iter().map(|a| a / total).collect()
}

/// Takes what is known, `hᵀ x` for each h, from a covariance: by h how the estimate moves with it.
pub(super) fn known<'a>(covariance: &mut [f64], rows: impl Iterator<Item = &'a [f64]>) -> Vec<Vec<f64>> {
    let mut gains: Vec<Vec<f64>> = Vec::new();
    for h in rows {
        let gain = measured(covariance, h, 0.0);
        for before in &mut gains {
            let along: f64 = before.iter().zip(h).map(|(gain, h)| gain * h).sum();
            before.iter_mut().zip(&gain).for_each(|(own, gain)| *own -= gain * along);
        }
        gains.push(gain);
    }
    gains
}

/// Adds numbers to others, one by one.
pub(super) fn add(out: &mut [f64], of: &[f64]) {
    out.iter_mut().zip(of).for_each(|(out, x)| *out += x);
}

/// Adds numbers times a weight to others, one by one.
pub(super) fn axpy(out: &mut [f64], weight: f64, of: &[f64]) {
    out.iter_mut().zip(of).for_each(|(out, x)| *out += weight * x);
}

/// The product of two matrices of `n` rows.
pub(super) fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for (row, own) in out.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        for (x, other) in own.iter().zip(b.chunks_exact(n)) {
            row.iter_mut().zip(other).for_each(|(out, y)| *out += x * y);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal;
    use crate::testing::test_stream;
    use nalgebra::DMatrix;

    /// `M M⁻¹ = I` and `M G M = M`, for random matrices of all ranks.
    #[test]
    fn inverses_are_inverses() {
        let mut rng = test_stream(412);
        for n in 1..8 {
            for rank in 0..=n {
                let factor = DMatrix::from_fn(n, rank, |_, _| normal(&mut rng));
                let matrix = &factor * factor.transpose();
                let rows: Vec<f64> = matrix.transpose().as_slice().to_vec();
                let general = DMatrix::from_row_slice(n, n, &generalised_inverse(&rows, n));
                assert!(
                    (&matrix * &general * &matrix - &matrix).amax() < 1e-7 * matrix.amax().max(1.0),
                    "{n} {rank}"
                );
                match inverse(&rows, n) {
                    Some(own) => {
                        assert_eq!(rank, n);
                        let own = DMatrix::from_row_slice(n, n, &own);
                        let off = (&matrix * own - DMatrix::identity(n, n)).amax();
                        assert!(off < 1e-6, "{n}: {off}");
                    }
                    None => assert!(rank < n),
                }
            }
        }
    }
}
