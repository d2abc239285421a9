//! `privacy.parquet`: the pairs of tables between which conditioning pays most.

use super::RunFolder;
use super::tables::{Frame, Group, Reader};
use crate::failure::Result;
use crate::grid::Plan;
use crate::input::{InvariantTable, Subject};
use crate::runner::{CellOutcome, PrivacyRow};
use std::path::Path;
use std::sync::Arc;

/// A row of `privacy.parquet`.
#[derive(Debug, Clone, PartialEq)]
pub struct PaidRow {
    /// The cell of the grid; shared by its rows.
    pub group: Arc<Group>,
    /// The part of the table, from 1; 0 on a row that holds an error.
    pub part: u64,
    /// Its cells.
    pub cells: u64,
    /// "table", "corner" or "all".
    pub scope: String,
    /// Tables and ordered pairs that were compared.
    pub tables: u64,
    /// See `tables`.
    pub pairs: u64,
    /// The figures of the worst pair.
    pub gamma: f64,
    /// A proved bound on gamma for all pairs of this kind.
    pub bound: f64,
    /// `ln(c(x')/c(x))`.
    pub log_ratio: f64,
    /// Loss of the unconditioned mechanism between the two.
    pub loss: f64,
    /// How they differ, in words.
    pub pair: String,
    /// Why the cell failed.
    pub error: Option<String>,
}

pub(super) fn write(folder: &RunFolder, plan: &Plan, outcomes: &[CellOutcome], hash: &str) -> Result<()> {
    let Subject::Table(table) = &plan.subject else { return Ok(()) };
    let rows = |outcome: &CellOutcome| outcome.rows.privacy.len() + usize::from(outcome.error.is_some());
    let mut frame =
        Frame::new(plan.cells.iter().zip(outcomes).map(|(cell, outcome)| (cell, rows(outcome))).collect());
    /// One column: a value for each search, null on a row that only holds an error.
    macro_rules! column {
        ($name:literal, $row:ident => $value:expr) => {{
            let mut values = Vec::new();
            for outcome in outcomes {
                values.extend(outcome.rows.privacy.iter().map(|$row| Some($value)));
                values.extend(outcome.error.iter().map(|_| None));
            }
            frame.push($name, values);
        }};
    }
    column!("part", row => row.part);
    column!("cells", row => row.cells);
    column!("scope", row => row.scope.to_owned());
    column!("tables", row => row.worst.tables);
    column!("pairs", row => row.worst.pairs);
    column!("gamma", row => row.worst.gamma);
    column!("gamma_bound", row => row.bound);
    column!("log_ratio", row => row.worst.log_ratio);
    column!("loss", row => row.worst.loss);
    column!("loss_conditioned", row => row.worst.loss + row.worst.log_ratio);
    column!("pair", row => words(table, row));
    let mut errors: Vec<Option<String>> = Vec::new();
    for outcome in outcomes {
        errors.resize(errors.len() + outcome.rows.privacy.len(), None);
        errors.extend(outcome.error.iter().map(|e| Some(e.clone())));
    }
    frame.push("error", errors);
    frame.write(folder, "privacy.parquet", hash)
}

/// The cells in which the two tables differ, with their counts in both.
fn words(table: &InvariantTable, row: &PrivacyRow) -> String {
    let parts = table.region.components(&table.invariant);
    let cells = &parts[row.part as usize - 1].component.cells;
    let differing = (0..cells.len()).filter(|&i| row.worst.from[i] != row.worst.to[i]);
    let cell = |i: usize| {
        let x = table.counts[cells[i] as usize];
        format!("{}: {} -> {}", table.names[cells[i] as usize], x + row.worst.from[i], x + row.worst.to[i])
    };
    differing.map(cell).collect::<Vec<_>>().join(", ")
}

/// Reads `privacy.parquet` of a run folder.
pub fn read_privacy(folder: &Path) -> Result<Vec<PaidRow>> {
    let reader = Reader::open(folder, "privacy.parquet")?;
    let (part, cells) = (reader.u64("part")?, reader.u64("cells")?);
    let (tables, pairs) = (reader.u64("tables")?, reader.u64("pairs")?);
    let (gamma, log_ratio, loss) = (reader.f64("gamma")?, reader.f64("log_ratio")?, reader.f64("loss")?);
    let bound = reader.f64("gamma_bound")?;
    let (scope, pair, error) = (reader.text("scope")?, reader.text("pair")?, reader.text("error")?);
    let rows = reader.groups()?.into_iter().enumerate().map(|(i, group)| PaidRow {
        group,
        part: part[i].unwrap_or(0),
        cells: cells[i].unwrap_or(0),
        scope: scope.get(i).unwrap_or_default().to_owned(),
        tables: tables[i].unwrap_or(0),
        pairs: pairs[i].unwrap_or(0),
        gamma: gamma[i].unwrap_or(f64::NAN),
        bound: bound[i].unwrap_or(f64::NAN),
        log_ratio: log_ratio[i].unwrap_or(f64::NAN),
        loss: loss[i].unwrap_or(f64::NAN),
        pair: pair.get(i).unwrap_or_default().to_owned(),
        error: error.get(i).map(str::to_owned),
    });
    Ok(rows.collect())
}
