//! The published sampler for equations with inequalities, on the reals.

use super::metropolized_independence::STARTS;
use super::{Dispersed, Kernel, Start};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Hull, Linear, Region, Solved};
use crate::lattice::real_value;
use crate::law::{Laplace, Law};
use crate::rng::{Rng, below, open01};

/// Metropolized independence sampler of independent real noise given equations and inequalities: Gong, Meng,
/// "Congenial differential privacy under mandated disclosure", Algorithm 1, with Laplace proposals.
///
/// The free entries `I` are proposed from independent Laplace laws `q` with their own inverse scale ε~, the
/// others solved from `A z = 0`, and the whole is accepted with probability
///
/// `min{1, p(z~) 1(B z~ >= b) q(z_I) / (p(z) q(z~_I))}`
///
/// as [`super::MetropolizedIndependence`] does for integers; the map from the free entries to all is linear,
/// so that its Jacobian cancels. The region is first brought to its [`Hull`]: proposals would never meet an
/// equality that only inequalities imply. The components are sampled side by side: one step proposes in one
/// of them, chosen uniformly.
///
/// Every state is solved afresh from its free entries, so that rounding does not add up: equations hold to
/// `1e-9 ‖a‖₁ (1 + ‖z‖∞)` with much to spare, bounds by entry exactly, rows as they are computed in floating
/// point.
///
/// The chain starts at its first proposal that satisfies everything, never at the confidential table.
#[derive(Debug)]
pub struct RealIndependence<L: Law<Value = f64>> {
    law: L,
    proposal: Laplace,
    rate: f64,
    entries: usize,
    components: Vec<(Bounded, Solved)>,
}

/// State of [`RealIndependence`].
#[derive(Debug, Clone)]
pub struct RealIndependenceState {
    z: Vec<f64>,
    /// By component: `ln p(z) - ln q(z_I)`, and whether it has ever moved.
    components: Vec<(f64, bool)>,
}

/// A proposal.
#[derive(Debug, Clone)]
pub struct RealProposal {
    component: usize,
    /// By entry of the component; meaningless unless `feasible`.
    z: Vec<f64>,
    feasible: bool,
    log_weight: f64,
    log_u: f64,
}

impl<L: Law<Value = f64>> RealIndependence<L> {
    /// Prepares the chain.
    ///
    /// - `rate`: ε~, the inverse scale of the proposals, > 0.
    /// - `order`: every entry (from 0), once: those with independent columns that stand first are solved for; `None` for the last ones.
    ///
    /// Errors: no free dimension; what [`Hull::new`] refuses; a system beyond 128 bits.
    pub fn new(
        invariant: &Linear,
        region: Option<&Region>,
        law: L,
        rate: f64,
        order: Option<&[usize]>,
    ) -> Result<Self> {
        let hull = Hull::new(invariant, region.unwrap_or(&Region::everything()))?;
        let solved = |bounded: Bounded| {
            let solved = match order {
                Some(order) => Solved::in_order(&bounded.component, order),
                None => Solved::new(&bounded.component, None),
            };
            Ok((solved?, bounded))
        };
        let components = hull.components()?.into_iter().map(solved).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            law,
            proposal: Laplace::new(1.0 / rate)?,
            rate,
            entries: invariant.entries(),
            components: components.into_iter().map(|(solved, bounded)| (bounded, solved)).collect(),
        })
    }

    /// Components that are sampled side by side: a step proposes in one of them.
    pub fn component_count(&self) -> u64 {
        self.components.len() as u64
    }

    /// `ln p(z) - ln q(z_I)` of a component, but for a constant.
    fn log_weight(&self, solved: &Solved, z: &[f64]) -> f64 {
        let size: f64 = solved.free.iter().map(|&entry| z[entry as usize].abs()).sum();
        self.law.log_weights(z) + self.rate * size
    }

    /// A proposal for one component.
    fn propose<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut RealProposal) {
        let (Bounded { component, region }, solved) = &self.components[noise.component];
        let z = &mut noise.z;
        noise.feasible = false;
        z.resize(component.entries.len(), 0.0);
        let outside = |entry: u32, value: f64| {
            let entry = entry as usize;
            value < region.lower.real(entry) || value > region.upper.real(entry)
        };
        for &entry in &solved.free {
            let value = self.proposal.sample(rng);
            // The proposal does not depend on the state: one that is out of bounds already is rejected at once.
            if outside(entry, value) {
                return;
            }
            z[entry as usize] = value;
        }
        solved.solve(z);
        noise.feasible = !solved.dependent.iter().any(|&entry| outside(entry, z[entry as usize]))
            && region.rows.iter().all(|(row, least)| real_value(row, z) >= *least as f64);
        if noise.feasible {
            noise.log_weight = self.log_weight(solved, &noise.z);
        }
    }
}

impl<L: Law<Value = f64>> Kernel for RealIndependence<L> {
    type Value = f64;
    type State = RealIndependenceState;
    type Noise = RealProposal;
    const REJECTS: bool = true;

    /// Makes the state at `position`, a point that satisfies everything.
    fn init(&self, position: &[f64]) -> RealIndependenceState {
        let weight = |(bounded, solved): &(Bounded, Solved)| {
            let own: Vec<f64> =
                bounded.component.entries.iter().map(|&entry| position[entry as usize]).collect();
            (self.log_weight(solved, &own), false)
        };
        RealIndependenceState {
            z: position.to_vec(),
            components: self.components.iter().map(weight).collect(),
        }
    }

    fn noise(&self) -> RealProposal {
        RealProposal { component: 0, z: Vec::new(), feasible: false, log_weight: 0.0, log_u: 0.0 }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut RealProposal) {
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
    fn apply(&self, state: &mut RealIndependenceState, noise: &RealProposal) -> bool {
        let (weight, moved) = &mut state.components[noise.component];
        if !noise.feasible || noise.log_u >= noise.log_weight - *weight {
            return false;
        }
        *weight = noise.log_weight;
        *moved = true;
        for (&entry, &z) in self.components[noise.component].0.component.entries.iter().zip(&noise.z) {
            state.z[entry as usize] = z;
        }
        true
    }

    fn position<'a>(&self, state: &'a RealIndependenceState) -> &'a [f64] {
        &state.z
    }

    fn is_stuck(&self, state: &RealIndependenceState) -> bool {
        state.components.iter().any(|(_, moved)| !moved)
    }
}

impl<L: Law<Value = f64>> Dispersed for RealIndependence<L> {
    /// Finds the first proposal of each component that satisfies everything, wherever a start is asked for.
    fn start<R: Rng + ?Sized>(&self, _: Start, rng: &mut R) -> Result<RealIndependenceState> {
        let mut z = vec![0.0; self.entries];
        let mut noise = self.noise();
        for (i, (Bounded { component, .. }, _)) in self.components.iter().enumerate() {
            noise.component = i;
            let found = (0..STARTS).any(|_| {
                self.propose(rng, &mut noise);
                noise.feasible
            });
            if !found {
                return Err(Error::Unsupported {
                    method: "mis",
                    what: format!("a component of {} entries", component.entries.len()),
                    reason: "none of 2^22 proposals satisfies the invariant: another proposal-epsilon or method",
                });
            }
            for (&entry, &value) in component.entries.iter().zip(&noise.z) {
                z[entry as usize] = value;
            }
        }
        Ok(self.init(&z))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::against::assert_oracle;
    use crate::chain;
    use crate::diagnostics::Moments;
    use crate::law::Gaussian;
    use crate::oracle::{Formula, reals};
    use crate::testing::{assert_mean, bounded_reals, test_stream};

    fn ends<L: Law<Value = f64>>(
        kernel: &RealIndependence<L>,
        chains: usize,
        steps: u64,
        seed: u64,
    ) -> Vec<Vec<f64>> {
        let mut rng = test_stream(seed);
        (0..chains)
            .map(|_| {
                let start = kernel.start(Start::default(), &mut rng).unwrap();
                let steps = steps * kernel.component_count();
                chain::run(kernel, start, steps, 0, &mut rng, |_, _| {}).unwrap().0.z
            })
            .collect()
    }

    /// Chains have the law of quadrature, with proposals that are wider and narrower than the law; every state
    /// satisfies everything.
    #[test]
    fn chains_have_the_law_of_quadrature() {
        for (i, [(equations, region), plain]) in bounded_reals().into_iter().enumerate() {
            let l2 = crate::imaging::LatticeL2::new(&equations).unwrap();
            let check = |draws: Vec<Vec<f64>>, law: Formula| {
                for z in &draws {
                    l2.check(z, 0.0).unwrap();
                    region.check_reals(z).unwrap();
                }
                assert_oracle(&draws, &reals::conditioned(&plain.0, &plain.1, law).unwrap());
            };
            let (law, rate) = (Laplace::new(1.7).unwrap(), [0.4, 0.8][i % 2]);
            let laplace = RealIndependence::new(&equations, Some(&region), law, rate, None).unwrap();
            check(ends(&laplace, 5000, 800, i as u64), Formula::Laplace(1.7));
            let law = Gaussian::new(2.0).unwrap();
            let gaussian = RealIndependence::new(&equations, Some(&region), law, 0.5, None).unwrap();
            check(ends(&gaussian, 5000, 800, 100 + i as u64), Formula::Gaussian(2.0));
        }
    }

    /// A total of four entries: the variance in closed form.
    #[test]
    fn variances_are_those_of_closed_forms() {
        let (law, n) = (Laplace::new(3.0).unwrap(), 4.0);
        let kernel = RealIndependence::new(&Linear::total(4).unwrap(), None, law, 0.4, None).unwrap();
        let squares: Moments = ends(&kernel, 20_000, 300, 9).iter().map(|z| z[3] * z[3]).collect();
        let want = 9.0 * (2.0 * n - 1.0) * (n - 1.0) / (n * (n + 1.0));
        assert_mean(squares.mean(), want, squares.deviation(), 20_000);
    }
}
