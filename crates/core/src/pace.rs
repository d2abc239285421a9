//! How far a long computation is: told by it, heard by whoever has lent the thread a meter.
//!
//! The core has no clock, prints nothing and knows nobody who waits. Where it computes for long it says here how far it is; without a
//! meter that does nothing, and no number depends on it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The share of a computation that is done.
///
/// # Examples
///
/// ```
/// use congenial_core::pace::{self, Meter};
/// use std::sync::Arc;
///
/// let meter = Arc::new(Meter::default());
/// // The second of two parts is half done.
/// pace::lend(&meter, || pace::part(1, 2, || pace::at(1.0, 2.0)));
/// assert_eq!(meter.share(), 0.75);
/// ```
#[derive(Debug, Default)]
pub struct Meter(AtomicU64);

impl Meter {
    /// The share that is done, from 0 to 1; 0 too where nothing was told.
    pub fn share(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// The meter of a thread, and the share of the whole that is computed now: where it begins, and how large it is.
#[derive(Clone)]
struct Lent(Arc<Meter>, f64, f64);

thread_local! {
    static LENT: RefCell<Option<Lent>> = const { RefCell::new(None) };
}

/// Computes with something in the place of what was lent; a panic leaves nothing lent.
fn with<T>(lent: Option<Lent>, work: impl FnOnce() -> T) -> T {
    struct Before(Option<Lent>);
    impl Drop for Before {
        fn drop(&mut self) {
            LENT.set(self.0.take());
        }
    }
    let _before = Before(LENT.replace(lent));
    work()
}

/// Computes with a meter lent to this thread.
pub fn lend<T>(meter: &Arc<Meter>, work: impl FnOnce() -> T) -> T {
    with(Some(Lent(meter.clone(), 0.0, 1.0)), work)
}

/// Computes one of several parts that take about as long, `number` from 0: what it tells is of this part.
pub fn part<T>(number: usize, of: usize, work: impl FnOnce() -> T) -> T {
    let lent = LENT.with_borrow(Option::clone);
    let of = of.max(1) as f64;
    let lent = lent.map(|Lent(meter, from, size)| {
        let from = from + size * (number as f64 / of).min(1.0);
        meter.0.store(from.to_bits(), Ordering::Relaxed);
        Lent(meter, from, size / of)
    });
    with(lent, work)
}

/// Says that so much is done of what is to be done.
pub fn at(done: f64, of: f64) {
    LENT.with_borrow(|lent| {
        if let Some(Lent(meter, from, size)) = lent {
            let share = from + size * (done / of.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            meter.0.store(share.to_bits(), Ordering::Relaxed);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_parts() {
        at(1.0, 2.0);
        let meter = Arc::new(Meter::default());
        let shares = lend(&meter, || {
            let mut shares = vec![meter.share()];
            for number in 0..2 {
                part(number, 2, || {
                    at(1.0, 2.0);
                    shares.push(meter.share());
                    part(1, 4, || at(5.0, 4.0));
                    shares.push(meter.share());
                });
            }
            at(1.0, 1.0);
            shares
        });
        assert_eq!(shares, [0.0, 0.25, 0.25, 0.75, 0.75]);
        assert_eq!(meter.share(), 1.0);
        // What is over is heard no more, also after a panic.
        let panics = || lend(&meter, || panic!("as it should"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        at(1.0, 4.0);
        assert_eq!(meter.share(), 1.0);
    }
}
