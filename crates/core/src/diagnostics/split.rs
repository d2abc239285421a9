//! Chains of one quantity, cut into halves.

use crate::rng::normal_quantile;

/// Chains that are equally long, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Split {
    /// The values of all halves, one after the other.
    pub values: Vec<f64>,
    /// The number of values of each half, >= 2.
    pub length: usize,
}

impl Split {
    /// Halves of chains (of an odd number of draws the middle one is left out). `None` unless there is at least one chain and all
    /// have the same number of draws, >= 4, and no value is NaN.
    pub fn of(chains: &[&[f64]]) -> Option<Self> {
        Self::map(chains, |x| x)
    }

    /// Halves of chains with `f` applied to each value; `None` as [`Split::of`] says.
    pub fn map(chains: &[&[f64]], f: impl Fn(f64) -> f64) -> Option<Self> {
        let draws = chains.first()?.len();
        if draws < 4 || chains.iter().any(|chain| chain.len() != draws || chain.iter().any(|x| x.is_nan())) {
            return None;
        }
        let length = draws / 2;
        let halves = chains.iter().flat_map(|chain| chain[..length].iter().chain(&chain[draws - length..]));
        Some(Self { values: halves.map(|&x| f(x)).collect(), length })
    }

    /// The halves, each a chain.
    pub fn chains(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.length)
    }

    /// Distances from the median of all values.
    pub fn folded(&self) -> Self {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let median = 0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]);
        Self { values: self.values.iter().map(|x| (x - median).abs()).collect(), length: self.length }
    }

    /// Every value replaced by the normal score of its rank among all, `Φ⁻¹((rank - 3/8)/(S + 1/4))` (Blom 1958), equal values by
    /// that of their average rank.
    pub fn scores(&self) -> Self {
        let values = &self.values;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut scores = vec![0.0; values.len()];
        let mut start = 0;
        for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let rank = start as f64 + (tied.len() as f64 + 1.0) / 2.0;
            let score = normal_quantile((rank - 0.375) / (values.len() as f64 + 0.25));
            tied.iter().for_each(|&i| scores[i] = score);
            start += tied.len();
        }
        Self { values: scores, length: self.length }
    }

    /// Whether all values are one.
    pub fn is_constant(&self) -> bool {
        let (low, high) =
            self.values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        high - low < 1e-15
    }
}
