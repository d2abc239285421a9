//! `congenial aggregate`

use crate::failure::{Failure, Result};
use crate::files::NewFile;
use crate::input;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Raw records, parquet or CSV (such as yellow_tripdata_2022-02.parquet)
    records: PathBuf,
    /// Column of the records to count by
    #[arg(long)]
    key: String,
    /// CSV table with one row per key
    #[arg(long)]
    lookup: PathBuf,
    /// Its column that holds the key
    #[arg(long)]
    lookup_key: String,
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
        key: arguments.key.clone(),
        lookup: arguments.lookup.clone(),
        lookup_key: arguments.lookup_key.clone(),
        exclude,
        count: arguments.count.clone(),
    })?;
    let failed = |e: &dyn std::fmt::Display| Failure::write(&arguments.out, e);
    let file = NewFile::create(&arguments.out)?;
    let mut writer = csv::Writer::from_writer(file.file()?);
    writer.write_record(&counted.columns).map_err(|e| failed(&e))?;
    for row in &counted.rows {
        writer.write_record(row).map_err(|e| failed(&e))?;
    }
    writer.flush().map_err(|e| failed(&e))?;
    file.finish()?;
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
