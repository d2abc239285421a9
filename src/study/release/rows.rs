//! What releases leave behind, batch by batch.

use super::chain_row::ChainRow;
use super::errors::ErrorRow;
use crate::engine::{Held, encode};
use crate::input::Asked;
use crate::law::Errors;
use crate::methods::{Sink, Sums};
use crate::table::Key;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The errors of all entries in one release, or in one record of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw<'a> {
    /// The replicate, from 0.
    pub replicate: u64,
    /// Iteration of its chain, from 1.
    pub iteration: u64,
    /// `y - x` by entry of the table.
    pub errors: &'a [f64],
}

/// Draws one after the other.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draws {
    /// Replicate and iteration of each.
    places: Vec<(u64, u64)>,
    #[serde(with = "short")]
    errors: Vec<f64>,
}

impl Draws {
    /// Adds a draw; all have the same entries.
    pub fn push(&mut self, draw: Draw) {
        self.places.push((draw.replicate, draw.iteration));
        self.errors.extend_from_slice(draw.errors);
    }

    /// Appends those of the next range.
    fn append(&mut self, other: &mut Self) {
        self.places.append(&mut other.places);
        self.errors.append(&mut other.errors);
    }

    /// Their bytes in memory.
    fn bytes(&self) -> usize {
        size_of_val(&*self.places) + size_of_val(&*self.errors)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether every draw has so many errors.
    fn fit(&self, entries: usize) -> bool {
        self.places.len().checked_mul(entries) == Some(self.errors.len())
    }

    /// The draws in order.
    pub fn iter(&self) -> impl Iterator<Item = Draw<'_>> {
        let entries = self.errors.len().checked_div(self.len()).unwrap_or(0);
        let draw = move |(i, &(replicate, iteration)): (usize, &(u64, u64))| Draw {
            replicate,
            iteration,
            errors: &self.errors[i * entries..(i + 1) * entries],
        };
        self.places.iter().enumerate().map(draw)
    }
}

/// Rows of a range of replicates.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// Key of the cell.
    #[serde(skip)]
    cell: Key,
    /// One per replicate and level.
    pub errors: Vec<ErrorRow>,
    /// One per chain and level.
    pub chains: Vec<ChainRow>,
    /// Traces by chain and level, of the first replicates only.
    pub traces: Vec<Vec<Vec<f64>>>,
    /// Errors of single entries of a table, draw by draw.
    pub draws: Draws,
    /// Errors of the groups of all queries, release by release.
    pub answers: Draws,
    /// Errors of the nodes of a tree that are kept, release by release.
    pub nodes: Draws,
    /// What is asked of every release.
    #[serde(skip)]
    asked: Option<Arc<Asked>>,
}

impl Rows {
    /// No rows yet of a cell, of whose releases this is asked.
    pub(super) fn of(cell: Key, asked: Option<Arc<Asked>>) -> Self {
        Self { cell, asked, ..Self::default() }
    }

    /// How many replicates gave a release.
    pub(super) fn releases(&self) -> u64 {
        self.errors.iter().filter(|row| row.level == 1).count() as u64
    }

    /// The rows with replicates that are counted on from a number.
    pub(super) fn counted_from(mut self, first: u64) -> Self {
        self.errors.iter_mut().for_each(|row| row.replicate += first);
        self.chains.iter_mut().for_each(|row| row.replicate += first);
        for draws in [&mut self.draws, &mut self.answers, &mut self.nodes] {
            draws.places.iter_mut().for_each(|(replicate, _)| *replicate += first);
        }
        self
    }

    /// Whether they are of releases of so many levels, and of so many counts, groups and nodes each: what says
    /// otherwise, a journal has that nobody wrote.
    pub(super) fn fit(&self, levels: usize, [counts, groups, nodes]: [usize; 3]) -> bool {
        let is_level = |level: u32| (1..=levels).contains(&(level as usize));
        self.errors.iter().all(|row| is_level(row.level))
            && self.chains.iter().all(|row| is_level(row.level))
            && self.traces.iter().all(|chain| chain.len() <= levels)
            && self.draws.fit(counts)
            && self.answers.fit(groups)
            && self.nodes.fit(nodes)
    }

    /// Appends the rows of the next range.
    pub fn append(&mut self, mut other: Self) {
        self.errors.append(&mut other.errors);
        self.chains.append(&mut other.chains);
        self.traces.append(&mut other.traces);
        self.draws.append(&mut other.draws);
        self.answers.append(&mut other.answers);
        self.nodes.append(&mut other.nodes);
    }
}

impl Held for Rows {
    fn bytes(&self) -> usize {
        let traces: usize = self.traces.iter().flatten().map(Vec::len).sum();
        size_of_val(&*self.errors)
            + size_of_val(&*self.chains)
            + 8 * traces
            + self.draws.bytes()
            + self.answers.bytes()
            + self.nodes.bytes()
    }

    fn encode(&self) -> Vec<u8> {
        encode(self)
    }
}

impl Sink for Rows {
    fn wants_counts(&self) -> bool {
        self.asked.is_some()
    }

    fn level(&mut self, replicate: u64, level: u32, errors: Sums, kept: bool) {
        self.errors.push(ErrorRow::of(self.cell, replicate, level, errors, kept));
    }

    fn counts(&mut self, replicate: u64, errors: Errors) {
        let Some(asked) = &self.asked else { return };
        let (answers, kept) = match errors {
            Errors::Integers(errors) => (asked.answers(errors), asked.kept(errors)),
            Errors::Reals(errors) => (asked.answers(errors), asked.kept(errors)),
        };
        if !asked.queries.is_empty() {
            self.answers.push(Draw { replicate, iteration: 1, errors: &answers });
        }
        if asked.nodes.is_some() {
            self.nodes.push(Draw { replicate, iteration: 1, errors: &kept });
        }
    }

    fn draw(&mut self, replicate: u64, iteration: u64, errors: &[f64]) {
        self.draws.push(Draw { replicate, iteration, errors });
    }

    fn chain(&mut self, replicate: u64, level: u32, steps: (u64, u64), trace: &[f64]) {
        self.chains.push(ChainRow::of(self.cell, replicate, level, steps, trace));
    }

    fn traces(&mut self, traces: Vec<Vec<f64>>) {
        self.traces.push(traces);
    }
}

/// Integers are short in batches: a byte that says whether all are, then seven bits a byte, the sign in the last of the first; or
/// the bits of every real.
mod short {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(errors: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(1 + 2 * errors.len());
        let integer =
            |&x: &f64| (x as i64) as f64 == x && (x != 0.0 || x.is_sign_positive()) && x.abs() < 9e15;
        if errors.iter().all(integer) {
            bytes.push(1);
            for &x in errors {
                let x = x as i64;
                let mut rest = ((x << 1) ^ (x >> 63)) as u64;
                while rest >= 0x80 {
                    bytes.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                bytes.push(rest as u8);
            }
        } else {
            bytes.push(0);
            errors.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        }
        serializer.serialize_bytes(&bytes)
    }

    struct Errors;

    impl<'de> Visitor<'de> for Errors {
        type Value = Vec<f64>;

        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("errors of entries")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<f64>, E> {
            let (kind, rest) = bytes.split_first().ok_or_else(|| E::custom("no errors"))?;
            if *kind == 0 {
                let (reals, []) = rest.as_chunks::<8>() else { return Err(E::custom("half an error")) };
                return Ok(reals.iter().map(|bits| f64::from_le_bytes(*bits)).collect());
            }
            let mut errors = Vec::with_capacity(rest.len());
            let (mut word, mut shift) = (0u64, 0);
            for byte in rest {
                if shift > 63 {
                    return Err(E::custom("an error of more than 64 bits"));
                }
                word |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    errors.push(((word >> 1) as i64 ^ -((word & 1) as i64)) as f64);
                    (word, shift) = (0, 0);
                }
            }
            if shift == 0 { Ok(errors) } else { Err(E::custom("half an error")) }
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        deserializer.deserialize_bytes(Errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value comes back bit for bit.
    #[test]
    fn draws_come_back() {
        for errors in [
            vec![0.0, -3.0, 5e15],
            vec![-0.0, 1.0],
            vec![0.5],
            vec![f64::NAN, f64::INFINITY],
            vec![1e300],
            vec![f64::MIN_POSITIVE],
            vec![],
        ] {
            let mut draws = Draws::default();
            (0..3).for_each(|replicate| draws.push(Draw { replicate, iteration: 1, errors: &errors }));
            let again: Draws = postcard::from_bytes(&postcard::to_stdvec(&draws).unwrap()).unwrap();
            assert_eq!((again.len(), &again.places), (3, &draws.places));
            for draw in again.iter() {
                assert!(draw.errors.iter().map(|x| x.to_bits()).eq(errors.iter().map(|x| x.to_bits())));
            }
        }
    }
}
