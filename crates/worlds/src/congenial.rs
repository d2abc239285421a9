//! Statements of Gong and Meng, "Congenial differential privacy under mandated disclosure" (2020), beside Theorem 2.1.
//!
//! * Theorem 1.3 and the interval after (2.4) bound what an analyst learns of one entry by the level of the mechanism. They hold where she
//!   takes the entry for independent of all others. "Every prior", as printed, is too much: of n entries that she believes to be equal, one
//!   release tells as much as of a group of n.
//! * Theorem A.1, for any norm, and the levels of the noise `beta u_1 + (1 - beta) u_2` that follow.
//! * The third case of section 5.1 has gamma = -0.5, relative to a level that the mechanism has for other changes. Relative to what it pays
//!   between the same tables gamma is 0, as equations cost nothing and gain nothing.

use super::belief::Belief;
use super::draw::{self, Settings};
use super::finding::{Claim, Finding, Operator, Property, Tally};
use super::mechanism::Mechanism;
use congenial_core::Result;
use congenial_core::rng::{Rng, below, open01};

fn claim(statement: &'static str, operator: Operator) -> Claim {
    Claim { statement, operator, property: Property::Other, claim: true }
}

/// The largest `|ln(posterior / prior)|` of a value of an entry: `likelihoods[v]` has the probabilities of the outputs if the entry is v.
/// Every output is an event of its own; unions of them learn no more.
fn learned(prior: &[f64], likelihoods: &[&[f64]]) -> f64 {
    let total: f64 = prior.iter().sum();
    let outputs = likelihoods.first().map_or(0, |law| law.len());
    let mut most = 0.0f64;
    for y in 0..outputs {
        let evidence: f64 = prior.iter().zip(likelihoods).map(|(p, law)| p / total * law[y]).sum();
        for law in likelihoods {
            // posterior / prior = likelihood / evidence.
            most = most.max(libm::log(law[y] / evidence).abs());
        }
    }
    most
}

/// A prior of an entry with one value that is almost sure, or any.
fn prior(values: usize, rng: &mut dyn Rng) -> Vec<f64> {
    let sure = below(rng, 2 * values as u64) as usize;
    (0..values).map(|v| open01(rng) * if v == sure { 1e9 } else { 1.0 }).collect()
}

/// Theorem 1.3 for an entry that is independent of the others: three values, all neighbours.
pub(super) fn posterior(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let mechanism = draw::mechanism(settings.worlds, settings.epsilon, rng)?;
        let laws: Vec<&[f64]> = mechanism.beliefs().iter().map(Belief::probabilities).collect();
        let learned = learned(&prior(laws.len(), rng), &laws);
        tally.see(learned - mechanism.level(), || {
            format!("case {case}: {learned:.6} learned, level {:.6}", mechanism.level())
        });
    }
    let claim =
        claim("Gong and Meng, Theorem 1.3: an entry independent of the others", Operator::Conditioning);
    Ok(tally.finding(claim, settings.tolerance(), "|ln(posterior / prior)| beyond the level"))
}

/// Theorem 1.3 by the letter, for every prior: two entries of 0 or 1 that the analyst believes to be equal, their sum with double
/// geometric noise. A sum of 2 is e^(2 epsilon) times as likely as one of 0, and where she takes it for rare she learns that much.
pub(super) fn posterior_of_any_prior(settings: &Settings) -> Result<Finding> {
    let mechanism = Mechanism::double_geometric(settings.worlds.max(3), settings.epsilon)?;
    let law = |sum: usize| mechanism.beliefs()[sum].probabilities();
    let mut tally = Tally::new();
    for rare in [0.5, 1e-2, 1e-4, 1e-8] {
        let learned = learned(&[1.0 - rare, rare], &[law(0), law(2)]);
        tally.see(learned - mechanism.level(), || {
            format!(
                "both entries 1 with probability {rare:e}, else both 0: {learned:.6} learned, level {:.6}",
                mechanism.level()
            )
        });
    }
    let claim = claim("Gong and Meng, Theorem 1.3 by the letter: every prior", Operator::Conditioning);
    Ok(tally.finding(claim, settings.tolerance(), "|ln(posterior / prior)| beyond the level"))
}

/// The interval after (2.4): conditioned on an event, an entry with the values that the invariant leaves, independent of the others given
/// it. What is learned is at most `(1 + gamma) epsilon`, gamma by (2.5).
pub(super) fn posterior_given_invariant(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let mechanism = draw::mechanism(settings.worlds, settings.epsilon, rng)?;
        let event = draw::event(settings.worlds, rng);
        let masses: Vec<f64> = mechanism.beliefs().iter().map(|law| law.of(event)).collect();
        let largest = masses.iter().fold(0.0, |a: f64, &b| a.max(b));
        let smallest = masses.iter().fold(f64::INFINITY, |a: f64, &b| a.min(b));
        let bound = mechanism.level() + libm::log(largest / smallest);
        let given = mechanism.each(|law| law.conditioned(event))?;
        let within: Vec<Vec<f64>> = given
            .beliefs()
            .iter()
            .map(|law| event.worlds().map(|world| law.probabilities()[world]).collect())
            .collect();
        let laws: Vec<&[f64]> = within.iter().map(Vec::as_slice).collect();
        let learned = learned(&prior(laws.len(), rng), &laws);
        tally.see(learned - bound, || {
            format!("case {case}: {learned:.6} learned, (1 + gamma) epsilon {bound:.6}")
        });
    }
    let claim =
        claim("Gong and Meng, after (2.4): the posterior given the invariant", Operator::Conditioning);
    Ok(tally.finding(claim, settings.tolerance(), "|ln(posterior / prior)| beyond (1 + gamma) epsilon"))
}

/// A norm of the plane.
fn norm(kind: u64, [x, y]: [f64; 2]) -> f64 {
    match kind {
        0 => x.abs() + y.abs(),
        1 => libm::hypot(x, y),
        _ => x.abs().max(y.abs()),
    }
}

/// Theorem A.1: f falls with the norm, `f e^(alpha |x|)` grows with it; then `f(x - a)/f(x - b) <= e^(alpha |a - b|)`.
///
/// `ln f` is a random broken line in the norm whose slopes lie between -alpha and 0, alpha the epsilon of the settings, with three norms of
/// the plane.
pub(super) fn decreasing_function(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let alpha = settings.epsilon;
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let slopes: Vec<f64> = (0..settings.worlds)
            .map(|_| match below(rng, 3) {
                0 => 0.0,
                1 => alpha,
                _ => alpha * open01(rng),
            })
            .collect();
        // The line is bent at 1, 2, ...; beyond the last bend it goes on.
        let log_f = |size: f64| -> f64 {
            let whole = (size as usize).min(slopes.len() - 1);
            let before: f64 = slopes[..whole].iter().sum();
            -before - slopes[whole] * (size - whole as f64)
        };
        let kind = case % 3;
        let mut point = |reach: f64| [reach * (2.0 * open01(rng) - 1.0), reach * (2.0 * open01(rng) - 1.0)];
        let (a, b) = (point(2.0), point(2.0));
        let minus = |x: [f64; 2], y: [f64; 2]| [x[0] - y[0], x[1] - y[1]];
        for _ in 0..8 {
            let x = point(settings.worlds as f64);
            let ratio = log_f(norm(kind, minus(x, a))) - log_f(norm(kind, minus(x, b)));
            tally.see(ratio - alpha * norm(kind, minus(a, b)), || {
                format!("case {case}: log ratio {ratio:.6} with norm {}", ["l1", "l2", "max"][kind as usize])
            });
        }
    }
    let claim = claim("Gong and Meng, Theorem A.1", Operator::Imaging);
    // Sums of as many slopes as there are worlds.
    let tolerance = settings.tolerance() + 1e-13 * settings.epsilon * settings.worlds as f64;
    Ok(tally.finding(claim, tolerance, "ln f(x - a)/f(x - b) beyond alpha |a - b|"))
}

/// `ln` of the ratio of the density of `beta u_1 + (1 - beta) u_2`, both Laplace of scale `2/epsilon`, at x to that at
/// y: (A.1), and (A.2) at 1/2. What falls as the level says is taken apart, so that no digits are lost far out.
fn log_ratio(beta: f64, epsilon: f64, x: f64, y: f64) -> f64 {
    let (large, small) = (beta.max(1.0 - beta), beta.min(1.0 - beta));
    let slow = 0.5 * epsilon / large;
    // beta e^(-epsilon x / (2 beta)) - (1 - beta) e^(-epsilon x / (2 (1 - beta))), beta the larger, over the first term.
    let rest = |x: f64| match () {
        () if large == 0.5 => libm::log1p(epsilon * x.abs()),
        () if small == 0.0 => 0.0,
        () => libm::log1p(-small / large * libm::exp(x.abs() * (slow - 0.5 * epsilon / small))),
    };
    rest(x) - rest(y) - slow * (x.abs() - y.abs())
}

/// After Theorem A.1: noise `beta u_1 + (1 - beta) u_2` on the first of two bins attains the level `epsilon / (2 max(beta, 1 - beta))`, no
/// more and (far out) no less. The deviation is what is beyond it, and what is missing far out.
pub(super) fn convex_combination(settings: &Settings) -> Result<Finding> {
    let epsilon = settings.epsilon;
    let mut tally = Tally::new();
    for beta in [0.0, 0.2, 0.5, 0.6, 0.8, 1.0] {
        let level = 0.5 * epsilon / f64::max(beta, 1.0 - beta);
        let ratio = |x: f64| log_ratio(beta, epsilon, x, x - 1.0).abs();
        let steps = 4000;
        // Out to 20 scales.
        let most =
            (0..=steps).map(|i| ratio(80.0 / epsilon * (i as f64 / steps as f64 - 0.5))).fold(0.0, f64::max);
        tally.see(most - level, || format!("beta {beta}: {most:.6} attained, level {level:.6}"));
        let far = ratio(1e6 / epsilon);
        // At beta = 1/2 the level is approached as 1/x; else exponentially.
        tally.see((level - far) - 2e-6 * epsilon, || {
            format!("beta {beta}, far out: {far:.6} attained, level {level:.6}")
        });
    }
    let claim = claim("Gong and Meng, appendix A: the levels of two projected bins", Operator::Imaging);
    Ok(tally.finding(claim, settings.tolerance() + 1e-9 * epsilon, "level of the noise beyond it"))
}

/// Two bins with double geometric noise of scale `2/epsilon` each, between tables of one total that differ by one record in the other bin:
/// the levels of the mechanism itself, and given the total.
fn two_bins(epsilon: f64) -> [f64; 2] {
    // ln of the weight of a release at (y, -y), around the table (x, -x).
    let log_weight = |y: i64, x: i64| -0.5 * epsilon * ((y - x).abs() as f64 + (x - y).abs() as f64);
    // All releases of that total: far out each weighs e^(-epsilon) times the one before.
    let reach = 50i64;
    let total = |x: i64| {
        let middle: f64 = (-reach..=reach).map(|y| libm::exp(log_weight(y, x))).sum();
        let tail = |y: i64| libm::exp(log_weight(y, x)) * libm::exp(-epsilon) / -libm::expm1(-epsilon);
        middle + tail(-reach) + tail(reach)
    };
    let level = |scale: [f64; 2]| {
        let ratio = |y: i64| log_weight(y, 0) - libm::log(scale[0]) - log_weight(y, 1) + libm::log(scale[1]);
        (-reach..=reach).map(|y| ratio(y).abs()).fold(0.0, f64::max)
    };
    // Without the total the weights have one sum for every table.
    [level([1.0, 1.0]), level([total(0), total(1)])]
}

/// Section 5.1, third case: gamma = -0.5, if the total is kept, k = 2 and the level of the mechanism is `epsilon`.
pub(super) fn two_bins_gamma(settings: &Settings) -> Result<Finding> {
    let mut tally = Tally::new();
    let [_, given] = two_bins(settings.epsilon);
    let gamma = given / (2.0 * settings.epsilon) - 1.0;
    tally.see((given - settings.epsilon).abs(), || {
        format!("two bins with a total: level {given:.6}, gamma {gamma:.6}")
    });
    let claim = claim("Gong and Meng, section 5.1: gamma = -0.5 for two bins, k = 2", Operator::Conditioning);
    Ok(tally.finding(claim, settings.tolerance(), "|(1 + gamma) k epsilon - epsilon|"))
}

/// In its place: between the same tables the mechanism itself pays `epsilon`, not `2 epsilon`, and gamma is 0.
pub(super) fn two_bins_gamma_instead(settings: &Settings) -> Result<Finding> {
    let mut tally = Tally::new();
    let [free, given] = two_bins(settings.epsilon);
    tally.see((given - free).abs(), || format!("level {free:.6} before, {given:.6} given the total"));
    let claim = claim(
        "In place of gamma = -0.5: 0, relative to what the mechanism pays between the same tables",
        Operator::Conditioning,
    );
    Ok(tally.finding(claim, settings.tolerance(), "difference of the levels"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    const SETTINGS: Settings = Settings { worlds: 8, cases: 200, epsilon: 1.0 };

    /// Bayes by hand: prior (3/4, 1/4), likelihoods 1/2 and 1/4 of an output.
    #[test]
    fn bayes_by_hand() {
        let (first, second) = ([0.5, 0.5], [0.25, 0.75]);
        // Evidence 7/16 and 9/16: ratios 8/7, 4/7 and 8/9, 4/3.
        let want = libm::log(7.0 / 4.0);
        assert!((learned(&[3.0, 1.0], &[&first, &second]) - want).abs() < 1e-15);
    }

    /// What is learned of two equal entries: the rare value becomes rarer by e^-2 / (1 - rare + rare e^-2).
    #[test]
    fn equal_entries_tell_as_much_as_a_group() {
        let finding = posterior_of_any_prior(&SETTINGS).unwrap();
        let want = 1.0 + libm::log1p(1e-8 * (libm::exp(-2.0) - 1.0));
        assert!(!finding.holds && (finding.worst - want).abs() < 1e-9, "{finding:?} {want}");
        assert!(posterior(&SETTINGS, &mut test_stream(1)).unwrap().holds);
    }

    /// The density against a sum over the first variable.
    #[test]
    fn densities_are_those_of_convolutions() {
        let epsilon = 1.3;
        for beta in [0.3, 0.5, 0.8] {
            let laplace = |u: f64| libm::exp(-0.5 * epsilon * u.abs());
            let convolved = |x: f64| {
                let step = 1e-3;
                let points = (-60_000..=60_000).map(|i| step * f64::from(i));
                points.map(|u| laplace(u) * laplace((x - beta * u) / (1.0 - beta))).sum::<f64>()
            };
            for x in [0.7, 3.0, -5.0] {
                let want = libm::log(convolved(x) / convolved(0.0));
                let got = log_ratio(beta, epsilon, x, 0.0);
                assert!((got - want).abs() < 1e-5, "{beta} {x}: {got} {want}");
            }
        }
    }

    /// Two bins have the level of the mechanism alone and, given their total, that of the double geometric law of twice
    /// the rate, which is theirs then.
    #[test]
    fn two_bins_given_their_total() {
        for epsilon in [1e-6, 0.1, 1.0, 10.0] {
            let [free, given] = two_bins(epsilon);
            let want = Mechanism::double_geometric(8, epsilon).unwrap().level();
            assert!(
                (free - epsilon).abs() < 1e-9 && (given - want).abs() < 1e-9,
                "{epsilon}: {free} {given} {want}"
            );
        }
    }

    /// True at every epsilon that is permitted: nothing is lost to rounding far out.
    #[test]
    fn levels_of_projected_bins_hold_at_every_epsilon() {
        let mut rng = test_stream(7);
        for _ in 0..300 {
            let epsilon = libm::pow(10.0, -6.0 + 7.0 * open01(&mut rng));
            let finding = convex_combination(&Settings { epsilon, ..SETTINGS }).unwrap();
            assert!(finding.holds, "{epsilon}: {finding:?}");
        }
    }
}
