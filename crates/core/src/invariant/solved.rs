//! Equations solved for some of their entries.

use super::linear::{Component, Linear};
use crate::error::{Error, Result};
use crate::lattice::{Echelon, Row, adjugate, real_value};

/// The equations of a component solved for as many entries as they are independent: `z_dependent = -M⁻¹
/// A_free z_free`.
#[derive(Debug)]
pub(crate) struct Solved {
    /// Entries that may be anything.
    pub(crate) free: Vec<u32>,
    /// The entries that are solved for.
    pub(crate) dependent: Vec<u32>,
    /// By independent equation: its coefficients on the free entries.
    pub(crate) rows: Vec<Row>,
    /// `det` times the inverse of the equations on the dependent entries, row by row.
    pub(crate) adjugate: Vec<Vec<i128>>,
    /// The determinant of the equations on the dependent entries.
    pub(crate) det: i128,
    /// The dependent entries as integer combinations of the free ones, where all coefficients are integers.
    pub(crate) whole: Option<Whole>,
}

/// `-M⁻¹ A_free` where all of it are integers.
#[derive(Debug)]
pub(crate) struct Whole {
    /// By dependent entry, its coefficients on the free ones.
    pub(crate) rows: Vec<Row>,
    /// `Σ |z_free|` up to which no sum leaves 64 bits.
    pub(crate) room: u64,
}

impl Whole {
    /// Finds the integer coefficients; `None` where one is no integer of 64 bits.
    fn new(free: &[u32], rows: &[Row], adjugate: &[Vec<i128>], det: i128) -> Option<Self> {
        let coefficient = |inverse: &[i128], entry: u32| {
            let mut times_det = 0i128;
            for (a, row) in inverse.iter().zip(rows) {
                let own = row.iter().find(|(of, _)| *of == entry).map_or(0, |&(_, b)| i128::from(b));
                times_det = times_det.checked_sub(a.checked_mul(own)?)?;
            }
            if times_det % det == 0 { i64::try_from(times_det / det).ok() } else { None }
        };
        let mut all = Vec::new();
        for inverse in adjugate {
            let mut row = Row::new();
            for &entry in free {
                let coefficient = coefficient(inverse, entry)?;
                row.extend((coefficient != 0).then_some((entry, coefficient)));
            }
            all.push(row);
        }
        let largest = all.iter().flatten().map(|(_, a)| a.unsigned_abs()).max().unwrap_or(1);
        Some(Self { rows: all, room: i64::MAX as u64 / largest })
    }
}

/// The entries that equations are solved for, where others are free: of each component as many as it has independent equations, with
/// independent columns, those that stand first in `order`: every entry (from 0), once.
///
/// Errors: another order; a system beyond 128 bits.
pub fn dependent_entries(invariant: &Linear, order: &[usize]) -> Result<Vec<usize>> {
    let mut all = Vec::new();
    for component in invariant.components() {
        let solved = Solved::in_order(&component, order)?;
        all.extend(solved.dependent.iter().map(|&entry| component.entries[entry as usize] as usize));
    }
    all.sort_unstable();
    Ok(all)
}

const INDEPENDENT: &str =
    "in every component as many entries as there are independent equations, with independent columns";

fn overflow() -> Error {
    Error::Invariant("mis: the equations on the dependent entries leave 128 bits".into())
}

impl Solved {
    /// Solves the equations. `dependent`: the entries of the table that are solved for (from 0); `None` for the last
    /// ones whose columns are independent.
    ///
    /// Errors: dependent entries whose columns are dependent or too few, a system beyond 128 bits.
    pub(crate) fn new(component: &Component, dependent: Option<&[usize]>) -> Result<Self> {
        let entries = 0..component.entries.len() as u32;
        match dependent {
            None => Self::of(component, &entries.rev().collect::<Vec<_>>(), false),
            Some(list) => {
                let listed = |entry: &u32| list.contains(&(component.entries[*entry as usize] as usize));
                Self::of(component, &entries.filter(listed).collect::<Vec<_>>(), true)
            }
        }
    }

    /// Solves the equations for the entries with independent columns that stand first in `order`: every entry of the
    /// table (from 0), once.
    ///
    /// Errors: another order; a system beyond 128 bits.
    pub(crate) fn in_order(component: &Component, order: &[usize]) -> Result<Self> {
        let mut place = vec![usize::MAX; order.len()];
        for (i, &entry) in order.iter().enumerate() {
            match place.get_mut(entry) {
                Some(place) if *place == usize::MAX => *place = i,
                _ => return Err(Error::parameter("order", entry, "every entry, once")),
            }
        }
        if component.entries.iter().any(|&entry| entry as usize >= order.len()) {
            return Err(Error::parameter("order", order.len(), "as many entries as there are"));
        }
        let mut candidates: Vec<u32> = (0..component.entries.len() as u32).collect();
        candidates.sort_by_key(|&entry| place[component.entries[entry as usize] as usize]);
        Self::of(component, &candidates, false)
    }

    /// Solves the equations for some of the candidates. `all`: whether every candidate must be solved for, or as many
    /// as are independent.
    fn of(component: &Component, candidates: &[u32], all: bool) -> Result<Self> {
        let n = component.entries.len() as u32;
        if component.rows.is_empty() {
            let (dependent, rows, adjugate) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Self { free: (0..n).collect(), dependent, rows, adjugate, det: 1, whole: None });
        }
        let rows: Vec<Row> =
            component.independent_rows()?.into_iter().map(|i| component.rows[i].clone()).collect();
        let column = |entry: u32| -> Vec<i128> {
            let of = |row: &Row| row.iter().find(|(c, _)| *c == entry).map_or(0, |&(_, a)| i128::from(a));
            rows.iter().map(of).collect()
        };
        let mut chosen: Vec<u32> = Vec::new();
        let mut echelon = Echelon::new();
        let wrong = || Error::parameter("dependent", candidates.len(), INDEPENDENT);
        for &entry in candidates {
            if echelon.rank() < rows.len() && echelon.add(column(entry)).ok_or_else(overflow)? {
                chosen.push(entry);
            } else if all {
                return Err(wrong());
            }
        }
        if chosen.len() < rows.len() {
            return Err(wrong());
        }
        chosen.sort_unstable();
        let block: Vec<Vec<i128>> = chosen.iter().map(|&entry| column(entry)).collect();
        let (adjugate, det) = adjugate(&block).ok_or_else(overflow)?;
        let free: Vec<u32> = (0..n).filter(|entry| !chosen.contains(entry)).collect();
        let kept = |row: &Row| row.iter().copied().filter(|(entry, _)| !chosen.contains(entry)).collect();
        let rows: Vec<Row> = rows.iter().map(kept).collect();
        let whole = Whole::new(&free, &rows, &adjugate, det);
        Ok(Self { free, dependent: chosen, rows, adjugate, det, whole })
    }

    /// Sets the dependent entries of real `z` from its free ones, to rounding.
    #[inline]
    pub(crate) fn solve(&self, z: &mut [f64]) {
        let det = self.det as f64;
        for (&entry, inverse) in self.dependent.iter().zip(&self.adjugate) {
            let terms = inverse.iter().zip(&self.rows).filter(|(a, _)| **a != 0);
            let times_det: f64 = terms.map(|(&a, row)| a as f64 * real_value(row, z)).sum();
            // No -0.
            z[entry as usize] = 0.0 - times_det / det;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first that are independent, in any order: of margins a row and a column less one, and never a cycle.
    #[test]
    fn dependent_entries_stand_first_in_their_order() {
        let margins = Linear::margins(2, 3).unwrap();
        let forward: Vec<usize> = (0..6).collect();
        // Entry 4 would close the cycle 0, 1, 4, 3.
        assert_eq!(dependent_entries(&margins, &forward).unwrap(), [0, 1, 2, 3]);
        let backward: Vec<usize> = (0..6).rev().collect();
        let last = Solved::new(&margins.components()[0], None).unwrap();
        assert_eq!(dependent_entries(&margins, &backward).unwrap(), [2, 3, 4, 5]);
        assert_eq!(last.dependent, [2, 3, 4, 5]);
        assert_eq!(dependent_entries(&margins, &[4, 0, 3, 1, 5, 2]).unwrap(), [0, 3, 4, 5]);
        // Two totals, one entry of each.
        let parts = Linear::partition(&[0, 1, 0, 1]).unwrap();
        assert_eq!(dependent_entries(&parts, &[3, 2, 1, 0]).unwrap(), [2, 3]);
        let third = Solved::in_order(&margins.components()[0], &[4, 0, 3, 1, 5, 2]).unwrap();
        let mut z = [0.0, 2.0, -1.0, 0.0, 0.0, 0.0];
        third.solve(&mut z);
        assert_eq!(z, [-1.0, 2.0, -1.0, 1.0, -2.0, 1.0]);
        for wrong in [&[0, 1][..], &[0, 0, 1, 2, 3, 4], &[0, 1, 2, 3, 4, 6]] {
            assert!(dependent_entries(&margins, wrong).is_err());
        }
    }
}
