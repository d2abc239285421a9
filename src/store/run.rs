//! A finished run, to be read.

use super::manifest::short;
use super::{FileDigest, Manifest};
use crate::failure::{Failure, Result};
use crate::table::{Key, Reader, Record, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The folder of a finished run.
#[derive(Debug)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// What of its tables is read; all if nothing is said.
    view: Option<View>,
}

/// A part of a run: some cells, and what stands for one data set alone.
#[derive(Debug)]
struct View {
    data: String,
    cells: HashSet<Key>,
}

impl Run {
    /// Opens a folder. Refused: no manifest, a damaged one, one of another version; files that are not there, or not byte by byte what the
    /// manifest says. Every file is read for that.
    pub fn open(folder: &Path) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        for (name, wanted) in &manifest.files {
            let path = folder.join(name);
            let found = FileDigest::of(&path)?;
            if found != *wanted {
                let message = format!(
                    "it is not the file of this run: it has {} bytes with the hash {}, the manifest says {} with {}",
                    found.bytes,
                    short(&found.sha256),
                    wanted.bytes,
                    short(&wanted.sha256)
                );
                return Err(Failure::data(&path, message));
            }
        }
        Ok(Self { folder: folder.to_owned(), manifest, view: None })
    }

    /// The run as if it had some cells alone, of one data set.
    pub fn of_cells(&self, data: &str, cells: HashSet<Key>) -> Self {
        let view = Some(View { data: data.to_owned(), cells });
        Self { folder: self.folder.clone(), manifest: self.manifest.of_data(data), view }
    }

    /// Whether the run has a table.
    pub fn has<R: Record>(&self) -> bool {
        self.manifest.tables.contains_key(R::FILE)
    }

    /// Goes through the rows of a table; through none if the run has no such table. Errors: the file, and of `each`.
    pub fn each<R: Record>(&self, mut each: impl FnMut(R) -> Result<()>) -> Result<()> {
        self.while_true(|row| each(row).map(|()| true))
    }

    /// The same, as long as `each` returns true.
    pub fn while_true<R: Record>(&self, each: impl FnMut(R) -> Result<bool>) -> Result<()> {
        if !self.has::<R>() {
            return Ok(());
        }
        let reader = Reader::open(&self.folder.join(R::FILE))?;
        let Some(view) = &self.view else { return reader.each(|_, _| true, each) };
        let place = |name: &str| R::COLUMNS.iter().position(|column| column.name == name);
        match (place("cell"), place("data")) {
            (Some(cell), _) => reader.each(
                |columns, row| Key::get(&columns[cell], row).is_none_or(|key| view.cells.contains(&key)),
                each,
            ),
            (None, Some(data)) => reader
                .each(|columns, row| String::get(&columns[data], row).is_none_or(|of| of == view.data), each),
            (None, None) => reader.each(|_, _| true, each),
        }
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
}
