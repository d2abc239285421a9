//! Errors by size of the confidential count: every budget and method in one table.

use super::{QueryRow, SizeRow};
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Number, Page, Pivot, Table, brief, counted, grouped, replicates, thousands};
use crate::study::cells::CellRow;
use crate::study::tell::records::Named;
use std::collections::{BTreeMap, HashMap};

/// What a table says of a size.
type Words = fn(&SizeRow) -> String;

/// A cell with what its row says of one size.
type Line<'a> = (&'a CellRow, &'a SizeRow);

/// A row of each size, by its smallest count.
pub(super) fn each<'a>(rows: impl Iterator<Item = &'a SizeRow>) -> BTreeMap<i64, &'a SizeRow> {
    rows.map(|row| (row.least, row)).collect()
}

/// Tables of the error, the bias and the relative error of every query. `name`: what the budgets are called. `budget`: that of
/// a cell; cells without one are left out. Errors: the tables of the run.
pub(in crate::study) fn by_size(
    run: &Named,
    name: &str,
    budget: &dyn Fn(&CellRow) -> Option<f64>,
) -> Result<Page> {
    let queries: HashMap<u32, QueryRow> =
        run.run.all()?.into_iter().map(|row: QueryRow| (row.query, row)).collect();
    let cells = run.by_cell(|row: &SizeRow| row.cell)?;
    let cells = cells.iter().filter(|(cell, _)| budget(cell).is_some());
    let lines = cells.flat_map(|(cell, rows)| rows.iter().map(move |row| (*cell, row)));
    let kind = |(cell, row): &Line| (row.query, cell.noise_but_budget());
    let page = |lines: Vec<Line>| match queries.get(&lines[0].1.query) {
        Some(query) if query.groups > 1 => {
            of(run, query, &lines, (name, &|cell| budget(cell).unwrap_or(f64::NAN)))
        }
        _ => Page::default(),
    };
    Ok(grouped(lines, kind).into_iter().map(page).collect())
}

/// The tables of a query, of cells of one noise.
fn of(run: &Named, query: &QueryRow, lines: &[Line], budget: (&str, &dyn Fn(&CellRow) -> f64)) -> Page {
    let (first, said) = (lines[0].0, lines[0].0.said_but(&[]));
    let (law, noise) = (first.law.name(), format!("{}{said}", first.law.noise_words()));
    let title = format!(
        "{}: error by size of the count, {} by {}, {noise}",
        run.name,
        counted(query.groups as f64, "count"),
        query.columns
    );
    let (_, drawn) = replicates(lines.iter().map(|(_, row)| row.replicates));
    let tables: [(&str, Words); 3] = [
        ("Mean of |released - confidential|", |row| brief(row.mae)),
        ("Bias: mean of released - confidential over the counts of a size (of both signs cancel)", |row| {
            brief(row.mean)
        }),
        ("Relative error: the first over the mean count of the size", |row| match row.count {
            0.0 => "-".into(),
            count => {
                let Estimate { mean, standard_error } = row.mae;
                let share = |x: f64| 100.0 * x / count;
                brief(Estimate { mean: share(mean), standard_error: share(standard_error) }) + " %"
            }
        }),
    ];
    let name = |what: &str| format!("{}-{what}-{}-{law}{said}", run.name, query.query);
    let bias = title.replacen("error", "bias", 1);
    let page = Page::main(title.clone())
        .figure(figure(Drawn::Error, name("by-size"), title, lines, budget))
        .figure(figure(Drawn::Bias, name("bias"), bias, lines, budget));
    tables.into_iter().fold(page, |page, (what, words)| {
        page.text(format!("{what} ± standard error of {drawn} replicates."))
            .table(table(lines, budget, words))
    })
}

/// Budgets and methods down, sizes across.
fn table(lines: &[Line], (name, budget): (&str, &dyn Fn(&CellRow) -> f64), words: Words) -> Table {
    // In the order of the config.
    let methods = grouped(lines.iter().map(|(cell, _)| *cell), |cell| cell.method_key());
    let place = |cell: &CellRow| {
        methods.iter().position(|same| same[0].method_key() == cell.method_key()).unwrap_or(0)
    };
    let sizes = each(lines.iter().map(|(_, row)| *row));
    let key = |cell: &CellRow| (Number(budget(cell)), cell.releases(), place(cell));
    let rows = lines.iter().map(|(cell, row)| (key(cell), row.least, words(row)));
    Pivot::of(rows).table(
        [name, "releases", "method"],
        |&(Number(budget), releases, place)| {
            let alike = |other: &&Vec<&CellRow>| other[0].method_plain() == methods[place][0].method_plain();
            let method = match methods.iter().filter(alike).count() {
                1 => methods[place][0].method_bare(),
                _ => methods[place][0].method_bare_words(),
            };
            [budget.to_string(), releases.words().into(), method]
        },
        |least| {
            let SizeRow { size, groups, .. } = sizes[least];
            [format!("{size}\n({})", thousands(*groups as f64))]
        },
        |_, least, line| [line.get(least).cloned().unwrap_or("-".into())],
    )
}

/// What a figure draws of a size.
#[derive(Clone, Copy)]
enum Drawn {
    Error,
    Bias,
}

/// The errors or biases by size, a panel for each budget and a series for each method.
fn figure(
    drawn: Drawn,
    name: String,
    title: String,
    lines: &[Line],
    (what, budget): (&str, &dyn Fn(&CellRow) -> f64),
) -> Figure {
    let sizes = each(lines.iter().map(|(_, row)| *row));
    let panel = |same: Vec<&Line>| {
        let series = grouped(same.iter().copied(), |(cell, _)| cell.method_key()).into_iter().map(|lines| {
            let mark = |(_, row): &&Line| {
                let place = sizes.keys().position(|least| *least == row.least).unwrap_or(0);
                let mark = |estimate: Estimate| Mark::new(estimate.mean, place as f64);
                match drawn {
                    Drawn::Error => mark(row.mae).estimated(row.mae),
                    Drawn::Bias => mark(row.mean).around(row.mean),
                }
            };
            Series {
                name: lines[0].0.method_words(),
                kind: Kind::Dots,
                marks: lines.iter().map(mark).collect(),
            }
        });
        Panel { title: format!("{what} {}", budget(same[0].0)), series: series.collect() }
    };
    let (x, words) = match drawn {
        Drawn::Error => (
            Axis::new("error of a count", Scale::Log),
            "the mean error of a count with its 95 % interval, on a logarithmic axis",
        ),
        Drawn::Bias => (
            Axis::new("bias of a count", Scale::Linear),
            "the mean of what is released less what is confidential with its 95 % interval",
        ),
    };
    Figure {
        name: Figure::named(&name),
        title,
        about: format!(
            "For each size of the confidential count, from 0 up, {words}, method by method. The tables below have the figures."
        ),
        x,
        y: Axis::new(
            "confidential count",
            Scale::Names(sizes.values().map(|row| row.size.clone()).collect()),
        ),
        panels: grouped(lines, |(cell, _)| Number(budget(cell)).0.to_bits()).into_iter().map(panel).collect(),
        note: String::new(),
    }
}
