//! What a checked config says.

use std::ops::Range;
use std::path::PathBuf;

/// A checked config.
#[derive(Debug, Clone)]
pub struct Config {
    /// Name of the run.
    pub name: String,
    /// Master seed.
    pub seed: u64,
    /// Where the counts are.
    pub data: DataSource,
    /// Blocks of the grid; every axis is non-empty and free of duplicates.
    pub blocks: Vec<Block>,
    /// Combinations to leave out.
    pub excludes: Vec<Exclude>,
    /// Published figures to print beside ours.
    pub published: Option<PathBuf>,
    /// The text that was read, with overrides applied, and its name: for errors found later.
    pub text: String,
    /// The text of the file as given.
    pub given: String,
    /// The file.
    pub path: PathBuf,
}

/// The table of confidential counts.
#[derive(Debug, Clone)]
pub struct DataSource {
    /// CSV file.
    pub table: PathBuf,
    /// Columns of the levels below the root.
    pub levels: Vec<String>,
    /// Column of the counts.
    pub count: String,
}

/// One block of the grid: the product of its axes.
#[derive(Debug, Clone)]
pub struct Block {
    /// Budgets.
    pub epsilon: Vec<f64>,
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
    /// Replicates of each cell.
    pub replicates: u64,
    /// Place of the method axis in the text: for errors that only the whole cell shows.
    pub method_span: Range<usize>,
    /// Place of the split axis.
    pub split_span: Range<usize>,
}

/// A noise law by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LawKind {
    /// `laplace`
    Laplace,
    /// `double-geometric`
    DoubleGeometric,
    /// `gaussian`
    Gaussian,
    /// `discrete-gaussian`
    DiscreteGaussian,
}

impl LawKind {
    /// Every law.
    pub const ALL: [Self; 4] = [Self::Laplace, Self::DoubleGeometric, Self::Gaussian, Self::DiscreteGaussian];

    /// The name in configs and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Laplace => "laplace",
            Self::DoubleGeometric => "double-geometric",
            Self::Gaussian => "gaussian",
            Self::DiscreteGaussian => "discrete-gaussian",
        }
    }

    /// Whether its privacy is stated with a delta.
    pub fn needs_delta(self) -> bool {
        matches!(self, Self::Gaussian | Self::DiscreteGaussian)
    }
}

/// A method with its options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Independent noise on all nodes.
    Unconstrained,
    /// Conditioning, exact.
    Exact {
        /// Releases must not be negative.
        nonnegative: bool,
    },
    /// Conditioning by line Gibbs.
    LineGibbs {
        /// Sweeps of the chain.
        sweeps: u64,
        /// Releases must not be negative.
        nonnegative: bool,
    },
    /// Conditioning by hierarchical Metropolis-Hastings.
    HierarchicalMh {
        /// Steps of the chain.
        steps: u64,
        /// Proposal scale in units of the leaves' scale; `None` for the default.
        proposal_scale: Option<f64>,
        /// Releases must not be negative.
        nonnegative: bool,
    },
    /// Imaging by least squares.
    L2,
    /// Imaging by TopDown.
    TopDown,
}

impl Method {
    pub(super) const NAMES: &str = "unconstrained, exact, line-gibbs, hierarchical-mh, l2 or topdown";

    /// The name in configs and results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unconstrained => "unconstrained",
            Self::Exact { .. } => "exact",
            Self::LineGibbs { .. } => "line-gibbs",
            Self::HierarchicalMh { .. } => "hierarchical-mh",
            Self::L2 => "l2",
            Self::TopDown => "topdown",
        }
    }

    /// Whether every release is >= 0.
    pub fn nonnegative(&self) -> bool {
        match *self {
            Self::Exact { nonnegative }
            | Self::LineGibbs { nonnegative, .. }
            | Self::HierarchicalMh { nonnegative, .. } => nonnegative,
            Self::TopDown => true,
            Self::Unconstrained | Self::L2 => false,
        }
    }

    /// The options other than non-negativity, as `name=value` joined by commas; empty if there are none.
    pub fn options(&self) -> String {
        match self {
            Self::LineGibbs { sweeps, .. } => format!("sweeps={sweeps}"),
            Self::HierarchicalMh { steps, proposal_scale: None, .. } => format!("steps={steps}"),
            Self::HierarchicalMh { steps, proposal_scale: Some(scale), .. } => {
                format!("steps={steps},proposal-scale={scale:?}")
            }
            _ => String::new(),
        }
    }
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
}

/// Cells that match every given list are left out.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    /// Budgets.
    pub epsilon: Option<Vec<f64>>,
    /// Laws.
    pub law: Option<Vec<LawKind>>,
    /// Names of methods.
    pub method: Option<Vec<String>>,
    /// Non-negativity.
    pub nonnegative: Option<bool>,
    /// Sensitivities.
    pub sensitivity: Option<Vec<f64>>,
}
