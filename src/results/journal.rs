//! The journal of a run: what is done already, so that a run that was stopped can go on.

use super::{SCHEMA_VERSION, ShardRecord};
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::runner::Rows;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a journal belongs to: rows of anything else are no rows of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Layout of the files.
    pub schema_version: u32,
    /// Hash of the resolved config.
    pub config_hash: String,
    /// Digest of the data.
    pub data_digest: String,
    /// Version and commit of the tool.
    pub tool: String,
}

impl Identity {
    /// That of a run by this tool.
    pub fn new(config_hash: &str, data_digest: &str) -> Self {
        let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("CONGENIAL_GIT_COMMIT"));
        Self {
            schema_version: SCHEMA_VERSION,
            config_hash: config_hash.to_owned(),
            data_digest: data_digest.to_owned(),
            tool: format!("{version} {commit} {}{}", env!("CONGENIAL_GIT_DIRTY"), env!("CONGENIAL_GIT_DIFF")),
        }
    }
}

/// Finished parts of a run, a file each: written to a temporary name, synced, renamed. A file that is not whole, or of
/// another run, is no part: it is left out and drawn again.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Further folders with parts of the same run.
    others: Vec<PathBuf>,
    identity: String,
}

/// The rows of a part, and why it ended early if it did.
pub type Part = (Rows, Option<String>);

/// Name of the file that says what a journal belongs to.
const IDENTITY: &str = "identity.json";

impl Journal {
    /// Opens the journal in a run's folder, or begins it.
    ///
    /// Errors: a journal of another config, other data, another schema or another build of the tool; files.
    pub fn open(partial: &Path, identity: &Identity) -> Result<Self> {
        let folder = partial.join("journal");
        let text = serde_json::to_string_pretty(identity).expect("plain fields");
        if !Self::check(partial, identity)? {
            fs::create_dir_all(&folder).map_err(|e| Failure::create(&folder, e))?;
            replace(&folder, IDENTITY, text.as_bytes())?;
        }
        Ok(Self { folder, others: Vec::new(), identity: hex(Sha256::digest(text.as_bytes())) })
    }

    /// Whether there is a journal in a run's folder. Errors: as [`Journal::open`].
    pub fn check(partial: &Path, identity: &Identity) -> Result<bool> {
        let place = partial.join("journal").join(IDENTITY);
        let found = match fs::read_to_string(&place) {
            Ok(found) => found,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(Failure::io(&place, "cannot read", e)),
        };
        let found: Identity = serde_json::from_str(&found)
            .map_err(|e| Failure::data(&place, format!("cannot go on from here: {e}")))?;
        let schema = |identity: &Identity| identity.schema_version.to_string();
        for (what, theirs, ours) in [
            ("the schema", schema(&found), schema(identity)),
            ("the config", found.config_hash, identity.config_hash.clone()),
            ("the data", found.data_digest, identity.data_digest.clone()),
            ("the tool", found.tool, identity.tool.clone()),
        ] {
            if theirs != ours {
                let message = format!(
                    "cannot go on: it was begun with {what} {theirs}, ours is {ours}; remove the folder or give --out"
                );
                return Err(Failure::data(&place, message));
            }
        }
        Ok(true)
    }

    fn name(cell: &str, range: &Range<u64>) -> String {
        format!("{cell}-{}-{}.part", range.start, range.end)
    }

    /// First line of a part.
    fn header(&self, cell: &str, range: &Range<u64>, payload: &[u8]) -> String {
        let Range { start, end } = range;
        format!("congenial part of {} {cell} {start} {end} {}\n", self.identity, hex(Sha256::digest(payload)))
    }

    /// Adds the parts that another process of the same run has left in its own folder.
    ///
    /// Errors: a folder without a journal; one of another run, as [`Journal::open`].
    pub fn add(&mut self, partial: &Path, identity: &Identity) -> Result<()> {
        if !Self::check(partial, identity)? {
            return Err(Failure::data(partial, "no journal of a run is here"));
        }
        self.others.push(partial.join("journal"));
        Ok(())
    }

    /// Copies the parts of other journals that are not here yet. Errors: files.
    pub(super) fn adopt_others(&self) -> Result<()> {
        self.others.iter().try_for_each(|other| self.adopt(other))
    }

    /// Copies the parts of a run that are not here yet, and leaves none that ended with an error: for one that draws those
    /// again. Errors: files.
    pub(super) fn adopt_good(&self, run: &Path) -> Result<()> {
        self.adopt(&run.join("journal"))?;
        for path in parts_in(&self.folder) {
            let bytes = fs::read(&path).map_err(|e| Failure::io(&path, "cannot read", e))?;
            let payload =
                bytes.iter().position(|&byte| byte == b'\n').map_or(&[][..], |end| &bytes[end + 1..]);
            if let Ok((_, Some(_))) = postcard::from_bytes::<Part>(payload) {
                fs::remove_file(&path).map_err(|e| Failure::io(&path, "cannot remove", e))?;
            }
        }
        Ok(())
    }

    fn adopt(&self, journal: &Path) -> Result<()> {
        for path in parts_in(journal) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !self.folder.join(&*name).exists() {
                let bytes = fs::read(&path).map_err(|e| Failure::io(&path, "cannot read", e))?;
                replace(&self.folder, &name, &bytes)?;
            }
        }
        Ok(())
    }

    /// Notes that a shard has begun: what it will leave here is no other process's to remove. Errors: files.
    pub fn begin_shard(&self, shard: u64, of: u64) -> Result<()> {
        replace(&self.folder, &format!("shard-{shard}-of-{of}.begun"), b"")
    }

    /// Whether nothing but its identity is here.
    pub(super) fn is_untouched(&self) -> bool {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.into_iter().all(|entry| entry.file_name() == IDENTITY)
    }

    /// Notes that a shard has come to its end. Errors: files.
    pub fn note_shard(&self, shard: &ShardRecord) -> Result<()> {
        let text = serde_json::to_string_pretty(shard).expect("plain fields");
        let ShardRecord { shard, of, .. } = shard;
        replace(&self.folder, &format!("shard-{shard}-of-{of}.json"), text.as_bytes())
    }

    /// The shards that have come to their end, in order.
    pub fn shards(&self) -> Vec<ShardRecord> {
        let folders = std::iter::once(&self.folder).chain(&self.others);
        let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let mut shards: Vec<ShardRecord> = files
            .filter(|file| file.path().extension().is_some_and(|extension| extension == "json"))
            .filter(|file| file.file_name() != IDENTITY)
            .filter_map(|file| serde_json::from_str(&fs::read_to_string(file.path()).ok()?).ok())
            .collect();
        shards.sort_by_key(|shard| (shard.of, shard.shard));
        shards
    }

    /// Writes a file of the run beside the journal; returns its place. Errors: files.
    pub(super) fn beside(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let folder = self.folder.parent().expect("a journal lies in the folder of its run");
        replace(folder, name, content).map(|()| folder.join(name))
    }

    /// A part, if it is there and whole.
    pub fn read(&self, cell: &str, range: &Range<u64>) -> Option<Part> {
        let mut folders = std::iter::once(&self.folder).chain(&self.others);
        folders.find_map(|folder| self.read_in(folder, cell, range))
    }

    fn read_in(&self, folder: &Path, cell: &str, range: &Range<u64>) -> Option<Part> {
        self.part(cell, range, &fs::read(folder.join(Self::name(cell, range))).ok()?)
    }

    /// A part from the bytes of its file, if they are whole.
    pub fn part(&self, cell: &str, range: &Range<u64>, bytes: &[u8]) -> Option<Part> {
        let end = bytes.iter().position(|&byte| byte == b'\n')? + 1;
        let payload = &bytes[end..];
        if bytes[..end] != *self.header(cell, range, payload).as_bytes() {
            return None;
        }
        postcard::from_bytes(payload).ok()
    }

    /// Keeps a part. Errors: files.
    pub fn write(&self, cell: &str, range: &Range<u64>, part: &Part) -> Result<()> {
        let payload = postcard::to_stdvec(part)
            .map_err(|e| Failure::data(&self.folder, format!("cannot be written: {e}")))?;
        let mut bytes = self.header(cell, range, &payload).into_bytes();
        bytes.extend(payload);
        replace(&self.folder, &Self::name(cell, range), &bytes)
    }

    /// Parts that are there, whole or not.
    pub fn parts(&self) -> usize {
        parts_in(&self.folder).count()
    }
}

fn parts_in(journal: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let paths = fs::read_dir(journal).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "part"))
}

/// Writes a file beside its place, syncs it, and gives it its name: afterwards it is whole or not there, even if the
/// power goes.
pub(super) fn replace(folder: &Path, name: &str, content: &[u8]) -> Result<()> {
    let place = folder.join(name);
    let failed = |e: std::io::Error| Failure::write(&place, e);
    let (temporary, mut file) = temporary(folder, name).map_err(failed)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&temporary, &place)).map_err(|e| {
        // Of no use, and in the way on a full disk.
        let _ = fs::remove_file(&temporary);
        failed(e)
    })?;
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems sync no folders.
        Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(failed(e)),
        _ => Ok(()),
    }
}

/// A file of our own. Processes on several machines may write the same file at the same time, some with the same number:
/// none meets another's, nor one that was left behind.
fn temporary(folder: &Path, name: &str) -> std::io::Result<(PathBuf, File)> {
    for attempt in 0u32.. {
        let path = folder.join(format!("{name}.{}.{attempt}.tmp", std::process::id()));
        match File::create_new(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
            opened => return opened.map(|file| (path, file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::{ChainRow, Draw, LevelRow};

    fn part() -> Part {
        let error =
            LevelRow { replicate: 3, level: 1, l1: 0.1, l2: f64::NAN, bias: -0.0, invariant_ok: true };
        let chain = ChainRow { replicate: 3, level: 1, steps: 9, moves: 2, ess: Some(1.5), records: 4 };
        let draw = Draw { replicate: 3, iteration: 1, errors: vec![1.0, f64::MIN_POSITIVE] };
        let mut rows = Rows::default();
        rows.errors.push(error);
        rows.chains.push(chain);
        rows.draws.push(draw);
        (rows, Some("an error".into()))
    }

    /// Whole parts come back bit for bit; a part that was cut, changed anywhere, or belongs elsewhere is none.
    #[test]
    fn only_whole_parts_of_this_run_count() {
        let place = tempfile::tempdir().unwrap();
        let identity = Identity::new("0123", "data");
        let journal = Journal::open(place.path(), &identity).unwrap();
        assert!(journal.read("cell", &(0..4)).is_none());
        journal.write("cell", &(0..4), &part()).unwrap();
        let bits = |part: &Part| postcard::to_stdvec(part).unwrap();
        let again = Journal::open(place.path(), &identity).unwrap();
        assert_eq!(bits(&again.read("cell", &(0..4)).unwrap()), bits(&part()));
        assert_eq!(again.parts(), 1);
        let path = place.path().join("journal/cell-0-4.part");
        let whole = fs::read(&path).unwrap();
        for i in 0..whole.len() {
            fs::write(&path, &whole[..i]).unwrap();
            assert!(again.read("cell", &(0..4)).is_none(), "cut at {i}");
            let mut flipped = whole.clone();
            flipped[i] ^= 0x10;
            fs::write(&path, &flipped).unwrap();
            assert!(again.read("cell", &(0..4)).is_none(), "flipped at {i}");
        }
        fs::write(place.path().join("journal/other-0-4.part"), &whole).unwrap();
        fs::write(place.path().join("journal/cell-4-8.part"), &whole).unwrap();
        assert!(again.read("other", &(0..4)).is_none() && again.read("cell", &(4..8)).is_none());
        for other in [
            Identity::new("4567", "data"),
            Identity::new("0123", "other"),
            Identity { schema_version: 99, ..identity.clone() },
            Identity { tool: "another".into(), ..identity.clone() },
        ] {
            assert!(Journal::open(place.path(), &other).unwrap_err().to_string().contains("cannot go on"));
        }
        // Parts of another folder count as well, if it is of the same run.
        fs::write(&path, &whole).unwrap();
        let (second, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut both = Journal::open(second.path(), &identity).unwrap();
        both.add(place.path(), &identity).unwrap();
        assert_eq!(bits(&both.read("cell", &(0..4)).unwrap()), bits(&part()));
        let refused = both.add(empty.path(), &identity);
        assert!(refused.unwrap_err().to_string().contains("no journal"));
    }
}
