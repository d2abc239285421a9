//! Two runs side by side: the same rows, the same within a margin, changed, or undecided.

use super::render::{Format, heading, table, with_error};
use crate::diagnostics::{Estimate, Moments};
use crate::failure::{Failure, Result};
use crate::results::{Errors, Manifest, read_errors};
use crate::rng::normal_quantile;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What is said of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The same values, replicate by replicate, bit for bit.
    Identical,
    /// The confidence interval of the difference lies within the margin.
    Equal,
    /// It lies neither within the margin nor beyond 0.
    Undecided,
    /// It excludes 0, and the candidate's error is smaller.
    Better,
    /// It excludes 0, and the candidate's error is larger.
    Worse,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Equal => "equal",
            Self::Undecided => "undecided",
            Self::Better => "changed for the better",
            Self::Worse => "changed for the worse",
        }
    }
}

/// One figure of one cell of the grid on one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Key of the cell.
    pub cell: String,
    /// The cell in words.
    pub words: String,
    /// 1 = root.
    pub level: u32,
    /// `l1` or `l2`.
    pub metric: &'static str,
    /// Means of both.
    pub base: f64,
    /// See `base`.
    pub candidate: f64,
    /// Candidate less base, and its standard error.
    pub difference: f64,
    /// See `difference`; `None` for a single replicate.
    pub standard_error: Option<f64>,
    /// Half the width of the confidence interval.
    pub half_width: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
}

/// How figures are judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rule {
    /// Share of the base's mean within which a difference does not matter.
    pub margin: f64,
    /// Chance of a wrong "equal" or "changed" over all figures together.
    pub level: f64,
}

/// Everything that a comparison found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The rule.
    pub rule: Rule,
    /// By table: whether both hold the same rows; `None` if one of them does not have it.
    pub tables: BTreeMap<String, Option<bool>>,
    /// Figures of cells that both have.
    pub figures: Vec<Compared>,
    /// Cells that only the base, and only the candidate has.
    pub only_base: Vec<String>,
    /// See `only_base`.
    pub only_candidate: Vec<String>,
}

type Cells = BTreeMap<(String, u32), (String, Vec<Errors>)>;

/// Compares two finished runs, cell by cell.
///
/// For every figure that is not identical the confidence interval of the difference of the means (independent
/// replicates, normal, at 1 - level/m for m figures) decides: within ± margin times the base's mean they are equal;
/// else, if it excludes 0, changed; else undecided.
///
/// Errors: files; runs of different studies or subjects; no cell and no table in common.
pub fn compare(base: &Path, candidate: &Path, rule: Rule) -> Result<Comparison> {
    let manifest = |folder| {
        Manifest::read(folder).map_err(|e| match e {
            Failure::Data { .. } => Failure::Incompatible(e.to_string()),
            other => other,
        })
    };
    let (a, b) = (manifest(base)?, manifest(candidate)?);
    if (&a.study, &a.subject) != (&b.study, &b.subject) {
        let message = format!(
            "a {} of a {} and a {} of a {} cannot be compared",
            a.study, a.subject, b.study, b.subject
        );
        return Err(Failure::Incompatible(message));
    }
    let names = a.tables.keys().chain(b.tables.keys());
    let tables: BTreeMap<String, Option<bool>> = names
        .map(|name| (name.clone(), a.tables.get(name).zip(b.tables.get(name)).map(|(a, b)| a == b)))
        .collect();
    let (ours, theirs) = match a.study.as_str() {
        "release" => (cells(base)?, cells(candidate)?),
        _ => (Cells::new(), Cells::new()),
    };
    let only = |these: &Cells, those: &Cells| -> Vec<String> {
        let mut only: Vec<String> = these
            .iter()
            .filter(|(key, _)| !those.contains_key(key))
            .map(|((cell, _), (words, _))| format!("{cell} {words}"))
            .collect();
        only.dedup();
        only
    };
    let (only_base, only_candidate) = (only(&ours, &theirs), only(&theirs, &ours));
    let mut figures = Vec::new();
    for (key, (words, base)) in &ours {
        let Some((_, candidate)) = theirs.get(key) else { continue };
        for (metric, of) in [("l1", (|e| e.l1) as fn(&Errors) -> f64), ("l2", |e| e.l2)] {
            figures.push(figure(key, words, metric, base, candidate, of));
        }
    }
    let common =
        if a.study == "release" { !figures.is_empty() } else { tables.values().any(Option::is_some) };
    if !common {
        return Err(Failure::Nothing("the two runs have no cell and no table in common".into()));
    }
    let tested = figures.iter().filter(|figure| figure.verdict != Verdict::Identical).count().max(1);
    let z = -normal_quantile(rule.level / (2.0 * tested as f64));
    for figure in figures.iter_mut().filter(|figure| figure.verdict != Verdict::Identical) {
        let Some(se) = figure.standard_error else { continue };
        let (half, margin) = (z * se, rule.margin * figure.base.abs());
        figure.half_width = Some(half);
        figure.verdict = if figure.difference.abs() + half <= margin {
            Verdict::Equal
        } else if figure.difference.abs() > half {
            if figure.difference > 0.0 { Verdict::Worse } else { Verdict::Better }
        } else {
            Verdict::Undecided
        };
    }
    Ok(Comparison { rule, tables, figures, only_base, only_candidate })
}

fn cells(folder: &Path) -> Result<Cells> {
    let mut cells = Cells::new();
    for row in read_errors(folder)? {
        let Some(value) = row.value else { continue };
        let words = format!(
            "{} {} {} epsilon {}",
            row.group.method, row.group.options, row.group.law, row.group.epsilon
        );
        let entry = cells.entry((row.group.cell.clone(), value.level)).or_insert_with(|| (words, Vec::new()));
        entry.1.push(value);
    }
    Ok(cells)
}

/// The figure as far as it does not need the others.
fn figure(
    (cell, level): &(String, u32),
    words: &str,
    metric: &'static str,
    base: &[Errors],
    candidate: &[Errors],
    of: fn(&Errors) -> f64,
) -> Compared {
    let bits = |rows: &[Errors]| rows.iter().map(|row| of(row).to_bits()).collect::<Vec<u64>>();
    let estimate = |rows: &[Errors]| rows.iter().map(of).collect::<Moments>().estimate();
    let (a, b) = (estimate(base), estimate(candidate));
    let same = bits(base) == bits(candidate);
    let standard_error = Some(a.standard_error.hypot(b.standard_error)).filter(|se| se.is_finite());
    Compared {
        cell: cell.clone(),
        words: words.to_owned(),
        level: *level,
        metric,
        base: a.mean,
        candidate: b.mean,
        difference: b.mean - a.mean,
        standard_error,
        half_width: None,
        verdict: if same { Verdict::Identical } else { Verdict::Undecided },
    }
}

impl Comparison {
    /// Whether every table of both holds the same rows.
    pub fn is_identical(&self) -> bool {
        self.tables.values().all(|same| *same == Some(true))
    }

    /// Figures with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.figures.iter().filter(|figure| figure.verdict == verdict).count()
    }

    /// The comparison as text, markdown or JSON. Errors: another format.
    pub fn render(&self, format: Format) -> Result<String> {
        match format {
            Format::Json => Ok(serde_json::to_string_pretty(self).expect("plain values") + "\n"),
            Format::Csv => Err(Failure::Usage("--format csv: want text, markdown or json".into())),
            Format::Text | Format::Markdown => Ok(self.page(format)),
        }
    }

    fn page(&self, format: Format) -> String {
        let mut out = heading("Tables", format);
        let tables = self.tables.iter().map(|(name, same)| {
            let words = match same {
                Some(true) => "identical rows",
                Some(false) => "other rows",
                None => "in one of the two only",
            };
            vec![name.clone(), words.to_owned()]
        });
        out += &table(vec!["table".into(), "rows".into()], tables.collect(), format);
        let differing: Vec<&Compared> =
            self.figures.iter().filter(|figure| figure.verdict != Verdict::Identical).collect();
        if !differing.is_empty() {
            out += &heading("Figures that are not identical", format);
            let header = ["cell", "", "level", "metric", "base", "candidate", "difference", "±", "verdict"];
            let body = differing.iter().map(|figure| {
                let difference = Estimate {
                    mean: figure.difference,
                    standard_error: figure.standard_error.unwrap_or(f64::NAN),
                };
                vec![
                    figure.cell.clone(),
                    figure.words.clone(),
                    figure.level.to_string(),
                    figure.metric.to_owned(),
                    format!("{:.6}", figure.base),
                    format!("{:.6}", figure.candidate),
                    with_error(difference),
                    figure.half_width.map_or("-".into(), |half| format!("{half:.6}")),
                    figure.verdict.name().to_owned(),
                ]
            });
            out += &table(header.map(str::to_owned).to_vec(), body.collect(), format);
        }
        for (cells, whose) in [(&self.only_base, "base"), (&self.only_candidate, "candidate")] {
            for cell in cells {
                out += &format!("- only in the {whose}: {cell}\n");
            }
        }
        let Rule { margin, level } = self.rule;
        out += &format!(
            "{} figures: {} identical, {} equal, {} undecided, {} changed for the better, {} changed for the worse.\n\
             Rule: the confidence interval of the difference of the means, at {level} for all figures that are not identical \
             together (Bonferroni): within {margin} times the base's mean they are equal; else changed if it excludes 0; else \
             undecided.\n",
            self.figures.len(),
            self.count(Verdict::Identical),
            self.count(Verdict::Equal),
            self.count(Verdict::Undecided),
            self.count(Verdict::Better),
            self.count(Verdict::Worse),
        );
        out
    }
}
