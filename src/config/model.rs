//! What a checked config says.

use super::axes::{AXES, Axes, AxisName, AxisRow, Exclude};
use super::checker::Checker;
use crate::failure::Failure;
use crate::input::{DataSource, Keep};
use crate::privacy::ChangeKind;
use std::ops::Range;
use std::path::PathBuf;

/// How `compare` judges.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Thresholds {
    /// Chance of a wrong "equal" or "changed" over all figures together.
    pub level: f64,
    /// Share of the base's mean within which a difference does not matter.
    pub margin: f64,
    /// The same for single metrics.
    pub margins: std::collections::BTreeMap<String, f64>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { level: 0.05, margin: 0.05, margins: Default::default() }
    }
}

impl Thresholds {
    /// The margin of a metric.
    pub fn margin(&self, metric: &str) -> f64 {
        *self.margins.get(metric).unwrap_or(&self.margin)
    }
}

/// A checked config.
#[derive(Debug, Clone)]
pub struct Config {
    /// How runs are compared.
    pub compare: Thresholds,
    /// Name of the run.
    pub name: String,
    /// Master seeds; not empty.
    pub seeds: Vec<u64>,
    /// What is done with the cells.
    pub study: &'static str,
    /// Whether its blocks say how many replicates are drawn.
    pub replicates: bool,
    /// Which draws are written out.
    pub keep_draws: Keep,
    /// Sums whose errors are summed up group by group.
    pub queries: Vec<QuerySpec>,
    /// Where the counts are: of several data sets those of one.
    pub data: DataSource,
    /// The name of the data set; empty if it has none.
    pub data_name: String,
    /// Blocks of the grid; every axis is non-empty and free of duplicates.
    pub blocks: Vec<Block>,
    /// Combinations to leave out.
    pub excludes: Vec<Exclude>,
    /// The change of the confidential table whose loss the budgets are, and its place in the text; else they are those of the noise.
    pub change: Option<(ChangeKind, Range<usize>)>,
    /// Published figures to print beside ours.
    pub published: Option<PathBuf>,
    /// A release by somebody else to print beside ours.
    pub beside: Option<Beside>,
    /// What certifies chains.
    pub certify: Option<Certify>,
    /// The text that was read, with overrides applied, and its name: for errors found later.
    pub text: String,
    /// The text of the file as given.
    pub given: String,
    /// The file.
    pub path: PathBuf,
}

impl Config {
    /// An error at a place of the config.
    pub fn error(&self, message: impl Into<String>, span: Range<usize>, label: impl Into<String>) -> Failure {
        Checker::new(&self.path, &self.given, &self.text, |_| None).error(message, span, label)
    }

    /// Values of `[[exclude]]` that no block has: what they were to leave out is not there.
    pub fn idle_excludes(&self) -> Vec<String> {
        let blocks: Vec<&Axes> = self.blocks.iter().map(|block| &block.axes).collect();
        let idle = |(block, axis): (&Exclude, &AxisRow)| {
            let missing = (axis.idle)(block, &blocks)?;
            let key = axis.keys[usize::from(self.change.is_some()).min(axis.keys.len() - 1)];
            Some(format!("[[exclude]] {key}: no block has {missing}"))
        };
        let all = self.excludes.iter().flat_map(|block| AXES.iter().map(move |axis| (block, axis)));
        all.filter_map(idle).collect()
    }
}

/// A query: leaves or entries that agree in these columns are summed.
#[derive(Debug, Clone)]
pub struct QuerySpec {
    /// The columns; not empty, each once.
    pub columns: Vec<String>,
    /// Their place in the text.
    pub span: Range<usize>,
}

/// The study of a config that does not name one.
pub const DEFAULT_STUDY: &str = "release";

/// A release by somebody else.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// CSV file.
    pub table: PathBuf,
    /// Column of confidential counts.
    pub confidential: String,
    /// Column of released counts.
    pub released: String,
    /// What it is.
    pub note: String,
}

/// One block of the grid: the product of its axes.
#[derive(Debug, Clone)]
pub struct Block {
    /// Their values.
    pub axes: Axes,
    /// Axes that go together: of each group values of one place alone.
    pub zip: Vec<Vec<AxisName>>,
    /// Replicates of each cell.
    pub replicates: u64,
    /// What the study adds.
    pub own: Own,
    /// Place of the method axis in the text: for errors that only the whole cell shows.
    pub method_span: Range<usize>,
    /// Place of the split axis.
    pub split_span: Range<usize>,
}

/// What a study adds to a block.
#[derive(Debug, Clone)]
pub enum Own {
    /// Nothing.
    Nothing,
    /// Draws recorded of each chain, by entry.
    Records(u64),
    /// Coupled chains.
    Meetings(Meetings),
}

/// What certifies the chains of a study of releases.
#[derive(Debug, Clone, PartialEq)]
pub enum Certify {
    /// The folder of a run of a study of meetings.
    Run(PathBuf),
    /// Coupled pairs of its own.
    Pairs(Pairs),
}

/// Coupled pairs of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// Pairs of every lag.
    pub pairs: u64,
    /// Lags; not empty.
    pub lag: Vec<u64>,
    /// Steps after which a pair is cut short.
    pub max_steps: u64,
}

/// How chains are coupled.
#[derive(Debug, Clone)]
pub struct Meetings {
    /// Steps after which a coupled pair is cut short.
    pub max_steps: u64,
    /// Chains and steps for the comparison of marginals, if any.
    pub marginals: Option<(u64, u64)>,
    /// Groups of chains with weights, if any.
    pub harmonized: Option<Harmonized>,
}

/// How many chains share weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Harmonized {
    /// Groups.
    pub groups: u64,
    /// Chains of each.
    pub chains: u64,
    /// Steps after which a group is left.
    pub steps: u64,
}
