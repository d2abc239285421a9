//! Studies: what is done with the cells of a config, what it leaves in tables, and how the tables are read again.
//!
//! Everything that is particular to a study lies in its folder. The engine draws any [`Planned`] study; the report and the
//! comparison of runs know the trait [`Study`] alone.

pub mod cells;
pub mod composition;
pub mod expected;
mod figures;
mod grid;
pub mod meeting;
pub mod privacy;
mod records;
pub mod release;

use crate::config::{self, Document};
use crate::engine::{Sink, Work};
use crate::failure::{Failure, Result};
use crate::page::Format;
use crate::store::{About, RunFolder};
use crate::table::Declared;
pub use figures::{Figures, Sample};
pub use records::{Named, PRINTED, Records};
use std::path::PathBuf;

/// Every study.
pub const STUDIES: [&dyn Study; 4] =
    [&release::Release, &meeting::Meeting, &privacy::Privacy, &composition::Composition];

/// The study of a name.
pub fn named(name: &str) -> Result<&'static dyn Study> {
    let study = STUDIES.into_iter().find(|study| study.name() == name);
    study.ok_or_else(|| {
        Failure::Incompatible(format!("a run of the study `{name}`, which this tool does not know"))
    })
}

/// A kind of study: how its runs are read.
pub trait Study: Sync {
    /// The name in configs and results.
    fn name(&self) -> &'static str;
    /// Its tables.
    fn tables(&self) -> Vec<Declared>;
    /// The pages of some runs of it. Errors: their tables.
    fn pages(&self, runs: &[Named], format: Format) -> Result<String>;
    /// The same as records, table by table; those of the first are what `--format csv` prints. Errors: their tables.
    fn records(&self, runs: &[Named]) -> Result<Vec<Records>>;
    /// The cells of a run that failed: in words, with their errors. Errors: its tables.
    fn failures(&self, run: &crate::store::Run) -> Result<Vec<(String, String)>> {
        cells::failures(run)
    }
    /// What is compared of two runs. Errors: their tables.
    fn figures(&self, runs: [&crate::store::Run; 2]) -> Result<[Figures; 2]>;
}

/// A study with its config and data: everything that a run of it needs.
pub trait Planned: Work {
    /// What the manifest says of it.
    fn about(&self) -> About;
    /// The config as given, and as resolved.
    fn configs(&self) -> (String, String);
    /// Files that the run copies, by their name in its folder; read before anything is drawn, so that a mistake in them costs
    /// nothing. Errors: the files.
    fn copies(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(Vec::new())
    }
    /// The files that the config names.
    fn inputs(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Begins the tables. Errors: the disk.
    fn begin<'a>(&'a self, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>>;
    /// What `plan` prints.
    fn listing(&self) -> Listing;
}

/// The tables of a run that is being drawn.
pub trait Tables: Sink {
    /// Ends all tables. Errors: the disk.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The cells of a plan.
#[derive(Debug)]
pub struct Listing {
    /// Column by column.
    pub header: Vec<&'static str>,
    /// Cell by cell.
    pub rows: Vec<Vec<String>>,
    /// In a sentence.
    pub summary: String,
    /// Everything for programs.
    pub json: serde_json::Value,
}

/// Plans the study of a config: reads its data and expands its cells.
///
/// Refused: as [`crate::grid::Plan::new`].
pub fn plan(document: Document) -> Result<Box<dyn Planned>> {
    Ok(match document {
        Document::Worlds(config) => Box::new(composition::Planned::new(config)),
        Document::Grid(config) => {
            let plan = crate::grid::Plan::new(*config)?;
            match plan.config.study {
                config::Study::Release => Box::new(release::plan(plan)),
                config::Study::Meeting => Box::new(meeting::plan(plan)),
                config::Study::Privacy => Box::new(privacy::plan(plan)),
            }
        }
    })
}
