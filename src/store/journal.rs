//! The journal of a run: what is drawn already, so that a run that was stopped can go on.
//!
//! Every process appends to a log of its own; a log may end in the middle of a record. A record that is not whole, or of
//! another run, is none: what it held is drawn again.

use super::{SCHEMA_VERSION, ShardRecord};
use crate::failure::{Failure, Result};
use crate::files::{self, create, replace, replace_with};
use crate::hash;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    /// The identity of a run by this tool.
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

/// What a batch left: its rows as its study encodes them, and why it ended early if it did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The rows.
    pub rows: Vec<u8>,
    /// The error.
    pub error: Option<String>,
}

/// A batch: the key of its cell and its replicates.
pub type BatchKey = (u64, u64, u64);

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    log: usize,
    at: u64,
    length: usize,
    /// Whether the batch ended with an error.
    pub failed: bool,
}

/// Finished batches of a run.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    identity: String,
    /// Begins the names of the logs of this process, and of those it reads: a shard's own, or nothing.
    prefix: String,
    /// Logs by number, of other folders too; the own one last, once it is begun.
    logs: Mutex<Vec<PathBuf>>,
    index: HashMap<BatchKey, Spot>,
    /// Logs of other folders: copied here if the journal stays.
    others: Vec<PathBuf>,
    own: Mutex<Option<Log>>,
}

/// The log of this process.
#[derive(Debug, Default)]
struct Log {
    /// The file of the log; none before something is written.
    file: Option<File>,
    number: usize,
    /// Bytes in the file, all of them whole records.
    written: u64,
    /// Records that are not in the file yet.
    buffer: Vec<u8>,
    /// Work in the buffer, not synced yet, and in all: seconds of one thread.
    unwritten: f64,
    unsynced: f64,
    total: f64,
}

/// Bytes of records beyond which they are written.
const BUFFER: usize = 1 << 20;
/// Seconds of work of one thread, in all threads together, after which records are written and synced at the latest.
const LATEST: f64 = 10.0;
/// Share of all work so far that may be unwritten, and the least of it in seconds: short runs write seldom, and what is
/// lost is little beside what is done.
const SHARE: (f64, f64) = (0.01, 0.05);

/// Name of the file that says what a journal belongs to.
const IDENTITY: &str = "identity.json";
/// Begins every record; rows of another layout have another number.
const MAGIC: &[u8; 8] = b"records4";
/// Bytes of an error and of rows at most: what says that it has more is damaged.
const LONGEST: u64 = 1 << 30;
/// Bytes before the text of the error and the rows.
const HEAD: usize = 8 + 5 * 8 + 32;

/// A lock; what a thread that panicked with it has left is whole.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Journal {
    /// Opens the journal in a run's folder, or begins it.
    ///
    /// Errors: a journal of another config, other data, another schema or another build of the tool; files.
    pub fn open(partial: &Path, identity: &Identity) -> Result<Self> {
        Self::open_for(partial, identity, String::new())
    }

    /// Opens the journal for one of many shards, which reads what it has left itself: no other has its batches.
    pub fn of_shard(partial: &Path, identity: &Identity, shard: u64, of: u64) -> Result<Self> {
        Self::open_for(partial, identity, format!("shard-{shard}-of-{of}-"))
    }

    fn open_for(partial: &Path, identity: &Identity, prefix: String) -> Result<Self> {
        let folder = partial.join("journal");
        let text = serde_json::to_string_pretty(identity).expect("plain fields");
        if !Self::check(partial, identity)? {
            fs::create_dir_all(&folder).map_err(|e| Failure::create(&folder, e))?;
            replace(&folder, IDENTITY, text.as_bytes())?;
        }
        let mut journal = Self {
            folder: folder.clone(),
            identity: hash_of(&text),
            prefix,
            logs: Mutex::default(),
            index: HashMap::new(),
            others: Vec::new(),
            own: Mutex::default(),
        };
        journal.read_logs(&folder)?;
        Ok(journal)
    }

    /// Whether there is a journal in a run's folder. Errors: as [`Journal::open`].
    pub fn check(partial: &Path, identity: &Identity) -> Result<bool> {
        let place = partial.join("journal").join(IDENTITY);
        if !files::is_taken(&place) {
            return Ok(false);
        }
        let found = files::text(&place, "cannot read")?;
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

    /// Takes up the records of all logs of a folder. A good one stands before one with an error.
    fn read_logs(&mut self, folder: &Path) -> Result<()> {
        for path in logs_in(folder, &self.prefix)? {
            let mut file = files::open(&path)?;
            let number = locked(&self.logs).len();
            let cannot = |e: std::io::Error| Failure::io(&path, "cannot read", e);
            let (mut at, mut record) = (0, Vec::new());
            loop {
                let Some((key, failed)) = next(&mut file, &self.identity, &mut record).map_err(cannot)?
                else {
                    match next_magic(&mut file, at + 1).map_err(cannot)? {
                        None => break,
                        Some(place) => at = place,
                    }
                    continue;
                };
                let spot = Spot { log: number, at, length: record.len(), failed };
                at += record.len() as u64;
                match self.index.get(&key) {
                    Some(known) if !known.failed || failed => {}
                    _ => drop(self.index.insert(key, spot)),
                }
            }
            locked(&self.logs).push(path);
        }
        Ok(())
    }

    /// Adds the records that another process of the same run has left in its own folder.
    ///
    /// Errors: a folder without a journal; one of another run, as [`Journal::open`].
    pub fn add(&mut self, partial: &Path, identity: &Identity) -> Result<()> {
        if !Self::check(partial, identity)? {
            return Err(Failure::data(partial, "no journal of a run is here"));
        }
        let other = partial.join("journal");
        self.read_logs(&other)?;
        self.others.push(other);
        Ok(())
    }

    /// Forgets batches that ended with an error: they are drawn again.
    pub fn forget_failed(&mut self) {
        self.index.retain(|_, spot| !spot.failed);
    }

    /// Copies the logs of the folders that were added: this one stays, and they may go. Errors: files.
    pub(super) fn adopt_others(&self) -> Result<()> {
        self.others.iter().try_for_each(|other| self.copy(other))
    }

    /// Takes up the journal of a complete run. Errors: files.
    pub(super) fn adopt(&mut self, run: &Path) -> Result<()> {
        self.copy(&run.join("journal"))?;
        self.index.clear();
        locked(&self.logs).clear();
        self.read_logs(&self.folder.clone())
    }

    fn copy(&self, journal: &Path) -> Result<()> {
        for path in logs_in(journal, "")? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !self.folder.join(&*name).exists() {
                let mut log = files::open(&path)?;
                let cannot = |e| Failure::io(&path, "cannot be copied", e);
                replace_with(&self.folder, &name, |out| {
                    std::io::copy(&mut log, out).map(drop).map_err(cannot)
                })?;
            }
        }
        Ok(())
    }

    /// Notes that a shard has begun: what it will leave here is no other process's to remove. Errors: files.
    pub fn begin_shard(&self, shard: u64, of: u64) -> Result<()> {
        replace(&self.folder, &format!("shard-{shard}-of-{of}.begun"), b"")
    }

    /// Whether the journal holds nothing but its identity.
    pub fn is_untouched(&self) -> bool {
        let is_identity =
            |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == IDENTITY);
        fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.all(is_identity))
    }

    /// Notes that a shard has come to its end. Errors: files.
    pub fn note_shard(&self, shard: &ShardRecord) -> Result<()> {
        let text = serde_json::to_string_pretty(shard).expect("plain fields");
        let ShardRecord { shard, of, .. } = shard;
        replace(&self.folder, &format!("shard-{shard}-of-{of}.json"), text.as_bytes())
    }

    /// The shards that have come to their end, in order; a record that is not whole is none. Errors: files.
    pub fn shards(&self) -> Result<Vec<ShardRecord>> {
        let mut shards: Vec<ShardRecord> = Vec::new();
        for folder in std::iter::once(&self.folder).chain(&self.others) {
            for file in files::listed(folder)? {
                let path = file.path();
                if path.extension().is_some_and(|extension| extension == "json")
                    && file.file_name() != IDENTITY
                {
                    shards.extend(serde_json::from_str::<ShardRecord>(&files::text(&path, "cannot read")?));
                }
            }
        }
        shards.sort_by_key(|shard| (shard.of, shard.shard));
        Ok(shards)
    }

    /// Writes a file of the run beside the journal. Errors: files.
    pub(super) fn beside(&self, name: &str, content: &[u8]) -> Result<()> {
        let folder = self.folder.parent().expect("a journal lies in the folder of its run");
        replace(folder, name, content)
    }

    /// The place of a batch of an earlier process.
    pub fn find(&self, key: BatchKey) -> Option<Spot> {
        self.index.get(&key).copied()
    }

    /// The number of batches of earlier processes.
    pub fn batches(&self) -> usize {
        self.index.len()
    }

    /// Reads a record. Errors: files; a record that is no longer what it was.
    pub fn read(&self, spot: Spot) -> Result<Batch> {
        if let Some(log) = locked(&self.own).as_mut().filter(|log| log.number == spot.log) {
            self.write(log)?;
        }
        let path = locked(&self.logs)[spot.log].clone();
        let cannot = |e: std::io::Error| Failure::io(&path, "cannot read", e);
        let mut file = files::open(&path)?;
        file.seek(SeekFrom::Start(spot.at)).map_err(cannot)?;
        let mut record = Vec::new();
        let found = next(&mut file, &self.identity, &mut record).map_err(cannot)?;
        match found.filter(|_| record.len() == spot.length) {
            Some(_) => Ok(batch(&record)),
            None => Err(Failure::data(&path, "it has changed while the run went on")),
        }
    }

    /// Keeps a batch that took so many seconds of one thread. It is on the disk after at most `LATEST` seconds of work of
    /// all threads. Errors: files.
    pub fn append(&self, key: BatchKey, batch: &Batch, seconds: f64) -> Result<Spot> {
        let record = record(&self.identity, key, batch);
        let mut own = locked(&self.own);
        let log = match &mut *own {
            Some(log) => log,
            None => {
                let mut logs = locked(&self.logs);
                logs.push(PathBuf::new());
                own.insert(Log { number: logs.len() - 1, ..Log::default() })
            }
        };
        let at = log.written + log.buffer.len() as u64;
        log.buffer.extend_from_slice(&record);
        let spot = Spot { log: log.number, at, length: record.len(), failed: batch.error.is_some() };
        log.unwritten += seconds;
        log.unsynced += seconds;
        log.total += seconds;
        let due = (SHARE.0 * log.total).clamp(SHARE.1, LATEST);
        if log.unwritten >= due || log.buffer.len() >= BUFFER {
            self.write(log)?;
        }
        if log.unsynced >= LATEST {
            self.write(log)?;
            log.unsynced = 0.0;
            let failed = |e| Failure::write(&self.folder, e);
            if let Some(file) = log.file.as_ref().map(File::try_clone).transpose().map_err(failed)? {
                // The others go on meanwhile.
                drop(own);
                file.sync_data().map_err(failed)?;
            }
        }
        Ok(spot)
    }

    /// Writes everything to the disk. Errors: files.
    pub fn save(&self) -> Result<()> {
        let mut own = locked(&self.own);
        let Some(log) = own.as_mut() else { return Ok(()) };
        self.write(log)?;
        log.unsynced = 0.0;
        let synced = log.file.as_ref().map_or(Ok(()), File::sync_all);
        synced.map_err(|e| Failure::write(&self.folder, e))
    }

    /// Writes the buffer. What was written of it when that fails is cut off again, and the buffer stays.
    fn write(&self, log: &mut Log) -> Result<()> {
        if log.buffer.is_empty() {
            return Ok(());
        }
        let file = match &mut log.file {
            Some(file) => file,
            none => {
                let name = |attempt| format!("{}{}-{attempt}.log", self.prefix, std::process::id());
                let (path, file) =
                    create(&self.folder, name).map_err(|e| Failure::create(&self.folder, e))?;
                locked(&self.logs)[log.number] = path;
                none.insert(file)
            }
        };
        let written = file.seek(SeekFrom::Start(log.written)).and_then(|_| file.write_all(&log.buffer));
        if let Err(e) = written {
            let _ = file.set_len(log.written);
            return Err(Failure::write(&self.folder, e));
        }
        log.written += log.buffer.len() as u64;
        log.buffer.clear();
        log.unwritten = 0.0;
        Ok(())
    }
}

/// The bytes of a record.
fn record(identity: &str, (cell, start, end): BatchKey, batch: &Batch) -> Vec<u8> {
    let error = batch.error.as_deref().map_or(&[][..], str::as_bytes);
    // Zero stands for no error.
    let lengths = [batch.error.as_ref().map_or(0, |error| error.len() as u64 + 1), batch.rows.len() as u64];
    let mut record = Vec::with_capacity(HEAD + error.len() + batch.rows.len());
    record.extend_from_slice(MAGIC);
    for word in [cell, start, end, lengths[0], lengths[1]] {
        record.extend_from_slice(&word.to_le_bytes());
    }
    let digest = checksum(identity, &record[8..], error, &batch.rows);
    record.extend_from_slice(&digest);
    record.extend_from_slice(error);
    record.extend_from_slice(&batch.rows);
    record
}

fn checksum(identity: &str, words: &[u8], error: &[u8], rows: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(identity.as_bytes());
    hash.update(words);
    hash.update(error);
    hash.update(rows);
    hash.finalize().into()
}

fn word(record: &[u8], i: usize) -> u64 {
    u64::from_le_bytes(record[8 + 8 * i..16 + 8 * i].try_into().expect("eight bytes"))
}

/// The hash of an identity, by the text of its file.
pub fn hash_of(identity: &str) -> String {
    hash::of_bytes(identity)
}

/// Reads the next record: its key, and whether it holds an error. `None` at the end, or where it is not whole.
pub fn next(
    source: &mut impl Read,
    identity: &str,
    record: &mut Vec<u8>,
) -> std::io::Result<Option<(BatchKey, bool)>> {
    record.clear();
    if source.take(HEAD as u64).read_to_end(record)? < HEAD || record[..8] != *MAGIC {
        return Ok(None);
    }
    let (error, rows) = (word(record, 3).saturating_sub(1), word(record, 4));
    let Some(length) = error.checked_add(rows).filter(|length| *length <= LONGEST) else { return Ok(None) };
    if (source.take(length).read_to_end(record)? as u64) < length {
        return Ok(None);
    }
    let rest = record[HEAD..].split_at(error as usize);
    if checksum(identity, &record[8..HEAD - 32], rest.0, rest.1) != record[HEAD - 32..HEAD] {
        return Ok(None);
    }
    Ok(Some(((word(record, 0), word(record, 1), word(record, 2)), word(record, 3) > 0)))
}

/// Where the next record may begin behind a damaged one, from a place on; the file stands there.
fn next_magic(file: &mut File, from: u64) -> std::io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(from))?;
    let (mut bytes, mut first) = (Vec::new(), from);
    loop {
        // What may be the beginning of one stays.
        let kept = bytes.len().min(MAGIC.len() - 1);
        first += (bytes.len() - kept) as u64;
        bytes.drain(..bytes.len() - kept);
        if file.take(1 << 20).read_to_end(&mut bytes)? == 0 {
            return Ok(None);
        }
        if let Some(place) = bytes.windows(MAGIC.len()).position(|window| window == MAGIC) {
            let place = first + place as u64;
            file.seek(SeekFrom::Start(place))?;
            return Ok(Some(place));
        }
    }
}

/// What a whole record holds.
fn batch(record: &[u8]) -> Batch {
    let error = word(record, 3);
    let (text, rows) = record[HEAD..].split_at(error.saturating_sub(1) as usize);
    let error = (error > 0).then(|| String::from_utf8_lossy(text).into_owned());
    Batch { rows: rows.to_vec(), error }
}

/// The logs of a journal, in the order of their names. Errors: files.
fn logs_in(journal: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for file in files::listed(journal)? {
        let (name, path) = (file.file_name(), file.path());
        let name = name.to_string_lossy();
        // What is no file is no log.
        let is_file = file.file_type().map_err(|e| Failure::io(&path, "cannot read", e))?.is_file();
        if is_file && name.starts_with(prefix) && name.ends_with(".log") {
            logs.push(path);
        }
    }
    logs.sort();
    Ok(logs)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests open files of their own")]
mod tests {
    use super::*;

    const KEY: BatchKey = (7, 0, 4);

    fn some() -> Batch {
        Batch { rows: (0..200).collect(), error: Some("an error".into()) }
    }

    fn reads(journal: &Journal, key: BatchKey) -> Option<Batch> {
        journal.find(key).map(|spot| journal.read(spot).unwrap())
    }

    /// A journal on disk of a run, with a good record and one of a failed batch, as the only log.
    struct Kept {
        place: tempfile::TempDir,
        identity: Identity,
        log: PathBuf,
        whole: Vec<u8>,
    }

    impl Kept {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let identity = Identity::new("0123", "data");
            let journal = Journal::open(place.path(), &identity).unwrap();
            journal.append((1, 0, 1), &good(), 0.0).unwrap();
            journal.append(KEY, &some(), 0.0).unwrap();
            journal.save().unwrap();
            let log = logs_in(&place.path().join("journal"), "").unwrap().remove(0);
            let whole = fs::read(&log).unwrap();
            Self { place, identity, log, whole }
        }

        fn open(&self) -> Journal {
            Journal::open(self.place.path(), &self.identity).unwrap()
        }

        /// Opens the journal with another log.
        fn with(&self, log: &[u8]) -> Journal {
            fs::write(&self.log, log).unwrap();
            self.open()
        }

        /// The log with a bit of its byte `i` changed.
        fn flipped(&self, i: usize) -> Vec<u8> {
            let mut flipped = self.whole.clone();
            flipped[i] ^= 0x10;
            flipped
        }

        /// A new folder of the same run, which goes on from this one as well.
        fn beside(&self, place: &Path) -> Journal {
            let mut both = Journal::open(place, &self.identity).unwrap();
            both.add(self.place.path(), &self.identity).unwrap();
            both
        }
    }

    fn good() -> Batch {
        Batch { rows: vec![1, 2, 3], error: None }
    }

    #[test]
    fn a_record_is_read_before_it_is_written() {
        let place = tempfile::tempdir().unwrap();
        let journal = Journal::open(place.path(), &Identity::new("0123", "data")).unwrap();
        let first = journal.append((1, 0, 1), &good(), 0.0).unwrap();
        journal.append(KEY, &some(), 0.0).unwrap();
        assert_eq!(journal.read(first).unwrap(), good());
    }

    #[test]
    fn whole_records_come_back() {
        let kept = Kept::new();
        let open = || kept.open();
        assert_eq!((reads(&open(), (1, 0, 1)), reads(&open(), KEY)), (Some(good()), Some(some())));
        assert_eq!(open().batches(), 2);
    }

    /// Records before one that was cut stay.
    #[test]
    fn a_record_that_was_cut_is_none() {
        let kept = Kept::new();
        for i in HEAD + 3..kept.whole.len() {
            let journal = kept.with(&kept.whole[..i]);
            assert_eq!((journal.batches(), reads(&journal, KEY)), (1, None), "cut at {i}");
        }
    }

    #[test]
    fn a_record_that_was_changed_anywhere_is_none() {
        let kept = Kept::new();
        for i in HEAD + 3..kept.whole.len() {
            let journal = kept.with(&kept.flipped(i));
            assert_eq!((journal.batches(), reads(&journal, KEY)), (1, None), "flipped at {i}");
        }
    }

    #[test]
    fn what_stands_behind_a_damaged_record_is_found_again() {
        let kept = Kept::new();
        for i in 0..HEAD + 3 {
            let journal = kept.with(&kept.flipped(i));
            assert_eq!((journal.batches(), reads(&journal, KEY)), (1, Some(some())), "flipped at {i}");
        }
    }

    /// Records behind one that is long beyond measure are found again, with a magic word that is cut in two by what is
    /// read at once.
    #[test]
    fn what_stands_behind_a_record_long_beyond_measure_is_found_again() {
        let kept = Kept::new();
        let mut long = kept.whole[..HEAD].to_vec();
        long[40..48].copy_from_slice(&(3u64 << 30).to_le_bytes());
        long.resize((1 << 20) - 2, 0);
        let journal = kept.with(&[&long[..], &kept.whole].concat());
        assert_eq!((journal.batches(), reads(&journal, KEY)), (2, Some(some())));
    }

    fn others(identity: &Identity) -> [Identity; 4] {
        [
            Identity::new("4567", "data"),
            Identity::new("0123", "other"),
            Identity { schema_version: 99, ..identity.clone() },
            Identity { tool: "another".into(), ..identity.clone() },
        ]
    }

    #[test]
    fn another_run_cannot_go_on() {
        let kept = Kept::new();
        for other in others(&kept.identity) {
            assert!(
                Journal::open(kept.place.path(), &other).unwrap_err().to_string().contains("cannot go on")
            );
        }
    }

    /// Records under another identity do not count.
    #[test]
    fn records_of_another_run_do_not_count() {
        let kept = Kept::new();
        for other in others(&kept.identity) {
            let stolen = tempfile::tempdir().unwrap();
            Journal::open(stolen.path(), &other).unwrap();
            fs::write(stolen.path().join("journal/1-0.log"), &kept.whole).unwrap();
            assert_eq!(Journal::open(stolen.path(), &other).unwrap().batches(), 0);
        }
    }

    #[test]
    fn records_of_another_folder_count_if_it_is_of_the_same_run() {
        let (kept, second) = (Kept::new(), tempfile::tempdir().unwrap());
        assert_eq!(reads(&kept.beside(second.path()), KEY), Some(some()));
    }

    #[test]
    fn a_folder_without_a_journal_cannot_be_added() {
        let (kept, second, empty) = (Kept::new(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut both = kept.beside(second.path());
        assert!(both.add(empty.path(), &kept.identity).unwrap_err().to_string().contains("no journal"));
    }

    #[test]
    fn what_failed_is_forgotten_when_asked() {
        let (kept, second) = (Kept::new(), tempfile::tempdir().unwrap());
        let mut both = kept.beside(second.path());
        both.forget_failed();
        assert_eq!((both.batches(), reads(&both, KEY)), (1, None));
    }

    #[test]
    fn a_good_record_stands_before_one_that_failed() {
        let (kept, second) = (Kept::new(), tempfile::tempdir().unwrap());
        let mut both = kept.beside(second.path());
        both.forget_failed();
        both.append(KEY, &good(), 0.0).unwrap();
        both.save().unwrap();
        assert_eq!(reads(&kept.beside(second.path()), KEY), Some(good()));
    }
}
