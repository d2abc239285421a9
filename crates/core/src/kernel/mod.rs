//! Markov kernels: one file each.

#[cfg(test)]
pub(crate) mod fuzz;
mod hierarchical_mh;
mod jumps;
mod known;
mod lattice_gibbs;
mod lattice_metropolis;
mod line_gibbs;
mod metropolized_independence;
mod real_gibbs;
mod real_independence;

pub(crate) use known::is_settled;

pub use hierarchical_mh::{HierarchicalMh, MhNoise, MhState, StepLaw};
pub use lattice_gibbs::{LatticeGibbs, LatticeGibbsState, LatticeMove};
pub use lattice_metropolis::{LatticeMetropolis, LatticeNoise, LatticeState};
pub use line_gibbs::{LineGibbs, LineMove, LineState};
pub use metropolized_independence::{
    Forgetting, IndependenceNoise, IndependenceState, MetropolizedIndependence,
};
pub use real_gibbs::{RealGibbs, RealGibbsState, RealMove};
pub use real_independence::{RealIndependence, RealIndependenceState, RealProposal};

use crate::error::Result;
use crate::lattice::Sparse;
use crate::law::{Law, Value};
use crate::rng::{Rng, Stream, exponential, geometric};

pub use crate::rng::LANES;

/// One Markov step that leaves the target of the kernel invariant: randomness in, then a deterministic
/// step. Coupled chains change only how a pair of noises is drawn and call the same `apply` twice.
///
/// # Examples
///
/// ```
/// use congenial_core::invariant::Linear;
/// use congenial_core::kernel::{Dispersed, Kernel, LatticeGibbs, Start};
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let margins = Linear::margins(3, 3)?;
/// let kernel = LatticeGibbs::new(&margins, None, DoubleGeometric::new(2.0)?)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Moves });
/// let (mut state, mut noise) = (kernel.start(Start::OverDispersed, &mut rng)?, kernel.noise());
/// for _ in 0..100 {
///     kernel.draw(&mut rng, &mut noise); // all randomness of the step
///     kernel.apply(&mut state, &noise);
/// }
/// assert!(margins.holds(kernel.position(&state)));
/// # Ok::<(), congenial_core::Error>(())
/// ```
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
    /// Makes the step; tells whether the state changed. No randomness, no allocation.
    fn apply(&self, state: &mut Self::State, noise: &Self::Noise) -> bool;
    /// The current noise of all nodes.
    fn position<'a>(&self, state: &'a Self::State) -> &'a [Self::Value];
    /// Whether the state on some component has never changed although its steps can be rejected.
    fn is_stuck(&self, _: &Self::State) -> bool {
        false
    }
    /// Space for chains that step side by side; `None` where that is no faster.
    fn lanes(&self) -> Option<Box<dyn Lanes<Self> + '_>>
    where
        Self: Sized,
    {
        None
    }
}

/// [`LANES`] chains of a kernel that step side by side, one a lane, each exactly as it would alone with its stream.
///
/// A lane holds states of a limited size. One that grows beyond has left: it is taken out, and goes on alone.
pub trait Lanes<K: Kernel> {
    /// Puts a chain into a lane, and tells whether it fits; if not, the lane stays what it was.
    fn load(&mut self, lane: usize, state: &K::State, rng: &Stream) -> bool;
    /// Makes so many steps in all lanes, or fewer, the last of which a lane has left with; returns how many.
    fn run(&mut self, steps: u64) -> u64;
    /// Whether a lane has left.
    fn has_left(&self, lane: usize) -> bool;
    /// The current noise of a lane.
    fn position(&mut self, lane: usize) -> &[K::Value];
    /// Takes a chain out: its state, its stream, and how many of its steps changed the state.
    fn take(&mut self, lane: usize) -> (K::State, Stream, u64);
}

/// [`LANES`] coupled pairs of chains that step side by side, one pair a lane, each exactly as it would alone with its
/// stream.
///
/// A pair whose states grow beyond what a lane holds has left: it is taken out, and goes on alone.
pub trait Pairs<K: Kernel> {
    /// Puts a pair of chains into a lane, and tells whether both fit; if not, the lane stays what it was.
    fn load(&mut self, lane: usize, states: (&K::State, &K::State), rng: &Stream) -> bool;
    /// Makes so many steps in all lanes, or fewer, the last of which a loaded pair has met or left with; returns how many.
    fn run(&mut self, steps: u64) -> u64;
    /// Whether the pair of a lane has met.
    fn has_met(&self, lane: usize) -> bool;
    /// Whether a chain of the lane's pair has left.
    fn has_left(&self, lane: usize) -> bool;
    /// Takes a pair out: both states, its stream, and how many steps of both chains changed a state.
    fn take(&mut self, lane: usize) -> ((K::State, K::State), Stream, u64);
}

/// Where chains start: never from the confidential counts, but for what a region of inequalities tells of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// Twice as wide as the law's own noise: independent double geometric (Laplace, where the noise is real) coordinates with twice the
    /// standard deviation that the law gives a free entry or a leaf. On a lattice the coordinates are those of a basis.
    #[default]
    OverDispersed,
    /// As wide as the law's own noise: leaves of a tree have the law itself; on a lattice the coordinates are double
    /// geometric.
    FreeNoise,
    /// What the paper of the chain proposes.
    Published,
}

/// A kernel on a lattice, or on the reals that equations leave free, with starts of its own.
pub trait Dispersed: Kernel {
    /// Draws a start, moved into the region of the inequalities where there is one.
    ///
    /// Errors: no start within the region was found.
    fn start<R: Rng + ?Sized>(&self, start: Start, rng: &mut R) -> Result<Self::State>;

    /// Draws the start of [`Dispersed::start`] from the same stream, with `ln π~ - ln μ~`: the logarithm of the target
    /// over that of the law of starts, each up to a constant that does not depend on the start. `None` where no such
    /// formula is known, as for starts that are moved into a region, and then nothing is drawn.
    ///
    /// Errors: as [`Dispersed::start`].
    fn weighted_start<R: Rng + ?Sized>(&self, _: Start, _: &mut R) -> Result<Option<(Self::State, f64)>> {
        Ok(None)
    }
}

/// A kernel with a coupling: two chains, each of which follows the kernel, that tend to meet and then stay
/// together.
pub trait Coupled: Dispersed {
    /// Draws the random inputs of one step of both chains: each with the law of [`Kernel::draw`], and equal
    /// if the states are equal.
    fn draw_pair<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        states: (&Self::State, &Self::State),
        noise: (&mut Self::Noise, &mut Self::Noise),
    );

    /// Space for pairs that step side by side; `None` where that is no faster.
    fn pairs(&self) -> Option<Box<dyn Pairs<Self> + '_>>
    where
        Self: Sized,
    {
        None
    }
}

/// How far a move along a line goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step<V> {
    /// As far as the uniform number says, which is the step's place in its law.
    At(f64),
    /// So far.
    By(V),
}

/// What two chains on the reals may differ by, in scales, where a coupling takes them for near.
const NEAR: f64 = 1e-4;

/// The largest sum of absolute coefficients of a basis over one entry.
fn widest(basis: &[Sparse], entries: usize) -> f64 {
    let mut sums = vec![0.0f64; entries];
    for &(entry, x) in basis.iter().flatten() {
        sums[entry as usize] += f64::from(x).abs();
    }
    sums.into_iter().fold(0.0, f64::max)
}

/// Whether values are rounded.
fn is_integer<V: Value>() -> bool {
    V::nearest(0.25).to_f64() == 0.0
}

/// The noise of a leaf where a chain on a tree starts.
fn leaf<L: Law, R: Rng + ?Sized>(law: &L, start: Start, rng: &mut R) -> L::Value {
    match start {
        Start::OverDispersed => {
            let scale = libm::sqrt(2.0 * law.variance());
            L::Value::nearest(scale * (exponential(rng) - exponential(rng)))
        }
        Start::FreeNoise | Start::Published => law.sample(rng),
    }
}

/// `ln P(z)` of [`leaf`], up to a constant of the law.
fn leaf_log_density<L: Law>(law: &L, start: Start, z: L::Value) -> f64 {
    match start {
        Start::OverDispersed => {
            let (scale, size) = (libm::sqrt(2.0 * law.variance()), z.to_f64().abs());
            if !is_integer::<L::Value>() {
                return -size / scale;
            }
            // The mass of a Laplace law between k - 1/2 and k + 1/2.
            match size {
                0.0 => libm::log(-libm::expm1(-0.5 / scale)),
                _ => libm::log(-0.5 * libm::expm1(-1.0 / scale)) - (size - 0.5) / scale,
            }
        }
        Start::FreeNoise | Start::Published => law.log_weight(z),
    }
}

/// `v` of independent double geometric coordinates, and the lattice point `V v`.
fn coordinates<R: Rng + ?Sized>(
    basis: &[Sparse],
    entries: usize,
    rng: &mut R,
    scale: f64,
) -> (Vec<i64>, Vec<i64>) {
    let v: Vec<i64> = basis.iter().map(|_| geometric(rng, scale) - geometric(rng, scale)).collect();
    let mut z = vec![0; entries];
    for (vector, v) in basis.iter().zip(&v) {
        for &(entry, x) in vector {
            z[entry as usize] += i64::from(x) * v;
        }
    }
    (v, z)
}

/// `ln P(v)` of [`coordinates`], up to a constant.
fn coordinates_log_density(v: &[i64], scale: f64) -> f64 {
    -v.iter().map(|v| v.unsigned_abs() as f64).sum::<f64>() / scale
}
