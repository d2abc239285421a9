//! Integer noise on all nodes of a hierarchy, conditioned on its sums: drawn exactly.

use super::Table;
use super::parts::{Builder, PartId, Parts, PartsScratch};
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, NO_LOWER, NO_UPPER};
use crate::law::IntegerLaw;
use crate::rng::Rng;

/// Exact sampler of `q(z) ∝ Π_v w_v(z_v)` over all integer vectors in which every parent is the sum of
/// its children, optionally with every released count `x_v + z_v >= 0`.
///
/// Upwards, the law of a node's noise given its subtree is a table, `m_v = w_v · (⊛ m_c over its
/// children c)`; downwards, the root is drawn from `m_root` and every value is split over the children
/// by a binary tree of partial convolutions. Double geometric leaves that nothing truncates are drawn
/// together by [`super::GeometricSum`]. Subtrees of equal shape share their tables.
///
/// Tables are cut where both tails together hold 1e-18 of the mass. Because `m_v` and the weight of
/// everything outside the subtree are symmetric and unimodal, the cut mass is at most as large under the
/// conditioned law, and [`IntegerTree::tv_error`] bounds the total variation distance of a draw to `q`
/// (beside rounding, near 1e-15 a node). With non-negativity the laws are skewed and it is an estimate.
///
/// A draw costs O(nodes + Σ |z|) for the double geometric law and O(nodes · sigma) otherwise.
#[derive(Debug)]
pub struct IntegerTree {
    parts: Parts,
    /// By node: the part over its children, or `None` for a leaf; and where its children are.
    plan: Vec<Option<PartId>>,
    children: Vec<std::ops::Range<usize>>,
    /// Position in a node's part -> node.
    order: Vec<u32>,
    root: PartId,
}

impl IntegerTree {
    /// - `laws`: one per level.
    /// - `counts`: the confidential counts if releases must not be negative (it is enough that no leaf
    ///   is), else `None`.
    ///
    /// Errors: a count below 0, a table too large for its limit (a very large scale).
    pub fn new<L: IntegerLaw>(hierarchy: &Hierarchy, laws: &[L], counts: Option<&[i64]>) -> Result<Self> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        let n = hierarchy.nodes();
        let mut build = Builder::new(laws);
        let mut unit = vec![0; n];
        let mut plan = vec![None; n];
        let mut order: Vec<u32> = (0..n as u32).collect();
        for v in (0..n).rev() {
            let level = hierarchy.level(v);
            unit[v] = if hierarchy.is_leaf(v) {
                let floor = match counts {
                    Some(counts) if counts[v] < 0 => {
                        return Err(Error::parameter("count", counts[v], ">= 0"));
                    }
                    Some(counts) => -counts[v],
                    None => NO_LOWER,
                };
                build.leaf(level, floor, NO_UPPER, 0.0)?
            } else {
                let reach = super::table::reach(&laws[level]) as u64;
                let inner = build.sum(level + 1, Some(reach), &mut order[hierarchy.children(v)], &unit)?;
                plan[v] = Some(inner);
                build.node(level, inner)?
            };
        }
        let children = (0..n).map(|v| hierarchy.children(v)).collect();
        Ok(Self { parts: build.finish(), plan, children, order, root: unit[0] })
    }

    /// Mass that truncation may displace in one draw.
    pub fn tv_error(&self) -> f64 {
        self.root().lost()
    }

    /// The law of the root's noise.
    pub fn root(&self) -> &Table {
        self.parts.table(self.root)
    }

    /// One draw of the noise of all nodes, into `noise` (one value per node).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut PartsScratch, noise: &mut [i64]) {
        noise[0] = self.root().sample(rng);
        for (v, part) in self.plan.iter().enumerate() {
            if let Some(part) = *part {
                let order = &self.order[self.children[v].clone()];
                self.parts.fill(part, noise[v], order, rng, scratch, noise);
            }
        }
    }
}
