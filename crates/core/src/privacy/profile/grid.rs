//! The law of a loss on the multiples of a step.
//!
//! A loss between two of them is put on both, with weights that keep its probability under P and under Q ([`spread`]):
//! then `1/(P/Q)` is spread about its mean, and a convex function of it, as `(1 - e^epsilon/(P/Q))₊` is, does not fall in
//! the mean. So no statement falls below the truth, at the grid's own losses none rises, and the same holds for releases
//! that are composed, since `e^-L` of several is a product of independent factors ("connect the dots": Doroshenko,
//! Ghazi, Kamath, Kumar and Manurangsi 2022).

/// Losses on one grid at most; more are put on a grid with twice the step.
pub(super) const MOST: usize = 1 << 13;
/// Steps of a grid in all that a release can lose, where losses are no multiples of one step.
pub(super) const STEPS: f64 = 4096.0;
/// Probability that each end of a grid may be shortened by.
const CUT: f64 = 1e-20;

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

/// Probabilities of multiples of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    pub(super) step: f64,
    /// The least loss, in steps.
    first: i64,
    /// From the least loss on.
    weights: Vec<f64>,
    /// Steps by which Q is P moved, if it is ([`super::translated`]).
    turn: Option<usize>,
}

impl Grid {
    /// By place, each with its weight.
    pub(super) fn new(step: f64, weights: &[(i64, f64)]) -> Self {
        let first = weights.iter().map(|(place, _)| *place).min().unwrap_or(0);
        let last = weights.iter().map(|(place, _)| *place).max().unwrap_or(0);
        let mut dense = vec![0.0; (last - first + 1) as usize];
        weights.iter().for_each(|(place, weight)| dense[(place - first) as usize] += weight);
        Self { step, first, weights: dense, turn: None }
    }

    /// Puts losses, each with its weight, on the multiples of a step.
    pub(super) fn of(step: f64, losses: impl Iterator<Item = (f64, f64)>) -> Self {
        let spread = |(loss, p)| spread(step, loss).map(|(place, share)| (place, share * p));
        Self::new(step, &losses.flat_map(spread).collect::<Vec<_>>())
    }

    /// With weights that sum to a mass.
    pub(super) fn with_mass(mut self, mass: f64) -> Self {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight *= mass / total);
        self
    }

    /// The losses, ascending, with their probabilities.
    pub(super) fn each(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> + '_ {
        let of = |(i, &p): (usize, &f64)| ((self.first + i as i64) as f64 * self.step, p);
        self.weights.iter().enumerate().map(of)
    }

    /// With the steps by which Q is P moved, if the loss that says so is a multiple of them.
    pub(super) fn moved_by(mut self, square: Option<f64>) -> Self {
        let steps = square.map(|square| square / self.step);
        let is_exact = |steps: &f64| {
            let nearest = libm::round(*steps);
            nearest >= 1.0 && (steps - nearest).abs() <= 1e-12 * nearest
        };
        self.turn = steps.filter(is_exact).map(|steps| libm::round(steps) as usize);
        self
    }

    /// The weights of one period, if Q is P moved and none of them lies in what tables cut.
    pub(super) fn period(&self) -> Option<&[f64]> {
        let first = usize::try_from(-self.first).ok()?;
        let period = self.weights.get(first..first + self.turn?)?;
        let some = || period.iter().copied().filter(|weight| *weight > 0.0);
        (some().fold(f64::INFINITY, f64::min) >= 1e-9 * some().fold(0.0, f64::max)).then_some(period)
    }

    /// The sum of two independent losses on the same grid.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut weights = vec![0.0; self.weights.len() + other.weights.len() - 1];
        for (i, x) in self.weights.iter().enumerate().filter(|(_, x)| **x > 0.0) {
            weights[i..].iter_mut().zip(&other.weights).for_each(|(sum, y)| *sum += x * y);
        }
        let turn = self.turn.zip(other.turn).map(|(one, other)| one + other);
        Self { step: self.step, first: self.first + other.first, weights, turn }
    }

    /// On a grid with twice the step.
    pub(super) fn coarser(&self) -> Self {
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
        Self { step: 2.0 * self.step, first, weights, turn: None }
    }

    /// On a grid that is not too long.
    pub(super) fn limited(mut self) -> Self {
        while self.weights.len() > MOST {
            self = self.coarser();
        }
        self
    }

    /// Without ends of next to no probability, and the probability that was cut above. What is cut below counts as the least
    /// loss that is left.
    pub(super) fn shortened(mut self) -> (Self, f64) {
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
        let cut_above = self.weights.drain(kept..).sum::<f64>();
        let below = within(&mut self.weights.iter()).min(kept - 1);
        let cut: f64 = self.weights.drain(..below).sum();
        self.weights[0] += cut;
        self.first += below as i64;
        (self, cut_above)
    }
}
