//! Intervals that a release states for its answers: the half width within which an error lies with probability 95 %.

use super::super::super::expected;
use crate::closed_form::{Noise, Operation};
use crate::grid::{Cell, Plan};
use crate::imaging::{L2, LatticeL2};
use crate::input::{Answered, Asked, Query, Subject};
use crate::law::{DiscreteGaussian, DoubleGeometric, Law};

/// The 97.5 % quantile of the normal law.
const NORMAL: f64 = 1.959_963_984_540_054;
/// Chance of an error outside.
const OUTSIDE: f64 = 0.05;
/// Counts times groups of a query up to which the variances of least squares are computed, by a projection for each group.
const MOST: usize = 100_000_000;
/// Terms that are summed for a quantile of a discrete Gaussian; beyond, it is that of the normal law.
const WIDEST: f64 = 1e5;

/// By query and group, one after the other: the half width of the 95 % interval that a cell states; `None` where it states none.
///
/// - `unconstrained`: of a single count the quantile of its noise law (of integer laws the least integer that has probability 95 %); of a
///   sum of m counts `1.96 sqrt(m v)`, v the variance of the noise.
/// - `l2`, and conditioning of Gaussian noise on equations: `1.96 sqrt(v)`, v the variance of the answer under least squares, which is
///   `c' (A' W A)⁻¹ c` for the sum c of leaves (of a table `v |P c|²` with the projection P onto the equations' kernel). It is computed
///   by a projection for each group, while the counts of the subject times the groups are at most 10^8.
///
/// By variance the coverage is exact where the answer is normal, and approximate for other noise.
pub(super) fn half_widths(plan: &Plan, cell: &Cell, asked: &Asked) -> Vec<Option<f64>> {
    asked.queries.iter().flat_map(|query| of_query(plan, cell, query)).collect()
}

fn of_query(plan: &Plan, cell: &Cell, query: &Query) -> Vec<Option<f64>> {
    let none = || vec![None; query.groups()];
    let noises: Option<Vec<Noise>> =
        cell.calibration.laws(|scale| expected::noise(cell.law, scale)).collect();
    let (Some(noises), Some(operation)) = (noises, expected::operation(cell.method)) else { return none() };
    let free = match &plan.subject {
        Subject::Hierarchy(_) => !cell.nonnegative,
        Subject::Table(table) => table.region.is_everything(),
    };
    let widths = match (operation, noises[0]) {
        (Operation::Free, _) => Some(unconstrained(plan, cell, query, &noises)),
        (Operation::L2, _) => least_squares(plan, query, &noises),
        (Operation::Conditioned, Noise::Gaussian(_)) if free => least_squares(plan, query, &noises),
        _ => None,
    };
    widths.map_or_else(none, |widths| widths.into_iter().map(Some).collect())
}

/// Of the noise itself.
fn unconstrained(plan: &Plan, cell: &Cell, query: &Query, noises: &[Noise]) -> Vec<f64> {
    let scales = &cell.calibration.scales;
    match &query.answered {
        Answered::Level(level, nodes) => {
            let single = quantile(scales[*level], noises[*level]);
            nodes.clone().map(|node| if plan.subject.is_known(node) { 0.0 } else { single }).collect()
        }
        Answered::Sums(first, groups) => {
            let level = plan.subject.levels() - 1;
            let single = quantile(scales[level], noises[level]);
            let width = |&members: &u64| match members {
                0 => 0.0,
                1 => single,
                m => NORMAL * libm::sqrt(m as f64 * noises[level].variance()),
            };
            let measured = |i: usize| !plan.subject.is_known(first + i);
            members(query.groups(), groups, measured).iter().map(width).collect()
        }
    }
}

/// How many leaves or entries every group has that are measured.
fn members(number: usize, groups: &[u32], measured: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut members = vec![0; number];
    let counted = groups.iter().enumerate().filter(|&(i, _)| measured(i));
    counted.for_each(|(_, &group)| members[group as usize] += 1);
    members
}

/// The least c with `P(|z| <= c) >= 95 %`.
fn quantile(scale: f64, noise: Noise) -> f64 {
    match noise {
        Noise::Laplace(lambda) => -lambda * libm::log(OUTSIDE),
        Noise::Gaussian(sigma) => NORMAL * sigma,
        Noise::DoubleGeometric(lambda) => {
            // P(|z| > c) = 2 a^(c + 1)/(1 + a).
            let a = DoubleGeometric::new(lambda).map_or(0.0, |law| law.ratio());
            let c = libm::log(OUTSIDE * (1.0 + a) / 2.0) / libm::log(a);
            (libm::ceil(c) - 1.0).max(0.0)
        }
        Noise::Variance(variance) => match DiscreteGaussian::new(scale) {
            Ok(law) if scale <= WIDEST => {
                let weight = |z: i64| libm::exp(law.log_weight(z) - law.log_weight(0));
                let end = (10.0 * scale) as i64 + 10;
                let tail = |from: i64| 2.0 * (from..=end).rev().map(weight).sum::<f64>();
                let mut beyond = tail(1);
                let allowed = OUTSIDE * (1.0 + beyond);
                let mut c = 0;
                while beyond > allowed {
                    c += 1;
                    beyond -= 2.0 * weight(c);
                }
                c as f64
            }
            _ => NORMAL * libm::sqrt(variance),
        },
    }
}

/// Least squares on noise.
type Projection = Box<dyn Fn(&mut [f64])>;

/// By the variance of every answer under least squares; `None` where it is too much to compute.
fn least_squares(plan: &Plan, query: &Query, noises: &[Noise]) -> Option<Vec<f64>> {
    if plan.subject.nodes().saturating_mul(query.groups()) > MOST {
        return None;
    }
    // `c' C c` with `C = (A' W A)⁻¹`: noise of `c v` on the leaves, projected, sums to it over the group.
    let (variance, project): (f64, Projection) = match &plan.subject {
        Subject::Hierarchy(table) => {
            let variances: Vec<f64> = noises.iter().map(|noise| noise.variance()).collect();
            let l2 = L2::new(&table.hierarchy, &variances).ok()?;
            (variances[variances.len() - 1], Box::new(move |noise| l2.project(noise)))
        }
        Subject::Table(table) => {
            let l2 = LatticeL2::new(&table.invariant).ok()?;
            (noises[0].variance(), Box::new(move |noise| l2.project(noise)))
        }
    };
    let mut noise = vec![0.0; plan.subject.nodes()];
    let widths = groups_of(plan, query).into_iter().map(|group| {
        noise.fill(0.0);
        group.iter().for_each(|&entry| noise[entry as usize] = variance);
        project(&mut noise);
        let found: f64 = group.iter().map(|&entry| noise[entry as usize]).sum();
        // What the invariant fixes has no variance; rounding may leave some.
        let of_free = variance * group.len() as f64;
        NORMAL * libm::sqrt(if found > 1e-12 * of_free { found } else { 0.0 })
    });
    Some(widths.collect())
}

/// The leaves or entries of every group.
fn groups_of(plan: &Plan, query: &Query) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); query.groups()];
    match (&query.answered, &plan.subject) {
        (Answered::Sums(first, groups), _) => {
            (*first as u32..).zip(groups).for_each(|(entry, &group)| all[group as usize].push(entry));
        }
        (Answered::Level(level, nodes), Subject::Hierarchy(table)) => {
            for &leaf in table.hierarchy.leaves() {
                let mut node = leaf as usize;
                while table.hierarchy.level(node) > *level {
                    node = table.hierarchy.parent(node);
                }
                all[node - nodes.start].push(leaf);
            }
        }
        (Answered::Level(..), Subject::Table(_)) => {}
    }
    all
}
