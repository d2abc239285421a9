//! Tasks of one batch, done by all threads of the pool that have nothing else to do.

use crate::Crew;
use rayon::prelude::*;

/// The threads of the pool that the work is in.
#[derive(Debug, Clone, Copy)]
pub struct Pool;

impl Crew for Pool {
    fn each<T: Send, S: Default, R: Send>(
        &self,
        tasks: Vec<T>,
        work: impl Fn(&mut S, T) -> R + Send + Sync,
    ) -> Vec<R> {
        tasks.into_par_iter().map_init(S::default, work).collect()
    }
}
