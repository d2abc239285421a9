//! `parts.parquet`: distances and variances by part of a table, a part being cells that nothing ties to the rest.

use super::RunFolder;
use super::tables::{Frame, Group, Reader};
use crate::closed_form::{Noise, Operation, TwoBins};
use crate::diagnostics::{Estimate, Moments};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::input::InvariantTable;
use crate::invariant::Bounded;
use crate::runner::{CellOutcome, Draw, expected};
use std::path::Path;
use std::sync::Arc;

/// One part under one cell of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct PartRow {
    /// The cell of the grid; shared by its rows.
    pub group: Arc<Group>,
    /// The part, from 1.
    pub part: u64,
    /// Its cells.
    pub cells: u64,
    /// Name of the first.
    pub first: String,
    /// Releases.
    pub draws: u64,
    /// `Σ |error|` over the part: mean and standard error.
    pub l1: Estimate,
    /// `sqrt(Σ error²)`.
    pub l2: Estimate,
    /// `Σ error² / cells`.
    pub mse: Estimate,
    /// What its mean is in closed form.
    pub expected: Option<f64>,
    /// Largest distance of the first cell's errors to their law in closed form, if it is known.
    pub ks: Option<f64>,
    /// The epsilon that the first cell attains in closed form.
    pub epsilon: Option<f64>,
}

/// Parts beyond which none is written: nothing would read a million of them.
const MAX_PARTS: usize = 10_000;

pub(super) fn write(
    folder: &RunFolder,
    plan: &Plan,
    table: &InvariantTable,
    outcomes: &[CellOutcome],
    hash: &str,
) -> Result<()> {
    let mut parts = table.region.components(&table.invariant);
    parts.retain(|part| part.component.cells.len() > 1);
    if parts.is_empty() || parts.len() > MAX_PARTS {
        return Ok(());
    }
    // The recorded states of a chain are no independent releases.
    let drawn: Vec<(&Cell, &[Draw])> = plan
        .cells
        .iter()
        .zip(outcomes)
        .filter(|(cell, outcome)| cell.records == 0 && !outcome.rows.draws.is_empty())
        .map(|(cell, outcome)| (cell, &outcome.rows.draws[..]))
        .collect();
    if drawn.is_empty() {
        return Ok(());
    }
    let ranks: Vec<Option<usize>> = parts.iter().map(expected::rank).collect();
    let mut frame = Frame::new(drawn.iter().map(|(cell, _)| (*cell, parts.len())).collect());
    let mut rows = Vec::new();
    for (cell, draws) in &drawn {
        for (part, rank) in parts.iter().zip(&ranks) {
            rows.push(summarise(cell, part, *rank, draws));
        }
    }
    let repeated = || drawn.iter().flat_map(|_| parts.iter().enumerate());
    frame.push("part", repeated().map(|(i, _)| i as u64 + 1).collect::<Vec<_>>());
    frame.push("cells", repeated().map(|(_, part)| part.component.cells.len() as u64).collect::<Vec<_>>());
    let first = |part: &Bounded| table.names[part.component.cells[0] as usize].clone();
    frame.push("first", repeated().map(|(_, part)| first(part)).collect::<Vec<String>>());
    frame.push(
        "draws",
        drawn.iter().flat_map(|(_, draws)| vec![draws.len() as u64; parts.len()]).collect::<Vec<_>>(),
    );
    let error = |estimate: Estimate| Some(estimate.standard_error).filter(|x| x.is_finite());
    for (name, of) in [("l1", 0usize), ("l2", 1), ("mse", 2)] {
        frame.push(name, rows.iter().map(|row| row.0[of].mean).collect::<Vec<_>>());
        frame.push(
            &format!("{name}_se"),
            rows.iter().map(|row| error(row.0[of])).collect::<Vec<Option<f64>>>(),
        );
    }
    frame.push("mse_expected", rows.iter().map(|row| row.1).collect::<Vec<Option<f64>>>());
    frame.push("ks", rows.iter().map(|row| row.2).collect::<Vec<Option<f64>>>());
    frame.push("epsilon_attained", rows.iter().map(|row| row.3).collect::<Vec<Option<f64>>>());
    frame.write(folder, "parts.parquet", hash)
}

type Summary = ([Estimate; 3], Option<f64>, Option<f64>, Option<f64>);

fn summarise(cell: &Cell, part: &Bounded, rank: Option<usize>, draws: &[Draw]) -> Summary {
    let mut moments = [Moments::default(); 3];
    let cells = &part.component.cells;
    for draw in draws {
        let (mut l1, mut squares) = (0.0, 0.0);
        for &cell in cells {
            let z = draw.errors[cell as usize];
            l1 += z.abs();
            squares += z * z;
        }
        let values = [l1, libm::sqrt(squares), squares / cells.len() as f64];
        moments.iter_mut().zip(values).for_each(|(moments, value)| moments.push(value));
    }
    let expected = expected::variance(cell, part, rank);
    let law =
        match expected::noise(cell.law, cell.calibration.scales[0]).zip(expected::operation(cell.method)) {
            Some((Noise::Laplace(lambda), operation))
                if cells.len() == 2
                    && part.component.is_total()
                    && (rank.is_some() || operation == Operation::Free) =>
            {
                TwoBins::new(lambda, operation)
            }
            _ => None,
        };
    let ks = law.map(|law| {
        let mut values: Vec<f64> = draws.iter().map(|draw| draw.errors[cells[0] as usize]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as f64;
        values.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
            let p = law.cdf(x);
            worst.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
        })
    });
    (moments.map(|moments| moments.estimate()), expected, ks, law.map(|law| law.epsilon()))
}

/// Reads `parts.parquet` of a run folder; empty if the run has none.
pub fn read_parts(folder: &Path) -> Result<Vec<PartRow>> {
    let Some(reader) = Reader::open_if_there(folder, "parts.parquet")? else { return Ok(Vec::new()) };
    let (part, cells, draws) = (reader.u64("part")?, reader.u64("cells")?, reader.u64("draws")?);
    let first = reader.text("first")?;
    let estimates = |name: &str| -> Result<Vec<Option<Estimate>>> {
        let (mean, se) = (reader.f64(name)?, reader.f64(&format!("{name}_se"))?);
        let both = |(mean, se): (Option<f64>, Option<f64>)| {
            Some(Estimate { mean: mean?, standard_error: se.unwrap_or(f64::NAN) })
        };
        Ok(mean.into_iter().zip(se).map(both).collect())
    };
    let (l1, l2, mse) = (estimates("l1")?, estimates("l2")?, estimates("mse")?);
    let (expected, ks) = (reader.f64("mse_expected")?, reader.f64("ks")?);
    let epsilon = reader.f64("epsilon_attained")?;
    let rows = reader.groups()?.into_iter().enumerate().filter_map(|(i, group)| {
        Some(PartRow {
            group,
            part: part[i]?,
            cells: cells[i]?,
            first: first.get(i)?.to_owned(),
            draws: draws[i]?,
            l1: l1[i]?,
            l2: l2[i]?,
            mse: mse[i]?,
            expected: expected[i],
            ks: ks[i],
            epsilon: epsilon[i],
        })
    });
    Ok(rows.collect())
}
