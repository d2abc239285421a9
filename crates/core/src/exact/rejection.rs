//! Rejection: draws that satisfy less, kept if they satisfy all.

use super::lattice::{Alone, ComponentSampler, ExactLattice, LatticeScratch};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Component, Linear, Region};
use crate::lattice::value_by;
use crate::rng::{Rng, Role, TaskKey, stream};

/// What the proposals of [`Rejection`] satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// They satisfy nothing: they are draws of the unconstrained mechanism.
    Unconstrained,
    /// They satisfy the equations: they are exact draws of the mechanism conditioned on them.
    Equations,
}

/// Exact sampler of noise given equations and inequalities: proposals of the unconstrained mechanism, or of the
/// mechanism conditioned on the equations, until one satisfies everything; each component, which nothing ties to
/// the rest by itself.
///
/// Its acceptance is the probability of the event: it is measured before it is used, and refused where fewer than 10
/// proposals out of 100,000 are kept.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::{LatticeScratch, Rejection, Source};
/// use congenial_core::invariant::{Inequalities, Linear};
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let (invariant, counts) = (Linear::total(3)?, [4, 1, 0]);
/// let region = Inequalities::nonnegative(3).around(&counts)?;
/// let sampler = Rejection::new(&invariant, &region, DoubleGeometric::new(1.0)?, Source::Equations)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut noise = [0; 3];
/// let proposals = sampler.draw(&mut rng, &mut LatticeScratch::default(), &mut noise);
/// assert!(proposals >= 1 && invariant.holds(&noise) && region.contains(&noise));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Rejection {
    components: Vec<ComponentRejection>,
}

#[derive(Debug)]
struct ComponentRejection {
    samplers: Vec<ComponentSampler>,
    bounded: Bounded,
    /// The acceptance as estimated from the trials.
    acceptance: f64,
}

/// Proposals that measure the acceptance.
pub(super) const TRIALS: u64 = 100_000;
/// Proposals that must be kept among them.
pub(super) const KEPT: u64 = 10;

impl Rejection {
    /// Prepares the sampler, and measures its acceptance.
    ///
    /// Errors: a law that is no product over entries (from [`Source::Unconstrained`]), equations that no exact sampler
    /// serves (from [`Source::Equations`]), an acceptance too small to be measured.
    pub fn new<L: ExactLattice>(invariant: &Linear, region: &Region, law: L, source: Source) -> Result<Self> {
        let bounded =
            if L::FACTORISES { region.components(invariant) } else { vec![region.whole(invariant)] };
        let equations = match source {
            Source::Unconstrained if !L::FACTORISES => {
                return Err(Error::Unsupported {
                    method: "rejection",
                    what: "a law that is no product over entries".into(),
                    reason: "there is no independent noise to draw",
                });
            }
            Source::Unconstrained => (0..invariant.entries() as u32)
                .map(|entry| Component { entries: vec![entry], rows: Vec::new(), margins: None })
                .collect(),
            Source::Equations if L::FACTORISES => invariant.components(),
            Source::Equations => vec![invariant.whole()],
        };
        let mut owner = vec![0; invariant.entries()];
        for (i, bounded) in bounded.iter().enumerate() {
            bounded.component.entries.iter().for_each(|&entry| owner[entry as usize] = i);
        }
        let mut components: Vec<ComponentRejection> = bounded
            .into_iter()
            .map(|bounded| ComponentRejection { samplers: Vec::new(), bounded, acceptance: 1.0 })
            .collect();
        let mut alone = Alone::new(law);
        for component in &equations {
            let sampler = ComponentSampler::new(component, &mut alone)?;
            components[owner[component.entries[0] as usize]].samplers.push(sampler);
        }
        let mut rng = stream(TaskKey { seed: 0, cell: 0, replicate: 0, role: Role::Noise });
        let (mut scratch, mut noise) = (LatticeScratch::default(), vec![0; invariant.entries()]);
        for component in &mut components {
            let mut tries = 0;
            for _ in 0..KEPT {
                match component.attempt(TRIALS - tries, &mut rng, &mut scratch, &mut noise) {
                    Some(n) => tries += n,
                    None => {
                        return Err(Error::Unsupported {
                            method: "rejection",
                            what: format!(
                                "a component of {} entries",
                                component.bounded.component.entries.len()
                            ),
                            reason: "fewer than 10 of 100,000 proposals were kept: the acceptance cannot be measured",
                        });
                    }
                }
            }
            component.acceptance = KEPT as f64 / tries as f64;
        }
        Ok(Self { components })
    }

    /// Draws once, into `noise` (one value per entry); returns the proposals that it took, all components together.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut LatticeScratch, noise: &mut [i64]) -> u64 {
        let one = |component: &ComponentRejection| {
            component.attempt(u64::MAX, rng, scratch, noise).unwrap_or(u64::MAX)
        };
        self.components.iter().map(one).fold(0, u64::saturating_add)
    }

    /// An estimate of the total variation distance of a draw to the law: that of the proposals, over the acceptance.
    pub fn tv_error(&self) -> f64 {
        let error = |component: &ComponentRejection| {
            component.samplers.iter().map(ComponentSampler::tv_error).sum::<f64>() / component.acceptance
        };
        self.components.iter().map(error).sum::<f64>().min(1.0)
    }

    /// The number of components, each of which is accepted by itself: every draw keeps as many proposals.
    pub fn component_count(&self) -> u64 {
        self.components.len() as u64
    }
}

impl ComponentRejection {
    /// Proposes until one is kept: how many it took, or `None` after `limit`.
    fn attempt<R: Rng + ?Sized>(
        &self,
        limit: u64,
        rng: &mut R,
        scratch: &mut LatticeScratch,
        noise: &mut [i64],
    ) -> Option<u64> {
        (1..=limit).find(|_| {
            self.samplers.iter().for_each(|sampler| sampler.draw(rng, scratch, noise));
            let Bounded { component, region } = &self.bounded;
            let z = |entry: u32| noise[component.entries[entry as usize] as usize];
            (0..component.entries.len()).all(|i| {
                let z = z(i as u32);
                region.lower[i] <= z && z <= region.upper[i]
            }) && component.rows.iter().all(|row| value_by(row, z) == 0)
                && region.rows.iter().all(|(row, least)| value_by(row, z) >= i128::from(*least))
        })
    }
}
