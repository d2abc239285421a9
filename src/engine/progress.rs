//! Progress on stderr: a bar with the time left on a terminal, else a line at every tenth, every minute, and where
//! something else has been under way for seconds; or told to who watches.
//!
//! All work counts, in kinds that are measured apart: a cell is prepared, drawn, summed up, and compared with others.
//! What is left of a kind is what its work so far took, in proportion. Where nothing of a kind is done yet, nobody
//! knows what it takes: then the time left is a least one.

use super::Manner;
use crate::pace::{self, Meter};
use crate::page::duration;
use crate::store::locked;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Seconds after which a line is due.
const DUE: f64 = 60.0;
/// Seconds between two lines at least, and before the first estimate of the time left.
const APART: f64 = 2.0;
/// Seconds after which it is said what is under way, if that is something else than before.
const LONG: f64 = 5.0;
/// What a kind of which nothing is known counts, as a share of all that is known.
const UNKNOWN: f64 = 0.1;

/// A kind of work, as it is told of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// What is done.
    pub(crate) words: &'static str,
    /// How much there is of it, in a measure of its own.
    pub(crate) total: u64,
    /// Whether all threads share it.
    pub(crate) shared: bool,
}

/// Tells how far some work is.
pub(crate) struct Progress<'a> {
    manner: Manner<'a>,
    /// `None` where nobody hears.
    teller: Option<(Arc<Teller>, Option<std::thread::JoinHandle<()>>)>,
}

/// What the thread that tells shares with those that work.
struct Teller {
    /// What is told of, where that is not a run.
    title: &'static str,
    kinds: Vec<Kind>,
    state: Mutex<State>,
    ended: Condvar,
    start: Instant,
    bar: Option<ProgressBar>,
    threads: usize,
}

#[derive(Default)]
struct State {
    done: Vec<Done>,
    /// What is under way, the oldest first.
    doing: Vec<Doing>,
    number: u64,
    /// The largest share that was told.
    share: f64,
    /// The last line: after so many seconds, at so many tenths, and what was under way.
    said: (f64, u64, String),
    over: bool,
}

/// How much of a kind is done, and the seconds of all threads that it took.
#[derive(Default, Clone, Copy)]
struct Done {
    work: f64,
    seconds: f64,
}

/// Work that is under way.
struct Doing {
    number: u64,
    kind: usize,
    work: f64,
    /// Which of how many cells, and the cell in words, as far as it has some.
    words: String,
    since: f64,
    meter: Arc<Meter>,
}

/// What is known of the whole.
struct Known {
    share: f64,
    /// Seconds, if something is known.
    left: Option<f64>,
    /// Whether the time left is a least one.
    at_least: bool,
}

impl State {
    /// What is known after so many seconds on so many threads.
    fn known(&mut self, kinds: &[Kind], now: f64, threads: usize) -> Known {
        let (mut spent, mut busy, mut rest, mut alone) = (0.0, 0.0, 0.0, 0.0);
        let (mut unknown, mut waited) = (0, 0.0);
        for (i, kind) in kinds.iter().enumerate().filter(|(_, kind)| kind.total > 0) {
            let Done { mut work, mut seconds } = self.done[i];
            let mut blind = 0.0;
            for doing in self.doing.iter().filter(|doing| doing.kind == i) {
                let (share, took) = (doing.meter.share(), now - doing.since);
                busy += took;
                match share > 0.0 {
                    true => (work, seconds) = (work + share * doing.work, seconds + took),
                    false => blind += took,
                }
            }
            busy += self.done[i].seconds;
            let left = (kind.total as f64 - work).max(0.0);
            spent += seconds;
            match work > 0.0 {
                true if left > 0.0 => {
                    let left = (seconds / work * left - blind).max(0.0);
                    rest += left;
                    alone += if kind.shared { 0.0 } else { left };
                }
                true => {}
                false => (unknown, waited) = (unknown + 1, waited + blind),
            }
        }
        let whole = spent + rest;
        let all = whole + f64::from(unknown) * UNKNOWN * whole + waited;
        let share = if all > 0.0 { (spent / all).min(1.0) } else { 0.0 };
        let over =
            self.done.iter().zip(kinds).all(|(done, kind)| done.work >= kind.total as f64 * (1.0 - 1e-9));
        self.share = self.share.max(if over { 1.0 } else { share.min(0.99) });
        let at_once = (busy / now.max(1e-9)).clamp(1.0, threads as f64);
        let left = f64::max(rest / at_once, alone);
        Known { share: self.share, left: (spent > 0.0 && left > 0.0).then_some(left), at_least: unknown > 0 }
    }

    /// What has been under way longest, if that is long, and how far it is.
    fn under_way(&self, kinds: &[Kind], now: f64) -> (String, String) {
        let oldest = self.doing.first().filter(|doing| now >= doing.since + APART);
        oldest.map_or_else(Default::default, |doing| {
            let share = doing.meter.share();
            let far = if share > 0.0 { format!(", {:.0}%", 100.0 * share) } else { String::new() };
            (format!("; {} {}", kinds[doing.kind].words, doing.words), far)
        })
    }
}

impl Known {
    /// The time left in words, if anything is known of it.
    fn left(&self, now: f64) -> String {
        self.left.filter(|_| self.share < 1.0 && now >= APART).map_or(String::new(), |left| {
            format!(", {} {} left", if self.at_least { "at least" } else { "about" }, duration(left))
        })
    }
}

impl Teller {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Writes a line, or draws the bar anew; `last`: nothing more comes.
    fn tell(&self, state: &mut State, now: f64, last: bool) {
        let known = state.known(&self.kinds, now, self.threads);
        let (share, left) = (known.share, known.left(now));
        let (doing, far) = if last { Default::default() } else { state.under_way(&self.kinds, now) };
        if let Some(bar) = &self.bar {
            bar.set_position((1000.0 * share) as u64);
            bar.set_message(format!("{left}{doing}{far}"));
            return;
        }
        let (before, tenths, said) = &state.said;
        let tenth = (share * 10.0) as u64;
        let others = !doing.is_empty() && doing != *said && now >= before + LONG;
        if now >= before + DUE || (tenth > *tenths && now >= before + APART) || others {
            say!("{}{:.0}% after {}{left}{doing}{far}", self.title, 100.0 * share, duration(now));
            state.said = (now, tenth, doing);
        }
    }

    /// Tells every second until it is over.
    fn watch(&self) {
        let mut state = locked(&self.state);
        while !state.over {
            let waited = self.ended.wait_timeout(state, Duration::from_secs(1));
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            if !state.over {
                self.tell(&mut state, self.seconds(), false);
            }
        }
    }
}

impl<'a> Progress<'a> {
    /// `title`: what is told of, before the share; empty for a run.
    pub(crate) fn new(title: &'static str, kinds: Vec<Kind>, manner: &Manner<'a>) -> Self {
        if manner.quiet {
            return Self { manner: *manner, teller: None };
        }
        let terminal = std::io::stderr().is_terminal();
        let watched = manner.watch.is_some();
        let bar = (terminal && !watched).then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template(&format!("{title}{{bar:40}} {{percent:>3}}%{{msg}}"));
            bar.set_style(style.expect("a template without braces of its own"));
            // Seen at once.
            bar.tick();
            bar
        });
        let state = State { done: vec![Done::default(); kinds.len()], ..State::default() };
        let (state, ended) = (Mutex::new(state), Condvar::new());
        let (start, threads) = (Instant::now(), manner.threads);
        let teller = Arc::new(Teller { title, kinds, state, ended, start, bar, threads });
        let telling = teller.clone();
        // Without such a thread nothing is told until the end.
        let thread = (!watched).then(|| {
            let named = std::thread::Builder::new().name("progress".into());
            named.spawn(move || telling.watch()).ok()
        });
        Self { manner: *manner, teller: Some((teller, thread.flatten())) }
    }

    /// Does so much of a kind, and hears how far it says that it is. `work`: 0 of what is counted as something else. `words`: which cell.
    pub(crate) fn doing<T>(
        &self,
        kind: usize,
        work: u64,
        words: impl FnOnce() -> String,
        f: impl FnOnce() -> T,
    ) -> T {
        let Some((teller, _)) = &self.teller else { return f() };
        let meter = Arc::new(Meter::default());
        let number = {
            let (words, since) = (words(), teller.seconds());
            let mut state = locked(&teller.state);
            state.number += 1;
            let number = state.number;
            state.doing.push(Doing { number, kind, work: work as f64, words, since, meter: meter.clone() });
            number
        };
        let done = pace::lend(&meter, f);
        let now = teller.seconds();
        let mut state = locked(&teller.state);
        if let Some(at) = state.doing.iter().position(|doing| doing.number == number) {
            let doing = state.doing.remove(at);
            state.done[kind].seconds += now - doing.since;
        }
        if work > 0 {
            self.pass(state, kind, work);
        }
        done
    }

    /// Counts so much of a kind as done: it needs no doing.
    pub(crate) fn skip(&self, kind: usize, work: u64) {
        if let Some((teller, _)) = &self.teller {
            self.pass(locked(&teller.state), kind, work);
        }
    }

    fn pass(&self, mut state: std::sync::MutexGuard<State>, kind: usize, work: u64) {
        state.done[kind].work += work as f64;
        let (Some(watch), Some((teller, _))) = (self.manner.watch, &self.teller) else { return };
        let share = state.known(&teller.kinds, teller.seconds(), teller.threads).share;
        drop(state);
        watch.progress(share);
    }

    /// Ends the bar, and says the last line.
    pub(crate) fn finish(&mut self) {
        let Some((teller, thread)) = self.teller.take() else { return };
        {
            let mut state = locked(&teller.state);
            state.over = true;
            let now = teller.seconds();
            match &teller.bar {
                Some(bar) => bar.finish_and_clear(),
                None if self.manner.watch.is_none() => teller.tell(&mut state, now, true),
                None => {}
            }
        }
        teller.ended.notify_all();
        thread.map(std::thread::JoinHandle::join);
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One cell is drawn in ten seconds on one thread; it is summed up in a hundred more. No line says that little is left.
    #[test]
    fn what_is_not_known_is_not_left_out() {
        let kinds = [("preparing", 1), ("drawing", 1000), ("comparing", 2)].map(|(words, total)| Kind {
            words,
            total,
            shared: words != "comparing",
        });
        let mut state = State { done: vec![Done::default(); 3], ..State::default() };
        let meter = Arc::new(Meter::default());
        let doing = |kind, work, since| {
            let words = "cell 1 of 1: exact".into();
            Doing { number: 1, kind, work, words, since, meter: meter.clone() }
        };
        // It is prepared: how long that takes nobody knows.
        state.doing.push(doing(0, 1.0, 0.0));
        let known = state.known(&kinds, 4.0, 1);
        assert_eq!((known.share, known.left(4.0).as_str()), (0.0, ""));
        assert_eq!(state.under_way(&kinds, 4.0), ("; preparing cell 1 of 1: exact".into(), String::new()));
        pace::lend(&meter, || pace::at(1.0, 4.0));
        let known = state.known(&kinds, 4.0, 1);
        assert!(known.share > 0.1 && known.share < 0.25, "{}", known.share);
        assert_eq!(known.left(4.0), ", at least 12 s left");
        assert_eq!(state.under_way(&kinds, 4.0).1, ", 25%");
        // Nine tenths are drawn.
        state.doing.clear();
        (state.done[0], state.done[1]) =
            (Done { work: 1.0, seconds: 1.0 }, Done { work: 900.0, seconds: 9.0 });
        let known = state.known(&kinds, 10.0, 1);
        assert_eq!(known.left(10.0), ", at least 1.0 s left");
        let mut before = known.share;
        assert!(before < 0.9, "{before}");
        // All is drawn, and nothing of the rest is known: the share stands, and what is under way is said.
        state.done[1] = Done { work: 1000.0, seconds: 10.0 };
        let meter = Arc::new(Meter::default());
        state.doing.push(Doing { meter: meter.clone(), ..doing(2, 1.0, 11.0) });
        let known = state.known(&kinds, 41.0, 1);
        assert!(known.share >= before && known.share < 0.95 && known.left(41.0).is_empty());
        assert_eq!(state.under_way(&kinds, 41.0).0, "; comparing cell 1 of 1: exact");
        before = known.share;
        // Half of it after 50 s: as much again, and the second like both.
        pace::lend(&meter, || pace::at(1.0, 2.0));
        let known = state.known(&kinds, 61.0, 1);
        assert_eq!((known.left(61.0).as_str(), known.at_least), (", about 2 min left", false));
        assert!(known.share >= before);
        state.doing.clear();
        state.done[2] = Done { work: 2.0, seconds: 200.0 };
        let known = state.known(&kinds, 211.0, 1);
        assert_eq!((known.share, known.left(211.0).as_str()), (1.0, ""));
    }
}
