//! The cheapest integers of a small system, by moves that find the optimum of every separable convex cost.

use super::super::flow::Convex;
use super::cost::{Costs, LONGEST};
use crate::error::{Error, Result};
use crate::lattice::{Basis, BasisKind, IntMatrix, Row, graver};

/// The Graver basis of a system.
#[derive(Debug)]
pub(super) struct TestSet {
    /// Unknowns and steps of each vector; one of each pair ±v.
    vectors: Vec<Vec<(usize, i64)>>,
}

impl TestSet {
    /// Finds the Graver basis of the equations `rows` in so many unknowns. `entries`: how many the table has, for the
    /// message.
    ///
    /// Errors: more than 500 vectors, or one beyond 2,047 in L1 norm.
    pub(super) fn new(rows: &[Row], unknowns: usize, entries: usize) -> Result<Self> {
        let mut dense = IntMatrix::zero(rows.len(), unknowns);
        for (i, row) in rows.iter().enumerate() {
            row.iter().for_each(|&(unknown, a)| dense[(i, unknown as usize)] = a);
        }
        let kernel = Basis::of_kernel(&dense, BasisKind::Reduced)?.vectors;
        let words = |needed, limit, unit| Error::TooLarge {
            what: format!(
                "the integers closest to a projection of {entries} entries with {} free sums, which are no network, by a Graver \
                 basis that",
                kernel.rows()
            ),
            needed,
            limit,
            unit,
        };
        let vectors = graver(&kernel).map_err(|error| match error {
            Error::TooLarge { needed, limit, unit, .. } => words(needed, limit, unit),
            error => error,
        })?;
        let longest = vectors.iter().map(|v| v.iter().map(|x| x.unsigned_abs()).sum()).max().unwrap_or(0u64);
        if longest >= LONGEST {
            return Err(words(longest, LONGEST - 1, "units in its longest vector"));
        }
        let sparse = |v: Vec<i64>| v.into_iter().enumerate().filter(|&(_, x)| x != 0).collect();
        Ok(Self { vectors: vectors.into_iter().map(sparse).collect() })
    }

    /// Moves the groups of `costs`, the unknowns, from 0 to where they cost least.
    ///
    /// Takes the vector that lowers the cost most, as often as that helps, until none lowers it. Then the cost is
    /// least: any other point is reached by vectors of the Graver basis of the same signs, one of which would lower a
    /// separable convex cost (Murota, Saito, Weismantel 2004, "Optimality criterion for a class of nonlinear integer
    /// programs"). Exact integers.
    ///
    /// Errors: 0 is beyond the bounds.
    pub(super) fn settle(&self, costs: &mut Costs, unknowns: usize) -> Result<()> {
        for group in 0..unknowns {
            let step = -costs.sum(group);
            if !costs.step(group, step) {
                return Err(Error::parameter("bounds of the noise", "bounds without 0", "bounds around 0"));
            }
        }
        loop {
            let mut best = (0i128, 0i64, &self.vectors[..0]);
            for (i, vector) in self.vectors.iter().enumerate() {
                for sign in [1, -1] {
                    let (cost, times) = furthest(costs, vector, sign);
                    if cost < best.0 {
                        best = (cost, times, &self.vectors[i..=i]);
                    }
                }
            }
            let (_, times, [vector]) = best else { return Ok(()) };
            for &(group, x) in vector {
                costs.step(group, x * times);
            }
        }
    }
}

/// How often a vector lowers the cost along its sign, and by how much.
fn furthest(costs: &Costs, vector: &[(usize, i64)], sign: i64) -> (i128, i64) {
    let price = |times: i64| -> i128 {
        let each = |&(group, x): &(usize, i64)| costs.price(group, x.checked_mul(times)?);
        vector.iter().map(each).sum::<Option<i128>>().unwrap_or(i128::MAX)
    };
    let one = price(sign);
    if one >= 0 {
        return (0, 0);
    }
    // The cost is convex along the vector: doubled as long as it falls, then by halves.
    let mut high = 2;
    while price(sign * high) < price(sign * (high / 2)) {
        high *= 2;
    }
    let mut low = 1;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if price(sign * middle) < price(sign * (middle - 1)) { low = middle } else { high = middle }
    }
    (price(sign * low), sign * low)
}
