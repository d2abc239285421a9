//! Tasks of one batch, done by all threads of the pool that have nothing else to do.

use crate::Crew;
use rayon::prelude::*;
use std::ops::Range;

/// The threads of the pool that the work is in.
#[derive(Debug, Clone, Copy)]
pub struct Pool;

/// Ranges of tasks for each thread, so that none waits long for the last: of some thousand tasks each is a range of its own, since one may
/// take as long as many others (a county of a state).
const RANGES: usize = 1024;

impl Crew for Pool {
    fn run(&self, number: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        let size = number.div_ceil(RANGES * rayon::current_num_threads()).max(1);
        let ranges: Vec<usize> = (0..number).step_by(size).collect();
        // One by one: what rayon has begun it does not split again.
        let ranges = ranges.into_par_iter().with_max_len(1);
        ranges.for_each(|start| work(start..number.min(start + size)));
    }
}
