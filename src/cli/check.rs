//! `congenial check`

use crate::failure::Result;
use crate::grid;
use crate::page::{counted, place};
use crate::study::{self, Document};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config files
    #[arg(required = true)]
    configs: Vec<PathBuf>,
    /// Start the programs of methods that are not ours, and ask what they promise
    #[arg(long)]
    commands: bool,
    /// Override a value of the configs
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// Checks everything of the configs that can be seen without the data.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    for path in &arguments.configs {
        let what = match study::load(path, &arguments.sets)? {
            Document::Grid(configs) => {
                for config in &configs {
                    if arguments.commands {
                        grid::meet(config)?;
                    }
                    grid::check(config)?;
                }
                configs[0]
                    .idle_excludes()
                    .iter()
                    .for_each(|what| say!("warning: {}: {what}", path.display()));
                let sets = match configs.len() {
                    1 => String::new(),
                    n => format!(", {n} data sets"),
                };
                let blocks = counted(configs[0].blocks.len() as f64, "block");
                let within = configs[0].data.within_words(", ");
                format!("{}, {blocks} of the grid{sets}{within}", configs[0].study)
            }
            Document::Gridless(config) => config.words(),
        };
        super::print(&format!("{}: fine ({what}); the data were not looked at\n", place(path)))?;
    }
    Ok(())
}
