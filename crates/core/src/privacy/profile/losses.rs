//! The law of the loss of a release between two tables.
//!
//! Between the laws P and Q of a release on two tables the *loss* of an outcome is `L = ln P/Q`; its law under P tells
//! everything that a test of P against Q can do (Dwork and Rothblum 2016; Sommer, Meiser and Mohammadi 2019, "Privacy
//! loss classes"). Few losses are listed as they are; many stand on a grid ([`Grid`]), which never states less than the truth.

use super::grid::{self, Grid, STEPS, spread};
use super::translated::{self, log_sum};
use crate::rng::normal_quantile;

/// The probabilities of losses under P.
#[derive(Debug, Clone, PartialEq)]
enum Law {
    Grid(Grid),
    /// Ascending.
    Listed(Vec<(f64, f64)>),
}

/// The law of the loss of a release between two tables.
///
/// # Examples
///
/// ```
/// use congenial_core::privacy::Losses;
///
/// // Nobody with the pure loss 1 pays more than randomised response: at once, and 20 times.
/// let one = Losses::pure(1.0);
/// assert_eq!(one.epsilon(0.0), 1.0);
/// let many = one.power(20);
/// assert_eq!(many.epsilon(0.0), 20.0);
/// assert!(many.epsilon(1e-6) < 20.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Losses {
    law: Law,
    /// The probability of what the law lacks.
    beyond: f64,
    /// What that is taken to lose: no loss is larger.
    worst: f64,
}

/// Pairs of losses of two releases that are listed.
const MOST_PAIRS: usize = 1 << 16;
/// What the probabilities of a law lack of 1 by rounding, at most.
const ROUNDING: f64 = 1e-9;
/// The logarithm of a probability that is a number.
const LOWEST: f64 = -690.0;
/// How close rho comes to the truth, from above, relatively.
const CLOSE: f64 = 1e-9;

impl Losses {
    /// Losses by their place on a grid, each with its weight; `beyond`: the probability of what is missing, `worst`: the
    /// largest loss that there is.
    pub(super) fn new(step: f64, weights: &[(i64, f64)], beyond: f64, worst: f64) -> Self {
        Self { law: Law::Grid(Grid::new(step, weights).with_mass(1.0 - beyond)), beyond, worst }
    }

    /// With the loss by which Q is P moved, if it is: `‖u‖²` for a Gaussian weight and the change u.
    pub(super) fn moved_by(self, square: Option<f64>) -> Self {
        match self.law {
            Law::Grid(grid) => Self { law: Law::Grid(grid.moved_by(square)), ..self },
            Law::Listed(_) => self,
        }
    }

    /// Losses that are multiples of a unit, each with its weight: on that grid if it is short, else on one of 4,096 steps.
    /// `beyond`, `worst`: as in [`Losses::new`].
    pub(super) fn of_units(unit: f64, weights: &[(i64, f64)], beyond: f64, worst: f64) -> Self {
        let most = weights.iter().map(|(times, _)| times.abs()).max().unwrap_or(0);
        let range = 2.0 * most as f64 * unit;
        if range <= STEPS * unit {
            return Self::new(unit, weights, beyond, worst);
        }
        let losses = weights.iter().map(|&(times, p)| (times as f64 * unit, p));
        Self { law: Law::Grid(Grid::of(range / STEPS, losses).with_mass(1.0 - beyond)), beyond, worst }
    }

    /// Those of some outcomes, each with its loss and its probability, on no grid. `beyond`, `worst`: as in [`Losses::new`].
    pub(super) fn of(mut outcomes: Vec<(f64, f64)>, beyond: f64, worst: f64) -> Self {
        outcomes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let largest = outcomes.iter().map(|(loss, _)| loss.abs()).fold(0.0, f64::max);
        let total: f64 = outcomes.iter().map(|(_, p)| p).sum();
        let mut listed: Vec<(f64, f64)> = Vec::new();
        for (loss, p) in outcomes {
            let p = p * (1.0 - beyond) / total;
            match listed.last_mut() {
                // Equal but for rounding.
                Some(last) if loss - last.0 <= 1e-13 * largest => *last = (loss, last.1 + p),
                _ => listed.push((loss, p)),
            }
        }
        Self { law: Law::Listed(listed), beyond, worst }
    }

    /// Their grid; of losses that are listed one of about 4,096 steps, with the largest loss on it.
    fn gridded(&self) -> Grid {
        match &self.law {
            Law::Grid(grid) => grid.clone(),
            Law::Listed(listed) => {
                let step = match (listed.first(), listed.last()) {
                    (Some((low, _)), Some((high, _))) if high > low && *high > 0.0 => {
                        high / libm::ceil(high / ((high - low.min(0.0)) / STEPS))
                    }
                    _ => 1.0,
                };
                self.on_grid(step)
            }
        }
    }

    fn on_grid(&self, step: f64) -> Grid {
        Grid::of(step, self.each()).with_mass(1.0 - self.beyond)
    }

    /// Those of randomised response, which loses `epsilon` or `-epsilon`: every release with a pure loss of at most
    /// `epsilon` can be made of it, and so loses no more (Kairouz, Oh and Viswanath 2015, Thm. 3.1). `epsilon` >= 0.
    pub fn pure(epsilon: f64) -> Self {
        if epsilon == 0.0 {
            return Self { law: Law::Grid(Grid::new(1.0, &[(0, 1.0)])), beyond: 0.0, worst: 0.0 };
        }
        let up = 1.0 / (1.0 + libm::exp(-epsilon));
        let grid = Grid::new(epsilon, &[(-1, libm::exp(-epsilon) * up), (1, up)]);
        Self { law: Law::Grid(grid), beyond: 0.0, worst: epsilon }
    }

    /// Those of free Laplace noise with the rate `1/lambda` on a count that changes by 1, on a grid.
    pub(super) fn laplace(rate: f64, step: f64) -> Self {
        // Noise z loses (|z - 1| - |z|) rate: all at z <= 0, its opposite at z >= 1, (1 - 2z) rate between.
        let mut weights: Vec<(i64, f64)> = Vec::new();
        for (loss, p) in [(rate, 0.5), (-rate, 0.5 * libm::exp(-rate))] {
            weights.extend(spread(step, loss).map(|(place, share)| (place, p * share)));
        }
        let end = libm::ceil(rate / step) as i64;
        for place in -end..end {
            // Between two losses of the grid: the probability under both laws, and from it the shares.
            let [low, high] = [place, place + 1].map(|place| place as f64 * step);
            let [from, to] = [high.min(rate), low.max(-rate)].map(|loss| 0.5 * (1.0 - loss / rate));
            // The density rate/2 e^(-rate z) under P, and rate/2 e^(-rate (1 - z)) under Q.
            let p = -0.5 * libm::exp(-rate * from) * libm::expm1(-rate * (to - from));
            // The latter times `e^low`, which is a number for all losses.
            let q = 0.5 * libm::exp(low - rate * (1.0 - from)) * libm::expm1(rate * (to - from));
            let lower = (q - p * libm::exp(-step)) / -libm::expm1(-step);
            let lower = lower.clamp(0.0, p);
            weights.extend([(place, lower), (place + 1, p - lower)]);
        }
        Self::new(step, &weights, 0.0, rate)
    }

    /// The losses that the law has, ascending, with their probabilities under P; what is beyond left out.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> + '_ {
        let (listed, grid) = match &self.law {
            Law::Listed(listed) => (&listed[..], None),
            Law::Grid(grid) => (&[][..], Some(grid)),
        };
        listed.iter().copied().chain(grid.into_iter().flat_map(Grid::each))
    }

    /// `δ(epsilon) = sup_S P(S) - e^epsilon Q(S) = E (1 - e^(epsilon - L))₊`: with it the release is (epsilon, δ)-private
    /// between the two tables. `epsilon` >= 0.
    pub fn delta(&self, epsilon: f64) -> f64 {
        // What was put on the grid above the worst loss came from below.
        if epsilon >= self.worst {
            return 0.0;
        }
        let over = |loss: f64| if loss > epsilon { -libm::expm1(epsilon - loss) } else { 0.0 };
        let sum: f64 =
            self.each().rev().take_while(|(loss, _)| *loss > epsilon).map(|(l, p)| p * over(l)).sum();
        (sum + self.beyond * over(self.worst)).clamp(0.0, 1.0)
    }

    /// The least epsilon >= 0 with `δ(epsilon) <= delta`; infinite where there is none. `delta` in [0, 1].
    pub fn epsilon(&self, delta: f64) -> f64 {
        if delta == 0.0 {
            let largest = self.each().rev().find(|(_, p)| *p > 0.0).map_or(0.0, |(loss, _)| loss);
            return if self.beyond > 0.0 { self.worst } else { largest.clamp(0.0, self.worst) };
        }
        // Between two losses δ(epsilon) is P - e^epsilon Q of those above; q is e^above Q, which is a number for all losses.
        let (mut p, mut q, mut above) = (0.0, 0.0, self.worst);
        let [first, last] = [(self.worst, self.beyond), (f64::NEG_INFINITY, 0.0)].map(std::iter::once);
        for (loss, weight) in first.chain(self.each().rev()).chain(last) {
            if p > delta {
                let here = if q > 0.0 { above + libm::log((p - delta) / q) } else { f64::INFINITY };
                if here > loss {
                    return here.max(0.0).min(above).min(self.worst);
                }
            }
            if loss <= 0.0 {
                return 0.0;
            }
            let fallen = if q > 0.0 { q * libm::exp(loss - above) } else { 0.0 };
            (p, q, above) = (p + weight, if loss.is_finite() { fallen + weight } else { 0.0 }, loss);
        }
        0.0
    }

    /// The corners of the trade-off curve, by rising errors of the first kind: `(alpha, beta)`, where a test of Q against P
    /// that is wrong under Q with the probability alpha is wrong under P with the probability beta at least (Dong, Roth and Su
    /// 2022). The curve is straight between them.
    pub fn corners(&self) -> Vec<(f64, f64)> {
        let mut below = 0.0;
        let mut losses: Vec<(f64, f64, f64)> = Vec::new();
        for (loss, p) in self.each().filter(|(_, p)| *p > 0.0) {
            losses.push((loss, p, below));
            below += p;
        }
        let mut alpha = self.beyond * libm::exp(-self.worst);
        let mut corners = vec![(0.0, 1.0), (alpha, 1.0 - self.beyond)];
        for (loss, p, below) in losses.into_iter().rev() {
            alpha += p * libm::exp(-loss);
            corners.push((alpha.min(1.0), below));
        }
        corners.push((1.0, 0.0));
        corners
    }

    /// `sup_α D_α/α` over `α > 1`, the rho of zero-concentrated privacy (Bun and Steinke 2016), from above and within
    /// 1e-9, relatively. `None`: any loss is possible, and what the grid lacks may lose anything.
    ///
    /// `K(t) = ln E e^(tL)` is convex and 0 at 0, so that between two places it lies below the chord `a + b t`, a <= 0;
    /// `(a + b t)/(t (1 + t))` has its largest value there at an end or where `b t² + 2 a t + a = 0`.
    pub fn rho(&self) -> Option<f64> {
        if !self.worst.is_finite() {
            return None;
        }
        if self.worst == 0.0 {
            return Some(0.0);
        }
        let moments = |t: f64| {
            let own: f64 = self.each().map(|(loss, p)| p * libm::expm1(t * loss)).sum();
            libm::log1p(own + self.beyond * libm::expm1(t * self.worst))
        };
        let height = |k: f64, t: f64| k / (t * (1.0 + t));
        let start = 1e-7 / self.worst.max(1.0);
        let mut least = height(moments(start), start);
        // Up to the first place, where the curve may rise towards 0.
        let mut most = moments(start) / start;
        let mut open: Vec<[(f64, f64); 2]> = Vec::new();
        let (mut t, mut k) = (start, moments(start));
        // Beyond, D_α is at most the worst loss, and t the worst loss of a moment still a number.
        while self.worst / (1.0 + t) > least && t * self.worst < 700.0 {
            let next = 2.0 * t;
            let there = moments(next);
            least = least.max(height(there, next));
            open.push([(t, k), (next, there)]);
            (t, k) = (next, there);
        }
        if t * self.worst >= 700.0 {
            most = most.max(self.worst / (1.0 + t));
        }
        while let Some([(t0, k0), (t1, k1)]) = open.pop() {
            let b = (k1 - k0) / (t1 - t0);
            let a = (k0 - b * t0).min(0.0);
            let best = (-a + libm::sqrt(a * a - a * b)) / b;
            let bound = [t0, t1, best.clamp(t0, t1)].map(|t| height(a + b * t, t));
            let bound = bound.into_iter().fold(0.0, f64::max);
            if bound <= least * (1.0 + CLOSE) || t1 - t0 < 1e-12 * t1 {
                most = most.max(bound);
                continue;
            }
            let middle = 0.5 * (t0 + t1);
            let there = moments(middle);
            least = least.max(height(there, middle));
            open.extend([[(t0, k0), (middle, there)], [(middle, there), (t1, k1)]]);
        }
        // What roundings of the moments near 0 may take; no release pays more than its largest loss.
        Some((most.max(least) + 1e-15 * self.worst).min(self.worst))
    }

    /// The least mu with which the release is mu-Gaussian-private (Dong, Roth and Su 2022): no test tells P from Q better than
    /// one tells N(mu, 1) from N(0, 1). `None`: any loss is possible, and the law is not one of those of which a part tells all,
    /// as that of discrete Gaussian noise on one grid does (that mu is from above, and within 3e-5).
    ///
    /// Between two corners the curve is straight and that of the normal laws is convex, so that the corners decide:
    /// the largest `-Φ⁻¹(alpha) - Φ⁻¹(beta)`. Errors next to 1 are taken by what they lack, and all as logarithms. Where that of a
    /// corner is no number, below 1e-300, the worst loss bounds it.
    pub fn mu(&self) -> Option<f64> {
        if let Law::Grid(grid) = &self.law
            && let Some(period) = grid.period()
        {
            return Some(translated::mu(grid.step, period));
        }
        if !self.worst.is_finite() {
            return None;
        }
        let losses = || self.each().filter(|(_, p)| *p > 0.0).map(|(loss, p)| (loss, libm::log(p)));
        // From the lowest loss on: the logarithms of the probabilities of what is below under P, and under Q.
        let mut below = vec![(f64::NEG_INFINITY, f64::NEG_INFINITY)];
        for (loss, log) in losses() {
            let (under_p, under_q) = below[below.len() - 1];
            below.push((log_sum(under_p, log), log_sum(under_q, log - loss)));
        }
        // From the largest loss down: what is above.
        let first = (libm::log(self.beyond), libm::log(self.beyond) - self.worst);
        let (mut power, mut alpha) = first;
        let above = losses().rev().map(|(loss, log)| {
            (power, alpha) = (log_sum(power, log), log_sum(alpha, log - loss));
            (power, alpha)
        });
        let corners = std::iter::once(first).chain(above);
        // What the grid lacks under Q. It loses no more than the worst loss the other way either: `beta >= (1 - alpha) e^-worst`.
        let lacks = 1.0 - libm::exp(below[below.len() - 1].1) - libm::exp(first.1);
        let lost =
            if self.beyond > 0.0 || lacks > ROUNDING { libm::log(lacks.max(0.0)) } else { f64::NEG_INFINITY };
        // The faster of two, as far as probabilities are numbers.
        let far = |log: f64| match log > LOWEST {
            true => -normal_quantile(libm::exp(log)),
            false => translated::quantile(log),
        };
        let quantile = |error: f64, lacks: f64| if error < lacks { far(error) } else { -far(lacks) };
        let mut most: f64 = 0.0;
        for ((power, alpha), (beta, kept)) in corners.zip(below.into_iter().rev()) {
            let kept = log_sum(kept, lost);
            let beta = beta.max(kept - self.worst);
            if [power, alpha, beta, kept].iter().all(|x| *x > f64::NEG_INFINITY) {
                most = most.max(quantile(alpha, kept) + quantile(beta, power));
            }
        }
        Some(most)
    }

    /// The losses of this release and another of the same data, on the finer of two grids.
    pub(super) fn and(&self, other: &Self) -> Self {
        self.joined(other, false)
    }

    /// As [`Losses::and`]. `is_cut`: a grid without ends of next to no probability.
    fn joined(&self, other: &Self, is_cut: bool) -> Self {
        let (beyond, worst) = (self.beyond + other.beyond, self.worst + other.worst);
        if self.listed_pairs(other) > 0 {
            let some = |losses: &Self| losses.each().filter(|(_, p)| *p > 0.0).collect::<Vec<_>>();
            let (own, others) = (some(self), some(other));
            if own.len() * others.len() <= MOST_PAIRS {
                let pairs =
                    own.iter().flat_map(|(loss, p)| others.iter().map(move |(l, q)| (loss + l, p * q)));
                let both = Self::of(pairs.collect(), beyond, worst);
                return match &both.law {
                    Law::Listed(listed) if listed.len() > grid::MOST => {
                        Self { law: Law::Grid(both.gridded()), ..both }
                    }
                    _ => both,
                };
            }
        }
        let mut grids = [self, other].map(Self::gridded);
        if grids[0].step != grids[1].step {
            let step = grids[0].step.min(grids[1].step);
            let finer =
                |(grid, losses): (Grid, &Self)| Grid::of(step, grid.each()).with_mass(1.0 - losses.beyond);
            let [own, others] = grids;
            grids = [(own, self), (others, other)].map(finer);
        }
        let grid = grids[0].and(&grids[1]);
        let (grid, cut) = if is_cut { grid.shortened() } else { (grid, 0.0) };
        Self { law: Law::Grid(grid.limited()), beyond: beyond + cut, worst }
    }

    /// The pairs of losses that [`Losses::and`] lists where one of two is on no grid.
    pub(super) fn listed_pairs(&self, other: &Self) -> usize {
        match (&self.law, &other.law) {
            (Law::Grid(_), Law::Grid(_)) => 0,
            _ => self.each().count() * other.each().count(),
        }
    }

    /// The losses of so many releases of the same data, each with this law, as if they were one.
    pub fn power(&self, releases: u64) -> Self {
        let mut result: Option<Self> = None;
        let mut squares = self.clone();
        let mut left = releases;
        loop {
            if left & 1 == 1 {
                result = Some(match result {
                    None => squares.clone(),
                    Some(own) => own.and_coarser(&squares),
                });
            }
            left >>= 1;
            if left == 0 {
                return result.unwrap_or_else(|| Self::pure(0.0));
            }
            squares = squares.joined(&squares, true);
        }
    }

    /// As [`Losses::joined`] with a cut, on the wider of two grids.
    fn and_coarser(mut self, other: &Self) -> Self {
        let mut other = other.clone();
        if let (Law::Grid(one), Law::Grid(other)) = (&mut self.law, &mut other.law) {
            while one.step < other.step {
                *one = one.coarser();
            }
            while other.step < one.step {
                *other = other.coarser();
            }
        }
        self.joined(&other, true)
    }
}

/// Laws of losses without those that another is nowhere better than: no test has smaller errors on what is left out, whatever
/// it is composed with. Errors of tests that differ by roundings are taken for one.
pub(super) fn undominated(mut all: Vec<Losses>) -> Vec<Losses> {
    // The worst first.
    all.sort_by(|a, b| b.delta(0.0).total_cmp(&a.delta(0.0)));
    let mut kept: Vec<(Losses, Vec<(f64, f64)>)> = Vec::new();
    for losses in all {
        let corners = losses.corners();
        // Between its corners a curve is straight, and one that is convex lies below it if it does so there.
        let is_above = |(_, other): &(Losses, Vec<(f64, f64)>)| {
            corners.iter().all(|&(alpha, beta)| between(other, alpha) <= beta + 1e-14)
        };
        if !kept.iter().any(is_above) {
            kept.push((losses, corners));
        }
    }
    kept.into_iter().map(|(losses, _)| losses).collect()
}

/// The height of a curve of straight pieces.
pub(super) fn between(corners: &[(f64, f64)], x: f64) -> f64 {
    let place = corners.partition_point(|(alpha, _)| *alpha <= x);
    match (corners.get(place.wrapping_sub(1)), corners.get(place)) {
        (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) | (None, Some((_, y))) => *y,
        (None, None) => 0.0,
    }
}
