//! The closest integers >= 0 with a given sum.

use crate::law::Value;
use crate::rng::{Rng, below};
use std::cmp::Ordering;

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

/// What is left of the values above theta, less theta rounded up, and 0 for the others; the units that this leaves to hand out go to a uniform subset
/// of the `candidates` above theta, which are positive.
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
        largest_first(units, fractions, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        hand_out(units, fractions.iter().map(|&(_, i)| i), out);
    }
}

/// Of integers whose sums do not overflow and a total > 0: the floor of the theta with `Σ max(0, value - theta) = total`, and of those above it their sum less
/// the total, and how many.
///
/// theta = excess / count. From all values on, what lies at or below theta is left out until nothing does: theta only rises, and few rounds are
/// needed (Michelot 1986). An integer is above theta where it is above its floor.
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

/// The same of any integers.
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
    /// Noisy values over their variances, and places.
    ranks: Vec<(f64, u32)>,
    /// A variance, and its sums: 0, once, twice and so on.
    sums: (f64, Vec<f64>),
    ties: TieScratch,
}

/// What is left of positive values when they are rounded down, and what breaks ties.
#[derive(Debug, Clone, Default)]
struct TieScratch {
    /// In units of 2^-32; less than 0 of values that are not positive.
    fractions: Vec<f64>,
    /// By value, a random word if it is positive.
    words: Vec<u64>,
    sorted: Vec<u64>,
    order: Vec<(f64, u64, usize)>,
}

/// The same as [`SimplexValue::project`] with weights: the point of `{y >= 0, Σ y = total}` with the least
/// `Σ (y_i - noisy_i)² / variance_i`, `y_i = max(0, noisy_i - theta variance_i)`, then the integers with the same sum that are closest to
/// that in L1. Fractional parts that differ by less than 2^-32 tie; ties are broken uniformly at random.
///
/// - `noisy`, `variances`: at least one; variances > 0. `total` >= 0. O(n log n), for integers of one variance nearly O(n).
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
    let WeightedScratch { ranks, sums, ties } = scratch;
    let theta = theta_of_integers(noisy, variances, total, sums)
        .unwrap_or_else(|| theta_of_reals(noisy, variances, total, ranks));
    ties.fractions.resize(noisy.len(), 0.0);
    let values = noisy.iter().zip(variances).map(|(noisy, variance)| (noisy - theta * variance).max(0.0));
    let places = out.iter_mut().zip(&mut ties.fractions);
    // Below that no value needs a branch.
    let sum = if total < 1 << 50 {
        let whole = |floor: f64| ((floor + SHIFT).to_bits() - SHIFT.to_bits()) as i64;
        round_down(values, floor_of_small, whole, places)
    } else {
        round_down(values, libm::floor, |floor| floor as i64, places)
    };
    ties.hand_out(total - sum, rng, out);
}

/// Rounds values >= 0 down; returns what that sums to. What is left is in units of 2^-32, less than 0 where the value is 0.
fn round_down<'a>(
    values: impl Iterator<Item = f64>,
    floor: impl Fn(f64) -> f64,
    whole: impl Fn(f64) -> i64,
    places: impl Iterator<Item = (&'a mut i64, &'a mut f64)>,
) -> i64 {
    let mut sum = 0;
    for (y, (out, fraction)) in values.zip(places) {
        // What rounding has left just below an integer is that integer.
        let floor = floor(y + GRAIN);
        *out = whole(floor);
        sum += *out;
        *fraction = if y > 0.0 { nearest((y - floor).max(0.0) / GRAIN) } else { -1.0 };
    }
    sum
}

/// 1.5 * 2^52: what is added to it is rounded to an integer, which its last bits hold.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The nearest integer to a number within ±2^51, ties to even.
fn nearest(x: f64) -> f64 {
    (x + SHIFT) - SHIFT
}

/// The largest integer that is not above a number from 0 to 2^51.
fn floor_of_small(x: f64) -> f64 {
    let near = nearest(x);
    near - if near > x { 1.0 } else { 0.0 }
}

impl TieScratch {
    /// Hands units out to the largest fractional parts.
    fn hand_out<R: Rng + ?Sized>(&mut self, units: i64, rng: &mut R, out: &mut [i64]) {
        let Self { fractions, words, sorted, order } = self;
        let places = || fractions.iter().zip(0..).filter(|&(&fraction, _)| fraction >= 0.0);
        words.clear();
        words.extend(fractions.iter().map(|&fraction| if fraction >= 0.0 { rng.next_u64() } else { 0 }));
        if units == 0 {
            return;
        }
        let first = fractions.iter().copied().find(|&fraction| fraction >= 0.0).unwrap_or(0.0);
        let all = fractions.iter().fold(true, |all, &fraction| all & (fraction == first));
        let tie = all || places().all(|(&fraction, _)| fraction == first);
        sorted.clear();
        match tie {
            true if all => sorted.extend_from_slice(words),
            true => sorted.extend(places().map(|(_, i)| words[i])),
            false => {}
        }
        if !(1..sorted.len() as i64).contains(&units) {
            order.clear();
            order.extend(places().map(|(&fraction, i)| (fraction, words[i], i)));
            largest_first(units, order, |a, b| b.0.total_cmp(&a.0).then((b.1, b.2).cmp(&(a.1, a.2))));
            hand_out(units, order.iter().map(|&(.., i)| i), out);
            return;
        }
        // All tie: the largest words get them.
        let first = sorted.len() - units as usize;
        let (_, &mut least, beyond) = sorted.select_nth_unstable(first);
        out.iter_mut().zip(&*words).for_each(|(out, &word)| *out += i64::from(word > least));
        // Of words that tie, as good as never more than one, the last.
        let left = units as usize - beyond.iter().filter(|&&word| word > least).count();
        let tied = (0..out.len()).rev().filter(|&i| words[i] == least && fractions[i] >= 0.0);
        tied.take(left).for_each(|i| out[i] += 1);
    }
}

/// The theta at which `Σ max(0, noisy_i - theta variance_i)` is the total: of what the largest sum to, from one sort.
fn theta_of_reals(noisy: &[f64], variances: &[f64], total: i64, ranks: &mut Vec<(f64, u32)>) -> f64 {
    ranks.clear();
    ranks.extend(noisy.iter().zip(variances).map(|(y, v)| y / v).zip(0..));
    ranks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (mut excess, mut spread) = (-total as f64, 0.0);
    for &(rank, i) in &*ranks {
        if rank * spread <= excess && spread > 0.0 {
            break;
        }
        excess += noisy[i as usize];
        spread += variances[i as usize];
    }
    excess / spread
}

/// The same number, bit for bit, without a sort, if all values are integers of one variance: their sums are then exact in any order. `None`: they
/// are not, or a value lies at theta itself, where rounding decides.
///
/// `sums`: of the variance, kept from call to call.
fn theta_of_integers(
    noisy: &[f64],
    variances: &[f64],
    total: i64,
    (own, sums): &mut (f64, Vec<f64>),
) -> Option<f64> {
    // With fewer and smaller ones the products that are compared differ by more than they are rounded.
    const MOST: usize = 1 << 12;
    const LARGEST: f64 = (1u64 << 26) as f64;
    let (variance, total) = (variances[0], total as f64);
    let exact = |y: f64| (nearest(y) == y) & (y.abs() < LARGEST);
    let all_exact = noisy.iter().zip(variances).fold(true, |all, (&y, &v)| all & exact(y) & (v == variance));
    if !all_exact || noisy.len() > MOST || total > LARGEST {
        return None;
    }
    let (mut excess, mut count) = (above(noisy, f64::NEG_INFINITY, 0.0).0 - total, noisy.len() as f64);
    loop {
        let (sum, more, at_least) = above(noisy, excess, count);
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

/// Of the values above `excess / count`: their sum, how many, and how many with those at it. In lanes.
fn above(values: &[f64], excess: f64, count: f64) -> (f64, f64, f64) {
    let mut lanes = [[0.0; 4]; 3];
    let mut add = |lane: usize, value: f64| {
        let product = value * count;
        let one = |holds: bool| if holds { 1.0 } else { 0.0 };
        lanes[0][lane] += if product > excess { value } else { 0.0 };
        lanes[1][lane] += one(product > excess);
        lanes[2][lane] += one(product >= excess);
    };
    let (fours, rest) = values.as_chunks::<4>();
    fours.iter().for_each(|four| (0..4).for_each(|lane| add(lane, four[lane])));
    rest.iter().for_each(|&value| add(0, value));
    let [sum, more, at_least] = lanes.map(|lanes| lanes.iter().sum());
    (sum, more, at_least)
}

/// Puts those that get a unit before the others, in whatever order if there are fewer units than places.
fn largest_first<T>(units: i64, fractions: &mut [T], order: impl FnMut(&T, &T) -> Ordering) {
    if (1..fractions.len() as i64).contains(&units) {
        fractions.select_nth_unstable_by(units as usize, order);
    } else if units != 0 {
        fractions.sort_unstable_by(order);
    }
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

    /// Without a sort theta has the same bits.
    #[test]
    fn theta_needs_no_sort() {
        let mut rng = test_stream(2);
        let (mut sums, mut ranks, mut found) = ((0.0, Vec::new()), Vec::new(), 0);
        for round in 0..20_000u64 {
            let n = 1 + below(&mut rng, 60) as usize;
            let bits = below(&mut rng, 20);
            let span = 1 + below(&mut rng, 1 << bits);
            let noisy: Vec<f64> =
                (0..n).map(|_| below(&mut rng, span) as f64 - libm::floor(span as f64 / 4.0)).collect();
            let total = 1 + below(&mut rng, n as u64 * span) as i64;
            let variances = vec![0.1 + (round / 100) as f64 / 7.0; n];
            let want = theta_of_reals(&noisy, &variances, total, &mut ranks);
            if let Some(theta) = theta_of_integers(&noisy, &variances, total, &mut sums) {
                assert_eq!(theta.to_bits(), want.to_bits(), "{noisy:?} {total}");
                found += 1;
            }
        }
        assert!(found > 10_000, "{found}");
        for noisy in [[1.5, 2.0], [1e9, 2.0]] {
            assert_eq!(theta_of_integers(&noisy, &[1.0; 2], 3, &mut sums), None);
        }
        assert_eq!(theta_of_integers(&[1.0, 2.0], &[1.0, 2.0], 3, &mut sums), None);
    }

    /// Units go where a sort by fraction, word and place would have them.
    #[test]
    fn units_go_to_the_largest_fractions() {
        let mut rng = test_stream(3);
        let mut ties = TieScratch::default();
        for round in 0..5000 {
            let n = 1 + below(&mut rng, 40) as usize;
            let kinds = 1 + below(&mut rng, 3);
            ties.fractions = (0..n)
                .map(|_| {
                    if round % 3 == 0 && below(&mut rng, 4) == 0 {
                        -1.0
                    } else {
                        below(&mut rng, kinds) as f64
                    }
                })
                .collect();
            let positive = ties.fractions.iter().filter(|&&fraction| fraction >= 0.0).count();
            if positive == 0 {
                continue;
            }
            let units = below(&mut rng, 2 * positive as u64 + 1) as i64;
            let mut words = rng.clone();
            let mut order: Vec<(u64, u64, usize)> = (0..n)
                .filter(|&i| ties.fractions[i] >= 0.0)
                .map(|i| (ties.fractions[i] as u64, words.next_u64(), i))
                .collect();
            order.sort_unstable_by(|a, b| b.cmp(a));
            let (mut want, mut got) = (vec![0; n], vec![0; n]);
            hand_out(units, order.iter().map(|&(.., i)| i), &mut want);
            ties.hand_out(units, &mut rng, &mut got);
            assert_eq!((got, rng.clone()), (want, words));
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
