//! `congenial check`

use crate::failure::Result;
use crate::study::{self, Document};
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
        let what = match study::load(path, &arguments.sets)? {
            Document::Grid(config) => {
                format!("{}, {} of the grid", config.study, plural(config.blocks.len(), "block"))
            }
            Document::Worlds(config) => format!("composition, {}", plural(config.settings.len(), "setting")),
        };
        super::print(&format!("{}: fine ({what}); the data were not looked at\n", path.display()))?;
    }
    Ok(())
}

fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
