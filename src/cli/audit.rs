//! `congenial audit`

use crate::audit::{self, Effort};
use crate::engine::Manner;
use crate::failure::{Failure, Result};
use crate::page;
use crate::study;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file
    config: PathBuf,
    /// Releases of each of two tables that are judged; of a chain a tenth
    #[arg(long, default_value_t = Effort::default().draws, allow_negative_numbers = true)]
    draws: u64,
    /// Probability of accusing any method wrongly
    #[arg(long, default_value_t = Effort::default().level, allow_negative_numbers = true)]
    level: f64,
    /// Audit every cell; else each method under each law at its first cell
    #[arg(long)]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Threads [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Override a value of the config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let effort = Effort { draws: arguments.draws, level: arguments.level, all: arguments.all };
    effort.check().map_err(|error| Failure::Usage(format!("--{error}")))?;
    let threads = super::run::threads(arguments.threads);
    let manner = Manner { threads, fail_fast: false, quiet: false, watch: None };
    let configs =
        study::load(&arguments.config, &arguments.sets)?.grid("one with a grid of methods to audit")?;
    let audited = audit::audit(&study::settled(configs, Vec::new())?, effort, &manner)?;
    super::print(&match arguments.json {
        true => {
            let all = audit::described(&audited, effort);
            serde_json::to_string_pretty(&all).expect("plain values") + "\n"
        }
        false => audit::page(&audited, effort).to_text(page::terminal()),
    })?;
    match audited.iter().filter(|(_, one)| one.is_wrong()).count() {
        0 => Ok(()),
        wrong => Err(Failure::Wrong(format!("{wrong} of {} statements did not pass", audited.len()))),
    }
}
