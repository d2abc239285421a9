//! The solution that meets the conditions of optimality.

use super::face::Face;
use super::problem::{Problem, Solution, Tight};
use crate::error::{Error, Result};

/// Entries up to which the active set is found from nothing.
const FEW_CELLS: usize = 128;

/// Largest residual of the optimality conditions, relative to `1 + ‖u‖∞`: of the refined point, and of the
/// interior point if it cannot be refined.
pub(super) const REFINED: f64 = 1e-9;
pub(super) const UNREFINED: f64 = 1e-6;

impl Problem<'_> {
    /// The projection: by the active set alone for few entries, from the interior point's guess of it for many.
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
}
