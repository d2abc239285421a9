//! A large tree in pieces: ranges of siblings that are drawn by themselves.

use super::Hierarchy;
use crate::rng::{Stream, TaskKey, piece_stream};
use std::ops::Range;

/// Consecutive nodes of one level, and all their children, which are consecutive too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The level of the children; 0 = root.
    pub level: usize,
    /// The number of the piece in the level, from 0.
    pub number: usize,
    /// The consecutive nodes whose children are drawn.
    pub parents: Range<usize>,
    /// The children of all parents, which are consecutive too.
    pub children: Range<usize>,
}

impl Piece {
    /// The random stream of the piece in a task.
    pub fn stream(&self, key: TaskKey) -> Stream {
        piece_stream(key, self.level as u32, self.number as u32)
    }

    /// The children of a parent by their places in the piece.
    #[inline]
    pub(crate) fn places(&self, tree: &Hierarchy, parent: usize) -> Range<usize> {
        let children = tree.children(parent);
        children.start - self.children.start..children.end - self.children.start
    }
}

/// A tree cut into pieces, level by level. Every node but the root is a child in one piece, and every node above the
/// last level a parent in one.
///
/// Where it is cut depends on the tree alone: so do the streams of the pieces, and no result on who draws them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pieces {
    /// By level of the children, from 1.
    levels: Vec<Vec<Piece>>,
}

/// Nodes of a level beyond which a tree is large.
const LARGE: usize = 1 << 15;

/// Children of a piece of a large tree at most, unless one parent has more: enough that what a piece costs by itself is
/// nothing, and few enough that threads share levels above the last.
const PIECE: usize = 1 << 12;

impl Pieces {
    /// The pieces of a large tree, one with more than 32,768 nodes on some level. `None`: it is not large, or cannot be cut.
    pub fn of(tree: &Hierarchy) -> Option<Self> {
        (1..tree.levels())
            .any(|level| tree.level_nodes(level).len() > LARGE)
            .then(|| Self::cut(tree, PIECE))
            .flatten()
    }

    /// Cuts a tree into pieces with `most` children, more only where one parent has. `None`: no level needs more than one.
    pub fn cut(tree: &Hierarchy, most: usize) -> Option<Self> {
        let levels: Vec<Vec<Piece>> = (1..tree.levels()).map(|level| cut(tree, level, most)).collect();
        levels.iter().any(|pieces| pieces.len() > 1).then_some(Self { levels })
    }

    /// The pieces whose children are the nodes of a level from 1.
    pub fn level(&self, level: usize) -> &[Piece] {
        &self.levels[level - 1]
    }

    /// The number of levels, the root's included.
    pub fn levels(&self) -> usize {
        self.levels.len() + 1
    }

    /// The pieces of the last level.
    pub fn last(&self) -> &[Piece] {
        self.level(self.levels.len())
    }

    /// The first node of the last level.
    pub fn last_start(&self) -> usize {
        self.last()[0].children.start
    }
}

/// Pieces whose children are the nodes of a level.
fn cut(tree: &Hierarchy, level: usize, most: usize) -> Vec<Piece> {
    let whole = tree.whole_level(level);
    let mut pieces = Vec::new();
    let (mut parent, mut child) = (whole.parents.start, whole.children.start);
    for v in whole.parents.clone() {
        // The piece ends before a parent that is too much for it, unless it has no children yet.
        let before = tree.children(v).start;
        if before > child && tree.children(v).end - child > most {
            pieces.push(Piece { level, number: pieces.len(), parents: parent..v, children: child..before });
            (parent, child) = (v, before);
        }
    }
    let rest = Piece {
        level,
        number: pieces.len(),
        parents: parent..whole.parents.end,
        children: child..whole.children.end,
    };
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 -> 1, 2, 3, 4; 1 -> 5, 6; 3 -> 7, 8, 9; 4 -> 10; 5 -> 11; 10 -> 12.
    fn ragged() -> Hierarchy {
        Hierarchy::from_parents(&[0, 0, 0, 0, 0, 1, 1, 3, 3, 3, 4, 5, 10]).unwrap()
    }

    #[test]
    fn pieces_cover_every_level() {
        let tree = ragged();
        for most in 1..6 {
            let Some(pieces) = Pieces::cut(&tree, most) else {
                assert!(most >= 5, "{most}");
                continue;
            };
            assert!(most < 6 && pieces.levels() == tree.levels());
            for level in 1..tree.levels() {
                let own = pieces.level(level);
                let (mut parent, mut child) =
                    (tree.level_nodes(level - 1).start, tree.level_nodes(level).start);
                for (number, piece) in own.iter().enumerate() {
                    assert_eq!((piece.level, piece.number), (level, number));
                    assert_eq!((piece.parents.start, piece.children.start), (parent, child));
                    (parent, child) = (piece.parents.end, piece.children.end);
                    assert!(
                        piece.parents.clone().flat_map(|v| tree.children(v)).eq(piece.children.clone()),
                        "{piece:?}"
                    );
                    let families = piece.parents.clone().filter(|&v| !tree.is_leaf(v)).count();
                    assert!(piece.children.len() <= most || families == 1, "{piece:?}");
                }
                assert_eq!((parent, child), (tree.level_nodes(level - 1).end, tree.level_nodes(level).end));
            }
        }
        assert_eq!(Pieces::cut(&tree, 6), None);
        assert_eq!(Pieces::cut(&Hierarchy::from_parents(&[0]).unwrap(), 1), None);
    }

    #[test]
    fn only_large_trees_are_cut() {
        // Two levels below the root: 256 parents of 128 leaves each, and one leaf more.
        let parents = |more: usize| {
            let leaves =
                (0..256).flat_map(|v| std::iter::repeat_n(1 + v, 128)).chain(std::iter::repeat_n(256, more));
            Hierarchy::from_parents(&[0].into_iter().chain([0; 256]).chain(leaves).collect::<Vec<_>>())
                .unwrap()
        };
        assert_eq!(Pieces::of(&parents(0)), None);
        let pieces = Pieces::of(&parents(1)).unwrap();
        assert_eq!((pieces.level(1).len(), pieces.last().len()), (1, 9));
        // One family is never cut.
        let star: Vec<usize> = vec![0; 40_000];
        assert_eq!(Pieces::of(&Hierarchy::from_parents(&star).unwrap()), None);
    }
}
