//! Exact samplers of the conditioned noise: no chain, no convergence to hope for.
//!
//! - [`composition`]: uniform compositions of an integer, the leaves of a double geometric sum.
//! - [`Table`]: a truncated probability table on consecutive integers.
//! - [`IntegerTree`]: any integer law on a hierarchy, with or without non-negativity.
//! - [`LaplaceTree`], [`GaussianTree`]: the continuous laws on a hierarchy.

pub mod composition;
mod gaussian_tree;
mod integer_tree;
mod laplace_tree;
mod table;
mod zero_sum;

pub use gaussian_tree::GaussianTree;
pub use integer_tree::{IntegerTree, IntegerTreeScratch};
pub use laplace_tree::LaplaceTree;
pub use table::Table;
pub use zero_sum::{GeometricSum, SplitScratch};
