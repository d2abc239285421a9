//! Errors of releases: of every one, and summed up by cell and level.

mod page;

mod sets;

pub(super) use page::{pages, records, shows};
pub(super) use sets::side_by_side;

use crate::diagnostics::{Estimate, Moments};
use crate::methods::Sums;
use crate::page::finite;
use crate::table;
use crate::table::Key;

table! {
    /// Studies `release` and `frontier`: one row per cell, replicate and level.
    pub struct ErrorRow in "errors.parquet", also Copy, serde::Deserialize {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// 1 = root; a table has the level 1 only: all its entries
        level: u32;
        /// from 0
        replicate: u64;
        /// sum of abs(released - confidential) over the level
        l1: f64, "counts";
        /// root of the sum of squared errors over the level
        l2: f64, "counts";
        /// mean of (released - confidential) over the level
        bias: f64, "counts";
        /// released counts of the level that are below 0 (reals: by more than rounding)
        negative: u64, "nodes";
        /// the whole release meets the invariant (integers `==`, reals to rounding), and is >= 0 where promised
        invariant_ok: bool;
    }
}

table! {
    /// Studies `release` and `frontier`: one row per cell and level, over its replicates. Standard errors are null for
    /// fewer than two of them.
    pub struct LevelRow in "levels.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// 1 = root
        level: u32;
        /// lambda or sigma of the level's noise (l1, l2: sensitivity / epsilon); 0 where the level is known
        scale: f64, "counts";
        /// of the level; entries of a table
        nodes: u64, "nodes";
        /// releases: of chains those that moved
        replicates: u64;
        /// mean of `l1` / nodes of the whole tree, as "Two views" normalises
        l1_normalised: Estimate, "counts per node", error l1_normalised_se;
        /// standard deviation of one release
        l1_normalised_sd: Option<f64>, "counts per node";
        /// mean of `l1` / nodes of the level
        l1_per_node: Estimate, "counts per node", error l1_per_node_se;
        /// mean of `l2`
        l2: Estimate, "counts", error l2_se;
        /// mean of `bias`
        bias: Estimate, "counts", error bias_se;
        /// mean of `negative`
        negative: Estimate, "nodes", error negative_se;
    }
}

impl ErrorRow {
    /// The row of the errors of one level, from 1; `kept`: whether the whole release satisfies the invariant.
    pub(super) fn of(cell: Key, replicate: u64, level: u32, sums: Sums, kept: bool) -> Self {
        let Sums { nodes, l1, squares, errors, negative } = sums;
        let (l2, bias, negative) = (libm::sqrt(squares), errors / nodes as f64, negative as u64);
        Self { cell, level, replicate, l1, l2, bias, negative, invariant_ok: kept }
    }
}

/// Errors of a level as they come.
#[derive(Debug, Default, Clone)]
pub(super) struct Level {
    normalised: Moments,
    per_node: Moments,
    l2: Moments,
    bias: Moments,
    negative: Moments,
}

impl Level {
    /// Adds a release; `all`: nodes of the whole tree.
    pub(super) fn push(&mut self, row: &ErrorRow, nodes: u64, all: u64) {
        self.normalised.push(row.l1 / all as f64);
        self.per_node.push(row.l1 / nodes as f64);
        self.l2.push(row.l2);
        self.bias.push(row.bias);
        self.negative.push(row.negative as f64);
    }

    /// How many releases.
    pub(super) fn releases(&self) -> u64 {
        self.normalised.count()
    }

    /// The row; `None` without a release.
    pub(super) fn row(&self, cell: Key, level: u32, scale: f64, nodes: u64) -> Option<LevelRow> {
        (self.normalised.count() > 0).then(|| LevelRow {
            cell,
            level,
            scale,
            nodes,
            replicates: self.normalised.count(),
            l1_normalised: self.normalised.estimate(),
            l1_normalised_sd: finite(self.normalised.deviation()),
            l1_per_node: self.per_node.estimate(),
            l2: self.l2.estimate(),
            bias: self.bias.estimate(),
            negative: self.negative.estimate(),
        })
    }
}

impl LevelRow {
    fn deviation(&self) -> f64 {
        self.l1_normalised_sd.unwrap_or(f64::NAN)
    }
}
