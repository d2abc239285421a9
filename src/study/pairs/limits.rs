//! Upper limits of the distance of a chain's law to its target.

use crate::coupling::MeetingTimes;
use crate::grid::{Cell, Plan};
use crate::kernel::Forgetting;
use crate::rng::{Role, TaskKey, stream};

/// Limits hold with the probability `1 - ALPHA`.
const ALPHA: f64 = 0.05;

/// What gives the limits of a cell.
#[derive(Debug)]
pub(in crate::study) enum Limits {
    /// Its pairs: see [`MeetingTimes::limit`].
    Pairs,
    /// The weights of `mis`, whatever its pairs show: see [`Forgetting::distance`].
    Weights(Forgetting),
    /// Nothing: why.
    Unknown(String),
}

impl Limits {
    /// What gives the limits of a cell with a chain.
    pub(in crate::study) fn of(plan: &Plan, cell: &Cell) -> Self {
        // No release or pair has this number.
        let key = TaskKey { seed: cell.at.seed, cell: cell.streams, replicate: u64::MAX, role: Role::Moves };
        match cell.at.method.forgetting(&cell.problem(&plan.subject), ALPHA, &mut stream(key)) {
            None => Self::Pairs,
            Some(Ok(Some(forgetting))) => Self::Weights(forgetting),
            Some(Ok(None)) => Self::Unknown(
                "its proposals are narrower than the law, so no number of pairs shows the states where it stays \
                    longest (want a smaller proposal-epsilon)".into(),
            ),
            Some(Err(why)) => Self::Unknown(why.to_string()),
        }
    }

    /// After `t` steps. Errors: why there is none.
    pub(in crate::study) fn limit(&self, times: &MeetingTimes, t: u64) -> std::result::Result<f64, String> {
        match self {
            Self::Pairs => times.limit(t, ALPHA).map_err(|why| why.to_string()),
            Self::Weights(forgetting) => Ok(forgetting.distance(t)),
            Self::Unknown(why) => Err(why.clone()),
        }
    }
}
