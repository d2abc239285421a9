//! The splits of the budgets of a config that answer its queries best, and the config with them.

mod told;

use crate::catalogue::{self, Projection};
use crate::config::{Config, SplitSpec};
use crate::design::{Answers, Goal, best};
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan, calibrate};
use crate::input::{self, Answered, HierarchyTable, Subject};
use crate::privacy::LatticeShape;
use std::cell::OnceCell;
pub use told::{config, described, page};

/// Shares are multiples of one over this.
const PARTS: usize = 1_000_000;

/// The best split of a budget on a data set.
#[derive(Debug, Clone)]
pub struct Design {
    /// The name of the data set; empty if it has none.
    pub data: String,
    /// The name of the law.
    pub law: String,
    /// epsilon of all levels together, and delta; 0 of pure laws.
    pub total: (f64, f64),
    /// Of the counts of one level.
    pub sensitivity: f64,
    /// The levels that are measured, the highest first, with their shares.
    pub shares: Vec<(String, f64)>,
    /// What was to be small under equal shares, under these, and at least under any: roots of it, in counts.
    pub error: [f64; 3],
    /// The queries.
    pub queries: Vec<Query>,
    /// Levels that are measured and that no query asks for.
    pub others: Vec<Query>,
}

/// What is told of a query.
#[derive(Debug, Clone)]
pub struct Query {
    /// Its columns, or the level.
    pub name: String,
    /// Errors with equal shares, and with these.
    pub errors: [Errors; 2],
}

/// Errors of the answers of a query, in counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// The root of the mean squared error.
    pub mean: f64,
    /// The root of the largest.
    pub largest: f64,
}

/// The plans with the best splits, each under its config's law and budget, and what was found of every noise.
///
/// A split `each` pays as much as its levels together, and its budget is split. Cells whose methods do not weigh levels as least squares
/// do are left as they are.
///
/// Errors: those of [`check`]; a table, of which there is nothing to split; no method that least squares speak of; a share that buys
/// noise out of the law's range.
pub fn designed(plans: Vec<Plan>, goal: Goal) -> Result<(Vec<Plan>, Vec<Design>)> {
    let (mut changed, mut all) = (Vec::new(), Vec::new());
    for mut plan in plans {
        let cells = std::mem::take(&mut plan.cells);
        let tree = tree(&plan)?;
        let (answers, names) = asked(&plan, tree);
        let mut found: Vec<(String, Vec<f64>)> = Vec::new();
        let mut split_cells: Vec<Cell> = Vec::new();
        for cell in cells {
            if !is_served(&plan, &cell) {
                add(&mut split_cells, cell);
                continue;
            }
            let noise = Noise::new(&plan, &cell);
            let words = noise.words();
            let known = found.iter().find(|(of, _)| *of == words).map(|(_, shares)| shares.clone());
            let shares = match known {
                Some(shares) => shares,
                None => {
                    let (shares, design) = noise.design(&answers, &names, tree, goal)?;
                    all.push(design);
                    found.push((words, shares.clone()));
                    shares
                }
            };
            let split = noise.cell(shares)?;
            add(&mut split_cells, split);
        }
        plan.cells = split_cells;
        changed.push(plan);
    }
    match changed.first().filter(|_| all.is_empty()) {
        Some(plan) => {
            let path = plan.config.path.display();
            let why = "no method weighs levels as least squares do: want `l2`, or one that conditions on the sums alone";
            Err(Failure::Usage(format!("{path}: {why}")))
        }
        None => Ok((changed, all)),
    }
}

/// Whether the releases of a cell weigh levels as least squares do: `l2`, and noise that is conditioned on the sums alone.
fn is_served(plan: &Plan, cell: &Cell) -> bool {
    let method = cell.at.method;
    let conditions = method.conditions() && !cell.nonnegative && plan.subject.region().is_everything();
    conditions || method.projection() == Some(Projection::L2)
}

/// Refuses budgets that are what is to be paid: they depend on the split.
pub fn check(config: &Config) -> Result<()> {
    match config.paid {
        false => Ok(()),
        true => Err(Failure::Usage(format!(
            "{}: budgets are what is `paid` for a change, which depends on the split: want `epsilon`",
            config.path.display()
        ))),
    }
}

/// Adds a cell: to the one that it has become, if they differed in their split alone, and else beside those that differ in their seed
/// alone.
fn add(cells: &mut Vec<Cell>, cell: Cell) {
    match cells.iter_mut().find(|other| other.key == cell.key) {
        Some(same) => {
            same.replicates = same.replicates.max(cell.replicates);
            if let Some(both) = same.part.with(&*cell.part) {
                same.part = both;
            }
        }
        None => {
            let beside = cells.iter().rposition(|other| other.streams == cell.streams);
            cells.insert(beside.map_or(cells.len(), |place| place + 1), cell);
        }
    }
}

/// The tree of a plan. Errors: those of [`check`]; it has none, or one level that is measured.
fn tree(plan: &Plan) -> Result<&HierarchyTable> {
    check(&plan.config)?;
    let path = plan.config.path.display();
    let refuse = |why: &str| Err(Failure::Usage(format!("{path}: {why}")));
    let Subject::Hierarchy(tree) = &plan.subject else {
        return refuse("all entries of a table share one budget: want data with `levels` to split it over");
    };
    if tree.hierarchy.levels() - plan.subject.known_levels() < 2 {
        return refuse("one level is measured, and has the whole budget: want two or more to split it over");
    }
    Ok(tree)
}

/// The sums that a plan asks for, or else all nodes by level, with their names.
fn asked<'a>(plan: &Plan, table: &'a HierarchyTable) -> (Answers<'a>, Vec<String>) {
    let tree = &table.hierarchy;
    let queries = plan.asked.as_ref().map_or(&[][..], |asked| &asked.queries);
    if queries.is_empty() {
        let levels = plan.config.data.level_names();
        let measured = (0..tree.levels()).filter(|&l| !tree.is_level_known(l));
        return (Answers::of_levels(tree), measured.map(|l| levels[l].to_owned()).collect());
    }
    let groups = |query: &input::Query| match &query.answered {
        Answered::Level(_, nodes) => nodes.clone().map(|v| vec![v as u32]).collect(),
        Answered::Sums(first, groups) => {
            let mut nodes: Vec<Vec<u32>> = vec![Vec::new(); query.groups()];
            let leaves = (*first as u32..).zip(groups);
            leaves.for_each(|(leaf, &group)| nodes[group as usize].push(leaf));
            nodes
        }
    };
    let names = queries.iter().map(|query| query.columns.join(", "));
    (Answers::new(tree, queries.iter().map(groups).collect()), names.collect())
}

/// The noise of a cell, whose split is looked for.
struct Noise<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    shape: OnceCell<crate::Result<LatticeShape>>,
    /// epsilon of all of its levels together.
    epsilon: f64,
}

impl<'a> Noise<'a> {
    fn new(plan: &'a Plan, cell: &'a Cell) -> Self {
        let epsilon = match cell.at.split {
            // A sum in twelve digits.
            SplitSpec::Each => {
                format!("{:.11e}", cell.calibration.epsilon).parse().expect("a number was written")
            }
            SplitSpec::Even | SplitSpec::Shares(_) => cell.epsilon,
        };
        Self { plan, cell, shape: OnceCell::new(), epsilon }
    }

    /// What the best split depends on.
    fn words(&self) -> String {
        let Cell { at, calibration, .. } = self.cell;
        format!("{} {:?} {:?} {:?}", at.law.name(), at.sensitivity, self.epsilon, calibration.delta)
    }

    /// The cell with a split of what all of its levels pay together. Errors: shares so small that the law does not serve them.
    fn cell(&self, shares: Vec<f64>) -> Result<Cell> {
        let at = crate::config::Point { split: SplitSpec::Shares(shares), ..self.cell.at.clone() };
        let cell = Cell { at, ..self.cell.clone() };
        let found = cell.at(self.epsilon, &self.plan.subject, &self.shape);
        found.map_err(|e| self.refused(&e.to_string()))
    }

    /// Variances of the noise by level; 1 for those that are known.
    fn variances(&self, shares: &[f64]) -> crate::Result<Vec<f64>> {
        let at = crate::config::Point { split: SplitSpec::Shares(shares.to_vec()), ..self.cell.at.clone() };
        let calibration = calibrate(&at, self.epsilon, &self.plan.subject, &self.shape)?;
        let variance = |&scale: &f64| match scale {
            0.0 => 1.0,
            scale => catalogue::noise(at.law, scale).map_or(f64::NAN, |noise| noise.variance()),
        };
        Ok(calibration.scales.iter().map(variance).collect())
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::Usage(format!("{}: {}: {why}", self.plan.config.path.display(), self.cell.words()))
    }

    /// Whether a query asks for the nodes of a level; without queries all are asked for.
    fn asks_for(&self, level: usize) -> bool {
        let queries = self.plan.asked.as_ref().map_or(&[][..], |asked| &asked.queries);
        let is_own = |query: &input::Query| matches!(query.answered, Answered::Level(own, _) if own == level);
        queries.is_empty() || queries.iter().any(is_own)
    }

    fn design(
        &self,
        answers: &Answers,
        names: &[String],
        table: &HierarchyTable,
        goal: Goal,
    ) -> Result<(Vec<f64>, Design)> {
        let known = self.plan.subject.known_levels();
        let tree = &table.hierarchy;
        let measured = tree.levels() - known;
        // The levels have the same law, sensitivity and budget: what a share buys is the same on all.
        let precision = |share: f64| {
            let mut shares = vec![(1.0 - share) / (measured - 1) as f64; measured];
            shares[measured - 1] = share;
            Ok(1.0 / self.variances(&shares)?[tree.levels() - 1])
        };
        let refused = |e: crate::Error| self.refused(&e.to_string());
        let found = best(answers, goal, precision).map_err(refused)?;
        let shares = rounded(&found.shares);
        let even = vec![1.0 / measured as f64; measured];
        let variances = [self.variances(&even), self.variances(&shares)];
        let [even, own] = variances.map(|all| all.map_err(refused));
        let (even, own) = (even?, own?);
        let both = |answers: &Answers, names: &mut dyn Iterator<Item = String>| -> Result<Vec<Query>> {
            let [even, own] = [&even, &own].map(|variances| errors(answers, variances).map_err(refused));
            let pairs = even?.into_iter().zip(own?);
            Ok(names.zip(pairs).map(|(name, (even, own))| Query { name, errors: [even, own] }).collect())
        };
        let queries = both(answers, &mut names.iter().cloned())?;
        let levels = self.plan.config.data.level_names();
        let others =
            both(&Answers::of_levels(tree), &mut levels[known..].iter().map(|&level| level.to_owned()))?;
        let others = others.into_iter().zip(known..).filter(|(_, level)| !self.asks_for(*level));
        let design = Design {
            data: self.plan.config.data_name.clone(),
            law: self.cell.at.law.name().to_owned(),
            total: (self.epsilon, self.cell.calibration.delta),
            sensitivity: self.cell.at.sensitivity,
            shares: levels[known..].iter().map(|&level| level.to_owned()).zip(shares.clone()).collect(),
            error: [of_all(&queries, 0, goal), of_all(&queries, 1, goal), found.at_least.sqrt()],
            queries,
            others: others.map(|(other, _)| other).collect(),
        };
        Ok((shares, design))
    }
}

/// Shares as multiples of one over [`PARTS`] that sum to 1: those that lose most by it are rounded up.
fn rounded(shares: &[f64]) -> Vec<f64> {
    let mut parts: Vec<usize> = shares.iter().map(|share| (share * PARTS as f64) as usize).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let lost = |k: usize| shares[k] * PARTS as f64 - parts[k] as f64;
    order.sort_by(|&a, &b| lost(b).total_cmp(&lost(a)));
    let missing = PARTS - parts.iter().sum::<usize>();
    order.into_iter().cycle().take(missing).for_each(|k| parts[k] += 1);
    parts.into_iter().map(|part| part as f64 / PARTS as f64).collect()
}

/// By query, the errors of its answers.
fn errors(answers: &Answers, variances: &[f64]) -> crate::Result<Vec<Errors>> {
    let mut all = vec![(0.0f64, 0.0f64); answers.queries()];
    answers.each(variances, |query, one| {
        let (sum, largest) = &mut all[query];
        *sum += one.value;
        *largest = largest.max(one.value);
    })?;
    let of = |(query, (sum, largest)): (usize, (f64, f64))| Errors {
        mean: (sum / answers.groups(query) as f64).sqrt(),
        largest: largest.sqrt(),
    };
    Ok(all.into_iter().enumerate().map(of).collect())
}

/// What was to be small, of the errors of all queries: of the first, or of the second of each.
fn of_all(queries: &[Query], which: usize, goal: Goal) -> f64 {
    let errors = queries.iter().map(|query| query.errors[which]);
    match goal {
        Goal::Mean => (errors.map(|one| one.mean * one.mean).sum::<f64>() / queries.len() as f64).sqrt(),
        Goal::Largest => errors.map(|one| one.largest).fold(0.0, f64::max),
    }
}
