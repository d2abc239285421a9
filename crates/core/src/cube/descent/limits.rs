//! Bounds of sums of cells of the tables of children, on the cells that can be other than 0.

use super::super::bounds::{Bounds, Limit};
use super::super::measurements::Measurements;
use super::super::small::inverse;
use super::shape::singular;
use super::support::Support;
use crate::error::Result;
use std::ops::Range;

/// No sum.
const NONE: u32 = u32::MAX;
/// What a cell that has to be 0 is before the closest tables are found: far below all others.
const CLOSED: f64 = -1e300;

/// The bounds of the children of one area, or of one area alone.
#[derive(Debug)]
pub(super) struct Limits {
    /// Child by child, cell by cell: whether it has to be 0.
    closed: Vec<bool>,
    /// The other bounds, if there are any.
    pub(super) boxes: Option<Boxes>,
}

/// Bounds of sums, each divided by the root of how many cells it has: then a sum is a projection.
#[derive(Debug)]
pub(super) struct Boxes {
    cells: usize,
    /// By query, by cell of the support the sum that counts it.
    maps: Vec<Vec<u32>>,
    /// By sum, 1 over that root.
    parts: Vec<f64>,
    /// Child by child, sum by sum.
    low: Vec<f64>,
    high: Vec<f64>,
    /// By kind of coefficients, the inverse of `I + Σ R`, R the means over the cells of a query's sums.
    pub(super) inverses: Vec<Vec<f64>>,
}

impl Limits {
    /// The bounds of some nodes; `None` where none of them has any.
    ///
    /// - `numbers`: by query that has bounds, by cell of the domain the number of the answer that counts it; none beyond all.
    pub(super) fn new(
        bounds: &Bounds,
        numbers: &[Vec<u32>],
        measurements: &Measurements,
        support: &Support,
        nodes: Range<usize>,
    ) -> Result<Option<Self>> {
        if nodes.clone().all(|v| bounds.of(v).is_empty()) {
            return Ok(None);
        }
        let m = support.cells();
        let (mut maps, mut sizes) = (Vec::new(), Vec::<f64>::new());
        let mut of_number = vec![NONE; bounds.answers(&measurements.queries)];
        for numbers in numbers {
            let of_cell = |&place: &u32| {
                let Some(sum) = of_number.get_mut(numbers[place as usize] as usize) else { return NONE };
                if *sum == NONE {
                    *sum = sizes.len() as u32;
                    sizes.push(0.0);
                }
                sizes[*sum as usize] += 1.0;
                *sum
            };
            let map: Vec<u32> = support.places.iter().map(of_cell).collect();
            maps.push(map);
        }
        let parts: Vec<f64> = sizes.iter().map(|size| 1.0 / libm::sqrt(*size)).collect();
        let mut closed = vec![false; nodes.len() * m];
        let mut low = vec![f64::NEG_INFINITY; nodes.len() * parts.len()];
        let mut high = vec![f64::INFINITY; low.len()];
        for (child, v) in nodes.enumerate() {
            for &Limit { number, least, most } in bounds.of(v) {
                let sum = of_number[number as usize];
                if sum == NONE {
                    continue;
                }
                if most == 0 {
                    for map in &maps {
                        let own = closed[child * m..][..m].iter_mut().zip(map);
                        own.filter(|(_, of)| **of == sum).for_each(|(closed, _)| *closed = true);
                    }
                    continue;
                }
                let (at, part) = (child * parts.len() + sum as usize, parts[sum as usize]);
                if least > 0 {
                    low[at] = least as f64 * part;
                }
                if most < i64::MAX {
                    high[at] = most as f64 * part;
                }
            }
        }
        let is_open = low.iter().all(|x| x.is_infinite()) && high.iter().all(|x| x.is_infinite());
        let boxes = match is_open {
            true => None,
            false => {
                let inverses = inverses(bounds, measurements, support)?;
                Some(Boxes { cells: m, maps, parts, low, high, inverses })
            }
        };
        Ok(Some(Self { closed, boxes }))
    }

    /// Puts the cells that have to be 0 far below all others.
    pub(super) fn close(&self, tables: &mut [f64]) {
        tables.iter_mut().zip(&self.closed).filter(|(_, closed)| **closed).for_each(|(x, _)| *x = CLOSED);
    }
}

impl Boxes {
    /// How many sums a child has.
    pub(super) fn sums(&self) -> usize {
        self.parts.len()
    }

    /// The sums of a table.
    pub(super) fn of(&self, table: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for map in &self.maps {
            for (x, &sum) in table.iter().zip(map) {
                if let Some(out) = out.get_mut(sum as usize) {
                    *out += x;
                }
            }
        }
        out.iter_mut().zip(&self.parts).for_each(|(out, part)| *out *= part);
    }

    /// Adds to every cell what its sums have: the transpose of that.
    pub(super) fn spread(&self, sums: &[f64], table: &mut [f64]) {
        for map in &self.maps {
            for (x, &sum) in table.iter_mut().zip(map) {
                if let (Some(own), Some(part)) = (sums.get(sum as usize), self.parts.get(sum as usize)) {
                    *x += own * part;
                }
            }
        }
    }

    /// The closest sums of a child within the bounds.
    pub(super) fn clamp(&self, child: usize, sums: &mut [f64]) {
        let from = child * sums.len();
        for ((own, low), high) in sums.iter_mut().zip(&self.low[from..]).zip(&self.high[from..]) {
            *own = own.clamp(*low, *high);
        }
    }

    /// By how much tables miss the bounds, all sums together, in counts.
    pub(super) fn missed(&self, tables: &[f64]) -> f64 {
        let (mut own, mut missed) = (vec![0.0; self.sums()], 0.0);
        for (child, table) in tables.chunks_exact(self.cells).enumerate() {
            self.of(table, &mut own);
            let before = own.clone();
            self.clamp(child, &mut own);
            let off = own.iter().zip(&before).zip(&self.parts);
            missed += off.map(|((own, before), part)| (own - before).abs() / part).sum::<f64>();
        }
        missed
    }
}

/// The inverses of `I + Σ R` by kind, R the means over the cells of the sums of a query, which act as the query's Gram matrix does.
fn inverses(bounds: &Bounds, measurements: &Measurements, support: &Support) -> Result<Vec<Vec<f64>>> {
    let n = support.joint();
    let kind = |kind: u32| {
        let mut sum = vec![0.0; n * n];
        (0..n).for_each(|i| sum[i * n + i] = 1.0);
        for marginal in bounds.queries().iter().map(|&query| &measurements.queries[query]) {
            if !marginal.reaches(kind) {
                continue;
            }
            for row in &marginal.rows {
                let own: Vec<usize> = row.iter().filter_map(|&joint| support.find(joint)).collect();
                let part = 1.0 / own.len() as f64;
                own.iter().for_each(|i| own.iter().for_each(|j| sum[i * n + j] += part));
            }
        }
        inverse(&sum, n).ok_or_else(singular)
    };
    (0..1u32 << support.sizes().len()).map(kind).collect()
}
