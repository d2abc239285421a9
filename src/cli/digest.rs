//! `congenial digest`

use crate::failure::Result;
use crate::page::line;
use crate::store::Run;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folders of finished runs
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

/// Prints a line for each table: name of the run, file, rows, hash of the logical rows. Opening a run has compared its
/// files with the manifest.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut text = String::new();
    for folder in &arguments.folders {
        let run = Run::open(folder)?;
        for (file, table) in run.manifest.tables {
            let about = format!("{} {file} {} {}", run.manifest.name, table.rows, table.sha256);
            text += &(line(&about) + "\n");
        }
    }
    super::print(&text)
}
