//! Coupled pairs of chains: drawn by a study of meetings, and by releases that certify their chains.

mod asked;
pub(in crate::study) mod divergences;
mod draw;
mod limits;
pub(in crate::study) mod marginals;
mod times;

pub use asked::{Groups, Meetings, Pairs};
pub use divergences::{DivergenceRow, DivergenceTimesRow};
pub(in crate::study) use draw::{certify, prepare};
pub(in crate::study) use limits::Limits;
pub use marginals::{EntryMarginalRow, MarginalRow};
pub(in crate::study) use times::half_decades;

use self::marginals::Samples;
use crate::coupling::{Group, Meeting as Met};
use serde::{Deserialize, Serialize};

/// A pair as it is drawn: its number and what happened.
pub(in crate::study) type Pair = (u64, Met);

/// A part of what is computed once a cell.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::study) enum Part {
    /// Samples for the comparison of marginals.
    Samples(Samples),
    /// Groups of chains that share weights.
    Groups(Vec<Group>),
}
