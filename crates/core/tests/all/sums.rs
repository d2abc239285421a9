//! Sums of independent noise: what their quantiles hold, by convolution term by term and by densities.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::test_stream;
use congenial_core::closed_form::{IntegerNoise, Summand, integer_quantile, laplace_quantile};
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Law};
use congenial_core::rng::{below, open01};
use std::collections::HashMap;

/// The probability of each value, from the weights of the law.
fn law(noise: IntegerNoise) -> Vec<(i64, f64)> {
    let (reach, log): (f64, Box<dyn Fn(i64) -> f64>) = match noise {
        IntegerNoise::DoubleGeometric(lambda) => {
            let law = DoubleGeometric::new(lambda).unwrap();
            (40.0 * lambda, Box::new(move |z| law.log_weight(z)))
        }
        IntegerNoise::DiscreteGaussian(sigma) => {
            let law = DiscreteGaussian::new(sigma).unwrap();
            (9.0 * sigma, Box::new(move |z| law.log_weight(z)))
        }
    };
    let reach = reach as i64 + 2;
    let weights: Vec<(i64, f64)> = (-reach..=reach).map(|z| (z, libm::exp(log(z)))).collect();
    let mass: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.into_iter().map(|(z, weight)| (z, weight / mass)).collect()
}

/// Every interval of random sums holds what it says, and no narrower one does: by convolution term by term.
#[test]
fn intervals_hold_what_they_say() {
    let mut rng = test_stream(70);
    for case in 0..40 {
        let parts = 1 + below(&mut rng, 3);
        let sum: Vec<Summand> = (0..parts)
            .map(|_| {
                let scale = [0.2, 0.7, 2.0][below(&mut rng, 3) as usize] * (0.5 + open01(&mut rng));
                let law = match below(&mut rng, 2) {
                    0 => IntegerNoise::DoubleGeometric(scale),
                    _ => IntegerNoise::DiscreteGaussian(scale),
                };
                Summand { weight: 1 + below(&mut rng, 3), count: below(&mut rng, 5), law }
            })
            .collect();
        let mut convolved = HashMap::from([(0i64, 1.0f64)]);
        for part in &sum {
            let law = law(part.law);
            for _ in 0..part.count {
                let mut next: HashMap<i64, f64> = HashMap::new();
                for (at, p) in convolved.iter().filter(|(_, p)| **p > 1e-17) {
                    for (z, q) in &law {
                        *next.entry(at + part.weight as i64 * z).or_default() += p * q;
                    }
                }
                convolved = next;
            }
        }
        let held = |c: i64| convolved.iter().filter(|(z, _)| z.abs() <= c).map(|(_, p)| p).sum::<f64>();
        for p in [0.5, 0.95, 0.999] {
            let c = integer_quantile(&sum, p).unwrap();
            assert!(held(c) >= p - 1e-11, "{case}: {sum:?}: {c} holds {} of {p}", held(c));
            assert!(c == 0 || held(c - 1) < p + 2e-10, "{case}: {sum:?}: {c} for {p}, {}", held(c - 1));
        }
    }
}

/// Four double geometric values of rate 3.5: 0 holds 79 %, 1 more than 95 %; by variance it were 0.99.
#[test]
fn four_counts_of_little_noise() {
    let four = [Summand { weight: 1, count: 4, law: IntegerNoise::DoubleGeometric(1.0 / 3.5) }];
    assert_eq!(integer_quantile(&four, 0.95), Some(1));
    assert_eq!(integer_quantile(&four, 0.78), Some(0));
    assert_eq!(integer_quantile(&[], 0.95), Some(0));
    // Nearly no noise at all.
    for law in [IntegerNoise::DoubleGeometric(0.02), IntegerNoise::DiscreteGaussian(0.01)] {
        assert_eq!(integer_quantile(&[Summand { weight: 3, count: 1000, law }], 0.999), Some(0));
    }
}

/// Wide sums are nearly normal; wider ones are not convolved.
#[test]
fn many_terms_are_nearly_normal() {
    let laws = [
        (IntegerNoise::DoubleGeometric(3.0), DoubleGeometric::new(3.0).unwrap().variance()),
        (IntegerNoise::DiscreteGaussian(4.2), 4.2 * 4.2),
    ];
    for (law, variance) in laws {
        let sum = [Summand { weight: 1, count: 40_000, law }];
        let normal = 1.959964 * libm::sqrt(40_000.0 * variance);
        let c = integer_quantile(&sum, 0.95).unwrap() as f64;
        assert!((c - normal).abs() < 1.0, "{c} {normal}");
    }
    let wide = IntegerNoise::DoubleGeometric(1e6);
    assert_eq!(integer_quantile(&[Summand { weight: 1, count: 3, law: wide }], 0.95), None);
}

/// Quantiles of Laplace sums hold what they say: for one value in closed form, for two and three by densities that are
/// integrated, for many nearly those of a normal law.
#[test]
fn laplace_sums_hold_what_they_say() {
    for p in [0.5, 0.9, 0.95, 0.99] {
        assert!((laplace_quantile(1, p) + libm::log(1.0 - p)).abs() < 1e-6);
        // P(|S| > c): e^-c (1 + c/2) of two, e^-c (1 + 5c/8 + c²/8) of three.
        let two = laplace_quantile(2, p);
        let outside = libm::exp(-two) * (1.0 + two / 2.0);
        assert!(outside <= 1.0 - p && outside > 1.0 - p - 1e-8, "{two}: {outside}");
        let three = laplace_quantile(3, p);
        let outside = libm::exp(-three) * (1.0 + 0.625 * three + 0.125 * three * three);
        assert!(outside <= 1.0 - p && outside > 1.0 - p - 1e-8, "{three}: {outside}");
    }
    let many = laplace_quantile(1_000_000, 0.95);
    assert!((many / libm::sqrt(2e6) - 1.959964).abs() < 1e-4, "{many}");
    assert_eq!(laplace_quantile(0, 0.95), 0.0);
}
