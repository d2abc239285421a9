//! The pure core of `congenial`: noise given invariants, exactly and by Markov chains, projections, and what all of it pays of privacy. No
//! files, threads, tables or clock.
//!
//! A *mechanism* adds independent noise of some [`law`] to the confidential counts `x`. An [`invariant`]
//! ties the released counts together: a hierarchy, or any integer equations, whose noise lives on a [`lattice`].
//! *Conditioning* draws the noise given the invariant, exactly ([`exact`]) or by a Markov chain ([`kernel`], driven
//! by [`chain`]; [`coupling`] bounds how far it still is from its law, with a lag or with weights); *imaging* draws it freely and moves the
//! result to the closest point that satisfies the invariant ([`imaging`]). [`diagnostics`] judges chains and sums up replicates;
//! [`privacy`] says what a release pays.
//!
//! Noise comes from a fast, seeded, predictable generator and floating-point arithmetic: for experiments, not for releasing real data.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// Types with names as these, in records.
#[cfg(feature = "serde")]
macro_rules! serialize_by_name {
    ($($type:ty),*) => {
        $(impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
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
pub mod diagnostics;
mod error;
pub mod exact;
mod fourier;
pub mod imaging;
pub mod invariant;
pub mod kernel;
pub mod lattice;
pub mod law;
pub mod methods;
pub mod pace;
pub mod privacy;
pub mod rng;

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
