//! `congenial man`

use crate::config;
use crate::failure::{Failure, Result};
use crate::files;
use clap::CommandFactory;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Show the page of this verb, not the tool's
    #[arg(conflicts_with = "out")]
    verb: Option<String>,
    /// Write a page for the tool and one for every verb into this folder, instead of showing one
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut command = super::Cli::command().display_name("congenial").disable_help_subcommand(true);
    command.build();
    if let Some(out) = &arguments.out {
        std::fs::create_dir_all(out).map_err(|e| Failure::io(out, "cannot create the folder", e))?;
        return pages(&command, out);
    }
    let shown = match &arguments.verb {
        None => &command,
        Some(verb) => command.find_subcommand(verb).ok_or_else(|| {
            let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            Failure::Usage(format!("man: got `{verb}`, {}", config::one_of(verb, &verbs)))
        })?,
    };
    let page = page(shown, Path::new(super::OUTPUT))?;
    // For people as `man` shows it, where there is one.
    if std::io::stdout().is_terminal() && formatted(&page) {
        return Ok(());
    }
    super::print(&String::from_utf8_lossy(&page))
}

/// Whether `man` has shown a page.
fn formatted(page: &[u8]) -> bool {
    let Ok(mut man) = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    let given = man.stdin.take().is_some_and(|mut input| input.write_all(page).is_ok());
    man.wait().is_ok_and(|status| status.success()) && given
}

fn page(command: &clap::Command, place: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(command.clone());
    page.render(&mut text).map_err(|e| Failure::write(place, e))?;
    Ok(text)
}

/// The pages of a command and of what is below it.
fn pages(command: &clap::Command, out: &Path) -> Result<()> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set()).try_for_each(|verb| pages(verb, out))?;
    let name = clap_mangen::Man::new(command.clone()).get_filename();
    files::replace(out, &name, &page(command, out)?)
}
