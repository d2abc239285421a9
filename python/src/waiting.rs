//! Waiting for work that runs without the interpreter: progress is shown, and Ctrl-C ends it.

use crate::failure::{bug, exception, usage};
use congenial::engine::Watch;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);
/// The first look: short work does not wait for it.
const FIRST: Duration = Duration::from_millis(2);
/// Time before progress is shown, and between two lines of it.
const SHOWN: Duration = Duration::from_millis(250);

/// What the work and who waits for it know of each other.
#[derive(Debug, Default)]
pub struct Waiting {
    stopped: AtomicBool,
    /// Bits of the share that is done.
    share: AtomicU64,
}

impl Watch for Waiting {
    fn progress(&self, share: f64) {
        // Shares are positive: their bits are in the same order.
        self.share.fetch_max(share.to_bits(), Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Does work on a thread of its own, with the interpreter free for others; returns what it gives, or the exception of a
/// signal or a bug, once the work has ended.
///
/// `progress`: whether a line of it is shown on `sys.stderr`.
pub fn wait<T: Send>(py: Python, progress: bool, work: impl FnOnce(&Waiting) -> T + Send) -> PyResult<T> {
    let waiting = &Waiting::default();
    let (sender, receiver) = channel();
    let result = py.detach(move || {
        std::thread::scope(|scope| {
            let work = move || {
                let done = work(waiting);
                // Whoever waits looks at once.
                let _ = sender.send(());
                done
            };
            let working = std::thread::Builder::new().spawn_scoped(scope, work);
            let working = working.map_err(|e| usage(format!("cannot start a thread: {e}")))?;
            let (start, mut interrupted, mut line) = (Instant::now(), None, Line::default());
            let mut look = FIRST;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(look) {
                look = LOOK;
                Python::attach(|py| {
                    if let Err(signal) = py.check_signals() {
                        waiting.stopped.store(true, Ordering::Relaxed);
                        interrupted.get_or_insert(signal);
                    }
                    if progress {
                        line.show(py, f64::from_bits(waiting.share.load(Ordering::Relaxed)), start.elapsed());
                    }
                });
            }
            Python::attach(|py| line.clear(py));
            let done = working.join();
            match interrupted {
                Some(signal) => Err(signal),
                None => done.map_err(|panic| exception(bug(&*panic))),
            }
        })
    })?;
    Ok(result)
}

/// A line that is written over.
#[derive(Default)]
struct Line {
    /// When it was written last, and how long it is.
    last: Option<(Duration, usize)>,
}

impl Line {
    fn show(&mut self, py: Python, share: f64, now: Duration) {
        let before = self.last.map_or(Duration::ZERO, |(before, _)| before);
        if now < before + SHOWN {
            return;
        }
        let seconds = now.as_secs_f64();
        let left = match share > 0.0 && share < 1.0 && seconds >= 1.0 {
            true => format!(", about {} left", congenial::page::duration(seconds / share - seconds)),
            false => String::new(),
        };
        let text = format!("{:3.0}%{left}", 100.0 * share.min(1.0));
        let (width, long) = (self.last.map_or(0, |(_, width)| width), text.chars().count());
        write(py, &format!("\r{text:width$}"));
        self.last = Some((now, long));
    }

    fn clear(&mut self, py: Python) {
        if let Some((_, width)) = self.last.take() {
            write(py, &format!("\r{:width$}\r", ""));
        }
    }
}

/// Writes to what Python takes for standard error: a terminal, or the page of a notebook. Where that cannot be, nothing is written.
fn write(py: Python, text: &str) {
    let written = || -> PyResult<()> {
        let stream = py.import("sys")?.getattr("stderr")?;
        stream.call_method1("write", (text,))?;
        stream.call_method0("flush")?;
        Ok(())
    };
    let _ = written();
}
