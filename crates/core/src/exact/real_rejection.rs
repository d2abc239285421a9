//! Rejection on the reals: draws that satisfy less, kept if they satisfy all.

use super::continuous::{ContinuousExact, RealComponent};
use super::rejection::{KEPT, Source, TRIALS};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Hull, Linear, Region, Solved};
use crate::lattice::real_value;
use crate::rng::{Rng, Role, TaskKey, exponential, stream};

/// Exact sampler of independent real noise given equations and inequalities: proposals until one satisfies
/// everything; each component, which nothing ties to the rest, by itself.
///
/// - [`Source::Equations`]: the noise given the equations, drawn exactly ([`super::ContinuousSampler`]), kept
///   if the inequalities hold.
/// - [`Source::Unconstrained`]: free noise would never meet an equation in the reals. The entries that the
///   equations leave free are drawn from the law, the others solved for, and the whole is kept with the
///   product of their weights `w(z_j) <= 1` if the inequalities hold: its density is then `∏ w(z_i)` over all
///   entries.
///
/// The region is first brought to its [`Hull`]: an equality that only inequalities imply is an equation.
///
/// Its acceptance is measured before it is used, and refused where fewer than 10 proposals out of 100,000 are
/// kept. Draws are exact: equations hold to rounding, bounds by entry exactly, rows as they are computed in
/// floating point.
#[derive(Debug)]
pub struct RealRejection<L> {
    law: L,
    components: Vec<(Bounded, Proposal)>,
}

#[derive(Debug)]
enum Proposal {
    Equations(Vec<RealComponent>),
    Free(Solved),
}

impl<L: ContinuousExact> RealRejection<L> {
    /// Prepares the sampler, and measures its acceptance.
    ///
    /// Errors: no free dimension; equations that no exact sampler serves (from [`Source::Equations`]); a
    /// system beyond 128 bits (from [`Source::Unconstrained`]); an acceptance too small to be measured.
    pub fn new(invariant: &Linear, region: &Region, law: L, source: Source) -> Result<Self> {
        let hull = Hull::new(invariant, region)?;
        let mut components = Vec::new();
        for bounded in hull.components()? {
            let proposal = match source {
                Source::Unconstrained => Proposal::Free(Solved::new(&bounded.component, None)?),
                Source::Equations => {
                    // Explicit rows may tie several components of the equations.
                    let own = &bounded.component;
                    let equations = match own.rows.is_empty() {
                        true => Linear::none(own.entries.len()),
                        false => Linear::from_rows(own.entries.len(), own.rows.clone())?,
                    };
                    let parts = Region::everything().components(&equations);
                    let parts = parts.iter().map(|part| RealComponent::new(law, part));
                    Proposal::Equations(parts.collect::<Result<_>>()?)
                }
            };
            components.push((bounded, proposal));
        }
        let rejection = Self { law, components };
        let mut rng = stream(TaskKey { seed: 0, cell: 0, replicate: 0, role: Role::Noise });
        for (bounded, proposal) in &rejection.components {
            let (mut z, mut tries) = (Vec::new(), 0);
            for _ in 0..KEPT {
                match rejection.attempt(bounded, proposal, TRIALS - tries, &mut rng, &mut z) {
                    Some(n) => tries += n,
                    None => {
                        return Err(Error::Unsupported {
                            method: "rejection",
                            what: format!("a component of {} entries", bounded.component.entries.len()),
                            reason: "fewer than 10 of 100,000 proposals were kept: the acceptance cannot be measured",
                        });
                    }
                }
            }
        }
        Ok(rejection)
    }

    /// Draws once, into `noise` (one value per entry); returns the proposals that it took, all components together.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) -> u64 {
        noise.fill(0.0);
        let (mut z, mut tries) = (Vec::new(), 0u64);
        for (bounded, proposal) in &self.components {
            let own = self.attempt(bounded, proposal, u64::MAX, rng, &mut z).unwrap_or(u64::MAX);
            tries = tries.saturating_add(own);
            for (&entry, &z) in bounded.component.entries.iter().zip(&z) {
                noise[entry as usize] = z;
            }
        }
        tries
    }

    /// The number of components, each of which is accepted by itself: every draw keeps as many proposals.
    pub fn component_count(&self) -> u64 {
        self.components.len() as u64
    }

    /// Proposes the entries of a component until one is kept: how many it took, or `None` after `limit`.
    fn attempt<R: Rng + ?Sized>(
        &self,
        Bounded { component, region }: &Bounded,
        proposal: &Proposal,
        limit: u64,
        rng: &mut R,
        z: &mut Vec<f64>,
    ) -> Option<u64> {
        z.clear();
        z.resize(component.entries.len(), 0.0);
        let inside = |z: &[f64]| {
            z.iter().enumerate().all(|(i, z)| region.lower.real(i) <= *z && *z <= region.upper.real(i))
                && region.rows.iter().all(|(row, least)| real_value(row, z) >= *least as f64)
        };
        (1..=limit).find(|_| match proposal {
            Proposal::Equations(parts) => {
                parts.iter().for_each(|part| part.draw(rng, z));
                inside(z)
            }
            Proposal::Free(solved) => {
                solved.free.iter().for_each(|&entry| z[entry as usize] = self.law.sample(rng));
                solved.solve(z);
                let weight = |&entry: &u32| self.law.log_weight(z[entry as usize]);
                inside(z) && exponential(rng) >= -solved.dependent.iter().map(weight).sum::<f64>()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::against::assert_oracle;
    use crate::diagnostics::Moments;
    use crate::invariant::Inequalities;
    use crate::law::{Gaussian, Laplace};
    use crate::oracle::{Formula, reals};
    use crate::testing::{assert_mean, bounded_reals, test_stream};

    fn draws<L: ContinuousExact>(
        sampler: &RealRejection<L>,
        entries: usize,
        n: usize,
        seed: u64,
    ) -> Vec<Vec<f64>> {
        let mut rng = test_stream(seed);
        let mut noise = vec![0.0; entries];
        (0..n)
            .map(|_| {
                sampler.draw(&mut rng, &mut noise);
                noise.clone()
            })
            .collect()
    }

    /// Draws from both sources have the law of quadrature; every draw satisfies everything.
    #[test]
    fn draws_have_the_law_of_quadrature() {
        for (i, [(equations, region), plain]) in bounded_reals().into_iter().enumerate() {
            let l2 = crate::imaging::LatticeL2::new(&equations).unwrap();
            let laws = (Laplace::new(1.7).unwrap(), Gaussian::new(2.0).unwrap());
            let laplace = reals::conditioned(&plain.0, &plain.1, Formula::Laplace(1.7)).unwrap();
            let gaussian = reals::conditioned(&plain.0, &plain.1, Formula::Gaussian(2.0)).unwrap();
            for (k, source) in [Source::Equations, Source::Unconstrained].into_iter().enumerate() {
                let seed = (4 * i + k) as u64;
                let sampler = RealRejection::new(&equations, &region, laws.0, source).unwrap();
                let first = draws(&sampler, equations.entries(), 20_000, seed);
                let sampler = RealRejection::new(&equations, &region, laws.1, source).unwrap();
                let second = draws(&sampler, equations.entries(), 20_000, seed + 2);
                for z in first.iter().chain(&second) {
                    l2.check(z, 0.0).unwrap();
                    region.check_reals(z).unwrap();
                }
                assert_oracle(&first, &laplace);
                assert_oracle(&second, &gaussian);
            }
        }
    }

    /// Laplace noise under equations that no exact sampler serves: refused from them, with the reason; from
    /// free noise its moments are those of line Gibbs.
    #[test]
    fn free_noise_serves_any_equations() {
        let margins = Linear::margins(3, 3).unwrap();
        let law = Laplace::new(1.0).unwrap();
        let everything = Region::everything();
        let refused =
            RealRejection::new(&margins, &everything, law, Source::Equations).unwrap_err().to_string();
        assert!(refused.contains("laplace noise with 4 free dimensions"), "{refused}");
        let sampler = RealRejection::new(&margins, &everything, law, Source::Unconstrained).unwrap();
        let squares: Moments = draws(&sampler, 9, 20_000, 1).iter().map(|z| z[4] * z[4]).collect();
        let kernel = crate::kernel::RealGibbs::new(&margins, None, law).unwrap();
        let mut rng = test_stream(2);
        use crate::kernel::{Dispersed, Kernel};
        let chains: Moments = (0..20_000)
            .map(|_| {
                let (mut state, mut noise) =
                    (kernel.start(crate::kernel::Start::default(), &mut rng).unwrap(), kernel.noise());
                for _ in 0..40 * kernel.sweep() {
                    kernel.draw(&mut rng, &mut noise);
                    kernel.apply(&mut state, &noise);
                }
                kernel.position(&state)[4] * kernel.position(&state)[4]
            })
            .collect();
        assert_mean(squares.mean(), chains.mean(), squares.deviation() + chains.deviation(), 20_000);
    }

    #[test]
    fn small_acceptances_are_refused() {
        let total = Linear::total(12).unwrap();
        let floors = Inequalities::nonnegative(12).around(&[1; 12]).unwrap();
        let wide = Laplace::new(100.0).unwrap();
        let refused = RealRejection::new(&total, &floors, wide, Source::Equations).unwrap_err().to_string();
        assert!(refused.contains("fewer than 10 of 100,000"), "{refused}");
    }
}
