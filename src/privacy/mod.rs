//! Privacy: from a budget to the noise of every level, and back to what a release pays.

mod budget;
mod gaussian;
mod lattice_gaussian;
mod neighbours;

pub use budget::{Budget, Calibration, Guarantee, Split, concentrated_epsilon};
pub use gaussian::{RhoRatio, SLACK, rho_ratio};
pub use lattice_gaussian::{LatticeShape, generalized_gaussian, lattice_gaussian_sigma};
pub use neighbours::{
    Conditioning, Gamma, Search, WorstPair, gamma_bound, longest_step, sampling_delta, tables,
};
