//! Conditioned noise on hierarchies against oracles computed another way: enumeration on a tiny tree,
//! convolution and quadrature on small ones, published-scale figures on the taxi shape.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::*;
use congenial_core::chain;
use congenial_core::diagnostics::Moments;
use congenial_core::exact::{GaussianTree, IntegerTree, LaplaceTree, PartsScratch};
use congenial_core::imaging::L2;
use congenial_core::invariant::Hierarchy;
use congenial_core::kernel::{HierarchicalMh, Kernel, LineGibbs};
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Gaussian, IntegerLaw, Laplace, Law, LineLaw};
use std::collections::HashMap;

/// A ragged tree: 0 -> 1, 2 (a leaf), 3; 1 -> 4, 5; 3 -> 6.
fn tiny() -> Hierarchy {
    Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 3]).unwrap()
}

const COUNTS: [i64; 7] = [6, 3, 1, 2, 0, 3, 2];

fn exact_case<L: IntegerLaw>(laws: &[L], counts: Option<&[i64]>, seed: u64) {
    let tree = tiny();
    let law = listed_tree(&tree, laws, counts, 9);
    let sampler = IntegerTree::new(&tree, laws, counts).unwrap();
    assert!(sampler.tv_error() < 1e-15);
    let (mut rng, mut scratch, mut noise) = (test_stream(seed), PartsScratch::default(), vec![0; 7]);
    assert_law(&law, 200_000, || {
        sampler.draw(&mut rng, &mut scratch, &mut noise);
        noise.clone()
    });
    // The root's law, without sampling. Leaves beyond ±9 hold less than exp(-18) of the mass.
    for s in -4..=4 {
        let listed: f64 = law.iter().filter(|(z, _)| z[0] == s).map(|(_, p)| p).sum();
        assert!(
            (sampler.root().unwrap().at(s) - listed).abs() < 1e-6,
            "{s}: {} {listed}",
            sampler.root().unwrap().at(s)
        );
    }
}

fn geometric_laws(scales: [f64; 3]) -> Vec<DoubleGeometric> {
    scales.iter().map(|&scale| DoubleGeometric::new(scale).unwrap()).collect()
}

#[test]
fn exact_double_geometric_is_the_listed_law() {
    exact_case(&geometric_laws([0.5, 0.7, 0.4]), None, 1);
    exact_case(&geometric_laws([0.5, 0.7, 0.4]), Some(&COUNTS), 2);
}

#[test]
fn exact_discrete_gaussian_is_the_listed_law() {
    let laws: Vec<_> = [0.8, 1.1, 0.9].iter().map(|&sigma| DiscreteGaussian::new(sigma).unwrap()).collect();
    exact_case(&laws, None, 3);
    exact_case(&laws, Some(&COUNTS), 4);
}

/// Chains of the tiny tree, thinned until independent for practical purposes, against the listed law.
fn chain_case<K: Kernel<Value = i64>>(kernel: &K, law: &HashMap<Vec<i64>, f64>, thin: u64, seed: u64) {
    let mut rng = test_stream(seed);
    let (mut state, _) = chain::run(kernel, kernel.init(&[0; 7]), 2000, 0, &mut rng, |_, _| ()).unwrap();
    let mut noise = kernel.noise();
    assert_law(law, 40_000, || {
        for _ in 0..thin {
            kernel.draw(&mut rng, &mut noise);
            kernel.apply(&mut state, &noise);
        }
        kernel.position(&state).to_vec()
    });
}

#[test]
fn chains_reach_the_listed_law() {
    let tree = tiny();
    let laws = geometric_laws([0.5, 0.7, 0.4]);
    for counts in [None, Some(&COUNTS[..])] {
        let law = listed_tree(&tree, &laws, counts, 9);
        chain_case(&LineGibbs::new(&tree, &laws, counts).unwrap(), &law, 60, 5);
        chain_case(&HierarchicalMh::new(&tree, &laws, 0.6, counts).unwrap(), &law, 200, 6);
    }
    let laws: Vec<_> = [0.8, 1.1, 0.9].iter().map(|&sigma| DiscreteGaussian::new(sigma).unwrap()).collect();
    for counts in [None, Some(&COUNTS[..])] {
        let law = listed_tree(&tree, &laws, counts, 9);
        chain_case(&LineGibbs::new(&tree, &laws, counts).unwrap(), &law, 60, 7);
    }
}

/// Continuous laws: root and one leaf of the tiny tree, by quadrature over the leaves' sums.
///
/// Nothing here knows how the samplers work: densities are tabulated on a grid of step h and convolved.
struct Quadrature {
    step: f64,
    /// Density of the root's noise on the grid -N..=N, and its running sum.
    cumulative: Vec<f64>,
}

impl Quadrature {
    fn root<L: Law<Value = f64>>(laws: &[L]) -> Self {
        let (half, step) = (600i64, 0.02);
        let grid: Vec<f64> = (-half..=half).map(|k| k as f64 * step).collect();
        let weight = |law: &L| -> Vec<f64> { grid.iter().map(|&z| law.log_weight(z).exp()).collect() };
        let convolve = |a: &[f64], b: &[f64]| -> Vec<f64> {
            (-half..=half)
                .map(|s| {
                    (-half..=half)
                        .filter(|k| (s - k).abs() <= half)
                        .map(|k| a[(k + half) as usize] * b[(s - k + half) as usize])
                        .sum()
                })
                .collect()
        };
        let multiply = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let (leaf, middle, top) = (weight(&laws[2]), weight(&laws[1]), weight(&laws[0]));
        let one = multiply(&middle, &convolve(&leaf, &leaf));
        let three = multiply(&middle, &leaf);
        let root = multiply(&top, &convolve(&convolve(&one, &three), &middle));
        let total: f64 = root.iter().sum();
        let mut sum = 0.0;
        let cumulative = root
            .iter()
            .map(|p| {
                sum += p / total;
                // The grid point stands for the interval around it: half of it lies below the point.
                sum - 0.5 * p / total
            })
            .collect();
        Self { step, cumulative }
    }

    fn cdf(&self, x: f64) -> f64 {
        let at = x / self.step + (self.cumulative.len() / 2) as f64;
        let below = (at.floor().max(0.0) as usize).min(self.cumulative.len() - 2);
        let (a, b) = (self.cumulative[below], self.cumulative[below + 1]);
        (a + (at - below as f64) * (b - a)).clamp(0.0, 1.0)
    }
}

#[test]
fn continuous_exact_samplers_have_the_roots_law() {
    let tree = tiny();
    let mut noise = vec![0.0; 7];
    let laws: Vec<_> = [0.5, 0.7, 0.4].iter().map(|&lambda| Laplace::new(lambda).unwrap()).collect();
    let sampler = LaplaceTree::new(&tree, &laws).unwrap();
    let (mut rng, mut scratch) = (test_stream(8), Vec::new());
    let oracle = Quadrature::root(&laws);
    let draws = (0..40_000).map(|_| {
        sampler.draw(&mut rng, &mut scratch, &mut noise);
        tree.check(&noise).unwrap();
        noise[0]
    });
    assert_distribution(draws.collect(), |x| oracle.cdf(x));
    let laws: Vec<_> = [0.8, 1.1, 0.9].iter().map(|&sigma| Gaussian::new(sigma).unwrap()).collect();
    let sampler = GaussianTree::new(&tree, &laws).unwrap();
    let oracle = Quadrature::root(&laws);
    let draws = (0..40_000).map(|_| {
        sampler.draw(&mut rng, &mut noise);
        noise[0]
    });
    assert_distribution(draws.collect(), |x| oracle.cdf(x));
}

/// The exact sampler and line Gibbs, two routes to one law, on every node and on differences.
fn agree<L: LineLaw<Value = f64>>(laws: &[L], mut exact: impl FnMut(&mut [f64]), seed: u64) {
    let tree = tiny();
    let kernel = LineGibbs::new(&tree, laws, None).unwrap();
    let mut rng = test_stream(seed);
    let mut samples = vec![(Vec::new(), Vec::new()); 7 + 1];
    let mut state = kernel.init(&[0.0; 7]);
    let mut moves = kernel.noise();
    let mut noise = vec![0.0; 7];
    for _ in 0..20_000 {
        exact(&mut noise);
        for _ in 0..60 {
            kernel.draw(&mut rng, &mut moves);
            kernel.apply(&mut state, &moves);
        }
        let gibbs = kernel.position(&state);
        for v in 0..7 {
            samples[v].0.push(noise[v]);
            samples[v].1.push(gibbs[v]);
        }
        samples[7].0.push(noise[4] - noise[2]);
        samples[7].1.push(gibbs[4] - gibbs[2]);
    }
    for (a, b) in samples {
        assert_same_distribution(a, b);
    }
}

#[test]
fn continuous_line_gibbs_agrees_with_exact() {
    let tree = tiny();
    let (mut rng, mut scratch) = (test_stream(9), Vec::new());
    let laws: Vec<_> = [0.5, 0.7, 0.4].iter().map(|&lambda| Laplace::new(lambda).unwrap()).collect();
    let sampler = LaplaceTree::new(&tree, &laws).unwrap();
    agree(&laws, |noise| sampler.draw(&mut rng, &mut scratch, noise), 10);
    let laws: Vec<_> = [0.8, 1.1, 0.9].iter().map(|&sigma| Gaussian::new(sigma).unwrap()).collect();
    let sampler = GaussianTree::new(&tree, &laws).unwrap();
    agree(&laws, |noise| sampler.draw(&mut rng, noise), 11);
}

/// Gaussian noise: least squares and conditioning have the same law ("Two views", section 3).
#[test]
fn gaussian_imaging_is_gaussian_conditioning() {
    let tree = tiny();
    let laws: Vec<_> = [0.8, 1.1, 0.9].iter().map(|&sigma| Gaussian::new(sigma).unwrap()).collect();
    let l2 = L2::new(&tree, &laws.iter().map(Law::variance).collect::<Vec<_>>()).unwrap();
    let mut rng = test_stream(12);
    let projected = move |noise: &mut [f64]| {
        for (v, z) in noise.iter_mut().enumerate() {
            *z = laws[tree.level(v)].sample(&mut rng);
        }
        l2.project(noise);
    };
    let laws: Vec<_> = [0.8, 1.1, 0.9].iter().map(|&sigma| Gaussian::new(sigma).unwrap()).collect();
    agree(&laws, projected, 13);
}

/// The two-pass projection is the dense weighted projection.
#[test]
fn l2_is_the_dense_projection() {
    use nalgebra::{DMatrix, DVector};
    let tree = tiny();
    let variances = [0.3, 2.0, 0.7];
    let l2 = L2::new(&tree, &variances).unwrap();
    let noisy = [3.0, -1.0, 2.5, 0.3, 1.7, -4.0, 0.9];
    let mut ours = noisy;
    l2.project(&mut ours);
    let mut a = DMatrix::zeros(3, 7);
    for (row, v) in [0usize, 1, 3].into_iter().enumerate() {
        a[(row, v)] = 1.0;
        tree.children(v).for_each(|c| a[(row, c)] = -1.0);
    }
    let w = DMatrix::from_diagonal(&DVector::from_iterator(7, (0..7).map(|v| variances[tree.level(v)])));
    let y = DVector::from_row_slice(&noisy);
    let gain = &w * a.transpose() * (&a * &w * a.transpose()).try_inverse().unwrap();
    let dense = &y - gain * (&a * &y);
    for v in 0..7 {
        assert!((dense[v] - ours[v]).abs() < 1e-12);
    }
}

/// L1/270 on the taxi shape, from two independent implementations (convolution; a Markov chain).
#[test]
fn taxi_shape_has_the_known_errors() {
    let tree = taxi_shape();
    let known = [
        (0.5, [0.005863, 0.031890, 1.827893]),
        (1.0, [0.002468, 0.013063, 0.806823]),
        (2.0, [0.000544, 0.002711, 0.255384]),
    ];
    for (epsilon, expected) in known {
        let laws = vec![DoubleGeometric::new(1.0 / epsilon).unwrap(); 3];
        let sampler = IntegerTree::new(&tree, &laws, None).unwrap();
        let (mut rng, mut scratch) = (test_stream(14), PartsScratch::default());
        let mut noise = vec![0; tree.nodes()];
        let mut errors = [Moments::default(); 3];
        for _ in 0..20_000 {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            tree.check(&noise).unwrap();
            for (l, moments) in errors.iter_mut().enumerate() {
                let l1: i64 = noise[tree.level_nodes(l)].iter().map(|z| z.abs()).sum();
                moments.push(l1 as f64 / tree.nodes() as f64);
            }
        }
        for (moments, expected) in errors.iter().zip(expected) {
            // The figures are printed to 6 decimals.
            let rounding = 5e-7;
            let limit = Z_ALPHA * moments.estimate().standard_error + rounding;
            assert!((moments.mean() - expected).abs() < limit, "{epsilon}: {} {expected}", moments.mean());
        }
    }
}

/// The sum of n double geometric draws and the split given it, against plain convolution and listing.
#[test]
fn geometric_sums_are_convolutions() {
    use congenial_core::exact::{GeometricSum, SplitScratch, Table};
    for (scale, n) in [(0.5, 3usize), (2.0, 14), (5.0, 69), (2.0, 1)] {
        let law = DoubleGeometric::new(scale).unwrap();
        let one = Table::of_law(&law, i64::MIN, i64::MAX).unwrap();
        let mut convolved = one.clone();
        for _ in 1..n {
            convolved = convolved.convolve(&one).unwrap();
        }
        let sum = GeometricSum::new(&law, n, None).unwrap();
        for t in -50..=50 {
            let (a, b) = (sum.sum().at(t), convolved.at(t));
            assert!((a - b).abs() < 1e-12 * b + 1e-17, "{scale} {n} {t}: {a} {b}");
        }
    }
    // Three draws given that they sum to 2: all of them, listed.
    let law = DoubleGeometric::new(1.0).unwrap();
    let sum = GeometricSum::new(&law, 3, None).unwrap();
    for t in [2i64, -3, 0] {
        let mut listed = HashMap::new();
        for a in -12i64..=12 {
            for b in -12i64..=12 {
                let z = vec![a, b, t - a - b];
                listed.insert(z.clone(), z.iter().map(|&z| law.log_weight(z)).sum::<f64>().exp());
            }
        }
        let total: f64 = listed.values().sum();
        listed.values_mut().for_each(|p| *p /= total);
        let (mut rng, mut scratch, mut parts) = (test_stream(21), SplitScratch::default(), vec![0; 3]);
        assert_law(&listed, 100_000, || {
            sum.split(&mut rng, t, &mut scratch, &mut parts);
            parts.clone()
        });
    }
}

/// `n` Laplace draws with zero sum have `Var = lambda² (2n-1)(n-1)/(n(n+1))` each, for every n.
#[test]
fn zero_sum_laplace_variance_is_the_closed_form() {
    for n in [2usize, 3, 14] {
        // A root that is all but fixed at 0 leaves n Laplace(1) leaves with zero sum.
        let tree = Hierarchy::from_parents(&[vec![0], vec![0; n]].concat()).unwrap();
        let laws = [Laplace::new(1e-6).unwrap(), Laplace::new(1.0).unwrap()];
        let sampler = LaplaceTree::new(&tree, &laws).unwrap();
        let (mut rng, mut scratch, mut noise) = (test_stream(22), Vec::new(), vec![0.0; n + 1]);
        let squares: Moments = (0..100_000)
            .map(|_| {
                sampler.draw(&mut rng, &mut scratch, &mut noise);
                noise[1] * noise[1]
            })
            .collect();
        let m = n as f64;
        let expected = (2.0 * m - 1.0) * (m - 1.0) / (m * (m + 1.0));
        let limit = Z_ALPHA * squares.estimate().standard_error;
        assert!((squares.mean() - expected).abs() < limit, "{n}: {} {expected}", squares.mean());
    }
}

/// Random trees of any shape, every sampler: the release keeps its invariant with `==` (to rounding for
/// reals), and where it is asked for no count is negative.
#[test]
fn every_sampler_keeps_the_invariant_on_random_trees() {
    use congenial_core::imaging::{TopDown, TopDownScratch};
    use congenial_core::rng::below;
    let mut rng = test_stream(23);
    for case in 0..60 {
        let mut parents = vec![0usize];
        let mut last = 0;
        for v in 1..2 + below(&mut rng, 40) as usize {
            last += below(&mut rng, (v - last) as u64).min(2) as usize;
            parents.push(last);
        }
        let tree = Hierarchy::from_parents(&parents).unwrap();
        let mut counts: Vec<i64> = (0..tree.nodes()).map(|_| below(&mut rng, 12) as i64).collect();
        tree.sum_up(&mut counts);
        let scale = [0.4, 2.0, 9.0][case % 3];
        let integer = vec![DoubleGeometric::new(scale).unwrap(); tree.levels()];
        let real = vec![Laplace::new(scale).unwrap(); tree.levels()];
        let (mut noise, mut real_noise) = (vec![0; tree.nodes()], vec![0.0; tree.nodes()]);
        for floor in [None, Some(&counts[..])] {
            let exact = IntegerTree::new(&tree, &integer, floor).unwrap();
            let gibbs = LineGibbs::new(&tree, &integer, floor).unwrap();
            let mut state = gibbs.init(&vec![0; tree.nodes()]);
            let mut moves = gibbs.noise();
            for _ in 0..20 {
                exact.draw(&mut rng, &mut PartsScratch::default(), &mut noise);
                for _ in 0..gibbs.sweep() {
                    gibbs.draw(&mut rng, &mut moves);
                    gibbs.apply(&mut state, &moves);
                }
                for noise in [&noise[..], gibbs.position(&state)] {
                    let release: Vec<i64> = noise.iter().zip(&counts).map(|(z, x)| z + x).collect();
                    tree.check(&release).unwrap();
                    if floor.is_some() {
                        tree.check_nonnegative(&release).unwrap();
                    }
                }
            }
        }
        LaplaceTree::new(&tree, &real).unwrap().draw(&mut rng, &mut Vec::new(), &mut real_noise);
        tree.check(&real_noise).unwrap();
        let noisy: Vec<i64> = counts.iter().map(|x| x + integer[0].sample(&mut rng)).collect();
        TopDown::new(&tree, &counts).release(&noisy, &mut rng, &mut TopDownScratch::default(), &mut noise);
        tree.check(&noise).unwrap();
        tree.check_nonnegative(&noise).unwrap();
    }
}

/// The sum of nine Laplace leaves weighted by its parent, against plain convolution on a grid.
#[test]
fn laplace_sums_are_convolutions() {
    let (leaves, step, half) = (9, 0.04, 1000i64);
    let scales = [0.8, 1.5];
    let laws = scales.map(|scale| Laplace::new(scale).unwrap());
    let grid = |k: i64| k as f64 * step;
    let one: Vec<f64> = (-half..=half).map(|k| laws[1].log_weight(grid(k)).exp()).collect();
    let mut sum = one.clone();
    for _ in 1..leaves {
        sum = (-half..=half)
            .map(|s| {
                let from = (s - half).max(-half);
                (from..=(s + half).min(half))
                    .map(|k| sum[(k + half) as usize] * one[(s - k + half) as usize])
                    .sum()
            })
            .collect();
    }
    let weighted: Vec<f64> =
        (-half..=half).zip(&sum).map(|(k, p)| p * laws[0].log_weight(grid(k)).exp()).collect();
    let moment: f64 = (-half..=half).zip(&weighted).map(|(k, p)| p * grid(k).abs()).sum();
    let expected = moment / weighted.iter().sum::<f64>();
    let tree = Hierarchy::from_parents(&[0; 10]).unwrap();
    let sampler = LaplaceTree::new(&tree, &laws).unwrap();
    let (mut rng, mut scratch, mut noise) = (test_stream(24), Vec::new(), vec![0.0; 10]);
    let draws: Moments = (0..200_000)
        .map(|_| {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            noise[0].abs()
        })
        .collect();
    // The rectangle rule on |s| exp(-|s|/scale) errs by step²/(12 scale²) of the mean.
    let limit = Z_ALPHA * draws.estimate().standard_error + expected * step * step / 6.0;
    assert!((draws.mean() - expected).abs() < limit, "{} {expected} ± {limit}", draws.mean());
}
