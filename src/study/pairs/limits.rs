//! Upper limits of the distance of a chain's law to its target.

use crate::Result;
use crate::catalogue::unsupported;
use crate::catalogue::{IntegerNoise, Method, OnLaw, RealNoise};
use crate::coupling::MeetingTimes;
use crate::grid::{Cell, Plan};
use crate::input::Subject;
use crate::kernel::{Forgetting, MetropolizedIndependence};
use crate::law::{EuclideanLaplace, LatticeLaw};
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
    /// Of a cell with a chain.
    pub(in crate::study) fn of(plan: &Plan, cell: &Cell) -> Self {
        let Method::Mis { .. } = cell.method else { return Self::Pairs };
        match cell.law.on(Mis { plan, cell }) {
            Ok(Some(forgetting)) => Self::Weights(forgetting),
            Ok(None) => Self::Unknown(
                "its proposals are narrower than the law, so no number of pairs shows the states where it stays longest (want a smaller proposal-epsilon)".into(),
            ),
            Err(why) => Self::Unknown(why.to_string()),
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

/// The weights of `mis`.
struct Mis<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
}

impl Mis<'_> {
    fn on_table<L: LatticeLaw>(self, law: L) -> Result<Option<Forgetting>> {
        let (Subject::Table(table), Method::Mis { proposal_epsilon, solve_for, .. }) =
            (&self.plan.subject, &self.cell.method)
        else {
            return Err(unsupported(self.cell.method.name(), "the weights of its proposals"));
        };
        let rate = proposal_epsilon.unwrap_or(1.0 / law.scale());
        let dependent = solve_for.dependent(&table.invariant, &table.counts)?;
        let (invariant, region) = (&table.invariant, Some(&table.region));
        let kernel = MetropolizedIndependence::new(invariant, region, law, rate, dependent.as_deref())?;
        // No release or pair has this number.
        let key =
            TaskKey { seed: self.cell.seed, cell: self.cell.streams, replicate: u64::MAX, role: Role::Moves };
        Ok(kernel.forgetting(ALPHA, &mut stream(key)))
    }
}

impl OnLaw for Mis<'_> {
    type Output = Option<Forgetting>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let scale = self.cell.calibration.scales[0];
        self.on_table(law(scale)?)
    }

    fn reals<L: RealNoise>(self, _: fn(f64) -> Result<L>) -> Result<Self::Output> {
        Err(unsupported(self.cell.method.name(), self.cell.law.name()))
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        let scale = self.cell.calibration.scales[0];
        self.on_table(law(scale)?)
    }
}
