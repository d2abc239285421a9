//! `congenial man`

use crate::failure::{Failure, Result};
use clap::CommandFactory;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Write a page for the tool and one for every verb into this folder, instead of printing the tool's
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut command = super::Cli::command().display_name("congenial").disable_help_subcommand(true);
    command.build();
    let Some(out) = &arguments.out else {
        let mut page = Vec::new();
        let failed = |e| Failure::write(std::path::Path::new("standard output"), e);
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        return super::print(&String::from_utf8_lossy(&page));
    };
    std::fs::create_dir_all(out).map_err(|e| Failure::io(out, "cannot create the folder", e))?;
    clap_mangen::generate_to(command, out).map_err(|e| Failure::write(out, e))
}
