//! A grid on several data sets: one plan after the other, in one run.

use super::gridded::Gridded;
use super::kind::Kind;
use crate::engine::{Drawn, Look, Prepared, Sink, Unit, Work};
use crate::failure::{Failure, Result};
use crate::grid::{Plan, resolved};
use crate::hash;
use crate::page::counted;
use crate::store::{About, DataSet, RunFolder};
use crate::study::kind::{Curves, Listing, Planned, Tables};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;

/// A plan for each data set.
pub(in crate::study) struct Several<K> {
    sets: Vec<Gridded<K>>,
    units: Vec<Unit>,
    /// By cell its data set and its number there.
    places: Vec<(usize, usize)>,
}

impl<K: Kind> Several<K> {
    /// Refused: two data sets of the same counts, whose cells would be the same.
    pub(in crate::study) fn new(plans: Vec<Plan>) -> Result<Self> {
        let mut names: HashMap<String, String> = HashMap::new();
        for Plan { config, subject, .. } in &plans {
            let name = config.data_name.clone();
            if let Some(other) = names.insert(subject.digest().to_owned(), name.clone()) {
                let message = format!(
                    "{}: data: `{other}` and `{name}` hold the same counts: want data sets that differ",
                    config.path.display()
                );
                return Err(Failure::Usage(message));
            }
        }
        let sets: Vec<Gridded<K>> = plans.into_iter().map(Gridded::new).collect();
        let units = sets.iter().flat_map(Work::units).copied().collect();
        let all = sets.iter().enumerate();
        let places = all.flat_map(|(set, of)| (0..of.units().len()).map(move |cell| (set, cell))).collect();
        Ok(Self { sets, units, places })
    }
}

impl<K: Kind> Work for Several<K> {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn words(&self, cell: usize) -> String {
        let (set, cell) = self.places[cell];
        format!("{}: {}", self.sets[set].plan.config.data_name, self.sets[set].words(cell))
    }

    fn prepare(&self, cell: usize) -> crate::Result<Box<dyn Prepared + '_>> {
        let (set, cell) = self.places[cell];
        self.sets[set].prepare(cell)
    }

    fn objection(&self, cell: usize, rows: Look) -> Result<Option<String>> {
        let (set, cell) = self.places[cell];
        self.sets[set].objection(cell, rows)
    }
}

impl<K: Kind> Planned for Several<K> {
    fn about(&self) -> About {
        let all: Vec<About> = self.sets.iter().map(Planned::about).collect();
        let joined = |of: fn(&About) -> &str| all.iter().map(of).collect::<Vec<_>>().join("\n");
        let names: Vec<&str> = self.sets.iter().map(|set| set.plan.config.data_name.as_str()).collect();
        let set = |(name, about): (&&str, &About)| DataSet {
            name: (*name).to_owned(),
            data: about.data.clone(),
            data_digest: about.data_digest.clone(),
            lattice: about.lattice,
            levels: about.levels.clone(),
            invariant: about.invariant.clone(),
            counts: about.counts,
        };
        About {
            config_hash: format!("{:016x}", hash::word(&joined(|about| &about.config_hash))),
            data_digest: hash::of_bytes(joined(|about| &about.data_digest)),
            lattice: None,
            levels: Vec::new(),
            data: format!("{} data sets: {}", names.len(), names.join(", ")),
            counts: all.iter().map(|about| about.counts).sum(),
            data_sets: names.iter().zip(&all).map(set).collect(),
            cells: self.units.len(),
            ..all[0].clone()
        }
    }

    fn configs(&self) -> (String, String) {
        let plans: Vec<&Plan> = self.sets.iter().map(|set| &set.plan).collect();
        (plans[0].config.given.clone(), resolved(&plans))
    }

    fn copies(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        // What stands beside results is refused for several data sets.
        self.sets[0].copies()
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.sets.iter().flat_map(Planned::inputs).collect()
    }

    fn begin<'a>(&'a self, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        let first = (0, self.sets[0].begin(folder)?);
        Ok(Box::new(SeveralTables { several: self, folder, current: Some(first) }))
    }

    fn warning(&self) -> Option<String> {
        let mut warnings: Vec<String> = Vec::new();
        for warning in self.sets.iter().filter_map(Planned::warning) {
            warnings.extend(
                warning
                    .lines()
                    .map(str::to_owned)
                    .filter(|line| !warnings.contains(line))
                    .collect::<Vec<_>>(),
            );
        }
        (!warnings.is_empty()).then(|| warnings.join("\n"))
    }

    fn listing(&self) -> Listing {
        let about = self.about();
        let all = Listing { header: Vec::new(), rows: Vec::new(), summary: String::new(), json: json!([]) };
        let mut all = self.sets.iter().fold(all, |mut all, set| {
            let Listing { header, rows, summary, json } = set.listing();
            let apart = if all.summary.is_empty() { "" } else { "; " };
            all.header = header;
            all.rows.extend(rows);
            all.summary += &format!("{apart}{}: {summary}", set.plan.config.data_name);
            let cells = all.json.as_array_mut().into_iter().zip(json["cells"].as_array());
            cells.for_each(|(all, cells)| all.extend(cells.iter().cloned()));
            all
        });
        all.summary = format!("{} in all: {}", counted(self.units.len() as f64, "cell"), all.summary);
        all.json = json!({ "subject": about.subject, "data_digest": about.data_digest, "cells": all.json });
        all
    }

    fn curves(&self, delta: f64, releases: u64) -> Result<Curves> {
        let mut sets = self.sets.iter().map(|set| set.curves(delta, releases));
        let first = sets.next().expect("there are several")?;
        sets.try_fold(first, |mut all, set| {
            let set = set?;
            all.table.rows.extend(set.table.rows);
            all.told
                .as_array_mut()
                .into_iter()
                .for_each(|all| all.extend(set.told.as_array().into_iter().flatten().cloned()));
            Ok(all)
        })
    }
}

/// The tables of one data set after the other.
struct SeveralTables<'a, K> {
    several: &'a Several<K>,
    folder: &'a RunFolder,
    /// The data set whose cells come.
    current: Option<(usize, Box<dyn Tables + 'a>)>,
}

impl<'a, K: Kind> SeveralTables<'a, K> {
    /// The tables of a cell, and its number in them.
    fn at(&mut self, cell: usize) -> Result<(&mut (dyn Tables + 'a), usize)> {
        let (set, cell) = self.several.places[cell];
        while self.current.as_ref().map(|(current, _)| *current) != Some(set) {
            let next = self
                .current
                .take()
                .map_or(Ok(0), |(current, tables)| tables.finish().map(|()| current + 1))?;
            self.current = Some((next, self.several.sets[next].begin(self.folder)?));
        }
        let (_, tables) = self.current.as_mut().expect("it was just begun");
        Ok((&mut **tables, cell))
    }
}

impl<K: Kind> Sink for SeveralTables<'_, K> {
    fn rows(&mut self, cell: usize, rows: Drawn) -> Result<()> {
        let (tables, cell) = self.at(cell)?;
        tables.rows(cell, rows)
    }

    fn part(&mut self, cell: usize, part: &[u8]) -> Result<()> {
        let (tables, cell) = self.at(cell)?;
        tables.part(cell, part)
    }

    fn close(&mut self, cell: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
        let (tables, cell) = self.at(cell)?;
        tables.close(cell, closing, error)
    }
}

impl<K: Kind> Tables for SeveralTables<'_, K> {
    fn finish(self: Box<Self>) -> Result<()> {
        self.current.map_or(Ok(()), |(_, tables)| tables.finish())
    }
}
