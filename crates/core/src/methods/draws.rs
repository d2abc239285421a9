//! A method that is ready for a problem, and what takes up its releases.

use super::sums::Sums;
use crate::crew::Crew;
use crate::error::Result;
use crate::law::Errors;
use crate::privacy::Declared;
use std::ops::Range;

/// Records of one chain's second half.
pub const RECORDS: u64 = 512;
/// Chains of one problem that keep their traces for R-hat.
pub const TRACED_CHAINS: u64 = 8;

/// Takes up releases that were checked, one after the other.
pub trait Sink {
    /// Whether the errors of all counts are wanted of every release of a tree: else those of its last level may be missing in
    /// [`Sink::counts`].
    fn wants_counts(&self) -> bool;
    /// Takes the errors of a release on one level, from 1, and whether the whole release satisfies the invariant.
    fn level(&mut self, replicate: u64, level: u32, errors: Sums, kept: bool);
    /// Takes the errors of all counts of a release.
    fn counts(&mut self, replicate: u64, errors: Errors);
    /// Takes the errors of all entries of a table: of a release, or of a recorded state of its chain, from 1.
    fn draw(&mut self, replicate: u64, iteration: u64, errors: &[f64]);
    /// Takes what a chain left on one level, from 1: its steps, those that moved, and the trace of the level's L1
    /// error.
    fn chain(&mut self, replicate: u64, level: u32, steps: (u64, u64), trace: &[f64]);
    /// Takes the traces of one of the first chains, by level.
    fn traces(&mut self, traces: Vec<Vec<f64>>);
}

/// Where releases go, and who helps to draw one.
pub struct Out<'a> {
    /// The threads that do the parts of one release of a large tree.
    pub crew: &'a dyn Crew,
    /// Where releases go.
    pub sink: &'a mut dyn Sink,
}

impl Out<'_> {
    /// Hands on a release of a table with these counts: its errors, and whether it satisfies the invariant.
    pub(super) fn release(&mut self, replicate: u64, errors: &[f64], counts: &[i64], kept: bool) {
        self.sink.level(replicate, 1, Sums::of(errors, counts), kept);
        self.sink.draw(replicate, 1, errors);
        self.sink.counts(replicate, Errors::Reals(errors));
    }
}

/// A method that is ready for a problem: everything that does not depend on the replicate is done.
pub trait Draws: Send + Sync {
    /// Draws a range of replicates, checks each and hands it on. Errors: the first that breaks a promise, or cannot be
    /// drawn; those before it were handed on.
    fn draw(&self, range: Range<u64>, out: &mut Out) -> Result<()>;

    /// The total variation error of a draw, as the sampler itself states it; NaN if unknown.
    fn tv_error(&self) -> f64;

    /// What a mechanism that is not ours says that it pays.
    fn pays(&self) -> Option<Declared> {
        None
    }
}
