//! `congenial completions`

use crate::failure::Result;
use clap::CommandFactory;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Cli::command(), "congenial", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
