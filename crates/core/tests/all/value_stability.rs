//! A few draws of every sampler for a fixed key. A change here is value-breaking: say so in CHANGELOG.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::{taxi_shape, test_stream};
use congenial_core::exact::{GaussianTree, IntegerTree, LaplaceTree};
use congenial_core::imaging::SimplexValue;
use congenial_core::kernel::{HierarchicalMh, Kernel, LineGibbs};
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Gaussian, Laplace, Law};
use congenial_core::rng::{Rng, below, exponential, gamma, geometric, normal, open01, sign};
use std::fmt::Debug;

fn draws<T: Debug>(mut draw: impl FnMut() -> T) -> String {
    (0..6).map(|_| format!("{:?}", draw())).collect::<Vec<_>>().join(" ")
}

#[test]
fn known_answers() {
    let mut rng = test_stream(2024);
    let mut lines = vec![
        format!("words {}", draws(|| rng.next_u64())),
        format!("open01 {}", draws(|| open01(&mut rng))),
        format!("sign {}", draws(|| sign(&mut rng))),
        format!("below 1000 {}", draws(|| below(&mut rng, 1000))),
        format!("exponential {}", draws(|| exponential(&mut rng))),
        format!("normal {}", draws(|| normal(&mut rng))),
        format!("gamma 3.5 {}", draws(|| gamma(&mut rng, 3.5))),
        format!("geometric 10 {}", draws(|| geometric(&mut rng, 10.0))),
        format!("laplace {}", draws(|| Laplace::new(2.0).unwrap().sample(&mut rng))),
        format!("double-geometric {}", draws(|| DoubleGeometric::new(20.0).unwrap().sample(&mut rng))),
        format!("gaussian {}", draws(|| Gaussian::new(2.0).unwrap().sample(&mut rng))),
        format!("discrete-gaussian {}", draws(|| DiscreteGaussian::new(20.0).unwrap().sample(&mut rng))),
    ];
    let tree = taxi_shape();
    let laws = [DoubleGeometric::new(2.0).unwrap(); 3];
    let mut noise = vec![0i64; tree.nodes()];
    let exact = IntegerTree::new(&tree, &laws, None).unwrap();
    exact.draw(&mut rng, &mut Default::default(), &mut noise);
    lines.push(format!("exact double-geometric {:?}", &noise[..20]));
    let real = [Laplace::new(2.0).unwrap(); 3];
    let mut real_noise = vec![0.0; tree.nodes()];
    LaplaceTree::new(&tree, &real).unwrap().draw(&mut rng, &mut Vec::new(), &mut real_noise);
    lines.push(format!("exact laplace {:?}", &real_noise[..9]));
    GaussianTree::new(&tree, &[Gaussian::new(2.0).unwrap(); 3]).unwrap().draw(&mut rng, &mut real_noise);
    lines.push(format!("exact gaussian {:?}", &real_noise[..9]));
    let gibbs = LineGibbs::new(&tree, &laws, None).unwrap();
    let (mut state, mut moves) = (gibbs.init(&noise), gibbs.noise());
    for _ in 0..10 * gibbs.sweep() {
        gibbs.draw(&mut rng, &mut moves);
        gibbs.apply(&mut state, &moves);
    }
    lines.push(format!("line-gibbs {:?}", &gibbs.position(&state)[..20]));
    let mh = HierarchicalMh::new(&tree, &laws, 0.25, None).unwrap();
    let (mut state, mut moves) = (mh.init(&noise), mh.noise());
    for _ in 0..2000 {
        mh.draw(&mut rng, &mut moves);
        mh.apply(&mut state, &moves);
    }
    lines.push(format!("hierarchical-mh {:?}", &mh.position(&state)[..20]));
    let mut out = [0; 5];
    i64::project(&[9, -3, 4, 4, 4], 12, &mut rng, &mut Default::default(), &mut out);
    lines.push(format!("topdown {out:?}"));
    insta::assert_snapshot!(lines.join("\n"));
}

/// Draws of the basic algorithms have the laws that they claim.
#[test]
fn claimed_laws() {
    use crate::common::{assert_distribution, assert_frequencies};
    use congenial_core::rng::normal_cdf;
    let mut rng = test_stream(5);
    let n = 200_000;
    assert_distribution((0..n).map(|_| exponential(&mut rng)).collect(), |x| -(-x).exp_m1());
    assert_distribution((0..n).map(|_| normal(&mut rng)).collect(), normal_cdf);
    let erlang = |x: f64| 1.0 - (-x).exp() * (1.0 + x + x * x / 2.0);
    assert_distribution((0..n).map(|_| gamma(&mut rng, 3.0)).collect(), erlang);
    let laplace = |x: f64| if x < 0.0 { 0.5 * (x / 3.0).exp() } else { 1.0 - 0.5 * (-x / 3.0).exp() };
    let law = Laplace::new(3.0).unwrap();
    assert_distribution((0..n).map(|_| law.sample(&mut rng)).collect(), laplace);
    // Integer laws: frequencies against the normalised weights, and the stated variance.
    let mut integer = |sample: &mut dyn FnMut(&mut congenial_core::rng::Stream) -> i64,
                       log_weight: &dyn Fn(i64) -> f64,
                       variance: f64| {
        let total: f64 = (-400..=400).map(|z| log_weight(z).exp()).sum();
        let mut counts = std::collections::HashMap::new();
        for _ in 0..n {
            *counts.entry(sample(&mut rng)).or_insert(0u64) += 1;
        }
        let p = |z: i64| log_weight(z).exp() / total;
        assert_frequencies((-60..=60).map(|z| (counts.get(&z).copied().unwrap_or(0), p(z))), n);
        let summed: f64 = (-400..=400).map(|z| (z * z) as f64 * p(z)).sum();
        assert!((variance / summed - 1.0).abs() < 1e-9, "{variance} {summed}");
    };
    for scale in [0.3, 1.0, 4.0] {
        let law = DoubleGeometric::new(scale).unwrap();
        integer(&mut |rng| law.sample(rng), &|z| law.log_weight(z), law.variance());
        let law = DiscreteGaussian::new(scale).unwrap();
        integer(&mut |rng| law.sample(rng), &|z| law.log_weight(z), law.variance());
    }
    for bound in [1, 2, 7] {
        let mut counts = vec![0u64; bound];
        (0..n).for_each(|_| counts[below(&mut rng, bound as u64) as usize] += 1);
        if bound > 1 {
            assert_frequencies(counts.into_iter().map(|count| (count, 1.0 / bound as f64)), n);
        }
    }
}
