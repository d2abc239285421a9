//! Trees with known counts, against laws that are computed in other ways: listing, convolution in logarithms, closed forms, and
//! projections by multipliers.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::*;
use congenial_core::chain;
use congenial_core::diagnostics::Moments;
use congenial_core::exact::{
    Dyadic, GaussianTree, IntegerTree, LaplaceTree, PartsScratch, ReleaseSampler, TreeLaw, TreeSampler,
};
use congenial_core::imaging::{
    BlueDown, BlueDownScratch, L2, TopDown, TopDownReal, TopDownRealScratch, TopDownScratch,
};
use congenial_core::invariant::Hierarchy;
use congenial_core::kernel::{Dispersed, HierarchicalMh, LineGibbs, Start};
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Gaussian, IntegerLaw, Laplace, Law};
use congenial_core::rng::below;
use congenial_oracle::{Formula, images, trees};
use std::collections::HashMap;

/// 0 -> 1, 2 (a leaf), 3; 1 -> 4, 5, 6; 3 -> 7, 8; with known nodes.
fn tree(known: &[usize]) -> Hierarchy {
    let tree = Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 1, 3, 3]).unwrap();
    let marks = (0..tree.nodes()).map(|v| known.contains(&v)).collect();
    tree.with_known(marks).unwrap()
}

/// The total; two levels; an inner node alone; leaves; both.
const KNOWN: [&[usize]; 6] = [&[0], &[0, 1, 2, 3], &[1], &[4, 2], &[0, 4], &[3, 5]];

const COUNTS: [i64; 9] = [9, 3, 1, 5, 2, 0, 1, 4, 1];

fn geometric(scales: [f64; 3]) -> Vec<DoubleGeometric> {
    scales.iter().map(|&scale| DoubleGeometric::new(scale).unwrap()).collect()
}

fn exact_case<L: IntegerLaw>(laws: &[L], seed: u64) {
    for (known, seed) in KNOWN.iter().zip(seed..) {
        for counts in [None, Some(&COUNTS[..])] {
            let tree = tree(known);
            let law = listed_tree(&tree, laws, counts, 4);
            let sampler = IntegerTree::new(&tree, laws, counts).unwrap();
            assert!(sampler.tv_error() < 1e-9, "{}", sampler.tv_error());
            let (mut rng, mut scratch, mut noise) = (test_stream(seed), PartsScratch::default(), vec![7; 9]);
            assert_law(&law, 60_000, || {
                sampler.draw(&mut rng, &mut scratch, &mut noise);
                noise.clone()
            });
        }
    }
}

#[test]
fn integers_are_the_listed_law() {
    exact_case(&geometric([0.3, 0.35, 0.25]), 100);
    exact_case(&[0.6, 0.7, 0.5].map(|sigma| DiscreteGaussian::new(sigma).unwrap()), 200);
}

/// What a real release draws, on a tree with its leaves within `reach`.
fn released_case<L: IntegerLaw>(
    tree: &Hierarchy,
    laws: &[L],
    dyadic: fn(L) -> congenial_core::Result<Dyadic>,
    (reach, seed): (i64, u64),
) {
    let law = listed_tree(tree, laws, None, reach);
    let laws: Vec<Dyadic> = laws.iter().map(|&law| dyadic(law).unwrap()).collect();
    let sampler = ReleaseSampler::on_tree(tree, &laws).unwrap();
    let (mut rng, mut noise) = (test_stream(seed), vec![7; tree.nodes()]);
    assert_law(&law, 60_000, || {
        sampler.lend(|lent| lent.draw(&mut rng, &mut noise)).unwrap();
        noise.clone()
    });
}

/// The law of `exact`, listed: its bases are off by less than 2^-48, which no test sees.
#[test]
fn released_noise_is_the_listed_law() {
    for (known, seed) in KNOWN.iter().chain([&&[][..]]).zip(1000..) {
        let laws = geometric([0.3, 0.35, 0.25]);
        released_case(&tree(known), &laws, Dyadic::double_geometric, (4, seed));
        let laws = [0.6, 0.7, 0.5].map(|sigma| DiscreteGaussian::new(sigma).unwrap());
        released_case(&tree(known), &laws, Dyadic::discrete_gaussian, (4, seed + 100));
    }
    // Wider noise, of which less than 1e-6 lies beyond: a total that is known, or measured, of three.
    for (is_known, seed) in [(true, 1200), (false, 1300)] {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0]).unwrap();
        let tree = tree.with_known(vec![is_known, false, false, false]).unwrap();
        released_case(&tree, &geometric([3.0, 2.0, 1.0])[..2], Dyadic::double_geometric, (30, seed));
        let laws = [3.0, 4.0].map(|sigma| DiscreteGaussian::new(sigma).unwrap());
        released_case(&tree, &laws, Dyadic::discrete_gaussian, (25, seed + 1));
    }
}

/// What is drawn depends on the stream alone: not on what was drawn before, nor on who else draws.
#[test]
fn released_noise_is_a_function_of_its_stream() {
    let dyadic = |law| Dyadic::double_geometric(law).unwrap();
    let laws: Vec<Dyadic> = geometric([6.0, 5.0, 4.0]).into_iter().map(dyadic).collect();
    let sampler = ReleaseSampler::on_tree(&tree(&[0]), &laws).unwrap();
    let draw = |seed: u64| {
        let mut noise = vec![0; 9];
        sampler.lend(|lent| lent.draw(&mut test_stream(seed), &mut noise)).unwrap();
        noise
    };
    let first: Vec<Vec<i64>> = (0..200).map(draw).collect();
    let again: Vec<Vec<i64>> = (0..200).rev().map(draw).collect();
    assert!(first.iter().eq(again.iter().rev()) && first[0] != first[1]);
    // One in the hands of another.
    sampler.lend(|_| (0..200).for_each(|seed| assert_eq!(draw(seed), first[seed as usize])));
}

fn chain_case<K: Dispersed<Value = i64>>(kernel: &K, law: &HashMap<Vec<i64>, f64>, thin: u64, seed: u64) {
    let mut rng = test_stream(seed);
    for start in [Start::default(), Start::FreeNoise] {
        let state = kernel.start(start, &mut rng).unwrap();
        let (mut state, _) = chain::run(kernel, state, 20_000, 0, &mut rng, |_, _| ()).unwrap();
        let mut noise = kernel.noise();
        assert_law(law, 8_000, || {
            for _ in 0..thin {
                kernel.draw(&mut rng, &mut noise);
                kernel.apply(&mut state, &noise);
            }
            kernel.position(&state).to_vec()
        });
    }
}

#[test]
fn chains_reach_the_listed_law() {
    let laws = geometric([0.8, 0.9, 0.7]);
    for (known, seed) in KNOWN.iter().zip(300..) {
        for counts in [None, Some(&COUNTS[..])] {
            let tree = tree(known);
            let law = listed_tree(&tree, &laws, counts, 5);
            chain_case(&LineGibbs::new(&tree, &laws, counts).unwrap(), &law, 40, seed);
            chain_case(&HierarchicalMh::new(&tree, &laws, 0.7, counts).unwrap(), &law, 300, seed);
        }
    }
}

/// Moments by level against convolution.
fn moments_case<L: TreeLaw>(
    tree: &Hierarchy,
    laws: &[L],
    formulas: &[Formula],
    counts: Option<&[i64]>,
    (n, slack): (usize, f64),
) {
    let law = trees::conditioned(tree, formulas, counts, trees::MOST_STEPS).unwrap();
    let sampler = L::tree_sampler(tree, laws, counts).unwrap();
    let (mut rng, mut scratch) = (test_stream(7), Default::default());
    let mut noise = vec![L::Value::default(); tree.nodes()];
    let mut found = vec![[Moments::default(), Moments::default()]; tree.levels()];
    for _ in 0..n {
        sampler.draw(&mut rng, &mut scratch, &mut noise);
        tree.check(&noise).unwrap();
        tree.check_known(&noise).unwrap();
        for (level, found) in found.iter_mut().enumerate() {
            let of = |f: fn(f64) -> f64| -> f64 {
                noise[tree.level_nodes(level)].iter().map(|&z| f(congenial_core::law::Value::to_f64(z))).sum()
            };
            found[0].push(of(f64::abs));
            found[1].push(of(|z| z * z));
        }
    }
    for (level, found) in found.iter().enumerate() {
        for (found, want) in found.iter().zip([law.absolute[level], law.squares[level]]) {
            // Five standard errors, and what the grid of the real laws is off.
            let within = 5.0 * found.deviation() / (n as f64).sqrt() + slack * want;
            assert!((found.mean() - want).abs() <= within, "level {level}: {} {want}", found.mean());
        }
    }
}

#[test]
fn reals_have_the_moments_of_their_densities() {
    for known in KNOWN {
        let tree = tree(known);
        let scales = [1.0, 0.7, 1.3];
        let laplace = scales.map(|scale| Laplace::new(scale).unwrap());
        moments_case(&tree, &laplace, &scales.map(Formula::Laplace), None, (40_000, 0.01));
        let gaussian = scales.map(|sigma| Gaussian::new(sigma).unwrap());
        moments_case(&tree, &gaussian, &scales.map(Formula::Gaussian), None, (40_000, 0.01));
    }
    // Four levels, on which the leaves that take what is left lie two and three levels below what is known.
    let deep = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 5]).unwrap();
    for known in [&[0][..], &[0, 2], &[1], &[0, 6]] {
        let tree = deep.clone().with_known((0..12).map(|v| known.contains(&v)).collect()).unwrap();
        let scales = [1.0, 0.7, 1.3, 0.9];
        let laplace = scales.map(|scale| Laplace::new(scale).unwrap());
        moments_case(&tree, &laplace, &scales.map(Formula::Laplace), None, (40_000, 0.01));
    }
}

/// Var = λ² (2n - 1)(n - 1) / (n (n + 1)) for n leaves with a known total.
#[test]
fn a_known_total_has_its_closed_form() {
    for n in [2usize, 3, 14] {
        let tree = Hierarchy::from_parents(&vec![0; n + 1]).unwrap();
        let tree = tree.with_known((0..=n).map(|v| v == 0).collect()).unwrap();
        let sampler = LaplaceTree::new(&tree, &[Laplace::new(1.0).unwrap(); 2]).unwrap();
        let (mut rng, mut scratch, mut noise) = (test_stream(n as u64), Vec::new(), vec![0.0; n + 1]);
        let mut squares = Moments::default();
        for _ in 0..100_000 {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            squares.push(noise[1] * noise[1]);
        }
        let n = n as f64;
        let want = (2.0 * n - 1.0) * (n - 1.0) / (n * (n + 1.0));
        assert_mean(squares.mean(), want, squares.deviation(), 100_000);
    }
}

/// Counts of 0 below a known count of 3: no table that is cut by its own mass holds the sum 3.
#[test]
fn skewed_sums_are_held() {
    let mut parents = vec![0, 0, 0];
    parents.extend(vec![1; 60]);
    parents.extend(vec![2; 40]);
    let tree = Hierarchy::from_parents(&parents).unwrap();
    let mut counts = vec![0; tree.nodes()];
    (counts[3], counts[70]) = (3, 50);
    tree.sum_up(&mut counts);
    for known in [&[0, 1, 2][..], &[0], &[1]] {
        let tree = tree.clone().with_known((0..tree.nodes()).map(|v| known.contains(&v)).collect()).unwrap();
        for scale in [0.5, 3.0, 20.0] {
            let laws = geometric([scale; 3]);
            let formulas = [Formula::Geometric(scale); 3];
            moments_case(&tree, &laws, &formulas, Some(&counts), (4000, 1e-6));
        }
        let laws = [2.0; 3].map(|sigma| DiscreteGaussian::new(sigma).unwrap());
        moments_case(&tree, &laws, &[Formula::DiscreteGaussian(2.0); 3], Some(&counts), (4000, 1e-6));
    }
}

/// The taxi shape with the city's total known, double geometric with lambda 1: levels 2 and 3 barely gain.
#[test]
fn a_known_city() {
    let tree = taxi_shape().with_known((0..270).map(|v| v == 0).collect()).unwrap();
    let law = trees::conditioned(&tree, &[Formula::Geometric(1.0); 3], None, trees::MOST_STEPS).unwrap();
    let per = |level: usize| law.absolute[level] / 270.0;
    assert!(per(0) == 0.0 && (per(1) - 0.0124).abs() < 5e-5 && (per(2) - 0.8068).abs() < 5e-5);
    moments_case(&tree, &geometric([1.0; 3]), &[Formula::Geometric(1.0); 3], None, (20_000, 1e-6));
}

/// What follows from known counts is known.
#[test]
fn known_counts_are_closed() {
    let known = |marks: &[usize]| {
        let tree = tree(marks);
        (0..tree.nodes()).filter(|&v| tree.is_known(v)).collect::<Vec<_>>()
    };
    assert_eq!(known(&[4, 5, 6]), [1, 4, 5, 6]);
    assert_eq!(known(&[1, 4, 6]), [1, 4, 5, 6]);
    assert_eq!(known(&[0, 1, 2]), [0, 1, 2, 3]);
    assert_eq!(known(&[0, 2, 4, 5, 6]), [0, 1, 2, 3, 4, 5, 6]);
    let all = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
    assert!(all.with_known(vec![true, true, false]).is_err());
    assert_eq!((tree(&[0, 4]).measured(0), tree(&[0, 4]).measured(2)), (0, 4));
}

fn variances() -> [f64; 3] {
    [1.0, 2.5, 0.7]
}

/// Projections against the plain ones, on random trees with random known nodes: real noise, so that nothing ties.
#[test]
fn projections_are_the_plain_ones() {
    let mut rng = test_stream(11);
    let law = Gaussian::new(3.0).unwrap();
    for case in 0..150 {
        let known: Vec<usize> = if case % 3 == 0 { vec![] } else { KNOWN[case % 6].to_vec() };
        let tree = tree(&known);
        let mut counts = vec![0i64; 9];
        tree.leaves().iter().for_each(|&v| counts[v as usize] = below(&mut rng, 6) as i64);
        tree.sum_up(&mut counts);
        let u: Vec<f64> = (0..9).map(|v| if tree.is_known(v) { 0.0 } else { law.sample(&mut rng) }).collect();
        let mut l2 = u.clone();
        L2::new(&tree, &variances()).unwrap().project(&mut l2);
        for (got, want) in l2.iter().zip(images::tree_l2(&tree, &u, &variances())) {
            assert!((got - want).abs() < 1e-8, "l2 {known:?}: {got} {want}");
        }
        let release = |got: &[i64], want: &[f64]| {
            for v in 0..9 {
                assert_eq!((got[v] - counts[v]) as f64, want[v], "{known:?} {counts:?} {u:?} node {v}");
                assert!(got[v] >= 0 && (!tree.is_known(v) || got[v] == counts[v]));
            }
            tree.check(got).unwrap();
        };
        let noisy: Vec<f64> = u.iter().zip(&counts).map(|(z, &x)| x as f64 + z).collect();
        let mut got = vec![0; 9];
        let topdown = TopDown::new(&tree, &counts);
        topdown.release(&noisy, &mut rng, &mut TopDownScratch::default(), &mut got);
        release(&got, &images::topdown(&mut rng, &tree, &counts, &u));
        let mut real = [0.0; 9];
        TopDownReal::new(&tree, &counts).release(&noisy, &mut TopDownRealScratch::default(), &mut real);
        for (v, want) in images::topdown_real(&tree, &counts, &u).into_iter().enumerate() {
            let got = real[v] - counts[v] as f64;
            assert!((got - want).abs() < 1e-8 && real[v] >= 0.0, "{known:?} node {v}: {got} {want}");
            assert!(!tree.is_known(v) || got == 0.0, "{known:?} node {v}: {got}");
        }
        let bluedown = BlueDown::new(&tree, &variances(), &counts).unwrap();
        bluedown.release(&counts, &u, &mut rng, &mut BlueDownScratch::default(), &mut got);
        let spread = images::estimate_variances(&tree, &variances());
        release(&got, &images::bluedown(&mut rng, &tree, &counts, &u, (&variances(), &spread)));
    }
}

/// Far from 0, and with noise that is large beside rounding, BlueDown is `l2`: it differs by roundings alone, at most one a level
/// for the node and its share of those above.
#[test]
fn without_bounds_bluedown_is_least_squares() {
    let law = Gaussian::new(1e4).unwrap();
    let mut rng = test_stream(12);
    for known in KNOWN.into_iter().chain([&[][..]]) {
        let tree = tree(known);
        let mut counts = vec![0i64; 9];
        tree.leaves().iter().for_each(|&v| counts[v as usize] = 10_000_000);
        tree.sum_up(&mut counts);
        let noise: Vec<f64> =
            (0..9).map(|v| if tree.is_known(v) { 0.0 } else { law.sample(&mut rng) }).collect();
        let mut l2 = noise.clone();
        L2::new(&tree, &variances()).unwrap().project(&mut l2);
        let (bluedown, mut got) = (BlueDown::new(&tree, &variances(), &counts).unwrap(), vec![0; 9]);
        bluedown.release(&counts, &noise, &mut rng, &mut BlueDownScratch::default(), &mut got);
        for v in 0..9 {
            let error = (got[v] - counts[v]) as f64;
            assert!((error - l2[v]).abs() < 1.0 + tree.level(v) as f64, "{known:?} {v}: {error} {}", l2[v]);
        }
    }
}

/// Ties are broken at random: two alike children of an odd count get the larger part equally often.
#[test]
fn bluedown_breaks_ties_at_random() {
    let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
    let tree = tree.with_known(vec![true, false, false]).unwrap();
    let counts = [7, 3, 4];
    let bluedown = BlueDown::new(&tree, &[1.0, 1.0], &counts).unwrap();
    let (mut rng, mut scratch, mut first) = (test_stream(13), BlueDownScratch::default(), 0u64);
    for _ in 0..20_000 {
        let mut got = [0; 3];
        // Noisy counts 5 and 5.
        bluedown.release(&counts, &[0i64, 2, 1], &mut rng, &mut scratch, &mut got);
        assert!(got == [7, 3, 4] || got == [7, 4, 3]);
        first += u64::from(got[1] == 4);
    }
    assert_frequencies([(first, 0.5), (20_000 - first, 0.5)], 20_000);
}

/// The law of the root's error on a tree of n leaves, all nodes measured alike, by listing its noise: the closest integer to
/// `(n z_0 + Σ z)/(n + 1)`, halves to both. Draws of two totals that differ by 1 have it both, at the level 1e-6 together.
#[test]
fn bluedown_knows_no_parity() {
    let law = DoubleGeometric::new(0.7).unwrap();
    let (reach, draws) = (40i64, 200_000);
    let probability = |z: i64| libm::exp(law.log_weight(z) - law.log_weight(0));
    let mass: f64 = (-reach..=reach).map(probability).sum();
    for n in [1usize, 3, 4] {
        // By value of n z_0 + Σ z.
        let scaled = |by: i64, sums: &HashMap<i64, f64>| {
            let mut next: HashMap<i64, f64> = HashMap::new();
            for (sum, p) in sums {
                (-reach..=reach)
                    .for_each(|z| *next.entry(sum + by * z).or_default() += p * probability(z) / mass);
            }
            next
        };
        let mut sums = scaled(n as i64, &HashMap::from([(0, 1.0)]));
        (0..n).for_each(|_| sums = scaled(1, &sums));
        let mut want: HashMap<Vec<i64>, f64> = HashMap::new();
        let (mut halves, q) = (0.0, n as i64 + 1);
        for (sum, p) in sums {
            let (below, rest) = (sum.div_euclid(q), 2 * sum.rem_euclid(q));
            if rest == q {
                halves += p;
            }
            let up = if rest == q { 0.5 } else { f64::from(u8::from(rest > q)) };
            *want.entry(vec![below]).or_default() += p * (1.0 - up);
            *want.entry(vec![below + 1]).or_default() += p * up;
        }
        assert_eq!(halves > 0.02, n % 2 == 1, "{halves}");
        let tree = Hierarchy::from_parents(&vec![0; n + 1]).unwrap();
        for total in [6000, 6001] {
            let mut counts = vec![2000; n + 1];
            (counts[0], counts[1]) = (total, total - 2000 * (n as i64 - 1));
            let bluedown = BlueDown::new(&tree, &[law.variance(); 2], &counts).unwrap();
            let (mut rng, mut scratch) = (test_stream(15), BlueDownScratch::default());
            let mut released = vec![0; n + 1];
            assert_law(&want, draws, || {
                let noise: Vec<i64> = (0..=n).map(|_| law.sample(&mut rng)).collect();
                bluedown.release(&counts, &noise, &mut rng, &mut scratch, &mut released);
                tree.check(&released).unwrap();
                vec![released[0] - total]
            });
        }
    }
}

/// A half at the root, of whatever fractions it is made, goes up as often as down, whatever the count; what is no half draws no word.
#[test]
fn bluedown_splits_halves_evenly() {
    // By multiples of a quarter: (3 z_0 + Σ z)/4. By multiples of a tenth: (6 z_0 + Σ (3 z_c + Σ z))/10 of two families of three.
    let flat = Hierarchy::from_parents(&[0, 0, 0, 0]).unwrap();
    let deep = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 1, 2, 2, 2]).unwrap();
    let cases = [
        (&flat, vec![0i64, 1, 1, 0], 0.5),
        (&flat, vec![1, -1, -2, -2], -0.5),
        (&flat, vec![1, 1, 1, 1], 1.5),
        (&flat, vec![1, 0, 0, 0], 0.75),
        (&deep, vec![0, 1, 0, 1, 0, 0, 0, 1, 0], 0.5),
        (&deep, vec![-1, 1, 0, 0, 0, -1, 0, 0, -1], -0.5),
        (&deep, vec![3, -1, 0, 0, 0, 0, 0, 0, 0], 1.5),
        (&deep, vec![0, 1, 0, 1, 0, 0, 0, 0, 0], 0.4),
    ];
    for (tree, noise, estimate) in cases {
        for last in [20, 21] {
            let mut counts = vec![0; tree.nodes()];
            tree.leaves().iter().for_each(|&leaf| counts[leaf as usize] = 10);
            counts[tree.nodes() - 1] = last;
            tree.sum_up(&mut counts);
            let bluedown = BlueDown::new(tree, &[1.7; 3][..tree.levels()], &counts).unwrap();
            let is_half = (estimate * 2.0f64).fract() == 0.0;
            assert_eq!(bluedown.is_tied(&noise), is_half, "{noise:?}");
            let (mut rng, mut scratch, mut up) = (test_stream(16), BlueDownScratch::default(), 0u64);
            let (low, mut released) = (counts[0] + estimate.floor() as i64, vec![0; tree.nodes()]);
            for _ in 0..20_000 {
                bluedown.release(&counts, &noise, &mut rng, &mut scratch, &mut released);
                assert!(released[0] == low || released[0] == low + 1);
                up += u64::from(released[0] > low);
            }
            if is_half {
                assert_frequencies([(up, 0.5), (20_000 - up, 0.5)], 20_000);
                continue;
            }
            assert_eq!(up, if estimate - estimate.floor() > 0.5 { 20_000 } else { 0 });
            let mut words = test_stream(17);
            bluedown.root(counts[0], estimate, &mut words);
            assert_eq!(below(&mut words, 1 << 60), below(&mut test_stream(17), 1 << 60));
        }
    }
}

#[test]
fn gaussian_noise_given_sums_is_its_projection() {
    // Same law: the variance of every node by both.
    let tree = tree(&[0, 4]);
    let sigmas = [1.0, 0.7, 1.3];
    let laws = sigmas.map(|sigma| Gaussian::new(sigma).unwrap());
    let exact = GaussianTree::new(&tree, &laws).unwrap();
    let l2 = L2::new(&tree, &sigmas.map(|sigma| sigma * sigma)).unwrap();
    let mut rng = test_stream(14);
    let (mut a, mut b) = (vec![Moments::default(); 9], vec![Moments::default(); 9]);
    for _ in 0..40_000 {
        let mut noise = vec![0.0; 9];
        exact.draw(&mut rng, &mut noise);
        a.iter_mut().zip(&noise).for_each(|(a, z)| a.push(z * z));
        let mut noise: Vec<f64> = (0..9)
            .map(|v| if tree.is_known(v) { 0.0 } else { laws[tree.level(v)].sample(&mut rng) })
            .collect();
        l2.project(&mut noise);
        b.iter_mut().zip(&noise).for_each(|(b, z)| b.push(z * z));
    }
    for v in 0..9 {
        let error = a[v].deviation().hypot(b[v].deviation()) / 40_000f64.sqrt();
        assert!((a[v].mean() - b[v].mean()).abs() <= 5.0 * error, "{v}: {} {}", a[v].mean(), b[v].mean());
    }
}
