//! The published sampler for equations with inequalities.

use super::{Coupled, Dispersed, Kernel, Start};
use crate::diagnostics::clopper_pearson;
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Linear, Region, Row, Solved};
use crate::lattice::value;
use crate::law::{DoubleGeometric, LatticeLaw, Law, Sampler, Tabled};
use crate::rng::{Rng, below, open01};

/// Metropolized independence sampler of a [`LatticeLaw`] given equations and inequalities (Gong, Meng, "Congenial
/// differential privacy under mandated disclosure", Algorithm 1).
///
/// The free entries `I` are proposed from independent double geometric laws `q` with their own inverse scale ε~, the
/// others solved from `A z = 0`, and the whole is accepted with probability
///
/// `min{1, p(z~) 1(B z~ >= b) q(z_I) / (p(z) q(z~_I))}`
///
/// (the printed formula has `q(s)` where the subvector `s_I` is meant). A solution that is no integer vector has
/// probability 0. The components are sampled side by side: one step proposes in one of
/// them, chosen uniformly.
///
/// The chain starts at its first proposal that satisfies everything, never at the confidential table, where its weight
/// is largest (ε~ <= ε) and it would stay.
#[derive(Debug)]
pub struct MetropolizedIndependence<L: LatticeLaw> {
    law: L,
    /// The inverse scale ε~ of the proposals.
    rate: f64,
    proposal: Tabled<DoubleGeometric>,
    entries: usize,
    components: Vec<ComponentProposal>,
}

#[derive(Debug)]
struct ComponentProposal {
    bounded: Bounded,
    /// Entries that are proposed, and those that are solved for.
    solved: Solved,
    /// Larger values are rejected: their statistic could leave 64 bits.
    largest: u64,
}

impl ComponentProposal {
    /// Sets the entries that are solved for, if all of them are integers within their bounds. `size`: `Σ |z_I|`.
    #[inline]
    fn solve(&self, size: u64, z: &mut [i64], sums: &mut Vec<i128>) -> bool {
        let Bounded { region, .. } = &self.bounded;
        let Solved { dependent, adjugate, det, whole, rows, .. } = &self.solved;
        let put = |z: &mut [i64], entry: u32, value: i64| {
            z[entry as usize] = value;
            region.lower[entry as usize] <= value && value <= region.upper[entry as usize]
        };
        if let Some(whole) = whole.as_ref().filter(|whole| size <= whole.room) {
            return dependent.iter().zip(&whole.rows).all(|(&entry, row)| {
                let value = row.iter().map(|&(i, a)| a * z[i as usize]).sum();
                put(z, entry, value)
            });
        }
        sums.clear();
        sums.extend(rows.iter().map(|row| value(row, z)));
        dependent.iter().zip(adjugate).all(|(&entry, inverse)| {
            let mut terms = inverse.iter().zip(&*sums);
            let solved = terms.try_fold(0i128, |sum, (a, s)| sum.checked_sub(a.checked_mul(*s)?));
            // What leaves 128 bits has no weight to speak of.
            let whole = solved.filter(|solved| solved % det == 0).map(|solved| i64::try_from(solved / det));
            matches!(whole, Some(Ok(value)) if put(z, entry, value))
        })
    }
}

/// State of [`MetropolizedIndependence`].
#[derive(Debug, Clone)]
pub struct IndependenceState {
    z: Vec<i64>,
    /// By component: `ln p(z) - ln q(z_I)`, and whether it has ever moved.
    components: Vec<(f64, bool)>,
}

/// A proposal.
#[derive(Debug, Clone)]
pub struct IndependenceNoise {
    component: usize,
    /// By entry of the component; meaningless unless `feasible`.
    z: Vec<i64>,
    feasible: bool,
    log_weight: f64,
    log_u: f64,
    sums: Vec<i128>,
}

/// How fast chains of [`MetropolizedIndependence`] forget where they began.
#[derive(Debug, Clone, PartialEq)]
pub struct Forgetting {
    /// By component: at most the share of proposals that its heaviest state accepts.
    accepted: Vec<f64>,
}

impl Forgetting {
    /// Bounds the total variation distance to the target after `t` steps: of a single component `(1 - a)^t`, since
    /// every state accepts at least as large a part of the target's own law (Mengersen, Tweedie 1996, Thm. 2.1); of C
    /// components, one of them at each step, `Σ_c (1 - a_c/C)^t`. At most 1.
    pub fn distance(&self, t: u64) -> f64 {
        let count = self.accepted.len() as f64;
        let one = |a: &f64| libm::exp(t as f64 * libm::log1p(-a / count));
        self.accepted.iter().map(one).sum::<f64>().min(1.0)
    }
}

/// Proposals that tell what share of them the heaviest states accept.
const PROPOSALS: u64 = 200_000;

/// Proposals among which a start must be found.
pub(super) const STARTS: u64 = 1 << 22;

impl<L: LatticeLaw> MetropolizedIndependence<L> {
    /// Prepares the chain.
    ///
    /// - `rate`: ε~, the inverse scale of the proposals, > 0.
    /// - `dependent`: the entries that are solved for, as many as there are independent equations (from 0); `None` for the
    ///   last ones whose columns are independent.
    ///
    /// Errors: dependent entries whose columns are dependent or too few, a system beyond 64 bits.
    pub fn new(
        invariant: &Linear,
        region: Option<&Region>,
        law: L,
        rate: f64,
        dependent: Option<&[usize]>,
    ) -> Result<Self> {
        let everything = Region::everything();
        let region = region.unwrap_or(&everything);
        let bounded =
            if L::FACTORISES { region.components(invariant) } else { vec![region.whole(invariant)] };
        // The statistic of a value is its size or its square.
        let (entries, square) = (invariant.entries() as f64, L::part(2) == 4);
        let room = (1u64 << 62) as f64 / entries;
        let largest = if square { libm::sqrt(room) } else { room } as u64;
        let mut components = Vec::new();
        for bounded in bounded {
            let bounded = Bounded { region: bounded.tightened(), ..bounded };
            let solved = Solved::new(&bounded.component, dependent)?;
            let own = ComponentProposal { bounded, solved, largest };
            // Nothing moves where the bounds leave one point.
            if !own.solved.free.is_empty()
                && !own.bounded.region.is_point(own.bounded.component.entries.len())
            {
                components.push(own);
            }
        }
        if let Some(&entry) =
            dependent.unwrap_or_default().iter().find(|&&entry| entry >= invariant.entries())
        {
            return Err(Error::parameter("dependent", entry + 1, "numbers of entries of the table"));
        }
        if components.is_empty() {
            return Err(Error::no_free_dimension());
        }
        let proposal = DoubleGeometric::new(1.0 / rate)?.sampler();
        law.check_size(invariant.entries(), 1.0, 45.0 / rate, false)?;
        Ok(Self { law, rate, proposal, entries: invariant.entries(), components })
    }

    /// Components that are sampled side by side: a step proposes in one of them.
    pub fn component_count(&self) -> u64 {
        self.components.len() as u64
    }

    /// How fast chains forget where they began, wherever that was: of each component a lower limit of the share of proposals that its
    /// heaviest state accepts, all of them at once with probability `1 - alpha`. `None` where nothing bounds the ratio of the law to the
    /// proposals: then no chain forgets at a geometric rate (Mengersen, Tweedie 1996, Thm. 2.1).
    ///
    /// A bound of `ln p(z) - ln q(z_I)`, up to constants, of m proposed entries of rate r:
    ///
    /// - laws of `Σ |z_i|/λ`: 0 if `r <= 1/λ`, as `r Σ_I |z_i| <= Σ |z_i|/λ`;
    /// - of `Σ z_i²/2σ²`: `m r² σ²/2`, each entry's largest `r x - x²/2σ²`;
    /// - of `‖z‖₂/λ`: 0 if `r √m <= 1/λ`, as `Σ_I |z_i| <= √m ‖z‖₂`.
    ///
    /// Equations may bound it for somewhat larger r, and inequalities for all; that is not looked for. The share is the mean over
    /// proposals of `exp` of (their own value - the bound); of some proposals that are kept with this probability a number is
    /// counted, and the limit is that of Clopper and Pearson.
    pub fn forgetting<R: Rng + ?Sized>(&self, alpha: f64, rng: &mut R) -> Option<Forgetting> {
        let count = self.components.len() as u64;
        let proposals = (PROPOSALS / count).max(1000);
        let mut one = |component| self.accepted(component, proposals, alpha / count as f64, rng);
        let accepted = (0..self.components.len()).map(&mut one).collect::<Option<_>>()?;
        Some(Forgetting { accepted })
    }

    /// A lower limit of the share of proposals that the heaviest state of one component accepts, from so many
    /// proposals, with probability `1 - alpha`; `None` where nothing bounds its weight.
    fn accepted<R: Rng + ?Sized>(
        &self,
        component: usize,
        proposals: u64,
        alpha: f64,
        rng: &mut R,
    ) -> Option<f64> {
        let free = self.components[component].solved.free.len() as f64;
        // Of one unit, in the statistic of the law.
        let unit = self.law.energy(1);
        // What rounding makes of an inverse is no larger rate.
        let rate = self.rate * (1.0 - 1e-12);
        let heaviest = match (L::FACTORISES, L::part(2) == 4) {
            (true, true) => free * rate * rate / (4.0 * unit),
            (true, false) if rate <= unit => 0.0,
            (false, true) if rate * libm::sqrt(free) <= unit => 0.0,
            (true, false) | (false, _) => return None,
        };
        let mut noise = IndependenceNoise { component, ..self.noise() };
        let mut kept = 0u64;
        for _ in 0..proposals {
            self.propose(rng, &mut noise);
            kept += u64::from(noise.feasible && libm::log(open01(rng)) < noise.log_weight - heaviest);
        }
        Some(clopper_pearson(kept, proposals, alpha).0)
    }

    /// A proposal for one component.
    fn propose<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut IndependenceNoise) {
        let own = &self.components[noise.component];
        let Bounded { component, region } = &own.bounded;
        let IndependenceNoise { z, sums, .. } = noise;
        noise.feasible = false;
        z.resize(component.entries.len(), 0);
        let mut size = 0u64;
        for &entry in &own.solved.free {
            let value = self.proposal.draw(rng);
            // The proposal does not depend on the state: one that is out of bounds already is rejected at once.
            if value < region.lower[entry as usize] || value > region.upper[entry as usize] {
                return;
            }
            z[entry as usize] = value;
            size += value.unsigned_abs();
        }
        if !own.solve(size, z, sums) {
            return;
        }
        let meets = |(row, least): &(Row, i64)| value(row, z) >= i128::from(*least);
        let small = |z: &i64| z.unsigned_abs() <= own.largest;
        noise.feasible = z.iter().all(small) && region.rows.iter().all(meets);
        if !noise.feasible {
            return;
        }
        let sum: i64 = z.iter().map(|&z| L::part(z)).sum();
        noise.log_weight = size as f64 * self.rate - self.law.energy(sum);
    }
}

impl<L: LatticeLaw> Kernel for MetropolizedIndependence<L> {
    type Value = i64;
    type State = IndependenceState;
    type Noise = IndependenceNoise;
    const REJECTS: bool = true;

    /// Makes the state at `position`, a point that satisfies everything.
    fn init(&self, position: &[i64]) -> IndependenceState {
        let weight = |own: &ComponentProposal| {
            let z = |entry: u32| position[own.bounded.component.entries[entry as usize] as usize];
            let size: u64 = own.solved.free.iter().map(|&entry| z(entry).unsigned_abs()).sum();
            let sum: i64 =
                (0..own.bounded.component.entries.len() as u32).map(|entry| L::part(z(entry))).sum();
            (size as f64 * self.rate - self.law.energy(sum), false)
        };
        IndependenceState { z: position.to_vec(), components: self.components.iter().map(weight).collect() }
    }

    fn noise(&self) -> IndependenceNoise {
        let (z, sums) = (Vec::new(), Vec::new());
        IndependenceNoise { component: 0, z, feasible: false, log_weight: 0.0, log_u: 0.0, sums }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut IndependenceNoise) {
        noise.component = match self.components.len() {
            1 => 0,
            n => below(rng, n as u64) as usize,
        };
        self.propose(rng, noise);
        if noise.feasible {
            noise.log_u = libm::log(open01(rng));
        }
    }

    #[inline]
    fn apply(&self, state: &mut IndependenceState, noise: &IndependenceNoise) -> bool {
        let (weight, moved) = &mut state.components[noise.component];
        if !noise.feasible || noise.log_u >= noise.log_weight - *weight {
            return false;
        }
        *weight = noise.log_weight;
        let mut changed = false;
        for (&entry, &z) in self.components[noise.component].bounded.component.entries.iter().zip(&noise.z) {
            changed |= state.z[entry as usize] != z;
            state.z[entry as usize] = z;
        }
        *moved |= changed;
        changed
    }

    fn position<'a>(&self, state: &'a IndependenceState) -> &'a [i64] {
        &state.z
    }

    fn is_stuck(&self, state: &IndependenceState) -> bool {
        state.components.iter().any(|(_, moved)| !moved)
    }
}

impl<L: LatticeLaw> Dispersed for MetropolizedIndependence<L> {
    /// Finds the first proposal of each component that satisfies everything, wherever a start is asked for.
    fn start<R: Rng + ?Sized>(&self, _: Start, rng: &mut R) -> Result<IndependenceState> {
        let mut z = vec![0; self.entries];
        let mut noise = self.noise();
        for (i, own) in self.components.iter().enumerate() {
            noise.component = i;
            let found = (0..STARTS).any(|_| {
                self.propose(rng, &mut noise);
                noise.feasible
            });
            if !found {
                return Err(Error::Unsupported {
                    method: "mis",
                    what: format!("a component of {} entries", own.bounded.component.entries.len()),
                    reason: "none of 2^22 proposals satisfies the invariant: another proposal-epsilon or method",
                });
            }
            for (&entry, &value) in own.bounded.component.entries.iter().zip(&noise.z) {
                z[entry as usize] = value;
            }
        }
        Ok(self.init(&z))
    }

    /// Weighs starts under inequalities too: a first proposal that satisfies everything has the law of proposals given
    /// that it does.
    fn weighted_start<R: Rng + ?Sized>(
        &self,
        start: Start,
        rng: &mut R,
    ) -> Result<Option<(IndependenceState, f64)>> {
        let state = self.start(start, rng)?;
        let log_weight = state.components.iter().map(|(log_weight, _)| log_weight).sum();
        Ok(Some((state, log_weight)))
    }
}

/// Both chains get the same proposal and the same uniform: they meet when both accept at once. The largest weight that the two carry
/// decides that, so that on a finite support with the largest normalised weight `w` pairs stay apart with a probability that falls
/// like `(1 - 1/w)^t`, the chain's own rate (Liu 1996).
impl<L: LatticeLaw> Coupled for MetropolizedIndependence<L> {
    #[inline]
    fn draw_pair<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        _: (&IndependenceState, &IndependenceState),
        (a, b): (&mut IndependenceNoise, &mut IndependenceNoise),
    ) {
        self.draw(rng, a);
        (b.component, b.feasible) = (a.component, a.feasible);
        if a.feasible {
            b.z.clone_from(&a.z);
            (b.log_weight, b.log_u) = (a.log_weight, a.log_u);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::{MeetingTimes, couple};
    use crate::law::{DiscreteGaussian, EuclideanLaplace};
    use crate::testing::{
        LogWeight, assert_bounded, assert_harmonized, lattice_points, mis_distances, test_stream,
    };

    impl<L: LatticeLaw> MetropolizedIndependence<L> {
        /// By component: its entries, and those that are proposed.
        pub(in crate::kernel) fn parts(&self) -> Vec<(Vec<u32>, Vec<u32>)> {
            let part = |own: &ComponentProposal| {
                let entries = &own.bounded.component.entries;
                (entries.clone(), own.solved.free.iter().map(|&i| entries[i as usize]).collect())
            };
            self.components.iter().map(part).collect()
        }
    }

    /// The bound lies above the distance, and both fall at the rate of the largest weight.
    #[test]
    fn bound_lies_above_the_distance_and_falls_like_it() {
        let counts = [4i64, 2, 3, 1];
        let invariant = Linear::subsets(4, &[vec![0, 1, 2], vec![2, 3]]).unwrap();
        let region = Region { lower: counts.iter().map(|x| -x).collect(), ..Region::everything() };
        let law = DoubleGeometric::new(2.0).unwrap();
        let rate = 0.4;
        let kernel = MetropolizedIndependence::new(&invariant, Some(&region), law, rate, None).unwrap();
        assert_eq!(kernel.component_count(), 1);
        let free = &kernel.components[0].solved.free;
        let points: Vec<Vec<i64>> =
            lattice_points(&invariant, 9).into_iter().filter(|z| region.contains(z)).collect();
        let proposal = DoubleGeometric::new(1.0 / rate).unwrap();
        // P(z) = tanh(rate/2) exp(-rate |z|) for each free entry.
        let q = |z: &[i64]| -> f64 {
            free.iter()
                .map(|&e| libm::tanh(rate / 2.0) * libm::exp(proposal.log_weight(z[e as usize])))
                .product()
        };
        let p = |z: &[i64]| libm::exp(law.log_weights(z));
        let total: f64 = points.iter().map(|z| p(z)).sum();
        let weight = |z: &[i64]| p(z) / total / q(z);
        let row = |from: &[i64]| {
            let mut row: Vec<(Vec<i64>, f64)> =
                points.iter().map(|to| (to.clone(), q(to) * (weight(to) / weight(from)).min(1.0))).collect();
            let stays = 1.0 - row.iter().map(|(_, p)| p).sum::<f64>();
            row.push((from.to_vec(), stays));
            row
        };
        let logs: [LogWeight; 2] = [&|z| libm::log(p(z)), &|z| libm::log(q(z))];
        let how = (&[0, 1, 3, 10, 30, 60][..], (300, 16));
        assert_harmonized(&kernel, &points, row, logs, Start::default(), how);
        let slowest = points.iter().max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap();
        let distances = assert_bounded(&kernel, &points, row, slowest, (3, 4000));
        let slow = 1.0 - 1.0 / weight(slowest);
        assert!(slow > 0.8 && (distances[40].0 / distances[39].0 / slow - 1.0).abs() < 1e-6, "{slow}");
        let mut times = MeetingTimes::new(1);
        for pair in 0..4000 {
            let states = (kernel.init(slowest), kernel.init(slowest));
            times.push(couple(&kernel, states, 1, 100_000, &mut test_stream(pair)).tau);
        }
        // Of those apart after 10 steps a share of slow^10 is apart after 20: both chains had left the slowest point but for it.
        let (first, second) = (times.apart(10) as f64, times.apart(20) as f64);
        let share = libm::pow(slow, 10.0);
        let error = libm::sqrt(share * (1.0 - share) / first);
        assert!((second / first - share).abs() < 4.9 * error, "{} against {share} ± {error}", second / first);
    }

    /// The plain reference of integer coefficients: the adjugate and the determinant.
    #[test]
    fn both_ways_to_solve_agree() {
        let mut rng = test_stream(12);
        let two = vec![vec![(0, 1), (1, 1), (2, 2)], vec![(1, 1), (2, 1), (3, 1)]];
        let law = DoubleGeometric::new(2.0).unwrap();
        let mut feasible = 0;
        for (invariant, whole) in [
            (Linear::margins(4, 4).unwrap(), true),
            (Linear::from_rows(4, two.clone()).unwrap(), false),
            (Linear::from_rows(4, two.into_iter().rev().collect()).unwrap(), false),
        ] {
            for upper in [6, 60] {
                let bounds = |x| std::iter::repeat_n(x, invariant.entries());
                let region = Region {
                    lower: bounds(-upper).collect(),
                    upper: bounds(upper).collect(),
                    ..Region::everything()
                };
                let kernel =
                    MetropolizedIndependence::new(&invariant, Some(&region), law, 0.6, None).unwrap();
                let mut plain =
                    MetropolizedIndependence::new(&invariant, Some(&region), law, 0.6, None).unwrap();
                assert_eq!(kernel.components[0].solved.whole.is_some(), whole);
                plain.components[0].solved.whole = None;
                let mut other = rng.clone();
                let (mut a, mut b) = (kernel.noise(), plain.noise());
                for _ in 0..2000 {
                    kernel.propose(&mut rng, &mut a);
                    plain.propose(&mut other, &mut b);
                    assert_eq!((a.feasible, rng.next_u64()), (b.feasible, other.next_u64()));
                    if a.feasible {
                        assert_eq!((&a.z, a.log_weight), (&b.z, b.log_weight));
                        feasible += 1;
                    }
                }
            }
        }
        assert!(feasible > 2000, "{feasible}");
    }

    /// Against the exact law of chains of a total of three entries: a limit lies below the distance in at most 5 of 100 runs, whatever the
    /// proposals and the steps; proposals that are narrower than the law have none.
    #[test]
    fn chains_forget_at_least_as_fast_as_stated() {
        let invariant = Linear::total(3).unwrap();
        let times = [1, 3, 10, 30, 100, 300];
        let (mut says, mut rng) = (0, test_stream(41));
        for (epsilon, rate) in [(0.5, 0.06), (0.5, 0.2), (0.5, 0.5), (2.0, 0.06), (2.0, 0.5), (2.0, 2.0)] {
            let law = DoubleGeometric::new(1.0 / epsilon).unwrap();
            let kernel = MetropolizedIndependence::new(&invariant, None, law, rate, None).unwrap();
            let distances = mis_distances(epsilon, rate, &times);
            let mut below = [0u64; 6];
            for _ in 0..200 {
                let accepted = vec![kernel.accepted(0, 400, 0.05, &mut rng).unwrap()];
                let stated = Forgetting { accepted };
                for (i, &t) in times.iter().enumerate() {
                    let limit = stated.distance(t);
                    below[i] += u64::from(limit < distances[i] - 1e-6);
                    says += u64::from(limit < 1.0 && limit > 1e-6);
                }
            }
            // 10 are expected at most; 27 are exceeded with probability 1e-6.
            assert!(below.iter().all(|&below| below <= 27), "{epsilon} {rate}: {below:?}");
            let limit = kernel.forgetting(1e-6, &mut rng).unwrap();
            assert!(
                distances.iter().zip(times).all(|(d, t)| limit.distance(t) > d - 1e-6),
                "{epsilon} {rate}"
            );
        }
        assert!(says > 1000, "{says}");
        for (epsilon, rate) in [(0.5, 0.51), (0.5, 2.0)] {
            let law = DoubleGeometric::new(1.0 / epsilon).unwrap();
            let kernel = MetropolizedIndependence::new(&invariant, None, law, rate, None).unwrap();
            assert_eq!(kernel.forgetting(0.05, &mut rng), None);
        }
    }

    /// The heaviest state of a Gaussian law and of that of the ℓ2 norm is no heavier than is said, of listed points; components add up.
    #[test]
    fn heaviest_states_are_bounded() {
        let mut rng = test_stream(42);
        let invariant = Linear::total(3).unwrap();
        let heaviest = |z: &[i64], rate: f64, energy: f64| {
            (z[..2].iter().map(|z| z.unsigned_abs()).sum::<u64>() as f64) * rate - energy
        };
        for (sigma, rate) in [(1.0, 1.0), (3.0, 0.2), (3.0, 0.9)] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let kernel = MetropolizedIndependence::new(&invariant, None, law, rate, None).unwrap();
            let points = lattice_points(&invariant, 25);
            let energy = |z: &[i64]| law.energy(z.iter().map(|z| z * z).sum());
            let most = points.iter().map(|z| heaviest(z, rate, energy(z))).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = points.iter().map(|z| libm::exp(-energy(z))).sum();
            let share = libm::pow(libm::tanh(0.5 * rate), 2.0) * total * libm::exp(-most);
            let stated = kernel.accepted(0, 20_000, 1e-6, &mut rng).unwrap();
            assert!(stated <= share && stated > 0.0, "{sigma} {rate}: {stated} {share}");
        }
        let law = EuclideanLaplace::new(2.0).unwrap();
        let of = |rate| MetropolizedIndependence::new(&invariant, None, law, rate, None).unwrap();
        assert!(
            of(0.35).forgetting(0.05, &mut rng).is_some() && of(0.36).forgetting(0.05, &mut rng).is_none()
        );
        let two = Linear::partition(&[0, 1, 0, 1]).unwrap();
        let law = DoubleGeometric::new(2.0).unwrap();
        let kernel = MetropolizedIndependence::new(&two, None, law, 0.5, None).unwrap();
        let Forgetting { accepted } = kernel.forgetting(0.05, &mut rng).unwrap();
        assert_eq!(accepted.len(), 2);
        let slow = accepted.iter().map(|a| libm::pow(1.0 - a / 2.0, 50.0)).sum::<f64>();
        assert!((Forgetting { accepted }.distance(50) / slow - 1.0).abs() < 1e-9);
    }

    #[test]
    fn pairs_that_have_met_stay_together() {
        let invariant = Linear::margins(2, 3).unwrap();
        let law = DoubleGeometric::new(2.0).unwrap();
        let kernel = MetropolizedIndependence::new(&invariant, None, law, 0.6, None).unwrap();
        let mut rng = test_stream(9);
        let mut x = kernel.start(Start::default(), &mut rng).unwrap();
        let mut y = x.clone();
        let (mut a, mut b) = (kernel.noise(), kernel.noise());
        let mut moves = 0;
        for _ in 0..5000 {
            kernel.draw_pair(&mut rng, (&x, &y), (&mut a, &mut b));
            moves += u64::from(kernel.apply(&mut x, &a));
            kernel.apply(&mut y, &b);
            assert_eq!(x.z, y.z);
        }
        assert!(moves > 500, "{moves}");
    }
}
