//! Values of a column in memory.

use super::{Kind, Texts};
use serde::{Deserialize, Serialize};

/// A column of values; null has a place holder.
#[derive(Debug, Clone)]
pub struct Values {
    /// The values.
    pub data: Data,
    /// Which of them are there; `None` if the column has no nulls.
    pub present: Option<Vec<bool>>,
}

/// The values of a column by type.
#[derive(Debug, Clone)]
pub enum Data {
    /// [`Kind::U32`]
    U32(Vec<u32>),
    /// [`Kind::U64`]
    U64(Vec<u64>),
    /// [`Kind::I64`]
    I64(Vec<i64>),
    /// [`Kind::F64`]
    F64(Vec<f64>),
    /// [`Kind::Bool`]
    Bool(Vec<bool>),
    /// [`Kind::Text`]
    Text(Texts),
}

/// Runs an expression on the values of a column, whatever their type.
macro_rules! each {
    ($data:expr, $values:ident => $then:expr) => {
        match $data {
            Data::U32($values) => $then,
            Data::U64($values) => $then,
            Data::I64($values) => $then,
            Data::F64($values) => $then,
            Data::Bool($values) => $then,
            Data::Text($values) => $then,
        }
    };
}

impl Values {
    /// No values yet, and room for so many.
    pub fn new(kind: Kind, optional: bool, room: usize) -> Self {
        let data = match kind {
            Kind::U32 => Data::U32(Vec::with_capacity(room)),
            Kind::U64 => Data::U64(Vec::with_capacity(room)),
            Kind::I64 => Data::I64(Vec::with_capacity(room)),
            Kind::F64 => Data::F64(Vec::with_capacity(room)),
            Kind::Bool => Data::Bool(Vec::with_capacity(room)),
            Kind::Text => Data::Text(Texts::default()),
        };
        Self { data, present: optional.then(|| Vec::with_capacity(room)) }
    }

    /// How many.
    pub fn len(&self) -> usize {
        each!(&self.data, values => values.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the values and keeps the memory.
    pub fn clear(&mut self) {
        each!(&mut self.data, values => values.clear());
        if let Some(present) = &mut self.present {
            present.clear();
        }
    }

    /// A text of a column of texts; empty for null.
    pub fn text(&self, row: usize) -> Option<&str> {
        let Data::Text(texts) = &self.data else { return None };
        (row < texts.len()).then(|| std::str::from_utf8(texts.bytes(row)).ok()).flatten()
    }

    pub(super) fn is_there(&self, row: usize) -> bool {
        self.present.as_ref().is_none_or(|present| present[row])
    }

    /// Appends a text to a column of texts.
    pub fn put_text(&mut self, text: &[u8]) {
        if let Data::Text(texts) = &mut self.data {
            texts.push(text);
        }
    }

    /// Appends what stands for null.
    pub(super) fn put_nothing(&mut self) {
        each!(&mut self.data, values => values.push(Default::default()));
    }
}

/// What a column can hold.
pub trait Value: Sized {
    /// Its type.
    const KIND: Kind;
    /// Whether it may be null.
    const OPTIONAL: bool = false;
    /// Appends it.
    fn put(&self, values: &mut Values);
    /// The value in a row; `None` if what is there is no such value.
    fn get(values: &Values, row: usize) -> Option<Self>;
}

macro_rules! plain {
    ($($type:ty = $kind:ident),*) => {$(
        impl Value for $type {
            const KIND: Kind = Kind::$kind;
            fn put(&self, values: &mut Values) {
                if let Data::$kind(values) = &mut values.data {
                    values.push(*self);
                }
            }
            fn get(values: &Values, row: usize) -> Option<Self> {
                match &values.data {
                    Data::$kind(values) => values.get(row).copied(),
                    _ => None,
                }
            }
        }
    )*};
}

plain!(u32 = U32, u64 = U64, i64 = I64, f64 = F64, bool = Bool);

impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    fn put(&self, values: &mut Values) {
        match self {
            Some(value) => value.put(values),
            None => values.put_nothing(),
        }
        if let Some(present) = &mut values.present {
            present.push(self.is_some());
        }
    }
    fn get(values: &Values, row: usize) -> Option<Self> {
        if values.is_there(row) { T::get(values, row).map(Some) } else { Some(None) }
    }
}

impl Value for String {
    const KIND: Kind = Kind::Text;
    fn put(&self, values: &mut Values) {
        values.put_text(self.as_bytes());
    }
    fn get(values: &Values, row: usize) -> Option<Self> {
        values.text(row).map(str::to_owned)
    }
}

/// Lets a type with names be a column of texts, and such a text in records; behind `column` a type of another crate, which has its text in
/// records already.
#[macro_export]
macro_rules! text_value {
    (column $type:ty, $name:expr, $parse:expr) => {
        impl $crate::table::Value for $type {
            const KIND: $crate::table::Kind = $crate::table::Kind::Text;
            fn put(&self, values: &mut $crate::table::Values) {
                #[allow(clippy::redundant_closure_call)]
                values.put_text(($name)(self).as_ref());
            }
            fn get(values: &$crate::table::Values, row: usize) -> Option<Self> {
                #[allow(clippy::redundant_closure_call)]
                ($parse)(values.text(row)?)
            }
        }
    };
    ($type:ty, $name:expr, $parse:expr) => {
        $crate::text_value!(column $type, $name, $parse);

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                #[allow(clippy::redundant_closure_call)]
                serializer.serialize_str(($name)(self).as_ref())
            }
        }
    };
}

/// The key of a cell, in files 16 hexadecimal digits.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64);

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Value for Key {
    const KIND: Kind = Kind::Text;
    fn put(&self, values: &mut Values) {
        let digit = |i: usize| b"0123456789abcdef"[(self.0 >> (60 - 4 * i)) as usize & 15];
        values.put_text(&std::array::from_fn::<u8, 16, _>(digit));
    }
    fn get(values: &Values, row: usize) -> Option<Self> {
        let text = values.text(row).filter(|text| text.len() == 16)?;
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

/// Digits for people, a word in batches.
impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

/// Reads the number that batches have.
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self)
    }
}
