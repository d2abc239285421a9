//! `congenial plan`

use crate::engine;
use crate::failure::Result;
use crate::page::{self, Page};
use crate::study::{self, Listing};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file
    config: PathBuf,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Override a value of the config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let planned = study::plan(study::load(&arguments.config, &arguments.sets)?)?;
    // A mistake in the files that a report adds.
    planned.copies()?;
    planned.warning().iter().for_each(|warning| say!("{warning}"));
    let (about, Listing { header, rows, summary, mut json }) = (planned.about(), planned.listing());
    if arguments.json {
        let folder = super::run::target(None, &about.name, &about.config_hash);
        json["name"] = json!(about.name);
        json["study"] = json!(about.study);
        json["seed"] = json!(about.seed);
        json["config_hash"] = json!(about.config_hash);
        json["folder"] = json!(folder);
        json["estimate"] = json!(engine::estimate(&*planned, super::run::threads(None)));
        return super::print(&(serde_json::to_string_pretty(&json).expect("plain values") + "\n"));
    }
    let expected = engine::estimate(&*planned, super::run::threads(None));
    super::print(&Page::default().table_once(1, header, rows).to_text(page::terminal()))?;
    say!("{summary}{expected}; config hash {}", about.config_hash);
    expected.fits(&about.name, &super::run::target(None, &about.name, &about.config_hash))
}
