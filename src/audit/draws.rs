//! Draws from tables that differ by one change: what is looked at of every release.

use super::neighbours::{Neighbours, Pair};
use crate::Result;
use crate::catalogue::Family;
use crate::engine::Pool;
use crate::grid::Cell;
use crate::infer::{OfNodes, in_batches};
use crate::input::Subject;
use crate::methods::{Draws, Out};
use crate::privacy::{Columns, Event, Form};
use std::ops::Range;

/// Counts that are looked at of those that a change changes, and of all others.
const CHANGED: usize = 8;
/// See [`CHANGED`].
const OTHERS: usize = 8;
/// Releases that are drawn together; of a program, which is asked for each batch, more.
const BATCH: u64 = 256;
/// See [`BATCH`].
const BATCH_OF_PROGRAM: u64 = 4096;

/// Released counts are looked at to this part of 1: finer differences come from the arithmetic of the simulation, which adds and takes
/// off the confidential count.
const FINEST: f64 = 1.0 / (1u64 << 20) as f64;

/// What is looked at of the releases of some tables: first by pair the log ratio of what the noise has at both its tables, then counts.
pub(super) struct Looked<'a> {
    cell: &'a Cell,
    neighbours: &'a Neighbours,
    counts: Vec<usize>,
}

impl<'a> Looked<'a> {
    pub(super) fn new(cell: &'a Cell, neighbours: &'a Neighbours) -> Self {
        let mut counts: Vec<usize> =
            neighbours.pairs.iter().flat_map(|pair| pair.changed.iter().take(CHANGED)).copied().collect();
        let all = neighbours.tables[0].nodes();
        counts.extend((0..OTHERS).map(|k| k * all / OTHERS));
        counts.sort_unstable();
        counts.dedup();
        Self { cell, neighbours, counts }
    }

    /// What scores are learned of: first so many counts that the pair changes, which are learned of together, too, then other counts, and
    /// the sums and differences of the first.
    pub(super) fn forms(&self, pair: &Pair) -> (Vec<Form>, usize) {
        let first = self.neighbours.pairs.len();
        let column = |i: &usize| first + self.counts.binary_search(i).expect("it is looked at");
        let changed: Vec<usize> = pair.changed.iter().take(CHANGED).map(column).collect();
        let others = (first..first + self.counts.len()).filter(|column| !changed.contains(column));
        let mut forms: Vec<Form> = changed.iter().copied().chain(others).map(Form::One).collect();
        for (k, &a) in changed.iter().enumerate() {
            for &b in &changed[..k] {
                forms.extend([Form::Sum(a, b), Form::Difference(a, b)]);
            }
        }
        (forms, changed.len())
    }

    /// Draws some releases of a table. Errors: a method that cannot draw.
    pub(super) fn draw(&self, releases: &dyn Draws, table: usize, range: Range<u64>) -> Result<Columns> {
        let mut parts = self.batches(range, |range| self.batch(releases, table, range))?.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            all.iter_mut().zip(part).for_each(|(all, part)| all.extend(part));
        }
        Ok(all)
    }

    /// How many of some releases of a table are in the event's set. Errors: a method that cannot draw.
    pub(super) fn count(
        &self,
        releases: &dyn Draws,
        table: usize,
        range: Range<u64>,
        event: &Event,
    ) -> Result<u64> {
        let counts = self.batches(range, |range| Ok(event.count(&self.batch(releases, table, range)?)))?;
        Ok(counts.into_iter().sum())
    }

    fn batches<T: Send>(
        &self,
        range: Range<u64>,
        of: impl Fn(Range<u64>) -> Result<T> + Send + Sync,
    ) -> Result<Vec<T>> {
        let is_program = self.cell.at.method.own().is_some();
        in_batches(range, if is_program { BATCH_OF_PROGRAM } else { BATCH }, of)
    }

    fn batch(&self, releases: &dyn Draws, table: usize, range: Range<u64>) -> Result<Columns> {
        let tables = &self.neighbours.tables;
        let counts = tables[table].counts();
        let mut columns = vec![Vec::new(); self.neighbours.pairs.len() + self.counts.len()];
        let look = |error: &dyn Fn(usize) -> f64| {
            let released = |i: usize| {
                let y = error(i) + counts[i] as f64;
                if y == y.trunc() { y } else { (y / FINEST).round() * FINEST }
            };
            let ratios = self.neighbours.pairs.iter().map(|pair| match pair.tables.contains(&table) {
                true => self.ratio(pair, &released),
                false => 0.0,
            });
            let values = ratios.chain(self.counts.iter().map(|&i| released(i)));
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        };
        releases.draw(range, &mut Out { crew: &Pool, sink: &mut OfNodes(look) })?;
        Ok(columns)
    }

    /// The logarithm of the ratio of the noise's likelihood at the first table of a pair to that at the second.
    fn ratio(&self, pair: &Pair, released: &dyn Fn(usize) -> f64) -> f64 {
        let [first, second] = pair.tables.map(|table| &self.neighbours.tables[table]);
        let (x, other) = (first.counts(), second.counts());
        let off = |i: usize, from: &[i64]| released(i) - from[i] as f64;
        let square = |z: f64| z * z;
        let family = self.cell.at.law.family();
        if family == Family::Euclidean {
            let norm = |from: &[i64]| (0..x.len()).map(|i| square(off(i, from))).sum::<f64>().sqrt();
            return (norm(other) - norm(x)) / self.cell.calibration.scales[0];
        }
        let each = pair.changed.iter().map(|&i| {
            let scale = self.scale(first, i);
            match family {
                // Where there is no noise it is a score as good as any.
                Family::DoubleGeometric | Family::Laplace | Family::Euclidean | Family::Nothing => {
                    (off(i, other).abs() - off(i, x).abs()) / scale
                }
                Family::DiscreteGaussian | Family::Gaussian => {
                    (square(off(i, other)) - square(off(i, x))) / (2.0 * scale * scale)
                }
            }
        });
        each.sum()
    }

    /// lambda or sigma of a count.
    fn scale(&self, subject: &Subject, i: usize) -> f64 {
        let level = match subject {
            Subject::Hierarchy(table) => table.hierarchy.level(i),
            Subject::Table(_) => 0,
        };
        self.cell.calibration.scales[level]
    }
}
