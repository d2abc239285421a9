//! From a solution in floating point to a point of a dyadic grid that meets all constraints exactly.

use super::grid::{GRID, grid, largest, power, reach};
use super::problem::{Constraint, Problem, Solution, Tight};
use crate::error::{Error, Result};
use crate::lattice::{gauss_jordan, gcd, value};

/// How far a value may be moved to meet the constraints exactly, relative to `1 + ‖u‖∞`.
const MOVED: f64 = 1e-5;

impl Problem<'_> {
    /// Moves a solution to a dyadic grid on which all constraints hold exactly: the values in units of the grid, and
    /// its bits. `exact`: the check of all of them.
    ///
    /// Entries at a bound stay there. Of the others, entries far from their bounds solve the equations, in integers; the
    /// rest is rounded. A bound or row that this violates joins those that hold with equality. If no point of the
    /// grid meets the equations and the bounds, it is the same noise's solution within bounds that are tighter by a
    /// power of two that is moved, see [`Problem::inside`]. `pinned`: entries that the equations and bounds leave one value.
    pub(super) fn repair(
        &self,
        solution: &Solution,
        pinned: &[bool],
        exact: impl Fn(&[i64], u32) -> bool,
    ) -> Result<(Vec<i64>, u32)> {
        let on_bounds =
            [1e-9, -1.0].into_iter().map(|tolerance| self.attempt(solution, tolerance * self.scale));
        let inside = [21, 19, 17].into_iter().map(|bits| self.inside(bits, pinned));
        for (units, bits) in on_bounds.chain(inside).flatten() {
            let moved = units.iter().zip(&solution.z).map(|(&m, z)| (m as f64 / power(bits) - z).abs());
            if exact(&units, bits) && moved.fold(0.0, f64::max) <= MOVED * self.scale {
                return Ok((units, bits));
            }
        }
        Err(Error::NotConverged {
            what: "the exact rounding of least squares under inequalities",
            residuals: "no point of the grid within 1e-5 of the solution meets all constraints".into(),
        })
    }

    /// The solution within bounds and rows that are tighter by `2^-bits`, on the grid: nothing but the equations needs to
    /// hold with equality there. Bounds of pinned entries stay. `None`: there is none.
    ///
    /// Like the solution itself it is made of the noisy counts and the constraints alone, unlike a point between the solution
    /// and the confidential counts. What remains is the grid, see [`super::Nnl2`].
    fn inside(&self, bits: u32, pinned: &[bool]) -> Option<(Vec<i64>, u32)> {
        let unit = 1i64 << bits;
        // What cannot be reached need not be represented.
        let most = (reach(self.u) + 1.0) as i64;
        let side = |bounds: &[i64], way: i64| -> Option<Vec<i64>> {
            let tighter = |(&bound, &pinned): (&i64, &bool)| {
                Some(bound.clamp(-most, most).checked_mul(unit)? + if pinned { 0 } else { way })
            };
            bounds.iter().zip(pinned).map(tighter).collect()
        };
        let tighter = |(j, constraint): (usize, &Constraint)| {
            let least = constraint.least.checked_mul(unit)? + i64::from(j >= self.equations);
            Some(Constraint { least, ..constraint.clone() })
        };
        let constraints = self.constraints.iter().enumerate().map(tighter).collect::<Option<Vec<_>>>()?;
        let u: Vec<f64> = self.u.iter().map(|u| u * unit as f64).collect();
        let (lower, upper) = (side(self.lower, 1)?, side(self.upper, -1)?);
        let scale = 1.0 + largest(&u);
        let tighter =
            Problem { u: &u, lower: &lower, upper: &upper, constraints: &constraints, scale, ..*self };
        let z: Vec<f64> = tighter.solve().ok()?.z.iter().map(|z| z / unit as f64).collect();
        self.place(&z, &Tight { sides: vec![0; z.len()], rows: Vec::new() })
    }

    fn attempt(&self, solution: &Solution, tolerance: f64) -> Option<(Vec<i64>, u32)> {
        let z = &solution.z;
        let mut held = solution.tight.clone();
        for (i, side) in held.sides.iter_mut().enumerate() {
            if *side == 0 {
                let near = |bound: i64| (z[i] - bound as f64).abs() <= tolerance;
                *side = i8::from(near(self.lower[i])) - i8::from(near(self.upper[i]) && !near(self.lower[i]));
            }
        }
        let near = |j: &usize| {
            let slack = self.slack(*j, z).abs() / self.constraints[*j].length;
            solution.tight.rows.contains(j) || slack <= tolerance
        };
        held.rows = (self.equations..self.constraints.len()).filter(near).collect();
        for _ in 0..self.u.len() + self.constraints.len() {
            let (units, bits) = self.place(z, &held)?;
            let before = held.clone();
            for (i, side) in held.sides.iter_mut().enumerate() {
                let (unit, [lower, upper]) = (i128::from(units[i]), self.bounds(i, bits));
                if unit < lower {
                    *side = 1;
                } else if unit > upper {
                    *side = -1;
                }
            }
            for j in self.equations..self.constraints.len() {
                let Constraint { row, least, .. } = &self.constraints[j];
                if value(row, &units) < i128::from(*least) << bits && !held.rows.contains(&j) {
                    held.rows.push(j);
                }
            }
            if held.sides == before.sides && held.rows == before.rows {
                return Some((units, bits));
            }
        }
        None
    }

    /// A point of the grid next to `z` that meets the equations and what is held. `None`: there is none, or
    /// the numbers are too big.
    fn place(&self, z: &[f64], held: &Tight) -> Option<(Vec<i64>, u32)> {
        let n = z.len();
        let mut system: Vec<Vec<i128>> = Vec::new();
        for j in (0..self.equations).chain(held.rows.iter().copied()) {
            let Constraint { row, least, .. } = &self.constraints[j];
            let mut dense = vec![0i128; n + 1];
            dense[n] = i128::from(*least);
            for &(entry, a) in row {
                let entry = entry as usize;
                match held.sides[entry] {
                    0 => dense[entry] = i128::from(a),
                    side => dense[n] -= i128::from(a).checked_mul(self.bound(entry, side).into())?,
                }
            }
            system.push(dense);
        }
        let room = |i: usize| (z[i] - self.lower[i] as f64).min(self.upper[i] as f64 - z[i]);
        let mut order: Vec<(f64, usize)> =
            (0..n).filter(|&i| held.sides[i] == 0).map(|i| (room(i), i)).collect();
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // Entries far from their bounds can take up the rounding of others.
        let order: Vec<(usize, bool)> = order.into_iter().map(|(room, i)| (i, room >= 1e-3)).collect();
        let pivots = gauss_jordan(&mut system, &order)?;
        let mut step = 1i128;
        for &(i, column) in &pivots {
            let pivot = system[i][column].abs();
            step = step.checked_mul(pivot / gcd(&step, &pivot)?)?;
            if step > 1 << 30 {
                return None;
            }
        }
        // The pivots collect the rounding of all other entries.
        let collected = (step as u128 * n as u128) >> 8;
        let wanted = GRID + (u128::BITS - collected.leading_zeros());
        let bits = grid(1.0 + largest(z), wanted);
        let mut units = vec![0i128; n];
        for i in 0..n {
            let [lower, upper] = self.bounds(i, bits);
            units[i] = match held.sides[i] {
                0 => {
                    let near = libm::rint(z[i] * power(bits) / step as f64) as i128 * step;
                    let inside = |m: i128| if m < lower { -(-lower).div_euclid(step) * step } else { m };
                    let near = inside(near);
                    if near > upper { upper.div_euclid(step) * step } else { near }
                }
                side => i128::from(self.bound(i, side)) << bits,
            };
        }
        for &(i, column) in &pivots {
            let row = &system[i];
            let mut right = row[n].checked_mul(1 << bits)?;
            for entry in (0..n).filter(|&entry| entry != column && row[entry] != 0) {
                right = right.checked_sub(row[entry].checked_mul(units[entry])?)?;
            }
            if right % row[column] != 0 {
                return None;
            }
            units[column] = right / row[column];
        }
        let units = units.into_iter().map(|m| i64::try_from(m).ok().filter(|m| m.abs() < 1 << 53));
        Some((units.collect::<Option<_>>()?, bits))
    }
}
