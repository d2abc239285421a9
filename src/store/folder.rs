//! The folder of a run: written beside its final place, renamed when complete, never overwritten.

use super::{Identity, Journal, Manifest, SCHEMA_VERSION, locked};
use crate::failure::{Failure, Result};
use crate::files::{TEMPORARY, is_taken, listed, replace, sync, sync_folder};
use crate::hash::FileDigest;
use crate::table::{Field, Record, TableDigest, Values, Writer, unwritten};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A folder that is being written, `<final name>.partial`. Dropped before [`RunFolder::commit`] it is removed again,
/// unless its journal holds finished parts, or somebody else made it.
#[derive(Debug)]
pub struct RunFolder {
    target: PathBuf,
    partial: PathBuf,
    /// Whether this process made it.
    own: bool,
    earlier: Earlier,
    /// Held until the end: no other process writes this folder.
    _lock: fs::File,
    journal: Option<Journal>,
    /// Files of the run, by their names from its folder: those that this process has written, and those that it has taken up.
    written: Mutex<BTreeSet<String>>,
    /// Tables written so far, with their digests; they are synced by the commit.
    tables: Mutex<BTreeMap<String, TableDigest>>,
    /// Declared tables that are being written.
    open: Mutex<BTreeMap<&'static str, Arc<Mutex<OpenFile>>>>,
    config_hash: String,
}

/// Whether a run has to be made.
#[derive(Debug)]
pub enum Claim {
    /// The folder has to be filled by this process.
    New(Box<RunFolder>),
    /// The folder holds the complete run of this very config.
    Complete(Box<Manifest>),
}

/// What becomes of what earlier processes have left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Nothing of earlier processes may be there.
    #[default]
    Refused,
    /// What is there is taken up.
    Resumed,
    /// What is there is taken up, but for parts that failed: those are made again, also in a run that is complete
    /// otherwise.
    Retried,
}

/// Claims `target` for the run of this identity.
///
/// Refused: a folder that holds anything else, one that another process is writing, or left when it was killed (unless it
/// is to be taken up), a place that cannot be written, files in what was left that no run has.
pub fn claim(target: &Path, identity: &Identity, earlier: Earlier) -> Result<Claim> {
    let config_hash = &identity.config_hash;
    if is_taken(target) {
        if !target.join("manifest.json").exists() {
            return Err(Failure::io(
                target,
                "not used",
                "exists and is not the folder of a run; choose another by --out",
            ));
        }
        let manifest = Manifest::read(target)?;
        if manifest.config_hash != *config_hash {
            let message = format!(
                "exists and holds the run of another config ({}, ours is {config_hash}); choose another folder by --out",
                manifest.config_hash
            );
            return Err(Failure::io(target, "not used", message));
        }
        if manifest.failed_cells == 0 || earlier != Earlier::Retried {
            sweep(target, journal_of(&manifest));
            return Ok(Claim::Complete(Box::new(manifest)));
        }
        Journal::check(target, identity)?;
    }
    let partial = partial(target)?;
    if let Some(parent) = partial.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|e| Failure::create(parent, e))?;
    }
    let made = match fs::create_dir(&partial) {
        Ok(()) => true,
        Err(e) if e.kind() == ErrorKind::AlreadyExists => false,
        Err(e) => return Err(Failure::create(&partial, e)),
    };
    let place = partial.join("lock");
    // An empty folder was left between its creation and the next line; shards leave a journal without a lock.
    let empty = fs::read_dir(&partial).is_ok_and(|mut entries| entries.next().is_none());
    let left = !(made || empty);
    let new = !left || (!place.exists() && partial.join("journal").exists());
    let lock = fs::OpenOptions::new().create_new(new).write(true).open(&place);
    let busy = || Failure::io(&partial, "not used", "another process is writing it");
    let lock = lock.map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            Failure::io(&partial, "not used", "exists, and no run has left it: remove it, or give --out")
        }
        ErrorKind::AlreadyExists => busy(),
        _ => Failure::create(&place, e),
    })?;
    // A file system without locks leaves the exclusive creation above.
    if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
        return Err(busy());
    }
    if left && earlier == Earlier::Refused {
        let message = "a run that was stopped left it: give --resume to go on from there, or remove it";
        return Err(Failure::io(&partial, "not used", message));
    }
    // Before anything is drawn.
    if let Some(stranger) = files_in(&partial)?.iter().find(|name| is_strange(name)) {
        return Err(strange(&partial, stranger));
    }
    // Of a process that ended between writing it and giving the folder its name.
    let _ = fs::remove_file(partial.join("manifest.json"));
    let mut journal = Journal::open(&partial, identity)?;
    if earlier == Earlier::Retried {
        if is_taken(target) {
            journal.adopt(target)?;
        }
        journal.forget_failed();
    }
    Ok(Claim::New(Box::new(RunFolder {
        target: target.to_owned(),
        partial,
        own: !left,
        earlier,
        _lock: lock,
        journal: Some(journal),
        written: Mutex::default(),
        tables: Mutex::default(),
        open: Mutex::default(),
        config_hash: config_hash.clone(),
    })))
}

/// The folder that a run writes before it is complete.
fn partial(target: &Path) -> Result<PathBuf> {
    let mut name = target.file_name().map(|name| name.to_owned()).unwrap_or_default();
    if name.is_empty() {
        return Err(Failure::io(target, "not used", "want the name of a folder"));
    }
    name.push(".partial");
    Ok(target.with_file_name(name))
}

/// Opens the journal of a run for one of several shards: they may share the folder, since no two write the same batch, or
/// have folders of their own. `number`, `of`: which shard.
///
/// `None` if that run is complete. Refused: another run there; a journal of another run.
pub fn shard(target: &Path, identity: &Identity, (number, of): (u64, u64)) -> Result<Option<Journal>> {
    if !is_free(target, identity)? {
        return Ok(None);
    }
    let partial = partial(target)?;
    fs::create_dir_all(&partial).map_err(|e| Failure::create(&partial, e))?;
    Journal::of_shard(&partial, identity, number, of).map(Some)
}

/// Whether a shard may write there; `false` if that run is complete. Refused: another run there.
fn is_free(target: &Path, identity: &Identity) -> Result<bool> {
    if is_taken(target) {
        let manifest = Manifest::read(target).ok();
        if manifest.is_some_and(|manifest| manifest.config_hash == identity.config_hash) {
            return Ok(false);
        }
        let message = "exists, and is another run: a shard writes beside it, and merge gives it its name";
        return Err(Failure::io(target, "not used", message));
    }
    Ok(true)
}

/// A place where a plan can be frozen for shards to come; nothing is written yet.
#[derive(Debug)]
pub struct Free<'a> {
    target: &'a Path,
    identity: &'a Identity,
    /// Where the resolved config will be: run from there, the shards depend on no file that somebody may edit meanwhile, but the
    /// data, which the identity knows.
    pub config: PathBuf,
}

/// Looks whether a plan can be frozen. Refused: as for a shard; a run that is complete.
pub fn free<'a>(target: &'a Path, identity: &'a Identity) -> Result<Free<'a>> {
    let complete = || Failure::io(target, "not used", "it is the complete run of this config already");
    if !is_free(target, identity)? {
        return Err(complete());
    }
    let partial = partial(target)?;
    Journal::check(&partial, identity)?;
    Ok(Free { target, identity, config: partial.join(RESOLVED) })
}

impl Free<'_> {
    /// Makes the folder that the shards share, with the config as given and as resolved. Refused: as for a shard.
    pub fn freeze(&self, given: &str, resolved: &str) -> Result<()> {
        let journal = shard(self.target, self.identity, (0, 0))?;
        let taken = || Failure::io(self.target, "not used", "it appeared meanwhile");
        let journal = journal.ok_or_else(taken)?;
        journal.beside(GIVEN, given.as_bytes())?;
        journal.beside(RESOLVED, resolved.as_bytes())
    }
}

/// What a complete run keeps of what it was made from: where cells failed, the journal.
fn journal_of(manifest: &Manifest) -> &'static [&'static str] {
    if manifest.failed_cells > 0 { &["journal"] } else { &[] }
}

/// Removes what a run needs while it is drawn, but for what is kept, and what processes that were killed have left: files that did not
/// come to their end. What cannot be removed stays.
fn sweep(folder: &Path, kept: &[&str]) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        match name.as_ref() {
            name if kept.contains(&name) => sweep(&path, &[]),
            "journal" => drop(fs::remove_dir_all(path)),
            "lock" => drop(fs::remove_file(path)),
            name if name.ends_with(TEMPORARY) => drop(fs::remove_file(path)),
            _ => {}
        }
    }
}

/// Files that are synced at the same time.
const SYNCED: usize = 16;

/// The file with the config as it was given.
pub const GIVEN: &str = "config.toml";
/// The file with the resolved config.
pub const RESOLVED: &str = "config.resolved.toml";
/// The file with published figures to print beside those of the run.
pub const PUBLISHED: &str = "published.csv";
/// The file with a release by somebody else to print beside those of the run.
pub const BESIDE: &str = "beside.csv";

/// Whether a file has a name that runs give to theirs, by its name from the folder: what has it and is not of the run
/// would be taken for it.
pub(super) fn is_of_a_run(name: &str) -> bool {
    name.ends_with(".parquet") || [GIVEN, RESOLVED, PUBLISHED, BESIDE].contains(&name)
}

/// Whether neither a run nor a file system leaves such a file in the folder of a run that is drawn.
fn is_strange(name: &str) -> bool {
    let (first, last) = (name.split('/').next().unwrap_or(name), name.rsplit('/').next().unwrap_or(name));
    let of_the_drawing = ["journal", "lock", "manifest.json"].contains(&first) || name.ends_with(TEMPORARY);
    // Names with a dot are left by file systems and desktops.
    !(of_the_drawing || is_of_a_run(name) || last.starts_with('.'))
}

fn strange(folder: &Path, name: &str) -> Failure {
    Failure::io(
        &folder.join(name),
        "not used",
        "it is no file of this run, and would stay in its folder: put it elsewhere",
    )
}

impl RunFolder {
    /// Whether a file of the run is there already, and stays as it is.
    pub fn takes_up(&self, name: &str) -> bool {
        let there = self.partial.join(name).is_file();
        if there {
            locked(&self.written).insert(name.to_owned());
        }
        there
    }

    /// Writes a file of the run.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        replace(&self.partial, name, content)?;
        locked(&self.written).insert(name.to_owned());
        Ok(())
    }

    fn create(&self, name: &str) -> Result<fs::File> {
        let path = self.partial.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| Failure::create(parent, e))?;
        }
        // An earlier process may have left half of it.
        let file = fs::File::create(&path).map_err(|e| Failure::write(&path, e))?;
        locked(&self.written).insert(name.to_owned());
        Ok(file)
    }

    /// Begins a declared table, or goes on with it.
    pub fn table<R: Record>(&self) -> Result<TableFile<'_, R>> {
        let mut open = locked(&self.open);
        let file = match open.get(R::FILE) {
            Some(file) => file.clone(),
            None => {
                let file = Arc::new(Mutex::new(self.begin(R::FILE, R::fields(), &[])?));
                open.insert(R::FILE, file.clone());
                file
            }
        };
        Ok(TableFile { file, folder: PhantomData, record: PhantomData })
    }

    /// Ends all declared tables, and notes for the manifest what they hold. Errors: the disk.
    pub fn end_tables(&self) -> Result<()> {
        for (_, file) in std::mem::take(&mut *locked(&self.open)) {
            let file = Arc::into_inner(file).expect("those who write it have ended");
            self.end(file.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        }
        Ok(())
    }

    /// Begins a table of any columns; `told`: what its footer says more.
    pub fn rows(&self, name: &str, fields: Vec<Field>, told: &[(&str, String)]) -> Result<RowsFile<'_>> {
        Ok(RowsFile { folder: self, file: self.begin(name, fields, told)? })
    }

    fn begin(&self, name: &str, fields: Vec<Field>, told: &[(&str, String)]) -> Result<OpenFile> {
        let ours = [
            ("congenial.schema_version", SCHEMA_VERSION.to_string()),
            ("congenial.config_hash", self.config_hash.clone()),
            ("congenial.git_commit", env!("CONGENIAL_GIT_COMMIT").to_owned()),
        ];
        let metadata = [&ours, told].concat();
        let path = self.partial.join(name);
        let writer = Writer::new(self.create(name)?, fields, &metadata).map_err(|e| unwritten(&path, e))?;
        Ok(OpenFile { name: name.to_owned(), path, writer })
    }

    fn end(&self, file: OpenFile) -> Result<()> {
        let digest = file.writer.finish().map_err(|e| unwritten(&file.path, e))?;
        locked(&self.tables).insert(file.name, digest);
        Ok(())
    }

    /// Removes what the run cannot use when it goes on: what it has written but the journal and the configs. On a full disk that makes
    /// room for the journal.
    pub fn clear(&self) {
        locked(&self.open).clear();
        let mut written = locked(&self.written);
        for name in written.iter().filter(|name| ![GIVEN, RESOLVED].contains(&name.as_str())) {
            let _ = fs::remove_file(self.partial.join(name));
        }
        written.retain(|name| [GIVEN, RESOLVED].contains(&name.as_str()));
    }

    /// Takes up the batches that shards have left in their own folders. Errors: as [`Journal::add`].
    pub fn with_shards(mut self, shards: &[PathBuf], identity: &Identity) -> Result<Self> {
        for shard in shards {
            let journal = self.journal.as_mut().expect("it is removed by the commit alone");
            journal.add(&partial(shard)?, identity)?;
        }
        Ok(self)
    }

    /// The journal of what is done already.
    pub fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("it is removed by the commit alone")
    }

    /// Writes the manifest with the digests of all files, the commit record, and gives the folder its name. What an
    /// earlier run with failed cells left there is moved aside, to `<name>.failed-<n>`. The journal stays if cells failed.
    pub fn commit(mut self, mut manifest: Manifest) -> Result<PathBuf> {
        let kept = journal_of(&manifest);
        if !kept.is_empty() {
            self.journal().save()?;
            self.journal().adopt_others()?;
        }
        // What processes that were killed have left.
        sweep(&self.partial, &["journal", "lock"]);
        manifest.tables = std::mem::take(&mut *locked(&self.tables));
        manifest.files = self.settled(kept)?;
        // From here on everything is there: whatever fails, nothing is removed.
        self.own = false;
        replace(&self.partial, "manifest.json", manifest.text().as_bytes())?;
        let failed = |e: std::io::Error| Failure::write(&self.target, e);
        if is_taken(&self.target) {
            let theirs = Manifest::read(&self.target).ok();
            let retried = theirs
                .is_some_and(|theirs| theirs.config_hash == manifest.config_hash && theirs.failed_cells > 0);
            if self.earlier != Earlier::Retried || !retried {
                let message =
                    format!("it appeared while the run went on; the run is in {}", self.partial.display());
                return Err(Failure::write(&self.target, message));
            }
            let name = self.target.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let aside = |n: u32| self.target.with_file_name(format!("{name}.failed-{n}"));
            let free = (1..u32::MAX).map(aside).find(|aside| !aside.exists());
            fs::rename(&self.target, free.expect("a folder has fewer files")).map_err(failed)?;
        }
        fs::rename(&self.partial, &self.target).map_err(failed)?;
        self.journal = None;
        // On the disk before the journal goes.
        sync_folder(self.target.parent().unwrap_or(Path::new(""))).map_err(failed)?;
        sweep(&self.target, journal_of(&manifest));
        Ok(self.target.clone())
    }
}

impl RunFolder {
    /// Waits until the files that stay are on the disk, for many at the same time, which costs hardly more than for one; returns what they
    /// are. `kept`: as in [`sweep`]. Tables and copies that another process has left are removed. Errors: files; one that no run leaves.
    fn settled(&self, kept: &[&str]) -> Result<BTreeMap<String, FileDigest>> {
        let mut names = Vec::new();
        let written = locked(&self.written);
        for name in files_in(&self.partial)? {
            let top = name.split('/').next().unwrap_or_default();
            if written.contains(&name) || (kept.contains(&top) && !name.ends_with(TEMPORARY)) {
                names.push(name);
            } else if is_strange(&name) {
                return Err(strange(&self.partial, &name));
            } else if is_of_a_run(&name) && top != "journal" {
                let path = self.partial.join(&name);
                fs::remove_file(&path).map_err(|e| Failure::write(&path, e))?;
            }
        }
        drop(written);
        let settled = |name: &String| {
            let path = self.partial.join(name);
            let synced = sync(&path).and_then(|()| path.parent().map_or(Ok(()), sync_folder));
            synced.map_err(|e| Failure::write(&path, e))?;
            Ok((name.clone(), FileDigest::of(&path)?))
        };
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for some in names.chunks(names.len().div_ceil(SYNCED).max(1)) {
                let work = || some.iter().map(settled).collect::<Result<Vec<_>>>();
                let thread = std::thread::Builder::new().spawn_scoped(scope, work);
                threads.push(thread.map_err(|e| Failure::write(&self.partial, e))?);
            }
            let all = threads.into_iter().map(|thread| thread.join().expect("it reads and waits"));
            Ok(all.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        })
    }
}

/// What is in a folder and in all below it but folders, by names from there, in order. Errors: files.
pub(super) fn files_in(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut below = vec![String::new()];
    while let Some(prefix) = below.pop() {
        for entry in listed(&folder.join(&prefix))? {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(|e| Failure::io(&entry.path(), "cannot read", e))?;
            if kind.is_dir() { below.push(name + "/") } else { names.push(name) }
        }
    }
    names.sort_unstable();
    Ok(names)
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let Some(journal) = &self.journal else { return };
        if self.own && journal.is_untouched() {
            // The run failed: its own half-written files are worth nothing and would block the next.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// A file of a table that is being written.
#[derive(Debug)]
struct OpenFile {
    name: String,
    path: PathBuf,
    writer: Writer,
}

impl OpenFile {
    fn row(&mut self) -> Result<&mut [Values]> {
        self.writer.row().map_err(|e| unwritten(&self.path, e))
    }
}

/// A table that is being written, of any columns.
pub struct RowsFile<'a> {
    folder: &'a RunFolder,
    file: OpenFile,
}

impl RowsFile<'_> {
    /// The columns, to append a row of values to. Errors: the disk.
    pub fn row(&mut self) -> Result<&mut [Values]> {
        self.file.row()
    }

    /// Ends the file, and notes for the manifest what it holds. Errors: the disk.
    pub fn finish(self) -> Result<()> {
        self.folder.end(self.file)
    }
}

/// A declared table that is being written, maybe by several: each adds rows in its turn. [`RunFolder::end_tables`] ends it.
pub struct TableFile<'a, R> {
    file: Arc<Mutex<OpenFile>>,
    folder: PhantomData<&'a RunFolder>,
    record: PhantomData<fn(R)>,
}

impl<R: Record> TableFile<'_, R> {
    /// Adds a row. Errors: the disk.
    pub fn push(&mut self, row: &R) -> Result<()> {
        row.put(locked(&self.file).row()?);
        Ok(())
    }
}
