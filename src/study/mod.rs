//! Studies: what is done with the cells of a config, what it leaves in tables, and how the tables are read again.
//!
//! Everything that is particular to a study lies in its folder. The engine draws any [`Planned`] study; the report and the
//! comparison of runs know the trait [`Study`] alone.

pub mod cells;
pub mod composition;
pub mod expected;
mod figures;
pub mod frontier;
mod grid;
mod groups;
pub mod meeting;
mod pooled;
pub mod privacy;
pub mod published;
mod records;
pub mod release;
mod several;

use crate::config::wire::WireCompare;
use crate::config::{self, Checker, Config, Thresholds};
use crate::engine::{Sink, Work};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::input::CsvTable;
use crate::page::Page;
use crate::store::{About, RunFolder};
use crate::table::Declared;
pub use figures::{Figures, Sample};
pub use records::{FAILED, Named, PAGES, PRINTED, Records, lines};
use schemars::{Schema, SchemaGenerator};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Every study.
pub const STUDIES: [&dyn Study; 5] =
    [&release::Release, &meeting::Meeting, &privacy::Privacy, &frontier::Frontier, &composition::Composition];

fn find(name: &str) -> Option<&'static dyn Study> {
    STUDIES.into_iter().find(|study| study.name() == name)
}

/// The study of a run. Errors: there is none of this name.
pub fn named(name: &str) -> Result<&'static dyn Study> {
    find(name).ok_or_else(|| {
        Failure::Incompatible(format!("a run of the study `{name}`, which this tool does not know"))
    })
}

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
    /// The same as records, table by table; those of the first are what `--format csv` prints. Errors: their tables.
    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>>;
    /// The cells of a run that failed: in words, with their errors. Errors: its tables.
    fn failures(&self, run: &crate::store::Run) -> Result<Vec<(String, String)>> {
        cells::failures(run)
    }
    /// What a run's figures are not to be trusted for, in a sentence. Errors: its tables.
    fn warning(&self, _: &crate::store::Run) -> Result<Option<String>> {
        Ok(None)
    }
    /// Whether the pages of a run show a published figure beside ours. Errors: its tables.
    fn shows(&self, _: &Named, _: &published::Published) -> Result<bool> {
        Ok(false)
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
    /// What may be wrong with the data that it names, for people.
    fn warning(&self) -> Option<String> {
        None
    }
    /// What `plan` prints.
    fn listing(&self) -> Listing;
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

/// A checked config.
#[derive(Debug)]
pub enum Document {
    /// A grid, for each of its data sets.
    Grid(Vec<Config>),
    /// A study of composition on finite worlds.
    Worlds(composition::WorldsConfig),
}

/// The key that tells which study a file is of.
#[derive(serde::Deserialize)]
struct Tag {
    study: Option<Spanned<String>>,
}

/// Reads and checks a config file, with `--set` overrides.
pub fn load(path: &Path, sets: &[String]) -> Result<Document> {
    read(path, &text(path)?, sets)
}

fn text(path: &Path) -> Result<String> {
    crate::files::text(path, "cannot read the config")
}

/// Checks the text of a config. `path`: its name in messages, and where its own paths begin.
pub fn read(path: &Path, given: &str, sets: &[String]) -> Result<Document> {
    let text = config::apply(given, sets)?;
    let checker = Checker::new(path, given, &text);
    let Tag { study } = checker.parse(|_| None)?;
    let name = study.as_ref().map_or(config::DEFAULT_STUDY, |study| study.get_ref());
    match find(name) {
        Some(study) => study.check(&checker),
        None => {
            let names: Vec<&str> = STUDIES.iter().map(|known| known.name()).collect();
            let span = study.as_ref().map_or(0..0, Spanned::span);
            let label = config::one_of(name, &names);
            Err(checker.error(format!("study: got `{name}`"), span, label))
        }
    }
}

/// Why a key is not used here: the studies that take it.
fn elsewhere(key: &str) -> Option<String> {
    let takes = |study: &&&dyn Study| study.keys().iter().any(|known| known.replace('_', "-") == key);
    let names: Vec<&str> = STUDIES.iter().filter(takes).map(|study| study.name()).collect();
    (!names.is_empty()).then(|| format!("only a study of the kind {} takes it", names.join(" or ")))
}

/// How `compare` judges runs of a resolved config. Errors: the file.
pub fn thresholds(path: &Path) -> Result<Thresholds> {
    #[derive(serde::Deserialize)]
    struct Wire {
        #[serde(default)]
        compare: WireCompare,
    }
    let text = text(path)?;
    let checker = Checker::new(path, &text, &text);
    checker.thresholds(&checker.parse::<Wire>(|_| None)?.compare)
}

/// The JSON schema of configs.
pub fn schema() -> serde_json::Value {
    config::schema(&STUDIES.map(|study| study.schema()))
}

/// Plans the study of a config: reads its data and expands its cells.
///
/// Refused: as [`crate::grid::Plan::new`].
pub fn plan(document: Document) -> Result<Box<dyn Planned>> {
    plan_on(document, Vec::new())
}

/// The same on tables that somebody holds, in the place of the files of its data sets, in their order; where there is none the file is read. Refused: also tables
/// of a study without data.
pub fn plan_on(document: Document, held: Vec<Option<CsvTable>>) -> Result<Box<dyn Planned>> {
    match document {
        Document::Worlds(_) if !held.is_empty() => {
            Err(Failure::Usage("a study of worlds has no data".into()))
        }
        Document::Worlds(config) => Ok(Box::new(composition::Planned::new(config))),
        Document::Grid(configs) => {
            let tables = held.into_iter().chain(std::iter::repeat_with(|| None));
            let plans = configs.into_iter().zip(tables).map(|(config, table)| settled(config, table));
            let plans = plans.collect::<Result<Vec<_>>>()?;
            let study = plans.first().map_or(config::DEFAULT_STUDY, |plan| plan.config.study);
            named(study)?.plan(plans)
        }
    }
}

/// Plans the grid of a config on its data set, or on a table that somebody holds in its place. Refused: as [`crate::grid::Plan::new`].
pub fn settled(config: Config, held: Option<CsvTable>) -> Result<Plan> {
    let study = named(config.study)?;
    let plan = match held {
        None => Plan::new(config)?,
        Some(table) => {
            crate::grid::meet(&config)?;
            Plan::on(config, table)?
        }
    };
    study.settle(release::with_own(plan)?)
}
