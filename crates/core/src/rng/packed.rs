//! Narrow laws on the integers, several draws a word.

use super::Rng;
use super::xoshiro::{LANES, Row, Streams};

/// A symmetric law on `-reach..=reach` by inversion in a table, with 12 bits a draw: one for the sign, 11 that choose
/// an entry of a table; where those do not decide (about one entry of 2^11 for every value that has so much) 52 more
/// do.
///
/// `P(|e|)` is a multiple of 2^-63 within one unit of its value in f64, but for `P(0)`, which takes what rounding
/// leaves over; the sign is exactly even.
#[derive(Debug, Clone)]
pub struct Packed {
    /// By the 12 bits, the sign lowest, the value e, or [`UNDECIDED`].
    first: Box<[i32; 2 * ENTRIES as usize]>,
    /// `P(|e| <= k)` in units of 2^-63.
    cumulative: Vec<u64>,
}

/// Bits of a draw, and draws that one word holds.
const BITS: u32 = 12;
const DRAWS_PER_WORD: usize = 5;
const ENTRIES: u64 = 1 << (BITS - 1);
const UNDECIDED: i32 = i32::MIN;

impl Packed {
    /// Builds the table. `weights`: of |e| = 0, 1, …, of both signs together; finite, >= 0, the first > 0 and, but for
    /// rounding, as large as half of any other (it takes what rounding leaves over).
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().rev().sum();
        let unit = (1u64 << 63) as f64;
        let mut share: Vec<u64> = weights.iter().map(|weight| (weight / total * unit) as u64).collect();
        share[0] = (1u64 << 63) - share[1..].iter().sum::<u64>();
        let mut sum = 0;
        let cumulative: Vec<u64> = share
            .iter()
            .map(|p| {
                sum += p;
                sum
            })
            .collect();
        let width = (1u64 << 63) / ENTRIES;
        let at = |position: u64| cumulative.partition_point(|&c| c <= position) as i32;
        let first = Box::new(std::array::from_fn(|entry| {
            let start = entry as u64 / 2 * width;
            let (low, high) = (at(start), at(start + (width - 1)));
            if low == high { signed(low, entry as u64) } else { UNDECIDED }
        }));
        Self { first, cumulative }
    }

    /// The probability `P(e)` as the table has it.
    pub fn p(&self, e: i32) -> f64 {
        let k = e.unsigned_abs() as usize;
        let Some(&high) = self.cumulative.get(k) else { return 0.0 };
        let p = (high - if k == 0 { 0 } else { self.cumulative[k - 1] }) as f64 / (1u64 << 63) as f64;
        if e == 0 { p } else { 0.5 * p }
    }

    /// Draws independently for all places, and puts each draw where it belongs.
    #[inline]
    pub fn fill<R: Rng + ?Sized, T>(&self, rng: &mut R, places: &mut [T], put: impl Fn(&mut T, i32)) {
        let mut words = places.chunks_exact_mut(DRAWS_PER_WORD);
        for some in &mut words {
            self.read(rng.next_u64(), rng, some, &put);
        }
        let rest = words.into_remainder();
        if !rest.is_empty() {
            self.read(rng.next_u64(), rng, rest, &put);
        }
    }

    /// Draws from the bits of one word.
    #[inline]
    fn read<R: Rng + ?Sized, T>(
        &self,
        mut word: u64,
        rng: &mut R,
        places: &mut [T],
        put: impl Fn(&mut T, i32),
    ) {
        for place in places {
            let mut e = self.first[(word & (2 * ENTRIES - 1)) as usize];
            if e == UNDECIDED {
                e = self.decide(word, rng.next_u64() >> BITS);
            }
            put(place, e);
            word >>= BITS;
        }
    }

    /// The value that the 12 bits and 52 more stand for.
    #[cold]
    fn decide(&self, word: u64, more: u64) -> i32 {
        let position = (word >> 1 & (ENTRIES - 1)) << (64 - BITS) | more;
        // Nearly all are small.
        let (small, rest) = self.cumulative.split_at(self.cumulative.len().min(8));
        let mut size = small.iter().filter(|&&c| c <= position).count();
        if size == small.len() {
            size += rest.partition_point(|&c| c <= position);
        }
        signed(size as i32, word)
    }

    /// Draws a value, and 52 random bits that are independent of it.
    #[inline]
    pub fn with_bits<R: Rng + ?Sized>(&self, rng: &mut R) -> (i32, u64) {
        let word = rng.next_u64();
        let mut e = self.first[(word & (2 * ENTRIES - 1)) as usize];
        let mut rest = word >> BITS;
        if e == UNDECIDED {
            e = self.decide(word, rest);
            rest = rng.next_u64() >> BITS;
        }
        (e, rest)
    }
}

/// A [`Packed`] law of streams side by side: every lane draws what its stream draws alone.
#[derive(Debug)]
pub struct PackedLanes<'a> {
    law: &'a Packed,
    /// Its table in half the room, with [`NARROW_UNDECIDED`].
    first: Box<[i16; 2 * ENTRIES as usize]>,
}

const NARROW_UNDECIDED: i16 = i16::MIN;

impl<'a> PackedLanes<'a> {
    /// Prepares the lanes; `None` where values do not fit into 16 bits.
    pub fn new(law: &'a Packed) -> Option<Self> {
        let fits = law.cumulative.len() <= i16::MAX as usize;
        let narrow = |e| if e == UNDECIDED { NARROW_UNDECIDED } else { e as i16 };
        fits.then(|| Self { law, first: Box::new(law.first.map(narrow)) })
    }

    /// Fills rows with independent draws: every lane draws what [`Packed::fill`] draws from its stream, row by row.
    #[inline(always)]
    pub fn fill(&self, streams: &mut Streams, rows: &mut [Row<i16>]) {
        let first = &*self.first;
        for some in rows.chunks_mut(DRAWS_PER_WORD) {
            let words = streams.words();
            for l in 0..LANES {
                let mut word = words.0[l];
                for row in &mut *some {
                    row.0[l] = first[(word & (2 * ENTRIES - 1)) as usize];
                    word >>= BITS;
                }
            }
            let mut undecided = Row([0i16; LANES]);
            for &row in &*some {
                for l in 0..LANES {
                    undecided.0[l] |= i16::from(row.0[l] == NARROW_UNDECIDED);
                }
            }
            if undecided.0 != [0; LANES] {
                self.decide(streams, &words, &undecided, some);
            }
        }
    }

    /// Decides the draws that 12 bits do not decide, lane by lane in order.
    #[cold]
    #[inline(never)]
    fn decide(&self, streams: &mut Streams, words: &Row<u64>, undecided: &Row<i16>, rows: &mut [Row<i16>]) {
        for l in (0..LANES).filter(|&l| undecided.0[l] != 0) {
            for (i, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.0[l] == NARROW_UNDECIDED) {
                let more = streams.lane(l).next_u64() >> BITS;
                row.0[l] = self.law.decide(words.0[l] >> (BITS * i as u32), more) as i16;
            }
        }
    }

    /// Draws a value in every lane, and 52 random bits that are independent of it: as [`Packed::with_bits`] from the
    /// lane's stream.
    #[inline(always)]
    pub fn with_bits(&self, streams: &mut Streams, values: &mut Row<i16>) -> Row<u64> {
        let first = &*self.first;
        let mut words = streams.words();
        for l in 0..LANES {
            values.0[l] = first[(words.0[l] & (2 * ENTRIES - 1)) as usize];
        }
        let mut undecided = 0;
        for l in 0..LANES {
            undecided |= i16::from(values.0[l] == NARROW_UNDECIDED);
        }
        if undecided != 0 {
            self.decide_with_bits(streams, &mut words, values);
        }
        for word in &mut words.0 {
            *word >>= BITS;
        }
        words
    }

    /// Decides the draws that 12 bits do not decide; they then take the next word's bits.
    #[cold]
    #[inline(never)]
    fn decide_with_bits(&self, streams: &mut Streams, words: &mut Row<u64>, values: &mut Row<i16>) {
        for l in 0..LANES {
            if values.0[l] == NARROW_UNDECIDED {
                values.0[l] = self.law.decide(words.0[l], words.0[l] >> BITS) as i16;
                words.0[l] = streams.lane(l).next_u64();
            }
        }
    }
}

/// The size with the sign that the lowest bit of the word says.
fn signed(size: i32, word: u64) -> i32 {
    if word & 1 == 1 { -size } else { size }
}
