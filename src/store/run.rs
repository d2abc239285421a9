//! A finished run, to be read.

use super::Manifest;
use super::folder::{files_in, is_of_a_run};
use super::manifest::short;
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash::FileDigest;
use crate::table::{Key, Reader, Record, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The folder of a finished run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// The manifest of the run.
    pub manifest: Manifest,
    /// What of the run's tables is read; all if nothing is said.
    view: Option<View>,
}

/// A part of a run: some cells, and what stands for one data set alone.
#[derive(Debug, Clone)]
struct View {
    data: String,
    cells: HashSet<Key>,
}

impl Run {
    /// Opens a folder. Refused: no manifest, a damaged one, one of another version; files that are not there, or not
    /// byte by byte what the manifest says; a file with a name that files of runs have, which the manifest does not
    /// list. Every file that it lists is read for that, once all have the right length.
    pub fn open(folder: &Path) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        let listed = |name: &String| manifest.files.contains_key(name);
        if let Some(stranger) = files_in(folder)?.iter().find(|name| is_of_a_run(name) && !listed(name)) {
            let message = "it is no file of this run: the manifest does not list it; put it elsewhere";
            return Err(Failure::data(&folder.join(stranger), message));
        }
        for (name, FileDigest { bytes: wanted, .. }) in &manifest.files {
            let path = folder.join(name);
            let file = files::open(&path)?;
            let bytes = file.metadata().map_err(|e| Failure::io(&path, "cannot read", e))?.len();
            if bytes != *wanted {
                let message = format!(
                    "it is not the file of this run: it has {bytes} bytes, the manifest says {wanted}"
                );
                return Err(Failure::data(&path, message));
            }
        }
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

    /// The path of a file of the run; `None` if the manifest lists none of this name: what it does not list, no hash
    /// covers.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        self.manifest.files.contains_key(name).then(|| self.folder.join(name))
    }

    /// The path of a file that every run has. Errors: the manifest does not list it.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        self.file(name).ok_or_else(|| Failure::data(&self.folder, format!("the run has no file `{name}`")))
    }

    /// The text of a file that every run has. Errors: as [`Run::path`]; a file that cannot be read.
    pub fn text(&self, name: &str) -> Result<String> {
        files::text(&self.path(name)?, "cannot read")
    }

    /// Whether the run has a table.
    pub fn has<R: Record>(&self) -> bool {
        self.manifest.tables.contains_key(R::FILE)
    }

    /// Goes through the rows of a table; through none if the run has no such table. Errors: the file, and of `each`.
    pub fn each<R: Record>(&self, mut each: impl FnMut(R) -> Result<()>) -> Result<()> {
        self.while_true(|row| each(row).map(|()| true))
    }

    /// Goes through the rows of a table as long as `each` returns true; through none if the run has no such table.
    /// Errors: the file, and of `each`.
    pub fn while_true<R: Record>(&self, each: impl FnMut(R) -> Result<bool>) -> Result<()> {
        let Some(path) = self.file(R::FILE).filter(|_| self.has::<R>()) else { return Ok(()) };
        let reader = Reader::open(&path)?;
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
