//! `congenial infer`

use crate::failure::{Failure, Result};
use crate::files::replace_at;
use crate::infer::{self, Model, Wish};
use crate::page::{self, Page};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A noisy file, parquet or CSV: a row for each node of a tree (see FORMAT.md)
    file: PathBuf,
    /// Columns of its levels below the total, the highest first [default: all columns without a meaning of their own]
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    levels: Vec<String>,
    /// Table of districts: the keys of a leaf, `name`, and perhaps `weight` (1, 0 or -1), a row for each leaf of each
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Ratio of two districts, by their names; can be given several times
    #[arg(long, value_name = "NAME/NAME", requires = "queries")]
    ratio: Vec<String>,
    /// What an interval holds at least: a number or a fraction between 0 and 1
    #[arg(long, default_value = "0.9", value_parser = infer::level)]
    level: f64,
    /// Table of leaves: the keys of every leaf, and what is known of it, in columns of numbers
    #[arg(long, value_name = "FILE")]
    leaves: Option<PathBuf>,
    /// Intervals of the posterior with this prior for every leaf: flat, nonnegative, poisson[:MEAN],
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
    /// Also bands that hold for all counts of a level, or for all districts, at once
    #[arg(long)]
    bands: bool,
    /// Master seed of draws, where there are any
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Shown,
    /// Write all of it into this folder, too (table.csv, intervals.csv, intervals.parquet, model.csv, page.txt, page.md and a figure)
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write what would be printed to this file, which is replaced
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How a page is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Shown {
    /// For a terminal.
    Text,
    /// For a page.
    Markdown,
    /// For a paper.
    Latex,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let inferred = infer::infer(&Wish {
        file: arguments.file.clone(),
        levels: arguments.levels.clone(),
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
        draws: 0,
        bands: arguments.bands,
        seed: arguments.seed,
    })?;
    let page = inferred.page();
    if let Some(folder) = &arguments.out {
        infer::write(&inferred, &page, folder, |path| say!("{}", path.display()))?;
    }
    match &arguments.output {
        Some(file) => replace_at(file, |out| put(&page, arguments, page::COLUMNS, file, out)),
        None => put(&page, arguments, page::terminal(), Path::new(super::OUTPUT), &mut super::Output),
    }
}

fn put(page: &Page, arguments: &Arguments, width: usize, place: &Path, out: &mut dyn Write) -> Result<()> {
    let text = match arguments.format {
        Shown::Markdown => page.to_markdown(),
        Shown::Latex => page.to_latex(),
        Shown::Text => page.to_text(width),
    };
    out.write_all(text.as_bytes()).map_err(|e| Failure::write(place, e))
}
