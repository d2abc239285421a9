//! Progress on stderr: a bar with the time left on a terminal, a line now and then otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(super) struct Progress {
    bar: ProgressBar,
    lines: bool,
    total: u64,
    done: AtomicU64,
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
        Self { bar, lines, total, done: AtomicU64::new(0), start: Instant::now() }
    }

    /// Reports work that is done.
    pub fn add(&self, count: u64) {
        self.bar.inc(count);
        let before = self.done.fetch_add(count, Ordering::Relaxed);
        let tenth = |n: u64| (n as f64 * 10.0 / self.total.max(1) as f64) as u64;
        if self.lines && tenth(before + count) > tenth(before) {
            let percent = tenth(before + count) * 10;
            say!("{percent}% after {:.0} s", self.start.elapsed().as_secs_f64());
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
