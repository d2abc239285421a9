//! Every method of a plan once, briefly: against its invariant and, where there is one, its oracle.

use crate::config::{LawKind, Method, Study};
use crate::diagnostics::{Agreement, Moments};
use crate::failure::Result;
use crate::grid::{Cell, Plan, servable};
use crate::input::Subject;
use crate::rng::normal_quantile;
use crate::runner::{self, CellOutcome, Manner, Statistics, expected};
use std::collections::HashMap;

/// What was found of one method under one law.
#[derive(Debug)]
pub struct Checked {
    /// The cell of the grid that stands for it: the first.
    pub cell: Cell,
    /// Releases that were drawn.
    pub releases: u64,
    /// Of those, how many keep the invariant; `None` for a method that does not promise it.
    pub kept: Option<u64>,
    /// What it was compared with.
    pub oracle: Oracle,
    /// Why it could not be drawn.
    pub error: Option<String>,
}

/// Another way to the same law.
#[derive(Debug)]
pub enum Oracle {
    /// There is none here: why.
    None(String),
    /// Draws by another method.
    Method(String, Agreement),
    /// The variance in closed form: mean of the squares over it, less 1, and its standard error.
    Variance(f64, f64),
}

/// Chance of a wrong alarm, for each comparison.
pub const LEVEL: f64 = 1e-6;

impl Checked {
    /// Whether nothing speaks against the method.
    pub fn is_fine(&self) -> bool {
        let agrees = match &self.oracle {
            Oracle::None(_) => true,
            Oracle::Method(_, agreement) => agreement.p >= LEVEL,
            Oracle::Variance(off, error) => off.abs() <= -normal_quantile(LEVEL / 2.0) * error,
        };
        self.error.is_none() && agrees && self.kept.is_none_or(|kept| kept == self.releases)
    }
}

/// Releases of a method that draws at once, and of a chain.
const RELEASES: [u64; 2] = [1000, 100];

/// Checks a plan. Coupled chains are checked as chains of [`SWEEPS`] sweeps or [`STEPS`] steps.
///
/// Errors: threads.
pub fn verify(mut plan: Plan, threads: usize) -> Result<Vec<Checked>> {
    plan.config.study = Study::Release;
    let mut tested: Vec<Cell> = Vec::new();
    for cell in &plan.cells {
        let method = match cell.method {
            Method::LineGibbs { sweeps: 0, nonnegative } => Method::LineGibbs { sweeps: SWEEPS, nonnegative },
            Method::LatticeMetropolis { steps: 0, a, basis } => {
                Method::LatticeMetropolis { steps: STEPS, a, basis }
            }
            method => method,
        };
        if tested.iter().all(|other| (other.law, other.method) != (cell.law, method)) {
            tested.push(brief(&cell.with(method, &plan.subject)));
        }
    }
    let oracles: Vec<Option<Cell>> = tested
        .iter()
        .map(|cell| {
            let candidates = oracles(cell).into_iter().map(|method| brief(&cell.with(method, &plan.subject)));
            candidates.into_iter().find(|cell| servable(cell, &plan.subject).is_ok())
        })
        .collect();
    plan.cells = Vec::new();
    let mut places = HashMap::new();
    for cell in tested.iter().chain(oracles.iter().flatten()) {
        places.entry(cell.key).or_insert_with(|| {
            plan.cells.push(cell.clone());
            plan.cells.len() - 1
        });
    }
    let outcomes = runner::run(&plan, Manner { threads, fail_fast: false }, None)?;
    let statistics = Statistics::new(&plan);
    let checked = tested.into_iter().zip(oracles).map(|(cell, oracle)| {
        let outcome = &outcomes[places[&cell.key]];
        let oracle = match oracle {
            _ if outcome.error.is_some() => Oracle::None("no releases".into()),
            Some(other) => {
                let words = other.method.words();
                let theirs = &outcomes[places[&other.key]];
                match &theirs.error {
                    Some(error) => Oracle::None(format!("{words}: {error}")),
                    None => {
                        let both = [outcome, theirs].map(|outcome| statistics.of(outcome));
                        Oracle::Method(words, Agreement::of(&both[0], &both[1]))
                    }
                }
            }
            None => against_variance(&cell, &plan, outcome).unwrap_or(Oracle::None("none here".into())),
        };
        let kept = outcome.rows.errors.iter().filter(|row| row.level == 1 && row.invariant_ok).count() as u64;
        Checked {
            releases: outcome.rows.errors.iter().filter(|row| row.level == 1).count() as u64,
            kept: (cell.method != Method::Unconstrained).then_some(kept),
            oracle,
            error: outcome.error.clone(),
            cell,
        }
    });
    Ok(checked.collect())
}

/// Sweeps of a chain that is an oracle, or that the config leaves open.
const SWEEPS: u64 = 200;
/// See [`SWEEPS`].
const STEPS: u64 = 200_000;

fn brief(cell: &Cell) -> Cell {
    let most = RELEASES[usize::from(cell.method.is_chain())];
    Cell { replicates: most, ..cell.clone() }
}

/// Methods that release the same law, the surest first; none for those that move noise in their own way.
fn oracles(cell: &Cell) -> Vec<Method> {
    let nonnegative = cell.method.nonnegative();
    let exact = Method::Exact { nonnegative };
    match cell.method {
        Method::Exact { .. } if cell.law == LawKind::Gaussian => {
            vec![Method::LineGibbs { sweeps: SWEEPS, nonnegative }, Method::L2]
        }
        Method::Exact { .. } => vec![Method::LineGibbs { sweeps: SWEEPS, nonnegative }],
        method if method.conditions() => vec![exact],
        // Least squares moves Gaussian noise to the law that conditions it.
        Method::L2 if cell.law == LawKind::Gaussian => vec![exact],
        _ => Vec::new(),
    }
}

/// The squares of the errors against their means in closed form: by level of a hierarchy for free noise, by part of a table
/// where there is one. `None` if there is none.
fn against_variance(cell: &Cell, plan: &Plan, outcome: &CellOutcome) -> Option<Oracle> {
    let mut shares: Vec<f64> = Vec::new();
    match &plan.subject {
        Subject::Hierarchy(_) if cell.method == Method::Unconstrained => {
            let levels = cell.calibration.scales.len();
            for release in outcome.rows.errors.chunks(levels) {
                let mut sum = 0.0;
                for row in release {
                    let scale = cell.calibration.scales[row.level as usize - 1];
                    sum += row.l2 * row.l2 / expected::noise(cell.law, scale)?.variance();
                }
                shares.push(sum / plan.subject.nodes() as f64);
            }
        }
        Subject::Hierarchy(_) => return None,
        Subject::Table(table) => {
            let parts = table.region.components(&table.invariant);
            // Parts of one cell have no noise, unless nothing holds them.
            let known: Vec<(&[u32], f64)> = parts
                .iter()
                .filter_map(|part| {
                    let variance = expected::variance(cell, part, expected::rank(part))?;
                    (variance > 0.0).then_some((&part.component.cells[..], variance))
                })
                .collect();
            let cells: usize = known.iter().map(|(cells, _)| cells.len()).sum();
            if cells == 0 {
                return None;
            }
            for draw in &outcome.rows.draws {
                let squares = |cells: &[u32]| {
                    cells.iter().map(|&c| draw.errors[c as usize] * draw.errors[c as usize]).sum::<f64>()
                };
                let sum: f64 = known.iter().map(|(cells, variance)| squares(cells) / variance).sum();
                shares.push(sum / cells as f64);
            }
        }
    }
    let estimate = shares.into_iter().map(|share| share - 1.0).collect::<Moments>().estimate();
    Some(Oracle::Variance(estimate.mean, estimate.standard_error))
}
