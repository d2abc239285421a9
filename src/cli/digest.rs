//! `congenial digest`

use crate::failure::Result;
use crate::store::Run;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folders of finished runs
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

/// A line for each table: name of the run, file, rows, hash of the logical rows, as they are on the disk.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut text = String::new();
    for folder in &arguments.folders {
        let run = Run::open(folder)?;
        for (file, table) in run.digests()? {
            text += &format!("{} {file} {} {}\n", run.manifest.name, table.rows, table.sha256);
        }
    }
    super::print(&text)
}
