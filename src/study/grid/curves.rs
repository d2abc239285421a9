//! What several releases of a grid's cells pay together at a delta.

use crate::grid::Plan;
use crate::page::Table;
use crate::privacy::at_most;
use crate::study::cells::{Profiles, Statements};
use crate::study::kind::Curves;
use serde_json::{Value, json};

/// The columns of what `plan` prints.
const HEADER: [&str; 7] = ["law", "noise epsilon", "method", "change", "charged", "epsilon", "known"];

/// What the releases of a plan's cells pay together at a delta, cell by cell and change by change.
pub(super) fn curves(plan: &Plan, delta: f64, releases: u64) -> Curves {
    let statements = Statements::new(plan);
    let profiles = Profiles::new(&plan.subject, &statements);
    let (mut rows, mut told) = (Vec::new(), Vec::new());
    for cell in &plan.cells {
        let sign = if cell.at.method.nonnegative() { " >= 0" } else { "" };
        let method = cell.at.method.words() + sign;
        if !cell.at.law.is_noise() {
            let words = [cell.at.law.name().to_owned(), cell.epsilon.to_string(), method];
            rows.push(
                words.into_iter().chain(["any", "unknown", "unknown", "unknown"].map(String::from)).collect(),
            );
            continue;
        }
        let pays = if cell.paid.is_some() { statements.found(cell) } else { statements.quick(cell) };
        for own in profiles.each(cell, &pays) {
            let charged = own.charged(delta, releases);
            let epsilon = own.composed(releases).map(|curve| own.epsilon(&curve, (delta, releases)));
            let known = own.curve.as_ref().map_or("unknown", |(_, known)| known.name());
            let figure = |x: Option<f64>| x.map_or("unknown".into(), at_most);
            rows.push(vec![
                cell.at.law.name().to_owned(),
                cell.epsilon.to_string(),
                method.clone(),
                own.change.name().to_owned(),
                figure(charged),
                figure(epsilon),
                known.to_owned(),
            ]);
            told.push(json!({
                "cell": cell.key_text(),
                "change": own.change.name(),
                "charged": charged,
                "epsilon": epsilon,
                "known": known,
                "rho": own.rho(releases),
                "mu": own.mu(releases),
            }));
        }
    }
    Curves { table: Table::new(4, HEADER, rows), told: Value::Array(told) }
}
