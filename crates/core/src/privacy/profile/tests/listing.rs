//! Margins of three rows and more, other equations, and inequalities: against all outcomes.

use super::super::{lattice, margins};
use super::*;
use crate::invariant::{Inequalities, NO_LOWER, NO_UPPER};
use crate::lattice::{Basis, BasisKind};
use std::collections::BTreeSet;

const NOISES: [IntegerNoise; 2] = [IntegerNoise::DoubleGeometric, IntegerNoise::DiscreteGaussian];

fn log_weight(noise: IntegerNoise, scale: f64, z: i64) -> f64 {
    match noise {
        IntegerNoise::DoubleGeometric => -(z as f64).abs() / scale,
        IntegerNoise::DiscreteGaussian => -0.5 * (z * z) as f64 / (scale * scale),
    }
}

/// Points of the lattice of some equations, by so many steps of each of its basis.
fn points(invariant: &Linear, reach: i64) -> Vec<Vec<i64>> {
    let basis = Basis::of_kernel(&invariant.whole().matrix(), BasisKind::Reduced).unwrap().vectors;
    let combined = box_of(basis.rows(), reach).map(|steps| {
        let at = |entry| (0..basis.rows()).map(|i| steps[i] * basis.row(i)[entry]).sum();
        (0..invariant.entries()).map(at).collect()
    });
    combined.collect()
}

/// The laws of some changes on some points.
fn laws(points: &[Vec<i64>], changes: &[Vec<i64>], noise: IntegerNoise, scale: f64) -> Vec<Listed> {
    changes.iter().map(|u| Listed::of(points, u, |_, z| log_weight(noise, scale, z))).collect()
}

fn size(z: &[i64]) -> i64 {
    z.iter().map(|x| x.abs()).sum()
}

fn profile(losses: Vec<Losses>) -> Profile {
    Profile(losses.into_iter().map(Curve::Losses).collect())
}

/// Three rows and more, by transforms and by listing, against each other and against all noise within a reach.
#[test]
fn margins_are_those_of_all_outcomes() {
    for (rows, columns, scale, reach) in [(3, 3, 0.6, 8), (3, 4, 0.35, 3), (4, 3, 0.35, 3)] {
        let invariant = Linear::margins(rows, columns).unwrap();
        let points = points(&invariant, reach);
        let changes: Vec<Vec<i64>> =
            points.iter().filter(|z| size(z) == 4 && z[0] != 0 && z[1] != 0).cloned().collect();
        for noise in NOISES {
            let listed = laws(&points, &changes, noise, scale);
            let what = format!("{rows} {columns} {noise:?}");
            let found = of_table(&invariant, scale, noise, ChangeKind::Smallest).unwrap().unwrap();
            check(&found, &listed, [1e-12, 1e-9], &what);
            let component = &invariant.components()[0];
            let found = match noise {
                IntegerNoise::DoubleGeometric => {
                    lattice::smallest(component, &DoubleGeometric::new(scale).unwrap())
                }
                IntegerNoise::DiscreteGaussian => {
                    lattice::smallest(component, &DiscreteGaussian::new(scale).unwrap())
                }
            };
            let (least, losses) = found.unwrap().unwrap();
            assert_eq!(least, 4);
            check(&profile(losses), &listed, [1e-12, 1e-9], &format!("{what}, listed"));
        }
    }
}

/// Scales beyond those whose points are all listed here: transforms against the points that matter.
#[test]
fn transforms_are_the_points_that_matter() {
    for (rows, columns, scale) in [(3, 3, 1.0), (3, 4, 0.25), (3, 5, 0.1)] {
        let component = &Linear::margins(rows, columns).unwrap().components()[0];
        let compare = |one: Losses, other: Vec<Losses>, what: String| {
            for epsilon in [0.0, 0.3, 1.0, 2.0, 4.0, 6.0] {
                let want = other.iter().map(|losses| losses.delta(epsilon)).fold(0.0, f64::max);
                let got = one.delta(epsilon);
                assert!((got - want).abs() < 1e-11, "{what} {epsilon}: {got}, not {want}");
            }
        };
        let law = DoubleGeometric::new(scale).unwrap();
        let one = margins::of_table(&law, (rows, columns)).unwrap().unwrap();
        compare(one, lattice::smallest(component, &law).unwrap().unwrap().1, format!("{rows} {columns}"));
        let law = DiscreteGaussian::new(scale).unwrap();
        // Of a small scale a transform loses what is seldom.
        let one = margins::of_table(&law, (rows, columns)).unwrap();
        assert_eq!(one.is_some(), scale > 0.5, "{scale}");
        if let Some(one) = one {
            let listed = lattice::smallest(component, &law).unwrap().unwrap().1;
            let mu = listed.iter().map(|losses| losses.mu().unwrap()).fold(0.0, f64::max);
            assert!((one.mu().unwrap() / mu - 1.0).abs() < 1e-10, "{rows} {columns}");
            compare(one, listed, format!("{rows} {columns} Gaussian"));
        }
    }
}

/// Many columns: what a record in two cells loses comes close to normal noise on four counts that are nearly free, and a
/// table too large for a torus is not computed.
#[test]
fn wide_tables_come_close_to_normal_noise() {
    let (sigma, sizes) = (12.0, (3, 60));
    let law = DiscreteGaussian::new(sigma).unwrap();
    let wide = margins::of_table(&law, sizes).unwrap().unwrap();
    let normal = Profile::normal(2.0 / sigma);
    for delta in [1e-3, 1e-6, 1e-9] {
        let (got, want) = (wide.epsilon(delta), normal.epsilon(delta));
        assert!((got / want - 1.0).abs() < 2e-3, "{delta}: {got}, not {want}");
    }
    assert_eq!(margins::of_table(&law, (6, 6)).unwrap(), None);
    let large = of_table(&Linear::margins(9, 9).unwrap(), 2.0, NOISES[0], ChangeKind::Smallest);
    assert!(matches!(large, Err(crate::Error::TooLarge { .. })), "{large:?}");
}

/// Equations of any kind: groups of equal columns, coefficients, three tables that must agree.
#[test]
fn equations_are_those_of_all_outcomes() {
    let systems = [
        (Linear::subsets(6, &[vec![0, 1, 2], vec![2, 3, 4], vec![4, 5, 0], vec![1, 3, 5]]).unwrap(), 7),
        (Linear::subsets(6, &[vec![0, 1, 2, 3], vec![2, 3, 4, 5]]).unwrap(), 6),
        (Linear::subsets(5, &[vec![0, 1, 2, 3, 4], vec![0, 1, 2]]).unwrap(), 8),
        (Linear::from_rows(4, vec![vec![(0, 1), (1, 2), (2, -1), (3, 3)]]).unwrap(), 9),
        (Linear::from_rows(3, vec![vec![(0, 2), (1, 3), (2, 5)]]).unwrap(), 12),
    ];
    for (invariant, reach) in systems {
        let points = points(&invariant, reach);
        let least = points.iter().map(|z| size(z)).filter(|size| *size > 0).min().unwrap();
        let moves = |z: &&Vec<i64>| size(z) == 2 && z.iter().sum::<i64>() == 0;
        for noise in NOISES {
            for kind in [ChangeKind::Moved, ChangeKind::Smallest] {
                let changes: Vec<Vec<i64>> = match kind {
                    ChangeKind::Smallest if !points.iter().any(|z| moves(&z)) => {
                        points.iter().filter(|z| size(z) == least).cloned().collect()
                    }
                    _ => points.iter().filter(moves).cloned().collect(),
                };
                let found = of_table(&invariant, SCALE, noise, kind).unwrap();
                assert_eq!(found.is_some(), !changes.is_empty(), "{invariant:?} {kind:?}");
                if let Some(found) = found {
                    let listed = laws(&points, &changes, noise, SCALE);
                    check(&found, &listed, [1e-8, 1e-8], &format!("{invariant:?} {noise:?} {kind:?}"));
                    // A Gaussian weight may lose anything: what tables cut counts.
                    assert_eq!(found.epsilon(0.0).is_finite(), noise == IntegerNoise::DoubleGeometric);
                }
            }
        }
    }
}

/// The laws of two tables on some releases.
fn between(releases: &[Vec<i64>], [x, other]: [&[i64]; 2], log: &dyn Fn(usize, i64) -> f64) -> Listed {
    let law = |from: &[i64]| -> Vec<f64> {
        let weight = |y: &Vec<i64>| -> f64 {
            libm::exp((0..y.len()).map(|entry| log(entry, y[entry] - from[entry])).sum())
        };
        let weights: Vec<f64> = releases.iter().map(weight).collect();
        let all: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / all).collect()
    };
    Listed(law(x).into_iter().zip(law(other)).collect())
}

/// What a step between tables changes: of each pair of tables the step's size on what counts records, and its sum.
fn of_kind(
    tables: &[Vec<i64>],
    counts: &dyn Fn(usize) -> bool,
    kind: ChangeKind,
) -> Vec<(Vec<i64>, Vec<i64>)> {
    let step = |x: &[i64], y: &[i64]| {
        let own = (0..x.len()).filter(|&entry| counts(entry)).map(|entry| y[entry] - x[entry]);
        (own.clone().map(i64::abs).sum::<i64>(), own.sum::<i64>())
    };
    let pairs: Vec<_> =
        tables.iter().flat_map(|x| tables.iter().map(move |y| (x.clone(), y.clone()))).collect();
    let with = |is: &dyn Fn((i64, i64)) -> bool| -> Vec<(Vec<i64>, Vec<i64>)> {
        pairs.iter().filter(|(x, y)| is(step(x, y))).cloned().collect()
    };
    let added = || with(&|(size, _)| size == 1);
    let moved = || with(&|step| step == (2, 0));
    match kind {
        ChangeKind::Added => added(),
        ChangeKind::Moved => moved(),
        ChangeKind::Smallest => {
            let least = pairs.iter().map(|(x, y)| step(x, y).0).filter(|size| *size > 0).min();
            [added(), moved(), with(&|(size, _)| Some(size) == least)]
                .into_iter()
                .find(|found| !found.is_empty())
                .unwrap_or_default()
        }
    }
}

/// Few tables within inequalities: totals, margins, overlapping sums, bounds on both sides, rows, parts beside each other.
#[test]
fn inequalities_are_those_of_all_tables() {
    let nonnegative = Inequalities::nonnegative;
    let within = |n: usize, most: i64| Inequalities::bounds(vec![0; n], vec![most; n]).unwrap();
    let systems: Vec<(Linear, Vec<i64>, Inequalities)> = vec![
        (Linear::total(3).unwrap(), vec![2, 0, 3], nonnegative(3)),
        (Linear::total(2).unwrap(), vec![0, 9], nonnegative(2)),
        (Linear::margins(2, 3).unwrap(), vec![1, 0, 2, 0, 2, 1], nonnegative(6)),
        (Linear::margins(3, 3).unwrap(), vec![1, 0, 1, 0, 1, 0, 0, 1, 1], nonnegative(9)),
        (Linear::subsets(4, &[vec![0, 1, 2], vec![2, 3]]).unwrap(), vec![1, 1, 2, 0], nonnegative(4)),
        (Linear::none(2), vec![1, 2], within(2, 3)),
        (Linear::partition(&[0, 0, 1, 1]).unwrap(), vec![1, 1, 0, 3], nonnegative(4)),
        (
            Linear::total(3).unwrap(),
            vec![2, 1, 2],
            nonnegative(3).and(Inequalities::rows(vec![(vec![(0, 1), (1, -1)], -1)]).unwrap()),
        ),
        // A tree of entries: 0 = 1 + 2, at most 4.
        (
            Linear::from_rows(3, vec![vec![(0, -1), (1, 1), (2, 1)]]).unwrap(),
            vec![2, 1, 1],
            Inequalities::bounds(vec![0; 3], vec![4, 4, 4]).unwrap(),
        ),
    ];
    let mut seen = 0;
    for (invariant, counts, inequalities) in systems {
        let region = inequalities.around(&counts).unwrap();
        let noise_of = |y: &Vec<i64>| -> Vec<i64> { y.iter().zip(&counts).map(|(y, x)| y - x).collect() };
        let tables: Vec<Vec<i64>> = box_of(counts.len(), [9, 9, 9, 9, 9, 4, 4, 2, 2, 2][counts.len()])
            .map(|z| z.iter().zip(&counts).map(|(z, x)| z + x).collect::<Vec<i64>>())
            .filter(|y| y.iter().all(|y| *y >= 0))
            .filter(|y| region.contains(&noise_of(y)) && invariant.holds(&noise_of(y)))
            .collect();
        let is_tree = invariant.rows().first().is_some_and(|row| row[0].1 < 0);
        let is_record = |entry: usize| !(is_tree && entry == 0);
        for (noise, scale) in NOISES.into_iter().flat_map(|noise| [0.45, 2.5].map(|scale| (noise, scale))) {
            for kind in ChangeKind::ALL {
                let pairs = of_kind(&tables, &is_record, kind);
                let what = format!("{invariant:?} {inequalities:?} {noise:?} {scale} {kind:?}");
                let found = Profile::of_table(&invariant, &region, scale, noise, kind).unwrap();
                assert_eq!(found.is_some(), !pairs.is_empty(), "{what}");
                let Some(found) = found else { continue };
                let log = |_: usize, z: i64| log_weight(noise, scale, z);
                let listed: Vec<Listed> = pairs.iter().map(|(x, y)| between(&tables, [x, y], &log)).collect();
                check(&found, &listed, [1e-12, 1e-10], &what);
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

/// Single counts with a bound on one side: whatever the given ones are, all tables count; and records move between two.
#[test]
fn single_counts_are_those_of_all_tables() {
    for (noise, scale) in NOISES.into_iter().flat_map(|noise| [0.4, 0.6].map(|scale| (noise, scale))) {
        let one: Vec<Vec<i64>> = (0..=60).map(|y| vec![y]).collect();
        let log = |_: usize, z: i64| log_weight(noise, scale, z);
        let added = |tables: &[Vec<i64>]| of_kind(tables, &|_| true, ChangeKind::Added);
        let listed: Vec<Listed> =
            added(&one[..20]).iter().map(|(x, y)| between(&one, [x, y], &log)).collect();
        for (lower, upper, given) in [(0, NO_UPPER, 3), (0, NO_UPPER, 0), (NO_LOWER, 7, 7), (NO_LOWER, 7, 1)]
        {
            let bounds = Inequalities::bounds(vec![lower; 2], vec![upper; 2]).unwrap();
            let region = bounds.around(&[given, 5]).unwrap();
            let of =
                |kind| Profile::of_table(&Linear::none(2), &region, scale, noise, kind).unwrap().unwrap();
            let what = format!("{noise:?} {scale} {lower} {upper} {given}");
            check(&of(ChangeKind::Added), &listed, [1e-12, 1e-10], &what);
            let two: Vec<Vec<i64>> = (0..=24).flat_map(|x| (0..=24).map(move |y| vec![x, y])).collect();
            let near: Vec<Vec<i64>> = two.iter().filter(|x| x.iter().all(|x| *x < 10)).cloned().collect();
            let moved = of_kind(&near, &|_| true, ChangeKind::Moved);
            let listed: Vec<Listed> = moved.iter().map(|(x, y)| between(&two, [x, y], &log)).collect();
            // Far from the bounds the noise is free, and is listed to 1e-9 here.
            check(&of(ChangeKind::Moved), &listed, [1e-8, 1e-5], &format!("{what} moved"));
        }
    }
}

/// Trees whose leaves are not negative, below known counts: noise that differs by level.
#[test]
fn trees_within_bounds_are_those_of_all_tables() {
    let trees: [(&[usize], &[usize], &[i64]); 4] = [
        (&[0, 0, 0, 0], &[0], &[4, 1, 0, 3]),
        (&[0, 0, 0, 1, 1, 2, 2], &[0], &[3, 2, 1, 2, 0, 1, 0]),
        (&[0, 0, 0, 1, 1, 1, 2, 2], &[1, 2], &[6, 4, 2, 1, 3, 0, 2, 0]),
        (&[0, 0, 0, 1, 1], &[0, 1], &[5, 2, 3, 1, 1]),
    ];
    for (parents, known, counts) in trees {
        let tree = Hierarchy::from_parents(parents).unwrap();
        let tree = tree.with_known((0..parents.len()).map(|v| known.contains(&v)).collect()).unwrap();
        let leaves: Vec<usize> = tree.leaves().iter().map(|&leaf| leaf as usize).collect();
        let tables: BTreeSet<Vec<i64>> = box_of(leaves.len(), 3)
            .map(|values| {
                let mut nodes = vec![0; tree.nodes()];
                leaves.iter().zip(values).for_each(|(&leaf, x)| nodes[leaf] = x + 3);
                tree.sum_up(&mut nodes);
                nodes
            })
            .filter(|x| (0..tree.nodes()).all(|v| !tree.is_known(v) || x[v] == counts[v]))
            .collect();
        let tables: Vec<Vec<i64>> = tables.into_iter().collect();
        for scales in [[1.0, 0.7, 1.9], [2.0, 2.0, 2.0]] {
            let scales: Vec<f64> =
                (0..tree.levels()).map(|l| if tree.is_level_known(l) { 0.0 } else { scales[l] }).collect();
            for (noise, kind) in
                NOISES.into_iter().flat_map(|noise| ChangeKind::ALL.map(|kind| (noise, kind)))
            {
                let pairs = of_kind(&tables, &|v| tree.is_leaf(v), kind);
                let region = Region::everything();
                let found =
                    Profile::of_tree_within(&tree, &scales, Some(counts), &region, noise, kind).unwrap();
                assert_eq!(found.is_some(), !pairs.is_empty());
                let Some(found) = found else { continue };
                let log = |v: usize, z: i64| match tree.is_known(v) {
                    true => 0.0,
                    false => log_weight(noise, scales[tree.level(v)], z),
                };
                let listed: Vec<Listed> = pairs.iter().map(|(x, y)| between(&tables, [x, y], &log)).collect();
                check(&found, &listed, [1e-12, 1e-10], &format!("{parents:?} {noise:?} {kind:?}"));
            }
        }
    }
    // Without bounds it is what the passes say; with more tables than are compared nothing is.
    let total =
        Hierarchy::from_parents(&[0; 5]).unwrap().with_known(vec![true, false, false, false, false]).unwrap();
    let (scales, everything) = ([0.0, 1.0], Region::everything());
    let of = |counts: Option<&[i64]>| {
        let kind = ChangeKind::Moved;
        Profile::of_tree_within(&total, &scales, counts, &everything, NOISES[0], kind).unwrap()
    };
    assert_eq!(of(None), Profile::of_tree(&total, &scales, NOISES[0], ChangeKind::Moved).unwrap());
    assert!(of(Some(&[8, 2, 2, 2, 2])).is_some());
    assert!(of(Some(&[30, 20, 4, 4, 2])).is_none());
}

/// A total so far beyond the noise that tests which are next to never right decide nothing: mu is that of all of them, none is taken
/// for what was lost.
#[test]
fn tests_far_out_are_those_of_all_tables() {
    let (n, scale) = (12, 1.15);
    let counts = [4, 4, 4];
    let region = Inequalities::nonnegative(3).around(&counts).unwrap();
    let tables: Vec<Vec<i64>> =
        (0..=n).flat_map(|a| (0..=n - a).map(move |b| vec![a, b, n - a - b])).collect();
    let pairs = of_kind(&tables, &|_| true, ChangeKind::Moved);
    let log = |_: usize, z: i64| log_weight(NOISES[1], scale, z);
    let want = pairs.iter().map(|(x, y)| between(&tables, [x, y], &log).mu()).fold(0.0, f64::max);
    let total = Linear::total(3).unwrap();
    let found = Profile::of_table(&total, &region, scale, NOISES[1], ChangeKind::Moved).unwrap().unwrap();
    let got = found.mu().unwrap();
    assert!((got / want - 1.0).abs() < 1e-9, "{got}, not {want}");
}

/// What one law is nowhere better than another at is left out, and nothing else.
#[test]
fn what_is_dominated_is_left_out() {
    let losses = |epsilons: &[f64]| epsilons.iter().map(|&epsilon| Losses::pure(epsilon)).collect::<Vec<_>>();
    let kept = super::super::losses::undominated(losses(&[0.5, 2.0, 1.0, 2.0]));
    assert_eq!(kept, losses(&[2.0]));
    // Two curves that cross: a little always, and much seldom.
    let seldom = Losses::of(vec![(3.0, 0.01), (-0.009_552, 0.99)], 0.0, 3.0);
    assert_eq!(super::super::losses::undominated(vec![seldom.clone(), Losses::pure(0.3)]).len(), 2);
}

/// The scales up to which the docs say that margins and single counts with a bound are computed.
#[test]
fn losses_are_computed_up_to_these_scales() {
    let region = Inequalities::nonnegative(2).around(&[4, 0]).unwrap();
    for (kind, scales) in [(ChangeKind::Added, [5.0, 25.0]), (ChangeKind::Moved, [3.0, 2.0])] {
        for (noise, scale) in NOISES.into_iter().zip(scales) {
            let found = Profile::of_table(&Linear::none(2), &region, scale, noise, kind).unwrap();
            // Far from the bound it pays what free noise pays.
            let changes = if kind == ChangeKind::Added { 1 } else { 2 };
            let free = Profile::of_free(&vec![scale; changes], noise).unwrap();
            assert!(found.unwrap().delta(0.1) >= free.delta(0.1) - 1e-12, "{noise:?} {kind:?}");
        }
    }
    let limits = [((3, 3), 16.0, 40.0), ((3, 40), 10.0, 15.0), ((4, 4), 2.0, 5.0), ((5, 5), 0.5, 1.2)];
    for (sizes, scale, sigma) in limits {
        let law = DoubleGeometric::new(scale).unwrap();
        assert!(margins::of_table(&law, sizes).unwrap().is_some(), "{sizes:?} {scale}");
        let law = DiscreteGaussian::new(sigma).unwrap();
        assert!(margins::of_table(&law, sizes).unwrap().is_some(), "{sizes:?} {sigma}");
    }
}
