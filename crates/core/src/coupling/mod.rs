//! Coupled chains, and what they bound: how far the law of a chain still is from its target.
//!
//! Two ways that know the kernel by its trait alone. Pairs with a lag bound the total variation distance by their meeting times
//! ([`meet`]); groups of chains with importance weights bound every f-divergence without a lag ([`harmonize()`]).

mod divergence;
mod harmonize;
mod limit;
mod meeting;
mod weights;

pub use divergence::Divergence;
pub use harmonize::{Group, MOST_CHAINS, Merge, harmonize};
pub use limit::NoLimit;
pub use meeting::{Meeting, MeetingTimes, bound_term, couple, meet, meet_all};
pub use weights::{Bound, Harmonized, Weights};
