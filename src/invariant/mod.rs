//! Invariants: what every release must satisfy.

mod hierarchy;
mod inequalities;
mod linear;

pub use crate::lattice::Row;
pub use hierarchy::Hierarchy;
pub use inequalities::{Bounded, Inequalities, NO_LOWER, NO_UPPER, Region};
pub use linear::{Component, Linear};
