//! The one error type of the mathematical core.

/// Sizes from here on are not counted.
const UNCOUNTED: u64 = 1_000_000_000_000_000_000;

/// A size in words.
fn amount(needed: u64) -> String {
    if needed < UNCOUNTED { needed.to_string() } else { "far more".into() }
}

/// What the core refuses. Every message carries the value and what was wanted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range.
    #[error("{name}: got {got}, want {want}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        got: String,
        /// What is accepted.
        want: &'static str,
    },
    /// The parts of an input do not fit together.
    #[error("hierarchy: {0}")]
    Hierarchy(String),
    /// Something at a node of a hierarchy, which is numbered from 0; the message has it from 1.
    #[error("hierarchy: node {} {why}", node + 1)]
    AtNode {
        /// The node.
        node: usize,
        /// What is wrong there.
        why: String,
    },
    /// Something in the table of an area of a tree, whose node is numbered from 0; the name has it from 1, unless it was
    /// [named][Self::of_areas].
    #[error("{name}: {why}")]
    InArea {
        /// The node.
        node: usize,
        /// The area in words.
        name: String,
        /// What is wrong there.
        why: Box<Error>,
    },
    /// A model of counts that cannot be fitted.
    #[error("model: {0}")]
    Model(String),
    /// A system of equations that cannot be an invariant, or whose solution does not fit into 64 bits.
    #[error("invariant: {0}")]
    Invariant(String),
    /// The method does not exist for this law or these inequalities.
    #[error("method `{method}` cannot serve {what}: {reason}")]
    Unsupported {
        /// The method.
        method: &'static str,
        /// The law or inequality that it cannot serve.
        what: String,
        /// Why.
        reason: &'static str,
    },
    /// A table that the method needs is larger than its limit.
    #[error("{what} needs {} {unit}, the limit is {limit}", amount(*needed))]
    TooLarge {
        /// The table.
        what: String,
        /// The size of the table; 10^18 says that or more.
        needed: u64,
        /// The limit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
    /// The method does not serve this, and another one does.
    #[error("{why}; `{instead}` serves it")]
    Instead {
        /// Why the method does not serve it.
        why: Box<Error>,
        /// The method that serves it.
        instead: &'static str,
    },
    /// A Markov chain made no move: its last state is its first.
    #[error(
        "the chain never moved in {steps} steps: it would release its starting point, which is refused \
         (more steps, or another proposal scale)"
    )]
    NeverMoved {
        /// Steps that were tried.
        steps: u64,
    },
    /// A release does not satisfy its invariant.
    #[error("the release violates its invariant: residual {residual} at {place}")]
    InvariantViolated {
        /// The equation that fails, or the node whose children do not sum to it or that is negative.
        place: String,
        /// By how much the equation or the node fails.
        residual: String,
    },
    /// A method of one's own failed.
    #[error("{0}")]
    Own(String),
    /// A solver found no answer that passes its own check.
    #[error("{what} did not converge: {residuals}")]
    NotConverged {
        /// What was to be solved.
        what: &'static str,
        /// What is left, relative to the size of the problem.
        residuals: String,
    },
}

impl Error {
    /// Makes the error of a value outside its range: its name, the value, and what is wanted.
    pub fn parameter(name: &'static str, got: impl ToString, want: &'static str) -> Self {
        Self::Parameter { name, got: got.to_string(), want }
    }

    /// Makes the error of a release that breaks its invariant: where, and by how much.
    pub(crate) fn violated(place: impl ToString, residual: impl ToString) -> Self {
        Self::InvariantViolated { place: place.to_string(), residual: residual.to_string() }
    }

    /// This error with the area that it is in.
    pub fn in_area(self, node: usize) -> Self {
        Self::InArea { node, name: format!("node {}", node + 1), why: self.into() }
    }

    /// This error with the area that it is in, if any, in the words of who knows the tree.
    pub fn of_areas(self, words: impl FnOnce(usize) -> String) -> Self {
        match self {
            Self::InArea { node, why, .. } => Self::InArea { node, name: words(node), why },
            other => other,
        }
    }

    /// Makes the error of an invariant that leaves no noise but 0.
    pub(crate) fn no_free_dimension() -> Self {
        Self::Invariant("no free dimension: the invariant fixes every entry".into())
    }
}

/// Result of the core.
pub type Result<T> = std::result::Result<T, Error>;
