//! The generalised Gaussian mechanism: its sigma by the lattice.

use super::Calibration;
use crate::error::{Error, Result};
use crate::invariant::{Component, Linear};
use crate::lattice::{check_dimension, orthogonal, smith};
use std::f64::consts::PI;

/// Dimension and volume of the lattice `{z : A z = 0}`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeShape {
    /// The dimension m = d - rank.
    pub dimension: usize,
    /// The logarithm of the volume, `ln sqrt(det(CᵀC))` for a basis C.
    pub log_volume: f64,
}

impl LatticeShape {
    /// Finds dimension and volume, component by component: `det(ker A)² = det(A Aᵀ) / Π (invariant factors)²` for
    /// independent rows A.
    ///
    /// Errors: no free dimension; a component with entries beyond 64 bits.
    pub fn of(invariant: &Linear) -> Result<Self> {
        let mut shape = Self { dimension: 0, log_volume: 0.0 };
        for component in invariant.components() {
            let own = of_component(&component)?;
            shape.dimension += own.dimension;
            shape.log_volume += own.log_volume;
        }
        if shape.dimension == 0 {
            return Err(Error::no_free_dimension());
        }
        Ok(shape)
    }

    /// `ln K`, `K = 4 · 2^m V_m / sqrt(det(CᵀC))`, `V_m` the volume of the unit ball: the constant of the tail
    /// bounds of Dharangutte, Gao, Gong, Yu, "Integer subspace differential privacy", Thm. 12 and 15.
    pub fn log_tail_constant(&self) -> f64 {
        let m = self.dimension as f64;
        libm::log(4.0) + m * libm::log(2.0) + self.log_ball() - self.log_volume
    }

    /// `ln V_m`, of the unit ball.
    fn log_ball(&self) -> f64 {
        let m = self.dimension as f64;
        0.5 * m * libm::log(PI) - libm::lgamma(0.5 * m + 1.0)
    }

    /// `ln(2 V_m r^m / sqrt(det(CᵀC)))`: bounds the number of points of the lattice with `‖z‖₂ <= r`, for large r (Lemma 11). It is
    /// about twice that number there, since `V_m r^m / sqrt(det(CᵀC))` is the ball's share of the lattice's cells.
    pub fn log_points_bound(&self, r: f64) -> f64 {
        libm::log(2.0) + self.log_ball() + self.dimension as f64 * libm::log(r) - self.log_volume
    }
}

fn of_component(component: &Component) -> Result<LatticeShape> {
    let d = component.entries.len();
    if component.rows.is_empty() {
        return Ok(LatticeShape { dimension: d, log_volume: 0.0 });
    }
    if component.is_total() {
        return Ok(LatticeShape { dimension: d - 1, log_volume: 0.5 * libm::log(d as f64) });
    }
    if let Some((r, c)) = component.margins {
        let (r, c) = (r as f64, c as f64);
        // The lattice is the product of two zero-sum lattices, of determinants sqrt(r) and sqrt(c).
        let log_volume = 0.5 * ((c - 1.0) * libm::log(r) + (r - 1.0) * libm::log(c));
        return Ok(LatticeShape { dimension: ((r - 1.0) * (c - 1.0)) as usize, log_volume });
    }
    check_dimension(d.max(component.rows.len()))?;
    let independent = component.matrix().select(&component.independent_rows()?);
    let gram: f64 = orthogonal(&independent).1.iter().map(|square| 0.5 * libm::log(*square)).sum();
    // The equations of a tree are a network, and so totally unimodular: all factors are 1.
    let factors: f64 = match component.tree() {
        Some(_) => 0.0,
        None => smith(&independent)?.diagonal.iter().map(|&f| libm::log(f as f64)).sum(),
    };
    Ok(LatticeShape { dimension: d - independent.rows(), log_volume: gram - factors })
}

/// σ of the generalised Gaussian mechanism (Def. 13 of the source): `σ² = 2 c ln(1/δ)/ε²`, with c such that
///
/// `c ln(1/δ) - ε - ln(1/δ) - m ln t - ln K >= 0`, `t = σ² ε`.
///
/// The left side is convex in c and large at both ends; c is its larger root (or its minimum's place if it has
/// none), so that the inequality holds from there on. The paper's "smallest constant" read literally would be a
/// c near 0.
///
/// Errors: outside `0 < δ < ε < 1/e`, which Thm. 14 asks for.
pub fn lattice_gaussian_sigma(shape: &LatticeShape, epsilon: f64, delta: f64) -> Result<f64> {
    if !(epsilon > 0.0 && epsilon < libm::exp(-1.0)) {
        return Err(Error::parameter("epsilon", epsilon, "a number in (0, 1/e) for generalized-gaussian"));
    }
    if !(delta > 0.0 && delta < epsilon) {
        return Err(Error::parameter("delta", delta, "a number in (0, epsilon) for generalized-gaussian"));
    }
    let (log, m) = (-libm::log(delta), shape.dimension as f64);
    let excess =
        |c: f64| c * log - epsilon - log - m * libm::log(2.0 * c * log / epsilon) - shape.log_tail_constant();
    let lowest = m / log;
    let mut c = lowest;
    if excess(lowest) < 0.0 {
        let (mut low, mut high) = (lowest, 2.0 * lowest + 1.0);
        while excess(high) < 0.0 {
            high *= 2.0;
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if excess(middle) < 0.0 { low = middle } else { high = middle }
        }
        c = high;
    }
    Ok(libm::sqrt(2.0 * c * log) / epsilon)
}

/// The calibration of the generalised Gaussian mechanism on a lattice.
///
/// Errors: as [`lattice_gaussian_sigma`]; a sensitivity other than 1 (the tail bound
/// behind σ does not scale).
pub fn generalized_gaussian(
    shape: &LatticeShape,
    epsilon: f64,
    delta: f64,
    sensitivity: f64,
) -> Result<Calibration> {
    if sensitivity != 1.0 {
        return Err(Error::parameter("sensitivity", sensitivity, "1 for generalized-gaussian"));
    }
    let sigma = lattice_gaussian_sigma(shape, epsilon, delta)?;
    Calibration { scales: vec![sigma], epsilon, delta }.checked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::basis;
    use crate::lattice::{BasisKind, IntMatrix, gram_schmidt_squares};

    /// Equations may be repeated, but a dense form of many thousands is refused before it is made.
    #[test]
    fn too_many_equations_are_refused() {
        let repeated = Linear::subsets(4, &vec![vec![0, 1]; 3000]).unwrap();
        let refused = LatticeShape::of(&repeated).unwrap_err().to_string();
        assert!(refused.contains("3000") && refused.contains("2048"), "{refused}");
    }

    /// Volumes from the equations agree with those of a basis; the root solves its equation.
    #[test]
    fn volumes_and_sigmas() {
        // One with an invariant factor other than 1 beside.
        let doubled = IntMatrix::from_rows(&[vec![2, 4, 6]]).unwrap();
        let mut systems = crate::testing::small_lattices();
        systems.push(Linear::matrix(&doubled).unwrap());
        // Hierarchies: 0 = 1 + 2, 1 = 3 + 4 + 5; and 0 + 1 known, 1 = 2 + 3.
        let tree = vec![vec![(0, -1), (1, 1), (2, 1)], vec![(1, -1), (3, 1), (4, 1), (5, 1)]];
        systems.push(Linear::from_rows(6, tree).unwrap());
        systems
            .push(Linear::from_rows(4, vec![vec![(0, 1), (1, 1)], vec![(1, -1), (2, 1), (3, 1)]]).unwrap());
        for invariant in systems {
            let shape = LatticeShape::of(&invariant).unwrap();
            let whole = invariant.whole();
            let vectors = basis(&whole, BasisKind::Reduced).unwrap();
            let dense = IntMatrix::from_vectors(&vectors, &whole.entries);
            let squares = gram_schmidt_squares(&dense);
            let want: f64 = squares.iter().map(|s| 0.5 * libm::log(*s)).sum();
            assert_eq!(shape.dimension, vectors.len());
            assert!((shape.log_volume - want).abs() < 1e-10, "{} {want}", shape.log_volume);
            let (epsilon, delta) = (0.25, 1e-5);
            let sigma = lattice_gaussian_sigma(&shape, epsilon, delta).unwrap();
            let log = -libm::log(delta);
            let c = sigma * sigma * epsilon * epsilon / (2.0 * log);
            let excess = |c: f64| {
                let t = 2.0 * c * log / epsilon;
                c * log - epsilon - log - shape.dimension as f64 * libm::log(t) - shape.log_tail_constant()
            };
            assert!(excess(c).abs() < 1e-9 && excess(c * 1.01) > 0.0 && excess(c * 0.99) < 0.0);
        }
        let shape = LatticeShape { dimension: 2, log_volume: 0.0 };
        for (epsilon, delta) in [(0.4, 1e-5), (0.2, 0.3), (0.2, 0.0), (-0.1, 1e-5)] {
            assert!(lattice_gaussian_sigma(&shape, epsilon, delta).is_err());
        }
    }
}
