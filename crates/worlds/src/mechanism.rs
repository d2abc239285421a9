//! Randomised mechanisms with finitely many datasets and outputs, and their exact privacy.

use super::belief::Belief;
use congenial_core::{Error, Result};

/// One belief about the output for each dataset, and which datasets are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    beliefs: Vec<Belief>,
    neighbours: Vec<(usize, usize)>,
}

impl Mechanism {
    /// A mechanism from its laws. A pair of neighbours counts in both orders. Refused: no dataset, beliefs on
    /// different worlds, a neighbour that is no dataset.
    pub fn new(beliefs: Vec<Belief>, neighbours: Vec<(usize, usize)>) -> Result<Self> {
        let worlds = beliefs.first().map(Belief::worlds);
        let alike = beliefs.iter().all(|belief| Some(belief.worlds()) == worlds);
        let known = neighbours.iter().all(|&(a, b)| a.max(b) < beliefs.len());
        if worlds.is_none() || !alike || !known {
            return Err(Error::parameter(
                "mechanism",
                format!("{} datasets, {} pairs", beliefs.len(), neighbours.len()),
                "a belief on the same worlds for each dataset, pairs of its datasets",
            ));
        }
        Ok(Self { beliefs, neighbours })
    }

    /// Makes a mechanism in which all pairs of datasets are neighbours.
    pub fn all_neighbours(beliefs: Vec<Belief>) -> Result<Self> {
        let pairs = (0..beliefs.len()).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        Self::new(beliefs, pairs)
    }

    /// Two datasets that tell their bit truly with odds `e^epsilon`: the probabilities are `(r, 1 - r)` and
    /// `(1 - r, r)` with `r = e^epsilon / (1 + e^epsilon)`, the level is exactly `epsilon`.
    pub fn randomised_response(epsilon: f64) -> Result<Self> {
        let odds = libm::exp(-epsilon);
        Self::all_neighbours(vec![Belief::new(vec![1.0, odds])?, Belief::new(vec![odds, 1.0])?])
    }

    /// Double geometric noise on a line of `cells >= 2` outputs, one dataset at each: `P(y) ∝ a^|y - x|` with
    /// `a = e^-rate`. The two end cells hold the whole tails, `P(y) = a^|y - x| / (1 + a)`, so no law is cut off
    /// and the laws of `x` and `x + 1`, the neighbours, differ by the factor `e^rate` exactly.
    pub fn double_geometric(cells: usize, rate: f64) -> Result<Self> {
        let tail = 1.0 / -libm::expm1(-rate);
        let weight = |y: usize, x: usize| {
            let weight = libm::exp(-rate * y.abs_diff(x) as f64);
            if y == 0 || y + 1 == cells { weight * tail } else { weight }
        };
        let beliefs = (0..cells).map(|x| Belief::new((0..cells).map(|y| weight(y, x)).collect()));
        Self::new(beliefs.collect::<Result<_>>()?, (1..cells).map(|x| (x - 1, x)).collect())
    }

    /// The laws, one for each dataset.
    pub fn beliefs(&self) -> &[Belief] {
        &self.beliefs
    }
    /// The pairs of neighbours, each in one order.
    pub fn neighbours(&self) -> &[(usize, usize)] {
        &self.neighbours
    }
    /// The number of outputs.
    pub fn worlds(&self) -> usize {
        self.beliefs[0].worlds()
    }

    /// The mechanism whose laws are these laws changed.
    pub fn each(&self, change: impl FnMut(&Belief) -> Result<Belief>) -> Result<Self> {
        Self::new(self.beliefs.iter().map(change).collect::<Result<_>>()?, self.neighbours.clone())
    }

    /// Only the datasets for which `keep` is true, with the pairs that are left.
    pub fn datasets(&self, keep: impl Fn(usize) -> bool) -> Result<Self> {
        let kept: Vec<usize> = (0..self.beliefs.len()).filter(|&d| keep(d)).collect();
        let place = |d| kept.binary_search(&d).ok();
        let pairs = self.neighbours.iter().filter_map(|&(a, b)| Some((place(a)?, place(b)?))).collect();
        Self::new(kept.iter().map(|&d| self.beliefs[d].clone()).collect(), pairs)
    }

    /// The mechanism that runs part `i` with probability `a_i`, whatever the data.
    pub fn mixture(parts: &[(f64, &Self)]) -> Result<Self> {
        let law = |d: usize| {
            Belief::mixture(&parts.iter().map(|(a, part)| (*a, &part.beliefs[d])).collect::<Vec<_>>())
        };
        let (datasets, neighbours) =
            parts.first().map_or((0, Vec::new()), |(_, m)| (m.beliefs.len(), m.neighbours.clone()));
        if parts.iter().any(|(_, m)| m.beliefs.len() != datasets) {
            return Err(Error::parameter(
                "parts of a mixture",
                parts.len(),
                "mechanisms on the same datasets",
            ));
        }
        Self::new((0..datasets).map(law).collect::<Result<_>>()?, neighbours)
    }

    /// Runs both mechanisms on the same dataset, with independent randomness.
    pub fn product(&self, other: &Self) -> Result<Self> {
        let pairs = self.beliefs.iter().zip(&other.beliefs).map(|(p, q)| p.product(q));
        Self::new(pairs.collect::<Result<_>>()?, self.neighbours.clone())
    }

    fn ordered_pairs(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        let law = |d: usize| self.beliefs[d].probabilities();
        self.neighbours.iter().flat_map(move |&(a, b)| [(law(a), law(b)), (law(b), law(a))])
    }

    /// The smallest `epsilon` with `epsilon`-DP: the largest `ln(P_D(y) / P_D'(y))` over neighbours and outputs.
    /// Infinite when an output is possible for one dataset only, 0 without neighbours.
    pub fn level(&self) -> f64 {
        let log_ratio = |(&p, &q): (&f64, &f64)| match (p > 0.0, q > 0.0) {
            (false, _) => f64::NEG_INFINITY,
            (true, false) => f64::INFINITY,
            (true, true) => libm::log(p / q),
        };
        self.ordered_pairs().flat_map(|(p, q)| p.iter().zip(q).map(log_ratio)).fold(0.0, f64::max)
    }

    /// The smallest `delta` with `(epsilon, delta)`-DP: the largest `sum_y max(0, P_D(y) - e^epsilon P_D'(y))` over
    /// neighbours, which is attained by the set of outputs where the difference is positive.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let factor = libm::exp(epsilon);
        let excess = |(p, q): (&[f64], &[f64])| p.iter().zip(q).map(|(p, q)| (p - factor * q).max(0.0)).sum();
        self.ordered_pairs().map(excess).fold(0.0, f64::max)
    }

    /// By how much this mechanism is less private than the worst of `others`: the largest of the difference of
    /// the levels and of the differences of `delta(epsilon)` at `epsilon` = 0, 1/4, 1/2 and 3/4 of the others' level.
    /// At most 0 (up to rounding) when every (epsilon, delta) among these that all others pay covers this one.
    pub fn excess(&self, others: &[&Self]) -> f64 {
        let level = others.iter().map(|m| m.level()).fold(0.0, f64::max);
        if level == f64::INFINITY {
            return f64::NEG_INFINITY;
        }
        let excess_at = |part: f64| {
            let epsilon = part * level;
            self.delta(epsilon) - others.iter().map(|m| m.delta(epsilon)).fold(0.0, f64::max)
        };
        [0.0, 0.25, 0.5, 0.75].into_iter().map(excess_at).fold(self.level() - level, f64::max)
    }

    /// The largest difference of a probability, over datasets and outputs.
    pub fn distance(&self, other: &Self) -> f64 {
        self.beliefs.iter().zip(&other.beliefs).map(|(p, q)| p.distance(q)).fold(0.0, f64::max)
    }
}
