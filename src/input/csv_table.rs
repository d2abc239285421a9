//! A CSV file with a header line, read as text.

use crate::failure::{Failure, Result};
use std::collections::HashSet;
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
        Self::from_reader(path, file)
    }

    /// The same from anywhere; `path` is its name in messages.
    pub fn from_reader(path: &Path, source: impl std::io::Read) -> Result<Self> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(source);
        let bad = |e: csv::Error| Failure::data(path, e.to_string());
        let columns: Vec<String> = reader.headers().map_err(bad)?.iter().map(str::to_owned).collect();
        if columns.iter().all(String::is_empty) {
            return Err(Failure::data(path, "the file is empty, want a header line"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|column| !seen.insert(*column)) {
            return Err(Failure::data(path, format!("line 1: column `{twice}` stands there twice")));
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
            let found: HashSet<&String> = self.rows.iter().map(|(_, row)| &row[place]).collect();
            if let Some(none) = values.iter().find(|value| !found.contains(value)) {
                return Err(Failure::data(&self.path, format!("no row has `{name}` = `{none}`")));
            }
            let wanted: HashSet<&String> = values.iter().collect();
            self.rows.retain(|(_, row)| wanted.contains(&row[place]));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CsvTable> {
        CsvTable::from_reader(Path::new("t.csv"), text.as_bytes())
    }

    /// Wide headers and long filters take one pass.
    #[test]
    fn many_columns_and_values() {
        let names: Vec<String> = (0..100_000).map(|i| format!("c{i}")).collect();
        assert_eq!(read(&names.join(",")).unwrap().columns.len(), 100_000);
        let twice = read(&format!("{},c7", names.join(","))).unwrap_err().to_string();
        assert_eq!(twice, "t.csv: line 1: column `c7` stands there twice");
        let long = format!("name\n{}\n", names.join("\n"));
        let table = read(&long).unwrap().filter(&[("name".into(), names[..60_000].to_vec())]).unwrap();
        assert_eq!(table.rows.len(), 60_000);
        let none = table.filter(&[("name".into(), vec!["c1".into(), "c70000".into()])]).unwrap_err();
        assert_eq!(none.to_string(), "t.csv: no row has `name` = `c70000`");
    }
}
