//! A data frame of anybody's as columns of texts: what the readers of data files take.

use crate::arrays::{room, size};
use crate::failure::usage;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{ArrowError, DataType};
use congenial::failure::Failure;
use congenial::input::{CsvTable, Wanted};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyFloat};
use std::path::Path;

/// Columns: names, and values row by row; none for null.
pub type Columns = Vec<(String, Vec<Option<String>>)>;

/// Bytes of a value as a text, at least.
const TEXT: u128 = 32;

/// A frame: its columns, and those whose type no data have, with why.
#[derive(Debug, Default)]
pub struct Frame {
    columns: Columns,
    refused: Vec<(String, String)>,
}

impl Frame {
    /// The table with what is wanted of it. Errors: as [`CsvTable::from_columns`]; a type that no data have.
    pub fn table(&self, path: &Path, wanted: &Wanted) -> Result<CsvTable, Failure> {
        match self.refused.iter().find(|(name, _)| wanted.takes(name)) {
            Some((_, why)) => Err(Failure::Usage(why.clone())),
            None => CsvTable::from_columns(path, &self.columns, wanted),
        }
    }
}

/// Whether something is a frame at all.
pub fn is_one(given: &Bound<PyAny>) -> PyResult<bool> {
    Ok(given.is_instance_of::<PyDict>()
        || given.hasattr("__arrow_c_stream__")?
        || given.hasattr("to_dict")?)
}

/// The columns of a dict of lists or arrays, or of a frame that has the Arrow PyCapsule interface, or `to_dict`.
pub fn read(frame: &Bound<PyAny>) -> PyResult<Frame> {
    if let Ok(dict) = frame.cast::<PyDict>() {
        return of_dict(dict);
    }
    if frame.hasattr("__arrow_c_stream__")? {
        match frame.call_method0("__arrow_c_stream__") {
            Ok(capsule) => return of_stream(&capsule.cast_into::<PyCapsule>()?),
            // pandas has the interface where pyarrow is installed.
            Err(error) if error.is_instance_of::<PyImportError>(frame.py()) => {}
            Err(error) => return Err(error),
        }
    }
    if frame.hasattr("to_dict")?
        && let Ok(dict) = frame.call_method1("to_dict", ("list",))?.cast::<PyDict>()
    {
        return of_dict(dict);
    }
    let kind = frame.get_type().name()?;
    Err(usage(format!(
        "frame: got {kind}, want a dict of columns or a frame with the Arrow PyCapsule interface (polars, pandas, pyarrow)"
    )))
}

fn of_dict(dict: &Bound<PyDict>) -> PyResult<Frame> {
    let mut columns = Columns::new();
    for (name, values) in dict.iter() {
        let name: String = name.extract().map_err(|_| usage("frame: want texts as names of columns"))?;
        room("frame", TEXT * size(&values, &format!("frame: `{name}`"), 0)?)?;
        let values = values.try_iter().map_err(|_| usage(format!("frame: `{name}` is no list of values")))?;
        let mut texts = Vec::new();
        for value in values {
            let value = value?;
            texts.push(match value.cast::<PyFloat>() {
                // As Arrow's columns say it.
                Ok(number) => Some(number.value()).filter(|x| !x.is_nan()).map(|x| x.to_string()),
                Err(_) if value.is_none() => None,
                Err(_) => {
                    let text = value.str();
                    // Lists in lists have none.
                    let text =
                        text.map_err(|_| usage(format!("frame: `{name}`: got a value that has no text")))?;
                    Some(text.to_string())
                }
            });
        }
        columns.push((name, texts));
    }
    Ok(Frame { columns, refused: Vec::new() })
}

fn of_stream(capsule: &Bound<PyCapsule>) -> PyResult<Frame> {
    let wrong = |e: ArrowError| usage(format!("frame: cannot be read: {e}"));
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: the capsule has the name that the Arrow PyCapsule interface gives to one that holds an
    // `ArrowArrayStream`, and its caller holds it. The stream is moved out, and what is left is marked as released, as
    // the interface asks of a consumer.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast::<FFI_ArrowArrayStream>().as_ptr()) };
    let reader = RecordBatchStreamReader::try_new(stream).map_err(wrong)?;
    let (mut columns, mut refused) = (Columns::new(), Vec::<(String, String)>::new());
    for batch in reader {
        let batch = batch.map_err(wrong)?;
        if columns.is_empty() {
            columns =
                batch.schema().fields().iter().map(|field| (field.name().clone(), Vec::new())).collect();
        }
        for ((name, texts), array) in columns.iter_mut().zip(batch.columns()) {
            if let Err(why) = add(name, array.as_ref(), texts) {
                texts.resize(texts.len() + array.len(), None);
                if refused.iter().all(|(other, _)| other != name) {
                    refused.push((name.clone(), why));
                }
            }
        }
    }
    Ok(Frame { columns, refused })
}

/// Appends the values of an array as texts. Errors: a type that no data have.
fn add(name: &str, array: &dyn Array, texts: &mut Vec<Option<String>>) -> Result<(), String> {
    fn numbers<T: ArrowPrimitiveType<Native: ToString>>(array: &dyn Array, texts: &mut Vec<Option<String>>) {
        texts.extend(array.as_primitive::<T>().iter().map(|value| value.map(|value| value.to_string())));
    }
    let text = |value: Option<&str>| value.map(str::to_owned);
    match array.data_type() {
        DataType::Int8 => numbers::<Int8Type>(array, texts),
        DataType::Int16 => numbers::<Int16Type>(array, texts),
        DataType::Int32 => numbers::<Int32Type>(array, texts),
        DataType::Int64 => numbers::<Int64Type>(array, texts),
        DataType::UInt8 => numbers::<UInt8Type>(array, texts),
        DataType::UInt16 => numbers::<UInt16Type>(array, texts),
        DataType::UInt32 => numbers::<UInt32Type>(array, texts),
        DataType::UInt64 => numbers::<UInt64Type>(array, texts),
        DataType::Float32 => numbers::<Float32Type>(array, texts),
        DataType::Float64 => numbers::<Float64Type>(array, texts),
        DataType::Utf8 => texts.extend(array.as_string::<i32>().iter().map(text)),
        DataType::LargeUtf8 => texts.extend(array.as_string::<i64>().iter().map(text)),
        DataType::Utf8View => texts.extend(array.as_string_view().iter().map(text)),
        DataType::Boolean => {
            texts.extend(array.as_boolean().iter().map(|value| value.map(|value| value.to_string())));
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let mut names = Vec::new();
            add(name, dictionary.values().as_ref(), &mut names)?;
            let keys = dictionary.normalized_keys();
            texts.extend(keys.iter().enumerate().map(|(row, &key)| {
                if dictionary.keys().is_null(row) { None } else { names.get(key).cloned().flatten() }
            }));
        }
        other => {
            return Err(format!("frame: column `{name}` has the type {other}, want texts or integers"));
        }
    }
    Ok(())
}
