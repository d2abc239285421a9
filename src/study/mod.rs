//! Studies: what is done with the cells of a config, what it leaves in tables, and how the tables are read again.
//!
//! Everything that is particular to a study lies in its folder: [`release`], [`frontier`] and [`coverage`] (on releases), [`meeting`],
//! [`privacy`], [`profile`], [`composition`], [`cube`]. Nothing that they share takes from them: `kind` (what a study is), [`cells`]
//! (what any cell is and pays), `equal` (noise that pays what is asked), `tell` (how rows are told), `grid` (a study of a grid), `pairs`
//! (coupled pairs), `splitting` (a budget that can be split otherwise).
//! This file alone names the studies. The engine draws any [`Planned`] study; the report and the comparison of runs know the trait
//! [`Study`] alone.

pub mod cells;
pub mod composition;
pub mod coverage;
pub mod cube;
mod equal;
pub mod frontier;
mod grid;
mod kind;
pub mod meeting;
mod pairs;
pub mod privacy;
pub mod profile;
pub mod release;
mod splitting;
mod tell;

pub use kind::{Configured, Curves, Document, Gridless, Listing, Planned, Study, Tables};
pub use splitting::{Place, Resplit, Splitting};
pub use tell::figures::{Figures, Sample};
pub use tell::frame::{FrameRow, Framing};
pub use tell::records::{FAILED, Named, PAGES, PRINTED, Records, lines};
pub use tell::{beside, published};

use crate::config::wire::WireCompare;
use crate::config::{self, Checker, Config, Thresholds};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::input::CsvTable;
use std::path::Path;
use toml::Spanned;

/// Every study.
pub const STUDIES: [&dyn Study; 8] = [
    &release::Release,
    &meeting::Meeting,
    &privacy::Privacy,
    &profile::Profile,
    &frontier::Frontier,
    &coverage::Coverage,
    &composition::Composition,
    &cube::Cube,
];

fn find(name: &str) -> Option<&'static dyn Study> {
    STUDIES.into_iter().find(|study| study.name() == name)
}

/// The study of a run. Errors: there is none of this name.
pub fn named(name: &str) -> Result<&'static dyn Study> {
    find(name).ok_or_else(|| {
        Failure::Incompatible(format!("a run of the study `{name}`, which this tool does not know"))
    })
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
    let checker = Checker::new(path, given, &text, elsewhere);
    let Tag { study } = checker.parse()?;
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
    let checker = Checker::new(path, &text, &text, |_| None);
    checker.thresholds(&checker.parse::<Wire>()?.compare)
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

/// Plans the study of a config on tables that somebody holds, in the place of the files of its data sets, in their order; where there is
/// none the file is read. Refused: also tables of a study without data.
pub fn plan_on(document: Document, held: Vec<Option<CsvTable>>) -> Result<Box<dyn Planned>> {
    match document {
        Document::Gridless(_) if !held.is_empty() => {
            Err(Failure::Usage("a study without a grid has no data".into()))
        }
        Document::Gridless(config) => config.plan(),
        Document::Grid(configs) => {
            let plans = settled(configs, held)?;
            let study = plans.first().map_or(config::DEFAULT_STUDY, |plan| plan.config.study);
            named(study)?.plan(plans)
        }
    }
}

/// Plans the grids of a config on its data sets, or on tables that somebody holds in their place, as [`plan_on`]. Refused: as
/// [`crate::grid::Plan::new`].
pub fn settled(configs: Vec<Config>, held: Vec<Option<CsvTable>>) -> Result<Vec<Plan>> {
    let tables = held.into_iter().chain(std::iter::repeat_with(|| None));
    configs.into_iter().zip(tables).map(|(config, table)| settle(config, table)).collect()
}

fn settle(config: Config, held: Option<CsvTable>) -> Result<Plan> {
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
