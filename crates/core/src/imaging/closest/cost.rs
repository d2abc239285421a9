//! What a sum of entries costs: the L1 distance, by segments of one slope.

use super::super::flow::{Convex, tie_weight};
use crate::invariant::{Lower, NO_LOWER, NO_UPPER, Upper};
use crate::rng::Rng;

/// Fractional parts are read to `2^-UNIT`: what is below is rounding of the projection.
const UNIT: u32 = 18;
/// Weights that break ties are below `2^TIE` in size.
const TIE: u32 = 18;
/// A unit of distance is `2^SHIFT`: more than the weights along any step of at most [`LONGEST`] entries.
const SHIFT: u32 = 30;
/// Largest L1 norm of a step.
pub(super) const LONGEST: u64 = 1 << (SHIFT - TIE - 1);
/// Length of a segment that has no end.
const FAR: i64 = 1 << 50;
/// Stands for no entry.
const NO_ENTRY: u32 = u32::MAX;

/// Units of a sum that cost the same, one after the other.
#[derive(Debug, Clone, Copy)]
struct Segment {
    slope: i64,
    length: i64,
    entry: u32,
}

/// A segment, and how much of it is used; all before it are full and all after it empty.
type At = (usize, i64);

/// For groups of entries, the least cost `Σ |y_i - z_i| + w_i y_i` of their sum, and where every sum stands.
///
/// The cost of an entry has three slopes: -1 up to `floor(z)`, `1 - 2 frac(z)` to `floor(z) + 1`, and 1 from there. That of the
/// sum of a group takes the segments of its entries in the order of their slopes, and so is convex. The weights `w` decide
/// between sums of equal distance alone: all of them along a step weigh less than one unit of distance. A group without entries
/// is a slack: it costs nothing.
#[derive(Debug, Default)]
pub(super) struct Costs {
    segments: Vec<Segment>,
    starts: Vec<usize>,
    at: Vec<At>,
    sums: Vec<i64>,
    floors: Vec<i64>,
    weights: Vec<i64>,
}

impl Costs {
    /// Begins anew, with a weight for each of n entries.
    pub(super) fn begin<R: Rng + ?Sized>(&mut self, rng: &mut R, n: usize) {
        self.segments.clear();
        self.starts.clear();
        self.starts.push(0);
        self.at.clear();
        self.sums.clear();
        self.floors.clear();
        self.floors.resize(n, 0);
        self.weights.clear();
        self.weights.extend((0..n).map(|_| tie_weight(rng, TIE)));
    }

    /// The next group: its entries, each with its z. It stands where it costs least.
    pub(super) fn group(&mut self, entries: impl Iterator<Item = (u32, f64)>, lower: &Lower, upper: &Upper) {
        let start = self.segments.len();
        let mut sum = 0;
        for (entry, z) in entries {
            let i = entry as usize;
            let floor = libm::floor(z);
            let mut part = libm::rint((z - floor) * (1u64 << UNIT) as f64) as i64;
            let mut floor = floor as i64;
            if part == 1 << UNIT {
                (floor, part) = (floor + 1, 0);
            }
            // Of a projection to rounding.
            if floor < lower[i] || floor >= upper[i] {
                (floor, part) = (floor.clamp(lower[i], upper[i]), 0);
            }
            self.floors[i] = floor;
            sum += floor;
            let below = if lower[i] == NO_LOWER { FAR } else { floor.saturating_sub(lower[i]).min(FAR) };
            let above = if upper[i] == NO_UPPER { FAR } else { upper[i].saturating_sub(floor).min(FAR) };
            let one = 1 << UNIT;
            for (slope, length) in
                [(-one, below), (one - 2 * part, above.min(1)), (one, above - above.min(1))]
            {
                if length > 0 {
                    let slope = (slope << SHIFT) + self.weights[i];
                    self.segments.push(Segment { slope, length, entry });
                }
            }
        }
        self.segments[start..].sort_unstable_by_key(|segment| (segment.slope, segment.entry));
        let mut at = start;
        while at < self.segments.len() && self.segments[at].slope < 0 {
            let Segment { slope, length, .. } = self.segments[at];
            sum += if slope < -(1 << (SHIFT + UNIT)) + (1 << TIE) { 0 } else { length };
            at += 1;
        }
        self.place(at, 0, sum);
    }

    /// The next group: a slack of at least `least`, which stands at `value`.
    pub(super) fn slack(&mut self, least: i64, value: i64) {
        let used = value.max(least) - least;
        self.segments.push(Segment { slope: 0, length: FAR, entry: NO_ENTRY });
        self.place(self.segments.len() - 1, used, least + used);
    }

    fn place(&mut self, at: usize, used: i64, sum: i64) {
        self.starts.push(self.segments.len());
        self.at.push((at, used));
        self.sums.push(sum);
    }

    #[inline]
    fn after(&self, group: usize, (at, used): At) -> Option<(At, i64, i64)> {
        let end = self.starts[group + 1];
        if at < end && used < self.segments[at].length {
            let Segment { slope, length, .. } = self.segments[at];
            return Some(((at, used), slope, length - used));
        }
        let Segment { slope, length, .. } = *self.segments[..end].get(at + 1)?;
        Some(((at + 1, 0), slope, length))
    }

    #[inline]
    fn before(&self, group: usize, (at, used): At) -> Option<(At, i64, i64)> {
        let start = self.starts[group];
        if used > 0 {
            return Some(((at, used), self.segments[at].slope, used));
        }
        let Segment { slope, length, .. } = *self.segments[start..].get((at - start).checked_sub(1)?)?;
        Some(((at - 1, length), slope, length))
    }

    /// Where a group stands after a step, and what that costs. `None`: its bounds do not allow it.
    fn walk(&self, group: usize, step: i64) -> Option<(At, i128)> {
        let (mut at, mut cost, mut left) = (self.at[group], 0i128, step);
        while left > 0 {
            let ((segment, used), slope, room) = self.after(group, at)?;
            let taken = left.min(room);
            at = (segment, used + taken);
            cost += i128::from(slope) * i128::from(taken);
            left -= taken;
        }
        while left < 0 {
            let ((segment, used), slope, room) = self.before(group, at)?;
            let taken = room.min(-left);
            at = (segment, used - taken);
            cost -= i128::from(slope) * i128::from(taken);
            left += taken;
        }
        Some((at, cost))
    }

    /// What a step of a group costs. `None`: its bounds do not allow it.
    pub(super) fn price(&self, group: usize, step: i64) -> Option<i128> {
        self.walk(group, step).map(|(_, cost)| cost)
    }

    /// The entries, by the segments that are used.
    pub(super) fn integers(&self, mut set: impl FnMut(u32, i64)) {
        let mut values = self.floors.clone();
        for (group, &(at, used)) in self.at.iter().enumerate() {
            let start = self.starts[group];
            for (k, segment) in self.segments[start..self.starts[group + 1]].iter().enumerate() {
                let Segment { slope, length, entry } = *segment;
                if entry == NO_ENTRY {
                    continue;
                }
                let full = if start + k < at { length } else { if start + k == at { used } else { 0 } };
                let below = slope < -(1 << (SHIFT + UNIT)) + (1 << TIE);
                values[entry as usize] += if below { full - length } else { full };
            }
        }
        values.into_iter().enumerate().for_each(|(i, value)| set(i as u32, value));
    }
}

/// By group, its sum.
impl Convex for Costs {
    fn sum(&self, group: usize) -> i64 {
        self.sums[group]
    }

    #[inline]
    fn up(&self, group: usize) -> Option<(i64, i64)> {
        self.after(group, self.at[group]).map(|(_, slope, room)| (slope, room))
    }

    #[inline]
    fn down(&self, group: usize) -> Option<(i64, i64)> {
        self.before(group, self.at[group]).map(|(_, slope, room)| (-slope, room))
    }

    fn step(&mut self, group: usize, step: i64) -> bool {
        let Some((at, _)) = self.walk(group, step) else { return false };
        self.at[group] = at;
        self.sums[group] += step;
        true
    }
}
