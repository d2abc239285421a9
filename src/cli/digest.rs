//! `congenial digest`

use crate::failure::Result;
use crate::results::Manifest;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folders of finished runs
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

/// A line for each table: name of the run, file, rows, hash of the logical rows.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut text = String::new();
    for folder in &arguments.folders {
        let manifest = Manifest::read(folder)?;
        for (file, table) in &manifest.tables {
            text += &format!("{} {file} {} {}\n", manifest.name, table.rows, table.sha256);
        }
    }
    super::print(&text)
}
