//! Single entries of tables: box plots as numbers, and somebody else's errors beside ours.

use super::beside::{BesideRow, Theirs};
use super::config::recorded;
use super::rows::Draw;
use super::shown::Shown;
use super::traces;
use crate::diagnostics::{
    BoxPlot, Estimate, Mixing, Moments, QuantileError, bulk_ess, jackknife, mean_ess, quantile_ess,
};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::methods::is_negative;
use crate::page::{Column, Page, Table, counted, finite, number, with_error};
use crate::study::cells::CellRow;
use crate::study::tell::records::{Named, Records};
use crate::table;
use crate::table::Key;
use rayon::prelude::*;
use std::collections::HashMap;

table! {
    /// Releases of a table: one row per cell and entry of the table. Errors (released - confidential) over the
    /// replicates or, with `records`, over the recorded draws of all chains. Quantiles are interpolated at `p (n - 1)`;
    /// whiskers end at the last value within 1.5 interquartile ranges of the box. Quantiles, `ess` and `rhat` are those
    /// of the first draws: 100,000, or fewer of tables of more than 160 entries, at least 100.
    pub struct EntryRow in "entries.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// from 1: the order of the file; complete two-way tables row by row; nodes of a `hierarchy` last
        entry: u64;
        /// the values of its columns joined by `/`
        name: String;
        /// confidential
        count: i64, "counts";
        /// how many
        draws: u64;
        /// the error in the first of them: one realisation
        first: f64, "counts";
        /// mean error
        mean: Estimate, "counts", error mean_se {
            /// `sd / sqrt(draws)`; of recorded chains the Monte Carlo standard error, `sd / sqrt(S)` with the effective
            /// sample size S for the mean
        };
        /// standard deviation of the error; null for one draw
        sd: Option<f64>, "counts";
        /// mean absolute error
        mean_absolute: f64, "counts";
        /// box plot
        whisker_low: f64, "counts";
        /// box plot
        q1: f64, "counts";
        /// box plot
        median: f64, "counts";
        /// its Monte Carlo standard error: half the distance of the order statistics at ± 1 standard deviation of the
        /// share below it (Vehtari et al. 2021)
        median_se: Option<f64>, "counts";
        /// box plot
        q3: f64, "counts";
        /// box plot
        whisker_high: f64, "counts";
        /// share of draws with a released count below 0, by more than rounding
        negative: f64;
        /// effective sample size of the bulk of the recorded chains together (Vehtari et al. 2021); null where nothing
        /// varies
        ess: Option<Estimate>, "draws", error ess_se {
            /// its standard error: jackknife over the chains, in at most 8 groups
        };
        /// effective sample size of their tails (5 % and 95 %)
        ess_tail: Option<f64>, "draws";
        /// rank-normalised split R-hat over the recorded chains
        rhat: Option<f64>;
    }
}

/// Values of a cell that are kept for quantiles, of all entries together; draws at least and at most.
const VALUES: usize = 16_000_000;
const DRAWS: (usize, usize) = (100, 100_000);

/// The entries of the cell that is drawn.
#[derive(Default)]
pub(super) struct Entries {
    draws: usize,
    sums: Vec<Entry>,
    /// The errors of the first draws, one draw after the other.
    kept: Vec<f64>,
    /// The draws with which chains begin, and the replicate that is recorded.
    begins: Vec<usize>,
    replicate: Option<u64>,
    /// Where the standard error of a median is read off, of so many independent values; it stays for cells with as many.
    median: Option<(usize, QuantileError)>,
}

/// One entry, summed up.
#[derive(Clone, Default)]
struct Entry {
    moments: Moments,
    absolute: f64,
    negative: u64,
    first: f64,
}

impl Entries {
    /// Adds a draw; `recorded`: of a chain that keeps its draws.
    pub(super) fn push(&mut self, table: &InvariantTable, draw: Draw, recorded: bool) {
        let d = draw.errors.len();
        if self.draws == 0 {
            let begun = |&first| Entry { first, ..Entry::default() };
            self.sums = draw.errors.iter().map(begun).collect();
        }
        if recorded && self.replicate != Some(draw.replicate) {
            self.replicate = Some(draw.replicate);
            self.begins.push(self.draws);
        }
        for ((sum, &z), &count) in self.sums.iter_mut().zip(draw.errors).zip(&table.counts) {
            sum.moments.push(z);
            sum.absolute += z.abs();
            sum.negative += u64::from(is_negative(z, count, false));
        }
        if self.draws < (VALUES / d).clamp(DRAWS.0, DRAWS.1) {
            self.kept.extend_from_slice(draw.errors);
        }
        self.draws += 1;
    }

    /// The rows of a cell, which is forgotten.
    pub(super) fn close(&mut self, cell: &Cell, table: &InvariantTable) -> Vec<EntryRow> {
        let Self { draws, sums, kept, begins, median, .. } = std::mem::take(self);
        let n = draws as f64;
        let independent = (kept.len() / sums.len().max(1)).max(1);
        let known = median.filter(|(of, _)| *of == independent);
        let (_, free) = *self.median.insert(
            known.unwrap_or_else(|| (independent, QuantileError::new(independent, 0.5, independent as f64))),
        );
        let row = |values: &mut Vec<f64>, (i, sum): (usize, &Entry)| {
            values.clear();
            values.extend(kept.chunks_exact(sums.len()).map(|draw| draw[i]));
            let recorded = (recorded(cell) > 0).then(|| Recorded::of(&whole(values, &begins)));
            // The sizes are those of the draws that are kept.
            let size = |ess: Option<f64>| match recorded {
                None => Some(n),
                Some(recorded) => ess.map(|ess| ess * n / recorded.draws),
            };
            let mean_size = size(recorded.and_then(|recorded| recorded.mean));
            let median = match recorded {
                None => Some(free),
                Some(recorded) => recorded.median.map(|ess| QuantileError::new(values.len(), 0.5, ess)),
            };
            let mixing = recorded.and_then(|recorded| recorded.mixing);
            let plot = BoxPlot::of(values);
            EntryRow {
                cell: Key(cell.key),
                entry: i as u64 + 1,
                name: table.names[i].to_owned(),
                count: table.counts[i],
                draws: draws as u64,
                first: sum.first,
                mean: Estimate::new(
                    sum.moments.mean(),
                    mean_size.map(|size| sum.moments.deviation() / libm::sqrt(size)),
                ),
                sd: finite(sum.moments.deviation()),
                mean_absolute: sum.absolute / n,
                whisker_low: plot.whisker_low,
                q1: plot.q1,
                median: plot.median,
                median_se: median.map(|error| error.of(values)),
                q3: plot.q3,
                whisker_high: plot.whisker_high,
                negative: sum.negative as f64 / n,
                ess: mixing.map(|mixing| Estimate::new(mixing.bulk, recorded.map(|chains| chains.bulk_se))),
                ess_tail: mixing.map(|mixing| mixing.tail),
                rhat: mixing.map(|mixing| mixing.rhat),
            }
        };
        // Threads are for many values.
        let least = 1 + (1 << 14) / draws.max(1);
        sums.par_iter().enumerate().with_min_len(least).map_init(Vec::new, row).collect()
    }
}

/// The recorded chains of which all draws are kept; of a single one what there is.
fn whole<'a>(values: &'a [f64], begins: &[usize]) -> Vec<&'a [f64]> {
    let ends = begins.iter().skip(1).copied().chain([values.len()]);
    let most = values.len();
    let chains = begins.iter().zip(ends).map(|(&begin, end)| &values[begin.min(most)..end.min(most)]);
    let mut chains: Vec<&[f64]> = chains.filter(|chain| !chain.is_empty()).collect();
    if chains.len() > 1 && chains[chains.len() - 1].len() < chains[0].len() {
        chains.pop();
    }
    chains
}

/// What recorded chains tell of an entry.
#[derive(Clone, Copy)]
struct Recorded {
    draws: f64,
    mixing: Option<Mixing>,
    /// Standard error of the effective sample size of the bulk; NaN if unknown.
    bulk_se: f64,
    /// Effective sample sizes for mean and median.
    mean: Option<f64>,
    median: Option<f64>,
}

impl Recorded {
    fn of(chains: &[&[f64]]) -> Self {
        let mixing = Mixing::of(chains);
        let bulk = |some: &[&[f64]]| bulk_ess(some).unwrap_or(f64::NAN);
        Self {
            draws: chains.iter().map(|chain| chain.len()).sum::<usize>() as f64,
            mixing,
            bulk_se: mixing.map_or(f64::NAN, |_| jackknife(chains, bulk)),
            mean: mean_ess(chains),
            median: quantile_ess(chains, 0.5),
        }
    }
}

/// Tables up to this size are printed in full; of larger ones so many rows, all of them in the CSV.
const FULL: usize = 20;
const SOME: usize = 11;

impl EntryRow {
    /// What its recorded chains tell of their convergence.
    pub(super) fn mixing(&self) -> Option<Mixing> {
        let (rhat, bulk, tail) = (self.rhat?, self.ess?.mean, self.ess_tail?);
        Some(Mixing { rhat, bulk, tail })
    }
}

/// Box plots of the first cells, then the release by somebody else.
pub(super) fn pages(run: &Named) -> Result<Page> {
    let cells = run.by_cell(|row: &EntryRow| row.cell)?;
    let shown = if cells.is_empty() { Shown::default() } else { Shown::of(&run.run)? };
    let page = |cell: &CellRow, rows: &[EntryRow]| {
        let page = boxes(&run.name, cell, rows);
        Ok(traces::figure(run, cell, rows, &shown.traces)?.into_iter().fold(page, Page::figure))
    };
    Ok(run.pages(&cells, "entries.csv", page)?.and(beside(run, &cells)?))
}

/// Indices of the rows to print: all, or some spread evenly over increasing counts.
fn printed(counts: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    if counts.len() <= FULL {
        return order;
    }
    order.sort_by_key(|&i| counts[i]);
    (0..SOME).map(|k| order[k * (counts.len() - 1) / (SOME - 1)]).collect()
}

fn boxes(run: &str, cell: &CellRow, rows: &[EntryRow]) -> Page {
    let chains = rows.iter().any(|row| row.rhat.is_some());
    let short = |x: f64| if x == x.trunc() { format!("{x}") } else { format!("{x:.2}") };
    let columns: &[Column<&EntryRow>] = &[
        ("entry", &|row| row.name.clone()),
        ("count", &|row| row.count.to_string()),
        ("one draw", &|row| short(row.first)),
        ("mean", &|row| with_error(row.mean)),
        ("sd", &|row| row.sd.map_or("-".into(), |sd| format!("{sd:.3}"))),
        ("whisker", &|row| short(row.whisker_low)),
        ("q1", &|row| short(row.q1)),
        ("median", &|row| short(row.median)),
        ("q3", &|row| short(row.q3)),
        ("whisker", &|row| short(row.whisker_high)),
        ("negative", &|row| number(row.negative)),
        ("ess", &|row| row.ess.map_or("-".into(), |ess| format!("{:.0}", ess.mean))),
        ("R-hat", &|row| row.rhat.map_or("-".into(), |x| format!("{x:.4}"))),
    ];
    let columns = if chains { columns } else { &columns[..columns.len() - 2] };
    let counts: Vec<i64> = rows.iter().map(|row| row.count).collect();
    let shown: Vec<&EntryRow> = printed(&counts).into_iter().map(|i| &rows[i]).collect();
    let some = if rows.len() > FULL {
        format!("; {SOME} of {} entries by increasing count, all of them in the CSV", rows.len())
    } else {
        String::new()
    };
    let title = format!(
        "Errors by entry of {run}: {}, {}, {} draws{some}",
        cell.method_words(),
        cell.noise_words(),
        rows.first().map_or(0, |row| row.draws)
    );
    let z = |row: &EntryRow| {
        let Estimate { mean, standard_error } = row.mean;
        (standard_error > 0.0).then(|| (mean / standard_error).abs())
    };
    let worst = rows.iter().filter_map(z).fold(0.0, f64::max);
    let negative = rows.iter().filter(|row| row.negative > 0.0).count();
    let mut note = format!(
        "Largest |mean| / standard error over the entries: {worst:.2}. Entries with any released count below 0: {negative} of {}.",
        rows.len()
    );
    let rhats: Vec<f64> = rows.iter().filter_map(|row| row.rhat).collect();
    if !rhats.is_empty() {
        let low = rhats.iter().filter(|x| **x < 1.01).count();
        let most = rhats.iter().copied().fold(0.0, f64::max);
        note += &format!(" R-hat below 1.01: {low} of {} entries, the largest {most:.4}.", rhats.len());
    }
    Page::headed(title).figure(figure(run, cell, &shown, rows.len())).listed(1, &shown, columns).text(note)
}

/// Box plots of the errors, entry by entry. `all`: of so many entries.
fn figure(run: &str, cell: &CellRow, shown: &[&EntryRow], all: usize) -> Figure {
    let mark = |(place, row): (usize, &&EntryRow)| {
        let mark = Mark::new(row.median, place as f64).within(row.q1, row.q3);
        Mark { whiskers: Some((row.whisker_low, row.whisker_high)), ..mark }
    };
    let marks = shown.iter().enumerate().map(mark).collect();
    Figure {
        name: Figure::named(&format!("{run}-entries-{}-{}", cell.method_words(), cell.noise_words())),
        title: format!("{run}: errors by entry, {}, {}", cell.method_words(), cell.noise_words()),
        about: format!(
            "A box plot for each of {}: median, quartiles and whiskers of the error. The table below has the figures.",
            match shown.len() {
                1 => "one entry".to_owned(),
                n => format!("{n} entries"),
            }
        ),
        x: Axis::new("released - confidential (counts)", Scale::Linear),
        y: Axis::new(
            "",
            Scale::Names(shown.iter().map(|row| format!("{} ({})", row.name, row.count)).collect()),
        ),
        panels: Panel::only([Series { name: String::new(), kind: Kind::Boxes, marks }]),
        note: match shown.len() < all {
            true => format!(
                "{} of {all} entries, spread over increasing counts, which stand in brackets.",
                shown.len()
            ),
            false => "In brackets the confidential counts.".into(),
        },
    }
}

/// Their errors, and ours of one release with the quartiles of all, by method, entry by entry.
fn beside(run: &Named, cells: &[(&CellRow, Vec<EntryRow>)]) -> Result<Page> {
    let Some(theirs) = Theirs::of(&run.run)? else { return Ok(Page::default()) };
    // By name, in the order of theirs.
    let ours: Vec<(&CellRow, Vec<&EntryRow>)> = cells
        .iter()
        .map(|&(cell, ref rows)| {
            let names: HashMap<&str, &EntryRow> = rows.iter().map(|row| (row.name.as_str(), row)).collect();
            (cell, theirs.rows.iter().filter_map(|other| names.get(other.name.as_str()).copied()).collect())
        })
        .collect();
    let Some((_, entries)) = ours.first().filter(|(_, entries)| !entries.is_empty()) else {
        return Ok(Page::default());
    };
    let mut header = vec!["entry".to_owned(), "count".to_owned(), "their error".to_owned()];
    header.extend(ours.iter().map(|(cell, _)| format!("{}, one release [q1, q3]", cell.method_words())));
    let counts: Vec<i64> = entries.iter().map(|row| row.count).collect();
    let error = |name: &str| theirs.get(name).map_or(f64::NAN, |row| row.error() as f64);
    let short = |x: f64| if x == x.trunc() { format!("{x}") } else { format!("{x:.1}") };
    let body = printed(&counts)
        .into_iter()
        .map(|i| {
            let name = &entries[i].name;
            let mut row = vec![name.clone(), counts[i].to_string(), error(name).to_string()];
            row.extend(ours.iter().map(|(_, rows)| match rows.get(i) {
                Some(row) => format!("{} [{}, {}]", short(row.first), short(row.q1), short(row.q3)),
                None => "-".into(),
            }));
            row
        })
        .collect();
    let n = entries.len() as f64;
    let sizes: Vec<f64> = counts.iter().map(|&x| x as f64).collect();
    let their_errors: Vec<f64> = entries.iter().map(|row| error(&row.name)).collect();
    let mut notes = vec![format!(
        "theirs, one release of {} entries: mean |error| {:.2}, rank correlation of error and count {:+.2} (standard deviation \
         {:.2} without any trend)",
        entries.len(),
        their_errors.iter().map(|x| x.abs()).sum::<f64>() / n,
        rank_correlation(&sizes, &their_errors),
        1.0 / (n - 1.0).max(1.0).sqrt()
    )];
    for (cell, rows) in &ours {
        let errors: Vec<f64> = rows.iter().map(|row| row.first).collect();
        notes.push(format!(
            "{}, one release: mean |error| {:.2}, rank correlation of error and count {:+.2}; mean |error| of all releases {:.2}",
            cell.method_words(),
            errors.iter().map(|x| x.abs()).sum::<f64>() / n,
            rank_correlation(&sizes, &errors),
            rows.iter().map(|row| row.mean_absolute).sum::<f64>() / n
        ));
    }
    let same = |row: &EntryRow| theirs.get(&row.name).is_some_and(|other| other.confidential == row.count);
    let differing = entries.iter().filter(|row| !same(row)).count();
    if differing > 0 {
        notes.push(format!("the confidential counts of {differing} entries differ between the two"));
    }
    let title = format!("{}, beside: {}", run.name, theirs.note);
    let figure = beside_figure(&run.name, title.clone(), &ours, error);
    Ok(Page::headed(title).figure(figure).table(Table::new(1, header, body)).list(notes))
}

/// Entries in a figure at most; of more some, spread evenly over increasing counts.
const DRAWN: usize = 200;
/// Methods in it at most, and marks of all of them.
const METHODS: usize = 9;
const MARKS: usize = 600;

/// Errors against the counts, ours and theirs, method by method.
fn beside_figure<'a>(
    run: &str,
    title: String,
    ours: &[(&CellRow, Vec<&'a EntryRow>)],
    error: impl Fn(&str) -> f64,
) -> Figure {
    let methods = ours.len().min(METHODS);
    let most = (MARKS / methods.max(1)).min(DRAWN);
    let some = |entries: &[&'a EntryRow]| -> Vec<&'a EntryRow> {
        let mut order: Vec<&EntryRow> = entries.to_vec();
        order.sort_by_key(|row| row.count);
        order.into_iter().step_by(entries.len().div_ceil(most).max(1)).collect()
    };
    let series = |name: &str, entries: &[&EntryRow], own: &dyn Fn(&EntryRow) -> f64| Series {
        name: name.into(),
        kind: Kind::Dots,
        marks: entries.iter().map(|row| Mark::new(row.count as f64, own(row))).collect(),
    };
    let panel = |(cell, entries): &(&CellRow, Vec<&'a EntryRow>)| {
        let entries = some(entries);
        let theirs = series("theirs", &entries, &|row| error(&row.name));
        let title = format!("{}, epsilon {}", cell.method_words(), cell.epsilon);
        Panel { title, series: vec![series("ours", &entries, &|row| row.first), theirs] }
    };
    let panels: Vec<Panel> = ours.iter().take(METHODS).map(panel).collect();
    let (drawn, all) = (panels[0].series[0].marks.len(), ours[0].1.len());
    let mut note = match drawn < all {
        true => format!("{drawn} of {all} entries, spread over increasing counts."),
        false => String::new(),
    };
    if let Some(more) = ours.len().checked_sub(METHODS).filter(|more| *more > 0) {
        note += &format!(" The other {} are in entries.csv.", counted(more as f64, "cell"));
    }
    Figure {
        name: Figure::named(&format!("{run}-beside")),
        title,
        about: "Errors of entries against their confidential counts, a panel for each method: of one release of ours, and \
            of the one by somebody else. The table below has some of the figures, the CSV all of them."
            .into(),
        x: Axis::new("confidential count", Scale::Log),
        y: Axis::new("released - confidential (counts)", Scale::Linear),
        panels,
        note: note.trim_start().to_owned(),
    }
}

/// Spearman's, with mean ranks for ties.
pub(super) fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |x: &[f64]| -> Vec<f64> {
        x.iter()
            .map(|v| {
                let below = x.iter().filter(|w| *w < v).count() as f64;
                let ties = x.iter().filter(|w| *w == v).count() as f64;
                below + 0.5 * (ties + 1.0)
            })
            .collect()
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(p, q)| (p - mean) * (q - mean)).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

/// The entries with the errors of somebody else.
pub(super) fn records(runs: &[Named]) -> Result<Records<'_>> {
    let mut records = Records::of_cells::<EntryRow>("entries", "entries.csv", runs);
    records.header.push("their_error".into());
    let mut theirs: HashMap<&str, Theirs> = HashMap::new();
    for run in runs {
        theirs.extend(Theirs::of(&run.run)?.map(|theirs| (run.name.as_str(), theirs)));
    }
    Ok(records.with(move |row| {
        let of = |name: &str| row.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
        let other = theirs.get(of("run")).and_then(|theirs| theirs.get(of("name")));
        row.insert("their_error".into(), other.map(BesideRow::error).into());
    }))
}
