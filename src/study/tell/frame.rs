//! One table of a run: what a cell is, what it pays, and its errors by level.

use crate::diagnostics::Estimate;
use crate::privacy::ChangeKind;
use crate::table;
use crate::table::Key;

table! {
    /// A run in one table: one row per cell and level, none of cells that failed.
    pub struct FrameRow in "frame" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// name of the data set; empty if it has none
        data: String;
        /// master seed; null of a cell that stands for those of all seeds
        seed: Option<u64>;
        /// the noise law
        law: String;
        /// `each`, `even`, or shares joined by `/`, the root's first
        split: String;
        /// of the counts of one level
        sensitivity: f64, "counts";
        /// for the Gaussian laws
        delta: Option<f64>;
        /// budget of the noise
        epsilon: f64;
        /// what is protected, as in `statements.parquet`: `added`, `moved` or `smallest`; null where no change is possible
        change: Option<String>;
        /// what a release pays for that change, conditioning included; null where nothing bounds it
        paid: Option<f64>;
        /// in what `paid` is counted: `epsilon` or `rho`
        measure: String;
        /// whether `paid` is an upper bound alone
        paid_is_bound: bool;
        /// the method with `>= 0` where that is promised, and its options: what tells methods apart
        label: String;
        /// name of the method, of one of one's own the name that it has there
        method: String;
        /// of the method: `name=value`, joined by commas; empty if none
        options: String;
        /// what releases are: `do not add up`, `reals`, `reals >= 0`, `integers`, `integers >= 0`
        releases: String;
        /// as in `cells.parquet`
        converged: String;
        /// 1 = root; a table has the level 1 only: all its entries
        level: u32;
        /// the name of the level
        level_name: String;
        /// whether the level is known: it is released as it is
        known: bool;
        /// of the level
        counts: u64, "counts";
        /// releases: of chains those that moved
        replicates: u64;
        /// mean absolute error of a count
        error: Estimate, "counts", error error_se;
        /// sum of absolute errors over the level / counts of all levels
        l1_normalised: Estimate, "counts", error l1_normalised_se;
        /// mean error of a count
        bias: Estimate, "counts", error bias_se;
        /// share of the released counts that are below 0
        negative: Estimate, error negative_se;
    }
}

/// What is asked of the one table of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Framing {
    /// The change that is paid for; if nothing is said that of the study, or the first of all that is possible for one of the cells.
    pub change: Option<ChangeKind>,
    /// Whether each of several master seeds has its cells; else one cell stands for all of them.
    pub by_seed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AXES, AxisName};
    use crate::table::Record;

    /// Every axis of releases is a column.
    #[test]
    fn every_axis_is_told() {
        for axis in AXES.iter().filter(|axis| axis.name != AxisName::Lag) {
            let key = axis.keys[0];
            assert!(FrameRow::COLUMNS.iter().any(|column| column.name == key), "{key}");
        }
    }
}
