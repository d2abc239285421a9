//! mu of noise with a Gaussian weight on a lattice: all that is beyond its table follows from the table.
//!
//! With `‖z‖² = Σ z_v²/sigma_v²` the change u loses `L = ‖u‖²/2 - <u, z>`, and z -> z + u keeps what of z is orthogonal to u. So Q
//! is P moved: `P(L = l + ‖u‖²) = Q(L = l) = e^-l P(L = l)`, and one period of `‖u‖²` gives the law at all losses, however rare.
//!
//! A test that takes all losses from l on has the errors `alpha = P(L >= l + ‖u‖²)` and `1 - P(L >= l)`. With
//! `x(l) = -Φ⁻¹(P(L >= l))` mu is the largest `x(l + ‖u‖²) - x(l)`, over infinitely many l.
//!
//! **The rest is bounded.** D_α is at most `α rho`, `rho = ‖u‖²/2`, as for normal laws, so that
//! `sqrt(-ln alpha) <= sqrt(-ln p) + sqrt(rho)` for every test with the power p. With `h(x) = sqrt(-ln Φ(-x))`, whose slope rises
//! to `1/sqrt(2)` from 2 on, `x(l + ‖u‖²) - x(l) <= sqrt(rho)/h'(x(l))`: next to `‖u‖` far out.

use crate::privacy::normal_curve::{log_tail, mills};

/// Standard deviations up to which tests are looked at; doubled as long as the rest may decide.
const FIRST: f64 = 32.0;
const LAST: f64 = 512.0;
/// A weight below that of a place, in powers of e, that no longer adds to what is above it.
const DEPTH: f64 = 45.0;

/// The least mu of a law of losses on the multiples of a step, where Q is P moved by as many steps as there are weights. `period`: the
/// weights of places from 0 on, up to a factor.
///
/// From above; beyond 512 standard deviations by a bound that is 3e-5 too large at most.
pub(super) fn mu(step: f64, period: &[f64]) -> f64 {
    let norm = libm::sqrt(period.len() as f64 * step);
    let mut reach = FIRST;
    loop {
        let tails = Tails::new(step, period, reach);
        let (most, last) = tails.most();
        // The slope of h, at the last place that was looked at.
        let slope = 0.5 / (mills(last).0 * libm::sqrt(-log_tail(last)));
        let rest = norm * std::f64::consts::FRAC_1_SQRT_2 / slope;
        if rest <= most || reach >= LAST {
            return most.max(rest);
        }
        reach *= 2.0;
    }
}

/// All weights of such a law that are not below 1e-19 of the largest, by place.
pub(super) fn weights(step: f64, period: &[f64]) -> Vec<(i64, f64)> {
    let (turn, mut weights) = (period.len(), period.to_vec());
    let largest = |weights: &[f64]| weights.iter().copied().fold(0.0, f64::max);
    let least = 1e-19 * largest(&weights);
    while largest(&weights[weights.len() - turn..]) > least {
        for before in weights.len() - turn..weights.len() {
            weights.push(weights[before] * libm::exp(-(before as f64) * step));
        }
    }
    // The law is even about the middle.
    let above = (0..).zip(&weights).filter(|(place, _)| 2 * place > turn as i64);
    let both = above.flat_map(|(place, &weight)| [(place, weight), (turn as i64 - place, weight)]);
    let middle = (turn % 2 == 0).then(|| (turn as i64 / 2, weights[turn / 2]));
    both.chain(middle).filter(|(_, weight)| *weight > 0.0).collect()
}

/// The tails of a law of losses.
struct Tails {
    turn: usize,
    /// By place, from 0 on: the logarithm of its probability, and of that of all from it on.
    logs: Vec<f64>,
    tails: Vec<f64>,
    reach: f64,
}

impl Tails {
    fn new(step: f64, period: &[f64], reach: f64) -> Self {
        let turn = period.len();
        let mut logs: Vec<f64> = period.iter().map(|&weight| libm::log(weight)).collect();
        let largest = |logs: &[f64]| logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = largest(&logs) - 0.5 * reach * reach - DEPTH;
        // Until a whole period lies below, and there is one to compare the first with.
        while logs.len() < 3 * turn || largest(&logs[logs.len() - turn..]) > least {
            for before in logs.len() - turn..logs.len() {
                logs.push(logs[before] - before as f64 * step);
            }
        }
        let mut tails = logs.clone();
        for place in (0..tails.len() - 1).rev() {
            tails[place] = log_sum(logs[place], tails[place + 1]);
        }
        // All on one side of the middle, `turn/2`, and its mirror: `P(L >= l) + P(L > turn - l) = 1`.
        let middle = turn.div_ceil(2);
        let mirror = tails[turn - middle + 1];
        let all = log_sum(tails[middle], mirror);
        tails.iter_mut().for_each(|tail| *tail -= all);
        Self { turn, logs, tails, reach }
    }

    /// `-Φ⁻¹(P(L >= place))`.
    fn x(&self, place: usize) -> f64 {
        match 2 * place > self.turn {
            true => quantile(self.tails[place]),
            false => -quantile(self.tails[self.turn + 1 - place]),
        }
    }

    /// The largest difference as far as it is looked for, and where it ends.
    fn most(&self) -> (f64, f64) {
        let (mut most, mut last) = (0.0f64, 0.0);
        for place in 0..self.tails.len() - self.turn {
            if self.logs[place] == f64::NEG_INFINITY {
                continue;
            }
            last = self.x(place);
            most = most.max(self.x(place + self.turn) - last);
            if last > self.reach {
                break;
            }
        }
        (most, last)
    }
}

/// `ln(e^a + e^b)`.
pub(super) fn log_sum(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    if low == f64::NEG_INFINITY { high } else { high + libm::log1p(libm::exp(low - high)) }
}

/// The x with `ln Φ(-x)` a given number below `ln 1/2` or next to it, by Newton's method: `d/dx ln Φ(-x) = -1/R(x)`.
pub(super) fn quantile(log: f64) -> f64 {
    let mut x = libm::sqrt((-2.0 * log - 1.0).max(0.0));
    for _ in 0..50 {
        let next = x + (log_tail(x) - log) * mills(x).0;
        let next = next.max(-0.9);
        if (next - x).abs() <= 1e-15 * x.abs() {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal_quantile;

    #[test]
    fn quantiles_are_those_of_their_logarithms() {
        for p in [0.5, 0.499, 0.3, 0.01, 1e-5, 1e-17, 1e-300] {
            let (got, want) = (quantile(libm::log(p)), -normal_quantile(p));
            assert!((got - want).abs() <= 1e-9 * want.max(1.0), "{p}: {got}, not {want}");
        }
        for x in [40.0, 300.0, 5000.0] {
            assert!((quantile(log_tail(x)) / x - 1.0).abs() < 1e-13);
        }
    }

    /// The slope that the bound on the rest takes is the least beyond it.
    #[test]
    fn the_slope_rises() {
        let slope = |x: f64| 0.5 / (mills(x).0 * libm::sqrt(-log_tail(x)));
        let slopes: Vec<f64> = (0..4000).map(|k| slope(2.0 + 0.02 * f64::from(k))).collect();
        assert!(slopes.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(slopes.iter().all(|slope| *slope < std::f64::consts::FRAC_1_SQRT_2));
    }
}
