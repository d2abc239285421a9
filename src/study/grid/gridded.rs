//! A planned study of a grid.

use super::curves::curves;
use super::kind::Kind;
use super::pooled::PooledTables;
use crate::config::{AXES, AxisName, AxisRow};
use crate::engine::{Each, Look, Prepared, Unit, Work};
use crate::failure::Result;
use crate::grid::{Cell, Plan, resolved};
use crate::input::Subject;
use crate::page::counted;
use crate::privacy::LatticeShape;
use crate::privacy::Statement;
use crate::store::{About, Lattice, RunFolder};
use crate::study::cells::{Statements, described, statement_words};
use crate::study::kind::{Curves, Listing, Planned, Tables};
use crate::study::tell::beside;
use serde_json::json;
use std::path::PathBuf;

/// Steps of coupled chains, where nothing is known: for batches and for the progress bar alone.
pub(in crate::study) const COUPLED_STEPS: u64 = 1000;

/// A planned study of a grid.
pub(in crate::study) struct Gridded<K> {
    pub(in crate::study) plan: Plan,
    units: Vec<Unit>,
    /// Where there are several master seeds, the plan of cells that stand for all of them, and by cell its place there:
    /// see [`Plan::pooled`].
    pooled: Option<(Plan, Vec<usize>)>,
    kind: std::marker::PhantomData<K>,
}

impl<K: Kind> Gridded<K> {
    pub(in crate::study) fn new(plan: Plan) -> Self {
        let nodes = plan.subject.nodes() as u64;
        let unit = |(number, cell): (usize, &Cell)| {
            let steps =
                cell.at.method.length().unwrap_or(if cell.at.method.is_chain() { COUPLED_STEPS } else { 1 });
            let work = cell.at.method.kind().facts().words.saturating_mul(steps).saturating_mul(nodes);
            let unit = Unit::new(cell.key, cell.replicates, Each { work, ..K::leaves(&plan, cell) })
                .together(cell.at.method.kind().facts().together);
            Unit { parts: K::parts(&plan, number), ..unit }
        };
        let units = plan.cells.iter().enumerate().map(unit).collect();
        let pooled = plan.pooled();
        Self { plan, units, pooled, kind: std::marker::PhantomData }
    }
}

impl<K: Kind> Work for Gridded<K> {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn words(&self, cell: usize) -> String {
        self.plan.cells[cell].words()
    }

    fn prepare(&self, cell: usize) -> crate::Result<Box<dyn Prepared + '_>> {
        K::prepare(&self.plan, cell)
    }

    fn objection(&self, cell: usize, rows: Look) -> Result<Option<String>> {
        K::objection(&self.plan, cell, rows)
    }
}

impl<K: Kind> Planned for Gridded<K> {
    fn about(&self) -> About {
        let plan = &self.plan;
        About {
            name: plan.config.name.clone(),
            preface: plan.config.about.clone(),
            study: plan.config.study,
            subject: plan.subject.name(),
            config_hash: plan.hash(),
            seeds: plan.config.seeds.clone(),
            data_digest: plan.subject.digest().to_owned(),
            lattice: match &plan.subject {
                Subject::Hierarchy(_) => None,
                Subject::Table(table) => LatticeShape::of(&table.invariant)
                    .ok()
                    .map(|LatticeShape { dimension, log_volume }| Lattice { dimension, log_volume }),
            },
            levels: plan.config.data.level_names().into_iter().map(str::to_owned).collect(),
            data: match plan.config.data.table.file_name() {
                Some(file) => format!("{}: {}", file.to_string_lossy(), plan.subject.summary()),
                None => plan.subject.summary(),
            },
            invariant: plan.config.data.invariant_words(),
            counts: plan.subject.nodes(),
            data_sets: Vec::new(),
            cells: plan.cells.len(),
        }
    }

    fn configs(&self) -> (String, String) {
        (self.plan.config.given.clone(), resolved(&[&self.plan]))
    }

    fn copies(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let config = &self.plan.config;
        let mut copies = Vec::new();
        if let Some(path) = &config.published {
            let asked =
                config.part.queries().queries.iter().flat_map(|query| &query.columns).map(String::as_str);
            copies.push(beside::copy(path, &K::default(), &asked.collect::<Vec<_>>())?);
        }
        copies.extend(K::copies(&self.plan)?);
        Ok(copies)
    }

    fn inputs(&self) -> Vec<PathBuf> {
        let config = &self.plan.config;
        let named = [&config.data.table].into_iter().chain(&config.published).cloned();
        named.chain(config.part.inputs()).collect()
    }

    fn begin<'a>(&'a self, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        let cells = K::begin(&self.plan, folder)?;
        match &self.pooled {
            None => Ok(cells),
            Some((plan, places)) => {
                let pooled = K::begin(plan, folder)?;
                Ok(Box::new(PooledTables::<K>::new(&self.plan.cells, cells, places, pooled)))
            }
        }
    }

    fn warning(&self) -> Option<String> {
        let table = self.plan.config.data.table.display();
        let data = self.plan.subject.warning().map(|warning| format!("warning: {table}: {warning}"));
        let idle = self.plan.config.idle_excludes().into_iter().map(|what| format!("warning: {what}"));
        let warnings: Vec<String> = data.into_iter().chain(idle).collect();
        (!warnings.is_empty()).then(|| warnings.join("\n"))
    }

    fn listing(&self) -> Listing {
        let plan = &self.plan;
        let config = &plan.config;
        let mut header = vec!["cell"];
        header.extend((!config.data_name.is_empty()).then_some("data"));
        header.extend((config.seeds.len() > 1).then_some("seed"));
        let axes = listed_axes(&plan.cells);
        header.extend(["law", "epsilon", "split"]);
        header.extend(axes.iter().map(|axis| axis.keys[0]));
        header.extend(["scales", "method", "options", "replicates"]);
        header.extend(config.paid.then_some("paid"));
        header.extend(["record added", "record moved", "smallest change"]);
        let statements = Statements::new(plan);
        let pays = |cell: &Cell| match cell.paid {
            None => statements.quick(cell),
            // It was looked for by the statement of the run.
            Some(_) => statements.found(cell),
        };
        let pays: Vec<Statement> = plan.cells.iter().map(pays).collect();
        let mut notes = Vec::new();
        let cells = || plan.cells.iter().zip(&pays);
        let rows =
            cells().map(|(cell, pays)| listed(&config.data_name, &axes, cell, pays, &mut notes)).collect();
        let mut summary =
            format!("{} on {}", counted(plan.cells.len() as f64, "cell"), plan.subject.summary());
        summary += &config.data.within_words(", ");
        notes.iter().for_each(|note| summary += &format!("; {note}"));
        if plan.cells.iter().any(|cell| cell.paid.is_none() && statements.is_searched(cell)) {
            summary += "; the run searches for what conditioning on inequalities adds, the plan bounds it";
        }
        let json = json!({
            "subject": plan.subject.name(),
            "data_digest": plan.subject.digest(),
            "cells": cells().map(|(cell, pays)| told(cell, pays)).collect::<Vec<_>>(),
        });
        Listing { header, rows, summary, json }
    }

    fn curves(&self, delta: f64, releases: u64) -> Result<Curves> {
        Ok(curves(&self.plan, delta, releases))
    }
}

/// The axes of the noise that have a column in what `plan` prints beside those of every law: those that a cell is on.
fn listed_axes(cells: &[Cell]) -> Vec<&'static AxisRow> {
    let always = [AxisName::Law, AxisName::Budget, AxisName::Split];
    let others = AXES.iter().filter(|axis| axis.of_noise && !always.contains(&axis.name));
    others.filter(|axis| cells.iter().any(|cell| !(axis.json)(&cell.at).is_null())).collect()
}

/// The row of a cell in what `plan` prints. `notes`: what is said below all rows.
fn listed(
    data: &str,
    axes: &[&AxisRow],
    cell: &Cell,
    pays: &Statement,
    notes: &mut Vec<String>,
) -> Vec<String> {
    let changes = pays.changes().map(|(kind, change)| (kind, change.clone()));
    let pays = statement_words(&changes, notes);
    let scales: Vec<String> = match cell.at.law.is_noise() {
        true => cell.calibration.scales.iter().map(|&scale| scale_words(scale)).collect(),
        false => vec!["-".into()],
    };
    let sign = if cell.nonnegative { " >= 0" } else { "" };
    let (name, options) = cell.at.method.title();
    let data = Some(data).filter(|name| !name.is_empty()).map(str::to_owned);
    let seed = cell.seeded.then(|| cell.at.seed.to_string());
    let first = std::iter::once(cell.key_text()).chain(data).chain(seed);
    let noise = [cell.at.law.name().into(), cell.epsilon.to_string(), cell.at.split.label()];
    let on_axes = axes.iter().map(|axis| match (axis.json)(&cell.at) {
        serde_json::Value::Null => String::new(),
        value => value.to_string(),
    });
    let row = [
        scales.join(" "),
        format!("{name}{sign}"),
        match cell.at.lag {
            Some(lag) => format!("{options} lag={lag}").trim_start().to_owned(),
            None => options,
        },
        cell.replicates.to_string(),
    ];
    let paid = cell.paid.map(|paid| paid.to_string());
    first.chain(noise).chain(on_axes).chain(row).chain(paid).chain(pays).collect()
}

/// A cell for programs: its place on every axis, and what follows from it.
fn told(cell: &Cell, pays: &Statement) -> serde_json::Value {
    let (epsilon_total, delta_total) = cell.total();
    let pays = pays.changes().map(|(kind, change)| (kind.name().to_owned(), described(change)));
    let told = json!({
        "cell": cell.key_text(),
        "epsilon": cell.epsilon,
        "paid": cell.paid.map(|paid| paid.loss),
        "measure": cell.paid.map(|paid| paid.measure.name()),
        "scales": cell.at.law.is_noise().then_some(&cell.calibration.scales),
        "method": cell.at.method.name(),
        "options": cell.at.method.options(),
        "nonnegative": cell.nonnegative,
        "replicates": cell.replicates,
        "epsilon_total": epsilon_total,
        "delta_total": delta_total,
        "pays": serde_json::Map::from_iter(pays),
    });
    let axes = AXES.iter().map(|axis| (axis.keys[0].to_owned(), (axis.json)(&cell.at)));
    let mut all = serde_json::Map::from_iter(axes);
    // Of budgets and methods it says more than their axes.
    all.extend(told.as_object().expect("an object").clone());
    all.into()
}

/// A noise scale, or that there is none.
fn scale_words(scale: f64) -> String {
    if scale > 0.0 { format!("{scale:.4}") } else { "known".into() }
}
