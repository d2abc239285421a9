//! What releases must be, computed in other ways than they are drawn: plain, slow and small.
//!
//! - [`trees`]: conditioned noise on a tree, by convolution in logarithms.
//! - [`sums`]: weighted sums over a tree whose nodes weigh their sums: noise under equations, posteriors.
//! - [`tables`]: conditioned noise on a table, by listing all points.
//! - [`reals`]: conditioned real noise on a table with few free dimensions, by quadrature.
//! - [`images`]: projections, by coordinate ascent on multipliers and by trying all roundings, of noise drawn anew.
//!
//! Nothing here shares code with the samplers but the random words and the elementary functions.

pub mod images;
pub mod reals;
pub mod sums;
pub mod tables;
pub mod trees;

use congenial_core::rng::{Rng, open01};

/// A noise law by its formula alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Formula {
    /// `w(z) = exp(-|z|/scale)` on the integers.
    Geometric(f64),
    /// `w(z) = exp(-z²/(2 scale²))` on the integers.
    DiscreteGaussian(f64),
    /// `exp(-|z|/scale)` on the reals.
    Laplace(f64),
    /// `exp(-z²/(2 scale²))` on the reals.
    Gaussian(f64),
    /// `exp(-‖z‖₂/scale)` on integer vectors: no product.
    Euclidean(f64),
}

impl Formula {
    /// The scale parameter.
    pub fn scale(self) -> f64 {
        match self {
            Self::Geometric(scale)
            | Self::DiscreteGaussian(scale)
            | Self::Laplace(scale)
            | Self::Gaussian(scale)
            | Self::Euclidean(scale) => scale,
        }
    }

    /// Whether it lives on the reals.
    pub fn is_real(self) -> bool {
        matches!(self, Self::Laplace(_) | Self::Gaussian(_))
    }

    /// `ln w(z)` of one value (of a vector with one entry).
    pub fn log_weight(self, z: f64) -> f64 {
        match self {
            Self::Geometric(scale) | Self::Laplace(scale) | Self::Euclidean(scale) => -z.abs() / scale,
            Self::DiscreteGaussian(scale) | Self::Gaussian(scale) => -0.5 * (z / scale) * (z / scale),
        }
    }

    /// How far from 0 weights matter: to `e^-40` of the largest.
    pub fn reach(self) -> f64 {
        match self {
            Self::DiscreteGaussian(scale) | Self::Gaussian(scale) => 9.0 * scale + 1.0,
            Self::Geometric(scale) | Self::Laplace(scale) | Self::Euclidean(scale) => 40.0 * scale + 1.0,
        }
    }

    /// One independent draw, by inversion. `None`: too wide for a table, or no product.
    pub fn sampler(self) -> Option<Sampler> {
        match self {
            Self::Geometric(_) | Self::DiscreteGaussian(_) => {
                let reach = self.reach();
                if reach > 1e6 {
                    return None;
                }
                let mut sum = 0.0;
                let weights = (-(reach as i64)..=reach as i64).map(|z| {
                    sum += libm::exp(self.log_weight(z as f64));
                    sum
                });
                Some(Sampler { formula: self, first: -(reach as i64), cumulative: weights.collect() })
            }
            Self::Laplace(_) | Self::Gaussian(_) => {
                Some(Sampler { formula: self, first: 0, cumulative: Vec::new() })
            }
            Self::Euclidean(_) => None,
        }
    }
}

/// Draws of a [`Formula`].
#[derive(Debug)]
pub struct Sampler {
    formula: Formula,
    first: i64,
    cumulative: Vec<f64>,
}

impl Sampler {
    /// One draw.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let u = open01(rng);
        match self.formula {
            Formula::Laplace(scale) => {
                let size = -libm::log(open01(rng)) * scale;
                if u < 0.5 { -size } else { size }
            }
            Formula::Gaussian(scale) => {
                let radius = libm::sqrt(-2.0 * libm::log(u));
                scale * radius * libm::cos(2.0 * std::f64::consts::PI * open01(rng))
            }
            _ => {
                let target = u * self.cumulative[self.cumulative.len() - 1];
                let place = self.cumulative.partition_point(|sum| *sum <= target);
                (self.first + place.min(self.cumulative.len() - 1) as i64) as f64
            }
        }
    }
}

/// A distribution on listed values, ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// Values with their probabilities.
    pub points: Vec<(f64, f64)>,
    /// Reals are listed on a grid: the largest probability of one of its points, else 0.
    pub grain: f64,
}

impl Distribution {
    /// The largest difference to the empirical distribution function of a sorted sample that does not come from the grid.
    pub fn distance(&self, sorted: &[f64]) -> f64 {
        let n = sorted.len() as f64;
        let (mut below, mut worst, mut seen) = (0.0, 0.0f64, 0);
        for &(value, p) in &self.points {
            // Values up to the middle between two points count for the lower one; rounding is no difference.
            let edge = value + 1e-6 * (1.0 + value.abs());
            let before = sorted[seen..].partition_point(|x| *x < value - 1e-6 * (1.0 + value.abs())) + seen;
            worst = worst.max((before as f64 / n - below).abs());
            below += p;
            seen = before + sorted[before..].partition_point(|x| *x <= edge);
            worst = worst.max((seen as f64 / n - below).abs());
        }
        worst = worst.max((1.0 - seen as f64 / n).abs());
        (worst - self.grain).max(0.0)
    }
}
