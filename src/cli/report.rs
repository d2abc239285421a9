//! `congenial report`

use crate::failure::{Failure, Result};
use crate::figure;
use crate::files::{check_apart, replace_at};
use crate::page::{self, Choice, Format};
use crate::report::{self, Look, Report};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folders of finished runs
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Print all pages, where text would be a summary
    #[arg(long, conflicts_with = "out")]
    full: bool,
    /// Write what would be printed to this file, which is replaced; figures (`--format svg`) to this folder
    #[arg(short, long, value_name = "FILE", conflicts_with = "out")]
    output: Option<PathBuf>,
    /// Width of a figure in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 760, value_parser = clap::value_parser!(u16).range(200..))]
    figure_width: u16,
    /// Size of the letters of a figure in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 12, value_parser = clap::value_parser!(u16).range(4..=72))]
    figure_font: u16,
    /// Leave the title of a figure out of its picture, for a paper whose caption says it
    #[arg(long)]
    untitled: bool,
    /// With `--format latex`: write only what stands under headings that contain these words; can be given several times
    #[arg(long, value_name = "WORDS")]
    table: Vec<String>,
    /// With `--format latex`: write only this level; can be given several times
    #[arg(long, value_name = "LEVEL")]
    level: Vec<String>,
    /// With `--format latex`: write only this column and those that name a row; can be given several times
    #[arg(long, value_name = "COLUMN")]
    column: Vec<String>,
    /// A template of the HTML page, in place of ours (see docs/how-to/pages.md)
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// Write the tables in every format into this folder (report.txt, .md, .html and .json, and a CSV file for each
    /// table) instead of printing
    #[arg(long, conflicts_with_all = ["format", "template", "table", "level", "column"])]
    out: Option<PathBuf>,
    /// Show each master seed of a run by itself, not all together
    #[arg(long)]
    by_seed: bool,
    /// End with exit code 5 if chains have not converged
    #[arg(long)]
    strict: bool,
}

impl Arguments {
    fn look(&self) -> figure::Look {
        figure::Look {
            width: self.figure_width.into(),
            font: self.figure_font.into(),
            titled: !self.untitled,
            ..figure::Look::default()
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let report = Report::open_by(&arguments.folders, arguments.by_seed)?;
    let template = arguments.template.as_deref();
    if template.is_some() && arguments.format != Format::Html {
        return Err(Failure::Usage("--template: only with --format html".into()));
    }
    let choice = Choice {
        tables: arguments.table.clone(),
        levels: arguments.level.clone(),
        columns: arguments.column.clone(),
    };
    if !choice.is_all() && arguments.format != Format::Latex {
        return Err(Failure::Usage("--table, --level, --column: only with --format latex".into()));
    }
    let choice = Some(&choice);
    let put = |width, place: &Path, out: &mut dyn Write| match arguments.format {
        Format::Text if !arguments.full => report::summarize(&report, width, place, out),
        format => report::write(&report, Look { format, width, template, choice }, place, out),
    };
    if let Some(out) = &arguments.out {
        std::fs::create_dir_all(out).map_err(|e| Failure::io(out, "cannot create the folder", e))?;
        report::write_files(&report, out, |place| say!("{}", place.display()))?;
    } else if let (Format::Svg, Some(folder)) = (arguments.format, &arguments.output) {
        std::fs::create_dir_all(folder).map_err(|e| Failure::io(folder, "cannot create the folder", e))?;
        report::write_figures(&report, arguments.look(), folder, |place| say!("{}", place.display()))?;
    } else if let Some(file) = &arguments.output {
        check_apart(file, template.into_iter())?;
        replace_at(file, |out| put(page::COLUMNS, file, out))?;
    } else {
        put(page::terminal(), Path::new(super::OUTPUT), &mut super::Output)?;
    }
    super::warn(&report, arguments.strict)
}
