//! What methods do with free noise, as mathematics.

/// What moves free noise to the counts that keep an invariant: that by which closed forms and oracles know a method.
/// `u` is the noise, `var` its variance by count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Projection {
    /// It moves nothing: `u`.
    None,
    /// `argmin Σ (z - u)² / var` under the equations.
    L2,
    /// It moves noise in L1, one total at a time ([`crate::imaging::LatticeL1`]).
    L1 {
        /// The share of its noise that the first entry keeps in the excess.
        beta: f64,
    },
    /// `argmin Σ (z - u)²` under equations and inequalities.
    Nnl2,
    /// The closest integers in L1 to those of [`Projection::L2`].
    L2Integer,
    /// The closest integers in L1 to those of [`Projection::Nnl2`].
    Nnl2Integer,
    /// It goes from the root down, with integers >= 0 ([`crate::imaging::TopDown`]).
    TopDown,
    /// It goes from the root down, with reals >= 0 ([`crate::imaging::TopDownReal`]).
    TopDownReal,
    /// It goes down from estimates of subtrees ([`crate::imaging::BlueDown`]).
    BlueDown,
}
