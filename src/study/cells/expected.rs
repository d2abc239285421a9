//! What theory says of a cell's releases, where it says something in closed form.

use crate::catalogue::{Method, Projection, noise};
use crate::closed_form::{self, Operation};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::Bounded;

/// What a method does with the noise, as far as there are closed forms.
pub fn operation(method: Method) -> Option<Operation> {
    match method.projection() {
        Some(Projection::None) => Some(Operation::Free),
        Some(Projection::L2) => Some(Operation::L2),
        Some(Projection::L1 { beta }) => Some(Operation::L1 { beta }),
        Some(_) => None,
        None => method.conditions().then_some(Operation::Conditioned),
    }
}

/// Rank of the equations of a part, if nothing else bounds it.
pub fn rank(part: &Bounded) -> Option<usize> {
    if !part.region.is_everything() {
        return None;
    }
    match part.component.rows.len() {
        0 => Some(0),
        1 => Some(1),
        _ => crate::lattice::independent_rows(&part.component.distinct_columns()).ok().map(|rows| rows.len()),
    }
}

/// The mean of the squared errors of a part's cells: [`closed_form::variance`].
pub fn variance(cell: &Cell, table: &InvariantTable, part: &Bounded, rank: Option<usize>) -> Option<f64> {
    if let [entry] = part.component.entries[..]
        && table.known.binary_search(&entry).is_ok()
    {
        return Some(0.0);
    }
    let (noise, operation) = (noise(cell.at.law, cell.calibration.scales[0])?, operation(cell.at.method)?);
    let rank = rank.or((operation == Operation::Free).then_some(0))?;
    closed_form::variance(noise, operation, &part.component, rank)
}
