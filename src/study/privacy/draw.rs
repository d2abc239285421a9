//! What conditioning on inequalities pays on a table: the worst pairs of its parts.

use super::{CHANGES, PaidRow, words};
use crate::Result;
use crate::engine::{Drawn, Prepared};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::Bounded;
use crate::law::{DoubleGeometric, Law};
use crate::privacy::{Conditioning, WorstPair, gamma_bound, longest_step};
use crate::table::Key;
use rayon::prelude::*;
use std::ops::Range;

/// Tables of an invariant whose pairs are all compared.
const STUDIED: usize = 5000;

/// What the tables of a pair differ by.
fn change(worst: &WorstPair) -> &'static str {
    let steps = worst.from.iter().zip(&worst.to).map(|(x, y)| y - x).filter(|step| *step != 0);
    let [added, moved, other] = CHANGES;
    match steps.collect::<Vec<_>>()[..] {
        [1 | -1] => added,
        [1, -1] | [-1, 1] => moved,
        _ => other,
    }
}

/// Prepares a cell of a study of privacy. Errors: a scale beyond its range.
pub(super) fn prepare<'a>(cell: &Cell, table: &'a InvariantTable) -> Result<Box<dyn Prepared + 'a>> {
    let law = DoubleGeometric::new(cell.calibration.scales[0])?;
    Ok(Box::new(ReadyGamma {
        cell: Key(cell.key),
        law,
        table,
        components: table.region.components(&table.invariant),
    }))
}

struct ReadyGamma<'a> {
    cell: Key,
    law: DoubleGeometric,
    table: &'a InvariantTable,
    components: Vec<Bounded>,
}

impl Prepared for ReadyGamma<'_> {
    /// One replicate: everything is computed.
    fn draw(&self, _: Range<u64>) -> (Drawn, Result<()>) {
        let components = self.components.par_iter().enumerate();
        let rows = components.map(|(i, bounded)| self.component(i as u64 + 1, bounded));
        Drawn::all(rows.collect::<Result<Vec<_>>>().map(|rows| rows.concat()))
    }

    fn close(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

impl ReadyGamma<'_> {
    fn component(&self, component: u64, bounded: &Bounded) -> Result<Vec<PaidRow>> {
        let entries = bounded.component.entries.len() as u64;
        let mut conditioning = Conditioning::new(bounded, self.law);
        let rate = 1.0 / self.law.scale();
        let longest = longest_step(bounded);
        let free = bounded.region.is_everything();
        let mut rows = Vec::new();
        let mut add = |scope: &str, worst: Option<WorstPair>| {
            rows.extend(worst.map(|worst| {
                // Neighbours are one step apart, all pairs any number of them.
                let length = if scope == "all" { longest } else { Some((worst.loss / rate).round() as u64) };
                let bound = longest.and(length).map_or(1.0, |length| gamma_bound(rate, length));
                // Equations alone cost nothing.
                let bound = if free { 0.0 } else { bound };
                PaidRow {
                    cell: self.cell,
                    component,
                    entries,
                    scope: scope.to_owned(),
                    change: change(&worst).to_owned(),
                    tables: worst.tables,
                    pairs: worst.pairs,
                    gamma: worst.gamma,
                    gamma_bound: bound,
                    log_ratio: worst.log_ratio,
                    loss: worst.loss,
                    loss_conditioned: worst.loss + worst.log_ratio,
                    pair: words(self.table, bounded, &worst),
                }
            }));
        };
        add("table", conditioning.worst_neighbour(&vec![0; entries as usize])?);
        if let Some(corner) = conditioning.corner() {
            add("corner", conditioning.worst_neighbour(&corner)?);
        }
        add("all", conditioning.worst_pair(STUDIED)?.pair());
        Ok(rows)
    }
}
