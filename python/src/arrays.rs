//! Arguments that are arrays: anything that `numpy.asarray` takes.

use crate::failure::usage;
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// What numpy makes of a value, and the shape. Errors: what is no array of numbers.
fn array<'py>(given: &Bound<'py, PyAny>, name: &str, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = given.py();
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (given,));
    let array = array.map_err(|_| usage(format!("{name}: want an array of numbers")))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let is = array.getattr("dtype")?.str()?.to_string();
    if !matches!(kind.as_str(), "i" | "u" | "b" | "f") {
        return Err(usage(format!("{name}: got an array of {is}, want numbers")));
    }
    if dtype == "int64" && kind == "f" {
        let whole = numpy.call_method1("array_equal", (&array, numpy.call_method1("trunc", (&array,))?))?;
        if !whole.extract::<bool>()? {
            return Err(usage(format!("{name}: got an array of {is} with values that are no integers")));
        }
    }
    array.call_method1("astype", (dtype,))
}

/// A list of integers. Errors: another shape; what is no integer.
pub fn integers(given: &Bound<PyAny>, name: &str) -> PyResult<Vec<i64>> {
    let array = array(given, name, "int64")?;
    let shape = shape(&array)?;
    let array = array.cast_into::<PyArray1<i64>>();
    let array =
        array.map_err(|_| usage(format!("{name}: got an array of shape {shape}, want one dimension")))?;
    array.to_vec().map_err(|e| usage(format!("{name}: {e}")))
}

/// A matrix of integers, row by row. Errors: another shape; what is no integer.
pub fn matrix(given: &Bound<PyAny>, name: &str) -> PyResult<Vec<Vec<i64>>> {
    let array = array(given, name, "int64")?;
    let shape = shape(&array)?;
    let array = array.cast_into::<PyArray2<i64>>();
    let array =
        array.map_err(|_| usage(format!("{name}: got an array of shape {shape}, want two dimensions")))?;
    let array = array.readonly();
    Ok(array.as_array().rows().into_iter().map(|row| row.to_vec()).collect())
}

/// Rows of `counts` finite numbers, and whether there was one row alone, without a dimension for it. Errors: another shape; what is not finite.
pub fn rows<'py>(
    given: &Bound<'py, PyAny>,
    name: &str,
    counts: usize,
) -> PyResult<(Bound<'py, PyArray2<f64>>, bool)> {
    let array = array(given, name, "float64")?;
    let shape = shape(&array)?;
    let array = array.cast_into::<PyArrayDyn<f64>>().map_err(|_| usage(format!("{name}: want numbers")))?;
    let (alone, fits) = match array.shape() {
        [d] => (true, *d == counts),
        [_, d] => (false, *d == counts),
        _ => (false, false),
    };
    if !fits {
        return Err(usage(format!(
            "{name}: got an array of shape {shape}, want ({counts},) or (n, {counts}): a column for each count"
        )));
    }
    let rows = array.reshape([array.len() / counts.max(1), counts])?;
    {
        let view = rows.readonly();
        let view = view.as_array();
        if let Some(((row, column), x)) = view.indexed_iter().find(|(_, x)| !x.is_finite()) {
            return Err(usage(format!(
                "{name}: got {x} in row {row}, column {column} (from 0), want finite numbers"
            )));
        }
    }
    Ok((rows, alone))
}

/// What a method released: rows of counts, finite or not. Errors: another shape; no numbers.
pub fn released<'py>(
    given: &Bound<'py, PyAny>,
    (rows, counts): (usize, usize),
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let array = array(given, "what it released", "float64")?;
    let shape = shape(&array)?;
    let wrong = || {
        usage(format!(
            "it released an array of shape {shape}, want ({rows}, {counts}): a row for each replicate"
        ))
    };
    let array = array.cast_into::<PyArray2<f64>>().map_err(|_| wrong())?;
    if array.shape() == [rows, counts] { Ok(array) } else { Err(wrong()) }
}

fn shape(array: &Bound<PyAny>) -> PyResult<String> {
    Ok(array.getattr("shape")?.repr()?.to_string())
}
