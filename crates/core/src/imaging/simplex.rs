//! The closest integers >= 0 with a given sum.

use crate::law::Value;
use crate::rng::{Rng, below};
use std::cmp::Ordering;

/// Space for one projection, reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct SimplexScratch<V> {
    /// The values above the threshold.
    values: Vec<V>,
    shares: Shares,
}

/// A noisy value that can be projected.
pub trait SimplexValue: Value {
    /// Non-negative least squares onto `{y >= 0, Σ y = total}`, then the integers with the same sum that
    /// are closest to that in L1, into `out`.
    ///
    /// The projection is `y_i = max(0, noisy_i - theta)`, `theta` in a few passes; the rounding by largest
    /// remainders, which is optimal for one sum: everything is rounded down, and the units left over go
    /// to the largest fractional parts; of reals that tie, which noise never makes, to the first. For integer input the whole is
    /// exact: all fractional parts are equal, and the units go to a uniform subset of the positive entries.
    ///
    /// - `noisy`: at least one value; `total` >= 0. Nearly O(n).
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
        // Sums of such values do not overflow.
        let is_small = |value: i64| value.unsigned_abs() < 1 << 40;
        let small = noisy.len() < 1 << 20 && is_small(total) && noisy.iter().all(|&value| is_small(value));
        if small {
            let (floor, excess, count) = threshold(noisy, total);
            let ceiling = -(-excess).div_euclid(count);
            let units = (ceiling * count - excess) as u64;
            give(noisy, |value| (value > floor).then(|| value - ceiling), units, count as u64, rng, out);
        } else {
            let (floor, excess, count) = wide_threshold(noisy, total, &mut scratch.values);
            let ceiling = -(-excess).div_euclid(count);
            let units = (ceiling * count - excess) as u64;
            let lowered = |value: i64| {
                let value = i128::from(value);
                (value > floor).then(|| (value - ceiling) as i64)
            };
            give(noisy, lowered, units, count as u64, rng, out);
        }
    }
}

/// What is left of the values above theta, less theta rounded up, and 0 for the others; the units that this leaves to
/// hand out go to a uniform subset of the `candidates` above theta, which are positive.
fn give<R: Rng + ?Sized>(
    noisy: &[i64],
    lowered: impl Fn(i64) -> Option<i64>,
    mut units: u64,
    mut candidates: u64,
    rng: &mut R,
    out: &mut [i64],
) {
    let handed = units > 0;
    for (out, &value) in out.iter_mut().zip(noisy) {
        *out = match lowered(value) {
            None => 0,
            Some(lowered) if handed => {
                // Without a branch: nothing tells who gets a unit.
                let takes = u64::from(below(rng, candidates) < units);
                units -= takes;
                candidates -= 1;
                lowered + takes as i64
            }
            Some(lowered) => lowered,
        };
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
        let theta = theta_of_reals(noisy, None, total as f64);
        let Shares { keys, .. } = &mut scratch.shares;
        keys.resize(noisy.len(), 0);
        let values = noisy.iter().map(|noisy| (noisy - theta).max(0.0));
        // Fractions are ordered as their bits are.
        let places = out.iter_mut().zip(&mut *keys);
        let key = |y: f64, floor: f64| 1 + (y - floor).to_bits();
        let sum = round_down(values, total, 0.0, key, places);
        scratch.shares.hand_out(total - sum, |a, b| a.cmp(&b), out);
    }
}

/// Finds the theta with `Σ max(0, value - theta) = total`: its floor; and of the values above it their sum less the
/// total, and how many they are. For integers whose sums do not overflow, and a total > 0.
///
/// theta = excess / count. From all values on, what lies at or below theta is left out until nothing does: theta only
/// rises, and few rounds are needed (Michelot 1986). An integer is above theta where it is above its floor.
fn threshold(values: &[i64], total: i64) -> (i64, i64, i64) {
    let (mut excess, mut count) = (values.iter().sum::<i64>() - total, values.len() as i64);
    loop {
        let floor = excess.div_euclid(count);
        let (mut sum, mut above) = (0, 0);
        for &value in values {
            let stays = -i64::from(value > floor);
            sum += value & stays;
            above -= stays;
        }
        if above == count {
            return (floor, excess, count);
        }
        (excess, count) = (sum - total, above);
    }
}

/// Finds theta as [`threshold`] does, for any integers. `above`: scratch space for the values above theta.
fn wide_threshold(noisy: &[i64], total: i64, above: &mut Vec<i64>) -> (i128, i128, i128) {
    above.clear();
    above.extend_from_slice(noisy);
    let (mut excess, mut count) =
        (noisy.iter().map(|&v| i128::from(v)).sum::<i128>() - i128::from(total), noisy.len() as i128);
    loop {
        let floor = excess.div_euclid(count);
        let mut left = 0i128;
        above.retain(|&value| {
            let stays = i128::from(value) > floor;
            left += if stays { 0 } else { i128::from(value) };
            stays
        });
        if above.len() as i128 == count {
            return (floor, excess, count);
        }
        excess -= left;
        count = above.len() as i128;
    }
}

/// Space for one weighted projection, reused from call to call.
#[derive(Debug, Clone, Default)]
pub(super) struct WeightedScratch {
    /// A variance, and its sums: 0, once, twice and so on.
    sums: (f64, Vec<f64>),
    /// By value, a random word if it is positive.
    words: Vec<u64>,
    shares: Shares,
}

/// Projects as [`SimplexValue::project`] does, with weights: the point of `{y >= 0, Σ y = total}` with the least
/// `Σ (y_i - noisy_i)² / variance_i`, `y_i = max(0, noisy_i - theta variance_i)`, then the integers with the same sum
/// that are closest to that in L1. Fractional parts that differ by less than 2^-32 tie; ties are broken uniformly at
/// random.
///
/// - `noisy`, `variances`: at least one; variances > 0. `total` >= 0. Nearly O(n).
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
    let WeightedScratch { sums, words, shares } = scratch;
    let alike =
        noisy.iter().zip(variances).fold(true, |all, (&y, &v)| all & (nearest(y) == y) & (v == variances[0]));
    let theta = if alike {
        theta_of_integers(noisy, variances[0], total, sums)
            .unwrap_or_else(|| theta_by_sort(noisy, variances, total))
    } else {
        theta_of_reals(noisy, Some(variances), total as f64)
    };
    shares.keys.resize(noisy.len(), 0);
    let values = noisy.iter().zip(variances).map(|(noisy, variance)| (noisy - theta * variance).max(0.0));
    // In units of the grain.
    let key = |y: f64, floor: f64| 1 + (whole((y - floor).max(0.0) / GRAIN) << WORD_BITS);
    let sum = round_down(values, total, GRAIN, key, out.iter_mut().zip(&mut shares.keys));
    words.clear();
    words.extend(shares.keys.iter_mut().map(|key| {
        let word = if *key > 0 { rng.next_u64() } else { 0 };
        *key += word >> (64 - WORD_BITS);
        word
    }));
    shares.hand_out(total - sum, |a, b| (words[b], b).cmp(&(words[a], a)), out);
}

/// Non-negative least squares onto `{y >= 0, Σ y = total}`, `y_i = max(0, noisy_i - theta)`, into `out`; the sum is met to
/// rounding.
///
/// - `noisy`: at least one value; `total` >= 0, but for rounding. Nearly O(n).
pub(super) fn project_reals(noisy: &[f64], total: f64, out: &mut [f64]) {
    // Without a total no theta is looked for: it would be the largest value, to rounding.
    if total <= 0.0 {
        return out.fill(0.0);
    }
    let theta = theta_of_reals(noisy, None, total);
    out.iter_mut().zip(noisy).for_each(|(y, noisy)| *y = (noisy - theta).max(0.0));
}

/// Rounds values >= 0 with this total down, or up where they are less than a grain below an integer; returns what that
/// sums to. By value: the integer, and the key of what is left, 0 where the value is 0.
fn round_down<'a>(
    values: impl Iterator<Item = f64>,
    total: i64,
    grain: f64,
    key: impl Fn(f64, f64) -> u64,
    places: impl Iterator<Item = (&'a mut i64, &'a mut u64)>,
) -> i64 {
    let mut sum = 0;
    let mut place = |y: f64, floor: f64, whole: i64, (out, left): (&mut i64, &mut u64)| {
        *out = whole;
        sum += whole;
        *left = if y > 0.0 { key(y, floor) } else { 0 };
    };
    let rounded = values.zip(places);
    // Below that no value needs a branch.
    if total < 1 << 50 {
        rounded.for_each(|(y, places)| {
            let floor = floor_of_small(y + grain);
            place(y, floor, whole(floor) as i64, places);
        });
    } else {
        rounded.for_each(|(y, places)| {
            let floor = libm::floor(y + grain);
            place(y, floor, floor as i64, places);
        });
    }
    sum
}

/// 1.5 * 2^52: what is added to it is rounded to an integer, which its last bits hold.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The nearest integer to a number within ±2^51, ties to even.
fn nearest(x: f64) -> f64 {
    (x + SHIFT) - SHIFT
}

/// The nearest integer to a number from 0 to 2^51, ties to even, as an integer.
fn whole(x: f64) -> u64 {
    (x + SHIFT).to_bits() - SHIFT.to_bits()
}

/// The largest integer that is not above a number from 0 to 2^51.
fn floor_of_small(x: f64) -> f64 {
    let near = nearest(x);
    near - if near > x { 1.0 } else { 0.0 }
}

/// What is left of values that are rounded down, and who gets the units that this leaves.
#[derive(Debug, Clone, Default)]
struct Shares {
    /// By value: the larger, the sooner it gets one; 0 where none is due.
    keys: Vec<u64>,
    sorted: Vec<u64>,
}

/// Bits of a random word in a key, below 33 of a fraction.
const WORD_BITS: u32 = 30;

impl Shares {
    /// Hands units out to the largest keys, of equal ones to those that `tied` puts first.
    fn hand_out(&mut self, units: i64, tied: impl Fn(usize, usize) -> Ordering, out: &mut [i64]) {
        let Self { keys, sorted } = self;
        if units == 0 {
            return;
        }
        let due = keys.iter().filter(|&&key| key > 0).count();
        if !(1..due as i64).contains(&units) {
            let mut order: Vec<usize> = (0..keys.len()).filter(|&i| keys[i] > 0).collect();
            order.sort_unstable_by(|&a, &b| keys[b].cmp(&keys[a]).then_with(|| tied(a, b)));
            hand_out(units, order.into_iter(), out);
            return;
        }
        sorted.clear();
        sorted.extend_from_slice(keys);
        let first = sorted.len() - units as usize;
        let (_, &mut least, beyond) = sorted.select_nth_unstable(first);
        let left = units as usize - beyond.iter().filter(|&&key| key > least).count();
        if keys.iter().filter(|&&key| key == least).count() == left {
            out.iter_mut().zip(&*keys).for_each(|(out, &key)| *out += i64::from(key >= least));
            return;
        }
        out.iter_mut().zip(&*keys).for_each(|(out, &key)| *out += i64::from(key > least));
        let mut order: Vec<usize> = (0..keys.len()).filter(|&i| keys[i] == least).collect();
        order.sort_unstable_by(|&a, &b| tied(a, b));
        order.into_iter().take(left).for_each(|i| out[i] += 1);
    }
}

/// The theta at which `Σ max(0, noisy_i - theta variance_i)` is the total > 0; all variances are 1 where there are none.
///
/// theta = excess / spread. From all values on, what lies at or below theta is left out until nothing does, as in [`threshold`].
pub(crate) fn theta_of_reals(noisy: &[f64], variances: Option<&[f64]>, total: f64) -> f64 {
    let [sum, mut spread, _] = above(noisy, variances, f64::NEG_INFINITY, 0.0);
    let mut excess = sum - total;
    loop {
        let [sum, more, _] = above(noisy, variances, excess, spread);
        if more >= spread || more == 0.0 {
            return excess / spread;
        }
        (excess, spread) = (sum - total, more);
    }
}

/// Finds theta from one sort, by the largest values alone. Values at theta itself count or not as rounding has it, and
/// so does its last bit: for integers, where such values are common, it is always this one.
fn theta_by_sort(noisy: &[f64], variances: &[f64], total: i64) -> f64 {
    let mut ranks: Vec<(f64, usize)> = noisy.iter().zip(variances).map(|(y, v)| y / v).zip(0..).collect();
    ranks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (mut excess, mut spread) = (-total as f64, 0.0);
    for (rank, i) in ranks {
        if rank * spread <= excess && spread > 0.0 {
            break;
        }
        excess += noisy[i];
        spread += variances[i];
    }
    excess / spread
}

/// Finds the theta of [`theta_by_sort`], bit for bit, without the sort, for integers of one variance, whose sums are
/// exact in any order. `None`: they are many or large, or a value lies at theta.
///
/// `sums`: multiples of the variance, kept from call to call.
fn theta_of_integers(
    noisy: &[f64],
    variance: f64,
    total: i64,
    (own, sums): &mut (f64, Vec<f64>),
) -> Option<f64> {
    // With fewer and smaller ones the products that are compared differ by more than they are rounded.
    const MOST: usize = 1 << 12;
    const LARGEST: f64 = (1u64 << 26) as f64;
    let total = total as f64;
    if noisy.len() > MOST || total > LARGEST || !noisy.iter().fold(true, |all, y| all & (y.abs() < LARGEST)) {
        return None;
    }
    let (mut excess, mut count) = (above(noisy, None, f64::NEG_INFINITY, 0.0)[0] - total, noisy.len() as f64);
    loop {
        let [sum, more, at_least] = above(noisy, None, excess, count);
        if more == count {
            if at_least > more {
                return None;
            }
            break;
        }
        (excess, count) = (sum - total, more);
    }
    if *own != variance || sums.is_empty() {
        (*own, *sums) = (variance, vec![0.0]);
    }
    while sums.len() <= count as usize {
        sums.push(sums[sums.len() - 1] + variance);
    }
    Some(excess / sums[count as usize])
}

/// Sums over the values above `excess / spread` times their variance: of the values, and of their variances; and the
/// sum of the variances of those and of the values at it. All variances are 1 where there are none. In lanes.
#[inline]
fn above(values: &[f64], variances: Option<&[f64]>, excess: f64, spread: f64) -> [f64; 3] {
    let mut lanes = [[0.0; 4]; 3];
    let mut add = |lane: usize, value: f64, variance: f64| {
        let (left, right) = (value * spread, excess * variance);
        lanes[0][lane] += if left > right { value } else { 0.0 };
        lanes[1][lane] += if left > right { variance } else { 0.0 };
        lanes[2][lane] += if left >= right { variance } else { 0.0 };
    };
    let ((fours, rest), weights) =
        (values.as_chunks::<4>(), variances.map(|variances| variances.as_chunks::<4>()));
    for (i, four) in fours.iter().enumerate() {
        let weight = weights.map_or(&[1.0; 4], |(fours, _)| &fours[i]);
        (0..4).for_each(|lane| add(lane, four[lane], weight[lane]));
    }
    for (i, &value) in rest.iter().enumerate() {
        add(0, value, weights.map_or(1.0, |(_, rest)| rest[i]));
    }
    lanes.map(|lanes| lanes.iter().sum())
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
pub(super) const GRAIN: f64 = 1.0 / 4_294_967_296.0;

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

    /// For reals, theta without a sort is that of the sort up to rounding, with variances and without.
    #[test]
    fn theta_of_reals_needs_no_sort() {
        let mut rng = test_stream(5);
        for round in 0..20_000 {
            let n = 1 + below(&mut rng, 60) as usize;
            let size = [3.0, 1e3, 1e9][round % 3];
            let noisy: Vec<f64> = (0..n).map(|_| size * (crate::rng::open01(&mut rng) - 0.3)).collect();
            let total = 1 + below(&mut rng, (size * n as f64) as u64) as i64;
            let ones = vec![1.0; n];
            let own: Vec<f64> = (0..n).map(|_| 0.1 + 9.0 * crate::rng::open01(&mut rng)).collect();
            for variances in [None, Some(&ones[..]), Some(&own[..])] {
                let want = theta_by_sort(&noisy, variances.unwrap_or(&ones), total);
                let theta = theta_of_reals(&noisy, variances, total as f64);
                assert!((theta - want).abs() <= 1e-13 * (size + total as f64), "{theta} {want} {noisy:?}");
            }
        }
    }

    /// Without a sort theta has the same bits.
    #[test]
    fn theta_needs_no_sort() {
        let mut rng = test_stream(2);
        let (mut sums, mut found) = ((0.0, Vec::new()), 0);
        for round in 0..20_000u64 {
            let n = 1 + below(&mut rng, 60) as usize;
            let bits = below(&mut rng, 20);
            let span = 1 + below(&mut rng, 1 << bits);
            let noisy: Vec<f64> =
                (0..n).map(|_| below(&mut rng, span) as f64 - libm::floor(span as f64 / 4.0)).collect();
            let total = 1 + below(&mut rng, n as u64 * span) as i64;
            let variances = vec![0.1 + (round / 100) as f64 / 7.0; n];
            let want = theta_by_sort(&noisy, &variances, total);
            if let Some(theta) = theta_of_integers(&noisy, variances[0], total, &mut sums) {
                assert_eq!(theta.to_bits(), want.to_bits(), "{noisy:?} {total}");
                found += 1;
            }
        }
        assert!(found > 10_000, "{found}");
        assert_eq!(theta_of_integers(&[1e9, 2.0], 1.0, 3, &mut sums), None);
    }

    /// Units go where a sort by key has them, and of equal keys where `tied` wants them: fewer units than places, more, and less than none.
    #[test]
    fn units_go_to_the_largest_keys() {
        let mut rng = test_stream(3);
        let mut shares = Shares::default();
        for _ in 0..20_000 {
            let n = 1 + below(&mut rng, 40) as usize;
            let kinds = 1 + below(&mut rng, 5);
            shares.keys = (0..n).map(|_| below(&mut rng, kinds)).collect();
            let words: Vec<u64> = (0..n).map(|_| below(&mut rng, 3)).collect();
            let mut order: Vec<usize> = (0..n).filter(|&i| shares.keys[i] > 0).collect();
            order.sort_by_key(|&i| std::cmp::Reverse((shares.keys[i], words[i], i)));
            if order.is_empty() {
                continue;
            }
            let units = below(&mut rng, 3 * order.len() as u64) as i64 - order.len() as i64;
            let (mut want, mut got) = (vec![5; n], vec![5; n]);
            hand_out(units, order.into_iter(), &mut want);
            shares.hand_out(units, |a, b| (words[b], b).cmp(&(words[a], a)), &mut got);
            assert_eq!(got, want);
        }
    }

    #[test]
    fn floors_are_floors() {
        let mut rng = test_stream(4);
        for bits in 0..51 {
            for x in [
                0.0,
                0.5,
                1.0,
                1.5,
                2.5,
                crate::rng::open01(&mut rng) * (1u64 << bits) as f64,
                (1u64 << bits) as f64 - 0.5,
            ] {
                assert_eq!(floor_of_small(x.abs()), libm::floor(x.abs()), "{x}");
            }
        }
    }
}
