//! The table of L1 errors, from the error of every release.

use crate::Result;
use crate::report::{PLACE, estimated, of_replicates, summary, table};
use crate::runs::{CELL, Part, Runs, with};
use congenial::study::release::{ErrorRow, LevelRow};
use polars::prelude::*;

/// The stem of its file in a report.
pub const L1_ERROR: &str = "l1_error";

/// The errors of releases by cell and level, as `report --out` has them in `l1_error.csv`; `None` if no run has releases.
///
/// Means and standard errors are those of the rows of `errors.parquet`, of several master seeds all together. What a
/// level is (`scale`, `nodes`) stands in `levels.parquet` alone. Published figures and cells that failed stand where
/// the report has them.
pub fn l1_error(runs: &Runs) -> Result<Option<DataFrame>> {
    table::<LevelRow>(runs, &format!("{L1_ERROR}.csv"), summed)
}

fn summed(part: &Part) -> Result<LazyFrame> {
    const ALL: &str = "nodes of the whole tree";
    let levels = summary::<LevelRow>(part)?.select([PLACE, CELL, "level", "scale", "nodes"].map(col));
    let whole = levels.clone().group_by([col(CELL)]).agg([col("nodes").sum().alias(ALL)]);
    let whole = with(levels.clone(), whole, &[CELL]).select([PLACE, CELL, "level", "nodes", ALL].map(col));
    let rows = with(part.scan::<ErrorRow>()?, of_replicates(part, whole)?, &[CELL, "level"]);
    let number = |name: &str| col(name).cast(DataType::Float64);
    let normalised = number("l1") / number(ALL);
    let mut columns = vec![
        len().cast(DataType::UInt64).alias("replicates"),
        normalised.clone().std(1).alias("l1_normalised_sd"),
    ];
    columns.extend(estimated(normalised, "l1_normalised"));
    columns.extend(estimated(number("l1") / number("nodes"), "l1_per_node"));
    columns.extend(estimated(number("l2"), "l2"));
    columns.extend(estimated(number("bias"), "bias"));
    Ok(with(rows.group_by([col(PLACE)]).agg(columns), levels, &[PLACE]))
}
