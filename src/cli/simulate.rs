//! `congenial simulate`

use crate::failure::{Failure, Result};
use crate::input::CsvTable;
use crate::rng::{Role, TaskKey, geometric, stream};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// CSV file with a row per cell of one table
    layout: PathBuf,
    /// Tables to simulate
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tables: u32,
    /// Size of the negative binomial law: successes that are waited for
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    size: u32,
    /// Its probability of a failure; the mean is size p / (1 - p)
    #[arg(long)]
    probability: f64,
    /// Seed
    #[arg(long)]
    seed: u64,
    /// File to write: `table`, the columns of the layout, `count`
    #[arg(long)]
    out: PathBuf,
}

/// Independent negative binomial counts in every cell of every table.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { layout, tables, size, probability, seed, out } = arguments;
    if !(*probability > 0.0 && *probability < 1.0) {
        return Err(Failure::Usage(format!("--probability: got {probability}, want a number in (0, 1)")));
    }
    let layout = CsvTable::read(layout)?;
    for taken in ["table", "count"] {
        if layout.columns.iter().any(|column| column == taken) {
            return Err(Failure::data(&layout.path, format!("it has a column `{taken}` already")));
        }
    }
    let rows = layout.to_rows();
    let failed = |e: String| Failure::write(out, e);
    let file = std::fs::File::create_new(out).map_err(|e| Failure::io(out, "cannot create", e))?;
    let mut writer = csv::Writer::from_writer(file);
    let header = ["table"].into_iter().chain(layout.columns.iter().map(String::as_str)).chain(["count"]);
    writer.write_record(header).map_err(|e| failed(e.to_string()))?;
    // Failures before a success are geometric; a count is the sum of `size` of them.
    let scale = -1.0 / libm::log(*probability);
    for table in 1..=*tables {
        let key = TaskKey { seed: *seed, cell: 0, replicate: u64::from(table), role: Role::Noise };
        let mut rng = stream(key);
        for (_, values) in &rows {
            let count: i64 = (0..*size).map(|_| geometric(&mut rng, scale)).sum();
            let (table, count) = (table.to_string(), count.to_string());
            let record =
                [table.as_str()].into_iter().chain(values.iter().map(String::as_str)).chain([&*count]);
            writer.write_record(record).map_err(|e| failed(e.to_string()))?;
        }
    }
    writer.flush().map_err(|e| failed(e.to_string()))?;
    eprintln!("{}: {tables} tables of {} cells", out.display(), layout.len());
    Ok(())
}
