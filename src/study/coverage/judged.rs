//! What the intervals of a release hold, class by class.

use super::classes::{self, Class};
use super::config::CoveragePart;
use super::template::{failed, template};
use super::{CoveredRow, Reading};
use crate::Result;
use crate::grid::{Cell, Plan};
use crate::hash;
use crate::infer::{Repeated, Shared, Span};
use crate::law::Errors;
use crate::methods::{Sink, Sums};
use crate::table::Key;

/// Whether the method of a cell is repeated on each of its releases.
pub(super) fn is_repeated(plan: &Plan, cell: &Cell) -> bool {
    CoveragePart::of(&plan.config).bootstrap > 0 && template(plan, cell).is_ok_and(|noisy| !noisy.is_pivot())
}

/// A cell with everything that judges its releases.
pub(super) struct Judged {
    cell: Key,
    /// A word of what the cell is, and of its seed.
    seed: u64,
    repeated: Repeated,
    counts: Vec<f64>,
    /// The confidential values of nodes and districts.
    pub(super) truth: Vec<f64>,
    pub(super) classes: Vec<Class>,
    /// Draws of a bootstrap; 0 without one.
    draws: usize,
    prior: Option<Shared>,
}

impl Judged {
    /// Errors: what the method does not serve.
    pub(super) fn new(plan: &Plan, cell: &Cell) -> Result<Self> {
        let part = CoveragePart::of(&plan.config);
        let noisy = template(plan, cell)?;
        let draws = if noisy.is_pivot() { 0 } else { part.bootstrap };
        let counts = noisy.values.clone();
        let seed = hash::word(&format!("coverage {} {}", cell.at.seed, cell.streams));
        let repeated = Repeated::new(noisy, &part.districts, (part.level, seed)).map_err(failed)?;
        let truth = repeated.values(&counts);
        let classes = classes::of(plan);
        let prior = part.prior.as_ref().map(|(prior, _)| prior.clone()).filter(|_| repeated.has_posterior());
        Ok(Self { cell: Key(cell.key), seed, repeated, counts, truth, classes, draws, prior })
    }

    /// By class, how often its intervals by the noise hold, by the law; nothing where no law says it.
    pub(super) fn computed(&self) -> Option<Vec<f64>> {
        let holds = self.repeated.by_noise_holds(&self.counts)?;
        Some(self.classes.iter().map(|class| mean(class, |i| holds[i])).collect())
    }

    pub(super) fn is_guaranteed(&self) -> bool {
        self.repeated.is_guaranteed()
    }

    /// The rows of a release with these errors of all nodes. Errors: the method, repeated.
    fn rows(&self, replicate: u64, error: impl Fn(usize) -> f64, out: &mut Vec<CoveredRow>) -> Result<()> {
        let nodes = (0..self.counts.len()).map(|v| self.counts[v] + error(v)).collect();
        let seed = hash::word(&format!("{} {replicate}", self.seed));
        // A posterior is of the values as they were released.
        let released: Vec<f64> = nodes;
        let nodes = self.repeated.settled(released.clone()).map_err(failed)?;
        let values = self.repeated.values(&nodes);
        let mut add = |intervals: Reading, spans: Vec<Span>| {
            for (place, class) in self.classes.iter().enumerate() {
                let error = |i: usize| values[i] - self.truth[i];
                let holds = |i: usize| spans[i].low <= self.truth[i] && self.truth[i] <= spans[i].high;
                out.push(CoveredRow {
                    cell: self.cell,
                    replicate,
                    intervals,
                    class: place as u32 + 1,
                    covered: mean(class, |i| f64::from(u8::from(holds(i)))),
                    length: mean(class, |i| spans[i].high - spans[i].low),
                    bias: mean(class, error),
                    squared: mean(class, |i| error(i) * error(i)),
                    variance: mean(class, |i| spans[i].deviation * spans[i].deviation),
                });
            }
        };
        add(Reading::Noise, self.repeated.by_noise(&nodes));
        if self.draws > 0 {
            add(Reading::Bootstrap, self.repeated.by_bootstrap(&nodes, (self.draws, seed)).map_err(failed)?);
        }
        if let Some(prior) = &self.prior {
            add(Reading::Posterior, self.repeated.by_posterior(&released, prior, seed).map_err(failed)?);
        }
        Ok(())
    }
}

fn mean(class: &Class, of: impl Fn(usize) -> f64) -> f64 {
    class.members.iter().map(|&i| of(i)).sum::<f64>() / class.members.len() as f64
}

/// Judges releases as they are drawn.
pub(super) struct Taken<'a> {
    judged: &'a Judged,
    rows: Vec<CoveredRow>,
    result: Result<()>,
}

impl<'a> Taken<'a> {
    pub(super) fn new(judged: &'a Judged) -> Self {
        Self { judged, rows: Vec::new(), result: Ok(()) }
    }

    /// The rows, and the first error.
    pub(super) fn rows(self) -> (Vec<CoveredRow>, Result<()>) {
        (self.rows, self.result)
    }

    fn take(&mut self, replicate: u64, error: impl Fn(usize) -> f64) {
        if self.result.is_ok() {
            self.result = self.judged.rows(replicate, error, &mut self.rows);
        }
    }
}

impl Sink for Taken<'_> {
    fn wants_counts(&self) -> bool {
        true
    }

    fn level(&mut self, _: u64, _: u32, _: Sums, _: bool) {}

    fn counts(&mut self, replicate: u64, errors: Errors) {
        match errors {
            Errors::Integers(errors) => self.take(replicate, |v| errors[v] as f64),
            Errors::Reals(errors) => self.take(replicate, |v| errors[v]),
        }
    }

    fn draw(&mut self, _: u64, _: u64, _: &[f64]) {}

    fn chain(&mut self, _: u64, _: u32, _: (u64, u64), _: &[f64]) {}

    fn traces(&mut self, _: Vec<Vec<f64>>) {}
}
