//! What is known of a method, in words and as data.

use super::laws::{LawKind, Laws};
use super::options::OptionFacts;
use crate::exact::NO_CONTINUOUS_FLOORS;

/// What is known of a method.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The name of the method in configs and results.
    pub name: &'static str,
    /// How the method comes to a release.
    pub how: How,
    /// The method's options, in the order of its cells: the first changes slowest.
    pub options: &'static [&'static OptionFacts],
    /// What the method does on the nodes of a hierarchy, and under which laws.
    pub on_trees: Option<OnTrees>,
    /// What the method does on the entries of a table, and under which laws.
    pub on_tables: Option<OnTables>,
    /// Whether the method's releases are integers if the noise is.
    pub integers: bool,
    /// Whether the method ends with a rounding: its releases are integers under every law.
    pub rounds: bool,
    /// Whether all the method's releases on trees are >= 0; else an option may promise it.
    pub nonnegative: bool,
    /// Whether two chains of the method can be coupled, with noise of a law. Errors: why not.
    pub couples: fn(LawKind) -> Result<(), &'static str>,
    /// Whether the law of a chain's start is known under inequalities, too: else starts are moved into them.
    pub starts_within: bool,
    /// Whether something bounds the distance of the method's chain to its law, whatever its pairs show
    /// ([`super::Method::forgetting`]).
    pub forgets: bool,
    /// Whether the norms of the releases are set against the bound of their law's tail.
    pub has_tails: bool,
    /// Whether what the method pays can be listed on a few counts: conditioning by its law, imaging by its choices
    /// ([`super::Method::choices`]).
    pub is_listed: bool,
    /// Whether the method stands for those that are not ours.
    pub is_own: bool,
    /// Whether something is stated of what the method's releases pay.
    pub states_loss: bool,
    /// The number of replicates that are best drawn together.
    pub together: u64,
    /// Rough cost of a replicate in random words a count (of a chain: and a step), for batches and the progress bar alone.
    pub words: u64,
}

impl Facts {
    /// Whether the method conditions on the invariant; else it moves free noise to it, or leaves it.
    pub fn conditions(&self) -> bool {
        matches!(self.how, How::Conditioning | How::Chain)
    }
}

/// How a method comes to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The method leaves the noise free: it keeps no invariant.
    Free,
    /// The method draws the noise given the invariant, at once.
    Conditioning,
    /// The method draws the noise given the invariant by a Markov chain.
    Chain,
    /// The method draws the noise freely and moves the result to the closest point that keeps the invariant.
    Imaging,
}

/// What a method does on the nodes of a hierarchy.
#[derive(Debug, Clone, Copy)]
pub struct OnTrees {
    /// What the method does, in words.
    pub what: &'static str,
    /// The laws that it serves.
    pub laws: Laws,
    /// The laws that it serves where releases are >= 0.
    pub nonnegative: Laws,
    /// The laws that it serves where inequalities tie nodes.
    pub inequalities: Laws,
}

/// What a method does on the entries of a table.
#[derive(Debug, Clone, Copy)]
pub struct OnTables {
    /// What the method does, in words.
    pub what: &'static str,
    /// The laws that it serves under equations.
    pub laws: Laws,
    /// The laws that it serves where the invariant has inequalities.
    pub inequalities: Laws,
}

/// Where a method is asked to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The nodes of a hierarchy.
    Tree {
        /// Whether inequalities tie them, beside those of leaves that are >= 0.
        inequalities: bool,
    },
    /// The entries of a table.
    Table {
        /// Whether the invariant has inequalities.
        inequalities: bool,
    },
}

/// The four laws of hierarchies.
pub(super) const FOUR: Laws = Laws {
    has: LawKind::on_hierarchies,
    why: |law| match law.is_noise() {
        true => format!("{} is no law of the nodes of a hierarchy", law.name()),
        false => NO_NOISE.into(),
    },
};
pub(super) const FOUR_INTEGERS: Laws = Laws {
    has: |law| law.on_hierarchies() && !law.is_continuous(),
    why: |law| format!("{} noise with non-negativity: {NO_CONTINUOUS_FLOORS}", law.name()),
};
pub(super) const ALL: Laws = Laws { has: |law| law.is_noise(), why: |_| NO_NOISE.into() };
pub(super) const INTEGERS: Laws = Laws {
    has: |law| law.is_noise() && !law.is_continuous(),
    why: |law| match law.is_noise() {
        true => format!("it draws integers, and {} noise is real", law.name()),
        false => NO_NOISE.into(),
    },
};
pub(super) const EXACT_WITHIN: Laws = Laws {
    has: |law| law.is_noise() && law != LawKind::L2,
    why: |law| match law.is_noise() {
        true => {
            "the l2 law is not a product over entries: with inequalities use line-gibbs, mis or rejection"
                .into()
        }
        false => NO_NOISE.into(),
    },
};
pub(super) const GAUSSIANS: Laws = Laws {
    has: |law| law.needs_delta() && !law.is_continuous(),
    why: |_| "it draws discrete Gaussian laws".into(),
};
pub(super) const PRODUCTS: Laws = Laws {
    has: |law| law.is_noise() && law != LawKind::L2,
    why: |law| match law.is_noise() {
        true => "the l2 law is not a product over entries: there is no independent noise to draw".into(),
        false => NO_NOISE.into(),
    },
};
/// Why what draws noise does not serve `none`.
pub(super) const NO_NOISE: &str =
    "it draws noise, and `none` is none: want cell-keys or small-count-rounding with it";
pub(super) const NOTHING: Laws = Laws {
    has: |law| !law.is_noise(),
    why: |law| format!("it draws no {} noise, and states no loss: want `law = \"none\"`", law.name()),
};
pub(super) const NONE: Laws =
    Laws { has: |_| false, why: |_| "it keeps equations only, and the invariant has inequalities".into() };

pub(super) const NO_NODES: Laws =
    Laws { has: |_| false, why: |_| "it does not know inequalities between nodes of a hierarchy".into() };

pub(super) const CONDITIONING: Facts = Facts {
    name: "",
    how: How::Conditioning,
    options: &[],
    on_trees: None,
    on_tables: None,
    integers: true,
    rounds: false,
    nonnegative: false,
    couples: |_| Err("no coupling of two of its chains is known"),
    starts_within: false,
    forgets: false,
    has_tails: false,
    is_listed: false,
    is_own: false,
    states_loss: true,
    together: 1,
    words: 20,
};
pub(super) const CHAIN: Facts = Facts { how: How::Chain, words: 10, ..CONDITIONING };
/// Methods that draw no noise, and state no loss.
pub(super) const CUSTOMARY: Facts =
    Facts { how: How::Free, rounds: true, nonnegative: true, states_loss: false, words: 4, ..CONDITIONING };
pub(super) const IMAGING: Facts = Facts { how: How::Imaging, ..CONDITIONING };

pub(super) const fn on_trees(
    what: &'static str,
    laws: Laws,
    nonnegative: Laws,
    inequalities: Laws,
) -> Option<OnTrees> {
    Some(OnTrees { what, laws, nonnegative, inequalities })
}

pub(super) const fn on_tables(what: &'static str, laws: Laws, inequalities: Laws) -> Option<OnTables> {
    Some(OnTables { what, laws, inequalities })
}
