//! From a config and its data to the cells of the run, each with a key of what it is.

mod key;
mod resolved;

use crate::config::{Block, Config, Exclude, LawKind, Method, SplitSpec};
use crate::exact::TreeLaw;
use crate::failure::{Failure, Result};
use crate::input::HierarchyTable;
use crate::privacy::{Budget, Calibration, Guarantee, Split};

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
    /// Replicates (no part of the key: more of them extend a cell).
    pub replicates: u64,
}

impl Cell {
    /// The key as it is printed: 16 hexadecimal digits.
    pub fn key_text(&self) -> String {
        format!("{:016x}", self.key)
    }
}

/// Everything that a run needs.
#[derive(Debug)]
pub struct Plan {
    /// The config.
    pub config: Config,
    /// The confidential counts.
    pub table: HierarchyTable,
    /// The cells, in the order of the config.
    pub cells: Vec<Cell>,
}

impl Plan {
    /// Reads the data and expands the grid.
    ///
    /// Refused: what the data loader refuses; a split that does not fit the tree; a method that cannot
    /// serve a law; a cell defined twice; a grid from which everything is excluded.
    pub fn new(config: Config) -> Result<Self> {
        let data = &config.data;
        let table = HierarchyTable::read(&data.table, &data.levels, &data.count)?;
        let mut cells: Vec<Cell> = Vec::new();
        for block in &config.blocks {
            for cell in expand(&config, block, &table)? {
                if config.excludes.iter().any(|exclude| matches(exclude, &cell)) {
                    continue;
                }
                servable(&cell).map_err(|reason| {
                    config.error(
                        format!("method: `{}` cannot serve this grid", cell.method.name()),
                        block.method_span.clone(),
                        format!("{reason} (or leave the combination out by an [[exclude]])"),
                    )
                })?;
                if cells.iter().any(|other| other.key == cell.key) {
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
        Ok(Self { config, table, cells })
    }

    /// Hash of the config as resolved, 16 hexadecimal digits: name, seed, and every cell with its
    /// replicates. Names the folder.
    pub fn hash(&self) -> String {
        format!("{:016x}", key::plan(self))
    }
}

fn expand(config: &Config, block: &Block, table: &HierarchyTable) -> Result<Vec<Cell>> {
    let levels = table.hierarchy.levels();
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
                        let calibration = budget.calibrate(levels).map_err(|e| {
                            config.error(
                                e.to_string(),
                                block.split_span.clone(),
                                "want a split that fits the levels",
                            )
                        })?;
                        for &method in &block.method {
                            let mut cell = Cell {
                                key: 0,
                                epsilon,
                                delta,
                                sensitivity,
                                split: split.clone(),
                                law,
                                method,
                                calibration: calibration.clone(),
                                replicates: block.replicates,
                            };
                            cell.key = key::cell(&cell, &table.digest);
                            cells.push(cell);
                        }
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn matches(exclude: &Exclude, cell: &Cell) -> bool {
    exclude.epsilon.as_ref().is_none_or(|axis| axis.contains(&cell.epsilon))
        && exclude.law.as_ref().is_none_or(|axis| axis.contains(&cell.law))
        && exclude.method.as_ref().is_none_or(|axis| axis.iter().any(|name| name == cell.method.name()))
        && exclude.nonnegative.is_none_or(|nonnegative| nonnegative == cell.method.nonnegative())
        && exclude.sensitivity.as_ref().is_none_or(|axis| axis.contains(&cell.sensitivity))
}

/// Whether the method exists for the law; the core knows and says why not.
fn servable(cell: &Cell) -> std::result::Result<(), String> {
    use crate::invariant::Hierarchy;
    use crate::law::{Gaussian, Laplace};
    if cell.method != (Method::Exact { nonnegative: true }) {
        return Ok(());
    }
    let tree = Hierarchy::from_parents(&[0]).expect("a single node");
    let one = |result: crate::Result<()>| result.map_err(|e| e.to_string());
    match cell.law {
        LawKind::Laplace => {
            one(Laplace::new(1.0)
                .and_then(|law| Laplace::tree_sampler(&tree, &[law], Some(&[0])).map(|_| ())))
        }
        LawKind::Gaussian => {
            one(Gaussian::new(1.0)
                .and_then(|law| Gaussian::tree_sampler(&tree, &[law], Some(&[0])).map(|_| ())))
        }
        LawKind::DoubleGeometric | LawKind::DiscreteGaussian => Ok(()),
    }
}
