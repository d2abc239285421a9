//! Exponential tilting: tables that are centred on what the equations ask for.

use super::Table;
use super::table::TRUNCATION;
use crate::error::Result;
use crate::invariant::Region;
use crate::lattice::{IntMatrix, independent_rows, solve};
use crate::law::IntegerLaw;
use std::collections::HashMap;

/// By group of equal columns: the exponent t of a factor `e^(t z)` on the weights of its entries, of the form `t_g = <a_g, τ>`
/// with the group's column `a_g`. On `A z = 0` these factors multiply to 1, so that they change no conditional law and no
/// probability of the event; τ is chosen such that all equations have mean near 0 under the tilted weights.
///
/// Bounds push the free sums far from 0 where a table has many small counts: without tilting what satisfies the equations
/// would lie beyond the tables. 0 for all groups where it is not needed.
///
/// - `a`: equations × groups; `groups`: the entries of each; `region`: their bounds; `most`: standard deviations by
///   which an equation's mean may miss 0 before weights are tilted.
pub(super) fn tilts<L: IntegerLaw>(
    a: &IntMatrix,
    groups: &[Vec<u32>],
    region: &Region,
    law: &L,
    most: f64,
) -> Result<Vec<f64>> {
    let none = vec![0.0; groups.len()];
    if a.rows() == 0 || region.is_everything() {
        return Ok(none);
    }
    let rows = independent_rows(a)?;
    // Entries of one group with equal bounds count together.
    let mut kinds: HashMap<(usize, i64, i64), f64> = HashMap::new();
    for (g, entries) in groups.iter().enumerate() {
        for &entry in entries {
            let (lower, upper) = (region.lower[entry as usize], region.upper[entry as usize]);
            *kinds.entry((g, lower, upper)).or_default() += 1.0;
        }
    }
    let mut kinds: Vec<((usize, i64, i64), f64)> = kinds.into_iter().collect();
    kinds.sort_by_key(|&(kind, _)| kind);
    let at = |i: usize, g: usize| a[(rows[i], g)] as f64;
    let k = rows.len();
    let by_group = |tau: &[f64]| -> Vec<f64> {
        (0..groups.len()).map(|g| (0..k).map(|i| at(i, g) * tau[i]).sum()).collect()
    };
    // An error where a table does not exist.
    let evaluate = |tau: &[f64]| -> Result<Tilted> {
        let tilts = by_group(tau);
        let (mut mean, mut covariance) = (vec![0.0; k], vec![vec![0.0; k]; k]);
        for &((g, lower, upper), count) in &kinds {
            let (m, v) = Table::tilted(law, lower, upper, tilts[g], TRUNCATION)?.moments();
            for i in 0..k {
                mean[i] += count * at(i, g) * m;
                for (j, entry) in covariance[i].iter_mut().enumerate() {
                    *entry += count * at(i, g) * at(j, g) * v;
                }
            }
        }
        Ok(Tilted { mean, covariance })
    };
    // The largest miss in standard deviations.
    let miss = |at: &Tilted| {
        let one = |i: usize| at.mean[i].abs() / libm::sqrt(at.covariance[i][i]).max(0.5);
        (0..k).map(one).fold(0.0, f64::max)
    };
    let mut tau = vec![0.0; k];
    let mut best = evaluate(&tau)?;
    if miss(&best) <= most {
        return Ok(none);
    }
    for _ in 0..100 {
        // Equations between entries that cannot move have no spread, and ask for no tilt.
        let mut covariance = best.covariance.clone();
        let largest = (0..k).map(|i| covariance[i][i]).fold(0.0, f64::max);
        (0..k).for_each(|i| covariance[i][i] += 1e-9 * largest);
        let Some(step) = solve(covariance, best.mean.clone()) else { break };
        // Newton's step, halved until the tables exist and the miss is smaller.
        let now = miss(&best);
        let better = (0..30).find_map(|halvings| {
            let scale = libm::pow(0.5, f64::from(halvings));
            let next: Vec<f64> = tau.iter().zip(&step).map(|(t, s)| t - scale * s).collect();
            let found = evaluate(&next).ok()?;
            (miss(&found) < now).then_some((next, found))
        });
        let Some((next, found)) = better else { break };
        (tau, best) = (next, found);
        if miss(&best) < 0.1 {
            break;
        }
    }
    // Multiples of 2^-30, so that entries that should be tilted alike are.
    tau.iter_mut().for_each(|t| *t = libm::rint(*t * GRAIN) / GRAIN);
    Ok(by_group(&tau))
}

/// Tilts are multiples of one over this.
const GRAIN: f64 = (1u64 << 30) as f64;

/// Means and covariances of the equations under tilted weights.
struct Tilted {
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}
