//! Invariants: what every release must satisfy.

mod hierarchy;
mod linear;

pub use hierarchy::Hierarchy;
pub use linear::{Component, Linear, Row};
