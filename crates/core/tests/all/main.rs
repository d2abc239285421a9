//! The tests of the core as its users have it: one program. `cargo test --package congenial-core --test all reals` runs those of one file.

mod bounded;
mod common;
mod cube;
mod cube_ratios;
mod diagnostics;
mod hierarchy;
mod known;
mod lattice;
mod lattice_lines;
mod line_draws;
mod pieces;
mod reals;
mod skewed;
mod subspace;
mod sums;
mod value_stability;
