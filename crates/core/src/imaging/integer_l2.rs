//! Least squares under linear equations, then the closest integers.

use super::LatticeL2;
use super::closest::{ClosestIntegers, ClosestScratch};
use crate::error::Result;
use crate::invariant::{Linear, Region};
use crate::rng::{Rng, below};

/// [`LatticeL2`], then the integers that are closest to it in L1.
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::{ClosestScratch, IntegerL2};
/// use congenial_core::invariant::Linear;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let image = IntegerL2::new(&Linear::total(3)?)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut out = [0; 3];
/// // Least squares gives 11/3, -1/3 and -10/3; the unit left over goes to one of the entries.
/// image.round(&mut rng, &mut ClosestScratch::default(), &[5.0, 1.0, -2.0], &mut out)?;
/// assert_eq!(out.iter().sum::<i64>(), 0);
/// assert!(out[0] == 3 || out[0] == 4);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct IntegerL2 {
    l2: LatticeL2,
    /// Entries with one sum.
    totals: Vec<Vec<u32>>,
    others: Vec<ClosestIntegers>,
}

impl IntegerL2 {
    /// Prepares the projection. Errors: as [`LatticeL2::new`] and [`ClosestIntegers::new`].
    pub fn new(invariant: &Linear) -> Result<Self> {
        let l2 = LatticeL2::new(invariant)?;
        let (mut totals, mut others) = (Vec::new(), Vec::new());
        for bounded in Region::everything().components(invariant) {
            match &bounded.component {
                component if component.rows.is_empty() => {}
                component if component.is_total() => totals.push(component.entries.clone()),
                _ => others.push(ClosestIntegers::new(&bounded)?),
            }
        }
        Ok(Self { l2, totals, others })
    }

    /// The integers that are closest in L1 to the projection of `noise`, with the same sums, into `out`. Entries in no equation are
    /// rounded to the nearest integer.
    ///
    /// Every entry of a total is rounded down, and the units left over go to the largest fractional parts. Under one sum S of n
    /// integers all fractional parts of the projection `z_i - S/n` are equal: the units go to a uniform subset. Exact. Other
    /// equations: [`ClosestIntegers`].
    ///
    /// Errors: as [`ClosestIntegers::round`], under equations that are not one total.
    pub fn round<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        scratch: &mut ClosestScratch,
        noise: &[f64],
        out: &mut [i64],
    ) -> Result<()> {
        let mut whole = true;
        for (out, &z) in out.iter_mut().zip(noise) {
            *out = z as i64;
            whole &= *out as f64 == z;
        }
        if !whole {
            out.iter_mut().zip(noise).for_each(|(out, z)| *out = libm::rint(*z) as i64);
        }
        for entries in &self.totals {
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
        if !self.others.is_empty() {
            let mut projected = noise.to_vec();
            self.l2.project(&mut projected);
            for closest in &self.others {
                closest.round(rng, scratch, &projected, out)?;
            }
        }
        Ok(())
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
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::HashMap;

    /// Real noise: no integers with the same sum are closer to the projection; entries in no equation go to the nearest.
    #[test]
    fn reals_are_rounded_to_the_closest_integers() {
        let invariant = Linear::subsets(5, &[vec![0, 1, 3, 4]]).unwrap();
        let l2 = IntegerL2::new(&invariant).unwrap();
        let mut rng = test_stream(10);
        for _ in 0..2000 {
            let noise: Vec<f64> = (0..5).map(|_| 3.0 * crate::rng::normal(&mut rng)).collect();
            let mut rounded = vec![0i64; 5];
            l2.round(&mut rng, &mut ClosestScratch::default(), &noise, &mut rounded).unwrap();
            let mut projected = noise.clone();
            l2.l2.project(&mut projected);
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
        let l2 = IntegerL2::new(&invariant).unwrap();
        let noise = [5.0, -3.0, 0.0, 4.0];
        // The mean is 6/4: projection 3.5, -4.5, -1.5, 2.5; two of four go up.
        let mut rng = test_stream(9);
        let mut seen: HashMap<Vec<i64>, u64> = HashMap::new();
        for _ in 0..60_000 {
            let mut rounded = vec![0i64; 4];
            l2.round(&mut rng, &mut ClosestScratch::default(), &noise, &mut rounded).unwrap();
            invariant.check(&rounded).unwrap();
            *seen.entry(rounded).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.keys().all(|y| (0..4).all(|i| (y[i] as f64 - noise[i] + 1.5).abs() == 0.5)));
        assert_frequencies(seen.values().map(|&n| (n, 1.0 / 6.0)), 60_000);
    }
}
