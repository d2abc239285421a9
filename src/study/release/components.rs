//! Components of tables: distances over them, and variances against closed forms.

use super::rows::Draw;
use crate::catalogue::{MethodKind, Projection, noise};
use crate::closed_form::{EntryOfTotal, Noise, Operation};
use crate::diagnostics::{BoxPlot, Estimate, Moments};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::Bounded;
use crate::page::{Column, Page, Table, counted, distinct, with_error};
use crate::study::cells::CellRow;
use crate::study::cells::expected;
use crate::study::tell::records::Named;
use crate::table;
use crate::table::Key;

table! {
    /// Releases of a table: one row per cell and component of the table (two or more entries that neither an equation
    /// nor an inequality ties to the rest). Only of cells without `records`; absent for tables of more than 10,000
    /// components.
    pub struct ComponentRow in "components.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// the component, from 1
        component: u64;
        /// of the component
        entries: u64, "entries";
        /// name of its first entry
        first: String;
        /// releases
        draws: u64;
        /// mean over the releases of the sum of absolute errors over the component
        l1: Estimate, "counts", error l1_se;
        /// mean of the root of the sum of squared errors
        l2: Estimate, "counts", error l2_se;
        /// mean of the squared errors of its entries
        mse: Estimate, "counts²", error mse_se;
        /// the same in closed form (`congenial::closed_form::variance`)
        mse_expected: Option<f64>, "counts²";
        /// one total of two entries, or of three by conditioning, Laplace noise: largest distance of the first entry's
        /// errors to their law, over the first 100,000 releases
        ks: Option<f64>, "probability";
        /// of that law, for counts that differ by 1
        epsilon_attained: Option<f64>;
    }
}

/// Components beyond which none is summed up.
const MOST: usize = 10_000;
/// Releases whose first entry is kept for its distance to its law.
const KEPT: usize = 100_000;

/// The components of a table with what is known of them.
pub(super) struct Components {
    parts: Vec<(Bounded, Option<usize>)>,
    /// By component of the cell that is drawn: L1, L2 and squares.
    sums: Vec<[Moments; 3]>,
    /// The law of its first entry, if it is known, and the errors of that entry.
    firsts: Vec<(Option<EntryOfTotal>, Vec<f64>)>,
}

impl Components {
    pub(super) fn new(table: &InvariantTable) -> Self {
        let mut parts = table.region.components(&table.invariant);
        parts.retain(|part| part.component.entries.len() > 1);
        if parts.len() > MOST {
            parts.clear();
        }
        let parts: Vec<(Bounded, Option<usize>)> = parts
            .into_iter()
            .map(|part| {
                let rank = expected::rank(&part);
                (part, rank)
            })
            .collect();
        Self { parts, sums: Vec::new(), firsts: Vec::new() }
    }

    /// Adds a release.
    pub(super) fn push(&mut self, cell: &Cell, draw: Draw) {
        if self.sums.is_empty() {
            self.sums = vec![[Moments::default(); 3]; self.parts.len()];
            let first = |(part, rank): &(Bounded, Option<usize>)| (law(cell, part, *rank), Vec::new());
            self.firsts = self.parts.iter().map(first).collect();
        }
        for ((part, _), (sums, (law, first))) in
            self.parts.iter().zip(self.sums.iter_mut().zip(&mut self.firsts))
        {
            let entries = &part.component.entries;
            let (mut l1, mut squares) = (0.0, 0.0);
            for &entry in entries {
                let z = draw.errors[entry as usize];
                l1 += z.abs();
                squares += z * z;
            }
            let values = [l1, libm::sqrt(squares), squares / entries.len() as f64];
            sums.iter_mut().zip(values).for_each(|(sum, value)| sum.push(value));
            if law.is_some() && first.len() < KEPT {
                first.push(draw.errors[entries[0] as usize]);
            }
        }
    }

    /// The rows of the cell, which is forgotten.
    pub(super) fn close(&mut self, cell: &Cell, table: &InvariantTable) -> Vec<ComponentRow> {
        let (sums, firsts) = (std::mem::take(&mut self.sums), std::mem::take(&mut self.firsts));
        let all = self.parts.iter().zip(sums.iter().zip(firsts)).enumerate();
        all.map(|(i, ((part, rank), (sums, (law, mut first))))| {
            let [l1, l2, mse] = sums.map(|moments| moments.estimate());
            let entries = &part.component.entries;
            ComponentRow {
                cell: Key(cell.key),
                component: i as u64 + 1,
                entries: entries.len() as u64,
                first: table.names[entries[0] as usize].to_owned(),
                draws: sums[0].count(),
                l1,
                l2,
                mse,
                mse_expected: expected::variance(cell, table, part, *rank),
                ks: law.map(|law| distance(&law, &mut first)),
                epsilon_attained: law.map(|law| law.epsilon()),
            }
        })
        .collect()
    }
}

/// The law of the first entry, where it is known in closed form.
fn law(cell: &Cell, part: &Bounded, rank: Option<usize>) -> Option<EntryOfTotal> {
    match noise(cell.at.law, cell.calibration.scales[0]).zip(expected::operation(cell.at.method)) {
        Some((Noise::Laplace(lambda), operation))
            if part.component.is_total() && (rank.is_some() || operation == Operation::Free) =>
        {
            EntryOfTotal::new(lambda, operation, part.component.entries.len())
        }
        _ => None,
    }
}

fn distance(law: &EntryOfTotal, values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    values.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
        let p = law.cdf(x);
        worst.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
    })
}

type Parts<'a> = (&'a CellRow, Vec<ComponentRow>);

pub(super) fn pages(run: &Named) -> Result<Page> {
    let parts: Vec<Parts> = run.by_cell(|row: &ComponentRow| row.cell)?;
    let name = &run.name;
    Ok(run.with_failed(distances(name, &parts).and(variances(name, &parts)).and(ratios(name, &parts))))
}

/// Mean L1 and L2 distances of every component, as a box over the components: Figure 1 of "Congenial differential privacy".
fn distances<'a>(run: &str, parts: &'a [Parts<'a>]) -> Page {
    // A box needs comparable components.
    let comparable =
        |rows: &[ComponentRow]| rows.len() > 1 && rows.iter().all(|row| row.entries == rows[0].entries);
    if !parts.iter().any(|(_, rows)| comparable(rows)) {
        return Page::default();
    }
    let mut page = Page::default();
    let mut laws: Vec<&str> = parts.iter().map(|(cell, _)| cell.law.name()).collect();
    laws.sort_unstable();
    laws.dedup();
    let laws = laws.len();
    for (name, of) in [("L1", (|row| row.l1) as fn(&ComponentRow) -> Estimate), ("L2", |row| row.l2)] {
        let boxed = |(cell, rows): &'a Parts<'a>| {
            let mut means: Vec<f64> = rows.iter().map(|row| of(row).mean).collect();
            // The error of the mean over these very components: that of the releases.
            let squares: f64 = rows.iter().map(|row| of(row).standard_error * of(row).standard_error).sum();
            let mean: Moments = means.iter().copied().collect();
            let mean = Estimate { mean: mean.mean(), standard_error: squares.sqrt() / rows.len() as f64 };
            (*cell, mean, BoxPlot::of(&mut means))
        };
        type Boxed<'a> = (&'a CellRow, Estimate, BoxPlot);
        let boxes: Vec<Boxed> = parts.iter().filter(|(_, rows)| comparable(rows)).map(boxed).collect();
        let mark = |(place, (_, _, plot)): (usize, &Boxed)| {
            let mark = Mark::new(plot.median, place as f64).within(plot.q1, plot.q3);
            Mark { whiskers: Some((plot.whisker_low, plot.whisker_high)), ..mark }
        };
        let marks = boxes.iter().enumerate().map(mark).collect();
        let name_of = |(cell, ..): &Boxed| {
            let law = if laws > 1 { format!("{}, ", cell.law.name()) } else { String::new() };
            format!("{}, {law}epsilon {}", cell.method_words(), cell.epsilon)
        };
        let names: Vec<String> = boxes.iter().map(name_of).collect();
        let rows = &parts[0].1;
        let title = format!(
            "{run}: {name} distance of a release to its table, over {} components of {} entries, {} releases each",
            rows.len(),
            rows[0].entries,
            rows[0].draws
        );
        let figure = Figure {
            name: Figure::named(&format!("{run}-distances-{name}")),
            title: title.clone(),
            about: format!(
                "A box plot for each of {}: over the components, the mean {name} distance of a release to its table. \
                    The table below has the figures.",
                counted(names.len() as f64, "method")
            ),
            x: Axis::new(format!("{name} distance (counts)"), Scale::Linear),
            y: Axis::new(String::new(), Scale::Names(names)),
            panels: Panel::only([Series { name: String::new(), kind: Kind::Boxes, marks }]),
            note: String::new(),
        };
        let of = |x: f64| format!("{x:.3}");
        page = page.and(Page::headed(title).figure(figure).listed(
            2,
            &boxes,
            &[
                ("noise", &|(cell, ..)| cell.noise_words()),
                ("method", &|(cell, ..)| cell.method_words()),
                ("mean over components", &|(_, mean, _)| with_error(*mean)),
                ("whisker", &|(.., plot)| of(plot.whisker_low)),
                ("q1", &|(.., plot)| of(plot.q1)),
                ("median", &|(.., plot)| of(plot.median)),
                ("q3", &|(.., plot)| of(plot.q3)),
                ("whisker", &|(.., plot)| of(plot.whisker_high)),
            ],
        ));
    }
    page
}

/// Mean squared errors beside their closed forms.
fn variances<'a>(run: &str, parts: &'a [Parts<'a>]) -> Page {
    let known = |cell: &CellRow, rows: &[ComponentRow]| {
        !cell.method.is_free() && rows.iter().any(|row| row.mse_expected.is_some())
    };
    let two = parts.iter().flat_map(|(_, rows)| rows).any(|row| row.ks.is_some());
    type Row<'a> = (&'a CellRow, &'a ComponentRow, f64);
    let dash = |words: Option<String>| words.unwrap_or_else(|| "-".into());
    let columns: &[Column<Row>] = &[
        ("noise", &|(cell, ..)| cell.noise_words()),
        ("method", &|(cell, ..)| cell.method_words()),
        ("entries", &|(_, row, _)| row.entries.to_string()),
        ("variance", &|(_, row, _)| with_error(row.mse)),
        ("closed form", &|(.., expected)| format!("{expected:.6}")),
        ("z", &|(_, row, expected)| {
            let z = (row.mse.mean - expected) / row.mse.standard_error;
            dash(z.is_finite().then(|| format!("{z:+.2}")))
        }),
        ("KS distance", &|(_, row, _)| dash(row.ks.map(|ks| format!("{ks:.5}")))),
        // Massart's bound on the distance of a right sample.
        ("5 % limit", &|(_, row, _)| {
            let limit = (libm::log(40.0) / (2.0 * row.draws.min(KEPT as u64) as f64)).sqrt();
            dash(row.ks.map(|_| format!("{limit:.5}")))
        }),
        ("epsilon attained", &|(_, row, _)| {
            dash(row.epsilon_attained.map(|epsilon| format!("{epsilon:.6}")))
        }),
    ];
    let shown = || parts.iter().filter(|(cell, rows)| known(cell, rows));
    let all =
        |(cell, rows): &'a Parts<'a>| rows.iter().filter_map(|row| Some((*cell, row, row.mse_expected?)));
    let rows: Vec<Row> = shown().flat_map(all).collect();
    if rows.is_empty() {
        return Page::default();
    }
    let title = format!("{run}: variance of the noise of an entry by component, against its closed form");
    let sizes = distinct(parts.iter().flat_map(|(_, rows)| rows).map(|row| row.entries as f64));
    let page = Page::headed(title.clone());
    let known: Vec<&Parts> = shown().collect();
    let page = if sizes.len() > 2 { page.figure(variance_figure(run, title, &known)) } else { page };
    page.listed(3, &rows, if two { columns } else { &columns[..6] })
}

/// Variances against the size of a component, and their closed forms.
fn variance_figure(run: &str, title: String, parts: &[&Parts]) -> Figure {
    let series = parts.iter().flat_map(|(cell, rows)| {
        let mut rows: Vec<&ComponentRow> = rows.iter().filter(|row| row.mse_expected.is_some()).collect();
        rows.sort_by_key(|row| row.entries);
        let drawn = |row: &&ComponentRow| Mark::new(row.entries as f64, row.mse.mean).estimated(row.mse);
        let exact = |row: &&ComponentRow| Some(Mark::new(row.entries as f64, row.mse_expected?));
        let of = |name, kind, marks| Series { name, kind, marks };
        [
            of(cell.words(), Kind::Dots, rows.iter().map(drawn).collect()),
            of(format!("{}, closed form", cell.words()), Kind::Line, rows.iter().filter_map(exact).collect()),
        ]
    });
    Figure {
        name: Figure::named(&format!("{run}-variance")),
        title,
        about: "Dots with 95 % intervals for the variance of the noise of an entry, against the number of entries \
            that share a total, on logarithmic axes; lines \
                for closed forms. The table below has the figures."
            .into(),
        x: Axis::new("entries of the component", Scale::Log),
        y: Axis::new("variance (counts²)", Scale::Log),
        panels: Panel::only(series),
        note: String::new(),
    }
}

/// Conditioning against least squares, by size of the component.
fn ratios(run: &str, parts: &[Parts]) -> Page {
    let mut body = Vec::new();
    for (cell, rows) in parts.iter().filter(|(cell, _)| cell.method == MethodKind::EXACT) {
        let noise = |cell: &CellRow| (cell.noise(), cell.nonnegative);
        let squares = |kind: MethodKind| kind.with(|_| None).projection() == Some(Projection::L2);
        let same = |other: &CellRow| squares(other.method) && noise(other) == noise(cell);
        let Some((_, imaged)) = parts.iter().find(|(other, _)| same(other)) else { continue };
        for (a, b) in rows.iter().zip(imaged) {
            let ratio = a.mse.mean / b.mse.mean;
            let relative = |row: &ComponentRow| row.mse.standard_error / row.mse.mean;
            let relative = libm::hypot(relative(a), relative(b));
            let expected = a.mse_expected.zip(b.mse_expected).map(|(a, b)| a / b);
            let z = expected.map(|expected| (ratio - expected) / (ratio * relative));
            body.push(vec![
                cell.noise_words(),
                a.entries.to_string(),
                with_error(Estimate { mean: ratio, standard_error: ratio * relative }),
                expected.map_or("-".into(), |x| format!("{x:.6}")),
                z.map_or("-".into(), |z| format!("{z:+.2}")),
            ]);
        }
    }
    if body.is_empty() {
        return Page::default();
    }
    let header = ["noise", "entries", "conditioning / least squares", "closed form", "z"];
    let title = format!("{run}: ratio of the variances of conditioning and imaging, by component");
    Page::headed(title).table(Table::new(2, header, body))
}
