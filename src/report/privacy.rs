//! What releases pay, and between which tables conditioning pays most.

use super::collect::{Label, Report};
use super::render::{Format, heading, number, table};
use crate::results::{Paid, PaidRow};
use serde::Serialize;

/// What every cell of the grid pays.
pub(super) fn paid(report: &Report, format: Format) -> String {
    if report.paid.is_empty() {
        return String::new();
    }
    let header = ["noise", "method", "epsilon", "delta", "gamma", "(1 + gamma) epsilon", "delta of sampling"];
    let body = report
        .paid
        .iter()
        .map(|(label, Paid { epsilon, delta, gamma, known, sampling })| {
            let how = match known.as_str() {
                "bounded" => "at most ".to_owned(),
                _ => String::new(),
            };
            vec![
                label.noise_words(),
                label.method_words(),
                number(*epsilon),
                if *delta == 0.0 { "0".into() } else { format!("{delta:e}") },
                match gamma {
                    Some(gamma) if *gamma == 0.0 => format!("0 ({known})"),
                    Some(gamma) => format!("{how}{gamma:.6} ({known})"),
                    None => "unknown".into(),
                },
                gamma.map_or("unknown".into(), |gamma| format!("{how}{}", number((1.0 + gamma) * epsilon))),
                match sampling {
                    Some(delta) if *delta == 0.0 => "0".into(),
                    Some(delta) => format!("{delta:.1e}"),
                    None => "unknown".into(),
                },
            ]
        })
        .collect();
    let note = "gamma: what conditioning on inequalities may add (Theorem 2.1 of \"Congenial differential privacy\"). delta of sampling: \
                (1 + e^epsilon) times the total variation error of a draw, unknown for a chain without a bound on it.\n\n";
    heading("What a release pays", format) + &table(header.map(str::to_owned).to_vec(), body, format) + note
}

/// Parts beyond which rows are summed up.
const PRINTED: usize = 6;

/// The worst pairs of a study of privacy.
pub(super) fn pages(report: &Report, format: Format) -> String {
    let mut out = String::new();
    let mut labels: Vec<&Label> = report.privacy.iter().map(|(label, _)| label).collect();
    labels.dedup();
    for label in labels {
        for (scope, words) in [
            ("table", "the confidential table and its neighbours"),
            ("corner", "the table with every group's counts in one cell, and its neighbours"),
            ("all", "all pairs of tables that satisfy the invariant"),
        ] {
            let mut rows: Vec<&PaidRow> = report
                .privacy
                .iter()
                .filter(|(other, row)| other == label && row.scope == scope)
                .map(|(_, row)| row)
                .collect();
            if rows.is_empty() {
                continue;
            }
            let gammas: Vec<f64> = rows.iter().map(|row| row.gamma).collect();
            let (low, high) = gammas.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
            let parts = rows.len();
            rows.sort_by(|a, b| b.gamma.total_cmp(&a.gamma));
            rows.truncate(PRINTED);
            let header = [
                "part",
                "cells",
                "tables",
                "gamma",
                "at most",
                "loss",
                "conditioned",
                "worst pair: counts in x -> x'",
            ];
            let body = rows
                .iter()
                .map(|row| {
                    let pair = match row.pair.chars().count() {
                        0..=90 => row.pair.clone(),
                        _ => row.pair.chars().take(87).chain("...".chars()).collect(),
                    };
                    vec![
                        row.part.to_string(),
                        row.cells.to_string(),
                        row.tables.to_string(),
                        format!("{:.6}", row.gamma),
                        format!("{:.6}", row.bound),
                        number(row.loss),
                        number(row.loss + row.log_ratio),
                        pair,
                    ]
                })
                .collect();
            let title = format!("{}: gamma over {words}; {}", label.run, label.noise_words());
            out += &heading(&title, format);
            out += &table(header.map(str::to_owned).to_vec(), body, format);
            out += &format!(
                "{parts} parts; gamma from {low:.6} to {high:.6}. At most: a proved bound for all such pairs; loss: of the unconditioned mechanism between the two tables; conditioned: (1 + gamma) times \
                 that, attained.\n\n"
            );
        }
    }
    out
}

/// One line of `privacy.csv`.
#[derive(Serialize)]
pub(super) struct Record {
    run: String,
    law: String,
    epsilon: f64,
    sensitivity: f64,
    part: u64,
    cells: u64,
    scope: String,
    tables: u64,
    pairs: u64,
    gamma: f64,
    gamma_bound: f64,
    log_ratio: f64,
    loss: f64,
    pair: String,
}

pub(super) fn records(report: &Report) -> Vec<Record> {
    let record = |(label, row): &(Label, PaidRow)| Record {
        run: label.run.clone(),
        law: label.law.clone(),
        epsilon: label.epsilon,
        sensitivity: label.sensitivity,
        part: row.part,
        cells: row.cells,
        scope: row.scope.clone(),
        tables: row.tables,
        pairs: row.pairs,
        gamma: row.gamma,
        gamma_bound: row.bound,
        log_ratio: row.log_ratio,
        loss: row.loss,
        pair: row.pair.clone(),
    };
    report.privacy.iter().map(record).collect()
}
