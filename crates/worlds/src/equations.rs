//! Conditioning on linear equations, on infinite lattices (Lemma 3.3).
//!
//! With independent double geometric noise the law of `M(D) = x + Z` given `A y = A x` is
//! `P(y) = a^|y - x| / K(x)` on the coset of `{z : A z = 0}` through `x`, with `|.|` the L1 norm. The lemma says that
//! `K` is the same for every `x` of the coset. Here `K(x)` is summed around a place that does not depend on `x`, point
//! by point, and the two ends are added as geometric series, so nothing is cut off.

use super::draw::Settings;
use super::finding::{Claim, Finding, Operator, Property, Tally};
use congenial_core::Result;
use congenial_core::rng::{Rng, below};

/// Farthest true value from the origin of the coset, in steps.
const REACH: i64 = 4;

/// Two true values on one coset as seen along the coset: the sums `K` and the largest `|ln(P(y) / P'(y))|`.
struct Pair {
    sums: [f64; 2],
    level: f64,
}

fn between(rng: &mut dyn Rng, reach: i64) -> i64 {
    below(rng, 2 * reach as u64 + 1) as i64 - reach
}

/// Two different steps within the reach.
fn two_steps(rng: &mut dyn Rng) -> (i64, i64) {
    let first = between(rng, REACH);
    loop {
        let second = between(rng, REACH);
        if second != first {
            return (first, second);
        }
    }
}

fn level(log_weights: &[[f64; 2]], sums: [f64; 2]) -> f64 {
    let shift = libm::log(sums[0] / sums[1]);
    log_weights.iter().map(|[first, second]| (first - second - shift).abs()).fold(0.0, f64::max)
}

/// Two true values on the solutions of integer equations, one fewer than there are entries: the solutions are the
/// multiples of one vector `g`. The true values are `steps[0] g` and `steps[1] g` from a common origin, the noise is as
/// private as `epsilon` for this pair. Beyond the window every weight is `a^|g|` times the one before, so the ends are
/// geometric series and the log ratio of the weights is constant.
fn along_a_vector(g: &[i64], origin: &[i64], steps: [i64; 2], epsilon: f64) -> Pair {
    let length: i64 = g.iter().map(|g| g.abs()).sum();
    let rate = epsilon / ((steps[0] - steps[1]).abs() * length) as f64;
    let point = |step: i64| origin.iter().zip(g).map(move |(o, g)| o + step * g);
    let distance = |y: i64, x: i64| point(y).zip(point(x)).map(|(y, x)| (y - x).abs()).sum::<i64>();
    let window = -REACH - 2..=REACH + 2;
    let log_weights: Vec<[f64; 2]> = window.map(|y| steps.map(|x| -rate * distance(y, x) as f64)).collect();
    let (first, last) = (log_weights[0], log_weights[log_weights.len() - 1]);
    let tail = 1.0 / libm::expm1(rate * length as f64);
    let sums = [0, 1].map(|i| {
        log_weights.iter().map(|w| libm::exp(w[i])).sum::<f64>()
            + tail * (libm::exp(first[i]) + libm::exp(last[i]))
    });
    Pair { sums, level: level(&log_weights, sums) }
}

/// `sum_(m >= start) q^m (m + shift)` for `q = e^-rate`.
fn linear_tail(start: i64, shift: f64, rate: f64) -> f64 {
    let gap = -libm::expm1(-rate);
    let q = 1.0 - gap;
    libm::exp(-rate * start as f64) * ((start as f64 + shift) / gap + q / (gap * gap))
}

/// Three entries with a fixed total, two true values `x`. For the first output `y_1` fixed the sum over the second is one
/// of two kinks, point by point between them and geometric outside; for `y_1` beyond the window,
/// at distance `d` from `x_1`, it is `a^d (d + (1 + q) / (1 - q))` with `q = a²`, and the sum over `d` is
/// again a closed form.
fn total_of_three(x: [[i64; 3]; 2], epsilon: f64) -> Pair {
    let total: i64 = x[0].iter().sum();
    let moved: i64 = x[0].iter().zip(&x[1]).map(|(a, b)| (a - b).abs()).sum();
    let rate = epsilon / moved as f64;
    let distance = |y: [i64; 3], x: &[i64; 3]| y.iter().zip(x).map(|(y, x)| (y - x).abs()).sum::<i64>();
    let (outer, inner) = (3 * REACH, 8 * REACH);
    let tail = 1.0 / libm::expm1(2.0 * rate);
    let mut sums = [0.0; 2];
    let mut log_weights = Vec::new();
    for y1 in -outer..=outer {
        for y2 in -inner..=inner {
            let logs = [0, 1].map(|i| -rate * distance([y1, y2, total - y1 - y2], &x[i]) as f64);
            let end = if y2.abs() == inner { 1.0 + tail } else { 1.0 };
            sums = [0, 1].map(|i| sums[i] + end * libm::exp(logs[i]));
            log_weights.push(logs);
        }
    }
    let shift = 1.0 + 2.0 * tail;
    for (sum, x) in sums.iter_mut().zip(&x) {
        let beyond = [outer + 1 - x[0], outer + 1 + x[0]].map(|start| linear_tail(start, shift, 2.0 * rate));
        *sum += beyond[0] + beyond[1];
    }
    Pair { sums, level: level(&log_weights, sums) }
}

/// Lemma 3.3: for additive noise conditioning on `A y = A x` preserves `epsilon`. Random coefficients with a solution
/// space of dimension 1 in `worlds` entries, and totals of three entries (dimension 2), in turn.
///
/// The deviation is the largest of `|ln(K(x) / K(x'))|` and the level given `C` minus `epsilon`. Outside the window
/// the log ratio is at most `epsilon` plus the former, by the triangle inequality.
pub(super) fn preserved(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let (pair, name) = if case % 2 == 0 {
            let mut g: Vec<i64> = (0..settings.worlds).map(|_| between(rng, 3)).collect();
            g[0] = 1 + below(rng, 3) as i64;
            let origin: Vec<i64> = (0..settings.worlds).map(|_| between(rng, 20)).collect();
            let (first, second) = two_steps(rng);
            (along_a_vector(&g, &origin, [first, second], settings.epsilon), "one free direction")
        } else {
            let mut x = [[between(rng, REACH), between(rng, REACH), between(rng, REACH)]; 2];
            let (first, second) = two_steps(rng);
            x[1][0] = x[0][0] + (first - second);
            x[1][2] = x[0][2] - (first - second);
            if below(rng, 2) == 0 {
                x[1].swap(0, 1);
                x[0].swap(0, 1);
            }
            (total_of_three(x, settings.epsilon), "the total of three cells")
        };
        let sums = libm::log(pair.sums[0] / pair.sums[1]).abs();
        tally.see(sums.max(pair.level - settings.epsilon), || {
            format!(
                "case {case}, {name}: level {:.6}, K {:.6e} and {:.6e}",
                pair.level, pair.sums[0], pair.sums[1]
            )
        });
    }
    let claim = Claim {
        statement: "Lemma 3.3",
        operator: Operator::Conditioning,
        property: Property::PrivacyPreservingLinear,
        claim: true,
    };
    Ok(tally.finding(claim, settings.tolerance(), "|ln K(x)/K(x')| and level given C beyond epsilon"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    /// `K` of three entries: 1 + 6 sum m q^m = (1 + 4q + q²) / (1 - q)²; of a vector: (1 + b) / (1 - b), b = a^|g|.
    #[test]
    fn sums_are_the_closed_forms() {
        for epsilon in [1e-3, 0.3, 2.0, 10.0] {
            let pair = total_of_three([[1, -3, 4], [3, -3, 2]], epsilon);
            let q = libm::exp(-epsilon / 2.0);
            let expected = (1.0 + 4.0 * q + q * q) / ((1.0 - q) * (1.0 - q));
            let pair_vector = along_a_vector(&[2, 0, -1], &[5, 5, 5], [-4, 3], epsilon);
            let b = libm::exp(-epsilon / 7.0);
            let expected_vector = (1.0 + b) / (1.0 - b);
            for i in 0..2 {
                assert!(
                    (pair.sums[i] / expected - 1.0).abs() < 1e-9,
                    "{epsilon}: {:?} {expected}",
                    pair.sums
                );
                assert!((pair_vector.sums[i] / expected_vector - 1.0).abs() < 1e-10, "{epsilon}");
            }
            assert!((pair.level - epsilon).abs() < 1e-9 && (pair_vector.level - epsilon).abs() < 1e-9);
        }
    }

    #[test]
    fn lemma_holds_at_the_ends_of_the_settings() {
        for (worlds, epsilon) in [(3, 1e-6), (64, 10.0), (10, 1.0)] {
            let settings = Settings { worlds, cases: 60, epsilon };
            let finding = preserved(&settings, &mut test_stream(3)).unwrap();
            assert!(finding.holds, "{finding:?}");
        }
    }
}
