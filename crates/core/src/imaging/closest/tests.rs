use super::*;
use crate::imaging::{ImageScratch, IntegerL2, IntegerNnl2, LatticeL2, LatticeNnl2, Nnl2Scratch};
use crate::invariant::{Linear, NO_LOWER, NO_UPPER, Region};
use crate::lattice::IntMatrix;
use crate::oracle::images::{closest_integers, constraints};
use crate::rng::{Stream, below, normal, open01};
use crate::testing::{assert_frequencies, test_stream};
use proptest::prelude::*;
use std::collections::HashMap;

fn between(rng: &mut Stream, low: i64, high: i64) -> i64 {
    low + below(rng, (high - low + 1) as u64) as i64
}

/// `|y - z|`, summed.
fn off(y: &[i64], z: &[f64]) -> f64 {
    y.iter().zip(z).map(|(&y, z)| (y as f64 - z).abs()).sum()
}

/// Bounds of some entries, around 0; some pinned.
fn random_region(rng: &mut Stream, n: usize) -> Region {
    let bound = |rng: &mut Stream, none: i64, sign: i64| match below(rng, 3) {
        0 => none,
        _ => sign * between(rng, 0, 4),
    };
    let mut region = Region::everything();
    for i in 0..n {
        region.lower.set(i, bound(rng, NO_LOWER, -1));
        region.upper.set(i, bound(rng, NO_UPPER, 1));
    }
    region
}

/// Integers, halves, or reals.
fn random_noise(rng: &mut Stream, n: usize) -> Vec<f64> {
    let kind = below(rng, 3);
    let one = |rng: &mut Stream| match kind {
        0 => between(rng, -6, 6) as f64,
        1 => 0.5 * between(rng, -9, 9) as f64,
        _ => 3.0 * normal(rng),
    };
    (0..n).map(|_| one(rng)).collect()
}

fn route(invariant: &Linear, region: &Region) -> &'static str {
    match ClosestIntegers::new(&region.whole(invariant)).unwrap().way {
        Way::Flow(_) => "flow",
        Way::Moves(_) => "moves",
    }
}

/// The image against all integer points nearby: it satisfies everything, and none is closer to the projection.
fn check(rng: &mut Stream, invariant: &Linear, region: &Region) {
    let n = invariant.entries();
    let noise = random_noise(rng, n);
    let mut image = vec![0; n];
    let integers = IntegerNnl2::new(invariant, region).unwrap();
    match integers.round(rng, &mut ImageScratch::default(), &noise, &mut image) {
        // Least squares have no point on their grid: an error of theirs, which says so.
        Err(Error::NotConverged {
            what: "the exact rounding of least squares under inequalities", ..
        }) => return,
        other => other.unwrap(),
    }
    invariant.check(&image).unwrap();
    region.check(&image).unwrap();
    let mut z = noise.clone();
    LatticeNnl2::new(invariant, region).unwrap().project(&mut Nnl2Scratch::default(), &mut z).unwrap();
    let best = &closest_integers(&z, &constraints(invariant, region))[0];
    let best: Vec<i64> = best.iter().map(|&y| y as i64).collect();
    assert!(
        off(&image, &z) < off(&best, &z) + 1e-4,
        "{invariant:?} {region:?} {noise:?}: {image:?} is {} off {z:?}, {best:?} only {}",
        off(&image, &z),
        off(&best, &z)
    );
}

proptest! {
    /// Two crossing partitions, ragged, with bounds: by the flow.
    #[test]
    fn crossing_partitions_are_closest(rows in prop::collection::vec(0usize..3, 2..8), seed: u64) {
        let mut rng = test_stream(seed);
        let columns: Vec<usize> = rows.iter().map(|_| below(&mut rng, 3) as usize).collect();
        let both = Linear::partition(&rows).unwrap().and(Linear::partition(&columns).unwrap());
        let region = random_region(&mut rng, rows.len());
        prop_assert_eq!(route(&both, &region), "flow");
        check(&mut rng, &both, &region);
        check(&mut rng, &both, &Region::everything());
    }

    /// Whole margins, with bounds.
    #[test]
    fn margins_are_closest(rows in 2usize..4, columns in 2usize..4, seed: u64) {
        let mut rng = test_stream(seed);
        let margins = Linear::margins(rows, columns).unwrap();
        let region = random_region(&mut rng, rows * columns);
        check(&mut rng, &margins, &region);
        check(&mut rng, &margins, &Region::everything());
    }

    /// A hierarchy as a table: every parent is the sum of its children.
    #[test]
    fn trees_are_closest(children in 1usize..4, grandchildren in 1usize..3, seed: u64) {
        let mut rng = test_stream(seed);
        let mut rows = vec![(0..=children as u32).map(|c| (c, if c == 0 { -1 } else { 1 })).collect::<Row>()];
        let last = 1 + children;
        rows.push((0..=grandchildren).map(|c| if c == 0 { (1, -1) } else { ((last + c - 1) as u32, 1) }).collect());
        let tree = Linear::from_rows(last + grandchildren, rows).unwrap();
        let region = random_region(&mut rng, tree.entries());
        prop_assert_eq!(route(&tree, &region), "flow");
        check(&mut rng, &tree, &region);
    }

    /// Any equations in a few entries, with bounds and an inequality.
    #[test]
    fn small_systems_are_closest(
        rows in prop::collection::vec(prop::collection::vec(-2i64..4, 4), 1..3),
        explicit in prop::collection::vec(-2i64..3, 4),
        least in -4i64..1,
        seed: u64,
    ) {
        let Ok(equations) = Linear::matrix(&IntMatrix::from_rows(&rows).unwrap()) else { return Ok(()) };
        let mut rng = test_stream(seed);
        let mut region = random_region(&mut rng, 4);
        check(&mut rng, &equations, &region);
        let sparse = |row: Vec<i64>| row.into_iter().enumerate().filter(|(_, b)| *b != 0);
        let row: Row = sparse(explicit).map(|(i, b)| (i as u32, b)).collect();
        if !row.is_empty() {
            region.rows = vec![(row, least)];
            check(&mut rng, &equations, &region);
        }
    }
}

/// What is a network, in whatever form it is given, and what is none.
#[test]
fn networks_are_recognised() {
    let everything = Region::everything();
    let adults: Vec<usize> = (4..23).chain(27..46).collect();
    let census = Linear::subsets(46, &[(0..46).collect(), (0..23).collect(), adults]).unwrap();
    let nested = Linear::total(6)
        .unwrap()
        .and(Linear::partition(&[0, 0, 0, 1, 1, 1]).unwrap())
        .and(Linear::partition(&[0, 0, 1, 2, 3, 3]).unwrap());
    let matrix = |rows: &[Vec<i64>]| Linear::matrix(&IntMatrix::from_rows(rows).unwrap()).unwrap();
    let negated = matrix(&[vec![2, 2, 0, 0], vec![0, -3, -3, 0], vec![0, 0, 1, -1]]);
    for invariant in [Linear::total(4).unwrap(), Linear::margins(5, 7).unwrap(), census, nested, negated] {
        assert_eq!(route(&invariant, &everything), "flow", "{invariant:?}");
    }
    // An odd circle of sums, coefficients other than 1, and three sums of two entries each that share one.
    for rows in [
        vec![vec![1, 1, 0], vec![0, 1, 1], vec![1, 0, 1]],
        vec![vec![1, 2, 1, 1]],
        vec![vec![1, 1, 0, 0], vec![1, 0, 1, 0], vec![1, 0, 0, 1]],
    ] {
        assert_eq!(route(&matrix(&rows), &everything), "moves", "{rows:?}");
    }
    let margins = Linear::margins(3, 3).unwrap();
    let row = Region { rows: vec![((0..3).map(|c| (c, 1)).collect(), -2)], ..Region::everything() };
    assert_eq!(route(&Linear::total(9).unwrap(), &row), "flow");
    assert_eq!(route(&margins, &Region { rows: vec![(vec![(0, 1), (4, 1)], -2)], ..row }), "moves");
}

/// The closest integers can be farther off than the values rounded down and up.
#[test]
fn neighbours_of_the_point_are_not_enough() {
    let (chains, length) = (20u32, 10u32);
    let mut rows: Vec<Row> = Vec::new();
    let entry = |chain: u32, k: u32| 1 + chain * length + k;
    for chain in 0..chains {
        rows.extend((1..length).map(|k| vec![(entry(chain, k - 1), 1), (entry(chain, k), -1)]));
    }
    rows.push(std::iter::once((0, -1)).chain((0..chains).map(|chain| (entry(chain, 0), 1))).collect());
    let invariant = Linear::from_rows(201, rows).unwrap();
    let mut z = vec![0.9; 201];
    z[0] = 18.0;
    let rounded = |region: &Region, z: &[f64]| {
        let closest = ClosestIntegers::new(&region.whole(&invariant)).unwrap();
        let mut y = vec![0; 201];
        closest.round(&mut test_stream(1), &mut ClosestScratch::default(), z, &mut y).unwrap();
        invariant.check(&y).unwrap();
        (y[0], off(&y, z))
    };
    let is = |(sum, off): (i64, f64), wanted: i64, least: f64| sum == wanted && (off - least).abs() < 1e-9;
    assert!(is(rounded(&Region::everything(), &z), 20, 22.0));
    // Unless a bound holds the sum where it is.
    let negative: Vec<f64> = z.iter().map(|z| -z).collect();
    let upper = Region { upper: [18].into_iter().collect(), ..Region::everything() };
    let lower = Region { lower: [-18].into_iter().collect(), ..Region::everything() };
    assert!(is(rounded(&upper, &z), 18, 36.0) && is(rounded(&lower, &negative), -18, 36.0));
    assert!(is(rounded(&upper, &negative), -20, 22.0) && is(rounded(&lower, &z), 20, 22.0));
}

/// Both routes are as close on tables that either can serve.
#[test]
fn flow_and_moves_agree() {
    let mut rng = test_stream(2);
    for invariant in [Linear::margins(3, 3).unwrap(), Linear::margins(2, 5).unwrap()] {
        for _ in 0..300 {
            let region = random_region(&mut rng, invariant.entries());
            let bounded = region.whole(&invariant);
            let flow = ClosestIntegers::new(&bounded).unwrap();
            let entries = invariant.entries();
            let moves = TestSet::new(invariant.rows(), entries, entries).unwrap();
            let groups = (0..entries as u32).map(|i| vec![i]).collect();
            let moves = ClosestIntegers { bounded, groups, way: Way::Moves(moves) };
            let mut z: Vec<f64> = random_noise(&mut rng, entries).iter().map(|z| 3.0 * z).collect();
            let nnl2 = LatticeNnl2::new(&invariant, &region).unwrap();
            nnl2.project(&mut Nnl2Scratch::default(), &mut z).unwrap();
            let [one, other] = [flow, moves].map(|closest| {
                let mut y = vec![0; entries];
                closest.round(&mut rng, &mut ClosestScratch::default(), &z, &mut y).unwrap();
                invariant.check(&y).unwrap();
                region.check(&y).unwrap();
                off(&y, &z)
            });
            assert!((one - other).abs() < 1e-4, "{region:?} {z:?}: {one} {other}");
        }
    }
}

/// A circuit of the table along which one step lowers the distance, found by Bellman and Ford.
fn improves(rows: usize, columns: usize, region: &Region, y: &[i64], z: &[f64]) -> bool {
    let cost = |i: usize, step: i64| {
        let moved = y[i] + step;
        let inside = region.lower[i] <= moved && moved <= region.upper[i];
        if inside { (moved as f64 - z[i]).abs() - (y[i] as f64 - z[i]).abs() } else { f64::INFINITY }
    };
    let mut distance = vec![0.0f64; rows + columns];
    for round in 0..=rows + columns {
        let mut changed = false;
        for i in 0..rows * columns {
            let (row, column) = (i / columns, rows + i % columns);
            for (from, to, step) in [(row, column, 1), (column, row, -1)] {
                if distance[from] + cost(i, step) < distance[to] - 1e-5 {
                    distance[to] = distance[from] + cost(i, step);
                    changed = true;
                }
            }
        }
        if !changed {
            return false;
        }
        assert!(round <= rows + columns);
    }
    true
}

/// Larger tables with absent entries and bounds: no circuit lowers the distance.
#[test]
fn no_circuit_improves_large_margins() {
    let mut rng = test_stream(3);
    for (rows, columns) in [(12, 12), (7, 20), (30, 30), (60, 40)] {
        let invariant = Linear::margins(rows, columns).unwrap();
        for bounded in [false, true] {
            let mut region = Region::everything();
            for i in 0..rows * columns {
                let absent = below(&mut rng, 4) == 0;
                if bounded {
                    region.lower.set(i, if absent { 0 } else { -between(&mut rng, 0, 3) });
                    region.upper.set(i, if absent { 0 } else { between(&mut rng, 0, 5) });
                }
            }
            let noise: Vec<f64> = (0..rows * columns).map(|_| 2.0 * normal(&mut rng)).collect();
            let mut y = vec![0; noise.len()];
            let integers = IntegerNnl2::new(&invariant, &region).unwrap();
            let mut z = noise.clone();
            if bounded && rows == 30 {
                continue;
            }
            if bounded {
                integers.round(&mut rng, &mut ImageScratch::default(), &noise, &mut y).unwrap();
                let nnl2 = LatticeNnl2::new(&invariant, &region).unwrap();
                nnl2.project(&mut Nnl2Scratch::default(), &mut z).unwrap();
            } else {
                let l2 = IntegerL2::new(&invariant).unwrap();
                l2.round(&mut rng, &mut ClosestScratch::default(), &noise, &mut y).unwrap();
                LatticeL2::new(&invariant).unwrap().project(&mut z);
            }
            invariant.check(&y).unwrap();
            region.check(&y).unwrap();
            assert!(!improves(rows, columns, &region, &y, &z));
            // The check itself: it finds a swap that was undone.
            let mut worse = y.clone();
            let swap = [(0, 2), (1, -2), (columns, -2), (columns + 1, 2)];
            swap.iter().for_each(|&(i, step)| worse[i] += step);
            assert!(improves(rows, columns, &Region::everything(), &worse, &z));
        }
    }
}

/// A search that serves several deficits finds what searches for one each find: the weights leave no ties.
#[test]
fn several_deficits_at_once() {
    let mut rng = test_stream(7);
    for (rows, columns) in [(5, 7), (20, 30), (41, 50)] {
        let n = rows * columns;
        let invariant = Linear::margins(rows, columns).unwrap();
        for round in 0..6 {
            let mut z: Vec<f64> = (0..n).map(|_| 3.0 * normal(&mut rng)).collect();
            LatticeL2::new(&invariant).unwrap().project(&mut z);
            let mut region = Region::everything();
            for (i, z) in z.iter().enumerate().filter(|_| round % 2 == 0) {
                region.lower.set(i, libm::floor(*z) as i64);
            }
            let network = Network::of(invariant.rows(), n).unwrap();
            let seed = rng.next_u64();
            let [one, other] = [false, true].map(|several| {
                let mut costs = Costs::default();
                costs.begin(&mut test_stream(seed), n);
                (0..n).for_each(|i| {
                    costs.group(std::iter::once((i as u32, z[i])), &region.lower, &region.upper)
                });
                network.settle_by(&mut costs, &mut FlowScratch::default(), several).unwrap();
                let mut y = vec![0; n];
                costs.integers(|i, value| y[i as usize] = value);
                invariant.check(&y).unwrap();
                y
            });
            assert_eq!(one, other);
        }
    }
}

/// Sums of 10^9 lose nothing: what is 0.5 beyond a large count is rounded as beyond a small one.
#[test]
fn large_counts_lose_nothing() {
    let invariant = Linear::margins(2, 3).unwrap();
    let n = 1_000_000_000i64;
    let shift = [n, -n, 0, -n, n, 0];
    let mut rng = test_stream(4);
    for _ in 0..200 {
        let noise: Vec<f64> = (0..6).map(|_| 0.25 * between(&mut rng, -20, 20) as f64).collect();
        let large: Vec<f64> = noise.iter().zip(shift).map(|(z, s)| z + s as f64).collect();
        let l2 = IntegerL2::new(&invariant).unwrap();
        let seed = rng.next_u64();
        let [one, other] = [noise, large].map(|noise| {
            let mut y = vec![0; 6];
            l2.round(&mut test_stream(seed), &mut ClosestScratch::default(), &noise, &mut y).unwrap();
            invariant.check(&y).unwrap();
            y
        });
        let moved: Vec<i64> = one.iter().zip(shift).map(|(y, s)| y + s).collect();
        assert_eq!(moved, other);
    }
}

/// Points that are equally close are equally likely where the table is symmetric, and no others are released.
#[test]
fn ties_are_even() {
    let mut rng = test_stream(5);
    let swap = Linear::margins(2, 2).unwrap();
    let moves = Linear::subsets(4, &[vec![0, 1, 2], vec![0, 3]]).unwrap();
    for (invariant, z, wanted) in [
        (swap, vec![0.5, -0.5, -0.5, 0.5], 2),
        (Linear::total(4).unwrap(), vec![0.5, -0.5, -1.5, 1.5], 6),
        (moves, vec![0.0, 0.5, -0.5, 0.0], 2),
    ] {
        let closest = ClosestIntegers::new(&Region::everything().whole(&invariant)).unwrap();
        let mut seen: HashMap<Vec<i64>, u64> = HashMap::new();
        let mut scratch = ClosestScratch::default();
        for _ in 0..30_000 {
            let mut y = vec![0; 4];
            closest.round(&mut rng, &mut scratch, &z, &mut y).unwrap();
            *seen.entry(y).or_default() += 1;
        }
        assert_eq!(seen.len(), wanted);
        let listed = closest_integers(&z, &constraints(&invariant, &Region::everything()));
        assert!(listed.iter().all(|y| seen.contains_key(&y.iter().map(|&y| y as i64).collect::<Vec<_>>())));
        assert_frequencies(seen.values().map(|&count| (count, 1.0 / wanted as f64)), 30_000);
    }
}

/// What is too large says its size; a projection that is no number is refused, and nothing is replaced.
#[test]
fn refusals() {
    let entry = |i: usize, j: usize, k: usize| 9 * i + 3 * j + k;
    let mut sets = Vec::new();
    for a in 0..3 {
        for b in 0..3 {
            sets.push((0..3).map(|c| entry(a, b, c)).collect());
            sets.push((0..3).map(|c| entry(a, c, b)).collect());
            sets.push((0..3).map(|c| entry(c, a, b)).collect());
        }
    }
    let three_way = Linear::subsets(27, &sets).unwrap();
    let error = IntegerL2::new(&three_way).unwrap_err().to_string();
    assert!(error.contains("27 entries with 8 free sums") && error.contains("the limit is 500"), "{error}");
    let margins = Linear::margins(2, 2).unwrap();
    let closest = ClosestIntegers::new(&Region::everything().whole(&margins)).unwrap();
    for bad in [f64::NAN, f64::INFINITY, 1e13] {
        let (mut y, z) = (vec![7; 4], [bad, 0.0, 0.0, open01(&mut test_stream(6))]);
        assert!(closest.round(&mut test_stream(6), &mut ClosestScratch::default(), &z, &mut y).is_err());
        assert_eq!(y, [7; 4]);
    }
}
