//! Weight harmonization: groups of chains with importance weights, which meet and share them.
//!
//! Corenflos, Dau (2025), A coupling-based approach to f-divergences diagnostics for Markov chain Monte Carlo (arXiv 2510.07559):
//! weights of coupled chains bound any f-divergence of a chain's law from its target. The idea is theirs; the order of the meetings and
//! the argument are written for this library.

use crate::error::{Error, Result};
use crate::kernel::{Coupled, Start};
use crate::rng::Rng;

/// Most values that the chains of a group hold.
const MOST_VALUES: u64 = 1 << 27;

/// Most chains of a group.
pub const MOST_CHAINS: u64 = 1 << 16;

/// A group of chains: their weights and who has met when.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Group {
    /// `ln w_0` of each chain.
    pub log_weights: Vec<f64>,
    /// The meetings, by time; one less than there are chains if all have met.
    pub merges: Vec<Merge>,
    /// Steps after which the group was left; `u64::MAX` if all have met, since nothing changes any more.
    pub until: u64,
    /// Kernel steps of all chains together; chains that move as one are counted once.
    pub steps: u64,
}

/// Chains that move as one from here on, with those that had joined either before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Merge {
    /// The steps after which both chains met.
    pub t: u64,
    /// The number of the chain that stands for both.
    pub into: u32,
    /// The number of the chain that joins it.
    pub from: u32,
}

/// Runs a group until all its chains have met, or for `max_steps` steps.
///
/// - `chains`: N, 2 to 2^16.
/// - `start`: where [`crate::kernel::Dispersed::weighted_start`] begins.
///
/// Errors: another number of chains; a start whose law is not known up to a constant.
///
/// # Claim
///
/// `X^1, …, X^N` start independently from a law `μ_0` with the weights `w_0 = π~(X_0)/μ~_0(X_0)` (both without their constants, so
/// that `E w_0 = c` is not known), and each moves by the kernel K, which leaves π as it is. Two chains at the same place take the mean
/// of their weights; who is coupled with whom depends on the past alone. Then for every t, every N and every convex f with f(1) = 0
///
/// `D_f(π‖μ_t) <= E (1/N) Σ_n f(w_t^n/c)`, where `μ_t = μ_0 K^t`.
///
/// Given the past each chain moves by K, whatever it is coupled with. So each has the law `μ_t`, and for a function φ
/// `E[Σ w^n φ(X_{t+1}^n) | past] = Σ w^n Kφ(X_t^n)`; sharing weights at one place leaves `Σ w^n φ(X^n)` as it is. Back to the start,
/// `E (1/N) Σ w_t^n φ(X_t^n) = E w_0 K^tφ(X_0) = c π(K^tφ) = c π(φ)`. With a number J drawn uniformly beside all this, `X_t^J` has
/// the law `μ_t` and `E[w_t^J φ(X_t^J)] = c π(φ)`: that is `dπ/dμ_t(x) = E[w_t^J/c | X_t^J = x]`, and Jensen's inequality gives the
/// claim. (The chains of a group need not be exchangeable: J is.)
///
/// # Meetings
///
/// Chains that have met move on as one, with their mean weight: each still follows K, they have nothing left to share, and a group
/// costs less with every meeting. Whoever is free is coupled with the next that becomes free, so a slow pair holds up nobody else.
/// Each meeting makes the mean of f smaller or leaves it (f is convex, the sum of the weights stays), so the bound falls with t. When
/// all chains of a group have met, it rests at the spread of the groups' mean weights: for χ² that is `Var(w_0/c)/N`. Weights whose
/// variance is large, such as those of large trees, need groups as large: nothing else brings the bound down.
pub fn harmonize<K, R>(kernel: &K, start: Start, chains: u64, max_steps: u64, rng: &mut R) -> Result<Group>
where
    K: Coupled,
    K::Value: PartialEq,
    R: Rng,
{
    let mut running = Running::new(kernel, start, chains, rng)?;
    while running.t < max_steps && !running.pairs.is_empty() {
        running.step(rng);
    }
    let all_met = running.pairs.is_empty();
    let Running { log_weights, merges, t, steps, .. } = running;
    Ok(Group { log_weights, merges, until: if all_met { u64::MAX } else { t }, steps })
}

/// A group on its way.
struct Running<'a, K: Coupled> {
    kernel: &'a K,
    /// By chain; of those that have met, the one that stands for all is up to date.
    states: Vec<K::State>,
    noise: (K::Noise, K::Noise),
    /// Chains that are coupled.
    pairs: Vec<(u32, u32)>,
    /// The chain that waits for another to become free.
    free: Option<u32>,
    log_weights: Vec<f64>,
    merges: Vec<Merge>,
    t: u64,
    steps: u64,
}

impl<'a, K: Coupled> Running<'a, K>
where
    K::Value: PartialEq,
{
    fn new<R: Rng>(kernel: &'a K, start: Start, chains: u64, rng: &mut R) -> Result<Self> {
        if !(2..=MOST_CHAINS).contains(&chains) {
            return Err(Error::parameter("chains of a group", chains, "2 to 65536"));
        }
        let (mut states, mut log_weights) = (Vec::new(), Vec::new());
        for _ in 0..chains {
            let (state, log_weight) =
                kernel.weighted_start(start, rng)?.ok_or_else(|| Error::Unsupported {
                    method: "weight harmonization",
                    what: "these starts".into(),
                    reason: "they are moved into the inequalities, so that their law is not known",
                })?;
            let values = chains.saturating_mul(kernel.position(&state).len() as u64);
            if values > MOST_VALUES {
                let what = format!("a group of {chains} chains");
                return Err(Error::TooLarge { what, needed: values, limit: MOST_VALUES, unit: "values" });
            }
            states.push(state);
            log_weights.push(log_weight);
        }
        let mut all = Self {
            kernel,
            states,
            noise: (kernel.noise(), kernel.noise()),
            pairs: Vec::new(),
            free: None,
            log_weights,
            merges: Vec::new(),
            t: 0,
            steps: 0,
        };
        (0..chains as u32).for_each(|chain| all.release(chain));
        Ok(all)
    }

    /// A chain that is free: coupled with the one that waits, or waiting.
    fn release(&mut self, chain: u32) {
        match self.free.take() {
            Some(other) => self.pairs.push((other, chain)),
            None => self.free = Some(chain),
        }
    }

    /// Makes one step of every chain; those that meet become free together.
    fn step<R: Rng>(&mut self, rng: &mut R) {
        let Self { kernel, states, noise: (a, b), merges, .. } = self;
        self.t += 1;
        if let Some(free) = self.free {
            kernel.draw(rng, a);
            kernel.apply(&mut states[free as usize], a);
            self.steps += 1;
        }
        self.steps += 2 * self.pairs.len() as u64;
        let before = merges.len();
        self.pairs.retain(|&(into, from)| {
            let [x, y] = states.get_disjoint_mut([into as usize, from as usize]).expect("two chains");
            kernel.draw_pair(rng, (x, y), (a, b));
            kernel.apply(x, a);
            kernel.apply(y, b);
            let met = kernel.position(x) == kernel.position(y);
            if met {
                merges.push(Merge { t: self.t, into, from });
            }
            !met
        });
        for i in before..self.merges.len() {
            self.release(self.merges[i].into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::Harmonized;
    use crate::invariant::Linear;
    use crate::kernel::{LatticeGibbs, MetropolizedIndependence};
    use crate::law::DoubleGeometric;
    use crate::testing::{assert_frequencies, assert_mean, test_stream};

    impl<K: Coupled> Running<'_, K> {
        /// By chain: the one that stands for it, its weight without logarithm, and where it is.
        fn chains(&self) -> Vec<(u32, f64, &[K::Value])> {
            let mut stands: Vec<u32> = (0..self.states.len() as u32).collect();
            let mut weights: Vec<f64> = self.log_weights.iter().map(|&log| libm::exp(log)).collect();
            for merge in &self.merges {
                let joined: Vec<usize> =
                    (0..stands.len()).filter(|&n| [merge.into, merge.from].contains(&stands[n])).collect();
                let mean = joined.iter().map(|&n| weights[n]).sum::<f64>() / joined.len() as f64;
                joined.iter().for_each(|&n| (stands[n], weights[n]) = (merge.into, mean));
            }
            let place = |&chain: &u32| self.kernel.position(&self.states[chain as usize]);
            stands.iter().zip(weights).map(|(chain, weight)| (*chain, weight, place(chain))).collect()
        }
    }

    const LAMBDA: f64 = 1.5;
    const RATE: f64 = 0.3;
    const REACH: i64 = 60;
    const CHAINS: u64 = 8;
    const GROUPS: u64 = 20_000;
    const TIMES: [u64; 5] = [0, 1, 3, 8, 20];

    /// The double geometric law from `-REACH` to `REACH`.
    fn normed(rate: f64) -> Vec<f64> {
        let weights: Vec<f64> = (-REACH..=REACH).map(|z| libm::exp(-rate * z.abs() as f64)).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    /// Groups of chains of the difference of two entries with one total, by proposals from a wide law, at the times in
    /// turn: by chain, the one that stands for it, its weight and where it is.
    fn see_groups(mut see: impl FnMut(usize, &[(u32, f64, &[i64])])) {
        let law = DoubleGeometric::new(LAMBDA).unwrap();
        let kernel =
            MetropolizedIndependence::new(&Linear::total(2).unwrap(), None, law, RATE, None).unwrap();
        for group in 0..GROUPS {
            let mut rng = test_stream(group);
            let mut running = Running::new(&kernel, Start::default(), CHAINS, &mut rng).unwrap();
            for (k, &t) in TIMES.iter().enumerate() {
                while running.t < t {
                    running.step(&mut rng);
                }
                see(k, &running.chains());
            }
        }
    }

    /// Chains of a group keep their law and their weights: by the transition matrix, of which there is a formula.
    #[test]
    fn chains_of_a_group_keep_their_law() {
        let (target, proposal) = (normed(2.0 / LAMBDA), normed(RATE));
        let mut laws = vec![proposal.clone()];
        while laws.len() <= 20 {
            let (last, mut next) = (&laws[laws.len() - 1], vec![0.0; proposal.len()]);
            for (x, p) in last.iter().enumerate() {
                for (y, q) in proposal.iter().enumerate() {
                    let accepted = (target[y] * proposal[x] / (target[x] * q)).min(1.0);
                    next[y] += p * q * accepted;
                    next[x] += p * q * (1.0 - accepted);
                }
            }
            laws.push(next);
        }
        // By time, of every chain the places.
        let mut places = vec![vec![vec![0u64; proposal.len()]; CHAINS as usize]; TIMES.len()];
        see_groups(|k, chains| {
            for (n, (_, _, z)) in chains.iter().enumerate() {
                if let Some(count) = places[k][n].get_mut((z[0] + REACH) as usize) {
                    *count += 1;
                }
            }
        });
        for (places, &t) in places.iter().zip(&TIMES) {
            for counts in places {
                assert_frequencies(counts.iter().copied().zip(laws[t as usize].iter().copied()), GROUPS);
            }
        }
    }

    #[test]
    fn weights_of_a_group_keep_their_sum() {
        let mut total = 0.0;
        see_groups(|k, chains| {
            let sum: f64 = chains.iter().map(|(_, weight, _)| weight).sum();
            if k == 0 {
                total = sum;
            }
            assert!((sum / total - 1.0).abs() < 1e-13);
        });
    }

    #[test]
    fn weighted_means_of_groups_are_those_of_the_target() {
        let proposal = normed(RATE);
        // c π(φ) = Σ w φ over the proposals, by its sum, for φ = 1 and |z|.
        let weight = |i: usize| libm::exp((RATE - 2.0 / LAMBDA) * (i as i64 - REACH).abs() as f64);
        let sums = |power: i32| -> Vec<f64> {
            (0..proposal.len())
                .map(|i| weight(i) * f64::from((i as i32 - REACH as i32).abs().pow(power as u32)))
                .collect()
        };
        let mean = |values: &[f64]| values.iter().zip(&proposal).map(|(x, p)| x * p).sum::<f64>();
        let want = [mean(&sums(0)), mean(&sums(1))];
        // By time, of the groups the mean weights and weighted sizes.
        let mut means = vec![[const { Vec::new() }; 2]; TIMES.len()];
        see_groups(|k, chains| {
            let sum: f64 = chains.iter().map(|(_, weight, _)| weight).sum();
            let size: f64 = chains.iter().map(|(_, weight, z)| weight * z[0].abs() as f64).sum();
            means[k][0].push(sum / CHAINS as f64);
            means[k][1].push(size / CHAINS as f64);
        });
        for means in &means {
            for (values, want) in means.iter().zip(want) {
                let moments: crate::diagnostics::Moments = values.iter().copied().collect();
                assert_mean(moments.mean(), want, moments.deviation(), values.len());
            }
        }
    }

    /// Whoever is free waits for the next: of seven chains one waits from the start, and all meet in six meetings. The weights that
    /// a collection replays are those of the run.
    #[test]
    fn all_chains_meet_once() {
        let kernel =
            LatticeGibbs::new(&Linear::margins(3, 3).unwrap(), None, DoubleGeometric::new(2.0).unwrap())
                .unwrap();
        let run = || Running::new(&kernel, Start::FreeNoise, 7, &mut test_stream(3)).unwrap();
        let (mut running, mut rng, mut steps) = (run(), test_stream(4), 0);
        assert_eq!((&running.pairs[..], running.free), (&[(0, 1), (2, 3), (4, 5)][..], Some(6)));
        let mut seen = vec![(0, running.chains().iter().map(|(_, weight, _)| *weight).collect::<Vec<f64>>())];
        while !running.pairs.is_empty() {
            steps += 2 * running.pairs.len() as u64 + u64::from(running.free.is_some());
            running.step(&mut rng);
            seen.push((running.t, running.chains().iter().map(|(_, weight, _)| *weight).collect()));
        }
        assert_eq!((running.merges.len(), running.steps), (6, steps));
        let group = harmonize(&kernel, Start::FreeNoise, 7, u64::MAX, &mut test_stream(3)).unwrap();
        assert_eq!((group.until, group.merges.len()), (u64::MAX, 6));
        let cut = harmonize(&kernel, Start::FreeNoise, 7, 1, &mut test_stream(3)).unwrap();
        assert_eq!((cut.until, cut.steps), (1, 7));
        let Running { log_weights, merges, t, steps, .. } = running;
        let all = Harmonized::new(vec![Group { log_weights, merges, until: u64::MAX, steps }]);
        assert_eq!((all.last(), all.met(), all.steps()), (t, 1, steps));
        for (t, weights) in seen {
            let n = weights.len() as f64;
            let c = weights.iter().sum::<f64>() / n;
            for divergence in crate::coupling::Divergence::ALL {
                let want = weights.iter().map(|weight| divergence.f(weight / c)).sum::<f64>() / n;
                assert!((all.at(t).bound(divergence) - want).abs() < 1e-12);
            }
            let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
            assert!((all.at(t).effective() - (n * c) * (n * c) / squares).abs() < 1e-9);
        }
        assert!(harmonize(&kernel, Start::FreeNoise, 1, 1, &mut test_stream(3)).is_err());
    }
}
