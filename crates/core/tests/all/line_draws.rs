//! Draws along a line against a plain reference: list the weights, sum, invert.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Gaussian, Laplace, Law, Line, LineLaw, Term};
use proptest::prelude::*;

/// The `u`-quantile by listing every weight on `lo..=hi` (cut to where nothing is left).
fn listed<L: Law<Value = i64>>(laws: &[L], terms: &[Term<i64>], lo: i64, hi: i64, u: f64) -> (i64, f64, f64) {
    let reach = 400;
    let centre = terms.iter().map(|term| -term.at).sum::<i64>() / terms.len() as i64;
    let (lo, hi) = (lo.max(centre.min(0) - reach), hi.min(centre.max(0) + reach));
    let log = |t: i64| terms.iter().map(|term| laws[term.level].log_weight(term.at + t)).sum::<f64>();
    let top = (lo..=hi).map(log).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = (lo..=hi).map(|t| (log(t) - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut below = 0.0;
    for (t, weight) in (lo..=hi).zip(&weights) {
        if (below + weight) / total > u {
            return (t, below / total, (below + weight) / total);
        }
        below += weight;
    }
    (hi, 1.0, 1.0)
}

fn check_integer<L: LineLaw<Value = i64>>(laws: &[L], terms: &[Term<i64>], lo: i64, hi: i64, u: f64) {
    let tables = L::tables(laws);
    let mut line = Line::default();
    line.terms.extend_from_slice(terms);
    let ours = L::line(&tables, &mut line, lo, hi, u);
    let (reference, below, upto) = listed(laws, terms, lo, hi, u);
    // On the edge between two values rounding may decide either way.
    let edge = (u - below).abs().min((u - upto).abs()) < 1e-11;
    assert!(ours == reference || edge, "{terms:?} [{lo}, {hi}] u = {u}: {ours}, listed {reference}");
    assert!((lo..=hi).contains(&ours));
}

fn terms(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(usize, i64)>> {
    prop::collection::vec((0usize..3, -40i64..41), count)
}

fn bounds() -> impl Strategy<Value = (i64, i64)> {
    let bound = prop_oneof![Just(None), (0i64..60).prop_map(Some)];
    (bound.clone(), bound).prop_map(|(lo, hi)| (lo.map_or(i64::MIN, |b| -b), hi.unwrap_or(i64::MAX)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn double_geometric(
        at in terms(1..7),
        scales in prop_oneof![Just([2.0, 2.0, 2.0]), Just([0.5, 0.5, 0.5]), Just([1.0, 3.0, 0.7]), Just([2.0, 4.0, 4.0])],
        (lo, hi) in bounds(),
        u in 1e-9..1.0f64,
    ) {
        let laws = scales.map(|scale| DoubleGeometric::new(scale).unwrap());
        let terms: Vec<Term<i64>> = at.iter().map(|&(level, at)| Term { level, at }).collect();
        check_integer(&laws, &terms, lo, hi, u.min(1.0 - 1e-9));
    }

    /// Rates at which growth factors overflow and weights underflow: few terms and many, on all levels and on some.
    #[test]
    fn steep_double_geometric(
        at in terms(1..14),
        scales in prop_oneof![
            Just([1.0 / 400.0; 3]),
            Just([1.0 / 75.0, 1.0 / 180.0, 1.0 / 30.0]),
            Just([1e-3, 2.0, 0.02]),
            Just([1.0 / 700.0, 1.0 / 701.0, 1.0 / 699.5]),
            Just([1e-6, 0.3, 1e-5]),
        ],
        (lo, hi) in bounds(),
        u in 1e-9..1.0f64,
    ) {
        let laws = scales.map(|scale| DoubleGeometric::new(scale).unwrap());
        let terms: Vec<Term<i64>> = at.iter().map(|&(level, at)| Term { level, at }).collect();
        check_integer(&laws, &terms, lo, hi, u.min(1.0 - 1e-9));
    }

    /// Far breaks underflow every table: the same law, shifted.
    #[test]
    fn double_geometric_far_apart(at in -3000i64..3000, gap in 2000i64..4000, u in 1e-9..1.0f64) {
        let laws = [DoubleGeometric::new(0.5).unwrap(); 3];
        let u = u.min(1.0 - 1e-9);
        let tables = DoubleGeometric::tables(&laws);
        let mut line = Line::default();
        let term = |at| Term { level: 0, at };
        line.terms.extend([term(at), term(at), term(at + gap)]);
        let t = DoubleGeometric::line(&tables, &mut line, i64::MIN, i64::MAX, u);
        // Two against one: the law sits at -at; 60 steps hold all but exp(-120) of it.
        prop_assert!((t + at).abs() < 60);
    }

    #[test]
    fn discrete_gaussian(at in terms(1..5), (lo, hi) in bounds(), u in 1e-9..1.0f64) {
        let laws = [2.0, 3.0, 0.7].map(|sigma| DiscreteGaussian::new(sigma).unwrap());
        let terms: Vec<Term<i64>> = at.iter().map(|&(level, at)| Term { level, at }).collect();
        check_integer(&laws, &terms, lo, hi, u.min(1.0 - 1e-9));
    }

}

proptest! {
    /// Continuous laws: the probability below the quantile, by Simpson's rule, is u.
    #[test]
    fn laplace(at in terms(1..5), (lo, hi) in bounds(), u in 0.001..0.999f64) {
        let laws = [2.0, 3.0, 0.7].map(|scale| Laplace::new(scale).unwrap());
        check_real(&laws, &at, lo, hi, u);
    }

    #[test]
    fn gaussian(at in terms(1..5), (lo, hi) in bounds(), u in 0.001..0.999f64) {
        let laws = [2.0, 3.0, 0.7].map(|sigma| Gaussian::new(sigma).unwrap());
        check_real(&laws, &at, lo, hi, u);
    }
}

fn check_real<L: LineLaw<Value = f64>>(laws: &[L], at: &[(usize, i64)], lo: i64, hi: i64, u: f64) {
    let tables = L::tables(laws);
    let mut line = Line::default();
    line.terms.extend(at.iter().map(|&(level, at)| Term { level, at: at as f64 }));
    let bound = |b: i64, none: i64, real: f64| if b == none { real } else { b as f64 };
    let (lo, hi) = (bound(lo, i64::MIN, f64::NEG_INFINITY), bound(hi, i64::MAX, f64::INFINITY));
    if lo == hi {
        return;
    }
    let t = L::line(&tables, &mut line, lo, hi, u);
    assert!((lo..=hi).contains(&t));
    let log = |t: f64| at.iter().map(|&(level, at)| laws[level].log_weight(at as f64 + t)).sum::<f64>();
    // Breaks are integers: Simpson's rule between integers (and t) sees only smooth pieces.
    let (from, to) = (lo.max(-150.0).floor() as i64, hi.min(150.0).ceil() as i64);
    let top = (from..=to).map(|k| log((k as f64).clamp(lo, hi))).fold(f64::NEG_INFINITY, f64::max);
    let simpson = |a: f64, b: f64| -> f64 {
        let n = 512;
        let h = (b - a) / n as f64;
        let value = |i: i32| (log(a + h * f64::from(i)) - top).exp();
        let inner: f64 = (1..n).map(|i| value(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        h / 3.0 * (value(0) + inner + value(n))
    };
    let mass = |upto: f64| -> f64 {
        (from..to)
            .map(|k| ((k as f64).max(lo), ((k + 1) as f64).min(upto)))
            .filter(|(a, b)| a < b)
            .map(|(a, b)| simpson(a, b))
            .sum()
    };
    let probability = mass(t) / mass(hi.min(150.0));
    // Simpson's relative error on exp(-s x) with step h is (s h)^4 / 180; twice for the two integrals.
    let slope = (log(t + 1e-3) - log(t)).abs().max((log(t) - log(t - 1e-3)).abs()) / 1e-3;
    let limit = 1e-9 + 2.0 * (slope / 512.0).powi(4) / 180.0;
    assert!((probability - u).abs() < limit, "{at:?} [{lo}, {hi}] u = {u}: t = {t} holds {probability}");
}
