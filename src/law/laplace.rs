//! The Laplace law.

use super::{Law, Line, LineLaw, RealLaw, positive_scale};
use crate::error::Result;
use crate::rng::{Rng, exponential, sign};

/// Laplace on the reals: `w(z) = exp(-|z|/lambda)`, density `w / (2 lambda)`, variance `2 lambda²`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laplace {
    lambda: f64,
}

impl Laplace {
    /// `lambda`: the scale in counts; refused unless finite, > 0 and <= 2^40.
    pub fn new(lambda: f64) -> Result<Self> {
        Ok(Self { lambda: positive_scale("laplace scale", lambda)? })
    }
}

impl Law for Laplace {
    type Value = f64;
    fn scale(&self) -> f64 {
        self.lambda
    }
    #[inline]
    fn log_weight(&self, z: f64) -> f64 {
        -z.abs() / self.lambda
    }
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        sign(rng) * exponential(rng) * self.lambda
    }
    #[inline]
    fn log_weights(&self, values: &[f64]) -> f64 {
        // Four running sums: one would wait for itself.
        let (fours, rest) = values.as_chunks::<4>();
        let mut sums = [0.0; 4];
        for four in fours {
            for (sum, z) in sums.iter_mut().zip(four) {
                *sum += z.abs();
            }
        }
        -(sums.iter().sum::<f64>() + rest.iter().map(|z| z.abs()).sum::<f64>()) / self.lambda
    }
    fn variance(&self) -> f64 {
        2.0 * self.lambda * self.lambda
    }
}

impl LineLaw for Laplace {
    /// By level: the rate `1/lambda`.
    type Tables = Vec<f64>;
    fn tables(laws: &[Self]) -> Vec<f64> {
        laws.iter().map(|law| 1.0 / law.lambda).collect()
    }

    /// The density along the line is piecewise exponential with a break at every `-at_k`: its pieces are
    /// integrated in closed form and the piece that holds `u` is inverted.
    fn line(rates: &Vec<f64>, line: &mut Line<f64>, lo: f64, hi: f64, u: f64) -> f64 {
        line.sort_breaks();
        let Line { terms, nodes, slopes, weights, masses } = line;
        // Piece j runs from nodes[j] to nodes[j + 1] with the log-density's slope slopes[j].
        nodes.clear();
        slopes.clear();
        let steepest: f64 = terms.iter().map(|term| rates[term.level]).sum();
        let mut slope = steepest;
        nodes.push(lo);
        for term in terms.iter() {
            let at = -term.at;
            if at > nodes[nodes.len() - 1] && at < hi {
                slopes.push(slope);
                nodes.push(at);
            }
            slope -= 2.0 * rates[term.level];
            if at >= hi {
                // The piece that ends at `hi` has the slope before this break.
                slope += 2.0 * rates[term.level];
                break;
            }
        }
        slopes.push(slope);
        nodes.push(hi);
        // Weight 1 at the mode, the left end of the first piece that does not rise; one exponential a piece.
        let mode = slopes.iter().position(|&slope| slope <= 0.0).unwrap_or(slopes.len());
        let piece = |j: usize| Piece { left: nodes[j], right: nodes[j + 1], slope: slopes[j] };
        weights.clear();
        weights.resize(nodes.len(), 1.0);
        for j in mode..slopes.len() {
            weights[j + 1] = weights[j] * libm::exp(-piece(j).fall());
        }
        for j in (0..mode).rev() {
            weights[j] = weights[j + 1] * libm::exp(-piece(j).fall());
        }
        masses.clear();
        masses.extend((0..slopes.len()).map(|j| piece(j).mass(weights[j], weights[j + 1], steepest)));
        let mut rest = u * masses.iter().sum::<f64>();
        let mut j = 0;
        while j + 1 < masses.len() && rest >= masses[j] {
            rest -= masses[j];
            j += 1;
        }
        piece(j).quantile((rest / masses[j]).min(1.0 - f64::EPSILON))
    }
}

impl RealLaw for Laplace {
    fn along(self, coefficients: &[f64]) -> Self {
        Self { lambda: self.lambda / coefficients.iter().map(|c| c.abs()).sum::<f64>() }
    }
}

/// A piece on which the log-density is linear.
struct Piece {
    left: f64,
    right: f64,
    slope: f64,
}

impl Piece {
    /// By how much the log-density falls from the higher to the lower end.
    #[inline]
    fn fall(&self) -> f64 {
        if self.slope == 0.0 { 0.0 } else { self.slope.abs() * (self.right - self.left) }
    }

    /// The integral, from the weights at both ends.
    #[inline]
    fn mass(&self, at_left: f64, at_right: f64, steepest: f64) -> f64 {
        let slope = self.slope.abs();
        if slope > 1e-3 * steepest {
            // Rounding costs 1e-16 / slope here, of a whole that is 1 / steepest at least.
            (at_left - at_right).abs() / slope
        } else if self.slope == 0.0 {
            at_left * (self.right - self.left)
        } else {
            at_left.max(at_right) * -libm::expm1(-self.fall()) / slope
        }
    }

    /// The point below which the fraction `v` of the piece's mass lies.
    #[inline]
    fn quantile(&self, v: f64) -> f64 {
        let point = if self.slope == 0.0 {
            self.left + v * (self.right - self.left)
        } else {
            let lost = libm::expm1(-self.fall());
            if self.slope < 0.0 {
                self.left + libm::log1p(v * lost) / self.slope
            } else {
                self.right + libm::log1p((1.0 - v) * lost) / self.slope
            }
        };
        point.clamp(self.left, self.right)
    }
}
