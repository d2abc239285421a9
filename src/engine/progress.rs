//! Progress on stderr: a bar with the time left on a terminal, else a line at every tenth and every minute; or told to who watches.

use super::{Manner, Watch};
use crate::page::duration;
use crate::store::locked;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds after which a line is due.
const DUE: f64 = 60.0;
/// Seconds between two lines at least, and before the first estimate of the time left.
const APART: f64 = 2.0;

pub(super) struct Progress<'a> {
    watch: Option<&'a dyn Watch>,
    bar: ProgressBar,
    lines: bool,
    total: u64,
    done: AtomicU64,
    /// The last line: after so many seconds, at so many tenths.
    said: Mutex<(f64, u64)>,
    start: Instant,
}

impl<'a> Progress<'a> {
    /// `total`: of the work that [`Progress::add`] will report.
    pub fn new(total: u64, manner: &Manner<'a>) -> Self {
        let watch = manner.watch.filter(|_| !manner.quiet);
        let quiet = manner.quiet || watch.is_some();
        let terminal = std::io::stderr().is_terminal();
        let lines = !terminal && !quiet;
        let target =
            if quiet || !terminal { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let style = ProgressStyle::with_template("{bar:40} {percent:>3}%{msg}");
        bar.set_style(style.expect("a constant template"));
        // Seen at once, and the time goes on before anything is done.
        if terminal && !quiet {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        let (done, said) = (AtomicU64::new(0), Mutex::default());
        Self { watch, bar, lines, total, done, said, start: Instant::now() }
    }

    /// Reports work that is done.
    pub fn add(&self, count: u64) {
        let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        if let Some(watch) = self.watch {
            return watch.progress(done as f64 / self.total.max(1) as f64);
        }
        let (seconds, here) = (self.start.elapsed().as_secs_f64(), done as f64 / self.total.max(1) as f64);
        let left = match here < 1.0 && seconds >= APART {
            true => format!(", about {} left", duration(seconds / here - seconds)),
            false => String::new(),
        };
        if self.lines {
            let mut said = locked(&self.said);
            let (before, tenths) = *said;
            let now = (here * 10.0) as u64;
            if seconds >= before + DUE || (now > tenths && seconds >= before + APART) {
                *said = (seconds, now);
                say!("{:.0}% after {}{left}", 100.0 * here, duration(seconds));
            }
        } else {
            self.bar.set_message(left);
            self.bar.inc(count);
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
