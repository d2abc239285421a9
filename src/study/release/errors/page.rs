//! Errors as pages, figures and records, published ones beside.

use super::LevelRow;
use crate::config::AxisName;
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Page, counted, number, with_error};
use crate::study::cells::CellRow;
use crate::study::tell::groups::{distinct, grouped, replicates};
use crate::study::tell::published::{self, Published};
use crate::study::tell::records::{FAILED, Named, Records};
use crate::table::Key;
use serde_json::Map;
use std::collections::{BTreeSet, HashMap};

type Line<'a> = (&'a CellRow, &'a LevelRow);

/// A published normalised L1 error of a level, of one release.
struct Theirs {
    /// The source, and its own name of the column.
    column: (String, String),
    /// The method of ours that it stands beside.
    method: String,
    /// The laws beside which it is shown.
    laws: Vec<String>,
    epsilon: f64,
    level: u32,
    value: f64,
}

impl Theirs {
    /// One that tells law, method, epsilon and level, and nothing else.
    fn of(published: &Published) -> Option<Self> {
        let here = published.table == "l1_error" && published.figure == "l1_normalised";
        let plain = published.standard_error.is_none() && published.keys.len() == 4;
        let key = |name: &str| published.key(name).filter(|_| here && plain);
        Some(Self {
            column: (published.source.clone(), published.name.clone()),
            method: key("method").filter(|method| !method.contains('|'))?.to_owned(),
            laws: key("law")?.split('|').map(str::to_owned).collect(),
            epsilon: key("epsilon")?.parse().ok()?,
            level: key("level")?.parse().ok()?,
            value: published.value,
        })
    }

    /// Whether the table of a law has its row.
    fn is_among(&self, cell: &CellRow, level: u32) -> bool {
        let law = self.laws.iter().any(|law| law == cell.law.name());
        law && self.epsilon == cell.epsilon && self.level == level
    }
}

/// Whether the pages of a run show a figure. Errors: its tables.
pub(in super::super) fn shows(run: &Named, published: &Published) -> Result<bool> {
    let Some(figure) = Theirs::of(published) else { return Ok(false) };
    let cells = run.by_cell(|row: &LevelRow| row.cell)?;
    Ok(cells.iter().any(|(cell, rows)| rows.iter().any(|row| figure.is_among(cell, row.level))))
}

fn published(run: &Named) -> Result<Vec<Theirs>> {
    Ok(published::of(&run.run)?.iter().filter_map(Theirs::of).collect())
}

/// The normalised L1 error: a table for each law, budget rule and sensitivity.
pub(in super::super) fn pages(run: &Named) -> Result<Page> {
    let cells = run.by_cell(|row: &LevelRow| row.cell)?;
    let published = published(run)?;
    let drawn: HashMap<Key, &Vec<LevelRow>> =
        cells.iter().map(|(cell, levels)| (cell.cell, levels)).collect();
    let is_shown = |cell: &&CellRow| drawn.contains_key(&cell.cell) || run.failed.contains_key(&cell.cell);
    // Cells that share a table: everything but epsilon, level and method.
    let table = |cell: &&CellRow| cell.noise_but_budget();
    let page = |cells: Vec<&CellRow>| {
        let law = cells[0].law.name();
        let mut lines: Vec<Line> = Vec::new();
        for &cell in &cells {
            let levels = drawn.get(&cell.cell).into_iter().flat_map(|levels| levels.iter());
            lines.extend(levels.map(|level| (cell, level)));
        }
        let here: Vec<&Theirs> =
            published.iter().filter(|figure| figure.laws.iter().any(|name| name == law)).collect();
        error_table(run, &cells, &lines, &here).and(against_published(run, law, &lines, &here))
    };
    Ok(grouped(run.printed.iter().filter(is_shown), table).into_iter().map(page).collect())
}

/// Levels by epsilon and method; below a method the published figures that stand beside it. `cells`: with those that failed.
fn error_table(run: &Named, cells: &[&CellRow], lines: &[Line], published: &[&Theirs]) -> Page {
    let mut methods: Vec<&CellRow> = Vec::new();
    for cell in cells {
        if !methods.iter().any(|method| method.has_method_of(cell)) {
            methods.push(cell);
        }
    }
    let epsilons = distinct(cells.iter().map(|cell| cell.epsilon));
    // Where all cells failed, the levels are those of the run.
    let levels = match levels(lines.iter().map(|(_, line)| *line)) {
        none if none.is_empty() => (1..=run.run.manifest.levels.len().max(1) as u32).collect(),
        some => some,
    };
    let mut body = Vec::new();
    for epsilon in epsilons {
        // A published figure stands behind the last method of its name.
        let mut theirs: Vec<&&Theirs> = published.iter().filter(|figure| figure.epsilon == epsilon).collect();
        let mut beside = |method: Option<&str>, body: &mut Vec<Vec<String>>| {
            let (here, others): (Vec<_>, Vec<_>) =
                theirs.iter().partition(|figure| method.is_none_or(|name| figure.method == name));
            theirs = others;
            let mut columns: Vec<&(String, String)> = here.iter().map(|figure| &figure.column).collect();
            columns.sort_unstable();
            columns.dedup();
            for column in columns {
                let of = |level| here.iter().find(|f| f.column == *column && f.level == level);
                let value = |level| of(level).map_or("-".into(), |figure| number(figure.value));
                let words = format!("{}, published", column.1);
                body.push(
                    [epsilon.to_string(), words]
                        .into_iter()
                        .chain(levels.iter().copied().map(value))
                        .collect(),
                );
            }
        };
        for (i, method) in methods.iter().enumerate() {
            let of = |level: u32| {
                lines.iter().find(|(cell, line)| {
                    method.has_method_of(cell) && cell.epsilon == epsilon && line.level == level
                })
            };
            let here = |cell: &&&CellRow| method.has_method_of(cell) && cell.epsilon == epsilon;
            let Some(cell) = cells.iter().find(here) else { continue };
            let none = if run.failed.contains_key(&cell.cell) { FAILED } else { "-" };
            let twice = |other: &&CellRow| other.method_plain() == cell.method_plain();
            let words = match methods.iter().copied().filter(twice).count() {
                1 => cell.method_name(),
                _ => cell.method_words(),
            };
            let error = |level| of(level).map_or(none.into(), |(_, line)| with_error(line.estimate()));
            body.push(
                [epsilon.to_string(), words].into_iter().chain(levels.iter().copied().map(error)).collect(),
            );
            if !methods[i + 1..].iter().any(|other| other.method == method.method) {
                beside(Some(method.method.name()), &mut body);
            }
        }
        beside(None, &mut body);
    }
    let header = ["epsilon", "method"]
        .map(str::to_owned)
        .into_iter()
        .chain(levels.iter().map(|&level| run.level(level)));
    let (_, replicates) = replicates(lines.iter().map(|(_, line)| line.replicates));
    // Everything that the noise is, the levels' split of a tree alone; what not every law has comes last.
    let on_table = run.run.manifest.subject == "table";
    let sum = if on_table { "all entries / their number" } else { "a level / nodes of the whole tree" };
    let mut which = cells[0].parts();
    which.retain(|part| !(part.words.is_empty() || on_table && part.axis == AxisName::Split));
    which.sort_by_key(|part| part.axis == AxisName::Delta);
    let which: Vec<String> = which.into_iter().map(|part| part.words).collect();
    let about = format!(
        "Sum of |released - confidential| over {sum}, mean ± standard error of {replicates} replicates ({}).",
        which.join(", ")
    );
    let (law, said) = (cells[0].law.name(), cells[0].said_but(&[AxisName::Sensitivity]));
    let title = format!("{}: normalised L1 error, {law} noise{said}", run.name);
    let name = Figure::named(&format!("{}-l1-error-{law}{said}", run.name));
    let panels = panels(run, lines, published, &methods);
    let page = Page::main(title.clone()).text(about);
    let page = match lines.is_empty() {
        true => page,
        false => page.figure(figure(name, title, named(run, cells, &methods), panels)),
    };
    page.table(2, header, body)
}

/// Methods in words, with the budgets at which they failed.
fn named(run: &Named, cells: &[&CellRow], methods: &[&CellRow]) -> Vec<String> {
    let words = |method: &&CellRow| {
        let failed =
            cells.iter().filter(|cell| method.has_method_of(cell) && run.failed.contains_key(&cell.cell));
        let failed: Vec<String> = failed.map(|cell| cell.epsilon.to_string()).collect();
        match failed.is_empty() {
            true => method.method_words(),
            false => format!("{} ({FAILED} at epsilon {})", method.method_words(), failed.join(", ")),
        }
    };
    methods.iter().map(words).collect()
}

/// The errors by level and method, the published ones beside.
fn figure(name: String, title: String, names: Vec<String>, panels: Vec<Panel>) -> Figure {
    Figure {
        name,
        title,
        about: format!(
            "For each of {} the mean error of a release, with its 95 % interval, on a logarithmic axis, by level and \
                epsilon. The table below has the figures.",
            counted(names.len() as f64, "method")
        ),
        x: Axis { label: "normalised L1 error (counts per node)".into(), scale: Scale::Log },
        y: Axis { label: String::new(), scale: Scale::Names(names) },
        panels,
    }
}

/// The levels that some lines are of, in order; their numbers are a file's, and may be any.
pub(super) fn levels<'a>(lines: impl Iterator<Item = &'a LevelRow>) -> Vec<u32> {
    let levels: BTreeSet<u32> = lines.map(|line| line.level).collect();
    levels.into_iter().collect()
}

/// A panel for each level, in which methods have the places of their names.
fn panels(run: &Named, lines: &[Line], published: &[&Theirs], methods: &[&CellRow]) -> Vec<Panel> {
    let levels = levels(lines.iter().map(|(_, line)| *line));
    let epsilons = distinct(lines.iter().map(|(cell, _)| cell.epsilon));
    let row =
        |cell: &CellRow| methods.iter().position(|method| method.has_method_of(cell)).unwrap_or(0) as f64;
    let panel = |level: u32| {
        let mut series = Vec::new();
        for &epsilon in &epsilons {
            let here = lines.iter().filter(|(cell, line)| cell.epsilon == epsilon && line.level == level);
            let mark = |(cell, line): &Line| {
                let error = line.estimate();
                Mark::new(error.mean, row(cell)).estimated(error)
            };
            series.push(Series {
                name: format!("epsilon {epsilon}"),
                kind: Kind::Dots,
                marks: here.map(mark).collect(),
            });
            let theirs = published.iter().filter(|figure| figure.epsilon == epsilon && figure.level == level);
            let theirs = theirs.filter_map(|figure| {
                let place = methods.iter().rposition(|method| method.method.name() == figure.method)?;
                Some(Mark::new(figure.value, place as f64))
            });
            let marks: Vec<Mark> = theirs.collect();
            if !published.is_empty() {
                series.push(Series {
                    name: format!("epsilon {epsilon}, published"),
                    kind: Kind::Dots,
                    marks,
                });
            }
        }
        Panel { title: run.level(level), series }
    };
    levels.iter().copied().map(panel).collect()
}

/// How far each published figure lies from ours, and whether it scales as noise must.
fn against_published(run: &Named, law: &str, lines: &[Line], published: &[&Theirs]) -> Page {
    if published.is_empty() {
        return Page::default();
    }
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let mut keys: Vec<(&(String, String), &str, u32)> =
        published.iter().map(|f| (&f.column, f.method.as_str(), f.level)).collect();
    keys.sort_unstable();
    keys.dedup();
    let epsilons = distinct(published.iter().map(|f| f.epsilon));
    for (column, method, level) in keys {
        let ours = |epsilon: f64| {
            let here = || {
                lines.iter().filter(|(cell, line)| {
                    cell.method.name() == method && cell.epsilon == epsilon && line.level == level
                })
            };
            // Of a method with and without inequalities, the one without.
            here().find(|(cell, _)| !cell.nonnegative).or(here().next()).map(|(_, line)| *line)
        };
        let theirs = |epsilon: f64| {
            published.iter().find(|f| f.column == *column && f.level == level && f.epsilon == epsilon)
        };
        let column = &column.1;
        let mut row = vec![column.clone(), method.to_owned(), run.level(level)];
        for &epsilon in &epsilons {
            let (line, figure) = (ours(epsilon), theirs(epsilon));
            let z =
                line.zip(figure).map(|(line, figure)| (figure.value - line.l1_normalised) / line.deviation());
            row.push(figure.map_or("-".into(), |figure| number(epsilon * figure.value)));
            row.push(line.map_or("-".into(), |line| number(epsilon * line.l1_normalised)));
            row.push(z.filter(|z| z.is_finite()).map_or("-".into(), |z| format!("{z:+.1}")));
        }
        if let (Some(&low), Some(&high)) = (epsilons.first(), epsilons.last()) {
            let both = (theirs(low), theirs(high), ours(low), ours(high));
            if let (Some(their_low), Some(their_high), Some(our_low), Some(our_high)) = both {
                let their_factor = high * their_high.value / (low * their_low.value);
                let (a, b) = (our_high.estimate(), our_low.estimate());
                let our_factor = high * a.mean / (low * b.mean);
                let se = our_factor * libm::hypot(a.standard_error / a.mean, b.standard_error / b.mean);
                let spread = |line: &LevelRow| line.deviation() / line.l1_normalised;
                let noise = libm::hypot(spread(our_low), spread(our_high));
                let z = libm::log(their_factor / our_factor) / noise;
                // Of few nodes a release's error varies by its own size, and one ratio says nothing.
                if noise < 0.3 && z.abs() > 5.0 {
                    notes.push(format!(
                        "{column}, {}: from epsilon {low} to {high} error × epsilon changes by the factor \
                         {their_factor:.2}; under `{method}` by {}. Between two single releases of that law the factor \
                         has a relative standard deviation of {noise:.3}: the published one lies {z:+.1} of them away. \
                         Another sensitivity or split multiplies both figures alike (exactly so for Laplace noise \
                         and equalities), so it cannot explain this.",
                        run.level(level),
                        with_error(Estimate { mean: our_factor, standard_error: se })
                    ));
                }
            }
        }
        rows.push(row);
    }
    let mut header = vec!["published".to_owned(), "beside".to_owned(), "level".to_owned()];
    for epsilon in &epsilons {
        header.extend([format!("ε={epsilon}: theirs"), "ours".to_owned(), "z".to_owned()]);
    }
    Page::headed(format!("{}: published against ours, {law} noise", run.name))
        .text(
            "Error × epsilon (the same for every epsilon if the error scales as 1/epsilon), and \
         z = (published - our mean) / standard deviation of one of our releases.",
        )
        .table(3, header, rows)
        .list(notes)
}

/// The levels of every cell, and the published figures beside.
pub(in super::super) fn records(runs: &[Named]) -> Result<Records<'_>> {
    let mut records = Records::of_cells::<LevelRow>("errors", "l1_error.csv", runs);
    records.header.insert(0, "source".into());
    let mut theirs = Vec::new();
    for run in runs {
        for figure in published(run)? {
            let mut row = Map::new();
            row.insert("source".into(), published::PUBLISHED_ROW.into());
            row.insert("run".into(), run.name.as_str().into());
            row.insert("law".into(), figure.laws.join("|").into());
            row.insert("method".into(), figure.column.1.into());
            row.insert("epsilon".into(), figure.epsilon.into());
            row.insert("level".into(), figure.level.into());
            row.insert("l1_normalised".into(), figure.value.into());
            theirs.push(row);
        }
    }
    let ours = records.with(|row| drop(row.insert("source".into(), "run".into())));
    Ok(ours.and(theirs))
}
