//! Meeting times as bounds on the total variation distance.

use super::collect::{Label, MeetingLine, Report};
use super::render::{Format, finite, heading, table, with_error};
use crate::coupling::{first_below, tv_bound};
use crate::privacy::sampling_delta;
use crate::runner::half_decades;
use serde::Serialize;

/// Levels of the bound whose first t is printed.
const LEVELS: [f64; 3] = [0.25, 0.05, 0.01];

impl MeetingLine {
    fn distance(&self) -> Vec<u64> {
        let mut beyond: Vec<u64> = self.taus.iter().map(|tau| tau - self.lag).collect();
        beyond.sort_unstable();
        beyond
    }

    /// A bound exists where every pair met.
    fn is_bounded(&self) -> bool {
        self.censored == 0 && !self.taus.is_empty()
    }
}

/// The bound with its standard error; where every pair had met, the 95 % limit of the share that had not.
fn bound_words(line: &MeetingLine, t: u64) -> String {
    let bound = tv_bound(&line.taus, line.lag, t);
    if bound.mean > 0.0 { with_error(bound) } else { format!("0 (< {:.3})", 3.0 / line.taus.len() as f64) }
}

/// One table for each law and budget.
pub(super) fn pages(report: &Report, format: Format) -> String {
    let mut out = String::new();
    let mut seen: Vec<&Label> = Vec::new();
    let same = |a: &Label, b: &Label| {
        (&a.run, &a.law, a.epsilon, a.delta, a.sensitivity)
            == (&b.run, &b.law, b.epsilon, b.delta, b.sensitivity)
    };
    for line in &report.meetings {
        if seen.iter().any(|label| same(label, &line.label)) {
            continue;
        }
        seen.push(&line.label);
        let lines: Vec<&MeetingLine> =
            report.meetings.iter().filter(|other| same(&other.label, &line.label)).collect();
        out += &summary(&line.label, &lines, format);
        out += &bounds(&line.label, &lines, format);
        out += &marginals(&line.label, &lines, format);
    }
    out
}

fn summary(label: &Label, lines: &[&MeetingLine], format: Format) -> String {
    let mut header: Vec<String> =
        ["method", "lag", "pairs", "censored", "median τ-L", "max τ-L", "moves / step"]
            .map(str::to_owned)
            .into();
    header.extend(LEVELS.map(|level| format!("first t <= {level}")));
    let mut notes = String::new();
    let rows = lines
        .iter()
        .map(|line| {
            let beyond = line.distance();
            let pairs = beyond.len() + line.censored as usize;
            // Pairs that were cut short count as the slowest.
            let at = |i: usize| match beyond.get(i) {
                Some(beyond) => beyond.to_string(),
                None => format!("> {}", beyond.last().copied().unwrap_or(0)),
            };
            let mut row = vec![
                line.label.method_words(),
                line.lag.to_string(),
                (line.taus.len() as u64 + line.censored).to_string(),
                line.censored.to_string(),
                at(pairs / 2),
                at(pairs - 1),
                with_error(line.moves.estimate()),
            ];
            if line.is_bounded() {
                row.extend(LEVELS.map(|level| first_below(&line.taus, line.lag, level).to_string()));
            } else {
                row.extend(LEVELS.map(|_| "-".to_owned()));
                notes += &format!(
                    "- {}, lag {}: {} pairs were cut short before they met, so there is no bound (raise max-steps)\n",
                    line.label.method_words(),
                    line.lag,
                    line.censored
                );
            }
            row
        })
        .collect();
    let title = format!("Meeting times of {}, {} (t in kernel steps)", label.run, label.noise_words());
    let mut out = heading(&title, format) + &table(header, rows, format);
    if !notes.is_empty() {
        out += &notes;
        out.push('\n');
    }
    out
}

fn bounds(label: &Label, lines: &[&MeetingLine], format: Format) -> String {
    let bounded: Vec<&&MeetingLine> = lines.iter().filter(|line| line.is_bounded()).collect();
    let Some(last) = bounded.iter().map(|line| first_below(&line.taus, line.lag, 0.01)).max() else {
        return String::new();
    };
    let epsilon = bounded[0].epsilon;
    let mut header = vec!["t".to_owned()];
    header.extend(bounded.iter().map(|line| format!("{} lag={}", line.label.method_words(), line.lag)));
    let rows = half_decades(last.saturating_mul(4))
        .into_iter()
        .map(|t| {
            let mut row = vec![t.to_string()];
            row.extend(bounded.iter().map(|line| bound_words(line, t)));
            row
        })
        .collect();
    heading(
        &format!(
            "Bound on the total variation distance after t steps, {}: mean ± standard error over pairs (above 1 it says nothing; in brackets, where all had met, the 95 % limit of the share of pairs that have not)",
            label.noise_words()
        ),
        format,
    ) + &table(header, rows, format)
        + &epsilon.map_or(String::new(), |epsilon| {
            format!(
                "A release after t steps is (epsilon, delta + delta')-private with delta' = (1 + e^epsilon) times the bound, \
                 {:.3} times it here, and at most 1; both are in the CSV.\n\n",
                1.0 + libm::exp(epsilon)
            )
        })
}

/// The chains' own distance to the exact law, cell by cell, under the smallest bound of their lags.
fn marginals(label: &Label, lines: &[&MeetingLine], format: Format) -> String {
    let mut out = String::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for line in lines {
        let kernel = (line.label.method.as_str(), line.label.options.as_str());
        if line.marginals.is_empty() || seen.contains(&kernel) {
            continue;
        }
        seen.push(kernel);
        let same: Vec<&&MeetingLine> = lines
            .iter()
            .filter(|other| (other.label.method.as_str(), other.label.options.as_str()) == kernel)
            .collect();
        let mut below = Vec::new();
        let rows = line
            .marginals
            .iter()
            .map(|row| {
                let bound = same
                    .iter()
                    .filter(|line| line.is_bounded())
                    .map(|line| tv_bound(&line.taus, line.lag, row.t))
                    .min_by(|a, b| a.mean.total_cmp(&b.mean));
                // What the floor explains, three standard errors of either side, and pairs so slow that none was
                // seen, are no contradiction.
                let excess = row.tv - row.floor - 3.0 * row.floor_sd;
                let unseen = 3.0 / line.taus.len() as f64;
                if bound.is_some_and(|b| b.mean + 3.0 * b.standard_error.max(0.0) + unseen < excess) {
                    below.push(row.t);
                }
                let smallest = same.iter().find(|line| {
                    bound.is_some_and(|b| line.is_bounded() && tv_bound(&line.taus, line.lag, row.t) == b)
                });
                vec![
                    row.t.to_string(),
                    smallest.map_or("-".into(), |line| bound_words(line, row.t)),
                    format!("{:.4}", row.tv),
                    format!("{:.4} ± {:.4}", row.floor, row.floor_sd),
                ]
            })
            .collect();
        let header = ["t", "smallest bound", "distance of the marginals", "noise floor (sd)"];
        out += &heading(
            &format!(
                "Distance to the exact law of {}, {}: largest total variation distance of a cell's marginal over {} chains",
                line.label.method_words(),
                label.noise_words(),
                line.marginals[0].chains
            ),
            format,
        );
        out += &table(header.map(str::to_owned).into(), rows, format);
        out += &if below.is_empty() {
            "The bound lies above the distance at every t (within the noise of both).\n\n".to_owned()
        } else {
            format!(
                "The bound lies BELOW the distance at t = {below:?}, by more than three standard errors.\n\n"
            )
        };
    }
    out
}

/// One line of the long table.
#[derive(Serialize)]
pub(super) struct Record {
    run: String,
    law: String,
    epsilon: f64,
    delta: Option<f64>,
    sensitivity: f64,
    method: String,
    options: String,
    lag: u64,
    pairs: u64,
    censored: u64,
    t: u64,
    bound: Option<f64>,
    bound_se: Option<f64>,
    delta_sampling: Option<f64>,
    delta_sampling_se: Option<f64>,
    distance: Option<f64>,
    floor: Option<f64>,
    floor_sd: Option<f64>,
}

pub(super) fn records(report: &Report) -> Vec<Record> {
    let mut records = Vec::new();
    for line in &report.meetings {
        let last = line.taus.iter().map(|tau| tau - line.lag).max().unwrap_or(1).saturating_mul(4);
        let mut times = half_decades(last);
        times.extend(line.marginals.iter().map(|row| row.t));
        times.sort_unstable();
        times.dedup();
        for t in times {
            let bound = line.is_bounded().then(|| tv_bound(&line.taus, line.lag, t));
            let marginal = line.marginals.iter().find(|row| row.t == t);
            let label = &line.label;
            let delta = bound.and_then(|b| line.epsilon.map(|epsilon| sampling_delta(epsilon, b.mean)));
            // A delta of 1 is no estimate: it says nothing, whatever the bound's error.
            let factor =
                line.epsilon.filter(|_| delta.is_some_and(|delta| delta < 1.0)).map(|e| 1.0 + libm::exp(e));
            records.push(Record {
                run: label.run.clone(),
                law: label.law.clone(),
                epsilon: label.epsilon,
                delta: label.delta,
                sensitivity: label.sensitivity,
                method: label.method.clone(),
                options: label.options.clone(),
                lag: line.lag,
                pairs: line.taus.len() as u64 + line.censored,
                censored: line.censored,
                t,
                bound: bound.map(|b| b.mean),
                bound_se: bound.and_then(|b| finite(b.standard_error)),
                delta_sampling: delta,
                delta_sampling_se: bound
                    .and_then(|b| finite(b.standard_error))
                    .zip(factor)
                    .map(|(error, factor)| error * factor),
                distance: marginal.map(|row| row.tv),
                floor: marginal.map(|row| row.floor),
                floor_sd: marginal.map(|row| row.floor_sd),
            });
        }
    }
    records
}
