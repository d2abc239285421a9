//! The points of a lattice on which tables have weight, one by one.

use super::table::Table;
use crate::error::{Error, Result};
use crate::lattice::{Basis, BasisKind, IntMatrix, hermite, independent_rows};

/// Points that are looked at.
pub(crate) const MAX_VISITED: u64 = 1 << 24;
/// Free dimensions beyond which nothing is listed.
const MAX_FREE: usize = 64;

/// The lattice `{s : A s = 0}` along a basis in echelon form.
#[derive(Debug)]
pub(crate) struct Points {
    basis: Vec<Vec<(usize, i64)>>,
    pivots: Vec<usize>,
    /// By number of basis vectors: the coordinates that no later vector changes, and some earlier one does.
    settled: Vec<Vec<usize>>,
}

impl Points {
    /// Finds the basis. Errors: far too many free dimensions; coefficients beyond 64 bits.
    pub(crate) fn new(a: &IntMatrix) -> Result<Self> {
        check_free(a)?;
        let echelon = hermite(&Basis::of_kernel(a, BasisKind::Smith)?.vectors)?;
        let row = |i: usize| echelon.h.row(i).iter().copied().enumerate().filter(|&(_, x)| x != 0);
        let basis: Vec<Vec<(usize, i64)>> = (0..echelon.h.rows()).map(|i| row(i).collect()).collect();
        let mut settled = vec![Vec::new(); basis.len() + 1];
        for j in 0..a.columns() {
            let last = basis.iter().rposition(|vector| vector.iter().any(|&(at, _)| at == j));
            settled[last.map_or(0, |last| last + 1)].push(j);
        }
        Ok(Self { basis, pivots: echelon.pivots, settled })
    }

    /// An upper bound on the number of points within the tables.
    pub(crate) fn most(&self, tables: &[&Table]) -> f64 {
        let steps = |(vector, &pivot): (&Vec<(usize, i64)>, &usize)| {
            tables[pivot].entries().len() as f64 / step(vector, pivot) as f64 + 1.0
        };
        self.basis.iter().zip(&self.pivots).map(steps).product()
    }

    /// Visits every point whose weight, the product of the tables' entries, is above 0 and not below `e^least`; some with a lower
    /// weight, too.
    ///
    /// Errors: more than `limit` points that were looked at; what `visit` returns.
    pub(crate) fn each(
        &self,
        tables: &[&Table],
        least: f64,
        limit: u64,
        visit: &mut dyn FnMut(&[i64]) -> Result<()>,
    ) -> Result<()> {
        let mut logs: Vec<Vec<f64>> =
            tables.iter().map(|table| table.entries().iter().map(|&p| libm::log(p)).collect()).collect();
        let tops: Vec<f64> =
            logs.iter().map(|own| own.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
        logs.iter_mut().zip(&tops).for_each(|(own, top)| own.iter_mut().for_each(|log| *log -= top));
        let mut walk = Walk {
            points: self,
            first: tables.iter().map(|table| *table.support().start()).collect(),
            least: least - tops.iter().sum::<f64>(),
            logs,
            left: limit,
            limit,
        };
        walk.from(0, 0.0, &mut vec![0; tables.len()], visit)
    }
}

/// The step of a basis vector at its pivot.
fn step(vector: &[(usize, i64)], pivot: usize) -> i64 {
    vector.iter().find(|&&(j, _)| j == pivot).map_or(1, |&(_, x)| x)
}

/// A visit of all points.
struct Walk<'a> {
    points: &'a Points,
    /// By coordinate: where its table begins, and the logarithms of its entries over the largest.
    first: Vec<i64>,
    logs: Vec<Vec<f64>>,
    /// The least sum of those.
    least: f64,
    /// Points that may still be looked at.
    left: u64,
    limit: u64,
}

impl Walk<'_> {
    /// Visits the points along the basis vectors from `i` on. `sums`: what those before add up to, the same afterwards
    /// unless an error is returned; `weight`: of the coordinates that they settle.
    fn from(
        &mut self,
        i: usize,
        mut weight: f64,
        sums: &mut [i64],
        visit: &mut dyn FnMut(&[i64]) -> Result<()>,
    ) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| too_many(self.limit + 1, self.limit))?;
        for &j in &self.points.settled[i] {
            match self.logs[j].get(sums[j].wrapping_sub(self.first[j]) as usize) {
                Some(log) => weight += log,
                None => return Ok(()),
            }
        }
        // An entry of weight 0 lies below every bound.
        if weight == f64::NEG_INFINITY || weight < self.least {
            return Ok(());
        }
        let Some(vector) = self.points.basis.get(i) else { return visit(sums) };
        let pivot = self.points.pivots[i];
        let (step, last) = (step(vector, pivot), self.first[pivot] + self.logs[pivot].len() as i64 - 1);
        let first = -(sums[pivot] - self.first[pivot]).div_euclid(step);
        let last = (last - sums[pivot]).div_euclid(step);
        if first > last {
            return Ok(());
        }
        moved(sums, vector, first)?;
        for t in first..=last {
            self.from(i + 1, weight, sums, visit)?;
            moved(sums, vector, if t < last { 1 } else { -last })?;
        }
        Ok(())
    }
}

/// Adds a multiple of a vector.
fn moved(sums: &mut [i64], vector: &[(usize, i64)], times: i64) -> Result<()> {
    for &(j, x) in vector {
        let next = times.checked_mul(x).and_then(|more| sums[j].checked_add(more));
        sums[j] = next.ok_or_else(|| Error::Invariant("exact: sums of groups leave 64 bits".into()))?;
    }
    Ok(())
}

/// Refuses what has far too many points before anything is computed.
fn check_free(a: &IntMatrix) -> Result<()> {
    let free = a.columns() - independent_rows(a)?.len();
    if free <= MAX_FREE {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "exact: the sums of groups of equal columns".into(),
        needed: free as u64,
        limit: MAX_FREE as u64,
        unit: "free dimensions",
    })
}

/// More points than are looked at, or kept.
pub(super) fn too_many(needed: u64, limit: u64) -> Error {
    Error::TooLarge {
        what: "exact: the sums of groups of equal columns (more free dimensions than can be listed)".into(),
        needed,
        limit,
        unit: "points or more",
    }
}
