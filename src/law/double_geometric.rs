//! The double geometric (discrete Laplace) law.

use super::{IntegerLaw, Law, Line, LineLaw, Term, positive_scale};
use crate::error::Result;
use crate::rng::{Rng, geometric};

/// Double geometric on the integers: `w(z) = a^|z|` with `a = exp(-1/lambda)`, probability
/// `(1 - a)/(1 + a) w(z)`, variance `2a/(1 - a)²`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoubleGeometric {
    pub(super) lambda: f64,
}

impl DoubleGeometric {
    /// `lambda`: the scale in counts; refused unless finite, > 0 and <= 2^40.
    pub fn new(lambda: f64) -> Result<Self> {
        Ok(Self { lambda: positive_scale("double-geometric scale", lambda)? })
    }

    /// `a = exp(-1/lambda)`.
    pub fn ratio(&self) -> f64 {
        libm::exp(-1.0 / self.lambda)
    }
}

impl Law for DoubleGeometric {
    type Value = i64;
    fn scale(&self) -> f64 {
        self.lambda
    }
    #[inline]
    fn log_weight(&self, z: i64) -> f64 {
        -(z.unsigned_abs() as f64) / self.lambda
    }
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        geometric(rng, self.lambda) - geometric(rng, self.lambda)
    }
    fn variance(&self) -> f64 {
        let one_minus = -libm::expm1(-1.0 / self.lambda);
        2.0 * self.ratio() / (one_minus * one_minus)
    }
}

impl IntegerLaw for DoubleGeometric {
    fn as_double_geometric(&self) -> Option<DoubleGeometric> {
        Some(*self)
    }
}

/// The powers `a^0, a^1, …` of one level, as far as they pay.
#[derive(Debug)]
pub struct Powers {
    rate: f64,
    ratio: f64,
    inverse: f64,
    powers: Vec<f64>,
}

impl LineLaw for DoubleGeometric {
    type Table = Powers;
    fn table(&self) -> Powers {
        let rate = 1.0 / self.lambda;
        // Beyond exp(-200) a weight never decides; beyond 2,048 entries the table leaves the cache.
        let len = libm::ceil((200.0 * self.lambda).clamp(16.0, 2048.0)) as usize;
        let powers = (0..len).map(|k| libm::exp(-(k as f64) * rate)).collect();
        Powers { rate, ratio: self.ratio(), inverse: libm::exp(rate), powers }
    }

    /// The weight along the line is piecewise geometric with a break at every `-at_k`: its pieces are
    /// summed in closed form and the piece that holds `u` is inverted.
    ///
    /// Each piece is measured from its higher end, so nothing underflows that matters.
    fn line(tables: &[Powers], line: &mut Line<i64>, lo: i64, hi: i64, u: f64) -> i64 {
        line.sort_breaks();
        let Line { terms, nodes, weights, masses } = line;
        // Piece j is nodes[j] <= t < nodes[j + 1]; the outer nodes are the bounds (hi + 1 on the right).
        let end = if hi == i64::MAX { i64::MAX } else { hi + 1 };
        nodes.clear();
        nodes.push(lo);
        for term in terms.iter() {
            let at = -term.at;
            if at > nodes[nodes.len() - 1] && at < end {
                nodes.push(at);
            }
        }
        nodes.push(end);
        let unbounded = |t: i64| t == i64::MIN || t == i64::MAX;
        weights.clear();
        weights.extend(nodes.iter().map(|&t| if unbounded(t) { 0.0 } else { product(tables, terms, t) }));
        if weights.iter().all(|&w| w < 1e-150) {
            rescale(tables, terms, nodes, weights);
        }
        let first = Growth::leftmost(tables, terms).pass(tables, terms, lo);
        let mut growth = first;
        masses.clear();
        let mut total = 0.0;
        for j in 0..nodes.len() - 1 {
            let mass = growth.mass(weights[j], weights[j + 1], nodes[j], nodes[j + 1]);
            masses.push(mass);
            total += mass;
            growth = growth.pass(tables, terms, nodes[j + 1]);
        }
        let mut rest = u * total;
        growth = first;
        let mut j = 0;
        while j + 1 < masses.len() && rest >= masses[j] {
            rest -= masses[j];
            j += 1;
            growth = growth.pass(tables, terms, nodes[j]);
        }
        let (left, right) = (nodes[j], nodes[j + 1]);
        if growth.is_flat() {
            (left + (rest / weights[j]) as i64).min(right - 1)
        } else if growth.slope < 0.0 {
            let steps = libm::log1p(-rest * growth.one_minus_q() / weights[j]) / growth.slope;
            (left + steps.min(1e18) as i64).clamp(left, right - 1)
        } else {
            let above = (masses[j] - rest).max(0.0);
            let steps = -libm::log1p(above * growth.one_minus_q() / weights[j + 1]) / growth.slope;
            (right - libm::ceil(steps).clamp(1.0, 1e18) as i64).clamp(left, right - 1)
        }
    }
}

/// How the weight grows on one piece: `w(t + 1) = q w(t)`, `slope = ln q`.
#[derive(Clone, Copy)]
struct Growth {
    slope: f64,
    q: f64,
    /// The steepest slope of the line: the yardstick of rounding.
    steepest: f64,
    /// Breaks already passed.
    passed: usize,
}

impl Growth {
    #[inline]
    fn leftmost(tables: &[Powers], terms: &[Term<i64>]) -> Self {
        let (mut slope, mut q) = (0.0, 1.0);
        for term in terms {
            slope += tables[term.level].rate;
            q *= tables[term.level].inverse;
        }
        Self { slope, q, steepest: slope, passed: 0 }
    }

    /// Passes every break up to and including `upto`.
    #[inline]
    fn pass(mut self, tables: &[Powers], terms: &[Term<i64>], upto: i64) -> Self {
        while self.passed < terms.len() && -terms[self.passed].at <= upto {
            let table = &tables[terms[self.passed].level];
            self.slope -= 2.0 * table.rate;
            self.q *= table.ratio * table.ratio;
            self.passed += 1;
        }
        self
    }

    /// The rates cancel: the slope is rounding.
    #[inline]
    fn is_flat(&self) -> bool {
        self.slope.abs() < 1e-13 * self.steepest
    }

    #[inline]
    fn one_minus_q(&self) -> f64 {
        if self.slope.abs() > 1e-3 { 1.0 - self.q } else { -libm::expm1(self.slope) }
    }

    /// `Σ w(t)` over `left <= t < right`, from the weights at both ends.
    #[inline]
    fn mass(&self, at_left: f64, at_right: f64, left: i64, right: i64) -> f64 {
        if self.slope.abs() > 1e-3 {
            return (at_left - at_right) / (1.0 - self.q);
        }
        // The weight falls slowly and the difference above would cancel.
        let length = right as f64 - left as f64;
        if self.is_flat() {
            at_left * length
        } else if self.slope < 0.0 {
            at_left * libm::expm1(length * self.slope) / libm::expm1(self.slope)
        } else {
            at_right / self.q * libm::expm1(-length * self.slope) / libm::expm1(-self.slope)
        }
    }
}

#[inline]
fn product(tables: &[Powers], terms: &[Term<i64>], t: i64) -> f64 {
    let mut weight = 1.0;
    for term in terms {
        let table = &tables[term.level];
        let distance = (term.at + t).unsigned_abs();
        weight *= match table.powers.get(distance as usize) {
            Some(&power) => power,
            None => libm::exp(-(distance as f64) * table.rate),
        };
    }
    weight
}

/// The weights at the nodes divided by their maximum, when all of them are tiny.
#[cold]
fn rescale(tables: &[Powers], terms: &[Term<i64>], nodes: &[i64], weights: &mut [f64]) {
    let log = |t: i64| -> f64 {
        if t == i64::MIN || t == i64::MAX {
            return f64::NEG_INFINITY;
        }
        terms.iter().map(|term| -((term.at + t).unsigned_abs() as f64) * tables[term.level].rate).sum()
    };
    let top = nodes.iter().map(|&t| log(t)).fold(f64::NEG_INFINITY, f64::max);
    for (weight, &t) in weights.iter_mut().zip(nodes) {
        *weight = libm::exp(log(t) - top);
    }
}
