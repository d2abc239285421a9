//! What the tests share.
#![allow(dead_code, unused_imports)]

#[path = "../../../src/testing.rs"]
mod testing;

pub use testing::*;

use congenial_core::invariant::Hierarchy;
use congenial_core::law::IntegerLaw;
use std::collections::HashMap;

/// Two-sided normal quantile of [`ALPHA`].
pub const Z_ALPHA: f64 = 4.9;

/// The taxi hierarchy without its counts: 6 boroughs with their numbers of zones.
pub fn taxi_shape() -> Hierarchy {
    let mut parents = vec![0; 7];
    for (borough, zones) in [43, 61, 1, 69, 69, 20].into_iter().enumerate() {
        parents.extend(std::iter::repeat_n(borough + 1, zones));
    }
    Hierarchy::from_parents(&parents).unwrap()
}

/// Every noise vector of a tree with leaves in -reach..=reach and its probability, by listing; known nodes have none.
pub fn listed_tree<L: IntegerLaw>(
    tree: &Hierarchy,
    laws: &[L],
    counts: Option<&[i64]>,
    reach: i64,
) -> HashMap<Vec<i64>, f64> {
    let leaves: Vec<usize> = tree.leaves().iter().map(|&v| v as usize).collect();
    let side = (2 * reach + 1) as usize;
    let mut all = HashMap::new();
    for index in 0..side.pow(leaves.len() as u32) {
        let mut rest = index;
        let mut noise = vec![0i64; tree.nodes()];
        for &leaf in &leaves {
            noise[leaf] = (rest % side) as i64 - reach;
            rest /= side;
        }
        tree.sum_up(&mut noise);
        let allowed = (0..tree.nodes()).all(|v| !tree.is_known(v) || noise[v] == 0)
            && counts.is_none_or(|counts| leaves.iter().all(|&v| counts[v] + noise[v] >= 0));
        if allowed {
            let log: f64 = noise.iter().enumerate().map(|(v, &z)| laws[tree.level(v)].log_weight(z)).sum();
            all.insert(noise, libm::exp(log));
        }
    }
    let total: f64 = all.values().sum();
    all.values_mut().for_each(|p| *p /= total);
    all
}
