//! Integer noise on all nodes of a hierarchy, conditioned on its sums: drawn exactly.

use super::table::{reach, zigzag};
use super::{GeometricSum, SplitScratch, Table};
use crate::error::{Error, Result};
use crate::invariant::Hierarchy;
use crate::law::IntegerLaw;
use crate::rng::{Rng, open01};
use std::collections::HashMap;

/// Exact sampler of `q(z) ∝ Π_v w_v(z_v)` over all integer vectors in which every parent is the sum of
/// its children, optionally with every released count `x_v + z_v >= 0`.
///
/// Upwards, the law of a node's noise given its subtree is a table, `m_v = w_v · (⊛ m_c over its
/// children c)`; downwards, the root is drawn from `m_root` and every value is split over the children
/// by a binary tree of partial convolutions. Double geometric leaves that nothing truncates are drawn
/// together by [`GeometricSum`]. Subtrees of equal shape share their tables.
///
/// Tables are cut where both tails together hold 1e-18 of the mass. Because `m_v` and the weight of
/// everything outside the subtree are symmetric and unimodal, the cut mass is at most as large under the
/// conditioned law, and [`IntegerTree::tv_error`] bounds the total variation distance of a draw to `q`
/// (beside rounding, near 1e-15 a node). With non-negativity the laws are skewed and it is an estimate.
///
/// A draw costs O(nodes + Σ |z|) for the double geometric law and O(nodes · sigma) otherwise.
#[derive(Debug)]
pub struct IntegerTree {
    parts: Vec<Part>,
    /// By node: the part over its children, or `None` for a leaf; and where its children begin.
    plan: Vec<Option<PartId>>,
    first_child: Vec<usize>,
    /// Position in a node's part -> node.
    order: Vec<u32>,
    root: PartId,
}

type PartId = u32;

/// Consecutive children that are drawn as one: `table` is the law of their sum.
#[derive(Debug)]
struct Part {
    kind: Kind,
    table: Table,
    /// Children it covers.
    len: usize,
}

#[derive(Debug)]
enum Kind {
    /// One child.
    Child,
    /// Independent double geometric leaves.
    Leaves(GeometricSum),
    /// Two parts; `slope` = Var(left) / Var(left + right), `mean`s of both.
    Split { left: PartId, right: PartId, slope: f64, means: (f64, f64) },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Shape {
    Leaf { level: usize, floor: i64 },
    Leaves { level: usize, n: usize, reach: Option<u64> },
    Node { level: usize, inner: PartId },
    Split(PartId, PartId),
}

/// Stands for "no bound" among the floors.
const NO_FLOOR: i64 = i64::MIN;

/// Space for one draw, reused from draw to draw.
#[derive(Debug, Clone, Default)]
pub struct IntegerTreeScratch {
    split: SplitScratch,
    parts: Vec<i64>,
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
        let mut build = Builder { laws, parts: Vec::new(), known: HashMap::new() };
        let mut unit = vec![0; n];
        let mut plan = vec![None; n];
        let mut order: Vec<u32> = (0..n as u32).collect();
        let reaches: Vec<i64> = laws.iter().map(reach).collect();
        for v in (0..n).rev() {
            let level = hierarchy.level(v);
            let shape = if hierarchy.is_leaf(v) {
                let floor = match counts {
                    Some(counts) if counts[v] < 0 => {
                        return Err(Error::parameter("count", counts[v], ">= 0"));
                    }
                    Some(counts) if counts[v] < reaches[level] => -counts[v],
                    _ => NO_FLOOR,
                };
                Shape::Leaf { level, floor }
            } else {
                let order = &mut order[hierarchy.children(v)];
                let inner = build.children(level, order, &unit)?;
                plan[v] = Some(inner);
                Shape::Node { level, inner }
            };
            unit[v] = build.part(shape)?;
        }
        let first_child = (0..n).map(|v| hierarchy.children(v).start).collect();
        Ok(Self { parts: build.parts, plan, first_child, order, root: unit[0] })
    }

    /// Mass that truncation may displace in one draw.
    pub fn tv_error(&self) -> f64 {
        self.parts[self.root as usize].table.lost()
    }

    /// The law of the root's noise.
    pub fn root(&self) -> &Table {
        &self.parts[self.root as usize].table
    }

    /// One draw of the noise of all nodes, into `noise` (one value per node).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut IntegerTreeScratch, noise: &mut [i64]) {
        noise[0] = self.root().sample(rng);
        for v in 0..self.plan.len() {
            if let Some(part) = self.plan[v] {
                self.fill(part, noise[v], self.first_child[v], rng, scratch, noise);
            }
        }
    }

    /// Draws the children from position `at` on that `part` covers, given their sum.
    fn fill<R: Rng + ?Sized>(
        &self,
        part: PartId,
        sum: i64,
        at: usize,
        rng: &mut R,
        scratch: &mut IntegerTreeScratch,
        noise: &mut [i64],
    ) {
        let part = &self.parts[part as usize];
        match &part.kind {
            Kind::Child => noise[self.order[at] as usize] = sum,
            Kind::Leaves(leaves) => {
                scratch.parts.resize(part.len, 0);
                leaves.split(rng, sum, &mut scratch.split, &mut scratch.parts);
                for (&child, &z) in self.order[at..at + part.len].iter().zip(&scratch.parts) {
                    noise[child as usize] = z;
                }
            }
            &Kind::Split { left, right, slope, means } => {
                let (l, r) = (&self.parts[left as usize], &self.parts[right as usize]);
                let lo = (*l.table.support().start()).max(sum - r.table.support().end());
                let hi = (*l.table.support().end()).min(sum - r.table.support().start());
                let guess = means.0 + (sum as f64 - means.0 - means.1) * slope;
                let mode = (libm::rint(guess) as i64).clamp(lo, hi);
                let weight = |x: i64| l.table.at(x) * r.table.at(sum - x);
                let (mut above, mut below) = (mode, mode);
                let offset = zigzag(
                    open01(rng) * part.table.at(sum),
                    weight(mode),
                    || {
                        above += 1;
                        (above <= hi).then(|| weight(above))
                    },
                    || {
                        below -= 1;
                        (below >= lo).then(|| weight(below))
                    },
                );
                let x = mode + offset;
                let (len, right_sum) = (l.len, sum - x);
                self.fill(left, x, at, rng, scratch, noise);
                self.fill(right, right_sum, at + len, rng, scratch, noise);
            }
        }
    }
}

struct Builder<'a, L> {
    laws: &'a [L],
    parts: Vec<Part>,
    known: HashMap<Shape, PartId>,
}

impl<L: IntegerLaw> Builder<'_, L> {
    /// The part over all children of a node; puts them into the order in which it draws them.
    fn children(&mut self, level: usize, order: &mut [u32], unit: &[PartId]) -> Result<PartId> {
        order.sort_by_key(|&child| unit[child as usize]);
        let free_leaf = self.known.get(&Shape::Leaf { level: level + 1, floor: NO_FLOOR }).copied();
        let free = |&child: &u32| Some(unit[child as usize]) == free_leaf;
        let mut parts = Vec::new();
        let closed_form = self.laws.get(level + 1).is_some_and(|law| law.as_double_geometric().is_some());
        if closed_form && order.iter().any(free) {
            // Free leaves first, as one part.
            order.sort_by_key(|child| !free(child));
            let n = order.iter().filter(|child| free(child)).count();
            let reach = (n == order.len()).then(|| reach(&self.laws[level]) as u64);
            parts.push(self.part(Shape::Leaves { level: level + 1, n, reach })?);
            parts.extend(order[n..].iter().map(|&child| unit[child as usize]));
        } else {
            parts.extend(order.iter().map(|&child| unit[child as usize]));
        }
        self.split(&parts)
    }

    fn split(&mut self, parts: &[PartId]) -> Result<PartId> {
        if let [one] = parts {
            return Ok(*one);
        }
        let (left, right) = parts.split_at(parts.len().div_ceil(2));
        let (left, right) = (self.split(left)?, self.split(right)?);
        self.part(Shape::Split(left, right))
    }

    fn part(&mut self, shape: Shape) -> Result<PartId> {
        if let Some(&id) = self.known.get(&shape) {
            return Ok(id);
        }
        let part = match shape {
            Shape::Leaf { level, floor } => {
                Part { kind: Kind::Child, table: Table::of_law(&self.laws[level], floor)?, len: 1 }
            }
            Shape::Leaves { level, n, reach } => {
                let law = self.laws[level].as_double_geometric().expect("grouped only where it has one");
                let leaves = GeometricSum::new(&law, n, reach)?;
                let table = leaves.sum().clone();
                Part { kind: Kind::Leaves(leaves), table, len: n }
            }
            Shape::Node { level, inner } => {
                let table = self.parts[inner as usize].table.weighted(&self.laws[level])?;
                Part { kind: Kind::Child, table, len: 1 }
            }
            Shape::Split(left, right) => {
                let (l, r) = (&self.parts[left as usize], &self.parts[right as usize]);
                let ((mean_l, var_l), (mean_r, var_r)) = (l.table.moments(), r.table.moments());
                let table = l.table.convolve(&r.table)?;
                let slope = if var_l + var_r > 0.0 { var_l / (var_l + var_r) } else { 0.5 };
                Part {
                    kind: Kind::Split { left, right, slope, means: (mean_l, mean_r) },
                    table,
                    len: l.len + r.len,
                }
            }
        };
        self.parts.push(part);
        let id = (self.parts.len() - 1) as PartId;
        self.known.insert(shape, id);
        Ok(id)
    }
}
