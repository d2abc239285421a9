//! What is stated of two tables, and what bounds of two probabilities say of it.

use super::super::{Profile, sampling_delta};

/// Pieces into which a curve is cut.
const PIECES: u32 = 64;

/// What is stated of the loss between two tables: pairs of epsilon and delta, each of which is to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim(Vec<(f64, f64)>);

/// What bounds of two probabilities prove.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proof {
    /// The delta that is meant.
    pub(super) delta: f64,
    /// The epsilon that is stated at it; infinite where none is.
    pub(super) stated: f64,
    /// The least epsilon that is paid at it; below 0 where nothing is proved.
    pub(super) at_least: f64,
}

impl Proof {
    /// What is proved as a share of what is stated, above 1 where it is more; by itself where nothing is stated.
    pub(super) fn share(&self) -> f64 {
        match self.stated {
            f64::INFINITY => self.at_least,
            0.0 if self.at_least > 0.0 => f64::INFINITY,
            0.0 => f64::NEG_INFINITY,
            stated => self.at_least / stated,
        }
    }
}

impl Claim {
    /// epsilon at one delta.
    pub fn at(epsilon: f64, delta: f64) -> Self {
        Self(vec![(epsilon, delta)])
    }

    /// Nothing: what is found is told at delta 0.
    pub fn nothing() -> Self {
        Self::at(f64::INFINITY, 0.0)
    }

    /// A whole curve: the delta of 65 epsilons from 0 to that of a given delta.
    pub fn of_curve(curve: &Profile, delta: f64) -> Self {
        let end = curve.epsilon(delta);
        if !end.is_finite() {
            return Self::at(end, delta);
        }
        let at = |k: u32| f64::from(k) / f64::from(PIECES) * end;
        Self((0..=PIECES).map(at).map(|epsilon| (epsilon, curve.delta(epsilon))).collect())
    }

    /// The same of draws whose law is within a total variation error of the one that is meant: delta grows by
    /// [`sampling_delta`].
    pub fn with_error(mut self, tv_error: f64) -> Self {
        for (epsilon, delta) in self.0.iter_mut().filter(|(epsilon, _)| epsilon.is_finite()) {
            *delta = (*delta + sampling_delta(*epsilon, tv_error)).min(1.0);
        }
        self
    }

    /// What `low <= P(S)` and `Q(S) <= high` prove, at that delta of the claim where it says most against it.
    pub(super) fn against(&self, low: f64, high: f64) -> Proof {
        let proof = |&(stated, delta): &(f64, f64)| {
            let above = low - delta;
            let at_least = if above > 0.0 { libm::log(above / high) } else { f64::NEG_INFINITY };
            Proof { delta, stated, at_least }
        };
        let all = self.0.iter().map(proof);
        all.max_by(|a, b| a.share().total_cmp(&b.share())).expect("a claim says something")
    }
}
