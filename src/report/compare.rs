//! Two runs side by side: the same rows, the same within a margin, changed, or undecided.

use super::render::{Format, heading, table, with_error};
use crate::config::{self, Document, Thresholds};
use crate::diagnostics::student_quantile;
use crate::diagnostics::{Estimate, Moments};
use crate::failure::{Failure, Result};
use crate::results::{Group, Manifest, RESOLVED, read_errors, read_findings, read_meetings, read_privacy};
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
    /// Wall-clock times of the base and the candidate.
    pub clocks: [Clock; 2],
}

/// Everything of a run that is compared, by cell.
#[derive(Debug, Default)]
struct Cells {
    /// By cell, place in it (level of a release, part and scope of a study of privacy) and metric: the cell in words, and a
    /// value for each replicate, or a single one that no chance had a part in.
    samples: BTreeMap<(String, String, &'static str), (String, Sample)>,
    /// Errors of cells that failed, with the cells in words.
    failed: BTreeMap<String, (String, String)>,
}

#[derive(Debug)]
enum Sample {
    /// By replicate; none is known beyond the cap.
    Drawn {
        values: Vec<f64>,
        cap: f64,
    },
    Computed(f64),
}

impl Cells {
    fn draw(&mut self, group: &Group, place: &str, metric: &'static str, value: f64, most: f64) {
        let key = (group.cell.clone(), place.to_owned(), metric);
        let empty = || (words(group), Sample::Drawn { values: Vec::new(), cap: most });
        if let Sample::Drawn { values, .. } = &mut self.samples.entry(key).or_insert_with(empty).1 {
            values.push(value);
        }
    }

    fn compute(&mut self, cell: &str, words: String, place: String, metric: &'static str, value: f64) {
        self.samples.insert((cell.to_owned(), place, metric), (words, Sample::Computed(value)));
    }

    fn fail(&mut self, group: &Group, error: &str) {
        self.failed.insert(group.cell.clone(), (words(group), error.to_owned()));
    }

    /// Reads what a run of this study has.
    fn read(folder: &Path, study: &str) -> Result<Self> {
        let mut cells = Self::default();
        match study {
            "release" => {
                for row in read_errors(folder)? {
                    if let Some(error) = &row.error {
                        cells.fail(&row.group, error);
                    }
                    let Some(value) = row.value else { continue };
                    let place = format!("level {}", value.level);
                    cells.draw(&row.group, &place, "l1", value.l1, f64::INFINITY);
                    cells.draw(&row.group, &place, "l2", value.l2, f64::INFINITY);
                }
            }
            "meeting" => {
                for row in read_meetings(folder)? {
                    if let Some(error) = &row.error {
                        cells.fail(&row.group, error);
                    }
                    let Some(meeting) = row.meeting else { continue };
                    // A pair that was cut short counts with what it was cut to.
                    let most = row.max_steps as f64;
                    let tau = meeting.tau.map_or(most, |tau| tau as f64);
                    cells.draw(&row.group, &format!("lag {}", meeting.lag), "tau", tau, most);
                }
            }
            "privacy" => {
                for row in read_privacy(folder)? {
                    match &row.error {
                        Some(error) => cells.fail(&row.group, error),
                        None => {
                            let place = format!("part {} {}", row.part, row.scope);
                            cells.compute(&row.group.cell, words(&row.group), place, "gamma", row.gamma);
                        }
                    }
                }
            }
            _ => {
                for row in read_findings(folder)? {
                    let cell = format!("{} worlds, epsilon {}", row.worlds, row.epsilon);
                    let words = format!("{}, {}", row.operator, row.property);
                    let place = format!("{}: {words}", row.statement);
                    let fails = f64::from(row.claim != row.holds);
                    cells.compute(&cell, words, place, "fails", fails);
                }
            }
        }
        Ok(cells)
    }
}

fn words(group: &Group) -> String {
    let options = if group.options.is_empty() { String::new() } else { format!(" {}", group.options) };
    format!("{}{options} {} epsilon {}", group.method, group.law, group.epsilon)
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
    let rule = adjust(match config::load(&base.join(RESOLVED), &[])? {
        Document::Grid(config) => config.compare,
        Document::Worlds(config) => config.compare,
    });
    let names = a.tables.keys().chain(b.tables.keys());
    let tables: BTreeMap<String, Option<bool>> = names
        .map(|name| (name.clone(), a.tables.get(name).zip(b.tables.get(name)).map(|(a, b)| a == b)))
        .collect();
    let (ours, theirs) = (Cells::read(base, &a.study)?, Cells::read(candidate, &a.study)?);
    let only = |these: &Cells, those: &Cells| -> Vec<String> {
        let mut only: Vec<String> = these
            .samples
            .iter()
            .filter(|(key, _)| !those.samples.contains_key(key) && !those.failed.contains_key(&key.0))
            .map(|((cell, ..), (words, _))| format!("{cell} {words}"))
            .collect();
        only.dedup();
        only
    };
    let (only_base, only_candidate) = (only(&ours, &theirs), only(&theirs, &ours));
    let newly = |these: &Cells, those: &Cells| -> Vec<String> {
        let had = |cell: &String| those.samples.keys().any(|(other, ..)| other == cell);
        let failed = these.failed.iter().filter(|(cell, _)| !those.failed.contains_key(*cell) && had(cell));
        failed.map(|(cell, (words, error))| format!("{cell} {words}: {error}")).collect()
    };
    let (failed, mended) = (newly(&theirs, &ours), newly(&ours, &theirs));
    let mut figures: Vec<Compared> = ours
        .samples
        .iter()
        .filter_map(|(key, (words, base))| Some(figure(key, words, base, &theirs.samples.get(key)?.1)))
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
            Verdict::Undecided
        };
    }
    let clocks = [&a, &b].map(|manifest| Clock {
        seconds: manifest.process.seconds
            + manifest.shards.iter().map(|shard| shard.process.seconds).sum::<f64>(),
        host: manifest.process.host.clone(),
        threads: manifest.process.threads,
        processes: 1 + manifest.shards.len(),
    });
    Ok(Comparison { rule, tables, figures, only_base, only_candidate, failed, mended, clocks })
}

/// The figure as far as it does not need the others.
fn figure(
    (cell, place, metric): &(String, String, &'static str),
    words: &str,
    base: &Sample,
    candidate: &Sample,
) -> Compared {
    let cap = |sample: &Sample| match sample {
        Sample::Drawn { cap, .. } => *cap,
        Sample::Computed(_) => f64::INFINITY,
    };
    // Pairs that were cut at different lengths are compared up to the shorter.
    let most = cap(base).min(cap(candidate));
    let values = |sample: &Sample| match sample {
        Sample::Drawn { values, .. } => values.iter().map(|x| x.min(most)).collect(),
        Sample::Computed(value) => vec![*value],
    };
    let (a, b) = (values(base), values(candidate));
    let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    let verdict = if bits(&a) == bits(&b) { Verdict::Identical } else { Verdict::Undecided };
    let freedoms = [&a, &b].map(|values| values.len() as f64 - 1.0);
    let [a, b] = [a, b].map(|values| values.into_iter().collect::<Moments>().estimate());
    let errors = [a.standard_error, b.standard_error].map(|se| se * se);
    let (standard_error, freedom) = match (base, candidate) {
        (Sample::Computed(_), Sample::Computed(_)) => (Some(0.0), None),
        // A sample without spread, or of one replicate, says nothing of its error.
        _ if errors.iter().any(|square| !(square.is_finite() && *square > 0.0)) => (None, None),
        _ => {
            let sum = errors[0] + errors[1];
            let welch =
                sum * sum / (errors[0] * errors[0] / freedoms[0] + errors[1] * errors[1] / freedoms[1]);
            (Some(sum.sqrt()), Some(welch))
        }
    };
    Compared {
        cell: cell.clone(),
        words: words.to_owned(),
        place: place.clone(),
        metric,
        base: a.mean,
        candidate: b.mean,
        difference: b.mean - a.mean,
        standard_error,
        freedom,
        half_width: None,
        verdict,
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
            let header = ["cell", "", "", "metric", "base", "candidate", "difference", "±", "verdict"];
            let body = differing.iter().map(|figure| {
                let difference = Estimate {
                    mean: figure.difference,
                    standard_error: figure.standard_error.unwrap_or(f64::NAN),
                };
                vec![
                    figure.cell.clone(),
                    figure.words.clone(),
                    figure.place.clone(),
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
        for (cells, what) in [(&self.failed, "failed now"), (&self.mended, "no longer failed")] {
            for cell in cells {
                out += &format!("- {what}: {cell}\n");
            }
        }
        let Thresholds { margin, level, margins } = &self.rule;
        let others: Vec<String> = margins.iter().map(|(metric, x)| format!("{x} for {metric}")).collect();
        let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        out += &format!(
            "{} figures: {} identical, {} equal, {} undecided, {} changed for the better, {} changed for the worse.\n\
             Rule: the confidence interval of the difference of the means, at {level} for all figures that are not identical \
             together (Welch, Bonferroni): within {margin}{others} times the base's mean they are equal; else changed if it excludes \
             0; else undecided.\n",
            self.figures.len(),
            self.count(Verdict::Identical),
            self.count(Verdict::Equal),
            self.count(Verdict::Undecided),
            self.count(Verdict::Better),
            self.count(Verdict::Worse),
        );
        let [base, candidate] = &self.clocks;
        let clock = |clock: &Clock| {
            let plural = if clock.processes == 1 { "" } else { "es" };
            let Clock { seconds, host, threads, processes } = clock;
            format!(
                "{seconds:.1} s in {processes} process{plural}, on {host} with {threads} threads at the end"
            )
        };
        out += &format!(
            "Wall clock, for information and not judged: base {}; candidate {}.\n",
            clock(base),
            clock(candidate)
        );
        out
    }
}
