//! Making a run: its folder is claimed, its cells are drawn, its tables get their name. Verbs of the command line and
//! other programs share this.
//!
//! Nothing here prints, waits for signals or ends the process: who makes a run is told what goes on ([`Hearer`]) and may stop it
//! ([`crate::engine::Watch`]).

use crate::engine::{self, Estimate, Manner, Shard};
use crate::failure::{Failure, Result};
use crate::own::process;
use crate::page::counted;
use crate::store::{self, About, Claim, Earlier, Identity, Manifest, RunFolder, ShardRecord, Started};
use crate::study::Planned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How a run is made.
#[derive(Debug)]
pub struct Making<'a> {
    /// The folder of the run, if not its usual place.
    pub out: Option<&'a Path>,
    /// What becomes of what is there.
    pub earlier: Earlier,
    /// Threads, and who watches.
    pub manner: Manner<'a>,
    /// Whether shards have drawn everything, some of them in folders of their own.
    pub merged: Option<&'a [PathBuf]>,
}

/// The caller that makes a run, as it is told what goes on.
pub trait Hearer {
    /// Hears a sentence for people.
    fn hear(&self, line: &str);
    /// Hears that from here on what is drawn stays, and may be taken up again: that of `batches` is there. Errors:
    /// those of the hearer end the run.
    fn claimed(&self, name: &str, batches: usize) -> Result<()>;
}

/// A run that is there, and how it came about.
#[derive(Debug)]
pub enum Made {
    /// The run was drawn now.
    Drawn(PathBuf),
    /// The run was complete before.
    Before(PathBuf, Box<Manifest>),
}

impl Made {
    /// The folder of the run.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Drawn(folder) | Self::Before(folder, _) => folder,
        }
    }
}

/// The folder where a run goes.
pub fn target(out: Option<&Path>, name: &str, hash: &str) -> PathBuf {
    match out {
        Some(out) => out.to_owned(),
        None => PathBuf::from("results").join(format!("{name}-{}", &hash[..8])),
    }
}

/// Describes a plan for programs: what is listed of it, with what it is, where its run goes and what that takes.
pub fn described(about: &About, listed: Value, expected: &Estimate) -> Value {
    let mut all = listed;
    all["name"] = json!(about.name);
    all["study"] = json!(about.study);
    all["seed"] = json!(about.seeds[0]);
    all["seeds"] = json!(about.seeds);
    all["config_hash"] = json!(about.config_hash);
    all["folder"] = json!(target(None, &about.name, &about.config_hash));
    all["estimate"] = json!(expected);
    all
}

/// The number of threads: as many as given, or as the machine has cores.
pub fn threads(given: Option<usize>) -> usize {
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Makes a run. Cells that fail are no error here; the manifest counts them.
///
/// Errors: a place that cannot be used, a full disk, damaged journals, missing batches of shards; with `fail_fast` the
/// first cell that fails; that it was stopped. What was drawn until then is kept.
pub fn run(making: &Making, planned: &dyn Planned, hearer: &dyn Hearer) -> Result<Made> {
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
    let folder = match store::claim(&target, &identity, making.earlier)? {
        Claim::Complete(manifest) => return Ok(Made::Before(target, manifest)),
        Claim::New(folder) => *folder,
    };
    hearer.claimed(&about.name, folder.journal().batches())?;
    let folder = folder.with_shards(making.merged.unwrap_or_default(), &identity)?;
    if making.merged.is_some() {
        let (missing, all) = engine::missing(planned, folder.journal());
        if missing > 0 {
            let message = format!(
                "{}: {missing} of {all} batches are missing: not all shards have run to their end, or what they left \
                    is damaged (`run --resume` draws what is missing)",
                about.name
            );
            return Err(Failure::Incompatible(message));
        }
    }
    let (given, resolved) = planned.configs();
    // A plan that was frozen for shards has it as it was given.
    if !(making.merged.is_some() && folder.takes_up(store::GIVEN)) {
        folder.write(store::GIVEN, given.as_bytes())?;
    }
    folder.write(store::RESOLVED, resolved.as_bytes())?;
    for (name, content) in copies {
        folder.write(name, &content)?;
    }
    // Read before the run, too.
    let shards = folder.journal().shards()?;
    let manner = making.manner;
    let (cells, threads) = (counted(about.cells as f64, "cell"), counted(manner.threads as f64, "thread"));
    hearer.hear(&format!("{}: {cells} on {threads}{expected}", about.name));
    let started = Started::now(manner.threads);
    let drawn = draw(planned, manner, &folder);
    process::end_idle();
    let failed = drawn.inspect_err(|_| keep(&folder, &about.name, hearer))?;
    let seconds = started.seconds();
    let target = folder.commit(Manifest::new(about, failed, started.end(), shards))?;
    hearer.hear(&format!("done in {seconds:.1} s: {}", target.display()));
    Ok(Made::Drawn(target))
}

/// Draws the batches of one shard. Errors: as [`run`].
pub fn run_shard(making: &Making, planned: &dyn Planned, shard: Shard, hearer: &dyn Hearer) -> Result<()> {
    let about = planned.about();
    let identity = Identity::new(&about.config_hash, &about.data_digest);
    let target = target(making.out, &about.name, &about.config_hash);
    let expected = engine::estimate(planned, making.manner.threads);
    expected.shared(shard.of).fits(&about.name, &target)?;
    let Some(mut journal) = store::shard(&target, &identity, (shard.number, shard.of))? else {
        hearer.hear(&format!("{}: the run is complete: {}", about.name, target.display()));
        return Ok(());
    };
    if making.earlier == Earlier::Retried {
        journal.forget_failed();
    }
    journal.begin_shard(shard.number, shard.of)?;
    hearer.claimed(&about.name, journal.batches())?;
    let started = Started::now(making.manner.threads);
    let drawn = engine::run_shard(planned, making.manner, &journal, shard);
    process::end_idle();
    let batches = drawn.inspect_err(|_| drop(journal.save()))?;
    let Shard { number, of } = shard;
    journal.note_shard(&ShardRecord { shard: number, of, batches, process: started.end() })?;
    hearer.hear(&format!(
        "{}: shard {number} of {of} is done: {batches} batches; merge makes the run",
        about.name
    ));
    Ok(())
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
fn keep(folder: &RunFolder, name: &str, hearer: &dyn Hearer) {
    folder.clear();
    if folder.journal().save().is_ok() && !folder.journal().is_untouched() {
        hearer.hear(&format!(
            "{name}: what was drawn is kept; the same command with --resume goes on from here"
        ));
    }
}
