//! The pure core of `congenial`: noise given invariants, exactly and by Markov chains, projections, and what all of it
//! pays of privacy. No files, threads, tables or clock.
//!
//! A *mechanism* adds independent noise of some [`law`] to the confidential counts `x`. An [`invariant`]
//! ties the released counts together: a hierarchy, or any integer equations, whose noise lives on a [`lattice`].
//! *Conditioning* draws the noise given the invariant, exactly ([`exact`]) or by a Markov chain ([`kernel`], driven
//! by [`chain`]; [`coupling`] bounds how far it still is from its law, with a lag or with weights); *imaging* draws it
//! freely and moves the result to the closest point that satisfies the invariant ([`imaging`]). [`diagnostics`] judges
//! chains and sums up replicates; [`privacy`] says what a release pays; [`design`] finds the split of a budget that answers best;
//! [`sdc`] has what offices do without a formal statement.
//!
//! Noise comes from a fast, seeded, predictable generator and floating-point arithmetic: for experiments, not for
//! releasing real data.
//!
//! # Words
//!
//! What the code means by its words, where it says nothing else. The counts:
//!
//! - **record**: what is counted, a person or a trip. One can be *added*, *removed* or *moved*.
//! - **count**: how many records there are at one place; the *confidential* counts are `x`.
//! - **hierarchy**, or tree: counts on *nodes*, in which every parent is the sum of its children
//!   ([`invariant::Hierarchy`]). A *leaf* has no children. A *level* is all nodes at one distance from the root, from
//!   0.
//! - **table**: counts on *entries*, tied by any equations ([`invariant::Linear`]); in [`privacy`] also one choice of
//!   all counts, on a hierarchy or not. The *margins* of a two-way table are the sums of its rows and of its columns.
//! - **invariant**: what every release keeps: *equations* `A y = A x` and *inequalities* `B y >= b`
//!   ([`invariant::Inequalities`]). The *region* is the inequalities as they bound the noise ([`invariant::Region`]).
//! - **component**: entries that the invariant ties together and to no others ([`invariant::Component`]); in a
//!   hierarchy the nodes from a known one down to the next ones.
//! - **known**: of a count, that it is released as it is, without noise, and not measured.
//!
//! The noise:
//!
//! - **noise**: what is added to the counts, `z`. It is *free* where nothing ties it: independent draws of its laws.
//! - **law**: how free noise is distributed, by a weight `w(z)` ([`law`]). Its *scale* is lambda or sigma, in counts; a
//!   *rate* is one over a scale.
//! - **release**: the counts that are handed out, `y`. Its *errors* are `y - x`.
//! - **method**: how noise becomes a release ([`methods`]), by *conditioning* or by *imaging*. A *projection* is the
//!   map of imaging: free noise to the closest noise that keeps the invariant.
//! - **exact**: of a sampler, that it draws the conditioned law itself, by no chain; what truncated tables may be off
//!   by in total variation it says as its `tv_error`.
//! - **lattice**: the integer vectors with `A z = 0`. Its dimension is the number of *free dimensions*.
//! - **piece**: some nodes of one level of a large tree and all their children, drawn by themselves
//!   ([`invariant::Piece`]).
//!
//! The chains:
//!
//! - **kernel**: a Markov step that leaves its *target*, the conditioned law, as it is ([`kernel::Kernel`]).
//! - **chain**: the steps of a kernel from a *start* ([`chain`]). A *move* is a step that changes the state; in a Gibbs
//!   kernel it is also the vector that a step goes along. A *sweep* is about as many steps as can move every leaf or
//!   entry once.
//! - **coupling**: how the steps of two chains are drawn together so that each follows the kernel and both meet
//!   ([`kernel::Coupled`]). The *lag* `L` is by how many steps the first chain is ahead, the *meeting time* `τ` the
//!   first step after it with `X_τ = Y_(τ-L)`. A pair that is cut short before is *censored*.
//! - **group**: chains with importance weights, which share them when they meet ([`coupling::harmonize()`]).
//! - **lane**: the place of one of several chains that step side by side in the registers of a processor.
//!
//! The privacy:
//!
//! - **budget**: the epsilon that noise may cost, split over the levels; its *calibration* is the scales of the noise
//!   ([`privacy::Budget`]).
//! - **change**: by what two confidential tables differ: one record added or removed, one moved, or the smallest change
//!   that keeps the invariant ([`privacy::ChangeKind`]).
//! - **loss**: what noise pays for a change: epsilon at a delta, or rho of zero-concentrated privacy.
//! - **gamma**: how much more conditioning on inequalities pays: `1 + gamma` times the loss ([`privacy::Gamma`]).
//! - **statement**: what a release pays for each kind of change ([`privacy::Statement`]). What is *paid* is the loss of
//!   a release for one change, gamma included.
//!
//! The runs:
//!
//! - **cell**: what is drawn under one law, budget and method; here it is known by its key alone.
//! - **replicate**: one of the independent repetitions of a cell, from 0.
//! - **stream**: the random words of one use in one replicate, as a function of the master seed, the cell, the
//!   replicate and the *role* ([`rng::stream`]).
//! - **oracle**: what computes a law or an image in another way, for tests (the crate `congenial-oracle`).
//! - **worlds**: finitely many outputs of a mechanism, on which theory can be checked in full (the crate
//!   `congenial-worlds`).

#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// Types with names as these, in records.
#[cfg(feature = "serde")]
macro_rules! serialize_by_name {
    ($($type:ty),*) => {
        $(impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name().as_ref())
            }
        })*
    };
}
#[cfg(feature = "serde")]
use serialize_by_name;

pub mod chain;
pub mod closed_form;
pub mod coupling;
mod crew;
pub mod cube;
pub mod design;
pub mod diagnostics;
mod error;
pub mod exact;
mod fourier;
pub mod imaging;
pub mod inference;
pub mod invariant;
pub mod kernel;
pub mod lattice;
pub mod law;
pub mod methods;
pub mod pace;
pub mod privacy;
pub mod rng;
pub mod sdc;

/// Holds the README, whose example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
#[cfg(test)]
mod against;
#[cfg(test)]
extern crate self as congenial_core;
/// The oracles, compiled into this crate's tests: their crate stands on this one, and here they use the types that are
/// tested.
#[cfg(test)]
#[path = "../../oracle/src/lib.rs"]
#[allow(dead_code)]
mod oracle;
#[cfg(test)]
mod testing;

pub use crew::{Alone, Crew};
pub use error::{Error, Result};
