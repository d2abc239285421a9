//! Equations that are a hierarchy: entries of a table as the nodes of a tree.

use super::{Bounded, Component, Hierarchy, NO_LOWER};

/// A hierarchy among the entries of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeOfEntries {
    /// The tree of the entries.
    pub hierarchy: Hierarchy,
    /// The entry of the component (renumbered from 0) at each node. The root has none where its count is known: then
    /// from node 1 on.
    pub entries: Vec<u32>,
}

impl Component {
    /// The tree, if every equation says that one entry is the sum of others, no entry is a part of two sums or the sum of two
    /// equations, and one entry, the root, is part of none; or one equation holds the sum of entries of which none is another's, and every
    /// entry is part of a sum: then the root is known.
    ///
    /// A parent has the coefficient -1 and its children 1, or the other way round where that tells them apart.
    pub fn tree(&self) -> Option<TreeOfEntries> {
        let n = self.entries.len();
        let mut children: Vec<&[u32]> = vec![&[]; n];
        let mut is_child = vec![false; n];
        let mut known: Option<&[u32]> = None;
        let parts = self.rows.iter().map(|row| parts(row)).collect::<Option<Vec<_>>>()?;
        for (parent, own) in &parts {
            let before = match parent {
                Some(parent) => std::mem::replace(&mut children[*parent as usize], own),
                None => known.replace(own).unwrap_or_default(),
            };
            if !before.is_empty() {
                return None;
            }
            for &child in own {
                if std::mem::replace(&mut is_child[child as usize], true) {
                    return None;
                }
            }
        }
        let mut roots = (0..n).filter(|&entry| !is_child[entry]);
        let (mut entries, mut parents) = match (known, roots.next(), roots.next()) {
            (None, Some(root), None) => (vec![root as u32], vec![0u32]),
            (Some(own), None, None) => (own.to_vec(), vec![0; own.len() + 1]),
            _ => return None,
        };
        let first = usize::from(known.is_some());
        let mut node = first;
        while node < entries.len() + first {
            let own = children[entries[node - first] as usize];
            entries.extend(own);
            parents.extend(own.iter().map(|_| node as u32));
            node += 1;
        }
        // What is missing goes round in circles.
        let hierarchy = (entries.len() == n).then(|| Hierarchy::from_numbers(parents).ok()).flatten()?;
        let marks = (0..hierarchy.nodes()).map(|v| v < first).collect();
        let hierarchy = hierarchy.with_known(marks).ok()?;
        Some(TreeOfEntries { hierarchy, entries })
    }
}

/// The parent and the children of `-parent + Σ children = 0`; no parent where it is known.
fn parts(row: &[(u32, i64)]) -> Option<(Option<u32>, Vec<u32>)> {
    let of = |sign: i64| row.iter().filter(move |(_, a)| *a == sign).map(|&(entry, _)| entry);
    let (minus, plus): (Vec<u32>, Vec<u32>) = (of(-1).collect(), of(1).collect());
    match (&minus[..], &plus[..]) {
        _ if minus.len() + plus.len() < row.len() => None,
        ([], [_, ..]) => Some((None, plus)),
        ([_, ..], []) => Some((None, minus)),
        ([parent], [_, ..]) => Some((Some(*parent), plus)),
        ([_, _, ..], [parent]) => Some((Some(*parent), minus)),
        _ => None,
    }
}

impl Bounded {
    /// The tree with the least noise of every node, if its equations are one and all that bounds it are lower bounds of the leaves;
    /// bounds of other nodes that follow from those are no more. `None` for the bounds where nothing bounds it.
    pub fn tree(&self) -> Option<(TreeOfEntries, Option<Vec<i64>>)> {
        let tree = self.component.tree()?;
        if self.region.is_everything() {
            return Some((tree, None));
        }
        if !self.region.rows.is_empty() || !self.region.upper.is_open() {
            return None;
        }
        let hierarchy = &tree.hierarchy;
        let mut own: Vec<i64> = tree.entries.iter().map(|&entry| self.region.lower[entry as usize]).collect();
        if hierarchy.is_known(0) {
            own.insert(0, NO_LOWER);
        }
        if hierarchy.leaves().iter().any(|&leaf| own[leaf as usize] == NO_LOWER) {
            return None;
        }
        let sum: i128 = hierarchy.leaves().iter().map(|&leaf| i128::from(own[leaf as usize])).sum();
        if sum < -(1 << 62) {
            return None;
        }
        let mut least = own.clone();
        hierarchy.sum_up(&mut least);
        let follows = own.iter().zip(&least).all(|(own, least)| own <= least);
        follows.then_some((tree, Some(least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities, Linear};

    fn component(entries: usize, rows: Vec<Vec<(u32, i64)>>) -> Component {
        Linear::from_rows(entries, rows).unwrap().components().remove(0)
    }

    /// The parents of a tree of entries, by entry; the root's is itself.
    fn parents(tree: &TreeOfEntries) -> Vec<u32> {
        let mut parents = vec![0; tree.entries.len()];
        for (node, &entry) in tree.entries.iter().enumerate() {
            let parent = if node == 0 { 0 } else { tree.hierarchy.parent(node) };
            parents[entry as usize] = tree.entries[parent];
        }
        parents
    }

    #[test]
    fn trees_are_found_whatever_their_order_and_sign() {
        // 6 = 0 + 1 + 5, 5 = 2 + 3 + 4: the second with the other sign.
        let rows = vec![vec![(5, 1), (2, -1), (3, -1), (4, -1)], vec![(6, -1), (0, 1), (1, 1), (5, 1)]];
        let tree = component(7, rows).tree().unwrap();
        assert_eq!(parents(&tree), [6, 6, 5, 5, 5, 6, 6]);
        assert_eq!(tree.hierarchy.levels(), 3);
        // A chain of only children: the parent is the one with -1.
        let tree = component(3, vec![vec![(0, -1), (1, 1)], vec![(1, -1), (2, 1)]]).tree().unwrap();
        assert_eq!(parents(&tree), [0, 0, 1]);
    }

    #[test]
    fn what_is_no_tree_is_none() {
        for (entries, rows) in [
            // Two roots; a part of two sums; the sum of two equations; other coefficients; a sum beside a root; two known sums.
            (3, vec![vec![(0, -1), (2, 1)], vec![(1, -1), (2, 1)]]),
            (5, vec![vec![(0, -1), (1, 1), (2, 1)], vec![(0, -1), (3, 1), (4, 1)]]),
            (4, vec![vec![(0, -1), (1, 1), (2, 1)], vec![(1, -1), (0, 1), (3, 1)]]),
            (3, vec![vec![(0, -2), (1, 1), (2, 1)]]),
            (3, vec![vec![(0, 1), (1, 1)], vec![(2, -1), (0, 1), (1, 1)]]),
            (3, vec![vec![(0, 1), (1, 1)], vec![(1, 1), (2, 1)]]),
        ] {
            assert_eq!(component(entries, rows.clone()).tree(), None, "{rows:?}");
        }
    }

    /// One sum is known: of entries 0 and 3, with 3 = 1 + 2.
    #[test]
    fn a_known_root_is_no_entry() {
        let rows = vec![vec![(3, -1), (1, 1), (2, 1)], vec![(0, -1), (3, -1)]];
        let invariant = Linear::from_rows(4, rows).unwrap();
        let tree = invariant.components().remove(0).tree().unwrap();
        assert_eq!(tree.entries, [0, 3, 1, 2]);
        let hierarchy = &tree.hierarchy;
        assert_eq!((hierarchy.nodes(), hierarchy.parent(2), hierarchy.parent(3)), (5, 0, 2));
        assert!(hierarchy.is_known(0) && (1..5).all(|v| !hierarchy.is_known(v)));
        let region = Inequalities::nonnegative(4).around(&[4, 2, 3, 5]).unwrap();
        let (_, least) = region.components(&invariant).remove(0).tree().unwrap();
        assert_eq!(least, Some(vec![-9, -4, -5, -2, -3]));
    }

    #[test]
    fn bounds_that_follow_are_taken() {
        let rows = vec![vec![(0, -1), (1, 1), (2, 1)]];
        let invariant = Linear::from_rows(3, rows).unwrap();
        let bounded = |counts: &[i64]| {
            Inequalities::nonnegative(3).around(counts).unwrap().components(&invariant).remove(0)
        };
        let (tree, least) = bounded(&[5, 2, 3]).tree().unwrap();
        assert_eq!((tree.entries, least), (vec![0, 1, 2], Some(vec![-5, -2, -3])));
        // The root may lose less than its parts.
        assert_eq!(bounded(&[4, 2, 3]).tree(), None);
    }
}
