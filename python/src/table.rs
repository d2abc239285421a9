//! Tables of a run for everything that reads the Arrow PyCapsule interface.

use crate::failure::{exception, usage};
use crate::html;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Schema};
use congenial::failure::Failure;
use congenial::table::{Data, Field, Kind, Reader, Record, Texts, Values};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString};
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of a batch at least, but for the last.
const ROWS: usize = 1 << 16;

/// A table of a run. Its file is read when its rows are asked for, and not kept.
#[pyclass(frozen, module = "congenial")]
pub struct Table {
    #[pyo3(get)]
    name: String,
    source: Source,
    /// Columns, without that in front.
    fields: Vec<Field>,
    front: Option<&'static str>,
    rows: u64,
}

/// Where the rows of a table are.
enum Source {
    /// In files, one behind the other; each with what stands in front of its rows, if the table has that column.
    Files(Vec<(Option<String>, PathBuf)>, Option<View>),
    /// In memory, column by column.
    Held(Vec<Values>),
}

/// Makes the columns of a table out of some rows of a file, and of what stands in front of them.
pub type View = Box<dyn Fn(Option<&str>, &[Values]) -> Result<Vec<Values>, Failure> + Send + Sync>;

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
        Ok(Self { name: name.to_owned(), source: Source::Files(parts, None), fields, front, rows })
    }

    /// The table with more columns behind its own, or others in their place: `fields` are those that the view makes.
    pub fn seen(self, fields: Vec<Field>, view: View) -> Self {
        let source = match self.source {
            Source::Files(parts, _) => Source::Files(parts, Some(view)),
            held => held,
        };
        Self { source, fields, ..self }
    }

    /// The columns, without that in front.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// A table of columns of one length.
    pub fn held(name: &str, fields: Vec<Field>, columns: Vec<Values>) -> Self {
        let rows = columns.first().map_or(0, Values::len) as u64;
        Self { name: name.to_owned(), source: Source::Held(columns), fields, front: None, rows }
    }

    /// A table of rows.
    pub fn records<R: Record>(name: &str, rows: &[R]) -> Self {
        let fields = R::fields();
        let mut columns: Vec<Values> =
            fields.iter().map(|f| Values::new(f.kind, f.optional, rows.len())).collect();
        rows.iter().for_each(|row| row.put(&mut columns));
        Self::held(name, fields, columns)
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

    /// Reads the columns with these names, at least `batch` rows at a time, as long as `each` returns true.
    fn read(
        &self,
        wanted: impl Fn(&str) -> bool,
        batch: usize,
        mut each: impl FnMut(Vec<Values>) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let all: Vec<Field> = self.all().into_iter().filter(|field| wanted(&field.name)).collect();
        let empty = || all.iter().map(|f| Values::new(f.kind, f.optional, 0)).collect::<Vec<_>>();
        let (parts, view) = match &self.source {
            Source::Files(parts, view) => (parts, view),
            Source::Held(columns) => {
                let taken = columns.iter().zip(&self.fields).filter(|(_, field)| wanted(&field.name));
                return each(taken.map(|(column, _)| column.clone()).collect()).map(|_| ());
            }
        };
        let (mut kept, mut rows, mut goes_on) = (empty(), 0, true);
        for (name, path) in parts {
            Reader::open(path)?.groups(|columns| {
                let made = view.as_ref().map(|view| view(name.as_deref(), columns)).transpose()?;
                let columns = made.as_deref().unwrap_or(columns);
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
                if rows >= batch {
                    goes_on = each(std::mem::replace(&mut kept, empty()))?;
                    rows = 0;
                }
                Ok(goes_on)
            })?;
            if !goes_on {
                return Ok(());
            }
        }
        if rows > 0 { each(kept).map(|_| ()) } else { Ok(()) }
    }

    /// Columns with these names whole, without the interpreter.
    fn whole(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Values>, Failure> {
        let all = self.all();
        let named = all.iter().filter(|field| wanted(&field.name));
        let mut whole: Vec<Values> = named.map(|f| Values::new(f.kind, f.optional, 0)).collect();
        self.read(wanted, ROWS, |columns| {
            whole.iter_mut().zip(&columns).for_each(|(to, from)| extend(to, from));
            Ok(true)
        })?;
        Ok(whole)
    }

    /// The first rows, in memory.
    fn first(&self, rows: usize) -> Result<Self, Failure> {
        let mut columns: Vec<Values> =
            self.all().iter().map(|f| Values::new(f.kind, f.optional, 0)).collect();
        if rows > 0 {
            self.read(
                |_| true,
                rows,
                |read| {
                    columns = read.iter().map(|column| begin(column, rows)).collect();
                    Ok(false)
                },
            )?;
        }
        Ok(Self::held(&self.name, self.all(), columns))
    }
}

/// The first values of a column.
fn begin(values: &Values, rows: usize) -> Values {
    let rows = rows.min(values.len());
    let data = match &values.data {
        Data::U32(data) => Data::U32(data[..rows].to_vec()),
        Data::U64(data) => Data::U64(data[..rows].to_vec()),
        Data::I64(data) => Data::I64(data[..rows].to_vec()),
        Data::F64(data) => Data::F64(data[..rows].to_vec()),
        Data::Bool(data) => Data::Bool(data[..rows].to_vec()),
        Data::Text(texts) => {
            let mut some = Texts::default();
            (0..rows).for_each(|row| some.push(texts.bytes(row)));
            Data::Text(some)
        }
    };
    Values { data, present: values.present.as_ref().map(|present| present[..rows].to_vec()) }
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

/// A column for Python: an array of numpy, with nan for null (integers are real then); of texts a list, with None for null.
fn plain(py: Python, values: Values) -> PyResult<Bound<PyAny>> {
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

/// Goes through the rows of a table.
#[pyclass(module = "congenial")]
struct Rows {
    names: Vec<Py<PyString>>,
    columns: Vec<Py<PyList>>,
    next: usize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<Self>) -> PyRef<Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.columns.first().is_none_or(|column| self.next >= column.bind(py).len()) {
            return Ok(None);
        }
        let row = PyDict::new(py);
        for (name, column) in self.names.iter().zip(&self.columns) {
            row.set_item(name, column.bind(py).get_item(self.next)?)?;
        }
        self.next += 1;
        Ok(Some(row))
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
        plain(py, values)
    }

    /// The rows, each as a dict with its values by column, and None for null.
    fn __iter__(&self, py: Python) -> PyResult<Rows> {
        let whole = py.detach(|| self.whole(|_| true)).map_err(exception)?;
        let names = self.all().iter().map(|field| PyString::new(py, &field.name).unbind()).collect();
        let columns = whole.iter().map(|values| Ok(list(py, values)?.unbind()));
        Ok(Rows { names, columns: columns.collect::<PyResult<_>>()?, next: 0 })
    }

    /// The first rows, as a table in memory.
    #[pyo3(signature = (rows=10))]
    fn head(&self, py: Python, rows: usize) -> PyResult<Self> {
        py.detach(|| self.first(rows)).map_err(exception)
    }

    /// The table as a frame of pandas: columns as `[]` gives them. Errors: an `ImportError` without pandas.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = py.import("pandas")?;
        let whole = py.detach(|| self.whole(|_| true)).map_err(exception)?;
        let dict = PyDict::new(py);
        for (field, values) in self.all().iter().zip(whole) {
            dict.set_item(&field.name, plain(py, values)?)?;
        }
        pandas.call_method1("DataFrame", (dict,))
    }

    /// The table as a frame of polars. Errors: an `ImportError` without polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// The table as one of pyarrow. Errors: an `ImportError` without pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// The first rows and the shape, for notebooks.
    fn _repr_html_(&self, py: Python) -> PyResult<String> {
        let shown = py.detach(|| self.first(html::ROWS)).map_err(exception)?;
        let Source::Held(columns) = &shown.source else { unreachable!("the first rows are in memory") };
        let mut lists = Vec::new();
        for values in columns.iter().take(html::COLUMNS) {
            let texts = list(py, values)?.iter().map(|value| match value.is_none() {
                true => Ok(String::new()),
                false => Ok(value.str()?.to_string()),
            });
            lists.push(texts.collect::<PyResult<Vec<String>>>()?);
        }
        let (rows, header) = (self.rows, self.columns());
        Ok(html::table(&self.name, rows, &header, &lists))
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
                ROWS,
                |columns| {
                    let arrays = columns.into_iter().map(array).collect();
                    batches.push(RecordBatch::try_new(schema.clone(), arrays));
                    Ok(true)
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
