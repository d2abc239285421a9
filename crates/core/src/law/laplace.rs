//! The Laplace law.

use super::{
    Bounded, Law, Line, LineLaw, LinePair, RealLaw, Term, elementary::Elementary, maximal, positive_scale,
    sort,
};
use crate::error::Result;
use crate::rng::{Rng, exponential, sign};

/// Laplace on the reals: `w(z) = exp(-|z|/lambda)`, density `w / (2 lambda)`, variance `2 lambda²`.
///
/// # Examples
///
/// ```
/// use congenial_core::law::{Laplace, Law};
///
/// let law = Laplace::new(3.0)?; // lambda, in counts
/// assert_eq!((law.scale(), law.variance(), law.log_weight(-6.0)), (3.0, 18.0, -2.0));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laplace {
    lambda: f64,
}

impl Laplace {
    /// Makes the law with the scale `lambda`, in counts; refused unless finite, > 0 and <= 2^40.
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
    type Sampler = Self;
    fn sampler(&self) -> Self {
        *self
    }
    fn variance(&self) -> f64 {
        2.0 * self.lambda * self.lambda
    }
}

/// What line draws look up: the rate of every level, and whether all are the same.
#[derive(Debug)]
pub struct RateTables {
    rates: Vec<f64>,
    equal: bool,
    elementary: &'static Elementary,
}

/// Most terms that the fast draw takes: all lines of a tree with three levels.
const FEW: usize = 4;

impl LineLaw for Laplace {
    type Tables = RateTables;
    fn tables(laws: &[Self]) -> RateTables {
        let rates: Vec<f64> = laws.iter().map(|law| 1.0 / law.lambda).collect();
        let equal = rates.iter().all(|&rate| rate == rates[0]);
        RateTables { rates, equal, elementary: Elementary::tables() }
    }

    /// The density along the line is piecewise exponential with a break at every `-at_k`: its pieces are
    /// integrated in closed form and the piece that holds `u` is inverted.
    #[inline]
    fn line(tables: &RateTables, line: &mut Line<f64>, lo: f64, hi: f64, u: f64) -> f64 {
        let fast = match line.terms.len() {
            1 => few_terms::<1>(tables, &line.terms, lo, hi, u),
            2 => few_terms::<2>(tables, &line.terms, lo, hi, u),
            3 => few_terms::<3>(tables, &line.terms, lo, hi, u),
            4 => few_terms::<4>(tables, &line.terms, lo, hi, u),
            _ => None,
        };
        fast.unwrap_or_else(|| any_terms(&tables.rates, line, lo, hi, u))
    }

    fn line_pair<R: Rng + ?Sized>(
        tables: &RateTables,
        x: Bounded<f64>,
        y: Bounded<f64>,
        apart: f64,
        u: f64,
        rng: &mut R,
    ) -> Option<LinePair<f64>> {
        Some(maximal::<Self, R>(tables, x, y, apart, u, rng))
    }
}

impl RealLaw for Laplace {
    fn along(self, coefficients: &[f64]) -> Self {
        Self { lambda: self.lambda / coefficients.iter().map(|c| c.abs()).sum::<f64>() }
    }

    fn line_log_density(
        RateTables { rates, .. }: &RateTables,
        line: &mut Line<f64>,
        lo: f64,
        hi: f64,
        t: f64,
    ) -> f64 {
        let mode = masses(rates, line, lo, hi);
        let total: f64 = line.masses.iter().sum();
        // Against the mode, where the weight is 1 among the masses.
        let mode = line.nodes[mode];
        let terms = line.terms.iter();
        let below_mode: f64 =
            terms.map(|term| rates[term.level] * ((term.at + t).abs() - (term.at + mode).abs())).sum();
        -below_mode - libm::log(total)
    }
}

/// Draws along a line of `K` terms; `None` where rates nearly cancel, so that a difference of weights would lose
/// digits.
#[inline]
fn few_terms<const K: usize>(
    tables: &RateTables,
    terms: &[Term<f64>],
    lo: f64,
    hi: f64,
    u: f64,
) -> Option<f64> {
    // Mass is counted from that end of the line from which there is less of it: both tails keep their digits.
    // Branches would be even odds.
    let sign = f64::copysign(1.0, u - 0.5);
    let (lo, hi) = (f64::min(-sign * lo, -sign * hi), f64::max(-sign * lo, -sign * hi));
    let v = u.min(1.0 - u);
    let t = if tables.equal {
        let mut breaks: [f64; K] = std::array::from_fn(|k| sign * terms[k].at);
        sort(&mut breaks, |&at| at);
        quantile(tables.elementary, breaks, &Slopes::equal::<K>(tables.rates[0]), lo, hi, v)
    } else {
        let mut breaks: [(f64, f64); K] =
            std::array::from_fn(|k| (sign * terms[k].at, tables.rates[terms[k].level]));
        sort(&mut breaks, |&(at, _)| at);
        quantile(tables.elementary, breaks.map(|(at, _)| at), &Slopes::between(&breaks)?, lo, hi, v)
    };
    Some(-sign * t)
}

/// Slopes of the log-density after 0, 1, … breaks, and their inverses.
struct Slopes {
    slopes: [f64; FEW + 1],
    inverses: [f64; FEW + 1],
    /// The number of breaks after which the log-density stops rising.
    mode: usize,
}

impl Slopes {
    /// Slopes between `K` breaks that all have the rate `rate`.
    #[inline]
    fn equal<const K: usize>(rate: f64) -> Self {
        let (multiple, inverse) = (|k: usize| K as f64 - 2.0 * k as f64, 1.0 / rate);
        Self {
            slopes: std::array::from_fn(|k| multiple(k) * rate),
            inverses: std::array::from_fn(|k| (1.0 / multiple(k)) * inverse),
            mode: K.div_ceil(2),
        }
    }

    /// Slopes between sorted breaks, each given by its place and its rate; `None` where rates nearly cancel.
    fn between<const K: usize>(breaks: &[(f64, f64); K]) -> Option<Self> {
        let mut slopes = [0.0; FEW + 1];
        slopes[0] = breaks.iter().map(|(_, rate)| rate).sum();
        let steepest = slopes[0];
        for k in 1..K {
            let slope = slopes[k - 1] - 2.0 * breaks[k - 1].1;
            // The rates cancel: what is left is rounding.
            slopes[k] = if slope.abs() < 1e-13 * steepest { 0.0 } else { slope };
            if slopes[k] != 0.0 && slope.abs() < 1e-3 * steepest {
                return None;
            }
        }
        slopes[K] = -steepest;
        let mode = (1..K).take_while(|&k| slopes[k] > 0.0).count() + 1;
        Some(Self { slopes, inverses: slopes.map(|slope| 1.0 / slope), mode })
    }
}

/// The `u`-quantile between sorted breaks, for `u <= 1/2`: an exponential for every gap on which the weight changes, and
/// one logarithm.
///
/// On a piece with the slope s the weight is `w(t) = w(left) + s m` with the mass m between `left` and t, so that t is the
/// logarithm of that weight, measured from the piece's higher end.
#[inline(always)]
fn quantile<const K: usize>(
    elementary: &Elementary,
    breaks: [f64; K],
    Slopes { slopes, inverses, mode }: &Slopes,
    lo: f64,
    hi: f64,
    u: f64,
) -> f64 {
    // Piece k lies between the nodes k and k + 1: bounds, and breaks within them.
    let mut nodes = [hi; FEW + 2];
    nodes[0] = lo;
    for k in 0..K {
        nodes[k + 1] = breaks[k].clamp(lo, hi);
    }
    // Weights and minus their logarithms: 1 at the mode, the node where the weight stops rising.
    let (mut weights, mut falls) = ([0.0; FEW + 2], [0.0; FEW + 2]);
    let mode = *mode;
    weights[mode] = 1.0;
    let mut step = |from: usize, to: usize, piece: usize| {
        let fall = slopes[piece].abs() * (nodes[piece + 1] - nodes[piece]);
        falls[to] = falls[from] + fall;
        weights[to] = if slopes[piece] == 0.0 { 1.0 } else { weights[from] * elementary.exp_neg(fall) };
    };
    for k in mode..K {
        step(k, k + 1, k);
    }
    for k in (1..mode).rev() {
        step(k + 1, k, k);
    }
    if lo > f64::NEG_INFINITY {
        step(1, 0, 0);
    }
    if hi < f64::INFINITY {
        step(K, K + 1, K);
    }
    let mut masses = [0.0; FEW + 1];
    let mut total = 0.0;
    for k in 0..=K {
        masses[k] = if slopes[k] == 0.0 {
            nodes[k + 1] - nodes[k]
        } else {
            (weights[k + 1] - weights[k]) * inverses[k]
        };
        total += masses[k];
    }
    if total == 0.0 {
        // A single point.
        return nodes[mode];
    }
    let target = u * total;
    let (mut k, mut before, mut sum) = (0, 0.0, 0.0);
    for &mass in &masses[..K] {
        sum += mass;
        let beyond = target >= sum;
        k += usize::from(beyond);
        before = if beyond { sum } else { before };
    }
    let (rest, slope) = (target - before, slopes[k]);
    // Where it is flat, the weight is 1.
    let top = k + usize::from(slope > 0.0);
    let fall = (elementary.ln(weights[k] + slope * rest) + falls[top]) * inverses[k];
    let t = nodes[top] + if slope == 0.0 { rest } else { fall };
    t.clamp(nodes[k], nodes[k + 1])
}

/// Draws along a line of any number of terms with any rates.
fn any_terms(rates: &[f64], line: &mut Line<f64>, lo: f64, hi: f64, u: f64) -> f64 {
    masses(rates, line, lo, hi);
    let Line { nodes, slopes, masses, .. } = line;
    let mut rest = u * masses.iter().sum::<f64>();
    let mut j = 0;
    while j + 1 < masses.len() && rest >= masses[j] {
        rest -= masses[j];
        j += 1;
    }
    Piece { left: nodes[j], right: nodes[j + 1], slope: slopes[j] }
        .quantile((rest / masses[j]).min(1.0 - f64::EPSILON))
}

/// Cuts a line into pieces on which the log-density is linear, with their masses; returns the number of the node where the
/// weight is largest, which is 1 there.
fn masses(rates: &[f64], line: &mut Line<f64>, lo: f64, hi: f64) -> usize {
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
    mode
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

    /// The integral over the piece, from the weights at both ends.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{below, open01};

    /// The fast draw beside the plain one: rates that are equal and not, near and far breaks, bounds and none.
    #[test]
    fn few_terms_agree_with_any() {
        let mut rng = crate::testing::test_stream(3);
        let mut fast = 0;
        for i in 0..200_000u32 {
            let scale = [0.05, 0.7, 4.0, 250.0, 1e6][below(&mut rng, 5) as usize];
            let others = [[1.0; 3], [1.0, 1.5, 0.35], [1.0, 2.0, 2.0]][below(&mut rng, 3) as usize];
            let laws = others.map(|other| Laplace::new(scale * other).unwrap());
            let tables = Laplace::tables(&laws);
            let spread = scale * [0.1, 1.0, 5.0, 300.0][below(&mut rng, 4) as usize];
            let place = |rng: &mut crate::rng::Stream| (2.0 * open01(rng) - 1.0) * spread;
            let mut line = Line::default();
            for _ in 0..=below(&mut rng, FEW as u64) {
                line.terms.push(Term { level: below(&mut rng, 3) as usize, at: place(&mut rng) });
            }
            let bound = |rng: &mut crate::rng::Stream, none: f64| {
                [none, 0.0, place(rng).abs(), 1e-9 * scale][below(rng, 4) as usize]
            };
            let lo = -bound(&mut rng, f64::INFINITY);
            let hi = bound(&mut rng, f64::INFINITY);
            let u = [open01(&mut rng), 1e-9, 1.0 - 1e-9][(i % 5).saturating_sub(2) as usize];
            let ours = Laplace::line(&tables, &mut line.clone(), lo, hi, u);
            assert!((lo..=hi).contains(&ours), "{line:?} [{lo}, {hi}] u = {u}: {ours}");
            if lo == hi {
                continue;
            }
            let plain = any_terms(&tables.rates, &mut line, lo, hi, u);
            // The plain draw keeps the probability to some 1e-15, and breaks have rounding of their own.
            let limit = scale * (1e-11 + 2e-14 / u.min(1.0 - u)) + 1e-13 * (spread + plain.abs());
            assert!((ours - plain).abs() <= limit, "{line:?} [{lo}, {hi}] u = {u}: {ours}, plain {plain}");
            fast += 1;
        }
        assert!(fast > 100_000);
    }
}
