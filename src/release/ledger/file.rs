//! The file of a ledger: opened, locked, added to.

use super::accounting::Left;
use super::entry::{DIGITS, Entry, FORMAT, Line, Opened, Protects, Published, Spent, is_hex};
use super::history::{Head, History};
use super::limit::Limit;
use crate::failure::{Failure, Result};
use crate::files::{self, NewFile};
use crate::page::counted;
use crate::store::now;
use congenial_exact_noise::{Bits, System};
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

/// What a new ledger is for.
#[derive(Debug, Clone)]
pub struct Opening {
    /// What is protected, in words: "one trip".
    pub unit: String,
    /// Records that a unit has at most.
    pub records: u64,
    /// The change of the data against which it is protected.
    pub protects: Protects,
    /// What all releases may pay together.
    pub limit: Limit,
}

/// What a release asks for.
#[derive(Debug, Clone)]
pub struct Spend {
    /// The change that it is charged for, which must be that of the ledger.
    pub protects: Protects,
    /// The records that a unit is said to have at most, which must be those of the ledger.
    pub records: u64,
    /// What is written.
    pub spent: Spent,
}

/// A ledger that this process alone may add to, until it is dropped.
///
/// The lock is advice to programs that ask for it, as this one does: it keeps no other program from writing.
#[derive(Debug)]
pub struct Ledger {
    history: History,
    file: Locked,
    /// Whether a line could not be written, or was, and nobody knows.
    failed: bool,
}

/// A file with the lock of the operating system. It is given back at the end even if a child process that has just begun still has the
/// file.
#[derive(Debug)]
struct Locked(File);

impl Locked {
    /// Refused: a file that is locked.
    fn new(file: File, path: &Path) -> Result<Self> {
        let refused = |why: &dyn std::fmt::Display| Failure::io(path, "cannot open the ledger", why);
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(refused(
                &"it is locked by another release that is being made, of this process or another, perhaps on another machine. Try again \
                  when that has ended",
            )),
            Err(TryLockError::Error(e)) => Err(refused(&e)),
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Bytes that the line of a publication takes, at most.
const PUBLISHED: u64 = 1024;
/// Digits of a random name.
const NAME: usize = 32;
/// Records of a unit, at most.
pub const RECORDS: u64 = 1_000_000;
/// Bytes of a ledger, at most: those that are read in one piece.
const MOST: u64 = 64 << 20;

/// A random name of 128 bits, as 32 hexadecimal digits, from the operating system. Errors: its source.
pub fn new_id() -> Result<String> {
    let mut system = System::new();
    let mut word = || system.bits(32).map_err(|e| Failure::Wrong(e.to_string()));
    Ok([word()?, word()?, word()?, word()?].map(|word| format!("{word:08x}")).concat())
}

impl Ledger {
    /// Writes a new ledger, which its owner alone may read and write; returns after it is on the disk. Refused: a name that is taken; an
    /// empty unit; units without a record, or with more than a million.
    pub fn create(path: &Path, opening: &Opening) -> Result<Head> {
        if opening.unit.trim().is_empty() {
            return Err(Failure::Usage(
                "the unit: got nothing, want what is protected, such as \"one person\"".into(),
            ));
        }
        if !(1..=RECORDS).contains(&opening.records) {
            let message = format!(
                "records of a unit: got {}, want a whole number from 1 to {RECORDS}, the most that one unit has",
                opening.records
            );
            return Err(Failure::Usage(message));
        }
        let opened = Opened {
            format: FORMAT,
            id: new_id()?,
            unit: opening.unit.clone(),
            records: opening.records,
            protects: opening.protects,
            limit: opening.limit.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let line = Line { line: 1, time: now(), before: String::new(), entry: Entry::Opened(opened) };
        let (text, head) = line.sealed();
        let new = NewFile::create(path)?;
        let mut file = new.file()?;
        for_its_owner(&file)
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(|e| Failure::write(path, e))?;
        new.finish()?;
        Ok(Head { head, lines: 1 })
    }

    /// Opens a ledger, locks it, and follows its chain. Refused: as [`History::read`]; a ledger that is locked already; one that others
    /// than its owner may write.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Failure::io(path, "cannot open the ledger", e);
        let file = Locked::new(files::open_to_append(path)?, path)?;
        let about = file.0.metadata().map_err(failed)?;
        if !is_still(path, &about).map_err(failed)? {
            return Err(Failure::io(
                path,
                "cannot open the ledger",
                "another file has taken its name meanwhile",
            ));
        }
        if let Some(mode) = files::writable_mode(&about) {
            let message = format!(
                "others than its owner may write it (mode {mode:o}), so that what it says is not to be trusted: chmod go-w '{}'",
                path.display()
            );
            return Err(Failure::io(path, "cannot open the ledger", message));
        }
        if about.len() > MOST {
            return Err(Failure::io(path, "cannot open the ledger", "it has more than 64 MiB"));
        }
        let mut bytes = Vec::new();
        (&file.0).take(MOST).read_to_end(&mut bytes).map_err(failed)?;
        let history = match History::parse(path, &bytes)? {
            (history, None) => history,
            (_, Some(failure)) => return Err(failure),
        };
        Ok(Self { history, file, failed: false })
    }

    /// What the ledger says.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Where it ends.
    pub fn head(&self) -> Head {
        self.history.head()
    }

    /// What is left for one release more.
    pub fn left(&self) -> Left {
        self.history.left()
    }

    /// Refuses a release that [`Ledger::spend`] would refuse; writes nothing.
    pub fn check(&self, spend: &Spend) -> Result<()> {
        let Spend { protects, records, spent } = spend;
        let (opened, path) = (&self.history.opened, &self.history.path);
        let refused = |message: String| Failure::data(path, message);
        if *protects != opened.protects {
            let message = format!(
                "it protects a unit that is {}, and the release one that is {}: want the same change",
                opened.protects.word(),
                protects.word()
            );
            return Err(refused(message));
        }
        if *records != opened.records {
            let message = format!(
                "it protects `{}`, at most {}, and the release says {records}: want the same",
                opened.unit,
                counted(opened.records as f64, "record")
            );
            return Err(refused(message));
        }
        // A unit that moves stays in the lists of both, or it would be added to one.
        let other = |other: &&Spent| other.domain_sha256 != spent.domain_sha256;
        let other = self.history.spent().map(|(_, spent)| spent).find(other);
        if let (Protects::Moved, Some(other)) = (protects, other) {
            let message = format!(
                "its release {} counts by another list of leaves (SHA-256 {}). Where units are moved, all releases have to count the \
                 same records: want that list, or a ledger that protects units that are added",
                other.release, other.domain_sha256
            );
            return Err(refused(message));
        }
        for (what, text, digits) in [
            ("release", &spent.release, NAME),
            ("config_sha256", &spent.config_sha256, DIGITS),
            ("domain_sha256", &spent.domain_sha256, DIGITS),
        ] {
            if !is_hex(text, digits) {
                return Err(refused(format!("{what}: got `{text}`, want {digits} hexadecimal digits")));
            }
        }
        if self.history.spent().any(|(_, other)| other.release == spent.release) {
            return Err(refused(format!("the release {} has paid before", spent.release)));
        }
        self.history.account().check(&spent.pays, &opened.limit).map_err(|e| refused(e.to_string()))
    }

    /// Writes what a release pays, and returns after it is on the disk: from here on it is paid. Refused, and nothing is written: another
    /// change or number of records; another list of leaves where units are moved; a release that would exceed the limit, with what is
    /// left; discrete Gaussian noise under a limit of pure losses; a release that has paid before. Errors: the disk; then the ledger takes
    /// no more until it is opened again.
    pub fn spend(&mut self, spend: &Spend) -> Result<Head> {
        self.check(spend)?;
        self.add(Entry::Spent(spend.spent.clone()), PUBLISHED)
    }

    /// Writes that a release was published, with the SHA-256 of its certificate. Refused: one that has not paid, or was published before.
    /// Errors: as [`Ledger::spend`].
    pub fn publish(&mut self, release: &str, certificate_sha256: &str) -> Result<Head> {
        let refused = |message: String| Failure::data(&self.history.path, message);
        if !is_hex(certificate_sha256, DIGITS) {
            let message = format!(
                "the certificate: got `{certificate_sha256}`, want a SHA-256, {DIGITS} hexadecimal digits"
            );
            return Err(refused(message));
        }
        if !self.history.spent().any(|(_, spent)| spent.release == release) {
            return Err(refused(format!("the release `{release}` has not paid")));
        }
        if self.history.published().contains_key(release) {
            return Err(refused(format!("the release {release} was published before")));
        }
        let (release, certificate_sha256) = (release.to_owned(), certificate_sha256.to_owned());
        self.add(Entry::Published(Published { release, certificate_sha256 }), 0)
    }

    /// Adds a line, behind which so many bytes have to be left.
    fn add(&mut self, entry: Entry, left: u64) -> Result<Head> {
        let path = &self.history.path;
        let refused = |message: &str| Err(Failure::write(path, message));
        if self.failed {
            return refused("a line could not be written before: open the ledger again");
        }
        let Head { head, lines } = self.history.head();
        let line = Line { line: lines + 1, time: now(), before: head, entry };
        let (text, hash) = line.sealed();
        if self.history.bytes + text.len() as u64 + left > MOST {
            return refused("it would have more than 64 MiB, which are not read");
        }
        let failed = |e: std::io::Error| Failure::write(path, e);
        let about = self.file.0.metadata().map_err(failed)?;
        if about.len() != self.history.bytes {
            return refused("something else has written to it since it was opened");
        }
        let other = "another file has taken its name since it was opened";
        if !is_still(path, &about).map_err(failed)? {
            return refused(other);
        }
        self.failed = true;
        append(&mut self.file.0, self.history.bytes, text.as_bytes()).map_err(|e| {
            Failure::write(
                path,
                format!("{e}; if the line is there, as `congenial ledger show` tells, it counts"),
            )
        })?;
        if !is_still(path, &about).map_err(failed)? {
            return refused(other);
        }
        self.failed = false;
        self.history.bytes += text.len() as u64;
        self.history.lines.push(line);
        self.history.hashes.push(hash);
        Ok(self.history.head())
    }
}

/// What a line is written to.
trait Place: Write {
    fn cut(&mut self, bytes: u64) -> std::io::Result<()>;
    fn settle(&mut self) -> std::io::Result<()>;
}

impl Place for File {
    fn cut(&mut self, bytes: u64) -> std::io::Result<()> {
        self.set_len(bytes)
    }

    fn settle(&mut self) -> std::io::Result<()> {
        self.sync_all()
    }
}

/// Adds a line behind so many bytes in one write, and waits until it is on the disk. Of a line that was not written whole nothing stays, if
/// the disk lets it be cut off. A whole line that may not be on the disk stays: it was not released by, and counts as paid.
fn append(place: &mut impl Place, before: u64, line: &[u8]) -> std::io::Result<()> {
    let written = place.write(line).and_then(|written| match written == line.len() {
        true => Ok(()),
        // Why, the next write says; it is cut off with the first.
        false => {
            place.write_all(&line[written..]).and(Err(std::io::Error::other("the system took half a line")))
        }
    });
    if let Err(e) = written {
        // Where that fails, too, the next who opens the ledger is told.
        let _ = place.cut(before).and_then(|()| place.settle());
        return Err(e);
    }
    place.settle()
}

/// Takes the right to read and write from all but the owner.
fn for_its_owner(file: &File) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(())
    }
}

/// Whether a path still leads to the file that was opened; elsewhere than on Unix nobody knows.
fn is_still(path: &Path, opened: &std::fs::Metadata) -> std::io::Result<bool> {
    Ok(!cfg!(unix) || files::is_same(&std::fs::metadata(path)?, opened))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        cuts: bool,
        settles: bool,
        writes: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.writes += 1;
            let room = self.room - self.bytes.len();
            if room == 0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(room);
            self.bytes.extend(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Place for Disk {
        fn cut(&mut self, bytes: u64) -> std::io::Result<()> {
            if self.cuts {
                self.bytes.truncate(bytes as usize);
                return Ok(());
            }
            Err(std::io::ErrorKind::PermissionDenied.into())
        }

        fn settle(&mut self) -> std::io::Result<()> {
            if self.settles { Ok(()) } else { Err(std::io::Error::other("no disk")) }
        }
    }

    /// A line is whole or, where the disk lets it be cut off, not there; and no error is taken for a line that is on the disk.
    #[test]
    fn a_line_is_whole_or_not_there() {
        let line = b"{\"line\":2}\n";
        for room in 3..=20 {
            for (cuts, settles) in [(true, true), (false, true), (true, false)] {
                let mut disk = Disk { bytes: b"one\n"[..3].to_vec(), room, cuts, settles, writes: 0 };
                let done = append(&mut disk, 3, line);
                let fits = room >= 3 + line.len();
                assert_eq!(done.is_ok(), fits && settles, "{room} {cuts} {settles}");
                let rest = if fits {
                    line.len()
                } else if cuts {
                    0
                } else {
                    room - 3
                };
                assert_eq!(disk.bytes[3..], line[..rest], "{room} {cuts} {settles}");
                if fits {
                    assert_eq!(disk.writes, 1);
                }
            }
        }
    }

    #[test]
    fn names_are_random() {
        let names = [new_id().unwrap(), new_id().unwrap()];
        assert!(names[0] != names[1] && names.iter().all(|name| is_hex(name, NAME)), "{names:?}");
    }
}
