//! How a release is drawn: law, invariant and method, prepared once, then replicate by replicate.

mod conditioning;
mod hierarchy;
mod imaging;
mod own;
mod pieces;
mod table;

use super::rows::Releases;
use crate::Result;
use crate::catalogue::MethodKind;
use crate::grid::{Cell, Plan, refused};
use crate::input::Subject;

/// Everything of a cell that does not depend on the replicate.
pub(super) fn prepare(plan: &Plan, cell: &Cell) -> Result<Box<dyn Releases>> {
    let keys = (cell.seed, own::noise_key(plan, cell));
    match &plan.subject {
        Subject::Hierarchy(table) => hierarchy::prepare(cell, keys, table),
        Subject::Table(table) => table::prepare(cell, keys, table),
    }
}

/// The plan with what mechanisms of one's own say that they pay. Errors: a method of one's own that does not serve a cell.
pub(in crate::study) fn with_own(mut plan: Plan) -> crate::failure::Result<Plan> {
    for number in 0..plan.cells.len() {
        let cell = &plan.cells[number];
        // It may differ from the one before in its master seed alone.
        let before = number.checked_sub(1).map(|before| &plan.cells[before]);
        if let Some(same) = before.filter(|before| before.streams == cell.streams) {
            plan.cells[number].pays = same.pays;
        } else if cell.method.kind() == MethodKind::External {
            let ready = prepare(&plan, cell);
            let pays = ready.map_err(|error| refused(&plan.config, cell.method, &error.to_string()))?.pays();
            plan.cells[number].pays = pays;
        }
    }
    Ok(plan)
}
