//! What several releases of a grid's cells pay together at a delta.

use crate::grid::Plan;
use crate::page::Table;
use crate::privacy::{Change, ChangeKind, at_most};
use crate::study::cells::{Statements, profile};
use crate::study::kind::Curves;
use serde_json::{Value, json};

/// The columns of what `plan` prints.
const HEADER: [&str; 7] = ["law", "noise epsilon", "method", "change", "charged", "epsilon", "known"];

/// What the releases of a plan's cells pay together at a delta, cell by cell and change by change.
pub(super) fn curves(plan: &Plan, delta: f64, releases: u64) -> Curves {
    let statements = Statements::new(plan);
    let (mut rows, mut told) = (Vec::new(), Vec::new());
    for cell in &plan.cells {
        let pays = if cell.paid.is_some() { statements.found(cell) } else { statements.quick(cell) };
        let has_records = [&pays.added, &pays.moved].iter().any(|change| change.price().is_some());
        // The smallest change is one of the others, or one of its own.
        let changes =
            pays.changes().into_iter().filter(|(kind, _)| *kind != ChangeKind::Smallest || !has_records);
        for (kind, change) in changes {
            let Change::Possible(price) = change else { continue };
            let times = releases as f64;
            let charged = match price.loss.accountant {
                Some(accountant) => price.rho.value().map(|rho| accountant.epsilon(times * rho, delta)),
                // What is declared at a larger delta says nothing at this one.
                None if times * price.loss.delta > delta => None,
                None => price.epsilon().map(|epsilon| times * epsilon),
            };
            let found = profile(cell, &plan.subject, &statements, kind, price);
            let epsilon = found.as_ref().map(|(curve, _)| curve.composed(releases).epsilon(delta));
            let mu = found.as_ref().and_then(|(curve, _)| curve.mu()).map(|mu| mu * times.sqrt());
            let known = found.as_ref().map_or("unknown", |(_, known)| known.name());
            let figure = |x: Option<f64>| x.map_or("unknown".into(), at_most);
            rows.push(vec![
                cell.at.law.name().to_owned(),
                cell.epsilon.to_string(),
                cell.at.method.words(),
                kind.name().to_owned(),
                figure(charged),
                figure(epsilon),
                known.to_owned(),
            ]);
            told.push(json!({
                "cell": cell.key_text(),
                "change": kind.name(),
                "charged": charged,
                "epsilon": epsilon,
                "known": known,
                "rho": price.rho.value().map(|rho| rho * times),
                "mu": mu,
            }));
        }
    }
    Curves { table: Table::new(4, HEADER, rows), told: Value::Array(told) }
}
