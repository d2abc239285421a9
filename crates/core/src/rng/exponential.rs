//! Standard exponential draws.

use super::xoshiro::{LANES, Row, Streams};
use super::{uniform::open01, ziggurat::Layers};
use rand::Rng;
use std::sync::LazyLock;

const TAIL: f64 = 7.697_117_470_131_05;
static LAYERS: LazyLock<Layers> = LazyLock::new(|| {
    Layers::new(TAIL, (TAIL + 1.0) * libm::exp(-TAIL), |x| libm::exp(-x), |y| -libm::log(y))
});

/// Exponential with mean 1, by the ziggurat method.
#[inline]
pub fn exponential<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    let word = rng.next_u64();
    after(&LAYERS, word, rng)
}

/// Draws an exponential number in every lane, each as [`exponential`] draws it from the lane's stream.
#[inline(always)]
pub fn exponentials(streams: &mut Streams) -> Row<f64> {
    let layers = &*LAYERS;
    let words = streams.words();
    let (mut values, mut open) = (Row::default(), Row([false; LANES]));
    for l in 0..LANES {
        let (layer, x) = layers.place(words.0[l]);
        values.0[l] = x;
        open.0[l] = x >= layers.edge[layer + 1];
    }
    if open.0.contains(&true) {
        close(layers, streams, &words, &open, &mut values);
    }
    values
}

/// Finishes the lanes that their first word leaves open.
#[cold]
#[inline(never)]
fn close(layers: &Layers, streams: &mut Streams, words: &Row<u64>, open: &Row<bool>, values: &mut Row<f64>) {
    for l in (0..LANES).filter(|&l| open.0[l]) {
        values.0[l] = after(layers, words.0[l], &mut streams.lane(l));
    }
}

/// Finishes the draw that begins with `word`.
#[inline]
fn after<R: Rng + ?Sized>(layers: &Layers, mut word: u64, rng: &mut R) -> f64 {
    let mut shift = 0.0;
    loop {
        let (layer, x) = layers.place(word);
        if x < layers.edge[layer + 1] {
            return shift + x;
        }
        if layer == 0 {
            // The tail is an exponential again, shifted.
            shift += TAIL;
            word = rng.next_u64();
            continue;
        }
        let (low, high) = (layers.height[layer], layers.height[layer + 1]);
        if low + (high - low) * open01(rng) < libm::exp(-x) {
            return shift + x;
        }
        word = rng.next_u64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    /// Every lane draws what its stream draws alone: about one in 40 needs more than a word.
    #[test]
    fn lanes_draw_as_alone() {
        let mut alone: Vec<_> = (0..LANES as u64).map(test_stream).collect();
        let mut streams = Streams::default();
        alone.iter().enumerate().for_each(|(lane, rng)| streams.load(lane, rng));
        for _ in 0..5000 {
            let values = exponentials(&mut streams);
            for (rng, value) in alone.iter_mut().zip(values.0) {
                assert_eq!(exponential(rng).to_bits(), value.to_bits());
            }
        }
    }
}
