//! How sums were split before: what draws of one posterior have in common.

use crate::rng::{Alias, Rng, open01};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sums that have a place for their row: 40 bytes each.
const SUMS: usize = 1 << 20;
/// Columns of all rows together: 8 bytes each.
const ROOM: usize = 1 << 24;

/// Rows of splits, each made when its sum is split for the first time, as long as there is room.
///
/// A row only saves time: where there is no room it is made again, so that no draw depends on those before it.
#[derive(Debug)]
pub(super) struct Splits {
    rows: Vec<OnceLock<Row>>,
    room: AtomicUsize,
}

impl Splits {
    /// `sums`: that are split, of all parts. Where they are more than fit there are no rows, and weights are walked over.
    pub(super) fn new(sums: usize) -> Self {
        let rows = if sums > SUMS { 0 } else { sums };
        Self { rows: (0..rows).map(|_| OnceLock::new()).collect(), room: AtomicUsize::new(ROOM) }
    }

    /// The place that one word takes among the weights of a split, by the number of its sum.
    #[inline]
    pub(super) fn draw<R: Rng + ?Sized, W: Iterator<Item = f64> + Clone>(
        &self,
        sum: usize,
        rng: &mut R,
        weights: impl FnOnce() -> W,
    ) -> usize {
        match self.rows.get(sum) {
            None => walked(open01(rng), weights()),
            Some(row) => match row.get() {
                Some(row) => row.place(rng.next_u64()),
                None => self.make(row, rng.next_u64(), weights()),
            },
        }
    }

    #[cold]
    fn make(&self, place: &OnceLock<Row>, word: u64, weights: impl Iterator<Item = f64>) -> usize {
        let row = Row::new(&weights.collect::<Vec<_>>());
        let drawn = row.place(word);
        let fits = |room: usize| room.checked_sub(row.columns);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok() {
            // Another thread's is the same.
            let _ = place.set(row);
        }
        drawn
    }
}

/// The first place where the weights up to it add up to more than the share `u` of all; the last with a weight where rounding lets none be.
pub(super) fn walked(u: f64, weights: impl Iterator<Item = f64> + Clone) -> usize {
    let sum = |sum: &mut f64, weight: f64| {
        *sum += weight;
        Some(*sum)
    };
    let total = weights.clone().scan(0.0, sum).last().unwrap_or(0.0);
    let (target, mut last, mut before) = (u * total, 0, 0.0);
    for (place, sum) in weights.scan(0.0, sum).enumerate() {
        if sum > target {
            return place;
        }
        if sum > before {
            (last, before) = (place, sum);
        }
    }
    last
}

/// The weights of a split, one word a draw.
#[derive(Debug)]
pub(super) struct Row {
    alias: Alias,
    columns: usize,
    /// Places before those that have a column.
    before: usize,
}

impl Row {
    /// `weights`: finite, >= 0, not all 0.
    pub(super) fn new(weights: &[f64]) -> Self {
        // What is below has no share of a table in units of 2^-63.
        let least = weights.iter().copied().fold(0.0, f64::max) * libm::scalbn(1.0, -64);
        let counts = |weight: &f64| *weight > least;
        let before = weights.iter().position(counts).unwrap_or(0);
        let end = weights.iter().rposition(counts).map_or(weights.len(), |last| last + 1);
        let own = &weights[before..end];
        Self { alias: Alias::new(own), columns: own.len().next_power_of_two(), before }
    }

    /// The place that the higher 63 bits of a word take.
    #[inline]
    pub(super) fn place(&self, word: u64) -> usize {
        self.before + self.alias.at(word >> 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::below;
    use crate::testing::test_stream;

    /// A row has the law of its weights, whatever is left out of it; so have places by a walk, on a grid of numbers.
    #[test]
    fn rows_have_the_law_of_their_weights() {
        let mut rng = test_stream(143);
        for _ in 0..400 {
            let number = 1 + below(&mut rng, 90) as usize;
            let weight = |_| match below(&mut rng, 4) {
                0 => 0.0,
                1 => libm::exp(-60.0 * open01(&mut rng)),
                _ => open01(&mut rng),
            };
            let weights: Vec<f64> = (0..number).map(weight).collect();
            let total: f64 = weights.iter().sum();
            if total == 0.0 {
                continue;
            }
            let row = Row::new(&weights);
            let shares = row.alias.shares();
            for (place, weight) in weights.iter().enumerate() {
                let share =
                    place.checked_sub(row.before).and_then(|column| shares.get(column)).copied().unwrap_or(0);
                let p = share as f64 / (1u64 << 63) as f64;
                assert!((p - weight / total).abs() < 3e-16, "{place}: {p} {weight} {total}");
            }
            let steps = 1000;
            let mut seen = vec![0.0; number];
            (0..steps).for_each(|k| {
                seen[walked((k as f64 + 0.5) / steps as f64, weights.iter().copied())] += 1.0 / steps as f64;
            });
            assert!(
                seen.iter().zip(&weights).all(|(p, weight)| (p - weight / total).abs() < 1.5 / steps as f64)
            );
        }
    }

    /// A draw is the same whether its row was there, is made, or has no room; past all places there are none.
    #[test]
    fn draws_do_not_depend_on_rows() {
        let mut rng = test_stream(144);
        let weights: Vec<f64> = (0..40).map(|_| open01(&mut rng)).collect();
        let (with, without) = (Splits::new(3), Splits::new(3));
        without.room.store(63, Ordering::Relaxed);
        let draws = |splits: &Splits| -> Vec<usize> {
            let mut rng = test_stream(145);
            (0..1000).map(|_| splits.draw(2, &mut rng, || weights.iter().copied())).collect()
        };
        let first = draws(&with);
        assert_eq!((with.rows[2].get().is_some(), without.rows[2].get().is_some()), (true, false));
        assert!(draws(&with) == first && draws(&without) == first);
        assert!(Splits::new(SUMS + 1).rows.is_empty());
        let walks = draws(&Splits::new(SUMS + 1));
        assert!(walks != first && walks.iter().all(|place| *place < 40));
    }
}
