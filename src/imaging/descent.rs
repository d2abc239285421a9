//! From the root down: the children of every node from their noisy counts and its released one.

use crate::invariant::Hierarchy;
use crate::law::Value;

/// A descent on a hierarchy. Known nodes are released as they are; every other node gets at least what is known below it.
#[derive(Debug)]
pub(super) struct Descent {
    hierarchy: Hierarchy,
    /// By node: the count, if it is known, else the sum of the known counts below it. Empty if nothing is known.
    least: Vec<i64>,
}

/// The values of a family, reused from call to call.
#[derive(Debug, Clone, Default)]
pub(super) struct Family<V> {
    nodes: Vec<u32>,
    noisy: Vec<V>,
    out: Vec<i64>,
}

impl Descent {
    /// `counts`: the confidential counts, of which only known ones are looked at.
    pub(super) fn new(hierarchy: &Hierarchy, counts: &[i64]) -> Self {
        let mut least = Vec::new();
        if hierarchy.has_known() {
            least =
                (0..hierarchy.nodes()).map(|v| if hierarchy.is_known(v) { counts[v] } else { 0 }).collect();
            for v in (0..hierarchy.nodes()).rev().filter(|&v| !hierarchy.is_known(v)) {
                least[v] += least[hierarchy.children(v)].iter().sum::<i64>();
            }
        }
        Self { hierarchy: hierarchy.clone(), least }
    }

    /// The release, into `out`.
    ///
    /// - `noisy`: by node.
    /// - `split`: the open children of a node, by place and as nodes; their noisy counts above the least; what they sum to, at least 0; where they go.
    pub(super) fn release<V: Value>(
        &self,
        noisy: &[V],
        family: &mut Family<V>,
        out: &mut [i64],
        mut split: impl FnMut(&dyn Fn(usize) -> usize, &[V], i64, &mut [i64]),
    ) {
        let tree = &self.hierarchy;
        let root = libm::rint(noisy[0].to_f64()).max(0.0) as i64;
        if self.least.is_empty() {
            out[0] = root;
            for v in 0..tree.nodes() {
                let children = tree.children(v);
                if !children.is_empty() {
                    let total = out[v];
                    split(
                        &|i| children.start + i,
                        &noisy[children.clone()],
                        total,
                        &mut out[children.clone()],
                    );
                }
            }
            return;
        }
        out[0] = if tree.is_known(0) { self.least[0] } else { root.max(self.least[0]) };
        for v in 0..tree.nodes() {
            let Family { nodes, noisy: above, out: shares } = &mut *family;
            nodes.clear();
            nodes.extend(tree.open_children(v).map(|c| c as u32));
            let known = &self.least[tree.children(v)];
            let total = out[v] - known.iter().sum::<i64>();
            out[tree.children(v)].copy_from_slice(known);
            if nodes.is_empty() {
                continue;
            }
            above.clear();
            above.extend(nodes.iter().map(|&c| noisy[c as usize] - V::from_count(self.least[c as usize])));
            shares.resize(nodes.len(), 0);
            split(&|i| nodes[i] as usize, above, total, shares);
            for (&c, share) in nodes.iter().zip(&*shares) {
                out[c as usize] += share;
            }
        }
    }
}
