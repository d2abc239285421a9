//! What releases pay together.
//!
//! A release with noise of a pure law is L-private for the change that the ledger protects; one with discrete Gaussian noise, under
//! equations alone, rho-zCDP. Releases follow each other, and what is asked of the next may depend on all before.
//!
//! - **Pure losses add**, as rational numbers (Rogers, Roth, Ullman, Vadhan 2016 for losses that are chosen on the way).
//! - **Rho adds** (Bun, Steinke 2016; Feldman, Zrnic 2021 for a rho that is chosen on the way). Of a pure release `rho <= L tanh(L/2)`,
//!   that of randomised response, is taken: noise that is conditioned on a known total attains it, where the rho of free noise, up to
//!   half of it, would be too small (`congenial_core::privacy`, the file of `rho_bound`).
//! - **(epsilon, delta)** follows from the sum of rho by Canonne, Kamath, Steinke 2020, Prop. 12; if all releases are pure, the sum of
//!   their losses does, too, and the smaller one is taken.
//!
//! **That the smaller one may be taken**, though which it is may depend on what was released: let A be all courses of releases that end
//! with pure losses within epsilon, B the others, whose rho is within the limit at their end and so all the way. On A the loss is at
//! most epsilon at every point: `P(S ∩ A) <= e^ε Q(S ∩ A)`. Stop every course before its rho would exceed the limit: what is then
//! released is (epsilon, delta)-private and the same on B, so that `P(S ∩ B) <= e^ε Q(S ∩ B) + δ`. The two add up. A third bound
//! (pure losses beside the rho of the others) could add a second delta; it is not taken.
//!
//! **Rounding.** Sums and comparisons are exact. A loss or a rho that enters a formula is the next f64 raised by a part of 4·10^-16,
//! delta one lowered by a part of 9·10^-16. `rho_bound` and Prop. 12 round up by themselves, by more than their own roundings; what they
//! return is raised again, by a part of 10^-12, and by 10^-19 once it is a rational number.

use super::exact::{Exact, above, not_above, not_below, trimmed};
use super::limit::Limit;
use crate::failure::{Failure, Result};
use crate::privacy::{Accountant, rho_bound};
use congenial_exact_noise::Ratio;
use serde::{Deserialize, Serialize};

/// What raises a figure that was computed.
const MARGIN: f64 = 1.0 + 1e-12;
/// Above this loss `L tanh(L/2)` is L, but for a part of e^-64.
const LARGE: u64 = 64;

/// What a release pays for one change of the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pays {
    /// The pure loss; of a discrete Gaussian there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss: Option<Exact>,
    /// The rho, or what bounds it.
    rho: Exact,
}

impl Pays {
    /// A pure loss for the change, all counts that it touches together. Rho is `L tanh(L/2)`, rounded up. Refused: a loss beyond 10^39.
    pub fn pure(loss: &Ratio) -> Result<Self> {
        let loss = Exact::up(loss)?;
        let is_large = loss.value() > &Ratio::new(LARGE, 1).expect("a denominator of 1");
        let bound = above(rho_bound(not_below(loss.value())) * MARGIN).filter(|_| !is_large);
        let rho = Exact::up(&bound.unwrap_or_else(|| loss.value().clone()))?;
        Ok(Self { loss: Some(loss), rho })
    }

    /// A rho for the change, of discrete Gaussian noise under equations alone: `Σ u_v² / (2 sigma_v²)` over the counts that it touches.
    /// Refused: a rho beyond 10^39.
    pub fn concentrated(rho: &Ratio) -> Result<Self> {
        Ok(Self { loss: None, rho: Exact::up(rho)? })
    }

    /// The pure loss, if it has one.
    pub fn loss(&self) -> Option<&Ratio> {
        self.loss.as_ref().map(Exact::value)
    }

    /// The rho, or what bounds it.
    pub fn rho(&self) -> &Ratio {
        self.rho.value()
    }
}

/// What some releases pay together.
#[derive(Debug, Clone)]
pub struct Account {
    losses: Ratio,
    is_pure: bool,
    rho: Ratio,
}

/// The most that one release more may pay: decimals, rounded down to 9 places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The largest pure loss.
    pub loss: String,
    /// The largest rho of a discrete Gaussian; `None` where none may be released.
    pub rho: Option<String>,
}

/// One unit of what is left, over 10^9.
const BILLION: u64 = 1_000_000_000;

impl Account {
    /// What the releases pay together.
    pub fn of<'a>(releases: impl IntoIterator<Item = &'a Pays>) -> Self {
        let zero = Ratio::new(0, 1).expect("a denominator of 1");
        let none = Self { losses: zero.clone(), is_pure: true, rho: zero };
        releases.into_iter().fold(none, |account, pays| account.with(pays, 1))
    }

    /// What is spent with a release more, so many times.
    pub fn with(&self, pays: &Pays, times: u64) -> Self {
        let losses = pays.loss().map(|loss| self.losses.plus(&loss.times(times)));
        Self {
            is_pure: self.is_pure && (losses.is_some() || times == 0),
            losses: losses.unwrap_or_else(|| self.losses.clone()),
            rho: self.rho.plus(&pays.rho().times(times)),
        }
    }

    /// What is paid of a limit, in its own figure: the loss, the epsilon at its delta, or rho. `None`: more than any limit of its kind,
    /// such as a discrete Gaussian under one of pure losses.
    pub fn spent(&self, limit: &Limit) -> Option<Ratio> {
        match limit {
            Limit::Pure { .. } => self.is_pure.then(|| self.losses.clone()),
            Limit::Concentrated { .. } => Some(self.rho.clone()),
            Limit::Approximate { delta, .. } => {
                let losses = self.is_pure.then(|| self.losses.clone());
                losses.into_iter().chain(self.epsilon(delta.value())).min()
            }
        }
    }

    /// Whether a limit is kept.
    pub fn is_within(&self, limit: &Limit) -> bool {
        let most = match limit {
            Limit::Pure { epsilon } | Limit::Approximate { epsilon, .. } => epsilon,
            Limit::Concentrated { rho } => rho,
        };
        self.spent(limit).is_some_and(|spent| &spent <= most.value())
    }

    /// The epsilon that follows from rho at a delta of at least 10^-40, rounded up; `None` beyond some 10^59.
    pub fn epsilon(&self, delta: &Ratio) -> Option<Ratio> {
        if self.rho == Ratio::new(0, 1).expect("a denominator of 1") {
            return Some(self.rho.clone());
        }
        above(Accountant::Zcdp.epsilon(not_below(&self.rho), not_above(delta)) * MARGIN)
    }

    /// What is left of a limit for one release more. Both figures are of a release alone: one or the other.
    pub fn left(&self, limit: &Limit) -> Left {
        let most = |pays: fn(&Ratio) -> Result<Pays>| {
            let fits = |units: u64| {
                let pays = Ratio::new(units, BILLION).ok().and_then(|amount| pays(&amount).ok());
                pays.is_some_and(|pays| self.with(&pays, 1).is_within(limit))
            };
            let units = largest(u64::MAX / 2, fits);
            trimmed(&format!("{}.{:09}", units / BILLION, units % BILLION))
        };
        let rho = (!limit.is_pure()).then(|| most(Pays::concentrated));
        Left { loss: most(Pays::pure), rho }
    }

    /// How many releases more of this kind the limit takes, up to a million.
    pub fn more(&self, pays: &Pays, limit: &Limit) -> u64 {
        largest(1_000_000, |times| self.with(pays, times).is_within(limit))
    }

    /// Refuses a release that would exceed the limit, or has no pure loss where one is wanted.
    pub(super) fn check(&self, pays: &Pays, limit: &Limit) -> Result<()> {
        if self.with(pays, 1).is_within(limit) {
            return Ok(());
        }
        let asked = match (&pays.loss, limit.is_pure()) {
            (None, true) => {
                let message = format!(
                    "the limit {limit} is one of pure losses, and discrete Gaussian noise has none: want a double geometric law, or \
                     a ledger with a limit of rho or of epsilon and delta"
                );
                return Err(Failure::Usage(message));
            }
            (Some(loss), true) => format!("a loss of {}", decimals(loss.value())),
            (Some(loss), false) => {
                format!("a loss of {} (rho {})", decimals(loss.value()), decimals(pays.rho()))
            }
            (None, false) => format!("rho {}", decimals(pays.rho())),
        };
        let Left { loss, rho } = self.left(limit);
        let left = match rho {
            None => format!("a loss of {loss}"),
            Some(rho) => format!("a pure loss of {loss}, or rho {rho}"),
        };
        Err(Failure::Usage(format!("the release asks for {asked}, and of the limit {limit} is left {left}")))
    }
}

/// Nine decimals, rounded up.
fn decimals(value: &Ratio) -> String {
    trimmed(&value.rounded_up(9))
}

/// The largest number up to `most` that fits, where all smaller ones do; 0 if none does.
fn largest(most: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(text: &str) -> Ratio {
        Exact::parse(text).unwrap().value().clone()
    }

    fn limit(text: &str) -> Limit {
        Limit::parse(text).unwrap()
    }

    fn float(value: &Ratio) -> f64 {
        value.rounded_up(25).parse().unwrap()
    }

    /// `sup_α D_α/α` of randomised response with the loss L, by its two outcomes, over orders from 1.00001 to 10^5: what is charged is
    /// never below it, and hardly above.
    #[test]
    fn rho_is_that_of_randomised_response() {
        for text in ["1e-6", "1/1000", "0.1", "1/2", "1", "2", "4", "10", "30", "63.9"] {
            let loss = float(&ratio(text));
            let yes = 1.0 / (1.0 + libm::exp(-loss));
            let no = libm::exp(-loss) * yes;
            let at = |t: f64| {
                // ln E_P e^(tL) / (t (t + 1)), α = 1 + t.
                let moment = libm::log(yes) + t * loss + libm::log1p(no / yes * libm::exp(-2.0 * t * loss));
                // Of a difference near 0 some digits are lost.
                (moment / (t * (t + 1.0)), 4e-16 * (1.0 + t * loss) / (t * (t + 1.0)))
            };
            let orders = (-460..=460).map(|k| libm::exp(0.025 * f64::from(k)));
            let most = orders.map(at).map(|(value, lost)| value - lost).fold(0.0, f64::max);
            let charged = float(Pays::pure(&ratio(text)).unwrap().rho());
            assert!(charged >= most, "{text}: {charged} {most}");
            let mean = loss * (yes - no);
            assert!(charged >= mean * (1.0 - 1e-15), "{text}: {charged} {mean}");
            assert!(charged <= mean * (1.0 + 1e-11) + 1e-18, "{text}: {charged} {mean}");
            if loss > 1e-2 {
                assert!(most > 0.999 * mean, "{text}: {most} {mean}");
            }
        }
        // Beyond, the loss itself.
        let large = Pays::pure(&ratio("1000/3")).unwrap();
        assert_eq!(large.rho(), &ratio("1000/3"));
    }

    /// What a known total pays of rho, enumerated: two counts, one unit moved, double geometric noise with the rate a on each. The
    /// difference of the two has the loss 2a, 0 never: randomised response. The free rho would be half of it.
    #[test]
    fn a_conditioned_release_attains_it() {
        let a = 0.25f64;
        let weight = |z: i64| libm::exp(-2.0 * a * z.abs() as f64);
        let total: f64 = (-400..=400).map(weight).sum();
        let mean: f64 =
            (-400..=400i64).map(|z| weight(z) / total * 2.0 * a * ((z - 1).abs() - z.abs()) as f64).sum();
        let charged = float(Pays::pure(&ratio("1/2")).unwrap().rho());
        assert!(charged >= mean && charged < mean * (1.0 + 1e-9), "{charged} {mean}");
        let free = 2.0 * a * libm::tanh(0.5 * a);
        assert!(mean > 1.9 * free, "{mean} {free}");
    }

    /// The published figure, and the formula at its own minimum, by a search over orders of its own.
    #[test]
    fn epsilon_is_that_of_canonne_kamath_steinke() {
        let account = |rho: &str| Account::of([&Pays::concentrated(&ratio(rho)).unwrap()]);
        let known = float(&account("2.56").epsilon(&ratio("1e-10")).unwrap());
        assert!((known - 17.16).abs() < 0.005, "{known}");
        for (rho, delta) in
            [("2.56", "1e-10"), ("1/10", "1e-6"), ("30", "1e-40"), ("1e-6", "1e-9"), ("1", "0.5")]
        {
            let (r, d) = (float(&ratio(rho)), delta.parse::<f64>().unwrap());
            let at = |alpha: f64| {
                r * alpha
                    + (-libm::log(d) + (alpha - 1.0) * libm::log1p(-1.0 / alpha) - libm::log(alpha))
                        / (alpha - 1.0)
            };
            let orders = (-1200..2400).map(|k| 1.0 + libm::exp(0.01 * f64::from(k)));
            let least = orders.map(at).fold(f64::INFINITY, f64::min).max(r);
            let stated = float(&account(rho).epsilon(&ratio(delta)).unwrap());
            assert!(stated >= least * (1.0 - 1e-4), "{rho} {delta}: {stated} {least}");
            assert!(stated <= least * (1.0 + 1e-11) + 1e-18, "{rho} {delta}: {stated} {least}");
        }
        assert_eq!(Account::of([]).epsilon(&ratio("1e-9")).unwrap(), ratio("0"));
    }

    /// Sums are exact: three thirds are one, and no more.
    #[test]
    fn sums_are_exact() {
        let third = Pays::pure(&ratio("1/3")).unwrap();
        let two = Account::of([&third, &third]);
        let one = limit("epsilon = 1");
        assert!(two.with(&third, 1).is_within(&one) && !two.with(&third, 2).is_within(&one));
        assert_eq!(two.more(&third, &one), 1);
        assert_eq!(two.left(&one), Left { loss: "0.333333333".into(), rho: None });
        let above = Pays::pure(&ratio("1/3").plus(&ratio("1e-38"))).unwrap();
        assert!(!two.with(&above, 1).is_within(&one));
        // 3000 releases of a 1000th.
        let small = Pays::pure(&ratio("1/1000")).unwrap();
        let many = Account::of(std::iter::repeat_n(&small, 2999));
        assert_eq!(many.more(&small, &limit("epsilon = 3")), 1);
        assert_eq!(Account::of([]).more(&small, &limit("epsilon = 3")), 3000);
    }

    /// A discrete Gaussian has no pure loss; under the others it pays its rho, and a pure release what bounds its own.
    #[test]
    fn laws_under_limits() {
        let (pure, gaussian) =
            (Pays::pure(&ratio("1/2")).unwrap(), Pays::concentrated(&ratio("1/8")).unwrap());
        let refused = Account::of([]).check(&gaussian, &limit("epsilon = 9")).unwrap_err().to_string();
        assert!(refused.contains("discrete Gaussian noise has none"), "{refused}");
        let both = Account::of([&pure, &gaussian]);
        assert_eq!(both.spent(&limit("epsilon = 9")), None);
        let rho = both.spent(&limit("rho = 1")).unwrap();
        assert!(rho > ratio("0.247459").plus(&ratio("0")) && rho < ratio("0.2474594"), "{rho}");
        let refused = both.check(&gaussian, &limit("rho = \"1/4\"")).unwrap_err().to_string();
        assert!(refused.contains("asks for rho 0.125, and of the limit rho = 1/4 is left"), "{refused}");
        // Few large releases are bounded by their losses, many small ones by their rho.
        let approximate = limit("epsilon = 3\ndelta = \"1e-9\"");
        let few = Account::of([&pure, &pure]);
        assert_eq!(few.spent(&approximate).unwrap(), ratio("1"));
        let small = Pays::pure(&ratio("1/100")).unwrap();
        let many = Account::of([]).with(&small, 1000);
        let spent = float(&many.spent(&approximate).unwrap());
        assert!(spent < 2.2 && spent == float(&many.epsilon(&ratio("1e-9")).unwrap()), "{spent}");
        // With a Gaussian among them the losses say nothing.
        let mixed = few.with(&gaussian, 1);
        assert_eq!(mixed.spent(&approximate), mixed.epsilon(&ratio("1e-9")));
        let approximate = limit("epsilon = 9\ndelta = \"1e-9\"");
        let more = mixed.more(&gaussian, &approximate);
        assert!(more > 0);
        assert!(mixed.with(&gaussian, more).is_within(&approximate));
        assert!(!mixed.with(&gaussian, more + 1).is_within(&approximate));
    }

    /// What is stated for many randomised responses is never below their own loss: sums of ±L are binomial, and the delta of an epsilon is
    /// their hockey-stick divergence, summed.
    #[test]
    fn compositions_lie_below() {
        for (loss, n, delta) in
            [(0.1, 200u32, "1e-6"), (0.5, 30, "1e-9"), (0.02, 1000, "1e-5"), (1.0, 3, "1e-9")]
        {
            let pays = Pays::pure(&ratio(&loss.to_string())).unwrap();
            let account = Account::of([]).with(&pays, n.into());
            let approximate = limit(&format!("epsilon = 1000\ndelta = \"{delta}\""));
            let epsilon = float(&account.spent(&approximate).unwrap());
            let yes: f64 = libm::log(1.0 / (1.0 + libm::exp(-loss)));
            let mut choose = 0.0; // ln of the binomial coefficient
            let mut over = 0.0;
            for k in 0..=n {
                let (k_, n_) = (f64::from(k), f64::from(n));
                let log_p = choose + n_ * yes - k_ * loss; // k times no
                let total = (n_ - 2.0 * k_) * loss;
                if total > epsilon {
                    over += libm::exp(log_p) * -libm::expm1(epsilon - total);
                }
                choose += libm::log((n_ - k_) / (k_ + 1.0));
            }
            assert!(over <= float(&ratio(delta)), "{loss} {n}: {over}");
        }
    }
}
