//! Invariants: what every release must satisfy.

mod hierarchy;

pub use hierarchy::Hierarchy;
