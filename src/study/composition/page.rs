//! Table 1 of "Two views", and every statement behind it.

use super::FindingRow;
use crate::failure::Result;
use crate::page::{Column, Page, Table};
use crate::study::tell::records::Named;
use crate::worlds::{Operator, Property};

/// A table for each setting.
pub(super) fn pages(run: &Named) -> Result<Page> {
    let rows: Vec<FindingRow> = run.run.all()?;
    let cells = || rows.chunk_by(|a, b| a.cell == b.cell);
    let all: Page = cells().map(|rows| page(&run.name, rows)).collect();
    Ok(all.and(cells().next().map_or_else(Page::default, |rows| counted(&run.name, rows))))
}

/// What was counted: the same in every setting, but for what is drawn beside it.
fn counted(run: &str, rows: &[FindingRow]) -> Page {
    let counted = rows.iter().filter(|row| row.property == Property::Counting.name());
    let line = |row: &FindingRow| format!("{} {}: {}", sign(row.holds), row.statement, row.evidence);
    let lines: Vec<String> = counted.map(line).collect();
    match lines.is_empty() {
        true => Page::default(),
        false => Page::headed(format!("{run}: counted in two ways")).list(lines),
    }
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
    let columns: &[Column<FindingRow>] = &[
        ("statement", &|row| row.statement.clone()),
        ("operator", &|row| row.operator.clone()),
        ("claimed", &|row| sign(row.claim).to_owned()),
        ("found", &|row| sign(row.holds).to_owned()),
        ("cases", &|row| row.cases.to_string()),
        ("worst deviation", &|row| format!("{:.2e}", row.worst)),
        ("allowed", &|row| format!("{:.0e}", row.tolerance)),
    ];
    let counterexample = |row: &FindingRow| {
        let printed = if row.claim { "; printed as true" } else { "" };
        format!("✗ {} ({}{printed}): {}", row.statement, row.operator, row.evidence)
    };
    let counterexamples = rows.iter().filter(|row| !row.holds).map(counterexample).collect();
    Page::main(title)
        .table(Table::new(1, header, body))
        .text("A tick is the largest deviation over all cases within what is allowed; a cross a counterexample.")
        .and(Page::headed(format!("{run}: every statement")))
        .listed(2, rows, columns)
        .list(counterexamples)
}
