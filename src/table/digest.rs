//! What a table holds, whatever its bytes are: a hash of its logical rows.

use super::Field;
use super::value::{Data, Values};
use crate::hash::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Rows of a table and a hash of what they hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// Rows.
    pub rows: u64,
    /// In hexadecimal the SHA-256 over the columns in order: name and type, each by its length and bytes, then the SHA-256 of
    /// the column's values. Of a value are taken: in a column with nulls a byte that says whether it is there; then the bits of
    /// a number, little-endian, a byte of a truth value, length and bytes of a text; nothing of a null.
    pub sha256: String,
}

/// Takes the digest of rows that come in pieces.
#[derive(Debug)]
pub(super) struct Hasher {
    columns: Vec<Sha256>,
    rows: u64,
    buffer: Vec<u8>,
}

impl Hasher {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns: vec![Sha256::new(); columns], rows: 0, buffer: Vec::new() }
    }

    /// The next rows, all columns of them.
    pub(super) fn update(&mut self, columns: &[Values]) {
        self.rows += columns.first().map_or(0, Values::len) as u64;
        for (hash, values) in self.columns.iter_mut().zip(columns) {
            let bytes = &mut self.buffer;
            bytes.clear();
            /// Puts the bytes of every value, in a column with nulls behind a byte that says whether it is there.
            macro_rules! put {
                ($all:expr, $x:ident => $put:expr) => {
                    match &values.present {
                        None => $all.for_each(|$x| $put),
                        Some(present) => {
                            for ($x, &there) in $all.zip(present) {
                                bytes.push(u8::from(there));
                                if there {
                                    $put;
                                }
                            }
                        }
                    }
                };
            }
            match &values.data {
                Data::U32(all) => put!(all.iter(), x => bytes.extend_from_slice(&x.to_le_bytes())),
                Data::U64(all) => put!(all.iter(), x => bytes.extend_from_slice(&x.to_le_bytes())),
                Data::I64(all) => put!(all.iter(), x => bytes.extend_from_slice(&x.to_le_bytes())),
                Data::F64(all) => put!(all.iter(), x => bytes.extend_from_slice(&x.to_le_bytes())),
                Data::Bool(all) => put!(all.iter(), x => bytes.push(u8::from(*x))),
                Data::Text(all) => put!((0..all.len()).map(|i| all.bytes(i)), text => {
                    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(text);
                }),
            }
            hash.update(&*bytes);
        }
    }

    pub(super) fn finish(self, fields: &[Field]) -> TableDigest {
        let mut whole = Sha256::new();
        for (field, column) in fields.iter().zip(self.columns) {
            for text in [&field.name, &field.type_words()] {
                whole.update((text.len() as u64).to_le_bytes());
                whole.update(text.as_bytes());
            }
            whole.update(column.finalize());
        }
        TableDigest { rows: self.rows, sha256: hex(whole.finalize()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Value};
    use super::*;

    fn of<T: Value>(name: &str, values: &[T]) -> TableDigest {
        let mut column = Values::new(T::KIND, T::OPTIONAL, 0);
        values.iter().for_each(|value| value.put(&mut column));
        let mut hasher = Hasher::new(1);
        hasher.update(&[column]);
        hasher.finish(&[Field { name: name.into(), kind: T::KIND, optional: T::OPTIONAL }])
    }

    #[test]
    fn digests_tell_tables_apart() {
        let plain = of("a", &[Some(1.0), None, Some(-0.0)]);
        assert_eq!((plain.rows, plain.sha256.len()), (3, 64));
        assert_eq!(plain, of("a", &[Some(1.0), None, Some(-0.0)]));
        let others = [
            of("b", &[Some(1.0), None, Some(-0.0)]),
            of("a", &[Some(1.0), None, Some(0.0)]),
            of("a", &[Some(1.0), Some(0.0), Some(-0.0)]),
            of("a", &[None, Some(1.0), Some(-0.0)]),
            of("a", &[1.0, 0.0, -0.0]),
            of("a", &["1".to_owned(), String::new(), "0".to_owned()]),
            of("a", &[1u64, 0, 0]),
            of("a", &[1i64, 0, 0]),
        ];
        for (i, other) in others.iter().enumerate() {
            assert!(*other != plain && !others[..i].contains(other), "{i}");
        }
        let text = |values: [&str; 2]| of("t", &values.map(str::to_owned));
        assert_ne!(text(["ab", "c"]), text(["a", "bc"]));
    }

    /// Pieces of any size have the digest of the whole.
    #[test]
    fn pieces_make_the_whole() {
        let column = |range: std::ops::Range<u64>| {
            let mut column = Values::new(Kind::U64, true, 0);
            range.for_each(|i| Some(i).filter(|i| i % 3 > 0).put(&mut column));
            column
        };
        let digest = |cuts: &[u64]| {
            let mut hasher = Hasher::new(1);
            cuts.windows(2).for_each(|cut| hasher.update(&[column(cut[0]..cut[1])]));
            hasher.finish(&[Field { name: "n".into(), kind: Kind::U64, optional: true }])
        };
        assert_eq!(digest(&[0, 100]), digest(&[0, 1, 50, 50, 99, 100]));
    }
}
