//! What ends a draw, or does not begin one.

use std::fmt;

/// What was refused, or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// `what` is `got`; it must be `want`.
    Parameter {
        /// The name of the parameter.
        what: &'static str,
        /// What was given.
        got: String,
        /// What is taken.
        want: &'static str,
    },
    /// `what` would take `needed`, and at most `limit` is served.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size, at least.
        needed: u64,
        /// The largest size.
        limit: u64,
    },
    /// The source of random bits failed, now or before. Nothing may be released.
    Source(String),
    /// Noise beyond 2^61. Nothing may be released.
    Beyond,
    /// What must hold did not: a bug. Nothing may be released.
    Bug(&'static str),
}

/// A result with the [`Error`] of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A parameter that is refused.
    pub(crate) fn parameter(what: &'static str, got: impl fmt::Display, want: &'static str) -> Self {
        Self::Parameter { what, got: got.to_string(), want }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { what, got, want } => write!(f, "{what}: got {got}, want {want}"),
            Self::TooLarge { what, needed, limit } => write!(f, "{what}: {needed}, at most {limit}"),
            Self::Source(why) => write!(f, "the source of random bits failed: {why}"),
            Self::Beyond => write!(f, "noise beyond 2^61"),
            Self::Bug(what) => write!(f, "a bug in congenial-exact-noise: {what}"),
        }
    }
}

impl std::error::Error for Error {}
