//! What an interval is of.

/// What an interval is of.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// A count that was released: a node, or an entry.
    Count(usize),
    /// A weighted sum of such counts.
    Sum(Vec<(u32, i8)>),
}

impl Target {
    /// The value of the target; `of`: that of a count.
    pub(super) fn value(&self, of: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Count(count) => of(*count),
            // No sum of nothing is -0.
            Self::Sum(weights) => {
                weights.iter().map(|&(i, weight)| f64::from(weight) * of(i as usize)).sum::<f64>() + 0.0
            }
        }
    }
}
