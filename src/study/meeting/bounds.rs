//! Meeting times as bounds on the total variation distance.

use super::kernels;
use crate::catalogue::MethodKind;
use crate::coupling::MeetingTimes;
use crate::diagnostics::{Estimate, Moments};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Column, Page, Pivot, Table, grouped, number, with_error};
use crate::privacy::sampling_delta;
use crate::rng::Rng;
use crate::study::cells::CellRow;
use crate::study::pairs::{Limits, MarginalRow, half_decades, marginals};
use crate::study::tell::records::{FAILED, Named};
use crate::table;
use crate::table::Key;
use std::collections::{BTreeMap, HashMap};

/// Levels of the bound whose first t is printed.
const LEVELS: [f64; 3] = [0.1, 0.01, 0.001];
/// Pairs that must still be apart for a bound to rest on more than luck.
const LEAST_APART: u64 = 10;

table! {
    /// Study `meeting`: one row per cell, over its pairs. Pairs that were cut short count as the slowest. Intervals are
    /// at 95 %, by the bootstrap over pairs (1,000 resamples); null for a single pair, and where they reach pairs that
    /// were cut short.
    pub struct TimesRow in "meeting_times.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// L
        lag: u64, "kernel steps";
        /// coupled pairs
        pairs: u64;
        /// of them, those that were cut short before they met; then there is no bound
        censored: u64;
        /// of tau - L; null if that pair was cut short
        median: Option<u64>, "kernel steps";
        /// its interval
        median_low: Option<u64>, "kernel steps";
        /// its interval
        median_high: Option<u64>, "kernel steps";
        /// the largest tau - L of a pair that met
        longest: Option<u64>, "kernel steps";
        /// mean share of the steps that changed a state
        moves: Estimate, error moves_se;
        /// the first t at which the bound on the total variation distance is at most 0.1; null without a bound
        below_10: Option<u64>, "kernel steps";
        /// its interval
        below_10_low: Option<u64>, "kernel steps";
        /// its interval
        below_10_high: Option<u64>, "kernel steps";
        /// pairs still apart at that t: what it rests on
        apart_10: Option<u64>;
        /// the same for 0.01
        below_1: Option<u64>, "kernel steps";
        /// its interval
        below_1_low: Option<u64>, "kernel steps";
        /// its interval
        below_1_high: Option<u64>, "kernel steps";
        /// pairs still apart at that t
        apart_1: Option<u64>;
        /// the same for 0.001
        below_01: Option<u64>, "kernel steps";
        /// its interval
        below_01_low: Option<u64>, "kernel steps";
        /// its interval
        below_01_high: Option<u64>, "kernel steps";
        /// pairs still apart at that t
        apart_01: Option<u64>;
    }
}

table! {
    /// Study `meeting`: rows per cell and number of steps t: 1, 10^0.5, 10, … to four times the largest tau - L.
    pub struct BoundRow in "tv_bounds.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// L
        lag: u64, "kernel steps";
        /// coupled pairs
        pairs: u64;
        /// of them, those that were cut short
        censored: u64;
        /// pairs still apart t steps after the lag, those that were cut short included
        apart: u64;
        /// of one chain
        t: u64, "kernel steps";
        /// mean over the pairs of `max(0, ceil((tau - L - t) / L))`, a bound on the total variation distance after t
        /// steps (Biswas, Jacob, Vanetti 2019); above 1 it says nothing; null if a pair was cut short
        bound: Option<Estimate>, "probability", error bound_se;
        /// its 2.5 % quantile by the bootstrap over pairs
        bound_low: Option<f64>, "probability";
        /// its upper limit at 95 %, one-sided, as `bound_high` of `certificates.parquet`, for this lag alone
        bound_high: Option<f64>, "probability";
        /// `(1 + e^((1 + gamma) epsilon_total)) bound`, at most 1: what a release after t steps adds to delta
        delta_sampling: Option<Estimate>, error delta_sampling_se {
            /// its standard error; null where it is 1
        };
        /// the same of `bound_high`; null where that is
        delta_sampling_high: Option<f64>;
    }
}

/// The first t at which the bound is low enough, its interval, and the pairs apart there.
struct First {
    t: u64,
    interval: Option<(u64, u64)>,
    apart: u64,
}

impl TimesRow {
    fn is_bounded(&self) -> bool {
        self.below_1.is_some()
    }

    /// By level of the bound.
    fn firsts(&self) -> [Option<First>; 3] {
        [
            (self.below_10, self.below_10_low, self.below_10_high, self.apart_10),
            (self.below_1, self.below_1_low, self.below_1_high, self.apart_1),
            (self.below_01, self.below_01_low, self.below_01_high, self.apart_01),
        ]
        .map(|(t, low, high, apart)| Some(First { t: t?, interval: low.zip(high), apart: apart? }))
    }
}

/// What is known of a cell beside its pairs.
pub(super) struct Known {
    /// What its release by the law itself pays, if that is known.
    pub(super) epsilon: Option<f64>,
    /// What gives its upper limits.
    pub(super) limits: Limits,
}

/// Both tables of a cell; `rng`: for the bootstrap.
pub(super) fn rows<R: Rng + ?Sized>(
    cell: Key,
    times: &MeetingTimes,
    moved: &Moments,
    Known { epsilon, limits }: Known,
    rng: &mut R,
) -> (TimesRow, Vec<BoundRow>) {
    let (lag, pairs, bounded) = (times.lag(), times.met() + times.censored(), times.is_bounded());
    let at = half_decades(times.longest().unwrap_or(1).saturating_mul(4));
    let statistics = |sample: &MeetingTimes| {
        let mut all = vec![sample.median().map_or(f64::INFINITY, |median| median as f64)];
        if bounded {
            all.extend(LEVELS.map(|level| sample.first_below(level) as f64));
            all.extend(at.iter().map(|&t| sample.mean_bound(t)));
        }
        all
    };
    let intervals = times.intervals(rng, statistics);
    let steps = |i: usize| -> (Option<u64>, Option<u64>) {
        let interval = intervals.get(i).copied().flatten();
        let whole = |x: f64| x.is_finite().then_some(x as u64);
        (interval.and_then(|(low, _)| whole(low)), interval.and_then(|(_, high)| whole(high)))
    };
    let firsts = LEVELS.map(|level| bounded.then(|| times.first_below(level)));
    let apart = firsts.map(|t| t.map(|t| times.apart(t)));
    let (median_low, median_high) = steps(0);
    let [first_10, first_1, first_01] = [steps(1), steps(2), steps(3)];
    let summary = TimesRow {
        cell,
        lag,
        pairs,
        censored: times.censored(),
        median: times.median(),
        median_low,
        median_high,
        longest: times.longest(),
        moves: moved.estimate(),
        below_10: firsts[0],
        below_10_low: first_10.0,
        below_10_high: first_10.1,
        apart_10: apart[0],
        below_1: firsts[1],
        below_1_low: first_1.0,
        below_1_high: first_1.1,
        apart_1: apart[1],
        below_01: firsts[2],
        below_01_low: first_01.0,
        below_01_high: first_01.1,
        apart_01: apart[2],
    };
    let row = |(i, &t): (usize, &u64)| {
        let bound = bounded.then(|| times.bound(t));
        let interval = intervals.get(1 + LEVELS.len() + i).copied().flatten().filter(|_| bounded);
        let bound_high = limits.limit(times, t).ok();
        let delta = bound.and_then(|b| epsilon.map(|epsilon| sampling_delta(epsilon, b.mean)));
        // A delta of 1 is no estimate: it says nothing, whatever the bound's error.
        let factor = epsilon.filter(|_| delta.is_some_and(|delta| delta < 1.0)).map(|e| 1.0 + libm::exp(e));
        let delta_se = bound.zip(factor).map(|(bound, factor)| bound.standard_error * factor);
        BoundRow {
            cell,
            lag,
            pairs,
            censored: times.censored(),
            apart: times.apart(t),
            t,
            bound,
            bound_low: interval.map(|(low, _)| low),
            bound_high,
            delta_sampling: delta.map(|delta| Estimate::new(delta, delta_se)),
            delta_sampling_high: bound_high
                .and_then(|high| epsilon.map(|epsilon| sampling_delta(epsilon, high))),
        }
    };
    let bounds = at.iter().enumerate().map(row).collect();
    (summary, bounds)
}

/// One cell of a page.
struct Line<'a> {
    cell: &'a CellRow,
    times: TimesRow,
    bounds: HashMap<u64, Estimate>,
}

impl Line<'_> {
    /// Why there is no bound.
    fn unbounded(&self) -> String {
        let Self { cell, times, .. } = self;
        format!(
            "{}, lag {}: {} of {} pairs were cut short before they met, {} steps after the lag, so there is no bound \
             (raise max-steps)",
            cell.method_words(),
            times.lag,
            times.censored,
            times.pairs,
            self.cut()
        )
    }

    /// The steps after the lag at which pairs are cut short.
    fn cut(&self) -> u64 {
        self.cell.max_steps.unwrap_or(0).saturating_sub(self.times.lag)
    }

    /// The bound after `t` steps, of a cell that has one; beyond those that are kept it is 0.
    fn bound(&self, t: u64) -> Estimate {
        let known = self.bounds.get(&t).copied();
        let before = || self.bounds.iter().filter(|(at, _)| **at < t).max_by_key(|(at, _)| **at);
        // Between two of them the bound is at most that before.
        known.or_else(|| before().map(|(_, bound)| *bound)).unwrap_or(Estimate::new(f64::INFINITY, None))
    }

    /// The bound with its standard error; where every pair had met, the 95 % limit of the share that had not.
    fn words(&self, t: u64) -> String {
        let bound = self.bound(t);
        if bound.mean > 0.0 {
            with_error(bound)
        } else {
            format!("0 (< {:.1e})", 3.0 / self.times.pairs as f64)
        }
    }
}

/// Pages for each law and budget.
pub(super) fn pages(run: &Named) -> Result<Page> {
    let times = run.by_cell(|row: &TimesRow| row.cell)?;
    let kernels = kernels(&times);
    let mut bounds: HashMap<Key, HashMap<u64, Estimate>> = HashMap::new();
    run.run.each(|row: BoundRow| {
        if let Some(bound) = row.bound {
            bounds.entry(row.cell).or_default().insert(row.t, bound);
        }
        Ok(())
    })?;
    let marginals = marginals::by_cell(run)?;
    let lines = times.into_iter().map(|(cell, mut rows)| {
        let bounds = bounds.remove(&cell.cell).unwrap_or_default();
        Line { cell, times: rows.remove(0), bounds }
    });
    let mut page = Page::default();
    for lines in grouped(lines, |line: &Line| line.cell.noise()) {
        let failed = run.printed_failed().filter(|cell| cell.noise() == lines[0].cell.noise());
        // Of chains whose marginals are known, their own distance.
        let truth = |(method, options): &(MethodKind, String)| {
            let line = lines.iter().find(|line| {
                line.cell.method == *method
                    && line.cell.options == *options
                    && marginals.contains_key(&line.cell.cell)
            })?;
            Some((line.cell.method_words(), marginals[&line.cell.cell].as_slice()))
        };
        let truths: Vec<Truth> = kernels.iter().filter_map(truth).collect();
        page = page.and(summary(&run.name, &lines, failed)).and(bound_table(&run.name, &lines, &truths));
        for (method, options) in &kernels {
            let same: Vec<&Line> = lines
                .iter()
                .filter(|line| line.cell.method == *method && line.cell.options == *options)
                .collect();
            if let Some((line, rows)) =
                same.iter().find_map(|line| Some((*line, marginals.get(&line.cell.cell)?)))
            {
                page = page.and(marginal_table(line.cell, rows, &same));
            }
        }
    }
    // Chains without pairs.
    for cell in run.printed.iter().filter(|cell| cell.lag.is_none()) {
        if let Some(rows) = marginals.get(&cell.cell) {
            page = page.and(marginal_table(cell, rows, &[]));
        }
    }
    Ok(page)
}

/// A line for each chain and lag. `failed`: cells of the same noise.
fn summary<'a>(run: &str, lines: &[Line], failed: impl Iterator<Item = &'a CellRow>) -> Page {
    let longest = |line: &Line| line.times.longest.filter(|_| line.times.censored == 0);
    // Pairs that were cut short count as the slowest.
    let or_more = |line: &Line, time: Option<u64>| match time {
        Some(time) => time.to_string(),
        None => format!("> {}", longest(line).unwrap_or(line.cut())),
    };
    let within = |t: String, interval: Option<(u64, u64)>| match interval {
        Some((low, high)) => format!("{t} [{low}, {high}]"),
        None => t,
    };
    let first = |line: &Line, place: usize| match &line.times.firsts()[place] {
        None => "-".to_owned(),
        Some(First { t, interval, apart }) => {
            within(t.to_string(), *interval) + if *apart < LEAST_APART { " *" } else { "" }
        }
    };
    let heads = LEVELS.map(|level| format!("first t <= {level}"));
    let columns: &[Column<Line>] = &[
        ("method", &|line| line.cell.method_words()),
        ("lag", &|line| line.times.lag.to_string()),
        ("pairs", &|line| line.times.pairs.to_string()),
        ("censored", &|line| line.times.censored.to_string()),
        ("median τ-L", &|line| {
            let TimesRow { median, median_low, median_high, .. } = line.times;
            within(or_more(line, median), median_low.zip(median_high))
        }),
        ("max τ-L", &|line| or_more(line, longest(line))),
        ("moves / step", &|line| with_error(line.times.moves)),
        (&heads[0], &|line| first(line, 0)),
        (&heads[1], &|line| first(line, 1)),
        (&heads[2], &|line| first(line, 2)),
    ];
    let failed =
        failed.map(|cell| vec![cell.method_words(), cell.lag.map_or("-".into(), |lag| lag.to_string())]);
    let table = Table::listed(2, lines, columns).and_lines(failed, FAILED);
    let unbounded = lines.iter().filter(|line| !line.times.is_bounded());
    let mut notes: Vec<String> = unbounded.map(Line::unbounded).collect();
    let mut firsts = lines.iter().flat_map(|line| line.times.firsts()).flatten().peekable();
    let is_bounded = firsts.peek().is_some();
    if firsts.any(|first| first.apart < LEAST_APART) {
        notes.push(format!(
            "*: fewer than {LEAST_APART} pairs are still apart there: more pairs would move it"
        ));
    }
    let title = format!("{run}: meeting times, {}", lines[0].cell.noise_words());
    let page = Page::main(title.clone()).text("t in kernel steps, in brackets 95 % intervals.");
    let page = match lines.len() > 1 && is_bounded {
        true => page.figure(steps_figure(run, title, lines)),
        false => page,
    };
    page.table(table).list(notes)
}

/// The steps that chains need, chain by chain.
fn steps_figure(run: &str, title: String, lines: &[Line]) -> Figure {
    let names =
        lines.iter().map(|line| format!("{} lag={}", line.cell.method_words(), line.times.lag)).collect();
    let series = |(i, level): (usize, &f64)| {
        let mark = |(place, line): (usize, &Line)| {
            let First { t, interval, .. } = line.times.firsts().into_iter().nth(i).flatten()?;
            let mark = Mark::new(t as f64, place as f64);
            Some(interval.map_or(mark, |(low, high)| mark.within(low as f64, high as f64)))
        };
        Series {
            name: format!("TV bound at most {level}"),
            kind: Kind::Dots,
            marks: lines.iter().enumerate().filter_map(mark).collect(),
        }
    };
    Figure {
        name: Figure::named(&format!("{run}-steps-{}", lines[0].cell.noise_words())),
        title,
        about: "For each chain and lag the kernel steps after which the bound on the total variation distance is at \
            most 0.1, 0.01 and 0.001, with 95 % \
                intervals, on a logarithmic axis. A step of one sampler may take longer than one of another. The \
                table below has the figures."
            .into(),
        x: Axis::new("t (kernel steps)", Scale::Log),
        y: Axis::new(String::new(), Scale::Names(names)),
        panels: Panel::only(LEVELS.iter().enumerate().map(series)),
        note: String::new(),
    }
}

fn bound_table(run: &str, lines: &[Line], truths: &[Truth]) -> Page {
    let bounded: Vec<&Line> = lines.iter().filter(|line| line.times.is_bounded()).collect();
    let Some(last) = bounded.iter().filter_map(|line| line.times.below_01).max() else {
        return Page::default();
    };
    let words = |line: &&Line| format!("{} lag={}", line.cell.method_words(), line.times.lag);
    let header = std::iter::once("t".to_owned()).chain(bounded.iter().map(words));
    let line = |t: u64| {
        let bounds = bounded.iter().map(|line| line.words(t));
        std::iter::once(t.to_string()).chain(bounds).collect()
    };
    let rows = half_decades(last.saturating_mul(4)).into_iter().map(line).collect();
    let title =
        format!("Bound on the total variation distance after t steps, {}", lines[0].cell.noise_words());
    let about = "Mean ± standard error over pairs (above 1 it says nothing; in brackets, where all had met, the 95 % \
        limit of the share of pairs that have not).";
    let note = bounded[0].cell.epsilon_paid().map_or(String::new(), |epsilon| {
        format!(
            "A release after t steps is (epsilon', delta + delta')-private, epsilon' = (1 + gamma) epsilon of all \
                levels together, here {}, \
             and delta' = (1 + e^epsilon') times the bound, {:.3} times it here, and at most 1; both are in the CSV.",
            number(epsilon),
            1.0 + libm::exp(epsilon)
        )
    });
    Page::headed(title.clone())
        .text(about)
        .figure(figure(run, title, &bounded, truths, last))
        .table(Table::new(1, header, rows))
        .text(note)
}

/// A chain in words, and the distances of its marginals to the exact law.
type Truth<'a> = (String, &'a [MarginalRow]);

/// Marks up to the first at 0: those behind it are 0 as well.
fn to_first_zero(marks: impl Iterator<Item = Mark>) -> Vec<Mark> {
    let mut is_zero = false;
    marks.take_while(|mark| !std::mem::replace(&mut is_zero, mark.y == 0.0)).collect()
}

/// The bounds on logarithmic axes with 95 % bands, and where it is known what lies under them.
fn figure(run: &str, title: String, bounded: &[&Line], truths: &[Truth], last: u64) -> Figure {
    let bound = |line: &&Line| {
        let times = half_decades(last.saturating_mul(4)).into_iter().filter(|t| *t > 0);
        let mark = |t: u64| {
            let bound = line.bound(t);
            Mark::new(t as f64, bound.mean).estimated(bound)
        };
        Series {
            name: format!("bound, {}, lag {}", line.cell.method_words(), line.times.lag),
            kind: Kind::Line,
            marks: to_first_zero(times.map(mark)),
        }
    };
    let truth = |(chain, rows): &Truth| {
        // The worst entry, as far as it is above what as many exact draws show.
        let above =
            rows.iter().filter(|row| row.t > 0 && row.level == 1 && row.tv > row.floor + 4.0 * row.floor_sd);
        let marks = above.map(|row| Mark::new(row.t as f64, row.tv)).collect();
        Series { name: format!("worst entry, {chain}"), kind: Kind::Dots, marks }
    };
    Figure {
        name: Figure::named(&format!("{run}-tv-bound-{}", bounded[0].cell.noise_words())),
        title,
        about: "Upper bounds on the total variation distance to the target by steps, with 95 % bands, for each chain \
            and lag; where it is known, dots for the \
                distance of the worst entry, which lies under them. The table below has the figures."
            .into(),
        x: Axis::new("t (kernel steps)", Scale::Log),
        y: Axis::total_variation(),
        panels: Panel::only(bounded.iter().map(bound).chain(truths.iter().map(truth))),
        note: "A bound above 1 says nothing, and is drawn at 1. A bound is 0 where all pairs have met.".into(),
    }
}

/// The chains' own distance to the exact law by level, under the smallest bound of their lags.
fn marginal_table(cell: &CellRow, rows: &[MarginalRow], same: &[&Line]) -> Page {
    let smallest = |t: u64| {
        same.iter().filter(|line| line.times.is_bounded()).min_by(|a, b| {
            let [a, b] = [a, b].map(|line| line.bound(t));
            a.mean.total_cmp(&b.mean).then(a.standard_error.total_cmp(&b.standard_error))
        })
    };
    let pivot = Pivot::of(rows.iter().map(|row| (row.t, row.level, row)));
    let levels = pivot.across().len();
    let head = |level: &u32| {
        let of = if levels > 1 { format!(" of level {level}") } else { String::new() };
        [format!("worst entry{of}"), format!("L1 error{of}")]
    };
    let distances = |row: &&MarginalRow| {
        [format!("{:.4} ({:.4})", row.tv, row.floor), format!("{:.4} ({:.4})", row.l1, row.l1_floor)]
    };
    let bound = |t: u64| smallest(t).map_or("-".into(), |line| line.words(t));
    let cell_of = |_: &u64, level: &u32, line: &BTreeMap<u32, &MarginalRow>| {
        line.get(level).map_or(["-", "-"].map(str::to_owned), distances)
    };
    let table = match same.is_empty() {
        true => pivot.table(["t"], |t| [t.to_string()], head, cell_of),
        false => pivot.table(["t", "smallest bound"], |&t| [t.to_string(), bound(t)], head, cell_of),
    };
    let table = Table { keys: 1, ..table };
    let below = |(&t, levels): (&u64, &BTreeMap<u32, &MarginalRow>)| {
        let line = smallest(t)?;
        // What the floor explains, three standard errors of either side, and pairs so slow that none was seen, are no
        // contradiction.
        let excess = levels.values().map(|row| row.tv - row.floor - 3.0 * row.floor_sd).fold(0.0, f64::max);
        let unseen = 3.0 / (line.times.pairs - line.times.censored) as f64;
        let bound = line.bound(t);
        (bound.mean + 3.0 * bound.standard_error.max(0.0) + unseen < excess).then_some(t)
    };
    let below: Vec<u64> = pivot.lines().filter_map(below).collect();
    let title = format!(
        "Distance to the exact law of {}, {}, over {} chains",
        cell.method_words(),
        cell.noise_words(),
        rows[0].chains
    );
    let about = "The largest total variation distance of an entry's marginal, and the Kolmogorov-Smirnov distance of \
        the L1 error; in brackets what as many exact draws show.";
    let verdict = if same.iter().all(|line| !line.times.is_bounded()) {
        String::new()
    } else if below.is_empty() {
        "The bound lies above the distance at every t (within the noise of both).".to_owned()
    } else {
        format!("The bound lies BELOW the distance at t = {below:?}, by more than three standard errors.")
    };
    Page::headed(title).text(about).table(table).text(verdict)
}
