//! Privacy: from a budget to the noise of every level, and back to what a release pays: [`Statement`].

mod accountant;
mod attained;
mod audit;
mod between;
mod budget;
mod changes;
mod gaussian;
mod lattice_gaussian;
mod neighbours;
mod norm_tail;
mod normal_curve;
mod profile;
mod real;
mod rho;
mod smallest;
mod statement;
mod tree;
mod within;
mod worst;

pub use accountant::Accountant;
pub use attained::{Attained, Words, all_choices, all_orders, attained};
pub use audit::{Claim, Columns, Event, Form, Found, Score, choose};
pub use budget::{Budget, Calibration, Guarantee, Split};
pub use changes::TableChanges;
pub use gaussian::{RhoRatio, SLACK, rho_ratio};
pub use lattice_gaussian::{LatticeShape, generalized_gaussian, lattice_gaussian_sigma};
pub use neighbours::{
    Conditioning, Gamma, Search, WorstPair, gamma_bound, longest_step, sampling_delta, tables,
};
pub use norm_tail::NormTail;
pub use profile::{IntegerNoise, Losses, Profile};
pub use real::{RealGamma, real_step_bound, real_table_gamma, real_tree_gamma};
pub use rho::{PureNoise, Rho, rho_bound};
pub use smallest::short_changes;
pub use statement::{
    Amount, Change, ChangeKind, Declared, Inequalities, Loss, Measure, Price, Standard, Statement, at_most,
};
pub use tree::{
    TreeChange, TreeConditioning, TreeCosts, TreePaid, WorstChange, tree_corner, tree_gamma_bound,
};

#[cfg(feature = "serde")]
crate::serialize_by_name!(Accountant, ChangeKind, Measure);
