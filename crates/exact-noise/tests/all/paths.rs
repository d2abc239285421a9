//! The law of a draw, listed: every way of the random bits down to a depth.

use congenial_exact_noise::{Bits, Error, Result};
use std::collections::BTreeMap;

/// Bits that are given, and how many are missing.
pub struct Path {
    bits: u64,
    length: u32,
    used: u32,
    missing: u32,
}

impl Bits for Path {
    fn bits(&mut self, count: u32) -> Result<u32> {
        assert!((1..=32).contains(&count));
        if self.missing > 0 || self.used + count > self.length {
            if self.missing == 0 {
                self.missing = self.used + count - self.length;
            }
            return Err(Error::Source("the end of the path".into()));
        }
        self.used += count;
        Ok((self.bits >> (self.length - self.used)) as u32 & (u32::MAX >> (32 - count)))
    }
}

/// Masses of outcomes in units of `2^-depth`, and what is not decided there.
pub struct Listed<T> {
    pub masses: BTreeMap<T, u64>,
    pub undecided: u64,
    pub depth: u32,
}

/// Lists what `draw` gives on every path. No path is longer than `depth` bits.
pub fn list<T: Ord>(depth: u32, mut draw: impl FnMut(&mut Path) -> Result<T>) -> Listed<T> {
    let mut listed = Listed { masses: BTreeMap::new(), undecided: 0, depth };
    let mut open = vec![(0u64, 0u32)];
    while let Some((bits, length)) = open.pop() {
        let mut path = Path { bits, length, used: 0, missing: 0 };
        let mass = 1u64 << (depth - length);
        match draw(&mut path) {
            Ok(outcome) => {
                assert_eq!(path.used, length, "bits were left over");
                *listed.masses.entry(outcome).or_default() += mass;
            }
            Err(Error::Source(_)) if length + path.missing <= depth => {
                let count = path.missing;
                open.extend((0..1u64 << count).map(|next| (bits << count | next, length + count)));
            }
            Err(Error::Source(_)) => listed.undecided += mass,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(listed.masses.values().sum::<u64>() + listed.undecided, 1 << depth);
    listed
}
