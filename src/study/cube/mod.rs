//! Trees of tables: a table of attributes in every area of a hierarchy, measured by queries. A cell is a loss, a law and what is made of
//! the noisy answers.
//!
//! `areas` are read once, `draw` makes a cell ready and tells its errors by level, query and size of the area, `page` tells them.

mod areas;
mod bootstrap;
mod bounds;
mod config;
mod descent;
mod draw;
mod exact;
mod noisy;
mod page;
mod split;
mod wire;

use self::areas::Areas;
use self::config::{CubeConfig, Passes, Point, Way};
use self::draw::{Ready, is_determined, scales};
use crate::config::Checker;
use crate::config::tables::{Asked, Measured};
use crate::cube::{Bounds, Marginal};
use crate::diagnostics::{Estimate, Moments};
use crate::engine::{self, Drawn, Each, Manner, Prepared, Sink, Unit, Work, decode};
use crate::failure::{Failure, Result};
use crate::hash;
use crate::page::{Page, counted, thousands};
use crate::store::{About, Run, RunFolder, TableFile};
use crate::study::cells::FailureRow;
use crate::study::kind::{self, Configured, Document, Gridless, Listing, Study, Tables};
use crate::study::splitting::{Resplit, Splitting};
use crate::study::tell::figures::{Figures, Sample};
use crate::study::tell::records::{Named, Records};
use crate::table;
use crate::table::{Declared, Key};
use schemars::{Schema, SchemaGenerator};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The kind of data.
const KIND: &str = "tree-of-tables";

/// The study.
pub struct Cube;

table! {
    /// Study `cube`: one row per cell.
    pub struct CubeCellRow in "cube_cells.parquet" {
        /// key of the cell
        cell: Key;
        /// what all measurements together pay for one record that is added or removed
        epsilon: f64;
        /// of Gaussian laws, the delta at which epsilon is stated
        delta: Option<f64>;
        /// law of the noise
        law: String;
        /// what is made of the noisy answers
        method: String;
        /// of `topdown` and `bluedown`, the queries that are settled before the tables, with commas between
        passes: Option<String>;
        /// of `topdown` and `bluedown`, how often the tables of each replicate are released again, for intervals
        bootstrap: Option<u64>;
        /// releases
        replicates: u64;
        /// what one record pays that is added or removed; null where a known total makes that impossible
        added: Option<f64>, "epsilon";
        /// what one record pays at most that is moved to another area and other categories: each answer that it leaves and each that it
        /// comes to changes by 1
        moved: f64, "epsilon";
    }
}

table! {
    /// Study `cube`: one row per cell, replicate, level, query and size of the areas.
    pub struct CubeDrawRow in "cube_draws.parquet", also serde::Deserialize {
        /// the cell, in `cube_cells.parquet`
        cell: Key;
        /// from 0
        replicate: u64;
        /// name of the level
        level: String;
        /// name of the query
        query: String;
        /// totals of the areas
        size: String, "counts";
        /// answers, of all these areas together
        answers: u64;
        /// mean over the answers of the size of the error
        l1: f64, "counts";
        /// of its square
        squared: f64, "counts squared";
        /// of the error
        bias: f64, "counts";
        /// share of the answers that are within 1.645 standard deviations of the true ones: the 90 % interval of a normal law. Of `topdown`
        /// and `bluedown` those of the estimates that their tables are fitted to
        covered: f64, "probability";
        /// of `topdown` and `bluedown` with a bootstrap: share of the answers that are within its 90 % interval
        bootstrapped: Option<f64>, "probability";
        /// of `topdown` and `bluedown`, by how much the sum of squares of the tables of the children of one area, before they are rounded,
        /// is above the least at most, as a part of it: the largest of all areas
        gap: Option<f64>;
    }
}

table! {
    /// Study `cube`: one row per cell, level, query and size of the areas, over the replicates. Standard errors are null for fewer than
    /// two of them.
    pub struct CubeErrorRow in "cube_errors.parquet" {
        /// the cell, in `cube_cells.parquet`
        cell: Key;
        /// name of the level
        level: String;
        /// name of the query
        query: String;
        /// totals of the areas
        size: String, "counts";
        /// answers, of all these areas together
        answers: u64;
        /// releases
        replicates: u64;
        /// mean of `l1`
        l1: Estimate, "counts", error l1_se;
        /// mean of `squared`
        squared: Estimate, "counts squared", error squared_se;
        /// the same by the variances of the noise and the estimate; of `topdown` and `bluedown` of the estimates that their tables are
        /// fitted to
        squared_computed: f64, "counts squared";
        /// mean of `bias`
        bias: Estimate, "counts", error bias_se;
        /// mean of `covered`
        covered: Estimate, "probability", error covered_se;
        /// mean of `bootstrapped`
        bootstrapped: Option<Estimate>, "probability", error bootstrapped_se;
        /// the largest `gap`
        gap: Option<f64>;
    }
}

/// A planned study.
pub(super) struct Planned {
    config: CubeConfig,
    areas: Areas,
    /// Bounds of answers.
    bounds: Option<Bounds>,
    units: Vec<Unit>,
    /// What the cells have in common, as a part of their keys.
    described: String,
}

impl Planned {
    /// Reads the data. Errors: they; budgets and queries that do not go together.
    fn new(config: CubeConfig) -> Result<Self> {
        let areas = Areas::read(&config)?;
        let tables = &config.data.tables;
        let query = |asked: &Asked| format!("{:?} {:?}", asked.query, asked.measured);
        let queries: Vec<String> = tables.queries.iter().map(query).collect();
        let (digest, zeros) = (&areas.digest, &tables.zeros);
        let bounds = bounds::read(&config, &areas)?;
        let of_bounds = bounds.as_ref().map_or(String::new(), |own| format!(" bounds={}", own.sha256));
        let described = format!("data={digest} zeros={zeros:?} queries={}{of_bounds}", queries.join("; "));
        let (nodes, levels) = (areas.list.tree.nodes(), areas.list.tree.levels());
        let answers: usize = tables.queries.len() * areas.domain.cells();
        let rows = (tables.queries.len() * levels * 4) as u64;
        let unit = |point: &Point| {
            let times = 1 + point.bootstrap.unwrap_or(0);
            let work = ((nodes * answers) as u64 / 2).saturating_mul(times);
            let errors = (nodes * areas.queries.iter().map(Marginal::answers).sum::<usize>()) as u64;
            let memory = 200 * rows + errors.saturating_mul(8 * (times - 1));
            let each = Each { work, rows, disk: 40 * rows, memory };
            let key = format!("cube {described} {}", point.words());
            Unit::new(hash::word(&key), point.replicates, each)
        };
        let units = config.points.iter().map(unit).collect();
        let planned = Self { config, areas, bounds: bounds.map(|own| own.bounds), units, described };
        planned.check()?;
        Ok(planned)
    }

    /// Refuses estimates of cells of which nothing says enough, and scales that are out of range.
    fn check(&self) -> Result<()> {
        let path = self.config.path.display();
        let wants_estimates =
            self.config.points.iter().any(|point| matches!(point.method, Way::Gls | Way::BlueDown));
        if wants_estimates && !is_determined(self) {
            let message = format!(
                "{path}: query: not every cell of a `{}` follows from what is measured or known there, and `gls` and `bluedown` want that: \
                 such as `shares` there of the query of all attributes",
                self.config.data.tables.levels.last().map_or("", String::as_str)
            );
            return Err(Failure::Usage(message));
        }
        let mut served: Vec<(Way, &Passes)> = Vec::new();
        for Point { method, passes, .. } in &self.config.points {
            if method.is_descent() && !served.contains(&(*method, passes)) {
                served.push((*method, passes));
                descent::serves(self, *method, passes)
                    .map_err(|why| Failure::Usage(format!("{path}: {why}")))?;
            }
        }
        if self.config.points.iter().any(|point| point.method == Way::Exact) {
            exact::serves(self).map_err(|why| Failure::Usage(format!("{path}: method: {why}")))?;
        }
        let has_none = |point: &&Point| point.method == Way::Exact && !exact::has_law(point.law);
        if let Some(point) = self.config.points.iter().find(has_none) {
            let message = format!(
                "{path}: law: got `{}`, want double-geometric, discrete-gaussian or gaussian with `exact`",
                point.law.name()
            );
            return Err(Failure::Usage(message));
        }
        for point in &self.config.points {
            let refused = |e: crate::Error| Failure::Usage(format!("{path}: {}: {e}", point.words()));
            scales(self, point).map_err(refused)?;
            let (areas, tree) = (&self.areas, &self.areas.list.tree);
            let answers: usize = areas.queries.iter().map(Marginal::answers).sum();
            bootstrap::check(tree.nodes() * answers, point.bootstrap.unwrap_or(0)).map_err(refused)?;
        }
        Ok(())
    }

    fn queries(&self) -> &[Asked] {
        &self.config.data.tables.queries
    }

    /// What one record pays that is added, and one that is moved. A record counts once in every measured query of every level.
    fn pays(&self, point: &Point) -> (Option<f64>, f64) {
        let rho =
            |epsilon: f64, delta: f64| point.law.facts().accountant.map(|by| (by, by.rho(epsilon, delta)));
        let moved = match point.delta.and_then(|delta| Some((rho(point.epsilon, delta)?, delta))) {
            Some(((by, rho), delta)) => by.epsilon(2.0 * rho, delta),
            None => 2.0 * point.epsilon,
        };
        (self.can_be_added().then_some(point.epsilon), moved)
    }

    /// Whether a record can be added: in some cell that no known query counts.
    fn can_be_added(&self) -> bool {
        let Areas { domain, queries, .. } = &self.areas;
        let known = self.queries().iter().zip(queries);
        let known: Vec<_> = known.filter(|(asked, _)| asked.measured.contains(&Measured::Known)).collect();
        let counts = |cell: usize| known.iter().any(|(_, query)| query.answer_of(domain, cell).is_some());
        (0..domain.cells()).any(|cell| !counts(cell))
    }
}

impl Work for Planned {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn words(&self, cell: usize) -> String {
        self.config.points[cell].words()
    }

    fn prepare(&self, cell: usize) -> crate::Result<Box<dyn Prepared + '_>> {
        Ok(Box::new(Ready::new(self, cell)?))
    }
}

impl kind::Planned for Planned {
    fn about(&self) -> About {
        let (tree, domain) = (&self.areas.list.tree, &self.areas.domain);
        let words = |point: &Point| match point.bootstrap {
            None => point.words(),
            Some(times) => format!("{} bootstrap={times}", point.words()),
        };
        let all: Vec<String> = self.config.points.iter().map(words).collect();
        let config_hash = format!(
            "cube name={} seed={}\n{}\n{}",
            self.config.name,
            self.config.seed,
            self.described,
            all.join("\n")
        );
        About {
            name: self.config.name.clone(),
            preface: self.config.about.clone(),
            study: "cube",
            subject: "tables",
            config_hash: format!("{:016x}", hash::word(&config_hash)),
            seeds: vec![self.config.seed],
            data_digest: self.areas.digest.clone(),
            lattice: None,
            levels: self.config.data.tables.levels.clone(),
            data: self.config.data.counts.display().to_string(),
            invariant: String::new(),
            counts: tree.nodes() * domain.cells(),
            data_sets: Vec::new(),
            cells: self.config.points.len(),
        }
    }

    fn configs(&self) -> (String, String) {
        (self.config.given.clone(), self.config.resolved())
    }

    fn inputs(&self) -> Vec<PathBuf> {
        let data = &self.config.data;
        [&data.areas, &data.counts].into_iter().chain(&data.bounds).cloned().collect()
    }

    fn begin<'a>(&'a self, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        Ok(Box::new(CubeTables {
            planned: self,
            folder,
            cells: folder.table()?,
            draws: folder.table()?,
            errors: folder.table()?,
            failures: folder.table()?,
            sums: Vec::new(),
        }))
    }

    fn listing(&self) -> Listing {
        let points = &self.config.points;
        let row = |point: &Point| {
            let delta = point.delta.map_or(String::new(), |delta| delta.to_string());
            let (law, method) = (point.law.name().to_owned(), point.method_words());
            vec![point.epsilon.to_string(), law, delta, method, point.replicates.to_string()]
        };
        let described = |point: &Point| {
            json!({
                "epsilon": point.epsilon, "law": point.law.name(), "delta": point.delta,
                "method": point.method.name(), "passes": point.passes.names(), "bootstrap": point.bootstrap, "replicates": point.replicates,
            })
        };
        Listing {
            header: vec!["epsilon", "law", "delta", "method", "replicates"],
            rows: points.iter().map(row).collect(),
            summary: format!("{}, {}", counted(points.len() as f64, "cell"), self.size_words()),
            json: json!({ "cells": points.iter().map(described).collect::<Vec<_>>() }),
        }
    }
}

impl Planned {
    /// The data in words.
    fn size_words(&self) -> String {
        let (tree, domain) = (&self.areas.list.tree, &self.areas.domain);
        format!(
            "{} areas on {} levels ({} leaves) of {} cells each, {} of the leaves' cells not 0",
            thousands(tree.nodes() as f64),
            tree.levels(),
            thousands(tree.leaves().len() as f64),
            thousands(domain.cells() as f64),
            thousands(self.areas.cells.len() as f64)
        )
    }
}

impl Gridless for CubeConfig {
    fn words(&self) -> String {
        format!("cube, {}", counted(self.points.len() as f64, "cell"))
    }

    fn plan(self: Box<Self>) -> Result<Box<dyn kind::Planned>> {
        Ok(Box::new(Planned::new(*self)?))
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn splitting(&self) -> Result<(Splitting<'static>, Resplit)> {
        let config = self.clone();
        let splitting = split::splitting(&Planned::new(self.clone())?)?;
        Ok((splitting, Box::new(move |shares| config.with_shares(shares))))
    }

    /// Draws all cells. Errors: one that fails, such as by an estimate that does not add up. Errors are not judged: a run has them beside
    /// those that follow from the variances.
    fn verify(self: Box<Self>, manner: Manner) -> Result<String> {
        struct Counted(usize);
        impl Sink for Counted {
            fn rows(&mut self, _: usize, rows: Drawn) -> Result<()> {
                self.0 += rows.take::<Vec<CubeDrawRow>>()?.len();
                Ok(())
            }
            fn close(&mut self, _: usize, _: &[u8], error: Option<&str>) -> Result<()> {
                error.map_or(Ok(()), |error| Err(Failure::Wrong(error.to_owned())))
            }
        }
        let mut counted = Counted(0);
        engine::run(&Planned::new(*self)?, manner, None, &mut counted)?;
        Ok(format!("{} rows of errors were drawn; every estimate adds up", counted.0))
    }
}

/// Errors of a level, a query and a size as they come.
struct Summed {
    first: CubeDrawRow,
    l1: Moments,
    squared: Moments,
    bias: Moments,
    covered: Moments,
    bootstrapped: Moments,
    gap: Option<f64>,
}

impl Summed {
    fn new(first: CubeDrawRow) -> Self {
        let (l1, squared, bias, covered, bootstrapped) = Default::default();
        Self { first, l1, squared, bias, covered, bootstrapped, gap: None }
    }
}

/// The tables while they are drawn.
struct CubeTables<'a> {
    planned: &'a Planned,
    folder: &'a RunFolder,
    cells: TableFile<'a, CubeCellRow>,
    draws: TableFile<'a, CubeDrawRow>,
    errors: TableFile<'a, CubeErrorRow>,
    failures: TableFile<'a, FailureRow>,
    /// In the order of the rows of a replicate.
    sums: Vec<Summed>,
}

impl Sink for CubeTables<'_> {
    fn rows(&mut self, _: usize, rows: Drawn) -> Result<()> {
        for of_replicate in rows.take::<Vec<CubeDrawRow>>()?.chunk_by(|a, b| a.replicate == b.replicate) {
            for (place, row) in of_replicate.iter().enumerate() {
                self.draws.push(row)?;
                if place == self.sums.len() {
                    self.sums.push(Summed::new(row.clone()));
                }
                let sums = &mut self.sums[place];
                sums.l1.push(row.l1);
                sums.squared.push(row.squared);
                sums.bias.push(row.bias);
                sums.covered.push(row.covered);
                row.bootstrapped.into_iter().for_each(|held| sums.bootstrapped.push(held));
                sums.gap = row.gap.map(|gap| sums.gap.map_or(gap, |own| own.max(gap)));
            }
        }
        Ok(())
    }

    fn close(&mut self, number: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
        let (point, cell) = (&self.planned.config.points[number], Key(self.planned.units[number].key));
        let (added, moved) = self.planned.pays(point);
        self.cells.push(&CubeCellRow {
            cell,
            epsilon: point.epsilon,
            delta: point.delta,
            law: point.law.name().to_owned(),
            method: point.method.name().to_owned(),
            passes: point.passes.names(),
            bootstrap: point.bootstrap,
            replicates: point.replicates,
            added,
            moved,
        })?;
        let sums = std::mem::take(&mut self.sums);
        if let Some(error) = error {
            return self.failures.push(&FailureRow { cell, error: error.to_owned() });
        }
        // Noise given that tables add up is no measurement.
        if self.planned.config.keep_draws && point.method != Way::Exact {
            noisy::write(self.planned, self.folder, number)?;
        }
        let variances: Vec<f64> = if closing.is_empty() { Vec::new() } else { decode(closing)? };
        for (sums, variance) in sums.into_iter().zip(variances) {
            let Summed { first, l1, squared, bias, covered, bootstrapped, gap } = sums;
            self.errors.push(&CubeErrorRow {
                cell,
                level: first.level,
                query: first.query,
                size: first.size,
                answers: first.answers,
                replicates: l1.count(),
                l1: l1.estimate(),
                squared: squared.estimate(),
                squared_computed: variance,
                bias: bias.estimate(),
                covered: covered.estimate(),
                bootstrapped: (bootstrapped.count() > 0).then(|| bootstrapped.estimate()),
                gap,
            })?;
        }
        Ok(())
    }
}

impl Tables for CubeTables<'_> {}

impl Configured for Cube {
    fn name(&self) -> &'static str {
        "cube"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["query"]
    }

    fn schema(&self) -> fn(&mut SchemaGenerator) -> Schema {
        SchemaGenerator::subschema_for::<wire::Wire>
    }

    fn check(&self, checker: &Checker) -> Result<Document> {
        config::check(checker).map(|config| Document::Gridless(Box::new(config)))
    }
}

impl Study for Cube {
    fn tables(&self) -> Vec<Declared> {
        vec![
            Declared::of::<CubeCellRow>(),
            Declared::of::<CubeDrawRow>(),
            Declared::of::<CubeErrorRow>(),
            Declared::of::<FailureRow>(),
        ]
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        runs.iter().map(page::of).collect()
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        Ok(vec![
            Records::of::<CubeErrorRow>("errors", "cube_errors.csv", runs),
            Records::of::<CubeCellRow>("cells", "cube_cells.csv", runs),
        ])
    }

    fn failures(&self, run: &Run) -> Result<Vec<(String, String)>> {
        let cells = words(run)?;
        let failures: Vec<FailureRow> = run.all()?;
        let told = |row: FailureRow| (cells.get(&row.cell).cloned().unwrap_or_default(), row.error);
        Ok(failures.into_iter().map(told).collect())
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        let of = |run: &Run| {
            let mut figures = Figures::of(words(run)?, run.all()?);
            run.each(|row: CubeDrawRow| {
                let words = format!("{}, {}, areas of {}", row.level, row.query, row.size);
                // Places have no number of their own.
                let number = hash::word(&words);
                figures.add(row.cell, number, || words.clone(), "l1", row.l1, Sample::drawn);
                figures.add(row.cell, number, || words.clone(), "bias", row.bias, Sample::drawn);
                Ok(())
            })?;
            Ok(figures)
        };
        Ok([of(runs[0])?, of(runs[1])?])
    }
}

/// The cells of a run, in words.
fn words(run: &Run) -> Result<HashMap<Key, String>> {
    let mut words = HashMap::new();
    run.each(|row: CubeCellRow| {
        let delta = row.delta.map_or(String::new(), |delta| format!(", delta {delta}"));
        words.insert(row.cell, format!("{}, {} noise, epsilon {}{delta}", row.method, row.law, row.epsilon));
        Ok(())
    })?;
    Ok(words)
}
