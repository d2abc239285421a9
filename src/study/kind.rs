//! What a study is: how its config is checked and planned, what its tables are, and how they are read.

use super::cells;
use super::splitting::{Resplit, Splitting};
use super::tell::figures::Figures;
use super::tell::frame::{FrameRow, Framing};
use super::tell::published::Published;
use super::tell::records::{Named, Records};
use crate::config::{Checker, Config};
use crate::engine::{Manner, Sink, Work};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::page::{Page, Table};
use crate::store::{About, Run, RunFolder};
use crate::table::Declared;
use schemars::{Schema, SchemaGenerator};
use std::path::{Path, PathBuf};

/// How the configs of a study are checked and planned.
pub trait Configured: Sync {
    /// The name in configs and results.
    fn name(&self) -> &'static str;
    /// Keys of its configs that not every study has.
    fn keys(&self) -> &'static [&'static str];
    /// The JSON schema of its configs.
    fn schema(&self) -> fn(&mut SchemaGenerator) -> Schema;
    /// Checks a config. Errors: what is wrong with it, and where.
    fn check(&self, checker: &Checker) -> Result<Document>;
    /// The grid with what the study finds out of it before anything is drawn. Errors: what cannot be found.
    fn settle(&self, plan: Plan) -> Result<Plan> {
        Ok(plan)
    }
    /// What is drawn of a grid, by data set. Errors: a study without one; data sets that cannot be told apart.
    fn plan(&self, _: Vec<Plan>) -> Result<Box<dyn Planned>> {
        Err(Failure::Usage(format!("a study of the kind {} has no grid", self.name())))
    }
}

/// A kind of study: its configs, its tables, and how its runs are read.
pub trait Study: Configured {
    /// Its tables.
    fn tables(&self) -> Vec<Declared>;
    /// The pages of some runs of it. Errors: their tables.
    fn pages(&self, runs: &[Named]) -> Result<Page>;
    /// What the pages tell, as records, table by table; those of the first are what `--format csv` prints. Errors: their tables.
    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>>;
    /// The cells of a run that failed: in words, with their errors. Errors: its tables.
    fn failures(&self, run: &Run) -> Result<Vec<(String, String)>> {
        cells::failures(run)
    }
    /// What a run's figures are not to be trusted for, in a sentence. Errors: its tables.
    fn warning(&self, _: &Run) -> Result<Option<String>> {
        Ok(None)
    }
    /// Whether the pages of a run show a published figure beside ours. Errors: its tables.
    fn shows(&self, _: &Named, _: &Published) -> Result<bool> {
        Ok(false)
    }
    /// A run of it as one table: cells, what they pay, and their errors by level. Errors: a study of other figures; its tables.
    fn frame(&self, run: &Run, _: Framing) -> Result<Vec<FrameRow>> {
        let (folder, study) = (run.folder.display(), self.name());
        let tables = run.manifest.tables.keys().map(|name| name.trim_end_matches(".parquet"));
        let tables: Vec<&str> = tables.collect();
        Err(Failure::Usage(format!(
            "{folder}: a run of the study `{study}` has no errors by level to make one table of; it has the tables {}",
            tables.join(", ")
        )))
    }
    /// What is compared of two runs. Errors: their tables.
    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]>;
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
    /// What may be wrong with the data that it names, for people.
    fn warning(&self) -> Option<String> {
        None
    }
    /// What `plan` prints.
    fn listing(&self) -> Listing;
    /// What so many releases of every cell pay together at a delta, as `plan` prints it. Errors: a study that says no such thing.
    fn curves(&self, _delta: f64, _releases: u64) -> Result<Curves> {
        let study = self.about().study;
        Err(Failure::Usage(format!("--delta: a study of the kind {study} says only what one release pays")))
    }
}

/// The tables of a run that is being drawn.
pub trait Tables: Sink {
    /// Adds what is known with the last cell alone; nothing, if it says nothing else. Errors: the disk.
    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
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

/// What releases pay together.
#[derive(Debug)]
pub struct Curves {
    /// A row for each cell and possible change.
    pub table: Table,
    /// Everything for programs.
    pub told: serde_json::Value,
}

/// A checked config.
#[derive(Debug)]
pub enum Document {
    /// A grid, for each of its data sets.
    Grid(Vec<Config>),
    /// A study without a grid.
    Gridless(Box<dyn Gridless>),
}

impl Document {
    /// The configs of its data sets. Errors: a study without a grid; `want`: what is wanted.
    pub fn grid(self, want: &str) -> Result<Vec<Config>> {
        match self {
            Self::Grid(configs) => Ok(configs),
            Self::Gridless(config) => {
                let (path, words) = (config.path().display(), config.words());
                Err(Failure::Usage(format!("{path}: study: got {words}, want {want}")))
            }
        }
    }
}

/// The checked config of a study whose cells are not those of a grid.
pub trait Gridless: std::fmt::Debug {
    /// What it is, in a few words.
    fn words(&self) -> String;
    /// Everything that a run of it needs.
    ///
    /// Errors: data that it names.
    fn plan(self: Box<Self>) -> Result<Box<dyn Planned>>;
    /// Computes it and keeps nothing: what came out, in a sentence. Errors: threads; what cannot be computed.
    fn verify(self: Box<Self>, manner: Manner) -> Result<String>;
    /// Its file.
    fn path(&self) -> &Path;
    /// What its budget is split over, and what writes its text with other shares. Errors: its data; a study whose budget is not split, or
    /// by none of whose methods least squares answer.
    fn splitting(&self) -> Result<(Splitting<'static>, Resplit)> {
        let (path, words) = (self.path().display(), self.words());
        let want = "one whose budget is split over levels or queries";
        Err(Failure::Usage(format!("{path}: study: got {words}, want {want}")))
    }
}
