//! `congenial run`

use crate::engine::Manner;
use crate::failure::{Failure, Result};
use crate::making::{self, Hearer, Made, Making};
use crate::page;
use crate::report::{self, Report};
use crate::store::Earlier;
use crate::study::{self, Planned};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The config file
    config: PathBuf,
    /// Folder of the results [default: results/<name>-<config hash>]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Go on from what a run that was stopped has left
    #[arg(long)]
    resume: bool,
    /// Draw again what failed, in a run that is complete or was stopped, or in a shard, and keep the rest
    #[arg(long)]
    retry_failed: bool,
    /// End with the first cell that fails; what is finished stays for --resume
    #[arg(long)]
    fail_fast: bool,
    #[command(flatten)]
    judging: Judging,
    /// Draw only the batches of one of n shards, into <out>.partial; `merge` then makes the run. `auto`: from a Slurm job
    /// array or an indexed Kubernetes job
    #[arg(long, value_name = "M/N|auto", conflicts_with_all = ["resume", "strict", "allow_failed"])]
    shard: Option<String>,
    /// Override a value of the config (`replicates=10`, `grid.epsilon=[1]`, `grid.0.method="exact"`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// What decides the exit code of a run that went through.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Judging {
    /// End with exit code 5 if chains have not converged
    #[arg(long)]
    strict: bool,
    /// End with exit code 0 if cells failed, too
    #[arg(long)]
    allow_failed: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let &Arguments { resume, retry_failed, fail_fast, judging, .. } = arguments;
    let earlier = match (retry_failed, resume) {
        (true, _) => Earlier::Retried,
        (false, true) => Earlier::Resumed,
        (false, false) => Earlier::Refused,
    };
    let manner = Manner { threads: threads(arguments.threads), fail_fast, quiet: false, watch: None };
    let making = Making { out: arguments.out.as_deref(), earlier, manner, merged: None };
    let planned = study::plan(study::load(&arguments.config, &arguments.sets)?)?;
    planned.warning().iter().for_each(|warning| say!("{warning}"));
    match &arguments.shard {
        Some(shard) => {
            let shard = super::shard::read(shard)?;
            making::run_shard(&making, &*planned, shard, &Terminal(AGAIN))
        }
        None => run_plan(&making, &*planned, judging),
    }
}

const AGAIN: &str = "the same command goes on from here";

/// Makes a run, and prints its report.
pub(super) fn run_plan(making: &Making, planned: &dyn Planned, judging: Judging) -> Result<()> {
    let hint = match making.earlier {
        Earlier::Refused => "the same command with --resume goes on from here",
        _ => AGAIN,
    };
    let made = making::run(making, planned, &Terminal(hint))?;
    if let Made::Before(target, manifest) = &made {
        say!(
            "{}: this config was run before, by {} on {}; here is its report (remove the folder or give --out to run again)",
            target.display(),
            manifest.revision(),
            manifest.process.started
        );
    }
    finish(made.folder(), judging)
}

/// Says everything on standard error; a signal ends the process, with this hint on how to go on.
struct Terminal(&'static str);

impl Hearer for Terminal {
    fn hear(&self, line: &str) {
        say!("{line}");
    }

    fn claimed(&self, name: &str, batches: usize) -> Result<()> {
        interruptible(name, batches, self.0)
    }
}

/// From here on SIGINT and SIGTERM end the process at once, with one line on how to go on: what is in the journal is safe.
fn interruptible(name: &str, batches: usize, hint: &'static str) -> Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    if batches > 0 {
        say!("{name}: batches done already: {batches}");
    }
    let failed = |e: std::io::Error| Failure::Usage(format!("cannot wait for signals: {e}"));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            say!("\nstopped; {hint}");
            crate::own::ending::end_for_good();
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new().spawn(wait).map(drop).map_err(failed)
}

pub(super) fn threads(given: Option<u16>) -> usize {
    making::threads(given.map(usize::from))
}

/// Prints the report of a finished run; cells that failed decide the exit code unless they are allowed, and chains if it is `strict`.
fn finish(target: &Path, judging: Judging) -> Result<()> {
    let report = Report::open(&[target.to_owned()])?;
    report::summarize(&report, page::terminal(), Path::new(super::OUTPUT), &mut super::Output)?;
    let trusted = super::warn(&report, judging.strict);
    match report.failures.first() {
        None => trusted,
        Some(_) if judging.allow_failed => trusted,
        Some((_, cell, error)) => {
            let first = format!("{cell}: {error}");
            let manifest = report.runs().next().map(|named| &named.run.manifest);
            let (failed, cells) = manifest.map_or((0, 0), |manifest| (manifest.failed_cells, manifest.cells));
            Err(Failure::CellsFailed { failed, cells, first })
        }
    }
}
