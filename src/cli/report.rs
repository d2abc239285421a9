//! `congenial report`

use crate::failure::{Failure, Result};
use crate::page::Format;
use crate::report::{self, Report};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folders of finished runs
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Write the tables in every format into this folder (report.txt, .md and .json, and a CSV file for each table) instead of printing
    #[arg(long, conflicts_with = "format")]
    out: Option<PathBuf>,
    /// End with exit code 5 if chains have not converged
    #[arg(long)]
    strict: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let report = Report::open(&arguments.folders)?;
    let Some(out) = &arguments.out else {
        report::write(&report, arguments.format, Path::new(super::OUTPUT), &mut super::Output)?;
        return super::warn(&report, arguments.strict);
    };
    std::fs::create_dir_all(out).map_err(|e| Failure::io(out, "cannot create the folder", e))?;
    report::write_files(&report, out, |place| say!("{}", place.display()))?;
    super::warn(&report, arguments.strict)
}
