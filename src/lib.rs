//! Differentially private releases that satisfy invariants: exact samplers, Markov chains, projections,
//! and a harness that compares them over grids.
//!
//! A *mechanism* adds independent noise of some [`law`] to the confidential counts `x`. An [`invariant`]
//! ties the released counts together: a hierarchy, or any integer equations, whose noise lives on a [`lattice`].
//! *Conditioning* draws the noise given the invariant, exactly ([`exact`]) or by a Markov chain ([`kernel`], driven
//! by [`chain`]; [`coupling`] bounds how far it still is from its law, with a lag or with weights); *imaging* draws it freely and moves the
//! result to the closest point that satisfies the invariant ([`imaging`]). What each keeps of privacy and of
//! composition is checked on finite [`worlds`]; what a release must be is computed in other ways by [`oracle`].
//!
//! # The data flow
//!
//! Arrows point one way: a TOML file is checked (`config`, by the `catalogue` of laws and methods), expanded to cells
//! with keys (`grid`), and planned as a `study` (releases, meetings, privacy, composition), which says how a cell is
//! drawn (a method on a problem: [`methods`]; chains or coupled pairs and their [`diagnostics`], what it pays:
//! [`privacy`]) and which tables its rows fill. `making` makes a run of it: the `engine` draws the cells of any study
//! in batches, the `store` keeps their rows (each `table` is declared once), and `report` reads them again. `infer` reads one
//! release, and says what it tells of the counts; `release` makes real ones, and keeps what they pay. The modules
//! linked above are the pure core, a crate of its own (`congenial-core`): no files, threads, tables or clock.
//!
//! # What a change touches
//!
//! A column: its declaration in `table!`, and the line that computes it. An axis of a grid: its row and its reader in
//! `config::axes`, its column, and what it does (`CONTRIBUTING.md`). A method: its file in [`methods`] and its line
//! in [`methods::MethodKind::ALL`]; if it moves noise, its oracle. A law: its file in [`law`], with the traits of the
//! samplers that serve it (on trees [`exact::TreeLaw`], on tables [`exact::ExactLattice`] or
//! [`exact::ContinuousExact`]), a row and an arm in `methods/laws.rs`; its formula in `verify/judge.rs` and
//! `study/cells/expected.rs`, so that it is compared. `tests/all/catalogue.rs` draws every method under every law. A
//! study: a folder in `study`, with its part of the config, and a line in `STUDIES`.
//!
//! # What to build on
//!
//! The pure core, by itself: [`exact`], [`imaging`], [`kernel`] with [`chain`] and [`coupling`], on [`invariant`] and
//! [`law`]; a dependency on `congenial-core` is that alone. Of the harness: `own` and `cli::main`, to add a method and
//! keep the whole command (`examples/own_method.rs`); `study` and `making`, to plan a config and make a run of it;
//! `store::Run` with the rows that `study` declares, to read one. The other modules of the harness are public for the
//! tests and the Python package; they follow its needs. `scripts/semver` tells what changed between two commits.
//!
//! # Not for releasing real data
//!
//! Noise comes from a fast, seeded, predictable generator and floating-point arithmetic. That serves
//! experiments. Only `release` is meant for real data, and is not ready yet: its noise is that of `congenial-exact-noise`,
//! from the operating system.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub use congenial_core::{
    Alone, Crew, Error, Result, chain, closed_form, coupling, cube, design, diagnostics, exact, imaging,
    inference, invariant, kernel, lattice, law, methods, pace, privacy, rng, sdc,
};
pub use congenial_oracle as oracle;
pub use congenial_worlds as worlds;

/// Says a line on standard error; where nobody can hear it, nothing ends for that. What others wrote does not act on the terminal.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let text = format!($($part)*);
        let _ = writeln!(std::io::stderr(), "{}", $crate::page::shown(&text));
    }};
}

pub mod audit;
pub mod catalogue;
pub mod cli;
mod cluster;
pub mod config;
pub mod engine;
mod escape;
pub mod failure;
pub mod figure;
mod files;
pub mod grid;
mod hash;
pub mod infer;
pub mod input;
pub mod machine;
pub mod making;
pub mod optimise;
pub mod own;
pub mod page;
pub mod release;
pub mod report;
pub mod store;
pub mod study;
pub mod table;
pub mod verify;
