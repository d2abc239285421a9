//! Numbers and arrays of the caller's: anything that `numpy.asarray` takes, by one entrance.
//!
//! A number is finite and at most 2^53 in size, so that a float holds every integer exactly, and integers of any type
//! are what they say. Refused are other types than numbers, masked arrays, and what does not fit into memory, before
//! memory is asked for.

use crate::failure::usage;
use congenial::machine::free_memory;
use numpy::{PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList, PyTuple};

/// Numbers are at most this in size, as counts of data files are.
const MOST: f64 = 9_007_199_254_740_992.0;
/// The absolute values of a row sum up to at most this, so that sums of some of them have 64 bits.
const MOST_OF_ROW: f64 = 1_152_921_504_606_846_976.0;
/// Bytes for which nobody looks whether they are there.
const LITTLE: u128 = 1 << 24;
/// Bytes that are taken for a number of an argument: a copy, and what is made of it.
const EACH: u128 = 32;

/// Refuses what takes more bytes than are left. Errors: `MemoryError`.
pub fn room(name: &str, bytes: u128) -> PyResult<()> {
    match free_memory().filter(|_| bytes > LITTLE) {
        Some(left) if bytes > u128::from(left) => {
            let (wanted, left) = (shown(bytes), shown(u128::from(left)));
            Err(PyMemoryError::new_err(format!(
                "{name}: it would take about {wanted} of memory, {left} are left"
            )))
        }
        _ => Ok(()),
    }
}

fn shown(bytes: u128) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// How many things there are in an array, a list or whatever else has a length, before anything is made of it. Lists
/// are looked into as deep as arrays have dimensions here. Errors: an array with a mask.
pub fn size(given: &Bound<PyAny>, name: &str, depth: usize) -> PyResult<u128> {
    let masked = given.py().import("numpy.ma")?.getattr("MaskedArray")?;
    fn of(given: &Bound<PyAny>, masked: &Bound<PyAny>, name: &str, depth: usize) -> PyResult<u128> {
        // Quickly: lists have many.
        if given.is_exact_instance_of::<PyInt>() || given.is_exact_instance_of::<PyFloat>() {
            return Ok(1);
        }
        if given.is_instance(masked)? {
            return Err(usage(format!(
                "{name}: got a masked array, want an array without a mask (`.filled(...)` gives one)"
            )));
        }
        if depth > 0 && (given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>()) {
            let mut all = 0;
            for item in given.try_iter()? {
                all += of(&item?, masked, name, depth - 1)?;
            }
            return Ok(all);
        }
        let size = given.getattr("size").and_then(|size| size.extract::<u128>());
        Ok(size.or_else(|_| given.len().map(|length| length as u128)).unwrap_or(1))
    }
    of(given, &masked, name, depth)
}

/// What numpy makes of a value, if it is an array of numbers without a mask: `i`, `u`, `b` or `f`, and its type in words.
fn array<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<(Bound<'py, PyAny>, char, String)> {
    let py = given.py();
    room(name, EACH * size(given, name, 2)?)?;
    let array = py.import("numpy")?.call_method1("asarray", (given,)).map_err(|error| match error
        .is_instance_of::<PyMemoryError>(
        py,
    ) {
        true => error,
        false => usage(format!("{name}: want an array of numbers")),
    })?;
    let dtype = array.getattr("dtype")?;
    let kind: char = dtype.getattr("kind")?.extract()?;
    let is = dtype.str()?.to_string();
    if !matches!(kind, 'i' | 'u' | 'b' | 'f') {
        return Err(usage(format!("{name}: got an array of {is}, want numbers")));
    }
    Ok((array, kind, is))
}

/// Numbers in the order of rows, with their shape.
struct Numbers {
    values: Vec<f64>,
    shape: Vec<usize>,
    /// As numpy writes it.
    shown: String,
}

/// Errors: no array of numbers; a number that is not finite, or beyond 2^53; where integers are wanted, others.
fn numbers(given: &Bound<PyAny>, name: &str, integers: bool) -> PyResult<Numbers> {
    let (array, kind, is) = array(given, name)?;
    let shown = array.getattr("shape")?.repr()?.to_string();
    let beyond = |x: String| usage(format!("{name}: got {x}, want numbers up to 2^53 in size"));
    // Rows in their order, whatever the order in memory.
    fn all<T: numpy::Element + Copy>(array: &Bound<PyAny>, dtype: &str) -> PyResult<(Vec<T>, Vec<usize>)> {
        let array = array.call_method1("astype", (dtype,))?.cast_into::<PyArrayDyn<T>>()?;
        let shape = array.shape().to_vec();
        let array = array.readonly();
        Ok((array.as_array().iter().copied().collect(), shape))
    }
    let (values, shape) = match kind {
        'u' => {
            let (values, shape) = all::<u64>(&array, "uint64")?;
            if let Some(x) = values.iter().find(|x| **x > MOST as u64) {
                return Err(beyond(x.to_string()));
            }
            (values.into_iter().map(|x| x as f64).collect(), shape)
        }
        'f' => all::<f64>(&array, "float64")?,
        _ => {
            let (values, shape) = all::<i64>(&array, "int64")?;
            if let Some(x) = values.iter().find(|x| x.unsigned_abs() > MOST as u64) {
                return Err(beyond(x.to_string()));
            }
            (values.into_iter().map(|x| x as f64).collect(), shape)
        }
    };
    if integers && values.iter().any(|x| !(x.is_finite() && *x == x.trunc())) {
        return Err(usage(format!("{name}: got an array of {is} with values that are no integers")));
    }
    if let Some(place) = values.iter().position(|x| !x.is_finite()) {
        let x = values[place];
        let place = match &shape[..] {
            [_, columns] => format!("row {}, column {}", place / columns, place % columns),
            _ => format!("place {place}"),
        };
        return Err(usage(format!("{name}: got {x} in {place} (from 0), want finite numbers")));
    }
    match values.iter().find(|x| x.abs() > MOST) {
        Some(x) => Err(beyond(format!("{x:e}"))),
        None => Ok(Numbers { values, shape, shown }),
    }
}

/// A list of integers. Errors: another shape; what is no integer, or beyond 2^53.
pub fn integers(given: &Bound<PyAny>, name: &str) -> PyResult<Vec<i64>> {
    let Numbers { values, shape, shown } = numbers(given, name, true)?;
    match shape.len() {
        1 => Ok(values.into_iter().map(|x| x as i64).collect()),
        _ => Err(usage(format!("{name}: got an array of shape {shown}, want one dimension"))),
    }
}

/// A number, as one for all, or a list of them. Errors: another shape; what is not finite, or beyond 2^53.
pub fn reals(given: &Bound<PyAny>, name: &str) -> PyResult<Vec<f64>> {
    let Numbers { values, shape, shown } = numbers(given, name, false)?;
    match shape.len() {
        0 | 1 => Ok(values),
        _ => Err(usage(format!("{name}: got an array of shape {shown}, want one dimension"))),
    }
}

/// A matrix of integers, row by row. Errors: another shape; what is no integer, or beyond 2^53.
pub fn matrix(given: &Bound<PyAny>, name: &str) -> PyResult<Vec<Vec<i64>>> {
    let Numbers { values, shape, shown } = numbers(given, name, true)?;
    match shape[..] {
        // Without columns there is nothing.
        [_, columns] => {
            let row = |row: &[f64]| row.iter().map(|&x| x as i64).collect();
            Ok(values.chunks(columns.max(1)).map(row).collect())
        }
        _ => Err(usage(format!("{name}: got an array of shape {shown}, want two dimensions"))),
    }
}

/// Rows of numbers, one behind the other.
pub struct Rows {
    pub values: Vec<f64>,
    /// How many.
    pub rows: usize,
    /// Whether there was one alone, without a dimension for it.
    pub alone: bool,
}

/// Rows of `counts` numbers. Errors: another shape; what is not finite, or beyond 2^53; a row whose absolute values sum
/// up to more than 2^60.
pub fn rows(given: &Bound<PyAny>, name: &str, counts: usize) -> PyResult<Rows> {
    let Numbers { values, shape, shown } = numbers(given, name, false)?;
    let (rows, alone) = match shape[..] {
        [d] if d == counts => (1, true),
        [n, d] if d == counts => (n, false),
        _ => {
            return Err(usage(format!(
                "{name}: got an array of shape {shown}, want ({counts},) or (n, {counts}): a column for each count"
            )));
        }
    };
    let size = |row: &[f64]| row.iter().map(|x| x.abs()).sum::<f64>();
    match values.chunks(counts.max(1)).position(|row| size(row) > MOST_OF_ROW) {
        Some(row) => Err(usage(format!(
            "{name}: the absolute values of row {row} (from 0) sum up to more than 2^60, so that sums of its integers leave 64 bits"
        ))),
        None => Ok(Rows { values, rows, alone }),
    }
}

/// What a method released: rows of counts, finite or not. Errors: another shape; no numbers; a mask.
pub fn released<'py>(
    given: &Bound<'py, PyAny>,
    (rows, counts): (usize, usize),
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (array, ..) = array(given, "what it released")?;
    let shape = array.getattr("shape")?.repr()?.to_string();
    let wrong = || {
        usage(format!(
            "it released an array of shape {shape}, want ({rows}, {counts}): a row for each replicate"
        ))
    };
    let array = array.call_method1("astype", ("float64",))?;
    let array = array.cast_into::<PyArray2<f64>>().map_err(|_| wrong())?;
    if array.shape() == [rows, counts] { Ok(array) } else { Err(wrong()) }
}
