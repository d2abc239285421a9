//! Single cells of tables: box plots as numbers, and somebody else's errors beside ours.

use super::beside::BesideRow;
use super::collect::{Label, Report};
use super::render::{Format, heading, number, table, with_error};
use crate::diagnostics::Estimate;
use crate::results::EntryRow;
use serde::Serialize;

/// Rows that are printed of one table; all of them are in the CSV.
const PRINTED: usize = 20;

impl EntryRow {
    fn estimate(&self) -> Estimate {
        Estimate { mean: self.mean, standard_error: self.mean_se.unwrap_or(f64::NAN) }
    }
}

pub(super) fn pages(report: &Report, format: Format) -> String {
    let mut out = String::new();
    for (label, rows) in &report.entries {
        out += &boxes(label, rows, format);
    }
    for (label, rows) in &report.entries {
        let theirs: Vec<&BesideRow> =
            report.beside.iter().filter(|(run, _)| *run == label.run).map(|(_, row)| row).collect();
        out += &beside(label, rows, &theirs, format);
    }
    out
}

/// Indices of the rows to print: all, or some spread evenly over increasing counts.
fn printed(counts: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    if counts.len() <= PRINTED {
        return order;
    }
    order.sort_by_key(|&i| counts[i]);
    (0..PRINTED).map(|k| order[k * (counts.len() - 1) / (PRINTED - 1)]).collect()
}

fn boxes(label: &Label, rows: &[EntryRow], format: Format) -> String {
    let chains = rows.iter().any(|row| row.rhat.is_some());
    let mut header: Vec<&str> = vec![
        "cell", "count", "one draw", "mean", "sd", "whisker", "q1", "median", "q3", "whisker", "negative",
    ];
    if chains {
        header.extend(["ess", "R-hat"]);
    }
    let counts: Vec<i64> = rows.iter().map(|row| row.count).collect();
    let short = |x: f64| if x == x.trunc() { format!("{x}") } else { format!("{x:.2}") };
    let body = printed(&counts)
        .into_iter()
        .map(|i| {
            let row = &rows[i];
            let mut line = vec![
                row.name.clone(),
                row.count.to_string(),
                short(row.first),
                with_error(row.estimate()),
                row.sd.map_or("-".into(), |sd| format!("{sd:.3}")),
                short(row.plot.whisker_low),
                short(row.plot.q1),
                short(row.plot.median),
                short(row.plot.q3),
                short(row.plot.whisker_high),
                number(row.negative),
            ];
            if chains {
                line.push(row.ess.map_or("-".into(), |x| format!("{x:.0}")));
                line.push(row.rhat.map_or("-".into(), |x| format!("{x:.4}")));
            }
            line
        })
        .collect();
    let some = if rows.len() > PRINTED {
        format!("; {PRINTED} of {} cells by increasing count, all of them in the CSV", rows.len())
    } else {
        String::new()
    };
    let title = format!(
        "Errors by cell of {}: {}, {}, {} draws{some}",
        label.run,
        label.method_words(),
        label.noise_words(),
        rows.first().map_or(0, |row| row.draws)
    );
    let z = |row: &EntryRow| row.mean_se.filter(|se| *se > 0.0).map(|se| (row.mean / se).abs());
    let worst = rows.iter().filter_map(z).fold(0.0, f64::max);
    let negative = rows.iter().filter(|row| row.negative > 0.0).count();
    let mut note = format!(
        "Largest |mean| / standard error over the cells: {worst:.2}. Cells with any released count below 0: {negative} of {}.",
        rows.len()
    );
    let rhats: Vec<f64> = rows.iter().filter_map(|row| row.rhat).collect();
    if !rhats.is_empty() {
        let low = rhats.iter().filter(|x| **x < 1.01).count();
        let most = rhats.iter().copied().fold(0.0, f64::max);
        note += &format!(" R-hat below 1.01: {low} of {} cells, the largest {most:.4}.", rhats.len());
    }
    heading(&title, format)
        + &table(header.into_iter().map(str::to_owned).collect(), body, format)
        + &note
        + "\n\n"
}

fn beside(label: &Label, rows: &[EntryRow], theirs: &[&BesideRow], format: Format) -> String {
    let matched: Vec<(&EntryRow, &BesideRow)> = rows
        .iter()
        .filter_map(|row| theirs.iter().find(|other| other.name == row.name).map(|other| (row, *other)))
        .collect();
    let Some((_, first)) = matched.first() else { return String::new() };
    let header = ["cell", "count", "their error", "our mean", "our q1", "our q3", "our mean |error|"];
    let counts: Vec<i64> = matched.iter().map(|(row, _)| row.count).collect();
    let body = printed(&counts)
        .into_iter()
        .map(|i| {
            let (row, other) = matched[i];
            vec![
                row.name.clone(),
                row.count.to_string(),
                (other.released - other.confidential).to_string(),
                with_error(row.estimate()),
                number(row.plot.q1),
                number(row.plot.q3),
                format!("{:.2}", row.mae),
            ]
        })
        .collect();
    let error = |other: &BesideRow| (other.released - other.confidential) as f64;
    let n = matched.len() as f64;
    let their_mae = matched.iter().map(|(_, other)| error(other).abs()).sum::<f64>() / n;
    let our_mae = matched.iter().map(|(row, _)| row.mae).sum::<f64>() / n;
    let sizes: Vec<f64> = counts.iter().map(|&x| x as f64).collect();
    let their_trend =
        rank_correlation(&sizes, &matched.iter().map(|(_, other)| error(other)).collect::<Vec<_>>());
    let our_trend = rank_correlation(&sizes, &matched.iter().map(|(row, _)| row.mean).collect::<Vec<_>>());
    let differing = matched.iter().filter(|(row, other)| row.count != other.confidential).count();
    let differing = if differing > 0 {
        format!(" The confidential counts of {differing} cells differ between the two.")
    } else {
        String::new()
    };
    heading(
        &format!("{}: {}, {}, beside: {}", label.run, label.method_words(), label.noise_words(), first.note),
        format,
    ) + &table(header.map(str::to_owned).into(), body, format)
        + &format!(
            "Mean |error| over {} cells: theirs {their_mae:.2} (one release), ours {our_mae:.2}. Rank correlation of error and \
             count: theirs {their_trend:+.2}, our means {our_trend:+.2} (standard deviation {:.2} without any trend).{differing}\n\n",
            matched.len(),
            1.0 / (n - 1.0).max(1.0).sqrt()
        )
}

/// Spearman's, with mean ranks for ties.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |x: &[f64]| -> Vec<f64> {
        x.iter()
            .map(|v| {
                let below = x.iter().filter(|w| *w < v).count() as f64;
                let ties = x.iter().filter(|w| *w == v).count() as f64;
                below + 0.5 * (ties + 1.0)
            })
            .collect()
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(p, q)| (p - mean) * (q - mean)).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
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
    cell: String,
    count: i64,
    draws: u64,
    first: f64,
    mean: f64,
    mean_se: Option<f64>,
    sd: Option<f64>,
    mean_absolute: f64,
    whisker_low: f64,
    q1: f64,
    median: f64,
    q3: f64,
    whisker_high: f64,
    negative: f64,
    ess: Option<f64>,
    rhat: Option<f64>,
    their_error: Option<i64>,
}

/// By increasing count within a cell of the grid.
pub(super) fn records(report: &Report) -> Vec<Record> {
    let mut records = Vec::new();
    for (label, rows) in &report.entries {
        let mut sorted: Vec<&EntryRow> = rows.iter().collect();
        sorted.sort_by_key(|row| row.count);
        for row in sorted {
            let theirs =
                report.beside.iter().find(|(run, other)| *run == label.run && other.name == row.name);
            records.push(Record {
                run: label.run.clone(),
                law: label.law.clone(),
                epsilon: label.epsilon,
                delta: label.delta,
                sensitivity: label.sensitivity,
                method: label.method.clone(),
                options: label.options.clone(),
                cell: row.name.clone(),
                count: row.count,
                draws: row.draws,
                first: row.first,
                mean: row.mean,
                mean_se: row.mean_se,
                sd: row.sd,
                mean_absolute: row.mae,
                whisker_low: row.plot.whisker_low,
                q1: row.plot.q1,
                median: row.plot.median,
                q3: row.plot.q3,
                whisker_high: row.plot.whisker_high,
                negative: row.negative,
                ess: row.ess,
                rhat: row.rhat,
                their_error: theirs.map(|(_, other)| other.released - other.confidential),
            });
        }
    }
    records
}
