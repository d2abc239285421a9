//! How a release is drawn: law, invariant and method, prepared once, then replicate by replicate.

mod conditioning;
mod hierarchy;
mod imaging;
mod table;

use super::rows::Releases;
use crate::error::{Error, Result};
use crate::grid::{Cell, Plan};
use crate::input::Subject;

/// Everything of a cell that does not depend on the replicate.
pub(super) fn prepare(plan: &Plan, cell: &Cell) -> Result<Box<dyn Releases>> {
    let seed = plan.config.seed;
    match &plan.subject {
        Subject::Hierarchy(table) => hierarchy::prepare(cell, seed, table),
        Subject::Table(table) => table::prepare(cell, seed, table),
    }
}

/// The config refuses these before a run begins.
pub(in crate::study) fn unsupported(method: &'static str, what: &str) -> Error {
    Error::Unsupported { method, what: what.to_owned(), reason: "they do not go together" }
}
