//! The folder of a run: written beside its final place, renamed when complete, never overwritten.

use super::{Identity, Journal, Manifest, TableDigest};
use crate::failure::{Failure, Result};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder that is being written, `<final name>.partial`. Dropped before [`RunFolder::commit`] it is removed again,
/// unless its journal holds finished parts.
#[derive(Debug)]
pub struct RunFolder {
    target: PathBuf,
    partial: PathBuf,
    /// Held until the end: no other process writes this folder.
    _lock: fs::File,
    journal: Option<Journal>,
    /// Digests of the tables written so far.
    tables: RefCell<BTreeMap<String, TableDigest>>,
}

/// Whether a run has to be made.
#[derive(Debug)]
pub enum Claim {
    /// The folder is ours to fill.
    New(RunFolder),
    /// It holds the complete run of this very config.
    Complete(Box<Manifest>),
}

/// Claims `target` for the run of this identity. `resume`: whether what an earlier process left is taken up.
///
/// Refused: a folder that holds anything else, one that another process is writing, or left when it was killed (unless it
/// is to be taken up), a place that cannot be written.
pub fn claim(target: &Path, identity: &Identity, resume: bool) -> Result<Claim> {
    let config_hash = &identity.config_hash;
    if target.exists() {
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
        return Ok(Claim::Complete(Box::new(manifest)));
    }
    let partial = partial(target)?;
    if let Some(parent) = partial.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|e| Failure::io(parent, "cannot create the folder", e))?;
    }
    let left = match fs::create_dir(&partial) {
        Ok(()) => false,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => true,
        Err(e) => return Err(Failure::io(&partial, "cannot create the folder", e)),
    };
    let place = partial.join("lock");
    // Shards leave a journal without a lock.
    let new = !left || (!place.exists() && partial.join("journal").exists());
    let lock = fs::OpenOptions::new().create_new(new).write(true).open(&place);
    let lock = lock.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::io(&partial, "not used", "exists, and no run has left it: remove it, or give --out")
        }
        _ => Failure::io(&place, "cannot write", e),
    })?;
    if lock.try_lock().is_err() {
        return Err(Failure::io(&partial, "not used", "another process is writing it"));
    }
    if left && !resume {
        let message = "a run that was stopped left it: give --resume to go on from there, or remove it";
        return Err(Failure::io(&partial, "not used", message));
    }
    let journal = Journal::open(&partial, identity)?;
    let (target, tables) = (target.to_owned(), RefCell::default());
    Ok(Claim::New(RunFolder { target, partial, _lock: lock, journal: Some(journal), tables }))
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

/// Opens the journal of a run for one of several shards: they may share the folder, since no two write the same part, or
/// have folders of their own.
///
/// Refused: a run that is complete; a journal of another run.
pub fn shard(target: &Path, identity: &Identity) -> Result<Journal> {
    if target.exists() {
        return Err(Failure::io(
            target,
            "not used",
            "exists: a shard writes beside it, and merge gives it its name",
        ));
    }
    let partial = partial(target)?;
    fs::create_dir_all(&partial).map_err(|e| Failure::io(&partial, "cannot create the folder", e))?;
    Journal::open(&partial, identity)
}

impl RunFolder {
    /// Writes a file of the run, to the disk.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        self.write_with(name, |file| file.write_all(content).map_err(|e| e.to_string()))
    }

    /// Writes a file of the run by a closure, to the disk.
    pub fn write_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut fs::File) -> std::result::Result<(), String>,
    ) -> Result<()> {
        let path = self.partial.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| Failure::io(parent, "cannot create the folder", e))?;
        }
        let failed = |e: String| Failure::io(&path, "cannot write", e);
        // An earlier process may have left half of it.
        let mut file = fs::File::create(&path).map_err(|e| failed(e.to_string()))?;
        write(&mut file).map_err(failed)?;
        file.sync_all().map_err(|e| failed(e.to_string()))
    }

    /// Takes up the parts that shards have left in their own folders. Errors: as [`Journal::add`].
    pub fn with_shards(mut self, shards: &[PathBuf], identity: &Identity) -> Result<Self> {
        for shard in shards {
            let journal = self.journal.as_mut().expect("it is removed by the commit alone");
            journal.add(&partial(shard)?, identity)?;
        }
        Ok(self)
    }

    /// What is done already.
    pub fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("it is removed by the commit alone")
    }

    /// Notes what a table holds, for the manifest.
    pub(super) fn note(&self, name: &str, digest: TableDigest) {
        self.tables.borrow_mut().insert(name.to_owned(), digest);
    }

    /// Writes the manifest with the digests of all tables, the commit record, and gives the folder its name.
    pub fn commit(mut self, mut manifest: Manifest) -> Result<PathBuf> {
        manifest.tables = self.tables.take();
        let text = serde_json::to_string_pretty(&manifest).expect("a manifest has only plain fields");
        super::journal::replace(&self.partial, "manifest.json", text.as_bytes())?;
        let failed = |e: std::io::Error| Failure::io(&self.target, "cannot rename the folder", e);
        fs::rename(&self.partial, &self.target).map_err(failed)?;
        // Complete: what is left of the journal and the lock is swept out.
        self.journal = None;
        let _ = fs::remove_dir_all(self.target.join("journal"));
        let _ = fs::remove_file(self.target.join("lock"));
        Ok(self.target.clone())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let Some(journal) = &self.journal else { return };
        if journal.parts() == 0 {
            // The run failed: its own half-written files are worth nothing and would block the next.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}
