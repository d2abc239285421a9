//! The generator: xoshiro256++ (Blackman and Vigna 2021, Scrambled linear pseudorandom number generators), one stream or several
//! side by side.

use rand::rand_core::utils;
use rand::{Rng, SeedableRng, TryRng};
use std::convert::Infallible;

/// xoshiro256++ with 256 bits of state: fast, equidistributed in 4 dimensions, and predictable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xoshiro256PlusPlus {
    s: [u64; 4],
}

impl SeedableRng for Xoshiro256PlusPlus {
    type Seed = [u8; 32];

    /// The state in little-endian words. Zeros, from which the generator never moves, stand for (1, 0, 0, 0).
    #[inline]
    fn from_seed(seed: [u8; 32]) -> Self {
        let mut s: [u64; 4] = utils::read_words(&seed);
        if s == [0; 4] {
            s[0] = 1;
        }
        Self { s }
    }
}

impl TryRng for Xoshiro256PlusPlus {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        // The high bits are the better ones.
        Ok((self.next_u64() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let [mut s0, mut s1, mut s2, mut s3] = self.s;
        let word = step(&mut s0, &mut s1, &mut s2, &mut s3);
        self.s = [s0, s1, s2, s3];
        Ok(word)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}

/// The next word.
#[inline(always)]
fn step(s0: &mut u64, s1: &mut u64, s2: &mut u64, s3: &mut u64) -> u64 {
    let word = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
    let shifted = *s1 << 17;
    *s2 ^= *s0;
    *s3 ^= *s1;
    *s1 ^= *s2;
    *s0 ^= *s3;
    *s2 ^= shifted;
    *s3 = s3.rotate_left(45);
    word
}

/// Streams that are stepped side by side: four registers of 512 bits for every word of the state, eight of 256.
pub const LANES: usize = 32;

/// One number of every lane.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Row<T>(pub [T; LANES]);

impl<T: Copy + Default> Default for Row<T> {
    fn default() -> Self {
        Self([T::default(); LANES])
    }
}

/// [`LANES`] streams, each of which gives exactly the words that it gives alone.
#[derive(Debug, Clone)]
pub struct Streams {
    s: [Row<u64>; 4],
}

impl Default for Streams {
    /// Gives every lane the stream of the zero seed.
    fn default() -> Self {
        let [zeros, ones] = [0, 1].map(|word| Row([word; LANES]));
        Self { s: [ones, zeros, zeros, zeros] }
    }
}

impl Streams {
    /// Puts a stream into a lane.
    pub fn load(&mut self, lane: usize, rng: &Xoshiro256PlusPlus) {
        for (row, word) in self.s.iter_mut().zip(rng.s) {
            row.0[lane] = word;
        }
    }

    /// The stream of a lane.
    pub fn stream(&self, lane: usize) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus { s: [0, 1, 2, 3].map(|i| self.s[i].0[lane]) }
    }

    /// The next word of every lane.
    #[inline(always)]
    pub fn words(&mut self) -> Row<u64> {
        let [s0, s1, s2, s3] = &mut self.s;
        let mut words = Row::default();
        for l in 0..LANES {
            words.0[l] = step(&mut s0.0[l], &mut s1.0[l], &mut s2.0[l], &mut s3.0[l]);
        }
        words
    }

    /// Takes the last word of a lane back: its next word is the same again.
    pub fn step_back(&mut self, lane: usize) {
        let [s0, s1, s2, s3] = self.s.each_mut().map(|row| &mut row.0[lane]);
        *s3 = s3.rotate_right(45);
        *s0 ^= *s3;
        // s1 = c ^ s1 << 17.
        let c = *s1 ^ *s2;
        *s1 = c ^ c << 17 ^ c << 34 ^ c << 51;
        *s2 ^= *s1 << 17 ^ *s0;
        *s3 ^= *s1;
    }

    /// One lane as a generator: the others stay.
    pub fn lane(&mut self, lane: usize) -> Lane<'_> {
        Lane { streams: self, lane }
    }
}

/// One lane of [`Streams`].
pub struct Lane<'a> {
    streams: &'a mut Streams,
    lane: usize,
}

impl TryRng for Lane<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let [s0, s1, s2, s3] = self.streams.s.each_mut().map(|row| &mut row.0[self.lane]);
        Ok(step(s0, s1, s2, s3))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(k: u64) -> [u8; 32] {
        std::array::from_fn(|i| (k * 37 + i as u64 * 101 + 1) as u8)
    }

    /// Words, halves and bytes are those of rand_xoshiro, an implementation that is not ours.
    #[test]
    fn words_are_those_of_the_published_generator() {
        for k in 0..5 {
            let mut ours = Xoshiro256PlusPlus::from_seed(seed(k));
            let mut theirs = rand_xoshiro::Xoshiro256PlusPlus::from_seed(seed(k));
            for _ in 0..1000 {
                assert_eq!(ours.next_u64(), theirs.next_u64());
                assert_eq!(ours.next_u32(), theirs.next_u32());
            }
            let mut bytes = [[0; 21]; 2];
            ours.fill_bytes(&mut bytes[0]);
            theirs.fill_bytes(&mut bytes[1]);
            assert_eq!(bytes[0], bytes[1]);
        }
        assert_ne!(Xoshiro256PlusPlus::from_seed([0; 32]).next_u64(), 0);
    }

    /// Lanes that are stepped together and one by one give the words of their streams.
    #[test]
    fn lanes_are_streams() {
        let mut alone: Vec<_> = (0..LANES as u64).map(|k| Xoshiro256PlusPlus::from_seed(seed(k))).collect();
        let mut lanes = Streams::default();
        alone.iter().enumerate().for_each(|(lane, rng)| lanes.load(lane, rng));
        for round in 0..100 {
            let words = lanes.words();
            alone.iter_mut().zip(words.0).for_each(|(rng, word)| assert_eq!(rng.next_u64(), word));
            let lane = round * 7 % LANES;
            assert_eq!(lanes.lane(lane).next_u64(), alone[lane].next_u64());
            let before = lanes.clone();
            lanes.words();
            (0..LANES).for_each(|lane| lanes.step_back(lane));
            (0..LANES).for_each(|lane| assert_eq!(lanes.stream(lane), before.stream(lane)));
        }
        alone.iter().enumerate().for_each(|(lane, rng)| assert_eq!(&lanes.stream(lane), rng));
    }
}
