//! One total with bounds: `z_i = clamp(u_i - theta, lower_i, upper_i)`, `Σ z_i = 0`.

use super::Nnl2Scratch;
use super::grid::{GRID, clamp, grid, nearest, power, reach};

/// A component with one total, bounds around 0 and no other row.
#[derive(Debug, Clone)]
pub(super) struct Total {
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// Whether some entry has an upper bound.
    capped: bool,
}

impl Total {
    /// Takes the bounds; the least and the greatest i64 mean no bound.
    pub(super) fn new(lower: &[i64], upper: &[i64]) -> Self {
        let real = |bounds: &[i64]| bounds.iter().map(|&bound| bound as f64).collect();
        let capped = upper.iter().any(|&bound| bound != i64::MAX);
        Self { lower: real(lower), upper: real(upper), capped }
    }

    /// The projection of the values, in units of `2^-bits`; and the bits.
    pub(super) fn project(&self, scratch: &mut Nnl2Scratch) -> u32 {
        let theta = if self.capped { self.by_breakpoints(scratch) } else { self.by_rounds(&scratch.values) };
        let Nnl2Scratch { values, units, .. } = scratch;
        let bounded = || values.iter().zip(&self.lower).zip(&self.upper).map(|((u, l), h)| (*u, *l, *h));
        // Once more from the entries that are free: without the rounding of many steps.
        let between = |u: f64, lower: f64, upper: f64, theta: f64| {
            let z = u - theta;
            z > lower && z < upper
        };
        let (mut sum, mut count) = (0.0, 0u64);
        for (u, lower, upper) in bounded() {
            let free = between(u, lower, upper, theta);
            sum += if free { u } else { clamp(u - theta, lower, upper) };
            count += u64::from(free);
        }
        let theta = if count > 0 { sum / count as f64 } else { theta };
        let z = || bounded().map(|(u, lower, upper)| clamp(u - theta, lower, upper));
        let on = |bits: u32| z().map(move |z| nearest(z * power(bits)) as i64);
        let mut bits = GRID;
        units.extend(on(bits));
        if units.iter().fold(0, |all, m| all | m.unsigned_abs()) >> 52 != 0 {
            bits = grid(z().fold(0.0, |m, z| z.abs().max(m)), GRID);
            units.clear();
            units.extend(on(bits));
        }
        // What rounding left, spread over the free entries; z = 0 is feasible, so that all entries have room for it.
        let mut left = -units.iter().map(|&m| i128::from(m)).sum::<i128>();
        for only_free in [true, false] {
            let each = if only_free { left.abs() / i128::from(count.max(1)) + 1 } else { left.abs() };
            for (unit, (u, lower, upper)) in units.iter_mut().zip(bounded()) {
                if left == 0 {
                    break;
                }
                if only_free && !between(u, lower, upper, theta) {
                    continue;
                }
                let now = i128::from(*unit);
                let room =
                    if left > 0 { ((upper as i128) << bits) - now } else { now - ((lower as i128) << bits) };
                let step = left.signum() * each.min(left.abs()).min(room);
                *unit += step as i64;
                left -= step;
            }
        }
        bits
    }

    /// theta without upper bounds, in a few rounds: from all entries on, those that a theta puts at their lower bound stay
    /// there, since it only rises (Michelot 1986).
    fn by_rounds(&self, values: &[f64]) -> f64 {
        let (mut theta, mut free) = (f64::NEG_INFINITY, f64::INFINITY);
        loop {
            let (sum, count) = above(values, &self.lower, theta);
            if count >= free || count == 0.0 {
                return theta;
            }
            (theta, free) = (sum / count, count);
        }
    }

    /// theta from sorted breakpoints.
    fn by_breakpoints(&self, scratch: &mut Nnl2Scratch) -> f64 {
        let Nnl2Scratch { values, at_lower, at_upper, .. } = scratch;
        // The sum of clamp(u - theta) is `constant - free theta` between the breakpoints.
        let reach = reach(values);
        let (mut constant, mut free) = (0.0, 0.0);
        at_lower.clear();
        at_upper.clear();
        for ((&u, &lower), &upper) in values.iter().zip(&self.lower).zip(&self.upper) {
            if lower > -reach {
                at_lower.push(u - lower);
            }
            if upper < reach {
                at_upper.push(u - upper);
                constant += upper;
            } else {
                constant += u;
                free += 1.0;
            }
        }
        at_lower.sort_unstable_by(f64::total_cmp);
        at_upper.sort_unstable_by(f64::total_cmp);
        let (mut lowers, mut uppers) = (at_lower.iter().peekable(), at_upper.iter().peekable());
        let mut theta = f64::NEG_INFINITY;
        loop {
            let next = match (uppers.peek(), lowers.peek()) {
                (Some(&&up), Some(&&low)) => up.min(low),
                (Some(&&one), None) | (None, Some(&&one)) => one,
                (None, None) => f64::INFINITY,
            };
            if next == f64::INFINITY || constant - free * next <= 0.0 {
                if free > 0.0 {
                    theta = constant / free;
                } else if next < f64::INFINITY {
                    theta = next;
                }
                return theta;
            }
            if uppers.next_if(|&&up| up <= next).is_some() {
                constant += next;
                free += 1.0;
            } else {
                lowers.next();
                constant -= next;
                free -= 1.0;
            }
            theta = next;
        }
    }
}

/// Sums the values that theta leaves above their lower bound, and the bounds of the others; counts the former. In
/// lanes, without a branch.
fn above(values: &[f64], lower: &[f64], theta: f64) -> (f64, f64) {
    let (mut sums, mut counts) = ([0.0; LANES], [0u64; LANES]);
    let mut add = |lane: usize, u: f64, lower: f64| {
        let free = u64::from(u - theta > lower).wrapping_neg();
        sums[lane] += f64::from_bits(u.to_bits() & free | lower.to_bits() & !free);
        counts[lane] = counts[lane].wrapping_sub(free);
    };
    let ((some, rest), (lowers, rest_lower)) = (values.as_chunks::<LANES>(), lower.as_chunks::<LANES>());
    for (some, lower) in some.iter().zip(lowers) {
        (0..LANES).for_each(|lane| add(lane, some[lane], lower[lane]));
    }
    rest.iter().zip(rest_lower).for_each(|(&u, &lower)| add(0, u, lower));
    (sums.iter().sum(), counts.iter().sum::<u64>() as f64)
}

const LANES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{below, open01};
    use crate::testing::test_stream;

    /// Rounds and sorted breakpoints, their plain reference, lead to the same units: of real values, of integers that lie at
    /// theta, with entries that have no bound or no room, and with large values on a coarser grid.
    #[test]
    fn rounds_find_what_sorting_finds() {
        let mut rng = test_stream(60);
        for case in 0..20_000 {
            let n = 1 + below(&mut rng, 40) as usize;
            let size = [5.0, 100.0, (1u64 << 31) as f64][case % 3];
            let integers = below(&mut rng, 2) == 0;
            let mut real = || size * (2.0 * open01(&mut rng) - 1.0);
            let values: Vec<f64> = (0..n).map(|_| if integers { nearest(real()) } else { real() }).collect();
            let mut bound = || match below(&mut rng, 4) {
                0 => 0,
                1 if case % 5 == 0 => i64::MIN,
                _ => -(below(&mut rng, 2 * size as u64) as i64),
            };
            let lower: Vec<i64> = (0..n).map(|_| bound()).collect();
            let total = Total::new(&lower, &vec![i64::MAX; n]);
            assert!(!total.capped);
            let sorted = Total { capped: true, ..total.clone() };
            let [mut scratch, mut reference] =
                [0, 1].map(|_| Nnl2Scratch { values: values.clone(), ..Nnl2Scratch::default() });
            assert_eq!(total.project(&mut scratch), sorted.project(&mut reference), "{values:?} {lower:?}");
            assert_eq!(scratch.units, reference.units, "{values:?} {lower:?}");
            assert_eq!(scratch.units.iter().sum::<i64>(), 0);
        }
    }
}
