//! Diagnostics of chains and summaries of replicates.

mod ess;
mod rhat;
mod summary;

pub use ess::effective_sample_size;
pub use rhat::rank_normalised_split_rhat;
pub use summary::{Estimate, Moments};
