//! `entries.parquet`: every cell of a table summed up over its draws; and the draws themselves.

use super::RunFolder;
use super::tables::{Frame, Reader, write_columns};
use crate::diagnostics::{BoxPlot, Moments, effective_sample_size, rank_normalised_split_rhat};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::input::InvariantTable;
use crate::runner::{CellOutcome, Draw};
use polars::prelude::{Column, NamedFrom, Series};
use std::path::Path;
use std::sync::Arc;

/// One cell of the table under one cell of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRow {
    /// The cell of the grid; shared by its rows.
    pub group: Arc<super::Group>,
    /// The cell of the table.
    pub name: String,
    /// Its confidential count.
    pub count: i64,
    /// Draws.
    pub draws: u64,
    /// The error in the first of them: one realisation.
    pub first: f64,
    /// Mean error and its standard error.
    pub mean: f64,
    /// See `mean`; `None` for fewer than two draws.
    pub mean_se: Option<f64>,
    /// Standard deviation of the error.
    pub sd: Option<f64>,
    /// Quartiles and whiskers of the error.
    pub plot: BoxPlot,
    /// Mean absolute error.
    pub mae: f64,
    /// R-hat over recorded chains.
    pub rhat: Option<f64>,
    /// Effective sample size of recorded chains, all together.
    pub ess: Option<f64>,
    /// Share of draws with a released count below 0.
    pub negative: f64,
}

struct Summary {
    first: f64,
    moments: Moments,
    mae: f64,
    se: Option<f64>,
    plot: BoxPlot,
    rhat: Option<f64>,
    ess: Option<f64>,
    negative: f64,
}

pub(super) fn write(
    folder: &RunFolder,
    plan: &Plan,
    table: &InvariantTable,
    outcomes: &[CellOutcome],
    hash: &str,
) -> Result<()> {
    let drawn: Vec<(&Cell, &CellOutcome)> =
        plan.cells.iter().zip(outcomes).filter(|(_, outcome)| !outcome.rows.draws.is_empty()).collect();
    let summaries: Vec<Summary> = drawn
        .iter()
        .flat_map(|(cell, outcome)| {
            let recorded = cell.records > 0;
            (0..table.counts.len())
                .map(move |entry| summarise(&outcome.rows.draws, entry, table.counts[entry] as f64, recorded))
        })
        .collect();
    let entries = table.counts.len();
    let mut frame = Frame::new(drawn.iter().map(|(cell, _)| (*cell, entries)).collect());
    let repeated = || drawn.iter().flat_map(|_| 0..entries);
    frame.push("entry", repeated().map(|i| i as u64 + 1).collect::<Vec<_>>());
    frame.push("name", repeated().map(|i| table.names[i].clone()).collect::<Vec<String>>());
    frame.push("count", repeated().map(|i| table.counts[i]).collect::<Vec<_>>());
    let all = || summaries.iter();
    frame.push("draws", all().map(|s| s.moments.count()).collect::<Vec<_>>());
    frame.push("first", all().map(|s| s.first).collect::<Vec<_>>());
    frame.push("mean", all().map(|s| s.moments.mean()).collect::<Vec<_>>());
    frame.push("mean_se", all().map(|s| s.se).collect::<Vec<Option<f64>>>());
    let sd = |s: &Summary| Some(s.moments.deviation()).filter(|x| x.is_finite());
    frame.push("sd", all().map(sd).collect::<Vec<Option<f64>>>());
    frame.push("mae", all().map(|s| s.mae).collect::<Vec<_>>());
    frame.push("whisker_low", all().map(|s| s.plot.whisker_low).collect::<Vec<_>>());
    frame.push("q1", all().map(|s| s.plot.q1).collect::<Vec<_>>());
    frame.push("median", all().map(|s| s.plot.median).collect::<Vec<_>>());
    frame.push("q3", all().map(|s| s.plot.q3).collect::<Vec<_>>());
    frame.push("whisker_high", all().map(|s| s.plot.whisker_high).collect::<Vec<_>>());
    frame.push("rhat", all().map(|s| s.rhat).collect::<Vec<Option<f64>>>());
    frame.push("ess", all().map(|s| s.ess).collect::<Vec<Option<f64>>>());
    frame.push("negative", all().map(|s| s.negative).collect::<Vec<_>>());
    frame.write(folder, "entries.parquet", hash)?;
    if plan.config.keep_draws {
        for (cell, outcome) in drawn {
            let name = format!("cells/{}/draws.parquet", cell.key_text());
            write_columns(folder, &name, hash, draw_columns(cell, table, &outcome.rows.draws))?;
        }
    }
    Ok(())
}

fn summarise(draws: &[Draw], entry: usize, count: f64, recorded: bool) -> Summary {
    let mut values: Vec<f64> = draws.iter().map(|draw| draw.errors[entry]).collect();
    let first = values[0];
    let moments: Moments = values.iter().copied().collect();
    let (mut rhat, mut ess) = (None, None);
    if recorded {
        let chains: Vec<&[f64]> = draws
            .chunk_by(|a, b| a.replicate == b.replicate)
            .scan(0, |start, chain| {
                let from = *start;
                *start += chain.len();
                Some(&values[from..*start])
            })
            .collect();
        rhat = if chains.len() > 1 { rank_normalised_split_rhat(&chains) } else { None };
        ess = chains.iter().map(|chain| effective_sample_size(chain)).sum();
    }
    let size = if recorded { ess } else { Some(values.len() as f64) };
    let se = size.map(|n| moments.deviation() / libm::sqrt(n)).filter(|se| se.is_finite());
    let n = values.len() as f64;
    let negative = values.iter().filter(|&&z| count + z < 0.0).count() as f64 / n;
    let mae = values.iter().map(|z| z.abs()).sum::<f64>() / n;
    Summary { first, moments, mae, se, plot: BoxPlot::of(&mut values), rhat, ess, negative }
}

/// `.chain`, `.iteration`, `.draw` and a column per cell of the table: what R's posterior and Python's ArviZ read.
fn draw_columns(cell: &Cell, table: &InvariantTable, draws: &[Draw]) -> Vec<Column> {
    let column = |name: &str, values: Vec<u64>| -> Column { Series::new(name.into(), values).into() };
    let numbers = || 1..=draws.len() as u64;
    // Independent releases are one long chain.
    let chained = cell.method.is_chain();
    let chain = draws.iter().map(|draw| if chained { draw.replicate + 1 } else { 1 }).collect();
    let iteration =
        draws.iter().zip(numbers()).map(|(draw, n)| if chained { draw.iteration } else { n }).collect();
    let mut columns =
        vec![column(".chain", chain), column(".iteration", iteration), column(".draw", numbers().collect())];
    let integer = cell.method.keeps_integers() && !cell.law.is_continuous();
    for (entry, name) in table.names.iter().enumerate() {
        let values = draws.iter().map(|draw| draw.errors[entry]);
        columns.push(if integer {
            Series::new(name.as_str().into(), values.map(|z| z as i64).collect::<Vec<_>>()).into()
        } else {
            Series::new(name.as_str().into(), values.collect::<Vec<_>>()).into()
        });
    }
    columns
}

/// Reads `entries.parquet` of a run folder; empty if the run has none.
pub fn read_entries(folder: &Path) -> Result<Vec<EntryRow>> {
    let Some(reader) = Reader::open_if_there(folder, "entries.parquet")? else { return Ok(Vec::new()) };
    let (name, draws) = (reader.text("name")?, reader.u64("draws")?);
    let count: Vec<Option<i64>> = reader.typed("count", |c| Ok(c.i64()?.iter().collect()))?;
    let first = reader.f64("first")?;
    let (mean, mean_se, sd, mae) =
        (reader.f64("mean")?, reader.f64("mean_se")?, reader.f64("sd")?, reader.f64("mae")?);
    let (low, q1, median) = (reader.f64("whisker_low")?, reader.f64("q1")?, reader.f64("median")?);
    let (q3, high) = (reader.f64("q3")?, reader.f64("whisker_high")?);
    let (rhat, ess, negative) = (reader.f64("rhat")?, reader.f64("ess")?, reader.f64("negative")?);
    let rows = reader.groups()?.into_iter().enumerate().filter_map(|(i, group)| {
        Some(EntryRow {
            group,
            name: name.get(i)?.to_owned(),
            count: count[i]?,
            draws: draws[i]?,
            first: first[i]?,
            mean: mean[i]?,
            mean_se: mean_se[i],
            sd: sd[i],
            plot: BoxPlot {
                whisker_low: low[i]?,
                q1: q1[i]?,
                median: median[i]?,
                q3: q3[i]?,
                whisker_high: high[i]?,
            },
            mae: mae[i]?,
            rhat: rhat[i],
            ess: ess[i],
            negative: negative[i]?,
        })
    });
    Ok(rows.collect())
}
