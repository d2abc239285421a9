//! `congenial report`

use crate::failure::{Failure, Result};
use crate::report::{self, Format};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folders of finished runs
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Write the tables in every format into this folder (l1_error.txt, .md, .csv, .json) instead of printing
    #[arg(long, conflicts_with = "format")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let report = report::collect(&arguments.folders)?;
    let Some(out) = &arguments.out else { return super::print(&report::render(&report, arguments.format)) };
    std::fs::create_dir_all(out).map_err(|e| Failure::io(out, "cannot create the folder", e))?;
    for (format, name) in
        [(Format::Text, "txt"), (Format::Markdown, "md"), (Format::Csv, "csv"), (Format::Json, "json")]
    {
        let path = out.join(format!("l1_error.{name}"));
        std::fs::write(&path, report::render(&report, format))
            .map_err(|e| Failure::io(&path, "cannot write", e))?;
        eprintln!("{}", path.display());
    }
    Ok(())
}
