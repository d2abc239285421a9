//! Releases as one table: cells, what they pay, and their errors by level.

use super::LevelRow;
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::privacy::{Change, ChangeKind, Measure, Price};
use crate::store::{Manifest, Run};
use crate::study::cells::{self, CellRow, known, statements};
use crate::study::tell::frame::{FrameRow, Framing};
use crate::table::Key;
use std::collections::HashMap;

/// What a cell was to pay: for which change, how much, and in what it is counted.
pub(in crate::study) type Paid = (ChangeKind, f64, Measure);

/// The rows of a run; `paid`: by cell what it was to pay, if the study says so. Errors: the tables of the run.
pub(in crate::study) fn rows(run: &Run, asked: Framing, paid: &HashMap<Key, Paid>) -> Result<Vec<FrameRow>> {
    let (cells, statements) = (cells::by_key(run)?, statements(run)?);
    let price = |cell: &Key, kind: ChangeKind| {
        statements.get(cell)?.iter().find_map(|(of, change)| match change {
            Change::Possible(price) if *of == kind => Some(price),
            _ => None,
        })
    };
    let is_possible = |kind: &ChangeKind| cells.keys().any(|cell| price(cell, *kind).is_some());
    let of_study = paid.values().next().map(|(change, ..)| *change);
    let change = asked.change.or(of_study).or_else(|| ChangeKind::ALL.into_iter().find(is_possible));
    let (several, mut manifests) = (!run.manifest.seeds.is_empty(), HashMap::new());
    let mut rows = Vec::new();
    run.each(|level: LevelRow| {
        let cell = known(&cells, level.cell, run)?;
        if several && cell.seed.is_some() != asked.by_seed {
            return Ok(());
        }
        let manifest = manifests.entry(&cell.data).or_insert_with(|| run.manifest.of_data(&cell.data));
        let price = change.and_then(|change| price(&level.cell, change));
        let paid = paid.get(&level.cell).filter(|(of, ..)| Some(*of) == change);
        rows.push(row(cell, &level, manifest, change, price, paid));
        Ok(())
    })?;
    Ok(rows)
}

fn row(
    cell: &CellRow,
    level: &LevelRow,
    manifest: &Manifest,
    change: Option<ChangeKind>,
    price: Option<&Price>,
    paid: Option<&Paid>,
) -> FrameRow {
    let (paid, measure) = match paid {
        Some((_, paid, measure)) => (Some(*paid), *measure),
        None => (price.and_then(Price::epsilon), Measure::Epsilon),
    };
    let nodes = level.nodes as f64;
    let Estimate { mean, standard_error } = level.negative;
    FrameRow {
        cell: cell.cell,
        data: cell.data.clone(),
        seed: cell.seed,
        law: cell.law.name().to_owned(),
        split: cell.split.label(),
        sensitivity: cell.sensitivity,
        delta: cell.delta,
        epsilon: cell.epsilon,
        change: change.map(|change| change.name().to_owned()),
        paid,
        measure: measure.name().into_owned(),
        paid_is_bound: measure == Measure::Epsilon && price.is_some_and(Price::epsilon_is_bound),
        label: format!("{} {}", cell.method_plain(), cell.options_words()).trim_end().to_owned(),
        method: cell.method_bare_plain(),
        options: cell.options_plain(),
        releases: cell.releases().words().to_owned(),
        converged: cell.converged.name().to_owned(),
        level: level.level,
        level_name: manifest.level(level.level),
        known: level.scale == 0.0,
        counts: level.nodes,
        replicates: level.replicates,
        error: level.l1_per_node,
        l1_normalised: level.l1_normalised,
        bias: level.bias,
        negative: Estimate { mean: mean / nodes, standard_error: standard_error / nodes },
    }
}
