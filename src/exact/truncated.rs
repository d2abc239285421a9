//! Integer noise given equations and inequalities, by equal columns and few free dimensions.

use super::parts::{Builder, PartId, Parts, PartsScratch};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, NO_LOWER, NO_UPPER, Region};
use crate::lattice::{Basis, BasisKind, IntMatrix, hermite};
use crate::law::IntegerLaw;
use crate::rng::{Rng, open01};

/// Points of the groups' sums that are listed (8 bytes for each group and 8 more).
const MAX_POINTS: usize = 1 << 21;
/// Points that are looked at.
const MAX_VISITED: u64 = 1 << 26;

/// Exact sampler of independent integer noise given `A z = 0`, bounds by cell and explicit rows `B z >= b`.
///
/// Bounds truncate the weight of each cell. Cells with equal columns of `A` and `B` enter both by their sums alone:
/// the law of each group's sum is a table, by partial convolutions of its cells' tables. The sums lie on the lattice
/// of the distinct columns; where that has few free dimensions (the sex × age tables of "Congenial differential
/// privacy": four groups under three equations) all its points are listed with their probabilities. One is drawn, and
/// every sum is split over its cells by a binary tree.
///
/// Besides the draw this gives the probability of the whole event, [`Truncated::log_mass`]: what conditioning
/// divides by.
#[derive(Debug)]
pub struct Truncated {
    parts: Parts,
    /// The part of each group and its cells, in the order of the part.
    groups: Vec<(PartId, Vec<u32>)>,
    /// Point by point: the sums of the groups.
    sums: Vec<i64>,
    cumulative: Vec<f64>,
    log_mass: f64,
    tv_error: f64,
}

impl Truncated {
    /// Errors: [`Error::TooLarge`] for more than 2^21 points, or a table beyond its limit; no point at all within the
    /// tables (bounds that leave 0 alone have one).
    pub fn new<L: IntegerLaw>(bounded: &Bounded, law: &L) -> Result<Self> {
        let (component, region) = (&bounded.component, &tightened(bounded));
        let laws = [*law];
        let mut build = Builder::new(&laws);
        let unit = region
            .lower
            .iter()
            .zip(&region.upper)
            .map(|(&floor, &ceiling)| build.leaf(0, floor, ceiling))
            .collect::<Result<Vec<PartId>>>()?;
        let mut groups = Vec::new();
        for (column, mut cells) in bounded.equal_columns() {
            let part = build.sum(0, None, &mut cells, &unit)?;
            groups.push((column, part, cells));
        }
        // Narrow tables first: the points are found by their leading coordinates.
        groups.sort_by_key(|(_, part, _)| {
            let support = build.table(*part).support();
            support.end() - support.start()
        });
        let parts = build.finish();
        let equations = component.rows.len();
        let mut a = IntMatrix::zero(equations, groups.len());
        let mut b = IntMatrix::zero(region.rows.len(), groups.len());
        for (j, (column, ..)) in groups.iter().enumerate() {
            for &(row, x) in column {
                match (row as usize).checked_sub(equations) {
                    None => a[(row as usize, j)] = x,
                    Some(row) => b[(row, j)] = x,
                }
            }
        }
        let least: Vec<i64> = region.rows.iter().map(|&(_, least)| least).collect();
        let tables: Vec<_> = groups.iter().map(|&(_, part, _)| parts.table(part)).collect();
        let mut points = Points {
            tables: &tables,
            b: &b,
            least: &least,
            sums: Vec::new(),
            weights: Vec::new(),
            visited: 0,
        };
        let basis = if equations == 0 {
            identity(groups.len())
        } else {
            Basis::of_kernel(&a, BasisKind::Smith)?.vectors
        };
        let echelon = hermite(&basis)?;
        points.list(&echelon.h, &echelon.pivots, 0, &vec![0; groups.len()])?;
        let (sums, mut cumulative) = (points.sums, points.weights);
        let mut total = 0.0;
        for weight in &mut cumulative {
            total += *weight;
            *weight = total;
        }
        if total.is_nan() || total <= 0.0 {
            return Err(Error::Unsupported {
                method: "exact",
                what: "these equations and inequalities".into(),
                reason: "what satisfies them lies beyond the tables (probability below 1e-18 a cell)",
            });
        }
        let lost: f64 = tables.iter().map(|table| table.lost()).sum();
        let log_mass = libm::log(total) + tables.iter().map(|table| table.log_mass()).sum::<f64>();
        let tv_error = lost / total + 1e-16 * cumulative.len() as f64;
        let place = |cells: Vec<u32>| cells.into_iter().map(|cell| component.cells[cell as usize]).collect();
        let groups = groups.into_iter().map(|(_, part, cells)| (part, place(cells))).collect();
        Ok(Self { parts, groups, sums, cumulative, log_mass, tv_error })
    }

    /// The same with more tables, for many draws: one word then splits a sum.
    pub fn for_draws(mut self) -> Self {
        self.parts = std::mem::take(&mut self.parts).with_aliases();
        self
    }

    /// `ln P(A z = 0 and z within its bounds)` under the unconditioned law.
    pub fn log_mass(&self) -> f64 {
        self.log_mass
    }

    /// Total variation distance to the law that truncation of tables at 1e-18 may cause.
    pub fn tv_error(&self) -> f64 {
        self.tv_error
    }

    /// One draw, into the component's cells of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut PartsScratch, noise: &mut [i64]) {
        let last = self.cumulative.len() - 1;
        let point = if last == 0 {
            0
        } else {
            let target = open01(rng) * self.cumulative[last];
            self.cumulative.partition_point(|&sum| sum <= target).min(last)
        };
        let sums = &self.sums[point * self.groups.len()..];
        for ((part, cells), &sum) in self.groups.iter().zip(sums) {
            self.parts.fill(*part, sum, cells, rng, scratch, noise);
        }
    }
}

/// The same event with the bounds that its equations imply: `a_i z_i = -Σ a_j z_j` over the other cells.
fn tightened(bounded: &Bounded) -> Region {
    let Bounded { component, region } = bounded;
    let mut region = region.clone();
    for _ in 0..3 {
        let mut changed = false;
        for row in &component.rows {
            // Least and largest value of every term; None without a bound.
            let term = |&(cell, a): &(u32, i64), region: &Region| -> [Option<i128>; 2] {
                let (lower, upper) = (region.lower[cell as usize], region.upper[cell as usize]);
                let at = |bound: i64, none: i64| (bound != none).then(|| i128::from(a) * i128::from(bound));
                let (low, high) = (at(lower, NO_LOWER), at(upper, NO_UPPER));
                if a > 0 { [low, high] } else { [high, low] }
            };
            let terms: Vec<[Option<i128>; 2]> = row.iter().map(|entry| term(entry, &region)).collect();
            for side in [0, 1] {
                let open = terms.iter().filter(|term| term[side].is_none()).count();
                let sum: i128 = terms.iter().filter_map(|term| term[side]).sum();
                for (&(cell, a), term) in row.iter().zip(&terms) {
                    // The others are all bounded on this side, so this term is on the other.
                    if open > usize::from(term[side].is_none()) {
                        continue;
                    }
                    let limit = -(sum - term[side].unwrap_or(0));
                    let cell = cell as usize;
                    let (quotient, a) = (limit / i128::from(a), i128::from(a));
                    // Side 0 bounds the term above, side 1 below; rounded towards the inside.
                    let inexact = limit % a != 0;
                    let upper = (side == 0) == (a > 0);
                    let negative = (limit < 0) != (a < 0);
                    let bound = match (upper, inexact && negative, inexact && !negative) {
                        (true, true, _) => quotient - 1,
                        (false, _, true) => quotient + 1,
                        _ => quotient,
                    };
                    let Ok(bound) = i64::try_from(bound) else { continue };
                    if upper && bound < region.upper[cell] {
                        region.upper[cell] = bound;
                        changed = true;
                    } else if !upper && bound > region.lower[cell] {
                        region.lower[cell] = bound;
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    region
}

fn identity(n: usize) -> IntMatrix {
    let mut matrix = IntMatrix::zero(n, n);
    (0..n).for_each(|i| matrix[(i, i)] = 1);
    matrix
}

/// The points within the tables, found along a basis in echelon form.
struct Points<'a> {
    tables: &'a [&'a super::Table],
    b: &'a IntMatrix,
    least: &'a [i64],
    sums: Vec<i64>,
    weights: Vec<f64>,
    visited: u64,
}

impl Points<'_> {
    /// `sums`: what the basis vectors before `i` add up to; final up to the pivot of `i`.
    fn list(&mut self, basis: &IntMatrix, pivots: &[usize], i: usize, sums: &[i64]) -> Result<()> {
        self.visited += 1;
        if self.visited > MAX_VISITED {
            return Err(too_many(self.visited));
        }
        // What no later vector changes must lie within its table.
        let from = if i == 0 { 0 } else { pivots[i - 1] };
        let to = pivots.get(i).copied().unwrap_or(sums.len());
        if (from..to).any(|j| self.tables[j].at(sums[j]) == 0.0) {
            return Ok(());
        }
        let Some(&pivot) = pivots.get(i) else { return self.add(sums) };
        let (step, support) = (basis[(i, pivot)], self.tables[pivot].support());
        let first = -(sums[pivot] - support.start()).div_euclid(step);
        let last = (support.end() - sums[pivot]).div_euclid(step);
        for t in first..=last {
            let mut next = sums.to_vec();
            next.iter_mut().zip(basis.row(i)).for_each(|(sum, x)| *sum += t * x);
            self.list(basis, pivots, i + 1, &next)?;
        }
        Ok(())
    }

    fn add(&mut self, sums: &[i64]) -> Result<()> {
        for (i, &least) in self.least.iter().enumerate() {
            let value: i128 =
                self.b.row(i).iter().zip(sums).map(|(&b, &s)| i128::from(b) * i128::from(s)).sum();
            if value < i128::from(least) {
                return Ok(());
            }
        }
        let weight: f64 = self.tables.iter().zip(sums).map(|(table, &sum)| table.at(sum)).product();
        if weight > 0.0 {
            if self.weights.len() == MAX_POINTS {
                return Err(too_many(MAX_POINTS as u64 + 1));
            }
            self.sums.extend_from_slice(sums);
            self.weights.push(weight);
        }
        Ok(())
    }
}

fn too_many(needed: u64) -> Error {
    Error::TooLarge {
        what: "exact: the sums of groups of equal columns (more free dimensions than can be listed)".into(),
        needed,
        limit: MAX_POINTS as u64,
        unit: "points or more",
    }
}
