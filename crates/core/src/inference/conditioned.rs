//! The posterior given a release that was conditioned on counts >= 0: proposals without that condition, and chains that correct them.

use super::posterior::{Posterior, Weight};
use super::prior::Prior;
use crate::error::{Error, Result};
use crate::exact::IntegerTree;
use crate::invariant::Hierarchy;
use crate::law::{DiscreteGaussian, DoubleGeometric};
use crate::rng::{Rng, open01};

/// The posterior of the counts x of a tree given integers y that were released by conditioning noise on the equations and on
/// `y >= 0`: such a release has the probability `q(y - x)/c(x)`, with the normaliser
///
/// `c(x) = Σ Π_v w_v(s_v(z))` over the noise z of the leaves with `x + z >= 0`, and `s_v(z) = 0` at known nodes v.
///
/// So `p(x | y) ∝ π(x) q(y - x)/c(x)` for x >= 0. Without c that is [`Posterior`], whose independent draws are proposals of a chain
/// ([`Chains`]) that is at x and goes to the proposal x' with the probability `min(1, c(x)/c(x'))` (independence Metropolis).
///
/// c grows with every count, so that `c(x) >= c(l)` for every proposal x, with l the least counts of the leaves. That also holds under
/// known sums: noise that keeps l >= 0 keeps x >= 0.
///
/// c is the mass of the pass of [`IntegerTree`]. Tables of the proposals leave out at most [`Posterior::lacks`] of their law; of the
/// posterior that may be more, by at most the factor `E[c(l)/c(x)]^-1` over the proposals.
///
/// # Examples
///
/// ```
/// use congenial_core::inference::{Conditioned, Chains, Prior, Weight};
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// // A total of 4 and two counts of 0 and 4, noise conditioned on the sum and on counts >= 0.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let (weights, values) = ([Weight::Exponential(2.0); 2], [4.0, 0.0, 4.0]);
/// let posterior = Conditioned::on_tree(&tree, &weights, &values, &[Prior::NONNEGATIVE; 2])?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let (mut first, mut proposals) = (Vec::new(), Vec::new());
/// for _ in 0..400 {
///     let mut counts = [0; 3];
///     proposals.push(posterior.propose(&mut rng, &mut counts)?);
///     first.push(counts[1]);
/// }
/// // Two chains of 200 steps, the first 50 of each left out.
/// let chains = Chains::run(&proposals, (2, 50), posterior.log_least());
/// let draws = chains.at.iter().flatten().map(|&place| first[place as usize]);
/// assert_eq!(draws.count(), 300);
/// assert!(chains.acceptance > 0.8 && chains.unforgotten.is_none());
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Conditioned<'a> {
    tree: &'a Hierarchy,
    posterior: Posterior<'a>,
    laws: Laws,
    log_least: f64,
}

/// The laws of the levels.
#[derive(Debug)]
enum Laws {
    DoubleGeometric(Vec<DoubleGeometric>),
    DiscreteGaussian(Vec<DiscreteGaussian>),
}

impl Laws {
    /// Errors: two kinds of weights; a scale out of range.
    fn of(weights: &[Weight]) -> Result<Self> {
        let exponential = |weight: &Weight| match *weight {
            Weight::Exponential(lambda) => Some(DoubleGeometric::new(lambda)),
            Weight::Gaussian(_) => None,
        };
        let gaussian = |weight: &Weight| match *weight {
            Weight::Gaussian(sigma) => Some(DiscreteGaussian::new(sigma)),
            Weight::Exponential(_) => None,
        };
        if let Some(laws) = weights.iter().map(exponential).collect::<Option<Result<_>>>() {
            return Ok(Self::DoubleGeometric(laws?));
        }
        match weights.iter().map(gaussian).collect::<Option<Result<_>>>() {
            Some(laws) => Ok(Self::DiscreteGaussian(laws?)),
            None => Err(Error::parameter("weights", "two laws", "one for all levels")),
        }
    }
}

/// What a proposal of counts tells the chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proposal {
    /// `ln c` of the proposed counts.
    pub log_normaliser: f64,
    /// A uniform number between 0 and 1, which decides whether the chain goes there.
    pub uniform: f64,
}

impl<'a> Conditioned<'a> {
    /// The posterior.
    ///
    /// - `weights`: one per level, all of one kind.
    /// - `values`: by node, the integers >= 0 that were released; of a known node its count.
    /// - `priors`: one per leaf, of counts >= 0.
    ///
    /// Errors: those of [`Posterior::on_tree`] and [`IntegerTree::new`]; a value or a prior that is not as said.
    pub fn on_tree(
        tree: &'a Hierarchy,
        weights: &'a [Weight],
        values: &'a [f64],
        priors: &[Prior],
    ) -> Result<Self> {
        if let Some(value) = values.iter().find(|value| !(**value >= 0.0 && value.fract() == 0.0)) {
            return Err(Error::parameter("value", value, "an integer >= 0"));
        }
        if let Some(prior) = priors.iter().find(|prior| prior.support().0 < 0.0) {
            return Err(Error::parameter("prior", format!("{prior:?}"), "one of counts >= 0"));
        }
        let posterior = Posterior::on_tree(tree, weights, values, priors)?;
        let laws = Laws::of(weights)?;
        let mut conditioned = Self { tree, posterior, laws, log_least: 0.0 };
        conditioned.log_least = conditioned.log_normaliser(&conditioned.posterior.least())?;
        Ok(conditioned)
    }

    /// The posterior without c, from which proposals are drawn.
    pub fn without(&self) -> &Posterior<'a> {
        &self.posterior
    }

    /// `ln c(x)`, but for a constant that does not depend on x: leaves weigh what their laws say (they sum to 1), other nodes
    /// `w_v(z)/w_v(0)`. `counts`: by node; those of leaves are read, none below 0.
    ///
    /// Errors: as [`IntegerTree::new`].
    pub fn log_normaliser(&self, counts: &[i64]) -> Result<f64> {
        let mass = |tree: Result<IntegerTree>| tree.map(|tree| tree.log_mass());
        match &self.laws {
            Laws::DoubleGeometric(laws) => mass(IntegerTree::new(self.tree, laws, Some(counts))),
            Laws::DiscreteGaussian(laws) => mass(IntegerTree::new(self.tree, laws, Some(counts))),
        }
    }

    /// `ln c` of the least counts: no proposal's is smaller.
    pub fn log_least(&self) -> f64 {
        self.log_least
    }

    /// Draws a proposal into `counts`, by node: independent of others. Errors: as [`IntegerTree::new`].
    pub fn propose<R: Rng + ?Sized>(&self, rng: &mut R, counts: &mut [i64]) -> Result<Proposal> {
        let uniform = self.draw(rng, counts);
        Ok(Proposal { log_normaliser: self.log_normaliser(counts)?, uniform })
    }

    /// A proposal, without the logarithm of its normaliser, which equal counts share: the uniform number that decides of it.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, counts: &mut [i64]) -> f64 {
        self.posterior.draw(rng, counts);
        open01(rng)
    }
}

/// Independence chains through proposals.
///
/// A chain begins at its first proposal, and goes on to every next one x' with `u < c(x)/c(x')`. What it forgot of where it began:
///
/// **Claim.** Chains from all places that go through the same proposals are at one place as soon as one has `u < c(l)/c(x')`, with
/// `c(l)` not larger than any other. A chain for which that happened among the steps that are left out has exactly the posterior's
/// law from there on.
///
/// **Proof.** Such a step is taken from every x, since `c(l) <= c(x)`. The first has the law of the proposals that are accepted with
/// the probability `c(l)/c(x')`: the posterior (rejection), which every step of the chain keeps. Which step it is does not depend on
/// the place. ∎
///
/// Where it did not happen, let `r(c)` be the chance that a chain at a place with the normaliser c does not move. Beside the chain
/// let another run through the same proposals that had the posterior's law from the beginning. While they differ, the one with the
/// smaller c stays the one with the smaller c until it moves, and then both move. So the distance to the posterior after n steps (total
/// variation) is at most `E[r(min(c(x), c(Y)))^n]`, with x where the chain began and Y from the posterior. That is estimated from the
/// proposals, as is r: no bound, since a place with a very small c may be among none of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Chains {
    /// By chain, after each step that is kept: the place of the proposal where it is, among all.
    pub at: Vec<Vec<u32>>,
    /// The share of proposals that were accepted, of all chains.
    pub acceptance: f64,
    /// The distance of the first step kept to the posterior (total variation), estimated, of the chain where it is largest; `None`:
    /// every chain has the posterior's law exactly.
    pub unforgotten: Option<f64>,
}

impl Chains {
    /// Runs chains of one length through the proposals, one after the other; proposals that are left over are in none.
    ///
    /// - `(number, left_out)`: of the chains, and of the steps from the beginning of each that are not kept, at least 1.
    /// - `log_least`: `ln c(l)`.
    pub fn run(proposals: &[Proposal], (number, left_out): (usize, usize), log_least: f64) -> Self {
        let length = proposals.len() / number.max(1);
        let rest = Rest::of(proposals);
        let (mut at, mut accepted, mut unforgotten) = (Vec::with_capacity(number), 0usize, None);
        for (chain, own) in proposals.chunks_exact(length.max(1)).take(number).enumerate() {
            let (mut place, mut kept) = (0, Vec::with_capacity(length.saturating_sub(left_out)));
            for (step, proposal) in own.iter().enumerate() {
                let moves = libm::log(proposal.uniform) < own[place].log_normaliser - proposal.log_normaliser;
                if step > 0 && moves {
                    (place, accepted) = (step, accepted + 1);
                }
                if step >= left_out {
                    kept.push((chain * length + place) as u32);
                }
            }
            at.push(kept);
            let first = &own[..left_out.min(length)];
            if !first.iter().any(|one| libm::log(one.uniform) < log_least - one.log_normaliser) {
                let after = rest.after(own[0].log_normaliser, left_out as i32);
                unforgotten = Some(after.max(unforgotten.unwrap_or(0.0)));
            }
        }
        let steps = number * length.saturating_sub(1);
        Self { at, acceptance: accepted as f64 / steps.max(1) as f64, unforgotten }
    }
}

/// How long chains stay, from proposals.
struct Rest {
    /// `ln 1/c` of all proposals, in ascending order, less the largest.
    logs: Vec<f64>,
    /// The sums of `1/c` up to each.
    sums: Vec<f64>,
    largest: f64,
}

impl Rest {
    fn of(proposals: &[Proposal]) -> Self {
        let mut logs: Vec<f64> = proposals.iter().map(|one| -one.log_normaliser).collect();
        logs.sort_by(f64::total_cmp);
        let largest = logs.last().copied().unwrap_or_default();
        logs.iter_mut().for_each(|log| *log -= largest);
        let mut sum = 0.0;
        let add = |log: &f64| {
            sum += libm::exp(*log);
            sum
        };
        let sums = logs.iter().map(add).collect();
        Self { logs, sums, largest }
    }

    /// The chance not to move in a step, at a place with this `ln 1/c`.
    fn stays(&self, log: f64) -> f64 {
        let below = self.logs.partition_point(|other| *other < log);
        let lighter = below.checked_sub(1).map_or(0.0, |last| self.sums[last]) * libm::exp(-log);
        let moves = (lighter + (self.logs.len() - below) as f64) / self.logs.len() as f64;
        (1.0 - moves).clamp(0.0, 1.0)
    }

    /// `E[r(min(c, c(Y)))^n]`.
    fn after(&self, log_normaliser: f64, n: i32) -> f64 {
        let start = -log_normaliser - self.largest;
        let of = |log: &f64| libm::exp(*log) * libm::pow(self.stays(log.max(start)), f64::from(n));
        let total = self.sums.last().copied().unwrap_or(1.0);
        self.logs.iter().map(of).sum::<f64>() / total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::HashMap;

    struct System {
        tree: Hierarchy,
        weights: Vec<Weight>,
        values: Vec<f64>,
        priors: Vec<Prior>,
    }

    /// Trees of up to 4 leaves, both laws, with a known total and without, and with a known leaf.
    fn systems() -> Vec<System> {
        let (poisson, negative) = (Prior::Poisson(1.5), Prior::NegativeBinomial { mean: 2.0, size: 0.7 });
        let flat = Prior::NONNEGATIVE;
        let mut all = Vec::new();
        let mut add =
            |parents: &[usize], known: Option<usize>, scale: f64, values: &[f64], priors: &[Prior]| {
                for weight in [Weight::Exponential as fn(f64) -> Weight, Weight::Gaussian] {
                    let mut tree = Hierarchy::from_parents(parents).unwrap();
                    if let Some(known) = known {
                        tree = tree.with_known((0..parents.len()).map(|v| v == known).collect()).unwrap();
                    }
                    let weights =
                        (0..tree.levels()).map(|level| weight(scale + 0.2 * level as f64)).collect();
                    all.push(System { tree, weights, values: values.to_vec(), priors: priors.to_vec() });
                }
            };
        add(&[0, 0, 0], None, 1.0, &[3.0, 0.0, 3.0], &[flat; 2]);
        add(&[0, 0, 0], Some(0), 1.4, &[4.0, 1.0, 3.0], &[flat, poisson]);
        add(&[0, 0, 0, 0], None, 0.8, &[1.0, 0.0, 0.0, 1.0], &[negative, poisson, flat]);
        add(&[0, 0, 0, 0], Some(0), 0.9, &[5.0, 0.0, 2.0, 3.0], &[flat; 3]);
        add(&[0, 0, 0, 0], Some(2), 0.7, &[5.0, 1.0, 2.0, 2.0], &[poisson; 3]);
        add(&[0, 0, 0, 1, 1, 2, 2], None, 0.6, &[3.0, 1.0, 2.0, 0.0, 1.0, 0.0, 2.0], &[poisson; 4]);
        add(&[0, 0, 0, 1, 1, 2, 2], Some(0), 0.7, &[3.0, 0.0, 3.0, 0.0, 0.0, 0.0, 3.0], &[flat; 4]);
        all
    }

    impl System {
        fn conditioned(&self) -> Conditioned<'_> {
            Conditioned::on_tree(&self.tree, &self.weights, &self.values, &self.priors).unwrap()
        }

        fn weigh(&self, v: usize, z: i64) -> f64 {
            let z = z as f64;
            match self.weights[self.tree.level(v)] {
                _ if self.tree.is_known(v) => f64::from(u8::from(z == 0.0)),
                Weight::Exponential(lambda) => libm::exp(-z.abs() / lambda),
                Weight::Gaussian(sigma) => libm::exp(-z * z / (2.0 * sigma * sigma)),
            }
        }

        /// All vectors of leaves from these ends on, so many each, summed up.
        fn vectors(&self, from: &[i64], many: i64, mut each: impl FnMut(&[i64])) {
            let leaves = self.tree.leaves();
            let mut all = vec![0i64; self.tree.nodes()];
            for number in 0..many.pow(leaves.len() as u32) {
                let mut rest = number;
                for (&leaf, from) in leaves.iter().zip(from) {
                    all[leaf as usize] = from + rest % many;
                    rest /= many;
                }
                self.tree.sum_up(&mut all);
                each(&all);
            }
        }

        fn mass(&self, z: &[i64]) -> f64 {
            (0..self.tree.nodes()).map(|v| self.weigh(v, z[v])).product()
        }

        /// c(x) by direct summation, leaves weighing what sums to 1, over noise up to where it weighs less than 1e-12.
        fn normaliser(&self, counts: &[i64], reach: i64) -> f64 {
            let leaves = self.tree.leaves();
            let from: Vec<i64> = leaves.iter().map(|&leaf| (-counts[leaf as usize]).max(-reach)).collect();
            let mut sum = 0.0;
            self.vectors(&from, 2 * reach, |z| sum += self.mass(z));
            let open = leaves.iter().filter(|&&leaf| !self.tree.is_known(leaf as usize));
            let unit = |&leaf: &u32| (-100..=100).map(|z| self.weigh(leaf as usize, z)).sum::<f64>();
            sum / open.map(unit).product::<f64>()
        }

        fn prior(&self, x: &[i64]) -> f64 {
            let factorial = |x: i64| (1..=x).map(|k| k as f64).product::<f64>();
            let of = |(prior, &leaf): (&Prior, &u32)| match (*prior, x[leaf as usize]) {
                (_, x) if x < 0 => 0.0,
                (Prior::Poisson(mean), x) => libm::pow(mean, x as f64) / factorial(x),
                (Prior::NegativeBinomial { mean, size }, x) => {
                    let rising: f64 = (0..x).map(|k| size + k as f64).product();
                    rising / factorial(x) * libm::pow(mean / (size + mean), x as f64)
                }
                _ => 1.0,
            };
            self.priors.iter().zip(self.tree.leaves()).map(of).product()
        }

        /// The posterior by enumeration: all counts with their probability. `of`: c, once for each vector.
        fn listed(&self, mut of: impl FnMut(&[i64]) -> f64) -> HashMap<Vec<i64>, f64> {
            let mut all = HashMap::new();
            let many = if self.tree.leaves().len() > 3 { 14 } else { 24 };
            self.vectors(&vec![0; self.tree.leaves().len()], many, |x| {
                let noise: Vec<i64> = self.values.iter().zip(x).map(|(y, x)| *y as i64 - x).collect();
                let weight = self.prior(x) * self.mass(&noise);
                all.insert(x.to_vec(), weight);
            });
            let most = all.values().copied().fold(0.0, f64::max);
            all.retain(|_, weight| *weight > 1e-9 * most);
            all.iter_mut().for_each(|(x, weight)| *weight /= of(x));
            let total: f64 = all.values().sum();
            all.values_mut().for_each(|p| *p /= total);
            all
        }
    }

    /// c is that of direct summation.
    #[test]
    fn normalisers_are_sums() {
        for system in systems() {
            let conditioned = system.conditioned();
            let leaves = system.tree.leaves().len();
            let (reach, many, step) = [(40, 4, 1), (28, 3, 4), (18, 2, 7)][leaves - 2];
            let mut number = 0;
            system.vectors(&vec![0; leaves], many, |x| {
                number += 1;
                if number % step != 0 {
                    return;
                }
                let (got, want) =
                    (conditioned.log_normaliser(x).unwrap(), libm::log(system.normaliser(x, reach)));
                assert!((got - want).abs() < 1e-10, "{x:?}: {got} {want} {:?}", system.weights);
                assert!(got >= conditioned.log_least() - 1e-12);
            });
        }
    }

    /// c of the core, once for each vector. It is compared with direct summation above.
    fn with_c<'a>(conditioned: &'a Conditioned) -> impl FnMut(&[i64]) -> f64 + 'a {
        |x| libm::exp(conditioned.log_normaliser(x).unwrap())
    }

    /// The law of every node in long chains is that of enumeration, each probability to five standard errors.
    #[test]
    fn chains_have_the_posterior() {
        const BATCHES: usize = 100;
        const LENGTH: usize = 500;
        let mut differs = 0;
        for (number, system) in systems().into_iter().enumerate() {
            let conditioned = system.conditioned();
            let mut rng = test_stream(171 + number as u64);
            let mut known: HashMap<Vec<i64>, f64> = HashMap::new();
            let (mut counts, mut proposals) = (Vec::new(), Vec::new());
            for _ in 0..BATCHES * LENGTH {
                let mut x = vec![0; system.tree.nodes()];
                conditioned.without().draw(&mut rng, &mut x);
                let c = known.entry(x.clone()).or_insert_with(|| conditioned.log_normaliser(&x).unwrap());
                proposals.push(Proposal { log_normaliser: *c, uniform: open01(&mut rng) });
                counts.push(x);
            }
            let chains = Chains::run(&proposals, (BATCHES, LENGTH / 5), conditioned.log_least());
            assert!(chains.unforgotten.is_none() && chains.acceptance > 0.5, "{}", chains.acceptance);
            let law = system.listed(with_c(&conditioned));
            let without = system.listed(|_| 1.0);
            for v in (0..system.tree.nodes()).filter(|&v| !system.tree.is_known(v)) {
                for k in 0..10 {
                    let sum = |law: &HashMap<Vec<i64>, f64>| -> f64 {
                        law.iter().filter(|(x, _)| x[v] == k).map(|(_, p)| p).sum()
                    };
                    let (want, other) = (sum(&law), sum(&without));
                    if want < 0.01 {
                        continue;
                    }
                    // Batches are independent.
                    let share = |chain: &Vec<u32>| {
                        let here = chain.iter().filter(|&&place| counts[place as usize][v] == k).count();
                        here as f64 / chain.len() as f64
                    };
                    let shares: Vec<f64> = chains.at.iter().map(share).collect();
                    let mean = shares.iter().sum::<f64>() / BATCHES as f64;
                    let squares: f64 = shares.iter().map(|x| (x - mean) * (x - mean)).sum();
                    let error = libm::sqrt(squares / ((BATCHES - 1) * BATCHES) as f64);
                    assert!((mean - want).abs() < 5.0 * error, "{number} {v} {k}: {mean} ± {error}, {want}");
                    differs += usize::from((other - want).abs() > 10.0 * error);
                }
            }
        }
        // What the test could not see without c.
        assert!(differs > 30, "{differs}");
    }

    /// Chains that are said to have forgotten where they began have the posterior's law in the first step that is kept.
    #[test]
    fn chains_that_forgot_are_exact() {
        let system = &systems()[2];
        let conditioned = system.conditioned();
        let law = system.listed(with_c(&conditioned));
        let (mut rng, mut seen, mut draws) = (test_stream(191), HashMap::<Vec<i64>, u64>::new(), 0);
        let mut known: HashMap<Vec<i64>, f64> = HashMap::new();
        for _ in 0..60_000 {
            let (mut counts, mut proposals) = (Vec::new(), Vec::new());
            for _ in 0..3 {
                let mut x = vec![0; system.tree.nodes()];
                conditioned.without().draw(&mut rng, &mut x);
                let c = known.entry(x.clone()).or_insert_with(|| conditioned.log_normaliser(&x).unwrap());
                proposals.push(Proposal { log_normaliser: *c, uniform: open01(&mut rng) });
                counts.push(x);
            }
            let chains = Chains::run(&proposals, (1, 2), conditioned.log_least());
            if chains.unforgotten.is_none() {
                draws += 1;
                *seen.entry(counts[chains.at[0][0] as usize].clone()).or_default() += 1;
            }
        }
        assert!((10_000..58_000).contains(&draws), "{draws}");
        assert_frequencies(law.iter().map(|(x, p)| (seen.get(x).copied().unwrap_or(0), *p)), draws);
    }

    /// What chains have not forgotten is no less than their distance to the posterior, from every place where they may begin.
    #[test]
    fn what_is_not_forgotten_bounds_the_distance() {
        let system = &systems()[0];
        let conditioned = system.conditioned();
        let law: Vec<(Vec<i64>, f64)> = system.listed(with_c(&conditioned)).into_iter().collect();
        let logs: Vec<f64> = law.iter().map(|(x, _)| conditioned.log_normaliser(x).unwrap()).collect();
        let weights: Vec<f64> = law.iter().zip(&logs).map(|((_, p), log)| p * libm::exp(*log)).collect();
        let total: f64 = weights.iter().sum();
        let mut rng = test_stream(192);
        let proposal = |_| {
            let mut x = vec![0; 3];
            conditioned.propose(&mut rng, &mut x).unwrap()
        };
        let rest = Rest::of(&(0..20_000).map(proposal).collect::<Vec<_>>());
        let mut far = 0;
        for start in (0..law.len()).filter(|&start| law[start].1 > 1e-6) {
            let mut at = vec![0.0; law.len()];
            at[start] = 1.0;
            for step in 1..6 {
                let mut next = vec![0.0; law.len()];
                for (x, p) in at.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                    let mut stays = 1.0;
                    for (to, weight) in weights.iter().enumerate() {
                        let moves = weight / total * libm::exp(logs[x] - logs[to]).min(1.0);
                        next[to] += p * moves;
                        stays -= moves;
                    }
                    next[x] += p * stays;
                }
                at = next;
                let distance = 0.5 * at.iter().zip(&law).map(|(at, (_, p))| (at - p).abs()).sum::<f64>();
                let bound = rest.after(logs[start], step);
                // 20,000 proposals leave no more than that.
                assert!(distance <= bound * 1.1 + 1e-3, "{start} {step}: {distance} {bound}");
                far += usize::from(distance > 0.5 * bound && distance > 0.01);
            }
        }
        assert!(far > 20, "{far}");
    }

    #[test]
    fn what_is_no_such_release_is_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let refused = |weights: [Weight; 2], values: [f64; 3], prior: Prior| {
            Conditioned::on_tree(&tree, &weights, &values, &[prior; 2]).unwrap_err().to_string()
        };
        let (weights, flat) = ([Weight::Exponential(1.0); 2], Prior::NONNEGATIVE);
        assert!(refused(weights, [3.0, 1.5, 1.5], flat).contains("1.5"));
        assert!(refused(weights, [3.0, -1.0, 4.0], flat).contains("-1"));
        assert!(refused(weights, [3.0, 1.0, 2.0], Prior::Flat).contains("counts >= 0"));
        let two = [Weight::Exponential(1.0), Weight::Gaussian(1.0)];
        assert!(refused(two, [3.0, 1.0, 2.0], flat).contains("one for all levels"));
    }
}
