//! Hierarchical Metropolis-Hastings, the published chain.

use super::known::{KnownSums, NodeBounds, with_zeros};
use super::{Dispersed, Kernel, Start, is_integer};
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, NO_LOWER, NO_UPPER, Region};
use crate::lattice::Row;
use crate::law::{DoubleGeometric, Laplace, Law, Value};
use crate::rng::{Packed, Rng, exponential, normal, normal_cdf};

/// Algorithm 1 of Liu, Sun, Zhou, Feng, "Two views of constrained differential privacy": all leaves move
/// by a normal random walk, parents are computed upwards, one accept step on the ratio of the weights of
/// *all* nodes, times the indicator of the inequalities `A x >= a` on the nodes ([`HierarchicalMh::within`]), of which
/// non-negative releases are a special case.
///
/// Below known nodes, which the paper does not have, a leaf's step is the difference of two: its own and its neighbour's around the
/// circle of leaves whose sum is known.
///
/// For integer laws the steps are rounded to integers, which keeps the proposal symmetric. The paper
/// gives no proposal scale; see [`HierarchicalMh::default_proposal`]. It leaves the law of the steps open ("a common distribution, such as
/// normal"): see [`StepLaw`].
#[derive(Debug)]
pub struct HierarchicalMh<L: Law> {
    hierarchy: Hierarchy,
    laws: Vec<L>,
    proposal: f64,
    steps: Steps,
    /// Nodes with bounds: first leaves, then sums.
    leaves: Vec<(u32, NodeBounds<L::Value>)>,
    sums: Vec<(u32, NodeBounds<L::Value>)>,
    rows: Vec<(Row, i64)>,
    known: KnownSums,
}

/// The law of a leaf's step. All are symmetric, so that the ratio of proposals is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepLaw {
    /// Normal; rounded for integer laws.
    #[default]
    Normal,
    /// Laplace; rounded for integer laws.
    Laplace,
    /// Double geometric: integers by themselves, for integer laws alone, since whole steps do not reach all reals.
    Integer,
}

/// How steps are drawn.
#[derive(Debug)]
enum Steps {
    Normal,
    /// Rounded normal steps by a table, for integers and steps of a few counts.
    Tabled(Packed),
    Laplace(Laplace),
    Integer(DoubleGeometric),
}

impl Steps {
    /// The steps of a law with this standard deviation (of rounded ones that before they are rounded).
    fn new(law: StepLaw, deviation: f64, integers: bool) -> Result<Self> {
        Ok(match law {
            StepLaw::Normal if integers && deviation <= TABLED => Self::Tabled(rounded_normal(deviation)),
            StepLaw::Normal => Self::Normal,
            StepLaw::Laplace => Self::Laplace(Laplace::new(deviation * std::f64::consts::FRAC_1_SQRT_2)?),
            StepLaw::Integer if integers => {
                // The variance is 2a/(1 - a)².
                let t = 1.0 / (deviation * deviation);
                Self::Integer(DoubleGeometric::new(1.0 / libm::log1p(t + libm::sqrt(t * (2.0 + t))))?)
            }
            StepLaw::Integer => {
                return Err(Error::Unsupported {
                    method: "hierarchical-mh",
                    what: "real noise with integer proposals".into(),
                    reason: "whole steps do not reach all reals",
                });
            }
        })
    }
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
    /// Prepares the chain of releases without bounds, or of releases that are not negative.
    ///
    /// - `laws`: one per level.
    /// - `proposal`: standard deviation of the normal step, in counts, > 0.
    /// - `counts`: the confidential counts if releases must not be negative.
    pub fn new(hierarchy: &Hierarchy, laws: &[L], proposal: f64, counts: Option<&[i64]>) -> Result<Self> {
        Self::joined(hierarchy, laws, proposal, counts, &Region::everything())
    }

    /// [`HierarchicalMh::new`] and [`HierarchicalMh::within`] at once: releases that are not negative if `counts` are given, with the
    /// noise inside the region.
    pub(crate) fn joined(
        hierarchy: &Hierarchy,
        laws: &[L],
        proposal: f64,
        counts: Option<&[i64]>,
        region: &Region,
    ) -> Result<Self> {
        let hierarchy = &with_zeros(hierarchy, counts)?;
        // Sums of what is not negative are not.
        let leaves = hierarchy.leaves().iter().map(|&leaf| leaf as usize);
        let region = match counts {
            None => region.clone(),
            Some(counts) => match leaves.clone().find(|&leaf| counts[leaf] < 0) {
                None => region.clone().above(counts, leaves),
                Some(leaf) => return Err(Error::parameter("count of a leaf", counts[leaf], "a count >= 0")),
            },
        };
        Self::within(hierarchy, laws, proposal, &region)
    }

    /// Prepares the chain with the noise of the nodes inside a region, which has the nodes as its entries, the root first: the law is
    /// `q(z) ∝ Π_v w_v(z_v) 1(lower_v <= z_v <= upper_v for all v, Σ_v b_v z_v >= c for all rows)`, and a proposal
    /// outside is rejected. [`crate::invariant::Inequalities::around`] makes it of inequalities and confidential counts. Rows are added
    /// up in f64: exactly for integers below 2^53.
    ///
    /// Chains must start inside. Far inside an inequality between many nodes few random starts may be, of which
    /// [`Dispersed::start`] tries 2^12.
    ///
    /// Errors: another number of laws; a row that names a node beyond the last; no scale > 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use congenial_core::invariant::{Hierarchy, Inequalities};
    /// use congenial_core::kernel::HierarchicalMh;
    /// use congenial_core::law::DoubleGeometric;
    ///
    /// // A state of two counties; the second is released with at least as many as the first.
    /// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
    /// let counts = [9, 4, 5];
    /// let ordered = Inequalities::rows(vec![(vec![(2, 1), (1, -1)], 0)])?.around(&counts)?;
    /// let chain = HierarchicalMh::within(&tree, &[DoubleGeometric::new(2.0)?; 2], 1.5, &ordered)?;
    /// # let _ = chain;
    /// # Ok::<(), congenial_core::Error>(())
    /// ```
    pub fn within(hierarchy: &Hierarchy, laws: &[L], proposal: f64, region: &Region) -> Result<Self> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        if !(proposal.is_finite() && proposal > 0.0) {
            return Err(Error::parameter("proposal", proposal, "a number > 0"));
        }
        let last = hierarchy.nodes() as u32 - 1;
        if let Some((node, _)) = region.rows.iter().flat_map(|(row, _)| row).find(|(node, _)| *node > last) {
            return Err(Error::parameter("node of an inequality", node, "a node of the hierarchy"));
        }
        let (mut leaves, mut sums) = (Vec::new(), Vec::new());
        for v in 0..=last {
            let (lower, upper) = (region.lower[v as usize], region.upper[v as usize]);
            let bounds = (
                (lower != NO_LOWER).then(|| L::Value::from_count(lower)),
                (upper != NO_UPPER).then(|| L::Value::from_count(upper)),
            );
            if bounds != (None, None) {
                if hierarchy.is_leaf(v as usize) { &mut leaves } else { &mut sums }.push((v, bounds));
            }
        }
        let known = KnownSums::new(hierarchy);
        let steps = Steps::new(StepLaw::Normal, proposal, is_integer::<L::Value>())?;
        Ok(Self {
            hierarchy: hierarchy.clone(),
            laws: laws.to_vec(),
            proposal,
            steps,
            leaves,
            sums,
            rows: region.rows.clone(),
            known,
        })
    }

    /// Whether the inequalities of sums and rows hold.
    fn holds(&self, nodes: &[L::Value]) -> bool {
        let reaches = |(row, least): &(Row, i64)| {
            let terms = row.iter().map(|&(v, b)| b as f64 * nodes[v as usize].to_f64());
            terms.sum::<f64>() >= *least as f64
        };
        !self.sums.iter().any(|bounded| outside(nodes, bounded)) && self.rows.iter().all(reaches)
    }

    /// The chain with steps of another law, with the same standard deviation.
    ///
    /// Errors: integer steps of reals; a deviation out of the law's range.
    pub fn with_steps(mut self, law: StepLaw) -> Result<Self> {
        self.steps = Steps::new(law, self.proposal, is_integer::<L::Value>())?;
        Ok(self)
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
        if !is_integer::<L::Value>() {
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
        self.hierarchy.sum_up_noise(&mut nodes);
        MhState { log_weight: self.log_weight(&nodes), proposed: nodes.clone(), nodes }
    }

    fn noise(&self) -> Self::Noise {
        MhNoise { steps: vec![L::Value::default(); self.hierarchy.leaves().len()], log_uniform: 0.0 }
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut Self::Noise) {
        let steps = &mut noise.steps;
        match &self.steps {
            Steps::Tabled(law) => law.fill(rng, steps, |step, e| *step = L::Value::from_count(i64::from(e))),
            Steps::Normal => {
                steps.iter_mut().for_each(|step| *step = L::Value::nearest(self.proposal * normal(rng)))
            }
            Steps::Laplace(law) => {
                steps.iter_mut().for_each(|step| *step = L::Value::nearest(law.sample(rng)))
            }
            Steps::Integer(law) => {
                steps.iter_mut().for_each(|step| *step = L::Value::from_count(law.sample(rng)))
            }
        }
        self.known.close(&mut noise.steps);
        noise.log_uniform = -exponential(rng);
    }

    fn apply(&self, state: &mut Self::State, noise: &Self::Noise) -> bool {
        for (&leaf, &step) in self.hierarchy.leaves().iter().zip(&noise.steps) {
            state.proposed[leaf as usize] = state.nodes[leaf as usize] + step;
        }
        if self.leaves.iter().any(|bounded| outside(&state.proposed, bounded)) {
            return false;
        }
        self.hierarchy.sum_up_noise(&mut state.proposed);
        if !self.holds(&state.proposed) {
            return false;
        }
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

/// The largest scale of a rounded step with a table.
const TABLED: f64 = 16.0;

/// The nearest integer to a normal draw: `P(|e| = k) = 2 (Φ((k + 1/2)/scale) - Φ((k - 1/2)/scale))`, cut where [`Packed`] holds nothing.
fn rounded_normal(scale: f64) -> Packed {
    // Differences of upper tails keep their digits.
    let above = |x: f64| normal_cdf(-x / scale);
    let sizes = (1..).map(|k| 2.0 * (above(f64::from(k) - 0.5) - above(f64::from(k) + 0.5)));
    let mut weights = vec![1.0 - 2.0 * above(0.5)];
    weights.extend(sizes.take_while(|&weight| weight > 1e-22));
    Packed::new(&weights)
}

/// Starts among which one must keep the inequalities of sums.
const STARTS: usize = 1 << 12;

impl<L: Law> Dispersed for HierarchicalMh<L> {
    /// The paper starts "at random", from no law that it names. A leaf beyond a bound of its own starts at the bound.
    fn start<R: Rng + ?Sized>(&self, start: Start, rng: &mut R) -> Result<Self::State> {
        let bounds = |leaf: u32| {
            let place = self.leaves.binary_search_by_key(&leaf, |bounded| bounded.0);
            place.map_or((None, None), |place| self.leaves[place].1)
        };
        for _ in 0..STARTS {
            let mut nodes = self.known.start((&self.hierarchy, &self.laws), start, rng, |z| z, bounds);
            self.hierarchy.sum_up_noise(&mut nodes);
            if self.holds(&nodes) {
                return Ok(self.init(&nodes));
            }
        }
        Err(Error::Unsupported {
            method: "hierarchical-mh",
            what: "these inequalities".into(),
            reason: "none of 2^12 starts keeps them",
        })
    }
}

/// Whether a node's noise is beyond its bounds.
fn outside<V: Value>(nodes: &[V], &(v, (lower, upper)): &(u32, NodeBounds<V>)) -> bool {
    let z = nodes[v as usize];
    lower.is_some_and(|lower| z < lower) || upper.is_some_and(|upper| z > upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Inequalities;
    use crate::law::{DiscreteGaussian, DoubleGeometric};
    use crate::oracle::Formula;
    use crate::rng::below;
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::HashSet;

    /// Between any two listed points of random small trees with random bounds of all nodes and a row of three: a proposal is
    /// accepted just below the ratio of the weights that the formula gives, and not just above; one beyond the bounds never is. With a
    /// symmetric proposal that is the law on the listed points.
    #[test]
    fn inequalities_of_nodes_are_kept() {
        fn check<L: Law<Value = i64>>(law: fn(f64) -> L, formula: fn(f64) -> Formula) {
            let mut rng = test_stream(94);
            let (mut inside, mut outside) = (0, 0);
            for parents in [&[0, 0, 0][..], &[0, 0, 1, 1], &[0, 0, 0, 1, 1], &[0, 0, 0, 1, 2, 2]].repeat(5) {
                let tree = Hierarchy::from_parents(parents).unwrap();
                let scales: Vec<f64> = (0..tree.levels()).map(|_| 0.5 + below(&mut rng, 4) as f64).collect();
                let laws: Vec<L> = scales.iter().map(|&scale| law(scale)).collect();
                let mut draw = |n| below(&mut rng, n);
                let mut side = |none: i64, sign: i64| -> Vec<i64> {
                    let bound = |_| match draw(3) {
                        0 => none,
                        _ => sign * draw(3) as i64,
                    };
                    (0..tree.nodes()).map(bound).collect()
                };
                let (lower, upper) = (side(NO_LOWER, -1), side(NO_UPPER, 1));
                // And a row of three nodes.
                let row = vec![(0, 1), (1, draw(5) as i64 - 2), (tree.nodes() as u32 - 1, -1)];
                let least = -(draw(4) as i64);
                let region = Inequalities::bounds(lower.clone(), upper.clone()).unwrap();
                let region = region.and(Inequalities::rows(vec![(row.clone(), least)]).unwrap());
                let region = region.around(&vec![0; tree.nodes()]).unwrap();
                let kernel = HierarchicalMh::within(&tree, &laws, 1.0, &region).unwrap();
                let leaves = tree.leaves();
                let points: Vec<Vec<i64>> = (0..5usize.pow(leaves.len() as u32))
                    .map(|index| {
                        let mut z = vec![0; tree.nodes()];
                        for (k, &leaf) in leaves.iter().enumerate() {
                            z[leaf as usize] = (index / 5usize.pow(k as u32) % 5) as i64 - 2;
                        }
                        tree.sum_up_noise(&mut z);
                        z
                    })
                    .collect();
                let is_in = |z: &Vec<i64>| {
                    let sum: i64 = row.iter().map(|&(v, b)| b * z[v as usize]).sum();
                    let bounds = lower.iter().zip(&upper);
                    sum >= least && z.iter().zip(bounds).all(|(z, (lower, upper))| lower <= z && z <= upper)
                };
                let known: HashSet<&Vec<i64>> = points.iter().filter(|z| is_in(z)).collect();
                let log = |z: &[i64]| -> f64 {
                    let weight = |(v, &z): (usize, &i64)| formula(scales[tree.level(v)]).log_weight(z as f64);
                    z.iter().enumerate().map(weight).sum()
                };
                for &from in &known {
                    for to in &points {
                        let steps = leaves.iter().map(|&leaf| to[leaf as usize] - from[leaf as usize]);
                        let mut noise = MhNoise { steps: steps.collect(), log_uniform: 0.0 };
                        let mut accepts = |log_uniform: f64| {
                            noise.log_uniform = log_uniform;
                            let mut state = kernel.init(from);
                            let moved = kernel.apply(&mut state, &noise);
                            assert_eq!(kernel.position(&state), if moved { to } else { from });
                            moved
                        };
                        let ratio = log(to) - log(from);
                        if !known.contains(to) {
                            assert!(!accepts(f64::MIN), "{parents:?} {region:?}: {from:?} to {to:?}");
                            outside += 1;
                        } else if to != from {
                            assert!(
                                accepts(ratio.min(0.0) - 1e-9),
                                "{parents:?} {region:?}: {from:?} to {to:?}"
                            );
                            assert!(ratio > -1e-9 || !accepts(ratio + 1e-9));
                            inside += 1;
                        }
                    }
                }
            }
            assert!(inside > 1000 && outside > 1000);
        }
        check(|scale| DoubleGeometric::new(scale).unwrap(), Formula::Geometric);
        check(|scale| DiscreteGaussian::new(scale).unwrap(), Formula::DiscreteGaussian);
    }

    /// Steps from the table have the law of a normal draw that is rounded, as differences of the distribution function.
    #[test]
    fn steps_are_rounded_normals() {
        for scale in [0.2, 0.47, 1.0, 16.0] {
            let law = rounded_normal(scale);
            for e in -200..=200 {
                let at = |x: f64| normal_cdf(x / scale);
                let want = at(f64::from(e) + 0.5) - at(f64::from(e) - 0.5);
                assert!((law.p(e) - want).abs() < 1e-15, "{scale} {e}: {} {want}", law.p(e));
            }
            for n in [1, 2, 7] {
                let (mut rng, mut steps, draws) = (test_stream(95), vec![0i32; n], 40_000);
                let mut seen = vec![0u64; 401];
                for _ in 0..draws {
                    law.fill(&mut rng, &mut steps, |step, e| *step = e);
                    steps.iter().for_each(|e| seen[(e + 200) as usize] += 1);
                }
                assert_frequencies(
                    (-200..=200).map(|e| (seen[(e + 200) as usize], law.p(e))),
                    draws * n as u64,
                );
            }
        }
    }

    /// Steps have the deviation that is asked for, and chains with steps of every law have the law on two leaves and their sum, which
    /// is listed.
    #[test]
    fn chains_with_steps_of_every_law_have_their_law() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let (laws, draws) =
            ([DoubleGeometric::new(1.5).unwrap(), DoubleGeometric::new(0.8).unwrap()], 20_000u64);
        let weight = |a: i64, b: i64| {
            let of = |scale: f64, z: i64| Formula::Geometric(scale).log_weight(z as f64);
            libm::exp(of(1.5, a + b) + of(0.8, a) + of(0.8, b))
        };
        let reach = || (-60..=60i64).flat_map(|a| (-60..=60i64).map(move |b| (a, b)));
        let total: f64 = reach().map(|(a, b)| weight(a, b)).sum();
        for (seed, law) in [(96, StepLaw::Normal), (97, StepLaw::Laplace), (98, StepLaw::Integer)] {
            let kernel = HierarchicalMh::new(&tree, &laws, 1.3, None).unwrap().with_steps(law).unwrap();
            let (mut rng, mut noise) = (test_stream(seed), kernel.noise());
            let squares: f64 = (0..draws)
                .map(|_| {
                    kernel.draw(&mut rng, &mut noise);
                    (noise.steps[0] * noise.steps[0]) as f64
                })
                .sum();
            // Rounding adds about 1/12 to a variance; five standard errors of a mean of squares, of kurtosis at most 6.
            let variance = 1.69 + if law == StepLaw::Integer { 0.0 } else { 1.0 / 12.0 };
            let off = squares / draws as f64 - variance;
            assert!(off.abs() < 5.0 * variance * libm::sqrt(6.0 / draws as f64) + 0.02, "{law:?}: {off}");
            let mut seen = std::collections::HashMap::<(i64, i64), u64>::new();
            for _ in 0..draws {
                let mut state = kernel.start(Start::default(), &mut rng).unwrap();
                for _ in 0..150 {
                    kernel.draw(&mut rng, &mut noise);
                    kernel.apply(&mut state, &noise);
                }
                let z = kernel.position(&state);
                assert_eq!(z[0], z[1] + z[2]);
                *seen.entry((z[1], z[2])).or_default() += 1;
            }
            let of = |point: (i64, i64)| seen.get(&point).copied().unwrap_or(0);
            assert_frequencies(reach().map(|(a, b)| (of((a, b)), weight(a, b) / total)), draws);
        }
    }

    /// Laplace steps of a real law: the spread of the sum of two leaves with Laplace noise against a double integral.
    #[test]
    fn real_chains_with_laplace_steps_have_their_law() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let laws = [Laplace::new(1.0).unwrap(), Laplace::new(0.5).unwrap()];
        let kernel =
            HierarchicalMh::new(&tree, &laws, 0.8, None).unwrap().with_steps(StepLaw::Laplace).unwrap();
        // Of the sum s the density is e^-|s| (1/2 + |s|) e^(-2|s|), but for a constant: of a sum of two leaves, times the root's.
        let density = |s: f64| (0.5 + s) * libm::exp(-3.0 * s);
        // ∫ from s on is e^(-3s) (5/18 + s/3).
        let below = |s: f64| 1.0 - libm::exp(-3.0 * s) * (1.0 + 1.2 * s);
        assert!(((below(0.7 + 1e-6) - below(0.7)) / 1e-6 * 5.0 / 18.0 - density(0.7)).abs() < 1e-5);
        let mut rng = test_stream(99);
        let mut noise = kernel.noise();
        let sums: Vec<f64> = (0..20_000)
            .map(|_| {
                let mut state = kernel.start(Start::default(), &mut rng).unwrap();
                for _ in 0..150 {
                    kernel.draw(&mut rng, &mut noise);
                    kernel.apply(&mut state, &noise);
                }
                kernel.position(&state)[0].abs()
            })
            .collect();
        crate::testing::assert_distribution(sums, below);
        let refused = HierarchicalMh::new(&tree, &laws, 0.8, None).unwrap().with_steps(StepLaw::Integer);
        assert!(refused.unwrap_err().to_string().contains("whole steps do not reach all reals"));
    }

    /// A region of other nodes is refused, and names one.
    #[test]
    fn regions_of_other_nodes_are_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let region = Inequalities::rows(vec![(vec![(3, 1)], 0)]).unwrap().around(&[0; 4]).unwrap();
        let refused = HierarchicalMh::within(&tree, &[DoubleGeometric::new(1.0).unwrap(); 2], 1.0, &region);
        assert!(refused.unwrap_err().to_string().contains("got 3, want a node of the hierarchy"));
    }

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
