//! Releases of a cell as somebody finds them who infers from them.

use crate::grid::{Cell, Plan};
use crate::infer::{Entries, Nodes, Noisy, Structure};
use crate::input::{KeptNodes, Subject};
use crate::{Error, Result};

/// A cell's releases as somebody finds them who infers from them, with the confidential counts in the place of released ones. Errors: a
/// table of which no counts fit.
pub(super) fn template(plan: &Plan, cell: &Cell) -> Result<Noisy> {
    let (columns, structure, counts) = match &plan.subject {
        Subject::Hierarchy(table) => {
            let tree = &table.hierarchy;
            let kept = plan.asked.as_deref().and_then(|asked| asked.nodes.as_ref());
            let kept: &KeptNodes = kept.expect("all nodes have names");
            let name = |v: usize| match tree.level(v) {
                0 => String::new(),
                level => kept.name(tree, level, v).0.to_owned(),
            };
            let names = (0..tree.nodes()).map(name).collect();
            let nodes = Structure::Tree(Nodes { tree: tree.clone(), names });
            (kept.level_names[1..].to_vec(), nodes, &table.counts[..])
        }
        Subject::Table(table) => {
            let columns = table.columns.iter().map(|(name, _)| name.clone()).collect();
            (columns, Structure::Table(Entries::of(table)?), &table.counts[..])
        }
    };
    Ok(Noisy {
        path: plan.config.path.clone(),
        columns,
        structure,
        values: counts.iter().map(|&count| count as f64).collect(),
        integers: cell.at.method.releases_integers(cell.at.law),
        law: cell.at.law,
        assumed: false,
        scales: cell.calibration.scales.clone(),
        method: cell.at.method,
    })
}

/// A refusal of what infers, as an error of the cell.
pub(super) fn failed(failure: crate::failure::Failure) -> Error {
    Error::Own(failure.to_string())
}
