//! Box plots of the errors of all entries, methods beside each other, with one release by each and by somebody else.

use super::EntryRow;
use super::beside::{BesideRow, Theirs};
use super::shown::Shown;
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Column, Page};
use crate::study::cells::CellRow;
use crate::study::tell::records::Named;
use std::collections::HashSet;

/// Methods of a panel at most, and boxes of a figure: with more of these there are fewer methods.
const METHODS: usize = 3;
const BOXES: usize = 1_500;
/// So many entries are named; of more each stands at its rank.
const NAMED: usize = 20;

/// The entries of a cell.
type OfCell<'a> = (&'a CellRow, Vec<EntryRow>);

/// A panel: cells with the same noise, and some of their entries.
struct Part<'a> {
    title: String,
    cells: Vec<(&'a CellRow, Vec<&'a EntryRow>)>,
}

/// The figure with a table of its panels, if the config of the run asks for it. Errors: files of the run.
pub(super) fn pages(run: &Named) -> Result<Page> {
    if !run.run.has::<EntryRow>() {
        return Ok(Page::default());
    }
    let Some(panels) = Shown::of(&run.run)?.boxes else { return Ok(Page::default()) };
    let cells: Vec<OfCell> = run.by_cell(|row: &EntryRow| row.cell)?;
    let theirs = Theirs::of(&run.run)?;
    let parts = parts(&cells, |name| panels.of(name).unwrap_or_default());
    if parts.is_empty() {
        return Ok(Page::default());
    }
    let title = format!("{}: errors of every entry", run.name);
    let page = Page::headed(title.clone()).figure(figure(&run.name, title, &parts, theirs.as_ref()));
    Ok(page.listed(2, &lines(&parts, theirs.as_ref()), COLUMNS).text(
        "Largest |mean| / standard error: over the entries of the panel, of all releases. A rank correlation of error and count has a \
         standard deviation of 1/sqrt(entries - 1) without any trend.",
    ))
}

/// The panels: noise by noise in the order of the cells, then by title in that of the entries; entries by increasing count.
fn parts<'a>(cells: &'a [OfCell<'a>], panel: impl Fn(&str) -> String) -> Vec<Part<'a>> {
    let mut seen = HashSet::new();
    let noises = cells.iter().map(|(cell, _)| cell.noise_words());
    let noises: Vec<String> = noises.filter(|noise| seen.insert(noise.clone())).collect();
    // Noises are told by their laws, if that is all that they differ in.
    let law = |noise: &String| {
        cells.iter().find(|(cell, _)| cell.noise_words() == *noise).map_or("", |(cell, _)| cell.law.name())
    };
    let laws: HashSet<&str> = noises.iter().map(law).collect();
    let short = |noise: &String| match laws.len() {
        _ if noises.len() < 2 => String::new(),
        n if n == noises.len() => law(noise).to_owned(),
        _ => noise.clone(),
    };
    let entries = cells.first().map_or(0, |(_, rows)| rows.len());
    let methods = (BOXES / entries.max(1)).clamp(1, METHODS);
    let mut all = Vec::new();
    for noise in &noises {
        let alike: Vec<&OfCell> =
            cells.iter().filter(|(cell, _)| cell.noise_words() == *noise).take(methods).collect();
        let mut titles: Vec<String> = Vec::new();
        for row in alike.iter().flat_map(|(_, rows)| rows) {
            let title = panel(&row.name);
            if !titles.contains(&title) {
                titles.push(title);
            }
        }
        for title in titles {
            let of_cell = |(cell, rows): &&'a OfCell<'a>| {
                let mut rows: Vec<&EntryRow> = rows.iter().filter(|row| panel(&row.name) == title).collect();
                rows.sort_by_key(|row| (row.count, row.entry));
                (*cell, rows)
            };
            let noise = short(noise);
            let words: Vec<&str> =
                [noise.as_str(), &title].into_iter().filter(|words| !words.is_empty()).collect();
            all.push(Part { title: words.join(", "), cells: alike.iter().map(of_cell).collect() });
        }
    }
    all
}

fn figure(run: &str, title: String, parts: &[Part], theirs: Option<&Theirs>) -> Figure {
    let first: Vec<String> = names(&parts[0]);
    let is_named = first.len() <= NAMED && parts.iter().all(|part| names(part) == first);
    let panels = match is_named {
        true => parts.iter().map(named).collect(),
        false => parts.iter().flat_map(|part| ranked(part, theirs)).collect(),
    };
    let label = "released - confidential (counts)";
    let (x, y) = match is_named {
        true => (Axis::new(label, Scale::Linear), Axis::new("", Scale::Names(first))),
        false => (Axis::new("entry, by increasing count", Scale::Linear), Axis::new(label, Scale::Linear)),
    };
    Figure {
        name: Figure::named(&format!("{run}-boxes")),
        title,
        about: "A box plot of the error of each entry for each method: median, quartiles and whiskers; dots are single releases. \
                The CSV of entries has the figures."
            .into(),
        x,
        y,
        panels,
        note: String::new(),
    }
}

/// The names of its entries with their counts.
fn names(part: &Part) -> Vec<String> {
    let rows = part.cells.first().map_or(&[][..], |(_, rows)| rows);
    rows.iter().map(|row| format!("{} ({})", row.name, row.count)).collect()
}

/// The box of an entry without its place.
fn mark(row: &EntryRow, x: f64, y: f64) -> Mark {
    Mark { whiskers: Some((row.whisker_low, row.whisker_high)), ..Mark::new(x, y).within(row.q1, row.q3) }
}

/// Boxes at names; methods stand below each other.
fn named(part: &Part) -> Panel {
    let is_alone = |cell: &CellRow| {
        part.cells.iter().filter(|(other, _)| other.method_name() == cell.method_name()).count() == 1
    };
    let series = |(cell, rows): &(&CellRow, Vec<&EntryRow>)| Series {
        name: if is_alone(cell) { cell.method_name() } else { cell.method_words() },
        kind: Kind::Boxes,
        marks: rows.iter().enumerate().map(|(place, row)| mark(row, row.median, place as f64)).collect(),
    };
    Panel { title: part.title.clone(), series: part.cells.iter().map(series).collect() }
}

/// Boxes at ranks, a panel for each method, with one release by it and theirs.
fn ranked(part: &Part, theirs: Option<&Theirs>) -> Vec<Panel> {
    let panel = |(cell, rows): &(&CellRow, Vec<&EntryRow>)| {
        let series = |name: &str, kind: Kind, mark: &dyn Fn(f64, &EntryRow) -> Option<Mark>| Series {
            name: name.into(),
            kind,
            marks: rows.iter().enumerate().filter_map(|(rank, row)| mark(rank as f64 + 1.0, row)).collect(),
        };
        let error = |row: &EntryRow| Some(theirs?.get(&row.name)?.error() as f64);
        let all = [
            series("all releases", Kind::Boxes, &|x, row| Some(mark(row, x, row.median))),
            series("one of them", Kind::Dots, &|x, row| Some(Mark::new(x, row.first))),
            series("theirs, one release", Kind::Dots, &|x, row| Some(Mark::new(x, error(row)?))),
        ];
        let method = cell.method_words();
        let words: Vec<&str> = [&part.title, &method]
            .into_iter()
            .map(String::as_str)
            .filter(|words| !words.is_empty())
            .collect();
        Panel {
            title: words.join(", "),
            series: all.into_iter().filter(|series| !series.marks.is_empty()).collect(),
        }
    };
    part.cells.iter().map(panel).collect()
}

/// A panel and method in figures.
struct Line {
    panel: String,
    method: String,
    entries: usize,
    releases: String,
    one: f64,
    correlation: f64,
    all: Option<f64>,
    worst: Option<f64>,
}

const COLUMNS: &[Column<Line>] = &[
    ("panel", &|line| if line.panel.is_empty() { "all".into() } else { line.panel.clone() }),
    ("method", &|line| line.method.clone()),
    ("entries", &|line| line.entries.to_string()),
    ("releases", &|line| line.releases.clone()),
    ("one: mean |error|", &|line| format!("{:.2}", line.one)),
    ("rank correlation with the count", &|line| format!("{:+.2}", line.correlation)),
    ("all: mean |error|", &|line| line.all.map_or("-".into(), |x| format!("{x:.3}"))),
    ("largest |mean| / standard error", &|line| line.worst.map_or("-".into(), |x| format!("{x:.2}"))),
];

/// The lines of the table: ours, then theirs, panel by panel.
fn lines(parts: &[Part], theirs: Option<&Theirs>) -> Vec<Line> {
    let mut all = Vec::new();
    for part in parts {
        for (cell, rows) in &part.cells {
            let errors: Vec<f64> = rows.iter().map(|row| row.first).collect();
            let z = |row: &&EntryRow| (row.mean.mean / row.mean.standard_error).abs();
            let worst = rows.iter().map(z).filter(|z| z.is_finite()).fold(0.0, f64::max);
            let mean = rows.iter().map(|row| row.mean_absolute).sum::<f64>() / rows.len() as f64;
            let releases = rows.first().map_or(0, |row| row.draws).to_string();
            all.push(line(part, cell.method_words(), rows, &errors, releases, Some((mean, worst))));
        }
        let Some((theirs, (_, rows))) = theirs.zip(part.cells.first()) else { continue };
        let met: Vec<&EntryRow> =
            rows.iter().copied().filter(|row| theirs.get(&row.name).is_some()).collect();
        if !met.is_empty() {
            let rows = met;
            let error = |row: &&EntryRow| theirs.get(&row.name).map_or(0, BesideRow::error) as f64;
            let errors: Vec<f64> = rows.iter().map(error).collect();
            all.push(line(part, "theirs".into(), &rows, &errors, "1".into(), None));
        }
    }
    all
}

fn line(
    part: &Part,
    method: String,
    rows: &[&EntryRow],
    errors: &[f64],
    releases: String,
    all: Option<(f64, f64)>,
) -> Line {
    let counts: Vec<f64> = rows.iter().map(|row| row.count as f64).collect();
    Line {
        panel: part.title.clone(),
        method,
        entries: rows.len(),
        releases,
        one: errors.iter().map(|x| x.abs()).sum::<f64>() / errors.len() as f64,
        correlation: super::entries::rank_correlation(&counts, errors),
        all: all.map(|(mean, _)| mean),
        worst: all.map(|(_, worst)| worst),
    }
}
