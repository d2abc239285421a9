//! What a plan will take, roughly, told before it begins.

use super::{WAITING, Work};
use crate::failure::{Failure, Result};
use crate::machine::{free_disk, free_memory};
use crate::page::{bytes, counted, duration};
use std::fmt;
use std::path::Path;

/// What a plan will take. Bytes are of what a plan is sure to need; times are of the methods' rough costs.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// Rows of all tables, without summaries.
    pub rows: f64,
    /// Bytes of all rows on the disk.
    pub disk: f64,
    /// Bytes of rows in memory at the same time.
    pub memory: f64,
    /// Seconds on all threads, if they are cores.
    pub seconds: f64,
    /// Seconds of the costliest replicate, on one thread.
    pub longest: f64,
}

/// Random words that a thread takes in a second, with all that is done with them. The methods' rough costs are several
/// times too large for some, too small for others.
const SPEED: f64 = 1e9;

/// Estimates what a plan takes on so many threads.
pub fn estimate(work: &dyn Work, threads: usize) -> Estimate {
    let mut all = Estimate { rows: 0.0, disk: 0.0, memory: 0.0, seconds: 0.0, longest: 0.0 };
    let mut largest: f64 = 0.0;
    for unit in work.units() {
        let (n, each) = (unit.replicates as f64, unit.each);
        all.rows += n * each.rows as f64;
        all.disk += n * each.disk as f64;
        all.memory += n * each.memory as f64;
        largest = largest.max(unit.batch as f64 * each.memory as f64);
        all.seconds += unit.work() as f64 / SPEED;
        all.longest = all.longest.max(each.work as f64 / SPEED);
    }
    // The batches that are drawn, and those that wait for their turn.
    all.memory = all.memory.min(2.0 * threads as f64 * largest + WAITING as f64);
    all.seconds = f64::max(all.seconds / threads as f64, all.longest);
    all
}

impl Estimate {
    /// The estimate for one of so many shards of equal size, which leaves its rows in a journal.
    pub fn shared(self, of: u64) -> Self {
        let of = of.max(1) as f64;
        Self {
            rows: self.rows / of,
            disk: self.disk / of,
            seconds: f64::max(self.seconds / of, self.longest),
            ..self
        }
    }

    /// What will be written, in words behind a semicolon.
    pub fn written(&self) -> String {
        let mut words = String::new();
        if self.rows > 0.0 {
            words += &format!("; {} and summaries", counted(self.rows, "row"));
        }
        if self.disk >= 1e6 {
            words += &format!(", at least {}", bytes(self.disk));
        }
        words
    }

    /// Whether people will wait for it.
    pub fn is_long(&self) -> bool {
        self.seconds >= 60.0
    }

    /// Refused: more than the disk of a place has left, or the memory.
    pub fn fits(&self, name: &str, place: &Path) -> Result<()> {
        let refuse = |what: &str, wants: f64, of: String, left: u64| {
            let (wants, left) = (bytes(wants), bytes(left as f64));
            let message = format!(
                "{name}: {what} take at least {wants}, and {of} has {left} left: ask for fewer (`replicates`, `records`, `keep-draws`)"
            );
            Err(Failure::Usage(message))
        };
        match (free_disk(place), free_memory()) {
            (Some(left), _) if self.disk > left as f64 => refuse(
                &counted(self.rows, "row"),
                self.disk,
                format!("the disk of {}", place.display()),
                left,
            ),
            (_, Some(left)) if self.memory > left as f64 => refuse(
                "the replicates that are drawn at the same time",
                self.memory,
                "the memory".into(),
                left,
            ),
            _ => Ok(()),
        }
    }
}

/// Writes what can be told, in words behind semicolons.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.written())?;
        match self.is_long() {
            true => write!(
                f,
                "; roughly {}, if not several times more or less (`plan --time` measures)",
                duration(self.seconds)
            ),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Each, Prepared, Unit};
    use super::*;

    struct Some(Vec<Unit>);

    impl Work for Some {
        fn units(&self) -> &[Unit] {
            &self.0
        }
        fn words(&self, _: usize) -> String {
            String::new()
        }
        fn prepare(&self, _: usize) -> crate::Result<Box<dyn Prepared + '_>> {
            unreachable!("nothing is drawn")
        }
    }

    #[test]
    fn plans_are_summed_up() {
        let each = |work, memory| Each { work, rows: 3, disk: 48, memory };
        let of = |units, threads| estimate(&Some(units), threads);
        let two = || vec![Unit::new(1, 1000, each(400_000, 100)), Unit::new(2, 10, each(4_000_000_000, 8))];
        let Estimate { rows, disk, memory, seconds, longest } = of(two(), 1);
        assert_eq!((rows, disk, memory), (3030.0, 48.0 * 1010.0, 100_080.0));
        assert!((seconds - 40.4).abs() < 1e-9 && (longest - 4.0).abs() < 1e-9, "{seconds} {longest}");
        assert!((of(two(), 4).seconds - 10.1).abs() < 1e-9 && of(two(), 4000).seconds == longest);
        // One replicate that does not fit, on each of two threads; a trillion that pass through.
        assert!(of(vec![Unit::new(1, 2, each(1, 1 << 40))], 2).memory >= (2u64 << 40) as f64);
        let many = of(vec![Unit::new(1, 1_000_000_000_000, each(1, 40))], 2);
        assert!(many.memory < 64e6 && many.disk > 4e13, "{many:?}");
        // What is beyond 64 bits is large, and not small again.
        assert!(of(vec![Unit::new(1, u64::MAX, each(u64::MAX, 1))], 1).seconds > 1e10);
    }
}
