//! What a checked config says.

use super::wire::WireBound;
use crate::exact::Source;
use crate::lattice::BasisKind;
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
    /// Master seed.
    pub seed: u64,
    /// What is done with the cells.
    pub study: Study,
    /// Whether draws are written out.
    pub keep_draws: bool,
    /// Where the counts are.
    pub data: DataSource,
    /// Blocks of the grid; every axis is non-empty and free of duplicates.
    pub blocks: Vec<Block>,
    /// Combinations to leave out.
    pub excludes: Vec<Exclude>,
    /// Published figures to print beside ours.
    pub published: Option<PathBuf>,
    /// A release by somebody else to print beside ours.
    pub beside: Option<Beside>,
    /// The text that was read, with overrides applied, and its name: for errors found later.
    pub text: String,
    /// The text of the file as given.
    pub given: String,
    /// The file.
    pub path: PathBuf,
}

/// What is done with the cells of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Study {
    /// Replicates are releases.
    Release,
    /// Replicates are coupled pairs of chains.
    Meeting,
    /// No draws: the privacy that conditioning pays, between neighbouring tables.
    Privacy,
}

impl Study {
    /// The name in configs and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Meeting => "meeting",
            Self::Privacy => "privacy",
        }
    }
}

/// The table of confidential counts.
#[derive(Debug, Clone)]
pub struct DataSource {
    /// CSV or parquet file.
    pub table: PathBuf,
    /// Column of the counts.
    pub count: String,
    /// Rows to take: column and values.
    pub filter: Vec<(String, Vec<String>)>,
    /// What is released, and what is kept.
    pub shape: Shape,
}

/// What is released, and what every release keeps.
#[derive(Debug, Clone)]
pub enum Shape {
    /// All nodes of a tree; parents are the sums of their children.
    Hierarchy {
        /// Columns of the levels below the root.
        levels: Vec<String>,
    },
    /// The cells of a table, under linear equations.
    Table {
        /// Columns that name a cell; `None` for all but the count.
        cell: Option<Vec<String>>,
        /// The equations, with their places in the text.
        invariants: Vec<(InvariantSpec, Range<usize>)>,
    },
}

/// One `[[invariant]]`.
#[derive(Debug, Clone, PartialEq)]
pub enum InvariantSpec {
    /// The sum of all cells.
    Total,
    /// Sums of the cells that agree in these columns.
    Partition(Vec<String>),
    /// Both margins of a two-way table.
    Margins {
        /// Column of the rows.
        rows: String,
        /// Column of the columns.
        columns: String,
    },
    /// Sums over sets of cells, numbered from 0.
    Sets(Vec<Vec<usize>>),
    /// Sums over the cells that have 1 in a column.
    Indicators(Vec<String>),
    /// Further cells for the nodes of a tree.
    Hierarchy(Vec<String>),
    /// Explicit coefficients.
    Matrix {
        /// Row by row.
        rows: Vec<Vec<i64>>,
        /// What the equations must give.
        values: Option<Vec<i64>>,
    },
    /// No release is below 0.
    Nonnegative,
    /// Bounds by cell: lower and upper.
    Bounds(Option<WireBound>, Option<WireBound>),
    /// Rows of explicit coefficients and the least values.
    AtLeast(Vec<Vec<i64>>, Vec<i64>),
}

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
    /// Draws recorded of each chain, by cell.
    pub records: u64,
    /// Lags of coupled chains; empty unless the study is of meetings.
    pub lag: Vec<u64>,
    /// Steps after which a coupled pair is cut short.
    pub max_steps: u64,
    /// Chains and steps for the comparison of marginals, if any.
    pub marginals: Option<(u64, u64)>,
    /// Place of the method axis in the text: for errors that only the whole cell shows.
    pub method_span: Range<usize>,
    /// Place of the split axis.
    pub split_span: Range<usize>,
}

/// A noise law by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LawKind {
    /// `laplace`
    Laplace,
    /// `double-geometric`
    DoubleGeometric,
    /// `gaussian`
    Gaussian,
    /// `discrete-gaussian`
    DiscreteGaussian,
    /// `l1`: generalised Laplace with the ℓ1 norm, the same law as `double-geometric`
    L1,
    /// `l2`: generalised Laplace with the ℓ2 norm
    L2,
    /// `generalized-gaussian`: discrete Gaussian, its sigma by the lattice
    GeneralizedGaussian,
}

impl LawKind {
    /// Every law.
    pub const ALL: [Self; 7] = [
        Self::Laplace,
        Self::DoubleGeometric,
        Self::Gaussian,
        Self::DiscreteGaussian,
        Self::L1,
        Self::L2,
        Self::GeneralizedGaussian,
    ];

    /// The name in configs and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Laplace => "laplace",
            Self::DoubleGeometric => "double-geometric",
            Self::Gaussian => "gaussian",
            Self::DiscreteGaussian => "discrete-gaussian",
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::GeneralizedGaussian => "generalized-gaussian",
        }
    }

    /// The law of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|law| law.name() == name)
    }

    /// Whether its privacy is stated with a delta.
    pub fn needs_delta(self) -> bool {
        matches!(self, Self::Gaussian | Self::DiscreteGaussian | Self::GeneralizedGaussian)
    }

    /// Whether it is a law of the noise on all nodes of a hierarchy.
    pub fn on_hierarchies(self) -> bool {
        matches!(self, Self::Laplace | Self::DoubleGeometric | Self::Gaussian | Self::DiscreteGaussian)
    }

    /// Whether its noise is real-valued.
    pub fn is_continuous(self) -> bool {
        matches!(self, Self::Laplace | Self::Gaussian)
    }

    /// Whether it is pure: a bound on the ratio of probabilities, without delta.
    pub fn is_pure(self) -> bool {
        !self.needs_delta()
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
    /// Conditioning by the published chain on a lattice.
    LatticeMetropolis {
        /// Steps of the chain; 0 in a study of meetings.
        steps: u64,
        /// Parameter of the proposal.
        a: f64,
        /// Basis of the lattice.
        basis: BasisKind,
    },
    /// Conditioning, exact, by nearest plane and rejection.
    Klein,
    /// Imaging: least squares, then the closest integers in L1.
    L2Integer,
    /// Imaging in L1, one total at a time.
    L1 {
        /// Share of its noise that the first cell keeps; 1 - beta of the excess is taken from it.
        beta: f64,
    },
    /// Imaging by least squares under equations and inequalities.
    Nnl2,
    /// The same, then the closest integers in L1.
    Nnl2Integer,
    /// Conditioning by the published chain for inequalities.
    Mis {
        /// Steps of the chain, for each part of the table.
        steps: u64,
        /// Inverse scale of the proposals; `None` for the law's own.
        proposal_epsilon: Option<f64>,
    },
    /// Conditioning by rejection.
    Rejection {
        /// What the proposals satisfy.
        from: Source,
    },
}

/// A method without its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// `unconstrained`
    Unconstrained,
    /// `exact`
    Exact,
    /// `line-gibbs`
    LineGibbs,
    /// `l2`
    L2,
    /// `hierarchical-mh`
    HierarchicalMh,
    /// `topdown`
    TopDown,
    /// `lattice-metropolis`
    LatticeMetropolis,
    /// `klein`
    Klein,
    /// `mis`
    Mis,
    /// `rejection`
    Rejection,
    /// `l1`
    L1,
    /// `nnl2`
    Nnl2,
    /// `l2-then-integer-l1`
    L2Integer,
    /// `nnl2-then-integer-l1`
    Nnl2Integer,
}

impl MethodKind {
    /// Every method.
    pub const ALL: [Self; 14] = [
        Self::Unconstrained,
        Self::Exact,
        Self::LineGibbs,
        Self::L2,
        Self::HierarchicalMh,
        Self::TopDown,
        Self::LatticeMetropolis,
        Self::Klein,
        Self::Mis,
        Self::Rejection,
        Self::L1,
        Self::Nnl2,
        Self::L2Integer,
        Self::Nnl2Integer,
    ];

    /// The name in configs and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unconstrained => "unconstrained",
            Self::Exact => "exact",
            Self::LineGibbs => "line-gibbs",
            Self::L2 => "l2",
            Self::HierarchicalMh => "hierarchical-mh",
            Self::TopDown => "topdown",
            Self::LatticeMetropolis => "lattice-metropolis",
            Self::Klein => "klein",
            Self::Mis => "mis",
            Self::Rejection => "rejection",
            Self::L1 => "l1",
            Self::Nnl2 => "nnl2",
            Self::L2Integer => "l2-then-integer-l1",
            Self::Nnl2Integer => "nnl2-then-integer-l1",
        }
    }

    /// The method of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Method {
    /// The same in words.
    pub(super) const NAMES: &str = "unconstrained, exact, line-gibbs, l2, hierarchical-mh, topdown (trees), lattice-metropolis, klein, mis, \
         rejection, l1, nnl2, l2-then-integer-l1 or nnl2-then-integer-l1 (tables)";

    /// The method without its options.
    pub fn kind(&self) -> MethodKind {
        match self {
            Self::Unconstrained => MethodKind::Unconstrained,
            Self::Exact { .. } => MethodKind::Exact,
            Self::LineGibbs { .. } => MethodKind::LineGibbs,
            Self::HierarchicalMh { .. } => MethodKind::HierarchicalMh,
            Self::L2 => MethodKind::L2,
            Self::TopDown => MethodKind::TopDown,
            Self::LatticeMetropolis { .. } => MethodKind::LatticeMetropolis,
            Self::Klein => MethodKind::Klein,
            Self::L2Integer => MethodKind::L2Integer,
            Self::L1 { .. } => MethodKind::L1,
            Self::Nnl2 => MethodKind::Nnl2,
            Self::Nnl2Integer => MethodKind::Nnl2Integer,
            Self::Mis { .. } => MethodKind::Mis,
            Self::Rejection { .. } => MethodKind::Rejection,
        }
    }

    /// The name in configs and results.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Whether its own option says that every release is >= 0 (on hierarchies; on tables the invariant says it).
    pub fn nonnegative(&self) -> bool {
        match *self {
            Self::Exact { nonnegative }
            | Self::LineGibbs { nonnegative, .. }
            | Self::HierarchicalMh { nonnegative, .. } => nonnegative,
            Self::TopDown => true,
            _ => false,
        }
    }

    /// Whether it runs a Markov chain.
    pub fn is_chain(&self) -> bool {
        matches!(
            self,
            Self::LineGibbs { .. }
                | Self::HierarchicalMh { .. }
                | Self::LatticeMetropolis { .. }
                | Self::Mis { .. }
        )
    }

    /// Whether it conditions on the invariant; else it moves free noise to it, or leaves it.
    pub fn conditions(&self) -> bool {
        self.is_chain() || matches!(self, Self::Exact { .. } | Self::Klein | Self::Rejection { .. })
    }

    /// Whether it serves the cells of a table; else it serves the nodes of a hierarchy only.
    pub fn on_tables(&self) -> bool {
        !matches!(self, Self::HierarchicalMh { .. } | Self::TopDown)
    }

    /// Whether it serves the nodes of a hierarchy.
    pub fn on_hierarchies(&self) -> bool {
        matches!(
            self,
            Self::Unconstrained
                | Self::Exact { .. }
                | Self::LineGibbs { .. }
                | Self::HierarchicalMh { .. }
                | Self::L2
                | Self::TopDown
        )
    }

    /// Whether it keeps inequalities of a table; else it keeps equations only, or nothing.
    pub fn keeps_inequalities(&self) -> bool {
        matches!(
            self,
            Self::Exact { .. }
                | Self::LineGibbs { .. }
                | Self::Mis { .. }
                | Self::Rejection { .. }
                | Self::Nnl2
                | Self::Nnl2Integer
                | Self::L1 { .. }
        )
    }

    /// Whether its releases are integers if the noise is.
    pub fn keeps_integers(&self) -> bool {
        !matches!(self, Self::L2 | Self::L1 { .. } | Self::Nnl2)
    }

    /// The name with the options.
    pub fn words(&self) -> String {
        format!("{} {}", self.name(), self.options()).trim_end().to_owned()
    }

    /// The options other than non-negativity, as `name=value` joined by commas; empty if there are none.
    pub fn options(&self) -> String {
        match self {
            Self::LineGibbs { sweeps: 0, .. } => String::new(),
            Self::LineGibbs { sweeps, .. } => format!("sweeps={sweeps}"),
            Self::LatticeMetropolis { steps, a, basis } => {
                let steps = if *steps == 0 { String::new() } else { format!("steps={steps},") };
                format!("{steps}a={a:?},basis={}", basis_name(*basis))
            }
            Self::HierarchicalMh { steps, proposal_scale: None, .. } => format!("steps={steps}"),
            Self::HierarchicalMh { steps, proposal_scale: Some(scale), .. } => {
                format!("steps={steps},proposal-scale={scale:?}")
            }
            Self::Mis { steps, proposal_epsilon: None } => format!("steps={steps}"),
            Self::Mis { steps, proposal_epsilon: Some(rate) } => {
                format!("steps={steps},proposal-epsilon={rate:?}")
            }
            Self::L1 { beta } => format!("beta={beta:?}"),
            Self::Rejection { from } => format!("from={}", source_name(*from)),
            _ => String::new(),
        }
    }
}

/// The name of a basis in configs and results.
pub fn basis_name(basis: BasisKind) -> &'static str {
    match basis {
        BasisKind::Smith => "smith",
        BasisKind::Reduced => "reduced",
    }
}

/// The name of a source of proposals in configs and results.
pub fn source_name(source: Source) -> &'static str {
    match source {
        Source::Equations => "equations",
        Source::Unconstrained => "unconstrained",
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

impl SplitSpec {
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
