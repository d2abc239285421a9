//! `congenial aggregate`

use crate::failure::{Failure, Result};
use crate::files::{NewFile, write_csv};
use crate::input;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Raw records, one a row, parquet or CSV (such as yellow_tripdata_2022-02.parquet)
    records: PathBuf,
    /// Columns that name a group: records are counted by all of them together
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", conflicts_with_all = ["key", "lookup", "lookup_key", "exclude"])]
    by: Vec<String>,
    /// Column of whole numbers for how many records each one stands
    #[arg(long, requires = "by", conflicts_with = "sum")]
    weight: Option<String>,
    /// Column of whole numbers that is added up, in place of counting records
    #[arg(long, requires = "by")]
    sum: Option<String>,
    /// Table that lists the groups, those without records too [default: all combinations of values]
    #[arg(long, requires = "by")]
    list: Option<PathBuf>,
    /// Column of the records to count by, if their groups are the rows of another table
    #[arg(long, required_unless_present = "by")]
    key: Option<String>,
    /// That table: CSV with one row per key
    #[arg(long, required_unless_present = "by")]
    lookup: Option<PathBuf>,
    /// Its column that holds the key
    #[arg(long, required_unless_present = "by")]
    lookup_key: Option<String>,
    /// Leave out the lookup's rows with this value, and their records
    #[arg(long, value_name = "COLUMN=VALUE")]
    exclude: Vec<String>,
    /// Name of the column of counts
    #[arg(long, default_value = "count")]
    count: String,
    /// The table to write; it must not exist
    #[arg(long)]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    match (&arguments.key, &arguments.lookup, &arguments.lookup_key) {
        (Some(key), Some(lookup), Some(lookup_key)) => join(arguments, key, lookup, lookup_key),
        _ => tabulate(arguments),
    }
}

/// Counts by several columns.
fn tabulate(arguments: &Arguments) -> Result<()> {
    let done = input::tabulate(&input::Tabulate {
        records: arguments.records.clone(),
        by: arguments.by.clone(),
        sum: arguments.weight.clone().or(arguments.sum.clone()),
        list: arguments.list.clone(),
        count: arguments.count.clone(),
    })?;
    write(&arguments.out, &done.columns, &done.rows)?;
    done.notes.iter().for_each(|note| say!("{}: {note}", arguments.records.display()));
    let (rows, empty) = (done.rows.len(), done.empty);
    let out = arguments.out.display();
    let counted = match (&arguments.weight, &arguments.sum) {
        (Some(name), _) => format!("{} records, each as many as `{name}` says", done.records),
        (_, Some(name)) => format!("`{name}` of {} rows added up", done.records),
        _ => format!("{} records counted", done.records),
    };
    say!("{out}: {rows} groups, {empty} of them without records ({}); {counted}", done.groups);
    Ok(())
}

/// Counts by a key of another table.
fn join(arguments: &Arguments, key: &str, lookup: &Path, lookup_key: &str) -> Result<()> {
    let exclude = arguments
        .exclude
        .iter()
        .map(|text| match text.split_once('=') {
            Some((column, value)) => Ok((column.to_owned(), value.to_owned())),
            None => Err(Failure::Usage(format!("--exclude {text}: want COLUMN=VALUE"))),
        })
        .collect::<Result<Vec<_>>>()?;
    let counted = input::aggregate(&input::Aggregate {
        records: arguments.records.clone(),
        key: key.to_owned(),
        lookup: lookup.to_owned(),
        lookup_key: lookup_key.to_owned(),
        exclude,
        count: arguments.count.clone(),
    })?;
    write(&arguments.out, &counted.columns, &counted.rows)?;
    let kept = counted.records - counted.excluded - counted.missing;
    say!(
        "{}: {} rows, {kept} of {} records ({} excluded, {} without a key)",
        arguments.out.display(),
        counted.rows.len(),
        counted.records,
        counted.excluded,
        counted.missing
    );
    Ok(())
}

/// Writes a table.
fn write(out: &Path, columns: &[String], rows: &[Vec<String>]) -> Result<()> {
    let file = NewFile::create(out)?;
    write_csv(file.file()?, out, std::iter::once(columns).chain(rows.iter().map(Vec::as_slice)))?;
    file.finish()
}
