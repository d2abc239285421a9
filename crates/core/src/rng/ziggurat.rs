//! The layers of a ziggurat (Marsaglia and Tsang 2000, The ziggurat method for generating random
//! variables), with 256 layers of equal area under a decreasing density on [0, inf).

/// `edge[i]` is the right edge of layer `i`, `edge[0]` the width of the base as if it were a
/// rectangle; `height[i] = density(edge[i])`.
pub(super) struct Layers {
    pub edge: [f64; 257],
    pub height: [f64; 257],
}

impl Layers {
    /// `tail`: where the base layer's tail begins; `area`: of one layer; `density` with
    /// `density(0) = 1` and its inverse.
    pub fn new(tail: f64, area: f64, density: impl Fn(f64) -> f64, inverse: impl Fn(f64) -> f64) -> Self {
        let mut edge = [0.0; 257];
        edge[0] = area / density(tail);
        edge[1] = tail;
        for i in 1..255 {
            edge[i + 1] = inverse(area / edge[i] + density(edge[i]));
        }
        let height = edge.map(&density);
        Self { edge, height }
    }

    /// The layer that the low bits of a word choose, and the place in it.
    #[inline(always)]
    pub fn place(&self, word: u64) -> (usize, f64) {
        let layer = (word & 0xff) as usize;
        (layer, (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * self.edge[layer])
    }
}
