//! Invariants: what every release must satisfy, and the lattice vectors along which its noise is free to move.

mod hierarchy;
mod hull;
mod inequalities;
mod linear;
mod mobility;
mod narrow;
mod passes;
mod pieces;
mod side;
mod solved;
mod tied;
mod tree;
mod vectors;

pub use crate::lattice::Row;
pub use hierarchy::Hierarchy;
pub use hull::Hull;
pub use inequalities::{Bounded, Inequalities, Region};
pub use linear::{Component, Linear, check_free};
pub(crate) use mobility::MOST_LOOKS;
pub(crate) use passes::parents;
pub use passes::{downwards, upwards};
pub use pieces::{Piece, Pieces};
pub use side::{Lower, NO_LOWER, NO_UPPER, Side, Upper};
pub(crate) use solved::Solved;
pub use solved::dependent_entries;
pub use tied::Tied;
pub use tree::TreeOfEntries;
pub(crate) use vectors::Moves;
pub use vectors::{basis, start_basis};
