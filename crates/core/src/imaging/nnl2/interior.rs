//! What an interior-point solver takes for tight.

use super::grid::reach;
use super::problem::{Constraint, Problem, Tight};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT, ZeroConeT,
};

impl Problem<'_> {
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
            for &(entry, a) in row {
                places.push(right.len());
                columns.push(entry as usize);
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
