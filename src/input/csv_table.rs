//! A table of text with a header, from CSV or parquet.

use super::column::{Column, Names};
use super::encoding::{self, Encoding};
use super::parquet_file::{ParquetFile, Source};
use super::rows::{Rows, trimmed};
use super::source::{DataSource, Shape};
use crate::failure::{Failure, Result};
use crate::table::Texts;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A table in memory, column by column. Every value is text (codes keep their leading zeros), and every name is kept once
/// unless most names of its column are distinct.
#[derive(Debug, Clone)]
pub struct CsvTable {
    /// The path that the table came from.
    pub path: PathBuf,
    /// The header.
    pub columns: Vec<String>,
    pub(super) values: Vec<Column>,
    rows: usize,
    lines: Lines,
    /// What was seen of the file that not every file has, for people.
    notes: Vec<String>,
    /// Columns that were not read, and why.
    unread: Vec<(String, String)>,
}

/// Which columns of a table are kept.
#[derive(Debug, Clone, Default)]
pub struct Wanted<'a> {
    /// The names of the columns; `None` for all.
    columns: Option<HashSet<&'a str>>,
    /// The column of counts, if it is nothing else.
    count: Option<&'a str>,
    /// Whether what cannot be read is left out.
    readable: bool,
}

/// Where every row stands in its file: rows follow each other from each of these (row, line) on.
#[derive(Debug, Clone)]
struct Lines {
    /// `line` of a text; of a parquet file `row`, from 1.
    what: &'static str,
    jumps: Vec<(u32, u64)>,
    next: u64,
}

impl Lines {
    fn new(what: &'static str) -> Self {
        Self { what, jumps: Vec::new(), next: 0 }
    }

    #[inline]
    fn push(&mut self, row: usize, line: u64) {
        if line != self.next {
            self.jumps.push((row as u32, line));
        }
        self.next = line + 1;
    }

    fn of(&self, row: usize) -> u64 {
        let (first, line) = self.jumps[self.jumps.partition_point(|jump| jump.0 as usize <= row) - 1];
        line + (row as u64 - u64::from(first))
    }
}

impl<'a> Wanted<'a> {
    /// Wants these columns, and one of counts.
    pub fn of(columns: impl IntoIterator<Item = &'a str>, count: &'a str) -> Self {
        let mut columns: HashSet<&str> = columns.into_iter().collect();
        let only = Some(count).filter(|count| !columns.contains(count));
        columns.insert(count);
        Self { columns: Some(columns), count: only, readable: false }
    }

    /// Wants all columns that can be read; a missing value is a blank.
    pub fn readable() -> Self {
        Self { readable: true, ..Self::default() }
    }

    /// Wants what a config reads of its table.
    pub fn by(source: &'a DataSource) -> Self {
        let mut columns: HashSet<&str> = source.filter.iter().map(|(column, _)| column.as_str()).collect();
        columns.extend(source.known.column.as_deref());
        match &source.shape {
            Shape::Hierarchy { levels, .. } => columns.extend(levels.iter().map(String::as_str)),
            // The names of the entries have everything.
            Shape::Table { entry: None, .. } => return Self::default(),
            Shape::Table { entry: Some(entry), invariants } => {
                columns.extend(entry.iter().map(String::as_str));
                invariants.iter().for_each(|(spec, _)| columns.extend(spec.columns()));
            }
        }
        Self::of(columns, &source.count)
    }

    /// Wants these columns, too.
    pub fn and(mut self, more: impl IntoIterator<Item = &'a str>) -> Self {
        if let Some(columns) = &mut self.columns {
            for name in more {
                // A column of counts that is asked for itself is one of names, too.
                self.count = self.count.filter(|count| *count != name);
                columns.insert(name);
            }
        }
        self
    }

    /// Whether a column is wanted.
    pub fn takes(&self, name: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.contains(name))
    }

    /// An empty column for a name of the header.
    pub(super) fn column(&self, name: &str) -> Column {
        if self.count == Some(name) {
            Column::Plain(Texts::default())
        } else if self.takes(name) {
            Column::Coded { codes: Vec::new(), names: Names::default() }
        } else {
            Column::Skipped
        }
    }
}

impl CsvTable {
    /// Reads a CSV or parquet file. Refused: no such file; a file that is not empty as [`CsvTable::from_reader`] says, but
    /// for Windows-1252, which is read where it is sure; of a parquet file a wanted column that is neither text nor
    /// numbers, or misses a value.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_wanted(path, &Wanted::default())
    }

    /// Reads the wanted columns of a CSV or parquet file. Refused: as by [`CsvTable::read`].
    pub fn read_wanted(path: &Path, wanted: &Wanted) -> Result<Self> {
        match Source::open(path)? {
            Source::Text(file) => {
                encoding::either(path, &file, |file, encoding| Self::from_text(path, file, encoding, wanted))
            }
            Source::Parquet(file) => Self::from_parquet(path, file, wanted),
        }
    }

    /// Reads a CSV file from anywhere; `path` is its name in messages.
    ///
    /// It is UTF-8, or UTF-16 by its mark; commas, semicolons, tabs or bars stand between columns
    /// ([`CsvTable::notes`] say which, but for commas).
    ///
    /// Refused: no header, a repeated column, two separators that would both do, and with their lines quotes that are not
    /// closed, text behind a closing quote, a row of another length or of more than 16 MiB, text that is not UTF-8.
    pub fn from_reader(path: &Path, source: impl Read) -> Result<Self> {
        Self::wanted_from_reader(path, source, &Wanted::default())
    }

    /// Reads the wanted columns of a CSV file from anywhere; `path` is its name in messages. Refused: as by
    /// [`CsvTable::from_reader`].
    pub fn wanted_from_reader(path: &Path, source: impl Read, wanted: &Wanted) -> Result<Self> {
        Self::from_text(path, source, Encoding::ByMark, wanted)
    }

    fn from_text(path: &Path, source: impl Read, encoding: Encoding, wanted: &Wanted) -> Result<Self> {
        let mut rows = Rows::new(path, source, encoding)?;
        rows.next()?;
        if rows.fields().all(str::is_empty) {
            return Err(Failure::data(path, "the file is empty, want a header line"));
        }
        let columns: Vec<String> = rows.fields().map(str::to_owned).collect();
        let header = format!("line {}: ", rows.line());
        let mut table = Self::empty(path, columns, wanted, Lines::new("line"), &header)?;
        let mut taken: Vec<(usize, &mut Column)> = table
            .values
            .iter_mut()
            .enumerate()
            .filter(|(_, column)| !matches!(column, Column::Skipped))
            .collect();
        while rows.next()? {
            table.rows += 1;
            check_rows(path, table.rows)?;
            table.lines.push(table.rows - 1, rows.line());
            for (i, column) in &mut taken {
                column.push(rows.field(*i).as_bytes(), 1);
            }
        }
        table.values.iter_mut().for_each(Column::finish);
        table.notes = rows.notes();
        if rows.is_guessed() {
            table.notes.extend(table.first_letters());
        }
        Ok(table)
    }

    /// The first text that is not ASCII, in words.
    fn first_letters(&self) -> Option<String> {
        let taken: Vec<usize> =
            (0..self.columns.len()).filter(|&place| !matches!(self.values[place], Column::Skipped)).collect();
        if let Some(name) = self.columns.iter().find(|name| !name.is_ascii()) {
            return Some(format!("`{name}` in the header"));
        }
        (0..self.rows).find_map(|row| {
            let text = taken.iter().map(|&place| self.text(row, place)).find(|text| !text.is_ascii())?;
            Some(format!("`{text}` on {}", self.place(row)))
        })
    }

    /// Some columns of a parquet file.
    fn from_parquet(path: &Path, file: File, wanted: &Wanted) -> Result<Self> {
        let parquet = ParquetFile::open(path, file)?;
        check_rows(path, parquet.rows())?;
        let mut table = Self::empty(path, parquet.columns.clone(), wanted, Lines::new("row"), "")?;
        (table.rows, table.lines.jumps) = (parquet.rows(), vec![(0, 1)]);
        for (place, column) in table.values.iter_mut().enumerate() {
            if matches!(column, Column::Skipped) {
                continue;
            }
            let (name, mut row) = (&table.columns[place], 0);
            if let (true, Err(why)) = (wanted.readable, parquet.kind(place)) {
                table.unread.push((name.clone(), why));
                *column = Column::Skipped;
                continue;
            }
            parquet.read(place, |value, times| {
                let none = || parquet.refuse(format!("row {}: no value in `{name}`", row + 1));
                let value =
                    if wanted.readable { value.unwrap_or_default() } else { value.ok_or_else(none)? };
                column.push(value.as_bytes(), times);
                row += times;
                Ok(())
            })?;
            if row != table.rows {
                let message = format!("`{name}` has {row} values for {} rows", table.rows);
                return Err(parquet.unreadable(message));
            }
            column.finish();
        }
        Ok(table)
    }

    /// Makes a table of columns in memory: names, and values row by row. `path`: its name in messages.
    ///
    /// Refused: no column, a repeated one, columns of different lengths, a value that is missing in one that is wanted.
    pub fn from_columns<T: AsRef<str>>(
        path: &Path,
        columns: &[(String, Vec<Option<T>>)],
        wanted: &Wanted,
    ) -> Result<Self> {
        let header = columns.iter().map(|(name, _)| name.clone()).collect();
        let mut table = Self::empty(path, header, wanted, Lines::new("row"), "")?;
        let Some((first, values)) = columns.first() else {
            return Err(Failure::data(path, "no columns"));
        };
        table.rows = values.len();
        table.lines.jumps = vec![(0, 1)];
        check_rows(path, table.rows)?;
        for ((name, values), column) in columns.iter().zip(&mut table.values) {
            if values.len() != table.rows {
                let (has, rows) = (values.len(), table.rows);
                return Err(Failure::data(path, format!("`{name}` has {has} values, `{first}` has {rows}")));
            }
            if let Column::Skipped = column {
                continue;
            }
            for (row, value) in values.iter().enumerate() {
                let none = || Failure::data(path, format!("row {}: no value in `{name}`", row + 1));
                column.push(trimmed(value.as_ref().ok_or_else(none)?.as_ref()).as_bytes(), 1);
            }
            column.finish();
        }
        Ok(table)
    }

    /// A table without rows. `place`: of its header, in messages.
    fn empty(path: &Path, columns: Vec<String>, wanted: &Wanted, lines: Lines, place: &str) -> Result<Self> {
        let mut seen = HashSet::new();
        // Nobody asks for columns without a name, which spreadsheets leave behind a table.
        let mut named = columns.iter().filter(|column| !column.is_empty());
        if let Some(twice) = named.find(|column| !seen.insert(*column)) {
            return Err(Failure::data(path, format!("{place}column `{twice}` stands there twice")));
        }
        let values = columns.iter().map(|name| wanted.column(name)).collect();
        let (notes, unread) = (Vec::new(), Vec::new());
        Ok(Self { path: path.to_owned(), columns, values, rows: 0, lines, notes, unread })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Keeps the rows whose value in each column is among those listed.
    ///
    /// Refused: a missing column; a value that no row has (a misspelt one would silently take fewer rows).
    pub fn filter(mut self, filter: &[(String, Vec<String>)]) -> Result<Self> {
        for (name, values) in filter {
            let place = self.column(name)?;
            let mut found: HashMap<&str, bool> = values.iter().map(|value| (value.as_str(), false)).collect();
            let (mut rows, mut lines) = (Vec::new(), Lines::new(self.lines.what));
            for row in 0..self.rows {
                if let Some(found) = found.get_mut(self.text(row, place)) {
                    *found = true;
                    lines.push(rows.len(), self.line(row));
                    rows.push(row as u32);
                }
            }
            if let Some(none) = values.iter().find(|value| !found[value.as_str()]) {
                return Err(Failure::data(&self.path, format!("no row has `{name}` = `{none}`")));
            }
            self.values.iter_mut().for_each(|column| column.select(&rows));
            (self.rows, self.lines) = (rows.len(), lines);
        }
        Ok(self)
    }

    /// The place of a column. Refused: one that is not there, and one that cannot be read.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.optional(name)?.ok_or_else(|| {
            let have = self.columns.join(", ");
            Failure::data(&self.path, format!("no column `{name}`; the file has {have}"))
        })
    }

    /// The place of a column, if it is there. Refused: one that cannot be read.
    pub fn optional(&self, name: &str) -> Result<Option<usize>> {
        match self.unread.iter().find(|(unread, _)| unread == name) {
            Some((_, why)) => Err(Failure::data(&self.path, format!("column `{name}` {why}"))),
            None => Ok(self.columns.iter().position(|column| column == name)),
        }
    }

    /// The table with some columns alone. Refused: a missing column.
    pub(super) fn only<'a>(&self, columns: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let Self { path, columns: header, rows, lines, notes, .. } = self;
        let mut values: Vec<Column> = header.iter().map(|_| Column::Skipped).collect();
        for name in columns {
            let place = self.column(name)?;
            values[place] = self.values[place].clone();
        }
        let (path, columns, lines, notes) = (path.clone(), header.clone(), lines.clone(), notes.clone());
        Ok(Self { path, columns, values, rows: *rows, lines, notes, unread: Vec::new() })
    }

    /// The value of a row in the column at a place.
    #[inline]
    pub fn text(&self, row: usize, place: usize) -> &str {
        self.values[place].text(row)
    }

    /// Whether the column at a place was read.
    pub(super) fn is_read(&self, place: usize) -> bool {
        !matches!(self.values[place], Column::Skipped)
    }

    /// By row: the number of its value in the column at a place, in the order of first appearance.
    pub fn numbers(&self, place: usize) -> Vec<u32> {
        let mut names = Names::default();
        (0..self.rows).map(|row| names.number(self.text(row, place).as_bytes())).collect()
    }

    /// By value of a column, the first row that has it; `numbers`: those of [`CsvTable::numbers`].
    pub(super) fn first_rows(numbers: &[u32]) -> Vec<usize> {
        let mut firsts = Vec::new();
        for (row, &number) in numbers.iter().enumerate() {
            if number as usize == firsts.len() {
                firsts.push(row);
            }
        }
        firsts
    }

    /// See [`Column::lost_zeros`].
    pub(super) fn lost_zeros(&self, place: usize) -> HashSet<String> {
        self.values[place].lost_zeros()
    }

    /// What was seen of the file that not every file has, for people: its separator, its encoding.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Columns that cannot be read, and why ([`Wanted::readable`]).
    pub fn unread(&self) -> &[(String, String)] {
        &self.unread
    }

    /// All rows as text, with the line on which each begins: for small tables.
    pub fn to_rows(&self) -> Vec<(u64, Vec<String>)> {
        let values = |row| (0..self.columns.len()).map(|i| self.text(row, i).to_owned()).collect();
        (0..self.rows).map(|row| (self.line(row), values(row))).collect()
    }

    /// The line where a row begins; of a file without lines its number, from 1.
    pub fn line(&self, row: usize) -> u64 {
        self.lines.of(row)
    }

    /// Where a row stands: `line 2`, or `row 1`.
    pub fn place(&self, row: usize) -> String {
        format!("{} {}", self.lines.what, self.line(row))
    }

    /// An error at a row.
    pub fn bad_row(&self, row: usize, message: impl std::fmt::Display) -> Failure {
        self.bad(self.line(row), message)
    }

    /// An error at a line ([`CsvTable::to_rows`]).
    pub fn bad(&self, line: u64, message: impl std::fmt::Display) -> Failure {
        Failure::data(&self.path, format!("{} {line}: {message}", self.lines.what))
    }
}

/// Refuses more rows than can be numbered.
fn check_rows(path: &Path, rows: usize) -> Result<()> {
    if rows > u32::MAX as usize {
        return Err(Failure::data(path, format!("more than {} rows", u32::MAX)));
    }
    Ok(())
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
        assert_eq!(table.len(), 60_000);
        let none = table.filter(&[("name".into(), vec!["c1".into(), "c70000".into()])]).unwrap_err();
        assert_eq!(none.to_string(), "t.csv: no row has `name` = `c70000`");
    }
}
