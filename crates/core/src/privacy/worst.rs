//! The worst change of a kind: how far it goes, what bounds it, and what ties it to other entries.

use crate::invariant::{Component, Region, TreeOfEntries};

/// What is bounded by inequalities.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    /// Whether leaves of trees are bounded.
    pub(super) leaves: bool,
    /// Whether other entries are bounded, one by one.
    pub(super) entries: bool,
    /// Whether anything else is bounded.
    pub(super) rows: bool,
}

impl Bounds {
    /// What is bounded in a tree whose leaves alone are bounded, if anything is.
    pub(super) fn of_leaves(leaves: bool) -> Self {
        Self { leaves, ..Self::default() }
    }

    /// What is bounded in a part that is no tree with bounds of its leaves alone.
    pub(super) fn of(region: &Region) -> Self {
        let rows = !region.rows.is_empty();
        Self { leaves: false, entries: !rows && !region.is_everything(), rows }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            leaves: self.leaves || other.leaves,
            entries: self.entries || other.entries,
            rows: self.rows || other.rows,
        }
    }
}

/// What ties the entries of some changes to others: conditioning changes their noise accordingly.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ties {
    /// Whether some are single entries that no equation holds.
    pub(super) free: bool,
    /// The fewest entries of a total in which a unit moves.
    pub(super) total: Option<u64>,
    /// Whether anything else ties some of them.
    pub(super) other: bool,
}

impl Ties {
    pub(super) const FREE: Self = Self { free: true, total: None, other: false };
    pub(super) const OTHER: Self = Self { free: false, total: None, other: true };

    /// What ties a unit that moves in a part.
    pub(super) fn of_moves(component: &Component) -> Self {
        let entries = component.entries.len() as u64;
        match component.is_total() {
            true => Self { free: false, total: Some(entries), other: false },
            false => Self::OTHER,
        }
    }

    /// What ties changes of both.
    pub(super) fn or(self, other: Self) -> Self {
        let total = self.total.into_iter().chain(other.total).min();
        Self { free: self.free || other.free, total, other: self.other || other.other }
    }
}

/// The worst changes of a kind.
#[derive(Debug, Clone)]
pub(super) struct Worst {
    /// Records that are added or removed.
    pub(super) records: u64,
    /// The largest `Σ |u_v|`.
    pub(super) size: f64,
    /// The largest `Σ u_v²`.
    pub(super) square: f64,
    /// What bounds the entries.
    pub(super) bounds: Bounds,
    /// What ties them to others.
    pub(super) ties: Ties,
    /// Where the largest is, if it is not the same everywhere.
    pub(super) place: String,
    /// Whether two tables differ by it for certain, and no smaller change exists: else all of this is an upper bound.
    pub(super) is_certain: bool,
}

impl Worst {
    /// The worst of changes whose entries change by 1 each.
    pub(super) fn of_ones(records: u64, entries: f64, bounds: Bounds, ties: Ties, is_certain: bool) -> Self {
        Self { records, size: entries, square: entries, bounds, ties, place: String::new(), is_certain }
    }

    /// The worse of changes of one kind, under the bounds of both.
    pub(super) fn or(self, other: Self) -> Self {
        let (bounds, ties) = (self.bounds.or(other.bounds), self.ties.or(other.ties));
        let (size, square) = (self.size.max(other.size), self.square.max(other.square));
        let is_certain = self.is_certain && other.is_certain;
        let larger = if other.size > self.size { other } else { self };
        Self { size, square, bounds, ties, is_certain, ..larger }
    }
}

/// The worse of two, if there are any.
pub(super) fn worse(a: Option<Worst>, b: Option<Worst>) -> Option<Worst> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.or(b)),
        (a, b) => a.or(b),
    }
}

/// The tree of a component, if its equations are one. Of a total more is known than of other trees.
pub(super) fn tree(component: &Component) -> Option<TreeOfEntries> {
    component.tree().filter(|_| !component.is_total())
}
