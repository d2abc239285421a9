//! Tables of a run for everything that reads the Arrow PyCapsule interface.

use crate::failure::{exception, usage};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Schema};
use congenial::failure::Failure;
use congenial::table::{Data, Field, Kind, Reader, Texts, Values};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of a batch at least, but for the last.
const ROWS: usize = 1 << 16;

/// A table of a run. Its file is read when its rows are asked for, and not kept.
#[pyclass(frozen, module = "congenial")]
pub struct Table {
    #[pyo3(get)]
    name: String,
    /// Files, one behind the other; each with what stands in front of its rows, if the table has that column.
    parts: Vec<(Option<String>, PathBuf)>,
    /// Columns, without that in front.
    fields: Vec<Field>,
    front: Option<&'static str>,
    rows: u64,
}

impl Table {
    /// Opens a table of one file.
    pub fn open(name: &str, path: PathBuf) -> Result<Self, Failure> {
        Self::of(name, None, vec![(None, path)])
    }

    /// Opens a table of several files with the same names of columns; `front`: the name of a column in front, which tells
    /// the file. Numbers that are integers in one and real in another are real.
    pub fn of(
        name: &str,
        front: Option<&'static str>,
        parts: Vec<(Option<String>, PathBuf)>,
    ) -> Result<Self, Failure> {
        let mut fields: Vec<Field> = Vec::new();
        let mut rows = 0;
        for (_, path) in &parts {
            let reader = Reader::open(path)?;
            rows += reader.rows();
            if fields.is_empty() {
                fields = reader.fields().to_vec();
            }
            let same = fields.len() == reader.fields().len()
                && fields.iter().zip(reader.fields()).all(|(one, other)| one.name == other.name);
            if !same {
                return Err(Failure::data(path, "it has other columns than the first of these files"));
            }
            for (field, other) in fields.iter_mut().zip(reader.fields()) {
                field.optional |= other.optional;
                if field.kind != other.kind {
                    field.kind = Kind::F64;
                }
            }
        }
        Ok(Self { name: name.to_owned(), parts, fields, front, rows })
    }

    fn schema(&self) -> Schema {
        let field = |field: &Field| {
            let kind = match field.kind {
                Kind::U32 => DataType::UInt32,
                Kind::U64 => DataType::UInt64,
                Kind::I64 => DataType::Int64,
                Kind::F64 => DataType::Float64,
                Kind::Bool => DataType::Boolean,
                Kind::Text => DataType::Utf8,
            };
            arrow_schema::Field::new(&field.name, kind, field.optional)
        };
        Schema::new(self.all().iter().map(field).collect::<Vec<_>>())
    }

    /// All columns.
    fn all(&self) -> Vec<Field> {
        let front = self.front.map(|name| Field::new(name, Kind::Text));
        front.into_iter().chain(self.fields.iter().cloned()).collect()
    }

    /// Reads the columns with these names, some rows at a time.
    fn read(
        &self,
        wanted: impl Fn(&str) -> bool,
        mut each: impl FnMut(Vec<Values>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let all: Vec<Field> = self.all().into_iter().filter(|field| wanted(&field.name)).collect();
        let empty = || all.iter().map(|f| Values::new(f.kind, f.optional, 0)).collect::<Vec<_>>();
        let mut kept = empty();
        let mut rows = 0;
        for (name, path) in &self.parts {
            Reader::open(path)?.groups(|columns| {
                let read = columns.first().map_or(0, Values::len);
                let mut kept_columns = kept.iter_mut();
                if self.front.is_some_and(&wanted)
                    && let Some(column) = kept_columns.next()
                {
                    let name = name.as_deref().unwrap_or_default();
                    (0..read).for_each(|_| column.put_text(name.as_bytes()));
                }
                let taken = columns.iter().zip(&self.fields).filter(|(_, field)| wanted(&field.name));
                kept_columns.zip(taken).for_each(|(to, (from, _))| extend(to, from));
                rows += read;
                if rows >= ROWS {
                    each(std::mem::replace(&mut kept, empty()))?;
                    rows = 0;
                }
                Ok(true)
            })?;
        }
        if rows > 0 { each(kept) } else { Ok(()) }
    }

    /// Columns with these names whole, without the interpreter.
    fn whole(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Values>, Failure> {
        let all = self.all();
        let named = all.iter().filter(|field| wanted(&field.name));
        let mut whole: Vec<Values> = named.map(|f| Values::new(f.kind, f.optional, 0)).collect();
        self.read(wanted, |columns| {
            whole.iter_mut().zip(&columns).for_each(|(to, from)| extend(to, from));
            Ok(())
        })?;
        Ok(whole)
    }
}

/// Appends the values of a column of the same kind, or integers to real ones.
fn extend(to: &mut Values, from: &Values) {
    let rows = from.len();
    match (&mut to.data, &from.data) {
        (Data::U32(to), Data::U32(from)) => to.extend_from_slice(from),
        (Data::U64(to), Data::U64(from)) => to.extend_from_slice(from),
        (Data::I64(to), Data::I64(from)) => to.extend_from_slice(from),
        (Data::F64(to), Data::F64(from)) => to.extend_from_slice(from),
        (Data::Bool(to), Data::Bool(from)) => to.extend_from_slice(from),
        (Data::Text(to), Data::Text(from)) => (0..rows).for_each(|row| to.push(from.bytes(row))),
        (Data::F64(to), Data::I64(from)) => to.extend(from.iter().map(|&x| x as f64)),
        (Data::F64(to), Data::U64(from)) => to.extend(from.iter().map(|&x| x as f64)),
        (Data::F64(to), Data::U32(from)) => to.extend(from.iter().map(|&x| f64::from(x))),
        _ => unreachable!("kinds are those of the table, or real"),
    }
    if let Some(present) = &mut to.present {
        match &from.present {
            Some(from) => present.extend_from_slice(from),
            None => present.extend(std::iter::repeat_n(true, rows)),
        }
    }
}

fn array(values: Values) -> ArrayRef {
    let nulls = values.present.clone().map(Into::into);
    match values.data {
        Data::U32(data) => Arc::new(UInt32Array::new(data.into(), nulls)),
        Data::U64(data) => Arc::new(UInt64Array::new(data.into(), nulls)),
        Data::I64(data) => Arc::new(Int64Array::new(data.into(), nulls)),
        Data::F64(data) => Arc::new(Float64Array::new(data.into(), nulls)),
        Data::Bool(data) => Arc::new(BooleanArray::new(data.into(), nulls)),
        Data::Text(texts) => {
            let there = |row: usize| values.present.as_ref().is_none_or(|present| present[row]);
            let all = texts.iter().enumerate().map(|(row, text)| there(row).then_some(text));
            Arc::new(all.collect::<StringArray>())
        }
    }
}

/// A list of Python, with `None` for null.
fn list<'py>(py: Python<'py>, values: &Values) -> PyResult<Bound<'py, PyList>> {
    let there = |row: usize| values.present.as_ref().is_none_or(|present| present[row]);
    fn all<'py, T: Copy + IntoPyObject<'py>>(
        py: Python<'py>,
        data: &[T],
        there: impl Fn(usize) -> bool,
    ) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, data.iter().enumerate().map(|(row, &x)| there(row).then_some(x)).collect::<Vec<_>>())
    }
    match &values.data {
        Data::U32(data) => all(py, data, there),
        Data::U64(data) => all(py, data, there),
        Data::I64(data) => all(py, data, there),
        Data::F64(data) => all(py, data, there),
        Data::Bool(data) => all(py, data, there),
        Data::Text(texts) => PyList::new(
            py,
            texts_of(texts).enumerate().map(|(row, text)| there(row).then_some(text)).collect::<Vec<_>>(),
        ),
    }
}

fn texts_of(texts: &Texts) -> impl Iterator<Item = &str> {
    texts.iter()
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.all().into_iter().map(|field| field.name).collect()
    }

    fn __len__(&self) -> usize {
        self.rows as usize
    }

    fn __repr__(&self) -> String {
        format!("<Table {}: {} rows, {} columns>", self.name, self.rows, self.all().len())
    }

    /// A column: an array of numpy, with nan for null (integers are real then); of texts a list, with None for null.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        if !self.columns().iter().any(|name| name == column) {
            let message =
                format!("{}: no column `{column}`; it has {}", self.name, self.columns().join(", "));
            return Err(usage(message));
        }
        let mut whole = py.detach(|| self.whole(|name| name == column)).map_err(exception)?;
        let Some(values) = whole.pop() else { unreachable!("it is there") };
        if let (Some(present), false) = (&values.present, matches!(values.data, Data::Text(_))) {
            let mut real = Values::new(Kind::F64, true, 0);
            if let Data::Bool(flags) = &values.data {
                real.data = Data::F64(flags.iter().map(|&flag| f64::from(u8::from(flag))).collect());
            } else {
                extend(&mut real, &values);
            }
            if let Data::F64(mut data) = real.data {
                data.iter_mut().zip(present).filter(|(_, there)| !**there).for_each(|(x, _)| *x = f64::NAN);
                return Ok(PyArray1::from_vec(py, data).into_any());
            }
        }
        Ok(match values.data {
            Data::U32(data) => PyArray1::from_vec(py, data).into_any(),
            Data::U64(data) => PyArray1::from_vec(py, data).into_any(),
            Data::I64(data) => PyArray1::from_vec(py, data).into_any(),
            Data::F64(data) => PyArray1::from_vec(py, data).into_any(),
            Data::Bool(data) => PyArray1::from_vec(py, data).into_any(),
            Data::Text(_) => list(py, &values)?.into_any(),
        })
    }

    /// All columns as lists, with None for null.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let whole = py.detach(|| self.whole(|_| true)).map_err(exception)?;
        let dict = PyDict::new(py);
        for (field, values) in self.all().iter().zip(&whole) {
            dict.set_item(&field.name, list(py, values)?)?;
        }
        Ok(dict)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema()).map_err(|e| arrow(&e))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows as a stream. Another schema than its own is not made: whoever asks for one casts.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = Arc::new(self.schema());
        let mut batches: Vec<Result<RecordBatch, ArrowError>> = Vec::new();
        py.detach(|| {
            self.read(
                |_| true,
                |columns| {
                    let arrays = columns.into_iter().map(array).collect();
                    batches.push(RecordBatch::try_new(schema.clone(), arrays));
                    Ok(())
                },
            )
        })
        .map_err(exception)?;
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn arrow(error: &ArrowError) -> PyErr {
    usage(error.to_string())
}
