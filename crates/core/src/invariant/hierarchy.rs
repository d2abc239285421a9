//! A hierarchy: every parent is the sum of its children.

use super::Piece;
use crate::error::{Error, Result};
use crate::law::Value;
use std::ops::Range;
use std::sync::Arc;

/// A rooted tree of counts in which every parent is the sum of its children.
///
/// Nodes are numbered breadth first, the root is 0, so the children of a node and the nodes of a level
/// are ranges, and a parent comes before its children. Levels are counted from 0 here and from 1 in
/// results. Leaves may lie on different levels. Clones share their memory.
///
/// Nodes may be *known* ([`Hierarchy::with_known`]): their counts are released as they are, their noise is 0, and they are not measured.
/// The tree falls apart below them: a node is the root of a *component* if it is known, or the root of all, and not all its
/// children are known; the component goes down to the next known nodes, which add nothing to its sums.
///
/// # Examples
///
/// ```
/// use congenial_core::invariant::Hierarchy;
///
/// // A root with two children, of which node 1 has three of its own.
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 1])?;
/// assert_eq!((tree.nodes(), tree.levels(), tree.children(1)), (6, 3, 3..6));
/// assert_eq!(tree.leaves(), [2, 3, 4, 5]);
/// let mut counts = [0, 0, 5, 1, 2, 3];
/// tree.sum_up(&mut counts);
/// assert_eq!(counts, [11, 6, 5, 1, 2, 3]);
/// tree.check(&counts)?;
/// assert!(tree.check(&[10, 6, 5, 1, 2, 3]).is_err());
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    parent: Arc<[u32]>,
    /// Children of `v`: `first_child[v]..first_child[v + 1]`.
    first_child: Arc<[u32]>,
    level: Arc<[u32]>,
    /// Nodes of level `l`: `first_of_level[l]..first_of_level[l + 1]`.
    first_of_level: Arc<[u32]>,
    leaves: Arc<[u32]>,
    /// The nodes that are no leaves, from the last level up.
    internal: Arc<[u32]>,
    /// By node, whether it is known; empty if none is.
    known: Arc<[bool]>,
}

impl Hierarchy {
    /// Makes a tree: `parents[v]` is the parent of node `v`; the root is node 0 with `parents[0] = 0`.
    ///
    /// Refused: no node at all, a parent that does not come before its child, an order that is not
    /// breadth first (parents must not decrease).
    pub fn from_parents(parents: &[usize]) -> Result<Self> {
        Self::check_nodes(parents.len())?;
        // A parent that is too large for a number is refused as any other that does not come before its child.
        Self::from_numbers(parents.iter().map(|&p| u32::try_from(p).unwrap_or(u32::MAX)).collect())
    }

    /// Refuses more nodes than can be numbered.
    pub fn check_nodes(n: usize) -> Result<()> {
        if n > u32::MAX as usize {
            return Err(Error::Hierarchy(format!("{n} nodes, the limit is {}", u32::MAX)));
        }
        Ok(())
    }

    /// Makes a tree from parents as 32-bit numbers, as [`Hierarchy::from_parents`] does.
    pub fn from_numbers(parents: Vec<u32>) -> Result<Self> {
        let n = parents.len();
        Self::check_nodes(n)?;
        if n == 0 || parents[0] != 0 {
            return Err(Error::Hierarchy("node 0 must be there and be the root, its own parent".into()));
        }
        for v in 1..n {
            if parents[v] as usize >= v {
                return Err(Error::Hierarchy(format!(
                    "node {v}: parent {} does not come before it",
                    parents[v]
                )));
            }
            if parents[v] < parents[v - 1] {
                return Err(Error::Hierarchy(format!("node {v}: the order is not breadth first")));
            }
        }
        let mut level = vec![0u32; n];
        let mut first_child = vec![0u32; n + 1];
        for v in 1..n {
            let parent = parents[v] as usize;
            level[v] = level[parent] + 1;
            // Counted where the next node's children begin.
            first_child[parent + 1] += 1;
        }
        first_child[0] = 1;
        for v in 0..n {
            first_child[v + 1] += first_child[v];
        }
        let mut first_of_level = vec![0u32];
        for v in 1..n {
            if level[v] != level[v - 1] {
                first_of_level.push(v as u32);
            }
        }
        first_of_level.push(n as u32);
        let (leaves, mut internal): (Vec<u32>, Vec<u32>) =
            (0..n as u32).partition(|&v| first_child[v as usize] == first_child[v as usize + 1]);
        internal.reverse();
        Ok(Self {
            parent: parents.into(),
            first_child: first_child.into(),
            level: level.into(),
            first_of_level: first_of_level.into(),
            leaves: leaves.into(),
            internal: internal.into(),
            known: Arc::default(),
        })
    }

    /// Marks counts as known, and with them those that follow: a parent of known children, and the last child of a
    /// known parent whose other children are known.
    ///
    /// `marks`: one per node.
    ///
    /// Errors: another number of marks; nothing is left that is not known.
    ///
    /// # Examples
    ///
    /// ```
    /// use congenial_core::invariant::Hierarchy;
    ///
    /// // With the root's count and that of one of its two children the other's is known, too.
    /// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1])?;
    /// let tree = tree.with_known(vec![true, true, false, false, false])?;
    /// assert!(tree.is_known(2) && tree.is_level_known(1) && !tree.is_known(3));
    /// assert_eq!(tree.measured(2), 2);
    /// # Ok::<(), congenial_core::Error>(())
    /// ```
    pub fn with_known(mut self, mut marks: Vec<bool>) -> Result<Self> {
        if marks.len() != self.nodes() {
            return Err(Error::parameter("known", marks.len(), "one mark per node of the hierarchy"));
        }
        for &v in &*self.internal {
            marks[v as usize] |= marks[self.children(v as usize)].iter().all(|&known| known);
        }
        for &v in self.internal.iter().rev() {
            if !marks[v as usize] {
                continue;
            }
            let mut open = self.children(v as usize).filter(|&c| !marks[c]);
            if let (Some(last), None) = (open.next(), open.next()) {
                marks[last] = true;
            }
        }
        if marks.iter().all(|&known| known) {
            return Err(Error::Hierarchy(
                "every count is known, or follows from known ones: nothing is left to release".into(),
            ));
        }
        self.known = if marks.contains(&true) { marks.into() } else { Arc::default() };
        Ok(self)
    }

    /// Whether some node is known.
    pub fn has_known(&self) -> bool {
        !self.known.is_empty()
    }

    /// Whether the node's count is released as it is.
    #[inline]
    pub fn is_known(&self, v: usize) -> bool {
        self.known.get(v).copied().unwrap_or(false)
    }

    /// Whether every node of a level is known.
    pub fn is_level_known(&self, l: usize) -> bool {
        self.level_nodes(l).all(|v| self.is_known(v))
    }

    /// The levels of which not every node is known, the highest first.
    pub fn measured_levels(&self) -> impl Iterator<Item = usize> {
        (0..self.levels()).filter(|&l| !self.is_level_known(l))
    }

    /// The number of nodes of a level that are not known.
    pub fn measured(&self, l: usize) -> usize {
        self.level_nodes(l).filter(|&v| !self.is_known(v)).count()
    }

    /// The children of a node that are not known.
    pub(crate) fn open_children(&self, v: usize) -> impl Iterator<Item = usize> + Clone {
        self.children(v).filter(|&c| !self.is_known(c))
    }

    /// The number of nodes, all levels together: the dimension of a release.
    pub fn nodes(&self) -> usize {
        self.parent.len()
    }

    /// The number of levels, the root's included.
    pub fn levels(&self) -> usize {
        self.first_of_level.len() - 1
    }

    /// Refuses a parameter that has not one entry for each level.
    pub(crate) fn check_one_per_level(&self, name: &'static str, entries: usize) -> Result<()> {
        if entries == self.levels() {
            Ok(())
        } else {
            Err(Error::parameter(name, entries, "one per level of the hierarchy"))
        }
    }

    /// The nodes of level `l` (0 = root).
    pub fn level_nodes(&self, l: usize) -> Range<usize> {
        self.first_of_level[l] as usize..self.first_of_level[l + 1] as usize
    }

    /// The nodes of level `l` from 1 with their parents, as one piece.
    pub(crate) fn whole_level(&self, l: usize) -> Piece {
        Piece { level: l, number: 0, parents: self.level_nodes(l - 1), children: self.level_nodes(l) }
    }

    /// The nodes of level `l` from 1 with their parents, as one piece; and, out of the values of all nodes, those of
    /// the parents and those of the children.
    #[inline]
    pub(crate) fn split_level<'a, V>(
        &self,
        l: usize,
        values: &'a mut [V],
    ) -> (Piece, &'a mut [V], &'a mut [V]) {
        let piece = self.whole_level(l);
        let (above, below) = values.split_at_mut(piece.children.start);
        let (above, below) = (&mut above[piece.parents.clone()], &mut below[..piece.children.len()]);
        (piece, above, below)
    }

    /// The level of a node (0 = root).
    #[inline]
    pub fn level(&self, v: usize) -> usize {
        self.level[v] as usize
    }

    /// The parent of a node other than the root.
    #[inline]
    pub fn parent(&self, v: usize) -> usize {
        self.parent[v] as usize
    }

    /// The children of a node; empty for a leaf.
    #[inline]
    pub fn children(&self, v: usize) -> Range<usize> {
        self.first_child[v] as usize..self.first_child[v + 1] as usize
    }

    /// Whether the node has no children.
    #[inline]
    pub fn is_leaf(&self, v: usize) -> bool {
        self.first_child[v] == self.first_child[v + 1]
    }

    /// One past the last node that has children: from there on all are leaves.
    pub(crate) fn inner_end(&self) -> usize {
        self.internal.first().map_or(0, |&last| last as usize + 1)
    }

    /// One past the last node that has children or is known: from there on all are leaves with noise of their own.
    pub(crate) fn own_end(&self) -> usize {
        let known = self.known.iter().rposition(|&known| known).map_or(0, |last| last + 1);
        self.inner_end().max(known)
    }

    /// The leaves, by ascending number.
    pub fn leaves(&self) -> &[u32] {
        &self.leaves
    }

    /// The number of a leaf among the leaves, from 1.
    pub fn leaf_number(&self, leaf: u32) -> usize {
        self.leaves.partition_point(|&other| other < leaf) + 1
    }

    /// Sets every parent to the sum of its children, from the leaves' values upwards. O(nodes).
    ///
    /// `values`: one per node; those of parents are overwritten.
    #[inline]
    pub fn sum_up<V: Value>(&self, values: &mut [V]) {
        debug_assert_eq!(values.len(), self.nodes());
        for &v in &*self.internal {
            values[v as usize] = V::sum(&values[self.children(v as usize)]);
        }
    }

    /// Sets every parent of a piece that has children to their sum.
    pub fn sum_piece<V: Value>(&self, piece: &Piece, above: &mut [V], below: &[V]) {
        for (v, parent) in piece.parents.clone().zip(above).filter(|&(v, _)| !self.is_leaf(v)) {
            *parent = V::sum(&below[piece.places(self, v)]);
        }
    }

    /// Sets every parent to the sum of its children as [`Hierarchy::sum_up`] does, and known nodes to 0. The noise
    /// below a known node sums to 0 but for rounding, which one leaf takes.
    #[inline]
    pub fn sum_up_noise<V: Value>(&self, noise: &mut [V]) {
        if !self.has_known() {
            return self.sum_up(noise);
        }
        for &v in &*self.internal {
            let sum = V::sum(&noise[self.children(v as usize)]);
            if !self.is_known(v as usize) {
                noise[v as usize] = sum;
                continue;
            }
            noise[v as usize] = V::default();
            // From the largest or to the smallest, so that none that is bounded from below leaves its bounds.
            let mut below = v as usize;
            let farther = |a: V, b: V| if sum > V::default() { a > b } else { a < b };
            while sum != V::default()
                && let Some(c) =
                    self.open_children(below).reduce(|a, b| if farther(noise[b], noise[a]) { b } else { a })
            {
                noise[c] += -sum;
                below = c;
            }
        }
    }

    /// Checks that every parent is the sum of its children: with `==` for integers, to the rounding of
    /// the sum for reals.
    ///
    /// Errors: [`Error::InvariantViolated`] with the first node that is not, and its residual.
    pub fn check<V: Value>(&self, values: &[V]) -> Result<()> {
        self.check_rounded(values, |v| values[v].to_f64().abs())
    }

    /// Checks a release, counts plus noise: that every parent is the sum of its children. The counts satisfy that, and
    /// the noise does as it stands. A count and its noise may nearly cancel: the rounding of their sum, and of sums of
    /// noise, is measured by both and not by what is released.
    ///
    /// Errors: as [`Hierarchy::check`].
    pub fn check_release<V: Value>(&self, released: &[V], counts: &[i64], noise: &[V]) -> Result<()> {
        self.check_rounded(released, |v| added(counts[v], noise[v]))
    }

    /// Checks the parents of a piece, where counts plus noise are released, as [`Hierarchy::check_release`] does.
    /// `above`: noise of the parents; `below`: of the children.
    ///
    /// Errors: as [`Hierarchy::check`].
    pub fn check_piece<V: Value>(
        &self,
        piece: &Piece,
        counts: &[i64],
        above: &[V],
        below: &[V],
    ) -> Result<()> {
        let released = |x: i64, z: V| V::from_count(x) + z;
        for (v, &z) in piece.parents.clone().zip(above).filter(|&(v, _)| !self.is_leaf(v)) {
            let (mut sum, mut magnitude) = (V::default(), added(counts[v], z));
            let children = self.children(v);
            let terms = children.len();
            for (&x, &z) in counts[children].iter().zip(&below[piece.places(self, v)]) {
                sum += released(x, z);
                magnitude += added(x, z);
            }
            let total = released(counts[v], z);
            if !V::is_sum(total, sum, terms, magnitude) {
                return Err(Error::violated(format!("node {v}"), total - sum));
            }
        }
        Ok(())
    }

    /// Checks that every parent is the sum of its children, to the rounding of what was added up. `added`: by node, the
    /// absolute values of that.
    fn check_rounded<V: Value>(&self, values: &[V], added: impl Fn(usize) -> f64) -> Result<()> {
        for v in (0..self.nodes()).filter(|&v| !self.is_leaf(v)) {
            let mut sum = V::default();
            let mut magnitude = added(v);
            for c in self.children(v) {
                sum += values[c];
                magnitude += added(c);
            }
            if !V::is_sum(values[v], sum, self.children(v).len(), magnitude) {
                return Err(Error::violated(format!("node {v}"), values[v] - sum));
            }
        }
        Ok(())
    }

    /// Checks that known nodes have no noise.
    ///
    /// Errors: [`Error::InvariantViolated`] with the first that has some.
    pub fn check_known<V: Value>(&self, noise: &[V]) -> Result<()> {
        let mut known = self.known.iter().zip(noise);
        match known.position(|(&known, &z)| known && z != V::default()) {
            None => Ok(()),
            Some(node) => Err(Error::violated(format!("known node {node}"), noise[node])),
        }
    }

    /// Checks that no value is negative.
    ///
    /// Errors: [`Error::InvariantViolated`] with the first negative node and its value.
    pub fn check_nonnegative<V: Value>(&self, values: &[V]) -> Result<()> {
        match values.iter().position(|&value| value < V::default()) {
            None => Ok(()),
            Some(node) => Err(Error::violated(format!("node {node}"), values[node])),
        }
    }
}

/// The sum of the absolute values of what is added up to give a released count.
fn added<V: Value>(count: i64, noise: V) -> f64 {
    count.unsigned_abs() as f64 + noise.to_f64().abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_sums_of_a_ragged_tree() {
        // 0 -> 1, 2 (a leaf), 3; 1 -> 4, 5; 3 -> 6.
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 3]).unwrap();
        assert_eq!((tree.nodes(), tree.levels()), (7, 3));
        assert_eq!((tree.children(1), tree.children(2), tree.children(3)), (4..6, 6..6, 6..7));
        assert_eq!((tree.level_nodes(1), tree.leaves()), (1..4, &[2, 4, 5, 6][..]));
        let mut values = [0i64, 0, 5, 0, 1, 2, 7];
        tree.sum_up(&mut values);
        assert_eq!(values, [15, 3, 5, 7, 1, 2, 7]);
        assert!(tree.check(&values).is_ok());
        values[6] = 8;
        assert!(
            matches!(tree.check(&values), Err(Error::InvariantViolated { place, .. }) if place == "node 3")
        );
    }

    #[test]
    fn malformed_orders_are_refused() {
        for parents in [&[][..], &[1], &[0, 2, 0], &[0, 0, 1, 0]] {
            assert!(Hierarchy::from_parents(parents).is_err(), "{parents:?}");
        }
    }
}
