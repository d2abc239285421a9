//! Equations solved for some of their entries.

use super::linear::Component;
use crate::error::{Error, Result};
use crate::lattice::{Echelon, Row, adjugate, real_value};

/// The equations of a component solved for as many entries as they are independent: `z_dependent = -M⁻¹
/// A_free z_free`.
#[derive(Debug)]
pub(crate) struct Solved {
    /// Entries that may be anything.
    pub(crate) free: Vec<u32>,
    /// Entries that are solved for.
    pub(crate) dependent: Vec<u32>,
    /// By independent equation: its coefficients on the free entries.
    pub(crate) rows: Vec<Row>,
    /// `det` times the inverse of the equations on the dependent entries, row by row.
    pub(crate) adjugate: Vec<Vec<i128>>,
    /// Their determinant.
    pub(crate) det: i128,
}

const INDEPENDENT: &str =
    "in every component as many entries as there are independent equations, with independent columns";

fn overflow() -> Error {
    Error::Invariant("mis: the equations on the dependent entries leave 128 bits".into())
}

impl Solved {
    /// `dependent`: the entries of the table that are solved for (from 0); `None` for the last ones whose
    /// columns are independent.
    ///
    /// Errors: dependent entries whose columns are dependent or too few, a system beyond 128 bits.
    pub(crate) fn new(component: &Component, dependent: Option<&[usize]>) -> Result<Self> {
        let n = component.entries.len() as u32;
        if component.rows.is_empty() {
            let (dependent, rows, adjugate) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Self { free: (0..n).collect(), dependent, rows, adjugate, det: 1 });
        }
        let rows: Vec<Row> =
            component.independent_rows()?.into_iter().map(|i| component.rows[i].clone()).collect();
        let candidates: Vec<u32> = match dependent {
            None => (0..n).rev().collect(),
            Some(list) => {
                (0..n).filter(|&entry| list.contains(&(component.entries[entry as usize] as usize))).collect()
            }
        };
        let column = |entry: u32| -> Vec<i128> {
            let of = |row: &Row| row.iter().find(|(c, _)| *c == entry).map_or(0, |&(_, a)| i128::from(a));
            rows.iter().map(of).collect()
        };
        let mut chosen: Vec<u32> = Vec::new();
        let mut echelon = Echelon::new();
        let wrong = || Error::parameter("dependent", candidates.len(), INDEPENDENT);
        for &entry in &candidates {
            if echelon.rank() < rows.len() && echelon.add(column(entry)).ok_or_else(overflow)? {
                chosen.push(entry);
            } else if dependent.is_some() {
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
        let rows = rows.iter().map(kept).collect();
        Ok(Self { free, dependent: chosen, rows, adjugate, det })
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
