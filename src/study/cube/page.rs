//! The page of a study of trees of tables: errors by level and query, methods beside each other.

use super::{CubeCellRow, CubeErrorRow};
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::page::{Page, Table, brief, grouped, replicates};
use crate::study::tell::records::Named;
use std::collections::HashMap;

/// A row with its cell.
type Line<'a> = (&'a CubeCellRow, &'a CubeErrorRow);

/// The page of a run. Errors: its tables.
pub(super) fn of(run: &Named) -> Result<Page> {
    let cells: Vec<CubeCellRow> = run.run.all()?;
    let rows: Vec<CubeErrorRow> = run.run.all()?;
    let by_key: HashMap<_, &CubeCellRow> = cells.iter().map(|cell| (cell.cell, cell)).collect();
    let lines = rows.iter().filter_map(|row| Some((*by_key.get(&row.cell)?, row)));
    let noise = |(cell, _): &Line| (cell.law.clone(), cell.epsilon.to_bits(), cell.delta.map(f64::to_bits));
    Ok(grouped(lines, noise).iter().map(|lines| of_noise(&run.name, lines)).collect())
}

/// What one law and loss give.
fn of_noise(run: &str, lines: &[Line]) -> Page {
    let (cell, _) = lines[0];
    let delta = cell.delta.map_or(String::new(), |delta| format!(", delta {delta}"));
    let title = format!("{run}: {} noise, epsilon {}{delta}", cell.law, cell.epsilon);
    let mut methods: Vec<&str> = Vec::new();
    for (cell, _) in lines {
        if !methods.contains(&&*cell.method) {
            methods.push(&cell.method);
        }
    }
    let header = ["level", "query", "areas of"].into_iter().map(str::to_owned);
    let header: Vec<String> = header
        .chain(methods.iter().flat_map(|method| [(*method).to_owned(), "computed".to_owned()]))
        .collect();
    // In the order of a method that has all of them.
    let rows = |method: &str| lines.iter().filter(|(cell, _)| cell.method == method).count();
    let mut ordered = lines.to_vec();
    ordered.sort_by_key(|(cell, _)| std::cmp::Reverse(rows(&cell.method)));
    let places = grouped(ordered, |(_, row)| (row.level.clone(), row.query.clone(), row.size.clone()));
    let line = |own: &Vec<Line>| {
        let (_, first) = own[0];
        let of = |method: &&str| {
            let row = own.iter().find(|(cell, _)| cell.method == **method).map(|(_, row)| *row);
            match row {
                Some(row) => [brief(root(row.squared)), short(libm::sqrt(row.squared_computed))],
                None => [String::new(), String::new()],
            }
        };
        let keys = [&first.level, &first.query, &first.size].map(String::clone);
        keys.into_iter().chain(methods.iter().flat_map(of)).collect()
    };
    let (_, words) = replicates(lines.iter().map(|(_, row)| row.replicates));
    let added = match cell.added {
        Some(added) => format!("One record that is added or removed pays an epsilon of {}, ", short(added)),
        None => "No record can be added or removed, since totals are known; ".to_owned(),
    };
    let moved =
        format!("one that is moved to another area and other categories {} at most.", short(cell.moved));
    let text = format!(
        "Root mean squared errors of an answer, in counts, over {words} releases; beside each what follows from the variances of the \
         noise. {added}{moved}"
    );
    Page::main(title).table(Table::new(3, header, places.iter().map(line).collect())).text(text)
}

/// A number with four digits.
fn short(x: f64) -> String {
    let digits = if x > 0.0 { (3 - libm::floor(libm::log10(x)) as i32).clamp(0, 9) } else { 0 };
    format!("{x:.*}", digits as usize)
}

/// The root of a mean square, with its error to first order.
fn root(square: Estimate) -> Estimate {
    let mean = libm::sqrt(square.mean);
    let standard_error = if mean > 0.0 { square.standard_error / (2.0 * mean) } else { 0.0 };
    Estimate { mean, standard_error }
}
