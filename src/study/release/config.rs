//! The config of a study of releases: what is its own.

use super::shown;
use crate::catalogue::LawKind;
use crate::config::wire::{Axis, WireKeep, study};
use crate::config::{CellPart, Checker, Config, ConfigPart, Point, Queries, QuerySpec, Section};
use crate::failure::Result;
use crate::grid::{Cell, absolute};
use crate::input::{Asked, DataSource, Keep, Shape, Subject};
use crate::store::Run;
use crate::study::pairs::Pairs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml_edit::{Array, DocumentMut, Item, Table, Value, value};

study! {
    /// A study of releases.
    ReleaseFile "release" ("Option<String>", "Vec<ReleaseBlock>"), ReleaseTop {
        /// Replicates of every cell, unless its block says otherwise.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// Which draws are written out, beside their summaries: true for all, on a tree also a list of levels (`total` is the root).
        #[schemars(with = "Option<crate::config::wire::WireKeep>")]
        keep_draws: Option<Spanned<WireKeep>>,
        /// What the report adds.
        #[serde(default)]
        report: WireReport,
        /// Coupled pairs that certify the chains, run with the releases.
        certify: Option<WireCertify>,
    }
    /// One `[[grid]]` block: the product of its axes.
    ReleaseBlock by epsilon (Epsilons, "crate::config::wire::Epsilons"): "Privacy budgets: epsilon of pure \
        differential privacy, of the Gaussian laws at `delta`; of each level or of all together, by `split`." {
        /// Replicates of the block's cells: releases, or chains.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// Draws recorded of each chain's second half, at most, by entry of a table; default 0: the last state only.
        #[schemars(with = "Option<i64>", range(min = 0))]
        records: Option<Spanned<i64>>,
    }
}

/// `[report]`
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WireReport {
    /// CSV file of published figures to print beside ours, relative to the config file.
    #[schemars(with = "Option<String>")]
    pub(super) published: Option<Spanned<String>>,
    /// A release by somebody else, to print beside our errors entry by entry.
    pub(super) beside: Option<WireBeside>,
    /// Folder of a run of a study of meetings on the same chains, relative to the config file: its coupled pairs bound how far the
    /// releases of the chains are from their law.
    #[schemars(with = "Option<String>")]
    pub(super) certify: Option<Spanned<String>>,
    /// Queries, each a list of columns of the data table: leaves or entries that agree in them are summed, and the errors of each sum
    /// are summed up over the releases.
    #[schemars(with = "Option<Vec<Vec<String>>>")]
    pub(super) queries: Option<Spanned<Vec<Spanned<Vec<String>>>>>,
    /// The smallest count of every size by which errors are told, ascending from 0; default 0, 1, 10, 100, 1,000, 10,000. Without
    /// queries: of leaves or entries.
    #[schemars(with = "Option<Vec<i64>>")]
    pub(super) sizes: Option<Spanned<Vec<i64>>>,
    /// Draws the errors of every entry of a table as box plots, methods beside each other, with one release: columns of `data.entry`
    /// whose values have a panel each; `[]`: one panel for each noise.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) boxes: Option<Spanned<Vec<String>>>,
    /// Entries of a table whose traces along the first chain are drawn, each by the values of its columns joined by `/`; default: those
    /// with the smallest and the largest effective sample size.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) traces: Option<Spanned<Vec<String>>>,
}

/// `[certify]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WireCertify {
    /// Coupled pairs of every chain and lag.
    #[schemars(with = "i64", range(min = 1))]
    pub(super) pairs: Spanned<i64>,
    /// Lags of the pairs, in kernel steps.
    #[schemars(with = "Axis<i64>")]
    pub(super) lag: Spanned<Axis<i64>>,
    /// Kernel steps after which a pair is cut short; default 10,000,000.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub(super) max_steps: Option<Spanned<i64>>,
}

/// `[report.beside]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WireBeside {
    /// CSV file with the columns that name an entry, relative to the config file.
    #[schemars(with = "String")]
    pub(super) table: Spanned<String>,
    /// Its column of confidential counts.
    pub(super) confidential: String,
    /// Its column of released counts.
    pub(super) released: String,
    /// What it is and how it differs: printed with the table.
    pub(super) note: String,
}

/// The part of a config of releases.
#[derive(Debug, Clone)]
pub struct ReleasePart {
    /// Which draws are written out.
    pub keep_draws: Keep,
    /// Sums whose errors are summed up group by group.
    pub queries: Queries,
    /// A release by somebody else to print beside ours.
    pub beside: Option<Beside>,
    /// What certifies chains.
    pub certify: Option<Certify>,
    /// Columns of `data.entry` whose values have a panel each in the figure of box plots, if there is one.
    pub boxes: Option<Vec<String>>,
    /// Names of the entries whose traces are drawn, if they are not chosen by effective sample size.
    pub traces: Vec<String>,
}

/// A release by somebody else.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// CSV file.
    pub table: PathBuf,
    /// Column of confidential counts.
    pub confidential: String,
    /// Column of released counts.
    pub released: String,
    /// What it is.
    pub note: String,
}

/// What certifies the chains of a study of releases.
#[derive(Debug, Clone, PartialEq)]
pub enum Certify {
    /// The folder of a run of a study of meetings.
    Run(PathBuf),
    /// Coupled pairs of its own.
    Pairs(Pairs),
}

impl ReleasePart {
    /// The part of a config of releases; of another study one that asks for nothing.
    pub(super) fn of(config: &Config) -> &Self {
        static NOTHING: ReleasePart = ReleasePart {
            keep_draws: Keep::Nothing,
            queries: Queries::none(),
            beside: None,
            certify: None,
            boxes: None,
            traces: Vec::new(),
        };
        config.part.as_own().unwrap_or(&NOTHING)
    }
}

impl ConfigPart for ReleasePart {
    fn queries(&self) -> &Queries {
        &self.queries
    }

    fn keep(&self) -> &Keep {
        &self.keep_draws
    }

    fn key(&self, subject: &Subject, asked: Option<&Asked>) -> Result<String> {
        let mut text = String::new();
        if self.keep_draws == Keep::All && matches!(subject, Subject::Table(_)) {
            text += "keep-draws\n";
        }
        // Nodes are named in the results, and their errors are in the journal.
        text += &key_of_queries(&self.queries, asked);
        match &self.certify {
            None => {}
            Some(Certify::Run(folder)) => {
                text += &format!("certified by {}\n", Run::open(folder)?.manifest.config_hash);
            }
            Some(Certify::Pairs(pairs)) => text += &format!("certified by {pairs:?}\n"),
        }
        Ok(text)
    }

    fn resolve(&self, document: &mut DocumentMut, data: &DataSource) {
        match (&self.keep_draws, &data.shape) {
            (Keep::Nothing, _) => {}
            (Keep::Levels(kept), Shape::Hierarchy { .. }) => {
                let names = data.level_names();
                document["keep-draws"] = value(kept.iter().map(|&level| names[level]).collect::<Array>());
            }
            (Keep::All | Keep::Levels(_), _) => document["keep-draws"] = value(true),
        }
        let mut report = Table::new();
        resolve_queries(&self.queries, &mut report);
        match &self.certify {
            None => {}
            Some(Certify::Run(folder)) => report["certify"] = value(absolute(folder)),
            Some(Certify::Pairs(Pairs { pairs, lag, max_steps })) => {
                let mut certify = Table::new();
                certify["pairs"] = value(*pairs as i64);
                certify["lag"] = value(lag.iter().map(|&lag| lag as i64).collect::<Array>());
                certify["max-steps"] = value(*max_steps as i64);
                document["certify"] = Item::Table(certify);
            }
        }
        if let Some(beside) = &self.beside {
            let mut table = Table::new();
            table["table"] = value(absolute(&beside.table));
            table["confidential"] = value(beside.confidential.as_str());
            table["released"] = value(beside.released.as_str());
            table["note"] = value(beside.note.as_str());
            report["beside"] = Item::Table(table);
        }
        let list = |texts: &[String]| value(texts.iter().map(String::as_str).collect::<Array>());
        if let Some(columns) = &self.boxes {
            report["boxes"] = list(columns);
        }
        if !self.traces.is_empty() {
            report["traces"] = list(&self.traces);
        }
        add_report(document, report);
    }

    fn inputs(&self) -> Vec<PathBuf> {
        let beside = self.beside.iter().map(|beside| beside.table.clone());
        let certify = self.certify.iter().filter_map(|certify| match certify {
            Certify::Run(folder) => Some(folder.clone()),
            Certify::Pairs(_) => None,
        });
        beside.chain(certify).collect()
    }
}

/// What queries add to the key of a plan: groups are named in the results, and their errors are in the journal.
pub(in crate::study) fn key_of_queries(queries: &Queries, asked: Option<&Asked>) -> String {
    let mut text = asked.map_or(String::new(), |asked| format!("asked={}\n", asked.digest));
    if !queries.queries.is_empty() && queries.sizes != Queries::SIZES {
        text += &format!("sizes={:?}\n", queries.sizes);
    }
    text
}

/// Writes queries into `[report]` of a resolved config.
pub(in crate::study) fn resolve_queries(queries: &Queries, report: &mut Table) {
    if queries.queries.is_empty() {
        return;
    }
    let columns = |query: &QuerySpec| Value::Array(query.columns.iter().map(String::as_str).collect());
    report["queries"] = value(queries.queries.iter().map(columns).collect::<Array>());
    if queries.sizes != Queries::SIZES {
        report["sizes"] = value(queries.sizes.iter().copied().collect::<Array>());
    }
}

/// Adds keys to `[report]` of a resolved config, if there are any.
pub(in crate::study) fn add_report(document: &mut DocumentMut, keys: Table) {
    if !keys.is_empty() {
        let all = document.entry("report").or_insert_with(|| Item::Table(Table::new()));
        all.as_table_mut().expect("a table").extend(keys);
    }
}

/// Draws recorded of each chain, by entry of the table; 0: the last state only.
#[derive(Debug)]
struct Records(u64);

impl Records {
    fn of(&self, at: &Point) -> u64 {
        if at.method.is_chain() { self.0 } else { 0 }
    }
}

impl CellPart for Records {
    fn key(&self, at: &Point) -> String {
        match self.of(at) {
            0 => String::new(),
            n => format!(" records={n}"),
        }
    }

    fn lines(&self, at: &Point) -> String {
        match self.of(at) {
            0 => String::new(),
            n => format!("records = {n}\n"),
        }
    }
}

/// Draws recorded of each chain of a cell, by entry of the table; 0 for methods without.
pub(super) fn recorded(cell: &Cell) -> u64 {
    cell.part.as_own::<Records>().map_or(0, |records| records.of(&cell.at))
}

impl Section for ReleaseBlock {
    const STUDY: &'static str = "release";
    const LENGTHS: bool = true;
    const REPLICATES: bool = true;

    fn takes_law(_: LawKind) -> bool {
        true
    }

    fn all_replicates(top: &ReleaseTop) -> Option<&Spanned<i64>> {
        top.replicates.as_ref()
    }

    fn published(top: &ReleaseTop) -> Option<&Spanned<String>> {
        top.report.published.as_ref()
    }

    fn config_part(
        top: &ReleaseTop,
        checker: &Checker,
        data: &DataSource,
        several: bool,
    ) -> Result<Arc<dyn ConfigPart>> {
        let folder = checker.path.parent().unwrap_or(Path::new("."));
        let report = &top.report;
        let beside = report.beside.as_ref();
        checker.one_data_set("report.beside", beside.map(|beside| &beside.table), several)?;
        checker.one_data_set("report.certify", report.certify.as_ref(), several)?;
        let certify = match (&report.certify, &top.certify) {
            (Some(path), Some(_)) => {
                let label = "want it or a [certify] block, not both";
                return Err(checker.error("certify: given twice", path.span(), label));
            }
            (Some(path), None) => Some(Certify::Run(folder.join(path.get_ref()))),
            (None, None) => None,
            (None, Some(WireCertify { pairs, lag, max_steps })) => {
                let pairs = checker.positive_integer("pairs", pairs)?;
                let (lag, max_steps) = checker.lags(lag, max_steps.as_ref())?;
                Some(Certify::Pairs(Pairs { pairs, lag, max_steps }))
            }
        };
        let beside = beside.map(|beside| Beside {
            table: folder.join(beside.table.get_ref()),
            confidential: beside.confidential.clone(),
            released: beside.released.clone(),
            note: beside.note.clone(),
        });
        Ok(Arc::new(ReleasePart {
            keep_draws: checker.keep(top.keep_draws.as_ref(), data)?,
            queries: checker.asked(report.queries.as_ref(), report.sizes.as_ref(), data)?,
            beside,
            certify,
            boxes: shown::boxes(checker, report.boxes.as_ref(), data, several)?,
            traces: shown::traces(checker, report.traces.as_ref(), data, several)?,
        }))
    }

    fn replicates(&self, checker: &Checker, top: Option<u64>) -> Result<u64> {
        checker.replicates(self.replicates.as_ref(), top, self.epsilon.span())
    }

    fn cell_part(&self, checker: &Checker, on_table: bool) -> Result<Arc<dyn CellPart>> {
        let Some(records) = &self.records else { return Ok(Arc::new(Records(0))) };
        if !on_table {
            let label = "only releases of a table take it";
            return Err(checker.error("records: not used", records.span(), label));
        }
        let n = *records.get_ref();
        let refused = |_| checker.error(format!("records: got {n}"), records.span(), "want an integer >= 0");
        Ok(Arc::new(Records(u64::try_from(n).map_err(refused)?)))
    }
}
