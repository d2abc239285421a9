//! The methods: a row of facts for each.

use super::laws::{LawKind, Laws};
use super::options::{Kind, OptionFacts, OptionValue, SolveFor, Value};
use crate::exact::{NO_CONTINUOUS_FLOORS, Source};
use crate::kernel::{LANES, Start};
use crate::lattice::BasisKind;
use crate::own::{Own, Promises};

/// What is known of a method.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The name in configs and results.
    pub name: &'static str,
    /// How it comes to a release.
    pub how: How,
    /// Its options, in the order of its cells: the first changes slowest.
    pub options: &'static [&'static OptionFacts],
    /// What it does on the nodes of a hierarchy, and under which laws.
    pub on_trees: Option<OnTrees>,
    /// What it does on the entries of a table, and under which laws.
    pub on_tables: Option<OnTables>,
    /// Whether its releases are integers if the noise is.
    pub integers: bool,
    /// Whether two of its chains can be coupled.
    pub coupled: bool,
    /// Replicates that are best drawn together.
    pub together: u64,
    /// Rough cost of a replicate in random words a count (of a chain: and a step), for batches and the progress bar alone.
    pub words: u64,
}

/// How a method comes to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Free noise: it keeps no invariant.
    Free,
    /// It draws the noise given the invariant, at once.
    Conditioning,
    /// The same, by a Markov chain.
    Chain,
    /// It draws the noise freely and moves the result to the closest point that keeps the invariant.
    Imaging,
}

/// What a method does on the nodes of a hierarchy.
#[derive(Debug, Clone, Copy)]
pub struct OnTrees {
    /// In words.
    pub what: &'static str,
    /// The laws that it serves.
    pub laws: Laws,
    /// The laws that it serves where releases are >= 0.
    pub nonnegative: Laws,
}

/// What a method does on the entries of a table.
#[derive(Debug, Clone, Copy)]
pub struct OnTables {
    /// In words.
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
    Tree,
    /// The entries of a table.
    Table {
        /// Whether the invariant has inequalities.
        inequalities: bool,
    },
}

macro_rules! methods {
    ($($(#[$doc:meta])* $kind:ident
        $({ $($(#[$field_doc:meta])* $field:ident: $type:ty = $option:ident),* $(,)? })?
        = $name:literal, $facts:expr;)*) => {
        /// A method without its options.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum MethodKind { $($(#[$doc])* $kind,)* }

        /// A method with its options.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Method { $($(#[$doc])* $kind $({ $($(#[$field_doc])* $field: $type,)* })?,)* }

        impl MethodKind {
            /// Every method, that of others included.
            pub(super) const EVERY: &'static [Self] = &[$(Self::$kind,)*];

            /// What is known of it.
            pub fn facts(self) -> &'static Facts {
                const FACTS: &[Facts] =
                    &[$(Facts { name: $name, options: &[$($(&$option,)*)?], ..$facts },)*];
                &FACTS[self as usize]
            }

            /// The method with these values of its options.
            pub fn with(self, value: impl Fn(&'static OptionFacts) -> Option<Value>) -> Method {
                match self {
                    $(Self::$kind => Method::$kind $({ $($field: OptionValue::read(value(&$option)),)* })?,)*
                }
            }
        }

        impl Method {
            /// The method without its options.
            pub fn kind(&self) -> MethodKind {
                match self { $(Self::$kind { .. } => MethodKind::$kind,)* }
            }

            /// Its options that have a value.
            pub fn values(&self) -> Vec<(&'static OptionFacts, Value)> {
                let all: Vec<(&'static OptionFacts, Option<Value>)> = match *self {
                    $(Self::$kind $({ $($field),* })? => vec![$($((&$option, $field.value()),)*)?],)*
                };
                all.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
            }
        }
    };
}

const fn option(key: &'static str, meaning: &'static str, kind: Kind) -> OptionFacts {
    OptionFacts { key, meaning, kind, length: false }
}

const fn length(key: &'static str, meaning: &'static str, default: u64) -> OptionFacts {
    OptionFacts { key, meaning, kind: Kind::Count(default), length: true }
}

/// Finite numbers above 0; by default what the method knows better.
const POSITIVE: Kind = Kind::Number { above: 0.0, closed: false, most: f64::INFINITY, default: None };

/// Key of the option that keeps releases at or above 0.
pub const NONNEGATIVE_KEY: &str = "nonnegative";

static NONNEGATIVE: OptionFacts = option(NONNEGATIVE_KEY, "no release is below 0", Kind::Flag);
// Defaults of lengths: see `experiments/taxi`.
static SWEEPS: OptionFacts = length("sweeps", "sweeps of the chain", 100);
static STEPS: OptionFacts =
    length("steps", "steps of the chain; of `mis` for each component of the table", 200_000);
static PROPOSAL_SCALE: OptionFacts =
    option("proposal-scale", "standard deviation of a proposal, in units of the leaves' scale", POSITIVE);
static PROPOSAL_EPSILON: OptionFacts =
    option("proposal-epsilon", "inverse scale of a proposal; by default the law's own", POSITIVE);
static A: OptionFacts = option(
    "a",
    "parameter of a double geometric proposal",
    // 1/e.
    Kind::Number { above: 0.0, closed: false, most: 0.9999, default: Some(0.367_879_441_171_442_33) },
);
static BASIS: OptionFacts = option("basis", "basis of the lattice", Kind::Name(&["smith", "reduced"]));
static BETA: OptionFacts = option(
    "beta",
    "share of the excess that the first entry of a total keeps",
    Kind::Number { above: 0.0, closed: true, most: 1.0, default: Some(0.5) },
);
static SOLVE_FOR: OptionFacts = option(
    "solve-for",
    "entries that are solved for from those that are proposed (the others are the set I): the last with independent columns, the first, \
     those with the largest counts, or with the smallest",
    Kind::Name(&["last", "first", "largest", "smallest"]),
);
static FROM: OptionFacts =
    option("from", "what proposals satisfy", Kind::Name(&["equations", "unconstrained"]));

static OWN: OptionFacts = option("own", "the method", Kind::Own);

const START: &str = "where the chain begins: twice as wide as the law's own noise, or as wide";
static STARTS: OptionFacts = option("start", START, Kind::Name(&["over-dispersed", "free-noise"]));
static PUBLISHED_STARTS: OptionFacts = option(
    "start",
    "where the chain begins: twice as wide as the law's own noise, as wide, or as its proposals",
    Kind::Name(&["over-dispersed", "free-noise", "published"]),
);

/// The four laws of hierarchies.
const FOUR: Laws = Laws {
    has: LawKind::on_hierarchies,
    why: |law| format!("{} is no law of the nodes of a hierarchy", law.name()),
};
const FOUR_INTEGERS: Laws = Laws {
    has: |law| law.on_hierarchies() && !law.is_continuous(),
    why: |law| format!("{} noise with non-negativity: {NO_CONTINUOUS_FLOORS}", law.name()),
};
const ALL: Laws = Laws { has: |_| true, why: |_| String::new() };
const INTEGERS: Laws = Laws {
    has: |law| !law.is_continuous(),
    why: |law| format!("it draws integers, and {} noise is real", law.name()),
};
const EXACT_WITHIN: Laws = Laws {
    has: |law| law != LawKind::L2,
    why: |_| {
        "the l2 law is not a product over entries: with inequalities use line-gibbs, mis or rejection".into()
    },
};
const GAUSSIANS: Laws = Laws {
    has: |law| law.needs_delta() && !law.is_continuous(),
    why: |_| "it draws discrete Gaussian laws".into(),
};
const PRODUCTS: Laws = Laws {
    has: |law| law != LawKind::L2,
    why: |_| "the l2 law is not a product over entries: there is no independent noise to draw".into(),
};
const NONE: Laws =
    Laws { has: |_| false, why: |_| "it keeps equations only, and the invariant has inequalities".into() };

const CONDITIONING: Facts = Facts {
    name: "",
    how: How::Conditioning,
    options: &[],
    on_trees: None,
    on_tables: None,
    integers: true,
    coupled: false,
    together: 1,
    words: 20,
};
const CHAIN: Facts = Facts { how: How::Chain, words: 10, ..CONDITIONING };
const IMAGING: Facts = Facts { how: How::Imaging, ..CONDITIONING };

const fn on_trees(what: &'static str, laws: Laws, nonnegative: Laws) -> Option<OnTrees> {
    Some(OnTrees { what, laws, nonnegative })
}

const fn on_tables(what: &'static str, laws: Laws, inequalities: Laws) -> Option<OnTables> {
    Some(OnTables { what, laws, inequalities })
}

methods! {
    /// Independent noise on all counts.
    Unconstrained = "unconstrained", Facts {
        how: How::Free,
        on_trees: on_trees("independent noise on all nodes; violates the invariant", FOUR, FOUR),
        on_tables: on_tables("independent noise; violates the invariant", PRODUCTS, PRODUCTS),
        ..CONDITIONING
    };
    /// Conditioning, exact.
    Exact {
        /// Releases must not be negative.
        nonnegative: bool = NONNEGATIVE,
    } = "exact", Facts {
        on_trees: on_trees("conditioning, drawn exactly, no chain; `nonnegative` with integer laws", FOUR, FOUR_INTEGERS),
        on_tables: on_tables(
            "conditioning, no chain: closed form for totals and partitions, proposals of rows for margins, dynamic \
             programming for few equations (`l1`), nearest plane and rejection (Gaussian, `l2`); with inequalities by groups of equal \
             columns with few free dimensions, and by rows for margins with bounds of entries (not for `l2`); equations that are one hierarchy, of any size, with lower bounds of its leaves or \
             without, as on trees (not for `l2`). Real laws: closed forms for totals and partitions, linear algebra \
             (`gaussian`), else and with inequalities where a component has one or two free dimensions. A cell that does not \
             fit into memory fails and names the limit",
            ALL,
            EXACT_WITHIN,
        ),
        ..CONDITIONING
    };
    /// Conditioning by line Gibbs.
    LineGibbs {
        /// Releases must not be negative.
        nonnegative: bool = NONNEGATIVE,
        /// Sweeps of the chain; none where it is coupled.
        sweeps: Option<u64> = SWEEPS,
        /// Where it begins.
        start: Start = STARTS,
    } = "line-gibbs", Facts {
        on_trees: on_trees("conditioning by a chain: exact draws along short lattice vectors", FOUR, FOUR),
        on_tables: on_tables(
            "conditioning by a chain: exact draws along pairs, swaps and short lattice vectors; one sweep is as many moves as \
             entries, or as many that can move. With inequalities only where the moves are known to connect everything: one total within bounds by \
             entry, a two-way table with lower bounds, and where the Graver basis of the group sums has at most 500 vectors; \
             real laws under all",
            ALL,
            ALL,
        ),
        coupled: true,
        words: 60,
        ..CHAIN
    };
    /// Conditioning by the published chain on a hierarchy.
    HierarchicalMh {
        /// Releases must not be negative.
        nonnegative: bool = NONNEGATIVE,
        /// Steps of the chain.
        steps: Option<u64> = STEPS,
        /// Proposal scale in units of the leaves' scale.
        proposal_scale: Option<f64> = PROPOSAL_SCALE,
        /// Where it begins.
        start: Start = STARTS,
    } = "hierarchical-mh", Facts {
        on_trees: on_trees("conditioning by a chain, the published Algorithm 1 of \"Two views\"", FOUR, FOUR),
        ..CHAIN
    };
    /// Imaging from the root down.
    TopDown = "topdown", Facts {
        on_trees: on_trees("imaging from the root down, integers >= 0, exact controlled rounding", FOUR, FOUR),
        ..IMAGING
    };
    /// Imaging by estimates from subtrees, then from the root down.
    BlueDown = "bluedown", Facts {
        on_trees: on_trees(
            "imaging by the best linear unbiased estimate of every node from its subtree, then from the root down, integers >= 0",
            FOUR,
            FOUR,
        ),
        ..IMAGING
    };
    /// Conditioning by the published chain on a lattice.
    LatticeMetropolis {
        /// Steps of the chain; none where it is coupled.
        steps: Option<u64> = STEPS,
        /// Parameter of the proposal.
        a: f64 = A,
        /// Basis of the lattice.
        basis: BasisKind = BASIS,
        /// Where it begins.
        start: Start = PUBLISHED_STARTS,
    } = "lattice-metropolis", Facts {
        on_tables: on_tables(
            "conditioning by a chain, the published Algorithm 1 of \"Integer subspace differential privacy\"",
            INTEGERS,
            NONE,
        ),
        coupled: true,
        together: LANES as u64,
        ..CHAIN
    };
    /// Conditioning, exact, by nearest plane and rejection.
    Klein = "klein", Facts {
        on_tables: on_tables("conditioning: nearest plane and rejection by name (discrete Gaussian laws)", GAUSSIANS, NONE),
        ..CONDITIONING
    };
    /// Conditioning by the published chain for inequalities.
    Mis {
        /// Steps of the chain, for each component of the table.
        steps: Option<u64> = STEPS,
        /// Inverse scale of the proposals.
        proposal_epsilon: Option<f64> = PROPOSAL_EPSILON,
        /// Which entries are solved for from the others.
        solve_for: SolveFor = SOLVE_FOR,
    } = "mis", Facts {
        on_tables: on_tables(
            "conditioning by a chain: metropolized independence, Algorithm 1 of \"Congenial differential privacy\"",
            ALL,
            ALL,
        ),
        coupled: true,
        ..CHAIN
    };
    /// Conditioning by rejection.
    Rejection {
        /// What the proposals satisfy.
        from: Source = FROM,
    } = "rejection", Facts {
        on_tables: on_tables(
            "conditioning: proposals until one keeps everything, component by component; `from` equations wants an exact sampler \
             of those, and real noise `from` unconstrained is free on independent entries",
            ALL,
            ALL,
        ),
        words: 1_000,
        ..CONDITIONING
    };
    /// Imaging by least squares.
    L2 = "l2", Facts {
        on_trees: on_trees("imaging, weighted least squares, real-valued", FOUR, FOUR),
        on_tables: on_tables("imaging, least squares, real-valued; equations only", PRODUCTS, NONE),
        integers: false,
        ..IMAGING
    };
    /// Imaging in L1, one total at a time.
    L1 {
        /// Share of its noise that the first entry keeps; 1 - beta of the excess is taken from it.
        beta: f64 = BETA,
    } = "l1", Facts {
        on_tables: on_tables(
            "imaging in L1, totals and partitions, with bounds by entry: the first entry of a total keeps `beta` of its share \
             in the excess",
            PRODUCTS,
            PRODUCTS,
        ),
        integers: false,
        ..IMAGING
    };
    /// Imaging by least squares under equations and inequalities.
    Nnl2 = "nnl2", Facts {
        on_tables: on_tables(
            "imaging, least squares under equations and inequalities; its releases meet all of them exactly, as real numbers",
            PRODUCTS,
            PRODUCTS,
        ),
        integers: false,
        words: 5_000,
        ..IMAGING
    };
    /// Imaging: least squares, then the closest integers in L1.
    L2Integer = "l2-then-integer-l1", Facts {
        on_tables: on_tables(
            "imaging, least squares, then the closest integers: totals, margins, crossing partitions and hierarchies; small systems of \
             other equations",
            PRODUCTS,
            NONE,
        ),
        ..IMAGING
    };
    /// Imaging: least squares under equations and inequalities, then the closest integers in L1.
    Nnl2Integer = "nnl2-then-integer-l1", Facts {
        on_tables: on_tables(
            "imaging, least squares under equations and inequalities, then the closest integers: for the same equations with bounds \
             by entry; small systems of others",
            PRODUCTS,
            PRODUCTS,
        ),
        words: 5_000,
        ..IMAGING
    };
    /// A method of one's own.
    External {
        /// Which one.
        own: Option<Own> = OWN,
    } = "external", Facts {
        on_trees: on_trees("a method of one's own: a program, or a type that was registered", FOUR, FOUR),
        on_tables: on_tables("a method of one's own: a program, or a type that was registered", PRODUCTS, PRODUCTS),
        words: 1_000,
        ..IMAGING
    };
}

impl MethodKind {
    /// Every method of ours.
    pub const ALL: &'static [Self] = Self::EVERY.split_at(Self::EVERY.len() - 1).0;

    /// The name in configs and results.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The method of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::EVERY.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it runs a Markov chain.
    pub fn is_chain(self) -> bool {
        self.facts().how == How::Chain
    }

    /// Whether it serves some law at a place. Errors: why not.
    pub fn somewhere(self, place: Place) -> Result<(), &'static str> {
        match (place, self.facts()) {
            (Place::Tree, Facts { on_trees: None, .. }) => {
                Err("it serves tables under an [[invariant]] only")
            }
            (Place::Table { .. }, Facts { on_tables: None, .. }) => {
                Err("it serves nodes of a hierarchy (`data.levels`) only")
            }
            _ => Ok(()),
        }
    }
}

impl Method {
    fn facts(&self) -> &'static Facts {
        self.kind().facts()
    }

    /// The name in configs and results.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    /// Whether it promises that every release is >= 0 (on hierarchies; on tables the invariant says it).
    pub fn nonnegative(&self) -> bool {
        let given = |(option, value): &(&OptionFacts, Value)| {
            option.key == NONNEGATIVE_KEY && *value == Value::Flag(true)
        };
        matches!(self, Self::TopDown | Self::BlueDown)
            || self.promises().is_some_and(|promises| promises.nonnegative)
            || self.values().iter().any(given)
    }

    /// Of a method of one's own: what it promised.
    fn promises(&self) -> Option<Promises> {
        match self {
            Self::External { own } => Some(own.map_or(Promises::default(), Own::promises)),
            _ => None,
        }
    }

    /// Whether it runs a Markov chain.
    pub fn is_chain(&self) -> bool {
        self.kind().is_chain()
    }

    /// Where its chain begins.
    pub fn start(&self) -> Start {
        match *self {
            Self::LineGibbs { start, .. }
            | Self::HierarchicalMh { start, .. }
            | Self::LatticeMetropolis { start, .. } => start,
            _ => Start::default(),
        }
    }

    /// Whether it conditions on the invariant; else it moves free noise to it, or leaves it.
    pub fn conditions(&self) -> bool {
        matches!(self.facts().how, How::Conditioning | How::Chain)
    }

    /// Whether it promises the equations.
    pub fn keeps_equations(&self) -> bool {
        self.promises().map_or(self.facts().how != How::Free, |promises| promises.invariant)
    }

    /// Whether it keeps inequalities of a table; else it keeps equations only, or nothing.
    pub fn keeps_inequalities(&self) -> bool {
        let some = |on: &OnTables| LawKind::ALL.iter().any(|law| (on.inequalities.has)(*law));
        let ours = || self.facts().on_tables.as_ref().is_some_and(some);
        self.keeps_equations() && self.promises().map_or_else(ours, |promises| promises.inequalities)
    }

    /// Whether its releases are integers if the noise is.
    pub fn keeps_integers(&self) -> bool {
        self.promises().map_or(self.facts().integers, |promises| promises.integers)
    }

    /// Whether its releases are integers under a law: it keeps the noise's, or ends with a rounding.
    pub fn releases_integers(&self, law: LawKind) -> bool {
        let rounds = matches!(self, Self::TopDown | Self::BlueDown | Self::L2Integer | Self::Nnl2Integer);
        let promised = self.promises().is_some_and(|promises| promises.integers);
        rounds || promised || (self.keeps_integers() && !law.is_continuous())
    }

    /// Length of its chain, in sweeps or steps: `None` if it runs none, or until chains meet.
    pub fn length(&self) -> Option<u64> {
        self.values().into_iter().find_map(|(option, value)| match value {
            Value::Count(n) if option.length => Some(n),
            _ => None,
        })
    }

    /// The same with a chain of open length.
    pub fn without_length(self) -> Self {
        let values = self.values();
        self.kind().with(|option| {
            let given = values.iter().find(|(other, _)| other.key == option.key).map(|&(_, value)| value);
            given.filter(|_| !option.length)
        })
    }

    /// The same with a chain of this length, if it runs one whose length is open.
    pub fn with_length(self, length: impl Fn(&OptionFacts) -> u64) -> Self {
        let values = self.values();
        self.kind().with(|option| {
            let given = values.iter().find(|(other, _)| other.key == option.key).map(|&(_, value)| value);
            given.or_else(|| option.length.then(|| Value::Count(length(option))))
        })
    }

    /// Whether it serves a law at a place; what needs tables or bases is left to the sampler. Errors: why not.
    pub fn serves(&self, law: LawKind, place: Place) -> Result<(), String> {
        self.kind().somewhere(place)?;
        let Facts { on_trees, on_tables, .. } = self.facts();
        let laws = match (place, on_trees, on_tables) {
            (Place::Tree, Some(on), _) if self.nonnegative() => on.nonnegative,
            (Place::Tree, Some(on), _) => on.laws,
            (Place::Table { inequalities: true }, _, Some(on)) => on.inequalities,
            (Place::Table { inequalities: false }, _, Some(on)) => on.laws,
            _ => return Ok(()),
        };
        let laws = match self {
            // Its proposals are independent noise.
            Self::Rejection { from: Source::Unconstrained } if law == LawKind::L2 => PRODUCTS,
            _ => laws,
        };
        if (laws.has)(law) { Ok(()) } else { Err((laws.why)(law)) }
    }

    /// The name, of a method of one's own that which it has there; and the options, as people read them.
    pub fn title(&self) -> (&str, String) {
        match self {
            Self::External { own: Some(own) } => Own::named(own.words()),
            _ => (self.name(), self.options()),
        }
    }

    /// The name with the options.
    pub fn words(&self) -> String {
        let (name, options) = self.title();
        format!("{name} {options}").trim_end().to_owned()
    }

    /// The options other than non-negativity, as `name=value` joined by commas; empty if there are none.
    pub fn options(&self) -> String {
        let values = self.values();
        let others = values.iter().filter(|(option, _)| option.key != NONNEGATIVE_KEY);
        let words = |(option, value): &(&OptionFacts, Value)| match value {
            Value::Own(own) => own.words().to_owned(),
            value => format!("{}={value}", option.key),
        };
        others.map(words).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_back_from_their_values() {
        assert_eq!(A.default(), Some(Value::Number(libm::exp(-1.0))));
        for &kind in MethodKind::ALL {
            let method = kind.with(OptionFacts::default);
            assert_eq!((method.kind(), MethodKind::named(method.name())), (kind, Some(kind)));
            let values = method.values();
            let back = kind.with(|option| {
                values.iter().find(|(other, _)| other.key == option.key).map(|&(_, value)| value)
            });
            assert_eq!(back, method, "{}", method.name());
            assert_eq!(method.length().is_some(), kind.is_chain(), "{}", method.name());
            let open = kind.with(|option| option.default().filter(|_| !option.length));
            assert_eq!(
                (open.length(), open.with_length(|_| 7).length()),
                (None, kind.is_chain().then_some(7))
            );
        }
        assert_eq!(
            MethodKind::LatticeMetropolis.with(OptionFacts::default).words(),
            "lattice-metropolis steps=200000,a=0.36787944117144233,basis=smith"
        );
    }
}
