//! Closest points in L1 under totals.

use crate::error::{Error, Result};
use crate::invariant::Linear;

/// Moves noise to a point of `{z : every total of z is 0}` that is closest in L1: the excess `S` of a total is taken from
/// its cells in parts of one sign, so that the moved distance is `|S|`, the least possible.
///
/// The closest point is not unique. Here the first cell of every total keeps the share `beta` of its part: `1 - beta` of
/// the excess is taken from it, and `beta` from the others in equal parts. For two cells this is the family
/// `u~ = beta u_1 - (1 - beta) u_2` of Gong and Meng, "Congenial differential privacy", section 4 (there with `u_2` for
/// `-u_2`, which has the same law); with Lap(2/epsilon) noise it is `epsilon / (2 max(beta, 1 - beta))`-private.
#[derive(Debug)]
pub struct LatticeL1 {
    totals: Vec<Vec<u32>>,
    beta: f64,
}

impl LatticeL1 {
    /// - `beta`: in [0, 1].
    ///
    /// Errors: equations that share cells or have coefficients other than 1.
    pub fn new(invariant: &Linear, beta: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&beta) {
            return Err(Error::parameter("beta", beta, "a number in [0, 1]"));
        }
        let mut totals = Vec::new();
        for component in invariant.components() {
            if component.is_total() {
                totals.push(component.cells);
            } else if !component.rows.is_empty() {
                return Err(Error::Unsupported {
                    method: "l1",
                    what: "equations that share cells".into(),
                    reason: "totals and partitions are served",
                });
            }
        }
        Ok(Self { totals, beta })
    }

    /// Replaces the noise by its image.
    pub fn project(&self, noise: &mut [f64]) {
        for cells in &self.totals {
            let excess: f64 = cells.iter().map(|&cell| noise[cell as usize]).sum();
            let (first, others) = cells.split_first().expect("a total has cells");
            let share = if others.is_empty() { 1.0 } else { 1.0 - self.beta };
            noise[*first as usize] -= share * excess;
            let rest = self.beta * excess / others.len().max(1) as f64;
            others.iter().for_each(|&cell| noise[cell as usize] -= rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moved distance is the least possible, |S|, and the sums are 0.
    #[test]
    fn images_are_closest() {
        let invariant = Linear::partition(&[0, 0, 1, 1, 1, 2]).unwrap();
        let noise = [1.5, -4.0, 2.0, 0.25, 7.0, 3.0];
        for beta in [0.0, 0.3, 0.5, 1.0] {
            let mut image = noise;
            LatticeL1::new(&invariant, beta).unwrap().project(&mut image);
            for (cells, excess) in [(0..2, -2.5), (2..5, 9.25), (5..6, 3.0f64)] {
                let moved: f64 = cells.clone().map(|i| (image[i] - noise[i]).abs()).sum();
                let sum: f64 = cells.map(|i| image[i]).sum();
                assert!(sum.abs() < 1e-12 && (moved - excess.abs()).abs() < 1e-12, "{beta}: {sum} {moved}");
            }
        }
        assert!(LatticeL1::new(&Linear::margins(2, 2).unwrap(), 0.5).is_err());
        assert!(LatticeL1::new(&invariant, 1.5).is_err());
    }
}
