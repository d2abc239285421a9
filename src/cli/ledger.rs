//! `congenial ledger`

use crate::failure::{Failure, Result};
use crate::files::check_apart;
use crate::page::{Format, counted, line, place};
use crate::release::ledger::{self, Head, History, Ledger, Limit, Opening, Protects};
use crate::release::{Certificate, booked};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Open a ledger for a data set, once, before its first release
    New {
        /// The file to write; refused if it exists
        file: PathBuf,
        /// What is protected, in words: "one trip", "one person with at most 4 visits"
        #[arg(long)]
        unit: String,
        /// Records that one unit has at most
        #[arg(long, value_name = "N", default_value_t = 1)]
        records_per_unit: u64,
        /// What all releases may pay together, in TOML: epsilon = 3, epsilon = "7/2", rho = "1/2", or epsilon = 3, delta = "1e-9"
        #[arg(long, value_name = "TOML")]
        limit: String,
        /// The change of the data against which it is protected
        #[arg(long, value_enum, default_value = "moved")]
        protects: Protects,
    },
    /// Show what every release has paid, and what is left
    Show {
        /// A ledger
        file: PathBuf,
        /// How to print
        #[arg(long, default_value = "text", value_parser = super::among(super::PAGES))]
        format: Format,
        /// Write what would be printed to this file, which is replaced
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check that no line of a ledger was changed, added or removed, and that it has booked what certificates state
    Verify {
        /// A ledger
        file: PathBuf,
        /// Certificates of releases (certificate.json), which must state what was booked
        #[arg(long, num_args = 1.., value_name = "FILE")]
        certificate: Vec<PathBuf>,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::New { file, unit, records_per_unit, limit, protects } => {
            new(file, (unit, *records_per_unit), limit, *protects)
        }
        What::Show { file, format, output } => show(file, *format, output.as_deref()),
        What::Verify { file, certificate } => verify(file, certificate),
    }
}

fn new(file: &Path, (unit, records): (&str, u64), limit: &str, protects: Protects) -> Result<()> {
    let limit = Limit::parse(limit).map_err(|e| Failure::Usage(format!("--limit: {e}")))?;
    let opening = Opening { unit: unit.to_owned(), records, protects, limit };
    let Head { head, .. } = Ledger::create(file, &opening)?;
    super::print(&format!("{}: line 1, head {head}\n", place(file)))
}

fn show(file: &Path, format: Format, output: Option<&Path>) -> Result<()> {
    output.map_or(Ok(()), |output| check_apart(output, std::iter::once(file)))?;
    let history = History::read(file)?;
    let title = format!("Ledger of {}", line(&history.opened().unit));
    super::show(&ledger::page(&history), &title, format, output)
}

fn verify(file: &Path, certificates: &[PathBuf]) -> Result<()> {
    let (history, short) = History::read_whole(file)?;
    let Head { head, lines } = history.head();
    let name = place(file);
    let mut said = format!(
        "{name}: {}, each with the hash of the one before, head {head}\n",
        counted(lines as f64, "whole line")
    );
    let mut wrong = Vec::new();
    for path in certificates {
        let certificate = Certificate::read(path)?;
        let place = place(path);
        match booked(&certificate, &history) {
            Ok(words) => said += &format!("{place}: {words}\n"),
            Err(why) => wrong.push(format!("{place}: {why}")),
        }
    }
    super::print(&said)?;
    if !wrong.is_empty() {
        return Err(Failure::Wrong(wrong.join("\n")));
    }
    short.map_or(Ok(()), Err)
}
