//! The hierarchy, the tables and the stream of the benchmarks; each benchmark uses some.
#![allow(dead_code)]

use congenial_core::invariant::{Hierarchy, Inequalities, Linear, Region};
use congenial_core::rng::{Role, Stream, TaskKey, stream};

/// Zones of the six boroughs.
const ZONES: [usize; 6] = [43, 61, 1, 69, 69, 20];
/// Counties of the 50 states and the District of Columbia in 2010, state by state.
const COUNTIES: [usize; 51] = [
    67, 29, 15, 75, 58, 64, 8, 3, 1, 67, 159, 5, 44, 102, 92, 99, 105, 120, 64, 16, 24, 14, 83, 87, 82, 115,
    56, 93, 17, 10, 21, 33, 62, 100, 53, 88, 77, 36, 67, 5, 46, 66, 95, 254, 29, 14, 134, 39, 55, 72, 23,
];
/// Table 1 of "Congenial differential privacy", confidential: females, then males.
const TABLE: [i64; 46] = [
    8, 6, 3, 6, 4, 4, 4, 8, 5, 7, 7, 6, 1, 5, 4, 4, 9, 6, 2, 8, 8, 8, 7, //
    3, 4, 5, 8, 6, 4, 5, 5, 5, 6, 10, 7, 3, 2, 5, 11, 6, 4, 7, 4, 5, 3, 8,
];

/// The stream of a benchmark.
pub fn rng() -> Stream {
    stream(TaskKey { seed: 1, cell: 1, replicate: 0, role: Role::Noise })
}

/// The taxi hierarchy.
pub fn taxi() -> Hierarchy {
    let mut parents = vec![0; 7];
    for (borough, zones) in ZONES.into_iter().enumerate() {
        parents.extend(std::iter::repeat_n(borough + 1, zones));
    }
    Hierarchy::from_parents(&parents).expect("the taxi shape is a hierarchy")
}

/// 14 records in three intersecting sets.
pub fn records() -> Linear {
    let region = |r: usize| [2 * r, 2 * r + 1];
    let sets =
        [[0, 2, 4, 6], [1, 2, 5, 6], [3, 4, 5, 6]].map(|set| set.into_iter().flat_map(region).collect());
    Linear::subsets(14, &sets).expect("sets")
}

/// 3,143 counties with the totals of their states.
pub fn counties() -> Linear {
    let states: Vec<usize> =
        COUNTIES.iter().enumerate().flat_map(|(state, &n)| std::iter::repeat_n(state, n)).collect();
    assert_eq!(states.len(), 3143);
    Linear::partition(&states).expect("a partition")
}

/// The 2 × 23 table: its equations and inequalities.
pub fn table() -> (Linear, Region) {
    let voting = |first: usize| first + 4..first + 23;
    let sets = [(0..46).collect(), (0..23).collect(), voting(0).chain(voting(23)).collect::<Vec<usize>>()];
    let region = Inequalities::nonnegative(46).around(&TABLE).expect("counts >= 0");
    (Linear::subsets(46, &sets).expect("sets"), region)
}
