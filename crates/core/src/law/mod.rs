//! Noise laws of the unconstrained mechanism, one per file.
//!
//! A mechanism adds independent noise with the weight `w(z)`, symmetric about 0 and decreasing in `|z|`.
//! Conditioning needs the weight alone ([`Law::log_weight`]) and exact draws along a line of the
//! lattice ([`LineLaw`]). On a general lattice of integer vectors a law is a function of a norm
//! ([`LatticeLaw`]).
//!
//! Laws of one dimension are distributions of the crate `rand`, and take any of its generators:
//!
//! ```
//! # fn main() -> Result<(), congenial_core::Error> {
//! use congenial_core::law::DoubleGeometric;
//! use congenial_core::rng::{Role, TaskKey, stream};
//! use rand::distr::Distribution;
//!
//! let law = DoubleGeometric::new(2.0)?; // lambda, in counts
//! let rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
//! let noise: Vec<i64> = law.sample_iter(rng).take(5).collect();
//! assert_eq!(noise.len(), 5);
//! # Ok(())
//! # }
//! ```

mod blocks;
mod discrete_gaussian;
mod distribution;
mod double_geometric;
mod elementary;
mod euclidean_laplace;
mod gaussian;
mod geometric_line;
mod laplace;
mod lattice_law;
mod maximal;
mod norm_line;
mod tabled;
mod value;
mod whole;

pub use discrete_gaussian::DiscreteGaussian;
pub use double_geometric::DoubleGeometric;
pub use euclidean_laplace::EuclideanLaplace;
pub use gaussian::Gaussian;
pub use geometric_line::PowerTables;
pub use laplace::{Laplace, RateTables};
pub(crate) use lattice_law::downhill;
pub use lattice_law::{LatticeLaw, NormTables};
pub use maximal::maximal;
pub use tabled::Tabled;
pub use value::{Errors, Value};

use crate::error::{Error, Result};
use crate::rng::Rng;
use std::fmt::Debug;

/// A one-dimensional noise law, symmetric and unimodal about 0.
pub trait Law: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// Integers (`i64`) or reals (`f64`).
    type Value: Value;
    /// The scale parameter: lambda or sigma, in counts.
    fn scale(&self) -> f64;
    /// `ln w(z)`, with `w(0) = 1`.
    fn log_weight(&self, z: Self::Value) -> f64;
    /// `Σ ln w(z)` over the values.
    #[inline]
    fn log_weights(&self, values: &[Self::Value]) -> f64 {
        values.iter().map(|&z| self.log_weight(z)).sum()
    }
    /// Draws one value without a table.
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Self::Value;
    /// What makes many draws: [`Tabled`] for laws on the integers, the law itself for others.
    type Sampler: Sampler<Self::Value>;
    /// Prepares a sampler for many draws.
    fn sampler(&self) -> Self::Sampler;
    /// The variance `Var(z)`, in counts squared.
    fn variance(&self) -> f64;
}

/// Independent draws of a law.
pub trait Sampler<V>: Clone + Debug + Send + Sync + 'static {
    /// Draws one value.
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> V;
}

/// A continuous law is its own sampler: it is drawn without a table.
impl<L: Law<Value = f64>> Sampler<f64> for L {
    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        self.sample(rng)
    }
}

/// One factor `w(at + t)` of the weight along a line; `level` selects the law's table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term<V> {
    /// Index of the law (and its table) among those of the kernel.
    pub level: usize,
    /// The noise where the line starts (times the direction's sign).
    pub at: V,
}

/// The terms of one line and the scratch space to draw from it: made once, reused for every draw.
#[derive(Debug, Clone, Default)]
pub struct Line<V> {
    /// The factors along the line; at least one when a draw is asked for.
    pub terms: Vec<Term<V>>,
    nodes: Vec<V>,
    slopes: Vec<f64>,
    weights: Vec<f64>,
    masses: Vec<f64>,
}

impl<V: Value> Line<V> {
    /// Sorts the terms by their break `-at`, upwards.
    #[inline]
    fn sort_breaks(&mut self) {
        for i in 1..self.terms.len() {
            let mut j = i;
            while j > 0 && self.terms[j - 1].at < self.terms[j].at {
                self.terms.swap(j - 1, j);
                j -= 1;
            }
        }
    }
}

/// Sorts by exchanges without branches: the order is nothing that a processor could predict.
#[inline]
fn sort<const K: usize, T: Copy, V: PartialOrd>(values: &mut [T; K], key: impl Fn(&T) -> V) {
    for round in 0..K {
        let mut i = round % 2;
        while i + 1 < K {
            let (a, b) = (values[i], values[i + 1]);
            let swap = key(&a) > key(&b);
            values[i] = if swap { b } else { a };
            values[i + 1] = if swap { a } else { b };
            i += 2;
        }
    }
}

/// A line with the bounds of a step along it.
pub type Bounded<'a, V> = (&'a mut Line<V>, V, V);

/// Steps along two lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinePair<V> {
    /// The step along the first.
    pub x: V,
    /// The step along the second; `None`: the one that leads to the same place.
    pub y: Option<V>,
}

/// A law whose product over several terms can be drawn exactly along a line.
pub trait LineLaw: Law {
    /// What is computed once for the laws of all levels.
    type Tables: Send + Sync + Debug;
    /// Builds the tables for the laws of all levels.
    fn tables(laws: &[Self]) -> Self::Tables;
    /// The `u`-quantile of `p(t) ∝ Π_k w_k(at_k + t)` on `lo <= t <= hi`.
    ///
    /// - `line.terms`: at least one; sorted in place.
    /// - `lo`, `hi`: `lo <= 0 <= hi`; `V::MIN_BOUND` and `V::MAX_BOUND` mean that there is no bound.
    /// - `u`: in (0, 1). The result increases with `u`; with uniform `u` it has the law `p`.
    fn line(
        tables: &Self::Tables,
        line: &mut Line<Self::Value>,
        lo: Self::Value,
        hi: Self::Value,
        u: f64,
    ) -> Self::Value;

    /// Draws along two lines, each with the law of [`LineLaw::line`], that lead to one place as often as can be: see
    /// [`maximal()`]. `None` on the integers, where steps by the same uniform lead to one place often enough.
    ///
    /// - `x`, `y`: the lines, with their bounds.
    /// - `apart`: how much farther the second step is where both lead to one place.
    /// - `u`: in (0, 1), that of the first.
    fn line_pair<R: Rng + ?Sized>(
        _tables: &Self::Tables,
        _x: Bounded<Self::Value>,
        _y: Bounded<Self::Value>,
        _apart: Self::Value,
        _u: f64,
        _rng: &mut R,
    ) -> Option<LinePair<Self::Value>> {
        None
    }
}

/// A law on the reals that keeps its kind along a direction.
pub trait RealLaw: LineLaw<Value = f64> {
    /// The law of `t` with the weight `Π_i w(c_i t)`, for coefficients c that are not all 0: lambda over the sum of
    /// their absolute values, or sigma over the root of their sum of squares.
    fn along(self, coefficients: &[f64]) -> Self;
    /// `ln p(t)`, the density of [`LineLaw::line`]'s draw between the same bounds.
    fn line_log_density(tables: &Self::Tables, line: &mut Line<f64>, lo: f64, hi: f64, t: f64) -> f64;
}

/// A law on the integers.
pub trait IntegerLaw: Law<Value = i64> {
    /// The double geometric that this law is, if it is one: sums of it have a closed form.
    fn as_double_geometric(&self) -> Option<DoubleGeometric>;
    /// `Σ w(z)` over `z >= from`, for `from` > 0. At most O(scale).
    fn tail(&self, from: i64) -> f64;
    /// A draw given that it is at least `from` > 0; fast from about the scale on.
    fn sample_tail<R: Rng + ?Sized>(&self, from: i64, rng: &mut R) -> i64;
}

fn positive_scale(name: &'static str, scale: f64) -> Result<f64> {
    // Below 2^-400 one over its square leaves floating point.
    if scale > 0.0 && scale < libm::scalbn(1.0, -400) {
        return Err(Error::parameter(name, format!("{scale:e}"), "a number >= 2^-400"));
    }
    // Above 2^40 a draw can leave the range in which sums of counts are exact.
    if scale.is_finite() && scale > 0.0 && scale <= (1u64 << 40) as f64 {
        Ok(scale)
    } else {
        Err(Error::parameter(name, scale, "a number > 0 and <= 2^40"))
    }
}
