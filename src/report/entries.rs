//! Single cells of tables: box plots as numbers, and somebody else's errors beside ours.

use super::beside::BesideRow;
use super::collect::{Label, Report};
use super::render::{Format, heading, number, table, with_error};
use crate::diagnostics::Estimate;
use crate::results::EntryRow;
use serde::Serialize;

/// Tables up to this size are printed in full; of larger ones so many rows, all of them in the CSV.
const FULL: usize = 20;
const PRINTED: usize = 11;

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
    let mut seen: Vec<&str> = Vec::new();
    for (label, _) in &report.entries {
        if !seen.contains(&label.run.as_str()) {
            seen.push(&label.run);
            out += &beside(&label.run, report, format);
        }
    }
    out
}

/// Indices of the rows to print: all, or some spread evenly over increasing counts.
fn printed(counts: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    if counts.len() <= FULL {
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
    let some = if rows.len() > FULL {
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

/// Their errors, and the mean and quartiles of ours by method, cell by cell.
fn beside(run: &str, report: &Report, format: Format) -> String {
    let theirs: Vec<&BesideRow> =
        report.beside.iter().filter(|(other, _)| other == run).map(|(_, row)| row).collect();
    let Some(first) = theirs.first() else { return String::new() };
    // By name, in the order of theirs.
    let ours: Vec<(&Label, Vec<&EntryRow>)> = report
        .entries
        .iter()
        .filter(|(label, _)| label.run == run)
        .map(|(label, rows)| {
            let find = |other: &&BesideRow| rows.iter().find(|row| row.name == other.name);
            (label, theirs.iter().filter_map(find).collect())
        })
        .collect();
    let Some((_, cells)) = ours.first().filter(|(_, cells)| !cells.is_empty()) else {
        return format!("{run}: no cell of ours has a name of: {}\n\n", first.note);
    };
    let mut header = vec!["cell".to_owned(), "count".to_owned(), "their error".to_owned()];
    header.extend(ours.iter().map(|(label, _)| format!("{} [q1, q3]", label.method_words())));
    let counts: Vec<i64> = cells.iter().map(|row| row.count).collect();
    let their = |name: &str| theirs.iter().find(|other| other.name == name).expect("matched by name");
    let error = |name: &str| their(name).released as f64 - their(name).confidential as f64;
    let short = |x: f64| if x == x.trunc() { format!("{x}") } else { format!("{x:.1}") };
    let body = printed(&counts)
        .into_iter()
        .map(|i| {
            let name = &cells[i].name;
            let mut row = vec![name.clone(), counts[i].to_string(), error(name).to_string()];
            row.extend(ours.iter().map(|(_, rows)| {
                let row = rows[i];
                format!("{} [{}, {}]", with_error(row.estimate()), short(row.plot.q1), short(row.plot.q3))
            }));
            row
        })
        .collect();
    let n = cells.len() as f64;
    let sizes: Vec<f64> = counts.iter().map(|&x| x as f64).collect();
    let their_errors: Vec<f64> = cells.iter().map(|row| error(&row.name)).collect();
    let mut notes = format!(
        "- theirs, one release of {} cells: mean |error| {:.2}, rank correlation of error and count {:+.2} (standard deviation \
         {:.2} without any trend)\n",
        cells.len(),
        their_errors.iter().map(|x| x.abs()).sum::<f64>() / n,
        rank_correlation(&sizes, &their_errors),
        1.0 / (n - 1.0).max(1.0).sqrt()
    );
    for (label, rows) in &ours {
        let means: Vec<f64> = rows.iter().map(|row| row.mean).collect();
        notes += &format!(
            "- {}: mean |error| {:.2}, rank correlation of mean error and count {:+.2}\n",
            label.method_words(),
            rows.iter().map(|row| row.mae).sum::<f64>() / n,
            rank_correlation(&sizes, &means)
        );
    }
    let differing = cells.iter().filter(|row| row.count != their(&row.name).confidential).count();
    if differing > 0 {
        notes += &format!("- the confidential counts of {differing} cells differ between the two\n");
    }
    heading(&format!("{run}, beside: {}", first.note), format) + &table(header, body, format) + &notes + "\n"
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
                their_error: theirs.map(|(_, other)| other.released.saturating_sub(other.confidential)),
            });
        }
    }
    records
}
