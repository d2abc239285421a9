//! What is told of the intervals of a file.

use super::{By, Inferred, Interval, Met, Ratio};
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Page, Table, counted, grouped, line, place, thousands};
use crate::sdc::Publishing;
use std::collections::HashSet;

/// Nodes of a level that are shown by name at most.
const SHOWN: usize = 20;
/// Published counts of which it is told how likely they are true, from 0.
const SMALL: u64 = 5;
/// Places of marks in a figure, beside and above each other: of marks of a level at one place the first is drawn.
const PLACES: [f64; 2] = [90.0, 45.0];

impl Inferred {
    /// What is told: what the file is, each level in one row, the counts of short levels, districts or queries, and a figure.
    pub fn page(&self) -> Page {
        let levels = self.noisy.levels();
        let page = self.levels();
        let named = (0..levels).filter(|&level| self.of_level(level).count() <= SHOWN);
        let page = named.fold(page, |page, level| page.and(self.nodes(level)));
        let model = self.modelled.as_ref().map(|modelled| modelled.page(&percent(self.level)));
        page.and(self.queried()).and(self.small()).and(self.ratios()).and(model.unwrap_or_default())
    }

    /// The heading of the page.
    pub fn title(&self) -> String {
        let (method, noise) = (self.noisy.method_words(), self.noisy.law.noise_words());
        format!("{}: {method}, {noise}", place(&self.noisy.path))
    }

    fn of_level(&self, level: usize) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().filter(move |interval| interval.of == Ok(level))
    }

    fn of_queries(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().filter(|interval| interval.of.is_err())
    }

    /// What the intervals promise, in words.
    fn promise(&self) -> String {
        let percent = percent(self.level);
        if !self.noisy.law.is_noise() {
            return self.promise_by_value(&percent);
        }
        if let Some(prior) = &self.prior {
            let draws = match (&self.chains, self.draws) {
                (Some(walked), draws) => walked.words(draws),
                (None, 0) => String::new(),
                (None, draws) => {
                    let what = if self.noisy.is_table() { "Intervals" } else { "Districts" };
                    format!(" {what} rest on {} independent draws of it.", thousands(draws as f64))
                }
            };
            let (part, _) = self.noisy.query_words();
            return format!(
                "Each interval holds {percent} % of the posterior, with equal tails. Prior of every {part}: {prior}. This is a \
                 statement of who believes the prior, and none that holds whatever the counts are.{draws}"
            );
        }
        let kind = match (self.is_guaranteed, self.noisy.is_pivot()) {
            (true, _) => holds(&percent),
            (false, true) if self.intervals.iter().any(|interval| interval.by == By::Normal) => {
                if_normal(&percent, "its law is not computed, and there are too many counts to draw it")
            }
            (false, true) if self.noisy.assumed => if_noise_normal(&percent),
            (false, true) => format!(
                "Each interval holds the confidential count with a chance of {percent} % as far as the chain has reached its law."
            ),
            (false, false) => format!(
                "The error of {} depends on the counts, so that no interval holds at every table. These come from a parametric \
                 bootstrap: the method is repeated {} times on what was released. They promise nothing.",
                self.noisy.method_words(),
                thousands(self.draws as f64)
            ),
        };
        let projected = match (self.projected, self.noisy.is_table()) {
            (true, false) => {
                " The released values do not add up; estimates are those of least squares, which do."
            }
            (true, true) => {
                " The released values do not keep what the invariant fixes; estimates are those of least squares, which do."
            }
            (false, _) => "",
        };
        let drawn = self.intervals.iter().filter(|interval| interval.by == By::Draws).count();
        let draws = thousands(self.draws as f64);
        let draws = match (drawn, self.intervals.len() - drawn) {
            (0, _) => String::new(),
            (_, 0) => format!(" The law itself is not computed: {draws} draws of the error stand for it"),
            _ => format!(" Where the law itself is not computed, {draws} draws of the error stand for it"),
        };
        let draws = if drawn > 0 { draws + "; that is allowed for in the chance." } else { draws };
        let absent = match self.noisy.absent() {
            "" => String::new(),
            entry => {
                format!(" Entries without a row, such as `{}`, are taken to be 0 for sure.", line(entry))
            }
        };
        kind + projected + &draws + &absent
    }

    fn levels(&self) -> Page {
        let noisy = &self.noisy;
        let bands = self.intervals.iter().any(|interval| interval.band.is_some());
        let naive = self.intervals.iter().any(|interval| interval.naive.is_finite());
        let mut header = vec!["counts of".to_owned(), "number".into(), "scale of\nthe noise".into()];
        header.push("standard\ndeviation".into());
        let width = match self.base() {
            Some(_) => "possible\ncounts, +-".to_owned(),
            None => format!("{} %\ninterval, +-", percent(self.level)),
        };
        header.extend([width, "cut".into()]);
        header.extend(["nothing\nleft".to_owned(), "found by".into()]);
        if bands {
            header.push("band for\nall, +-".into());
        }
        if naive {
            header.push("by the noise\nalone would hold".into());
        }
        let row = |name: &str, scale: String, own: Vec<&Interval>| {
            let mean =
                |of: &dyn Fn(&Interval) -> f64| own.iter().map(|i| of(i)).sum::<f64>() / own.len() as f64;
            let number =
                |of: &dyn Fn(&Interval) -> bool| thousands(own.iter().filter(|i| of(i)).count() as f64);
            let by = grouped(own.iter().map(|i| i.by.word()), |word| *word);
            let mut row = vec![name.to_owned(), thousands(own.len() as f64), scale];
            row.push(deviation(mean(&|i| i.deviation)));
            row.push(format!("{:.2}", mean(&|i| i.half)));
            row.extend([number(&|i| i.met == Met::Cut), number(&|i| i.met == Met::Empty)]);
            row.push(by.iter().map(|words| words[0]).collect::<Vec<_>>().join(", "));
            if bands {
                row.push(format!("{:.2}", mean(&|i| i.band.map_or(f64::NAN, |band| band.half))));
            }
            if naive {
                let share = 100.0 * mean(&|i| i.naive);
                row.push(if share.is_nan() { "-".into() } else { format!("{share:.1} %") });
            }
            row
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for level in 0..noisy.levels() {
            let scale = match (noisy.scale(level), noisy.is_table()) {
                (None, false) if noisy.law.is_noise() => "known".to_owned(),
                (None, _) => "-".to_owned(),
                (Some(scale), _) => format!("{scale:.4}"),
            };
            rows.push(row(noisy.level_name(level), scale, self.of_level(level).collect()));
        }
        let queries: Vec<&Interval> = self.of_queries().collect();
        if !queries.is_empty() {
            rows.push(row(self.queries_word(), "-".into(), queries));
        }
        Page::main(self.title())
            .text(self.promise())
            .table(Table::new(1, header, rows))
            .text(match (&self.prior, noisy.is_table()) {
                (Some(_), _) => "Means over the counts of a row.",
                (None, false) => {
                    "Means over the counts of a row. Counts are >= 0, and no more than a known count around them: intervals \
                     are cut there, and where nothing is left stands the nearest value that can be."
                }
                (None, true) => {
                    "Means over the counts of a row. Counts are >= 0, and within what the invariant leaves them: intervals \
                     are cut there, and where nothing is left stands the nearest value that can be."
                }
            })
            .figure(by_size(self.marks(), self.level))
    }

    fn nodes(&self, level: usize) -> Page {
        let noisy = &self.noisy;
        let own: Vec<&Interval> = self.of_level(level).collect();
        let name = |interval: &Interval| {
            let keys = interval.count.map(|count| noisy.keys(count)).unwrap_or_default();
            let words: Vec<&str> = keys.into_iter().filter(|key| !key.is_empty()).collect();
            if words.is_empty() { "total".to_owned() } else { words.join(", ") }
        };
        let title = match noisy.level_name(level) {
            "total" => "Total".to_owned(),
            "entry" if noisy.is_table() => format!("The {}", entries(own.len())),
            by if noisy.is_table() => format!("{} by {by}", counted(own.len() as f64, "sum")),
            by => format!("{} by {by}", counted(own.len() as f64, "count")),
        };
        Page::headed(title).table(self.table(noisy.level_name(level), own.iter().map(|i| (name(i), *i))))
    }

    /// Districts, or queries.
    fn queries_word(&self) -> &'static str {
        if self.noisy.is_table() { "queries" } else { "districts" }
    }

    fn queried(&self) -> Page {
        let own: Vec<&Interval> = self.of_queries().collect();
        if own.is_empty() {
            return Page::default();
        }
        let file = self.queries.as_ref().map_or(String::new(), |path| path.display().to_string());
        let shown = own.iter().take(SHOWN * 5);
        let name = |interval: &Interval| interval.of.clone().err().unwrap_or_default();
        let more = own.len().saturating_sub(SHOWN * 5);
        let rest = match more {
            0 => String::new(),
            more => format!("… and {} more, in intervals.csv of --out.", thousands(more as f64)),
        };
        let (_, word) = self.noisy.query_words();
        let words = if own.len() == 1 { word } else { self.queries_word() };
        Page::main(format!("{} {words} of {}", thousands(own.len() as f64), line(&file)))
            .table(self.table(word, shown.map(|i| (name(i), *i))))
            .text(rest)
    }

    fn ratios(&self) -> Page {
        if self.ratios.is_empty() {
            return Page::default();
        }
        let short = |x: f64| match x {
            x if x.is_nan() => "none".to_owned(),
            x if x.is_infinite() => "no end".to_owned(),
            x => format!("{x:.6}"),
        };
        let row = |ratio: &Ratio| {
            let name = line(&ratio.name).to_string();
            let ends = [short(ratio.estimate), short(ratio.low), short(ratio.high)];
            std::iter::once(name).chain(ends).chain([ratio.by.word().to_owned()]).collect()
        };
        let empty: Vec<&str> =
            self.ratios.iter().filter(|ratio| ratio.is_empty).map(|ratio| &*ratio.name).collect();
        let words = match empty.is_empty() {
            true => String::new(),
            false => format!(
                "No ratio >= 0 goes with what was released of {}: counts far below 0. At this level that happens by chance.",
                line(&empty.join(", "))
            ),
        };
        let rows = self.ratios.iter().map(row).collect();
        let header = ["ratio", "estimate", "low", "high", "found by"];
        Page::main("Ratios").text(self.ratio_promise()).table(Table::new(1, header, rows)).text(words)
    }

    /// What the intervals of ratios promise, in words.
    fn ratio_promise(&self) -> String {
        let percent = percent(self.level);
        let holds = match (self.noisy.has_law(), self.noisy.assumed) {
            (true, _) => format!(
                "Each interval holds the true ratio with a chance of at least {percent} %, whatever the counts are: all ratios \
                 that the noise does not rule out are in it."
            ),
            (false, true) => format!(
                "Each interval would hold the true ratio with a chance of at least {percent} %, if the noise were normal."
            ),
            (false, false) => format!(
                "Each interval holds the true ratio with a chance of at least {percent} % as far as the chain has reached its law."
            ),
        };
        match self.ratio_draws {
            0 => holds,
            draws => format!(
                "{holds} Where one is found by draws, {} draws of both errors stand for their law; that is allowed for in the chance.",
                thousands(draws as f64)
            ),
        }
    }

    fn table<'a>(&self, what: &str, intervals: impl Iterator<Item = (String, &'a Interval)>) -> Table {
        let mut header = vec![what.to_owned(), "estimate".into(), "standard\ndeviation".into()];
        header.extend(["low".to_owned(), "high".into(), "met".into()]);
        let row = |(name, i): (String, &Interval)| {
            let met = if i.met == Met::Whole { String::new() } else { i.met.word().to_owned() };
            vec![name, count(i.estimate), deviation(i.deviation), count(i.low), count(i.high), met]
        };
        Table::new(1, header, intervals.map(row).collect())
    }

    /// The base to which small counts were rounded; `None`: they were not.
    fn base(&self) -> Option<u64> {
        match self.noisy.method.publishing() {
            Ok(Some(Publishing::Rounding { base })) => Some(base),
            _ => None,
        }
    }

    /// What intervals promise of a release without noise, in words.
    fn promise_by_value(&self, percent: &str) -> String {
        let is_found = |by: By| self.intervals.iter().any(|interval| interval.by == by);
        let [by_law, by_bound, believed] = [By::Law, By::Bound, By::Posterior].map(is_found);
        let mut words = vec![format!("{} states no loss.", self.noisy.method_words())];
        if self.base().is_some() {
            words.push(
                "Each interval has all counts that may have been published so, and perhaps more: of a sum those that its leaves \
                 together may have."
                    .to_owned(),
            );
        } else if by_law {
            words.push(format!(
                "Each interval found by `law` holds the confidential count with a chance of at least {percent} %, whatever it is, by \
                 its own published value alone."
            ));
        }
        if by_bound && self.base().is_none() {
            words.push(
                "Those of districts do so by Bernstein's inequality: the errors of leaves do not depend on each other."
                    .to_owned(),
            );
        }
        if let Some(prior) = &self.prior {
            let draws = match self.draws {
                0 => String::new(),
                draws => {
                    let draws = thousands(draws as f64);
                    format!(
                        " Those of districts are given the values of their leaves, and rest on {draws} independent draws."
                    )
                }
            };
            if believed {
                words.push(format!(
                    "Each interval found by `posterior` holds {percent} % of the posterior, with equal tails, given the \
                     published value of that count alone.{draws}"
                ));
            }
            words.push(format!(
                "Prior of every leaf: {prior}. This is a statement of who believes the prior."
            ));
            if by_law && believed {
                words
                    .push("Counts found by `law` are sums of which the prior has no closed form.".to_owned());
            }
        }
        words.join(" ")
    }

    /// How likely small released counts are the true ones, by level, where that is told.
    fn small(&self) -> Page {
        let noisy = &self.noisy;
        let mut rows = Vec::new();
        let published = (0..=SMALL).chain(self.base().filter(|base| *base > SMALL));
        let all = (0..noisy.levels()).flat_map(|level| published.clone().map(move |y| (level, y)));
        for (level, published) in all {
            let is_so = |count: usize| noisy.values[count] == published as f64;
            let told = |own: &Interval| own.is_true.filter(|_| own.count.is_some_and(is_so));
            let all: Vec<f64> = self.of_level(level).filter_map(told).collect();
            if !all.is_empty() {
                let share = all.iter().sum::<f64>() / all.len() as f64;
                let number = thousands(all.len() as f64);
                let name = noisy.level_name(level).to_owned();
                rows.push(vec![name, published.to_string(), number, format!("{share:.3}")]);
            }
        }
        if rows.is_empty() {
            return Page::default();
        }
        let true_with = if self.base().is_some() { "true with\nat least" } else { "true with" };
        let given = match (noisy.law.is_noise(), self.base()) {
            (true, _) => "given the release and the prior",
            (false, None) => "given its own published value and the prior",
            (false, Some(_)) => {
                "given its own published value and the prior alone; what is published beside it may say more or less"
            }
        };
        let header = ["counts of", "published\nas", "number", true_with];
        let chains = match &self.chains {
            Some(walked) if !walked.has_converged() => {
                " They rest on chains that have not converged: take none of it for sure."
            }
            _ => "",
        };
        Page::main("What small published counts say").table(Table::new(2, header, rows)).text(format!(
            "Means of the probability that a published count is the true one, {given}. Divide p by 1 - p for the odds.{chains}"
        ))
    }

    /// By level, and for districts or queries, the estimates with the ends of their intervals.
    fn marks(&self) -> Vec<(String, Vec<[f64; 3]>)> {
        let noisy = &self.noisy;
        let is_open =
            |&level: &usize| noisy.is_table() || !noisy.law.is_noise() || noisy.scale(level).is_some();
        let levels = (0..noisy.levels()).filter(is_open);
        let level = |level: usize| (noisy.level_name(level).to_owned(), self.of_level(level).collect());
        let queries: Vec<&Interval> = self.of_queries().collect();
        let queries = (!queries.is_empty()).then(|| (self.queries_word().to_owned(), queries));
        let all = levels.map(level).chain(queries);
        let ends = |i: &Interval| [i.estimate, i.low, i.high];
        all.map(|(name, own): (String, Vec<&Interval>)| (name, own.into_iter().map(ends).collect())).collect()
    }
}

/// What intervals by the law of the error promise, in words.
pub(super) fn holds(percent: &str) -> String {
    format!(
        "Each interval holds the confidential count with a chance of at least {percent} %, whatever the counts are: the law of the error \
         does not depend on them."
    )
}

/// What intervals promise that take an error as normal, and why they do.
pub(super) fn if_normal(percent: &str, why: &str) -> String {
    format!(
        "Each interval would hold the confidential count with a chance of {percent} %, if the error were normal. Its standard deviation \
         is that of the noise; {why}."
    )
}

/// What intervals promise of noise of which the variance alone is told.
pub(super) fn if_noise_normal(percent: &str) -> String {
    format!(
        "Each interval would hold the confidential count with a chance of {percent} %, if the noise were normal; the file tells its \
         variance alone."
    )
}

/// How sure counts are by their size: half the interval over the estimate. `all`: by series the estimates with the ends of their intervals.
pub(super) fn by_size(all: Vec<(String, Vec<[f64; 3]>)>, level: f64) -> Figure {
    let has_none = all.iter().any(|(_, own)| own.iter().any(|[estimate, ..]| *estimate <= 0.0));
    let mark = |[estimate, low, high]: [f64; 3]| {
        (estimate > 0.0).then(|| Mark::new(estimate, 50.0 * (high - low) / estimate))
    };
    let marks = all.into_iter().map(|(name, own)| (name, own.into_iter().filter_map(mark).collect()));
    let (drawn, thinned) = thin(marks.collect());
    let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Log, ends: (None, None) };
    let mut notes = Vec::new();
    if thinned {
        notes.push("Of counts that would lie on each other one is drawn.".to_owned());
    }
    if has_none {
        notes.push("Estimates of 0 and below are left out.".to_owned());
    }
    Figure {
        name: "intervals".into(),
        title: format!("{} % intervals by size of the count", percent(level)),
        about: "Half the width of every interval, in percent of the estimate, against the estimate: a series for each level."
            .into(),
        x: axis("estimate, counts"),
        y: axis("half the interval, % of the estimate"),
        panels: Panel::only(drawn),
        note: notes.join(" "),
    }
}

/// A number of entries in words.
fn entries(number: usize) -> String {
    if number == 1 { "entry".to_owned() } else { format!("{} entries", thousands(number as f64)) }
}

/// The marks of each level as a series, of those at one place the first; and whether any is left out.
fn thin(levels: Vec<(String, Vec<Mark>)>) -> (Vec<Series>, bool) {
    let before: usize = levels.iter().map(|(_, marks)| marks.len()).sum();
    let ends = |of: fn(&Mark) -> f64| {
        let logs = levels.iter().flat_map(|(_, marks)| marks).map(of).filter(|x| *x > 0.0).map(libm::log);
        logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (x, y) = (ends(|mark| mark.x), ends(|mark| mark.y));
    let place = |value: f64, (low, high): (f64, f64), places: f64| {
        let share = (libm::log(value) - low) / (high - low).max(f64::MIN_POSITIVE);
        libm::round(share * places) as i64
    };
    let series = |(name, mut marks): (String, Vec<Mark>)| {
        let mut taken = HashSet::new();
        marks.retain(|mark| taken.insert((place(mark.x, x, PLACES[0]), place(mark.y, y, PLACES[1]))));
        Series { name, kind: Kind::Dots, marks }
    };
    let drawn: Vec<Series> = levels.into_iter().map(series).collect();
    let after: usize = drawn.iter().map(|series| series.marks.len()).sum();
    (drawn, after < before)
}

/// A standard deviation in words, where it is known.
fn deviation(x: f64) -> String {
    if x.is_nan() { "-".to_owned() } else { format!("{x:.2}") }
}

/// A number of counts in words, with a digit behind the point if it is no integer.
pub(super) fn count(x: f64) -> String {
    if x.fract() == 0.0 || x.abs() > 1e15 {
        return thousands(x);
    }
    let tenths = libm::round(x.abs() * 10.0);
    let sign = if x < 0.0 && tenths > 0.0 { "-" } else { "" };
    format!("{sign}{}.{}", thousands(libm::floor(tenths / 10.0)), tenths % 10.0)
}

/// A share in percent, with as many digits as it has.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.8}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
