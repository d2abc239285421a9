//! Two runs side by side, or the methods of one: the same rows, the same within a margin, different, or undecided.

mod judge;
mod page;

pub use judge::{Compared, Verdict};

use super::sizes::seconds;
use crate::config::{AxisName, Thresholds};
use crate::failure::{Failure, Result};
use crate::privacy::{Change, ChangeKind};
use crate::store::{Manifest, Process, RESOLVED, Run};
use crate::study::cells::{self, CellRow, statement_words, statements};
use crate::study::{self, Figures};
use crate::table::Key;
use judge::{Pair, judge};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

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

/// By what cells of one run differ that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Method, its options, and whether counts may be negative
    Method,
    /// Law, with its delta
    Law,
    /// Split of the budget over the levels
    Split,
}

/// What the releases of a cell pay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Paid {
    /// Key of the cell.
    pub cell: String,
    /// The cell in words; of cells of one run what tells it from the others.
    pub words: String,
    /// What cells of one run have in common; empty for other cells.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub among: String,
    /// The cell of the base in words, as `words` are those of the candidate's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub against: String,
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
    /// By table: whether both hold the same rows; `None` if one of them does not have it. None of cells of one run.
    pub tables: BTreeMap<String, Option<bool>>,
    /// Figures of cells that both have, or of cells of one run.
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
    /// Wall-clock times of the base and the candidate; none of one run.
    pub clocks: Vec<Clock>,
}

/// Compares two finished runs, cell by cell, by the thresholds of the base's config unless others are given.
///
/// For every figure that is not identical the confidence interval of the difference of the means (independent
/// replicates; Student's t with Welch's degrees of freedom, at 1 - level/m for m figures; of no width for what is
/// computed and not drawn) decides: within ± margin times the base's mean (of a bias: the base's mean absolute error of
/// a count) they are equal within the margin; else, if it excludes 0, changed; else undecided.
///
/// Errors: files; runs of different studies or subjects; no cell and no table in common.
pub fn compare(
    base: &Path,
    candidate: &Path,
    adjust: impl FnOnce(Thresholds) -> Thresholds,
) -> Result<Comparison> {
    let runs = [&open(base)?, &open(candidate)?];
    let [a, b] = runs.map(|run| &run.manifest);
    if (&a.study, &a.subject) != (&b.study, &b.subject) {
        let message = format!(
            "a {} of a {} and a {} of a {} cannot be compared",
            a.study, a.subject, b.study, b.subject
        );
        return Err(Failure::Incompatible(message));
    }
    let rule = adjust(study::thresholds(&runs[0].path(RESOLVED)?)?);
    let [ours, theirs] = study::named(&a.study)?.figures(runs)?;
    let tables = [&a.tables, &b.tables];
    let named = tables[0].keys().chain(tables[1].keys());
    let tables: BTreeMap<String, Option<bool>> = named
        .map(|name| (name.clone(), tables[0].get(name).zip(tables[1].get(name)).map(|(a, b)| a == b)))
        .collect();
    let (only_base, only_candidate) = (only(&ours, &theirs), only(&theirs, &ours));
    let (failed, mended) = (newly_failed(&theirs, &ours), newly_failed(&ours, &theirs));
    // As in the base's config.
    let order = cells::order(runs[0])?;
    let mut cells: Vec<Key> = ours.samples.keys().map(|(cell, ..)| *cell).collect();
    cells.dedup();
    cells.sort_by_key(|cell| order.get(cell).copied());
    let pair = |cell: Key| {
        let words = ours.words(cell).to_owned();
        Pair { cell, words, among: String::new(), against: String::new() }
    };
    let common = cells.into_iter().flat_map(|cell| in_common([&ours, &theirs], [cell; 2], &pair(cell)));
    let mut figures: Vec<Compared> = common.collect();
    let failed_twice = ours.failed.keys().any(|cell| theirs.failed.contains_key(cell));
    if figures.is_empty() && failed.is_empty() && mended.is_empty() && !failed_twice {
        return Err(Failure::Nothing("the two runs have no cell in common".into()));
    }
    judge(&mut figures, &rule, false);
    let pays = [statements(runs[0])?, statements(runs[1])?];
    // The seeds of one cell pay the same.
    let pooled = cells::pooled(runs[0])?;
    let is_common = |cell: &&Key| pays[1].contains_key(cell) && !pooled.contains_key(cell);
    let mut common: Vec<&Key> = pays[0].keys().filter(is_common).collect();
    common.sort_unstable();
    let paid =
        common.into_iter().filter_map(|cell| paid(&pair(*cell), [0, 1].map(|run| pays[run].get(cell))));
    let (paid, clocks) = (paid.collect(), [a, b].map(Clock::of).into());
    Ok(Comparison { rule, tables, figures, only_base, only_candidate, failed, mended, paid, clocks })
}

impl Clock {
    fn of(manifest: &Manifest) -> Self {
        let (seconds, Process { host, threads, .. }) = (seconds(manifest), manifest.process.clone());
        Self { seconds, host, threads, processes: 1 + manifest.shards.len() }
    }
}

/// Cells that one run has alone.
fn only(these: &Figures, those: &Figures) -> Vec<String> {
    let has =
        |key: &(Key, u64, &'static str)| those.samples.contains_key(key) || those.failed.contains_key(&key.0);
    let only = these.samples.keys().filter(|key| !has(key));
    let mut only: Vec<String> = only.map(|(cell, ..)| format!("{cell} {}", these.words(*cell))).collect();
    only.dedup();
    only
}

/// Cells that failed in one run and not in the other, with their errors.
fn newly_failed(these: &Figures, those: &Figures) -> Vec<String> {
    let had = |cell: Key| {
        let next = those.samples.range((cell, 0, "")..).next();
        next.is_some_and(|((other, ..), _)| *other == cell)
    };
    let failed = these.failed.iter().filter(|(cell, _)| !those.failed.contains_key(*cell) && had(**cell));
    failed.map(|(cell, error)| format!("{cell} {}: {error}", these.words(*cell))).collect()
}

/// Compares cells of one finished run that differ by nothing else: with the first of them in the order of the config
/// every other. Judged as by [`compare`].
///
/// Errors: files; a study without such cells; no two cells that differ by this alone.
pub fn compare_within(
    folder: &Path,
    by: By,
    adjust: impl FnOnce(Thresholds) -> Thresholds,
) -> Result<Comparison> {
    let run = &open(folder)?;
    let rule = adjust(study::thresholds(&run.path(RESOLVED)?)?);
    let [figures, _] = study::named(&run.manifest.study)?.figures([run, run])?;
    let pays = statements(run)?;
    let mut firsts: HashMap<String, (Key, String)> = HashMap::new();
    let (mut compared, mut all_paid, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    run.each(|cell: CellRow| {
        if cell.pooled.is_some() {
            return Ok(());
        }
        let (key, words) = (cell.cell, by.words(&cell));
        if let Some(error) = figures.failed.get(&key) {
            failed.push(format!("{key} {}: {error}", cell.words()));
            return Ok(());
        }
        let among = by.common(&cell);
        let Some((first, against)) = firsts.get(&among) else {
            firsts.insert(among, (key, words));
            return Ok(());
        };
        let pair = Pair { cell: key, words, among, against: against.clone() };
        all_paid.extend(paid(&pair, [first, &key].map(|cell| pays.get(cell))));
        compared.extend(in_common([&figures; 2], [*first, key], &pair));
        Ok(())
    })?;
    if compared.is_empty() {
        let by = clap::ValueEnum::to_possible_value(&by).map_or(String::new(), |by| by.get_name().to_owned());
        return Err(Failure::Nothing(format!("{}: no two cells differ by {by} alone", folder.display())));
    }
    judge(&mut compared, &rule, true);
    Ok(Comparison {
        rule,
        tables: BTreeMap::new(),
        figures: compared,
        only_base: Vec::new(),
        only_candidate: Vec::new(),
        failed,
        mended: Vec::new(),
        paid: all_paid,
        clocks: Vec::new(),
    })
}

impl By {
    /// What cells must have in common, in words.
    fn common(self, cell: &CellRow) -> String {
        let CellRow { law, epsilon, split, .. } = cell;
        let common = match self {
            Self::Method => cell.noise_words(),
            Self::Law => {
                let others = cell.said_but(&[AxisName::Split, AxisName::Delta]);
                format!("{}, epsilon {epsilon}, split {}{others}", cell.method_words(), split.label())
            }
            Self::Split => {
                let (method, others) = (cell.method_words(), cell.said_but(&[AxisName::Split]));
                format!("{method} with {}, epsilon {epsilon}{others}", law.noise_words())
            }
        };
        let data = if cell.data.is_empty() { String::new() } else { format!("{}: ", cell.data) };
        data + &common + &cell.lag.map_or(String::new(), |lag| format!(", lag {lag}"))
    }

    /// What tells a cell from those that it is compared with.
    fn words(self, cell: &CellRow) -> String {
        match self {
            Self::Method => cell.method_words(),
            Self::Law => {
                let delta = cell.delta.map_or(String::new(), |delta| format!(", delta {delta:e}"));
                cell.law.name().to_owned() + &delta
            }
            Self::Split => format!("split {}", cell.split.label()),
        }
    }
}

fn open(folder: &Path) -> Result<Run> {
    Run::open(folder).map_err(|e| match e {
        Failure::Data { path, message } if message.starts_with("schema version") => {
            Failure::Incompatible(Failure::Data { path, message }.to_string())
        }
        other => other,
    })
}

/// The figures that two cells have in common, not judged yet.
fn in_common([ours, theirs]: [&Figures; 2], [base, candidate]: [Key; 2], pair: &Pair) -> Vec<Compared> {
    let of_base = ours.samples.range((base, 0, "")..).take_while(|((cell, ..), _)| *cell == base);
    let common = of_base.filter_map(|((_, number, metric), (place, base))| {
        let (_, candidate) = theirs.samples.get(&(candidate, *number, *metric))?;
        Some(Compared::of(pair, place, metric, [base, candidate]))
    });
    common.collect()
}

/// What two cells pay, if it was recorded.
fn paid(pair: &Pair, [base, candidate]: [Option<&Changes>; 2]) -> Option<Paid> {
    let mut notes = Vec::new();
    let [base, candidate] = [base?, candidate?].map(|changes| statement_words(changes, &mut notes));
    let Pair { cell, words, among, against } = pair.clone();
    Some(Paid { cell: cell.to_string(), words, among, against, base, candidate, notes })
}

type Changes = Vec<(ChangeKind, Change)>;
