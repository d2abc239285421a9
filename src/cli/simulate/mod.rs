//! `congenial simulate`

mod persons;

use self::persons::Persons;
use crate::failure::{Failure, Result};
use crate::input::{CsvTable, TableWriter, Value};
use crate::page::thousands;
use crate::rng::{Role, TaskKey, geometric, stream};
use std::path::{Path, PathBuf};

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
    /// Rows of the layout alone that have this in a column, such as `state=10`
    #[arg(long, value_name = "COLUMN=VALUE")]
    only: Option<String>,
    /// Size of the negative binomial law: successes that are waited for
    #[arg(long, required_unless_present = "persons", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    size: Option<u32>,
    /// Its probability of a failure; the mean is size p / (1 - p)
    #[arg(long, required_unless_present_any = ["mean", "persons"])]
    probability: Option<f64>,
    /// Its mean instead: a number, or the column of the layout that holds it
    #[arg(long, value_name = "MEAN|COLUMN", conflicts_with = "probability")]
    mean: Option<String>,
    /// TOML file with classes of persons instead: a table of attributes in every leaf, of which --out has a row for each cell that is not 0
    #[arg(long, value_name = "FILE", requires = "areas", conflicts_with_all = ["size", "probability", "mean", "tables"])]
    persons: Option<PathBuf>,
    /// With --persons: the file to write with a row for each leaf
    #[arg(long, value_name = "FILE", requires = "persons")]
    areas: Option<PathBuf>,
    /// Seed
    #[arg(long)]
    seed: u64,
    /// File to write, parquet if it ends in .parquet: `table`, the columns of the layout, the leaf, attributes, `count`
    #[arg(long)]
    out: PathBuf,
}

/// The law of a row's counts: its probability of a failure.
enum Failures {
    Same(f64),
    /// By row of the layout, its own probability.
    Rows(Vec<f64>),
}

/// A layout with its leaves.
struct Layout<'a> {
    table: CsvTable,
    /// The columns that are written.
    places: Vec<usize>,
    /// By row that is taken, its number and how many leaves it has.
    rows: Vec<(usize, u32)>,
    /// The name of the column that numbers leaves, if there is one.
    leaf: Option<&'a str>,
    limit: u64,
}

impl<'a> Layout<'a> {
    fn read(arguments: &'a Arguments) -> Result<Self> {
        let table = CsvTable::read(&arguments.layout)?;
        let expand = arguments.expand.as_ref();
        let places = (0..table.columns.len()).filter(|&i| Some(&table.columns[i]) != expand).collect();
        let only = arguments.only.as_deref().map(|only| only_of(&table, only)).transpose()?;
        let column = expand.map(|column| table.column(column)).transpose()?;
        let leaves = |row: usize| {
            let Some(place) = column else { return Ok((row, 1)) };
            let text = table.text(row, place);
            let number = text.parse::<u32>().map_err(|_| {
                let column = &table.columns[place];
                table.bad_row(row, format!("`{column}` = `{text}`, want a number of leaves"))
            })?;
            Ok((row, number))
        };
        let is = |row: &usize| only.is_none_or(|(place, value)| table.text(*row, place) == value);
        let rows = (0..table.len()).filter(is).map(leaves).collect::<Result<Vec<_>>>()?;
        if let (Some(only), true) = (&arguments.only, rows.is_empty()) {
            return Err(Failure::data(&table.path, format!("no row has {only} (--only)")));
        }
        let leaf = expand.map(|_| arguments.leaf.as_str());
        Ok(Self { places, rows, leaf, limit: arguments.limit.unwrap_or(u64::MAX), table })
    }

    /// The columns of a file: names, and whether they hold integers; `before` and `behind`: those that are added. Refused: a name that is
    /// there already.
    fn columns<'b>(
        &'b self,
        before: &[(&'b str, bool)],
        behind: &[(&'b str, bool)],
    ) -> Result<Vec<(&'b str, bool)>> {
        let own = self.places.iter().map(|&place| (self.table.columns[place].as_str(), false));
        let leaf = self.leaf.map(|leaf| (leaf, true));
        let all: Vec<(&str, bool)> =
            before.iter().copied().chain(own).chain(leaf).chain(behind.iter().copied()).collect();
        match all.iter().enumerate().find(|(i, (name, _))| all[..*i].iter().any(|(other, _)| other == name)) {
            None => Ok(all),
            Some((_, (name, _))) => {
                Err(Failure::data(&self.table.path, format!("it has a column `{name}` already")))
            }
        }
    }

    /// The leaves, as far as the limit: of each the row of the layout and its number in that.
    fn leaves(&self) -> impl Iterator<Item = (usize, u32)> {
        let all = self.rows.iter().flat_map(|&(row, leaves)| (1..=leaves).map(move |leaf| (row, leaf)));
        all.take(usize::try_from(self.limit).unwrap_or(usize::MAX))
    }

    /// What a file says of a leaf.
    fn values(&self, row: usize, leaf: u32) -> impl Iterator<Item = Value<'_>> {
        let texts = self.places.iter().map(move |&place| Value::Text(self.table.text(row, place)));
        texts.chain(self.leaf.map(|_| Value::Integer(leaf.into())))
    }
}

/// The column and the value of `COLUMN=VALUE`.
fn only_of<'a>(table: &CsvTable, only: &'a str) -> Result<(usize, &'a str)> {
    let Some((column, value)) = only.split_once('=') else {
        return Err(Failure::Usage(format!("--only: got {only}, want COLUMN=VALUE")));
    };
    Ok((table.column(column)?, value))
}

/// Writes independent negative binomial counts in every entry of every table, or persons in every leaf.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let layout = Layout::read(arguments)?;
    match (&arguments.persons, &arguments.areas) {
        (Some(_), Some(areas)) if *areas == arguments.out => {
            Err(Failure::Usage(format!("--areas: got {}, want another file than --out", areas.display())))
        }
        (Some(persons), Some(areas)) => {
            people(&layout, &Persons::read(persons)?, (areas, &arguments.out), arguments.seed)
        }
        _ => counts(&layout, arguments),
    }
}

fn counts(layout: &Layout, arguments: &Arguments) -> Result<()> {
    let Arguments { tables, seed, out, .. } = arguments;
    let size = arguments.size.unwrap_or(1);
    let failures = failures(arguments, &layout.table, f64::from(size))?;
    let table = tables.map(|_| ("table", true));
    let mut writer = TableWriter::create(out, &layout.columns(table.as_slice(), &[("count", true)])?)?;
    let mut rows = 0;
    for table in 1..=tables.unwrap_or(1) {
        let key = TaskKey { seed: *seed, cell: 0, replicate: u64::from(table), role: Role::Noise };
        let mut rng = stream(key);
        rows = 0;
        for (row, leaf) in layout.leaves() {
            // Failures before a success are geometric; a count is the sum of `size` of them.
            let p = match &failures {
                Failures::Same(p) => *p,
                Failures::Rows(p) => p[row],
            };
            let scale = -1.0 / libm::log(p);
            let count: i64 = (0..size).map(|_| geometric(&mut rng, scale)).sum();
            let number = tables.map(|_| Value::Integer(table.into()));
            writer.push(number.into_iter().chain(layout.values(row, leaf)).chain([Value::Integer(count)]))?;
            rows += 1;
        }
    }
    writer.finish()?;
    say!("{}: {} tables of {rows} entries", out.display(), tables.unwrap_or(1));
    Ok(())
}

fn people(layout: &Layout, persons: &Persons, (areas, out): (&Path, &Path), seed: u64) -> Result<()> {
    let attributes = persons.attributes.iter().map(|(name, _)| (name.as_str(), false));
    let behind: Vec<(&str, bool)> = attributes.chain([("count", true)]).collect();
    let mut cells = TableWriter::create(out, &layout.columns(&[], &behind)?)?;
    let mut list = TableWriter::create(areas, &layout.columns(&[], &[])?)?;
    let mut rng = stream(TaskKey { seed, cell: 0, replicate: 1, role: Role::Noise });
    let (mut leaves, mut rows, mut people) = (0u64, 0u64, 0i64);
    for (row, leaf) in layout.leaves() {
        leaves += 1;
        list.push(layout.values(row, leaf))?;
        for (cell, count) in persons.draw(&mut rng) {
            let categories = cell.iter().zip(&persons.attributes);
            let own = categories.map(|(&category, (_, names))| Value::Text(&names[category as usize]));
            cells.push(layout.values(row, leaf).chain(own).chain([Value::Integer(count)]))?;
            rows += 1;
            people += count;
        }
    }
    list.finish()?;
    cells.finish()?;
    say!(
        "{}: {} leaves; {}: {} persons in {} cells",
        areas.display(),
        thousands(leaves as f64),
        out.display(),
        thousands(people as f64),
        thousands(rows as f64)
    );
    Ok(())
}

fn failures(arguments: &Arguments, layout: &CsvTable, size: f64) -> Result<Failures> {
    let by_mean = |mean: f64| mean / (size + mean);
    let is_mean = |mean: &f64| mean.is_finite() && *mean >= 0.0;
    match (arguments.probability, &arguments.mean) {
        (Some(p), _) => crate::cli::probability("--probability", p).map(Failures::Same),
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
