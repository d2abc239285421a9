//! Laws in whole numbers, by enumeration of all noise in a box and a bound of what is outside.

use crate::paths::Listed;
use congenial_exact_noise::{Base, Law};
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The base `n / 2^k`.
pub fn dyadic(n: u64, k: u32) -> Base {
    Base::from_mantissa(n << (48 - k)).unwrap()
}

/// `numerator / 2^places`.
#[derive(Clone)]
pub struct Dyadic(pub BigUint, pub usize);

impl Dyadic {
    pub fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0, self.1 + other.1)
    }

    /// In units of `2^-places`, rounded up; exact if it has no more places.
    fn units(&self, places: usize) -> BigUint {
        if self.1 <= places { &self.0 << (places - self.1) } else { (&self.0 >> (self.1 - places)) + 1u32 }
    }
}

/// The weight of a law.
pub fn weight(law: Law, z: i64) -> Dyadic {
    let exponent = match law {
        Law::DoubleGeometric(_) => z.unsigned_abs(),
        Law::DiscreteGaussian(_) => z.unsigned_abs().pow(2),
    } as u32;
    let mantissa = law.base().mantissa();
    let zeros = mantissa.trailing_zeros();
    Dyadic(BigUint::from(mantissa >> zeros).pow(exponent), ((48 - zeros) * exponent) as usize)
}

/// A law on finitely many outcomes, up to a factor: `P` of an outcome is between `w / (Σ w + tail)` and `w / Σ w`.
pub struct Weighted<T> {
    pub weights: BTreeMap<T, BigUint>,
    pub tail: BigUint,
}

impl<T: Ord + Debug> Weighted<T> {
    /// In common units.
    fn of(weights: BTreeMap<T, Dyadic>, tail: &Dyadic) -> Self {
        let places = weights.values().map(|weight| weight.1).max().unwrap();
        let weights = weights.into_iter().map(|(outcome, weight)| (outcome, weight.units(places))).collect();
        Self { weights, tail: tail.units(places) }
    }

    /// Every mass is at most the probability, and what it lacks is undecided: the law is what it should be.
    pub fn holds(&self, listed: &Listed<T>, most_undecided: f64) {
        let total: BigUint = self.weights.values().sum();
        let most = &total + &self.tail;
        let none = BigUint::default();
        for (outcome, mass) in &listed.masses {
            let weight = self.weights.get(outcome).unwrap_or(&none);
            // What is outside the box has at most the weight of all of it.
            let weight = if *weight == none { &self.tail } else { weight };
            assert!(&total * *mass <= weight << listed.depth, "{outcome:?} has a mass of {mass}: too much");
        }
        for (outcome, weight) in &self.weights {
            let mass = listed.masses.get(outcome).copied().unwrap_or(0) + listed.undecided;
            assert!(
                weight << listed.depth <= &most * mass,
                "{outcome:?} has at most a mass of {mass}: too little"
            );
        }
        let part = listed.undecided as f64 / (1u64 << listed.depth) as f64;
        println!("undecided: {part:.2e} of at most {most_undecided:.0e}, {} outcomes", listed.masses.len());
        assert!(part <= most_undecided, "undecided: {part}");
    }
}

/// One count, from `-reach` to `reach`.
pub fn one(law: Law, reach: i64) -> Weighted<i64> {
    Weighted::of((-reach..=reach).map(|z| (z, weight(law, z))).collect(), &outside(law, reach))
}

/// At most `Σ w(z)` over `|z| > reach`: `2 w(reach + 1) (1 + q + q² + …)`, for `q <= 1 - 1/2^k`.
fn outside(law: Law, reach: i64) -> Dyadic {
    let next = weight(law, reach + 1);
    Dyadic((next.0 << 1) * inverse(law), next.1)
}

/// At most `Σ w(z)` over all z: `(1 + q)/(1 - q)`.
fn all(law: Law) -> Dyadic {
    Dyadic(inverse(law) * 2u32, 0)
}

/// `⌈1/(1 - q)⌉`.
fn inverse(law: Law) -> BigUint {
    BigUint::from((1u64 << 48).div_ceil((1 << 48) - law.base().mantissa()))
}

/// A tree, with every leaf that is not known from `-reach` to `reach`: all weights multiplied, sums from below, known counts 0.
pub fn tree(
    parents: &[Option<usize>],
    known: &[bool],
    laws: &[Option<Law>],
    reach: i64,
) -> Weighted<Vec<i64>> {
    let n = parents.len();
    let law = |v: usize| laws[std::iter::successors(Some(v), |v| parents[*v]).count() - 1].unwrap();
    let is_leaf = |v: usize| !parents.contains(&Some(v));
    let open: Vec<usize> = (0..n).filter(|v| is_leaf(*v) && !known[*v]).collect();
    let one = Dyadic(BigUint::from(1u32), 0);
    let mut weights = BTreeMap::new();
    let mut place = vec![-reach; open.len()];
    loop {
        let mut noise = vec![0i64; n];
        for (v, z) in open.iter().zip(&place) {
            noise[*v] = *z;
        }
        for v in (0..n).rev() {
            if let Some(parent) = parents[v] {
                noise[parent] += noise[v];
            }
        }
        if (0..n).all(|v| !known[v] || noise[v] == 0) {
            // The weight of noise 0 is 1.
            let moved = (0..n).filter(|v| noise[*v] != 0);
            let product = moved.fold(one.clone(), |product, v| product.times(&weight(law(v), noise[v])));
            weights.insert(noise, product);
        }
        let Some(next) = place.iter().position(|z| *z < reach) else { break };
        place[next] += 1;
        place[..next].fill(-reach);
    }
    // Σ outside the box of the product over the leaves, other weights being at most 1.
    let places = weights.values().map(|weight| weight.1).max().unwrap();
    let mut tail = BigUint::default();
    for v in &open {
        let others = open.iter().filter(|u| *u != v);
        tail += others.fold(outside(law(*v), reach), |product, u| product.times(&all(law(*u)))).units(places);
    }
    Weighted::of(weights, &Dyadic(tail, places))
}
