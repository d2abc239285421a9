//! What a field of a row holds: a value, which has a column, or an estimate, which has two.

use super::{Column, Kind, Value, Values};
use crate::diagnostics::Estimate;
use serde::Serialize;
use serde::ser::SerializeStruct;
use std::slice::{Iter, IterMut};

/// What a field of a row holds. An estimate has a column for its mean, and behind it one for its standard error: null
/// where that is unknown, or where there is no mean.
pub trait Held: Sized {
    /// The type of its column.
    const KIND: Kind;
    /// Whether that may be null.
    const OPTIONAL: bool;
    /// Appends it to its columns, which come next.
    fn put(&self, columns: &mut IterMut<Values>);
    /// What a row has there; `None` if that is no such value.
    fn get(columns: &mut Iter<Values>, row: usize) -> Option<Self>;
    /// The values as fields of a record, of these names.
    fn serialize<S: SerializeStruct>(&self, names: [&'static str; 2], to: &mut S) -> Result<(), S::Error>;
}

impl<T: Value + Serialize> Held for T {
    const KIND: Kind = <T as Value>::KIND;
    const OPTIONAL: bool = <T as Value>::OPTIONAL;

    fn put(&self, columns: &mut IterMut<Values>) {
        Value::put(self, columns.next().expect("one for each field"));
    }

    fn get(columns: &mut Iter<Values>, row: usize) -> Option<Self> {
        Value::get(columns.next()?, row)
    }

    fn serialize<S: SerializeStruct>(
        &self,
        [name, _]: [&'static str; 2],
        to: &mut S,
    ) -> Result<(), S::Error> {
        to.serialize_field(name, self)
    }
}

/// The standard error, if it is known.
fn error(estimate: Estimate) -> Option<f64> {
    Some(estimate.standard_error).filter(|error| error.is_finite())
}

impl Held for Option<Estimate> {
    const KIND: Kind = Kind::F64;
    const OPTIONAL: bool = true;

    fn put(&self, columns: &mut IterMut<Values>) {
        Held::put(&self.map(|estimate| estimate.mean), columns);
        Held::put(&self.and_then(error), columns);
    }

    fn get(columns: &mut Iter<Values>, row: usize) -> Option<Self> {
        let (mean, error): (Option<f64>, _) = (Held::get(columns, row)?, Held::get(columns, row)?);
        Some(mean.map(|mean| Estimate::new(mean, error)))
    }

    fn serialize<S: SerializeStruct>(&self, names: [&'static str; 2], to: &mut S) -> Result<(), S::Error> {
        to.serialize_field(names[0], &self.map(|estimate| estimate.mean))?;
        to.serialize_field(names[1], &self.and_then(error))
    }
}

impl Held for Estimate {
    const KIND: Kind = Kind::F64;
    const OPTIONAL: bool = false;

    fn put(&self, columns: &mut IterMut<Values>) {
        Held::put(&Some(*self), columns);
    }

    fn get(columns: &mut Iter<Values>, row: usize) -> Option<Self> {
        <Option<Self> as Held>::get(columns, row)?
    }

    fn serialize<S: SerializeStruct>(&self, names: [&'static str; 2], to: &mut S) -> Result<(), S::Error> {
        Held::serialize(&Some(*self), names, to)
    }
}

/// Columns of which those of standard errors know no more than their names and what there is to say of them: they have
/// the unit of the column before.
pub const fn complete<const N: usize>(mut columns: [Column; N], is_error: [bool; N]) -> [Column; N] {
    let mut i = 1;
    while i < N {
        if is_error[i] {
            columns[i].unit = columns[i - 1].unit;
            if columns[i].meaning.is_empty() {
                columns[i].meaning = "its standard error";
            }
        }
        i += 1;
    }
    columns
}
