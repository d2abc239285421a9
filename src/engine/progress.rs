//! Progress on stderr: a bar with the time left on a terminal, a line at every tenth and every minute otherwise.

use crate::page::duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds after which a line is due.
const EVERY: u64 = 60;

pub(super) struct Progress {
    bar: ProgressBar,
    lines: bool,
    total: u64,
    done: AtomicU64,
    /// Seconds after which the last line was printed.
    said: AtomicU64,
    start: Instant,
}

impl Progress {
    /// `total`: of the work that [`Progress::add`] will report; `quiet`: print nothing.
    pub fn new(total: u64, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let lines = !terminal && !quiet;
        let target =
            if quiet || !terminal { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let style = ProgressStyle::with_template("{bar:40} {percent:>3}%, {eta} left");
        bar.set_style(style.expect("a constant template"));
        // Seen at once, and the time goes on before anything is done.
        if terminal && !quiet {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        Self { bar, lines, total, done: AtomicU64::new(0), said: AtomicU64::new(0), start: Instant::now() }
    }

    /// Reports work that is done.
    pub fn add(&self, count: u64) {
        self.bar.inc(count);
        let before = self.done.fetch_add(count, Ordering::Relaxed);
        if !self.lines {
            return;
        }
        let share = |n: u64| n as f64 / self.total.max(1) as f64;
        let (seconds, here) = (self.start.elapsed().as_secs_f64(), share(before + count));
        let tenths = |share: f64| (share * 10.0) as u64;
        let due = self.said.load(Ordering::Relaxed) + EVERY <= seconds as u64;
        if tenths(here) > tenths(share(before)) || due {
            self.said.store(seconds as u64, Ordering::Relaxed);
            let left = if here < 1.0 {
                format!(", about {} left", duration(seconds / here - seconds))
            } else {
                String::new()
            };
            say!("{:.0}% after {}{left}", 100.0 * here, duration(seconds));
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
