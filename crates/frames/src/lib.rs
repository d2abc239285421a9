//! Runs of [`congenial`] as lazy frames of polars: their rows, each with what its cell is, and two tables of a report
//! that are computed from the rows of every replicate.
//!
//! ```no_run
//! use congenial::study::release::ErrorRow;
//! use congenial_frames::Runs;
//! use polars::prelude::*;
//!
//! let runs = Runs::open(&["results/taxi-quick-f00baa70".into()])?;
//! let errors = runs.rows::<ErrorRow>()?;
//! let by_method = errors.group_by([col("method"), col("level_name"), col("epsilon")]).agg([col("l1").mean()]);
//! println!("{}", by_method.collect()?);
//! # Ok::<(), congenial_frames::Error>(())
//! ```
//!
//! The names of files and columns are those that [`congenial::table::Record`] declares; `FORMAT.md` has them all.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bounds;
mod errors;
mod report;
mod runs;

pub use report::write;
pub use runs::Runs;

pub use bounds::{TV_BOUND, tv_bound};
pub use errors::{L1_ERROR, l1_error};

use congenial::failure::Failure;
use polars::prelude::PolarsError;

/// What keeps frames from being made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Runs that cannot be read, tables that they do not have, a place that cannot be written.
    #[error(transparent)]
    Run(#[from] Failure),
    /// What polars says.
    #[error(transparent)]
    Frame(#[from] PolarsError),
}

/// With what keeps frames from being made.
pub type Result<T> = std::result::Result<T, Error>;
