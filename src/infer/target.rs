//! What an interval is of.

use crate::invariant::Hierarchy;

/// What an interval is of.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// A node.
    Node(usize),
    /// A weighted sum of leaves, by number.
    Sum(Vec<(u32, i8)>),
}

impl Target {
    /// The value of the target; `of`: that of a node.
    pub(super) fn value(&self, tree: &Hierarchy, of: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Node(v) => of(*v),
            // No sum of nothing is -0.
            Self::Sum(weights) => {
                let leaf = |leaf: u32| of(tree.leaves()[leaf as usize] as usize);
                weights.iter().map(|&(i, weight)| f64::from(weight) * leaf(i)).sum::<f64>() + 0.0
            }
        }
    }
}
