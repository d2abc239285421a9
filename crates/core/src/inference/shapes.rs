//! The shapes of subtrees under weighted sums of leaves, one or two: what is alike is computed once.

use crate::invariant::Hierarchy;
use std::collections::HashMap;

/// A subtree, up to the order of children.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) level: usize,
    pub(crate) known: bool,
    pub(crate) under: Under,
}

/// What is below a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Under {
    /// A leaf with its weights in two sums; of one sum the second is 0.
    Leaf([i8; 2]),
    /// Children by shape, with how many of it there are, in ascending order.
    Children(Vec<(u32, u32)>),
}

/// The shapes of a tree, children before parents; the last is that of the root.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    pub(crate) all: Vec<Shape>,
    /// By shape: whether a leaf below has a weight that is not 0, in each of the two sums.
    pub(crate) weighted: Vec<[bool; 2]>,
    /// By node: the place of its subtree's shape.
    pub(crate) of_node: Vec<u32>,
    places: HashMap<Shape, u32>,
}

impl Shapes {
    /// The shapes of all subtrees. `weights`: by leaf, in the order of [`Hierarchy::leaves`].
    pub(crate) fn of(tree: &Hierarchy, weights: &[[i8; 2]]) -> Self {
        let mut shapes = Self::default();
        let mut of_leaf = vec![[0, 0]; tree.nodes()];
        tree.leaves().iter().zip(weights).for_each(|(&leaf, &weight)| of_leaf[leaf as usize] = weight);
        let mut place = vec![0u32; tree.nodes()];
        for v in (0..tree.nodes()).rev() {
            let under = match tree.is_leaf(v) {
                // The noise of a known leaf is 0, whatever its weight.
                true => Under::Leaf(if tree.is_known(v) { [0, 0] } else { of_leaf[v] }),
                false => {
                    let mut own: Vec<u32> = tree.children(v).map(|child| place[child]).collect();
                    own.sort_unstable();
                    let groups = own.chunk_by(|a, b| a == b);
                    Under::Children(groups.map(|group| (group[0], group.len() as u32)).collect())
                }
            };
            place[v] = shapes.add(Shape { level: tree.level(v), known: tree.is_known(v), under });
        }
        shapes.of_node = place;
        shapes
    }

    fn add(&mut self, shape: Shape) -> u32 {
        if let Some(&place) = self.places.get(&shape) {
            return place;
        }
        let place = self.all.len() as u32;
        self.weighted.push(match &shape.under {
            Under::Leaf(weights) => weights.map(|weight| weight != 0),
            Under::Children(children) => {
                [0, 1].map(|sum| children.iter().any(|&(child, _)| self.weighted[child as usize][sum]))
            }
        });
        self.places.insert(shape.clone(), place);
        self.all.push(shape);
        place
    }
}
