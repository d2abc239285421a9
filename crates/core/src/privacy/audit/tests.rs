//! The bounds against the loss of noise that is known.

use super::*;
use crate::law::{DoubleGeometric, Law};
use crate::privacy::Profile;
use crate::rng::{Stream, open01};
use crate::testing::test_stream;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Two counts with double geometric noise, the first of which changes by 1: its likelihood ratio, then both counts.
fn noisy(rng: &mut Stream, law: &DoubleGeometric, moved: i64, draws: usize) -> Columns {
    let mut columns = vec![Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..draws {
        let (a, b) = (law.sample(rng) + moved, law.sample(rng));
        columns[0].push(law.log_weight(a) - law.log_weight(a - 1));
        columns[1].push(a as f64);
        columns[2].push(b as f64);
    }
    columns
}

const FORMS: [Form; 4] = [Form::One(1), Form::One(2), Form::Sum(1, 2), Form::Difference(1, 2)];

/// An audit of draws: scores are learned, an event is chosen and judged, each on draws of its own.
fn audited(
    mut draw: impl FnMut(i64, usize) -> Columns,
    given: Option<usize>,
    claim: &Claim,
    n: usize,
    level: f64,
) -> Found {
    let mut pair = |n: usize| [draw(0, n), draw(1, n)];
    let ([a, b], [c, d], [e, f]) = (pair(n / 2), pair(n / 2), pair(n));
    let mut scores = Score::learned(&FORMS, 2, [&a, &b]);
    scores.extend(given.map(Score::Given));
    let (_, event) = choose(scores, [&c, &d], claim, level).unwrap();
    event.judge([event.count(&e), event.count(&f)], n as u64, claim, level)
}

/// What is proved comes close to what is paid, and not above it: by the ratio of the law, and by scores that are learned.
#[test]
fn what_is_proved_is_close_to_what_is_paid() {
    let mut rng = test_stream(41);
    for epsilon in [0.3, 1.0, 2.5] {
        let law = DoubleGeometric::new(1.0 / epsilon).unwrap();
        for given in [Some(0), None] {
            let draw = |moved, n| noisy(&mut rng, &law, moved, n);
            let found = audited(draw, given, &Claim::at(epsilon, 0.0), 40_000, 1e-6);
            let share = found.at_least / epsilon;
            assert!((0.7..1.0).contains(&share) && !found.exceeds(), "{epsilon} {given:?}: {found:?}");
        }
    }
}

/// A bound is above the truth no more often than its level says.
#[test]
fn a_bound_is_seldom_above_the_truth() {
    let mut rng = test_stream(42);
    let law = DoubleGeometric::new(1.0).unwrap();
    let (audits, level) = (2000u64, 0.1);
    let wrong = (0..audits).filter(|_| {
        let draw = |moved, n| noisy(&mut rng, &law, moved, n);
        audited(draw, Some(0), &Claim::at(1.0, 0.0), 200, level).exceeds()
    });
    let wrong = wrong.count() as u64;
    let by_chance = Binomial::new(level, audits).unwrap().sf(wrong.saturating_sub(1));
    assert!(by_chance > 1e-6, "{wrong} of {audits}");
    // One in ten audits is allowed, and that is no empty promise.
    assert!(wrong > 0);
}

/// An atom, a difference that gives all away, and a loss that is larger than stated at some delta alone.
#[test]
fn what_leaks_is_found() {
    let mut rng = test_stream(43);
    let law = DoubleGeometric::new(2.0).unwrap();
    // Both counts have the same noise: their difference tells which table it is.
    let shared = |moved: i64, n: usize| {
        let mut columns = vec![Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..n {
            let z = law.sample(&mut rng);
            columns[0].push(0.0);
            columns[1].push((z + moved) as f64);
            columns[2].push(z as f64);
        }
        columns
    };
    let found = audited(shared, None, &Claim::at(1.0, 0.0), 4000, 1e-6);
    assert!(found.exceeds() && found.hits == [4000, 0] && found.at_least > 5.0, "{found:?}");
    // One of twenty releases is as it is: pure loss 0.5 was stated, and normal noise of mu 0.5.
    let mut rng = test_stream(44);
    let atom = |moved: i64, n: usize| {
        let mut columns = noisy(&mut rng, &law, moved, n);
        for a in columns[1].iter_mut() {
            *a = if open01(&mut rng) < 0.05 { moved as f64 + 0.25 } else { *a };
        }
        columns
    };
    let found = audited(atom, None, &Claim::at(0.5, 0.0), 4000, 1e-6);
    assert!(found.exceeds() && found.at_least > 1.5, "{found:?}");
    let curve = Claim::of_curve(&Profile::normal(0.5), 1e-6);
    let mut rng = test_stream(45);
    let wide = |moved, n| noisy(&mut rng, &DoubleGeometric::new(1.0).unwrap(), moved, n);
    let found = audited(wide, Some(0), &curve, 40_000, 1e-6);
    assert!(found.exceeds() && found.delta > 0.0, "{found:?}");
}

/// What was sampled with an error may exceed the claim by what the error gives, and no more.
#[test]
fn an_error_of_sampling_is_forgiven() {
    let claim = Claim::at(1.0, 0.0).with_error(0.01);
    let proof = claim.against(0.5, 0.18);
    assert!((proof.delta - 0.01 * (1.0 + libm::exp(1.0))).abs() < 1e-15);
    assert!(proof.share() < 1.0 && Claim::at(1.0, 0.0).against(0.5, 0.18).share() > 1.0);
    assert_eq!(Claim::nothing().against(0.5, 0.25).at_least, libm::log(2.0));
}
