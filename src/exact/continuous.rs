//! Real noise given linear equations.

use crate::error::{Error, Result};
use crate::invariant::Linear;
use crate::lattice::{BasisKind, IntMatrix, basis, orthogonal};
use crate::law::{Gaussian, Laplace, Law};
use crate::rng::{Rng, exponential, gamma, normal};

/// A continuous law with an exact sampler given `A z = 0`.
pub trait ContinuousExact: Law<Value = f64> {
    /// Prepares it. Errors: a component that it does not serve.
    fn given(self, invariant: &Linear) -> Result<ContinuousSampler>;
}

/// Exact sampler of independent real noise given `A z = 0`.
#[derive(Debug)]
pub struct ContinuousSampler {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    /// Laplace cells with one sum: lambda.
    LaplaceTotal(Vec<u32>, f64),
    /// Laplace cells in no equation.
    LaplaceFree(u32, Laplace),
    /// Gaussian cells with one sum: sigma.
    GaussianTotal(Vec<u32>, f64),
    /// Gaussian cells: sigma, and an orthonormal basis of what the equations leave free.
    Gaussian(Vec<u32>, f64, Vec<Vec<f64>>),
}

impl ContinuousExact for Laplace {
    /// Totals and partitions. A Laplace cell is a difference of two exponentials; given a zero sum of n cells their plus
    /// parts sum to S, as do the minus parts, with density `∝ s^(2n-2) e^(-2s/lambda)`: `S ~ Gamma(2n - 1, rate
    /// 2/lambda)` and `z = S (D - D')` with D, D' independent and uniform on the simplex.
    fn given(self, invariant: &Linear) -> Result<ContinuousSampler> {
        let parts = invariant
            .components()
            .into_iter()
            .map(|component| {
                if component.rows.is_empty() {
                    Ok(Part::LaplaceFree(component.cells[0], self))
                } else if component.is_total() {
                    Ok(Part::LaplaceTotal(component.cells, self.scale()))
                } else {
                    Err(Error::Unsupported {
                        method: "exact",
                        what: "laplace noise under equations that share cells".into(),
                        reason: "totals and partitions are served; double-geometric noise has samplers for all",
                    })
                }
            })
            .collect::<Result<_>>()?;
        Ok(ContinuousSampler { parts })
    }
}

impl ContinuousExact for Gaussian {
    /// Any equations: cell by cell given those before for a total, else `sigma N ξ` with an orthonormal basis N of the
    /// kernel and standard normal ξ.
    fn given(self, invariant: &Linear) -> Result<ContinuousSampler> {
        let parts = invariant
            .components()
            .into_iter()
            .map(|component| {
                if component.is_total() {
                    return Ok(Part::GaussianTotal(component.cells, self.scale()));
                }
                let d = component.cells.len();
                let place = |cell: u32| component.cells.binary_search(&cell).expect("its own cell");
                let vectors =
                    basis(&component, BasisKind::Reduced).or_else(|_| basis(&component, BasisKind::Smith))?;
                let mut dense = IntMatrix::zero(vectors.len(), d);
                for (i, vector) in vectors.iter().enumerate() {
                    vector.iter().for_each(|&(cell, x)| dense[(i, place(cell))] = i64::from(x));
                }
                let (mut vectors, squares) = orthogonal(&dense);
                for (vector, square) in vectors.iter_mut().zip(squares) {
                    let length = libm::sqrt(square);
                    vector.iter_mut().for_each(|x| *x /= length);
                }
                Ok(Part::Gaussian(component.cells, self.scale(), vectors))
            })
            .collect::<Result<_>>()?;
        Ok(ContinuousSampler { parts })
    }
}

impl ContinuousSampler {
    /// One draw, into `noise` (one value per cell).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) {
        for part in &self.parts {
            match part {
                Part::LaplaceFree(cell, law) => noise[*cell as usize] = law.sample(rng),
                Part::LaplaceTotal(cells, lambda) => {
                    let n = cells.len() as f64;
                    if cells.len() == 1 {
                        noise[cells[0] as usize] = 0.0;
                        continue;
                    }
                    let size = gamma(rng, 2.0 * n - 1.0) * 0.5 * lambda;
                    let mut sums = [0.0, 0.0];
                    for &cell in cells {
                        let plus = exponential(rng);
                        noise[cell as usize] = plus;
                        sums[0] += plus;
                    }
                    let minus: Vec<f64> = cells.iter().map(|_| exponential(rng)).collect();
                    sums[1] = minus.iter().sum();
                    for (&cell, minus) in cells.iter().zip(&minus) {
                        let z = &mut noise[cell as usize];
                        *z = size * (*z / sums[0] - minus / sums[1]);
                    }
                }
                Part::GaussianTotal(cells, sigma) => {
                    // Given the cells so far, the next has mean -sum/left and variance sigma² (1 - 1/left).
                    let mut sum = 0.0;
                    for (left, &cell) in (1..=cells.len()).rev().zip(cells) {
                        let left = left as f64;
                        let z = -sum / left + sigma * libm::sqrt(1.0 - 1.0 / left) * normal(rng);
                        noise[cell as usize] = z;
                        sum += z;
                    }
                }
                Part::Gaussian(cells, sigma, vectors) => {
                    cells.iter().for_each(|&cell| noise[cell as usize] = 0.0);
                    for vector in vectors {
                        let along = sigma * normal(rng);
                        cells.iter().zip(vector).for_each(|(&cell, x)| noise[cell as usize] += along * x);
                    }
                }
            }
        }
    }
}
