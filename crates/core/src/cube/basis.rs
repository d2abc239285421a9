//! The basis of means and deviations (Helmert's): orthonormal, along every axis of an array.

/// Replaces arrays by their coefficients, along every axis: of values `x_0, …, x_(n-1)` the 0th is `Σ x / √n`, the k-th `(x_0 + … +
/// x_(k-1) - k x_k) / √(k (k + 1))`.
///
/// - `values`: any number of arrays, one after the other.
/// - `sizes`: of their axes, the last the fastest.
pub(super) fn forward(values: &mut [f64], sizes: &[usize]) {
    along(values, sizes, |rows, inner| {
        let n = rows.len() / inner;
        let (sums, rest) = rows.split_at_mut(inner);
        for (k, row) in (1..n).zip(rest.chunks_exact_mut(inner)) {
            let k = k as f64;
            let scale = 1.0 / libm::sqrt(k * (k + 1.0));
            for (sum, x) in sums.iter_mut().zip(row) {
                let value = *x;
                *x = (*sum - k * value) * scale;
                *sum += value;
            }
        }
        let scale = 1.0 / libm::sqrt(n as f64);
        sums.iter_mut().for_each(|sum| *sum *= scale);
    });
}

/// Undoes [`forward`].
pub(super) fn backward(values: &mut [f64], sizes: &[usize]) {
    along(values, sizes, |rows, inner| {
        let n = rows.len() / inner;
        let (sums, rest) = rows.split_at_mut(inner);
        let scale = libm::sqrt(n as f64);
        sums.iter_mut().for_each(|sum| *sum *= scale);
        for (k, row) in (1..n).zip(rest.chunks_exact_mut(inner)).rev() {
            let k = k as f64;
            let (scale, part) = (libm::sqrt(k * (k + 1.0)), 1.0 / (k + 1.0));
            for (sum, x) in sums.iter_mut().zip(row) {
                let value = (*sum - *x * scale) * part;
                *x = value;
                *sum -= value;
            }
        }
    });
}

/// Does something with the rows along each axis in turn, of `inner` values each.
fn along(values: &mut [f64], sizes: &[usize], each: impl Fn(&mut [f64], usize)) {
    let mut inner = 1;
    for &n in sizes.iter().rev() {
        if n > 1 {
            values.chunks_exact_mut(n * inner).for_each(|rows| each(rows, inner));
        }
        inner *= n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal;
    use crate::testing::test_stream;

    /// Lengths are kept, the way back leads back, and a coefficient is the product along its row of the matrix as it is written.
    #[test]
    fn the_basis_is_orthonormal_and_that_of_the_formula() {
        let row = |n: usize, k: usize| -> Vec<f64> {
            let entry = |j: usize| match (k, j.cmp(&k)) {
                (0, _) => 1.0 / (n as f64).sqrt(),
                (_, std::cmp::Ordering::Less) => 1.0 / ((k * (k + 1)) as f64).sqrt(),
                (_, std::cmp::Ordering::Equal) => -(k as f64) / ((k * (k + 1)) as f64).sqrt(),
                _ => 0.0,
            };
            (0..n).map(entry).collect()
        };
        let mut rng = test_stream(411);
        for sizes in [&[1][..], &[2], &[5], &[2, 3], &[3, 1, 4], &[2, 2, 63]] {
            let cells: usize = sizes.iter().product();
            let given: Vec<f64> = (0..3 * cells).map(|_| normal(&mut rng)).collect();
            let mut values = given.clone();
            forward(&mut values, sizes);
            for (array, own) in given.chunks(cells).zip(values.chunks(cells)) {
                for (place, value) in own.iter().enumerate() {
                    let split = |mut place: usize| {
                        let of = |n: &usize| {
                            let own = place % n;
                            place /= n;
                            own
                        };
                        let mut all: Vec<usize> = sizes.iter().rev().map(of).collect();
                        all.reverse();
                        all
                    };
                    let rows: Vec<Vec<f64>> =
                        split(place).iter().zip(sizes).map(|(&k, &n)| row(n, k)).collect();
                    let weight = |cell: usize| -> f64 {
                        split(cell).iter().zip(&rows).map(|(&j, row)| row[j]).product()
                    };
                    let want: f64 = array.iter().enumerate().map(|(cell, x)| weight(cell) * x).sum();
                    assert!((value - want).abs() < 1e-12, "{sizes:?} {place}: {value} {want}");
                }
            }
            backward(&mut values, sizes);
            assert!(values.iter().zip(&given).all(|(a, b)| (a - b).abs() < 1e-13));
        }
    }
}
