//! Double geometric noise given any few linear equations, by equal columns.

use super::table::outwards;
use super::{GeometricSum, SplitScratch};
use crate::error::{Error, Result};
use crate::fourier::even_transform;
use crate::invariant::Component;
use crate::lattice::{Row, solve, square, value};
use crate::law::{DoubleGeometric, Law};
use crate::rng::{Rng, open01};

/// Entries of all tables together (8 bytes each).
const MAX_ENTRIES: u64 = 1 << 25;

/// Exact sampler of independent double geometric noise given `A z = 0`.
///
/// Entries with equal columns of `A` enter by their sums `s_j` alone. Groups are drawn one after another, each
/// given what the equations still need: `P(s_j | r) ∝ P_j(s_j) m_{j+1}(r - a_j s_j)`, where `m_j(r)` is the
/// probability that the groups from `j` on contribute `r`. The `m_j` are tables on `(Z/G)^k`, k the rank of
/// `A`, from products of the groups' transforms; sums that meet the equations only modulo G are drawn again,
/// so that G costs acceptance and never exactness. The sums are then split by [`GeometricSum::split`].
///
/// Beside rounding (near 1e-15 of the largest table entry) the only error is the truncation of the groups' own
/// tables, [`Grouped::tv_error`].
#[derive(Debug)]
pub struct Grouped {
    rows: Vec<Row>,
    groups: Vec<Group>,
    side: usize,
    /// `m_1 … m_{g-1}` for groups 1 … g-1, and `m_0` at 0.
    after: Vec<Vec<f64>>,
    met: f64,
}

#[derive(Debug)]
struct Group {
    entries: Vec<u32>,
    /// Column of `A` on the independent rows, and modulo the side.
    signed: Vec<i64>,
    column: Vec<usize>,
    sum: GeometricSum,
    /// The mean of its sum is near `<slope, r>` where the equations still need r.
    slope: Vec<f64>,
}

/// Space for one draw, reused from draw to draw.
#[derive(Debug, Clone, Default)]
pub struct GroupedScratch {
    split: SplitScratch,
    parts: Vec<i64>,
    needed: Vec<usize>,
    sums: Vec<i64>,
}

impl Grouped {
    /// Prepares the sampler of one component (its entries are written to their places in the whole table).
    ///
    /// Errors: [`Error::TooLarge`] where the tables need more than 2^25 entries.
    pub fn new(component: &Component, law: &DoubleGeometric) -> Result<Self> {
        let rows = component.independent_rows()?;
        let rank = rows.len();
        let columns = component.equal_columns();
        // G holds 8 standard deviations of the widest equation.
        let spread = |row: &usize| libm::sqrt(square(&component.rows[*row]) * law.variance());
        let wanted = 8.0 * rows.iter().map(spread).fold(1.0, f64::max);
        let bits = libm::ceil(libm::log2(wanted)) as u64;
        let entries = bits
            .checked_mul(rank as u64)
            .and_then(|bits| 1u64.checked_shl(bits as u32).filter(|_| bits < 63))
            .and_then(|n| n.checked_mul(columns.len() as u64));
        if entries.is_none_or(|n| n > MAX_ENTRIES) {
            return Err(Error::TooLarge {
                what: format!(
                    "exact: {} groups of equal columns under {rank} independent equations of 2^{bits} values",
                    columns.len()
                ),
                needed: entries.unwrap_or(u64::MAX),
                limit: MAX_ENTRIES,
                unit: "table entries",
            });
        }
        let side = 1usize << bits;
        let mut groups = Vec::new();
        for (column, members) in columns {
            let at = |row: &usize| column.iter().find(|(i, _)| *i as usize == *row).map_or(0, |(_, a)| *a);
            groups.push(Group {
                entries: members.iter().map(|&entry| component.entries[entry as usize]).collect(),
                signed: rows.iter().map(at).collect(),
                column: rows.iter().map(|row| at(row).rem_euclid(side as i64) as usize).collect(),
                sum: GeometricSum::new(law, members.len(), None)?,
                slope: Vec::new(),
            });
        }
        slopes(&mut groups, law.variance());
        let size = side.pow(rank as u32);
        let mut product = vec![1.0; size];
        let mut after = Vec::new();
        for group in groups.iter().skip(1).rev() {
            let mut wrapped = vec![0.0; side];
            let table = group.sum.sum();
            for s in table.support() {
                wrapped[s.rem_euclid(side as i64) as usize] += table.at(s);
            }
            let transform = even_transform(&wrapped, side, 1);
            for (w, p) in product.iter_mut().enumerate() {
                *p *= transform[phase(&group.column, w, side)];
            }
            let mut m = even_transform(&product, side, rank);
            m.iter_mut().for_each(|p| *p = p.max(0.0) / size as f64);
            after.push(m);
        }
        after.reverse();
        let mut grouped = Self {
            rows: component.rows.iter().map(|row| global(row, component)).collect(),
            groups,
            side,
            after,
            met: 1.0,
        };
        let (first, origin) = (&grouped.groups[0], vec![0; rank]);
        let table = first.sum.sum();
        grouped.met =
            table.support().map(|s| table.at(s) * grouped.later(0, grouped.place(first, &origin, s))).sum();
        if grouped.acceptance() < 1e-3 {
            return Err(Error::Unsupported {
                method: "exact",
                what: "these equations".into(),
                reason: "too few draws meet them beside meeting them modulo the table's side; use line-gibbs",
            });
        }
        Ok(grouped)
    }

    /// Draws once, into the component's entries of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut GroupedScratch, noise: &mut [i64]) {
        while !self.attempt(rng, scratch, noise) {}
    }

    fn attempt<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut GroupedScratch, noise: &mut [i64]) -> bool {
        let GroupedScratch { split, parts, needed, sums } = scratch;
        sums.clear();
        needed.clear();
        needed.resize(self.groups[0].column.len(), 0);
        for (j, group) in self.groups.iter().enumerate() {
            // Outwards from near the mean; the weights sum to m_j, but for rounding.
            let table = group.sum.sum();
            let (lo, hi) = (*table.support().start(), *table.support().end());
            let weight = |s: i64| table.at(s) * self.later(j, self.place(group, needed, s));
            let total = match j {
                0 => self.met,
                _ => self.after[j - 1][self.place(group, needed, 0)],
            };
            let from = self.near(group, needed).clamp(lo, hi);
            let s = outwards(open01(rng) * total, from, (lo, hi), weight);
            for (r, &a) in needed.iter_mut().zip(&group.column) {
                *r = (*r as i64 - a as i64 * s).rem_euclid(self.side as i64) as usize;
            }
            sums.push(s);
        }
        for (group, &s) in self.groups.iter().zip(&*sums) {
            parts.clear();
            parts.resize(group.entries.len(), 0);
            group.sum.split(rng, s, split, parts);
            for (&entry, &part) in group.entries.iter().zip(&*parts) {
                noise[entry as usize] = part;
            }
        }
        self.rows.iter().all(|row| value(row, noise) == 0)
    }

    /// `m_(j+1)` at an index.
    #[inline]
    fn later(&self, j: usize, at: usize) -> f64 {
        self.after.get(j).map_or_else(|| f64::from(u8::from(at == 0)), |m| m[at])
    }

    /// The sum of a group that is likely where the equations still need so much.
    #[inline]
    fn near(&self, group: &Group, needed: &[usize]) -> i64 {
        let signed = |r: usize| if 2 * r > self.side { r as f64 - self.side as f64 } else { r as f64 };
        libm::rint(group.slope.iter().zip(needed).map(|(slope, &r)| slope * signed(r)).sum::<f64>()) as i64
    }

    /// Index of `needed - a s` in the tables.
    #[inline]
    fn place(&self, group: &Group, needed: &[usize], s: i64) -> usize {
        let mask = self.side as i64 - 1;
        let mut index = 0;
        for (&r, &a) in needed.iter().zip(&group.column).rev() {
            index = index * self.side + ((r as i64 - a as i64 * s) & mask) as usize;
        }
        index
    }

    /// Share of draws that meet the equations beside meeting them modulo G, over 256 draws of a fixed stream.
    fn acceptance(&self) -> f64 {
        use crate::rng::{Role, TaskKey, stream};
        let mut rng = stream(TaskKey { seed: 0, cell: 0, replicate: 0, role: Role::Noise });
        let entries =
            self.groups.iter().flat_map(|group| &group.entries).max().map_or(0, |&entry| entry as usize + 1);
        let (mut scratch, mut noise) = (GroupedScratch::default(), vec![0; entries]);
        let met = (0..256).filter(|_| self.attempt(&mut rng, &mut scratch, &mut noise)).count();
        met as f64 / 256.0
    }

    /// Estimate of the total variation distance of a draw to the target: mass that the groups' tables lack, and
    /// rounding relative to the probability of meeting the equations.
    pub fn tv_error(&self) -> f64 {
        let lost: f64 = self.groups.iter().map(|group| group.sum.sum().lost()).sum();
        let Some(first) = self.after.first() else { return lost };
        (lost + 1e-16 * libm::sqrt(first.len() as f64)) / self.met
    }
}

fn global(row: &[(u32, i64)], component: &Component) -> Vec<(u32, i64)> {
    row.iter().map(|&(entry, a)| (component.entries[entry as usize], a)).collect()
}

/// By group: `v a' C⁻¹` with the variance v of its sum, its column a and the covariance C of what it and later groups
/// add to the equations, as for normal laws.
fn slopes(groups: &mut [Group], variance: f64) {
    let rank = groups[0].column.len();
    // Later groups may leave equations untouched.
    let mut covariance = vec![vec![0.0; rank]; rank];
    (0..rank).for_each(|i| covariance[i][i] = 1e-9 * variance);
    for group in groups.iter_mut().rev() {
        let spread = variance * group.entries.len() as f64;
        let column: Vec<f64> = group.signed.iter().map(|&a| a as f64).collect();
        for i in 0..rank {
            for j in 0..rank {
                covariance[i][j] += spread * column[i] * column[j];
            }
        }
        let solved = solve(covariance.clone(), column).unwrap_or_else(|| vec![0.0; rank]);
        group.slope = solved.into_iter().map(|x| spread * x).collect();
    }
}

/// `<column, ω> mod side` for the frequency with index `w`.
#[inline]
fn phase(column: &[usize], mut w: usize, side: usize) -> usize {
    let mut sum = 0;
    for &a in column {
        sum += a * (w & (side - 1));
        w /= side;
    }
    sum & (side - 1)
}
