//! A finished run, to be read.

use super::{Manifest, locked};
use crate::failure::{Failure, Result};
use crate::table::{Reader, Record, TableDigest, digest_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The folder of a finished run.
#[derive(Debug)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Tables that were read to their end, and are those of the manifest.
    read: Mutex<BTreeSet<String>>,
}

impl Run {
    /// Opens a folder. Refused: no manifest, one of another version, tables that are not there or have other rows than the
    /// manifest says (by their footers; [`Run::each`] and [`Run::digests`] read them in full).
    pub fn open(folder: &Path) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        let run = Self { folder: folder.to_owned(), manifest, read: Mutex::default() };
        for (file, digest) in &run.manifest.tables {
            let path = run.folder.join(file);
            let rows = Reader::open(&path)?.rows();
            if rows != digest.rows {
                return Err(Failure::data(
                    &path,
                    format!("it has {rows} rows, the manifest says {}", digest.rows),
                ));
            }
        }
        Ok(run)
    }

    /// Whether the run has a table.
    pub fn has<R: Record>(&self) -> bool {
        self.manifest.tables.contains_key(R::FILE)
    }

    /// Goes through the rows of a table; through none if the run has no such table. Refused: rows that are not those of which
    /// the manifest has the hash (said at their end).
    pub fn each<R: Record>(&self, mut each: impl FnMut(R) -> Result<()>) -> Result<()> {
        self.while_true(|row| each(row).map(|()| true))
    }

    /// The same, as long as `each` returns true: rows that are not all read are not compared with their hash.
    pub fn while_true<R: Record>(&self, each: impl FnMut(R) -> Result<bool>) -> Result<()> {
        if !self.has::<R>() {
            return Ok(());
        }
        let found = Reader::open(&self.folder.join(R::FILE))?.each(each)?;
        found.map_or(Ok(()), |found| self.is_whole(R::FILE, &found))
    }

    /// All rows of a table.
    pub fn all<R: Record>(&self) -> Result<Vec<R>> {
        let mut rows = Vec::new();
        self.each(|row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// What every table holds, by the manifest; those that were not read to their end yet are. Refused: as [`Run::each`].
    pub fn digests(&self) -> Result<&BTreeMap<String, TableDigest>> {
        for file in self.manifest.tables.keys() {
            if !locked(&self.read).contains(file) {
                self.is_whole(file, &digest_of(&self.folder.join(file))?)?;
            }
        }
        Ok(&self.manifest.tables)
    }

    fn is_whole(&self, file: &str, found: &TableDigest) -> Result<()> {
        let wanted = &self.manifest.tables[file];
        if found == wanted {
            locked(&self.read).insert(file.to_owned());
            return Ok(());
        }
        let (rows, hash) = (found.rows, &found.sha256[..16]);
        let message = format!(
            "it is not the table of this run: it holds {rows} rows with the hash {hash}…, the manifest says {} rows with {}…",
            wanted.rows,
            wanted.sha256.get(..16).unwrap_or(&wanted.sha256)
        );
        Err(Failure::data(&self.folder.join(file), message))
    }
}
