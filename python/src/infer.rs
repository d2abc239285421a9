//! Intervals from a noisy file, models of its counts, draws of its posterior, and its likelihood.

use crate::arrays;
use crate::config::raised;
use crate::failure::exception;
use crate::table::Table;
use crate::waiting::wait;
use congenial::failure::{Failure, Result as Done};
use congenial::infer::{self, AreaInferred, Inferred, Model, Told, Wish};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::path::PathBuf;

/// Columns of the page.
const WIDTH: usize = 120;

/// A model: the law of its counts, its covariates and its offset.
type Asked = (String, Vec<String>, Option<String>);
/// What is inferred: intervals, whether they hold whatever the counts are, the page, the model, the ratios, and draws with the level and
/// the keys of every node.
type Found<'py> = (Table, bool, String, Option<Table>, Option<Table>, Option<Draws<'py>>);
/// Draws by nodes, and for every node the column of its level with its keys.
type Draws<'py> = (Bound<'py, PyArray2<i64>>, Vec<(String, String)>);

/// What a file says of single counts, or of tables of attributes in areas.
enum Either {
    Counts(Box<Inferred>),
    Tables(Box<AreaInferred>),
}

/// What a noisy file says.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn inferred(
    py: Python<'_>,
    file: PathBuf,
    levels: Vec<String>,
    invariants: Option<PathBuf>,
    tables: Option<PathBuf>,
    queries: Option<PathBuf>,
    ratios: Vec<String>,
    level: f64,
    prior: Option<String>,
    leaves: Option<PathBuf>,
    bounds: Option<(Option<String>, Option<String>)>,
    model: Option<Asked>,
    draws: usize,
    bands: bool,
    seed: u64,
) -> PyResult<Found<'_>> {
    let inferred = raised(wait(py, false, |_| -> Done<_> {
        let refused =
            |what: &str, text: &str, why: String| Failure::Usage(format!("{what}: got `{text}`, {why}"));
        let prior = prior.map(|text| infer::prior(&text).map_err(|why| refused("prior", &text, why)));
        let model = model.map(|(counts, covariates, offset)| {
            let counts = infer::counts(&counts).map_err(|why| refused("model", &counts, why))?;
            Ok::<_, Failure>(Model { counts, covariates, offset })
        });
        let wish = Wish {
            file,
            levels,
            invariants,
            tables,
            queries,
            ratios,
            level,
            prior: prior.transpose()?,
            leaves,
            bounds: bounds.map(|(low, high)| infer::Ends { low, high }),
            model: model.transpose()?,
            draws,
            bands,
            seed,
        };
        Ok(match infer::of_tables(&wish)? {
            Some(tables) => Either::Tables(Box::new(tables)),
            None => Either::Counts(Box::new(infer::infer(&wish)?)),
        })
    })?)?;
    let told: &dyn Told = match &inferred {
        Either::Counts(inferred) => &**inferred,
        Either::Tables(tables) => &**tables,
    };
    let (fields, columns) = infer::columns(told);
    let table = Table::held("intervals", fields, columns);
    let (page, is_guaranteed) = (told.page().to_text(WIDTH), told.is_guaranteed());
    let Either::Counts(inferred) = inferred else {
        return Ok((table, is_guaranteed, page, None, None, None));
    };
    let model = inferred.modelled.as_ref().map(|modelled| Table::records("model", &modelled.rows(level)));
    let ratios = inferred.ratio_rows();
    let ratios = (!ratios.is_empty()).then(|| Table::records("ratios", &ratios));
    let noisy = &inferred.noisy;
    let kept = (draws > 0).then(|| {
        let name = |v: usize| {
            let depth = noisy.level(v);
            (noisy.level_name(depth).to_owned(), noisy.keys(v)[..depth].join(", "))
        };
        let names = (0..noisy.counts()).map(name).collect();
        let kept = inferred.kept.clone().into_pyarray(py).reshape([draws, noisy.counts()])?;
        Ok::<_, PyErr>((kept, names))
    });
    Ok((table, is_guaranteed, page, model, ratios, kept.transpose()?))
}

/// The likelihood of a noisy file at means of the leaves' counts.
#[pyclass(frozen, module = "congenial")]
pub struct Likelihood(infer::Likelihood);

#[pymethods]
impl Likelihood {
    #[new]
    #[pyo3(signature = (file, levels=None))]
    fn new(py: Python, file: PathBuf, levels: Option<Vec<String>>) -> PyResult<Self> {
        let read = || infer::Likelihood::read(&file, &levels.unwrap_or_default());
        py.detach(read).map(Self).map_err(exception)
    }

    /// The columns of the keys of a leaf, the highest level first.
    #[getter]
    fn levels(&self) -> Vec<String> {
        self.0.levels().to_vec()
    }

    /// The keys of every leaf, a tuple each, in the order of means.
    #[getter]
    fn leaves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let tuples = self.0.leaves().into_iter().map(|keys| PyTuple::new(py, keys));
        PyList::new(py, tuples.collect::<PyResult<Vec<_>>>()?)
    }

    /// The log likelihood, and its gradient by the logarithms of the means; with a size its derivative by the logarithm of that, too.
    #[pyo3(signature = (means, size=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        means: &Bound<'py, PyAny>,
        size: Option<f64>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let means = arrays::reals(means, "means")?;
        let score = py.detach(|| self.0.at(&means, size)).map_err(exception)?;
        let gradient: Bound<PyArray1<f64>> = score.by_log_mean.into_pyarray(py);
        match size {
            None => (score.log_likelihood, gradient).into_pyobject(py),
            Some(_) => (score.log_likelihood, gradient, score.by_log_size).into_pyobject(py),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Likelihood of {} leaves by {}>", self.0.leaves().len(), self.0.levels().join(", "))
    }
}
