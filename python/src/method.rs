//! Methods that are functions of Python.

use crate::failure::{Error, usage};
use congenial::own::{self, OwnMethod, OwnReleases, Promises, Structure, Task};
use congenial::privacy::Declared;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// The attribute of a function with the name under which it is registered.
const NAME: &str = "__congenial_method__";

/// The name of a function that is registered as a method.
pub fn registered_name(given: &Bound<PyAny>) -> Option<String> {
    if !given.is_callable() {
        return None;
    }
    given.getattr(NAME).ok()?.extract().ok()
}

/// Registers a function as a method, in the place of an earlier one of this name.
#[pyfunction]
pub fn register(name: &str, identity: &str, promises: Vec<String>, function: Bound<PyAny>) -> PyResult<()> {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !",=\"\\".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        let want = "want a name without blanks, commas, quotes, backslashes and =";
        return Err(usage(format!("method: got the name `{name}`, {want}")));
    }
    if !function.is_callable() {
        return Err(usage(format!("method `{name}`: want a function of (structure, cell)")));
    }
    let promises = Promises::of(promises.iter().map(String::as_str));
    let promises = promises.map_err(|why| usage(format!("method `{name}`: {why}")))?;
    let method = Function {
        name: name.to_owned(),
        identity: identity.to_owned(),
        promises,
        function: function.unbind(),
        structure: Mutex::default(),
    };
    own::register([(name.to_owned(), Arc::new(method) as Arc<dyn OwnMethod>)]);
    Ok(())
}

/// What a method released, as numbers. Errors: another shape than that of its replicates and counts; no numbers; a mask.
#[pyfunction]
pub fn released<'py>(
    given: &Bound<'py, PyAny>,
    replicates: usize,
    counts: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    crate::arrays::released(given, (replicates, counts))
}

struct Function {
    name: String,
    identity: String,
    promises: Promises,
    function: Py<PyAny>,
    /// The last that it was told of: cells share theirs.
    structure: Mutex<Option<(Arc<Structure>, Py<PyDict>)>>,
}

/// An exception in words.
fn words(py: Python, name: &str, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or_else(|_| "Exception".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map_or_else(|_| String::new(), |text| text.to_string());
    let line = || -> PyResult<String> {
        let mut at = error.traceback(py).map(Bound::into_any);
        let mut last = String::new();
        while let Some(frame) = at.filter(|frame| !frame.is_none()) {
            last = format!(", line {}", frame.getattr("tb_lineno")?);
            at = Some(frame.getattr("tb_next")?);
        }
        Ok(last)
    };
    let place = format!("method `{name}`{}", line().unwrap_or_default());
    match (text.is_empty(), error.is_instance_of::<Error>(py)) {
        (true, _) => format!("{place}: {kind}"),
        // What we find wrong ourselves.
        (_, true) => format!("{place}: {text}"),
        _ => format!("{place}: {kind}: {text}"),
    }
}

impl Function {
    /// The structure as an object of Python, the same for the same.
    fn structure<'py>(&self, py: Python<'py>, structure: &Arc<Structure>) -> PyResult<Bound<'py, PyDict>> {
        {
            let known = self.structure.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((known, dict)) = &*known
                && known == structure
            {
                return Ok(dict.bind(py).clone());
            }
        }
        let dict = told(py, structure)?;
        let mut known = self.structure.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((structure.clone(), dict.clone().unbind()));
        Ok(dict)
    }

    fn ready(&self, py: Python, task: &Task) -> PyResult<ReadyFunction> {
        let structure = self.structure(py, &task.structure)?;
        let cell = PyDict::new(py);
        cell.set_item("law", task.law)?;
        cell.set_item("epsilon", task.epsilon)?;
        cell.set_item("variances", fixed(PyArray1::from_slice(py, &task.variances))?)?;
        for (name, value) in &task.options {
            match (value.parse::<i64>(), value.parse::<f64>(), value.parse::<bool>()) {
                (Ok(number), _, _) => cell.set_item(name, number)?,
                (_, Ok(number), _) => cell.set_item(name, number)?,
                (_, _, Ok(flag)) => cell.set_item(name, flag)?,
                _ => cell.set_item(name, value)?,
            }
        }
        let made = self.function.bind(py).call1((structure, cell))?;
        let (release, pays) = match made.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (pair.get_item(0)?, Some(declared(&pair.get_item(1)?)?)),
            _ => (made, None),
        };
        if !release.is_callable() {
            let kind = release.get_type().name()?;
            return Err(usage(format!(
                "it returned {kind} for a cell, want a function release(seeds, counts), or that and a dict of what a mechanism pays"
            )));
        }
        let (name, counts) = (self.name.clone(), task.structure.counts());
        Ok(ReadyFunction { name, counts, release: release.unbind(), pays })
    }
}

/// What a mechanism says that it pays.
fn declared(given: &Bound<PyAny>) -> PyResult<Declared> {
    let want =
        "want a dict with `added`, `moved`, `smallest` as far as it knows them, and `delta` if it is not 0";
    let dict = given.cast::<PyDict>().map_err(|_| usage(format!("what it pays: {want}")))?;
    let mut declared = Declared::default();
    for (key, value) in dict.iter() {
        let key: String = key.extract()?;
        let value: f64 = value.extract()?;
        // The third kind is the smallest change.
        let place = ["added", "moved", "smallest"].iter().position(|name| *name == key);
        match place {
            Some(place) => declared.epsilons[place] = Some(value),
            None if key == "delta" => declared.delta = value,
            None => return Err(usage(format!("what it pays: got `{key}`, {want}"))),
        }
    }
    Ok(declared)
}

/// An array that cannot be written to.
fn fixed<T: numpy::Element>(array: Bound<PyArray1<T>>) -> PyResult<Bound<PyArray1<T>>> {
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// A structure as it is told: as in the protocol of programs.
fn told<'py>(py: Python<'py>, structure: &Structure) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("counts", structure.counts())?;
    match structure {
        Structure::Tree { parents, levels } => {
            dict.set_item("kind", "tree")?;
            dict.set_item("parents", fixed(PyArray1::from_slice(py, parents))?)?;
            dict.set_item("levels", fixed(PyArray1::from_slice(py, levels))?)?;
        }
        Structure::Table { equations, inequalities, .. } => {
            dict.set_item("kind", "table")?;
            for (name, rows) in [("equations", equations), ("inequalities", inequalities)] {
                let system = PyDict::new(py);
                let mut begins = vec![0i64];
                begins.extend(rows.iter().scan(0, |end, (row, _)| {
                    *end += row.len() as i64;
                    Some(*end)
                }));
                let terms = || rows.iter().flat_map(|(row, _)| row);
                system.set_item("begins", fixed(PyArray1::from_vec(py, begins))?)?;
                let entries = terms().map(|&(entry, _)| i64::from(entry)).collect();
                system.set_item("entries", fixed(PyArray1::from_vec(py, entries))?)?;
                let coefficients = terms().map(|&(_, a)| a).collect();
                system.set_item("coefficients", fixed(PyArray1::from_vec(py, coefficients))?)?;
                let values = rows.iter().map(|&(_, value)| value).collect();
                system.set_item("values", fixed(PyArray1::from_vec(py, values))?)?;
                dict.set_item(name, system)?;
            }
        }
    }
    Ok(dict)
}

impl OwnMethod for Function {
    fn promises(&self, _: &[(String, String)]) -> Result<Promises, String> {
        Ok(self.promises)
    }

    fn prepare(&self, task: Task) -> Result<Box<dyn OwnReleases>, String> {
        Python::attach(|py| match self.ready(py, &task) {
            Ok(ready) => Ok(Box::new(ready) as Box<dyn OwnReleases>),
            Err(error) => Err(words(py, &self.name, &error)),
        })
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }
}

/// A method that knows a cell.
struct ReadyFunction {
    name: String,
    counts: usize,
    release: Py<PyAny>,
    pays: Option<Declared>,
}

impl ReadyFunction {
    fn call(&self, py: Python, seeds: &[u64], counts: &mut [f64]) -> PyResult<()> {
        let rows = seeds.len();
        let given = PyArray1::from_slice(py, counts).reshape([rows, self.counts])?;
        let released = self.release.bind(py).call1((PyArray1::from_slice(py, seeds), given))?;
        let released = crate::arrays::released(&released, (rows, self.counts))?;
        let released = released.readonly();
        for (to, from) in counts.iter_mut().zip(released.as_array().iter()) {
            *to = *from;
        }
        Ok(())
    }
}

impl OwnReleases for ReadyFunction {
    fn release(&self, seeds: &[u64], counts: &mut [f64]) -> Result<(), String> {
        Python::attach(|py| self.call(py, seeds, counts).map_err(|error| words(py, &self.name, &error)))
    }

    fn pays(&self) -> Option<Declared> {
        self.pays
    }
}
