//! Settings of the checks and their random examples.

use super::belief::{Belief, Event};
use super::mechanism::Mechanism;
use super::space::{Metric, Space};
use congenial_core::rng::{Rng, below, exponential, open01};
use congenial_core::{Error, Result};

/// The size of the checks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Worlds of an example, 3 to 64.
    pub worlds: usize,
    /// Random examples of each statement, 1 to 1 000 000.
    pub cases: u64,
    /// The level of the mechanisms, 1e-6 to 10: below, what is looked for drowns in rounding.
    pub epsilon: f64,
}

impl Settings {
    /// Refuses what is outside the ranges of the fields.
    pub fn check(&self) -> Result<()> {
        if !(3..=64).contains(&self.worlds) {
            return Err(Error::parameter("worlds", self.worlds, "3 to 64"));
        }
        if !(1..=1_000_000).contains(&self.cases) {
            return Err(Error::parameter("cases of a statement", self.cases, "1 to 1000000"));
        }
        if !(1e-6..=10.0).contains(&self.epsilon) {
            return Err(Error::parameter("epsilon of the finite mechanisms", self.epsilon, "1e-6 to 10"));
        }
        Ok(())
    }

    /// Worlds of each part of a pair, so that the pairs are about as many as the worlds.
    pub(super) fn side(&self) -> usize {
        self.worlds.isqrt().max(3)
    }
    /// Allowed rounding of probabilities and levels.
    pub(super) fn tolerance(&self) -> f64 {
        1e-12 + 1e-9 * self.epsilon.min(1.0)
    }
}

/// One of the two metrics.
pub(super) fn metric(rng: &mut dyn Rng) -> Metric {
    if below(rng, 2) == 0 { Metric::L1 } else { Metric::SquaredL2 }
}

/// Random points of a plane.
pub(super) fn space(worlds: usize, metric: Metric, rng: &mut dyn Rng) -> Result<Space> {
    let mut coordinate = || below(rng, 1000) as i64;
    Space::new((0..worlds).map(|_| [coordinate(), coordinate(), 0, 0]).collect(), metric)
}

/// A random event with at least one of the worlds and not all of them.
pub(super) fn event(worlds: usize, rng: &mut dyn Rng) -> Event {
    let within = below(rng, worlds as u64) as usize;
    let outside = (within + 1 + below(rng, worlds as u64 - 1) as usize) % worlds;
    let event = Event::of((0..worlds).filter(|_| below(rng, 2) == 0));
    event.union(Event::of([within])).without(Event::of([outside]))
}

/// Two disjoint events, neither empty; `worlds >= 2`.
pub(super) fn disjoint(worlds: usize, rng: &mut dyn Rng) -> (Event, Event) {
    let first = event(worlds, rng);
    let rest: Vec<usize> = Event::all(worlds).without(first).worlds().collect();
    let sure = rest[below(rng, rest.len() as u64) as usize];
    let second = Event::of(rest.into_iter().filter(|_| below(rng, 2) == 0)).union(Event::of([sure]));
    (first, second)
}

/// A random map of the worlds into themselves.
pub(super) fn map(worlds: usize, rng: &mut dyn Rng) -> Vec<usize> {
    (0..worlds).map(|_| below(rng, worlds as u64) as usize).collect()
}

/// A belief that has mass in every world: uniform among all of them.
pub(super) fn belief(worlds: usize, rng: &mut dyn Rng) -> Result<Belief> {
    Belief::new((0..worlds).map(|_| exponential(rng)).collect())
}

/// A belief that gives 0 to about a quarter of the worlds, and mass to one of the event at least.
pub(super) fn sparse_belief(worlds: usize, event: Event, rng: &mut dyn Rng) -> Result<Belief> {
    loop {
        let weight = |_| if below(rng, 4) == 0 { 0.0 } else { exponential(rng) };
        let weights: Vec<f64> = (0..worlds).map(weight).collect();
        if event.worlds().any(|world| weights[world] > 0.0) {
            return Belief::new(weights);
        }
    }
}

/// An exponential mechanism on three datasets, all neighbours: `P_D(y) ∝ q(y) e^(epsilon u_D(y) / 2)` with scores
/// `u_D` in [0, 1], every second time only 0 and 1. Its level is at most `epsilon`.
pub(super) fn mechanism(worlds: usize, epsilon: f64, rng: &mut dyn Rng) -> Result<Mechanism> {
    let base = belief(worlds, rng)?;
    let extreme = below(rng, 2) == 0;
    let mut law = || {
        let mut score = || if extreme { below(rng, 2) as f64 } else { open01(rng) };
        Belief::new(base.probabilities().iter().map(|q| q * libm::exp(0.5 * epsilon * score())).collect())
    };
    Mechanism::all_neighbours(vec![law()?, law()?, law()?])
}
