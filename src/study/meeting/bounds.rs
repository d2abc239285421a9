//! Meeting times as bounds on the total variation distance.

use super::super::cells::CellRow;
use super::super::records::Named;
use super::{MarginalRow, half_decades, kernels};
use crate::coupling::MeetingTimes;
use crate::diagnostics::{Estimate, Moments};
use crate::failure::Result;
use crate::page::{Format, finite, heading, table as table_page, with_error};
use crate::privacy::sampling_delta;
use crate::table;
use crate::table::Key;
use std::collections::HashMap;

/// Levels of the bound whose first t is printed.
const LEVELS: [f64; 3] = [0.25, 0.05, 0.01];

table! {
    /// Meeting times of a cell, summed up.
    pub struct TimesRow in "meeting_times.parquet", "Study `meeting`: one row per cell, over its pairs. Pairs that were cut short count as the slowest." {
        cell: Key, "", "the cell, in `cells.parquet`";
        lag: u64, "kernel steps", "L";
        pairs: u64, "", "coupled pairs";
        censored: u64, "", "of them, those that were cut short before they met; then there is no bound";
        median: Option<u64>, "kernel steps", "of tau - L; null if that pair was cut short";
        longest: Option<u64>, "kernel steps", "the largest tau - L of a pair that met";
        moves: f64, "", "mean share of the steps that changed a state";
        moves_se: Option<f64>, "", "its standard error";
        below_25: Option<u64>, "kernel steps", "the first t at which the bound on the total variation distance is at most 0.25; null without a bound";
        below_5: Option<u64>, "kernel steps", "the same for 0.05";
        below_1: Option<u64>, "kernel steps", "the same for 0.01";
    }
}

table! {
    /// The bound of a cell after some steps.
    pub struct BoundRow in "tv_bounds.parquet", "Study `meeting`: rows per cell and number of steps t: 1, 10^0.5, 10, … to four times the largest tau - L, beyond which the bound is 0." {
        cell: Key, "", "the cell, in `cells.parquet`";
        lag: u64, "kernel steps", "L";
        pairs: u64, "", "coupled pairs";
        censored: u64, "", "of them, those that were cut short";
        t: u64, "kernel steps", "of one chain";
        bound: Option<f64>, "probability", "mean over the pairs of `max(0, ceil((tau - L - t) / L))`, a bound on the total variation distance after t steps (Biswas, Jacob, Vanetti 2019); above 1 it says nothing; null if a pair was cut short";
        bound_se: Option<f64>, "probability", "its standard error";
        delta_sampling: Option<f64>, "", "`(1 + e^((1 + gamma) epsilon_total)) bound`, at most 1: what a release after t steps adds to delta";
        delta_sampling_se: Option<f64>, "", "its standard error; null where it is 1";
        distance: Option<f64>, "probability", "`tv` of `marginals.parquet`";
        floor: Option<f64>, "probability", "as there";
        floor_sd: Option<f64>, "probability", "as there";
    }
}

impl TimesRow {
    pub(super) fn new(cell: Key, lag: u64, times: &MeetingTimes, moved: &Moments) -> Self {
        let pairs = times.met() + times.censored();
        let moves = moved.estimate();
        let [below_25, below_5, below_1] =
            LEVELS.map(|level| times.is_bounded().then(|| times.first_below(level)));
        Self {
            cell,
            lag,
            pairs,
            censored: times.censored(),
            median: times.sorted(pairs / 2),
            longest: times.longest(),
            moves: moves.mean,
            moves_se: finite(moves.standard_error),
            below_25,
            below_5,
            below_1,
        }
    }

    fn is_bounded(&self) -> bool {
        self.below_1.is_some()
    }
}

/// The bounds of a cell; `epsilon`: what its release by the law itself pays, if that is known.
pub(super) fn rows(
    cell: Key,
    lag: u64,
    times: &MeetingTimes,
    marginals: &[MarginalRow],
    epsilon: Option<f64>,
) -> Vec<BoundRow> {
    let mut at = half_decades(times.longest().unwrap_or(1).saturating_mul(4));
    at.extend(marginals.iter().map(|row| row.t));
    at.sort_unstable();
    at.dedup();
    let row = |t: u64| {
        let bound = times.is_bounded().then(|| times.bound(t));
        let delta = bound.and_then(|b| epsilon.map(|epsilon| sampling_delta(epsilon, b.mean)));
        // A delta of 1 is no estimate: it says nothing, whatever the bound's error.
        let factor = epsilon.filter(|_| delta.is_some_and(|delta| delta < 1.0)).map(|e| 1.0 + libm::exp(e));
        let bound_se = bound.and_then(|b| finite(b.standard_error));
        let distance = marginals.iter().find(|row| row.t == t);
        BoundRow {
            cell,
            lag,
            pairs: times.met() + times.censored(),
            censored: times.censored(),
            t,
            bound: bound.map(|b| b.mean),
            bound_se,
            delta_sampling: delta,
            delta_sampling_se: bound_se.zip(factor).map(|(error, factor)| error * factor),
            distance: distance.map(|row| row.tv),
            floor: distance.map(|row| row.floor),
            floor_sd: distance.map(|row| row.floor_sd),
        }
    };
    at.into_iter().map(row).collect()
}

/// A cell with its times and bounds.
struct Line<'a> {
    cell: &'a CellRow,
    times: TimesRow,
    bounds: HashMap<u64, Estimate>,
}

impl Line<'_> {
    /// The bound after `t` steps, of a cell that has one; beyond those that are kept it is 0.
    fn bound(&self, t: u64) -> Estimate {
        self.bounds.get(&t).copied().unwrap_or(Estimate { mean: 0.0, standard_error: 0.0 })
    }

    /// The bound with its standard error; where every pair had met, the 95 % limit of the share that had not.
    fn words(&self, t: u64) -> String {
        let bound = self.bound(t);
        if bound.mean > 0.0 {
            with_error(bound)
        } else {
            format!("0 (< {:.3})", 3.0 / self.times.pairs as f64)
        }
    }
}

/// Pages for each law and budget.
pub(super) fn pages(run: &Named, format: Format) -> Result<String> {
    let times = run.by_cell(|row: &TimesRow| row.cell)?;
    let kernels = kernels(&times);
    let mut bounds: HashMap<Key, HashMap<u64, Estimate>> = HashMap::new();
    run.run.each(|row: BoundRow| {
        let error = row.bound_se.unwrap_or(f64::NAN);
        if let Some(mean) = row.bound {
            bounds.entry(row.cell).or_default().insert(row.t, Estimate { mean, standard_error: error });
        }
        Ok(())
    })?;
    let mut marginals: HashMap<Key, Vec<MarginalRow>> = HashMap::new();
    run.run.each(|row: MarginalRow| {
        marginals.entry(row.cell).or_default().push(row);
        Ok(())
    })?;
    let mut groups: Vec<Vec<Line>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (cell, mut rows) in times {
        let CellRow { law, epsilon, delta, sensitivity, .. } = &cell;
        let place =
            *places.entry(format!("{law:?} {epsilon:?} {delta:?} {sensitivity:?}")).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
        let bounds = bounds.remove(&cell.cell).unwrap_or_default();
        groups[place].push(Line { cell, times: rows.remove(0), bounds });
    }
    let mut out = String::new();
    for lines in groups {
        out += &summary(&run.name, &lines, format);
        out += &bound_table(&lines, format);
        for (method, options) in &kernels {
            let same: Vec<&Line> = lines
                .iter()
                .filter(|line| line.cell.method == *method && line.cell.options == *options)
                .collect();
            if let Some((line, rows)) =
                same.iter().find_map(|line| Some((*line, marginals.get(&line.cell.cell)?)))
            {
                out += &marginal_table(line, rows, &same, format);
            }
        }
    }
    Ok(out)
}

fn summary(run: &str, lines: &[Line], format: Format) -> String {
    let mut header: Vec<String> =
        ["method", "lag", "pairs", "censored", "median τ-L", "max τ-L", "moves / step"]
            .map(str::to_owned)
            .into();
    header.extend(LEVELS.map(|level| format!("first t <= {level}")));
    let mut notes = String::new();
    let rows = lines
        .iter()
        .map(|Line { cell, times, .. }| {
            // Pairs that were cut short count as the slowest.
            let longest = times.longest.unwrap_or(0);
            let or_more = |time: Option<u64>| time.map_or(format!("> {longest}"), |time| time.to_string());
            let moves =
                Estimate { mean: times.moves, standard_error: times.moves_se.unwrap_or(f64::NAN) };
            let mut row = vec![
                cell.method_words(),
                times.lag.to_string(),
                times.pairs.to_string(),
                times.censored.to_string(),
                or_more(times.median),
                or_more(times.longest.filter(|_| times.censored == 0)),
                with_error(moves),
            ];
            let below = [times.below_25, times.below_5, times.below_1];
            row.extend(below.map(|t| t.map_or("-".to_owned(), |t| t.to_string())));
            if !times.is_bounded() {
                notes += &format!(
                    "- {}, lag {}: {} pairs were cut short before they met, so there is no bound (raise max-steps)\n",
                    cell.method_words(),
                    times.lag,
                    times.censored
                );
            }
            row
        })
        .collect();
    let title = format!("Meeting times of {run}, {} (t in kernel steps)", lines[0].cell.noise_words());
    let mut out = heading(&title, format) + &table_page(header, rows, format);
    if !notes.is_empty() {
        out += &notes;
        out.push('\n');
    }
    out
}

fn bound_table(lines: &[Line], format: Format) -> String {
    let bounded: Vec<&Line> = lines.iter().filter(|line| line.times.is_bounded()).collect();
    let Some(last) = bounded.iter().filter_map(|line| line.times.below_1).max() else {
        return String::new();
    };
    let mut header = vec!["t".to_owned()];
    header.extend(bounded.iter().map(|line| format!("{} lag={}", line.cell.method_words(), line.times.lag)));
    let rows = half_decades(last.saturating_mul(4))
        .into_iter()
        .map(|t| {
            let mut row = vec![t.to_string()];
            row.extend(bounded.iter().map(|line| line.words(t)));
            row
        })
        .collect();
    let title = format!(
        "Bound on the total variation distance after t steps, {}: mean ± standard error over pairs (above 1 it says nothing; in brackets, where all had met, the 95 % limit of the share of pairs that have not)",
        lines[0].cell.noise_words()
    );
    let note = bounded[0].cell.epsilon_paid().map_or(String::new(), |epsilon| {
        format!(
            "A release after t steps is (epsilon, delta + delta')-private with delta' = (1 + e^epsilon) times the bound, \
             {:.3} times it here, and at most 1; both are in the CSV.\n\n",
            1.0 + libm::exp(epsilon)
        )
    });
    heading(&title, format) + &table_page(header, rows, format) + &note
}

/// The chains' own distance to the exact law, entry by entry, under the smallest bound of their lags.
fn marginal_table(line: &Line, rows: &[MarginalRow], same: &[&Line], format: Format) -> String {
    let mut below = Vec::new();
    let body = rows
        .iter()
        .map(|row| {
            let smallest = same.iter().filter(|line| line.times.is_bounded()).min_by(|a, b| {
                let [a, b] = [a, b].map(|line| line.bound(row.t));
                a.mean.total_cmp(&b.mean).then(a.standard_error.total_cmp(&b.standard_error))
            });
            // What the floor explains, three standard errors of either side, and pairs so slow that none was
            // seen, are no contradiction.
            let excess = row.tv - row.floor - 3.0 * row.floor_sd;
            let unseen = 3.0 / (line.times.pairs - line.times.censored) as f64;
            let bound = smallest.map(|line| line.bound(row.t));
            if bound.is_some_and(|b| b.mean + 3.0 * b.standard_error.max(0.0) + unseen < excess) {
                below.push(row.t);
            }
            vec![
                row.t.to_string(),
                smallest.map_or("-".into(), |line| line.words(row.t)),
                format!("{:.4}", row.tv),
                format!("{:.4} ± {:.4}", row.floor, row.floor_sd),
            ]
        })
        .collect();
    let header = ["t", "smallest bound", "distance of the marginals", "noise floor (sd)"];
    let title = format!(
        "Distance to the exact law of {}, {}: largest total variation distance of an entry's marginal over {} chains",
        line.cell.method_words(),
        line.cell.noise_words(),
        rows[0].chains
    );
    let verdict = if below.is_empty() {
        "The bound lies above the distance at every t (within the noise of both).\n\n".to_owned()
    } else {
        format!("The bound lies BELOW the distance at t = {below:?}, by more than three standard errors.\n\n")
    };
    heading(&title, format) + &table_page(header.map(str::to_owned).into(), body, format) + &verdict
}
