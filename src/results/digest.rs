//! What a table holds, whatever its bytes are: a hash of its logical rows.

use crate::hash::hex;
use polars::prelude::{Column, DataType};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Rows of a table and a hash of what they hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// Rows.
    pub rows: u64,
    /// SHA-256 over the columns in order: name, type, and every value (numbers by their bits, text by its length and
    /// bytes, null apart from all of them), in hexadecimal. The bytes of a parquet file depend on the library that wrote
    /// it; this does not.
    pub sha256: String,
}

/// Hashes columns. Errors: a type that no table of ours has.
pub(super) fn digest(columns: &[Column]) -> Result<TableDigest, String> {
    let mut hash = Sha256::new();
    let text = |hash: &mut Sha256, text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    for column in columns {
        text(&mut hash, column.name());
        text(&mut hash, &column.dtype().to_string());
        /// One column: a byte for each value that says whether there is one, and its bytes.
        macro_rules! values {
            ($array:expr, $value:ident => $bytes:expr) => {
                for value in $array.map_err(|e| e.to_string())?.iter() {
                    hash.update([u8::from(value.is_some())]);
                    if let Some($value) = value {
                        hash.update($bytes);
                    }
                }
            };
        }
        match column.dtype() {
            DataType::Float64 => values!(column.f64(), x => x.to_bits().to_le_bytes()),
            DataType::UInt64 => values!(column.u64(), x => x.to_le_bytes()),
            DataType::UInt32 => values!(column.u32(), x => x.to_le_bytes()),
            DataType::Int64 => values!(column.i64(), x => x.to_le_bytes()),
            DataType::Boolean => values!(column.bool(), x => [u8::from(x)]),
            DataType::String => {
                for value in column.str().map_err(|e| e.to_string())?.iter() {
                    hash.update([u8::from(value.is_some())]);
                    text(&mut hash, value.unwrap_or_default());
                }
            }
            other => return Err(format!("column `{}` has the type {other}", column.name())),
        }
    }
    let sha256 = hex(hash.finalize());
    Ok(TableDigest { rows: columns.first().map_or(0, Column::len) as u64, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use polars::prelude::{NamedFrom, Series};

    #[test]
    fn digests_tell_tables_apart() {
        let column = |name: &str, values: Vec<Option<f64>>| Column::from(Series::new(name.into(), values));
        let of = |columns: &[Column]| digest(columns).unwrap();
        let plain = of(&[column("a", vec![Some(1.0), None, Some(-0.0)])]);
        assert_eq!((plain.rows, plain.sha256.len()), (3, 64));
        assert_eq!(plain, of(&[column("a", vec![Some(1.0), None, Some(-0.0)])]));
        for other in [
            column("b", vec![Some(1.0), None, Some(-0.0)]),
            column("a", vec![Some(1.0), None, Some(0.0)]),
            column("a", vec![Some(1.0), Some(0.0), Some(-0.0)]),
            column("a", vec![None, Some(1.0), Some(-0.0)]),
            Column::from(Series::new("a".into(), vec!["1", "", "0"])),
        ] {
            assert_ne!(plain, of(&[other]));
        }
        let text = |values: [&str; 2]| of(&[Column::from(Series::new("t".into(), values.to_vec()))]);
        assert_ne!(text(["ab", "c"]), text(["a", "bc"]));
    }
}
