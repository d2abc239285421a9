//! The Laplace law.

use super::{Law, Line, LineLaw, positive_scale};
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
        let Line { terms, nodes, weights: slopes, masses } = line;
        // Piece j runs from nodes[j] to nodes[j + 1] with the log-density's slope slopes[j].
        nodes.clear();
        slopes.clear();
        let mut slope: f64 = terms.iter().map(|term| rates[term.level]).sum();
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
        // Log-density 0 at the mode, the left end of the first piece that does not rise.
        let mode = slopes.iter().position(|&slope| slope <= 0.0).unwrap_or(slopes.len());
        masses.clear();
        masses.resize(slopes.len(), 0.0);
        let mut log = 0.0;
        for j in mode..slopes.len() {
            let piece = Piece { left: nodes[j], right: nodes[j + 1], slope: slopes[j] };
            masses[j] = piece.mass(log);
            log -= piece.fall();
        }
        log = 0.0;
        for j in (0..mode).rev() {
            let piece = Piece { left: nodes[j], right: nodes[j + 1], slope: slopes[j] };
            masses[j] = piece.mass(log);
            log -= piece.fall();
        }
        let mut rest = u * masses.iter().sum::<f64>();
        let mut j = 0;
        while j + 1 < masses.len() && rest >= masses[j] {
            rest -= masses[j];
            j += 1;
        }
        let fraction = (rest / masses[j]).min(1.0 - f64::EPSILON);
        Piece { left: nodes[j], right: nodes[j + 1], slope: slopes[j] }.quantile(fraction)
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

    /// The integral; `top`: the log-density at the higher end.
    #[inline]
    fn mass(&self, top: f64) -> f64 {
        let height = if top == 0.0 { 1.0 } else { libm::exp(top) };
        if self.slope == 0.0 {
            height * (self.right - self.left)
        } else {
            height * -libm::expm1(-self.fall()) / self.slope.abs()
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
