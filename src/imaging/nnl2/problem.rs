//! The conditions of optimality, and the solution that meets them.

use super::face::Face;
use super::{Constraint, FEW_CELLS, Problem, REFINED, Solution, Tight, UNREFINED, clamp, reach};
use crate::error::{Error, Result};
use crate::lattice::real_value;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT, ZeroConeT,
};

impl Problem<'_> {
    pub(super) fn bound(&self, cell: usize, side: i8) -> i64 {
        if side > 0 { self.lower[cell] } else { self.upper[cell] }
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
            for &(cell, a) in &constraint.row {
                gradient[cell as usize] -= multiplier * a as f64;
            }
        }
        for (i, (&z, g)) in z.iter().zip(gradient).enumerate() {
            let own = z - clamp(z - g, self.lower[i], self.upper[i]);
            worst = if (z + g).is_nan() { f64::INFINITY } else { worst.max(own.abs()) };
        }
        worst / self.scale
    }

    /// The projection: by the active set alone for few cells, from the interior point's guess of it for many.
    ///
    /// Errors: no point passes the conditions of optimality.
    pub(super) fn solve(&self) -> Result<Solution> {
        let mut residuals = Vec::new();
        let mut by_active_set = |start: Tight| {
            let mut face = Face::new(self, start);
            let finished = face.run();
            let residual = self.residual(&face.z, &face.all_multipliers());
            if finished && residual <= REFINED {
                return Some(Solution { z: face.z, tight: face.tight });
            }
            residuals.push(format!("{residual:e} by the active set"));
            None
        };
        let few = self.u.len() <= FEW_CELLS;
        if let Some(found) = few.then(|| by_active_set(Tight::default())).flatten() {
            return Ok(found);
        }
        let interior = self.interior();
        let guess = interior.as_ref().map(|(_, _, tight)| tight.clone());
        let cold = (!few).then(Tight::default);
        for start in guess.into_iter().chain(cold) {
            if let Some(found) = by_active_set(start) {
                return Ok(found);
            }
        }
        if let Some((z, multipliers, tight)) = interior {
            let residual = self.residual(&z, &multipliers);
            if residual <= UNREFINED {
                return Ok(Solution { z, tight });
            }
            residuals.push(format!("{residual:e} by the interior point"));
        }
        Err(Error::NotConverged {
            what: "the least squares under inequalities",
            residuals: format!("relative residuals {}", residuals.join(", ")),
        })
    }

    /// The point and the multipliers of the rows by the interior-point solver, and what is tight there.
    pub(super) fn interior(&self) -> Option<(Vec<f64>, Vec<f64>, Tight)> {
        let n = self.u.len();
        let reach = reach(self.u);
        let (mut places, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (mut right, mut meaning) = (Vec::new(), Vec::new());
        for (j, Constraint { row, least, length }) in self.constraints.iter().enumerate() {
            if *least as f64 <= -reach * length {
                continue;
            }
            for &(cell, a) in row {
                places.push(right.len());
                columns.push(cell as usize);
                values.push(-a as f64);
            }
            right.push(-(*least as f64) / self.scale);
            meaning.push((j, 0));
        }
        for i in 0..n {
            for side in [1i8, -1] {
                let bound = self.bound(i, side) as f64;
                if bound.abs() < reach {
                    places.push(right.len());
                    columns.push(i);
                    values.push(-f64::from(side));
                    right.push(-f64::from(side) * bound / self.scale);
                    meaning.push((i, side));
                }
            }
        }
        if right.is_empty() {
            return None;
        }
        let matrix = CscMatrix::new_from_triplets(right.len(), n, places, columns, values);
        let mut cones: Vec<SupportedConeT<f64>> = Vec::new();
        if self.equations > 0 {
            cones.push(ZeroConeT(self.equations));
        }
        if right.len() > self.equations {
            cones.push(NonnegativeConeT(right.len() - self.equations));
        }
        let settings = DefaultSettings {
            verbose: false,
            max_threads: 1,
            direct_solve_method: "qdldl".into(),
            tol_gap_abs: 1e-13,
            tol_gap_rel: 1e-13,
            tol_feas: 1e-11,
            ..DefaultSettings::default()
        };
        let linear: Vec<f64> = self.u.iter().map(|u| -u / self.scale).collect();
        let identity = CscMatrix::identity(n);
        let mut solver = DefaultSolver::new(&identity, &linear, &matrix, &right, &cones, settings).ok()?;
        solver.solve();
        let solution = &solver.solution;
        if !matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
            return None;
        }
        let z = solution.x.iter().map(|z| z * self.scale).collect();
        let mut multipliers = vec![0.0; self.constraints.len()];
        let mut tight = Tight { sides: vec![0; n], rows: Vec::new() };
        for (place, &(at, side)) in meaning.iter().enumerate() {
            let (multiplier, slack) = (solution.z[place], solution.s[place]);
            if side == 0 {
                multipliers[at] = multiplier * self.scale;
            }
            if place < self.equations || multiplier > slack {
                match side {
                    0 => tight.rows.push(at),
                    _ => tight.sides[at] = side,
                }
            }
        }
        Some((z, multipliers, tight))
    }
}
