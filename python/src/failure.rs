//! Failures of the harness as exceptions of Python.

use congenial::failure::{Failure, Result as Done};
use miette::{GraphicalReportHandler, GraphicalTheme};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::AssertUnwindSafe;

create_exception!(
    congenial,
    Error,
    PyException,
    "What stops a call. `exit_code` is the one with which the command line would end."
);
create_exception!(
    congenial,
    ConfigError,
    Error,
    "Something in a config, an argument, a data file or a folder."
);
create_exception!(
    congenial,
    CellsFailed,
    Error,
    "A run went through, but some of its cells failed. `run` is the run."
);

/// Columns of a message that shows a place in a config.
const WIDTH: usize = 100;

/// What the command line prints of a failure, without colours.
pub fn text(failure: Failure) -> String {
    let failure = failure.for_people();
    if !matches!(failure, Failure::Config { .. }) {
        return failure.to_string();
    }
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(WIDTH);
    let mut text = String::new();
    match handler.render_report(&mut text, &failure) {
        Ok(()) => text.trim_start_matches([' ', '×', '\n']).trim_end().to_owned(),
        Err(_) => failure.to_string(),
    }
}

/// The exception of a failure.
pub fn exception(failure: Failure) -> PyErr {
    let code = failure.exit_code();
    let made: fn(String) -> PyErr = match failure {
        Failure::Interrupted(_) => PyKeyboardInterrupt::new_err::<String>,
        Failure::CellsFailed { .. } => CellsFailed::new_err::<String>,
        _ if code == 2 => ConfigError::new_err::<String>,
        _ => Error::new_err::<String>,
    };
    with_code(made(text(failure)), code)
}

/// An argument that cannot be used.
pub fn usage(message: impl Into<String>) -> PyErr {
    exception(Failure::Usage(message.into()))
}

/// A panic as a failure: it is a bug, and no more than the end of this call.
pub fn bug(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
    Failure::Wrong(format!("this is a bug of congenial, please report it: panicked: {text}"))
}

/// Does what the mathematical core does for a call. Errors: what it refuses; [`bug`].
pub fn guarded<T>(work: impl FnOnce() -> congenial::Result<T>) -> PyResult<T> {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(refused),
        Err(panic) => Err(exception(bug(&*panic))),
    }
}

/// Does what the harness does for a call. Errors: what it refuses; [`bug`].
pub fn guarded_harness<T>(work: impl FnOnce() -> Done<T>) -> PyResult<T> {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(exception),
        Err(panic) => Err(exception(bug(&*panic))),
    }
}

/// What the mathematical core refuses.
pub fn refused(error: congenial::Error) -> PyErr {
    usage(error.to_string())
}

fn with_code(error: PyErr, code: u8) -> PyErr {
    Python::attach(|py| {
        // An exception takes any attribute; of Ctrl-C it is of no use.
        let _ = error.value(py).setattr("exit_code", code);
    });
    error
}
