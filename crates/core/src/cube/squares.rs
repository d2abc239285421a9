//! Covariances as sums of squares, `Σ p pᵀ` over some *parts* p, one after the other: what a kind of coefficients of the joined attributes
//! has. No covariance is formed and none is inverted, so that noise of very different sizes stays apart: what is small stays as exact as
//! it is beside what is large. Parts are moved by reflections, which leave their sum of squares as it is.

use super::small::axpy;
use crate::lattice::dot;

/// What cancels to less than this beside the size of its terms is rounding.
const ROUNDING: f64 = 1e-13;
/// A direction of which a row has less than this part of its length is not open.
const OPEN: f64 = 1e-11;
/// Rows that are stacked before they are made a triangle, as a multiple of their width.
const STACKED: usize = 3;

/// The largest size of numbers.
fn size(of: &[f64]) -> f64 {
    of.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// The covariance that parts of `n` numbers are the squares of, row by row. `most`: the size of the numbers that they were made of; what
/// is nothing beside it is 0, so that a number that is known has no covariance with any.
pub(super) fn covariance(parts: &[f64], most: f64, n: usize) -> Vec<f64> {
    let mut all = vec![0.0; n * n];
    for part in parts.chunks_exact(n) {
        let own: Vec<f64> = part.iter().map(|&x| if x.abs() > ROUNDING * most { x } else { 0.0 }).collect();
        all.chunks_exact_mut(n).zip(&own).for_each(|(row, &weight)| axpy(row, weight, &own));
    }
    all
}

/// The variance of the sum of some coefficients. `most`: the size of the numbers that the parts were made of; what is nothing beside it
/// is 0.
pub(super) fn variance(parts: &[f64], most: f64, n: usize, row: &[u32]) -> f64 {
    let along = |part: &[f64]| row.iter().map(|&i| part[i as usize]).sum::<f64>();
    let all: f64 = parts.chunks_exact(n).map(|part| along(part) * along(part)).sum();
    if all > ROUNDING * ROUNDING * most * most { all } else { 0.0 }
}

/// Parts of `n` numbers, at most `n` of them, with the sum of squares that some parts have.
pub(super) fn gathered(parts: impl Iterator<Item = f64>, n: usize) -> Vec<f64> {
    let all: Vec<f64> = parts.collect();
    if all.len() <= n * n {
        return all;
    }
    let mut stack = Stack::new(n, n);
    all.chunks_exact(n).for_each(|part| stack.add(part.iter().copied()));
    stack.triangle().rows
}

/// Parts times a weight.
pub(super) fn times(parts: &[f64], weight: f64) -> Vec<f64> {
    parts.iter().map(|x| weight * x).collect()
}

/// What is known of a vector while it is measured: its parts, and the directions in which nothing is known.
pub(super) struct Filter {
    n: usize,
    /// Each part with the size of the largest numbers that it was made of.
    parts: Vec<(Vec<f64>, f64)>,
    /// Orthonormal.
    open: Vec<Vec<f64>>,
    most: f64,
}

impl Filter {
    /// Begins with a vector of `n` numbers by the parts of its covariance.
    pub(super) fn of(parts: &[f64], n: usize) -> Self {
        let most = size(parts);
        let parts = parts.chunks_exact(n).map(|part| (part.to_vec(), size(part))).collect();
        Self { n, parts, open: Vec::new(), most }
    }

    /// Begins with a vector of which nothing is known.
    pub(super) fn open(n: usize) -> Self {
        let direction = |k: usize| (0..n).map(|i| if i == k { 1.0 } else { 0.0 }).collect();
        Self { n, parts: Vec::new(), open: (0..n).map(direction).collect(), most: 0.0 }
    }

    /// The size of the numbers that the parts were made of.
    pub(super) fn most(&self) -> f64 {
        self.most
    }

    /// The parts, one after the other; `None`: some direction is open.
    pub(super) fn parts(self) -> Option<Vec<f64>> {
        self.open.is_empty().then(|| self.parts.into_iter().flat_map(|(part, _)| part).collect())
    }

    /// Takes in a measurement of `hᵀ x` with noise of a variance: the gain by which the measurement less `hᵀ x` moves the estimate. 0s
    /// where `hᵀ x` is known already.
    pub(super) fn measure(&mut self, h: &[f64], variance: f64) -> Vec<f64> {
        match self.opened(h) {
            Some(gain) => {
                for (part, size) in &mut self.parts {
                    let along = dot(h, part);
                    axpy(part, -along, &gain);
                    *size = size.max(self::size(part));
                }
                if variance > 0.0 {
                    let part = times(&gain, libm::sqrt(variance));
                    let size = size(&part);
                    self.parts.push((part, size));
                }
                self.most = self.parts.iter().fold(self.most, |most, (_, size)| most.max(*size));
                gain
            }
            None => self.among_parts(h, variance),
        }
    }

    /// Takes the direction of `h` out of those that are open, over its length along `h`; `None`: it has nothing of them.
    fn opened(&mut self, h: &[f64]) -> Option<Vec<f64>> {
        let mut along: Vec<f64> = self.open.iter().map(|own| dot(h, own)).collect();
        let length = libm::sqrt(dot(&along, &along));
        if length <= OPEN * libm::sqrt(dot(h, h)) {
            return None;
        }
        let at = largest(&along);
        let mut direction = vec![0.0; self.n];
        self.open.iter().zip(&along).for_each(|(own, &along)| axpy(&mut direction, along / length, own));
        let own = self.open.swap_remove(at);
        let first = along.swap_remove(at);
        // The reflection that takes `own` to the direction, up to its sign.
        let sign = first.signum();
        let mirror: Vec<f64> = direction.iter().zip(&own).map(|(new, own)| new + sign * own).collect();
        let scale = 1.0 / (length + first.abs());
        for (own, along) in self.open.iter_mut().zip(&along) {
            axpy(own, -along * scale, &mirror);
        }
        direction.iter_mut().for_each(|x| *x /= length);
        Some(direction)
    }

    /// Reflects the parts so that one alone has anything along `h`, which is what the measurement makes less of.
    fn among_parts(&mut self, h: &[f64], variance: f64) -> Vec<f64> {
        let most = size(h);
        let of = |(part, size): &(Vec<f64>, f64)| {
            let along = dot(h, part);
            if along.abs() > ROUNDING * most * size { along } else { 0.0 }
        };
        let along: Vec<f64> = self.parts.iter().map(of).collect();
        let square = dot(&along, &along);
        let mut gain = vec![0.0; self.n];
        if square == 0.0 {
            return gain;
        }
        let length = libm::sqrt(square);
        let at = largest(&along);
        let (mut one, mut one_size) = (vec![0.0; self.n], 0.0f64);
        for ((part, size), &along) in self.parts.iter().zip(&along).filter(|(_, along)| **along != 0.0) {
            axpy(&mut one, along / length, part);
            one_size = one_size.max(along.abs() / length * size);
        }
        let sign = along[at].signum();
        let mirror: Vec<f64> = one.iter().zip(&self.parts[at].0).map(|(new, own)| new + sign * own).collect();
        let (scale, mirror_size) = (1.0 / (length + along[at].abs()), one_size + self.parts[at].1);
        for ((part, size), along) in self.parts.iter_mut().zip(&along).filter(|(_, along)| **along != 0.0) {
            axpy(part, -along * scale, &mirror);
            *size = size.max(along.abs() * scale * mirror_size);
        }
        let total = square + variance;
        axpy(&mut gain, length / total, &one);
        match variance > 0.0 {
            true => {
                let left = libm::sqrt(variance / total);
                self.parts[at] = (times(&one, left), left * one_size);
            }
            false => drop(self.parts.swap_remove(at)),
        }
        // Of two parts in one direction one is left, and rounding.
        self.parts.retain(|(part, size)| self::size(part) > ROUNDING * size);
        gain
    }
}

/// Where the largest of some numbers is.
fn largest(of: &[f64]) -> usize {
    (0..of.len()).max_by(|&a, &b| of[a].abs().total_cmp(&of[b].abs())).expect("there is one")
}

/// Measures a vector: each `hᵀ x` with its variance, the noisiest first and what is known last. Row by row of the vector, by how much each
/// measurement less its `hᵀ x` of before all of them moves it.
pub(super) fn gains<'a>(
    filter: &mut Filter,
    measured: impl ExactSizeIterator<Item = (&'a [f64], f64)>,
) -> Vec<f64> {
    let (n, all) = (filter.n, measured.len());
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(all);
    for (h, variance) in measured {
        let gain = filter.measure(h, variance);
        if size(&gain) > 0.0 {
            for before in &mut columns {
                let along = dot(h, before);
                axpy(before, -along, &gain);
            }
        }
        columns.push(gain);
    }
    (0..n * all).map(|at| columns[at % all][at / all]).collect()
}

/// Rows that are made a triangle by reflections: the sum of their squares stays. The first columns are made one first, the others then.
pub(super) struct Stack {
    width: usize,
    /// How many columns are the first.
    lead: usize,
    rows: Vec<f64>,
}

/// Rows of which the k-th has 0 in the first columns that are the pivots of rows before.
pub(super) struct Triangle {
    width: usize,
    /// By row that has something of the first columns its pivot.
    pub(super) pivots: Vec<usize>,
    /// Those rows, and then the others, which have 0s in the first columns.
    pub(super) rows: Vec<f64>,
}

impl Stack {
    pub(super) fn new(width: usize, lead: usize) -> Self {
        Self { width, lead, rows: Vec::new() }
    }

    /// Adds rows.
    pub(super) fn add(&mut self, rows: impl Iterator<Item = f64>) {
        self.rows.extend(rows);
        if self.rows.len() > STACKED * self.width * self.width {
            self.rows = Triangle::of(std::mem::take(&mut self.rows), self.width, self.lead).rows;
        }
    }

    pub(super) fn triangle(self) -> Triangle {
        Triangle::of(self.rows, self.width, self.lead)
    }
}

impl Triangle {
    fn of(mut rows: Vec<f64>, width: usize, lead: usize) -> Self {
        let number = rows.len() / width;
        let mut scales: Vec<f64> = rows.chunks_exact(width).map(|row| size(&row[..lead])).collect();
        let mut open: Vec<usize> = (0..lead).collect();
        let mut pivots = Vec::new();
        let mut mirror = vec![0.0; width];
        while let Some((at, place)) = largest_entry(&rows[pivots.len() * width..], width, &open, |i| {
            ROUNDING * scales[pivots.len() + i]
        }) {
            let k = pivots.len();
            swap_rows(&mut rows, width, (k, k + at));
            scales.swap(k, k + at);
            let column = open.swap_remove(place);
            reflect(&mut rows[k * width..], width, column, &mut mirror);
            pivots.push(column);
            for (scale, row) in scales[k + 1..].iter_mut().zip(rows[(k + 1) * width..].chunks_exact(width)) {
                *scale = scale.max(size(&row[..lead]));
            }
        }
        let rank = pivots.len();
        rows[rank * width..].chunks_exact_mut(width).for_each(|row| row[..lead].fill(0.0));
        let mut open: Vec<usize> = (lead..width).collect();
        let mut done = rank;
        while let Some((at, place)) = largest_entry(&rows[done * width..], width, &open, |_| 0.0) {
            swap_rows(&mut rows, width, (done, done + at));
            let column = open.swap_remove(place);
            reflect(&mut rows[done * width..], width, column, &mut mirror);
            done += 1;
            if done == number {
                break;
            }
        }
        rows.truncate(done * width);
        Self { width, pivots, rows }
    }

    /// The rows that have something of the first columns.
    fn upper(&self) -> impl Iterator<Item = (&[f64], usize)> {
        self.rows.chunks_exact(self.width).zip(self.pivots.iter().copied())
    }

    /// With the rows as parts of the joint covariance of two vectors of `n` numbers: those of the second where the first is known.
    pub(super) fn left(&self, n: usize) -> impl Iterator<Item = f64> {
        let lower = &self.rows[self.pivots.len() * self.width..];
        lower.chunks_exact(self.width).flat_map(move |row| row[n..].iter().copied())
    }

    /// With the rows as parts of the joint covariance of two vectors of `n` numbers: row by row, by how much the second moves with the
    /// first, in the range of that.
    pub(super) fn moves(&self, n: usize) -> Vec<f64> {
        let mut matrix = vec![0.0; n * n];
        let mut inverse: Vec<f64> = Vec::with_capacity(self.pivots.len() * n);
        for (row, column) in self.upper() {
            // Of the first vector, in units of this part, what the parts before leave of it.
            let mut own = vec![0.0; n];
            own[column] = 1.0;
            for (row, before) in self.rows.chunks_exact(self.width).zip(inverse.chunks_exact(n)) {
                axpy(&mut own, -row[column], before);
            }
            own.iter_mut().for_each(|x| *x /= row[column]);
            matrix.chunks_exact_mut(n).zip(&row[n..]).for_each(|(out, &weight)| axpy(out, weight, &own));
            inverse.extend(own);
        }
        matrix
    }
}

/// Where the largest number of some columns is, of those that are more than rounding: the row, and the place of the column.
fn largest_entry(
    rows: &[f64],
    width: usize,
    columns: &[usize],
    rounding: impl Fn(usize) -> f64,
) -> Option<(usize, usize)> {
    let mut found = None;
    let mut most = 0.0;
    for (i, row) in rows.chunks_exact(width).enumerate() {
        let least = rounding(i);
        for (place, &column) in columns.iter().enumerate() {
            let own = row[column].abs();
            if own > most && own > least {
                (found, most) = (Some((i, place)), own);
            }
        }
    }
    found
}

fn swap_rows(rows: &mut [f64], width: usize, (one, other): (usize, usize)) {
    if one != other {
        let (upper, lower) = rows.split_at_mut(other * width);
        upper[one * width..][..width].swap_with_slice(&mut lower[..width]);
    }
}

/// Reflects rows so that the first alone has something in a column. `mirror`: as long as a row.
fn reflect(rows: &mut [f64], width: usize, column: usize, mirror: &mut [f64]) {
    let square: f64 = rows.chunks_exact(width).map(|row| row[column] * row[column]).sum();
    let length = libm::sqrt(square);
    mirror.fill(0.0);
    for row in rows.chunks_exact(width).filter(|row| row[column] != 0.0) {
        axpy(mirror, row[column] / length, row);
    }
    let (first, others) = rows.split_at_mut(width);
    let sign = first[column].signum();
    let scale = 1.0 / (length + first[column].abs());
    // What the first row becomes is `mirror`; the others move along the sum of both.
    for (own, new) in first.iter_mut().zip(mirror.iter_mut()) {
        let new_own = *new;
        *new += sign * *own;
        *own = new_own;
    }
    first[column] = length;
    for row in others.chunks_exact_mut(width).filter(|row| row[column] != 0.0) {
        let along = row[column];
        axpy(row, -along * scale, mirror);
        row[column] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::small::{measured, product};
    use super::*;
    use crate::rng::{Stream, below, normal};
    use crate::testing::test_stream;

    /// Parts of sizes from 1e-6 to 1e6.
    fn random(rng: &mut Stream, number: usize, width: usize) -> Vec<f64> {
        let one = |rng: &mut Stream| {
            let size = libm::pow(10.0, 12.0 * below(rng, 1000) as f64 / 999.0 - 6.0);
            (0..width).map(|_| size * normal(rng)).collect::<Vec<f64>>()
        };
        (0..number).flat_map(|_| one(rng)).collect()
    }

    fn off(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) / size(b).max(1e-300)
    }

    /// However many rows are stacked, and in however many blocks, their sum of squares stays, and rows have 0s at the pivots of those
    /// before.
    #[test]
    fn triangles_keep_the_sum_of_squares() {
        let mut rng = test_stream(425);
        for _ in 0..200 {
            let (width, number) = (1 + below(&mut rng, 7) as usize, below(&mut rng, 60) as usize);
            let lead = 1 + below(&mut rng, width as u64) as usize;
            let rows = random(&mut rng, number, width);
            let mut stack = Stack::new(width, lead);
            rows.chunks_exact(width).for_each(|row| stack.add(row.iter().copied()));
            let triangle = stack.triangle();
            assert!(triangle.rows.len() <= width * width && triangle.pivots.len() <= lead);
            for (k, row) in triangle.rows.chunks_exact(width).enumerate() {
                assert!(triangle.pivots.iter().take(k).all(|&column| row[column] == 0.0));
                assert!(k < triangle.pivots.len() || row[..lead].iter().all(|x| *x == 0.0));
            }
            let (got, want) = (covariance(&triangle.rows, 0.0, width), covariance(&rows, 0.0, width));
            assert!(number == 0 || off(&got, &want) < 1e-14, "{}", off(&got, &want));
        }
    }

    /// Measurements of random rows leave the covariances of Kalman's formula, and move the estimate by its gains; what is known has none.
    #[test]
    fn measurements_are_those_of_the_formula() {
        let mut rng = test_stream(426);
        for _ in 0..200 {
            let n = 1 + below(&mut rng, 6) as usize;
            let parts: Vec<f64> = (0..n * n).map(|_| normal(&mut rng)).collect();
            let rows: Vec<(Vec<f64>, f64)> = (0..1 + below(&mut rng, 4))
                .map(|_| {
                    let h = (0..n).map(|_| below(&mut rng, 2) as f64).collect();
                    (h, below(&mut rng, 3) as f64)
                })
                .collect();
            let mut filter = Filter::of(&parts, n);
            let gains = gains(&mut filter, rows.iter().map(|(h, variance)| (&**h, *variance)));
            let mut want = covariance(&parts, 0.0, n);
            // Row by row of the vector, by how much the measurements before move it.
            let mut moves: Vec<Vec<f64>> = Vec::new();
            for (h, variance) in &rows {
                let gain = measured(&mut want, h, *variance);
                for before in &mut moves {
                    let along = dot(h, before);
                    axpy(before, -along, &gain);
                }
                moves.push(gain);
            }
            let own = filter.parts().unwrap();
            let got = covariance(&own, 0.0, n);
            let most = size(&covariance(&parts, 0.0, n));
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-7 * most), "{got:?} {want:?}");
            for (j, row) in gains.chunks_exact(rows.len()).enumerate() {
                assert!(row.iter().zip(&moves).all(|(a, b)| (a - b[j]).abs() < 1e-6 * (1.0 + a.abs())));
            }
            for (h, _) in rows.iter().filter(|(_, variance)| *variance == 0.0) {
                let row: Vec<u32> = (0..n as u32).filter(|&i| h[i as usize] == 1.0).collect();
                assert_eq!(variance(&own, size(&parts), n, &row), 0.0);
            }
        }
    }

    /// Of a vector of which nothing is known as many independent rows leave nothing open, and fewer do.
    #[test]
    fn open_directions_close_one_by_one() {
        let mut filter = Filter::open(3);
        filter.measure(&[1.0, 1.0, 0.0], 4.0);
        filter.measure(&[2.0, 2.0, 0.0], 4.0);
        filter.measure(&[0.0, 1.0, 1.0], 0.0);
        assert!(
            Filter { open: filter.open.clone(), parts: filter.parts.clone(), ..filter }.parts().is_none()
        );
        let mut filter = Filter::open(2);
        filter.measure(&[1.0, 1.0], 4.0);
        filter.measure(&[1.0, 0.0], 1.0);
        let got = covariance(&filter.parts().unwrap(), 0.0, 2);
        assert!(off(&got, &[1.0, -1.0, -1.0, 5.0]) < 1e-15, "{got:?}");
    }

    /// With joint parts of two vectors, of a rank that may be less than there are numbers, the second moves by `C_21 C_11⁻`, and what is
    /// left of its covariance is `C_22 - C_21 C_11⁻ C_12`: together that is its covariance.
    #[test]
    fn what_moves_and_what_is_left_is_all() {
        let mut rng = test_stream(427);
        for _ in 0..200 {
            let (n, number) = (1 + below(&mut rng, 5) as usize, 1 + below(&mut rng, 12) as usize);
            let rows: Vec<f64> = (0..2 * n * number).map(|_| normal(&mut rng)).collect();
            let mut stack = Stack::new(2 * n, n);
            stack.add(rows.iter().copied());
            let triangle = stack.triangle();
            let moves = triangle.moves(n);
            let block = |rows: &[f64], i: usize, j: usize| -> Vec<f64> {
                let all = covariance(rows, 0.0, 2 * n);
                (0..n * n).map(|at| all[(i * n + at / n) * 2 * n + j * n + at % n]).collect()
            };
            let want = block(&rows, 1, 0);
            let got = product(&moves, &block(&rows, 0, 0), n);
            assert!(off(&got, &want) < 1e-9, "{got:?} {want:?}");
            let left = covariance(&triangle.left(n).collect::<Vec<_>>(), 0.0, n);
            let mut sum = product(&moves, &block(&rows, 0, 1), n);
            sum.iter_mut().zip(&left).for_each(|(sum, left)| *sum += left);
            assert!(off(&sum, &block(&rows, 1, 1)) < 1e-9);
        }
    }
}
