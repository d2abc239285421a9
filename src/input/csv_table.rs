//! A CSV file with a header line, read as text.

use crate::failure::{Failure, Result};
use std::path::{Path, PathBuf};

/// A CSV file in memory. Every value is text: codes keep their leading zeros.
#[derive(Debug, Clone)]
pub struct CsvTable {
    /// Where it came from.
    pub path: PathBuf,
    /// The header.
    pub columns: Vec<String>,
    /// The rows with the line on which each begins.
    pub rows: Vec<(u64, Vec<String>)>,
}

impl CsvTable {
    /// Reads a file. Refused: no such file, no header, a repeated column, a row of another length, text
    /// that is not UTF-8.
    pub fn read(path: &Path) -> Result<Self> {
        let file = std::fs::File::open(path).map_err(|e| Failure::io(path, "cannot read", e))?;
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
        let bad = |e: csv::Error| Failure::data(path, e.to_string());
        let columns: Vec<String> = reader.headers().map_err(bad)?.iter().map(str::to_owned).collect();
        if columns.iter().all(String::is_empty) {
            return Err(Failure::data(path, "the file is empty, want a header line"));
        }
        if let Some(twice) = columns.iter().enumerate().find(|(i, c)| columns[..*i].contains(c)) {
            return Err(Failure::data(path, format!("line 1: column `{}` stands there twice", twice.1)));
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(bad)?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(Self { path: path.to_owned(), columns, rows })
    }

    /// Keeps the rows whose value in each column is among those listed.
    ///
    /// Refused: a missing column; a value that no row has (a misspelt one would silently take fewer rows).
    pub fn filter(mut self, filter: &[(String, Vec<String>)]) -> Result<Self> {
        for (name, values) in filter {
            let place = self.column(name)?;
            if let Some(none) =
                values.iter().find(|value| !self.rows.iter().any(|(_, row)| &row[place] == *value))
            {
                return Err(Failure::data(&self.path, format!("no row has `{name}` = `{none}`")));
            }
            self.rows.retain(|(_, row)| values.contains(&row[place]));
        }
        Ok(self)
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.columns.iter().position(|c| c == name).ok_or_else(|| {
            let have = self.columns.join(", ");
            Failure::data(&self.path, format!("no column `{name}`; the file has {have}"))
        })
    }

    /// An error at a row.
    pub fn bad(&self, line: u64, message: impl std::fmt::Display) -> Failure {
        Failure::data(&self.path, format!("line {line}: {message}"))
    }
}
