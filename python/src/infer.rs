//! Intervals from a noisy file.

use crate::config::raised;
use crate::table::Table;
use crate::waiting::wait;
use congenial::failure::{Failure, Result as Done};
use congenial::infer::{self, Wish};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Columns of the page.
const WIDTH: usize = 120;

/// The intervals of a noisy file, whether they hold whatever the counts are, and the page.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn inferred(
    py: Python,
    file: PathBuf,
    levels: Vec<String>,
    invariants: Option<PathBuf>,
    queries: Option<PathBuf>,
    level: f64,
    prior: Option<&str>,
    bands: bool,
    seed: u64,
) -> PyResult<(Table, bool, String)> {
    let named =
        |text: &str| infer::prior(text).map_err(|why| Failure::Usage(format!("prior: got `{text}`, {why}")));
    let prior = prior.map(named).transpose();
    raised(wait(py, false, |_| -> Done<_> {
        let inferred = infer::infer(&Wish {
            file,
            levels,
            invariants,
            queries,
            ratios: Vec::new(),
            level,
            prior: prior?,
            bands,
            seed,
        })?;
        let (fields, columns) = infer::columns(&inferred);
        let table = Table::held("intervals", fields, columns);
        Ok((table, inferred.is_guaranteed, inferred.page().to_text(WIDTH)))
    })?)
}
