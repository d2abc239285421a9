//! The cheapest flow of integers, by successive shortest paths.

use super::cost::Costs;
use super::network::Network;
use crate::error::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Space for one flow, reused from call to call.
#[derive(Debug, Default)]
pub(super) struct FlowScratch {
    balance: Vec<i64>,
    potential: Vec<i64>,
    distance: Vec<i64>,
    /// By node: over which unknown it was reached.
    over: Vec<u32>,
    done: Vec<bool>,
    heap: BinaryHeap<Reverse<(i64, u32)>>,
    path: Vec<(u32, bool)>,
}

impl Network {
    /// Moves the groups of `costs`, the unknowns of the network, from where each costs least to where all of them together cost
    /// least and flow in is flow out at every node.
    ///
    /// Successive shortest paths (Ahuja, Magnanti, Orlin, *Network Flows*, section 9.7, and 14.5 for convex costs): what is too
    /// much at one node goes to one that lacks it, along a path of least cost. Potentials of the nodes keep reduced costs from
    /// falling below 0, so that no circuit of units is left that would lower the cost; by convexity that is the optimum. Integers
    /// throughout: O((paths) (edges) log(nodes)).
    ///
    /// Errors: there is no flow within the bounds (0 is one, for noise).
    pub(super) fn settle(&self, costs: &mut Costs, scratch: &mut FlowScratch) -> Result<()> {
        let FlowScratch { balance, potential, distance, over, done, heap, path } = scratch;
        for space in [&mut *balance, &mut *potential, &mut *distance] {
            space.clear();
            space.resize(self.nodes, 0);
        }
        over.resize(self.nodes, u32::MAX);
        done.resize(self.nodes, false);
        for (edge, &(from, to)) in self.ends.iter().enumerate() {
            balance[from as usize] += costs.sum(edge);
            balance[to as usize] -= costs.sum(edge);
        }
        while balance.iter().any(|&surplus| surplus > 0) {
            heap.clear();
            for node in 0..self.nodes {
                (distance[node], over[node], done[node]) = (i64::MAX, u32::MAX, false);
                if balance[node] > 0 {
                    distance[node] = 0;
                    heap.push(Reverse((0, node as u32)));
                }
            }
            let mut last = None;
            while let Some(Reverse((so_far, node))) = heap.pop() {
                let node = node as usize;
                if std::mem::replace(&mut done[node], true) {
                    continue;
                }
                if balance[node] < 0 {
                    last = Some(node);
                    break;
                }
                for &edge in self.at(node) {
                    // More of what flows in sends a surplus back to where it comes from; less of what flows out, on.
                    let (from, to) = self.ends[edge as usize];
                    let (next, slope) = match to as usize == node {
                        true => (from as usize, costs.up(edge as usize)),
                        false => (to as usize, costs.down(edge as usize)),
                    };
                    let Some((slope, _)) = slope.filter(|_| !done[next]) else { continue };
                    let reached = so_far + slope + potential[node] - potential[next];
                    if reached < distance[next] {
                        (distance[next], over[next]) = (reached, edge);
                        heap.push(Reverse((reached, next as u32)));
                    }
                }
            }
            let Some(last) = last else {
                return Err(Error::NotConverged {
                    what: "the closest integers",
                    residuals: format!(
                        "{} units have no way",
                        balance.iter().map(|b| b.max(&0)).sum::<i64>()
                    ),
                });
            };
            for (potential, &reached) in potential.iter_mut().zip(&*distance) {
                *potential += reached.min(distance[last]);
            }
            path.clear();
            let (mut node, mut amount) = (last, -balance[last]);
            while over[node] != u32::MAX {
                let edge = over[node] as usize;
                let (from, to) = self.ends[edge];
                let more = from as usize == node;
                let slope = if more { costs.up(edge) } else { costs.down(edge) };
                amount = amount.min(slope.map_or(0, |(_, room)| room));
                path.push((edge as u32, more));
                node = if more { to } else { from } as usize;
            }
            amount = amount.min(balance[node]);
            balance[node] -= amount;
            balance[last] += amount;
            for &(edge, more) in &*path {
                costs.step(edge as usize, if more { amount } else { -amount });
            }
        }
        Ok(())
    }
}
