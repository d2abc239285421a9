//! Errors of single nodes of a tree, release by release: `keep-draws`.

use super::noisy;
use super::rows::Draw;
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::input::{Asked, KeptNodes, Subject};
use crate::store::{RunFolder, TableFile};
use crate::table;
use crate::table::Key;

table! {
    /// Releases of a tree with `keep-draws`: one row per node of the levels that are kept.
    pub struct NodeRow in "nodes.parquet" {
        /// name of the data set; empty if it has none
        data: String;
        /// its number in the tree, from 1: the root first, then level by level; children of one parent in the order of
        /// the file
        node: u64;
        /// 1 = root
        level: u32;
        /// the column of its level; of the root `total`, or what `data.root` names it
        level_name: String;
        /// its value in that column; of the root as `level_name`
        name: String;
        /// the names on the way from below the root to it, joined by `/`; of the root empty
        path: String;
        /// confidential
        count: i64, "counts";
    }
}

table! {
    /// Releases of a tree with `keep-draws`: one row per cell, replicate and node of the levels that are kept.
    pub struct NodeDrawRow in "node_draws.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// from 0
        replicate: u64;
        /// the node, in `nodes.parquet`
        node: u64;
        /// released - confidential
        error: f64, "counts";
    }
}

/// The draws while they are written.
pub(super) struct NodeDraws<'a> {
    plan: &'a Plan,
    folder: &'a RunFolder,
    kept: &'a KeptNodes,
    file: TableFile<'a, NodeDrawRow>,
}

impl<'a> NodeDraws<'a> {
    /// Writes the nodes and begins their draws; `None` if none are kept. Errors: the disk.
    pub(super) fn begin(plan: &'a Plan, folder: &'a RunFolder) -> Result<Option<Self>> {
        let (Some(Asked { nodes: Some(kept), .. }), Subject::Hierarchy(table)) =
            (plan.asked.as_deref(), &plan.subject)
        else {
            return Ok(None);
        };
        if plan.pooled {
            return Ok(None);
        }
        let mut file = folder.table()?;
        for (&level, nodes) in kept.levels.iter().zip(&kept.nodes) {
            for node in nodes.clone() {
                let (name, path) = kept.name(&table.hierarchy, level, node);
                file.push(&NodeRow {
                    data: plan.config.data_name.clone(),
                    node: node as u64 + 1,
                    level: level as u32 + 1,
                    level_name: kept.level_names[level].clone(),
                    name: name.to_owned(),
                    path,
                    count: table.counts[node],
                })?;
            }
        }
        Ok(Some(Self { plan, folder, kept, file: folder.table()? }))
    }

    /// Adds the errors of all kept nodes in one release; the first of a cell is also written as a noisy file, if all levels are
    /// kept. Errors: the disk.
    pub(super) fn push(&mut self, cell: &Cell, draw: Draw) -> Result<()> {
        if draw.replicate == 0
            && self.kept.levels.len() == self.plan.subject.levels()
            && !cell.at.method.kind().is_own()
            && noisy::has_law(self.plan, cell)
        {
            noisy::write(self.plan, self.folder, (cell, self.kept), draw.errors)?;
        }
        let nodes = self.kept.nodes.iter().cloned().flatten();
        nodes.zip(draw.errors).try_for_each(|(node, &error)| {
            let (cell, node) = (Key(cell.key), node as u64 + 1);
            self.file.push(&NodeDrawRow { cell, replicate: draw.replicate, node, error })
        })
    }
}
