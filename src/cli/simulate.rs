//! `congenial simulate`

use crate::failure::{Failure, Result};
use crate::input::{CsvTable, TableWriter, Value};
use crate::rng::{Role, TaskKey, geometric, stream};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// CSV or parquet file with a row per entry of one table
    layout: PathBuf,
    /// Tables to simulate, numbered in a column `table`; without it one, not numbered
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tables: Option<u32>,
    /// Column of the layout that says how many leaves each of its rows has: one row for each of them
    #[arg(long, value_name = "COLUMN")]
    expand: Option<String>,
    /// Name of the column that numbers the leaves of a row, from 1
    #[arg(long, value_name = "NAME", default_value = "leaf", requires = "expand")]
    leaf: String,
    /// Rows of a table after which it ends
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Size of the negative binomial law: successes that are waited for
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    size: u32,
    /// Its probability of a failure; the mean is size p / (1 - p)
    #[arg(long, required_unless_present = "mean")]
    probability: Option<f64>,
    /// Its mean instead: a number, or the column of the layout that holds it
    #[arg(long, value_name = "MEAN|COLUMN", conflicts_with = "probability")]
    mean: Option<String>,
    /// Seed
    #[arg(long)]
    seed: u64,
    /// File to write, parquet if it ends in .parquet: `table`, the columns of the layout, the leaf, `count`
    #[arg(long)]
    out: PathBuf,
}

/// The law of a row's counts: its probability of a failure.
enum Failures {
    Same(f64),
    /// By row of the layout, its own probability.
    Rows(Vec<f64>),
}

/// Writes independent negative binomial counts in every entry of every table.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { layout, tables, expand, leaf, limit, size, seed, out, .. } = arguments;
    let layout = CsvTable::read(layout)?;
    let failures = failures(arguments, &layout)?;
    let places: Vec<usize> =
        (0..layout.columns.len()).filter(|&i| Some(&layout.columns[i]) != expand.as_ref()).collect();
    let added = [("table", tables.is_some()), (leaf.as_str(), expand.is_some()), ("count", true)];
    let added: Vec<&str> = added.into_iter().filter(|(_, used)| *used).map(|(name, _)| name).collect();
    for (i, name) in added.iter().enumerate() {
        if added[..i].contains(name) || places.iter().any(|&place| layout.columns[place] == *name) {
            return Err(Failure::data(&layout.path, format!("it has a column `{name}` already")));
        }
    }
    let leaves = match expand {
        None => vec![1; layout.len()],
        Some(column) => {
            let place = layout.column(column)?;
            let leaves = |row| {
                let text = layout.text(row, place);
                text.parse::<u32>().map_err(|_| {
                    layout.bad_row(row, format!("`{column}` = `{text}`, want a number of leaves"))
                })
            };
            (0..layout.len()).map(leaves).collect::<Result<Vec<u32>>>()?
        }
    };
    let texts = places.iter().map(|&place| (layout.columns[place].as_str(), false));
    let number = |name: &'static str, used: bool| used.then_some((name, true));
    let columns: Vec<(&str, bool)> = number("table", tables.is_some())
        .into_iter()
        .chain(texts)
        .chain(expand.is_some().then_some((leaf.as_str(), true)))
        .chain(number("count", true))
        .collect();
    let mut writer = TableWriter::create(out, &columns)?;
    let mut rows = 0;
    for table in 1..=tables.unwrap_or(1) {
        let key = TaskKey { seed: *seed, cell: 0, replicate: u64::from(table), role: Role::Noise };
        let mut rng = stream(key);
        rows = 0;
        'rows: for row in 0..layout.len() {
            // Failures before a success are geometric; a count is the sum of `size` of them.
            let scale = -1.0
                / libm::log(match &failures {
                    Failures::Same(p) => *p,
                    Failures::Rows(p) => p[row],
                });
            let texts: Vec<_> = places.iter().map(|&place| layout.text(row, place)).collect();
            for leaf in 1..=leaves[row] {
                if limit.is_some_and(|limit| rows == limit) {
                    break 'rows;
                }
                let count: i64 = (0..*size).map(|_| geometric(&mut rng, scale)).sum();
                let integer = |value: i64, used: bool| used.then_some(Value::Integer(value));
                writer.push(
                    integer(table.into(), tables.is_some())
                        .into_iter()
                        .chain(texts.iter().map(|text| Value::Text(text)))
                        .chain(integer(leaf.into(), expand.is_some()))
                        .chain(integer(count, true)),
                )?;
                rows += 1;
            }
        }
    }
    writer.finish()?;
    say!("{}: {} tables of {rows} entries", out.display(), tables.unwrap_or(1));
    Ok(())
}

fn failures(arguments: &Arguments, layout: &CsvTable) -> Result<Failures> {
    let size = f64::from(arguments.size);
    let by_mean = |mean: f64| mean / (size + mean);
    let is_mean = |mean: &f64| mean.is_finite() && *mean >= 0.0;
    match (arguments.probability, &arguments.mean) {
        (Some(p), _) if p > 0.0 && p < 1.0 => Ok(Failures::Same(p)),
        (Some(p), _) => Err(Failure::Usage(format!("--probability: got {p}, want a number in (0, 1)"))),
        (None, Some(mean)) if layout.columns.contains(mean) => {
            let place = layout.column(mean)?;
            let row = |row| {
                let text = layout.text(row, place);
                let value = text.parse::<f64>().ok().filter(is_mean);
                value
                    .map(by_mean)
                    .ok_or_else(|| layout.bad_row(row, format!("`{mean}` = `{text}`, want a number >= 0")))
            };
            (0..layout.len()).map(row).collect::<Result<_>>().map(Failures::Rows)
        }
        (None, mean) => {
            let mean = mean.as_deref().unwrap_or_default();
            let value = mean.parse::<f64>().ok().filter(is_mean);
            value.map(by_mean).map(Failures::Same).ok_or_else(|| {
                Failure::Usage(format!("--mean: got {mean}, want a number >= 0 or a column of the layout"))
            })
        }
    }
}
