//! The published sampler for equations with inequalities.

use super::{Dispersed, Kernel};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Linear, Region, Row, Solved};
use crate::lattice::value;
use crate::law::{DoubleGeometric, LatticeLaw, Law};
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
    proposal: DoubleGeometric,
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

/// Proposals among which a start must be found.
pub(super) const STARTS: u64 = 1 << 22;

impl<L: LatticeLaw> MetropolizedIndependence<L> {
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
        let proposal = DoubleGeometric::new(1.0 / rate)?;
        law.check_size(invariant.entries(), 1.0, 45.0 / rate)?;
        Ok(Self { law, proposal, entries: invariant.entries(), components })
    }

    /// Components that are sampled side by side: a step proposes in one of them.
    pub fn component_count(&self) -> u64 {
        self.components.len() as u64
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
            let value = self.proposal.sample(rng);
            // The proposal does not depend on the state: one that is out of bounds already is rejected at once.
            if value < region.lower[entry as usize] || value > region.upper[entry as usize] {
                return;
            }
            z[entry as usize] = value;
            size += value.unsigned_abs();
        }
        sums.clear();
        sums.extend(own.solved.rows.iter().map(|row| value(row, z)));
        let Solved { dependent, adjugate, det, .. } = &own.solved;
        for (&entry, inverse) in dependent.iter().zip(adjugate) {
            let mut terms = inverse.iter().zip(&*sums);
            let solved = terms.try_fold(0i128, |sum, (a, s)| sum.checked_sub(a.checked_mul(*s)?));
            // What leaves 128 bits has no weight to speak of.
            let Some(times_det) = solved else { return };
            let Ok(solved) = i64::try_from(times_det / det) else { return };
            if times_det % det != 0
                || solved < region.lower[entry as usize]
                || solved > region.upper[entry as usize]
            {
                return;
            }
            z[entry as usize] = solved;
        }
        let meets = |(row, least): &(Row, i64)| value(row, z) >= i128::from(*least);
        let small = |z: &i64| z.unsigned_abs() <= own.largest;
        noise.feasible = z.iter().all(small) && region.rows.iter().all(meets);
        if !noise.feasible {
            return;
        }
        let sum: i64 = z.iter().map(|&z| L::part(z)).sum();
        noise.log_weight = size as f64 * self.proposal.rate() - self.law.energy(sum);
    }
}

impl<L: LatticeLaw> Kernel for MetropolizedIndependence<L> {
    type Value = i64;
    type State = IndependenceState;
    type Noise = IndependenceNoise;
    const REJECTS: bool = true;

    /// `position`: a point that satisfies everything.
    fn init(&self, position: &[i64]) -> IndependenceState {
        let weight = |own: &ComponentProposal| {
            let z = |entry: u32| position[own.bounded.component.entries[entry as usize] as usize];
            let size: u64 = own.solved.free.iter().map(|&entry| z(entry).unsigned_abs()).sum();
            let sum: i64 =
                (0..own.bounded.component.entries.len() as u32).map(|entry| L::part(z(entry))).sum();
            (size as f64 * self.proposal.rate() - self.law.energy(sum), false)
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
    /// The first proposal of each component that satisfies everything; the scale is that of the proposals.
    fn start<R: Rng + ?Sized>(&self, rng: &mut R, _: f64) -> Result<IndependenceState> {
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
}
