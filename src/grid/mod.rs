//! From a config and its data to the cells of the run, each with a key of what it is.

mod key;
mod resolved;

use crate::config::{Block, Config, Exclude, LawKind, Method, Shape, SplitSpec};
use crate::exact::{self, Source};
use crate::failure::{Failure, Result};
use crate::input::{CsvTable, HierarchyTable, InvariantTable, Refusal, Subject, Wanted};
use crate::privacy::{Budget, Calibration, Guarantee, LatticeShape, Split, generalized_gaussian};
use std::cell::OnceCell;
use std::collections::HashSet;

/// One point of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Hash of what the cell is: the same in every grid that contains it.
    pub key: u64,
    /// The budget as given.
    pub epsilon: f64,
    /// For the Gaussian laws.
    pub delta: Option<f64>,
    /// Sensitivity of one level's counts.
    pub sensitivity: f64,
    /// The split as given.
    pub split: SplitSpec,
    /// The noise law.
    pub law: LawKind,
    /// The method.
    pub method: Method,
    /// The noise of each level and what measuring all of them pays.
    pub calibration: Calibration,
    /// Whether every release is >= 0: by the method's option, or by an invariant that the method keeps.
    pub nonnegative: bool,
    /// Lag of coupled chains.
    pub lag: Option<u64>,
    /// Key of the same cell without its lag: of the chain itself.
    pub chain_key: u64,
    /// Steps after which a coupled pair is cut short (no part of the key: what met before stays).
    pub max_steps: u64,
    /// Chains and steps for the comparison of marginals (no part of the key).
    pub marginals: Option<(u64, u64)>,
    /// Draws recorded of each chain, by cell of the table; 0 for methods without (no part of the key).
    pub records: u64,
    /// Replicates (no part of the key: more of them extend a cell).
    pub replicates: u64,
}

impl Cell {
    /// The key as it is printed: 16 hexadecimal digits.
    pub fn key_text(&self) -> String {
        format!("{:016x}", self.key)
    }

    /// The cell with another method, as a release by its default steps.
    pub fn with(&self, method: Method, subject: &Subject) -> Self {
        let nonnegative =
            method.nonnegative() || (subject.implies_nonnegative() && method.keeps_inequalities());
        let mut cell = Self { method, nonnegative, lag: None, marginals: None, records: 0, ..self.clone() };
        cell.key = key::cell(&cell, subject);
        cell.chain_key = cell.key;
        cell
    }

    /// The cell in words, for people.
    pub fn words(&self) -> String {
        format!("{} {} epsilon {}", self.method.words(), self.law.name(), self.epsilon)
    }
}

/// Everything that a run needs.
#[derive(Debug)]
pub struct Plan {
    /// The config.
    pub config: Config,
    /// The confidential counts.
    pub subject: Subject,
    /// The cells, in the order of the config.
    pub cells: Vec<Cell>,
}

impl Plan {
    /// Reads the data and expands the grid.
    ///
    /// Refused: what the data loader refuses; a split that does not fit the tree; a method that cannot
    /// serve a law; a cell defined twice; a grid from which everything is excluded.
    pub fn new(config: Config) -> Result<Self> {
        let table = CsvTable::read_wanted(&config.data.table, &Wanted::by(&config.data))?;
        Self::on(config, table)
    }

    /// The same on a table that was read.
    pub fn on(config: Config, table: CsvTable) -> Result<Self> {
        let subject = subject(&config, table)?;
        let mut cells: Vec<Cell> = Vec::new();
        let (mut keys, shape) = (HashSet::new(), OnceCell::new());
        for block in &config.blocks {
            for cell in expand(&config, block, &subject, &shape)? {
                servable(&cell, &subject).map_err(|reason| {
                    config.error(
                        format!("method: `{}` cannot serve this grid", cell.method.name()),
                        block.method_span.clone(),
                        format!("{reason} (or leave the combination out by an [[exclude]])"),
                    )
                })?;
                if !keys.insert(cell.key) {
                    return Err(config.error(
                        format!(
                            "grid: `{}` at epsilon {} is defined twice",
                            cell.method.name(),
                            cell.epsilon
                        ),
                        block.method_span.clone(),
                        "want every cell in one block only",
                    ));
                }
                cells.push(cell);
            }
        }
        if cells.is_empty() {
            return Err(Failure::Usage(format!(
                "{}: every cell is excluded, nothing to run",
                config.path.display()
            )));
        }
        Ok(Self { config, subject, cells })
    }

    /// Hash of the config as resolved, 16 hexadecimal digits: name, seed, and every cell with its
    /// replicates. Names the folder.
    pub fn hash(&self) -> String {
        format!("{:016x}", key::plan(self))
    }
}

fn subject(config: &Config, table: CsvTable) -> Result<Subject> {
    let data = &config.data;
    match &data.shape {
        Shape::Hierarchy { levels } => {
            HierarchyTable::from_csv(table, levels, &data.count, &data.filter).map(Subject::Hierarchy)
        }
        Shape::Table { invariants, .. } => match InvariantTable::from_csv(table, data) {
            Ok(table) => Ok(Subject::Table(table)),
            Err(Refusal::File(failure)) => Err(failure),
            Err(Refusal::Invariant(i, message)) => {
                Err(config.error(message, invariants[i].1.clone(), "this invariant does not fit the data"))
            }
        },
    }
}

/// `shape`: of the table's lattice, once a block needs it.
fn expand(
    config: &Config,
    block: &Block,
    subject: &Subject,
    shape: &OnceCell<crate::Result<LatticeShape>>,
) -> Result<Vec<Cell>> {
    let levels = subject.levels();
    let lags: Vec<Option<u64>> =
        if block.lag.is_empty() { vec![None] } else { block.lag.iter().copied().map(Some).collect() };
    let needs_shape = block.law.contains(&LawKind::GeneralizedGaussian);
    let shape = match subject {
        Subject::Table(table) if needs_shape => {
            Some(shape.get_or_init(|| LatticeShape::of(&table.invariant)))
        }
        _ => None,
    };
    let nonnegative = subject.implies_nonnegative();
    let mut cells = Vec::new();
    for &law in &block.law {
        let deltas: Vec<Option<f64>> =
            if law.needs_delta() { block.delta.iter().copied().map(Some).collect() } else { vec![None] };
        for split in &block.split {
            for &sensitivity in &block.sensitivity {
                for &delta in &deltas {
                    for &epsilon in &block.epsilon {
                        let budget = Budget {
                            epsilon,
                            guarantee: match delta {
                                None => Guarantee::Pure,
                                Some(delta) => Guarantee::Concentrated { delta },
                            },
                            sensitivity,
                            split: match split {
                                SplitSpec::Each => Split::Each,
                                SplitSpec::Even => Split::Shares(vec![1.0 / levels as f64; levels]),
                                SplitSpec::Shares(shares) => Split::Shares(shares.clone()),
                            },
                        };
                        // What is excluded need not calibrate.
                        let methods: Vec<Method> = block
                            .method
                            .iter()
                            .copied()
                            .filter(|method| {
                                !config.excludes.iter().any(|e| matches(e, epsilon, law, method, sensitivity))
                            })
                            .collect();
                        if methods.is_empty() {
                            continue;
                        }
                        let calibration = match (law, &shape) {
                            (LawKind::GeneralizedGaussian, Some(shape)) => {
                                (*shape).clone().and_then(|shape| {
                                    generalized_gaussian(
                                        &shape,
                                        epsilon,
                                        delta.unwrap_or(f64::NAN),
                                        sensitivity,
                                    )
                                })
                            }
                            _ => budget.calibrate(levels),
                        };
                        let calibration = calibration.map_err(|e| {
                            config.error(
                                e.to_string(),
                                block.split_span.clone(),
                                "want a budget that fits the law and the levels",
                            )
                        })?;
                        let methods = methods.iter().flat_map(|&m| lags.iter().map(move |&lag| (m, lag)));
                        for (method, lag) in methods {
                            let mut cell = Cell {
                                key: 0,
                                epsilon,
                                delta,
                                sensitivity,
                                split: split.clone(),
                                law,
                                method,
                                nonnegative: method.nonnegative()
                                    || (nonnegative && method.keeps_inequalities()),
                                calibration: calibration.clone(),
                                lag,
                                chain_key: 0,
                                max_steps: block.max_steps,
                                marginals: block.marginals,
                                records: if method.is_chain() { block.records } else { 0 },
                                replicates: block.replicates,
                            };
                            cell.key = key::cell(&cell, subject);
                            cell.chain_key = key::cell(&Cell { lag: None, ..cell.clone() }, subject);
                            cells.push(cell);
                        }
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn matches(exclude: &Exclude, epsilon: f64, law: LawKind, method: &Method, sensitivity: f64) -> bool {
    exclude.epsilon.as_ref().is_none_or(|axis| axis.contains(&epsilon))
        && exclude.law.as_ref().is_none_or(|axis| axis.contains(&law))
        && exclude.method.as_ref().is_none_or(|axis| axis.iter().any(|name| name == method.name()))
        && exclude.nonnegative.is_none_or(|nonnegative| nonnegative == method.nonnegative())
        && exclude.sensitivity.as_ref().is_none_or(|axis| axis.contains(&sensitivity))
}

/// Whether the method exists for the law and the invariant; what needs tables or bases is left to the run.
pub(crate) fn servable(cell: &Cell, subject: &Subject) -> std::result::Result<(), String> {
    let Cell { law, method, .. } = cell;
    let table = match subject {
        Subject::Hierarchy(_) => {
            return match (law, method) {
                (LawKind::Laplace | LawKind::Gaussian, Method::Exact { nonnegative: true }) => {
                    Err(format!("{} noise with non-negativity: {}", law.name(), exact::NO_CONTINUOUS_FLOORS))
                }
                _ => Ok(()),
            };
        }
        Subject::Table(table) => table,
    };
    let bounded = !table.region.is_everything();
    if bounded && !method.keeps_inequalities() && *method != Method::Unconstrained {
        return Err("it keeps equations only, and the invariant has inequalities".into());
    }
    let drawn = !matches!(
        method,
        Method::Exact { .. }
            | Method::LineGibbs { .. }
            | Method::LatticeMetropolis { .. }
            | Method::Mis { .. }
    );
    match (law, method) {
        (LawKind::L2, Method::Rejection { from: Source::Equations }) => Ok(()),
        (LawKind::L2, Method::Klein) => Err("it draws Gaussian laws".into()),
        (LawKind::L2, _) if drawn => {
            Err("the l2 law is not a product over cells: there is no independent noise to draw".into())
        }
        (LawKind::L1 | LawKind::DoubleGeometric, Method::Klein) => Err("it draws Gaussian laws".into()),
        (_, Method::Klein) if bounded => {
            Err("it keeps equations only, and the invariant has inequalities".into())
        }
        (law, method) if law.is_continuous() && method.conditions() => match method {
            Method::Exact { .. } if !bounded => Ok(()),
            Method::Exact { .. } => {
                Err(format!("{} noise with inequalities has no exact sampler here", law.name()))
            }
            _ => Err(format!("it draws integers, and {} noise is real", law.name())),
        },
        _ => Ok(()),
    }
}
