//! `congenial man`

use crate::failure::{Failure, Result};
use crate::files;
use clap::CommandFactory;
use std::path::{Path, PathBuf};

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
        let failed = |e| Failure::write(Path::new("standard output"), e);
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        return super::print(&String::from_utf8_lossy(&page));
    };
    std::fs::create_dir_all(out).map_err(|e| Failure::io(out, "cannot create the folder", e))?;
    pages(&command, out)
}

/// The pages of a command and of what is below it.
fn pages(command: &clap::Command, out: &Path) -> Result<()> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set()).try_for_each(|verb| pages(verb, out))?;
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|e| Failure::write(out, e))?;
    files::replace(out, &page.get_filename(), &text)
}
