//! `congenial merge`

use super::run::{self, Judging};
use crate::engine::Manner;
use crate::failure::Result;
use crate::making::Making;
use crate::store::Earlier;
use crate::study;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file, as it was given to the shards
    config: PathBuf,
    /// Folder of the results, as it was given to the shards that share one [default: results/<name>-<config hash>]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Folders of shards that had their own, as given to them by --out
    #[arg(long = "from", value_name = "DIR")]
    shards: Vec<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Overrides, as they were given to the shards
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    #[command(flatten)]
    judging: Judging,
}

/// Merges the shards of a run: its rows are those of a run in one piece.
pub(super) fn run(arguments: Arguments) -> Result<()> {
    let Arguments { config, out, shards, threads, sets, judging } = arguments;
    let planned = study::plan(study::load(&config, &sets)?)?;
    let manner = Manner { threads: run::threads(threads), fail_fast: false, quiet: false, watch: None };
    let making = Making { out: out.as_deref(), earlier: Earlier::Resumed, manner, merged: Some(&shards) };
    run::run_plan(&making, &*planned, judging)
}
