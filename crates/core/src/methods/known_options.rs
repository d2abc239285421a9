//! Options that several methods have, and how one is declared.

use super::options::{Kind, OptionFacts};

/// An option with this key, meaning and kind of values.
pub(super) const fn option(key: &'static str, meaning: &'static str, kind: Kind) -> OptionFacts {
    OptionFacts { key, meaning, kind, length: false, is_silent: false }
}

/// An option whose default, a name, is no part of what a cell is.
pub(super) const fn silent(key: &'static str, meaning: &'static str, kind: Kind) -> OptionFacts {
    OptionFacts { is_silent: true, ..option(key, meaning, kind) }
}

/// The option of the length of a chain.
pub(super) const fn length(key: &'static str, meaning: &'static str, default: u64) -> OptionFacts {
    OptionFacts { key, meaning, kind: Kind::Count(default), length: true, is_silent: false }
}

/// Values that are finite numbers above 0; by default what the method knows better.
pub(super) const POSITIVE: Kind =
    Kind::Number { above: 0.0, closed: false, most: f64::INFINITY, default: None };

/// Key of the option that says where a chain begins.
pub(super) const START: &str = "start";

/// Key of the option that keeps releases at or above 0.
pub const NONNEGATIVE_KEY: &str = "nonnegative";

pub(super) static NONNEGATIVE: OptionFacts = option(NONNEGATIVE_KEY, "no release is below 0", Kind::Flag);
pub(super) static STEPS: OptionFacts =
    length("steps", "steps of the chain; of `mis` for each component of the table", 200_000);

pub(super) static STARTS: OptionFacts = silent(
    START,
    "where the chain begins: twice as wide as the law's own noise, or as wide",
    Kind::Name(&["over-dispersed", "free-noise"]),
);
