//! The closest values >= 0 with given sums, of many columns at once.

/// Columns that are done together: those of a family of some hundred rows fit the nearest cache.
const TOGETHER: usize = 32;
/// Rounds of a column at most: each but the first few takes a value out for good.
const ROUNDS: usize = 200;

/// Replaces an array by the closest one in L2 with entries >= 0 and columns that have given sums, to rounding: `max(0, x - θ)`, θ of the
/// column by Newton's way from where it was.
///
/// The sum as a function of θ is convex and falls, in straight parts: from its left Newton's way ends at the root after finitely many
/// steps, and from its right the first step leads to its left.
///
/// - `array`: row by row.
/// - `sums`: at least 0, by column. Columns whose sum is 0 become 0.
/// - `thetas`: by column, any numbers; replaced by θ.
pub(super) fn project(array: &mut [f64], sums: &[f64], thetas: &mut [f64]) {
    let columns = sums.len();
    for from in (0..columns).step_by(TOGETHER) {
        let to = (from + TOGETHER).min(columns);
        let (sums, thetas) = (&sums[from..to], &mut thetas[from..to]);
        settle(array, (from, columns), sums, thetas);
        for row in array.chunks_exact_mut(columns) {
            for ((x, theta), sum) in row[from..to].iter_mut().zip(&*thetas).zip(sums) {
                *x = if *sum > 0.0 { (*x - theta).max(0.0) } else { 0.0 };
            }
        }
    }
}

fn settle(array: &[f64], (from, columns): (usize, usize), sums: &[f64], thetas: &mut [f64]) {
    let width = sums.len();
    let (mut total, mut count, mut most) = ([0.0; TOGETHER], [0.0; TOGETHER], [f64::NEG_INFINITY; TOGETHER]);
    for row in array.chunks_exact(columns) {
        for (most, x) in most.iter_mut().zip(&row[from..from + width]) {
            *most = most.max(*x);
        }
    }
    // Somewhere below the largest value; where it alone is above θ by the whole sum is on the root's left.
    for ((theta, most), sum) in thetas.iter_mut().zip(&most).zip(sums) {
        *theta = if *theta < *most { *theta } else { most - sum };
    }
    for _ in 0..ROUNDS {
        total[..width].fill(0.0);
        count[..width].fill(0.0);
        for row in array.chunks_exact(columns) {
            let lanes = total.iter_mut().zip(&mut count).zip(&row[from..from + width]).zip(&*thetas);
            for (((total, count), x), theta) in lanes {
                let above = x - theta;
                *total += above.max(0.0);
                *count += if above > 0.0 { 1.0 } else { 0.0 };
            }
        }
        let mut moved = false;
        for (i, theta) in thetas.iter_mut().enumerate() {
            if sums[i] > 0.0 && count[i] > 0.0 {
                let next = *theta + (total[i] - sums[i]) / count[i];
                moved |= (next - *theta).abs() > 1e-14 * (next.abs() + most[i].abs() + sums[i]);
                *theta = next;
            }
        }
        if !moved {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{below, normal};
    use crate::testing::test_stream;

    /// Against a search by halves for θ, from anywhere.
    #[test]
    fn columns_are_closest() {
        let mut rng = test_stream(4202);
        for _ in 0..300 {
            let (rows, columns) = (1 + below(&mut rng, 30) as usize, 1 + below(&mut rng, 70) as usize);
            let sums: Vec<f64> = (0..columns)
                .map(|_| below(&mut rng, 9) as f64 * if below(&mut rng, 5) == 0 { 1e6 } else { 1.0 })
                .collect();
            let given: Vec<f64> = (0..rows * columns)
                .map(|_| (4.0 * normal(&mut rng)).round() / 2.0 + normal(&mut rng))
                .collect();
            let mut thetas: Vec<f64> = (0..columns).map(|_| 20.0 * normal(&mut rng)).collect();
            let mut array = given.clone();
            project(&mut array, &sums, &mut thetas);
            for (column, &sum) in sums.iter().enumerate() {
                let at = |array: &[f64]| -> Vec<f64> {
                    array.iter().skip(column).step_by(columns).copied().collect()
                };
                let (x, got) = (at(&given), at(&array));
                let (mut low, mut high) = (-1e7, 1e7);
                for _ in 0..100 {
                    let theta = 0.5 * (low + high);
                    let total: f64 = x.iter().map(|x| (x - theta).max(0.0)).sum();
                    if total > sum { low = theta } else { high = theta }
                }
                for (x, got) in x.iter().zip(&got) {
                    let want = if sum > 0.0 { (x - low).max(0.0) } else { 0.0 };
                    assert!((got - want).abs() <= 1e-12 * (1.0 + sum), "{got} {want}");
                }
                assert!((got.iter().sum::<f64>() - sum).abs() <= 1e-11 * (1.0 + sum));
            }
        }
    }
}
