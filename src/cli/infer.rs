//! `congenial infer`

use crate::failure::Result;
use crate::infer::{self, Model, Wish};
use crate::page::Format;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A noisy file, parquet or CSV: a row for each node of a tree, for each entry of a table, or for each answer of queries of tables of
    /// attributes in areas (see FORMAT.md)
    file: PathBuf,
    /// Columns of its keys, of a tree those of the levels below the total, the highest first [default: all columns without
    /// a meaning of their own]
    #[arg(long, alias = "keys", value_delimiter = ',', value_name = "COLUMNS")]
    levels: Vec<String>,
    /// TOML file with the `[[invariant]]` blocks of a table, as a config has them [default: those in the footer of a
    /// parquet file; a file without any is that of a tree]
    #[arg(long, value_name = "FILE")]
    invariants: Option<PathBuf>,
    /// TOML file that says what the tables of attributes of areas are: a config of the study `cube`, or its levels, attributes, zeros and
    /// queries [default: the footer of a parquet file]
    #[arg(long, value_name = "FILE", conflicts_with = "invariants")]
    tables: Option<PathBuf>,
    /// Table of districts or queries: the keys of a leaf or an entry, `name`, and perhaps `weight` (1, 0 or -1), a row for
    /// each of each; of tables of attributes the keys of an area of any level
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Ratio of two districts or queries, by their names: an interval with all ratios that the noise does not rule out; can be given
    /// several times
    #[arg(long, value_name = "NAME/NAME", requires = "queries")]
    ratio: Vec<String>,
    /// What an interval holds at least: a number or a fraction between 0 and 1
    #[arg(long, default_value = "0.9", value_parser = infer::level, allow_negative_numbers = true)]
    level: f64,
    /// Table of leaves: the keys of every leaf, and what is known of it, in columns of numbers
    #[arg(long, value_name = "FILE")]
    leaves: Option<PathBuf>,
    /// Intervals of the posterior with this prior for every leaf or entry: flat, nonnegative, poisson[:MEAN],
    /// negative-binomial[:MEAN,SIZE], with a number or a column of --leaves for the mean; parameters that are left out are those
    /// that make the release most likely
    #[arg(long, value_name = "PRIOR", value_parser = infer::prior, conflicts_with = "bands")]
    prior: Option<infer::Shared>,
    /// With a prior: counts are from one to the other, by columns of --leaves; a blank is no end, and either may be left out
    #[arg(long, value_name = "LOW,HIGH", value_parser = infer::ends, requires_all = ["prior", "leaves"])]
    bounds: Option<infer::Ends>,
    /// What the release says of this model of the counts of leaves, by the exact likelihood: poisson, negative-binomial
    #[arg(long, value_name = "LAW", value_parser = infer::counts, requires = "leaves")]
    model: Option<crate::inference::Counts>,
    /// Columns of --leaves of which the logarithm of the model's mean is a linear function
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", requires = "model")]
    covariates: Vec<String>,
    /// Column of --leaves by which the model's means are multiplied: persons, years
    #[arg(long, value_name = "COLUMN", requires = "model")]
    offset: Option<String>,
    /// Also bands that hold for all counts of a level, or for all districts or queries, at once
    #[arg(long)]
    bands: bool,
    /// With a prior: also keep so many independent draws of the posterior of a tree, with the counts of all nodes (draws.parquet in
    /// --out)
    #[arg(long, value_name = "N", default_value_t = 0, requires_all = ["prior", "out"], allow_negative_numbers = true)]
    draws: usize,
    /// Master seed of draws, where there are any
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How to print; the figures and files of values are in --out
    #[arg(long, default_value = "text", value_parser = super::among(super::PAGES))]
    format: Format,
    /// Write all of it into this folder, too (table.csv, intervals.csv, intervals.parquet, ratios.csv, draws.parquet, model.csv, the page
    /// as text, markdown and HTML, and a figure), in place of files of these names
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write what would be printed to this file, which is replaced
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let wish = Wish {
        file: arguments.file.clone(),
        levels: arguments.levels.iter().map(|level| level.trim().to_owned()).collect(),
        invariants: arguments.invariants.clone(),
        tables: arguments.tables.clone(),
        queries: arguments.queries.clone(),
        ratios: arguments.ratio.clone(),
        level: arguments.level,
        prior: arguments.prior.clone(),
        leaves: arguments.leaves.clone(),
        bounds: arguments.bounds.clone(),
        model: arguments.model.map(|counts| Model {
            counts,
            covariates: arguments.covariates.clone(),
            offset: arguments.offset.clone(),
        }),
        draws: arguments.draws,
        bands: arguments.bands,
        seed: arguments.seed,
    };
    infer::check_apart(&wish, arguments.out.as_deref(), arguments.output.as_deref())?;
    let told = infer::told(&wish)?;
    let page = told.page();
    if let Some(folder) = &arguments.out {
        infer::write(&*told, &page, folder, |path| say!("{}", path.display()))?;
    }
    super::show(&page, &told.title(), arguments.format, arguments.output.as_deref())
}
