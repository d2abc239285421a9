//! Orthogonal and orthonormal bases, in floating point.

use super::matrix::IntMatrix;

/// Squared lengths of the Gram-Schmidt vectors of the rows; their product is `det(B Bᵀ)`.
///
/// In floating point, by modified Gram-Schmidt: meant for reduced bases.
pub fn gram_schmidt_squares(basis: &IntMatrix) -> Vec<f64> {
    orthogonal(basis).1
}

/// The Gram-Schmidt vectors (row by row) and their squared lengths.
pub(crate) fn orthogonal(basis: &IntMatrix) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut vectors: Vec<Vec<f64>> = Vec::with_capacity(basis.rows());
    let mut squares: Vec<f64> = Vec::with_capacity(basis.rows());
    for i in 0..basis.rows() {
        let mut vector: Vec<f64> = basis.row(i).iter().map(|&x| x as f64).collect();
        for (other, square) in vectors.iter().zip(&squares) {
            let factor = dot(&vector, other) / square;
            vector.iter_mut().zip(other).for_each(|(a, b)| *a -= factor * b);
        }
        squares.push(dot(&vector, &vector));
        vectors.push(vector);
    }
    (vectors, squares)
}

/// The Gram-Schmidt vectors of the rows, scaled to length 1.
pub(crate) fn orthonormal(basis: &IntMatrix) -> Vec<Vec<f64>> {
    let (mut vectors, squares) = orthogonal(basis);
    for (vector, square) in vectors.iter_mut().zip(squares) {
        let length = libm::sqrt(square);
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vectors
}

/// Rows that come one by one, as combinations of orthonormal vectors: `row_j = Σ_i triangle[j][i] vectors[i]`.
#[derive(Default)]
pub(crate) struct Factored {
    pub(crate) vectors: Vec<Vec<f64>>,
    pub(crate) triangle: Vec<Vec<f64>>,
}

impl Factored {
    pub(crate) fn clear(&mut self) {
        self.vectors.clear();
        self.triangle.clear();
    }

    /// Adds a row if more than `least` of its length is outside the span of those before; tells whether it did.
    pub(crate) fn add(&mut self, mut row: Vec<f64>, least: f64) -> bool {
        let mut along = self.remove_span(&mut row);
        let left = libm::sqrt(dot(&row, &row));
        let new = left > least;
        if new {
            row.iter_mut().for_each(|x| *x /= left);
            along.push(left);
            self.vectors.push(row);
            self.triangle.push(along);
        }
        new
    }

    /// Subtracts what lies in the span of the rows, twice against rounding; returns its coordinates on the vectors.
    pub(crate) fn remove_span(&self, rest: &mut [f64]) -> Vec<f64> {
        let mut along = vec![0.0; self.vectors.len()];
        for _ in 0..2 {
            for (vector, along) in self.vectors.iter().zip(&mut along) {
                let inner = dot(vector, rest);
                rest.iter_mut().zip(vector).for_each(|(x, v)| *x -= inner * v);
                *along += inner;
            }
        }
        along
    }

    /// The coefficients of the rows that combine to these coordinates.
    pub(crate) fn combine(&self, mut along: Vec<f64>) -> Vec<f64> {
        for j in (0..along.len()).rev() {
            along[j] /= self.triangle[j][j];
            let own = along[j];
            for (x, t) in along[..j].iter_mut().zip(&self.triangle[j]) {
                *x -= own * t;
            }
        }
        along
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
