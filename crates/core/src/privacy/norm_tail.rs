//! Bounds on the tail of the noise's norm, where they hold.

use super::LatticeShape;
use crate::error::Result;
use crate::invariant::{Component, Linear, basis};
use crate::lattice::{BasisKind, IntMatrix, gram_schmidt_squares};

/// Tails of `‖z‖₂` on the lattice `{z : A z = 0}`: Theorems 12 and 15 of Dharangutte, Gao, Gong, Yu, "Integer subspace differential
/// privacy", which hold "for large t", with a t from which on they are proved.
///
/// Let m be the dimension, V the lattice's volume, `V_m` that of the unit ball, N(r) the number of points with `‖z‖₂ <=
/// r`, `E(t)` the energy of a point of norm t (`ε t`, or `t²/2σ²`). The point 0 has weight 1. Points of norm at least t
/// lie in the shells `[2^l t, 2^(l+1) t)`, so
///
/// `P(‖z‖₂ >= t) <= Σ_{l >= 0} N(2^(l+1) t) exp(-E(2^l t)) <= K t^m exp(-E(t))`, `K = 4 · 2^m V_m / V`,
///
/// where two things hold:
///
/// 1. `N(r) <= 2 V_m r^m / V` for all `r >= 2t`. Boxes of volume V with the sides `b*_i`, the Gram-Schmidt vectors of any basis,
///    one around each point, do not overlap, and reach no further than `R = sqrt(Σ ‖b*_i‖²)/2`. So `N(r) <= V_m (r + R)^m / V`, which is at
///    most that for `r >= R / (2^(1/m) - 1)`.
/// 2. `Σ_{l >= 1} 2^(lm) exp(E(t) - E(2^l t)) <= 1`.
///
/// Both hold for all larger t if for one. Where one of them does not, the bound is 1. With inequalities as well, fewer points have
/// weight, 0 among them: all of this holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormTail {
    shape: LatticeShape,
    /// R.
    reach: f64,
}

impl NormTail {
    /// Prepares the bound for the lattice of some equations. Errors: as [`LatticeShape::of`] and [`basis`].
    pub fn of(invariant: &Linear) -> Result<Self> {
        let shape = LatticeShape::of(invariant)?;
        let squares = invariant.components().iter().map(squares).sum::<Result<f64>>()?;
        Ok(Self { shape, reach: 0.5 * libm::sqrt(squares) })
    }

    /// Bounds `P(‖z‖₂ >= t)` under the ℓ2 law, `exp(-ε ‖z‖₂)`.
    pub fn laplace(&self, epsilon: f64, t: f64) -> f64 {
        self.bound(t, epsilon * t, 1)
    }

    /// Bounds `P(‖z‖₂ >= t)` under the Gaussian law, `exp(-‖z‖₂²/2σ²)`.
    pub fn gaussian(&self, sigma: f64, t: f64) -> f64 {
        self.bound(t, 0.5 * (t / sigma) * (t / sigma), 2)
    }

    /// `energy`: of norm t; that of twice the norm is `2^power` times as large.
    fn bound(&self, t: f64, energy: f64, power: u32) -> f64 {
        let m = self.shape.dimension as f64;
        let dense = 2.0 * t * libm::expm1(std::f64::consts::LN_2 / m) >= self.reach;
        if !dense || !falls(m, energy, power) {
            return 1.0;
        }
        libm::exp(self.shape.log_tail_constant() + m * libm::log(t) - energy).min(1.0)
    }
}

/// Whether `Σ_{l >= 1} 2^(l m) exp(-energy (2^(l power) - 1)) <= 1`.
fn falls(m: f64, energy: f64, power: u32) -> bool {
    let mut sum = 0.0;
    for l in 1..=64 {
        let l = f64::from(l);
        let log_term = l * m * std::f64::consts::LN_2 - energy * (libm::exp2(l * f64::from(power)) - 1.0);
        sum += libm::exp(log_term);
        // From here on every term is less than half of the one before.
        if sum > 1.0 || log_term < -50.0 {
            break;
        }
    }
    sum <= 1.0
}

/// `Σ ‖b*_i‖²` of a basis of a component.
fn squares(component: &Component) -> Result<f64> {
    let of_total = |d: usize| (1..d).map(|i| (i as f64 + 1.0) / i as f64).sum::<f64>();
    let d = component.entries.len();
    if component.rows.is_empty() {
        return Ok(d as f64);
    }
    // Of `e_i - e_(i+1)`.
    if component.is_total() {
        return Ok(of_total(d));
    }
    // Of products of such vectors, of rows and columns: the products of theirs.
    if let Some((r, c)) = component.margins {
        return Ok(of_total(r) * of_total(c));
    }
    let vectors = basis(component, BasisKind::Reduced)?;
    Ok(gram_schmidt_squares(&IntMatrix::from_vectors(&vectors, &component.entries)).iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::below;
    use crate::testing::{lattice_points, small_lattices, test_stream};

    /// Tails of listed points, which lack what lies beyond the list.
    fn assert_below(invariant: &Linear, reach: i64) -> usize {
        let Ok(tail) = NormTail::of(invariant) else { return 0 };
        let norm = |z: &Vec<i64>| z.iter().map(|&z| (z * z) as f64).sum::<f64>().sqrt();
        let mut norms: Vec<f64> = lattice_points(invariant, reach).iter().map(norm).collect();
        norms.sort_by(f64::total_cmp);
        let listed = norms.partition_point(|&x| x <= reach as f64);
        let norms = &norms[..listed];
        let mut says = 0;
        let mut check = |weight: &dyn Fn(f64) -> f64, bound: &dyn Fn(f64) -> f64| {
            let total: f64 = norms.iter().map(|&x| weight(x)).sum();
            let mut above = 0.0;
            for &t in norms.iter().rev() {
                above += weight(t);
                let stated = bound(t);
                assert!(
                    above / total <= stated * (1.0 + 1e-12),
                    "{invariant:?} {t}: {} {stated}",
                    above / total
                );
                says += usize::from(stated < 1.0);
            }
            assert_eq!(bound(0.0), 1.0);
        };
        for epsilon in [0.2, 0.7, 1.5, 3.0, 8.0] {
            check(&|x| libm::exp(-epsilon * x), &|t| tail.laplace(epsilon, t));
            let sigma = 2.0 / epsilon;
            check(&|x| libm::exp(-0.5 * x * x / (sigma * sigma)), &|t| tail.gaussian(sigma, t));
        }
        says
    }

    /// No tail of a listed lattice lies above its bound, and bounds say something.
    #[test]
    fn tails_lie_below() {
        let mut says = 0;
        for invariant in small_lattices() {
            says += assert_below(&invariant, if invariant.entries() > 4 { 4 } else { 12 });
        }
        let mut rng = test_stream(31);
        for _ in 0..60 {
            let d = 2 + below(&mut rng, 3) as usize;
            let rows = 1 + below(&mut rng, d as u64 - 1) as usize;
            let mut row = || (0..d).map(|_| below(&mut rng, 9) as i64 - 4).collect::<Vec<_>>();
            let rows: Vec<Vec<i64>> = (0..rows).map(|_| row()).collect();
            let Ok(invariant) = Linear::matrix(&IntMatrix::from_rows(&rows).unwrap()) else { continue };
            says += assert_below(&invariant, if d > 3 { 9 } else { 20 });
        }
        // Far apart in one direction: near 0 there are more points than the volume says.
        let apart = IntMatrix::from_rows(&[vec![1, 1, 0, 0], vec![0, 0, 1001, 1000]]).unwrap();
        says += assert_below(&Linear::matrix(&apart).unwrap(), 12);
        // Closed forms of margins, of a total and of free entries.
        says +=
            assert_below(&Linear::margins(2, 2).unwrap(), 9) + assert_below(&Linear::total(2).unwrap(), 40);
        assert!(says > 1000, "{says}");
    }

    /// The reach of closed forms is that of their bases.
    #[test]
    fn closed_forms_of_the_reach() {
        for invariant in
            [Linear::total(5).unwrap(), Linear::margins(3, 4).unwrap(), Linear::margins(2, 5).unwrap()]
        {
            let own = invariant.components().iter().map(squares).sum::<Result<f64>>().unwrap();
            let rows: Vec<usize> = match invariant.components()[0].margins {
                None => vec![1, 5],
                Some((r, c)) => vec![r, c],
            };
            let (r, c) = (rows[0], rows[1]);
            let entry = |i: usize, j: usize| (i * c + j) as u32;
            let mut vectors = Vec::new();
            for i in 0..r.max(2) - 1 {
                for j in 0..c - 1 {
                    let vector = match r {
                        1 => vec![(entry(0, j), 1), (entry(0, j + 1), -1)],
                        _ => vec![
                            (entry(i, j), 1),
                            (entry(i, j + 1), -1),
                            (entry(i + 1, j), -1),
                            (entry(i + 1, j + 1), 1),
                        ],
                    };
                    vectors.push(vector);
                }
            }
            let entries: Vec<u32> = (0..invariant.entries() as u32).collect();
            let direct: f64 = gram_schmidt_squares(&IntMatrix::from_vectors(&vectors, &entries)).iter().sum();
            assert!((own / direct - 1.0).abs() < 1e-12, "{own} {direct}");
        }
    }
}
