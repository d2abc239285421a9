//! `congenial run`

use crate::config::{self, Document, Shape, WorldsConfig};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::report::{self, Format};
use crate::results::{self, About, Claim, Earlier, Identity, Manifest, RunFolder, ShardRecord, Started};
use crate::runner::{self, Manner, Shard};
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
    /// Draw only the parts of one of n shards, into <out>.partial; `merge` then makes the run. `auto`: from a Slurm job
    /// array or an indexed Kubernetes job
    #[arg(long, value_name = "M/N|auto", conflicts_with = "resume")]
    shard: Option<String>,
    /// Override a value of the config (`replicates=10`, `grid.epsilon=[1]`, `grid.0.method="exact"`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// How a run is made.
pub(super) struct Making<'a> {
    /// Where it goes, if not to its usual place.
    pub(super) out: Option<&'a Path>,
    /// What becomes of what is there.
    pub(super) earlier: Earlier,
    pub(super) manner: Manner,
    /// Whether shards have drawn everything, some of them in folders of their own.
    pub(super) merged: Option<&'a [PathBuf]>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let &Arguments { resume, retry_failed, fail_fast, .. } = arguments;
    let earlier = match (retry_failed, resume) {
        (true, _) => Earlier::Retried,
        (false, true) => Earlier::Resumed,
        (false, false) => Earlier::Refused,
    };
    let manner = Manner { threads: threads(arguments.threads), fail_fast, quiet: false };
    let making = Making { out: arguments.out.as_deref(), earlier, manner, merged: None };
    if let Some(shard) = &arguments.shard {
        let plan = super::shard::plan("--shard", &arguments.config, &arguments.sets)?;
        return run_shard(&making, &plan, super::shard::read(shard)?);
    }
    match config::load(&arguments.config, &arguments.sets)? {
        Document::Grid(config) => run_plan(&making, &Plan::new(*config)?),
        Document::Worlds(config) => run_worlds(&making, &config),
    }
}

/// Draws the parts of one shard.
fn run_shard(making: &Making, plan: &Plan, shard: Shard) -> Result<()> {
    let hash = plan.hash();
    let identity = Identity::new(&hash, plan.subject.digest());
    let target = target(making.out, &plan.config.name, &hash);
    let Some(journal) = results::shard(&target, &identity)? else {
        eprintln!("{}: the run is complete: {}", plan.config.name, target.display());
        return Ok(());
    };
    journal.begin_shard(shard.number, shard.of)?;
    interruptible(&plan.config.name, journal.parts(), "the same command goes on from here")?;
    let started = Started::now(making.manner.threads);
    let parts = runner::run_shard(plan, making.manner, &journal, shard, making.earlier == Earlier::Retried)?;
    let Shard { number, of } = shard;
    journal.note_shard(&ShardRecord { shard: number, of, parts, process: started.end() })?;
    eprintln!("{}: shard {number} of {of} is done: {parts} parts; merge makes the run", plan.config.name);
    Ok(())
}

/// Makes a run.
pub(super) fn run_plan(making: &Making, plan: &Plan) -> Result<()> {
    // Read before the run, so that a mistake in it costs nothing.
    let published = match &plan.config.published {
        Some(path) => {
            report::read_published(path)?;
            Some(std::fs::read(path).map_err(|e| Failure::io(path, "cannot read", e))?)
        }
        None => None,
    };
    let beside = match (&plan.config.beside, &plan.config.data.shape) {
        (None, _) => None,
        (Some(beside), Shape::Table { cell: Some(cell), .. }) => {
            Some(report::read_beside_source(beside, cell)?)
        }
        (Some(_), _) => {
            return Err(Failure::Usage(format!(
                "{}: report.beside needs `data.cell`, the columns that name a cell in both tables",
                plan.config.path.display()
            )));
        }
    };
    let hash = plan.hash();
    let identity = Identity::new(&hash, plan.subject.digest());
    let Some(folder) = claim(making, &plan.config.name, &identity)? else { return Ok(()) };
    let folder = folder.with_shards(making.merged.unwrap_or_default(), &identity)?;
    if making.merged.is_some() {
        let missing = runner::missing(plan, folder.journal());
        if missing > 0 {
            let message = format!(
                "{}: {missing} parts are missing: not all shards have run to their end (`run --resume` draws what is missing)",
                plan.config.name
            );
            return Err(Failure::Incompatible(message));
        }
    }
    // A plan that was frozen for shards has both.
    if !(making.merged.is_some() && folder.has(results::RESOLVED)) {
        folder.write("config.toml", plan.config.given.as_bytes())?;
        folder.write(results::RESOLVED, plan.resolved().as_bytes())?;
    }
    if let Some(published) = published {
        folder.write("published.csv", &published)?;
    }
    if let Some(beside) = beside {
        folder.write("beside.csv", &report::write_beside(&beside))?;
    }
    let manner = making.manner;
    eprintln!("{}: {} cells on {} threads", plan.config.name, plan.cells.len(), manner.threads);
    let started = Started::now(manner.threads);
    let outcomes = runner::run(plan, manner, Some(folder.journal()))?;
    let seconds = started.seconds();
    results::write_tables(&folder, plan, &outcomes)?;
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
    let shards = folder.journal().shards();
    let target = folder.commit(Manifest::new(About::plan(plan), failed, started.end(), shards))?;
    eprintln!("done in {seconds:.1} s: {}", target.display());
    finish(&target)
}

/// Where a run goes.
pub(super) fn target(out: Option<&Path>, name: &str, hash: &str) -> PathBuf {
    match out {
        Some(out) => out.to_owned(),
        None => PathBuf::from("results").join(format!("{name}-{}", &hash[..8])),
    }
}

/// Claims the folder of a run; prints the report of one that is complete already.
fn claim(making: &Making, name: &str, identity: &Identity) -> Result<Option<RunFolder>> {
    let hash = &identity.config_hash;
    let target = target(making.out, name, hash);
    match results::claim(&target, identity, making.earlier)? {
        Claim::New(folder) => {
            let hint = match making.earlier {
                Earlier::Refused => "the same command with --resume goes on from here",
                _ => "the same command goes on from here",
            };
            interruptible(name, folder.journal().parts(), hint)?;
            Ok(Some(folder))
        }
        Claim::Complete(manifest) => {
            eprintln!(
                "{}: this config was run before, by {} on {}; here is its report (remove the folder or give --out to run again)",
                target.display(),
                manifest.revision(),
                manifest.process.started
            );
            finish(&target).map(|()| None)
        }
    }
}

/// From here on SIGINT and SIGTERM end the process at once, with one line on how to go on: finished parts are safe.
fn interruptible(name: &str, parts: usize, hint: &'static str) -> Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    if parts > 0 {
        eprintln!("{name}: {parts} parts are done already");
    }
    let failed = |e: std::io::Error| Failure::Usage(format!("cannot wait for signals: {e}"));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            eprintln!("\nstopped; {hint}");
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

pub(super) fn threads(given: Option<u16>) -> usize {
    let given = given.map(usize::from);
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// A study of composition.
fn run_worlds(making: &Making, config: &WorldsConfig) -> Result<()> {
    let hash = config.hash();
    let Some(folder) = claim(making, &config.name, &Identity::new(&hash, ""))? else { return Ok(()) };
    folder.write("config.toml", config.given.as_bytes())?;
    folder.write(results::RESOLVED, config.text.as_bytes())?;
    let used = making.manner.threads;
    let started = Started::now(used);
    eprintln!("{}: {} settings on {used} threads", config.name, config.settings.len());
    let findings = runner::check_worlds(config, used)?;
    results::write_findings(&folder, &findings, &hash)?;
    let about = About {
        name: config.name.clone(),
        study: "composition",
        subject: "worlds",
        config_hash: hash,
        seed: config.seed,
        data_digest: String::new(),
        lattice: None,
        cells: config.settings.len(),
    };
    let seconds = started.seconds();
    let target = folder.commit(Manifest::new(about, 0, started.end(), Vec::new()))?;
    eprintln!("done in {seconds:.1} s: {}", target.display());
    finish(&target)
}

/// Prints the report of a finished run; cells that failed decide the exit code.
fn finish(target: &Path) -> Result<()> {
    let report = report::collect(&[target.to_owned()])?;
    super::print(&report::render(&report, Format::Text))?;
    match report.failures.first() {
        None => Ok(()),
        Some((_, cell, error)) => Err(Failure::CellsFailed {
            failed: report.failures.len(),
            cells: report.runs[0].1.cells,
            first: format!("{cell}: {error}"),
        }),
    }
}
