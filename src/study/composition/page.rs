//! Table 1 of "Two views", and every statement behind it.

use super::FindingRow;
use crate::failure::Result;
use crate::page::Page;
use crate::study::tell::records::Named;
use crate::worlds::{Operator, Property};

/// A table for each setting.
pub(super) fn pages(run: &Named) -> Result<Page> {
    let rows: Vec<FindingRow> = run.run.all()?;
    Ok(rows.chunk_by(|a, b| a.cell == b.cell).map(|rows| page(&run.name, rows)).collect())
}

fn sign(holds: bool) -> &'static str {
    if holds { "✓" } else { "✗" }
}

fn page(run: &str, rows: &[FindingRow]) -> Page {
    let first = &rows[0];
    let title = format!(
        "{run}: Table 1 of \"Two views\" as computed ({} worlds, mechanisms at epsilon {})",
        first.worlds, first.epsilon
    );
    let header = std::iter::once("property").chain(Operator::ALL.map(Operator::name));
    let cell = |operator: Operator, property: Property| {
        let all =
            rows.iter().filter(|row| row.operator == operator.name() && row.property == property.name());
        let words = all.clone().map(|row| {
            let printed = if row.claim == row.holds {
                String::new()
            } else {
                format!(" (printed {})", sign(row.claim))
            };
            format!("{}{printed}", sign(row.holds))
        });
        let mut words: Vec<String> = words.collect();
        words.dedup();
        words.join(" ")
    };
    let line = |property: Property| {
        let cells = Operator::ALL.map(|operator| cell(operator, property));
        std::iter::once(property.name().to_owned()).chain(cells).collect()
    };
    let body = Property::COLUMNS.map(line).into();
    let header_of_all = ["statement", "operator", "claimed", "found", "cases", "worst deviation", "allowed"];
    let all = rows
        .iter()
        .map(|row| {
            vec![
                row.statement.clone(),
                row.operator.clone(),
                sign(row.claim).to_owned(),
                sign(row.holds).to_owned(),
                row.cases.to_string(),
                format!("{:.2e}", row.worst),
                format!("{:.0e}", row.tolerance),
            ]
        })
        .collect();
    let counterexample = |row: &FindingRow| {
        let printed = if row.claim { "; printed as true" } else { "" };
        format!("✗ {} ({}{printed}): {}", row.statement, row.operator, row.evidence)
    };
    let counterexamples = rows.iter().filter(|row| !row.holds).map(counterexample).collect();
    Page::main(title)
        .table(1, header, body)
        .text("A tick is the largest deviation over all cases within what is allowed; a cross a counterexample.")
        .and(Page::headed(format!("{run}: every statement")))
        .table(2, header_of_all, all)
        .list(counterexamples)
}
