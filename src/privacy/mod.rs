//! Privacy: from a budget to the noise of every level, and back to what a release pays.

mod budget;

pub use budget::{Budget, Calibration, Guarantee, Split};
