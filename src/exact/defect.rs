//! What cutting has left out of a table, value by value: the certificate of skewed laws.

use super::Table;
use super::table::convolution;
use crate::error::Result;
use crate::law::Law;

/// Upper bounds of what a [`Table`] lacks of the sequence m that it stands for, in the table's own scale.
///
/// A table is cut where little of *its own* mass lies. What weighs on its values afterwards (the weights of ancestors under
/// non-negativity) may favour just those that were cut: a bound of the mass that is lost says nothing then. This one is
/// carried along value by value, so that it is weighted as the table is, and holds for any weights.
///
/// All sequences here are log-concave: integer laws within bounds, their convolutions, their products. Beyond the end `a`
/// of a table therefore `m(a - k) <= m(a - 1) r^(k - 1)` with `r = m(a - 1)/m(a)`, a geometric series.
#[derive(Debug, Clone)]
pub(super) struct Defect {
    /// By entry of the table: at most so much is missing of m there.
    missing: Vec<f64>,
    /// At most m at the last integer before and the first after the table; 0 where m ends with it.
    beyond: [f64; 2],
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
    /// Of a table of `law` with the weights `w(z) e^(tilt z)` on `floor <= z <= ceiling`.
    pub(super) fn of_law<L: Law<Value = i64>>(
        table: &Table,
        law: &L,
        (floor, ceiling): (i64, i64),
        tilt: f64,
    ) -> Self {
        let (lo, hi) = (*table.support().start(), *table.support().end());
        let after = |end: i64, step: i64, last: i64| match end == last {
            true => 0.0,
            false => {
                let fall = law.log_weight(end + step) - law.log_weight(end) + tilt * step as f64;
                (table.at(end) * libm::exp(fall)).max(f64::MIN_POSITIVE)
            }
        };
        Self {
            missing: vec![0.0; table.entries().len()],
            beyond: [after(lo, -1, floor), after(hi, 1, ceiling)],
        }
    }

    /// Of a sum of free terms that goes on beyond its table, of which `missing(t)` may be wrong at t.
    pub(super) fn of_sum(table: &Table, missing: impl Fn(i64) -> f64) -> Self {
        let mut defect = Self { missing: table.support().map(missing).collect(), beyond: [0.0; 2] };
        defect.beyond = [defect.continued(table, 0), defect.continued(table, 1)];
        defect
    }

    /// The largest value that log-concavity allows next to an end.
    fn continued(&self, table: &Table, side: usize) -> f64 {
        let p = table.entries();
        let (end, next) = if side == 0 { (0, 1) } else { (p.len() - 1, p.len().wrapping_sub(2)) };
        match p.get(next) {
            Some(&next) if next > 0.0 => {
                let end = p[end] + self.missing[end];
                (end * end / next).max(f64::MIN_POSITIVE)
            }
            _ => f64::INFINITY,
        }
    }

    /// At most m at `z`, which lies in the table or next to it.
    fn most(&self, table: &Table, z: i64) -> f64 {
        let support = table.support();
        if z < *support.start() {
            self.beyond[0]
        } else if z > *support.end() {
            self.beyond[1]
        } else {
            table.at(z) + self.missing[(z - support.start()) as usize]
        }
    }

    /// The table of the sum of two independent terms, and what it lacks: what one of them lacks, and what only values beyond
    /// an end of one of the tables would give.
    ///
    /// Errors: as [`Table::convolve`].
    pub(super) fn convolve(
        (left, of_left): (&Table, &Self),
        (right, of_right): (&Table, &Self),
        cut: Cut,
    ) -> Result<(Table, Self)> {
        let (l, r) = (left.entries(), right.entries());
        let p = convolution(l, r)?;
        let mut missing = vec![0.0; p.len()];
        let mut add = |a: &[f64], b: &[f64]| -> Result<()> {
            if a.iter().any(|x| *x > 0.0) {
                let more = convolution(a, b)?;
                missing.iter_mut().zip(more).for_each(|(sum, x)| *sum += x);
            }
            Ok(())
        };
        let most_right: Vec<f64> = r.iter().zip(&of_right.missing).map(|(x, y)| x + y).collect();
        add(&of_right.missing, l)?;
        add(&of_left.missing, &most_right)?;
        let (ls, rs) = (left.support(), right.support());
        let lo = ls.start() + rs.start();
        // A geometric series from its first term on, with the term before it.
        let series = |first: f64, before: f64| match first {
            0.0 => 0.0,
            _ if first < before => first / (1.0 - first / before),
            _ => f64::INFINITY,
        };
        let both = |x: i64, t: i64| of_left.most(left, x) * of_right.most(right, t - x);
        for (t, missing) in (lo..).zip(&mut missing) {
            let a = (*ls.start()).max(t - rs.end());
            let b = (*ls.end()).min(t - rs.start());
            let kept = |x: i64| left.at(x) * right.at(t - x);
            *missing += series(both(a - 1, t), kept(a)) + series(both(b + 1, t), kept(b));
        }
        // Next to the whole range, if each table has one value: what two series give that start there.
        let next = |side: usize| {
            let closed = of_left.beyond[side] == 0.0 && of_right.beyond[side] == 0.0;
            if closed || l.len() > 1 || r.len() > 1 {
                return if closed { 0.0 } else { f64::INFINITY };
            }
            let term = |a: f64, b: f64, ratio: f64| match a * b {
                0.0 => 0.0,
                first if ratio < 1.0 => first / (1.0 - ratio),
                _ => f64::INFINITY,
            };
            let (lb, rb, other) = (of_left.beyond, of_right.beyond, 1 - side);
            term(l[0], rb[side], lb[other] / l[0] * (rb[side] / r[0]))
                + term(lb[side], r[0], lb[side] / l[0] * (rb[other] / r[0]))
        };
        let beyond = [next(0), next(1)];
        let (mut table, defect) = Self::cut(lo, p, missing, beyond, left.lost() + right.lost(), cut)?;
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
        let support = table.support();
        // Without a tilt as the plain table: weights are relative to that of 0.
        let top = match tilt {
            0.0 => 0.0,
            _ => {
                let log = |(z, p): (i64, &f64)| if *p > 0.0 { log_weight(z) } else { f64::NEG_INFINITY };
                support.clone().zip(table.entries()).map(log).fold(f64::NEG_INFINITY, f64::max)
            }
        };
        let weight = |z: i64| libm::exp(log_weight(z) - top);
        let p = support.clone().zip(table.entries()).map(|(z, p)| p * weight(z)).collect();
        let times =
            |most: f64, z: i64| if most == 0.0 { 0.0 } else { (most * weight(z)).max(f64::MIN_POSITIVE) };
        let missing =
            support.clone().zip(&self.missing).map(|(z, m)| if *m == 0.0 { 0.0 } else { m * weight(z) });
        let beyond = [times(self.beyond[0], support.start() - 1), times(self.beyond[1], support.end() + 1)];
        let missing = missing.collect();
        let (mut weighted, defect) = Self::cut(*support.start(), p, missing, beyond, table.lost(), cut)?;
        weighted.add_log_mass(table.log_mass() + top);
        Ok((weighted, defect))
    }

    fn cut(
        lo: i64,
        mut p: Vec<f64>,
        mut missing: Vec<f64>,
        mut beyond: [f64; 2],
        lost: f64,
        cut: Cut,
    ) -> Result<(Table, Self)> {
        let mut first = 0;
        if cut.sound_ends {
            let sound = |(p, missing): (&f64, &f64)| *missing <= 0.5 * p;
            let left = p.iter().zip(&missing).position(sound).unwrap_or(0);
            let right = p.iter().zip(&missing).rposition(sound).map_or(p.len(), |last| last + 1);
            if left > 0 {
                beyond[0] = p[left - 1] + missing[left - 1];
            }
            if right < p.len() {
                beyond[1] = p[right] + missing[right];
            }
            p.truncate(right);
            p.drain(..left);
            missing.truncate(right);
            missing.drain(..left);
            first = left;
        }
        let whole = p.clone();
        let table = Table::from_weights(lo + first as i64, p, lost, cut.tails)?;
        let left = (*table.support().start() - lo) as usize - first;
        let right = left + table.entries().len();
        if left > 0 {
            beyond[0] = whole[left - 1] + missing[left - 1];
        }
        if right < whole.len() {
            beyond[1] = whole[right] + missing[right];
        }
        let largest = (left..right).max_by(|&i, &j| whole[i].total_cmp(&whole[j])).unwrap_or(left);
        let scale = table.entries()[largest - left] / whole[largest];
        let mut defect = Self {
            missing: missing[left..right].iter().map(|x| x * scale).collect(),
            beyond: beyond.map(|x| if x == 0.0 { 0.0 } else { (x * scale).max(f64::MIN_POSITIVE) }),
        };
        for side in [0, 1] {
            if defect.beyond[side] > 0.0 {
                defect.beyond[side] = defect.beyond[side].min(defect.continued(&table, side));
            }
        }
        Ok((table, defect))
    }

    /// The share of m that the table lacks: an upper bound on the total variation distance between draws of both.
    pub(super) fn share(&self, table: &Table) -> f64 {
        let p = table.entries();
        let tail = |first: f64, before: f64| match first {
            0.0 => 0.0,
            _ if first < before => first / (1.0 - first / before),
            _ => f64::INFINITY,
        };
        let lost = self.missing.iter().sum::<f64>()
            + tail(self.beyond[0], p[0])
            + tail(self.beyond[1], p[p.len() - 1]);
        let share = lost / p.iter().sum::<f64>();
        if share < 1.0 { share } else { 1.0 }
    }
}
