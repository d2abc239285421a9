//! What releases pay together, and both figures of the curves.

use super::{CurveRow, Figure, ProfileRow};
use crate::failure::Result;
use crate::figure::{self, Axis, Kind, Mark, Panel, Scale, Series};
use crate::page::{Column, Page, counted, distinct, grouped};
use crate::privacy::{ChangeKind, at_most};
use crate::study::cells::CellRow;
use crate::study::tell::records::Named;

/// A row with its cell.
type Told<'a> = (&'a CellRow, ProfileRow);

/// The page of a run: a table and two figures for each change.
pub(super) fn of(run: &Named) -> Result<Page> {
    let profiles = run.by_cell(|row: &ProfileRow| row.cell)?;
    let curves = run.by_cell(|row: &CurveRow| row.cell)?;
    let told: Vec<Told> =
        profiles.iter().flat_map(|(cell, rows)| rows.iter().map(move |row| (*cell, row.clone()))).collect();
    let mut pages = Page::default();
    if told.is_empty() && run.printed_failed().next().is_none() {
        let nothing = "No record can be added, removed or moved, and no smaller change keeps what is known: releases pay nothing.";
        pages = Page::main(format!("{}: what releases pay together", run.name)).text(nothing);
    }
    for rows in grouped(told, |(_, row)| row.change.clone()) {
        let Some(change) = ChangeKind::named(&rows[0].1.change) else { continue };
        let own: Vec<(&CellRow, Vec<&CurveRow>)> = curves
            .iter()
            .map(|(cell, rows)| (*cell, rows.iter().filter(|row| row.change == change.name()).collect()))
            .collect();
        pages = pages.and(page(run, change, &rows, &own));
    }
    Ok(run.with_failed(pages))
}

fn page(run: &Named, change: ChangeKind, rows: &[Told], curves: &[(&CellRow, Vec<&CurveRow>)]) -> Page {
    let figure = |x: Option<f64>| x.map_or("unknown".into(), at_most);
    let other = |x: Option<f64>| x.map_or("-".into(), at_most);
    let columns: &[Column<Told>] = &[
        ("law", &|(cell, _)| cell.law.name().to_owned()),
        ("noise epsilon", &|(cell, _)| cell.epsilon.to_string()),
        ("method", &|(cell, _)| cell.method_words()),
        ("releases", &|(_, row)| row.releases.to_string()),
        ("charged", &|(_, row)| figure(row.charged)),
        ("epsilon", &|(_, row)| figure(row.epsilon_at_delta)),
        ("known", &|(_, row)| row.known.clone().unwrap_or("unknown".into())),
        ("rho", &|(_, row)| other(row.rho)),
        ("mu", &|(_, row)| other(row.mu)),
    ];
    let delta = rows[0].1.at_delta;
    let title = format!("{}: what releases pay together for {}, at delta {delta}", run.name, change.words());
    let figures = Figure::ALL.map(|figure| draw(run, change, figure, curves));
    let page = Page::main(title).listed(4, rows, columns).text(
        "charged: pure losses added up, or what follows from rho. epsilon: the least by the law of the loss of all releases together; \
         rho and mu follow from that of one. known: computed (it is the law of the release), target (that of the law at which a chain \
         aims: what its distance from it adds is in no column), noise (that of free noise, which is moved to the invariant: what is \
         released may pay less), bounded (no release with the stated loss pays more). -: not known.",
    );
    figures.into_iter().flatten().fold(page, Page::figure)
}

/// The curves of one figure: a panel for each number of releases, a series for each cell.
fn draw(
    run: &Named,
    change: ChangeKind,
    figure: Figure,
    curves: &[(&CellRow, Vec<&CurveRow>)],
) -> Option<figure::Figure> {
    let points = || curves.iter().flat_map(|(_, rows)| rows).filter(|row| row.figure == figure);
    let releases = distinct(points().map(|row| row.releases as f64));
    let panel = |&releases: &f64| {
        let series = curves.iter().map(|(cell, rows)| {
            let own = rows.iter().filter(|row| row.figure == figure && row.releases as f64 == releases);
            Series {
                name: format!("{}, {}, epsilon {}", cell.method_plain(), cell.law.name(), cell.epsilon),
                kind: Kind::Line,
                marks: own.map(|row| Mark::new(row.x, row.y)).collect(),
            }
        });
        Panel { title: counted(releases, "release"), series: series.collect() }
    };
    let name = &run.name;
    let words = change.words();
    let (title, about, x, y) = match figure {
        Figure::Delta => (
            format!("{name}: delta against epsilon for {words}"),
            "A curve for each cell: the least delta with which its releases are private at an epsilon, on a logarithmic axis.",
            Axis::new("epsilon", Scale::Linear),
            Axis::new("delta", Scale::Log),
        ),
        Figure::Error => (
            format!("{name}: errors of a test for {words}"),
            "A curve for each cell: how often the best test misses a change, against how often it sees one that was not made. \
             Nobody sees anything on the line from the upper left to the lower right.",
            Axis::new("error of the first kind", Scale::Linear),
            Axis::new("error of the second kind", Scale::Linear),
        ),
    };
    (!releases.is_empty()).then(|| figure::Figure {
        name: figure::Figure::named(&format!("{name}-{}-{}", change.name(), figure.name())),
        title,
        about: about.into(),
        x,
        y,
        panels: releases.iter().map(panel).collect(),
        note: String::new(),
    })
}
