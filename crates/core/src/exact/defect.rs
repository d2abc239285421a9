//! What cutting has left out of a table, value by value: the certificate of skewed laws.

use super::Table;
use super::table::convolution;
use crate::error::Result;
use crate::law::Law;
use std::ops::RangeInclusive;

/// Upper bounds of what a [`Table`] lacks of the sequence m that it stands for, in the table's own scale.
///
/// A table is cut where little of *its own* mass lies. What weighs on its values afterwards (the weights of ancestors under
/// non-negativity) may favour just those that were cut: a bound of the mass that is lost says nothing then. This one is
/// carried along value by value, so that it is weighted as the table is, and holds for any weights.
///
/// All sequences here are log-concave: integer laws within bounds, their convolutions, their products. Beyond an end of a
/// table they therefore fall at least as fast as a geometric series through two of their values.
#[derive(Debug, Clone)]
pub(super) struct Defect {
    /// By entry of the table: at most so much is missing of m there.
    missing: Vec<f64>,
    /// Before and after the table.
    tails: [Tail; 2],
}

/// `m <= first, first ratio, first ratio², …` from the first integer beyond an end on; `first` is 0 where m ends there.
#[derive(Debug, Clone, Copy)]
struct Tail {
    first: f64,
    ratio: f64,
}

impl Tail {
    const NONE: Self = Self { first: 0.0, ratio: 0.0 };

    fn sum(self) -> f64 {
        match self.first {
            0.0 => 0.0,
            first if self.ratio < 1.0 => first / (1.0 - self.ratio),
            _ => f64::INFINITY,
        }
    }
}

/// How tables are cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Both tails together lose at most this fraction of a table's mass.
    pub(super) tails: f64,
    /// Whether entries at the ends of which more than half may be missing are cut as well.
    pub(super) sound_ends: bool,
}

impl Defect {
    /// The defect of a table of `law` with the weights `w(z) e^(tilt z)` on `floor <= z <= ceiling`.
    pub(super) fn of_law<L: Law<Value = i64>>(
        table: &Table,
        law: &L,
        (floor, ceiling): (i64, i64),
        tilt: f64,
    ) -> Self {
        let log_weight = |z: i64| law.log_weight(z) + tilt * z as f64;
        let fall = |z: i64, step: i64| libm::exp(log_weight(z + step) - log_weight(z));
        let tail = |end: i64, step: i64, last: i64| match end == last {
            true => Tail::NONE,
            false => Tail {
                first: (table.at(end) * fall(end, step)).max(f64::MIN_POSITIVE),
                ratio: fall(end + step, step),
            },
        };
        let (lo, hi) = table.support().into_inner();
        Self { missing: vec![0.0; table.entries().len()], tails: [tail(lo, -1, floor), tail(hi, 1, ceiling)] }
    }

    /// The defect of a sum of free terms that goes on beyond its table: `missing(t)` bounds what may be wrong at t;
    /// `next`: at most the sum's values beside the table.
    pub(super) fn of_sum(table: &Table, missing: impl Fn(i64) -> f64, next: [f64; 2]) -> Self {
        Self::beside(table, table.support().map(missing).collect(), next)
    }

    /// The defect by `missing`, entry by entry, and `next`: at most m at the integers next to the table; more is known
    /// from log-concavity.
    fn beside(table: &Table, missing: Vec<f64>, next: [f64; 2]) -> Self {
        let p = table.entries();
        let tail = |side: usize| {
            if next[side] == 0.0 {
                return Tail::NONE;
            }
            let inwards = |k: usize| if side == 0 { k } else { p.len() - 1 - k };
            // Entries may also be too large, where terms that have bounds were taken for free.
            let least = |k: usize| (p[inwards(k)] - missing[inwards(k)]).max(0.0);
            // m falls outwards from a place where it is at most `most` by no less than from an entry k steps inside to
            // there, in k equal steps.
            let ratio = |most: f64, place: usize| {
                let steps = std::iter::successors(Some(1usize), |k| Some(2 * k));
                steps
                    .take_while(|k| place + k <= p.len())
                    .map(|k| libm::pow(most / least(place + k - 1), 1.0 / k as f64))
                    .fold(f64::INFINITY, f64::min)
            };
            let end = p[inwards(0)] + missing[inwards(0)];
            let from_end = ratio(end, 1);
            let first = next[side].min(end * from_end).max(f64::MIN_POSITIVE);
            Tail { first, ratio: from_end.min(ratio(first, 0)) }
        };
        let tails = [tail(0), tail(1)];
        Self { missing, tails }
    }

    /// The table of the sum of two independent terms, and what it lacks: what one of them lacks, and what values beyond an
    /// end of one of the tables would give. Entries stay in the scale of both tables' products, though those that were cut
    /// for their ends held some of the mass: a split draws from these products.
    ///
    /// Errors: as [`Table::convolve`].
    pub(super) fn convolve(
        (left, of_left): (&Table, &Self),
        (right, of_right): (&Table, &Self),
        cut: Cut,
    ) -> Result<(Table, Self)> {
        let p = convolution(left.entries(), right.entries())?;
        let [most_left, most_right] = [(left, of_left), (right, of_right)].map(|(table, of)| {
            table.entries().iter().zip(&of.missing).map(|(x, y)| x + y).collect::<Vec<_>>()
        });
        let mut missing = vec![0.0; p.len()];
        for (a, b) in [(&of_right.missing[..], left.entries()), (&of_left.missing, &most_right)] {
            if a.iter().any(|x| *x > 0.0) {
                let more = convolution(a, b)?;
                missing.iter_mut().zip(more).for_each(|(sum, x)| *sum += x);
            }
        }
        let (ls, rs) = (left.support(), right.support());
        let (lo, hi) = (ls.start() + rs.start(), ls.end() + rs.end());
        let tails = [of_left.tails, of_right.tails];
        let mut outside = Outside { first: lo - 1, sums: vec![0.0; p.len() + 2] };
        outside.one(&most_left, &ls, of_right.tails, &rs);
        outside.one(&most_right, &rs, of_left.tails, &ls);
        outside.both(tails[0][0], tails[1][1], ls.start() + rs.end(), hi + 1);
        outside.both(tails[1][0], tails[0][1], rs.start() + ls.end(), hi + 1);
        if tails.as_flattened().iter().any(|tail| tail.sum() == f64::INFINITY) {
            outside.sums.fill(f64::INFINITY);
        }
        missing.iter_mut().zip(&outside.sums[1..]).for_each(|(sum, x)| *sum += x);
        let next = [(0, outside.sums[0]), (1, outside.sums[p.len() + 1])].map(|(side, most)| {
            let closed = tails[0][side].first == 0.0 && tails[1][side].first == 0.0;
            if closed { 0.0 } else { most.max(f64::MIN_POSITIVE) }
        });
        let (mut table, mut defect, kept) = Self::cut(lo, p, missing, next, left.lost() + right.lost(), cut)?;
        if cut.sound_ends {
            table.scale(kept);
            defect.missing.iter_mut().for_each(|x| *x *= kept);
            defect.tails.iter_mut().for_each(|tail| tail.first *= kept);
        }
        table.add_log_mass(left.log_mass() + right.log_mass());
        Ok((table, defect))
    }

    /// The table of a term that is kept with probability `w(z) e^(tilt z)` up to a factor, and what it lacks.
    ///
    /// Errors: as [`Table::weighted`].
    pub(super) fn weighted<L: Law<Value = i64>>(
        &self,
        table: &Table,
        law: &L,
        tilt: f64,
        cut: Cut,
    ) -> Result<(Table, Self)> {
        let log_weight = |z: i64| law.log_weight(z) + if tilt == 0.0 { 0.0 } else { tilt * z as f64 };
        let (lo, hi) = table.support().into_inner();
        // Without a tilt as the plain table: weights are relative to that of 0.
        let top = match tilt {
            0.0 => 0.0,
            _ => (lo..=hi).map(log_weight).fold(f64::NEG_INFINITY, f64::max),
        };
        let weight = |z: i64| libm::exp(log_weight(z) - top);
        let p = (lo..=hi).zip(table.entries()).map(|(z, p)| p * weight(z)).collect();
        let missing = (lo..=hi).zip(&self.missing).map(|(z, m)| if *m == 0.0 { 0.0 } else { m * weight(z) });
        let next =
            [(lo - 1, self.tails[0].first), (hi + 1, self.tails[1].first)].map(|(z, first)| match first {
                0.0 | f64::INFINITY => first,
                _ => (first * weight(z)).max(f64::MIN_POSITIVE),
            });
        let (mut weighted, mut defect, _) = Self::cut(lo, p, missing.collect(), next, table.lost(), cut)?;
        // Where nothing was cut the series falls as before, and as the weights do beside.
        for (side, end, step) in [(0, lo, -1), (1, hi, 1)] {
            if weighted.support().contains(&end) {
                let fall = libm::exp(log_weight(end + 2 * step) - log_weight(end + step));
                defect.tails[side].ratio = defect.tails[side].ratio.min(self.tails[side].ratio * fall);
            }
        }
        weighted.add_log_mass(table.log_mass() + top);
        Ok((weighted, defect))
    }

    /// `p` on `lo, lo + 1, …` as a table; `next`: at most m beside it. Also what its entries were divided by.
    fn cut(
        lo: i64,
        p: Vec<f64>,
        missing: Vec<f64>,
        next: [f64; 2],
        lost: f64,
        cut: Cut,
    ) -> Result<(Table, Self, f64)> {
        let sound = |i: &usize| !cut.sound_ends || missing[*i] <= 0.5 * p[*i];
        let first = (0..p.len()).find(sound).unwrap_or(0);
        let last = (0..p.len()).rev().find(sound).unwrap_or(p.len() - 1);
        let table = Table::from_weights(lo + first as i64, p[first..=last].to_vec(), lost, cut.tails)?;
        let first = (table.support().start() - lo) as usize;
        let end = first + table.entries().len();
        let largest = (first..end).max_by(|&i, &j| p[i].total_cmp(&p[j])).unwrap_or(first);
        let scale = table.entries()[largest - first] / p[largest];
        let most = |i: usize| p[i] + missing[i];
        let next = [
            if first > 0 { most(first - 1) } else { next[0] },
            if end < p.len() { most(end) } else { next[1] },
        ];
        let next = next.map(|x| if x == 0.0 { 0.0 } else { (x * scale).max(f64::MIN_POSITIVE) });
        let missing = missing[first..end].iter().map(|x| x * scale).collect();
        let defect = Self::beside(&table, missing, next);
        Ok((table, defect, 1.0 / scale))
    }

    /// The share of m that the table lacks: an upper bound on the total variation distance between draws of both.
    pub(super) fn share(&self, table: &Table) -> f64 {
        let lost = self.missing.iter().sum::<f64>() + self.tails[0].sum() + self.tails[1].sum();
        let share = lost / table.entries().iter().sum::<f64>();
        if share < 1.0 { share } else { 1.0 }
    }

    /// An upper bound on the share of `m(z)` that the table lacks at its value `z`, at most 1.
    pub(super) fn share_at(&self, table: &Table, z: i64) -> f64 {
        let share = self.missing[(z - table.support().start()) as usize] / table.at(z);
        if share < 1.0 { share } else { 1.0 }
    }
}

/// By sum, from `first` on: at most what pairs of terms give of which one or both lie beyond their tables.
struct Outside {
    first: i64,
    sums: Vec<f64>,
}

impl Outside {
    /// One term in its table, of which `most` is a bound; the other one beyond its own.
    fn one(
        &mut self,
        most: &[f64],
        support: &RangeInclusive<i64>,
        tails: [Tail; 2],
        other: &RangeInclusive<i64>,
    ) {
        let first = self.first;
        let at = |z: i64| most.get((z - support.start()) as usize).copied().unwrap_or(0.0);
        let mut series = 0.0;
        for (t, sum) in (first..).zip(&mut self.sums) {
            series = series * tails[1].ratio + tails[1].first * at(t - other.end() - 1);
            *sum += series;
        }
        series = 0.0;
        for (i, sum) in self.sums.iter_mut().enumerate().rev() {
            series = series * tails[0].ratio + tails[0].first * at(first + i as i64 - other.start() + 1);
            *sum += series;
        }
    }

    /// One term before its table, the other one after its own; `between`: the sum of these two ends.
    fn both(&mut self, low: Tail, high: Tail, between: i64, last: i64) {
        if low.first * high.first == 0.0 {
            return;
        }
        let start = low.first * high.first / (1.0 - low.ratio * high.ratio);
        let mut series = start;
        for t in between..=last {
            self.sums[(t - self.first) as usize] += series;
            series *= high.ratio;
        }
        series = start * low.ratio;
        for t in (self.first..between).rev() {
            self.sums[(t - self.first) as usize] += series;
            series *= low.ratio;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Table;
    use crate::invariant::NO_UPPER;
    use crate::law::{DiscreteGaussian, DoubleGeometric};

    /// A sequence that nothing is cut of, on its whole range.
    type Whole = (i64, Vec<f64>);

    fn whole<L: Law<Value = i64>>(law: &L, floor: i64, tilt: f64) -> Whole {
        let last = 40 * libm::ceil(law.scale()) as i64;
        let weight = |z: i64| libm::exp(law.log_weight(z) + tilt * z as f64);
        (floor, (floor..=last).map(weight).collect())
    }

    fn sum(a: &Whole, b: &Whole) -> Whole {
        (a.0 + b.0, convolution(&a.1, &b.1).unwrap())
    }

    /// Everything that a table lacks of its sequence is within the bound, value by value and in all; returns the bound's
    /// share.
    fn assert_bounds(what: &str, (low, m): &Whole, (table, defect): (&Table, &Defect)) -> f64 {
        let (lo, hi) = table.support().into_inner();
        let at = |z: i64| usize::try_from(z - low).ok().and_then(|i| m.get(i)).copied().unwrap_or(0.0);
        // One scale, by what the table says of itself: its largest entry lacks next to nothing.
        let top = (lo..=hi).max_by(|&i, &j| table.at(i).total_cmp(&table.at(j))).unwrap();
        let scale = table.at(top) / at(top);
        let slack = 1e-9;
        for (z, missing) in (lo..=hi).zip(&defect.missing) {
            let lacks = at(z) * scale - table.at(z);
            assert!(
                lacks <= missing * (1.0 + slack) + slack * at(z) * scale,
                "{what} at {z}: {lacks:e} {missing:e}"
            );
        }
        for (side, end, step) in [(0, lo, -1), (1, hi, 1)] {
            let tail = defect.tails[side];
            for k in 1..=60 {
                let most = tail.first * libm::pow(tail.ratio, f64::from(k - 1));
                let z = end + step * i64::from(k);
                assert!(
                    at(z) * scale <= most * (1.0 + 1e-6) + 1e-280,
                    "{what}, tail at {z}: {:e} {most:e}",
                    at(z) * scale
                );
            }
        }
        let inside: f64 = (lo..=hi).map(|z| table.at(z)).sum();
        let lacks = 1.0 - inside / (m.iter().sum::<f64>() * scale);
        assert!(lacks <= defect.share(table) + slack, "{what}: {lacks:e} {:e}", defect.share(table));
        defect.share(table)
    }

    fn chain<L: Law<Value = i64>>(laws: [L; 2], cut: Cut) {
        for (floors, tilt) in [([0, 0], 0.0), ([0, -3], -0.2), ([-1, -40], -0.1), ([-5, -2], -0.3)] {
            let [leaf, node] = &laws;
            let leaves = floors.map(|floor| {
                let table = Table::tilted(leaf, floor, NO_UPPER, tilt, cut.tails).unwrap();
                let defect = Defect::of_law(&table, leaf, (floor, NO_UPPER), tilt);
                let m = whole(leaf, floor, tilt);
                assert_bounds("leaf", &m, (&table, &defect));
                (table, defect, m)
            });
            let [(a, da, ma), (b, db, mb)] = &leaves;
            let (mut table, mut defect) = Defect::convolve((a, da), (b, db), cut).unwrap();
            let mut m = sum(ma, mb);
            let mut share = assert_bounds("two", &m, (&table, &defect));
            for _ in 0..4 {
                let doubled = Defect::convolve((&table, &defect), (&table, &defect), cut).unwrap();
                (table, defect) = (doubled.0, doubled.1);
                m = sum(&m, &m);
                share = share.max(assert_bounds("doubled", &m, (&table, &defect)));
            }
            // Something was cut, so that there was something to bound.
            assert!(share > 1e-2 * cut.tails, "{share:e}");
            let (weighted, of_weighted) = defect.weighted(&table, node, -0.5 - tilt, cut).unwrap();
            let weight = |z: i64| libm::exp(node.log_weight(z) + (-0.5 - tilt) * z as f64);
            let pulled: Whole = (m.0, (m.0..).zip(&m.1).map(|(z, m)| m * weight(z)).collect());
            assert_bounds("weighted", &pulled, (&weighted, &of_weighted));
        }
    }

    /// Against sequences that nothing is cut of, for cuts so coarse that much is missing.
    #[test]
    fn what_is_missing_is_bounded() {
        for tails in [1e-2, 1e-4, 1e-9] {
            for sound_ends in [false, true] {
                let cut = Cut { tails, sound_ends };
                chain([1.5, 2.0].map(|scale| DoubleGeometric::new(scale).unwrap()), cut);
                chain([2.5, 6.0].map(|sigma| DiscreteGaussian::new(sigma).unwrap()), cut);
            }
        }
    }
}
