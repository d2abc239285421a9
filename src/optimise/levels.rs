//! The splits of budgets over the levels of trees.

use super::{Design, Optimised, design, told};
use crate::catalogue::Projection;
use crate::config::{Config, Point, SplitSpec};
use crate::design::{Answers, Goal, TreeAnswers};
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan, bought, resolved};
use crate::input::{Answered, CsvTable, HierarchyTable, Query, Subject};
use crate::study::{self, Place, Splitting};
use std::cell::OnceCell;

/// The configs of a file with the best splits of their budgets, each under its law and budget. `held`: as [`study::settled`] takes them.
///
/// A split `each` pays as much as its levels together, and its budget is split. Cells whose methods do not weigh levels as least squares
/// do are left as they are.
///
/// Errors: budgets that are what is to be paid, which depends on the split; a table, of which there is nothing to split; no method that
/// least squares speak of; a share that buys noise out of the law's range.
pub fn levels(configs: Vec<Config>, held: Vec<Option<CsvTable>>, goal: Goal) -> Result<Optimised> {
    if let Some(config) = configs.iter().find(|config| config.paid) {
        return Err(Failure::Usage(format!(
            "{}: budgets are what is `paid` for a change, which depends on the split: want `epsilon`",
            config.path.display()
        )));
    }
    let (mut plans, mut designs) = (Vec::new(), Vec::new());
    for mut plan in study::settled(configs, held)? {
        plan.cells = split(&plan, goal, &mut designs)?;
        plans.push(plan);
    }
    let path = plans.first().map_or(String::new(), |plan| plan.config.path.display().to_string());
    if designs.is_empty() {
        let why = "no method weighs levels as least squares do: want `l2`, or one that conditions on the sums alone";
        return Err(Failure::Usage(format!("{path}: {why}")));
    }
    let config = told::headed(&path, "`l2`", goal, &resolved(&plans.iter().collect::<Vec<_>>()));
    Ok(Optimised { goal, designs, config, left: left(&plans) })
}

/// The cells of a plan with the best splits, and what was found of every noise.
fn split(plan: &Plan, goal: Goal, designs: &mut Vec<Design>) -> Result<Vec<Cell>> {
    let tree = tree(plan)?;
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    let mut cells = Vec::new();
    for cell in &plan.cells {
        if !is_served(plan, cell) {
            add(&mut cells, cell.clone());
            continue;
        }
        let (epsilon, words) = (all_levels(cell), words(cell));
        let refused = |e: crate::Error| {
            Failure::Usage(format!("{}: {}: {e}", plan.config.path.display(), cell.words()))
        };
        let known = found.iter().find(|(of, _)| *of == words).map(|(_, shares)| shares.clone());
        let shares = match known {
            Some(shares) => shares,
            None => {
                let splitting = splitting(plan, cell, tree).map_err(refused)?;
                let (shares, design) = design(&plan.config.data_name, &splitting, goal).map_err(refused)?;
                designs.push(design);
                found.push((words, shares.clone()));
                shares
            }
        };
        let at = Point { split: SplitSpec::Shares(shares), ..cell.at.clone() };
        let split = Cell { at, ..cell.clone() }.at(epsilon, &plan.subject, &OnceCell::new());
        add(&mut cells, split.map_err(refused)?);
    }
    Ok(cells)
}

/// Whether the releases of a cell weigh levels as least squares do: `l2`, and noise that is conditioned on the sums alone.
fn is_served(plan: &Plan, cell: &Cell) -> bool {
    let method = cell.at.method;
    let conditions = method.conditions() && !cell.nonnegative && plan.subject.region().is_everything();
    conditions || method.projection() == Some(Projection::L2)
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

/// The tree of a plan. Errors: it has none, or one level that is measured.
fn tree(plan: &Plan) -> Result<&HierarchyTable> {
    let path = plan.config.path.display();
    let refuse = |why: &str| Err(Failure::Usage(format!("{path}: {why}")));
    let Subject::Hierarchy(tree) = &plan.subject else {
        return refuse("all entries of a table share one budget: want data with `levels` to split it over");
    };
    if tree.hierarchy.measured_levels().count() < 2 {
        return refuse("one level is measured, and has the whole budget: want two or more to split it over");
    }
    Ok(tree)
}

/// epsilon of all levels of a cell together.
fn all_levels(cell: &Cell) -> f64 {
    match cell.at.split {
        // A sum in twelve digits.
        SplitSpec::Each => {
            format!("{:.11e}", cell.calibration.epsilon).parse().expect("a number was written")
        }
        SplitSpec::Even | SplitSpec::Shares(_) => cell.epsilon,
    }
}

/// What the best split of a cell depends on.
fn words(cell: &Cell) -> String {
    let Cell { at, calibration, .. } = cell;
    format!("{} {:?} {:?} {:?}", at.law.name(), at.sensitivity, all_levels(cell), calibration.delta)
}

/// The budget of a cell. The levels have the same law, sensitivity and budget: what a share buys is the same on all.
fn splitting<'a>(plan: &Plan, cell: &Cell, table: &'a HierarchyTable) -> crate::Result<Splitting<'a>> {
    let (tree, names) = (&table.hierarchy, plan.config.data.level_names());
    let level = |l: usize| Place { level: Some(names[l].to_owned()), query: None };
    let query = |name: String| Place { level: None, query: Some(name) };
    let of_level = |l: usize| tree.level_nodes(l).map(|v| vec![v as u32]).collect::<Vec<_>>();
    let all = |levels: Vec<usize>| -> (Box<dyn Answers + 'a>, Vec<Place>) {
        let answers = TreeAnswers::new(tree, levels.iter().map(|&l| of_level(l)).collect());
        (Box::new(answers), levels.into_iter().map(|l| query(names[l].to_owned())).collect())
    };
    let measured: Vec<usize> = tree.measured_levels().collect();
    let queries = plan.asked.as_ref().map_or(&[][..], |asked| &asked.queries);
    let (asked, others): ((Box<dyn Answers + 'a>, _), _) = match queries.is_empty() {
        true => (all(measured.clone()), all(Vec::new())),
        false => {
            let answers = TreeAnswers::new(tree, queries.iter().map(groups).collect());
            let asks_for = |l: usize| {
                let is_own = |query: &Query| matches!(query.answered, Answered::Level(own, _) if own == l);
                queries.iter().any(is_own)
            };
            let others = measured.iter().copied().filter(|&l| !asks_for(l)).collect();
            (
                (Box::new(answers), queries.iter().map(|own| query(own.columns.join(", "))).collect()),
                all(others),
            )
        }
    };
    let epsilon = all_levels(cell);
    Ok(Splitting {
        law: cell.at.law.name(),
        total: (epsilon, cell.calibration.delta),
        sensitivity: cell.at.sensitivity,
        measured: measured.into_iter().map(level).collect(),
        given: None,
        asked,
        others,
        beside: Vec::new(),
        variance: Box::new(bought(&cell.at, epsilon)?),
    })
}

/// By group of a query, the nodes that are summed.
fn groups(query: &Query) -> Vec<Vec<u32>> {
    match &query.answered {
        Answered::Level(_, nodes) => nodes.clone().map(|v| vec![v as u32]).collect(),
        Answered::Sums(first, groups) => {
            let mut nodes: Vec<Vec<u32>> = vec![Vec::new(); query.groups()];
            let leaves = (*first as u32..).zip(groups);
            leaves.for_each(|(leaf, &group)| nodes[group as usize].push(leaf));
            nodes
        }
    }
}

/// What was not split, in words.
fn left(plans: &[Plan]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for plan in plans {
        for cell in plan.cells.iter().filter(|cell| !is_served(plan, cell)) {
            let name = format!("{}{}", cell.at.method.name(), if cell.nonnegative { " >= 0" } else { "" });
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let names = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "The split of these methods was left as it is, since they do not weigh levels as least squares do: {names}. With such shares \
             their errors may be many times larger."
        )
    })
}
