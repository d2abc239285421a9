//! `congenial check`

use crate::config::{self, Document};
use crate::failure::Result;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config files
    #[arg(required = true)]
    configs: Vec<PathBuf>,
    /// Override a value of the configs
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// Everything that can be seen without the data.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    for path in &arguments.configs {
        let what = match config::load(path, &arguments.sets)? {
            Document::Grid(config) => {
                let blocks = config.blocks.len();
                format!("{} of {blocks} block{}", config.study.name(), if blocks == 1 { "" } else { "s" })
            }
            Document::Worlds(config) => format!("composition of {} settings", config.settings.len()),
        };
        super::print(&format!("{}: fine ({what}); the data were not looked at\n", path.display()))?;
    }
    Ok(())
}
