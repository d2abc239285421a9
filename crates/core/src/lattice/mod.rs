//! Lattices of integer vectors that meet linear equations, in exact arithmetic.
//!
//! Every normal form runs on checked `i128` first and again on big integers if that overflows; what does
//! not fit into `i64` in the end is refused. Nothing wraps. Floating point is for lengths and orthonormal bases alone, and
//! for real systems.

mod basis;
mod cone;
mod elimination;
mod exact;
mod graver;
mod hermite;
mod lll;
mod matrix;
mod orthonormal;
mod row;
mod smith;

pub use basis::{Basis, BasisKind, MAX_REDUCED};
pub(crate) use cone::vanishing;
pub(crate) use elimination::{Echelon, adjugate, check_dimension, gauss_jordan, solve};
pub use elimination::{MAX_DIMENSION, independent_rows};
pub use graver::graver;
pub use hermite::{Hermite, hermite};
pub use lll::reduce;
pub use matrix::IntMatrix;
pub use orthonormal::gram_schmidt_squares;
pub(crate) use orthonormal::{Factored, dot, orthogonal, orthonormal};
pub use row::{Row, Sparse};
pub(crate) use row::{gcd, inner, real_value, square, value, value_by};
pub use smith::{Smith, smith};
