//! Invariants: what every release must satisfy, and the lattice vectors along which its noise is free to move.

mod hierarchy;
mod inequalities;
mod linear;
mod vectors;

pub use crate::lattice::Row;
pub use hierarchy::Hierarchy;
pub use inequalities::{Bounded, Inequalities, NO_LOWER, NO_UPPER, Region};
pub use linear::{Component, Linear, check_free};
pub(crate) use vectors::Moves;
pub use vectors::{basis, start_basis};
