//! Components of tables: distances over them, and variances against closed forms.

use super::rows::Draw;
use crate::catalogue::{MethodKind, Projection};
use crate::closed_form::{EntryOfTotal, Noise, Operation};
use crate::diagnostics::{BoxPlot, Estimate, Moments};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::Bounded;
use crate::page::{Page, counted, finite, with_error};
use crate::study::cells::CellRow;
use crate::study::cells::expected;
use crate::study::tell::groups::distinct;
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
        l1: f64, "counts";
        /// its standard error
        l1_se: Option<f64>, "counts";
        /// mean of the root of the sum of squared errors
        l2: f64, "counts";
        /// its standard error
        l2_se: Option<f64>, "counts";
        /// mean of the squared errors of its entries
        mse: f64, "counts²";
        /// its standard error
        mse_se: Option<f64>, "counts²";
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
    /// Of the cell that is drawn, by component: L1, L2 and squares.
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
                l1: l1.mean,
                l1_se: finite(l1.standard_error),
                l2: l2.mean,
                l2_se: finite(l2.standard_error),
                mse: mse.mean,
                mse_se: finite(mse.standard_error),
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
    match expected::noise(cell.at.law, cell.calibration.scales[0]).zip(expected::operation(cell.at.method)) {
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

impl ComponentRow {
    fn l1(&self) -> Estimate {
        Estimate::new(self.l1, self.l1_se)
    }

    fn l2(&self) -> Estimate {
        Estimate::new(self.l2, self.l2_se)
    }

    fn mse(&self) -> Estimate {
        Estimate::new(self.mse, self.mse_se)
    }
}

type Parts<'a> = (&'a CellRow, Vec<ComponentRow>);

pub(super) fn pages(run: &Named) -> Result<Page> {
    let parts: Vec<Parts> = run.by_cell(|row: &ComponentRow| row.cell)?;
    let name = &run.name;
    Ok(run.with_failed(distances(name, &parts).and(variances(name, &parts)).and(ratios(name, &parts))))
}

/// Mean L1 and L2 distances of every component, as a box over the components: Figure 1 of "Congenial differential privacy".
fn distances(run: &str, parts: &[Parts]) -> Page {
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
    for (name, of) in [("L1", ComponentRow::l1 as fn(&ComponentRow) -> Estimate), ("L2", ComponentRow::l2)] {
        let header = ["noise", "method", "mean over components", "whisker", "q1", "median", "q3", "whisker"];
        let (mut names, mut marks) = (Vec::new(), Vec::new());
        let body = parts
            .iter()
            .filter(|(_, rows)| comparable(rows))
            .map(|(cell, rows)| {
                let mut means: Vec<f64> = rows.iter().map(|row| of(row).mean).collect();
                // The error of the mean over these very components: that of the releases.
                let squares: f64 =
                    rows.iter().map(|row| of(row).standard_error * of(row).standard_error).sum();
                let mean: Moments = means.iter().copied().collect();
                let mean = Estimate { mean: mean.mean(), standard_error: squares.sqrt() / rows.len() as f64 };
                let plot = BoxPlot::of(&mut means);
                let mark = Mark::new(plot.median, names.len() as f64).within(plot.q1, plot.q3);
                marks.push(Mark { whiskers: Some((plot.whisker_low, plot.whisker_high)), ..mark });
                let law = if laws > 1 { format!("{}, ", cell.law.name()) } else { String::new() };
                names.push(format!("{}, {law}epsilon {}", cell.method_words(), cell.epsilon));
                let mut line = vec![cell.noise_words(), cell.method_words(), with_error(mean)];
                let quantiles = [plot.whisker_low, plot.q1, plot.median, plot.q3, plot.whisker_high];
                line.extend(quantiles.map(|x| format!("{x:.3}")));
                line
            })
            .collect();
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
            x: Axis { label: format!("{name} distance (counts)"), scale: Scale::Linear },
            y: Axis { label: String::new(), scale: Scale::Names(names) },
            panels: vec![Panel {
                title: String::new(),
                series: vec![Series { name: String::new(), kind: Kind::Boxes, marks }],
            }],
        };
        page = page.and(Page::headed(title).figure(figure).table(2, header, body));
    }
    page
}

/// Mean squared errors beside their closed forms.
fn variances(run: &str, parts: &[Parts]) -> Page {
    let known = |cell: &CellRow, rows: &[ComponentRow]| {
        !cell.method.is_free() && rows.iter().any(|row| row.mse_expected.is_some())
    };
    let two = parts.iter().flat_map(|(_, rows)| rows).any(|row| row.ks.is_some());
    let mut header: Vec<&str> = vec!["noise", "method", "entries", "variance", "closed form", "z"];
    if two {
        header.extend(["KS distance", "5 % limit", "epsilon attained"]);
    }
    let mut body = Vec::new();
    for (cell, rows) in parts.iter().filter(|(cell, rows)| known(cell, rows)) {
        for row in rows {
            let Some(expected) = row.mse_expected else { continue };
            let z = (row.mse - expected) / row.mse().standard_error;
            let mut line = vec![
                cell.noise_words(),
                cell.method_words(),
                row.entries.to_string(),
                with_error(row.mse()),
                format!("{expected:.6}"),
                if z.is_finite() { format!("{z:+.2}") } else { "-".into() },
            ];
            if two {
                // Massart's bound on the distance of a right sample.
                let limit = (libm::log(40.0) / (2.0 * row.draws.min(KEPT as u64) as f64)).sqrt();
                line.push(row.ks.map_or("-".into(), |ks| format!("{ks:.5}")));
                line.push(row.ks.map_or("-".into(), |_| format!("{limit:.5}")));
                line.push(row.epsilon_attained.map_or("-".into(), |epsilon| format!("{epsilon:.6}")));
            }
            body.push(line);
        }
    }
    if body.is_empty() {
        return Page::default();
    }
    let title = format!("{run}: variance of the noise of an entry by component, against its closed form");
    let sizes = distinct(parts.iter().flat_map(|(_, rows)| rows).map(|row| row.entries as f64));
    let page = Page::headed(title.clone());
    let known: Vec<&Parts> = parts.iter().filter(|(cell, rows)| known(cell, rows)).collect();
    let page = if sizes.len() > 2 { page.figure(variance_figure(run, title, &known)) } else { page };
    page.table(3, header, body)
}

/// Variances against the size of a component, and their closed forms.
fn variance_figure(run: &str, title: String, parts: &[&Parts]) -> Figure {
    let series = parts.iter().flat_map(|(cell, rows)| {
        let mut rows: Vec<&ComponentRow> = rows.iter().filter(|row| row.mse_expected.is_some()).collect();
        rows.sort_by_key(|row| row.entries);
        let drawn = |row: &&ComponentRow| Mark::new(row.entries as f64, row.mse).estimated(row.mse());
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
        x: Axis { label: "entries of the component".into(), scale: Scale::Log },
        y: Axis { label: "variance (counts²)".into(), scale: Scale::Log },
        panels: vec![Panel { title: String::new(), series: series.collect() }],
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
            let ratio = a.mse / b.mse;
            let relative = libm::hypot(a.mse().standard_error / a.mse, b.mse().standard_error / b.mse);
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
    Page::headed(title).table(2, header, body)
}
