//! A config from Python: a path, or a dict with the keys of the file.

use crate::arrays::size;
use crate::failure::{exception, usage};
use crate::frame::{self, Frame};
use crate::method;
use congenial::config::Config;
use congenial::design::Goal;
use congenial::failure::Failure;
use congenial::grid::{Plan, wanted};
use congenial::input::CsvTable;
use congenial::optimise::{self, Optimised};
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
    /// The text of a dict; `None` of a file.
    text: Option<String>,
    sets: Vec<String>,
    /// By data set the data, where the dict has a frame in the place of a file.
    frames: Vec<Option<Frame>>,
}

/// The name of a frame in messages and results.
const FRAME: &str = "frame";
/// Dicts and lists in one another, and values of a config, at most.
const DEEPEST: usize = 32;
const MOST_VALUES: usize = 1_000_000;
/// Characters of a value in a message.
const SHOWN: usize = 200;

/// How many more values a config may have.
struct Left(usize);

impl Left {
    /// Takes some. Errors: too many, or too deep.
    fn take(&mut self, values: usize, deep: usize, place: &str) -> PyResult<()> {
        if deep > DEEPEST {
            // The place grows with the depth.
            let place: String = place.chars().take(SHOWN).collect();
            return Err(usage(format!(
                "{place}…: dicts and lists are nested deeper than {DEEPEST}, or hold themselves"
            )));
        }
        match self.0.checked_sub(values) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err(usage(format!(
                "{place}: the config has more than {MOST_VALUES} values; data go into `table`"
            ))),
        }
    }
}

impl Given {
    /// `config`: a path or a dict; `sets`: values in place of those of the config, by keys as in `--set`.
    pub fn new(config: &Bound<PyAny>, sets: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let mut overrides = Vec::new();
        let mut left = Left(MOST_VALUES);
        for (key, given) in sets.into_iter().flat_map(|sets| sets.iter()) {
            let key = name(&key, "sets")?;
            let given = value(&given, &format!("sets: {key}"), &mut left, 0)?;
            overrides.push(format!("{key}={}", given.to_string().trim()));
        }
        if let Ok(dict) = config.cast::<PyDict>() {
            let (dict, frames) = without_frames(dict)?;
            let text = Some(document(&dict)?.to_string());
            return Ok(Self { path: PathBuf::from("config"), text, sets: overrides, frames });
        }
        let path: PathBuf = config.extract().map_err(|_| {
            usage(format!(
                "config: got {}, want the path of a TOML file or a dict with its keys",
                kind(config)
            ))
        })?;
        Ok(Self { path, text: None, sets: overrides, frames: Vec::new() })
    }

    /// Reads and checks it. Of a dict relative paths begin in the current folder.
    fn load(&self) -> Result<Document, Failure> {
        match &self.text {
            Some(text) => study::read(&self.path, text, &self.sets),
            None => study::load(&self.path, &self.sets),
        }
    }
}

/// The dict with a name in the place of every frame that it has as `table` of `data`, or of one of several data sets;
/// and the columns of those, none if there is no frame.
fn without_frames<'py>(dict: &Bound<'py, PyDict>) -> PyResult<(Bound<'py, PyDict>, Vec<Option<Frame>>)> {
    let as_it_is = || Ok((dict.clone(), Vec::new()));
    let Some(data) = dict.get_item("data")? else { return as_it_is() };
    let (plain, frames): (Bound<PyAny>, Vec<Option<Frame>>) = if let Ok(one) = data.cast::<PyDict>() {
        let (plain, frame) = without_frame(one)?;
        (plain.into_any(), vec![frame])
    } else if let Some(sets) = tables(&data) {
        let sets: Vec<_> = sets.iter().map(without_frame).collect::<PyResult<_>>()?;
        let (plain, frames): (Vec<_>, Vec<_>) = sets.into_iter().unzip();
        (PyList::new(dict.py(), plain)?.into_any(), frames)
    } else {
        return as_it_is();
    };
    if frames.iter().all(Option::is_none) {
        return as_it_is();
    }
    let dict = dict.copy()?;
    dict.set_item("data", plain)?;
    Ok((dict, frames))
}

/// A data set of a dict without the frame that it may have in the place of a file, and that frame.
fn without_frame<'py>(data: &Bound<'py, PyDict>) -> PyResult<(Bound<'py, PyDict>, Option<Frame>)> {
    let Some(table) = data.get_item("table")? else { return Ok((data.clone(), None)) };
    if table.extract::<PathBuf>().is_ok() || !frame::is_one(&table)? {
        return Ok((data.clone(), None));
    }
    let frame = frame::read(&table)?;
    let data = data.copy()?;
    data.set_item("table", FRAME)?;
    Ok((data, Some(frame)))
}

/// The document of a dict: tables and lists of tables at the top, all below in lines.
pub fn document(dict: &Bound<PyDict>) -> PyResult<DocumentMut> {
    let (mut document, mut left) = (DocumentMut::new(), Left(MOST_VALUES));
    for (key, given) in dict.iter() {
        let key = name(&key, "config")?;
        let item = match given.cast::<PyDict>() {
            Ok(dict) => Item::Table(table(dict, &key, &mut left)?),
            Err(_) => match tables(&given) {
                Some(dicts) => {
                    let mut all = ArrayOfTables::new();
                    for dict in dicts {
                        all.push(table(&dict, &key, &mut left)?);
                    }
                    Item::ArrayOfTables(all)
                }
                None => Item::Value(value(&given, &key, &mut left, 0)?),
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

fn table(dict: &Bound<PyDict>, place: &str, left: &mut Left) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, given) in dict.iter() {
        let key = name(&key, place)?;
        let given = value(&given, &format!("{place}.{key}"), left, 1)?;
        table.insert(&key, Item::Value(given));
    }
    Ok(table)
}

fn name(key: &Bound<PyAny>, place: &str) -> PyResult<String> {
    key.extract().map_err(|_| usage(format!("{place}: got the key {}, want texts as keys", shown(key))))
}

/// A value, so deep in others. Errors: what TOML has no word for; too many values, or too deep.
fn value(given: &Bound<PyAny>, place: &str, left: &mut Left, deep: usize) -> PyResult<Value> {
    left.take(1, deep, place)?;
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
            let given = value(&given, &format!("{place}.{key}"), left, deep + 1)?;
            table.insert(&key, given);
        }
        return Ok(Value::InlineTable(table));
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let mut array = Array::new();
        for (i, item) in given.try_iter()?.enumerate() {
            array.push(value(&item?, &format!("{place}[{i}]"), left, deep + 1)?);
        }
        return Ok(Value::Array(array));
    }
    // Paths, and numbers and arrays of numpy.
    let size = size(given, place, 0)?;
    if let Ok(path) = given.extract::<PathBuf>() {
        return Ok(path.to_string_lossy().into_owned().into());
    }
    // Before a list is made of them.
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    left.take(size, deep, place)?;
    left.0 += size;
    if let Ok(plain) = given.call_method0("tolist")
        && !plain.is(given)
    {
        return value(&plain, place, left, deep + 1);
    }
    Err(usage(format!(
        "{place}: got {}, want a text, a number, True or False, a list or a dict (leave a key out for its default)",
        shown(given)
    )))
}

/// A value as Python writes it, not too long, for messages.
pub fn written(given: &Bound<PyAny>) -> String {
    let text = given.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let short: String = text.chars().take(SHOWN).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{more}")
}

/// The value with its type.
fn shown(given: &Bound<PyAny>) -> String {
    format!("{} ({})", written(given), kind(given))
}

fn kind(given: &Bound<PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

impl Given {
    /// Plans the study. Errors: as [`study::plan`].
    pub fn plan(&self) -> Result<Box<dyn study::Planned>, Failure> {
        let document = self.load()?;
        let tables = match &document {
            Document::Grid(configs) => self.tables(configs)?,
            Document::Gridless(_) => Vec::new(),
        };
        study::plan_on(document, tables)
    }

    /// Plans the grid, for each data set. Errors: as [`study::settled`]; a study without one.
    pub fn settled(&self) -> Result<Vec<Plan>, Failure> {
        let configs = self.load()?.grid("one with a grid of methods")?;
        let tables = self.tables(&configs)?;
        study::settled(configs, tables)
    }

    /// The splits of its budgets that answer best. Errors: as [`optimise::levels`] and [`optimise::queries`].
    pub fn optimised(&self, goal: Goal) -> Result<Optimised, Failure> {
        match self.load()? {
            Document::Grid(configs) => {
                let tables = self.tables(&configs)?;
                optimise::levels(configs, tables, goal)
            }
            Document::Gridless(config) => optimise::queries(&*config, goal),
        }
    }

    /// The frames of some data sets, in their order.
    fn tables(&self, configs: &[Config]) -> Result<Vec<Option<CsvTable>>, Failure> {
        let frames = self.frames.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let table = |(config, frame): (&Config, Option<&Frame>)| {
            frame.map(|frame| frame.table(Path::new(FRAME), &wanted(config))).transpose()
        };
        configs.iter().zip(frames).map(table).collect()
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
