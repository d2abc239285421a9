//! Who does work that falls into tasks: in any order, by however many threads.

/// Does tasks that do not depend on each other.
pub trait Crew: Sync {
    /// The results of all tasks, in their order. `work` is given a scratch that tasks before it may have used.
    fn each<T: Send, S: Default, R: Send>(
        &self,
        tasks: Vec<T>,
        work: impl Fn(&mut S, T) -> R + Send + Sync,
    ) -> Vec<R>;
}

/// The thread that asks.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Crew for Alone {
    fn each<T: Send, S: Default, R: Send>(
        &self,
        tasks: Vec<T>,
        work: impl Fn(&mut S, T) -> R + Send + Sync,
    ) -> Vec<R> {
        let mut scratch = S::default();
        tasks.into_iter().map(|task| work(&mut scratch, task)).collect()
    }
}
