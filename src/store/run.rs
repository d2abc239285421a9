//! A finished run, to be read.

use super::Manifest;
use crate::failure::{Failure, Result};
use crate::table::{Reader, Record, TableDigest, digest_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of a finished run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

impl Run {
    /// Opens a folder. Refused: no manifest, one of another version, tables that are not there or have other rows than the
    /// manifest says (by their footers; [`Run::each`] and [`Run::digests`] read them in full).
    pub fn open(folder: &Path) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        let run = Self { folder: folder.to_owned(), manifest };
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
        let Some(wanted) = self.manifest.tables.get(R::FILE) else { return Ok(()) };
        let path = self.folder.join(R::FILE);
        let found = Reader::open(&path)?.each(each)?;
        found.map_or(Ok(()), |found| same(&path, &found, wanted))
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

    /// What every table holds, read in full. Refused: as [`Run::each`].
    pub fn digests(&self) -> Result<BTreeMap<String, TableDigest>> {
        let tables = self.manifest.tables.iter().map(|(file, wanted)| {
            let path = self.folder.join(file);
            let found = digest_of(&path)?;
            same(&path, &found, wanted).map(|()| (file.clone(), found))
        });
        tables.collect()
    }
}

fn same(path: &Path, found: &TableDigest, wanted: &TableDigest) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let (rows, hash) = (found.rows, &found.sha256[..16]);
    let message = format!(
        "it is not the table of this run: it holds {rows} rows with the hash {hash}…, the manifest says {} rows with {}…",
        wanted.rows,
        wanted.sha256.get(..16).unwrap_or(&wanted.sha256)
    );
    Err(Failure::data(path, message))
}
