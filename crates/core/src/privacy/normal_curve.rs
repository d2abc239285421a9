//! The privacy curve of normal noise: `δ(epsilon) = sup P(S) - e^epsilon Q(S)` between P = N(mu, 1) and Q = N(0, 1).

use crate::rng::normal_cdf;
use std::f64::consts::{FRAC_PI_2, PI, SQRT_2};

/// By how much delta may be wrong, relatively: it is taken to be so much larger than computed.
const SLACK: f64 = 1e-12;

/// `Φ(mu/2 - epsilon/mu) - e^epsilon Φ(-mu/2 - epsilon/mu)` (Balle, Wang 2018, Thm. 8), to about 1e-13 relatively.
/// `mu` > 0, `epsilon` >= 0.
///
/// With `x = epsilon/mu - mu/2` and Mills' ratio `R(t) = Φ(-t)/φ(t)` it is `φ(x) (R(x) - R(x + mu))`, as `e^epsilon φ(x + mu) = φ(x)`.
fn delta(mu: f64, epsilon: f64) -> f64 {
    let x = epsilon / mu - 0.5 * mu;
    let density = libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * PI);
    if x < 0.0 && mu >= 0.5 {
        return normal_cdf(-x) - density * mills(x + mu).0;
    }
    // The difference of two close values is the integral of `-R'`, by the rule of Gauss and Legendre on eight points.
    let difference = if mu < 0.5 {
        let middle = x + 0.5 * mu;
        let pair = |(node, weight): &(f64, f64)| {
            weight * (mills(middle - 0.5 * mu * node).1 + mills(middle + 0.5 * mu * node).1)
        };
        0.5 * mu * NODES.iter().map(pair).sum::<f64>()
    } else {
        mills(x).0 - mills(x + mu).0
    };
    density * difference
}

/// `δ(epsilon)`, rounded upwards. `mu` >= 0, `epsilon` >= 0.
pub(super) fn delta_at(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 { 0.0 } else { (delta(mu, epsilon) * (1.0 + SLACK)).min(1.0) }
}

/// Nodes and weights on (-1, 1), one of each pair.
const NODES: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_27),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// Mills' ratio `R(t)` and `-R'(t) = 1 - t R(t)`, t > -1. Beyond 3 by Laplace's continued fraction `R = 1/(t + c)`, `c
/// = 1/(t + 2/(t + 3/(t + ...)))`, so that `1 - t R = c R`.
pub(super) fn mills(t: f64) -> (f64, f64) {
    if t < 3.0 {
        let ratio = libm::sqrt(FRAC_PI_2) * libm::exp(0.5 * t * t) * libm::erfc(t / SQRT_2);
        return (ratio, 1.0 - t * ratio);
    }
    let c = (1..50).rev().fold(0.0, |c, k| f64::from(k) / (t + c));
    let ratio = 1.0 / (t + c);
    (ratio, c * ratio)
}

/// `ln Φ(-t)`, t > -1.
pub(super) fn log_tail(t: f64) -> f64 {
    libm::log(mills(t).0) - 0.5 * t * t - 0.5 * libm::log(2.0 * PI)
}

/// The least epsilon with `δ(epsilon) <= delta`, rounded upwards. `most`: one that is large enough.
pub(super) fn epsilon(mu: f64, at: f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if delta(mu, middle) * (1.0 + SLACK) <= at { high = middle } else { low = middle }
    }
    high
}

/// The largest mu with `δ(epsilon) <= delta`, rounded downwards. `least`: one that is small enough.
pub(super) fn mu(epsilon: f64, at: f64, least: f64) -> f64 {
    let holds = |mu: f64| delta(mu, epsilon) * (1.0 + SLACK) <= at;
    let (mut low, mut high) = (least, 2.0 * least.max(f64::MIN_POSITIVE));
    while holds(high) {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}
