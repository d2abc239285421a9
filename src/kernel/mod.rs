//! Markov kernels: one file each.

mod hierarchical_mh;
mod line_gibbs;

pub use hierarchical_mh::{HierarchicalMh, MhNoise, MhState};
pub use line_gibbs::{LineGibbs, LineMove, LineState};

use crate::rng::Rng;

/// One Markov step that leaves the target of the kernel invariant: randomness in, then a deterministic
/// step. Coupled chains change only how a pair of noises is drawn and call the same `apply` twice.
pub trait Kernel {
    /// The numbers that a chain moves on.
    type Value;
    /// A position and all that the next step needs.
    type State: Clone;
    /// Every random input of one step; the caller owns it and reuses it.
    type Noise;
    /// Whether a step can be rejected. A chain that never moved is then stuck; where every step is an exact
    /// draw from a conditional law, drawing the old value again is a draw like any other.
    const REJECTS: bool;
    /// A state from the noise of the leaves (one value per node; parents are ignored and recomputed).
    fn init(&self, position: &[Self::Value]) -> Self::State;
    /// Space for the noise of one step.
    fn noise(&self) -> Self::Noise;
    /// Draws the random inputs of the next step.
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut Self::Noise);
    /// Makes the step; whether the state changed. No randomness, no allocation.
    fn apply(&self, state: &mut Self::State, noise: &Self::Noise) -> bool;
    /// The current noise of all nodes.
    fn position<'a>(&self, state: &'a Self::State) -> &'a [Self::Value];
}
