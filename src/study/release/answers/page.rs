//! Answers to queries as pages and records.

use super::super::beside::Theirs;
use super::{AnswerRow, GroupRow, QueryRow, SizeRow, size, sizes};
use crate::diagnostics::{Estimate, Moments};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Column, Page, Table, with_error};
use crate::study::cells::CellRow;
use crate::study::tell::records::{Named, PAGES, Records};
use crate::table::Key;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Groups of a kind (largest, smallest, worst) that are printed.
const SHOWN: usize = 3;
/// Letters of a group's name that are printed.
const LETTERS: usize = 20;

/// The groups of a query that are printed, of the rows so far.
#[derive(Default)]
struct Shown {
    /// By kind: the first by its order.
    kinds: [Vec<AnswerRow>; 3],
}

/// The kinds in words.
const KINDS: [&str; 3] = ["largest", "smallest", "worst"];

impl Shown {
    fn push(&mut self, row: &AnswerRow) {
        let orders: [fn(&AnswerRow, &AnswerRow) -> Ordering; 3] = [
            |a, b| b.count.cmp(&a.count),
            |a, b| a.count.cmp(&b.count),
            |a, b| b.rmse.mean.total_cmp(&a.rmse.mean),
        ];
        for (rows, order) in self.kinds.iter_mut().zip(orders) {
            // Of equal ones the first stays first.
            let place = rows.partition_point(|other| order(other, row) != Ordering::Greater);
            if place < SHOWN {
                rows.insert(place, row.clone());
                rows.truncate(SHOWN);
            }
        }
    }
}

/// The sizes of every query, its largest, smallest and worst groups; then a release by somebody else, by size.
pub(in crate::study) fn pages(run: &Named) -> Result<Page> {
    let queries: Vec<QueryRow> = run.run.all()?;
    let cells = run.by_cell(|row: &SizeRow| row.cell)?;
    let mut shown: HashMap<(Key, u32), Shown> = HashMap::new();
    let wanted: Vec<Key> = cells.iter().take(PAGES).map(|(cell, _)| cell.cell).collect();
    run.run.while_true(|row: AnswerRow| {
        if !wanted.contains(&row.cell) {
            return Ok(false);
        }
        shown.entry((row.cell, row.query)).or_default().push(&row);
        Ok(true)
    })?;
    let page = |cell: &CellRow, rows: &[SizeRow]| {
        let of = |query: &QueryRow| {
            let rows: Vec<&SizeRow> = rows.iter().filter(|row| row.query == query.query).collect();
            let page = one(&run.name, cell, query, &rows, shown.get(&(cell.cell, query.query)));
            // Of all cells together, at the first.
            let first = wanted.first() == Some(&cell.cell);
            match first.then(|| by_size(&run.name, query, &cells)).flatten() {
                Some(figure) => page.figure(figure),
                None => page,
            }
        };
        Ok(queries.iter().map(of).collect())
    };
    Ok(run.pages(&cells, "answers.csv and sizes.csv", page)?.and(beside(run, &queries, &cells)?))
}

/// The sizes that some group of a query has, in order: a row of each.
fn sizes_of<'a>(query: &QueryRow, cells: &'a [(&CellRow, Vec<SizeRow>)]) -> Vec<&'a SizeRow> {
    let rows = cells.iter().flat_map(|(_, rows)| rows).filter(|row| row.query == query.query);
    sizes::each(rows).into_values().collect()
}

/// The bias of a query's answers by size of the count, of the cells that have a page.
fn by_size(run: &str, query: &QueryRow, cells: &[(&CellRow, Vec<SizeRow>)]) -> Option<Figure> {
    let sizes = sizes_of(query, cells);
    let series = |(cell, rows): &(&CellRow, Vec<SizeRow>)| {
        let mark = |row: &SizeRow| {
            let place = sizes.iter().position(|size| size.least == row.least)?;
            let Estimate { mean, standard_error } = row.mean;
            let (mark, half) = (Mark::new(mean, place as f64), 1.96 * standard_error);
            Some(if half > 0.0 { mark.within(mean - half, mean + half) } else { mark })
        };
        let rows = rows.iter().filter(|row| row.query == query.query);
        Series { name: cell.words(), kind: Kind::Dots, marks: rows.filter_map(mark).collect() }
    };
    let series: Vec<Series> = cells.iter().take(PAGES).map(series).collect();
    if query.groups < 2 || series.iter().all(|series| series.marks.len() < 2) {
        return None;
    }
    let title = format!(
        "{run}, query {}: bias by size of the count, {} groups by {}",
        query.query, query.groups, query.columns
    );
    Some(Figure {
        name: Figure::named(&format!("{run}-bias-{}", query.query)),
        title,
        about:
            "For each size of the confidential count, from 0 up, the mean error of the answers with its 95 % \
            interval, method by method. The tables of the \
                cells have the figures."
                .into(),
        x: Axis::new("mean error (counts)", Scale::Linear),
        y: Axis::new("confidential count", Scale::Names(sizes.iter().map(|row| row.size.clone()).collect())),
        panels: Panel::only(series),
        note: match cells.len().checked_sub(PAGES) {
            None | Some(0) => String::new(),
            Some(more) => format!("The figure shows the first {PAGES} cells; sizes.csv has {more} more."),
        },
    })
}

/// One query of one cell.
fn one<'a>(run: &str, cell: &CellRow, query: &QueryRow, rows: &[&SizeRow], shown: Option<&'a Shown>) -> Page {
    let title = format!(
        "{run}, query {}: {} groups by {}, {}, {}, {} replicates",
        query.query,
        query.groups,
        query.columns,
        cell.method_words(),
        cell.noise_words(),
        rows.first().map_or(0, |row| row.replicates)
    );
    let columns: &[Column<&SizeRow>] = &[
        ("count", &|row| row.size.clone()),
        ("groups", &|row| row.groups.to_string()),
        ("bias", &|row| with_error(row.mean)),
        ("MAE", &|row| with_error(row.mae)),
        ("RMSE", &|row| with_error(row.rmse)),
    ];
    let held = |row: &&SizeRow| {
        let coverage = with_error(Estimate::new(row.coverage?, row.coverage_se));
        let stated = match row.stated_by.as_deref() {
            Some("normal") => "the 95 % intervals that are stated as if errors were normal",
            _ => "the stated 95 % intervals",
        };
        Some(format!("counts {}: {stated} hold {coverage} of them", row.size))
    };
    let held = rows.iter().filter_map(held).collect();
    let page = Page::headed(title).listed(1, rows, columns).list(held);
    let Some(shown) = shown.filter(|_| query.groups > 1) else { return page };
    let short = |x: f64| if x.abs() < 1e4 { format!("{x:.2}") } else { format!("{x:.3e}") };
    let kind = |(kind, rows): (&'static str, &'a Vec<AnswerRow>)| {
        rows.iter().enumerate().map(move |(i, row)| (if i == 0 { kind } else { "" }, row))
    };
    let rows: Vec<(&str, &AnswerRow)> = KINDS.into_iter().zip(&shown.kinds).flat_map(kind).collect();
    let columns: &[Column<(&str, &AnswerRow)>] = &[
        ("", &|(kind, _)| (*kind).to_owned()),
        ("group", &|(_, row)| trimmed(&row.name)),
        ("count", &|(_, row)| row.count.to_string()),
        ("bias", &|(_, row)| with_error(row.mean)),
        ("RMSE", &|(_, row)| short(row.rmse.mean)),
    ];
    page.listed(2, &rows, columns)
}

/// A name of at most [`LETTERS`] letters: of a longer one its end, which tells groups of one parent apart.
fn trimmed(name: &str) -> String {
    match name.chars().count().checked_sub(LETTERS) {
        None | Some(0) => name.to_owned(),
        Some(more) => std::iter::once('…').chain(name.chars().skip(more + 1)).collect(),
    }
}

/// Their errors and ours on the same groups, by size of the confidential count.
fn beside(run: &Named, queries: &[QueryRow], all: &[(&CellRow, Vec<SizeRow>)]) -> Result<Page> {
    let (Some(theirs), false) = (Theirs::of(&run.run)?, queries.is_empty()) else {
        return Ok(Page::default());
    };
    let cells: Vec<Key> = all.iter().take(PAGES).map(|(cell, _)| cell.cell).collect();
    let sizes: HashMap<u32, Vec<&SizeRow>> =
        queries.iter().map(|query| (query.query, sizes_of(query, all))).collect();
    let least: HashMap<u32, Vec<i64>> =
        sizes.iter().map(|(query, sizes)| (*query, sizes.iter().map(|row| row.least).collect())).collect();
    // By query: their errors; by query and cell: our mean errors; both by size.
    let mut of_theirs: HashMap<u32, Vec<Moments>> = HashMap::new();
    let mut ours: HashMap<(u32, Key), Vec<Moments>> = HashMap::new();
    run.run.while_true(|row: AnswerRow| {
        if !cells.contains(&row.cell) {
            return Ok(false);
        }
        if let Some(other) = theirs.get(&row.name) {
            let Some(least) = least.get(&row.query) else { return Ok(true) };
            let (place, none) = (size(least, row.count), || vec![Moments::default(); least.len()]);
            if row.cell == cells[0] {
                of_theirs.entry(row.query).or_insert_with(none)[place].push(other.error() as f64);
            }
            ours.entry((row.query, row.cell)).or_insert_with(none)[place].push(row.mean.mean);
        }
        Ok(true)
    })?;
    let mut page = Page::default();
    for query in queries {
        let Some(errors) = of_theirs.get(&query.query) else { continue };
        let words = &sizes[&query.query];
        let sizes: Vec<usize> = (0..words.len()).filter(|&place| errors[place].count() > 0).collect();
        let mut header = vec!["bias".to_owned(), "epsilon".to_owned()];
        header.extend(sizes.iter().map(|&place| {
            let groups = errors[place].count();
            format!("{}\n({groups} groups)", words[place].size)
        }));
        let mut body = vec![vec!["theirs".to_owned(), "-".to_owned()]];
        body[0].extend(sizes.iter().map(|&place| with_error(errors[place].estimate())));
        for cell in &run.printed {
            let Some(ours) = ours.get(&(query.query, cell.cell)) else { continue };
            let mut row = vec![cell.method_words(), cell.epsilon.to_string()];
            row.extend(sizes.iter().map(|&place| format!("{:.3}", ours[place].mean())));
            body.push(row);
        }
        let title =
            format!("{}, query {}, by size of the count, beside: {}", run.name, query.query, theirs.note);
        page = page.and(Page::headed(title).table(Table::new(2, header, body)).text(
            "Theirs is the mean error of one release, with the standard error of its groups taken as independent. Ours \
             is the mean error of the same groups over all replicates.",
        ));
    }
    Ok(page)
}

/// Values by the names of their columns.
type Values = Vec<(String, String)>;

/// The answers of every cell, with a column for each column of a query.
pub(in super::super) fn records(runs: &[Named]) -> Result<Records<'_>> {
    let mut records = Records::of_cells::<AnswerRow>("answers", "answers.csv", runs);
    let own = records.header.clone();
    // A column of the data that has the name of one of ours.
    let named = |column: &str| match own.iter().any(|name| name == column) {
        true => format!("data.{column}"),
        false => column.to_owned(),
    };
    let mut columns: Vec<String> = Vec::new();
    // By run, query and group.
    let mut all: HashMap<&str, HashMap<(u64, u64), Values>> = HashMap::new();
    for run in runs {
        let groups = all.entry(&run.name).or_default();
        run.run.each(|row: GroupRow| {
            let name = named(&row.column);
            if !columns.contains(&name) {
                columns.push(name.clone());
            }
            groups.entry((row.query.into(), row.group)).or_default().push((name, row.value));
            Ok(())
        })?;
    }
    records.header.splice(1..1, columns);
    Ok(records.with(move |row| {
        let number = |name: &str| row.get(name).and_then(Value::as_u64).unwrap_or(0);
        let groups = row.get("run").and_then(Value::as_str).and_then(|run| all.get(run));
        let group = groups.and_then(|groups| groups.get(&(number("query"), number("group"))));
        for (name, value) in group.into_iter().flatten() {
            row.insert(name.clone(), value.as_str().into());
        }
    }))
}

/// The sizes of every cell and query, with the columns of the query.
pub(in super::super) fn size_records(runs: &[Named]) -> Result<Records<'_>> {
    let mut records = Records::of_cells::<SizeRow>("sizes", "sizes.csv", runs);
    records.header.insert(1, "columns".into());
    let mut all: HashMap<&str, HashMap<u64, String>> = HashMap::new();
    for run in runs {
        let queries = run.run.all()?.into_iter().map(|row: QueryRow| (row.query.into(), row.columns));
        all.insert(&run.name, queries.collect());
    }
    Ok(records.with(move |row| {
        let queries = row.get("run").and_then(Value::as_str).and_then(|run| all.get(run));
        let query = row.get("query").and_then(Value::as_u64);
        let columns = query.and_then(|query| queries?.get(&query));
        row.insert("columns".into(), columns.cloned().into());
    }))
}
