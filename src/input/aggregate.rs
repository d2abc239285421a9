//! From raw records to a table of counts.

use super::CsvTable;
use super::encoding::{self, Encoding};
use super::parquet_file::{ParquetFile, Source};
use super::rows::Rows;
use crate::failure::{Failure, Result};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What to count.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// The raw records: parquet or CSV.
    pub records: PathBuf,
    /// The column of the records to count by.
    pub key: String,
    /// A CSV table with one row per key, which gives the rows and further columns of the result.
    pub lookup: PathBuf,
    /// The lookup's column that holds the key.
    pub lookup_key: String,
    /// Rows of the lookup (`column`, `value`) that the result leaves out, with their records.
    pub exclude: Vec<(String, String)>,
    /// Name of the column of counts.
    pub count: String,
}

/// A table of counts and what was counted.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The result: the lookup's columns, then the count.
    pub columns: Vec<String>,
    /// One row per lookup row that is not excluded, in its order; zero where no record has its key.
    pub rows: Vec<Vec<String>>,
    /// Records that were read.
    pub records: u64,
    /// Records of excluded rows.
    pub excluded: u64,
    /// Records without a key.
    pub missing: u64,
}

/// Counts records by key and joins the lookup.
///
/// Refused: a file that cannot be read, a missing column, a key that is duplicated in the lookup or
/// missing from it (nothing is dropped silently), a key column that is neither text nor integer.
pub fn aggregate(job: &Aggregate) -> Result<Counted> {
    join(job, &CsvTable::read(&job.lookup)?, || count(&job.records, &job.key))
}

/// Counts by key, and the records without one.
pub type Counts = (HashMap<String, u64>, u64);

/// Joins the counts of the records to a lookup that was read; the records are counted once the lookup has passed.
pub fn join(job: &Aggregate, lookup: &CsvTable, count: impl FnOnce() -> Result<Counts>) -> Result<Counted> {
    let key = lookup.column(&job.lookup_key)?;
    let rows = lookup.to_rows();
    if lookup.columns.contains(&job.count) {
        return Err(Failure::data(
            &job.lookup,
            format!("has a column `{}` already; choose another name for the count", job.count),
        ));
    }
    let excluded_by = job
        .exclude
        .iter()
        .map(|(column, value)| {
            let place = lookup.column(column)?;
            if !rows.iter().any(|(_, row)| &row[place] == value) {
                return Err(Failure::data(
                    &job.lookup,
                    format!("no row has `{column}` = `{value}`, so there is nothing to exclude"),
                ));
            }
            Ok((place, value))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut place_of: HashMap<&str, usize> = HashMap::new();
    for (i, (line, row)) in rows.iter().enumerate() {
        if let Some(before) = place_of.insert(&row[key], i) {
            let first = lookup.place(before);
            return Err(lookup.bad(
                *line,
                format!("`{}` = `{}` is duplicated (first on {first})", job.lookup_key, row[key]),
            ));
        }
    }
    let (counts, missing) = count()?;
    let mut by_row = vec![0u64; rows.len()];
    for (value, n) in &counts {
        match place_of.get(value.as_str()) {
            Some(&row) => by_row[row] += n,
            None => {
                let message = format!(
                    "{n} records have `{}` = `{value}`, which `{}` of {} does not list",
                    job.key,
                    job.lookup_key,
                    job.lookup.display()
                );
                return Err(Failure::data(&job.records, message));
            }
        }
    }
    let mut columns = lookup.columns.clone();
    columns.push(job.count.clone());
    let mut result = Counted { columns, rows: Vec::new(), records: missing, excluded: 0, missing };
    for ((_, row), n) in rows.iter().zip(by_row) {
        result.records += n;
        if excluded_by.iter().any(|(place, value)| &row[*place] == *value) {
            result.excluded += n;
        } else {
            let mut row = row.clone();
            row.push(n.to_string());
            result.rows.push(row);
        }
    }
    Ok(result)
}

fn count(path: &Path, key: &str) -> Result<Counts> {
    match Source::open(path)? {
        Source::Text(file) => {
            encoding::either(path, &file, |file, encoding| count_text(path, file, encoding, key))
        }
        Source::Parquet(file) => count_parquet(path, file, key),
    }
}

/// Counts the records of a CSV file; `path` is its name in messages. Refused: as [`CsvTable::from_reader`]; no column of the key, or two.
pub fn count_csv(path: &Path, source: impl std::io::Read, key: &str) -> Result<Counts> {
    count_text(path, source, Encoding::ByMark, key)
}

fn count_text(path: &Path, source: impl std::io::Read, encoding: Encoding, key: &str) -> Result<Counts> {
    let mut rows = Rows::new(path, source, encoding)?;
    rows.next()?;
    let place = place(path, key, rows.fields())?;
    let mut counts = Counts::default();
    while rows.next()? {
        add(&mut counts, Some(rows.field(place)).filter(|value| !value.is_empty()), 1);
    }
    Ok(counts)
}

fn count_parquet(path: &Path, file: File, key: &str) -> Result<Counts> {
    let parquet = ParquetFile::open(path, file)?;
    let place = place(path, key, parquet.columns.iter().map(String::as_str))?;
    let mut counts = Counts::default();
    parquet.read(place, |value, times| {
        add(&mut counts, value, times as u64);
        Ok(())
    })?;
    Ok(counts)
}

fn add((counts, missing): &mut Counts, value: Option<&str>, times: u64) {
    match value {
        None => *missing += times,
        Some(value) => match counts.get_mut(value) {
            Some(n) => *n += times,
            None => drop(counts.insert(value.to_owned(), times)),
        },
    }
}

fn place<'a>(path: &Path, key: &str, columns: impl Iterator<Item = &'a str> + Clone) -> Result<usize> {
    let mut places = columns.clone().enumerate().filter(|(_, column)| *column == key).map(|(i, _)| i);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(Failure::data(path, format!("the column `{key}` stands there twice"))),
        (None, _) => {
            let have = columns.collect::<Vec<_>>().join(", ");
            Err(Failure::data(path, format!("no column `{key}`; the file has {have}")))
        }
    }
}
