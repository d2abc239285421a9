//! `congenial compare`

use crate::config::Thresholds;
use crate::failure::{Failure, Result};
use crate::page::{self, Format};
use crate::report::{By, compare, compare_within};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folder of the run to compare with
    base: PathBuf,
    /// Folder of the run that is judged
    #[arg(required_unless_present = "by")]
    candidate: Option<PathBuf>,
    /// Compare cells of one run that differ by this alone, with the first of them in the config; nothing is judged as a change
    #[arg(long, value_enum, conflicts_with_all = ["candidate", "identical"])]
    by: Option<By>,
    /// Share of the base's mean within which a difference does not matter, of every metric [default: `compare` of the base's
    /// config, or 0.05]
    #[arg(long, allow_negative_numbers = true)]
    margin: Option<f64>,
    /// Chance of a wrong verdict over all figures together [default: `compare` of the base's config, or 0.05]
    #[arg(long, allow_negative_numbers = true)]
    level: Option<f64>,
    /// Want the same rows in every table: the gate for commits that change no number
    #[arg(long)]
    identical: bool,
    /// How to print
    #[arg(long, default_value = "text", value_parser = super::among([Format::Text, Format::Markdown, Format::Csv, Format::Json]))]
    format: Format,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { margin, level, .. } = *arguments;
    if let Some(margin) = margin.filter(|margin| !(margin.is_finite() && *margin >= 0.0)) {
        return Err(Failure::Usage(format!("--margin: got {margin}, want a number >= 0")));
    }
    let level = level.map(|level| super::probability("--level", level)).transpose()?;
    let adjust = |config: Thresholds| Thresholds {
        level: level.unwrap_or(config.level),
        margin: margin.unwrap_or(config.margin),
        margins: if margin.is_some() { Default::default() } else { config.margins },
    };
    let comparison = match (&arguments.candidate, arguments.by) {
        (Some(candidate), None) => compare(&arguments.base, candidate, adjust)?,
        (_, by) => compare_within(&arguments.base, by.unwrap_or(By::Method), adjust)?,
    };
    super::print(&comparison.render(arguments.format, page::terminal())?)?;
    if arguments.by.is_some() {
        return Ok(());
    }
    let worse = comparison.worse();
    if worse > comparison.failed.len() {
        return Err(Failure::Changed(format!("{worse} figures or cells changed for the worse")));
    }
    if comparison.lost() > 0 {
        let (gone, failed) = (comparison.only_base.len(), comparison.failed.len());
        let message =
            format!("cells of the base are lost: {gone} are not in the candidate, {failed} failed there");
        return Err(Failure::Lost(message));
    }
    if arguments.identical && !comparison.is_identical() {
        return Err(Failure::Changed("the two runs do not hold the same rows".into()));
    }
    Ok(())
}
