//! Runs: made, opened, planned, verified, compared and told.

use crate::config::{Given, raised, warn};
use crate::failure::{exception, guarded_harness, usage};
use crate::released::with_counts;
use crate::sample::threads_of;
use crate::table::Table;
use crate::waiting::wait;
use congenial::audit::{self, Effort};
use congenial::config::Thresholds;
use congenial::design::Goal;
use congenial::engine::{self, Manner};
use congenial::failure::{Failure, Result as Done};
use congenial::figure;
use congenial::making::{self, Hearer, Making};
use congenial::page::{self, Format, Page};
use congenial::privacy::ChangeKind;
use congenial::report::{self, Look, Report};
use congenial::store::{Earlier, Manifest, Run};
use congenial::study::{self, Framing, Listing};
use congenial::verify::{self, Finding, TOLD};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Columns of text, where nobody says what fits.
const WIDTH: usize = 120;

/// Who is told of progress alone.
struct Silent;

impl Hearer for Silent {
    fn hear(&self, _: &str) {}

    fn claimed(&self, _: &str, _: usize) -> Done<()> {
        Ok(())
    }
}

/// Ends the programs of methods when the work that they were started for has ended, however it did; those that others still speak to stay.
struct EndIdle;

impl Drop for EndIdle {
    fn drop(&mut self) {
        congenial::own::process::end_idle();
    }
}

/// Makes a run and returns its folder; what it failed of, and what it is not to be trusted for, is in the folder.
#[pyfunction]
#[pyo3(signature = (config, out, threads, sets, resume, retry_failed, fail_fast, progress))]
#[allow(clippy::too_many_arguments)]
pub fn make(
    py: Python,
    config: &Bound<PyAny>,
    out: Option<PathBuf>,
    threads: Option<&Bound<PyAny>>,
    sets: Option<&Bound<PyDict>>,
    resume: bool,
    retry_failed: bool,
    fail_fast: bool,
    progress: bool,
) -> PyResult<PathBuf> {
    let given = Given::new(config, sets)?;
    let threads = threads_of(threads)?;
    let earlier = match (retry_failed, resume) {
        (true, _) => Earlier::Retried,
        (false, true) => Earlier::Resumed,
        (false, false) => Earlier::Refused,
    };
    let (folder, warning) = raised(wait(py, progress, |waiting| -> Done<_> {
        let _idle = EndIdle;
        let plan = given.plan()?;
        let manner = Manner { threads, fail_fast, quiet: false, watch: Some(waiting) };
        let making = Making { out: out.as_deref(), earlier, manner, merged: None };
        let made = making::run(&making, &*plan, &Silent)?;
        Ok((made.folder().to_owned(), plan.warning()))
    })?)?;
    warn(py, warning)?;
    Ok(folder)
}

/// Opens a run: its manifest as JSON, and its tables by their names.
#[pyfunction]
pub fn open_run(py: Python, folder: PathBuf) -> PyResult<(String, Vec<(String, Table)>)> {
    let opened = wait(py, false, |_| -> Done<_> {
        let run = Run::open(&folder)?;
        let mut tables = Vec::new();
        for name in run.manifest.tables.keys() {
            let short = name.strip_suffix(".parquet").unwrap_or(name);
            tables.push((short.to_owned(), Table::open(short, run.folder.join(name))?));
        }
        Ok((run.manifest.text(), tables))
    });
    raised(opened?)
}

/// The draws of some cells of a run as one table, with the cell in front if there are several; `released`: what is released, else errors.
#[pyfunction]
pub fn draws(
    py: Python,
    folder: PathBuf,
    cells: Vec<String>,
    front: bool,
    released: bool,
) -> PyResult<Table> {
    py.detach(|| {
        guarded_harness(|| {
            let manifest = Manifest::read(&folder)?;
            let part = |cell: String| {
                let name = format!("cells/{cell}/draws.parquet");
                let path = folder.join(&name);
                match manifest.files.contains_key(&name) {
                    true => Ok((Some(cell), path)),
                    false => {
                        Err(Failure::data(&path, "it is no file of this run: the manifest does not list it"))
                    }
                }
            };
            let parts = cells.iter().cloned().map(part).collect::<Done<Vec<_>>>()?;
            let table = Table::of("draws", front.then_some("cell"), parts)?;
            match released {
                true => with_counts(&Run::open(&folder)?, table, &cells),
                false => Ok(table),
            }
        })
    })
}

/// A run as one table: what a cell is, what it pays, and its errors by level.
#[pyfunction]
pub fn framed(py: Python, folder: PathBuf, change: Option<&str>, by_seed: bool) -> PyResult<Table> {
    let named = |name: &str| {
        let names = ChangeKind::ALL.map(ChangeKind::name).join(", ");
        ChangeKind::named(name).ok_or_else(|| usage(format!("change: got `{name}`, want one of {names}")))
    };
    let asked = Framing { change: change.map(named).transpose()?, by_seed };
    raised(wait(py, false, |_| -> Done<_> {
        let run = Run::open(&folder)?;
        let rows = study::named(&run.manifest.study)?.frame(&run, asked)?;
        Ok(Table::records("frame", &rows))
    })?)
}

/// The figures of runs: of each its name, title, what is seen in it, and the picture as SVG.
#[pyfunction]
pub fn figures(
    py: Python,
    folders: Vec<PathBuf>,
    by_seed: bool,
) -> PyResult<Vec<(String, String, String, String)>> {
    raised(wait(py, false, |_| -> Done<_> {
        let report = Report::open_by(&folders, by_seed)?;
        let look = figure::Look { titled: true, ..figure::Look::default() };
        let drawn = |one: figure::Figure| {
            let picture = figure::svg(&one, look);
            (one.name, one.title, one.about, picture)
        };
        Ok(report::figures(&report)?.into_iter().map(drawn).collect())
    })?)
}

/// Cells of a run that failed: run, cell and error; and what its figures are not to be trusted for.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn judge(py: Python, folder: PathBuf) -> PyResult<(Vec<(String, String)>, Vec<String>)> {
    raised(wait(py, false, |_| {
        let report = Report::open(&[folder])?;
        let failures = report.failures.iter().map(|(_, cell, error)| (cell.clone(), error.clone()));
        Ok((failures.collect(), report.warnings()?))
    })?)
}

/// The exception of a run with failed cells, as the command line words it.
#[pyfunction]
pub fn cells_failed(failures: Vec<(String, String)>, failed: usize, cells: usize) -> PyErr {
    let first = failures.first().map_or(String::new(), |(cell, error)| format!("{cell}: {error}"));
    exception(Failure::CellsFailed { failed, cells, first })
}

/// A usage error with this text.
#[pyfunction]
pub fn wrong(text: String) -> PyErr {
    usage(text)
}

/// The cells of a config, what would be drawn and what that pays, as JSON.
#[pyfunction]
pub fn plan(py: Python, config: &Bound<PyAny>, sets: Option<&Bound<PyDict>>) -> PyResult<String> {
    let given = Given::new(config, sets)?;
    let (text, warning) = raised(wait(py, false, |_| -> Done<_> {
        let _idle = EndIdle;
        let planned = given.plan()?;
        planned.copies()?;
        let (about, Listing { header, rows, summary, json }) = (planned.about(), planned.listing());
        let expected = engine::estimate(&*planned, making::threads(None));
        let page = Page::default().table_once(page::Table::new(1, header, rows)).to_text(WIDTH);
        let mut json = making::described(&about, json, &expected);
        json["summary"] = json!(format!("{summary}{expected}"));
        json["text"] = json!(page);
        Ok((json.to_string(), planned.warning()))
    })?)?;
    warn(py, warning)?;
    Ok(text)
}

/// Checks every method of a config: by method what was found in words, and whether it speaks against the method.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn verify_methods(
    py: Python,
    config: &Bound<PyAny>,
    sets: Option<&Bound<PyDict>>,
    threads: Option<&Bound<PyAny>>,
    progress: bool,
) -> PyResult<Vec<(Vec<(String, String)>, bool, Option<String>)>> {
    let given = Given::new(config, sets)?;
    let threads = threads_of(threads)?;
    let checked = wait(py, progress, |waiting| -> Done<_> {
        let _idle = EndIdle;
        let manner = Manner { threads, fail_fast: false, quiet: false, watch: Some(waiting) };
        let mut checked = Vec::new();
        for plan in given.settled()? {
            let data = plan.config.data_name.clone();
            let found = verify::verify(plan, manner)?;
            checked.extend(found.into_iter().map(|one| (data.clone(), one)));
        }
        Ok(checked)
    });
    let told = |(data, one): &(String, verify::Checked)| {
        let words = TOLD.iter().map(|name| (*name).replace(' ', "_")).zip(one.told());
        let data = Some(data).filter(|name| !name.is_empty()).map(|name| ("data".to_owned(), name.clone()));
        (data.into_iter().chain(words).collect(), one.finding() == Finding::Wrong, one.error.clone())
    };
    Ok(raised(checked?)?.iter().map(told).collect())
}

/// Audits every method of a config: in words, as JSON, and whether nothing speaks against one.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn audit_methods(
    py: Python,
    config: &Bound<PyAny>,
    sets: Option<&Bound<PyDict>>,
    draws: Option<u64>,
    level: Option<f64>,
    all: bool,
    threads: Option<&Bound<PyAny>>,
    progress: bool,
    width: usize,
) -> PyResult<(String, String, bool)> {
    let given = Given::new(config, sets)?;
    let threads = threads_of(threads)?;
    let usual = Effort::default();
    let effort = Effort { draws: draws.unwrap_or(usual.draws), level: level.unwrap_or(usual.level), all };
    effort.check().map_err(usage)?;
    let audited = wait(py, progress, |waiting| -> Done<_> {
        let _idle = EndIdle;
        let manner = Manner { threads, fail_fast: false, quiet: false, watch: Some(waiting) };
        audit::audit(&given.settled()?, effort, &manner)
    });
    let audited = raised(audited?)?;
    let ok = !audited.iter().any(|(_, one)| one.is_wrong());
    Ok((audit::page(&audited, effort).to_text(width), audit::described(&audited, effort).to_string(), ok))
}

/// The config with the best splits of its budgets: what is gained in words, and both for programs.
#[pyfunction]
pub fn optimise_splits(
    py: Python,
    config: &Bound<PyAny>,
    sets: Option<&Bound<PyDict>>,
    goal: &str,
    width: usize,
) -> PyResult<(String, String)> {
    let given = Given::new(config, sets)?;
    let goal = Goal::named(goal).map_err(|error| usage(error.to_string()))?;
    raised(wait(py, false, |_| -> Done<_> {
        let _idle = EndIdle;
        let optimised = given.optimised(goal)?;
        Ok((optimised.page().to_text(width), optimised.described().to_string()))
    })?)
}

fn format_named(name: &str) -> PyResult<Format> {
    Ok(match name {
        "text" => Format::Text,
        "markdown" => Format::Markdown,
        "html" => Format::Html,
        "latex" => Format::Latex,
        "csv" => Format::Csv,
        "json" => Format::Json,
        _ => {
            return Err(usage(format!(
                "format: got `{name}`, want text, markdown, html, latex, csv or json"
            )));
        }
    })
}

/// What runs gave, in a format; of text a summary unless it is `full`.
#[pyfunction]
pub fn tell(
    py: Python,
    folders: Vec<PathBuf>,
    format: &str,
    full: bool,
    by_seed: bool,
    width: usize,
) -> PyResult<String> {
    let format = format_named(format)?;
    if folders.is_empty() {
        return Err(usage("report: want one run at least"));
    }
    let place = Path::new("report");
    raised(wait(py, false, |_| -> Done<_> {
        let report = Report::open_by(&folders, by_seed)?;
        let mut out = Vec::new();
        match format {
            Format::Text if !full => report::summarize(&report, width, place, &mut out)?,
            format => {
                report::write(&report, Look { format, width, template: None, choice: None }, place, &mut out)?
            }
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    })?)
}

/// Two runs, cell by cell: in words, as JSON, how many figures changed for the worse, whether all rows are the same.
#[pyfunction]
pub fn compare_runs(
    py: Python,
    base: PathBuf,
    candidate: PathBuf,
    margin: Option<f64>,
    level: Option<f64>,
    width: usize,
) -> PyResult<(String, String, usize, bool)> {
    if let Some(margin) = margin.filter(|margin| !(margin.is_finite() && *margin >= 0.0)) {
        return Err(usage(format!("margin: got {margin}, want a number >= 0")));
    }
    if let Some(level) = level.filter(|level| !(*level > 0.0 && *level < 1.0)) {
        return Err(usage(format!("level: got {level}, want a number in (0, 1)")));
    }
    let adjust = |config: Thresholds| Thresholds {
        level: level.unwrap_or(config.level),
        margin: margin.unwrap_or(config.margin),
        margins: if margin.is_some() { Default::default() } else { config.margins },
    };
    raised(wait(py, false, |_| -> Done<_> {
        let comparison = report::compare(&base, &candidate, adjust)?;
        let text = comparison.render(Format::Text, width)?;
        let json = comparison.render(Format::Json, width)?;
        Ok((text, json, comparison.worse(), comparison.is_identical()))
    })?)
}
