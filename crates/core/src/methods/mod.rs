//! Methods as values: each a file that says what is known of it, how it is made ready for a problem, how its chain is
//! coupled, and what it can release.
//!
//! [`Method::prepare`] makes a method ready, whatever draws from it: releases, meetings, what is attained, and the
//! comparison with computed laws. It checks every release, and hands it on to a [`Sink`]. Adding a method is a file
//! with an `impl Define`, and its line in [`MethodKind::ALL`].

mod asked;
mod bluedown;
mod cell_keys;
mod chains;
mod choices;
mod define;
mod draws;
mod erased;
mod exact;
mod external;
mod facts;
mod hierarchical_mh;
mod klein;
mod known_options;
mod l1;
mod l2;
mod l2_integer;
mod lattice_metropolis;
mod laws;
mod line_gibbs;
mod method;
mod mis;
mod nnl2;
mod nnl2_integer;
mod noise;
mod options;
pub mod own;
mod pieces;
mod problem;
mod projection;
mod rejection;
mod release;
mod small_counts;
mod sums;
mod table;
mod topdown;
mod topdown_real;
mod tree;
mod unconstrained;
mod unsupported;

pub use asked::Asked;
pub use chains::Chains;
pub use choices::Choices;
pub use draws::{Draws, Out, Sink};
pub use exact::Conditioned;
pub use facts::{Facts, How, OnTables, OnTrees, Place};
pub use known_options::NONNEGATIVE_KEY;
pub use laws::{Family, IntegerNoise, LawFacts, LawKind, Laws, OnLaw, RealNoise, TreeNoise};
pub use method::{Method, MethodKind};
pub use options::{Entries, Given, Kind, OptionFacts, OptionValue, SolveFor, Value};
pub use problem::{On, OnTable, OnTree, Problem, Streams};
pub use projection::Projection;
pub use sums::{Sums, is_negative};
pub use unsupported::unsupported;

impl MethodKind {
    /// Every method of ours, in the order of the reference.
    pub const ALL: &'static [Self] = &[
        Self::FREE,
        Self::EXACT,
        Self::GIBBS,
        Self(&hierarchical_mh::HierarchicalMh),
        Self(&topdown::TopDown),
        Self(&topdown_real::TopDownReal),
        Self(&bluedown::BlueDown),
        Self(&lattice_metropolis::LatticeMetropolis),
        Self(&klein::Klein),
        Self(&mis::Mis),
        Self::REJECTION,
        Self(&release::Release),
        Self(&l2::L2),
        Self(&l1::L1),
        Self(&nnl2::Nnl2),
        Self(&l2_integer::L2Integer),
        Self(&nnl2_integer::Nnl2Integer),
        Self(&cell_keys::CellKeys),
        Self(&small_counts::SmallCounts),
    ];

    /// The exact sampler of conditioned noise, with which others of its law are compared.
    pub const EXACT: Self = Self(&exact::Exact);

    /// The exact sampler of noise within inequalities between nodes of a hierarchy.
    pub const REJECTION: Self = Self(&rejection::Rejection);

    /// The chain that serves the most problems, with which the exact sampler is compared.
    pub const GIBBS: Self = Self(&line_gibbs::LineGibbs);

    /// What stands for methods that are not ours.
    pub const OWN: Self = Self(&external::External);

    /// Free noise, of which methods that are not ours have the streams.
    const FREE: Self = Self(&unconstrained::Unconstrained);
}

#[cfg(feature = "serde")]
crate::serialize_by_name!(LawKind, MethodKind);
