//! A comparison as text, tables and numbers for programs.

use super::{Clock, Compared, Comparison, Paid, Verdict};
use crate::config::Thresholds;
use crate::failure::{Failure, Result};
use crate::page::{Column, Format, Page, Table, grouped, thousands};
use crate::study::{self, FAILED};
use std::collections::BTreeMap;

/// What a table of differences shows.
const JUDGED: &str = "In brackets the interval by which a difference is judged. n: about how many replicates would \
    decide it, if means and spreads stay as they are.";

impl Comparison {
    /// Whether it is of cells of one run.
    fn is_within(&self) -> bool {
        self.clocks.is_empty()
    }

    /// Whether every table of both holds the same rows.
    pub fn is_identical(&self) -> bool {
        self.tables.values().all(|same| *same == Some(true))
    }

    /// What changed for the worse: figures, and cells that fail now.
    pub fn worse(&self) -> usize {
        self.count(Verdict::Worse) + self.failed.len()
    }

    /// Cells of the base that the candidate has no figures of: it has them not, or they failed there.
    pub fn lost(&self) -> usize {
        self.only_base.len() + self.failed.len()
    }

    /// Cells of which no figures are compared, and why.
    fn apart(&self) -> [(&[String], &'static str); 4] {
        [
            (&self.only_base, "only in the base"),
            (&self.only_candidate, "only in the candidate"),
            (&self.failed, if self.is_within() { FAILED } else { "failed now" }),
            (&self.mended, "no longer failed"),
        ]
    }

    /// Figures with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.figures.iter().filter(|figure| figure.verdict == verdict).count()
    }

    /// The comparison as text of so many columns, markdown, CSV (its figures) or JSON. Errors: another format.
    pub fn render(&self, format: Format, width: usize) -> Result<String> {
        match format {
            Format::Json => Ok(serde_json::to_string_pretty(self).expect("plain values") + "\n"),
            Format::Csv => Ok(self.csv()),
            Format::Html | Format::Latex | Format::Svg => {
                Err(Failure::Usage("--format: want text, markdown, csv or json for a comparison".into()))
            }
            Format::Text => Ok(self.page().to_text(width)),
            Format::Markdown => Ok(self.page().to_markdown()),
        }
    }

    fn csv(&self) -> String {
        let known = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        let columns: &[Column<Compared>] = &[
            ("cell", &|figure| figure.cell.clone()),
            ("words", &|figure| figure.words.clone()),
            ("among", &|figure| figure.among.clone()),
            ("against", &|figure| figure.against.clone()),
            ("place", &|figure| figure.place.clone()),
            ("metric", &|figure| figure.metric.to_owned()),
            ("base", &|figure| figure.base.to_string()),
            ("candidate", &|figure| figure.candidate.to_string()),
            ("difference", &|figure| figure.difference.to_string()),
            ("difference_se", &|figure| known(figure.standard_error)),
            ("half_width", &|figure| known(figure.half_width)),
            ("verdict", &|figure| figure.told.clone()),
            ("replicates", &|figure| figure.replicates.map_or(String::new(), |n| n.to_string())),
        ];
        let Table { header, mut rows, .. } = Table::listed(0, &self.figures, columns);
        for (cells, what) in self.apart() {
            for cell in cells {
                let (key, words) = cell.split_once(' ').unwrap_or((cell, ""));
                let mut row = vec![String::new(); header.len()];
                (row[0], row[1], row[11]) = (key.to_owned(), words.to_owned(), what.to_owned());
                rows.push(row);
            }
        }
        study::lines(&header, &rows)
    }

    /// What cells pay; those of the same words together.
    fn paid_page(&self) -> Page {
        let mut notes: Vec<String> = Vec::new();
        for note in self.paid.iter().flat_map(|paid| &paid.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let (what, body) = match self.is_within() {
            true => (["among", "cells"], self.paid_within()),
            false => (["cells", "run"], self.paid_between()),
        };
        if body.is_empty() {
            return Page::default();
        }
        let header = [&what[..], &["record added or removed", "record moved", "smallest change"]].concat();
        Page::headed("What a release pays").table(Table::new(2, header, body)).list(notes)
    }

    fn paid_between(&self) -> Vec<Vec<String>> {
        let mut kinds: BTreeMap<(&[String; 3], &[String; 3]), Vec<&Paid>> = BTreeMap::new();
        self.paid.iter().for_each(|paid| kinds.entry((&paid.base, &paid.candidate)).or_default().push(paid));
        let mut body = Vec::new();
        for ((base, candidate), cells) in kinds {
            let words = match cells[..] {
                [one] => one.words.clone(),
                _ => format!("{} and {} more", cells[0].words, cells.len() - 1),
            };
            let row = |run: &str, pays: &[String; 3]| [&[words.clone(), run.to_owned()][..], pays].concat();
            if base == candidate {
                body.push(row("both", base));
            } else {
                body.extend([row("base", base), row("candidate", candidate)]);
            }
        }
        body
    }

    fn paid_within(&self) -> Vec<Vec<String>> {
        let mut kinds: Vec<(&str, Vec<&str>, &[String; 3])> = Vec::new();
        let mut add =
            |among, words, pays| match kinds.iter_mut().find(|kind| (kind.0, kind.2) == (among, pays)) {
                Some((_, cells, _)) if cells.contains(&words) => {}
                Some((_, cells, _)) => cells.push(words),
                None => kinds.push((among, vec![words], pays)),
            };
        for paid in &self.paid {
            add(paid.among.as_str(), paid.against.as_str(), &paid.base);
            add(&paid.among, &paid.words, &paid.candidate);
        }
        let row = |(among, cells, pays): &(&str, Vec<&str>, &[String; 3])| {
            [&[among.to_string(), cells.join(", ")][..], &pays[..]].concat()
        };
        kinds.iter().map(row).collect()
    }

    fn page(&self) -> Page {
        let rows = |(_, same): &(&String, &Option<bool>)| match same {
            Some(true) => "identical rows".to_owned(),
            Some(false) => "other rows".to_owned(),
            None => "in one of the two only".to_owned(),
        };
        let tables: Vec<_> = self.tables.iter().collect();
        let mut page = match self.is_within() {
            true => Page::default(),
            false => Page::headed("Tables").listed(
                1,
                &tables,
                &[("table", &|(name, _)| name.to_string()), ("rows", &rows)],
            ),
        };
        page = page.and(if self.is_within() { self.methods_page() } else { self.changes_page() });
        let line = |(cells, what): (&[String], &str)| -> Vec<String> {
            cells.iter().map(|cell| format!("{what}: {cell}")).collect()
        };
        page = page
            .and(self.paid_page())
            .list(self.apart().into_iter().flat_map(line).collect())
            .text(self.rule());
        let clock = |clock: &Clock| {
            let plural = if clock.processes == 1 { "" } else { "es" };
            let Clock { seconds, host, threads, processes } = clock;
            format!(
                "{seconds:.1} s in {processes} process{plural}, on {host} with {threads} threads at the end"
            )
        };
        match &self.clocks[..] {
            [base, candidate] => page.text(format!(
                "Wall clock, for information and not judged: base {}; candidate {}.",
                clock(base),
                clock(candidate)
            )),
            _ => page,
        }
    }

    /// What is not identical.
    fn changes_page(&self) -> Page {
        let differing = self.figures.iter().filter(|figure| figure.verdict != Verdict::Identical);
        let differing: Vec<&Compared> = differing.collect();
        if differing.is_empty() {
            return Page::default();
        }
        let columns: &[Column<&Compared>] = &[
            ("cell", &|figure| figure.cell.clone()),
            ("what it is", &|figure| figure.words.clone()),
            ("where in it", &|figure| figure.place.clone()),
            ("metric", &|figure| figure.metric.to_owned()),
            ("base", &|figure| mean(figure.base)),
            ("candidate", &|figure| mean(figure.candidate)),
            ("difference", &|figure| difference(figure)),
            ("verdict", &|figure| verdict(figure)),
        ];
        Page::headed("Figures that are not identical").listed(4, &differing, columns).text(JUDGED)
    }

    /// Cells of one run: those that have something in common below each other, behind the one that they are compared
    /// with.
    fn methods_page(&self) -> Page {
        // Behind the name of a cell and its mean, and what is said of it.
        type Row<'a> = (&'a Compared, &'a str, f64, bool);
        let page = |figures: Vec<&Compared>| {
            let rows = grouped(figures.iter().copied(), |figure| (&figure.place, figure.metric)).into_iter();
            let rows = rows.flat_map(|here| {
                let first: Row = (here[0], &here[0].against, here[0].base, false);
                let others =
                    here.into_iter().map(|figure| (figure, figure.words.as_str(), figure.candidate, true));
                std::iter::once(first).chain(others).collect::<Vec<Row>>()
            });
            let told = |judged: bool, words: fn(&Compared) -> String, figure| {
                if judged { words(figure) } else { String::new() }
            };
            let (rows, less): (Vec<Row>, _) = (rows.collect(), format!("less {}", figures[0].against));
            let columns: &[Column<Row>] = &[
                ("where in it", &|(figure, ..)| figure.place.clone()),
                ("metric", &|(figure, ..)| figure.metric.to_owned()),
                ("", &|(_, words, ..)| (*words).to_owned()),
                ("mean", &|(.., x, _)| mean(*x)),
                (&less, &|(figure, .., judged)| told(*judged, difference, figure)),
                ("verdict", &|(figure, .., judged)| told(*judged, verdict, figure)),
            ];
            Page::headed(&figures[0].among).listed(3, &rows, columns)
        };
        let among = grouped(&self.figures, |figure| &figure.among);
        among.into_iter().map(page).collect::<Page>().text(JUDGED)
    }

    /// How it was judged, and how often with which verdict.
    fn rule(&self) -> String {
        let Thresholds { margin, level, margins } = &self.rule;
        let others: Vec<String> = margins.iter().map(|(metric, x)| format!("{x} for {metric}")).collect();
        let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        let verdicts =
            [Verdict::Identical, Verdict::Equal, Verdict::Undecided, Verdict::Better, Verdict::Worse];
        let single = margins.is_empty().then_some(*margin);
        let counted = verdicts
            .map(|verdict| format!("{} {}", self.count(verdict), verdict.told(self.is_within(), single)));
        let bias = match self.figures.iter().any(|figure| figure.metric == "bias") {
            true => " (of a bias: times the base's mean absolute error of a count)",
            false => "",
        };
        format!(
            "{} figures: {}. Rule: the confidence interval of the difference of the means, at {level} for all \
                figures that are not identical \
             together (Welch, Bonferroni): within {margin}{others} times the base's mean{bias} they are equal within \
             that margin; else {} if it excludes \
             0; else undecided.",
            self.figures.len(),
            counted.join(", "),
            if self.is_within() { "smaller or larger" } else { "changed" },
        )
    }
}

/// A difference with its interval.
fn difference(figure: &Compared) -> String {
    let Compared { difference, half_width, .. } = *figure;
    let Some(half) = half_width.filter(|half| *half > 0.0) else { return mean(difference) };
    // Two digits of the width.
    let decimals = (1.0 - libm::log10(half).floor()).max(0.0) as usize;
    let shown = |x: f64| match decimals {
        0..10 => format!("{x:+.decimals$}"),
        _ => format!("{x:+.1e}"),
    };
    let [low, high] = [difference - half, difference + half].map(shown);
    format!("{} [{low}, {high}]", shown(difference))
}

/// What is said of it, and of what is undecided the replicates that would decide it.
fn verdict(figure: &Compared) -> String {
    let tell = |n: u64| format!(", n {}", thousands(n as f64));
    figure.told.clone() + &figure.replicates.map_or(String::new(), tell)
}

/// A mean with six decimals; what is less is written as it is.
fn mean(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if size < 1e-5 => format!("{x:.1e}"),
        _ => format!("{x:.6}"),
    }
}
