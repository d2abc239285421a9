//! The page of a study of trees of tables: errors by level and query, methods beside each other.

use super::config::Way;
use super::{CubeCellRow, CubeErrorRow};
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
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
    let cells = grouped(lines.iter().map(|(cell, _)| *cell), |cell| cell.label());
    let methods: Vec<String> = cells.iter().map(|same| same[0].label()).collect();
    // In the order of a method that has all of them.
    let rows = |own: &CubeCellRow| lines.iter().filter(|(cell, _)| cell.cell == own.cell).count();
    let mut ordered = lines.to_vec();
    ordered.sort_by_key(|(cell, _)| std::cmp::Reverse(rows(cell)));
    let places = grouped(ordered, |(_, row)| (row.level.clone(), row.query.clone(), row.size.clone()));
    let table = |tell: fn(&CubeCellRow, &CubeErrorRow) -> String| {
        let header = ["level", "query", "areas of"].map(str::to_owned).into_iter().chain(methods.clone());
        let line = |own: &Vec<Line>| -> Vec<String> {
            let (_, first) = own[0];
            let of = |method: &String| {
                let row = own.iter().find(|(cell, _)| cell.label() == *method);
                row.map_or(String::new(), |(cell, row)| tell(cell, row))
            };
            let keys = [&first.level, &first.query, &first.size].map(String::clone);
            keys.into_iter().chain(methods.iter().map(of)).collect()
        };
        Table::new(3, header.collect::<Vec<String>>(), places.iter().map(line).collect())
    };
    let (_, words) = replicates(lines.iter().map(|(_, row)| row.replicates));
    let added = match cell.added {
        Some(added) => format!("One record that is added or removed pays an epsilon of {}", loss(added)),
        None => "No record can be added or removed, since totals are known".to_owned(),
    };
    let moved = format!(
        "; one that is moved to another area and other categories pays an epsilon of at most {}.",
        loss(cell.moved)
    );
    let descents = cells.iter().map(|same| same[0]).filter(|cell| is_descent(&cell.method));
    let descents: Vec<String> = descents.map(|cell| format!("`{}`", cell.label())).collect();
    let descents = match descents.split_last() {
        Some((last, others @ [_, ..])) => format!("{} and {last}", others.join(", ")),
        _ => descents.concat(),
    };
    let gap = lines.iter().filter_map(|(_, row)| row.gap).fold(0.0, f64::max);
    let (mut fitted, mut biased, mut promised) = Default::default();
    if !descents.is_empty() {
        fitted = format!(
            "The tables of {descents}, before they are rounded, have a sum of squares that is {gap:.1e} of itself above the least at most. "
        );
        biased = format!("; of {descents} the bias in its place");
        promised = format!(
            ". Of {descents} the variances are those of the estimates that the tables are fitted to, and promise nothing of these"
        );
    }
    if let Some(times) = lines.iter().find_map(|(cell, _)| cell.bootstrap) {
        promised += &format!(
            "; in brackets those of a parametric bootstrap, which takes the released tables for the true ones \
             and releases them {times} times"
        );
    }
    let text = format!(
        "Root mean squared errors of an answer, in counts, over {words} releases. {fitted}{added}{moved}"
    );
    let computed = |cell: &CubeCellRow, row: &CubeErrorRow| match is_descent(&cell.method) {
        true => told(row.bias),
        false => short(libm::sqrt(row.squared_computed)),
    };
    let held = |_: &CubeCellRow, row: &CubeErrorRow| match row.bootstrapped {
        None => format!("{:.1} %", 100.0 * row.covered.mean),
        Some(own) => format!("{:.1} % ({:.1} %)", 100.0 * row.covered.mean, 100.0 * own.mean),
    };
    let beside = Page::headed(format!("{title}: beside the variances"))
        .table(table(computed))
        .text(format!("Root mean squared errors of an answer that follow from the variances of the noise, in counts{biased}."))
        .table(table(held))
        .text(format!("How many 90 % intervals of a normal law with these variances held the true answer{promised}."));
    let errors = table(|_, row| told(row.squared.root()));
    Page::main(&title).table(errors).text(text).figure(figure(title, &methods, lines)).and(beside.aside())
}

/// Errors of all answers of a level and a query: a panel for each level, a series for each method.
fn figure(title: String, methods: &[String], lines: &[Line]) -> Figure {
    let names = |of: fn(&CubeErrorRow) -> &String| -> Vec<String> {
        grouped(lines.iter().map(|(_, row)| of(row)), |name| *name)
            .into_iter()
            .map(|own| own[0].clone())
            .collect()
    };
    let (queries, levels) = (names(|row| &row.query), names(|row| &row.level));
    let mark = |level: &String, method: &str, (place, query): (usize, &String)| {
        let is = |(cell, row): &&Line| cell.label() == method && row.level == *level && row.query == *query;
        let own: Vec<&CubeErrorRow> = lines.iter().filter(is).map(|(_, row)| *row).collect();
        let answers: f64 = own.iter().map(|row| row.answers as f64).sum();
        let mean = |of: fn(&CubeErrorRow) -> f64| {
            own.iter().map(|row| row.answers as f64 * of(row)).sum::<f64>() / answers
        };
        // Errors of sizes hang together: their standard errors add at most.
        let (square, error) = (mean(|row| row.squared.mean), mean(|row| row.squared.standard_error));
        // What is known has none but rounding.
        (square > 1e-18).then(|| {
            let interval = error.is_finite().then(|| {
                let end = |x: f64| libm::sqrt(x.max(0.0));
                (end(square - 1.96 * error), end(square + 1.96 * error))
            });
            Mark { interval, ..Mark::new(libm::sqrt(square), place as f64) }
        })
    };
    let panel = |level: &String| {
        let series = |method: &String| Series {
            name: method.clone(),
            kind: Kind::Dots,
            marks: queries.iter().enumerate().filter_map(|query| mark(level, method, query)).collect(),
        };
        Panel { title: level.clone(), series: methods.iter().map(series).collect() }
    };
    Figure {
        name: Figure::named(&title),
        title,
        about: "The root mean squared error of an answer, query by query: a panel for each level, a series for each method.".into(),
        x: Axis::new("root mean squared error, counts", Scale::Log),
        y: Axis::new("", Scale::Names(queries.clone())),
        panels: levels.iter().map(panel).collect(),
        note: "Over all answers of a level. Intervals hold 95 % or more; what is known has no error.".into(),
    }
}

impl CubeCellRow {
    /// The method, with what is settled first.
    fn label(&self) -> String {
        let first = self.passes.as_ref().map_or(String::new(), |passes| format!(", {passes} first"));
        format!("{}{first}", self.method)
    }
}

/// Whether a method makes tables of integers at least 0.
fn is_descent(method: &str) -> bool {
    Way::named(method).is_some_and(Way::is_descent)
}

/// An estimate with its error, where it has one.
fn told(estimate: Estimate) -> String {
    if estimate.standard_error.is_finite() { brief(estimate) } else { short(estimate.mean) }
}

/// A loss with four digits, however small.
fn loss(epsilon: f64) -> String {
    if epsilon > 1e-4 { short(epsilon) } else { format!("{epsilon:.3e}") }
}

/// A number with four digits; what is no more than rounding is 0.
fn short(x: f64) -> String {
    let digits = if x.abs() > 1e-9 { (3 - libm::floor(libm::log10(x.abs())) as i32).clamp(0, 9) } else { 0 };
    format!("{x:.*}", digits as usize)
}
