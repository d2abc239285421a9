//! What an interval is of.

/// What an interval is of.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// A node.
    Node(usize),
    /// A weighted sum of leaves, by number.
    Sum(Vec<(u32, i8)>),
}
