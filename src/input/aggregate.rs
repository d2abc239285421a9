//! From raw records to a table of counts.

use super::CsvTable;
use crate::failure::{Failure, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::HashMap;
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

/// The same from a lookup that was read; the records are counted once it has passed.
pub fn join(job: &Aggregate, lookup: &CsvTable, count: impl FnOnce() -> Result<Counts>) -> Result<Counted> {
    let key = lookup.column(&job.lookup_key)?;
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
            if !lookup.rows.iter().any(|(_, row)| &row[place] == value) {
                return Err(Failure::data(
                    &job.lookup,
                    format!("no row has `{column}` = `{value}`, so there is nothing to exclude"),
                ));
            }
            Ok((place, value))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut place_of: HashMap<&str, usize> = HashMap::new();
    for (i, (line, row)) in lookup.rows.iter().enumerate() {
        if let Some(before) = place_of.insert(&row[key], i) {
            let first = lookup.rows[before].0;
            return Err(lookup.bad(
                *line,
                format!("`{}` = `{}` is duplicated (first on line {first})", job.lookup_key, row[key]),
            ));
        }
    }
    let (counts, missing) = count()?;
    let mut by_row = vec![0u64; lookup.rows.len()];
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
    for ((_, row), n) in lookup.rows.iter().zip(by_row) {
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
    let mut magic = [0u8; 4];
    let mut file = std::fs::File::open(path).map_err(|e| Failure::io(path, "cannot read", e))?;
    let is_parquet = std::io::Read::read_exact(&mut file, &mut magic).is_ok() && &magic == b"PAR1";
    if is_parquet {
        return count_parquet(path, key);
    }
    count_csv(path, std::fs::File::open(path).map_err(|e| Failure::io(path, "cannot read", e))?, key)
}

/// Counts the records of a CSV file; `path` is its name in messages.
pub fn count_csv(path: &Path, source: impl std::io::Read, key: &str) -> Result<Counts> {
    let bad = |e: csv::Error| Failure::data(path, e.to_string());
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(source);
    let headers = reader.headers().map_err(bad)?.clone();
    let place = headers.iter().position(|c| c == key).ok_or_else(|| no_column(path, key, headers.iter()))?;
    let (mut counts, mut missing) = (HashMap::new(), 0);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(bad)? {
        match record.get(place) {
            None | Some("") => missing += 1,
            Some(value) => match counts.get_mut(value) {
                Some(n) => *n += 1,
                None => {
                    counts.insert(value.to_owned(), 1);
                }
            },
        }
    }
    Ok((counts, missing))
}

fn count_parquet(path: &Path, key: &str) -> Result<Counts> {
    let bad =
        |e: parquet::errors::ParquetError| Failure::data(path, format!("not a readable parquet file: {e}"));
    let file = std::fs::File::open(path).map_err(|e| Failure::io(path, "cannot read", e))?;
    let reader = SerializedFileReader::new(file).map_err(bad)?;
    let schema = reader.metadata().file_metadata().schema();
    let Some(column) = schema.get_fields().iter().find(|field| field.name() == key) else {
        return Err(no_column(path, key, schema.get_fields().iter().map(|field| field.name())));
    };
    let only = parquet::schema::types::Type::group_type_builder(schema.name())
        .with_fields(vec![column.clone()])
        .build()
        .map_err(bad)?;
    let (mut counts, mut missing) = (HashMap::new(), 0);
    for row in reader.get_row_iter(Some(only)).map_err(bad)? {
        let row = row.map_err(bad)?;
        let value = match row.get_column_iter().next().map(|(_, field)| field) {
            None | Some(Field::Null) => {
                missing += 1;
                continue;
            }
            Some(Field::Byte(x)) => x.to_string(),
            Some(Field::Short(x)) => x.to_string(),
            Some(Field::Int(x)) => x.to_string(),
            Some(Field::Long(x)) => x.to_string(),
            Some(Field::UByte(x)) => x.to_string(),
            Some(Field::UShort(x)) => x.to_string(),
            Some(Field::UInt(x)) => x.to_string(),
            Some(Field::ULong(x)) => x.to_string(),
            Some(Field::Str(text)) => text.clone(),
            Some(_) => {
                let message = format!(
                    "column `{key}` has the type {}, want integers or text",
                    column.get_physical_type()
                );
                return Err(Failure::data(path, message));
            }
        };
        *counts.entry(value).or_default() += 1;
    }
    Ok((counts, missing))
}

fn no_column<'a>(path: &Path, key: &str, have: impl Iterator<Item = &'a str>) -> Failure {
    let have = have.collect::<Vec<_>>().join(", ");
    Failure::data(path, format!("no column `{key}`; the file has {have}"))
}
