//! Diagnostics of chains and summaries of replicates.

mod boxes;
mod ess;
mod rhat;
mod student;
mod summary;
mod two_sample;

pub use boxes::BoxPlot;
pub use ess::effective_sample_size;
pub use rhat::rank_normalised_split_rhat;
pub use student::student_quantile;
pub use summary::{Estimate, Moments};
pub use two_sample::{Agreement, kolmogorov_smirnov};
