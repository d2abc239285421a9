//! Bounds of entries on one side.

use std::ops::Index;

/// Stands for "no lower bound".
pub const NO_LOWER: i64 = i64::MIN;
/// Stands for "no upper bound".
pub const NO_UPPER: i64 = i64::MAX;

/// Lower bounds of entries.
pub type Lower = Side<NO_LOWER>;
/// Upper bounds of entries.
pub type Upper = Side<NO_UPPER>;

/// Bounds of entries on one side, most often of none: kept are those up to the last entry that has one. `NONE` stands for no
/// bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Side<const NONE: i64> {
    bounds: Vec<i64>,
}

impl<const NONE: i64> Side<NONE> {
    /// Sets the bound of an entry, or takes it away.
    pub fn set(&mut self, entry: usize, bound: i64) {
        if entry >= self.bounds.len() {
            if bound == NONE {
                return;
            }
            self.bounds.resize(entry + 1, NONE);
        }
        self.bounds[entry] = bound;
        while self.bounds.last() == Some(&NONE) {
            self.bounds.pop();
        }
    }

    /// Whether no entry has a bound.
    pub fn is_open(&self) -> bool {
        self.bounds.is_empty()
    }

    /// The bounds up to the last entry that has one.
    pub fn bounds(&self) -> &[i64] {
        &self.bounds
    }

    /// The bound of an entry as a real number, infinite where it has none.
    pub fn real(&self, entry: usize) -> f64 {
        match self[entry] {
            bound if bound == NONE => f64::INFINITY.copysign(NONE as f64),
            bound => bound as f64,
        }
    }

    /// The bounds of so many first entries.
    pub fn of(&self, entries: usize) -> Vec<i64> {
        (0..entries).map(|entry| self[entry]).collect()
    }
}

/// Collects the bounds of the entries in order.
impl<const NONE: i64> FromIterator<i64> for Side<NONE> {
    fn from_iter<I: IntoIterator<Item = i64>>(bounds: I) -> Self {
        let mut side = Self::default();
        bounds.into_iter().enumerate().for_each(|(entry, bound)| side.set(entry, bound));
        side
    }
}

/// The bound of an entry; `NONE` where it has none.
impl<const NONE: i64> Index<usize> for Side<NONE> {
    type Output = i64;

    #[inline]
    fn index(&self, entry: usize) -> &i64 {
        self.bounds.get(entry).unwrap_or(&NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal bounds are equal, however they came about; entries beyond the last bound have none.
    #[test]
    fn bounds_have_one_form() {
        let side: Lower = [NO_LOWER, -3, NO_LOWER, NO_LOWER].into_iter().collect();
        assert_eq!((side.bounds(), side[0], side[1], side[7]), (&[NO_LOWER, -3][..], NO_LOWER, -3, NO_LOWER));
        assert_eq!(side.of(3), [NO_LOWER, -3, NO_LOWER]);
        assert_eq!(
            (side.real(0), side.real(1), Upper::default().real(0)),
            (f64::NEG_INFINITY, -3.0, f64::INFINITY)
        );
        let mut other = Lower::default();
        for (entry, bound) in [(1, -4), (5, 0), (5, NO_LOWER), (9, NO_LOWER), (1, -3)] {
            other.set(entry, bound);
        }
        assert_eq!(other, side);
        other.set(1, NO_LOWER);
        assert!(other.is_open() && other == Lower::default());
    }
}
