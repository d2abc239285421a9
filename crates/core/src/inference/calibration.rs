//! Posteriors are calibrated: counts drawn from the prior and released have uniform ranks among draws of the posterior.
//!
//! Talts, Betancourt, Simpson, Vehtari, Gelman (2018), Validating Bayesian inference algorithms with simulation-based calibration.

use super::{Posterior, Prior, Weight};
use crate::exact::{IntegerTree, PartsScratch};
use crate::invariant::Hierarchy;
use crate::law::{DoubleGeometric, Law};
use crate::rng::{Rng, below, open01};
use crate::testing::{assert_frequencies, test_stream};

/// Ranks of a quantity, and draws of a posterior: 20 places that are equally likely.
const RANKS: usize = 1000;
const DRAWS: usize = 19;

/// A count by inversion, from its chance to be 0 and the chance of one count over that of the one before.
fn inverted<R: Rng>(rng: &mut R, zero: f64, over: impl Fn(f64) -> f64) -> i64 {
    let (mut left, mut p, mut x) = (open01(rng), zero, 0);
    while left >= p && x < 10_000 {
        left -= p;
        x += 1;
        p *= over(x as f64);
    }
    x
}

fn drawn<R: Rng>(rng: &mut R, prior: Prior) -> i64 {
    let poisson = |rng: &mut R, mean: f64| inverted(rng, libm::exp(-mean), |x| mean / x);
    match prior {
        Prior::Between(low, high) => low + below(rng, (high - low + 1) as u64) as i64,
        Prior::Poisson(mean) => poisson(rng, mean),
        Prior::NegativeBinomial { mean, size } => {
            let q = mean / (mean + size);
            inverted(rng, libm::pow(1.0 - q, size), |x| q * (x - 1.0 + size) / x)
        }
        Prior::TruncatedPoisson { mean, low, high } => loop {
            let x = poisson(rng, mean);
            if (low..=high).contains(&x) {
                break x;
            }
        },
        other => panic!("{other:?} is not drawn here"),
    }
}

/// The rank of a truth among draws, ties broken at random.
fn rank<R: Rng>(rng: &mut R, truth: i64, draws: &[i64]) -> usize {
    let less = draws.iter().filter(|&&x| x < truth).count();
    let same = draws.iter().filter(|&&x| x == truth).count();
    less + below(rng, same as u64 + 1) as usize
}

/// Noise on every node, as it is and conditioned on the sums, with the total known and not: ranks of every node and of a difference.
#[test]
fn ranks_are_uniform() {
    let free = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2, 2]).unwrap();
    let known = free.clone().with_known((0..8).map(|v| v == 0).collect()).unwrap();
    let priors = [
        Prior::Poisson(3.0),
        Prior::NegativeBinomial { mean: 4.0, size: 0.8 },
        Prior::Between(0, 6),
        Prior::Poisson(4.0).within(2, 5),
        Prior::Poisson(0.4),
    ];
    let scales = [3.0, 2.0, 1.5];
    let laws = scales.map(|scale| DoubleGeometric::new(scale).unwrap());
    let weights = scales.map(Weight::Exponential);
    let mut rng = test_stream(171);
    for (tree, conditioned) in [(&free, false), (&free, true), (&known, false), (&known, true)] {
        let exact = IntegerTree::new(tree, &laws, None).unwrap();
        let nodes = tree.nodes();
        let mut places = vec![[0u64; DRAWS + 1]; nodes + 1];
        for _ in 0..RANKS {
            let mut truth = vec![0i64; nodes];
            for (&leaf, &prior) in tree.leaves().iter().zip(&priors) {
                truth[leaf as usize] = drawn(&mut rng, prior);
            }
            tree.sum_up(&mut truth);
            let mut noise = vec![0i64; nodes];
            match conditioned {
                true => exact.draw(&mut rng, &mut PartsScratch::default(), &mut noise),
                false => {
                    let open = (0..nodes).filter(|&v| !tree.is_known(v));
                    open.for_each(|v| noise[v] = laws[tree.level(v)].sample(&mut rng));
                }
            }
            let values: Vec<f64> = truth.iter().zip(&noise).map(|(x, z)| (x + z) as f64).collect();
            let posterior = Posterior::on_tree(tree, &weights, &values, &priors).unwrap();
            let mut draws = vec![vec![0i64; nodes]; DRAWS];
            draws.iter_mut().for_each(|draw| posterior.draw(&mut rng, draw));
            let quantity = |counts: &[i64], v: usize| match v < nodes {
                true => counts[v],
                false => counts[3] + counts[7] - counts[5],
            };
            for (v, places) in places.iter_mut().enumerate() {
                let own: Vec<i64> = draws.iter().map(|draw| quantity(draw, v)).collect();
                places[rank(&mut rng, quantity(&truth, v), &own)] += 1;
            }
        }
        for own in places {
            let even = 1.0 / (DRAWS + 1) as f64;
            assert_frequencies(own.map(|count| (count, even)), RANKS as u64);
        }
    }
}
