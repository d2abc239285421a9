//! The closest integers >= 0 with a given sum.

use crate::law::Value;
use crate::rng::{Rng, below};

/// Space for one projection, reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct SimplexScratch<V> {
    /// Sorted, or those above the threshold.
    values: Vec<V>,
    fractions: Vec<(f64, usize)>,
}

/// A noisy value that can be projected.
pub trait SimplexValue: Value {
    /// Non-negative least squares onto `{y >= 0, Σ y = total}`, then the integers with the same sum that
    /// are closest to that in L1, into `out`.
    ///
    /// The projection is `y_i = max(0, noisy_i - theta)`, `theta` from one sort; the rounding by largest
    /// remainders, which is optimal for one sum: everything is rounded down, and the units left over go
    /// to the largest fractional parts, ties broken uniformly at random. For integer input the whole is
    /// exact: all fractional parts are equal, and the units go to a uniform subset of the positive entries.
    ///
    /// - `noisy`: at least one value; `total` >= 0. O(n log n), for integers nearly O(n).
    fn project<R: Rng + ?Sized>(
        noisy: &[Self],
        total: i64,
        rng: &mut R,
        scratch: &mut SimplexScratch<Self>,
        out: &mut [i64],
    );
}

impl SimplexValue for i64 {
    fn project<R: Rng + ?Sized>(
        noisy: &[i64],
        total: i64,
        rng: &mut R,
        scratch: &mut SimplexScratch<i64>,
        out: &mut [i64],
    ) {
        if total == 0 {
            out.fill(0);
            return;
        }
        // theta = excess / count over those above it. From all values on, what lies at or below theta is left out until nothing does: theta
        // only rises, and few rounds are needed (Michelot 1986).
        let above = &mut scratch.values;
        above.clear();
        above.extend_from_slice(noisy);
        let (mut excess, mut count) =
            (noisy.iter().map(|&v| i128::from(v)).sum::<i128>() - i128::from(total), noisy.len() as i128);
        let floor = loop {
            // An integer is above theta where it is above its floor.
            let floor = excess.div_euclid(count);
            let mut left = 0i128;
            above.retain(|&value| {
                let stays = i128::from(value) > floor;
                left += if stays { 0 } else { i128::from(value) };
                stays
            });
            if above.len() as i128 == count {
                break floor;
            }
            excess -= left;
            count = above.len() as i128;
        };
        // Those above theta are positive; theta rounded up leaves the units to hand out.
        let ceiling = -(-excess).div_euclid(count);
        let mut units = (ceiling * count - excess) as u64;
        let mut candidates = count as u64;
        for (out, &value) in out.iter_mut().zip(noisy) {
            *out = if i128::from(value) > floor { (i128::from(value) - ceiling) as i64 } else { 0 };
        }
        if units == 0 {
            return;
        }
        for (out, &value) in out.iter_mut().zip(noisy) {
            if i128::from(value) > floor {
                // Without a branch: nothing tells who gets a unit.
                let takes = u64::from(below(rng, candidates) < units);
                *out += takes as i64;
                units -= takes;
                candidates -= 1;
            }
        }
    }
}

impl SimplexValue for f64 {
    fn project<R: Rng + ?Sized>(
        noisy: &[f64],
        total: i64,
        _: &mut R,
        scratch: &mut SimplexScratch<f64>,
        out: &mut [i64],
    ) {
        if total == 0 {
            out.fill(0);
            return;
        }
        let SimplexScratch { values: sorted, fractions } = scratch;
        sorted.clear();
        sorted.extend_from_slice(noisy);
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut excess, mut count) = (-total as f64, 0.0);
        for &value in &*sorted {
            if value * count <= excess && count > 0.0 {
                break;
            }
            excess += value;
            count += 1.0;
        }
        let theta = excess / count;
        fractions.clear();
        let mut units = total;
        for (i, (out, &value)) in out.iter_mut().zip(noisy).enumerate() {
            let y = (value - theta).max(0.0);
            let floor = libm::floor(y);
            *out = floor as i64;
            units -= *out;
            if y > 0.0 {
                fractions.push((y - floor, i));
            }
        }
        fractions.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        hand_out(units, fractions.iter().map(|&(_, i)| i), out);
    }
}

/// Space for one weighted projection, reused from call to call.
#[derive(Debug, Clone, Default)]
pub(super) struct WeightedScratch {
    order: Vec<u32>,
    /// Fractional part, in units of 2^-32; a random number; place.
    fractions: Vec<(u64, u64, u32)>,
}

/// The same as [`SimplexValue::project`] with weights: the point of `{y >= 0, Σ y = total}` with the least
/// `Σ (y_i - noisy_i)² / variance_i`, `y_i = max(0, noisy_i - theta variance_i)`, then the integers with the same sum that are closest to
/// that in L1. Fractional parts that differ by less than 2^-32 tie; ties are broken uniformly at random.
///
/// - `noisy`, `variances`: at least one; variances > 0. `total` >= 0. O(n log n).
pub(super) fn project_weighted<R: Rng + ?Sized>(
    noisy: &[f64],
    variances: &[f64],
    total: i64,
    rng: &mut R,
    scratch: &mut WeightedScratch,
    out: &mut [i64],
) {
    if total == 0 {
        out.fill(0);
        return;
    }
    let WeightedScratch { order, fractions } = scratch;
    order.clear();
    order.extend(0..noisy.len() as u32);
    let rank = |i: u32| noisy[i as usize] / variances[i as usize];
    order.sort_unstable_by(|&a, &b| rank(b).total_cmp(&rank(a)).then(a.cmp(&b)));
    let (mut excess, mut spread) = (-total as f64, 0.0);
    for &i in &*order {
        if rank(i) * spread <= excess && spread > 0.0 {
            break;
        }
        excess += noisy[i as usize];
        spread += variances[i as usize];
    }
    let theta = excess / spread;
    fractions.clear();
    let mut units = total;
    for (i, (out, (&noisy, &variance))) in (0u32..).zip(out.iter_mut().zip(noisy.iter().zip(variances))) {
        let y = (noisy - theta * variance).max(0.0);
        // What rounding has left just below an integer is that integer.
        let floor = libm::floor(y + GRAIN);
        *out = floor as i64;
        units -= *out;
        if y > 0.0 {
            let fraction = libm::rint((y - floor).max(0.0) / GRAIN) as u64;
            fractions.push((fraction, rng.next_u64(), i));
        }
    }
    fractions.sort_unstable_by(|a, b| b.cmp(a));
    hand_out(units, fractions.iter().map(|&(.., i)| i as usize), out);
}

/// Adds units to `places` in their order. Rounding of theta can leave one too many, which is taken from the last that has one.
fn hand_out(mut units: i64, places: impl DoubleEndedIterator<Item = usize> + Clone, out: &mut [i64]) {
    for i in places.clone().cycle().take(units.max(0) as usize) {
        out[i] += 1;
    }
    while units < 0 {
        for i in places.clone().rev() {
            if units < 0 && out[i] > 0 {
                out[i] -= 1;
                units += 1;
            }
        }
    }
}

/// The size of a tie: 2^-32.
const GRAIN: f64 = 1.0 / 4_294_967_296.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;
    use proptest::prelude::*;

    /// All ways to write `total` as a sum of `n` integers >= 0.
    fn compositions(total: i64, n: usize) -> Vec<Vec<i64>> {
        if n == 1 {
            return vec![vec![total]];
        }
        (0..=total)
            .flat_map(|first| {
                compositions(total - first, n - 1).into_iter().map(move |mut rest| {
                    rest.insert(0, first);
                    rest
                })
            })
            .collect()
    }

    fn squared(y: &[f64], noisy: &[f64]) -> f64 {
        y.iter().zip(noisy).map(|(y, n)| (y - n) * (y - n)).sum()
    }

    /// Projection by bisection on theta: another route to the same point.
    fn reference(noisy: &[f64], total: f64) -> Vec<f64> {
        let (mut lo, mut hi) = (-1e6, 1e6);
        for _ in 0..200 {
            let theta = 0.5 * (lo + hi);
            if noisy.iter().map(|n| (n - theta).max(0.0)).sum::<f64>() > total {
                lo = theta
            } else {
                hi = theta
            }
        }
        noisy.iter().map(|n| (n - lo).max(0.0)).collect()
    }

    proptest! {
        /// Among all integer points of the simplex none is closer in L1 to the real projection.
        #[test]
        fn integers_are_the_closest(noisy in prop::collection::vec(-6i64..9, 1..5), total in 0i64..9, seed: u64) {
            let mut rng = test_stream(seed);
            let real: Vec<f64> = noisy.iter().map(|&n| n as f64).collect();
            let y = reference(&real, total as f64);
            let l1 = |z: &[i64]| z.iter().zip(&y).map(|(&z, y)| (z as f64 - y).abs()).sum::<f64>();
            let best = compositions(total, noisy.len()).iter().map(|z| l1(z)).fold(f64::INFINITY, f64::min);
            let mut out = vec![0; noisy.len()];
            i64::project(&noisy, total, &mut rng, &mut SimplexScratch::default(), &mut out);
            prop_assert_eq!(out.iter().sum::<i64>(), total);
            prop_assert!(out.iter().all(|&z| z >= 0) && l1(&out) < best + 1e-9, "{:?} {:?}", out, y);
            f64::project(&real, total, &mut rng, &mut SimplexScratch::default(), &mut out);
            prop_assert_eq!(out.iter().sum::<i64>(), total);
            prop_assert!(out.iter().all(|&z| z >= 0) && l1(&out) < best + 1e-6, "{:?} {:?}", out, y);
        }

        /// The reference itself: no feasible point nearby is closer in L2.
        #[test]
        fn reference_is_the_projection(noisy in prop::collection::vec(-6.0..9.0f64, 2..5), total in 1.0..9.0f64) {
            let y = reference(&noisy, total);
            for (i, j) in [(0, 1), (1, 0)] {
                let mut other = y.clone();
                let step = other[i].min(1e-3);
                other[i] -= step;
                other[j] += step;
                prop_assert!(squared(&y, &noisy) <= squared(&other, &noisy) + 1e-9);
            }
        }
    }

    /// Three equal entries share two units: every pair is equally likely.
    #[test]
    fn ties_are_broken_at_random() {
        let mut rng = test_stream(1);
        let mut scratch = SimplexScratch::default();
        let mut low = [0u64; 3];
        for _ in 0..30_000 {
            let mut out = [0; 3];
            i64::project(&[5, 5, 5], 11, &mut rng, &mut scratch, &mut out);
            low[out.iter().position(|&z| z == 3).unwrap()] += 1;
        }
        crate::testing::assert_frequencies(low.map(|count| (count, 1.0 / 3.0)), 30_000);
    }
}
