//! The budget of the noise with which a release pays what it is to pay.

use crate::config::{Checker, one_of};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::privacy::{Amount, Change, ChangeKind, Measure, Rho};
use crate::study::cells::{Known, Profiles, Statements, Together};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use toml::Spanned;

/// A change of the confidential counts for which all releases pay the same, and its place in the config.
#[derive(Debug, Clone)]
pub(in crate::study) struct PaidChange {
    pub(in crate::study) kind: ChangeKind,
    pub(in crate::study) span: Range<usize>,
}

impl PaidChange {
    /// Errors: there is no change of this name.
    pub(in crate::study) fn of(checker: &Checker, name: &Spanned<String>) -> Result<Self> {
        let span = name.span();
        match ChangeKind::named(name.get_ref()) {
            Some(kind) => Ok(Self { kind, span }),
            None => {
                let label = one_of(name.get_ref(), &ChangeKind::ALL.map(ChangeKind::name));
                Err(checker.error(format!("change: got `{}`", name.get_ref()), span, label))
            }
        }
    }
}

/// The plan with the epsilon of every cell found, such that the change costs what is to be paid.
///
/// Errors: a change that is impossible on the data, or whose loss nothing bounds; a loss that no budget gives.
pub(in crate::study) fn settle(mut plan: Plan, change: PaidChange) -> Result<Plan> {
    let PaidChange { kind, span } = change;
    let (statements, shape) = (Statements::new(&plan), OnceCell::new());
    let profiles = Profiles::new(&plan.subject, &statements);
    if let Some(own) = plan.cells.iter().find(|cell| cell.pays.is_some()) {
        let message = format!("change: `{}` is a mechanism of its own", own.at.method.words());
        return Err(plan.config.error(message, span, "want methods that pay what their noise pays"));
    }
    let mut found = HashMap::new();
    // Of the cell before, which may differ in its master seed alone.
    let mut last: Option<((u64, Amount), f64)> = None;
    let settled = plan.cells.iter().map(|cell| {
        let target = cell.paid.expect("budgets are losses");
        let loss = |epsilon: f64| {
            let Ok(at) = cell.at(epsilon, &plan.subject, &shape) else {
                // Beyond what the law serves.
                return Ok(if epsilon > cell.epsilon { f64::INFINITY } else { 0.0 });
            };
            let statement = statements.found(&at);
            let change = statement.changes().into_iter().find(|(of, _)| *of == kind);
            let asked = (target.measure, kind, &span);
            price(&plan, (&at, &profiles), asked, change.expect("every kind has one").1)
        };
        let what = format!("`{}` with {} noise", cell.at.method.words(), cell.at.law.name());
        let solved = match last.filter(|(of, _)| *of == (cell.streams, target)) {
            Some((_, epsilon)) => Some(epsilon),
            None => solve(target.loss, cell.epsilon, loss)?,
        };
        let Some(epsilon) = solved else {
            let message = format!("paid: got {target} for {what}");
            return Err(plan.config.error(message, span.clone(), "no budget of the noise pays it"));
        };
        last = Some(((cell.streams, target), epsilon));
        let settled = cell.at(epsilon, &plan.subject, &shape).expect("it was met");
        if let Some(other) = found.insert(settled.key, target) {
            let message = format!("paid: got {other} and {target} for {what}");
            return Err(plan.config.error(message, span.clone(), "the same budget of the noise pays both"));
        }
        Ok(settled)
    });
    let cells = settled.collect::<Result<Vec<Cell>>>()?;
    drop(profiles);
    drop(statements);
    plan.cells = cells;
    Ok(plan)
}

/// What a change costs. Errors: that nobody knows; of all but epsilon, that it is only bounded.
fn price(
    plan: &Plan,
    (cell, profiles): (&Cell, &Profiles),
    (measure, kind, span): (Measure, ChangeKind, &Range<usize>),
    change: &Change,
) -> Result<f64> {
    let refused = |message: String, label: &str| Err(plan.config.error(message, span.clone(), label));
    let got = format!("change: got `{}`", kind.name());
    match change {
        Change::Possible(price) => {
            let (method, law) = (cell.at.method.name(), cell.at.law.name());
            let unknown = || {
                refused(
                    format!("{got}: nothing bounds what `{method}` pays for it with {law} noise"),
                    "want methods and laws whose loss is known (`plan` of a study of releases shows it)",
                )
            };
            match (measure, price.epsilon(), price.rho) {
                (Measure::Epsilon, Some(epsilon), _) => Ok(epsilon),
                (Measure::Rho, _, Rho::Computed(rho) | Rho::OfNoise(rho)) => Ok(rho),
                (Measure::Rho, _, Rho::Bounded(_) | Rho::Unknown)
                | (Measure::Mu | Measure::Together { .. }, ..) => {
                    let own = Together { change: kind, price, curve: profiles.of(cell, kind, price) };
                    let paid = match (&own.curve, measure) {
                        (None, _) => return unknown(),
                        (Some((_, Known::Bounded)), _) => None,
                        (Some((curve, _)), Measure::Epsilon) => Some(curve.epsilon(0.0)),
                        (Some((curve, _)), Measure::Rho) => curve.rho(),
                        (Some((curve, _)), Measure::Mu) => curve.mu(),
                        (Some((curve, _)), Measure::Together { delta, releases }) => {
                            Some(own.epsilon(&curve.composed(releases), (delta, releases)))
                        }
                    };
                    paid.map_or_else(
                        || {
                            let name = match measure {
                                Measure::Together { .. } => "the law of the loss".into(),
                                measure => measure.name(),
                            };
                            refused(
                                format!("{got}: {name} of `{method}` with {law} noise is bounded, not computed"),
                                "a bound says nothing of which release pays less: want methods and laws for which `plan --delta` \
                                 says `computed` or `noise`, and noise whose tables are not too large; mu of discrete Gaussian \
                                 noise needs scales with a common measure, too",
                            )
                        },
                        Ok,
                    )
                }
                (Measure::Epsilon, None, _) => unknown(),
            }
        }
        Change::Impossible(why) => refused(
            format!("{got}: impossible on these data: {why}"),
            "want a change that is possible on them",
        ),
        Change::Unknown(why) => refused(format!("{got}: unknown: {why}"), "want another change"),
    }
}

/// Evaluations of a loss before a search is given up.
const EVALUATIONS: usize = 200;
/// Evaluations that may all be 0, or infinite.
const TRIED: usize = 8;
/// How close the loss comes to what is asked for, relatively.
const CLOSE: f64 = 1e-10;
/// How far the bound of a loss may jump, relatively: that of discrete Gaussian noise comes so close to the loss itself.
const JUMP: f64 = 1e-4;

/// The epsilon, of nine digits, at which an increasing loss comes to a target above 0, or just stays below it: by the
/// Illinois variant of regula falsi on logarithms (Dowell and Jarratt 1971), in which a loss that is proportional to
/// epsilon is a straight line.
///
/// - `start`: an epsilon of which the law serves more and less. A loss may be 0 or infinite; there the search halves.
///
/// `None` if the loss does not come within 3e-8 of the target, relatively; where it jumps over the target, within 1e-4.
/// Errors: those of the loss.
fn solve(target: f64, start: f64, mut loss: impl FnMut(f64) -> Result<f64>) -> Result<Option<f64>> {
    let mut off = |x: f64| loss(libm::exp(x)).map(|loss| libm::log(loss / target));
    let mut a = libm::log(start);
    let mut fa = off(a)?;
    // The other side, by steps that grow.
    let (mut b, mut fb, mut step) = (a, fa, 1.0);
    let mut evaluations = 1;
    while fa * fb > 0.0 && fa.abs() > CLOSE {
        (a, fa) = (b, fb);
        let near = if fb.is_finite() { fb } else { fb.signum() };
        b -= near + step * fb.signum() * f64::from(u8::from(evaluations > 1));
        fb = off(b)?;
        step *= 2.0;
        evaluations += 1;
        if evaluations > EVALUATIONS || (!fb.is_finite() && evaluations > TRIED && fa * fb > 0.0) {
            return Ok(None);
        }
        if fb.abs() <= CLOSE {
            (a, fa) = (b, fb);
        }
    }
    let (mut x, mut fx) = (a, fa);
    while fx.abs() > CLOSE && evaluations < EVALUATIONS {
        x = if (fb - fa).is_finite() { b - fb * (b - a) / (fb - fa) } else { 0.5 * (a + b) };
        fx = off(x)?;
        evaluations += 1;
        if fx * fb < 0.0 {
            (a, fa) = (b, fb);
        } else {
            fa *= 0.5;
        }
        (b, fb) = (x, fx);
    }
    // Below the target; or above by what cannot be told from it.
    let jumps = (a - b).abs() < 1e-9;
    let below = if jumps && fx.abs() > CLOSE { a.min(b) } else { x };
    let short = if jumps { JUMP } else { 3e-8 };
    for share in [0.0, 5e-9, 1.5e-8] {
        let epsilon = libm::exp(below) * (1.0 - share);
        let epsilon: f64 = format!("{epsilon:.8e}").parse().expect("a number was written");
        if (-short..=1e-12).contains(&off(libm::log(epsilon))?) {
            return Ok(Some(epsilon));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Accountant;

    fn found(target: f64, loss: impl Fn(f64) -> f64) -> (Option<f64>, usize) {
        let mut evaluations = 0;
        let found = solve(target, target, |epsilon| {
            evaluations += 1;
            Ok(loss(epsilon))
        });
        (found.unwrap(), evaluations)
    }

    #[test]
    fn proportional_losses_take_one_step() {
        let (epsilon, evaluations) = found(1.0, |epsilon| 3.0 * epsilon);
        assert_eq!(epsilon, Some(0.333_333_333));
        assert!(evaluations <= 4, "{evaluations}");
        assert_eq!(found(2.0, |epsilon| epsilon).0, Some(2.0));
    }

    /// One record moved under a total with non-negativity, and the epsilon of rho: against bisection.
    #[test]
    fn bent_losses_are_met() {
        let moved = |epsilon: f64| 2.0 * epsilon + libm::log(2.0 - libm::exp(-2.0 * epsilon));
        let zcdp = |rho: f64| Accountant::Zcdp.epsilon(rho, 1e-6);
        let normal = |rho: f64| Accountant::Normal.epsilon(rho, 1e-6);
        let losses: [&dyn Fn(f64) -> f64; 3] = [&moved, &zcdp, &normal];
        for loss in losses {
            for target in [1e-3, 0.25, 1.0, 2.0, 8.0, 40.0] {
                let (mut low, mut high) = (1e-12, 1e3);
                for _ in 0..200 {
                    let middle = 0.5 * (low + high);
                    if loss(middle) < target { low = middle } else { high = middle }
                }
                let (epsilon, evaluations) = found(target, loss);
                let epsilon = epsilon.unwrap();
                assert!(
                    loss(epsilon) <= target * (1.0 + 2e-12) && epsilon / low > 1.0 - 3e-8,
                    "{target}: {epsilon} {low}"
                );
                assert!(evaluations < 25, "{target}: {evaluations}");
            }
        }
        // The figure for which one pays what free noise pays at 1.
        assert!((found(2.0, moved).0.unwrap() - 0.717).abs() < 5e-4);
    }

    #[test]
    fn losses_that_stop_are_not_met() {
        assert_eq!(found(2.0, |epsilon| epsilon.min(1.0)).0, None);
        assert_eq!(found(2.0, |_| f64::INFINITY).0, None);
    }

    /// Losses that are known on (0.001, 0.36) alone, from 0.1; and one that jumps over what is asked for.
    #[test]
    fn losses_end_and_jump() {
        let within = |x: f64| {
            Ok(if x > 0.36 {
                f64::INFINITY
            } else if x < 1e-3 {
                0.0
            } else {
                1.5 * x * x
            })
        };
        let at = |target: f64| solve(target, 0.1, within).unwrap();
        assert!((at(0.18).unwrap() - libm::sqrt(0.12)).abs() < 1e-8);
        assert!((at(2e-6).unwrap() - libm::sqrt(4e-6 / 3.0)).abs() < 1e-10);
        assert_eq!([at(0.2), at(1e-6)], [None, None]);
        let jumps = |by: f64| move |x: f64| if x < 0.4 { x } else { x * (1.0 + by) };
        let epsilon = found(0.40001, jumps(5e-5)).0.unwrap();
        assert!(epsilon < 0.4 && epsilon > 0.4 * (1.0 - 3e-8), "{epsilon}");
        assert_eq!(found(0.4001, jumps(1e-3)).0, None);
    }
}
