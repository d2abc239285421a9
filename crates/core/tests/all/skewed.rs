//! Trees whose releases are not negative, many of their counts 0: what ancestors pull down lies far in the tails of what the
//! leaves alone give. Against convolution in logarithms, which knows no tails.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::*;
use congenial_core::exact::{GaussianTree, IntegerTree, LaplaceTree, PartsScratch};
use congenial_core::imaging::L2;
use congenial_core::invariant::Hierarchy;
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Gaussian, IntegerLaw, Laplace, Law};
use congenial_core::rng::{below, open01};
use congenial_oracle::{Distribution, Formula, trees};

/// Parents of a tree by the number of children of each node, level by level.
fn tree(levels: &[Vec<usize>]) -> Hierarchy {
    let mut parents = vec![0];
    let mut first = 0;
    for children in levels {
        let next = parents.len();
        for (i, &n) in children.iter().enumerate() {
            parents.extend(std::iter::repeat_n(first + i, n));
        }
        first = next;
    }
    Hierarchy::from_parents(&parents).unwrap()
}

/// Counts of all nodes from those of the leaves, in order.
fn counts(tree: &Hierarchy, mut leaf: impl FnMut(usize) -> i64) -> Vec<i64> {
    let mut counts = vec![0; tree.nodes()];
    for (i, &v) in tree.leaves().iter().enumerate() {
        counts[v as usize] = leaf(i);
    }
    tree.sum_up(&mut counts);
    counts
}

fn formula<L: IntegerLaw>(law: &L) -> Formula {
    match law.as_double_geometric() {
        Some(_) => Formula::Geometric(law.scale()),
        None => Formula::DiscreteGaussian(law.scale()),
    }
}

/// The law of the root, and of the sampler's table.
fn roots<L: IntegerLaw>(tree: &Hierarchy, laws: &[L], counts: &[i64]) -> (Distribution, IntegerTree) {
    let formulas: Vec<Formula> = laws.iter().map(formula).collect();
    let law = trees::root(tree, &formulas, Some(counts), trees::MOST_STEPS).unwrap();
    let sampler = IntegerTree::new(tree, laws, Some(counts)).unwrap();
    assert!(sampler.tv_error() <= 1e-9, "{:e}", sampler.tv_error());
    (law, sampler)
}

/// Half of the total variation distance between the root's law and the table that the sampler draws it from.
fn apart(law: &Distribution, sampler: &IntegerTree) -> f64 {
    let listed: f64 = law.points.iter().map(|&(z, p)| (sampler.root().unwrap().at(z as i64) - p).abs()).sum();
    let inside: f64 = law.points.iter().map(|&(z, _)| sampler.root().unwrap().at(z as i64)).sum();
    0.5 * (listed + (1.0 - inside).abs())
}

fn mean_size(law: &Distribution) -> f64 {
    law.points.iter().map(|(z, p)| z.abs() * p).sum()
}

fn geometric(scales: &[f64]) -> Vec<DoubleGeometric> {
    scales.iter().map(|&scale| DoubleGeometric::new(scale).unwrap()).collect()
}

/// Cases in which a table that is cut by its own mass gave a root three to twelve times too far.
#[test]
fn many_empty_leaves_under_one_parent() {
    let lone = |n: usize| (tree(&[vec![1], vec![n]]), vec![0i64; n]);
    let beside = |n: usize| (tree(&[vec![2], vec![n, 2]]), [vec![0i64; n], vec![5, 7]].concat());
    let steep = [1.0 / 0.9, 1.0 / 0.09, 100.0];
    for ((tree, leaves), scales, want) in [
        (lone(15), steep, 8.73),
        (lone(20), steep, 11.64),
        (lone(100), [3.0; 3], 58.2),
        (beside(120), [1.0; 3], 5.44),
        (beside(500), [1.0; 3], 25.2),
    ] {
        let counts = counts(&tree, |i| leaves[i]);
        let (law, sampler) = roots(&tree, &geometric(&scales), &counts);
        assert!((mean_size(&law) - want).abs() < 0.06 + 0.002 * want, "{} {want}", mean_size(&law));
        assert!(apart(&law, &sampler) < 1e-8, "{:e}", apart(&law, &sampler));
    }
}

/// Random trees, both laws, all kinds of splits: the table that the root is drawn from is its law.
#[test]
fn random_trees_have_their_roots_law() {
    let mut rng = test_stream(77);
    for round in 0..60 {
        let most = [4.0, 30.0, 300.0, 2000.0][round % 4];
        let groups = 1 + below(&mut rng, 3) as usize;
        let sizes: Vec<usize> = (0..groups)
            .map(|g| if g == 0 { libm::pow(most, open01(&mut rng)) as usize + 1 } else { 2 })
            .collect();
        let tree = match below(&mut rng, 3) {
            0 => tree(&[vec![sizes[0]]]),
            1 => tree(&[vec![groups], sizes]),
            _ => tree(&[vec![2], vec![1, groups], [vec![3], sizes].concat()]),
        };
        let zeros = open01(&mut rng);
        let counts = counts(&tree, |_| match open01(&mut rng) < zeros {
            true => 0,
            false if below(&mut rng, 5) == 0 => 1 << below(&mut rng, 20),
            false => 1 + below(&mut rng, 3) as i64,
        });
        let scales: Vec<f64> = (0..tree.levels())
            .map(|_| 0.3 * libm::exp(open01(&mut rng) * libm::log(if most > 100.0 { 10.0 } else { 60.0 })))
            .collect();
        let far = if round % 8 < 4 {
            let (law, sampler) = roots(&tree, &geometric(&scales), &counts);
            apart(&law, &sampler)
        } else {
            let laws: Vec<_> = scales.iter().map(|&s| DiscreteGaussian::new(s).unwrap()).collect();
            let (law, sampler) = roots(&tree, &laws, &counts);
            apart(&law, &sampler)
        };
        assert!(far < 1e-8, "{far:e}: {} leaves, scales {scales:?}", tree.leaves().len());
    }
}

/// 10^5 blocks in 2,500 groups, 250 tracts, 25 counties, 5 states; two of five blocks are empty.
#[test]
fn blocks_of_a_country() {
    let mut rng = test_stream(78);
    let levels = [vec![5], vec![5; 5], vec![10; 25], vec![10; 250], vec![40; 2500]];
    let tree = tree(&levels);
    assert_eq!(tree.leaves().len(), 100_000);
    // Of a few kinds, so that the oracle can share them as well.
    let kinds: Vec<Vec<i64>> = (0..6)
        .map(|_| {
            let one = |_| {
                if below(&mut rng, 5) < 2 { 0 } else { [1, 2, 3, 8, 40, 300][below(&mut rng, 6) as usize] }
            };
            (0..40).map(one).collect()
        })
        .collect();
    let counts = counts(&tree, |i| kinds[(i / 4000 + i / 400 % 10 / 4 + i / 40 % 10 / 5) % 6][i % 40]);
    for scales in [[1.0; 6], [1.2, 2.0, 4.0, 4.0, 2.0, 3.0], [0.5, 1.0, 2.0, 4.0, 8.0, 10.0]] {
        let (law, sampler) = roots(&tree, &geometric(&scales), &counts);
        assert!(apart(&law, &sampler) < 1e-8, "{:e}", apart(&law, &sampler));
        let (mut scratch, mut noise) = (PartsScratch::default(), vec![0i64; tree.nodes()]);
        sampler.draw(&mut rng, &mut scratch, &mut noise);
        tree.check(&noise).unwrap();
        let released: Vec<i64> = noise.iter().zip(&counts).map(|(z, x)| z + x).collect();
        tree.check_nonnegative(&released).unwrap();
    }
}

/// The splits below the root: means of the children of one parent, by enumeration of their class.
#[test]
fn splits_have_their_law() {
    let tree = tree(&[vec![2], vec![300, 2]]);
    let counts = counts(&tree, |i| [0, 0, 0, 1][i % 4] * i64::from(i < 300) + 400 * i64::from(i >= 300));
    let scales = [2.0, 3.0, 9.0];
    let law =
        trees::conditioned(&tree, &scales.map(Formula::Geometric), Some(&counts), trees::MOST_STEPS).unwrap();
    let sampler = IntegerTree::new(&tree, &geometric(&scales), Some(&counts)).unwrap();
    let (mut rng, mut scratch, mut noise) =
        (test_stream(79), PartsScratch::default(), vec![0i64; tree.nodes()]);
    let draws = 4000;
    for level in 0..3 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            let size: f64 = noise[tree.level_nodes(level)].iter().map(|z| z.abs() as f64).sum();
            sum += size;
            squares += size * size;
        }
        let mean = sum / draws as f64;
        let deviation = (squares / draws as f64 - mean * mean).sqrt();
        assert_mean(mean, law.absolute[level], deviation, draws);
    }
}

/// Scales at which tables have one entry, or none of the moments has room: drawn or refused, never a panic.
#[test]
fn extreme_scales() {
    let tree = tree(&[vec![2], vec![3, 2]]);
    let mut rng = test_stream(80);
    let (mut scratch, mut noise) = (PartsScratch::default(), vec![0i64; tree.nodes()]);
    for leaves in [[0, 0, 0, 0, 0], [5, 5, 5, 5, 5], [0, 0, 3, 1000, 1 << 40], [100, 200, 1000, 1 << 50, 0]] {
        let counts = counts(&tree, |i| leaves[i]);
        for scale in [1e-6, 1.0 / 700.0, 1.0 / 140.0, 0.05, 0.1, 1.0, 3.0, 10.0, 300.0] {
            for ratio in [1.0, 0.01, 30.0] {
                let scales = [scale, scale * ratio, scale];
                let sampler = IntegerTree::new(&tree, &geometric(&scales), Some(&counts)).unwrap();
                sampler.draw(&mut rng, &mut scratch, &mut noise);
                let laws: Vec<_> = scales.iter().map(|&s| DiscreteGaussian::new(s).unwrap()).collect();
                let gaussian = IntegerTree::new(&tree, &laws, Some(&counts)).unwrap();
                gaussian.draw(&mut rng, &mut scratch, &mut noise);
                let released: Vec<i64> = noise.iter().zip(&counts).map(|(z, x)| z + x).collect();
                tree.check(&released).unwrap();
                tree.check_nonnegative(&released).unwrap();
            }
        }
    }
}

/// Families that nearly cancel: the rounding of what was added is no violation, at 1,501 nodes again and again and at 10^6 once;
/// a residual of one part in 10^9 is.
#[test]
fn rounding_is_no_violation() {
    let mut rng = test_stream(81);
    for (parents, replicates) in [(500, 200), (333_333, 1)] {
        let tree = tree(&[vec![parents], vec![2; parents]]);
        let counts = counts(&tree, |i| 3 - (i % 2) as i64);
        let (laplace, gaussian) = (Laplace::new(1.0 / 0.7).unwrap(), Gaussian::new(2.0).unwrap());
        let (laplaces, gaussians) = (vec![laplace; 3], vec![gaussian; 3]);
        let samplers =
            (GaussianTree::new(&tree, &gaussians).unwrap(), L2::new(&tree, &[8.0, 2.0, 2.0]).unwrap());
        // The sums of very many leaves are drawn by rejection: small trees only.
        let exact = (parents < 1000).then(|| LaplaceTree::new(&tree, &laplaces[..]).ok()).flatten();
        let mut noise = vec![0.0; tree.nodes()];
        for _ in 0..replicates {
            let check = |noise: &[f64]| {
                let released: Vec<f64> = noise.iter().zip(&counts).map(|(z, &x)| z + x as f64).collect();
                tree.check_release(&released, &counts, noise).unwrap();
                let mut wrong = released.clone();
                wrong[1] += 1e-9 * (1.0 + wrong[1].abs());
                assert!(tree.check_release(&wrong, &counts, noise).is_err());
            };
            samplers.0.draw(&mut rng, &mut noise);
            check(&noise);
            noise.iter_mut().for_each(|z| *z = laplace.sample(&mut rng));
            samplers.1.project(&mut noise);
            check(&noise);
            if let Some(exact) = &exact {
                exact.draw(&mut rng, &mut Vec::new(), &mut noise);
                check(&noise);
            }
        }
    }
}
