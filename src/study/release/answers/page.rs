//! Answers to queries as pages and records.

use super::super::beside::Theirs;
use super::stated::By;
use super::{AnswerRow, GroupRow, QueryRow, SizeRow, SmallRow, size, sizes, small};
use crate::diagnostics::{Estimate, Moments};
use crate::failure::Result;
use crate::page::{Page, Table, counted, data_column, thousands, with_error};
use crate::study::cells::CellRow;
use crate::study::tell::records::{Named, PAGES, Records};
use crate::table::Key;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Groups that err most that are printed.
const SHOWN: usize = 3;
/// Letters of a group's name that are printed.
const LETTERS: usize = 20;

/// By cell and query, the groups that err most.
type Worst = HashMap<(Key, u32), Vec<AnswerRow>>;

/// What is said of a cell's noise.
pub(super) type NoiseWords<'a> = &'a dyn Fn(&CellRow) -> String;

/// Keeps the rows that err most, the first of equal ones first.
fn keep(worst: &mut Vec<AnswerRow>, row: &AnswerRow) {
    let place = worst.partition_point(|other| other.rmse.mean.total_cmp(&row.rmse.mean) != Ordering::Less);
    if place < SHOWN {
        worst.insert(place, row.clone());
        worst.truncate(SHOWN);
    }
}

/// Three tables of every query, over the first cells: what its stated intervals hold, the groups that err most, and what small published
/// counts say; then a release by
/// somebody else, by size. `noise`: what is said of a cell's noise.
pub(in crate::study) fn pages(run: &Named, noise: NoiseWords) -> Result<Page> {
    let queries: Vec<QueryRow> = run.run.all()?;
    let cells = run.by_cell(|row: &SizeRow| row.cell)?;
    let mut worst = Worst::new();
    let wanted: Vec<Key> = cells.iter().take(PAGES).map(|(cell, _)| cell.cell).collect();
    run.run.while_true(|row: AnswerRow| {
        if !wanted.contains(&row.cell) {
            return Ok(false);
        }
        keep(worst.entry((row.cell, row.query)).or_default(), &row);
        Ok(true)
    })?;
    let published = small::rows(run)?;
    let of = |query: &QueryRow| {
        let stated = intervals(run, query, &cells, noise);
        let worst = groups(run, query, &cells, (&worst, noise));
        stated.and(worst).and(small::page(run, query, &published, noise))
    };
    let page = run.with_failed(queries.iter().map(of).collect());
    let page = match cells.len().checked_sub(PAGES) {
        None | Some(0) => page,
        Some(more) => page.text(format!(
            "{}: tables of queries show the first {PAGES} cells; {more} more are in answers.csv and sizes.csv of \
             `report {} --out DIRECTORY`.",
            run.name,
            run.run.folder.display()
        )),
    };
    Ok(page.and(beside(run, &queries, &cells)?))
}

/// The share of the stated intervals that hold the confidential count: cells down, sizes across.
fn intervals(run: &Named, query: &QueryRow, cells: &[(&CellRow, Vec<SizeRow>)], noise: NoiseWords) -> Page {
    let sizes = sizes_of(query, cells);
    let row = |(cell, rows): &(&CellRow, Vec<SizeRow>)| {
        let own = || rows.iter().filter(|row| row.query == query.query);
        // By the worst of them, as of a size.
        let stated =
            own().filter_map(|row| row.stated_by.clone()).max_by_key(|by| by == By::Normal.word())?;
        let share = |size: &&SizeRow| {
            let row = own().find(|row| row.least == size.least)?;
            Some(with_error(Estimate::new(row.coverage?, row.coverage_se)))
        };
        let shares = sizes.iter().map(|size| share(size).unwrap_or("-".into()));
        Some([cell.method_words(), noise(cell), stated].into_iter().chain(shares).collect::<Vec<_>>())
    };
    let rows: Vec<Vec<String>> = cells.iter().take(PAGES).filter_map(row).collect();
    if rows.is_empty() {
        return Page::default();
    }
    let header = ["method", "noise", "stated by"].map(String::from).into_iter();
    let header: Vec<String> = header.chain(sizes.iter().map(|row| row.size.clone())).collect();
    Page::headed(format!("{}: stated 95 % intervals, {}", run.name, title(query)))
        .text(
            "The share of the intervals that hold the confidential count, by size of the count. exact: from the law of the \
             error. normal: as if errors were normal.",
        )
        .table(Table::new(2, header, rows))
}

/// A query in words.
pub(super) fn title(query: &QueryRow) -> String {
    format!("{} by {}", counted(query.groups as f64, "count"), query.columns)
}

/// The sizes that some group of a query has, in order: a row of each.
fn sizes_of<'a>(query: &QueryRow, cells: &'a [(&CellRow, Vec<SizeRow>)]) -> Vec<&'a SizeRow> {
    let rows = cells.iter().flat_map(|(_, rows)| rows).filter(|row| row.query == query.query);
    sizes::each(rows).into_values().collect()
}

/// The groups of a query that err most, cell by cell.
fn groups(
    run: &Named,
    query: &QueryRow,
    cells: &[(&CellRow, Vec<SizeRow>)],
    (worst, noise): (&Worst, NoiseWords),
) -> Page {
    let short = |x: f64| if x.abs() < 1e4 { format!("{x:.2}") } else { format!("{x:.3e}") };
    let group = |row: &AnswerRow| {
        let (name, count) = (trimmed(&row.name), thousands(row.count as f64));
        format!("{name} ({count})\nRMSE {}, bias {}", short(row.rmse.mean), short(row.mean.mean))
    };
    let row = |(cell, _): &(&CellRow, Vec<SizeRow>)| {
        let worst = worst.get(&(cell.cell, query.query))?.iter().map(group);
        let blanks = std::iter::repeat(String::new());
        let words = [cell.method_words(), noise(cell)];
        Some(words.into_iter().chain(worst.chain(blanks).take(SHOWN)).collect::<Vec<_>>())
    };
    let rows: Vec<Vec<String>> = cells.iter().take(PAGES).filter_map(row).collect();
    if rows.is_empty() || query.groups < 2 {
        return Page::default();
    }
    let header = ["method", "noise", "errs most", "second", "third"].map(String::from).to_vec();
    Page::headed(format!("{}: where errors are largest, {}", run.name, title(query)))
        .table(Table::new(2, header, rows))
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
    let mut columns: Vec<String> = Vec::new();
    // By run, query and group.
    let mut all: HashMap<&str, HashMap<(u64, u64), Values>> = HashMap::new();
    for run in runs {
        let groups = all.entry(&run.name).or_default();
        run.run.each(|row: GroupRow| {
            let name = data_column(&row.column, &own);
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
    with_columns(Records::of_cells::<SizeRow>("sizes", "sizes.csv", runs), runs)
}

/// Small published counts of every cell and query, with the columns of the query.
pub(in super::super) fn small_records(runs: &[Named]) -> Result<Records<'_>> {
    with_columns(Records::of_cells::<SmallRow>("small", "small.csv", runs), runs)
}

/// Records of queries with the columns of their query.
fn with_columns<'a>(mut records: Records<'a>, runs: &'a [Named]) -> Result<Records<'a>> {
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
