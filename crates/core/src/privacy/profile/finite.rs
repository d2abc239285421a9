//! What integer noise loses under inequalities that leave few tables: every two of them are compared.
//!
//! From a table x every table y is released with the probability `w(y - x)/c(x)`, `c(x) = Σ_y w(y - x)`, so that the loss of y
//! between x and x' is `ln w(y - x)/w(y - x') + ln c(x')/c(x)`. The noise of x and that of x' are not alike: both orders count.
//!
//! One count alone with a bound on one side has as many tables as there are integers. So far from the bound that it holds less than
//! 1e-18 of the noise, all of them lose what free noise does, and the last that is listed stands for them.

use super::losses::Losses;
use crate::error::Result;
use crate::exact::table::{TRUNCATION, reach};
use crate::invariant::{Bounded, NO_LOWER, NO_UPPER};
use crate::law::IntegerLaw;
use crate::privacy::tables;

/// Tables of a part that are listed.
const MOST: usize = 200;
/// Entries that so few tables can have, as far as they are looked at.
const MOST_ENTRIES: usize = 800;
/// Tables of one count alone.
const MOST_OF_ONE: i64 = 1 << 8;

/// How the counts of records of two tables differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Records added and removed.
    pub(super) size: u64,
    /// Records added less those removed.
    pub(super) sum: i64,
}

impl Step {
    fn between(x: &[i64], other: &[i64]) -> Self {
        let pairs = || x.iter().zip(other);
        Self { size: pairs().map(|(x, y)| x.abs_diff(*y)).sum(), sum: pairs().map(|(x, y)| y - x).sum() }
    }
}

/// All tables of a part, and the releases.
pub(super) struct Finite {
    /// By table: its counts of records.
    records: Vec<Vec<i64>>,
    /// By table: the logarithms of the releases' probabilities.
    logs: Vec<Vec<f64>>,
    /// The probability of releases that are not listed.
    beyond: f64,
    /// Whether those may lose more than what is listed.
    is_open: bool,
}

impl Finite {
    /// Lists the tables. `laws`: by entry; `is_record`: the entries that count records. `None`: there are too many.
    ///
    /// Errors: as [`tables`].
    pub(super) fn new<L: IntegerLaw>(part: &Bounded, laws: &[L], is_record: &[bool]) -> Result<Option<Self>> {
        if let Some(of_one) = Self::of_one(part, laws) {
            return Ok(of_one);
        }
        if part.component.entries.len() > MOST_ENTRIES {
            return Ok(None);
        }
        let Some(tables) = tables(part, MOST)? else { return Ok(None) };
        let log_weight = |x: &[i64], y: &[i64]| -> f64 {
            laws.iter().zip(x.iter().zip(y)).map(|(law, (x, y))| law.log_weight(y - x)).sum()
        };
        let logs = tables.iter().map(|x| normalised(tables.iter().map(|y| log_weight(x, y)).collect()));
        let records =
            |x: &Vec<i64>| x.iter().zip(is_record).filter(|(_, is)| **is).map(|(x, _)| *x).collect();
        Ok(Some(Self {
            logs: logs.collect(),
            records: tables.iter().map(records).collect(),
            beyond: 0.0,
            is_open: false,
        }))
    }

    /// One count alone with a bound on one side: by what it lies from it. `Some(None)`: too many matter.
    fn of_one<L: IntegerLaw>(part: &Bounded, laws: &[L]) -> Option<Option<Self>> {
        let ([law], true) = (laws, part.component.rows.is_empty() && part.region.rows.is_empty()) else {
            return None;
        };
        let (lower, upper) = (part.region.lower[0], part.region.upper[0]);
        if (lower == NO_LOWER) == (upper == NO_UPPER) {
            return None;
        }
        let last = reach(law) + 1;
        if last > MOST_OF_ONE {
            return Some(None);
        }
        let logs = |x: i64| normalised((0..=2 * last).map(|y| law.log_weight(y - x)).collect());
        Some(Some(Self {
            records: (0..=last).map(|x| vec![x]).collect(),
            logs: (0..=last).map(logs).collect(),
            // Beyond on the far side, over half of the mass at least; and what the last table stands for.
            beyond: 8.0 * TRUNCATION,
            is_open: law.as_double_geometric().is_none(),
        }))
    }

    /// The losses of every two tables that differ by a step that is wanted.
    pub(super) fn each(&self, is_wanted: impl Fn(Step) -> bool) -> Vec<Losses> {
        let mut found = Vec::new();
        for (x, p) in self.records.iter().zip(&self.logs) {
            for (other, q) in self.records.iter().zip(&self.logs) {
                if is_wanted(Step::between(x, other)) {
                    found.push(self.losses(p, q));
                }
            }
        }
        found
    }

    /// The fewest records by which two tables differ; `None`: there is one alone.
    pub(super) fn least(&self) -> Option<u64> {
        let pairs =
            self.records.iter().flat_map(|x| self.records.iter().map(move |y| Step::between(x, y).size));
        pairs.filter(|size| *size > 0).min()
    }

    fn losses(&self, p: &[f64], q: &[f64]) -> Losses {
        let outcomes: Vec<(f64, f64)> = p.iter().zip(q).map(|(p, q)| (p - q, libm::exp(*p))).collect();
        let largest = outcomes.iter().map(|(loss, _)| *loss).fold(0.0, f64::max);
        Losses::of(outcomes, self.beyond, if self.is_open { f64::INFINITY } else { largest })
    }
}

/// Logarithms of weights that sum to 1.
fn normalised(logs: Vec<f64>) -> Vec<f64> {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all = top + libm::log(logs.iter().map(|log| libm::exp(log - top)).sum());
    logs.into_iter().map(|log| log - all).collect()
}
