//! The dual active-set method.

use super::problem::{Constraint, Problem, Tight};
use crate::lattice::{Factored, dot};

/// The dual active-set method: the closest point under the tight constraints alone, whose multipliers are >= 0;
/// violated constraints enter one by one, and what blocks them leaves.
pub(super) struct Face<'a> {
    problem: &'a Problem<'a>,
    pub(super) tight: Tight,
    pub(super) z: Vec<f64>,
    /// By tight row, its multiplier.
    multipliers: Vec<f64>,
    /// By entry, the multiplier of its bound.
    at_bound: Vec<f64>,
    /// The tight rows on the entries that are not at a bound.
    factored: Factored,
}

/// A constraint that is to become tight.
#[derive(Debug, Clone, Copy)]
enum Entering {
    Bound(usize, i8),
    /// A row with the sign of its normal.
    Row(usize, f64),
}

impl<'a> Face<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, start: Tight) -> Self {
        let n = problem.u.len();
        let mut tight = start;
        tight.sides.resize(n, 0);
        if tight.rows.is_empty() {
            tight.rows = (0..problem.equations).collect();
        }
        let multipliers = vec![0.0; tight.rows.len()];
        let (z, at_bound) = (problem.u.to_vec(), vec![0.0; n]);
        Self { problem, tight, z, multipliers, at_bound, factored: Factored::default() }
    }

    pub(super) fn all_multipliers(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.problem.constraints.len()];
        for (&j, &multiplier) in self.tight.rows.iter().zip(&self.multipliers) {
            all[j] = multiplier;
        }
        all
    }

    /// Orthonormalises the tight rows; those that depend on what is before them are no longer tight.
    fn factor(&mut self) {
        self.factored.clear();
        let (rows, multipliers) =
            (std::mem::take(&mut self.tight.rows), std::mem::take(&mut self.multipliers));
        for (j, multiplier) in rows.into_iter().zip(multipliers) {
            let Constraint { row, length, .. } = &self.problem.constraints[j];
            let mut rest = vec![0.0; self.z.len()];
            for &(entry, a) in row {
                if self.tight.sides[entry as usize] == 0 {
                    rest[entry as usize] = a as f64;
                }
            }
            if self.factored.add(rest, 1e-10 * length) {
                self.tight.rows.push(j);
                self.multipliers.push(multiplier);
            }
        }
    }

    /// The closest point under the tight constraints, and their multipliers.
    pub(super) fn solve(&mut self) {
        let Problem { u, constraints, .. } = *self.problem;
        self.z.copy_from_slice(u);
        for (i, &side) in self.tight.sides.iter().enumerate() {
            if side != 0 {
                self.z[i] = self.problem.bound(i, side) as f64;
            }
        }
        let mut along: Vec<f64> = Vec::new();
        for (&j, triangle) in self.tight.rows.iter().zip(&self.factored.triangle) {
            // Both sides as differences from u, which is what the point starts from.
            let right = -self.problem.slack(j, &self.z);
            along.push((right - dot(&along, triangle)) / triangle[along.len()]);
        }
        for (vector, along) in self.factored.vectors.iter().zip(&along) {
            self.z.iter_mut().zip(vector).for_each(|(z, v)| *z += along * v);
        }
        self.multipliers = self.factored.combine(along);
        for ((multiplier, z), u) in self.at_bound.iter_mut().zip(&self.z).zip(u) {
            *multiplier = z - u;
        }
        for (&j, &multiplier) in self.tight.rows.iter().zip(&self.multipliers) {
            for &(entry, a) in &constraints[j].row {
                self.at_bound[entry as usize] -= multiplier * a as f64;
            }
        }
        for (multiplier, &side) in self.at_bound.iter_mut().zip(&self.tight.sides) {
            *multiplier *= f64::from(side);
        }
    }

    /// Looks for the solution. `false`: it was not found.
    pub(super) fn run(&mut self) -> bool {
        let equations = self.problem.equations;
        let tolerance = 1e-12 * self.problem.scale;
        // What has a negative multiplier is dropped until none has.
        loop {
            self.factor();
            self.solve();
            let mut clean = true;
            for (side, &multiplier) in self.tight.sides.iter_mut().zip(&self.at_bound) {
                if *side != 0 && multiplier < -tolerance {
                    (*side, clean) = (0, false);
                }
            }
            let mut multipliers = std::mem::take(&mut self.multipliers).into_iter();
            self.tight.rows.retain(|&j| {
                let multiplier = multipliers.next().expect("one per row");
                let keep = j < equations || multiplier >= -tolerance;
                clean &= keep;
                if keep {
                    self.multipliers.push(multiplier);
                }
                keep
            });
            if clean {
                break;
            }
        }
        let mut entering = None;
        for _ in 0..20 * (self.z.len() + self.problem.constraints.len()) + 100 {
            let Some(constraint) = entering.or_else(|| self.most_violated(tolerance)) else { return true };
            entering = Some(constraint);
            match self.enter(constraint) {
                None => return false,
                Some(true) => entering = None,
                Some(false) => {}
            }
        }
        false
    }

    fn most_violated(&self, tolerance: f64) -> Option<Entering> {
        let Problem { lower, upper, constraints, equations, .. } = *self.problem;
        let (mut worst, mut found) = (tolerance, None);
        let mut consider = |by: f64, constraint: Entering| {
            if by > worst {
                (worst, found) = (by, Some(constraint));
            }
        };
        for (i, &z) in self.z.iter().enumerate().filter(|&(i, _)| self.tight.sides[i] == 0) {
            consider(lower[i] as f64 - z, Entering::Bound(i, 1));
            consider(z - upper[i] as f64, Entering::Bound(i, -1));
        }
        let mut out = vec![true; constraints.len()];
        self.tight.rows.iter().for_each(|&j| out[j] = false);
        for j in (0..constraints.len()).filter(|&j| out[j]) {
            let slack = self.problem.slack(j, &self.z) / constraints[j].length;
            consider(-slack, Entering::Row(j, 1.0));
            if j < equations {
                consider(slack, Entering::Row(j, -1.0));
            }
        }
        found
    }

    /// One step towards a violated constraint: whether it is met now, or something else left. `None`: it cannot be.
    fn enter(&mut self, constraint: Entering) -> Option<bool> {
        let Problem { constraints, equations, .. } = *self.problem;
        let n = self.z.len();
        let mut normal = vec![0.0; n];
        let missing = match constraint {
            Entering::Bound(i, side) => {
                normal[i] = f64::from(side);
                f64::from(side) * (self.problem.bound(i, side) as f64 - self.z[i])
            }
            Entering::Row(j, sign) => {
                for &(entry, a) in &constraints[j].row {
                    normal[entry as usize] = sign * a as f64;
                }
                -sign * self.problem.slack(j, &self.z)
            }
        };
        let length = dot(&normal, &normal);
        let mut direction = normal.clone();
        for (x, &side) in direction.iter_mut().zip(&self.tight.sides) {
            if side != 0 {
                *x = 0.0;
            }
        }
        let along = self.factored.remove_span(&mut direction);
        let by_row = self.factored.combine(along);
        let mut by_entry = normal;
        for (&j, share) in self.tight.rows.iter().zip(&by_row) {
            for &(entry, a) in &constraints[j].row {
                by_entry[entry as usize] -= share * a as f64;
            }
        }
        let (mut step, mut leaving) = (f64::INFINITY, None);
        for (i, &side) in self.tight.sides.iter().enumerate() {
            by_entry[i] *= f64::from(side);
            let length = self.at_bound[i].max(0.0) / by_entry[i];
            if by_entry[i] > 1e-12 && length < step {
                (step, leaving) = (length, Some(Entering::Bound(i, 0)));
            }
        }
        for (k, (&j, &share)) in self.tight.rows.iter().zip(&by_row).enumerate() {
            let length = self.multipliers[k].max(0.0) / share;
            if j >= equations && share > 1e-12 && length < step {
                (step, leaving) = (length, Some(Entering::Row(k, 0.0)));
            }
        }
        let square = dot(&direction, &direction);
        let full = if square > 1e-18 * length { missing / square } else { f64::INFINITY };
        if full <= step && full < f64::INFINITY {
            match constraint {
                Entering::Bound(i, side) => self.tight.sides[i] = side,
                Entering::Row(j, _) => {
                    self.tight.rows.push(j);
                    self.multipliers.push(0.0);
                }
            }
            self.factor();
            self.solve();
            return Some(true);
        }
        leaving?;
        if full < f64::INFINITY {
            self.z.iter_mut().zip(&direction).for_each(|(z, d)| *z += step * d);
        }
        self.at_bound.iter_mut().zip(&by_entry).for_each(|(m, share)| *m -= step * share);
        self.multipliers.iter_mut().zip(&by_row).for_each(|(m, share)| *m -= step * share);
        match leaving? {
            Entering::Bound(i, _) => self.tight.sides[i] = 0,
            Entering::Row(k, _) => {
                self.tight.rows.remove(k);
                self.multipliers.remove(k);
            }
        }
        self.factor();
        Some(false)
    }
}
