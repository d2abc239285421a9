//! Driving one chain: from a start to a release, with what its diagnostics need.

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::rng::Rng;

/// What a chain leaves behind beside its last state.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainRecord {
    /// Steps made.
    pub steps: u64,
    /// Steps that changed the state.
    pub moves: u64,
    /// Recorded statistics, one trace each, from the second half of the chain at equal distances.
    pub traces: Vec<Vec<f64>>,
}

/// Runs `steps` steps from `start` and returns the last state.
///
/// Every statistic of `statistics(position)` is recorded `records` times (or once a step if there are
/// fewer steps) over the second half; the first half is burn-in.
///
/// Errors: [`Error::NeverMoved`] if the kernel rejects and no step changed the state (or an independent part of it): such a chain would
/// release its start. (Refusing Gibbs chains that drew their start again would bias the law.)
pub fn run<K: Kernel, R: Rng + ?Sized>(
    kernel: &K,
    mut state: K::State,
    steps: u64,
    records: u64,
    rng: &mut R,
    mut statistics: impl FnMut(&[K::Value], &mut dyn FnMut(usize, f64)),
) -> Result<(K::State, ChainRecord)> {
    let mut noise = kernel.noise();
    let kept = steps / 2;
    let every = if records == 0 { 0 } else { kept.div_ceil(records).max(1) };
    let mut traces: Vec<Vec<f64>> = Vec::new();
    let mut moves = 0;
    for step in 1..=steps {
        kernel.draw(rng, &mut noise);
        moves += u64::from(kernel.apply(&mut state, &noise));
        if every > 0 && step > steps - kept && (steps - step).is_multiple_of(every) {
            statistics(kernel.position(&state), &mut |which, value| {
                if traces.len() <= which {
                    traces.resize_with(which + 1, Vec::new);
                }
                traces[which].push(value);
            });
        }
    }
    if K::REJECTS && (moves == 0 || kernel.is_stuck(&state)) {
        return Err(Error::NeverMoved { steps });
    }
    Ok((state, ChainRecord { steps, moves, traces }))
}
