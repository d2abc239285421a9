//! The table of bounds on the total variation distance, from the meeting time of every pair.

use crate::Result;
use crate::report::{PLACE, estimated, of_replicates, summary, table};
use crate::runs::{CELL, Part, Runs, with};
use congenial::study::meeting::{BoundRow, PairRow};
use polars::prelude::*;

/// The stem of its file in a report.
pub const TV_BOUND: &str = "tv_bound";

/// The bounds by cell and number of steps, as `report --out` has them in `tv_bound.csv`; `None` if no run has meetings.
///
/// A bound is the mean of `max(0, ceil((tau - L - t) / L))` over the pairs of `meetings.parquet`, of several master
/// seeds all together, and is null where a pair was cut short. Taken from `tv_bounds.parquet`: the steps `t` at which
/// it is looked at, and what pairs alone do not give again, its bootstrap quantile `bound_low` and its upper limit
/// `bound_high`, which for `mis` rests on the weights of its proposals.
pub fn tv_bound(runs: &Runs) -> Result<Option<DataFrame>> {
    table::<BoundRow>(runs, &format!("{TV_BOUND}.csv"), summed)
}

fn summed(part: &Part) -> Result<LazyFrame> {
    let whole = |name: &str| col(name).cast(DataType::Int64);
    let bounds =
        summary::<BoundRow>(part)?.select([PLACE, CELL, "lag", "t", "bound_low", "bound_high"].map(col));
    let times = of_replicates(part, bounds.clone().select([PLACE, CELL, "t"].map(col)))?;
    let rows = with(part.scan::<PairRow>()?, times, &[CELL]);
    let beyond = whole("tau") - whole("lag") - whole("t");
    let is_apart = beyond.clone().gt(lit(0));
    // Of whole numbers the quotient is rounded down.
    let rounded_up = (beyond + whole("lag") - lit(1)) / whole("lag");
    let term = when(is_apart.clone()).then(rounded_up).otherwise(lit(0));
    let count = |is: Expr| is.sum().cast(DataType::UInt64);
    let mut columns = vec![
        len().cast(DataType::UInt64).alias("pairs"),
        count(col("censored")).alias("censored"),
        count(col("censored").or(is_apart)).alias("apart"),
    ];
    columns.extend(estimated(term, "bound"));
    let rows = with(rows.group_by([col(PLACE)]).agg(columns), bounds, &[PLACE]);
    // Where a pair was cut short there is no bound.
    let known =
        |name: &str| when(col("censored").eq(lit(0))).then(col(name)).otherwise(lit(NULL)).alias(name);
    let rows = rows.with_columns([known("bound"), known("bound_se")]);
    // What it adds to delta; a delta of 1 is no estimate.
    let cells = part.cells()?.select([col(CELL), factor().alias("factor")]);
    let rows = with(rows, cells, &[CELL]).with_columns([
        added_by("bound").alias("delta_sampling"),
        added_by("bound_high").alias("delta_sampling_high"),
    ]);
    let error = col("factor") * col("bound_se");
    let is_known = col("delta_sampling").lt(lit(1.0)).and(error.clone().is_finite());
    let error = when(is_known).then(error).otherwise(lit(NULL));
    Ok(rows.with_column(error.alias("delta_sampling_se")))
}

/// `1 + e^((1 + gamma) epsilon_total)` of a cell; null where nothing bounds gamma.
fn factor() -> Expr {
    lit(1.0) + ((lit(1.0) + col("gamma")) * col("epsilon_total")).exp()
}

/// What a total variation error adds to delta: 0 where it is 0, however large the factor, and at most 1.
fn added_by(error: &str) -> Expr {
    let added = col("factor") * col(error);
    let most = when(added.clone().gt(lit(1.0))).then(lit(1.0)).otherwise(added);
    when(col(error).eq(lit(0.0)).and(col("factor").is_not_null())).then(lit(0.0)).otherwise(most)
}
