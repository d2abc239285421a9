//! The closest integers to tables, with their sums and what is known.

use super::super::nested::Nested;
use super::support::Support;
use crate::error::Result;
use crate::imaging::{Convex, FlowScratch, Network, tie_weight};
use crate::rng::Rng;

/// Fractional parts are read to `2^-UNIT`.
const UNIT: u32 = 18;
/// Weights that break ties are below `2^TIE` in size, beside `2^(TIE + 2)` for a unit of distance.
const TIE: u32 = 20;
/// What is as near to an integer is one, but for rounding.
const NEAR: f64 = 1e-7;
/// No cell.
const NONE: usize = usize::MAX;

/// An unknown of the network: an integer in a range, at a cost by unit.
#[derive(Debug, Clone, Copy)]
struct Edge {
    value: i64,
    least: i64,
    most: i64,
    cost: i64,
    /// The child's cell that it adds to.
    cell: usize,
}

impl Convex for Vec<Edge> {
    fn sum(&self, unknown: usize) -> i64 {
        self[unknown].value
    }

    fn up(&self, unknown: usize) -> Option<(i64, i64)> {
        let Edge { value, most, cost, .. } = self[unknown];
        (value < most).then_some((cost, most - value))
    }

    fn down(&self, unknown: usize) -> Option<(i64, i64)> {
        let Edge { value, least, cost, .. } = self[unknown];
        (value > least).then_some((-cost, value - least))
    }

    fn step(&mut self, unknown: usize, step: i64) -> bool {
        self[unknown].value += step;
        true
    }
}

/// The tables of the children of one area, or of one area alone.
pub(super) struct Rounding<'a> {
    pub(super) nested: &'a Nested,
    pub(super) support: &'a Support,
    /// That of the tables.
    pub(super) level: usize,
    /// What the children sum to, cell by cell of the support; `None`: anything.
    pub(super) totals: Option<&'a [i64]>,
    /// Child by child, cell by cell: at least 0, with these sums.
    pub(super) tables: &'a [f64],
    /// Child by child, bounds of sets: which, at least, at most.
    pub(super) bounds: &'a [Vec<(usize, i64, i64)>],
}

/// A network while it is made. Node 0 is what is outside all sets and sums.
struct Made {
    nodes: u32,
    ends: Vec<(u32, u32)>,
    edges: Vec<Edge>,
}

impl Made {
    fn add(&mut self, from: u32, to: u32, edge: Edge) {
        self.ends.push((from, to));
        self.edges.push(edge);
    }

    fn node(&mut self) -> u32 {
        self.nodes += 1;
        self.nodes - 1
    }
}

impl Rounding<'_> {
    /// The integers that are closest in L1, `Σ |y - z|`, among those that have every cell and every set of cells of each child rounded down
    /// or up, within bounds, and the children's sums and the sums that are known as they are, into `out`.
    ///
    /// Cells of the children, their nested sets and the sums over the children are a network: a unit of a cell flows from the sum over the
    /// children to the smallest set that holds it, and on to the larger ones. The tables themselves are a flow between what is rounded down
    /// and up; of such flows one has integers alone. Ties are broken by the stream alone. Distances are read to 2^-18 for each cell.
    ///
    /// Errors: there are no such integers, as of tables that miss their sums.
    pub(super) fn round<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        scratch: &mut FlowScratch,
        out: &mut [i64],
    ) -> Result<()> {
        let m = self.support.cells();
        out.iter_mut().zip(self.tables).for_each(|(y, &z)| *y = split(z).0);
        let slopes: Vec<i64> = self.tables.iter().map(|&z| slope(split(z).1)).collect();
        let mut made = Made { nodes: 1, ends: Vec::new(), edges: Vec::new() };
        let mut columns = vec![0u32; m];
        let mut shifts = vec![0i64; m];
        if let Some(totals) = self.totals {
            for (cell, &total) in totals.iter().enumerate() {
                let left = total - out.iter().skip(cell).step_by(m).sum::<i64>();
                columns[cell] = made.node();
                shifts[cell] = shift(slopes.iter().skip(cell).step_by(m), left);
                let fixed = Edge { value: left, least: left, most: left, cost: 0, cell: NONE };
                made.add(0, columns[cell], fixed);
            }
        }
        for (child, table) in self.tables.chunks_exact(m).enumerate() {
            let nodes = self.add_sets(child, table, &mut made);
            for (cell, _) in table.iter().enumerate().filter(|(_, z)| split(**z).1 > 0) {
                let at = child * m + cell;
                let cost = ((slopes[at] - shifts[cell]) << (TIE + 2)) + tie_weight(rng, TIE);
                let to = self.nested.first(self.support.places[cell] as usize).map_or(0, |set| nodes[set]);
                made.add(
                    columns[cell],
                    to,
                    Edge { value: i64::from(cost < 0), least: 0, most: 1, cost, cell: at },
                );
            }
        }
        let Made { nodes, ends, mut edges } = made;
        Network::between(nodes as usize, ends).settle(&mut edges, scratch)?;
        for edge in edges.iter().filter(|edge| edge.cell != NONE) {
            out[edge.cell] += edge.value;
        }
        Ok(())
    }

    /// Adds the sets of a child in which some cell is open: how much each has beyond its cells rounded down. By set, its
    /// node.
    fn add_sets(&self, child: usize, table: &[f64], made: &mut Made) -> Vec<u32> {
        let sets = self.nested.len();
        let mut bounds = vec![(0, i64::MAX); sets];
        for &(set, least, most) in self.bounds.get(child).into_iter().flatten() {
            bounds[set] = (bounds[set].0.max(least), bounds[set].1.min(most));
        }
        let (mut real, mut whole, mut is_used) = (vec![0.0; sets], vec![0i64; sets], vec![false; sets]);
        for (&z, &place) in table.iter().zip(&self.support.places) {
            if let Some(set) = self.nested.first(place as usize) {
                let (floor, part) = split(z);
                real[set] += z;
                whole[set] += floor;
                is_used[set] |= part > 0;
            }
        }
        let mut nodes = vec![0u32; sets];
        for set in 0..sets {
            if is_used[set] {
                nodes[set] = made.node();
            }
            if let Some(above) = self.nested.above(set) {
                real[above] += real[set];
                whole[above] += whole[set];
                is_used[above] |= is_used[set];
            }
        }
        for set in (0..sets).filter(|&set| is_used[set]) {
            let (floor, part) = split(real[set]);
            // What is beyond a bound is so by less than a count.
            let (low, high) = bounds[set];
            let (above, below) = (floor + i64::from(part > 0), floor);
            let (least, most) =
                (below.max(low.min(above)) - whole[set], above.min(high.max(below)) - whole[set]);
            let near = libm::rint(real[set]) as i64 - whole[set];
            let (least, most) =
                if self.level < self.nested.known[set] { (near, near) } else { (least, most) };
            let above = self.nested.above(set).map_or(0, |above| nodes[above]);
            made.add(
                nodes[set],
                above,
                Edge { value: near.clamp(least, most), least, most, cost: 0, cell: NONE },
            );
        }
        nodes
    }
}

/// A number at least 0 rounded down, and its fractional part in units of `2^-UNIT`: 0 where it is an integer, or near one.
fn split(z: f64) -> (i64, i64) {
    let floor = libm::floor(z + NEAR);
    let part = z - floor;
    let units = libm::rint(part * (1u64 << UNIT) as f64) as i64;
    (floor as i64, if part <= NEAR { 0 } else { units.clamp(1, (1 << UNIT) - 1) })
}

/// What it costs to round up and not down.
fn slope(part: i64) -> i64 {
    (1 << UNIT) - 2 * part
}

/// What is taken from the slopes of a sum over the children, all of it the same for every way to meet it: about so many of those that are
/// open then are below 0.
fn shift<'a>(slopes: impl Iterator<Item = &'a i64>, number: i64) -> i64 {
    let mut open: Vec<i64> = slopes.copied().filter(|&own| own != slope(0)).collect();
    match usize::try_from(number) {
        Ok(number) if number < open.len() => *open.select_nth_unstable(number).1,
        _ => slope(0),
    }
}
