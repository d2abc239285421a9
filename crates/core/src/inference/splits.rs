//! How sums were split before: what draws of one posterior have in common.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sums that have a place for their row: 48 bytes each.
const SUMS: usize = 1 << 20;
/// Weights of all rows together: 10 bytes each.
const ROOM: usize = 1 << 24;

/// Rows of splits, each made when its sum is split for the first time, as long as there is room.
///
/// A row only saves time: it gives the place that a walk over the weights gives ([`walked`]), so that no draw depends on those before it.
#[derive(Debug)]
pub(super) struct Splits {
    /// By part, the row of its lowest sum.
    first: Vec<u32>,
    rows: Vec<OnceLock<Row>>,
    room: AtomicUsize,
}

impl Splits {
    /// `sums`: by part, how many sums it has that are split. Where all are more than fit there are no rows.
    pub(super) fn new(sums: impl Iterator<Item = usize>) -> Self {
        let (mut first, mut rows) = (Vec::new(), 0usize);
        for sums in sums {
            first.push(u32::try_from(rows).unwrap_or(u32::MAX));
            rows = rows.saturating_add(sums);
        }
        let rows = if rows > SUMS { 0 } else { rows };
        Self { first, rows: (0..rows).map(|_| OnceLock::new()).collect(), room: AtomicUsize::new(ROOM) }
    }

    /// The place that a uniform number takes among the weights of a split: of a part, its sum by place.
    pub(super) fn place(
        &self,
        (part, sum): (usize, usize),
        u: f64,
        weights: impl ExactSizeIterator<Item = f64> + Clone,
    ) -> usize {
        let Some(row) = self.rows.get(self.first[part] as usize + sum) else { return walked(u, weights) };
        if let Some(row) = row.get() {
            return row.place(u);
        }
        let needed = weights.len();
        let fits = |room: usize| room.checked_sub(needed);
        if needed > usize::from(u16::MAX)
            || self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err()
        {
            return walked(u, weights);
        }
        row.get_or_init(|| Row::new(weights)).place(u)
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

/// The weights of a split, added up from the first.
#[derive(Debug)]
struct Row {
    sums: Box<[f64]>,
    /// By as many equal shares of the total, a place at or below those that numbers in it take (Chen, Asau 1974).
    guide: Box<[u16]>,
    /// The last place with a weight.
    last: u16,
}

impl Row {
    fn new(weights: impl ExactSizeIterator<Item = f64>) -> Self {
        let (mut total, mut last) = (0.0, 0);
        let sum = |(place, weight): (usize, f64)| {
            let before = total;
            total += weight;
            last = if total > before { place as u16 } else { last };
            total
        };
        let sums: Box<[f64]> = weights.enumerate().map(sum).collect();
        let mut place = 0;
        let below = |share: usize| {
            let target = share as f64 / sums.len() as f64 * total;
            while place + 1 < sums.len() && sums[place] <= target {
                place += 1;
            }
            place as u16
        };
        let guide = (0..sums.len()).map(below).collect();
        Self { sums, guide, last }
    }

    fn place(&self, u: f64) -> usize {
        let Some(total) = self.sums.last() else { return 0 };
        let target = u * total;
        let mut place =
            usize::from(self.guide[((u * self.sums.len() as f64) as usize).min(self.sums.len() - 1)]);
        // Rounding may have led beyond it.
        while place > 0 && self.sums[place - 1] > target {
            place -= 1;
        }
        while self.sums[place] <= target {
            place += 1;
            if place == self.sums.len() {
                return usize::from(self.last);
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{below, open01};
    use crate::testing::test_stream;

    /// A row takes the place that a walk over the weights takes, also where a number lies on an end of a weight, and once there is no
    /// room.
    #[test]
    fn rows_take_the_places_of_a_walk() {
        let mut rng = test_stream(143);
        for case in 0..400 {
            let number = 1 + below(&mut rng, 90) as usize;
            let weight = |_| match below(&mut rng, 4) {
                0 => 0.0,
                1 => libm::exp(-60.0 * open01(&mut rng)),
                _ => open01(&mut rng),
            };
            let weights: Vec<f64> = (0..number).map(weight).collect();
            if weights.iter().all(|weight| *weight == 0.0) {
                continue;
            }
            let total: f64 = weights.iter().sum();
            let mut sum = 0.0;
            let ends: Vec<f64> = weights
                .iter()
                .map(|weight| {
                    sum += weight;
                    sum / total
                })
                .collect();
            let near = ends.iter().flat_map(|end| [end - 1e-16, *end, end + 1e-16]);
            let mut numbers: Vec<f64> = near.filter(|u| *u > 0.0 && *u < 1.0).collect();
            numbers.extend((0..200).map(|_| open01(&mut rng)));
            let splits = Splits::new([0, 3, 7].into_iter());
            if case % 2 == 1 {
                splits.room.store(number - 1, Ordering::Relaxed);
            }
            for u in numbers {
                let walk = walked(u, weights.iter().copied());
                assert!(weights[walk] > 0.0, "{u} {weights:?}");
                let place = splits.place((2, 4), u, weights.iter().copied());
                assert_eq!(place, walk, "{u} {weights:?}");
            }
            let made = splits.rows.iter().filter(|row| row.get().is_some()).count();
            assert_eq!(made, usize::from(case % 2 == 0));
        }
        assert!(Splits::new([SUMS, 1].into_iter()).rows.is_empty());
    }
}
