//! What a release pays, exactly.

use super::config::{Privacy, exact};
use super::ledger::Protects;
use crate::catalogue::{Family, LawKind, noise};
use crate::failure::{Failure, Result};
use crate::invariant::Hierarchy;
use congenial_exact_noise::{Base, Law, Ratio};

/// What the scales of all counts may add up to.
const WIDE: f64 = (1u64 << 46) as f64;

/// What a release pays, and the noise that it pays for.
#[derive(Debug, Clone)]
pub struct Statement {
    /// By level, the base of its noise; `None` of a known one.
    pub bases: Vec<Option<Base>>,
    /// Whether the loss is rho; else it is epsilon.
    pub is_rho: bool,
    /// By level, how many of its counts a moved or added record changes at most.
    changed: Vec<u64>,
    records: u64,
}

impl Statement {
    /// The noise of every level, so wide that the protected change pays at most what it may.
    ///
    /// A record that is added changes one count of each level by 1; one that is moved two, from the first level on which there is a
    /// choice. With k records a change pays k times as much epsilon, and k² times as much rho. Each level gets its share of the loss by
    /// `split`, on the assumption that the change is made on all levels that are not known: what it pays may be less.
    ///
    /// Refused: a loss so small that there is no such noise, or one of a scale beyond 2^40, or that noise on so many counts could leave
    /// 2^53 (`λ n > 2^46` in all, so that all of it together stays within 2^52 but for a chance below `2 n e^-64`); a tree on which no
    /// such change is possible.
    pub fn new(privacy: &Privacy, tree: &Hierarchy) -> Result<Self> {
        let is_rho = privacy.law.family() == Family::DiscreteGaussian;
        let both = if privacy.protects == Protects::Moved { 2 } else { 1 };
        let known = tree.levels() - privacy.split.len();
        let times = weight(privacy.records, is_rho).saturating_mul(both);
        let base = |&(above, below): &(u64, u64)| {
            Base::from_loss(&privacy.loss.times(above).per(below)?.per(times)?)
        };
        let refused = |e| Failure::Usage(format!("privacy: {e}"));
        let mut bases = vec![None; known];
        for (share, level) in privacy.split.iter().zip(known..) {
            // Where each count follows from known ones, there is no noise.
            let base = base(share).map_err(refused)?;
            bases.push(Some(base).filter(|_| !tree.is_level_known(level)));
        }
        // A node that is the only child of a known one is known, too.
        let choice = |level: &usize| tree.level_nodes(level - 1).any(|v| tree.children(v).len() > 1);
        let first = match privacy.protects {
            Protects::Added => Some(0),
            Protects::Moved => (known.max(1)..tree.levels()).find(choice),
        };
        let Some(first) = first else {
            let message =
                "privacy.protects: no record can be moved: below what is known each node has one child";
            return Err(Failure::Usage(message.into()));
        };
        let changed =
            (0..tree.levels()).map(|level| if level < first.max(known) { 0 } else { both }).collect();
        let statement = Self { bases, is_rho, changed, records: privacy.records };
        let key = if is_rho { "privacy.rho" } else { "privacy.epsilon" };
        let without = |&level: &usize| {
            statement.bases[level].is_some() && noise(privacy.law, statement.scale(level)).is_none()
        };
        if let Some(level) = (0..tree.levels()).find(without) {
            let message = format!(
                "{key}: the noise of level {level} (the total's is 0) would have the scale {:.1e}, want at most 2^40: a larger loss",
                statement.scale(level)
            );
            return Err(Failure::Usage(message));
        }
        let wide: f64 =
            (0..tree.levels()).map(|l| statement.scale(l) * tree.level_nodes(l).len() as f64).sum();
        if wide > WIDE {
            let message = format!(
                "{key}: the noise of all counts would add up to some {wide:.1e}, want at most {WIDE:.1e}: a larger loss, or fewer leaves"
            );
            return Err(Failure::Usage(message));
        }
        Ok(statement)
    }

    /// The law of the noise of a level's counts; `None` of a known level.
    pub fn law(&self, level: usize) -> Option<Law> {
        let law = if self.is_rho { Law::DiscreteGaussian } else { Law::DoubleGeometric };
        self.bases[level].map(law)
    }

    /// The scale of that in floating point: lambda, `-1 / ln q`, or sigma, `sqrt(-1 / (2 ln q))`; 0 of a known level.
    pub fn scale(&self, level: usize) -> f64 {
        let lambda = |base: Base| -1.0 / libm::log(base.mantissa() as f64 / (1u64 << 48) as f64);
        match (self.bases[level], self.is_rho) {
            (None, _) => 0.0,
            (Some(base), false) => lambda(base),
            (Some(base), true) => libm::sqrt(0.5 * lambda(base)),
        }
    }

    /// The standard deviation of the noise of one count of a level, free, in counts; 0 of a known level.
    pub fn deviation(&self, law: LawKind, level: usize) -> f64 {
        match self.bases[level] {
            None => 0.0,
            Some(_) => noise(law, self.scale(level)).map_or(f64::NAN, |noise| libm::sqrt(noise.variance())),
        }
    }

    /// What the change pays of so many records, rounded up to 2^-96.
    pub fn of_records(&self, records: u64) -> Ratio {
        let levels = self.bases.iter().zip(&self.changed);
        let each = |(base, &changed): (&Option<Base>, &u64)| base.map(|base| base.loss().times(changed));
        let sum = levels.filter_map(each).fold(exact(0, 1), |sum, loss| sum.plus(&loss));
        sum.times(weight(records, self.is_rho))
    }

    /// What the protected change pays.
    pub fn unit(&self) -> Ratio {
        self.of_records(self.records)
    }
}

/// How many times as much so many records pay as one.
fn weight(records: u64, is_rho: bool) -> u64 {
    if is_rho { records.saturating_mul(records) } else { records }
}
