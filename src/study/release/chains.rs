//! Chains: every one, and how well they mix by cell and level.

use super::super::records::Named;
use crate::diagnostics::{Moments, effective_sample_size, rank_normalised_split_rhat};
use crate::failure::Result;
use crate::page::{Format, finite, heading, table as table_page};
use crate::rng::TaskKey;
use crate::table;
use crate::table::Key;

table! {
    /// Diagnostics of one chain on one level's L1 error.
    #[derive(Copy, serde::Deserialize)]
    pub struct ChainRow in "chains.parquet", "Study `release`: one row per cell with chains, replicate and level. A chain's diagnostics are taken on the trace of each level's L1 error, recorded up to 512 times over the second half of the chain; the release is its last state." {
        cell: Key, "", "the cell, in `cells.parquet`";
        level: u32, "", "whose L1 error was traced; 1 = root";
        replicate: u64, "", "the chain";
        steps: u64, "kernel steps", "one proposal (`hierarchical-mh`, `lattice-metropolis`: of every component of the invariant, where the law factorises), one line (`line-gibbs`; a sweep is one per leaf or entry), one proposal in one component of the table (`mis`), proposals of all components together (`rejection`)";
        moves: u64, "kernel steps", "that changed the state (`rejection`: components of the table)";
        acceptance: f64, "", "`moves / steps`";
        records: u64, "", "length of the trace";
        ess: Option<f64>, "records", "effective sample size of the trace (Geyer's initial monotone sequence); null if it does not vary";
    }
}

table! {
    /// How well the chains of a cell mix on one level.
    pub struct MixingRow in "mixing.parquet", "Study `release`: one row per cell with chains and level, over its chains." {
        cell: Key, "", "the cell, in `cells.parquet`";
        level: u32, "", "1 = root";
        chains: u64, "", "how many";
        steps: u64, "kernel steps", "of each";
        acceptance: f64, "", "mean share of the steps that changed the state";
        acceptance_se: Option<f64>, "", "its standard error";
        ess: Option<f64>, "records", "mean effective sample size of the traces that vary";
        rhat: Option<f64>, "", "rank-normalised split R-hat over the first 8 chains; null for fewer than 2";
    }
}

impl ChainRow {
    /// Of a chain's steps and the trace of one level, from 1.
    pub(super) fn of(key: TaskKey, level: u32, (steps, moves): (u64, u64), trace: &[f64]) -> Self {
        let (acceptance, records) = (moves as f64 / steps as f64, trace.len() as u64);
        let ess = effective_sample_size(trace);
        let TaskKey { cell, replicate, .. } = key;
        Self { cell: Key(cell), level, replicate, steps, moves, acceptance, records, ess }
    }
}

/// The chains of a cell as they come.
#[derive(Debug, Default)]
pub(super) struct Mixing {
    levels: Vec<Level>,
    traces: Vec<Vec<Vec<f64>>>,
}

#[derive(Debug, Default, Clone)]
struct Level {
    steps: u64,
    acceptance: Moments,
    ess: Moments,
}

impl Mixing {
    /// Adds a chain on one level.
    pub(super) fn push(&mut self, row: &ChainRow) {
        let place = row.level as usize - 1;
        if self.levels.len() <= place {
            self.levels.resize(place + 1, Level::default());
        }
        let level = &mut self.levels[place];
        if level.acceptance.count() == 0 {
            level.steps = row.steps;
        }
        level.acceptance.push(row.acceptance);
        if let Some(ess) = row.ess {
            level.ess.push(ess);
        }
    }

    /// Adds the traces of chains: by chain and level.
    pub(super) fn trace(&mut self, mut traces: Vec<Vec<Vec<f64>>>) {
        self.traces.append(&mut traces);
    }

    /// The rows.
    pub(super) fn rows(&self, cell: Key) -> Vec<MixingRow> {
        let rhat = rhat(&self.traces);
        let row = |(i, level): (usize, &Level)| MixingRow {
            cell,
            level: i as u32 + 1,
            chains: level.acceptance.count(),
            steps: level.steps,
            acceptance: level.acceptance.mean(),
            acceptance_se: finite(level.acceptance.estimate().standard_error),
            ess: finite(level.ess.mean()),
            rhat: rhat.get(i).copied().flatten(),
        };
        self.levels.iter().enumerate().map(row).collect()
    }
}

/// R-hat per level over the traced chains.
fn rhat(traces: &[Vec<Vec<f64>>]) -> Vec<Option<f64>> {
    let Some(first) = traces.first().filter(|_| traces.len() >= 2) else { return Vec::new() };
    (0..first.len())
        .map(|l| {
            // A journal may hold anything: chains of different lengths have no R-hat.
            let level = traces.iter().map(|chain| chain.get(l).map_or(&[][..], |trace| trace));
            rank_normalised_split_rhat(&level.collect::<Vec<_>>())
        })
        .collect()
}

/// One line for each cell with chains.
pub(super) fn pages(runs: &[Named], format: Format) -> Result<String> {
    let header = ["run", "law", "epsilon", "method", "options", "chains", "moves / step", "ess", "max R-hat"];
    let mut rows = Vec::new();
    for run in runs {
        for (cell, levels) in run.by_cell(|row: &MixingRow| row.cell)? {
            let least = levels.iter().filter_map(|level| level.ess).fold(f64::NAN, f64::min);
            let most = levels.iter().filter_map(|level| level.rhat).fold(f64::NAN, f64::max);
            let or_dash = |x: f64, text: String| if x.is_nan() { "-".to_owned() } else { text };
            rows.push(vec![
                run.name.clone(),
                cell.law.name().to_owned(),
                cell.epsilon.to_string(),
                cell.method_name(),
                cell.options_words(),
                levels[0].chains.to_string(),
                format!("{:.4}", levels[0].acceptance),
                or_dash(least, format!("{least:.1}")),
                or_dash(most, format!("{most:.3}")),
            ]);
        }
    }
    if rows.is_empty() {
        return Ok(String::new());
    }
    let title = "Chains: effective sample size of the recorded second half (mean of the level where it is smallest), and the \
                 largest rank-normalised split R-hat over the levels' L1 errors";
    Ok(heading(title, format) + &table_page(header.map(str::to_owned).to_vec(), rows, format))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chains of different shapes have no R-hat.
    #[test]
    fn uneven_traces_are_no_panic() {
        let trace = || (0..8).map(f64::from).collect::<Vec<_>>();
        assert!(rhat(&[vec![trace()], vec![trace()]])[0].is_some());
        assert_eq!(rhat(&[vec![trace(), trace()], vec![]]), [None, None]);
        assert_eq!(rhat(&[vec![trace()], vec![vec![1.0]]]), [None]);
    }
}
