//! The law of the loss of a release between two tables, on a grid.
//!
//! Between the laws P and Q of a release on two tables the *loss* of an outcome is `L = ln P/Q`; its law under P tells
//! everything that a test of P against Q can do (Dwork and Rothblum 2016; Sommer, Meiser and Mohammadi 2019, "Privacy
//! loss classes"). Here it stands on multiples of a step. A loss between two of them is put on both, with weights that
//! keep its probability under P and under Q ([`spread`]): then `1/(P/Q)` is spread about its mean, and a convex function
//! of it, as `(1 - e^epsilon/(P/Q))₊` is, does not fall in the mean. So no statement falls below the truth, at the
//! grid's own losses none rises, and the same holds for releases that are composed, since `e^-L` of several is a
//! product of independent factors ("connect the dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).

use super::translated;
use crate::rng::normal_quantile;

/// The law of a loss: probabilities under P of multiples of a step.
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
    step: f64,
    /// The least loss, in steps.
    first: i64,
    /// From the least loss on.
    weights: Vec<f64>,
    /// The probability of what is not on the grid.
    beyond: f64,
    /// What that is taken to lose: no loss is larger.
    worst: f64,
    /// Steps by which Q is P moved, if it is ([`super::translated`]).
    turn: Option<usize>,
    /// Losses that are on no grid, ascending, each with its probability: then the grid has none.
    atoms: Vec<(f64, f64)>,
}

/// Losses on one grid at most; more are put on a grid with twice the step.
const MOST: usize = 1 << 13;
/// Pairs of losses of two releases that are listed.
const MOST_PAIRS: usize = 1 << 16;
/// Steps of a grid in all that a release can lose, where losses are no multiples of one step.
pub(super) const GRID: f64 = 4096.0;
/// Probability that each end of a grid may be shortened by.
const CUT: f64 = 1e-20;
/// How close rho comes to the truth, from above, relatively.
const CLOSE: f64 = 1e-9;

/// Puts a loss on a grid: the multiples of the step around it, with their shares.
pub(super) fn spread(step: f64, loss: f64) -> [(i64, f64); 2] {
    let place = loss / step;
    let nearest = libm::round(place);
    if (place - nearest).abs() <= 1e-13 * nearest.abs().max(1.0) {
        return [(nearest as i64, 1.0), (nearest as i64, 0.0)];
    }
    let low = libm::floor(place);
    let over = loss - low * step;
    let lower = libm::exp(-over) * libm::expm1(over - step) / libm::expm1(-step);
    [(low as i64, lower), (low as i64 + 1, 1.0 - lower)]
}

impl Losses {
    /// Losses by their place on a grid, each with its weight; `beyond`: the probability of what is missing, `worst`: the
    /// largest loss that there is.
    pub(super) fn new(step: f64, weights: &[(i64, f64)], beyond: f64, worst: f64) -> Self {
        let first = weights.iter().map(|(place, _)| *place).min().unwrap_or(0);
        let last = weights.iter().map(|(place, _)| *place).max().unwrap_or(0);
        let mut dense = vec![0.0; (last - first + 1) as usize];
        weights.iter().for_each(|(place, weight)| dense[(place - first) as usize] += weight);
        let total: f64 = dense.iter().sum();
        dense.iter_mut().for_each(|weight| *weight *= (1.0 - beyond) / total);
        Self { step, first, weights: dense, beyond, worst, turn: None, atoms: Vec::new() }
    }

    /// Of a Gaussian weight: with the steps by which Q is P moved, `‖u‖²` of them for the change u; without where that is no
    /// multiple of the step.
    pub(super) fn moved_by(mut self, square: f64) -> Self {
        let (places, nearest) = (square / self.step, libm::round(square / self.step));
        let is_exact = nearest >= 1.0 && (places - nearest).abs() <= 1e-12 * nearest;
        self.turn = is_exact.then_some(nearest as usize);
        self
    }

    /// The weights of one period, if Q is P moved and none of them lies in what tables cut.
    fn period(&self) -> Option<&[f64]> {
        let first = usize::try_from(-self.first).ok()?;
        let period = self.weights.get(first..first + self.turn?)?;
        let some = || period.iter().copied().filter(|weight| *weight > 0.0);
        (some().fold(f64::INFINITY, f64::min) >= 1e-9 * some().fold(0.0, f64::max)).then_some(period)
    }

    /// Losses that are multiples of a unit, each with its weight: on that grid if it is short, else on one of 4,096 steps.
    /// `beyond`, `worst`: as in [`Losses::new`].
    pub(super) fn of_units(unit: f64, weights: &[(i64, f64)], beyond: f64, worst: f64) -> Self {
        let most = weights.iter().map(|(times, _)| times.abs()).max().unwrap_or(0);
        let range = 2.0 * most as f64 * unit;
        if range <= GRID * unit {
            return Self::new(unit, weights, beyond, worst);
        }
        let step = range / GRID;
        let spread = |&(times, p): &(i64, f64)| {
            spread(step, times as f64 * unit).map(|(place, share)| (place, share * p))
        };
        let weights: Vec<(i64, f64)> = weights.iter().flat_map(spread).collect();
        Self::new(step, &weights, beyond, worst)
    }

    /// Those of some outcomes, each with its loss and its probability, on no grid. `beyond`, `worst`: as in [`Losses::new`].
    pub(super) fn of(mut outcomes: Vec<(f64, f64)>, beyond: f64, worst: f64) -> Self {
        outcomes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let largest = outcomes.iter().map(|(loss, _)| loss.abs()).fold(0.0, f64::max);
        let total: f64 = outcomes.iter().map(|(_, p)| p).sum();
        let mut atoms: Vec<(f64, f64)> = Vec::new();
        for (loss, p) in outcomes {
            let p = p * (1.0 - beyond) / total;
            match atoms.last_mut() {
                // Equal but for rounding.
                Some(last) if loss - last.0 <= 1e-13 * largest => *last = (loss, last.1 + p),
                _ => atoms.push((loss, p)),
            }
        }
        Self { step: 1.0, first: 0, weights: Vec::new(), beyond, worst, turn: None, atoms }
    }

    /// On a grid of about 4,096 steps, with the largest loss on it, if they are on none.
    fn gridded(&self) -> Self {
        match (self.atoms.first(), self.atoms.last()) {
            (Some((low, _)), Some((high, _))) if high > low && *high > 0.0 => {
                self.on_grid(high / libm::ceil(high / ((high - low.min(0.0)) / GRID)))
            }
            (Some(_), _) => self.on_grid(1.0),
            (None, _) => self.clone(),
        }
    }

    /// Those of randomised response, which loses `epsilon` or `-epsilon`: every release with a pure loss of at most
    /// `epsilon` can be made of it, and so loses no more (Kairouz, Oh and Viswanath 2015, Thm. 3.1). `epsilon` >= 0.
    pub fn pure(epsilon: f64) -> Self {
        if epsilon == 0.0 {
            return Self {
                step: 1.0,
                first: 0,
                weights: vec![1.0],
                beyond: 0.0,
                worst: 0.0,
                turn: None,
                atoms: Vec::new(),
            };
        }
        let up = 1.0 / (1.0 + libm::exp(-epsilon));
        let weights = vec![libm::exp(-epsilon) * up, 0.0, up];
        Self { step: epsilon, first: -1, weights, beyond: 0.0, worst: epsilon, turn: None, atoms: Vec::new() }
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
            let q = 0.5 * libm::exp(-rate * (1.0 - from)) * libm::expm1(rate * (to - from));
            let lower = (q * libm::exp(low) - p * libm::exp(-step)) / -libm::expm1(-step);
            let lower = lower.clamp(0.0, p);
            weights.extend([(place, lower), (place + 1, p - lower)]);
        }
        Self::new(step, &weights, 0.0, rate)
    }

    /// The losses that the law has, ascending, with their probabilities under P; what is beyond left out.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> + '_ {
        let of = |(i, &p): (usize, &f64)| ((self.first + i as i64) as f64 * self.step, p);
        self.atoms.iter().copied().chain(self.weights.iter().enumerate().map(of))
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
        // What roundings of the moments near 0 may take.
        Some(most.max(least) + 1e-15 * self.worst)
    }

    /// The least mu with which the release is mu-Gaussian-private (Dong, Roth and Su 2022): no test tells P from Q better than
    /// one tells N(mu, 1) from N(0, 1). `None`: any loss is possible, and the law is not one of those of which a part tells all,
    /// as that of discrete Gaussian noise on one grid does (that mu is from above, and within 3e-5).
    ///
    /// Between two corners the curve is straight and that of the normal laws is convex, so that the corners decide:
    /// the largest `-Φ⁻¹(alpha) - Φ⁻¹(beta)`. Errors next to 1 are taken by what they lack.
    pub fn mu(&self) -> Option<f64> {
        if let Some(period) = self.period() {
            return Some(translated::mu(self.step, period));
        }
        if !self.worst.is_finite() {
            return None;
        }
        // From the lowest loss on: the probabilities of what is below under P, and under Q.
        let mut below = vec![(0.0, 0.0)];
        for (loss, p) in self.each() {
            let (under_p, under_q) = below[below.len() - 1];
            below.push((under_p + p, under_q + p * libm::exp(-loss)));
        }
        let quantile = |error: f64, lacks: f64| match error < lacks {
            true => normal_quantile(error),
            false => -normal_quantile(lacks),
        };
        // From the largest loss down: what is above.
        let first = (self.beyond, self.beyond * libm::exp(-self.worst));
        let (mut power, mut alpha) = first;
        let above = self.each().rev().map(|(loss, p)| {
            (power, alpha) = (power + p, alpha + p * libm::exp(-loss));
            (power, alpha)
        });
        let corners = std::iter::once(first).chain(above);
        // What the grid lacks under Q. It loses no more than the worst loss the other way either: `beta >= (1 - alpha) e^-worst`.
        let lacks = 1.0 - below[below.len() - 1].1 - first.1;
        let lost = if self.beyond > 0.0 { lacks.max(0.0) } else { 0.0 };
        let mut most: f64 = 0.0;
        for ((power, alpha), (beta, kept)) in corners.zip(below.into_iter().rev()) {
            let kept = kept + lost;
            let beta = beta.max(kept * libm::exp(-self.worst));
            if [power, alpha, beta, kept].iter().all(|x| *x > 0.0) {
                most = most.max(-quantile(alpha, kept) - quantile(beta, power));
            }
        }
        Some(most)
    }

    /// The losses of this release and another of the same data, on the finer of two grids.
    pub(super) fn and(&self, other: &Self) -> Self {
        if !self.atoms.is_empty() || !other.atoms.is_empty() {
            let some = |losses: &Self| losses.each().filter(|(_, p)| *p > 0.0).collect::<Vec<_>>();
            let (own, others) = (some(self), some(other));
            if own.len() * others.len() <= MOST_PAIRS {
                let pairs =
                    own.iter().flat_map(|(loss, p)| others.iter().map(move |(l, q)| (loss + l, p * q)));
                let both = Self::of(pairs.collect(), self.beyond + other.beyond, self.worst + other.worst);
                return if both.atoms.len() <= MOST { both } else { both.gridded() };
            }
            return self.gridded().and(&other.gridded());
        }
        if self.step != other.step {
            let step = self.step.min(other.step);
            return self.on_grid(step).and(&other.on_grid(step));
        }
        let mut weights = vec![0.0; self.weights.len() + other.weights.len() - 1];
        for (i, x) in self.weights.iter().enumerate().filter(|(_, x)| **x > 0.0) {
            weights[i..].iter_mut().zip(&other.weights).for_each(|(sum, y)| *sum += x * y);
        }
        let both = Self {
            step: self.step,
            first: self.first + other.first,
            weights,
            beyond: self.beyond + other.beyond,
            worst: self.worst + other.worst,
            turn: self.turn.zip(other.turn).map(|(one, other)| one + other),
            atoms: Vec::new(),
        };
        both.shortened()
    }

    /// The pairs of losses that [`Losses::and`] lists where one of two is on no grid.
    pub(super) fn listed_pairs(&self, other: &Self) -> usize {
        let listed = !self.atoms.is_empty() || !other.atoms.is_empty();
        if listed { self.each().count() * other.each().count() } else { 0 }
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
                    Some(own) => {
                        let (own, squares) = Self::on_one_grid(own, squares.clone());
                        own.and(&squares)
                    }
                });
            }
            left >>= 1;
            if left == 0 {
                return result.unwrap_or_else(|| Self::pure(0.0));
            }
            squares = squares.and(&squares);
        }
    }

    /// Both on the wider of the two grids, if both are on one.
    fn on_one_grid(mut a: Self, mut b: Self) -> (Self, Self) {
        if !a.atoms.is_empty() || !b.atoms.is_empty() {
            return (a, b);
        }
        while a.step < b.step {
            a = a.coarser();
        }
        while b.step < a.step {
            b = b.coarser();
        }
        (a, b)
    }

    /// On a grid with a step.
    fn on_grid(&self, step: f64) -> Self {
        let spread = |(loss, p)| spread(step, loss).map(|(place, share)| (place, share * p));
        let weights: Vec<(i64, f64)> = self.each().flat_map(spread).collect();
        Self::new(step, &weights, self.beyond, self.worst)
    }

    /// On a grid with twice the step.
    fn coarser(&self) -> Self {
        let first = self.first.div_euclid(2);
        let last = (self.first + self.weights.len() as i64 - 1).div_euclid(2) + 1;
        let mut weights = vec![0.0; (last - first + 1) as usize];
        // A loss in the middle: e^(-h) of the lower, weighted, and of the upper.
        let lower = 1.0 / (1.0 + libm::exp(self.step));
        for (place, &p) in (self.first..).zip(&self.weights) {
            let at = (place.div_euclid(2) - first) as usize;
            if place.rem_euclid(2) == 0 {
                weights[at] += p;
            } else {
                weights[at] += lower * p;
                weights[at + 1] += (1.0 - lower) * p;
            }
        }
        Self { step: 2.0 * self.step, first, weights, turn: None, atoms: Vec::new(), ..*self }
    }

    /// Without ends of next to no probability, on a grid that is not too long: what is cut above counts as beyond the
    /// grid, what is cut below as the least loss that is left.
    fn shortened(mut self) -> Self {
        let within = |weights: &mut dyn Iterator<Item = &f64>| {
            let mut sum = 0.0;
            weights
                .take_while(|weight| {
                    sum += **weight;
                    sum <= CUT
                })
                .count()
        };
        let above = within(&mut self.weights.iter().rev()).min(self.weights.len() - 1);
        let kept = self.weights.len() - above;
        self.beyond += self.weights.drain(kept..).sum::<f64>();
        let below = within(&mut self.weights.iter()).min(kept - 1);
        let cut: f64 = self.weights.drain(..below).sum();
        self.weights[0] += cut;
        self.first += below as i64;
        while self.weights.len() > MOST {
            self = self.coarser();
        }
        self
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
