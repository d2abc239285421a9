//! `meetings.parquet` and `marginals.parquet`: coupled pairs, and the distance of chains to the exact law.

use super::RunFolder;
use super::tables::{Frame, Reader};
use crate::coupling::Meeting;
use crate::failure::Result;
use crate::grid::Plan;
use crate::runner::{CellOutcome, MarginalRow};
use std::path::Path;
use std::sync::Arc;

/// A row of `meetings.parquet`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The cell of the grid; shared by its rows.
    pub group: Arc<super::Group>,
    /// `(1 + gamma) epsilon` of a release by the law itself; `None` if nothing bounds gamma.
    pub epsilon: Option<f64>,
    /// Where it would have been cut short.
    pub max_steps: u64,
    /// What happened; `None` on a row that holds an error.
    pub meeting: Option<Meeting>,
    /// Why the cell failed.
    pub error: Option<String>,
}

/// A row of `marginals.parquet`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadMarginal {
    /// The cell of the grid; shared by its rows.
    pub group: Arc<super::Group>,
    /// Its lag (the marginals do not depend on it).
    pub lag: u64,
    /// The figures.
    pub row: MarginalRow,
}

/// A row per coupled pair; a failed cell ends with one row that holds its error.
pub(super) fn write(folder: &RunFolder, plan: &Plan, outcomes: &[CellOutcome], hash: &str) -> Result<()> {
    let rows = |outcome: &CellOutcome| outcome.rows.meetings.len() + usize::from(outcome.error.is_some());
    let mut frame =
        Frame::new(plan.cells.iter().zip(outcomes).map(|(cell, outcome)| (cell, rows(outcome))).collect());
    frame.cell("lag", |cell| cell.lag);
    frame.cell("scale", |cell| cell.calibration.scales[0]);
    frame.cell("max_steps", |cell| cell.max_steps);
    /// One column: a value for each pair, null on a row that only holds an error.
    macro_rules! column {
        ($name:literal, $row:ident => $value:expr) => {{
            let mut values = Vec::new();
            for outcome in outcomes {
                values.extend(outcome.rows.meetings.iter().map(|$row| $value));
                values.extend(outcome.error.iter().map(|_| None));
            }
            frame.push($name, values);
        }};
    }
    column!("replicate", row => Some(row.replicate));
    column!("tau", row => row.meeting.tau);
    column!("censored", row => Some(row.meeting.tau.is_none()));
    column!("steps", row => Some(row.meeting.steps));
    column!("moves", row => Some(row.meeting.moves));
    frame.cell("epsilon_total", |cell| cell.calibration.epsilon);
    frame.cell("delta_total", |cell| cell.calibration.delta);
    let (mut gamma, mut how) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        gamma.resize(gamma.len() + rows(outcome), outcome.gamma.value());
        how.resize(how.len() + rows(outcome), outcome.gamma.how().to_owned());
    }
    frame.push("gamma", gamma);
    frame.push("gamma_known", how);
    let mut errors: Vec<Option<String>> = Vec::new();
    for outcome in outcomes {
        errors.resize(errors.len() + outcome.rows.meetings.len(), None);
        errors.extend(outcome.error.iter().map(|e| Some(e.clone())));
    }
    frame.push("error", errors);
    frame.write(folder, "meetings.parquet", hash)?;

    let with_rows: Vec<_> =
        plan.cells.iter().zip(outcomes).filter(|(_, outcome)| !outcome.marginals.is_empty()).collect();
    if with_rows.is_empty() {
        return Ok(());
    }
    let mut frame =
        Frame::new(with_rows.iter().map(|(cell, outcome)| (*cell, outcome.marginals.len())).collect());
    frame.cell("lag", |cell| cell.lag);
    let all = || with_rows.iter().flat_map(|(_, outcome)| &outcome.marginals);
    frame.push("t", all().map(|row| row.t).collect::<Vec<_>>());
    frame.push("chains", all().map(|row| row.chains).collect::<Vec<_>>());
    frame.push("tv", all().map(|row| row.tv).collect::<Vec<_>>());
    frame.push("floor", all().map(|row| row.floor).collect::<Vec<_>>());
    frame.push("floor_sd", all().map(|row| row.floor_sd).collect::<Vec<_>>());
    frame.write(folder, "marginals.parquet", hash)
}

/// Reads `meetings.parquet` of a run folder; empty if the run has none.
pub fn read_meetings(folder: &Path) -> Result<Vec<Pair>> {
    let Some(reader) = Reader::open_if_there(folder, "meetings.parquet")? else { return Ok(Vec::new()) };
    let (lag, tau) = (reader.u64("lag")?, reader.u64("tau")?);
    let (gamma, epsilon) = (reader.f64("gamma")?, reader.f64("epsilon_total")?);
    let most = reader.u64("max_steps")?;
    let (steps, moves, error) = (reader.u64("steps")?, reader.u64("moves")?, reader.text("error")?);
    let rows = reader.groups()?.into_iter().enumerate().map(|(i, group)| {
        let meeting = || Some(Meeting { tau: tau[i], lag: lag[i]?, steps: steps[i]?, moves: moves[i]? });
        let epsilon = gamma[i].zip(epsilon[i]).map(|(gamma, epsilon)| (1.0 + gamma) * epsilon);
        Pair {
            group,
            epsilon,
            max_steps: most[i].unwrap_or(0),
            meeting: meeting(),
            error: error.get(i).map(str::to_owned),
        }
    });
    Ok(rows.collect())
}

/// Reads `marginals.parquet` of a run folder; empty if the run has none.
pub fn read_marginals(folder: &Path) -> Result<Vec<ReadMarginal>> {
    let Some(reader) = Reader::open_if_there(folder, "marginals.parquet")? else { return Ok(Vec::new()) };
    let (lag, t, chains) = (reader.u64("lag")?, reader.u64("t")?, reader.u64("chains")?);
    let (tv, floor, floor_sd) = (reader.f64("tv")?, reader.f64("floor")?, reader.f64("floor_sd")?);
    let rows = reader.groups()?.into_iter().enumerate().filter_map(|(i, group)| {
        let row = MarginalRow {
            t: t[i]?,
            chains: chains[i]?,
            tv: tv[i]?,
            floor: floor[i]?,
            floor_sd: floor_sd[i]?,
        };
        Some(ReadMarginal { group, lag: lag[i]?, row })
    });
    Ok(rows.collect())
}
