//! Who does work that falls into tasks: in any order, by however many threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Does tasks that do not depend on each other.
pub trait Crew: Sync {
    /// Does the tasks from 0 to a number, in ranges of which each is done by one thread.
    fn run(&self, number: usize, work: &(dyn Fn(Range<usize>) + Sync));
}

/// A crew of one: the thread that asks does all tasks itself.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Crew for Alone {
    fn run(&self, number: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        work(0..number);
    }
}

impl dyn Crew + '_ {
    /// Does all tasks, and gives their results in order. `work` is given a scratch that tasks before it may have used.
    pub fn each<T: Send, S: Default + Send, R: Send>(
        &self,
        tasks: Vec<T>,
        work: impl Fn(&mut S, T) -> R + Send + Sync,
    ) -> Vec<R> {
        let tasks: Vec<Mutex<Option<T>>> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
        let parts: Mutex<Vec<(usize, Vec<R>)>> = Mutex::new(Vec::new());
        // As many as ranges are done at a time.
        let scratches: Mutex<Vec<S>> = Mutex::new(Vec::new());
        let held = || scratches.lock().unwrap_or_else(PoisonError::into_inner);
        self.run(tasks.len(), &|range| {
            let start = range.start;
            let mut scratch = held().pop().unwrap_or_default();
            let own = tasks[range]
                .iter()
                .filter_map(|task| task.lock().unwrap_or_else(PoisonError::into_inner).take());
            let done = own.map(|task| work(&mut scratch, task)).collect();
            held().push(scratch);
            parts.lock().unwrap_or_else(PoisonError::into_inner).push((start, done));
        });
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_unstable_by_key(|(start, _)| *start);
        parts.into_iter().flat_map(|(_, done)| done).collect()
    }
}
