//! Diagnostics of chains and summaries of replicates.

mod beta;
mod boxes;
mod crossing;
mod ess;
mod jackknife;
mod mcse;
mod rhat;
mod split;
mod summary;
mod two_sample;
mod verdict;

pub use beta::{beta_quantile, clopper_pearson, student_quantile};
pub use boxes::BoxPlot;
pub use boxes::quantile;
pub use crossing::{Crossing, Pair, crossings};
pub use ess::{bulk_ess, mean_ess, quantile_ess, tail_ess};
pub use jackknife::jackknife;
pub use mcse::{QuantileError, mcse_mean, mcse_quantile};
pub use rhat::rank_normalised_split_rhat;
pub use summary::{Estimate, Moments};
pub use two_sample::{Agreement, kolmogorov_smirnov};
pub use verdict::{LEAST_ESS, MOST_RHAT, Mixing};
