//! Closest points in L1 under totals.

use crate::error::{Error, Result};
use crate::invariant::{Bounded, Linear, Region};

/// Moves noise to a point of `{z : every total of z is 0, lower <= z <= upper}` that is closest in L1.
///
/// Values beyond a bound move to it; what then is too much in a total, the excess `S`, is taken from its entries in parts of
/// one sign, so that the moved distance is the least possible: that to the bounds and `|S|`.
///
/// The closest point is not unique. Here the first entry of every total keeps the share `beta` of its part: `1 - beta` of
/// the excess is taken from it and `beta` from the others in equal parts; what a bound does not let an entry take, the others
/// take by the same shares. For two entries without bounds this is the family `u~ = beta u_1 - (1 - beta) u_2` of Gong and
/// Meng, "Congenial differential privacy", section 4 (there with `u_2` for `-u_2`, which has the same law); with
/// Lap(2/epsilon) noise it is `epsilon / (2 max(beta, 1 - beta))`-private.
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::LatticeL1;
/// use congenial_core::invariant::{Linear, Region};
///
/// // The sum is 3 too large: 3/4 of it is taken from the first entry, 1/4 from the other.
/// let image = LatticeL1::new(&Linear::total(2)?, &Region::everything(), 0.25)?;
/// let mut noise = [2.0, 1.0];
/// image.project(&mut noise);
/// assert_eq!(noise, [-0.25, 0.25]);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LatticeL1 {
    components: Vec<Bounded>,
    beta: f64,
}

impl LatticeL1 {
    /// Prepares the projection.
    ///
    /// - `beta`: in [0, 1].
    ///
    /// Errors: equations that share entries or have coefficients other than 1; explicit inequalities.
    pub fn new(invariant: &Linear, region: &Region, beta: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&beta) {
            return Err(Error::parameter("beta", beta, "a number in [0, 1]"));
        }
        let components = region.components(invariant);
        let serves = |bounded: &Bounded| {
            bounded.region.rows.is_empty()
                && (bounded.component.rows.is_empty() || bounded.component.is_total())
        };
        match components.iter().all(serves) {
            true => Ok(Self { components, beta }),
            false => Err(Error::Unsupported {
                method: "l1",
                what: "equations that share entries, or explicit inequalities".into(),
                reason: "totals and partitions are served, with bounds by entry",
            }),
        }
    }

    /// Replaces the noise by its image: sums to rounding, bounds exactly.
    pub fn project(&self, noise: &mut [f64]) {
        for Bounded { component, region } in &self.components {
            let n = component.entries.len();
            let at = |i: usize| component.entries[i] as usize;
            let (low, high) = (|i| region.lower.real(i), |i| region.upper.real(i));
            for i in 0..n {
                noise[at(i)] = noise[at(i)].clamp(low(i), high(i));
            }
            if component.rows.is_empty() {
                continue;
            }
            let weight = |i: usize| match (n, i) {
                (1, _) => 1.0,
                (_, 0) => 1.0 - self.beta,
                _ => self.beta / (n - 1) as f64,
            };
            let mut open: Vec<usize> = (0..n).collect();
            let mut excess: f64 = (0..n).map(|i| noise[at(i)]).sum();
            while !open.is_empty() {
                let total: f64 = open.iter().map(|&i| weight(i)).sum();
                // Entries without a share take equal parts once all others are at their bounds.
                let share = |i: usize| if total > 0.0 { weight(i) / total } else { 1.0 / open.len() as f64 };
                let target = |i: usize| noise[at(i)] - share(i) * excess;
                let stops =
                    |i: &usize| if excess > 0.0 { target(*i) < low(*i) } else { target(*i) > high(*i) };
                let (stopped, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|i| stops(i));
                if stopped.is_empty() {
                    let targets: Vec<f64> = open.iter().map(|&i| target(i)).collect();
                    open.iter().zip(targets).for_each(|(&i, z)| noise[at(i)] = z);
                    break;
                }
                for i in stopped {
                    let bound = if excess > 0.0 { low(i) } else { high(i) };
                    excess -= noise[at(i)] - bound;
                    noise[at(i)] = bound;
                }
                open = rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities, NO_LOWER, NO_UPPER};

    /// The moved distance is the least possible, |S|, and the sums are 0.
    #[test]
    fn images_are_closest() {
        let invariant = Linear::partition(&[0, 0, 1, 1, 1, 2]).unwrap();
        let noise = [1.5, -4.0, 2.0, 0.25, 7.0, 3.0];
        for beta in [0.0, 0.3, 0.5, 1.0] {
            let mut image = noise;
            LatticeL1::new(&invariant, &Region::everything(), beta).unwrap().project(&mut image);
            for (entries, excess) in [(0..2, -2.5), (2..5, 9.25), (5..6, 3.0f64)] {
                let moved: f64 = entries.clone().map(|i| (image[i] - noise[i]).abs()).sum();
                let sum: f64 = entries.map(|i| image[i]).sum();
                assert!(sum.abs() < 1e-12 && (moved - excess.abs()).abs() < 1e-12, "{beta}: {sum} {moved}");
            }
            assert!((image[0] - (beta * 1.5 + (1.0 - beta) * 4.0)).abs() < 1e-12);
        }
        let everything = Region::everything();
        assert!(LatticeL1::new(&Linear::margins(2, 2).unwrap(), &everything, 0.5).is_err());
        assert!(LatticeL1::new(&Linear::total(4).unwrap(), &everything, 1.5).is_err());
    }

    /// With bounds: within them, and no nearer than the distance to the bounds and what is then too much.
    #[test]
    fn images_within_bounds_are_closest() {
        let invariant = Linear::total(4).unwrap();
        let region = Inequalities::bounds(vec![0, 0, 0, NO_LOWER], vec![9, 3, NO_UPPER, 4])
            .unwrap()
            .around(&[2, 1, 0, 3])
            .unwrap();
        let mut rng = crate::testing::test_stream(6);
        for round in 0..2000 {
            let noise: Vec<f64> = (0..4).map(|_| 4.0 * crate::rng::normal(&mut rng)).collect();
            let beta = f64::from(round % 5) / 4.0;
            let mut image = noise.clone();
            LatticeL1::new(&invariant, &region, beta).unwrap().project(&mut image);
            let bound = |i: usize| (region.lower[i] as f64, region.upper[i] as f64);
            assert!((0..4).all(|i| bound(i).0 <= image[i] && image[i] <= bound(i).1), "{image:?}");
            assert!(image.iter().sum::<f64>().abs() < 1e-9, "{noise:?} {image:?}");
            let clamped: Vec<f64> = (0..4).map(|i| noise[i].clamp(bound(i).0, bound(i).1)).collect();
            let least: f64 = (0..4).map(|i| (clamped[i] - noise[i]).abs()).sum::<f64>()
                + clamped.iter().sum::<f64>().abs();
            let moved: f64 = (0..4).map(|i| (image[i] - noise[i]).abs()).sum();
            assert!((moved - least).abs() < 1e-9, "{noise:?} {image:?}: {moved} {least}");
        }
    }
}
