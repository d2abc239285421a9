//! Small counts of a tree rounded to 0 or a base.

use crate::error::{Error, Result};
use crate::invariant::Hierarchy;
use crate::rng::{Rng, Stream};

/// The largest base.
pub const LARGEST_BASE: u64 = 1000;

/// Small count rounding: every leaf with a count from 1 to base - 1 becomes 0 or base, and all other leaves stay. Which become base is
/// what changes the counts of all nodes least: the sum over nodes of the squared change is the least that there is. Chance decides among
/// leaves that are alike, and between two numbers of bases that change as little.
///
/// The result adds up, is whole, and at least 0; no leaf changes by base or more. Langsrud and Heldal (2018) look for such a choice by a
/// search (`PLSrounding`), for tables of any kind. On a tree the best one follows from a pass up and one down: the least sum below a node
/// is a convex function of the number of its leaves that become base, so that its increments are those of the children, merged.
///
/// Refused: a base that is not 2 to 1000; not one count for each node; a count below 0; nodes that are known, which would have to stay.
///
/// # Examples
///
/// ```
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::rng::{Role, TaskKey, stream};
/// use congenial_core::sdc::round_small_counts;
///
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 0])?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// // The 1 becomes 0 and the 2 becomes 3: their sum stays.
/// let rounded = round_small_counts(&tree, &[10, 1, 2, 7], 3, &mut rng)?;
/// assert_eq!(rounded, [10, 0, 3, 7]);
/// # Ok::<(), congenial_core::Error>(())
/// ```
pub fn round_small_counts(tree: &Hierarchy, counts: &[i64], base: u64, rng: &mut Stream) -> Result<Vec<i64>> {
    check_base(base)?;
    check_rounded(tree, counts)?;
    let base = base as i64;
    // By node what its small leaves sum up to, and the increments of the least sum of squares below it and at it, ascending, each with the
    // child that takes it.
    let mut small = vec![0i64; tree.nodes()];
    let mut increments: Vec<Vec<(i64, u64, u32)>> = vec![Vec::new(); tree.nodes()];
    for v in (0..tree.nodes()).rev() {
        if tree.is_leaf(v) {
            if (1..base).contains(&counts[v]) {
                small[v] = counts[v];
                increments[v].push((base * (base - 2 * counts[v]), 0, v as u32));
            }
            continue;
        }
        let mut own = Vec::new();
        for child in tree.children(v) {
            small[v] += small[child];
            own.extend(
                increments[child].iter().map(|&(increment, ..)| (increment, rng.next_u64(), child as u32)),
            );
        }
        own.sort_unstable();
        for (number, (increment, ..)) in (0i64..).zip(&mut own) {
            *increment += base * (base * (2 * number + 1) - 2 * small[v]);
        }
        increments[v] = own;
    }
    // A node takes the first increments of its own, as many as it is given; the root those that are below 0. They are ascending, so
    // that one alone may be 0.
    let mut taken = vec![0usize; tree.nodes()];
    taken[0] = increments[0].partition_point(|(increment, ..)| *increment < 0);
    if increments[0].get(taken[0]).is_some_and(|(increment, ..)| *increment == 0) {
        taken[0] += usize::from(rng.next_u64() >> 63 == 1);
    }
    let mut released = counts.to_vec();
    for v in 0..tree.nodes() {
        match tree.is_leaf(v) {
            true if small[v] > 0 => released[v] = base * taken[v] as i64,
            true => {}
            false => increments[v][..taken[v]].iter().for_each(|(.., child)| taken[*child as usize] += 1),
        }
    }
    tree.sum_up(&mut released);
    Ok(released)
}

/// Refuses counts of a tree that are not rounded: not one for each node, a count of a leaf below 0, and nodes that are known.
pub fn check_rounded(tree: &Hierarchy, counts: &[i64]) -> Result<()> {
    if counts.len() != tree.nodes() {
        return Err(Error::parameter("counts", counts.len(), "one for each node"));
    }
    if let Some(v) = (0..tree.nodes()).find(|&v| tree.is_known(v)) {
        let what = if v == 0 { "the total".to_owned() } else { format!("node {v}") };
        return Err(Error::parameter("known", what, "no known count: rounding may change all"));
    }
    if let Some(leaf) = tree.leaves().iter().find(|leaf| counts[**leaf as usize] < 0) {
        return Err(Error::parameter("count", counts[*leaf as usize], "counts >= 0"));
    }
    Ok(())
}

/// Refuses a base that is not 2 to 1000.
pub fn check_base(base: u64) -> Result<()> {
    match (2..=LARGEST_BASE).contains(&base) {
        true => Ok(()),
        false => Err(Error::parameter("base", base, "2 to 1000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::below;
    use crate::testing::{random_tree, test_stream};

    /// On 400 random trees no choice of small leaves has a smaller sum of squared changes over all nodes; what is released adds up, and
    /// large leaves stay.
    #[test]
    fn no_choice_changes_less() {
        let mut rng = test_stream(823);
        for _ in 0..400 {
            let nodes = 1 + below(&mut rng, 16) as usize;
            let tree = random_tree(nodes, &mut rng);
            let base = 2 + below(&mut rng, 5);
            let mut counts = vec![0i64; nodes];
            tree.leaves().iter().for_each(|&leaf| counts[leaf as usize] = below(&mut rng, 2 * base) as i64);
            tree.sum_up(&mut counts);
            let got = match round_small_counts(&tree, &counts, base, &mut rng) {
                Err(refused) => {
                    assert!(tree.has_known(), "{refused}");
                    continue;
                }
                Ok(got) => got,
            };
            let squares = |released: &[i64]| -> i64 {
                released.iter().zip(&counts).map(|(y, x)| (y - x) * (y - x)).sum()
            };
            let small: Vec<usize> = tree
                .leaves()
                .iter()
                .map(|&leaf| leaf as usize)
                .filter(|&leaf| (1..base as i64).contains(&counts[leaf]))
                .collect();
            let mut summed = got.clone();
            tree.sum_up(&mut summed);
            assert_eq!(summed, got);
            for &leaf in tree.leaves() {
                let leaf = leaf as usize;
                let may = if small.contains(&leaf) { vec![0, base as i64] } else { vec![counts[leaf]] };
                assert!(may.contains(&got[leaf]), "{counts:?} {got:?}");
            }
            let all = (0..1u64 << small.len()).map(|choice| {
                let mut released = counts.clone();
                small
                    .iter()
                    .enumerate()
                    .for_each(|(bit, &leaf)| released[leaf] = (choice >> bit & 1) as i64 * base as i64);
                tree.sum_up(&mut released);
                squares(&released)
            });
            assert_eq!(squares(&got), all.min().unwrap(), "{counts:?} {got:?} {tree:?}");
        }
    }

    /// Leaves that are alike are chosen alike: of four counts of 1 under one node, base 2, two become 2, each pair as often. Of three
    /// one or two do, as often.
    #[test]
    fn chance_decides_among_what_is_alike() {
        let mut rng = test_stream(824);
        let tree = Hierarchy::from_parents(&[0; 5]).unwrap();
        let mut seen = std::collections::HashMap::new();
        for _ in 0..6_000 {
            let got = round_small_counts(&tree, &[4, 1, 1, 1, 1], 2, &mut rng).unwrap();
            *seen.entry(got).or_insert(0u64) += 1;
        }
        assert_eq!(seen.len(), 6);
        crate::testing::assert_frequencies(seen.into_values().map(|count| (count, 1.0 / 6.0)), 6_000);
        let tree = Hierarchy::from_parents(&[0; 4]).unwrap();
        let mut more = 0u64;
        for _ in 0..6_000 {
            let got = round_small_counts(&tree, &[3, 1, 1, 1], 2, &mut rng).unwrap();
            more += u64::from(got[0] == 4);
            assert!(got[0] == 4 || got[0] == 2, "{got:?}");
        }
        crate::testing::assert_frequencies([(more, 0.5), (6_000 - more, 0.5)], 6_000);
    }

    #[test]
    fn nonsense_is_refused() {
        let mut rng = test_stream(825);
        let tree = Hierarchy::from_parents(&[0, 0]).unwrap();
        for base in [0, 1, 1001] {
            assert!(round_small_counts(&tree, &[1, 1], base, &mut rng).is_err());
        }
        assert!(round_small_counts(&tree, &[1], 3, &mut rng).unwrap_err().to_string().contains("each node"));
        assert!(round_small_counts(&tree, &[-1, -1], 3, &mut rng).unwrap_err().to_string().contains(">= 0"));
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let known = tree.with_known(vec![true, false, false]).unwrap();
        assert!(
            round_small_counts(&known, &[2, 1, 1], 3, &mut rng).unwrap_err().to_string().contains("known")
        );
    }
}
