//! What statistical offices do to counts without a formal statement of what it pays: statistical disclosure control.
//!
//! [`PerturbationTable`] changes each published count by a law that depends on the count, by the key of its records (cell keys).
//! [`round_small_counts`] makes the small counts of a tree 0 or a base, so that all its sums change little.
//!
//! Neither bounds what a release tells of one record. Their errors can be set beside those of methods that do; [`Publishing`] says what a
//! published count tells of the true one.

mod cell_keys;
mod publishing;
mod rounding;

pub use cell_keys::{LARGEST_CHANGE, PerturbationTable};
pub use publishing::Publishing;
pub use rounding::{LARGEST_BASE, check_base, check_rounded, round_small_counts};
