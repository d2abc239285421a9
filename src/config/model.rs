//! What a checked config says.

use super::excluded::ExcludedOwn;
use crate::catalogue::{LawKind, Method};
use crate::input::{DataSource, Keep};
use crate::privacy::{Amount, ChangeKind};
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
    /// Values of `[[exclude]]` that no block has: what they were to leave out is not there.
    pub fn idle_excludes(&self) -> Vec<String> {
        fn idle<T: PartialEq>(
            key: &str,
            values: &Option<Vec<T>>,
            is_there: impl Fn(&T) -> bool,
            words: impl Fn(&T) -> String,
        ) -> Option<String> {
            let missing = values.iter().flatten().find(|value| !is_there(value))?;
            Some(format!("[[exclude]] {key}: no block has {}", words(missing)))
        }
        let any = |has: &dyn Fn(&Block) -> bool| self.blocks.iter().any(has);
        let budget = if self.change.is_some() { "paid" } else { "epsilon" };
        let of = |exclude: &Exclude| {
            [
                idle(budget, &exclude.budget, |x| any(&|block| block.budget.contains(x)), Amount::to_string),
                idle(
                    "law",
                    &exclude.law,
                    |law| any(&|block| block.law.contains(law)),
                    |law| law.name().into(),
                ),
                idle(
                    "method",
                    &exclude.method,
                    |excluded| any(&|block| block.method.iter().any(|method| excluded.has(method))),
                    ExcludedMethod::words,
                ),
                idle(
                    "split",
                    &exclude.split,
                    |split| any(&|block| block.split.contains(split)),
                    SplitSpec::label,
                ),
                idle("delta", &exclude.delta, |x| any(&|block| block.delta.contains(x)), f64::to_string),
                idle(
                    "sensitivity",
                    &exclude.sensitivity,
                    |x| any(&|block| block.sensitivity.contains(x)),
                    f64::to_string,
                ),
                idle("seed", &exclude.seed, |seed| any(&|block| block.seed.contains(seed)), u64::to_string),
                idle("data", &exclude.data, |name| any(&|block| block.data.contains(name)), String::clone),
                idle("lag", &exclude.lag, |lag| any(&|block| block.lags().contains(lag)), u64::to_string),
            ]
        };
        self.excludes.iter().flat_map(of).flatten().collect()
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
    /// Budgets.
    pub budget: Vec<Amount>,
    /// Laws.
    pub law: Vec<LawKind>,
    /// Methods with single options.
    pub method: Vec<Method>,
    /// Sensitivities.
    pub sensitivity: Vec<f64>,
    /// Splits.
    pub split: Vec<SplitSpec>,
    /// Deltas; empty if no law of the block needs one.
    pub delta: Vec<f64>,
    /// Master seeds.
    pub seed: Vec<u64>,
    /// Names of data sets.
    pub data: Vec<String>,
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

impl Block {
    /// Lags of coupled pairs.
    pub fn lags(&self) -> &[u64] {
        match &self.own {
            Own::Meetings(meetings) => &meetings.lag,
            _ => &[],
        }
    }
}

/// An axis of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisName {
    /// Budgets: `epsilon`, or `paid`.
    Budget,
    /// Laws.
    Law,
    /// Methods, each combination of its options by itself.
    Method,
    /// Sensitivities.
    Sensitivity,
    /// Splits.
    Split,
    /// Deltas; an axis of the laws that need one.
    Delta,
    /// Master seeds.
    Seed,
    /// Data sets.
    Data,
}

impl AxisName {
    /// That of a key.
    pub fn of(key: &str) -> Option<Self> {
        Some(match key {
            "epsilon" | "paid" => Self::Budget,
            "law" => Self::Law,
            "method" => Self::Method,
            "sensitivity" => Self::Sensitivity,
            "split" => Self::Split,
            "delta" => Self::Delta,
            "seed" => Self::Seed,
            "data" => Self::Data,
            _ => return None,
        })
    }

    /// Whether a key is it.
    pub fn is(self, key: &str) -> bool {
        Self::of(key) == Some(self)
    }
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
    /// Lags of coupled pairs; empty for none.
    pub lag: Vec<u64>,
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

/// How the budget is split, as given.
#[derive(Debug, Clone, PartialEq)]
pub enum SplitSpec {
    /// The whole budget on each level.
    Each,
    /// Equal shares.
    Even,
    /// Given shares.
    Shares(Vec<f64>),
}

impl SplitSpec {
    /// The name in results.
    pub fn label(&self) -> String {
        match self {
            Self::Each => "each".into(),
            Self::Even => "even".into(),
            Self::Shares(shares) => {
                shares.iter().map(|share| format!("{share:?}")).collect::<Vec<_>>().join("/")
            }
        }
    }

    /// The split of a name in results.
    pub fn named(label: &str) -> Option<Self> {
        match label {
            "each" => Some(Self::Each),
            "even" => Some(Self::Even),
            shares => {
                let shares: Result<Vec<f64>, _> = shares.split('/').map(str::parse).collect();
                shares.ok().map(Self::Shares)
            }
        }
    }
}

/// Cells that match every given list are left out.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    /// Budgets.
    pub budget: Option<Vec<Amount>>,
    /// Laws.
    pub law: Option<Vec<LawKind>>,
    /// Methods.
    pub method: Option<Vec<ExcludedMethod>>,
    /// Non-negativity.
    pub nonnegative: Option<bool>,
    /// Sensitivities.
    pub sensitivity: Option<Vec<f64>>,
    /// Splits.
    pub split: Option<Vec<SplitSpec>>,
    /// Deltas.
    pub delta: Option<Vec<f64>>,
    /// Master seeds.
    pub seed: Option<Vec<u64>>,
    /// Data sets.
    pub data: Option<Vec<String>>,
    /// Lags.
    pub lag: Option<Vec<u64>>,
}

impl Exclude {
    /// Whether it leaves out a cell; one that names lags only those with such a lag.
    pub fn has(
        &self,
        (budget, delta): (Amount, Option<f64>),
        law: LawKind,
        method: &Method,
        sensitivity: f64,
        split: &SplitSpec,
        (seed, data, lag): (u64, &str, Option<u64>),
    ) -> bool {
        self.budget.as_ref().is_none_or(|axis| axis.contains(&budget))
            && self.delta.as_ref().is_none_or(|axis| delta.is_some_and(|delta| axis.contains(&delta)))
            && self.law.as_ref().is_none_or(|axis| axis.contains(&law))
            && self.method.as_ref().is_none_or(|axis| axis.iter().any(|excluded| excluded.has(method)))
            && self.nonnegative.is_none_or(|nonnegative| nonnegative == method.nonnegative())
            && self.sensitivity.as_ref().is_none_or(|axis| axis.contains(&sensitivity))
            && self.split.as_ref().is_none_or(|axis| axis.contains(split))
            && self.seed.as_ref().is_none_or(|axis| axis.contains(&seed))
            && self.data.as_ref().is_none_or(|axis| axis.iter().any(|name| name == data))
            && self.lag.as_ref().is_none_or(|axis| lag.is_some_and(|lag| axis.contains(&lag)))
    }
}

/// Methods of which cells are left out.
#[derive(Debug, Clone, PartialEq)]
pub enum ExcludedMethod {
    /// One of ours.
    Ours {
        /// With options.
        method: Method,
        /// The keys of those that must agree.
        options: Vec<String>,
    },
    /// Some that are not ours.
    Own(ExcludedOwn),
}

impl ExcludedMethod {
    /// Whether a method is it.
    pub fn has(&self, method: &Method) -> bool {
        match self {
            Self::Ours { method: excluded, options } => {
                let value = |method: &Method, key: &str| {
                    method.values().into_iter().find(|(option, _)| option.key == key).map(|(_, value)| value)
                };
                method.kind() == excluded.kind()
                    && options.iter().all(|key| value(method, key) == value(excluded, key))
            }
            Self::Own(excluded) => method.own().is_some_and(|own| excluded.has(own)),
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Ours { method, options } if options.is_empty() => method.name().to_owned(),
            Self::Ours { method, .. } => method.words(),
            Self::Own(excluded) => excluded.words(),
        }
    }
}
