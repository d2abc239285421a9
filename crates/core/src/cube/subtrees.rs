//! A tree in subtrees that are done one by one, cut alike on all machines.

use crate::invariant::Hierarchy;
use std::ops::Range;

/// Numbers of the tables of a subtree that one thread holds: 64 MiB. A larger subtree is cut.
const SUBTREE: usize = 1 << 23;

/// Where a tree is cut.
pub(super) struct Cut {
    /// The nodes above the subtrees that are done one by one, ascending.
    pub(super) above: Vec<usize>,
    /// The roots of these, ascending.
    pub(super) roots: Vec<usize>,
    /// Both, ascending: children of one parent stand side by side.
    pub(super) held: Vec<usize>,
}

/// Cuts a tree of tables. `cells`: of a table.
pub(super) fn cut(tree: &Hierarchy, cells: usize) -> Cut {
    let (mut above, mut roots, mut open) = (Vec::new(), Vec::new(), vec![0]);
    while let Some(v) = open.pop() {
        match tree.is_leaf(v) || nodes_under(tree, v).saturating_mul(cells) <= SUBTREE {
            true => roots.push(v),
            false => {
                above.push(v);
                open.extend(tree.children(v));
            }
        }
    }
    above.sort_unstable();
    roots.sort_unstable();
    let mut held: Vec<usize> = above.iter().chain(&roots).copied().collect();
    held.sort_unstable();
    Cut { above, roots, held }
}

/// By level from a node down, the nodes of its subtree.
pub(super) fn ranges(tree: &Hierarchy, root: usize) -> Vec<Range<usize>> {
    let below = |range: &Range<usize>| {
        let below = tree.children(range.start).start..tree.children(range.end - 1).end;
        (!below.is_empty()).then_some(below)
    };
    std::iter::successors(Some(root..root + 1), below).collect()
}

/// The nodes of a subtree.
pub(super) fn nodes_under(tree: &Hierarchy, root: usize) -> usize {
    ranges(tree, root).iter().map(ExactSizeIterator::len).sum()
}
