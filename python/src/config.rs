//! A config from Python: a path, or a dict with the keys of the file.

use crate::failure::{exception, usage};
use crate::frame::{self, Columns};
use crate::method;
use congenial::failure::Failure;
use congenial::grid::Plan;
use congenial::input::CsvTable;
use congenial::study::{self, Document};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::path::{Path, PathBuf};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

/// A config before it is read.
#[derive(Debug)]
pub struct Given {
    /// The file, or the name of a dict in messages.
    path: PathBuf,
    /// Of a dict.
    text: Option<String>,
    sets: Vec<String>,
    /// The data, where the dict has a frame in the place of a file.
    frame: Option<Columns>,
}

/// The name of a frame in messages and results.
const FRAME: &str = "frame";

impl Given {
    /// `config`: a path or a dict; `sets`: values in place of those of the config, by keys as in `--set`.
    pub fn new(config: &Bound<PyAny>, sets: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let mut overrides = Vec::new();
        for (key, given) in sets.into_iter().flat_map(|sets| sets.iter()) {
            let key = name(&key, "sets")?;
            let given = value(&given, &format!("sets: {key}"))?;
            overrides.push(format!("{key}={}", given.to_string().trim()));
        }
        if let Ok(dict) = config.cast::<PyDict>() {
            let (dict, frame) = without_frame(dict)?;
            let text = Some(document(&dict)?.to_string());
            return Ok(Self { path: PathBuf::from("config"), text, sets: overrides, frame });
        }
        let path: PathBuf = config.extract().map_err(|_| {
            usage(format!(
                "config: got {}, want the path of a TOML file or a dict with its keys",
                kind(config)
            ))
        })?;
        Ok(Self { path, text: None, sets: overrides, frame: None })
    }

    /// Reads and checks it. Of a dict relative paths begin in the current folder.
    fn load(&self) -> Result<Document, Failure> {
        match &self.text {
            Some(text) => study::read(&self.path, text, &self.sets),
            None => study::load(&self.path, &self.sets),
        }
    }
}

/// The dict with a name in the place of a frame that it has as `data.table`; and the columns of that.
fn without_frame<'py>(dict: &Bound<'py, PyDict>) -> PyResult<(Bound<'py, PyDict>, Option<Columns>)> {
    let Some(data) = dict.get_item("data")? else { return Ok((dict.clone(), None)) };
    let Ok(data) = data.cast_into::<PyDict>() else { return Ok((dict.clone(), None)) };
    let Some(table) = data.get_item("table")? else { return Ok((dict.clone(), None)) };
    if table.extract::<PathBuf>().is_ok() || !frame::is_one(&table)? {
        return Ok((dict.clone(), None));
    }
    let columns = frame::columns(&table)?;
    let (dict, data) = (dict.copy()?, data.copy()?);
    data.set_item("table", FRAME)?;
    dict.set_item("data", data)?;
    Ok((dict, Some(columns)))
}

/// The document of a dict: tables and lists of tables at the top, all below in lines.
pub fn document(dict: &Bound<PyDict>) -> PyResult<DocumentMut> {
    let mut document = DocumentMut::new();
    for (key, given) in dict.iter() {
        let key = name(&key, "config")?;
        let item = match given.cast::<PyDict>() {
            Ok(dict) => Item::Table(table(dict, &key)?),
            Err(_) => match tables(&given) {
                Some(dicts) => {
                    let mut all = ArrayOfTables::new();
                    for dict in dicts {
                        all.push(table(&dict, &key)?);
                    }
                    Item::ArrayOfTables(all)
                }
                None => Item::Value(value(&given, &key)?),
            },
        };
        document.insert(&key, item);
    }
    Ok(document)
}

/// The dicts of a list that has nothing else.
fn tables<'py>(given: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyDict>>> {
    let items: Vec<Bound<PyAny>> = given.cast::<PyList>().ok()?.iter().collect();
    let dicts: Option<Vec<_>> = items.into_iter().map(|item| item.cast_into::<PyDict>().ok()).collect();
    dicts.filter(|dicts| !dicts.is_empty())
}

fn table(dict: &Bound<PyDict>, place: &str) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, given) in dict.iter() {
        let key = name(&key, place)?;
        let given = value(&given, &format!("{place}.{key}"))?;
        table.insert(&key, Item::Value(given));
    }
    Ok(table)
}

fn name(key: &Bound<PyAny>, place: &str) -> PyResult<String> {
    key.extract().map_err(|_| usage(format!("{place}: got the key {}, want texts as keys", shown(key))))
}

/// A value. Errors: what TOML has no word for.
fn value(given: &Bound<PyAny>, place: &str) -> PyResult<Value> {
    if let Some(name) = method::registered_name(given) {
        let mut table = InlineTable::new();
        table.insert("kind", "external".into());
        table.insert("name", name.into());
        return Ok(Value::InlineTable(table));
    }
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if given.is_instance_of::<PyInt>() {
        let number: i64 = given
            .extract()
            .map_err(|_| usage(format!("{place}: got {}, want an integer of 64 bits", shown(given))))?;
        return Ok(number.into());
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(given.extract::<f64>()?.into());
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(text.extract::<String>()?.into());
    }
    if let Ok(dict) = given.cast::<PyDict>() {
        let mut table = InlineTable::new();
        for (key, given) in dict.iter() {
            let key = name(&key, place)?;
            let given = value(&given, &format!("{place}.{key}"))?;
            table.insert(&key, given);
        }
        return Ok(Value::InlineTable(table));
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let mut array = Array::new();
        for (i, item) in given.try_iter()?.enumerate() {
            array.push(value(&item?, &format!("{place}[{i}]"))?);
        }
        return Ok(Value::Array(array));
    }
    // Paths, and numbers and arrays of numpy.
    if let Ok(path) = given.extract::<PathBuf>() {
        return Ok(path.to_string_lossy().into_owned().into());
    }
    if let Ok(plain) = given.call_method0("tolist")
        && !plain.is(given)
    {
        return value(&plain, place);
    }
    Err(usage(format!(
        "{place}: got {}, want a text, a number, True or False, a list or a dict (leave a key out for its default)",
        shown(given)
    )))
}

/// A value with its type, for messages.
fn shown(given: &Bound<PyAny>) -> String {
    let text = given.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    format!("{text} ({})", kind(given))
}

fn kind(given: &Bound<PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

impl Given {
    /// Plans the study. Errors: as [`study::plan`].
    pub fn plan(&self) -> Result<Box<dyn study::Planned>, Failure> {
        match self.table()? {
            None => study::plan(self.load()?),
            Some(table) => study::plan_on(self.load()?, table),
        }
    }

    /// Plans the grid. Errors: as [`study::settled`]; a study without one.
    pub fn settled(&self) -> Result<Plan, Failure> {
        match (self.load()?, self.table()?) {
            (Document::Grid(config), None) => study::settled(*config),
            (Document::Grid(config), Some(table)) => study::settled_on(*config, table),
            (Document::Worlds(_), _) => {
                let message = "a study of worlds has no methods to verify; its run checks its statements";
                Err(Failure::Usage(message.into()))
            }
        }
    }

    fn table(&self) -> Result<Option<CsvTable>, Failure> {
        let read = |columns: &Columns| CsvTable::from_columns(Path::new(FRAME), columns);
        self.frame.as_ref().map(read).transpose()
    }
}

/// What is said of the data of a plan, as a warning of Python.
pub fn warn(py: Python, warning: Option<String>) -> PyResult<()> {
    if let Some(text) = warning {
        py.import("warnings")?.call_method1("warn", (text,))?;
    }
    Ok(())
}

/// A failure as an exception.
pub fn raised<T>(result: Result<T, Failure>) -> PyResult<T> {
    result.map_err(exception)
}
