//! What a ledger says, line by line, once its chain of hashes was followed.

use super::accounting::{Account, Left};
use super::entry::{Entry, FORMAT, Known, Line, Opened, Published, Spent};
use crate::failure::{Failure, Result};
use crate::files;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where a ledger ends: what a certificate keeps, so that a ledger that was put back is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The hash of the last line, 64 hexadecimal digits.
    pub head: String,
    /// The number of lines.
    pub lines: u64,
}

/// The lines of a ledger whose chain is whole.
#[derive(Debug, Clone)]
pub struct History {
    /// The file.
    pub path: PathBuf,
    pub(super) opened: Opened,
    pub(super) lines: Vec<Line>,
    pub(super) hashes: Vec<String>,
    /// Bytes of the whole lines.
    pub(super) bytes: u64,
}

impl History {
    /// Reads a ledger without its lock, and follows its chain. Refused: what is no ledger; a line that was changed, added, removed or
    /// moved, with its number; a last line that was cut short.
    pub fn read(path: &Path) -> Result<Self> {
        match Self::read_whole(path)? {
            (history, None) => Ok(history),
            (_, Some(failure)) => Err(failure),
        }
    }

    /// Reads the whole lines of a ledger as [`History::read`] does; beside them what is wrong with a last line that was cut short.
    pub fn read_whole(path: &Path) -> Result<(Self, Option<Failure>)> {
        Self::parse(path, &files::bytes(path, "cannot read the ledger")?)
    }

    /// The ledger in some bytes; `path` is its name in messages.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<(Self, Option<Failure>)> {
        let failed = |number: usize, message: &str| Failure::data(path, format!("line {number}: {message}"));
        let mut pieces: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let tail = pieces.pop().unwrap_or_default();
        let (mut lines, mut hashes) = (Vec::new(), Vec::<String>::new());
        for (i, piece) in pieces.iter().enumerate() {
            let before = hashes.last().map_or("", String::as_str);
            let (line, hash) =
                Line::read(piece, i as u64 + 1, before).map_err(|message| failed(i + 1, &message))?;
            lines.push(line);
            hashes.push(hash);
        }
        let (opened, whole) = match lines.first().map(|line| &line.entry) {
            Some(Entry::Opened(opened)) => (opened.clone(), (bytes.len() - tail.len()) as u64),
            Some(_) => return Err(failed(1, "want `opened`: lines before it are gone")),
            None if tail.is_empty() => return Err(Failure::data(path, "it is empty, want a ledger")),
            None => return Err(failed(1, "it has no end, want a line of a ledger")),
        };
        if opened.format != FORMAT {
            let message = format!(
                "it has the format {}, want {FORMAT}: it is of another version of congenial",
                opened.format
            );
            return Err(failed(1, &message));
        }
        follow(&lines).map_err(|(number, message)| failed(number, &message))?;
        let history = Self { path: path.to_owned(), opened, lines, hashes, bytes: whole };
        let short = (!tail.is_empty()).then(|| history.cut_short(tail));
        Ok((history, short))
    }

    /// What is wrong with a last line without an end, and how to go on.
    fn cut_short(&self, tail: &[u8]) -> Failure {
        let Head { head, lines } = self.head();
        let (next, path) = (lines + 1, self.path.display());
        let message = match Line::read(tail, next, &head) {
            Ok(_) => format!(
                "line {next} is whole but for the line break at its end. To go on, add it: echo >>'{path}'"
            ),
            Err(_) => format!(
                "line {next} is cut short: a full disk or a crash has ended it while it was written, or it is being written right now. \
                 The {lines} whole lines before it end with the head {head}. If no certificate of a release names more than {lines} \
                 lines, nothing was released by line {next}, and it can be cut off: truncate --size={} '{path}'",
                self.bytes
            ),
        };
        Failure::data(&self.path, message)
    }

    /// What the ledger is for.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// All lines, the first of which has opened it.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Where it ends.
    pub fn head(&self) -> Head {
        Head { head: self.hashes.last().cloned().unwrap_or_default(), lines: self.hashes.len() as u64 }
    }

    /// Whether the ledger has gone through this head: it has the line of this number, with this hash. If not, it is of other data, or
    /// was put back to an earlier state, and perhaps gone on from there.
    pub fn has(&self, head: &Head) -> bool {
        let place = head.lines.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.hashes.get(place)).is_some_and(|hash| *hash == head.head)
    }

    /// All releases that have paid, each with its line.
    pub fn spent(&self) -> impl DoubleEndedIterator<Item = (&Line, &Spent)> {
        self.lines.iter().filter_map(|line| match &line.entry {
            Entry::Spent(spent) => Some((line, spent)),
            _ => None,
        })
    }

    /// What says that a release was published, by its name.
    pub fn published(&self) -> BTreeMap<&str, &Published> {
        let published = self.lines.iter().filter_map(|line| match &line.entry {
            Entry::Published(published) => Some((published.release.as_str(), published)),
            _ => None,
        });
        published.collect()
    }

    /// The counts that releases give as they are, of all that have paid, whether they were published or not.
    pub fn known(&self) -> impl Iterator<Item = &Known> {
        self.spent().flat_map(|(_, spent)| &spent.known)
    }

    /// What all releases have paid.
    pub fn account(&self) -> Account {
        Account::of(self.spent().map(|(_, spent)| &spent.pays))
    }

    /// What is left for one release more.
    pub fn left(&self) -> Left {
        self.account().left(&self.opened.limit)
    }
}

/// Refuses an order of entries that no ledger has, with the number of the line.
fn follow(lines: &[Line]) -> std::result::Result<(), (usize, String)> {
    let (mut spent, mut published) = (BTreeSet::new(), BTreeSet::new());
    for (i, line) in lines.iter().enumerate() {
        let problem = match &line.entry {
            Entry::Opened(_) if i > 0 => "it opens the ledger again".to_owned(),
            Entry::Spent(release) if !spent.insert(&release.release) => {
                format!("the release {} has paid before", release.release)
            }
            Entry::Published(release) if !spent.contains(&release.release) => {
                format!("the release {} was published, and has not paid", release.release)
            }
            Entry::Published(release) if !published.insert(&release.release) => {
                format!("the release {} was published before", release.release)
            }
            _ => continue,
        };
        return Err((i + 1, problem));
    }
    Ok(())
}
