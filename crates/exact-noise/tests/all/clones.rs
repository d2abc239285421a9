//! A tree, or a group, for every thread.

use crate::oracle::dyadic;
use crate::statistics::Seeded;
use congenial_exact_noise::{Law, Precision, Tree, ZeroSum};
use std::thread;

/// Draws change nothing but the tables that are kept: a clone that is drawn from in another thread gives, from the same bits, what one
/// that never drew gives. Rows of 8 bits, so that draws from behind the tables are among them.
#[test]
fn clones_in_threads_draw_the_same_from_the_same_bits() {
    let parents = [None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(2), Some(2)];
    let laws = [None, Some(Law::DiscreteGaussian(dyadic(7, 3))), Some(Law::DoubleGeometric(dyadic(3, 2)))];
    let known = parents.map(|parent| parent.is_none());
    let precision = Precision::new(32, 8).unwrap();
    let fresh = || Tree::with_precision(&parents, &known, &laws, precision).unwrap();
    let group = || ZeroSum::with_precision(laws[1].unwrap(), 9, precision).unwrap();
    let draws = |mut tree: Tree, mut group: ZeroSum, seed| {
        let mut source = Seeded(seed);
        let mut draw = || (tree.draw(&mut source).unwrap(), group.draw(&mut source).unwrap());
        (0..200).map(|_| draw()).collect::<Vec<_>>()
    };
    let (mut used, mut used_group) = (fresh(), group());
    for _ in 0..200 {
        used.draw(&mut Seeded(7)).unwrap();
        used_group.draw(&mut Seeded(7)).unwrap();
    }
    let threads = [1, 2, 3].map(|seed| {
        let (tree, group) = (used.clone(), used_group.clone());
        (seed, thread::spawn(move || draws(tree, group, seed)))
    });
    for (seed, thread) in threads {
        assert_eq!(thread.join().unwrap(), draws(fresh(), group(), seed), "seed {seed}");
    }
}
