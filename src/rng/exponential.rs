//! Standard exponential draws.

use super::{uniform::open01, ziggurat::Layers};
use rand_core::Rng;
use std::sync::LazyLock;

const TAIL: f64 = 7.697_117_470_131_05;
static LAYERS: LazyLock<Layers> = LazyLock::new(|| {
    Layers::new(TAIL, (TAIL + 1.0) * libm::exp(-TAIL), |x| libm::exp(-x), |y| -libm::log(y))
});

/// Exponential with mean 1, by the ziggurat method.
#[inline]
pub fn exponential<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    let layers = &*LAYERS;
    let mut shift = 0.0;
    loop {
        let word = rng.next_u64();
        let layer = (word & 0xff) as usize;
        let x = (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * layers.edge[layer];
        if x < layers.edge[layer + 1] {
            return shift + x;
        }
        if layer == 0 {
            // The tail is an exponential again, shifted.
            shift += TAIL;
            continue;
        }
        let (low, high) = (layers.height[layer], layers.height[layer + 1]);
        if low + (high - low) * open01(rng) < libm::exp(-x) {
            return shift + x;
        }
    }
}
