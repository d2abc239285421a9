//! Every way of the random bits: laws are exact up to the undecided mass.

use crate::oracle::{Weighted, dyadic, one, tree};
use crate::paths::{Path, list};
use congenial_exact_noise::{Bits, Free, Law, Precision, Result, Tree, ZeroSum};
use std::fmt::Debug;

fn precision(first: u32, rows: u32) -> Precision {
    Precision::new(first, rows).unwrap()
}

/// Lists draws and holds them against their law. Without `--release` paths are shorter, and more is undecided.
fn check<T: Ord + Debug>(
    law: &Weighted<T>,
    depth: u32,
    most_undecided: f64,
    draw: impl FnMut(&mut Path) -> Result<T>,
) {
    if cfg!(debug_assertions) {
        law.holds(&list(depth - 4, draw), 1.0);
    } else {
        law.holds(&list(depth, draw), most_undecided);
    }
}

/// Digits with first comparisons of 1 to 12 bits, which often do not decide.
#[test]
fn double_geometric_draws_are_exact() {
    for (base, first, most) in [
        (dyadic(1, 1), 1, 0.5),
        (dyadic(1, 2), 1, 0.3),
        (dyadic(1, 2), 2, 0.1),
        (dyadic(3, 3), 2, 0.3),
        (dyadic(1, 6), 3, 0.1),
        (dyadic(1, 8), 6, 0.1),
        (dyadic(1, 7), 7, 0.1),
    ] {
        let law = Law::DoubleGeometric(base);
        let free = Free::with_precision(law, precision(first, 8)).unwrap();
        check(&one(law, 60), 24, most, |path| free.draw(path));
    }
}

/// A base with 48 digits, as an epsilon gives it.
#[test]
fn a_base_of_an_epsilon_draws_exactly() {
    let law = Law::DoubleGeometric(congenial_exact_noise::Base::from_loss(&"1.5".parse().unwrap()).unwrap());
    let free = Free::with_precision(law, precision(3, 8)).unwrap();
    check(&one(law, 40), 24, 0.3, |path| free.draw(path));
}

#[test]
fn discrete_gaussian_draws_are_exact() {
    for (base, first, most) in
        [(dyadic(1, 3), 1, 0.6), (dyadic(1, 2), 2, 0.6), (dyadic(1, 1), 1, 0.8), (dyadic(1, 8), 4, 0.3)]
    {
        let law = Law::DiscreteGaussian(base);
        let free = Free::with_precision(law, precision(first, 8)).unwrap();
        check(&one(law, 12), if first == 1 { 20 } else { 24 }, most, |path| free.draw(path));
    }
}

/// A group is a tree of a known root and its leaves.
fn group(law: Law, n: usize, reach: i64) -> Weighted<Vec<i64>> {
    let parents: Vec<Option<usize>> = std::iter::once(None).chain((0..n).map(|_| Some(0))).collect();
    let known: Vec<bool> = (0..=n).map(|v| v == 0).collect();
    let all = tree(&parents, &known, &[None, Some(law)], reach);
    Weighted {
        weights: all.weights.into_iter().map(|(noise, w)| (noise[1..].to_vec(), w)).collect(),
        tail: all.tail,
    }
}

#[test]
fn zero_sums_are_exact() {
    let geometric = |n, k| Law::DoubleGeometric(dyadic(n, k));
    let gaussian = |n, k| Law::DiscreteGaussian(dyadic(n, k));
    for (law, n, rows, reach, most) in [
        (geometric(1, 3), 2, 4, 12, 0.05),
        (geometric(1, 2), 2, 5, 16, 0.05),
        (geometric(1, 4), 3, 4, 8, 0.3),
        (geometric(1, 4), 3, 6, 8, 0.3),
        (geometric(1, 3), 3, 12, 9, 0.5),
        (geometric(1, 5), 4, 8, 5, 0.3),
        (gaussian(1, 2), 2, 4, 6, 0.05),
        (gaussian(1, 3), 3, 4, 5, 0.6),
        (gaussian(1, 3), 3, 8, 5, 0.1),
        (gaussian(1, 2), 3, 10, 5, 0.05),
    ] {
        let mut sum = ZeroSum::with_precision(law, n, precision(1, rows)).unwrap();
        println!("{law:?}, {n} counts, {rows} bits");
        check(&group(law, n, reach), 20, most, |path| {
            let noise = sum.draw(path)?;
            assert_eq!(noise.iter().sum::<i64>(), 0);
            Ok(noise)
        });
    }
}

/// What is drawn behind the tables: rows of 2 and 3 bits leave much, and most of it is decided by the rows behind.
#[test]
fn what_tables_leave_is_exact() {
    let gaussian = Law::DiscreteGaussian(dyadic(1, 2));
    let geometric = Law::DoubleGeometric(dyadic(1, 2));
    for (law, rows) in [(gaussian, 2), (gaussian, 3), (geometric, 2), (geometric, 3)] {
        let mut pair = ZeroSum::with_precision(law, 2, precision(1, rows)).unwrap();
        let mut single = Tree::with_precision(&[None], &[false], &[Some(law)], precision(1, rows)).unwrap();
        check(&group(law, 2, 14), 20, 0.2, |path| pair.draw(path));
        check(&one(law, 14), 20, 0.1, |path| Ok(single.draw(path)?[0]));
        // Some of it is there: less than 2^-rows of a path ends within the first table.
        let table = list(rows, |path| single.draw(path)).undecided;
        assert!(table > 0, "nothing was left by {rows} bits");
    }
}

#[test]
fn trees_are_exact() {
    let a = Law::DoubleGeometric(dyadic(1, 2));
    let b = Law::DoubleGeometric(dyadic(3, 3));
    let g = Law::DiscreteGaussian(dyadic(1, 2));
    let root =
        |n: usize| std::iter::once(None).chain((0..n).map(|_| Some(0))).collect::<Vec<Option<usize>>>();
    // An open root; a chain; a known state in an open nation; a known leaf; an open node whose children are known.
    type Case = (Vec<Option<usize>>, Vec<usize>, Vec<Option<Law>>, u32, f64);
    let cases: Vec<Case> = vec![
        (root(2), vec![], vec![Some(a), Some(b)], 4, 0.8),
        (root(2), vec![], vec![Some(a), Some(b)], 10, 0.3),
        (root(2), vec![], vec![Some(b), Some(g)], 10, 0.3),
        (root(2), vec![], vec![Some(g), Some(b)], 10, 0.3),
        (vec![None, Some(0), Some(1)], vec![], vec![Some(a), Some(g), Some(b)], 6, 0.2),
        (root(3), vec![0, 2], vec![None, Some(a)], 6, 0.2),
        (vec![None, Some(0), Some(0), Some(1), Some(1)], vec![1], vec![Some(a), Some(b), Some(b)], 10, 0.3),
        (vec![None, Some(0), Some(0), Some(1)], vec![0, 3], vec![None, Some(a), None], 8, 0.0),
        (
            vec![None, Some(0), Some(0), Some(1), Some(1), Some(2)],
            vec![0],
            vec![None, Some(b), Some(a)],
            9,
            0.2,
        ),
    ];
    for (parents, known, laws, rows, most) in cases {
        let known: Vec<bool> = (0..parents.len()).map(|v| known.contains(&v)).collect();
        let mut drawn = Tree::with_precision(&parents, &known, &laws, precision(1, rows)).unwrap();
        println!("{parents:?}, {rows} bits");
        // With 4 bits either draw can be one from behind its table, of 12 bits.
        let depth = if rows == 4 { 16 } else { 20 };
        check(&tree(&parents, &known, &laws, 12), depth, most, |path| drawn.draw(path));
    }
}

/// Two trees at once are independent.
#[test]
fn a_forest_is_exact() {
    let law = Law::DoubleGeometric(dyadic(1, 4));
    let parents = [None, None];
    let mut drawn = Tree::with_precision(&parents, &[false; 2], &[Some(law)], precision(1, 8)).unwrap();
    check(&tree(&parents, &[false; 2], &[Some(law)], 8), 20, 0.15, |path| drawn.draw(path));
}

/// A source that gives more bits than it was asked for does no harm.
#[test]
fn bits_that_were_not_asked_for_are_dropped() {
    struct More(u32);
    impl Bits for More {
        fn bits(&mut self, _: u32) -> Result<u32> {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Ok(self.0)
        }
    }
    let law = Law::DoubleGeometric(dyadic(1, 1));
    let noise = ZeroSum::new(law, 10).unwrap().draw(&mut More(1)).unwrap();
    assert_eq!(noise.iter().sum::<i64>(), 0);
    assert!(Free::new(law).unwrap().draw(&mut More(1)).unwrap().abs() < 100);
}
