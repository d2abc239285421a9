//! What a checked config says.

use super::axes::{AXES, Axes, AxisName, AxisRow, Exclude};
use super::checker::Checker;
use super::part::{CellPart, ConfigPart};
use super::preface::Preface;
use crate::failure::Failure;
use crate::input::DataSource;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// How `compare` judges.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Thresholds {
    /// Chance of a wrong "equal" or "changed" over all figures together.
    pub level: f64,
    /// Share of the base's mean within which a difference does not matter.
    pub margin: f64,
    /// Margins of single metrics.
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
    /// What the study says of itself.
    pub about: Preface,
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
    /// Whether budgets are what is to be paid, key `paid`; else they are those of the noise, key `epsilon`.
    pub paid: bool,
    /// Where the counts are: of several data sets those of one.
    pub data: DataSource,
    /// The name of the data set; empty if it has none.
    pub data_name: String,
    /// Blocks of the grid; every axis is non-empty and free of duplicates.
    pub blocks: Vec<Block>,
    /// Combinations to leave out.
    pub excludes: Vec<Exclude>,
    /// Published figures to print beside ours.
    pub published: Option<PathBuf>,
    /// What the study adds.
    pub part: Arc<dyn ConfigPart>,
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
            let key = axis.keys[usize::from(self.paid).min(axis.keys.len() - 1)];
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

/// What is asked of sums over groups of counts.
#[derive(Debug, Clone)]
pub struct Queries {
    /// The sums whose errors are told group by group, and by size of the count.
    pub queries: Vec<QuerySpec>,
    /// The smallest count of every size, ascending from 0.
    pub sizes: Vec<i64>,
}

impl Queries {
    /// Sizes where a config names none.
    pub const SIZES: [i64; 6] = [0, 1, 10, 100, 1_000, 10_000];

    /// None.
    pub const fn none() -> Self {
        Self { queries: Vec::new(), sizes: Vec::new() }
    }
}

/// The study of a config that does not name one.
pub const DEFAULT_STUDY: &str = "release";

/// One block of the grid: the product of its axes.
#[derive(Debug, Clone)]
pub struct Block {
    /// Their values.
    pub axes: Axes,
    /// Axes that go together: of each group values of one place alone.
    pub zip: Vec<Vec<AxisName>>,
    /// Replicates of each cell.
    pub replicates: u64,
    /// What the study adds to its cells.
    pub part: Arc<dyn CellPart>,
    /// Place of the method axis in the text: for errors that only the whole cell shows.
    pub method_span: Range<usize>,
    /// Place of the split axis.
    pub split_span: Range<usize>,
}
