//! Composition: every statement of the theory on finite worlds. A cell is a setting: worlds, cases of a statement, epsilon.

mod config;
mod page;

pub use config::WorldsConfig;

use crate::config::Checker;
use crate::engine::{self, Drawn, Each, Manner, Prepared, Sink, Unit, Work};
use crate::failure::{Failure, Result};
use crate::hash;
use crate::page::{Page, counted};
use crate::rng::{Role, TaskKey, stream};
use crate::store::{About, Run, RunFolder, TableFile};
use crate::study::cells::FailureRow;
use crate::study::kind::{self, Configured, Document, Gridless, Listing, Study, Tables};
use crate::study::tell::beside;
use crate::study::tell::figures::{Figures, Sample};
use crate::study::tell::records::{Named, Records};
use crate::table;
use crate::table::{Declared, Key};
use crate::worlds::{Finding, Settings, check_all};
use schemars::{Schema, SchemaGenerator};
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The study.
pub struct Composition;

table! {
    /// Study `composition`: one row per setting and statement.
    pub struct FindingRow in "findings.parquet", also serde::Deserialize {
        /// key of the setting
        cell: Key;
        /// worlds of an example
        worlds: u64;
        /// level of the mechanisms
        epsilon: f64;
        /// what is claimed
        statement: String;
        /// of `conditioning` or `imaging`
        operator: String;
        /// column of Table 1 that it belongs to, or `other`
        property: String;
        /// what is printed (or proved in its place)
        claim: bool;
        /// `worst <= tolerance`
        holds: bool;
        /// random cases and worked examples
        cases: u64;
        /// largest deviation
        worst: f64;
        /// what is allowed
        tolerance: f64;
        /// where it was met
        evidence: String;
    }
}

/// A planned study of composition.
pub struct Planned {
    config: WorldsConfig,
    units: Vec<Unit>,
}

fn text(settings: &Settings) -> String {
    let Settings { worlds, cases, epsilon } = settings;
    format!("worlds={worlds} cases={cases} epsilon={epsilon:?}")
}

impl Planned {
    /// Plans the study of a config.
    fn new(config: WorldsConfig) -> Self {
        let unit = |settings: &Settings| {
            let work = settings.cases.saturating_mul(100_000);
            Unit::new(hash::word(&text(settings)), 1, Each { work, ..Each::default() })
        };
        let units = config.settings.iter().map(unit).collect();
        Self { config, units }
    }

    /// Hash of everything that decides the results, 16 hexadecimal digits.
    fn hash(&self) -> String {
        let WorldsConfig { name, seed, settings, .. } = &self.config;
        let settings: Vec<String> = settings.iter().map(text).collect();
        let all = format!("composition name={name} seed={seed}\n{}", settings.join("\n"));
        format!("{:016x}", hash::word(&all))
    }
}

impl Work for Planned {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn words(&self, cell: usize) -> String {
        text(&self.config.settings[cell])
    }

    fn prepare(&self, cell: usize) -> crate::Result<Box<dyn Prepared + '_>> {
        Ok(Box::new(ReadyCases {
            settings: self.config.settings[cell],
            seed: self.config.seed,
            cell: self.units[cell].key,
        }))
    }
}

struct ReadyCases {
    settings: Settings,
    seed: u64,
    cell: u64,
}

impl Prepared for ReadyCases {
    /// One replicate: all statements, with a stream of the setting's own.
    fn draw(&self, _: Range<u64>) -> (Drawn, crate::Result<()>) {
        let key = TaskKey { seed: self.seed, cell: self.cell, replicate: 0, role: Role::Noise };
        let Settings { worlds, epsilon, .. } = self.settings;
        let row = |finding: Finding| FindingRow {
            cell: Key(self.cell),
            worlds: worlds as u64,
            epsilon,
            statement: finding.statement.to_owned(),
            operator: finding.operator.name().to_owned(),
            property: finding.property.name().to_owned(),
            claim: finding.claim,
            holds: finding.holds,
            cases: finding.cases,
            worst: finding.worst,
            tolerance: finding.tolerance,
            evidence: finding.evidence,
        };
        let findings = check_all(&self.settings, &mut stream(key));
        Drawn::all(findings.map(|findings| findings.into_iter().map(row).collect()))
    }

    fn close(&self) -> crate::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

impl kind::Planned for Planned {
    fn about(&self) -> About {
        About {
            name: self.config.name.clone(),
            preface: self.config.about.clone(),
            study: "composition",
            subject: "worlds",
            config_hash: self.hash(),
            seeds: vec![self.config.seed],
            data_digest: String::new(),
            lattice: None,
            levels: Vec::new(),
            data: String::new(),
            invariant: String::new(),
            counts: 0,
            data_sets: Vec::new(),
            cells: self.config.settings.len(),
        }
    }

    fn configs(&self) -> (String, String) {
        (self.config.given.clone(), self.config.resolved())
    }

    fn copies(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let copy = |path: &PathBuf| beside::copy(path, &Composition, &[]);
        self.config.published.iter().map(copy).collect()
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.config.published.iter().cloned().collect()
    }

    fn begin<'a>(&'a self, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        Ok(Box::new(FindingTables { planned: self, findings: folder.table()?, failures: folder.table()? }))
    }

    fn listing(&self) -> Listing {
        let settings = &self.config.settings;
        let row = |Settings { worlds, cases, epsilon }: &Settings| {
            vec![worlds.to_string(), cases.to_string(), epsilon.to_string()]
        };
        let described = |Settings { worlds, cases, epsilon }: &Settings| json!({ "worlds": worlds, "cases": cases, "epsilon": epsilon });
        Listing {
            header: vec!["worlds", "cases of a statement", "epsilon"],
            rows: settings.iter().map(row).collect(),
            summary: format!("{} settings", settings.len()),
            json: json!({ "settings": settings.iter().map(described).collect::<Vec<_>>() }),
        }
    }
}

impl Gridless for WorldsConfig {
    fn words(&self) -> String {
        format!("composition, {}", counted(self.settings.len() as f64, "setting"))
    }

    fn plan(self: Box<Self>) -> Result<Box<dyn kind::Planned>> {
        Ok(Box::new(Planned::new(*self)))
    }

    fn path(&self) -> &Path {
        &self.path
    }

    /// Checks all statements. What the study finds is its result, not an error of the tool.
    fn verify(self: Box<Self>, manner: Manner) -> Result<String> {
        /// How many statements there are, and how many do not hold as claimed.
        struct Counted(usize, usize);
        impl Sink for Counted {
            fn rows(&mut self, _: usize, rows: Drawn) -> Result<()> {
                let found: Vec<FindingRow> = rows.take()?;
                self.0 += found.len();
                self.1 += found.iter().filter(|found| found.claim != found.holds).count();
                Ok(())
            }
            fn close(&mut self, _: usize, _: &[u8], error: Option<&str>) -> Result<()> {
                error.map_or(Ok(()), |error| Err(Failure::Wrong(error.to_owned())))
            }
        }
        let mut counted = Counted(0, 0);
        engine::run(&Planned::new(*self), manner, None, &mut counted)?;
        Ok(format!("{} statements checked; {} do not hold as claimed", counted.0, counted.1))
    }
}

/// The tables while they are computed.
struct FindingTables<'a> {
    planned: &'a Planned,
    findings: TableFile<'a, FindingRow>,
    failures: TableFile<'a, FailureRow>,
}

impl Sink for FindingTables<'_> {
    fn rows(&mut self, _: usize, rows: Drawn) -> Result<()> {
        rows.take::<Vec<FindingRow>>()?.iter().try_for_each(|row| self.findings.push(row))
    }

    fn close(&mut self, number: usize, _: &[u8], error: Option<&str>) -> Result<()> {
        let cell = Key(self.planned.units[number].key);
        error.map_or(Ok(()), |error| self.failures.push(&FailureRow { cell, error: error.to_owned() }))
    }
}

impl Tables for FindingTables<'_> {}

impl Configured for Composition {
    fn name(&self) -> &'static str {
        "composition"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["worlds"]
    }

    fn schema(&self) -> fn(&mut SchemaGenerator) -> Schema {
        SchemaGenerator::subschema_for::<self::config::Wire>
    }

    fn check(&self, checker: &Checker) -> Result<Document> {
        self::config::check(checker).map(|config| Document::Gridless(Box::new(config)))
    }
}

impl Study for Composition {
    fn tables(&self) -> Vec<Declared> {
        vec![Declared::of::<FindingRow>(), Declared::of::<FailureRow>()]
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        runs.iter().map(page::pages).collect()
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        Ok(vec![Records::of::<FindingRow>("findings", "findings.csv", runs)])
    }

    fn failures(&self, run: &Run) -> Result<Vec<(String, String)>> {
        let failures: Vec<FailureRow> = run.all()?;
        Ok(failures.into_iter().map(|row| (format!("setting {}", row.cell), row.error)).collect())
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        let of = |run: &Run| {
            let mut figures = Figures::of(Default::default(), run.all()?);
            run.each(|row: FindingRow| {
                figures.cells.insert(row.cell, format!("{} worlds, epsilon {}", row.worlds, row.epsilon));
                let words = format!("{}: {}, {}", row.statement, row.operator, row.property);
                // Statements have no number of their own.
                let number = hash::word(&words);
                let fails = f64::from(row.claim != row.holds);
                figures.add(row.cell, number, || words.clone(), "fails", fails, Sample::computed);
                Ok(())
            })?;
            Ok(figures)
        };
        Ok([of(runs[0])?, of(runs[1])?])
    }
}
