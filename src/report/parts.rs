//! Parts of tables: distances over them, and variances against closed forms.

use super::collect::{Label, Report};
use super::render::{Format, finite, heading, table, with_error};
use crate::diagnostics::{BoxPlot, Estimate, Moments};
use crate::results::PartRow;
use serde::Serialize;

pub(super) fn pages(report: &Report, format: Format) -> String {
    let mut runs: Vec<&str> = report.parts.iter().map(|(label, _)| label.run.as_str()).collect();
    runs.dedup();
    let mut out = String::new();
    for run in runs {
        let parts: Vec<&(Label, Vec<PartRow>)> =
            report.parts.iter().filter(|(label, _)| label.run == run).collect();
        out += &distances(run, &parts, format);
        out += &variances(run, &parts, format);
        out += &ratios(run, &parts, format);
    }
    out
}

/// Mean L1 and L2 distances of every part, as a box over the parts: Figure 1 of "Congenial differential privacy".
fn distances(run: &str, parts: &[&(Label, Vec<PartRow>)], format: Format) -> String {
    // A box needs comparable parts.
    let comparable = |rows: &[PartRow]| rows.len() > 1 && rows.iter().all(|row| row.cells == rows[0].cells);
    if !parts.iter().any(|(_, rows)| comparable(rows)) {
        return String::new();
    }
    let mut out = String::new();
    for (name, of) in [("L1", (|row| row.l1) as fn(&PartRow) -> Estimate), ("L2", |row| row.l2)] {
        let header = ["noise", "method", "mean over parts", "whisker", "q1", "median", "q3", "whisker"];
        let body = parts
            .iter()
            .filter(|(_, rows)| comparable(rows))
            .map(|(label, rows)| {
                let mut means: Vec<f64> = rows.iter().map(|row| of(row).mean).collect();
                // The error of the mean over these very parts: that of the releases.
                let squares: f64 =
                    rows.iter().map(|row| of(row).standard_error * of(row).standard_error).sum();
                let mean: Moments = means.iter().copied().collect();
                let mean = Estimate { mean: mean.mean(), standard_error: squares.sqrt() / rows.len() as f64 };
                let plot = BoxPlot::of(&mut means);
                let mut line = vec![label.noise_words(), label.method_words(), with_error(mean)];
                let quantiles = [plot.whisker_low, plot.q1, plot.median, plot.q3, plot.whisker_high];
                line.extend(quantiles.map(|x| format!("{x:.3}")));
                line
            })
            .collect();
        let rows = &parts[0].1;
        let title = format!(
            "{run}: {name} distance of a release to its table, over {} parts of {} cells, {} releases each",
            rows.len(),
            rows[0].cells,
            rows[0].draws
        );
        out += &heading(&title, format);
        out += &table(header.map(str::to_owned).to_vec(), body, format);
    }
    out
}

/// Mean squared errors beside their closed forms.
fn variances(run: &str, parts: &[&(Label, Vec<PartRow>)], format: Format) -> String {
    let known = |label: &Label, rows: &[PartRow]| {
        label.method != "unconstrained" && rows.iter().any(|row| row.expected.is_some())
    };
    let two = parts.iter().flat_map(|(_, rows)| rows).any(|row| row.ks.is_some());
    let mut header: Vec<&str> = vec!["noise", "method", "cells", "variance", "closed form", "z"];
    if two {
        header.extend(["KS distance", "5 % limit", "epsilon attained"]);
    }
    let mut body = Vec::new();
    for (label, rows) in parts.iter().filter(|(label, rows)| known(label, rows)) {
        for row in rows {
            let Some(expected) = row.expected else { continue };
            let z = (row.mse.mean - expected) / row.mse.standard_error;
            let mut line = vec![
                label.noise_words(),
                label.method_words(),
                row.cells.to_string(),
                with_error(row.mse),
                format!("{expected:.6}"),
                if z.is_finite() { format!("{z:+.2}") } else { "-".into() },
            ];
            if two {
                // Massart's bound on the distance of a right sample.
                let limit = (libm::log(40.0) / (2.0 * row.draws as f64)).sqrt();
                line.push(row.ks.map_or("-".into(), |ks| format!("{ks:.5}")));
                line.push(row.ks.map_or("-".into(), |_| format!("{limit:.5}")));
                line.push(row.epsilon.map_or("-".into(), |epsilon| format!("{epsilon:.6}")));
            }
            body.push(line);
        }
    }
    if body.is_empty() {
        return String::new();
    }
    let title = format!("{run}: variance of the noise of a cell by part, against its closed form");
    heading(&title, format) + &table(header.into_iter().map(str::to_owned).collect(), body, format)
}

/// Conditioning against least squares, by size of the part.
fn ratios(run: &str, parts: &[&(Label, Vec<PartRow>)], format: Format) -> String {
    let mut body = Vec::new();
    for (label, rows) in parts.iter().filter(|(label, _)| label.method == "exact") {
        let same = |other: &Label| {
            other.method == "l2"
                && Label { method: label.method.clone(), options: label.options.clone(), ..other.clone() }
                    == *label
        };
        let Some((_, imaged)) = parts.iter().find(|(other, _)| same(other)) else { continue };
        for (a, b) in rows.iter().zip(imaged) {
            let ratio = a.mse.mean / b.mse.mean;
            let relative = libm::hypot(a.mse.standard_error / a.mse.mean, b.mse.standard_error / b.mse.mean);
            let expected = a.expected.zip(b.expected).map(|(a, b)| a / b);
            let z = expected.map(|expected| (ratio - expected) / (ratio * relative));
            body.push(vec![
                label.noise_words(),
                a.cells.to_string(),
                with_error(Estimate { mean: ratio, standard_error: ratio * relative }),
                expected.map_or("-".into(), |x| format!("{x:.6}")),
                z.map_or("-".into(), |z| format!("{z:+.2}")),
            ]);
        }
    }
    if body.is_empty() {
        return String::new();
    }
    let header = ["noise", "cells", "conditioning / least squares", "closed form", "z"].map(str::to_owned);
    let title = format!("{run}: ratio of the variances of conditioning and imaging, by part");
    heading(&title, format) + &table(header.to_vec(), body, format)
}

/// One line of `parts.csv`.
#[derive(Serialize)]
pub(super) struct Record {
    run: String,
    law: String,
    epsilon: f64,
    delta: Option<f64>,
    sensitivity: f64,
    method: String,
    options: String,
    part: u64,
    cells: u64,
    first: String,
    draws: u64,
    l1: f64,
    l1_se: Option<f64>,
    l2: f64,
    l2_se: Option<f64>,
    mse: f64,
    mse_se: Option<f64>,
    mse_expected: Option<f64>,
    ks: Option<f64>,
    epsilon_attained: Option<f64>,
}

pub(super) fn records(report: &Report) -> Vec<Record> {
    let mut records = Vec::new();
    for (label, rows) in &report.parts {
        records.extend(rows.iter().map(|row| Record {
            run: label.run.clone(),
            law: label.law.clone(),
            epsilon: label.epsilon,
            delta: label.delta,
            sensitivity: label.sensitivity,
            method: label.method.clone(),
            options: label.options.clone(),
            part: row.part,
            cells: row.cells,
            first: row.first.clone(),
            draws: row.draws,
            l1: row.l1.mean,
            l1_se: finite(row.l1.standard_error),
            l2: row.l2.mean,
            l2_se: finite(row.l2.standard_error),
            mse: row.mse.mean,
            mse_se: finite(row.mse.standard_error),
            mse_expected: row.expected,
            ks: row.ks,
            epsilon_attained: row.epsilon,
        }));
    }
    records
}
