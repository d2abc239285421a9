//! Bounds on f-divergences without a lag, from groups of chains that share weights.

use super::Groups as Asked;
use super::times::half_decades;
use crate::coupling::{Divergence, Group, Harmonized};
use crate::diagnostics::Estimate;
use crate::engine;
use crate::grid::Cell;
use crate::page::{Page, Table, finite, with_error};
use crate::rng::{TaskKey, stream};
use crate::study::cells::CellRow;
use crate::study::grid::COUPLED_STEPS;
use crate::study::tell::records::Named;
use crate::table;
use crate::table::Key;
use rayon::prelude::*;

/// Levels of the bound whose first t is printed.
const LEVELS: [f64; 2] = [0.1, 0.01];
/// Equal weights that must be worth as much as the chains at the start for the mean of the weights to be known.
const LEAST_EFFECTIVE: f64 = 100.0;

table! {
    /// Study `meeting` with `harmonized-groups`: one row per chain, number of steps and divergence. Errors and
    /// intervals by the bootstrap over groups (1,000 resamples).
    pub struct DivergenceRow in "divergences.parquet" {
        /// the first cell with this law and chain, in `cells.parquet`
        cell: Key;
        /// 0, 1, 10^0.5, 10, … to four times the last meeting, or to `harmonized-steps`
        t: u64, "kernel steps";
        /// of the target from the chain's law: `tv` (total variation), `chi-squared`, `kl` (in nats),
        /// `hellinger-squared` (1 less the sum of the roots of the products)
        divergence: String;
        /// independent groups
        groups: u64;
        /// of each group
        chains: u64;
        /// chains of all groups, those that have met counted once; `groups` where nothing is left to meet
        apart: u64;
        /// `(Σ w)²/Σ w²` over all chains: as many equal weights say as much. Where it is small at t = 0, few chains
        /// carry all the weight and every bound is too low
        effective: f64;
        /// mean of f(w/c) over all chains, c the mean of the weights (Corenflos, Dau 2025): consistent in the number of
        /// chains
        bound: Estimate, error bound_se;
        /// its interval at 95 %
        bound_low: Option<f64>;
        /// its interval
        bound_high: Option<f64>;
    }
}

table! {
    /// Study `meeting` with `harmonized-groups`: one row per chain and divergence.
    pub struct DivergenceTimesRow in "divergence_times.parquet" {
        /// as in `divergences.parquet`
        cell: Key;
        /// as there
        divergence: String;
        /// independent groups
        groups: u64;
        /// of each group
        chains: u64;
        /// groups in which all chains have met
        met: u64;
        /// the last meeting
        last: u64, "kernel steps";
        /// of all groups together; chains that have met are counted once
        steps: u64, "kernel steps";
        /// the first t at which the bound is at most 0.1; null if it is above as far as it is known
        below_10: Option<u64>, "kernel steps";
        /// the same for 0.01
        below_1: Option<u64>, "kernel steps";
        /// the bound after the last meeting: the spread of the groups' mean weights, which larger groups bring down
        rests: f64;
    }
}

/// The parts of groups: how many, and the rough cost of one in random words.
pub(in crate::study) fn parts(asked: Asked, cell: &Cell) -> (u64, u64) {
    let work = asked.groups.saturating_mul(asked.chains).saturating_mul(asked.steps.min(COUPLED_STEPS));
    engine::parts(work.saturating_mul(10 * cell.at.method.kind().facts().words), asked.groups)
}

/// The rows of groups of which all are there. `key`: of their streams, of which that of the last number there is serves the bootstrap.
pub(in crate::study) fn rows(
    asked: Asked,
    cell: Key,
    all: Vec<Group>,
    key: TaskKey,
) -> (Vec<DivergenceRow>, Vec<DivergenceTimesRow>) {
    let Asked { groups, chains, .. } = asked;
    let all = Harmonized::new(all);
    let resamples = all.resamples(&mut stream(TaskKey { replicate: u64::MAX, ..key }));
    let mut times = vec![0];
    times.extend(half_decades(all.last().saturating_mul(4).min(all.until())));
    let at_each = |(t, divergence): (u64, Divergence)| {
        let weights = all.at(t);
        let bound = weights.bootstrap(divergence, &resamples);
        DivergenceRow {
            cell,
            t,
            divergence: divergence.name().to_owned(),
            groups,
            chains,
            apart: weights.apart(),
            effective: weights.effective(),
            bound: bound.estimate,
            bound_low: finite(bound.interval.0),
            bound_high: finite(bound.interval.1),
        }
    };
    let rows: Vec<(u64, Divergence)> =
        times.iter().flat_map(|&t| Divergence::ALL.map(|divergence| (t, divergence))).collect();
    let rests = all.at(all.last());
    let summary = |divergence: Divergence| {
        let [below_10, below_1] = LEVELS.map(|level| all.first_below(divergence, level));
        DivergenceTimesRow {
            cell,
            divergence: divergence.name().to_owned(),
            groups,
            chains,
            met: all.met(),
            last: all.last(),
            steps: all.steps(),
            below_10,
            below_1,
            rests: rests.bound(divergence),
        }
    };
    (rows.into_par_iter().map(at_each).collect(), Divergence::ALL.map(summary).into())
}

/// A page for each chain with groups.
pub(in crate::study) fn pages(run: &Named) -> crate::failure::Result<Page> {
    let bounds = run.by_cell(|row: &DivergenceRow| row.cell)?;
    let times = run.by_cell(|row: &DivergenceTimesRow| row.cell)?;
    let both = bounds.iter().zip(&times);
    Ok(run.with_failed(both.map(|((cell, bounds), (_, times))| page(cell, bounds, times)).collect()))
}

fn page(cell: &CellRow, bounds: &[DivergenceRow], times: &[DivergenceTimesRow]) -> Page {
    let header = ["t", "TV", "χ²", "KL", "Hellinger²"];
    let words = |row: &DivergenceRow| with_error(row.bound);
    let line = |rows: &[DivergenceRow]| -> Vec<String> {
        let t = rows.iter().take(1).map(|row| row.t.to_string());
        t.chain(rows.iter().map(words)).collect()
    };
    let mut body: Vec<Vec<String>> = bounds.chunk_by(|a, b| a.t == b.t).map(line).collect();
    for (level, first) in
        LEVELS.iter().zip([|row: &DivergenceTimesRow| row.below_10, |row: &DivergenceTimesRow| row.below_1])
    {
        let mut line = vec![format!("first t <= {level}")];
        line.extend(times.iter().map(|row| first(row).map_or("-".to_owned(), |t| t.to_string())));
        body.push(line);
    }
    let (Some(start), Some(sum)) = (bounds.first(), times.first()) else { return Page::default() };
    let title = format!(
        "Bounds on divergences from the target after t steps of {}, {}: {} groups of {} chains",
        cell.method_words(),
        cell.noise_words(),
        sum.groups,
        sum.chains
    );
    let mut notes = Vec::new();
    if sum.met < sum.groups {
        notes.push(format!(
            "In {} of {} groups chains were left apart: the bounds are known as far as they ran (raise harmonized-steps)",
            sum.groups - sum.met,
            sum.groups
        ));
    } else {
        notes.push(format!(
            "All chains of every group have met after {} steps: there the bounds rest, and only larger groups bring them down",
            sum.last
        ));
    }
    if start.effective < LEAST_EFFECTIVE {
        notes.push(format!(
            "The starts are worth {:.1} equal weights: few chains carry all the weight, and the bounds are too low to be relied on",
            start.effective
        ));
    }
    Page::headed(title)
        .text("The chains of a group share weights; mean ± standard error.")
        .table(Table::new(1, header, body))
        .list(notes)
}
