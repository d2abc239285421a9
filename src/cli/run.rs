//! `congenial run`

use crate::config::{self, Document, Shape, WorldsConfig};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::report::{self, Format};
use crate::results::{self, About, Claim, Manifest, RunFolder};
use crate::runner;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

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
    /// Override a value of the config (`replicates=10`, `grid.epsilon=[1]`, `grid.0.method="exact"`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let config = match config::load(&arguments.config, &arguments.sets)? {
        Document::Grid(config) => *config,
        Document::Worlds(config) => return run_worlds(arguments, &config),
    };
    let plan = Plan::new(config)?;
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
    let Some(folder) = claim(arguments, &plan.config.name, &hash)? else { return Ok(()) };
    folder.write("config.toml", plan.config.given.as_bytes())?;
    folder.write("config.resolved.toml", plan.resolved().as_bytes())?;
    if let Some(published) = published {
        folder.write("published.csv", &published)?;
    }
    if let Some(beside) = beside {
        folder.write("beside.csv", &report::write_beside(&beside))?;
    }
    let used = threads(arguments);
    eprintln!("{}: {} cells on {used} threads", plan.config.name, plan.cells.len());
    let (started, clock) = (SystemTime::now(), Instant::now());
    let outcomes =
        runner::run(&plan, used).map_err(|e| Failure::Usage(format!("cannot start {used} threads: {e}")))?;
    let elapsed = clock.elapsed();
    results::write_tables(&folder, &plan, &outcomes)?;
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
    let target = folder.commit(Manifest::new(About::plan(&plan), failed, used, started, elapsed))?;
    eprintln!("done in {:.1} s: {}", elapsed.as_secs_f64(), target.display());
    finish(&target)
}

/// Claims the folder of a run; prints the report of one that is complete already.
fn claim(arguments: &Arguments, name: &str, hash: &str) -> Result<Option<RunFolder>> {
    let target = match &arguments.out {
        Some(out) => out.clone(),
        None => PathBuf::from("results").join(format!("{name}-{}", &hash[..8])),
    };
    match results::claim(&target, hash)? {
        Claim::New(folder) => Ok(Some(folder)),
        Claim::Complete(manifest) => {
            eprintln!(
                "{}: this config was run before, by {} on {}; here is its report (remove the folder or give --out to run again)",
                target.display(),
                manifest.revision(),
                manifest.started
            );
            finish(&target).map(|()| None)
        }
    }
}

fn threads(arguments: &Arguments) -> usize {
    let given = arguments.threads.map(usize::from);
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// A study of composition.
fn run_worlds(arguments: &Arguments, config: &WorldsConfig) -> Result<()> {
    let hash = config.hash();
    let Some(folder) = claim(arguments, &config.name, &hash)? else { return Ok(()) };
    folder.write("config.toml", config.given.as_bytes())?;
    folder.write("config.resolved.toml", config.text.as_bytes())?;
    let (started, clock) = (SystemTime::now(), Instant::now());
    let used = threads(arguments);
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
    let target = folder.commit(Manifest::new(about, 0, used, started, clock.elapsed()))?;
    eprintln!("done in {:.1} s: {}", clock.elapsed().as_secs_f64(), target.display());
    finish(&target)
}

/// Prints the report of a finished run; cells that failed decide the exit code.
fn finish(target: &std::path::Path) -> Result<()> {
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
