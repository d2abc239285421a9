//! Errors of targets in draws of the method that made a release.

use super::Noisy;
use super::noisy::Ground;
use super::target::Target;
use crate::catalogue::Method;
use crate::engine::Pool;
use crate::law::Errors;
use crate::methods::{Out, Problem, Sink, Streams, Sums};
use crate::rng::{Role, TaskKey};
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Values that are kept at most, of all targets together; draws at most.
const VALUES: usize = 1 << 26;
const MOST: usize = 9_999;
/// Draws that one thread takes at once.
const BATCH: u64 = 16;
/// The cell of the streams: no run has it.
const CELL: u64 = 0x636f_6e67_656e_6961;

/// How many draws are taken for so many targets and intervals that hold `level`. Errors: more than fit, of a level close to 1.
pub(super) fn number(targets: usize, level: f64) -> Result<usize> {
    // An order statistic of fewer would not hold as much.
    let least = libm::ceil(2.0 / (1.0 - level)) as usize + 1;
    let draws = (VALUES / targets.max(1)).clamp(199, MOST).max(least);
    match draws.saturating_mul(targets) {
        values if values <= 4 * VALUES => Ok(draws),
        values => Err(Error::TooLarge {
            what: format!("draws for intervals that hold {level}"),
            needed: values as u64,
            limit: 4 * VALUES as u64,
            unit: "values",
        }),
    }
}

/// By target, its errors in so many draws, one after the other. `ground`: what the method is given as the counts. Errors: the method
/// does not serve the law, or cannot draw.
pub(super) fn errors(
    noisy: &Noisy,
    (method, ground): (Method, &Ground),
    targets: &[Target],
    (draws, seed): (usize, u64),
) -> Result<Vec<Vec<f64>>> {
    let calibration = noisy.calibration();
    let key = TaskKey { seed, cell: CELL, replicate: 0, role: Role::Noise };
    let problem = Problem {
        asked: *method,
        law: noisy.law,
        epsilon: 1.0,
        calibration: &calibration,
        place: noisy.on(ground),
        streams: Streams { key, noise: CELL, records: 0 },
    };
    let prepared = method.prepare(&problem)?;
    let parts = in_batches(0..draws as u64, BATCH, |range| {
        let mut taken: Vec<Vec<f64>> = Vec::new();
        let take = |error: &dyn Fn(usize) -> f64| {
            taken.push(targets.iter().map(|target| target.value(error)).collect());
        };
        prepared.draw(range, &mut Out { crew: &Pool, sink: &mut OfNodes(take) })?;
        Ok(taken)
    })?;
    let mut all = vec![Vec::with_capacity(draws); targets.len()];
    for release in parts.into_iter().flat_map(|part: Vec<Vec<f64>>| part) {
        all.iter_mut().zip(release).for_each(|(all, error)| all.push(error));
    }
    Ok(all)
}

/// What is taken of some releases, as many of which are drawn at once as a batch has, in order. Errors: the first of a batch.
pub fn in_batches<T: Send>(
    releases: Range<u64>,
    batch: u64,
    draw: impl Fn(Range<u64>) -> Result<T> + Send + Sync,
) -> Result<Vec<T>> {
    let Range { start, end } = releases;
    let starts: Vec<u64> = (start..end).step_by(batch as usize).collect();
    starts.into_par_iter().with_max_len(1).map(|from| draw(from..(from + batch).min(end))).collect()
}

/// Hands on the errors of all nodes or entries of every release; of what else there is nothing is taken.
pub struct OfNodes<F>(
    /// Takes them.
    pub F,
);

impl<F: FnMut(&dyn Fn(usize) -> f64)> Sink for OfNodes<F> {
    fn wants_counts(&self) -> bool {
        true
    }

    fn level(&mut self, _: u64, _: u32, _: Sums, _: bool) {}

    fn counts(&mut self, _: u64, errors: Errors) {
        match errors {
            Errors::Integers(errors) => (self.0)(&|v| errors[v] as f64),
            Errors::Reals(errors) => (self.0)(&|v| errors[v]),
        }
    }

    fn draw(&mut self, _: u64, _: u64, _: &[f64]) {}

    fn chain(&mut self, _: u64, _: u32, _: (u64, u64), _: &[f64]) {}

    fn traces(&mut self, _: Vec<Vec<f64>>) {}
}
