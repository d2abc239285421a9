//! The error of every method, by level and budget, over any number of runs:
//!
//!     POLARS_FMT_MAX_ROWS=-1 POLARS_TABLE_WIDTH=150 cargo run --release --package congenial-frames --example errors -- results/*/
//!
//! Rows are those of every release, so that another statistic needs no other run: here the mean, its standard error,
//! and what one release of twenty exceeds.

use congenial::study::release::ErrorRow;
use congenial_frames::{Result, Runs};
use polars::prelude::*;
use std::path::PathBuf;

fn main() -> Result<()> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let error = || col("l1");
    let sign = when(col("nonnegative")).then(lit(" >= 0")).otherwise(lit(""));
    let options = when(col("options").eq(lit(""))).then(lit("")).otherwise(lit(" ") + col("options"));
    let by = ["law", "split", "level", "level_name", "epsilon", "method"];
    let errors = Runs::open(&folders)?
        .rows::<ErrorRow>()?
        .with_column(col("method") + sign + options)
        .group_by(by.map(col))
        .agg([
            error().mean().alias("error"),
            (error().std(1) / len().cast(DataType::Float64).sqrt()).alias("se"),
            error().quantile(lit(0.95), QuantileMethod::Linear).alias("95 %"),
        ])
        .sort(by, SortMultipleOptions::default())
        .drop(by_name(["level"], true, false))
        .collect()?;
    println!("L1 errors of releases, in counts:\n{errors}");
    Ok(())
}
