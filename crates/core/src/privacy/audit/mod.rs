//! What draws alone prove of a privacy loss: a lower confidence bound, whatever the method does.
//!
//! Two tables x and x' differ by one change. If releases are (epsilon, delta)-private between them, then
//! `P(S) <= e^epsilon Q(S) + delta` for every set S of releases, where P and Q are the laws of the releases of x and of
//! x'. So a set that comes about with P at least `low` and with Q at most `high` proves a loss of
//! `ln((low - delta)/high)` at least. A set is looked for on some draws ([`choose`]) and judged on others
//! ([`Event::judge`]), with the limits of Clopper and Pearson: what is found exceeds what is paid with a probability of
//! `level` at most.
//!
//! The best sets are those in which the likelihood ratio P/Q is large (Neyman and Pearson). Where the law of the noise is
//! known, its ratio is one of the scores; others are learned from draws ([`Score::learned`]): of single counts, of the
//! sums and differences of two, and of several together.

mod claim;
mod event;
mod score;

#[cfg(test)]
mod tests;

pub use claim::Claim;
pub use event::{Event, Found, choose};
pub use score::{Columns, Form, Score};
