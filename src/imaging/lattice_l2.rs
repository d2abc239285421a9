//! Least squares under linear equations, and the closest integers to it.

use crate::error::{Error, Result};
use crate::invariant::Linear;
use crate::lattice::{MAX_DIMENSION, orthonormal};
use crate::rng::{Rng, below};

/// Projects noise onto `{z : A z = 0}` in least squares, `z - Aᵀ(AAᵀ)⁻¹ A z`, component by component: acts on the
/// noise alone, since the confidential counts satisfy the invariant. Dependent rows are dropped.
#[derive(Debug)]
pub struct LatticeL2 {
    components: Vec<Projection>,
    invariant: Linear,
}

/// How one component is projected.
#[derive(Debug)]
enum Projection {
    /// Entries with one sum.
    Total(Vec<u32>),
    /// Entries and an orthonormal basis of the equations.
    General(Vec<u32>, Vec<Vec<f64>>),
}

impl LatticeL2 {
    /// Errors: a component of more than [`MAX_DIMENSION`] entries that is not one total.
    pub fn new(invariant: &Linear) -> Result<Self> {
        let mut components = Vec::new();
        for component in invariant.components() {
            if component.rows.is_empty() {
                continue;
            }
            if component.is_total() {
                components.push(Projection::Total(component.entries));
                continue;
            }
            if component.entries.len() > MAX_DIMENSION {
                return Err(Error::TooLarge {
                    what: "the dense least squares of one component".into(),
                    needed: component.entries.len() as u64,
                    limit: MAX_DIMENSION as u64,
                    unit: "entries",
                });
            }
            let vectors = orthonormal(&component.matrix().select(&component.independent_rows()?));
            components.push(Projection::General(component.entries, vectors));
        }
        Ok(Self { components, invariant: invariant.clone() })
    }

    /// Replaces the noise by its projection.
    pub fn project(&self, noise: &mut [f64]) {
        for component in &self.components {
            match component {
                Projection::Total(entries) => {
                    let mean = entries.iter().map(|&c| noise[c as usize]).sum::<f64>() / entries.len() as f64;
                    entries.iter().for_each(|&c| noise[c as usize] -= mean);
                }
                Projection::General(entries, vectors) => {
                    for vector in vectors {
                        let along: f64 =
                            entries.iter().zip(vector).map(|(&c, a)| a * noise[c as usize]).sum();
                        entries.iter().zip(vector).for_each(|(&c, a)| noise[c as usize] -= along * a);
                    }
                }
            }
        }
    }

    /// Checks a projection against the equations as they were given: [`Linear::check_reals`]; `before`: the largest absolute value of
    /// what was projected.
    pub fn check(&self, noise: &[f64], before: f64) -> Result<()> {
        self.invariant.check_reals(noise, before)
    }

    /// Whether [`LatticeL2::round`] serves the invariant. Errors: a component that is not one total.
    pub fn check_rounding(&self) -> Result<()> {
        match self.components.iter().find(|component| matches!(component, Projection::General(..))) {
            None => Ok(()),
            Some(_) => Err(Error::Unsupported {
                method: "l2-then-integer-l1",
                what: "equations that share entries".into(),
                reason: "their closest integers are an integer program; totals and partitions are served",
            }),
        }
    }

    /// The integers that are closest in L1 to the projection of `noise`, with the same sums, into `out`: every entry of a sum
    /// is rounded down, and the units left over go to the largest fractional parts. Entries in no equation are rounded to the
    /// nearest integer.
    ///
    /// Under one sum S of n integers all fractional parts of the projection `z_i - S/n` are equal: the units go to a uniform
    /// subset. Exact.
    pub fn round<R: Rng + ?Sized>(&self, rng: &mut R, noise: &[f64], out: &mut [i64]) {
        let mut whole = true;
        for (out, &z) in out.iter_mut().zip(noise) {
            *out = z as i64;
            whole &= *out as f64 == z;
        }
        if !whole {
            out.iter_mut().zip(noise).for_each(|(out, z)| *out = libm::rint(*z) as i64);
        }
        for component in &self.components {
            let Projection::Total(entries) = component else { unreachable!("the caller checked the form") };
            if !whole && entries.iter().any(|&c| noise[c as usize] != out[c as usize] as f64) {
                largest_remainders(entries, noise, out);
                continue;
            }
            let n = entries.len() as i64;
            let sum: i64 = entries.iter().map(|&c| out[c as usize]).sum();
            let ceiling = -(-sum).div_euclid(n);
            let mut units = (ceiling * n - sum) as u64;
            // Selection sampling: each entry with the chance that a uniform subset has it.
            for (left, &entry) in (1..=entries.len() as u64).rev().zip(entries) {
                let up = below(rng, left) < units;
                units -= u64::from(up);
                out[entry as usize] += i64::from(up) - ceiling;
            }
        }
    }
}

/// The integers with sum 0 closest in L1 to the projection of real noise on the entries of one sum.
fn largest_remainders(entries: &[u32], noise: &[f64], out: &mut [i64]) {
    let mean = entries.iter().map(|&c| noise[c as usize]).sum::<f64>() / entries.len() as f64;
    let mut fractions: Vec<(f64, u32)> = Vec::with_capacity(entries.len());
    let mut units = 0i64;
    for &entry in entries {
        let z = noise[entry as usize] - mean;
        let floor = libm::floor(z);
        out[entry as usize] = floor as i64;
        units -= floor as i64;
        fractions.push((z - floor, entry));
    }
    fractions.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    // With rounding the fractions may sum to a little less than 0 or to their number.
    let n = entries.len() as i64;
    let (all, some) = (units.div_euclid(n), units.rem_euclid(n) as usize);
    for (i, &(_, entry)) in fractions.iter().enumerate() {
        out[entry as usize] += all + i64::from(i < some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, small_lattices, test_stream};
    use std::collections::HashMap;

    /// The projection meets the equations and leaves a residual orthogonal to their lattice.
    #[test]
    fn projection_is_orthogonal() {
        for invariant in small_lattices() {
            let l2 = LatticeL2::new(&invariant).unwrap();
            let noise: Vec<f64> = (0..invariant.entries()).map(|i| ((i * 7 + 3) % 11) as f64 - 4.5).collect();
            let mut projected = noise.clone();
            l2.project(&mut projected);
            l2.check(&projected, 0.0).unwrap();
            assert!(l2.check(&noise, 0.0).is_err());
            for row in invariant.rows() {
                let sum: f64 = row.iter().map(|&(c, a)| a as f64 * projected[c as usize]).sum();
                assert!(sum.abs() < 1e-12);
            }
            for vector in
                crate::invariant::basis(&invariant.whole(), crate::lattice::BasisKind::Smith).unwrap()
            {
                let inner: f64 = vector
                    .iter()
                    .map(|&(c, x)| f64::from(x) * (noise[c as usize] - projected[c as usize]))
                    .sum();
                assert!(inner.abs() < 1e-12);
            }
        }
    }

    /// Real noise: no integers with the same sum are closer to the projection; entries in no equation go to the nearest.
    #[test]
    fn reals_are_rounded_to_the_closest_integers() {
        let invariant = Linear::subsets(5, &[vec![0, 1, 3, 4]]).unwrap();
        let l2 = LatticeL2::new(&invariant).unwrap();
        let mut rng = test_stream(10);
        for _ in 0..2000 {
            let noise: Vec<f64> = (0..5).map(|_| 3.0 * crate::rng::normal(&mut rng)).collect();
            let mut rounded = vec![0i64; 5];
            l2.round(&mut rng, &noise, &mut rounded);
            let mut projected = noise.clone();
            l2.project(&mut projected);
            let off =
                |y: &[i64]| -> f64 { y.iter().zip(&projected).map(|(&y, z)| (y as f64 - z).abs()).sum() };
            invariant.check(&rounded).unwrap();
            assert!((rounded[2] as f64 - noise[2]).abs() <= 0.5);
            // All other candidates: each of three entries down or up, or one further, the fourth has the rest.
            for index in 0..64i64 {
                let mut other = rounded.clone();
                for (i, entry) in [0usize, 1, 3].into_iter().enumerate() {
                    other[entry] = libm::floor(projected[entry]) as i64 - 1 + (index >> (2 * i)) % 4;
                }
                other[4] = -other[0] - other[1] - other[3];
                assert!(off(&rounded) <= off(&other) + 1e-9, "{noise:?}: {rounded:?}, {other:?} is closer");
            }
        }
    }

    /// Every closest integer vector equally often, none but those.
    #[test]
    fn rounding_is_closest_and_uniform() {
        let invariant = Linear::total(4).unwrap();
        let l2 = LatticeL2::new(&invariant).unwrap();
        l2.check_rounding().unwrap();
        let noise = [5.0, -3.0, 0.0, 4.0];
        // The mean is 6/4: projection 3.5, -4.5, -1.5, 2.5; two of four go up.
        let mut rng = test_stream(9);
        let mut seen: HashMap<Vec<i64>, u64> = HashMap::new();
        for _ in 0..60_000 {
            let mut rounded = vec![0i64; 4];
            l2.round(&mut rng, &noise, &mut rounded);
            invariant.check(&rounded).unwrap();
            *seen.entry(rounded).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.keys().all(|y| (0..4).all(|i| (y[i] as f64 - noise[i] + 1.5).abs() == 0.5)));
        assert_frequencies(seen.values().map(|&n| (n, 1.0 / 6.0)), 60_000);
        assert!(LatticeL2::new(&Linear::margins(2, 2).unwrap()).unwrap().check_rounding().is_err());
    }
}
