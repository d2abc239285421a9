//! Exact samplers of the conditioned noise: no chain, no convergence to hope for.
//!
//! - [`composition`]: uniform compositions of an integer, the leaves of a double geometric sum.
//! - [`Table`]: a truncated probability table on consecutive integers.
//! - [`IntegerTree`]: any integer law on a hierarchy, with or without non-negativity; [`LeafFloors`]: what the floor of every
//!   leaf does to its mass.
//! - [`LaplaceTree`], [`GaussianTree`]: the continuous laws on a hierarchy; [`DownwardSampler`]: what is drawn from the
//!   root down, piece by piece.
//! - [`LatticeExact`]: any integer invariant, by [`GeometricSum`] (totals), [`MarginsTable`] and [`BoundedMargins`],
//!   [`Grouped`] (few equations), [`Klein`] (Gaussian), [`EuclideanKlein`] (ℓ2), [`Truncated`] (inequalities, few free
//!   dimensions) and [`Entry`] (nothing tied).
//! - [`ReleaseSampler`]: integer noise on hierarchies as a real release draws it, with the [`Dyadic`] bases of one.
//! - [`Rejection`], [`RealRejection`], [`TreeRejection`]: proposals of a sampler that keeps less.
//! - [`ContinuousSampler`]: real Laplace and Gaussian noise under equations, and with [`FewDimensions`] under inequalities.

pub mod composition;
mod continuous;
mod defect;
mod dyadic;
mod entry;
mod floors;
mod foreseen;
mod gaussian_tree;
mod grouped;
mod integer_tree;
mod klein;
mod laplace_tree;
mod lattice;
mod margins;
mod parts;
mod planar;
pub(crate) mod points;
mod pull;
mod real_rejection;
mod rejection;
mod release;
pub(crate) mod table;
mod tilt;
mod tree_rejection;
mod truncated;
mod zero_sum;

pub use continuous::{ContinuousExact, ContinuousSampler, RealComponent};
pub use dyadic::Dyadic;
pub use entry::{Entry, Within};
pub use floors::LeafFloors;
pub use gaussian_tree::GaussianTree;
pub use grouped::{Grouped, GroupedScratch};
pub use integer_tree::IntegerTree;
pub use klein::{EuclideanKlein, Klein};
pub use laplace_tree::LaplaceTree;
pub use lattice::{ComponentSampler, ExactLattice, LatticeExact, LatticeScratch};
pub use margins::{BoundedMargins, BoundedScratch, MarginsScratch, MarginsTable};
pub use parts::PartsScratch;
pub use planar::{Fall, FewDimensions};
pub use real_rejection::RealRejection;
pub use rejection::{Rejection, Source};
pub use release::{Lent, ReleaseSampler};
pub use table::Table;
pub use tree_rejection::TreeRejection;
pub use truncated::Truncated;
pub use zero_sum::{GeometricSum, SplitScratch};

use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, Piece};
use crate::law::{DiscreteGaussian, DoubleGeometric, Gaussian, Laplace, Law};
use crate::rng::Rng;

/// An exact sampler of the noise of all nodes of a hierarchy, conditioned on its sums.
pub trait TreeSampler: Send + Sync {
    /// The type of the numbers drawn.
    type Value;
    /// Space for one draw, reused from draw to draw.
    type Scratch: Default + Send;
    /// The sampler by pieces, if [`TreeSampler::downwards`] has one.
    type Downwards: DownwardSampler<Value = Self::Value>;
    /// Draws the noise of all nodes once, into `noise` (one value per node).
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut Self::Scratch, noise: &mut [Self::Value]);
    /// Total variation distance that truncation may cause (see the sampler); rounding is not counted.
    fn tv_error(&self) -> f64;
    /// The sampler from the root down, piece by piece; `None` if it cannot draw so.
    fn downwards(&self) -> Option<&Self::Downwards>;
}

/// A sampler that draws children given their parents.
pub trait DownwardSampler: Send + Sync {
    /// The type of the numbers drawn.
    type Value;
    /// Space for one draw, reused from draw to draw.
    type Scratch: Default + Send;
    /// Whether sums hold up to rounding only.
    const ROUNDS: bool;
    /// Draws the root's noise.
    fn root_noise<R: Rng + ?Sized>(&self, rng: &mut R) -> Self::Value;
    /// Draws the noise of the children of a piece given that of its parents.
    fn below<R: Rng + ?Sized>(
        &self,
        piece: &Piece,
        above: &[Self::Value],
        rng: &mut R,
        scratch: &mut Self::Scratch,
        noise: &mut [Self::Value],
    );
}

/// A law with an exact sampler on hierarchies.
pub trait TreeLaw: Law {
    /// The sampler of this law.
    type Exact: TreeSampler<Value = Self::Value>;
    /// Prepares the sampler. `counts`: the confidential counts if releases must not be negative.
    ///
    /// Errors: a continuous law with non-negativity, for which no exact sampler is known here; what the
    /// sampler itself refuses.
    fn tree_sampler(hierarchy: &Hierarchy, laws: &[Self], counts: Option<&[i64]>) -> Result<Self::Exact>;
}

/// Why the continuous samplers refuse non-negativity.
pub(crate) const NO_CONTINUOUS_FLOORS: &str =
    "truncated leaves have no closed form; use an integer law, or line-gibbs";

fn refuse_floors(law: &str, counts: Option<&[i64]>) -> Result<()> {
    match counts {
        None => Ok(()),
        Some(_) => Err(Error::Unsupported {
            method: "exact",
            what: format!("{law} noise with non-negativity"),
            reason: NO_CONTINUOUS_FLOORS,
        }),
    }
}

impl TreeSampler for IntegerTree {
    type Value = i64;
    type Scratch = PartsScratch;
    type Downwards = Self;
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut PartsScratch, noise: &mut [i64]) {
        IntegerTree::draw(self, rng, scratch, noise);
    }
    fn tv_error(&self) -> f64 {
        IntegerTree::tv_error(self)
    }
    fn downwards(&self) -> Option<&Self> {
        Some(self)
    }
}

impl TreeSampler for LaplaceTree {
    type Value = f64;
    type Scratch = Vec<f64>;
    /// Stands in for none: sums are drawn from below, and [`TreeSampler::downwards`] gives nothing.
    type Downwards = GaussianTree;
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut Vec<f64>, noise: &mut [f64]) {
        LaplaceTree::draw(self, rng, scratch, noise);
    }
    fn tv_error(&self) -> f64 {
        0.0
    }
    fn downwards(&self) -> Option<&GaussianTree> {
        None
    }
}

impl TreeSampler for GaussianTree {
    type Value = f64;
    type Scratch = ();
    type Downwards = Self;
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, (): &mut (), noise: &mut [f64]) {
        GaussianTree::draw(self, rng, noise);
    }
    fn tv_error(&self) -> f64 {
        0.0
    }
    fn downwards(&self) -> Option<&Self> {
        Some(self)
    }
}

impl TreeLaw for DoubleGeometric {
    type Exact = IntegerTree;
    fn tree_sampler(hierarchy: &Hierarchy, laws: &[Self], counts: Option<&[i64]>) -> Result<IntegerTree> {
        Ok(IntegerTree::new(hierarchy, laws, counts)?.for_draws())
    }
}

impl TreeLaw for DiscreteGaussian {
    type Exact = IntegerTree;
    fn tree_sampler(hierarchy: &Hierarchy, laws: &[Self], counts: Option<&[i64]>) -> Result<IntegerTree> {
        Ok(IntegerTree::new(hierarchy, laws, counts)?.for_draws())
    }
}

impl TreeLaw for Laplace {
    type Exact = LaplaceTree;
    fn tree_sampler(hierarchy: &Hierarchy, laws: &[Self], counts: Option<&[i64]>) -> Result<LaplaceTree> {
        refuse_floors("laplace", counts)?;
        LaplaceTree::new(hierarchy, laws)
    }
}

impl TreeLaw for Gaussian {
    type Exact = GaussianTree;
    fn tree_sampler(hierarchy: &Hierarchy, laws: &[Self], counts: Option<&[i64]>) -> Result<GaussianTree> {
        refuse_floors("gaussian", counts)?;
        GaussianTree::new(hierarchy, laws)
    }
}
