//! One projection: its constraints, and the conditions of optimality.

use super::grid::clamp;
use crate::lattice::{Row, real_value};

/// `row·z = least` or `row·z >= least`.
#[derive(Debug, Clone)]
pub(super) struct Constraint {
    pub(super) row: Row,
    pub(super) least: i64,
    pub(super) length: f64,
}

/// One projection on a component with equations or rows.
pub(super) struct Problem<'a> {
    pub(super) u: &'a [f64],
    pub(super) lower: &'a [i64],
    pub(super) upper: &'a [i64],
    pub(super) constraints: &'a [Constraint],
    pub(super) equations: usize,
    pub(super) scale: f64,
}

/// Constraints that are taken to hold with equality: by entry 1 at its lower bound, -1 at its upper; rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Tight {
    pub(super) sides: Vec<i8>,
    pub(super) rows: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Solution {
    pub(super) z: Vec<f64>,
    pub(super) tight: Tight,
}

impl Problem<'_> {
    pub(super) fn bound(&self, entry: usize, side: i8) -> i64 {
        if side > 0 { self.lower[entry] } else { self.upper[entry] }
    }

    /// The bounds of an entry in units of `2^-bits`.
    pub(super) fn bounds(&self, entry: usize, bits: u32) -> [i128; 2] {
        [i128::from(self.lower[entry]) << bits, i128::from(self.upper[entry]) << bits]
    }

    /// `row·z - least`.
    pub(super) fn slack(&self, j: usize, z: &[f64]) -> f64 {
        let Constraint { row, least, .. } = &self.constraints[j];
        real_value(row, z) - *least as f64
    }

    /// The largest residual of the optimality conditions for the multipliers of the rows, relative to the scale:
    /// those of the bounds are `z - u - Σ_j multiplier_j row_j`, and a bound or row has either slack or a multiplier.
    pub(super) fn residual(&self, z: &[f64], multipliers: &[f64]) -> f64 {
        let mut worst = 0.0f64;
        let mut gradient: Vec<f64> = z.iter().zip(self.u).map(|(z, u)| z - u).collect();
        for (j, (constraint, &multiplier)) in self.constraints.iter().zip(multipliers).enumerate() {
            let slack = self.slack(j, z) / constraint.length;
            let own = if j < self.equations { slack } else { slack.min(multiplier * constraint.length) };
            worst = if own.is_nan() { f64::INFINITY } else { worst.max(own.abs()) };
            for &(entry, a) in &constraint.row {
                gradient[entry as usize] -= multiplier * a as f64;
            }
        }
        for (i, (&z, g)) in z.iter().zip(gradient).enumerate() {
            let own = z - clamp(z - g, self.lower[i] as f64, self.upper[i] as f64);
            worst = if (z + g).is_nan() { f64::INFINITY } else { worst.max(own.abs()) };
        }
        worst / self.scale
    }
}
