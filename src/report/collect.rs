//! From rows to means with standard errors.

use super::beside::{BesideRow, read_beside};
use super::published::{Published, read_published};
use crate::diagnostics::Moments;
use crate::failure::Result;
use crate::results::{
    AgreementRow, EntryRow, FindingRow, Manifest, Paid, PaidRow, PartRow, read_agreement, read_chains,
    read_entries, read_errors, read_findings, read_marginals, read_meetings, read_parts, read_privacy,
};
use crate::runner::MarginalRow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// All tables of a report.
#[derive(Debug, Default)]
pub struct Report {
    /// One per run: folder and manifest.
    pub runs: Vec<(PathBuf, Manifest)>,
    /// One per run, cell and level.
    pub lines: Vec<Line>,
    /// One per run and cell with chains.
    pub chains: Vec<ChainLine>,
    /// Failed cells: (run, cell in words, error).
    pub failures: Vec<(String, String, String)>,
    /// Published figures: (run, figure).
    pub published: Vec<(String, Published)>,
    /// Meeting times: one per run and cell.
    pub meetings: Vec<MeetingLine>,
    /// Single cells of tables: (cell of the grid, its entries in the order of the table).
    pub entries: Vec<(Label, Vec<EntryRow>)>,
    /// Parts of tables: (cell of the grid, its parts).
    pub parts: Vec<(Label, Vec<PartRow>)>,
    /// What every cell of the grid pays.
    pub paid: Vec<(Label, Paid)>,
    /// Worst pairs of studies of privacy: (cell of the grid, row).
    pub privacy: Vec<(Label, PaidRow)>,
    /// Statements on finite worlds: (run, row).
    pub findings: Vec<(String, FindingRow)>,
    /// Pairs of methods: (first cell of the grid, row).
    pub agreement: Vec<(Label, AgreementRow)>,
    /// Releases by others: (run, row).
    pub beside: Vec<(String, BesideRow)>,
}

impl Report {
    /// Name of a run: two of one name are told apart by their hash.
    pub(super) fn run_name(&self, run: usize) -> String {
        let manifest = &self.runs[run].1;
        if self.runs[..run].iter().any(|(_, other)| other.name == manifest.name) {
            format!("{}-{}", manifest.name, &manifest.config_hash[..8])
        } else {
            manifest.name.clone()
        }
    }
}

/// Coupled pairs of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct MeetingLine {
    /// The cell.
    pub label: Label,
    /// `(1 + gamma) epsilon` of a release by the law itself; `None` if nothing bounds gamma.
    pub epsilon: Option<f64>,
    /// The lag.
    pub lag: u64,
    /// Meeting times of the pairs that met.
    pub taus: Vec<u64>,
    /// Pairs that were cut short.
    pub censored: u64,
    /// Share of steps that changed the state.
    pub moves: Moments,
    /// Distances of the chains' marginals to the exact law, if they were asked for.
    pub marginals: Vec<MarginalRow>,
}

/// A cell in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Name of the run.
    pub run: String,
    /// Law.
    pub law: String,
    /// Split of the budget.
    pub split: String,
    /// Sensitivity.
    pub sensitivity: f64,
    /// For the Gaussian laws.
    pub delta: Option<f64>,
    /// Method.
    pub method: String,
    /// Its options.
    pub options: String,
    /// Whether releases are >= 0.
    pub nonnegative: bool,
    /// Budget.
    pub epsilon: f64,
}

/// Errors of one cell on one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The cell.
    pub label: Label,
    /// 1 = root.
    pub level: u32,
    /// Noise scale of the level.
    pub scale: f64,
    /// Nodes of the level.
    pub nodes: u64,
    /// `Σ |error| / all nodes`.
    pub l1_normalised: Moments,
    /// `Σ |error| / nodes of the level`.
    pub l1_per_node: Moments,
    /// `sqrt(Σ error²)`.
    pub l2: Moments,
    /// The same, release by release; of tables only.
    pub norms: Vec<f64>,
    /// Mean error.
    pub bias: Moments,
}

/// Chains of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainLine {
    /// The cell.
    pub label: Label,
    /// Kernel steps of each chain.
    pub steps: u64,
    /// Share of steps that moved.
    pub acceptance: Moments,
    /// Effective sample size of the recorded half: the smallest mean over the levels.
    pub ess: f64,
    /// The largest R-hat over the levels; NaN if unknown.
    pub rhat: f64,
}

/// Collects the rows of run folders.
pub fn collect(folders: &[PathBuf]) -> Result<Report> {
    let mut report = Report::default();
    for folder in folders {
        let manifest = Manifest::read(folder)?;
        report.runs.push((folder.clone(), manifest.clone()));
        let run = report.run_name(report.runs.len() - 1);
        match manifest.study.as_str() {
            "meeting" => add_meetings(&mut report, folder, &run)?,
            "privacy" => {
                for row in read_privacy(folder)? {
                    let label = Label::new(&run, &row.group);
                    match &row.error {
                        Some(error) => {
                            report.failures.push((run.clone(), label.noise_words(), error.clone()))
                        }
                        None => report.privacy.push((label, row)),
                    }
                }
            }
            "composition" => {
                report.findings.extend(read_findings(folder)?.into_iter().map(|row| (run.clone(), row)));
            }
            _ => add_run(&mut report, folder, &run, manifest.subject == "table")?,
        }
    }
    Ok(report)
}

impl Label {
    fn new(run: &str, group: &crate::results::Group) -> Self {
        Self {
            run: run.to_owned(),
            law: group.law.clone(),
            split: group.split.clone(),
            sensitivity: group.sensitivity,
            delta: group.delta,
            method: group.method.clone(),
            options: group.options.clone(),
            nonnegative: group.nonnegative,
            epsilon: group.epsilon,
        }
    }

    /// The method with what tells it from others.
    pub fn method_words(&self) -> String {
        let sign = if self.nonnegative { " >= 0" } else { "" };
        format!("{}{sign} {}", self.method, self.options_words()).trim_end().to_owned()
    }

    /// The options, numbers with four decimals.
    pub fn options_words(&self) -> String {
        let short = |option: &str| match option.split_once('=') {
            Some((name, value)) if value.len() > 8 && value.contains('.') => match value.parse::<f64>() {
                Ok(x) => format!("{name}={x:.4}"),
                Err(_) => option.to_owned(),
            },
            _ => option.to_owned(),
        };
        self.options.split(',').map(short).collect::<Vec<_>>().join(",")
    }

    /// The noise: law, budget and what else belongs to it.
    pub fn noise_words(&self) -> String {
        let delta = self.delta.map_or(String::new(), |delta| format!(", delta {delta:e}"));
        let sensitivity = if self.sensitivity == 1.0 {
            String::new()
        } else {
            format!(", sensitivity {}", self.sensitivity)
        };
        format!("{} noise, epsilon {}{delta}{sensitivity}", self.law, self.epsilon)
    }
}

fn add_meetings(report: &mut Report, folder: &Path, run: &str) -> Result<()> {
    let first = report.meetings.len();
    let mut keys: Vec<String> = Vec::new();
    for pair in read_meetings(folder)? {
        if let Some(error) = pair.error {
            let label = Label::new(run, &pair.group);
            let words = format!("{} with {}", label.method_words(), label.noise_words());
            report.failures.push((run.to_owned(), words, error));
        }
        let Some(meeting) = pair.meeting else { continue };
        let at = keys.iter().position(|key| *key == pair.group.cell).unwrap_or_else(|| {
            keys.push(pair.group.cell.clone());
            report.meetings.push(MeetingLine {
                label: Label::new(run, &pair.group),
                epsilon: pair.epsilon,
                lag: meeting.lag,
                taus: Vec::new(),
                censored: 0,
                moves: Moments::default(),
                marginals: Vec::new(),
            });
            keys.len() - 1
        });
        let line = &mut report.meetings[first + at];
        match meeting.tau {
            Some(tau) => line.taus.push(tau),
            None => line.censored += 1,
        }
        line.moves.push(meeting.moves as f64 / meeting.steps as f64);
    }
    for marginal in read_marginals(folder)? {
        if let Some(at) = keys.iter().position(|key| *key == marginal.group.cell) {
            report.meetings[first + at].marginals.push(marginal.row);
        }
    }
    Ok(())
}

fn add_run(report: &mut Report, folder: &Path, run: &str, on_table: bool) -> Result<()> {
    let label = |group: &crate::results::Group| Label::new(run, group);
    let mut place: HashMap<(String, u32), usize> = HashMap::new();
    for row in read_errors(folder)? {
        if let Some(error) = row.error {
            let words =
                format!("{} at epsilon {} with {} noise", row.group.method, row.group.epsilon, row.group.law);
            report.failures.push((run.to_owned(), words, error));
        }
        let Some(value) = row.value else { continue };
        if value.level == 1 && !place.contains_key(&(row.group.cell.clone(), 1)) {
            report.paid.push((label(&row.group), row.paid));
        }
        let at = *place.entry((row.group.cell.clone(), value.level)).or_insert_with(|| {
            report.lines.push(Line {
                label: label(&row.group),
                level: value.level,
                scale: value.scale,
                nodes: value.nodes,
                l1_normalised: Moments::default(),
                l1_per_node: Moments::default(),
                l2: Moments::default(),
                norms: Vec::new(),
                bias: Moments::default(),
            });
            report.lines.len() - 1
        });
        let line = &mut report.lines[at];
        line.l1_normalised.push(value.l1_normalised);
        line.l1_per_node.push(value.l1 / value.nodes as f64);
        line.l2.push(value.l2);
        if on_table {
            line.norms.push(value.l2);
        }
        line.bias.push(value.bias);
    }
    let mut chains: Vec<(String, ChainLine, HashMap<u32, Moments>)> = Vec::new();
    for row in read_chains(folder)? {
        let at = chains.iter().position(|(cell, ..)| *cell == row.group.cell).unwrap_or_else(|| {
            let label = label(&row.group);
            let line = ChainLine {
                label,
                steps: row.steps,
                acceptance: Moments::default(),
                ess: f64::NAN,
                rhat: f64::NAN,
            };
            chains.push((row.group.cell.clone(), line, HashMap::new()));
            chains.len() - 1
        });
        let (_, line, ess) = &mut chains[at];
        if row.level == 1 {
            line.acceptance.push(row.acceptance);
        }
        if let Some(value) = row.ess {
            ess.entry(row.level).or_default().push(value);
        }
        line.rhat = line.rhat.max(row.rhat.unwrap_or(f64::NAN));
    }
    report.chains.extend(chains.into_iter().map(|(_, mut line, ess)| {
        line.ess = ess.values().map(Moments::mean).fold(f64::NAN, f64::min);
        line
    }));
    for row in read_entries(folder)? {
        let label = Label::new(run, &row.group);
        match report.entries.last_mut() {
            Some((last, rows)) if *last == label => rows.push(row),
            _ => report.entries.push((label, vec![row])),
        }
    }
    for row in read_parts(folder)? {
        let label = Label::new(run, &row.group);
        match report.parts.last_mut() {
            Some((last, rows)) if *last == label => rows.push(row),
            _ => report.parts.push((label, vec![row])),
        }
    }
    for row in read_agreement(folder)? {
        report.agreement.push((Label::new(run, &row.group), row));
    }
    let beside = folder.join("beside.csv");
    if beside.exists() {
        report.beside.extend(read_beside(&beside)?.into_iter().map(|row| (run.to_owned(), row)));
    }
    let published = folder.join("published.csv");
    if published.exists() {
        report
            .published
            .extend(read_published(&published)?.into_iter().map(|figure| (run.to_owned(), figure)));
    }
    Ok(())
}
