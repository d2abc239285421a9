//! Whether two tables that satisfy everything can differ by a given change.

use crate::invariant::{Bounded, NO_LOWER, NO_UPPER, Region};
use crate::lattice::Sparse;
use std::cell::OnceCell;

/// Free dimensions of a part of which all irreducible vectors are listed.
const LISTED: usize = 10;
/// Groups of equal columns of a part whose lattice is searched.
const SEARCHED: usize = 160;
/// Levels of a tree up to which passes over its equations are known to end ([`Bounded::narrowed`]).
const LEVELS: usize = 12;

/// The tables of one part that satisfy everything: those of the equations that the given table has, within the inequalities.
///
/// Two of them that differ by u exist where a point of the lattice lies within the region R and within `R - u` at once.
/// That is asked in four ways, the cheap ones first: whether the given table is one of the two; whether the bounds that
/// single constraints imply leave anything, which is certain where they do not; the same is certain where they do, if
/// the equations are a tree: each two share one entry at most and none go round in a circle, so that intervals that
/// agree with every equation agree with all of them; and at last by going from the given table towards both regions
/// along the Graver basis of sums and slacks. How far a table is outside is a sum of convex functions of single sums
/// and slacks, and such a sum is least where no step along the Graver basis makes it smaller (Murota, Saito, Weismantel
/// 2004).
#[derive(Debug)]
pub(super) struct Between<'a> {
    pub(super) part: &'a Bounded,
    /// Equations that are a tree, and no explicit row.
    is_tree: bool,
    irreducible: OnceCell<Option<Vec<Vec<i64>>>>,
}

impl<'a> Between<'a> {
    /// Prepares the search in one part, as [`Bounded::reduced`] leaves it.
    pub(super) fn new(part: &'a Bounded) -> Self {
        let component = &part.component;
        let tree = || component.tree().is_some_and(|tree| tree.hierarchy.levels() <= LEVELS);
        let is_tree = part.region.rows.is_empty() && (component.rows.is_empty() || tree());
        Self { part, is_tree, irreducible: OnceCell::new() }
    }

    /// Whether two tables differ by `u`, on the part's own entries; `None` where that was not found out.
    pub(super) fn differ_by(&self, u: &Sparse) -> Option<bool> {
        let both = self.part.with_step(u);
        let n = both.component.entries.len();
        let mut other = vec![0i64; n];
        u.iter().for_each(|&(entry, c)| other[entry as usize] -= i64::from(c));
        if both.region.contains(&vec![0; n]) || both.region.contains(&other) {
            return Some(true);
        }
        if both.narrowed().is_none() {
            return Some(false);
        }
        if self.is_tree {
            return Some(true);
        }
        let vectors = self.irreducible()?;
        Some(meets(&both.sums().region, both.equal_columns().len(), vectors))
    }

    /// The Graver basis of sums and slacks, where the part is small.
    pub(super) fn irreducible(&self) -> Option<&Vec<Vec<i64>>> {
        let list = || {
            let groups = self.part.equal_columns().len();
            let free = groups - self.part.component.independent_rows().ok()?.len().min(groups);
            (groups <= SEARCHED && free <= LISTED).then(|| self.part.irreducible().ok()).flatten()
        };
        self.irreducible.get_or_init(list).as_ref()
    }

    /// A change of entries with these sums whose entries are as uneven as they can be, with its `Σ u_i²`: no other has more, and where one
    /// is possible, all are that leave every entry within its bounds. `None`: no change has these sums.
    pub(super) fn most_uneven(&self, sums: &[i64]) -> Option<(Sparse, f64)> {
        let (lower, upper) = (&self.part.region.lower, &self.part.region.upper);
        let width = |entry: u32| match (lower[entry as usize], upper[entry as usize]) {
            (NO_LOWER, _) | (_, NO_UPPER) => i64::MAX,
            (lower, upper) => upper.saturating_sub(lower),
        };
        let mut change = Sparse::new();
        for ((_, mut entries), &sum) in self.part.equal_columns().into_iter().zip(sums) {
            entries.sort_by_key(|&entry| std::cmp::Reverse(width(entry)));
            let mut left = sum;
            for entry in entries {
                let own = left.abs().min(width(entry)) * left.signum();
                if own != 0 {
                    change.push((entry, i32::try_from(own).ok()?));
                    left -= own;
                }
            }
            if left != 0 {
                return None;
            }
        }
        let square = change.iter().map(|&(_, c)| f64::from(c) * f64::from(c)).sum();
        Some((change, square))
    }
}

/// Whether a region holds a point of the lattice that these vectors are the Graver basis of (with the slacks of the region's rows
/// behind `entries` coordinates).
fn meets(region: &Region, entries: usize, vectors: &[Vec<i64>]) -> bool {
    let sparse = |vector: &Vec<i64>, sign: i64| -> Option<Sparse> {
        let own = (0u32..).zip(&vector[..entries]).filter(|(_, x)| **x != 0);
        own.map(|(entry, &x)| Some((entry, i32::try_from(sign * x).ok()?))).collect()
    };
    let steps: Vec<Sparse> =
        vectors.iter().flat_map(|vector| [1, -1].map(|sign| sparse(vector, sign))).flatten().collect();
    let mut z = vec![0i64; entries];
    while region.violation(&z) > 0 {
        let best = steps.iter().filter_map(|step| {
            let along = region.violation_along(step, &z);
            let start = along(0);
            let times = least_of_convex(&along);
            let less = start - along(times);
            (less > 0).then_some((less, times, step))
        });
        let Some((_, times, step)) = best.max_by_key(|(less, ..)| *less) else { return false };
        step.iter().for_each(|&(entry, c)| z[entry as usize] += times * i64::from(c));
    }
    true
}

/// The first t >= 0 at which a convex function is least, if it is somewhere: up to 2^60.
fn least_of_convex(f: &impl Fn(i64) -> i128) -> i64 {
    let falls = |t: i64| f(t + 1) < f(t);
    let mut high = 1;
    while high < 1 << 60 && falls(high) {
        high *= 2;
    }
    let mut low = 0;
    while low < high {
        let middle = low + (high - low) / 2;
        if falls(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
