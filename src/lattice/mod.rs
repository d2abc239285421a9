//! Lattices of integer vectors that meet linear equations, in exact arithmetic.
//!
//! Every algorithm runs on checked `i128` first and again on big integers if that overflows; what does
//! not fit into `i64` in the end is refused. Nothing wraps.

mod basis;
mod exact;
mod graver;
mod hermite;
mod lll;
mod matrix;
mod smith;
mod vectors;

pub(crate) use basis::check_dimension;
pub use basis::{Basis, BasisKind, MAX_DIMENSION, MAX_REDUCED, check_free, is_fixed};
pub use graver::graver;
pub use hermite::{Hermite, hermite, independent_rows};
pub(crate) use lll::orthogonal;
pub use lll::{gram_schmidt_squares, reduce};
pub use matrix::IntMatrix;
pub use smith::{Smith, smith};
pub(crate) use vectors::Moves;
pub use vectors::{Sparse, basis, start_basis};
