//! The native part of the Python package `congenial`.
//!
//! Thin: arguments become those of the library, failures become exceptions, tables and arrays are handed over. What is
//! computed is computed in the library, with the interpreter free for others.

#![deny(unsafe_op_in_unsafe_fn)]

mod arrays;
mod config;
mod failure;
mod frame;
mod html;
mod infer;
mod invariant;
mod method;
mod released;
mod runs;
mod sample;
mod table;
mod waiting;

use pyo3::prelude::*;
use std::ffi::OsString;

/// From now on programs of methods are started through this program with its first arguments, and end when this process ends.
#[pyfunction]
fn supervise(program: Vec<OsString>) {
    congenial::own::starting::supervise_by(program);
}

/// The command line: returns its exit code.
#[pyfunction]
fn main(py: Python, arguments: Vec<OsString>) -> u8 {
    py.detach(|| congenial::cli::main_with(arguments))
}

/// The native part of `congenial`.
#[pymodule]
fn _congenial(module: &Bound<PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<failure::Error>())?;
    module.add("ConfigError", py.get_type::<failure::ConfigError>())?;
    module.add("CellsFailed", py.get_type::<failure::CellsFailed>())?;
    module.add_class::<table::Table>()?;
    module.add_class::<invariant::Invariant>()?;
    module.add_class::<infer::Likelihood>()?;
    module.add_class::<sample::Law>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(supervise, module)?)?;
    module.add_function(wrap_pyfunction!(runs::make, module)?)?;
    module.add_function(wrap_pyfunction!(runs::open_run, module)?)?;
    module.add_function(wrap_pyfunction!(runs::draws, module)?)?;
    module.add_function(wrap_pyfunction!(runs::framed, module)?)?;
    module.add_function(wrap_pyfunction!(runs::figures, module)?)?;
    module.add_function(wrap_pyfunction!(released::node_draws, module)?)?;
    module.add_function(wrap_pyfunction!(released::release, module)?)?;
    module.add_function(wrap_pyfunction!(infer::inferred, module)?)?;
    module.add_function(wrap_pyfunction!(runs::judge, module)?)?;
    module.add_function(wrap_pyfunction!(runs::cells_failed, module)?)?;
    module.add_function(wrap_pyfunction!(runs::wrong, module)?)?;
    module.add_function(wrap_pyfunction!(runs::plan, module)?)?;
    module.add_function(wrap_pyfunction!(runs::verify_methods, module)?)?;
    module.add_function(wrap_pyfunction!(runs::audit_methods, module)?)?;
    module.add_function(wrap_pyfunction!(runs::optimise_splits, module)?)?;
    module.add_function(wrap_pyfunction!(runs::tell, module)?)?;
    module.add_function(wrap_pyfunction!(runs::compare_runs, module)?)?;
    module.add_function(wrap_pyfunction!(sample::exact, module)?)?;
    module.add_function(wrap_pyfunction!(sample::project, module)?)?;
    module.add_function(wrap_pyfunction!(method::register, module)?)?;
    module.add_function(wrap_pyfunction!(method::released, module)?)?;
    Ok(())
}
