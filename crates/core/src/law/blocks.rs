//! Sums of a smooth weight over long runs of integers, by blocks.

use std::sync::LazyLock;

/// Nodes of a block's quadrature rule.
const NODES: usize = 12;
/// Blocks of this length and longer are summed by nodes, shorter ones point by point.
const SHORT: i64 = 1 << FIRST;
const FIRST: u32 = 6;
/// Exponents of the lengths that have a rule of their own; to rounding, longer blocks have the same.
const RULES: u32 = 28;
/// Weights below this share of the mode's are left out.
const LEAST: f64 = 1e-20;

/// Nodes in (0, 1), each with its mirror image, and their weights: `Σ f(k)` over a block of m integers is
/// `m Σ w (f(centre - x m/2) + f(centre + x m/2))` for all polynomials f of degree below 2 × 12.
///
/// Gauss quadrature for the counting measure on m points: its orthogonal polynomials are the discrete Chebyshev (Gram)
/// polynomials, `p_{k+1} = x p_k - β_k p_{k-1}` with `β_k = k² (1 - k²/m²)/(4 k² - 1)` in units of m/2.
type Rule = [(f64, f64); NODES / 2];

static RULE: LazyLock<Vec<Rule>> =
    LazyLock::new(|| (FIRST..=RULES).map(|j| rule((1u64 << j) as f64)).collect());

fn rule(m: f64) -> Rule {
    let beta = |k: usize| {
        let square = (k * k) as f64;
        square * (1.0 - square / (m * m)) / (4.0 * square - 1.0)
    };
    std::array::from_fn(|i| {
        let mut x = libm::cos(std::f64::consts::PI * (i as f64 + 0.75) / (NODES as f64 + 0.5));
        let mut share = 0.0;
        for _ in 0..50 {
            // The polynomial, its derivative, and the sum of the squares of the orthonormal ones below it.
            let (mut before, mut now) = ((0.0, 0.0), (1.0, 0.0));
            let (mut norm, mut sum) = (1.0, 0.0);
            for k in 0..NODES {
                sum += now.0 * now.0 / norm;
                norm *= beta(k + 1);
                let lag = if k == 0 { 0.0 } else { beta(k) };
                let next = (x * now.0 - lag * before.0, now.0 + x * now.1 - lag * before.1);
                (before, now) = (now, next);
            }
            x -= now.0 / now.1;
            share = 1.0 / sum;
        }
        (x, share)
    })
}

/// The weight on one side of the mode, by the distance from it.
struct Side<F> {
    weight: F,
    /// The largest distance from the mode on this side.
    reach: i64,
    /// The length of the longest block, a power of 2.
    longest: i64,
}

impl<F: Fn(f64) -> f64> Side<F> {
    /// Blocks `(first, length, sum)` from distance 1 on, as long as their distance from the mode at most.
    fn blocks(&self) -> impl Iterator<Item = (i64, i64, f64)> {
        let mut first = 1;
        std::iter::from_fn(move || {
            if first > self.reach || (self.weight)(first as f64) < LEAST {
                return None;
            }
            let length = (1i64 << first.ilog2()).clamp(SHORT / 2, self.longest).min(self.reach - first + 1);
            let block = (first, length, self.sum(first, length));
            first += length;
            Some(block)
        })
    }

    fn sum(&self, mut first: i64, mut length: i64) -> f64 {
        let mut sum = 0.0;
        while length >= SHORT {
            let exponent = length.ilog2();
            let m = (1i64 << exponent) as f64;
            let centre = first as f64 + 0.5 * (m - 1.0);
            let nodes = RULE[(exponent.min(RULES) - FIRST) as usize];
            let pair = |x: f64| (self.weight)(centre - 0.5 * m * x) + (self.weight)(centre + 0.5 * m * x);
            sum += m * nodes.iter().map(|&(x, share)| share * pair(x)).sum::<f64>();
            first += 1 << exponent;
            length -= 1 << exponent;
        }
        sum + (first..first + length).map(|d| (self.weight)(d as f64)).sum::<f64>()
    }

    /// The distance at which the sum from 1 on passes `rest`.
    fn pass(&self, mut rest: f64) -> i64 {
        let mut last = 0;
        for (mut first, mut length, sum) in self.blocks() {
            last = first + length - 1;
            if rest >= sum {
                rest -= sum;
                continue;
            }
            while length > 1 {
                let half = if length > SHORT { 1i64 << (length - 1).ilog2() } else { 1 };
                let sum = self.sum(first, half);
                if rest < sum {
                    length = half;
                } else {
                    rest -= sum;
                    first += half;
                    length -= half;
                }
            }
            return first;
        }
        last
    }
}

/// The `u`-quantile of `p(t) ∝ weight(t)` on the integers `first <= t <= last`, which contain 0.
///
/// - `weight`: 1 at 0, and falling to both sides; analytic on each of them, with no singularity nearer to a point than
///   that is to 0.
/// - `scale`: a length on which a polynomial of degree 23 renders the weight (the sum of some two standard deviations).
///
/// Blocks of integers that double in length up to the scale, each summed by the [`Rule`] of its length: the logarithm of
/// the scale many. Weights below 1e-20 are left out.
pub(super) fn quantile(weight: impl Fn(f64) -> f64, (first, last): (i64, i64), scale: f64, u: f64) -> i64 {
    let longest = 1i64 << (scale.clamp(SHORT as f64, (1u64 << 50) as f64) as i64).ilog2();
    let left = Side { weight: |d: f64| weight(-d), reach: first.saturating_neg(), longest };
    let right = Side { weight: &weight, reach: last, longest };
    let below: f64 = left.blocks().map(|(.., sum)| sum).sum();
    let above: f64 = right.blocks().map(|(.., sum)| sum).sum();
    let rest = u * (below + 1.0 + above) - below;
    if rest < 0.0 {
        -left.pass(-rest)
    } else if rest < 1.0 {
        0
    } else {
        right.pass(rest - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of powers, whose closed form is a sum of fewer digits than the terms: by plain addition.
    #[test]
    fn rules_are_exact_for_polynomials() {
        for (rule, j) in RULE.iter().zip(FIRST..12) {
            let m = 1i64 << j;
            for degree in (0..2 * NODES).step_by(2) {
                let half = 0.5 * m as f64;
                let power = |x: f64| libm::pow(x / half, degree as f64);
                let plain: f64 = (0..m).map(|k| power(k as f64 - 0.5 * (m - 1) as f64)).sum();
                let by_rule: f64 =
                    m as f64 * rule.iter().map(|&(x, w)| 2.0 * w * power(half * x)).sum::<f64>();
                assert!(
                    (by_rule / plain - 1.0).abs() < 1e-13,
                    "{m} points, degree {degree}: {by_rule} {plain}"
                );
            }
        }
    }
}
