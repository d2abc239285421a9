//! The columns of a noisy file: studies and releases write them, `congenial infer` reads them.

use crate::table::{Field, Kind, Value, Values};

/// The columns of a noisy file that mean something; all others are keys.
pub const NOISY: [&str; 7] = ["value", "law", "scale", "variance", "known", "method", "options"];

/// The key in the footer of a noisy file of a table under which its `[[invariant]]` blocks stand.
pub const NOISY_INVARIANTS: &str = "congenial.invariants";

/// Columns that are written behind the keys; a variance is only read.
const WRITTEN: [(&str, Kind); 5] = [
    ("law", Kind::Text),
    ("scale", Kind::F64),
    ("known", Kind::Bool),
    ("method", Kind::Text),
    ("options", Kind::Text),
];

/// What stands beside a released count.
#[derive(Debug, Clone, Copy)]
pub struct NoisyRow<'a> {
    /// The name of the law of its noise.
    pub law: &'a str,
    /// lambda or sigma, in counts.
    pub scale: f64,
    /// Whether it is the confidential count.
    pub known: bool,
    /// The name of the method.
    pub method: &'a str,
    /// Its options.
    pub options: &'a str,
}

impl NoisyRow<'_> {
    /// The columns of a file with these keys, and values that are integers or reals.
    pub fn fields<'a>(keys: impl Iterator<Item = &'a str>, integers: bool) -> Vec<Field> {
        let value = Field::new("value", if integers { Kind::I64 } else { Kind::F64 });
        let written = WRITTEN.map(|(name, kind)| Field::new(name, kind));
        keys.map(|name| Field::new(name, Kind::Text)).chain([value]).chain(written).collect()
    }

    /// Adds a row to those columns; keys that are missing are blank.
    pub fn put(&self, keys: &[&str], value: impl Value, columns: &mut [Values]) {
        let (of_keys, own) = columns.split_at_mut(columns.len() - WRITTEN.len() - 1);
        for (place, column) in of_keys.iter_mut().enumerate() {
            column.put_text(keys.get(place).copied().unwrap_or_default().as_bytes());
        }
        value.put(&mut own[0]);
        own[1].put_text(self.law.as_bytes());
        self.scale.put(&mut own[2]);
        self.known.put(&mut own[3]);
        own[4].put_text(self.method.as_bytes());
        own[5].put_text(self.options.as_bytes());
    }
}
