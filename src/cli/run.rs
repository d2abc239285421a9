//! `congenial run`

use crate::engine::{self, Manner, Shard};
use crate::failure::{Failure, Result};
use crate::page::{self, counted};
use crate::report::{self, Report};
use crate::store::{self, Claim, Earlier, Identity, Manifest, RunFolder, ShardRecord, Started};
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

/// How a run is made.
pub(super) struct Making<'a> {
    /// Where it goes, if not to its usual place.
    pub(super) out: Option<&'a Path>,
    /// What becomes of what is there.
    pub(super) earlier: Earlier,
    pub(super) manner: Manner,
    pub(super) judging: Judging,
    /// Whether shards have drawn everything, some of them in folders of their own.
    pub(super) merged: Option<&'a [PathBuf]>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let &Arguments { resume, retry_failed, fail_fast, judging, .. } = arguments;
    let earlier = match (retry_failed, resume) {
        (true, _) => Earlier::Retried,
        (false, true) => Earlier::Resumed,
        (false, false) => Earlier::Refused,
    };
    let manner = Manner { threads: threads(arguments.threads), fail_fast, quiet: false };
    let making = Making { out: arguments.out.as_deref(), earlier, manner, judging, merged: None };
    let planned = study::plan(study::load(&arguments.config, &arguments.sets)?)?;
    planned.warning().iter().for_each(|warning| say!("{warning}"));
    match &arguments.shard {
        Some(shard) => run_shard(&making, &*planned, super::shard::read(shard)?),
        None => run_plan(&making, &*planned),
    }
}

/// Draws the batches of one shard.
fn run_shard(making: &Making, planned: &dyn Planned, shard: Shard) -> Result<()> {
    let about = planned.about();
    let identity = Identity::new(&about.config_hash, &about.data_digest);
    let target = target(making.out, &about.name, &about.config_hash);
    let expected = engine::estimate(planned, making.manner.threads);
    expected.shared(shard.of).fits(&about.name, &target)?;
    let Some(mut journal) = store::shard(&target, &identity, (shard.number, shard.of))? else {
        say!("{}: the run is complete: {}", about.name, target.display());
        return Ok(());
    };
    if making.earlier == Earlier::Retried {
        journal.forget_failed();
    }
    journal.begin_shard(shard.number, shard.of)?;
    interruptible(&about.name, journal.batches(), "the same command goes on from here")?;
    let started = Started::now(making.manner.threads);
    let drawn = engine::run_shard(planned, making.manner, &journal, shard);
    let batches = drawn.inspect_err(|_| drop(journal.save()))?;
    let Shard { number, of } = shard;
    journal.note_shard(&ShardRecord { shard: number, of, batches, process: started.end() })?;
    say!("{}: shard {number} of {of} is done: {batches} batches; merge makes the run", about.name);
    Ok(())
}

/// Makes a run.
pub(super) fn run_plan(making: &Making, planned: &dyn Planned) -> Result<()> {
    // Read before the run, so that a mistake in them costs nothing.
    let copies = planned.copies()?;
    let about = planned.about();
    let identity = Identity::new(&about.config_hash, &about.data_digest);
    let target = target(making.out, &about.name, &about.config_hash);
    let expected = engine::estimate(planned, making.manner.threads);
    // A run that is complete takes nothing.
    if !target.join("manifest.json").exists() {
        expected.fits(&about.name, &target)?;
    }
    let Some(folder) = claim(making, &about.name, &target, &identity)? else { return Ok(()) };
    let folder = folder.with_shards(making.merged.unwrap_or_default(), &identity)?;
    if making.merged.is_some() {
        let (missing, all) = engine::missing(planned, folder.journal());
        if missing > 0 {
            let message = format!(
                "{}: {missing} of {all} batches are missing: not all shards have run to their end, or what they left is damaged (`run --resume` draws what is missing)",
                about.name
            );
            return Err(Failure::Incompatible(message));
        }
    }
    let (given, resolved) = planned.configs();
    // A plan that was frozen for shards has it as it was given.
    if !(making.merged.is_some() && folder.has("config.toml")) {
        folder.write("config.toml", given.as_bytes())?;
    }
    folder.write(store::RESOLVED, resolved.as_bytes())?;
    for (name, content) in copies {
        folder.write(name, &content)?;
    }
    // Read before the run, too.
    let shards = folder.journal().shards()?;
    let manner = making.manner;
    let (cells, threads) = (counted(about.cells as f64, "cell"), counted(manner.threads as f64, "thread"));
    say!("{}: {cells} on {threads}{expected}", about.name);
    let started = Started::now(manner.threads);
    let failed = draw(planned, manner, &folder).inspect_err(|_| keep(&folder, &about.name))?;
    let seconds = started.seconds();
    let target = folder.commit(Manifest::new(about, failed, started.end(), shards))?;
    say!("done in {seconds:.1} s: {}", target.display());
    finish(&target, making.judging)
}

/// Draws everything into the tables; returns how many cells failed.
fn draw(planned: &dyn Planned, manner: Manner, folder: &RunFolder) -> Result<usize> {
    let mut tables = planned.begin(folder)?;
    let failed = engine::run(planned, manner, Some(folder.journal()), &mut *tables)?;
    tables.finish()?;
    folder.end_tables()?;
    Ok(failed)
}

/// After a failure: what was drawn is kept, on a full disk in the place of the tables.
fn keep(folder: &RunFolder, name: &str) {
    folder.clear();
    if folder.journal().save().is_ok() && !folder.journal().is_untouched() {
        say!("{name}: what was drawn is kept; the same command with --resume goes on from here");
    }
}

/// Where a run goes.
pub(super) fn target(out: Option<&Path>, name: &str, hash: &str) -> PathBuf {
    match out {
        Some(out) => out.to_owned(),
        None => PathBuf::from("results").join(format!("{name}-{}", &hash[..8])),
    }
}

/// Claims the folder of a run; prints the report of one that is complete already.
fn claim(making: &Making, name: &str, target: &Path, identity: &Identity) -> Result<Option<RunFolder>> {
    match store::claim(target, identity, making.earlier)? {
        Claim::New(folder) => {
            let hint = match making.earlier {
                Earlier::Refused => "the same command with --resume goes on from here",
                _ => "the same command goes on from here",
            };
            interruptible(name, folder.journal().batches(), hint)?;
            Ok(Some(*folder))
        }
        Claim::Complete(manifest) => {
            say!(
                "{}: this config was run before, by {} on {}; here is its report (remove the folder or give --out to run again)",
                target.display(),
                manifest.revision(),
                manifest.process.started
            );
            finish(target, making.judging).map(|()| None)
        }
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
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new().spawn(wait).map(drop).map_err(failed)
}

pub(super) fn threads(given: Option<u16>) -> usize {
    let given = given.map(usize::from);
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
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
            let (failed, cells) =
                manifest.map_or((0, 0), |manifest| (manifest.failed_cells, manifest.cells));
            Err(Failure::CellsFailed { failed, cells, first })
        }
    }
}
