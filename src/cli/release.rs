//! `congenial release`

use crate::failure::{Failure, Result};
use crate::page::{self, Page, line, place};
use crate::release::{Config, check, make, plan, validate};
use congenial_exact_noise::System;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Say what a release pays and how wide its noise is: opens no data, draws nothing, pays nothing
    #[command(after_help = "Example: congenial release plan taxi.release.toml")]
    Plan {
        /// The config of a release (`kind = "release"`)
        config: PathBuf,
    },
    /// Check the data of a release against its list of leaves, for the operator alone: publishes nothing, pays nothing
    #[command(after_help = "Example: congenial release validate taxi.release.toml")]
    Validate {
        /// The config of a release
        config: PathBuf,
    },
    /// Book what a release pays, draw its noise, open the data, and write what is published
    #[command(
        after_help = "Example: congenial release make taxi.release.toml --ledger trips.ledger --out 2026-01"
    )]
    Make {
        /// The config of a release
        config: PathBuf,
        /// The ledger of the data, as `congenial ledger new` makes it
        #[arg(long, value_name = "FILE")]
        ledger: PathBuf,
        /// The folder to write, which must not be there
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Compute all files of a published release again from its noisy counts, and compare them: needs no confidential data
    #[command(after_help = "Example: congenial release check 2026-01")]
    Check {
        /// The folder of a release
        folder: PathBuf,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.verb {
        Verb::Plan { config } => show(&plan(&Config::read(config)?)?),
        Verb::Validate { config } => {
            validate(&Config::read(config)?)?;
            super::print("The data fit the list of leaves. Nothing was drawn, booked or published.\n")
        }
        Verb::Make { config, ledger, out } => {
            let made = make(&Config::read(config)?, ledger, out, &mut System::new())?;
            let (files, pays) = (made.files.join(", "), &made.certificate.pays);
            super::print(&format!(
                "{}: {files}\nIt paid {} {}: line {} of {}.\n",
                place(out),
                pays.measure,
                pays.unit,
                made.certificate.ledger.lines,
                place(ledger)
            ))
        }
        Verb::Check { folder } => {
            let again = Again::new()?;
            let (certificate, names) = check(folder, &again.0)?;
            super::print(&format!(
                "{}: {} files are what congenial {} computes from noisy.parquet.\nIts certificate states that the change of a unit pays \
                 {} {} at most.\nRelease {}: whether its ledger has booked that, `congenial ledger verify` says.\n",
                place(folder),
                names.len(),
                env!("CARGO_PKG_VERSION"),
                certificate.pays.measure,
                certificate.pays.unit,
                line(&certificate.issued.release)
            ))
        }
    }
}

fn show(page: &Page) -> Result<()> {
    super::print(&page.to_text(page::terminal()))
}

/// A folder of the system's for what is computed again; it goes with this.
struct Again(PathBuf);

impl Again {
    fn new() -> Result<Self> {
        let folder =
            std::env::temp_dir().join(format!("congenial-check-{}", crate::release::ledger::new_id()?));
        std::fs::create_dir(&folder).map_err(|e| Failure::create(&folder, e))?;
        Ok(Self(folder))
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
