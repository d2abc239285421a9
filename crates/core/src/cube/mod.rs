//! Trees of tables: a hierarchy of areas, in every area a table of attributes, measured by queries.
//!
//! A [`Domain`] is the cells of the table. A [`Query`] asks for sums of cells, a marginal; measured in an area each of its answers has
//! noise of one variance, or none where it is known ([`Measurements`]). [`Gls`] makes the best linear unbiased estimate of all tables from
//! all answers, given that every area's table is the sum of those below.
//!
//! # The algebra
//!
//! The Gram matrix of a marginal of k attributes with the sizes `n_i` is `⊗ (I or J)`, J all ones. All of these commute: they are scalars
//! on each of the 2^k spaces `⊗ (deviations or mean)`. In a basis of means and deviations (`basis`) the least squares over a tree of
//! tables falls into 2^k kinds of *scalar* tree problems: a measurement of variance σ² of a query counts with `Π_(i summed over) n_i / σ²`
//! in the kinds that have no deviation of what it sums over, and not in the others.
//!
//! Groups of categories that are not symmetric, and zeros that name several attributes, do not commute with the rest. Their attributes are
//! joined into one, whose combinations stay as they are: scalars become matrices as large as their number.

mod basis;
mod bounds;
mod descent;
mod domain;
mod gls;
mod measurements;
mod nested;
mod query;
mod small;
mod squares;
mod subtrees;
mod sweep;
mod variance;

pub use bounds::{Bound, Bounds};
pub use descent::{Certificate, Descent, Table};
pub use domain::{Domain, Zero};
pub use gls::Gls;
pub use measurements::Measurements;
pub use query::{Marginal, Query};
pub use sweep::{Answers, Estimate};
pub use variance::Variances;
