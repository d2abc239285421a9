//! Turns of work beside raw xoshiro256++ words of the same process.

use congenial::Crew;
use congenial::engine::Pool;
use congenial::rng::{Rng, Role, TaskKey, stream};
use rayon::ThreadPool;
use std::hint::black_box;
use std::time::Instant;

const WORDS: u64 = 20_000_000;

/// What a machine gives: seconds of one unit of work on one thread and on two, and of words.
pub struct Turns {
    /// Seconds on one thread.
    pub one: f64,
    /// How often one thread's time has two threads' time in it.
    pub gain: f64,
    /// The gain of two threads on raw words.
    pub machine: f64,
    /// Seconds of a word.
    pub word: f64,
}

/// Pools of one thread and of two.
pub fn pools() -> [ThreadPool; 2] {
    [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads"))
}

fn seconds(work: impl FnOnce()) -> f64 {
    let clock = Instant::now();
    work();
    clock.elapsed().as_secs_f64()
}

fn words(replicate: u64) {
    let mut words = stream(TaskKey { seed: 0, cell: 0, replicate, role: Role::Noise });
    black_box((0..WORDS).fold(0u64, |sum, _| sum ^ words.next_u64()));
}

/// The least times of so many turns. They take turns: what slows the machine down for a while meets all of them.
pub fn turns(number: usize, pools: &[ThreadPool; 2], work: impl Fn() + Sync) -> Turns {
    let both = || drop((&Pool as &dyn Crew).each(vec![1, 2], |(): &mut (), replicate| words(replicate)));
    let mut least = [f64::INFINITY; 4];
    for _ in 0..number {
        let now = [
            seconds(|| words(0)),
            seconds(|| pools[1].install(both)),
            seconds(|| pools[0].install(&work)),
            seconds(|| pools[1].install(&work)),
        ];
        least.iter_mut().zip(now).for_each(|(least, now)| *least = least.min(now));
    }
    let [word, twice, one, two] = least;
    Turns { one, gain: one / two, machine: 2.0 * word / twice, word: word / WORDS as f64 }
}
