//! Whether methods release the same law.

use super::collect::{Label, Report};
use super::render::{Format, heading, table};
use crate::results::AgreementRow;
use serde::Serialize;

/// Below this a difference is called one.
const LEVEL: f64 = 1e-3;

pub(super) fn pages(report: &Report, format: Format) -> String {
    let mut runs: Vec<&str> = report.agreement.iter().map(|(label, _)| label.run.as_str()).collect();
    runs.dedup();
    let mut out = String::new();
    for run in runs {
        let header =
            ["noise", "method", "other method", "draws", "comparisons", "largest KS", "p", "the same law?"];
        let body = report
            .agreement
            .iter()
            .filter(|(label, _)| label.run == run)
            .map(|(label, row)| {
                vec![
                    label.noise_words(),
                    label.method_words(),
                    row.other.clone(),
                    format!("{}, {}", row.agreement.draws.0, row.agreement.draws.1),
                    row.agreement.comparisons.to_string(),
                    format!("{:.5}", row.agreement.distance),
                    row.agreement.p_text(),
                    if row.agreement.p < LEVEL { "no" } else { "no difference seen" }.into(),
                ]
            })
            .collect();
        out += &heading(&format!("{run}: methods with the same noise"), format);
        out += &table(header.map(str::to_owned).to_vec(), body, format);
        out += "Two-sample Kolmogorov-Smirnov distances over cells, sums with random signs and the norms of all errors; p is an \
                approximate bound for all of them together.\n\n";
    }
    out
}

/// One line of `agreement.csv`.
#[derive(Serialize)]
pub(super) struct Record {
    run: String,
    law: String,
    epsilon: f64,
    delta: Option<f64>,
    method: String,
    options: String,
    other: String,
    draws: u64,
    other_draws: u64,
    comparisons: u64,
    distance: f64,
    p: f64,
}

pub(super) fn records(report: &Report) -> Vec<Record> {
    let record = |(label, row): &(Label, AgreementRow)| Record {
        run: label.run.clone(),
        law: label.law.clone(),
        epsilon: label.epsilon,
        delta: label.delta,
        method: label.method.clone(),
        options: label.options.clone(),
        other: row.other.clone(),
        draws: row.agreement.draws.0,
        other_draws: row.agreement.draws.1,
        comparisons: row.agreement.comparisons,
        distance: row.agreement.distance,
        p: row.agreement.p,
    };
    report.agreement.iter().map(record).collect()
}
