//! Two runs side by side: the same rows, the same within a margin, changed, or undecided.

use crate::config::Thresholds;
use crate::diagnostics::{Estimate, student_quantile};
use crate::failure::{Failure, Result};
use crate::page::{Format, Page, thousands, with_error};
use crate::store::{RESOLVED, Run};
use crate::study::privacy::{statement_words, statements};
use crate::study::{self, Figures, Sample, cells};
use crate::table::Key;
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
    /// Where in the cell: a level, a lag, a part and scope, a statement.
    pub place: String,
    /// `l1`, `l2`: errors; `tau`: meeting times; `gamma`; `fails`: 1 if a statement does not hold as claimed. Less is better.
    pub metric: &'static str,
    /// Means of both.
    pub base: f64,
    /// See `base`.
    pub candidate: f64,
    /// Candidate less base, and its standard error.
    pub difference: f64,
    /// See `difference`; `None` for a single replicate, or if either has no spread.
    pub standard_error: Option<f64>,
    /// Degrees of freedom of that (Welch); `None` for what is computed and not drawn.
    pub freedom: Option<f64>,
    /// Half the width of the confidence interval.
    pub half_width: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// Of what is undecided: replicates of each run with which the interval would be narrow enough to tell, if means and spreads stay as they are.
    pub replicates: Option<u64>,
    /// Of the cell, and of the replicates of the run that has more.
    #[serde(skip)]
    key: Key,
    #[serde(skip)]
    count: u64,
}

/// Wall-clock time of a run: for information, since two runs are not drawn in turns on one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clock {
    /// Seconds, of all processes together.
    pub seconds: f64,
    /// The machine that wrote the run.
    pub host: String,
    /// Its threads.
    pub threads: usize,
    /// Processes that drew rows.
    pub processes: usize,
}

/// What the releases of a cell pay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Paid {
    /// Key of the cell.
    pub cell: String,
    /// The cell in words.
    pub words: String,
    /// In the base: for a record added or removed, for one moved, for the smallest change.
    pub base: [String; 3],
    /// In the candidate.
    pub candidate: [String; 3],
    /// Why some of these are impossible.
    pub notes: Vec<String>,
}

/// Everything that a comparison found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How figures were judged.
    pub rule: Thresholds,
    /// By table: whether both hold the same rows; `None` if one of them does not have it.
    pub tables: BTreeMap<String, Option<bool>>,
    /// Figures of cells that both have.
    pub figures: Vec<Compared>,
    /// Cells that only the base, and only the candidate has.
    pub only_base: Vec<String>,
    /// See `only_base`.
    pub only_candidate: Vec<String>,
    /// Cells that failed in the candidate and not in the base, with their errors: for the worse.
    pub failed: Vec<String>,
    /// Cells that failed in the base and not in the candidate.
    pub mended: Vec<String>,
    /// What the cells that both have pay, where both recorded it.
    pub paid: Vec<Paid>,
    /// Wall-clock times of the base and the candidate.
    pub clocks: [Clock; 2],
}

/// Compares two finished runs, cell by cell, by the thresholds of the base's config unless others are given.
///
/// For every figure that is not identical the confidence interval of the difference of the means (independent
/// replicates; Student's t with Welch's degrees of freedom, at 1 - level/m for m figures; of no width for what is computed
/// and not drawn) decides: within
/// ± margin times the base's mean they are equal; else, if it excludes 0, changed; else undecided.
///
/// Errors: files; runs of different studies or subjects; no cell and no table in common.
pub fn compare(
    base: &Path,
    candidate: &Path,
    adjust: impl FnOnce(Thresholds) -> Thresholds,
) -> Result<Comparison> {
    let open = |folder| {
        Run::open(folder).map_err(|e| match e {
            Failure::Data { path, message } if message.starts_with("schema version") => {
                Failure::Incompatible(Failure::Data { path, message }.to_string())
            }
            other => other,
        })
    };
    let runs = [&open(base)?, &open(candidate)?];
    let [a, b] = runs.map(|run| &run.manifest);
    if (&a.study, &a.subject) != (&b.study, &b.subject) {
        let message = format!(
            "a {} of a {} and a {} of a {} cannot be compared",
            a.study, a.subject, b.study, b.subject
        );
        return Err(Failure::Incompatible(message));
    }
    let rule = adjust(study::thresholds(&base.join(RESOLVED))?);
    let [ours, theirs] = study::named(&a.study)?.figures(runs)?;
    let tables = [&a.tables, &b.tables];
    let named = tables[0].keys().chain(tables[1].keys());
    let tables: BTreeMap<String, Option<bool>> = named
        .map(|name| (name.clone(), tables[0].get(name).zip(tables[1].get(name)).map(|(a, b)| a == b)))
        .collect();
    let only = |these: &Figures, those: &Figures| -> Vec<String> {
        let missing = |key: &(Key, u64, &'static str)| {
            !those.samples.contains_key(key) && !those.failed.contains_key(&key.0)
        };
        let only = these.samples.keys().filter(|key| missing(key));
        let mut only: Vec<String> = only.map(|(cell, ..)| format!("{cell} {}", these.words(*cell))).collect();
        only.dedup();
        only
    };
    let (only_base, only_candidate) = (only(&ours, &theirs), only(&theirs, &ours));
    let newly = |these: &Figures, those: &Figures| -> Vec<String> {
        let had = |cell: Key| {
            let next = those.samples.range((cell, 0, "")..).next();
            next.is_some_and(|((other, ..), _)| *other == cell)
        };
        let failed = these.failed.iter().filter(|(cell, _)| !those.failed.contains_key(*cell) && had(**cell));
        failed.map(|(cell, error)| format!("{cell} {}: {error}", these.words(*cell))).collect()
    };
    let (failed, mended) = (newly(&theirs, &ours), newly(&ours, &theirs));
    let mut figures: Vec<Compared> = ours
        .samples
        .iter()
        .filter_map(|(key, (place, base))| {
            let (_, candidate) = theirs.samples.get(key)?;
            Some(figure(key.0, ours.words(key.0), place, key.2, base, candidate))
        })
        .collect();
    let failed_twice = ours.failed.keys().any(|cell| theirs.failed.contains_key(cell));
    if figures.is_empty() && failed.is_empty() && mended.is_empty() && !failed_twice {
        return Err(Failure::Nothing("the two runs have no cell in common".into()));
    }
    let tested = figures.iter().filter(|figure| figure.verdict != Verdict::Identical).count().max(1);
    let tail = rule.level / (2.0 * tested as f64);
    for figure in figures.iter_mut().filter(|figure| figure.verdict != Verdict::Identical) {
        let Some(se) = figure.standard_error else { continue };
        let width = figure.freedom.map_or(0.0, |freedom| -student_quantile(tail, freedom));
        let (half, margin) = (width * se, rule.margin(figure.metric) * figure.base.abs());
        figure.half_width = Some(half);
        figure.verdict = if figure.difference.abs() + half <= margin {
            Verdict::Equal
        } else if figure.difference.abs() > half {
            if figure.difference > 0.0 { Verdict::Worse } else { Verdict::Better }
        } else {
            // Either within the margin, or beyond 0: what asks for less. The width falls as the root of the replicates.
            let wanted = (margin - figure.difference.abs()).max(figure.difference.abs());
            let times = (half / wanted) * (half / wanted);
            figure.replicates = times.is_finite().then(|| (figure.count as f64 * times).ceil() as u64);
            Verdict::Undecided
        };
    }
    // As in the base's config.
    let order = cells::order(runs[0])?;
    figures.sort_by_key(|figure| order.get(&figure.key).copied());
    let clocks = [a, b].map(|manifest| Clock {
        seconds: manifest.process.seconds
            + manifest.shards.iter().map(|shard| shard.process.seconds).sum::<f64>(),
        host: manifest.process.host.clone(),
        threads: manifest.process.threads,
        processes: 1 + manifest.shards.len(),
    });
    let paid = paid(runs, &ours)?;
    Ok(Comparison { rule, tables, figures, only_base, only_candidate, failed, mended, paid, clocks })
}

/// What the cells of both runs pay.
fn paid(runs: [&Run; 2], figures: &Figures) -> Result<Vec<Paid>> {
    let [base, candidate] = [statements(runs[0])?, statements(runs[1])?];
    let common: BTreeMap<Key, _> =
        base.iter().filter_map(|(cell, changes)| Some((*cell, (changes, candidate.get(cell)?)))).collect();
    let paid = common.into_iter().map(|(cell, (base, candidate))| {
        let mut notes = Vec::new();
        let [base, candidate] = [base, candidate].map(|changes| statement_words(changes, &mut notes));
        Paid { cell: cell.to_string(), words: figures.words(cell).to_owned(), base, candidate, notes }
    });
    Ok(paid.collect())
}

/// The figure as far as it does not need the others.
fn figure(
    cell: Key,
    words: &str,
    place: &str,
    metric: &'static str,
    base: &Sample,
    candidate: &Sample,
) -> Compared {
    let [a, b] = [base, candidate].map(|sample| sample.moments.estimate());
    let counts = [base, candidate].map(|sample| sample.moments.count());
    let same = base.bits == candidate.bits && counts[0] == counts[1];
    let errors = [a.standard_error, b.standard_error].map(|se| se * se);
    let (standard_error, freedom) = match (base.computed, candidate.computed) {
        (true, true) => (Some(0.0), None),
        // A sample without spread, or of one replicate, says nothing of its error.
        _ if errors.iter().any(|square| !(square.is_finite() && *square > 0.0)) => (None, None),
        _ => {
            let sum = errors[0] + errors[1];
            let freedoms = counts.map(|count| count as f64 - 1.0);
            let welch =
                sum * sum / (errors[0] * errors[0] / freedoms[0] + errors[1] * errors[1] / freedoms[1]);
            (Some(sum.sqrt()), Some(welch))
        }
    };
    Compared {
        cell: cell.to_string(),
        words: words.to_owned(),
        place: place.to_owned(),
        metric,
        base: a.mean,
        candidate: b.mean,
        difference: b.mean - a.mean,
        standard_error,
        freedom,
        half_width: None,
        verdict: if same { Verdict::Identical } else { Verdict::Undecided },
        replicates: None,
        key: cell,
        count: counts[0].max(counts[1]),
    }
}

impl Comparison {
    /// Whether every table of both holds the same rows.
    pub fn is_identical(&self) -> bool {
        self.tables.values().all(|same| *same == Some(true))
    }

    /// What changed for the worse: figures, and cells that fail now.
    pub fn worse(&self) -> usize {
        self.count(Verdict::Worse) + self.failed.len()
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
        let header = [
            "cell",
            "words",
            "place",
            "metric",
            "base",
            "candidate",
            "difference",
            "difference_se",
            "half_width",
            "verdict",
            "replicates",
        ];
        let known = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        let row = |figure: &Compared| {
            vec![
                figure.cell.clone(),
                figure.words.clone(),
                figure.place.clone(),
                figure.metric.to_owned(),
                figure.base.to_string(),
                figure.candidate.to_string(),
                figure.difference.to_string(),
                known(figure.standard_error),
                known(figure.half_width),
                figure.verdict.name().to_owned(),
                figure.replicates.map_or(String::new(), |n| n.to_string()),
            ]
        };
        let rows: Vec<Vec<String>> = self.figures.iter().map(row).collect();
        study::lines(&header.map(str::to_owned), &rows)
    }

    /// What cells pay; those of the same words together.
    fn paid_page(&self) -> Page {
        let mut kinds: BTreeMap<(&[String; 3], &[String; 3]), Vec<&Paid>> = BTreeMap::new();
        self.paid.iter().for_each(|paid| kinds.entry((&paid.base, &paid.candidate)).or_default().push(paid));
        let (mut body, mut notes) = (Vec::new(), Vec::new());
        for ((base, candidate), cells) in kinds {
            let words = match cells[..] {
                [one] => one.words.clone(),
                _ => format!("{} and {} more", cells[0].words, cells.len() - 1),
            };
            for note in cells.iter().flat_map(|paid| &paid.notes) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            let row = |run: &str, pays: &[String; 3]| [&[words.clone(), run.to_owned()][..], pays].concat();
            if base == candidate {
                body.push(row("both", base));
            } else {
                body.extend([row("base", base), row("candidate", candidate)]);
            }
        }
        if body.is_empty() {
            return Page::default();
        }
        let header = ["cells", "run", "record added or removed", "record moved", "smallest change"];
        let notes = notes.into_iter().cloned().collect();
        Page::headed("What a release pays").table(2, header, body).list(notes)
    }

    fn page(&self) -> Page {
        let tables = self.tables.iter().map(|(name, same)| {
            let words = match same {
                Some(true) => "identical rows",
                Some(false) => "other rows",
                None => "in one of the two only",
            };
            vec![name.clone(), words.to_owned()]
        });
        let mut page = Page::headed("Tables").table(1, ["table", "rows"], tables.collect());
        let differing: Vec<&Compared> =
            self.figures.iter().filter(|figure| figure.verdict != Verdict::Identical).collect();
        if !differing.is_empty() {
            let header = [
                "cell",
                "what it is",
                "where in it",
                "metric",
                "base",
                "candidate",
                "difference",
                "±",
                "verdict",
            ];
            let body = differing.iter().map(|figure| {
                let difference = Estimate::new(figure.difference, figure.standard_error);
                vec![
                    figure.cell.clone(),
                    figure.words.clone(),
                    figure.place.clone(),
                    figure.metric.to_owned(),
                    format!("{:.6}", figure.base),
                    format!("{:.6}", figure.candidate),
                    with_error(difference),
                    figure.half_width.map_or("-".into(), |half| format!("{half:.6}")),
                    figure.verdict.name().to_owned()
                        + &figure.replicates.map_or(String::new(), |n| {
                            format!(" (about {} replicates would tell)", thousands(n as f64))
                        }),
                ]
            });
            page = page.and(Page::headed("Figures that are not identical").table(4, header, body.collect()));
        }
        let kinds = [
            (&self.only_base, "only in the base"),
            (&self.only_candidate, "only in the candidate"),
            (&self.failed, "failed now"),
            (&self.mended, "no longer failed"),
        ];
        let line = |(cells, what)| -> Vec<String> {
            let cells: &Vec<String> = cells;
            cells.iter().map(|cell| format!("{what}: {cell}")).collect()
        };
        page = page.and(self.paid_page()).list(kinds.into_iter().flat_map(line).collect());
        let Thresholds { margin, level, margins } = &self.rule;
        let others: Vec<String> = margins.iter().map(|(metric, x)| format!("{x} for {metric}")).collect();
        let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        page = page.text(format!(
            "{} figures: {} identical, {} equal, {} undecided, {} changed for the better, {} changed for the worse. \
             Rule: the confidence interval of the difference of the means, at {level} for all figures that are not identical \
             together (Welch, Bonferroni): within {margin}{others} times the base's mean they are equal; else changed if it excludes \
             0; else undecided.",
            self.figures.len(),
            self.count(Verdict::Identical),
            self.count(Verdict::Equal),
            self.count(Verdict::Undecided),
            self.count(Verdict::Better),
            self.count(Verdict::Worse),
        ));
        let [base, candidate] = &self.clocks;
        let clock = |clock: &Clock| {
            let plural = if clock.processes == 1 { "" } else { "es" };
            let Clock { seconds, host, threads, processes } = clock;
            format!(
                "{seconds:.1} s in {processes} process{plural}, on {host} with {threads} threads at the end"
            )
        };
        page.text(format!(
            "Wall clock, for information and not judged: base {}; candidate {}.",
            clock(base),
            clock(candidate)
        ))
    }
}
