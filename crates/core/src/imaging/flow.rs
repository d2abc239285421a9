//! The cheapest flow of integers, by successive shortest paths.

use super::network::Network;
use crate::error::{Error, Result};
use crate::rng::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Unknowns from which on one search serves several deficits.
const SEVERAL: usize = 1 << 11;
/// The cost of a step that bounds do not allow.
const NONE: i64 = i64::MAX;

/// What the unknowns of a network cost, each by a convex function of its value, and where each stands.
pub(crate) trait Convex {
    /// The value at which an unknown stands.
    fn sum(&self, unknown: usize) -> i64;

    /// What one more costs, and how many cost as much; `None` where its bounds do not allow it.
    fn up(&self, unknown: usize) -> Option<(i64, i64)>;

    /// What one less costs, and how many cost as much; `None` where its bounds do not allow it.
    fn down(&self, unknown: usize) -> Option<(i64, i64)>;

    /// Makes a step. `false`: its bounds do not allow it.
    fn step(&mut self, unknown: usize, step: i64) -> bool;
}

/// A weight that breaks ties: odd, below `2^bits` in size, symmetric around 0, so that what is tied is released upside down as often.
pub(crate) fn tie_weight<R: Rng + ?Sized>(rng: &mut R, bits: u32) -> i64 {
    ((rng.next_u64() >> (63 - bits)) as i64 | 1) - (1 << bits)
}

/// Space for one flow, reused from call to call.
#[derive(Debug, Default)]
pub(crate) struct FlowScratch {
    balance: Vec<i64>,
    potential: Vec<i64>,
    distance: Vec<i64>,
    /// By node: over which unknown it was reached.
    over: Vec<u32>,
    done: Vec<bool>,
    heap: BinaryHeap<Reverse<(i64, u32)>>,
    path: Vec<(u32, bool)>,
    /// By place in the lists of the nodes: what a unit costs that leaves the node there.
    slopes: Vec<i64>,
    /// Nodes that lack units, in the order in which they were reached.
    reached: Vec<usize>,
}

impl Network {
    /// Moves the unknowns of the network from where each costs least to where all of them together cost
    /// least and flow in is flow out at every node.
    ///
    /// Successive shortest paths (Ahuja, Magnanti, Orlin, *Network Flows*, section 9.7, and 14.5 for convex costs):
    /// what is too much at one node goes to one that lacks it, along a path of least cost. Potentials of the nodes keep
    /// reduced costs from falling below 0, so that no circuit of units is left that would lower the cost; by convexity
    /// that is the optimum. Integers throughout: O((paths) (edges) log(nodes)). In a large network one search finds
    /// paths to all nodes that lack units: those that still have reduced cost 0 when their turn comes are used as well.
    ///
    /// Errors: there is no flow within the bounds (0 is one, for noise).
    pub(crate) fn settle<C: Convex>(&self, costs: &mut C, scratch: &mut FlowScratch) -> Result<()> {
        self.settle_by(costs, scratch, self.ends.len() > SEVERAL)
    }

    /// Settles as [`Network::settle`] does; one search serves one deficit, or `several`.
    pub(super) fn settle_by<C: Convex>(
        &self,
        costs: &mut C,
        scratch: &mut FlowScratch,
        several: bool,
    ) -> Result<()> {
        for space in [&mut scratch.balance, &mut scratch.potential, &mut scratch.distance] {
            space.clear();
            space.resize(self.nodes, 0);
        }
        scratch.over.resize(self.nodes, u32::MAX);
        scratch.done.resize(self.nodes, false);
        scratch.slopes.clear();
        scratch.slopes.resize(self.edges.len(), NONE);
        (0..self.ends.len()).for_each(|edge| self.price(costs, edge, &mut scratch.slopes));
        for (edge, &(from, to)) in self.ends.iter().enumerate() {
            scratch.balance[from as usize] += costs.sum(edge);
            scratch.balance[to as usize] -= costs.sum(edge);
        }
        while scratch.balance.iter().any(|&surplus| surplus > 0) {
            self.search(scratch, several);
            let Some(&last) = scratch.reached.last() else {
                let left: i64 = scratch.balance.iter().map(|b| b.max(&0)).sum();
                return Err(Error::NotConverged {
                    what: "the closest integers",
                    residuals: format!("{left} units have no way"),
                });
            };
            let furthest = scratch.distance[last];
            for (potential, &reached) in scratch.potential.iter_mut().zip(&scratch.distance) {
                *potential += reached.min(furthest);
            }
            for i in 0..scratch.reached.len() {
                self.send(costs, scratch, scratch.reached[i]);
            }
        }
        Ok(())
    }

    /// Shortest paths from all nodes with too much to the nearest that lacks units, or to all of them.
    fn search(&self, scratch: &mut FlowScratch, several: bool) {
        let FlowScratch { balance, potential, distance, over, done, heap, slopes, reached, .. } = scratch;
        heap.clear();
        reached.clear();
        for node in 0..self.nodes {
            (distance[node], over[node], done[node]) = (i64::MAX, u32::MAX, false);
            if balance[node] > 0 {
                distance[node] = 0;
                heap.push(Reverse((0, node as u32)));
            }
        }
        while let Some(Reverse((so_far, node))) = heap.pop() {
            let node = node as usize;
            if std::mem::replace(&mut done[node], true) {
                continue;
            }
            if balance[node] < 0 {
                reached.push(node);
                if !several {
                    break;
                }
            }
            let places = self.first[node]..self.first[node + 1];
            let others = &self.others[places.clone()];
            let edges = &self.edges[places.clone()];
            for ((&next, &edge), &slope) in others.iter().zip(edges).zip(&slopes[places]) {
                let next = next as usize;
                if slope == NONE || done[next] {
                    continue;
                }
                let so_far = so_far + slope + potential[node] - potential[next];
                if so_far < distance[next] {
                    (distance[next], over[next]) = (so_far, edge);
                    heap.push(Reverse((so_far, next as u32)));
                }
            }
        }
    }

    /// Sends units to a node along the path by which it was reached, as many as cost the same, if those before have left it any.
    fn send<C: Convex>(&self, costs: &mut C, scratch: &mut FlowScratch, last: usize) {
        let FlowScratch { balance, potential, over, path, slopes, .. } = scratch;
        path.clear();
        let (mut node, mut amount) = (last, -balance[last]);
        while over[node] != u32::MAX {
            let edge = over[node] as usize;
            let (from, to) = self.ends[edge];
            let more = from as usize == node;
            let (before, step) = if more { (to, costs.up(edge)) } else { (from, costs.down(edge)) };
            let before = before as usize;
            let tight = |&(slope, _): &(i64, i64)| slope + potential[before] == potential[node];
            amount = amount.min(step.filter(tight).map_or(0, |(_, room)| room));
            path.push((edge as u32, more));
            node = before;
        }
        amount = amount.min(balance[node]);
        if amount <= 0 {
            return;
        }
        balance[node] -= amount;
        balance[last] += amount;
        for &(edge, more) in &*path {
            costs.step(edge as usize, if more { amount } else { -amount });
            self.price(costs, edge as usize, slopes);
        }
    }

    /// What a unit costs over an unknown: more of what flows in sends a surplus back to where it comes from; less of what flows out, on.
    fn price<C: Convex>(&self, costs: &C, edge: usize, slopes: &mut [i64]) {
        for (place, step) in self.places[edge].into_iter().zip([costs.down(edge), costs.up(edge)]) {
            if let Some(slope) = slopes.get_mut(place) {
                *slope = step.map_or(NONE, |(slope, _)| slope);
            }
        }
    }
}
