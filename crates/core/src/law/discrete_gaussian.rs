//! The discrete Gaussian law.

use super::gaussian::{along, truncated_quantile};
use super::{DoubleGeometric, IntegerLaw, Law, Line, LineLaw, Tabled, Value, blocks, positive_scale, whole};
use crate::error::Result;
use crate::rng::{Rng, geometric, normal_quantile, open01};

/// Discrete Gaussian on the integers: `w(z) = exp(-z²/(2 sigma²))`. `sigma` is the parameter; the
/// variance is a little smaller.
///
/// Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy.
///
/// # Examples
///
/// ```
/// use congenial_core::law::{DiscreteGaussian, Law};
///
/// let law = DiscreteGaussian::new(1.0)?; // sigma, in counts
/// assert_eq!(law.log_weight(3), -4.5);
/// assert!(law.variance() < 1.0 && law.variance() > 0.999);
/// assert!(DiscreteGaussian::new(f64::NAN).is_err());
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscreteGaussian {
    sigma: f64,
}

impl DiscreteGaussian {
    /// Makes the law with the parameter `sigma`, in counts; refused unless finite, > 0 and <= 2^40.
    pub fn new(sigma: f64) -> Result<Self> {
        Ok(Self { sigma: positive_scale("discrete-gaussian sigma", sigma)? })
    }
}

impl Law for DiscreteGaussian {
    type Value = i64;
    fn scale(&self) -> f64 {
        self.sigma
    }
    #[inline]
    fn log_weight(&self, z: i64) -> f64 {
        let x = z as f64 / self.sigma;
        -0.5 * x * x
    }

    /// Draws by rejection from the double geometric with scale `t = floor(sigma) + 1` (Algorithm 3 of the source).
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        let t = libm::floor(self.sigma) + 1.0;
        let proposal = DoubleGeometric::with_scale(t);
        loop {
            let z = proposal.sample(rng);
            let excess = (z.unsigned_abs() as f64 - self.sigma * self.sigma / t) / self.sigma;
            if open01(rng) < libm::exp(-0.5 * excess * excess) {
                return z;
            }
        }
    }

    type Sampler = Tabled<Self>;
    fn sampler(&self) -> Tabled<Self> {
        Tabled::new(*self)
    }

    /// The mean of `z²`, summed over the support to rounding; for a sigma above 8 it is `sigma²`.
    fn variance(&self) -> f64 {
        if self.sigma > 8.0 {
            // The lattice correction is of order exp(-2 pi² sigma²).
            return self.sigma * self.sigma;
        }
        let weight = |k: f64| libm::exp(-0.5 * (k / self.sigma) * (k / self.sigma));
        let (mut mass, mut second) = (1.0, 0.0);
        for k in 1..=(libm::ceil(40.0 * self.sigma) as i64) {
            let k = k as f64;
            mass += 2.0 * weight(k);
            second += 2.0 * k * k * weight(k);
        }
        second / mass
    }
}

impl IntegerLaw for DiscreteGaussian {
    fn as_double_geometric(&self) -> Option<DoubleGeometric> {
        None
    }
    /// Sums the weights from `from` on until nothing is added.
    fn tail(&self, from: i64) -> f64 {
        let weight = |z: i64| libm::exp(self.log_weight(z));
        let last = (from..).find(|&z| weight(z) <= 1e-18 * weight(from)).expect("the weights fall");
        (from..=last).rev().map(weight).sum()
    }
    /// `w(f + k) = w(f) e^(-f k / sigma²) e^(-k²/(2 sigma²))`: a geometric draw k, accepted with the last factor.
    fn sample_tail<R: Rng + ?Sized>(&self, from: i64, rng: &mut R) -> i64 {
        let scale = self.sigma * self.sigma / from as f64;
        loop {
            let k = geometric(rng, scale);
            if open01(rng) < libm::exp(self.log_weight(k)) {
                return from + k;
            }
        }
    }
}

impl LineLaw for DiscreteGaussian {
    /// The precision `1/sigma²` of each level.
    type Tables = Vec<f64>;
    fn tables(laws: &[Self]) -> Vec<f64> {
        laws.iter().map(|law| 1.0 / (law.sigma * law.sigma)).collect()
    }

    /// Discrete Gaussian weights along a line multiply to one with a real centre.
    fn line(precisions: &Vec<f64>, line: &mut Line<i64>, lo: i64, hi: i64, u: f64) -> i64 {
        let (mean, sd) = along(precisions, &line.terms);
        let centre = i64::nearest(mean);
        quantile((centre, mean - centre as f64), sd, (lo, hi), u)
    }
}

/// Standard deviations from the centre beyond which less than 1e-22 of the law lies.
const REACH: f64 = 10.0;

/// Standard deviation from which the sum is no closer to the law than the continuous quantile: rounding misplaces less
/// than 1e-10 of the mass.
const WIDE: f64 = (1u64 << 15) as f64;

/// How steeply the logarithm of the weight may fall from one integer to the next for that.
const STEEP: f64 = 0.01;

/// The `u`-quantile of `p(t) ∝ exp(-(t - mean)²/(2 sd²))` on the integers `first <= t <= last`.
///
/// The mean is given as an integer and the rest. From the quantile of the normal law where that decides, which takes the
/// same time at any scale; else from the sum of the weights.
#[inline]
pub(super) fn quantile((centre, rest): (i64, f64), sd: f64, (first, last): (i64, i64), u: f64) -> i64 {
    let (lo, hi) = (first.saturating_sub(centre), last.saturating_sub(centre));
    let spread = sd - 1.0 / (24.0 * sd);
    let (below, above) = ((lo as f64 - 0.5 - rest) / spread, (hi as f64 + 0.5 - rest) / spread);
    let free = below < -REACH && above > REACH;
    // From further out the weights fall within some hundred cells; of less, the difference of probabilities loses digits.
    let near = sd >= WIDE && below < STEEP * sd && above > -STEEP * sd && above - below > 0.1;
    if sd >= whole::LEAST && (free || near) {
        let z = if free { normal_quantile(u) } else { truncated_quantile(below, above, u) };
        let error = if sd < WIDE { whole::error(z, sd, 0.0) } else { 0.0 };
        if let Some(t) = whole::whole(rest + z * spread, error) {
            return centre + t.clamp(lo, hi);
        }
    }
    let mode = 0.clamp(lo, hi);
    let t = if sd < SUMMED {
        summed(rest, sd, lo, hi, u)
    } else {
        // From further out the law is nearly geometric.
        let offset = (mode as f64 - rest) / sd;
        let log = |d: f64| -(d / sd) * (offset + 0.5 * d / sd);
        let scale = (1.5 * sd).min(4.0 * sd / offset.abs());
        mode + blocks::quantile(|d| libm::exp(log(d)), (lo - mode, hi - mode), scale, u)
    };
    centre.saturating_add(t)
}

/// Standard deviation from which sums are taken by blocks.
const SUMMED: f64 = 16.0;

/// The `u`-quantile of `p(t) ∝ exp(-(t - mean)²/(2 sd²))` on `lo <= t <= hi`, by its distribution function: summed from
/// the mode to both sides until nothing is added, then inverted. O(sd).
fn summed(mean: f64, sd: f64, lo: i64, hi: i64, u: f64) -> i64 {
    let mode = (libm::rint(mean) as i64).clamp(lo, hi);
    let right = || Outward::new(mode, mean, sd, hi, 1);
    let left = || Outward::new(mode, mean, sd, lo, -1);
    let below: f64 = left().map(|(_, weight)| weight).sum();
    let above: f64 = right().map(|(_, weight)| weight).sum();
    // Rounding may leave some of `rest` over: then it is the last value with weight.
    let mut last = mode;
    let mut rest = u * (below + 1.0 + above) - below;
    if rest < 0.0 {
        for (t, weight) in left() {
            last = t;
            rest += weight;
            if rest >= 0.0 {
                break;
            }
        }
    } else if rest >= 1.0 {
        rest -= 1.0;
        for (t, weight) in right() {
            last = t;
            rest -= weight;
            if rest < 0.0 {
                break;
            }
        }
    }
    last
}

/// The points `mode ± 1, mode ± 2, …` up to a bound with their weights relative to the mode's.
struct Outward {
    t: i64,
    bound: i64,
    step: i64,
    weight: f64,
    /// `w(next)/w(t)`, and the factor by which it shrinks at each step.
    ratio: f64,
    shrink: f64,
}

impl Outward {
    fn new(mode: i64, mean: f64, sd: f64, bound: i64, step: i64) -> Self {
        let offset = (mode as f64 - mean) * step as f64;
        let precision = 1.0 / (sd * sd);
        Self {
            t: mode,
            bound,
            step,
            weight: 1.0,
            ratio: libm::exp(-precision * (offset + 0.5)),
            shrink: libm::exp(-precision),
        }
    }
}

impl Iterator for Outward {
    type Item = (i64, f64);
    #[inline]
    fn next(&mut self) -> Option<(i64, f64)> {
        if self.t == self.bound {
            return None;
        }
        self.t += self.step;
        self.weight *= self.ratio;
        self.ratio *= self.shrink;
        (self.weight > 1e-22).then_some((self.t, self.weight))
    }
}
