//! The integers that are closest to a projection: the routes here; costs in `cost`; equations that are a network in `imaging::network`,
//! solved in `imaging::flow`; others in `moves`.

mod cost;
mod moves;
#[cfg(test)]
mod tests;

use super::flow::FlowScratch;
use super::network::Network;
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Component, Row};
use crate::lattice::real_value;
use crate::rng::Rng;
use cost::{Costs, LONGEST};
use moves::TestSet;

/// Largest projection, in counts.
const MAX_NOISE: f64 = (1u64 << 40) as f64;

/// The integers that satisfy the equations and inequalities of one component and are closest in L1 to a real point that
/// satisfies them (Dharangutte, Gao, Gong, Yu, "Integer subspace differential privacy", appendix E.4).
///
/// The distance is a separable convex function, `Σ |y_i - z_i|`. Entries with the same coefficients everywhere count by their
/// sums alone, and a row `b·y >= c` is an equation with one more unknown. Two routes, both exact in integers:
///
/// - a network (totals, two-way margins, two crossing partitions, hierarchies): the cheapest flow, by successive shortest
///   paths. The matrix is totally unimodular, so that the flow of integers is as cheap as the flow of reals under the costs
///   between integers.
/// - any other small system: moves along a Graver basis of at most 500 vectors, which is known before the first release.
///
/// **The closest integers need not be next to the point.** With sums that share entries an entry can be off by more than 1:
/// say twenty chains of ten entries each, of 0.9 all along, and one entry that is their sum, 18. To round all chains to 1
/// and the sum to 20 costs 22, and to keep the sum at 18 costs 36. Values beyond rounding down and up are therefore among those
/// that are compared. (Integers next to the point there always are, if the system is a network: the box of the values rounded
/// down and up cuts out a polytope with integer vertices, and the point is in it.)
///
/// Fractional parts are read to `2^-18`, what is below is rounding of the projection: the distance is the least possible to
/// `2^-18` for each entry. **Ties** are broken by the stream alone: of points with the same distance the one with the least
/// `Σ w_i y_i`, with one weight for each entry, independent, even in (-1, 1). For one sum all closest points are equally
/// likely.
#[derive(Debug)]
pub struct ClosestIntegers {
    bounded: Bounded,
    /// Entries by equal column.
    groups: Vec<Vec<u32>>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Flow(Network),
    Moves(TestSet),
}

/// Space for one rounding, reused from call to call.
#[derive(Debug, Default)]
pub struct ClosestScratch {
    costs: Costs,
    flow: FlowScratch,
}

impl ClosestIntegers {
    /// Prepares the rounding of one component.
    ///
    /// - `bounded`: a component with `lower <= 0 <= upper` and rows of at most 0; entries renumbered from 0.
    ///
    /// Errors: equations that are no network and whose Graver basis is beyond 500 vectors; a network of more than 2,047 equations
    /// and explicit rows.
    pub fn new(bounded: &Bounded) -> Result<Self> {
        let Bounded { component, region } = bounded;
        let (columns, groups): (Vec<Row>, Vec<Vec<u32>>) = bounded.equal_columns().into_iter().unzip();
        let mut rows: Vec<Row> = vec![Row::new(); component.rows.len() + region.rows.len()];
        for (group, column) in columns.iter().enumerate() {
            column.iter().for_each(|&(row, a)| rows[row as usize].push((group as u32, a)));
        }
        // `b·y - slack = 0`, the slack at least c.
        for (j, row) in rows[component.rows.len()..].iter_mut().enumerate() {
            row.push(((groups.len() + j) as u32, -1));
        }
        let unknowns = groups.len() + region.rows.len();
        let way = match Network::of(&rows, unknowns) {
            Some(network) if network.nodes as u64 > LONGEST => {
                return Err(Error::TooLarge {
                    what: "the closest integers by a flow".into(),
                    needed: network.nodes as u64 - 1,
                    limit: LONGEST - 1,
                    unit: "equations and inequalities of one component",
                });
            }
            Some(network) => Way::Flow(network),
            None => Way::Moves(TestSet::new(&rows, unknowns, component.entries.len())?),
        };
        Ok(Self { bounded: bounded.clone(), groups, way })
    }

    /// The integers closest to `z`, a point that satisfies the constraints to rounding, within vectors of the whole table.
    ///
    /// Errors: values that are not finite or beyond 2^40. On error nothing is replaced.
    pub fn round<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        scratch: &mut ClosestScratch,
        z: &[f64],
        out: &mut [i64],
    ) -> Result<()> {
        let Bounded { component: Component { entries, .. }, region } = &self.bounded;
        let at = |i: u32| z[entries[i as usize] as usize];
        if let Some(bad) = (0..entries.len() as u32).map(at).find(|z| z.is_nan() || z.abs() > MAX_NOISE) {
            return Err(Error::parameter("a projection that is to be rounded", bad, "a number within ±2^40"));
        }
        let ClosestScratch { costs, flow } = scratch;
        costs.begin(rng, entries.len());
        for group in &self.groups {
            costs.group(group.iter().map(|&i| (i, at(i))), &region.lower, &region.upper);
        }
        let own: Vec<f64> = match region.rows.is_empty() {
            true => Vec::new(),
            false => entries.iter().map(|&entry| z[entry as usize]).collect(),
        };
        for (row, least) in &region.rows {
            costs.slack(*least, libm::floor(real_value(row, &own)) as i64);
        }
        match &self.way {
            Way::Flow(network) => network.settle(costs, flow)?,
            Way::Moves(moves) => moves.settle(costs, self.groups.len() + region.rows.len())?,
        }
        costs.integers(|i, value| out[entries[i as usize] as usize] = value);
        Ok(())
    }
}
