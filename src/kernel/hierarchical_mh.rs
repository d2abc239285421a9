//! Hierarchical Metropolis-Hastings, the published chain.

use super::{Dispersed, Kernel, Start, leaf};
use crate::error::{Error, Result};
use crate::invariant::Hierarchy;
use crate::law::{Law, Value};
use crate::rng::{Rng, exponential, normal, normal_cdf};

/// Algorithm 1 of Liu, Sun, Zhou, Feng, "Two views of constrained differential privacy": all leaves move
/// by a normal random walk, parents are computed upwards, one accept step on the ratio of the weights of
/// *all* nodes, times the indicator of the inequalities.
///
/// For integer laws the steps are rounded to integers, which keeps the proposal symmetric. The paper
/// gives no proposal scale; see [`HierarchicalMh::default_proposal`].
#[derive(Debug)]
pub struct HierarchicalMh<L: Law> {
    hierarchy: Hierarchy,
    laws: Vec<L>,
    proposal: f64,
    /// Lower bounds of the leaves' noise.
    floors: Option<Vec<L::Value>>,
}

/// State of [`HierarchicalMh`].
#[derive(Debug, Clone)]
pub struct MhState<V> {
    nodes: Vec<V>,
    proposed: Vec<V>,
    log_weight: f64,
}

/// Random inputs of one step: a step per leaf, and the logarithm of the accept test's uniform.
#[derive(Debug, Clone)]
pub struct MhNoise<V> {
    steps: Vec<V>,
    log_uniform: f64,
}

impl<L: Law> HierarchicalMh<L> {
    /// - `laws`: one per level.
    /// - `proposal`: standard deviation of the normal step, in counts, > 0.
    /// - `counts`: the confidential counts if releases must not be negative.
    pub fn new(hierarchy: &Hierarchy, laws: &[L], proposal: f64, counts: Option<&[i64]>) -> Result<Self> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        if !(proposal.is_finite() && proposal > 0.0) {
            return Err(Error::parameter("proposal", proposal, "a number > 0"));
        }
        let floors = counts.map(|counts| {
            hierarchy.leaves().iter().map(|&v| L::Value::from_count(-counts[v as usize])).collect()
        });
        Ok(Self { hierarchy: hierarchy.clone(), laws: laws.to_vec(), proposal, floors })
    }

    /// The proposal scale used when none is given, in counts.
    ///
    /// A random walk in `n` dimensions mixes fastest with a step of order `1/sqrt(n)` (Roberts, Gelman,
    /// Gilks 1997). For reals it is `1.6 sd/sqrt(2n)`, where `sd` is the leaves' standard deviation: measured as
    /// best on the taxi hierarchy, where it is 0.1 lambda. For integers it is the normal scale whose
    /// *rounded* step has that variance, or that moves 1 leaf in the mean if this is more: a scale of
    /// 0.1 lambda itself would round to no move at all when lambda is small.
    pub fn default_proposal(hierarchy: &Hierarchy, laws: &[L]) -> f64 {
        let n = hierarchy.leaves().len() as f64;
        let law = &laws[hierarchy.levels() - 1];
        let real = 1.6 * libm::sqrt(law.variance() / (2.0 * n));
        if L::Value::nearest(0.25).to_f64() != 0.0 {
            return real;
        }
        if real > 8.0 {
            // Rounding adds 1/12 to the variance, to within exp(-2 pi² scale²); the sum below would be long.
            return libm::sqrt(real * real - 1.0 / 12.0);
        }
        let variance = (real * real).max(1.0 / n);
        // Var of the rounded step, Σ (2k - 1) P(|N| > k - 1/2) over k >= 1, increases with the scale.
        let rounded = |scale: f64| {
            (1..)
                .map(|k| f64::from(2 * k - 1) * 2.0 * normal_cdf(-(f64::from(k) - 0.5) / scale))
                .take_while(|&term| term > 1e-12 * variance)
                .sum::<f64>()
        };
        let (mut low, mut high) = (0.0, 2.0 * real + 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if rounded(middle) < variance { low = middle } else { high = middle }
        }
        high
    }

    fn log_weight(&self, nodes: &[L::Value]) -> f64 {
        let mut sum = 0.0;
        for (l, law) in self.laws.iter().enumerate() {
            sum += law.log_weights(&nodes[self.hierarchy.level_nodes(l)]);
        }
        sum
    }
}

impl<L: Law> Kernel for HierarchicalMh<L> {
    type Value = L::Value;
    type State = MhState<L::Value>;
    type Noise = MhNoise<L::Value>;
    const REJECTS: bool = true;

    fn init(&self, position: &[L::Value]) -> Self::State {
        let mut nodes = position.to_vec();
        self.hierarchy.sum_up(&mut nodes);
        MhState { log_weight: self.log_weight(&nodes), proposed: nodes.clone(), nodes }
    }

    fn noise(&self) -> Self::Noise {
        MhNoise { steps: vec![L::Value::default(); self.hierarchy.leaves().len()], log_uniform: 0.0 }
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut Self::Noise) {
        for step in &mut noise.steps {
            *step = L::Value::nearest(self.proposal * normal(rng));
        }
        noise.log_uniform = -exponential(rng);
    }

    fn apply(&self, state: &mut Self::State, noise: &Self::Noise) -> bool {
        for (&leaf, &step) in self.hierarchy.leaves().iter().zip(&noise.steps) {
            state.proposed[leaf as usize] = state.nodes[leaf as usize] + step;
        }
        if let Some(floors) = &self.floors {
            let leaves = self.hierarchy.leaves().iter();
            if leaves.zip(floors).any(|(&leaf, &floor)| state.proposed[leaf as usize] < floor) {
                return false;
            }
        }
        self.hierarchy.sum_up(&mut state.proposed);
        let log_weight = self.log_weight(&state.proposed);
        if noise.log_uniform >= log_weight - state.log_weight {
            return false;
        }
        std::mem::swap(&mut state.nodes, &mut state.proposed);
        state.log_weight = log_weight;
        // An accepted proposal of no step at all is not a move.
        noise.steps.iter().any(|&step| step != L::Value::default())
    }

    fn position<'a>(&self, state: &'a Self::State) -> &'a [L::Value] {
        &state.nodes
    }
}

impl<L: Law> Dispersed for HierarchicalMh<L> {
    /// The paper starts "at random", from no law that it names.
    fn start<R: Rng + ?Sized>(&self, start: Start, rng: &mut R) -> Result<Self::State> {
        let mut nodes = vec![L::Value::default(); self.hierarchy.nodes()];
        for (i, &v) in self.hierarchy.leaves().iter().enumerate() {
            let (z, floor) = (
                leaf(&self.laws[self.laws.len() - 1], start, rng),
                self.floors.as_ref().map(|floors| floors[i]),
            );
            nodes[v as usize] = floor.filter(|floor| z < *floor).unwrap_or(z);
        }
        Ok(self.init(&nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::DoubleGeometric;

    /// Both sides of the switch to the closed form agree, and the largest scale returns at once.
    #[test]
    fn default_proposal_has_no_jump() {
        let tree = Hierarchy::from_parents(&[0, 0]).unwrap();
        let at =
            |lambda| HierarchicalMh::default_proposal(&tree, &[DoubleGeometric::new(lambda).unwrap(); 2]);
        // The switch lies where the real step is 8, near lambda = 5 for one leaf.
        let slope = |a: f64, b: f64| (at(b) - at(a)) / (b - a);
        for lambda in [4.9, 4.99, 5.0, 5.01, 5.1] {
            assert!((slope(lambda, lambda + 0.01) - 1.6).abs() < 0.02, "{lambda}");
        }
        assert!(at(1e12) > 1e12);
    }
}
