//! A tree in subtrees that are done one by one, cut alike on all machines.

use crate::invariant::Hierarchy;
use std::ops::Range;

/// Numbers of the tables of a subtree that one thread holds: 64 MiB. A larger subtree is cut.
const SUBTREE: usize = 1 << 23;

/// The nodes above the subtrees that are done one by one, and the roots of these; both ascending.
///
/// - `cells`: of a table.
pub(super) fn cut(tree: &Hierarchy, cells: usize) -> (Vec<usize>, Vec<usize>) {
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
    (above, roots)
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
