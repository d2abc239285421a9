//! Every path of 24 random bits, held against closed forms in rationals.
//!
//! Let m be the mass of the paths on which a draw ends with an outcome within 24 bits, u the mass of the paths on which it does not end,
//! and p the outcome's probability by a formula. What is shown is `m <= p <= m + u`, exactly, for every outcome that there is: those
//! that no path gives, too, and all beyond the reach of the lists at once. So what is drawn has its law up to u in total
//! variation, whatever the bits behind the 24th do.

use crate::oracle::{Dyadic, dyadic, weight};
use crate::paths::{Listed, Path, list};
use congenial_exact_noise::{Base, Free, Law, Precision, Result, Tree, ZeroSum};
use num_bigint::BigInt;
use num_rational::BigRational;
use std::cmp::Ordering;
use std::fmt::Debug;

/// A real number, between two rationals.
struct Between(BigRational, BigRational);

fn whole(n: u64) -> BigRational {
    BigRational::from_integer(n.into())
}

fn base_of(law: Law) -> BigRational {
    BigRational::new(law.base().mantissa().into(), BigInt::from(1u64 << 48))
}

/// How far sums of Gaussian weights go.
const REACH: i64 = 9;

fn sum(weights: impl Iterator<Item = Dyadic>) -> BigRational {
    let weights: Vec<Dyadic> = weights.collect();
    let places = weights.iter().map(|weight| weight.1).max().unwrap();
    let units = weights.into_iter().map(|weight| BigInt::from(weight.0) << (places - weight.1));
    BigRational::new(units.sum(), BigInt::from(1) << places)
}

/// `Σ w(z)`, or of squares of weights `Σ w(z)²`. Of a double geometric `(1 + q)/(1 - q)` with its base, or the square of that; of a
/// Gaussian the sum up to a reach, and what is behind it.
fn total(law: Law, is_squared: bool) -> Between {
    match law {
        Law::DoubleGeometric(_) => {
            let q = base_of(law).pow(if is_squared { 2 } else { 1 });
            let sum = (whole(1) + &q) / (whole(1) - q);
            Between(sum.clone(), sum)
        }
        Law::DiscreteGaussian(_) => {
            let weight = |z| if is_squared { weight(law, z).times(&weight(law, z)) } else { weight(law, z) };
            let sum = sum((-REACH..=REACH).map(weight));
            Between(sum.clone(), sum + behind(law))
        }
    }
}

/// What the total of a Gaussian has behind the reach, at most: `2 q^((R + 1)²) (1 + q + q² + …)`. Squares of weights have less.
fn behind(law: Law) -> BigRational {
    sum([weight(law, REACH + 1)].into_iter()) * whole(2) / (whole(1) - base_of(law))
}

/// `Σ a(s + t) b(s) b(t)` over all s and t, of two laws of one family.
///
/// Double geometric: `Σ_s b^(|s| + |k - s|) = b^|k| (|k| + c)` with `c = (1 + b²)/(1 - b²)`, so that with `x = ab` it is
/// `Σ_k x^|k| (|k| + c) = 2x/(1 - x)² + c (1 + x)/(1 - x)`. Gaussian: up to a reach, and behind it at most
/// `2 B T` with B the total of b and T what that has behind the reach, since a is at most 1.
fn total_of_tree(a: Law, b: Law) -> Between {
    match (a, b) {
        (Law::DoubleGeometric(_), Law::DoubleGeometric(_)) => {
            let (b, one) = (base_of(b), whole(1));
            let x = base_of(a) * &b;
            let c = (&one + &b * &b) / (&one - &b * &b);
            let rest = &one - &x;
            let sum = whole(2) * &x / (&rest * &rest) + c * (&one + &x) / rest;
            Between(sum.clone(), sum)
        }
        _ => {
            let of_pair = |(s, t)| weight(a, s + t).times(&weight(b, s)).times(&weight(b, t));
            let sum = sum(pairs(REACH).map(of_pair));
            Between(sum.clone(), sum + whole(2) * total(b, false).1 * behind(b))
        }
    }
}

/// Pairs of numbers up to a reach.
fn pairs(reach: i64) -> impl Iterator<Item = (i64, i64)> {
    (-reach..=reach).flat_map(move |s| (-reach..=reach).map(move |t| (s, t)))
}

/// `p = weight / total` against `mass / 2^depth`, by products of integers: rationals would be reduced.
fn compared(weight: &Dyadic, total: &BigRational, mass: u64, depth: u32) -> Ordering {
    let p = BigInt::from(weight.0.clone()) * (total.denom() << depth);
    p.cmp(&((total.numer() * mass) << weight.1))
}

/// Lists all paths of 24 bits and encloses a law.
///
/// - `weight`: of an outcome, `total`: of all.
/// - `outcomes`: those that are looked at; `beyond`: at least the weight of any other.
/// - `most`: of the mass may be undecided. Without `--release` paths are shorter, and more is.
fn enclose<T: Ord + Debug>(
    what: &str,
    (weight, total): (impl Fn(&T) -> Dyadic, Between),
    (outcomes, beyond): (Vec<T>, Dyadic),
    most: f64,
    draw: impl FnMut(&mut Path) -> Result<T>,
) {
    let depth = if cfg!(debug_assertions) { 16 } else { 24 };
    let Listed { masses, undecided, .. } = list(depth, draw);
    for outcome in outcomes.iter().chain(masses.keys()) {
        let (m, w) = (masses.get(outcome).copied().unwrap_or(0), weight(outcome));
        let (low, high) = (compared(&w, &total.1, m, depth), compared(&w, &total.0, m + undecided, depth));
        assert!(low.is_ge(), "{what}: {outcome:?} has a mass of {m}: too much");
        assert!(high.is_le(), "{what}: {outcome:?} has a mass of {m}: too little");
    }
    assert!(compared(&beyond, &total.0, undecided, depth).is_le(), "{what}: outcomes without a mass");
    let part = undecided as f64 / (1u64 << depth) as f64;
    println!("{what}: {} outcomes, undecided {part:.1e} of at most {most:.0e}", masses.len());
    assert!(cfg!(debug_assertions) || part <= most, "{what}: undecided {part}");
}

fn precision(first: u32, rows: u32) -> Precision {
    Precision::new(first, rows).unwrap()
}

fn base(loss: &str) -> Base {
    Base::from_loss(&loss.parse().unwrap()).unwrap()
}

/// One count, free.
fn free(what: &str, law: Law, first: u32, reach: i64, most: f64) {
    let free = Free::with_precision(law, precision(first, 8)).unwrap();
    let outcomes = ((-reach..=reach).collect(), weight(law, reach + 1));
    enclose(what, (|z: &i64| weight(law, *z), total(law, false)), outcomes, most, |path| free.draw(path));
}

#[test]
fn free_double_geometric_draws_enclose_their_law() {
    for (what, base, first, most) in [
        ("1/2", dyadic(1, 1), 1, 1e-4),
        ("1/8, 3 bits", dyadic(1, 3), 3, 1e-3),
        ("e^-1", base("1"), 1, 0.01),
        ("e^-1/2, 2 bits", base("0.5"), 2, 0.02),
        ("e^-1/5, 2 bits", base("0.2"), 2, 0.1),
    ] {
        free(what, Law::DoubleGeometric(base), first, 60, most);
    }
}

#[test]
fn free_discrete_gaussian_draws_enclose_their_law() {
    for (what, base, first, most) in [
        ("1/8, 2 bits", dyadic(1, 3), 2, 0.01),
        ("1/4", dyadic(1, 2), 1, 0.01),
        ("1/4, 2 bits", dyadic(1, 2), 2, 0.02),
        ("e^-2", base("2"), 1, 0.02),
    ] {
        free(what, Law::DiscreteGaussian(base), first, 5, most);
    }
}

/// Two counts of a known total: `P(z, -z) ∝ w(z)²`.
#[test]
fn pairs_of_a_known_total_enclose_their_law() {
    for (what, law, rows, most) in [
        ("1/2", Law::DoubleGeometric(dyadic(1, 1)), 6, 0.05),
        ("e^-1", Law::DoubleGeometric(base("1")), 5, 0.05),
        ("Gaussian, 1/2", Law::DiscreteGaussian(dyadic(1, 1)), 6, 0.02),
        ("Gaussian, e^-1", Law::DiscreteGaussian(base("1")), 5, 0.05),
        ("Gaussian, e^-1/5", Law::DiscreteGaussian(base("0.2")), 6, 0.02),
    ] {
        let mut group = ZeroSum::with_precision(law, 2, precision(1, rows)).unwrap();
        let squared = |z: i64| weight(law, z).times(&weight(law, z));
        let outcomes = (-12..=12).map(|z| vec![z, -z]).collect();
        let weights = (|z: &Vec<i64>| squared(z[0]), total(law, true));
        let what = format!("{what}, {rows} bits");
        enclose(&what, weights, (outcomes, squared(13)), most, |path| group.draw(path));
    }
}

/// Three counts of a known total: `P(s, t, -s - t) ∝ w(s) w(t) w(s + t)`. Rows of 5 and 6 bits leave much to the rows behind, those of 9
/// nothing within 24 bits.
#[test]
fn three_counts_of_a_known_total_enclose_their_law() {
    for (what, law, rows, most) in [
        ("1/4", Law::DoubleGeometric(dyadic(1, 2)), 5, 0.05),
        ("e^-1", Law::DoubleGeometric(base("1")), 6, 0.1),
        ("Gaussian, e^-1", Law::DiscreteGaussian(base("1")), 5, 0.2),
        ("Gaussian, e^-1", Law::DiscreteGaussian(base("1")), 9, 0.06),
        ("Gaussian, 1/4", Law::DiscreteGaussian(dyadic(1, 2)), 9, 0.05),
    ] {
        let mut group = ZeroSum::with_precision(law, 3, precision(1, rows)).unwrap();
        let outcomes = pairs(12).map(|(s, t)| vec![s, t, -s - t]).collect();
        let product = |z: &Vec<i64>| weight(law, z[0]).times(&weight(law, z[1])).times(&weight(law, z[2]));
        let weights = (product, total_of_tree(law, law));
        let what = format!("{what}, {rows} bits");
        enclose(&what, weights, (outcomes, weight(law, 13)), most, |path| group.draw(path));
    }
}

/// A measured root with two leaves: `P(s + t, s, t) ∝ a(s + t) b(s) b(t)`.
#[test]
fn a_small_tree_encloses_its_law() {
    let geometric = |n, k| Law::DoubleGeometric(dyadic(n, k));
    let gaussian = |n, k| Law::DiscreteGaussian(dyadic(n, k));
    for (what, root, leaf, rows, most) in [
        ("1/2 and 1/4", geometric(1, 1), geometric(1, 2), 5, 0.5),
        ("1/2 and 1/4", geometric(1, 1), geometric(1, 2), 11, 0.1),
        ("e^-1 and e^-1/2", Law::DoubleGeometric(base("1")), Law::DoubleGeometric(base("0.5")), 10, 0.3),
        ("Gaussian, 1/2 and 1/4", gaussian(1, 1), gaussian(1, 2), 11, 0.05),
        (
            "Gaussian, e^-1 and e^-1",
            Law::DiscreteGaussian(base("1")),
            Law::DiscreteGaussian(base("1")),
            10,
            0.1,
        ),
    ] {
        let laws = [Some(root), Some(leaf)];
        let parents = [None, Some(0), Some(0)];
        let mut tree = Tree::with_precision(&parents, &[false; 3], &laws, precision(1, rows)).unwrap();
        let outcomes = pairs(12).map(|(s, t)| vec![s + t, s, t]).collect();
        let product = |z: &Vec<i64>| weight(root, z[0]).times(&weight(leaf, z[1])).times(&weight(leaf, z[2]));
        let weights = (product, total_of_tree(root, leaf));
        let what = format!("{what}, {rows} bits");
        enclose(&what, weights, (outcomes, weight(leaf, 13)), most, |path| tree.draw(path));
    }
}
