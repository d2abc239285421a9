//! `agreement.parquet`: whether two methods with the same noise release the same law.

use super::RunFolder;
use super::tables::{Frame, Group, Reader};
use crate::config::Method;
use crate::diagnostics::Agreement;
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::runner::{CellOutcome, Draw, Statistics};
use std::path::Path;
use std::sync::Arc;

/// A pair of cells of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct AgreementRow {
    /// The first cell; shared by its rows.
    pub group: Arc<Group>,
    /// Method of the second, with its options.
    pub other: String,
    /// How they compare.
    pub agreement: Agreement,
}

pub(super) fn write(folder: &RunFolder, plan: &Plan, outcomes: &[CellOutcome], hash: &str) -> Result<()> {
    // Chains that record have no independent releases, and free noise is of another law.
    let drawn: Vec<(&Cell, &[Draw])> = plan
        .cells
        .iter()
        .zip(outcomes)
        .filter(|(cell, outcome)| {
            cell.records == 0 && cell.method != Method::Unconstrained && outcome.rows.draws.len() > 1
        })
        .map(|(cell, outcome)| (cell, &outcome.rows.draws[..]))
        .collect();
    let same = |a: &Cell, b: &Cell| {
        (a.law, a.epsilon, a.delta, a.sensitivity) == (b.law, b.epsilon, b.delta, b.sensitivity)
    };
    let mut rows: Vec<(&Cell, &Cell, Agreement)> = Vec::new();
    let statistics = Statistics::new(plan);
    let mut known: Vec<Option<Vec<Vec<f64>>>> = vec![None; drawn.len()];
    for j in 0..drawn.len() {
        for i in 0..j {
            if !same(drawn[i].0, drawn[j].0) {
                continue;
            }
            for k in [i, j] {
                if known[k].is_none() {
                    known[k] = Some(statistics.of_draws(drawn[k].1));
                }
            }
            let (Some(a), Some(b)) = (&known[i], &known[j]) else { continue };
            rows.push((drawn[i].0, drawn[j].0, Agreement::of(a, b)));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let mut frame = Frame::new(rows.iter().map(|(cell, ..)| (*cell, 1)).collect());
    frame.push("other_cell", rows.iter().map(|(_, other, _)| other.key_text()).collect::<Vec<String>>());
    frame.push("other", rows.iter().map(|(_, other, _)| other.method.words()).collect::<Vec<String>>());
    let all = || rows.iter().map(|(.., agreement)| agreement);
    frame.push("draws", all().map(|row| row.draws.0).collect::<Vec<_>>());
    frame.push("other_draws", all().map(|row| row.draws.1).collect::<Vec<_>>());
    frame.push("comparisons", all().map(|row| row.comparisons).collect::<Vec<_>>());
    frame.push("distance", all().map(|row| row.distance).collect::<Vec<_>>());
    frame.push("p", all().map(|row| row.p).collect::<Vec<_>>());
    frame.write(folder, "agreement.parquet", hash)
}

/// Reads `agreement.parquet` of a run folder; empty if the run has none.
pub fn read_agreement(folder: &Path) -> Result<Vec<AgreementRow>> {
    let Some(reader) = Reader::open_if_there(folder, "agreement.parquet")? else { return Ok(Vec::new()) };
    let other = reader.text("other")?;
    let (n, m, comparisons) = (reader.u64("draws")?, reader.u64("other_draws")?, reader.u64("comparisons")?);
    let (distance, p) = (reader.f64("distance")?, reader.f64("p")?);
    let rows = reader.groups()?.into_iter().enumerate().filter_map(|(i, group)| {
        Some(AgreementRow {
            group,
            other: other.get(i)?.to_owned(),
            agreement: Agreement {
                draws: (n[i]?, m[i]?),
                comparisons: comparisons[i]?,
                distance: distance[i]?,
                p: p[i]?,
            },
        })
    });
    Ok(rows.collect())
}
