//! What a release says of the counts: laws of sums of its noise, on which intervals rest.
//!
//! Under equations alone a release is `y = x + z`, and the law of `z` does not depend on `x`. So a sum of released counts
//! less the sum of the confidential ones is a *pivot*: its law ([`SumLaw`]) is known without the counts, and
//! `y_Q - t <= x_Q <= y_Q + t` holds with the probability `P(|z_Q| <= t)` whatever the counts are. Two sums have a
//! joint law ([`JointLaw`]), from which all ratios follow that the noise does not rule out.
//!
//! With a prior there is a [`Posterior`], and with a law of the counts that has parameters a likelihood of them
//! ([`Release`]), which a [`Regression`] makes the largest.

#[cfg(test)]
mod calibration;
mod conditioned;
mod joint_law;
mod likelihood;
mod maximum;
mod node_laws;
mod posterior;
mod prior;
mod ratios;
mod regression;
pub(crate) mod shapes;
mod splits;
mod sum_law;
mod sum_prior;

pub use conditioned::{Chains, Conditioned, Proposal};
pub use joint_law::JointLaw;
pub use likelihood::{Release, Score};
pub use maximum::{LogLikelihood, Maximum};
pub use node_laws::NodeLaws;
pub use posterior::{CountLaw, Posterior, Weight};
pub use prior::Prior;
pub use ratios::{Ratios, drawn_ratios, normal_ratios};
pub use regression::{Coefficient, Counts, Fit, Regression};
pub use sum_law::{SumLaw, SumLaws};
pub use sum_prior::SumPrior;
