//! What conditioning pays on a hierarchy: around the confidential table, and where counts are 0.

use super::{CHANGES, PaidRow};
use crate::Result;
use crate::engine::{Drawn, Prepared};
use crate::grid::Cell;
use crate::input::HierarchyTable;
use crate::law::DoubleGeometric;
use crate::pace;
use crate::privacy::{TreeChange, TreeConditioning, TreeCosts, TreePaid, WorstChange, tree_corner};
use crate::study::cells::rates;
use crate::table::Key;
use std::ops::Range;

/// Prepares a cell.
pub(super) fn prepare<'a>(cell: &Cell, table: &'a HierarchyTable) -> Box<dyn Prepared + 'a> {
    Box::new(ReadyTree {
        cell: Key(cell.key),
        rates: rates(cell),
        scales: cell.calibration.laws(|scale| scale).collect(),
        conditions: cell.at.method.nonnegative(),
        table,
    })
}

struct ReadyTree<'a> {
    cell: Key,
    rates: Vec<f64>,
    scales: Vec<f64>,
    /// Whether releases must not be negative.
    conditions: bool,
    table: &'a HierarchyTable,
}

impl Prepared for ReadyTree<'_> {
    /// One replicate: everything is computed.
    fn draw(&self, _: Range<u64>) -> (Drawn, Result<()>) {
        Drawn::all(self.rows())
    }

    fn close(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

impl ReadyTree<'_> {
    fn rows(&self) -> Result<Vec<PaidRow>> {
        let tree = &self.table.hierarchy;
        let laws =
            self.scales.iter().map(|&scale| DoubleGeometric::new(scale)).collect::<Result<Vec<_>>>()?;
        let costs = TreeCosts::new(tree, &self.rates)?;
        let bounds = [costs.worst_added(), costs.worst_moved()];
        let corner = tree_corner(tree, &self.table.counts);
        let mut rows = Vec::new();
        for (i, (scope, counts)) in
            [("table", &self.table.counts[..]), ("corner", &corner)].into_iter().enumerate()
        {
            let paid = if self.conditions {
                // Both take about as long: the tables of the tree, and those of up to 24 moves.
                let tables = || TreeConditioning::new(tree, &self.rates, &laws, counts);
                let around = pace::part(2 * i, 4, tables)?;
                [around.added(), pace::part(2 * i + 1, 4, || around.moved())?]
            } else {
                // Equations alone leave c constant.
                bounds.map(|worst| worst.map(|worst| self.free(worst)))
            };
            for ((paid, bound), change) in paid.into_iter().zip(bounds).zip(CHANGES) {
                if let (Some(paid), Some(bound)) = (paid, bound) {
                    rows.push(self.row(scope, change, counts, &paid, &bound));
                }
            }
        }
        Ok(rows)
    }

    /// A change that pays nothing but its loss.
    fn free(&self, worst: WorstChange) -> TreePaid {
        let WorstChange { change, cost, .. } = worst;
        TreePaid { change, gamma: 0.0, log_ratio: 0.0, loss: cost, at_most: 0.0, changes: 1 }
    }

    fn row(
        &self,
        scope: &str,
        change: &str,
        counts: &[i64],
        paid: &TreePaid,
        bound: &WorstChange,
    ) -> PaidRow {
        let log_ratio = paid.log_ratio.abs();
        PaidRow {
            cell: self.cell,
            component: 1,
            entries: self.table.hierarchy.leaves().len() as u64,
            scope: scope.to_owned(),
            change: change.to_owned(),
            tables: paid.changes + 1,
            pairs: 2 * paid.changes,
            gamma: paid.gamma,
            gamma_bound: if self.conditions { bound.gamma_bound } else { 0.0 },
            log_ratio,
            loss: paid.loss,
            loss_conditioned: paid.loss + log_ratio,
            pair: self.words(counts, paid),
        }
    }

    /// The leaves that change, with their counts in the table that allows less and in the one that allows more.
    fn words(&self, counts: &[i64], paid: &TreePaid) -> String {
        let leaf = |leaf: u32, step: i64| {
            let number = self.table.hierarchy.leaf_number(leaf);
            let (here, there) = (counts[leaf as usize], counts[leaf as usize] + step);
            let (x, y) = if paid.log_ratio < 0.0 { (there, here) } else { (here, there) };
            format!("leaf {number}: {x} -> {y}")
        };
        match paid.change {
            TreeChange::Added(at) => leaf(at, if paid.log_ratio < 0.0 { -1 } else { 1 }),
            TreeChange::Moved { from, to } => format!("{}, {}", leaf(from, -1), leaf(to, 1)),
        }
    }
}
