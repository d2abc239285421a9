//! What is checked, and what was found.

use super::belief::{Belief, Event};
use super::space::Space;
use congenial_core::Result;

/// How a belief changes when an event is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Belief revision: `P(. | C)`.
    Conditioning,
    /// Belief update: every world's probability moves to the closest world of `C`.
    Imaging,
}

impl Operator {
    /// Both operators, in the order of the rows of Table 1.
    pub const ALL: [Self; 2] = [Self::Conditioning, Self::Imaging];

    /// The name of the operator in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conditioning => "conditioning",
            Self::Imaging => "imaging",
        }
    }

    /// The belief after learning the event; refused when it has probability 0 (conditioning) or no world (imaging).
    pub fn apply(self, belief: &Belief, space: &Space, event: Event) -> Result<Belief> {
        match self {
            Self::Conditioning => belief.conditioned(event),
            Self::Imaging => belief.moved(&space.closest(event)?, space.worlds()),
        }
    }
}

/// A column of Table 1 of "Two views", or a statement beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// The changed mechanism is as private as the mechanism, for any event.
    PrivacyPreserving,
    /// The changed mechanism is as private as the mechanism, for an event given by linear equations and additive noise.
    PrivacyPreservingLinear,
    /// A function of the changed mechanism is as private as the changed mechanism.
    Postprocessing,
    /// The levels of changed mechanisms add up.
    BasicComposition,
    /// The change by a disjoint union is a mixture of the changes by its parts.
    DisjointUnion,
    /// The change of a mixture is the mixture of the changes.
    Mixture,
    /// The changed belief is the closest one that is sure of the event.
    Minimum,
    /// The statement stands beside the columns of Table 1.
    Other,
    /// Something was counted in two ways, which agree.
    Counting,
}

impl Property {
    /// The columns, in the order of Table 1; its last one, on algorithms, is not a property.
    pub const COLUMNS: [Self; 7] = [
        Self::PrivacyPreserving,
        Self::PrivacyPreservingLinear,
        Self::Postprocessing,
        Self::BasicComposition,
        Self::DisjointUnion,
        Self::Mixture,
        Self::Minimum,
    ];

    /// The name of the property in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrivacyPreserving => "privacy preserving",
            Self::PrivacyPreservingLinear => "privacy preserving, linear equalities",
            Self::Postprocessing => "postprocessing",
            Self::BasicComposition => "basic composition",
            Self::DisjointUnion => "disjoint-union composition",
            Self::Mixture => "mixture composition",
            Self::Minimum => "minimum principle",
            Self::Other => "other",
            Self::Counting => "counting",
        }
    }
}

/// One checked statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The statement, by its number in "Two views" or the words for it.
    pub statement: &'static str,
    /// The operator it is about.
    pub operator: Operator,
    /// The column of Table 1 that it belongs to.
    pub property: Property,
    /// What the paper says; for a statement that is not in the paper, what is proved in its place here.
    pub claim: bool,
    /// What was found: `worst <= tolerance`.
    pub holds: bool,
    /// The number of examples that were tried.
    pub cases: u64,
    /// The largest deviation from the statement, negative when there is always room: the error of a tick, the size of
    /// the counterexample of a cross.
    pub worst: f64,
    /// Rounding that is allowed.
    pub tolerance: f64,
    /// Where the largest deviation was met, or what was measured.
    pub evidence: String,
}

impl Finding {
    /// Tells whether the computation agrees with the claim.
    pub fn agrees(&self) -> bool {
        self.claim == self.holds
    }
}

/// The name of a statement and what is said of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub statement: &'static str,
    pub operator: Operator,
    pub property: Property,
    pub claim: bool,
}

/// Deviations seen so far.
#[derive(Debug)]
pub(super) struct Tally {
    cases: u64,
    worst: f64,
    place: String,
}

impl Tally {
    pub fn new() -> Self {
        Self { cases: 0, worst: f64::NEG_INFINITY, place: String::new() }
    }

    /// Takes in one more example. A deviation that is no number counts as infinite.
    pub fn see(&mut self, deviation: f64, place: impl FnOnce() -> String) {
        let deviation = if deviation.is_nan() { f64::INFINITY } else { deviation };
        self.cases += 1;
        if deviation > self.worst {
            (self.worst, self.place) = (deviation, place());
        }
    }

    /// The verdict; `measured` stands before the place of the largest deviation.
    pub fn finding(self, claim: Claim, tolerance: f64, measured: &str) -> Finding {
        let Claim { statement, operator, property, claim } = claim;
        let holds = self.cases > 0 && self.worst <= tolerance;
        let evidence = format!("{measured}; largest at {}", self.place);
        Finding {
            statement,
            operator,
            property,
            claim,
            holds,
            cases: self.cases,
            worst: self.worst,
            tolerance,
            evidence,
        }
    }
}
