//! A noisy file: what was released, with the law of its noise and what was done to it.

use super::entries::Entries;
use super::file::{File, Told};
use super::nodes::Nodes;
use super::target::Target;
use crate::catalogue::{Family, LawKind, Method, Place, Projection, noise};
use crate::config::Invariants;
use crate::failure::{Failure, Result};
use crate::input::{CsvTable, NOISY, NOISY_INVARIANTS, Wanted, footer};
use crate::invariant::{Inequalities, Region};
use crate::methods::{On, OnTable, OnTree};
use crate::privacy::Calibration;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was released.
#[derive(Debug, Clone)]
pub struct Noisy {
    /// The file.
    pub path: PathBuf,
    /// The columns of keys: of a tree those of the levels below the total, the highest first.
    pub columns: Vec<String>,
    /// The counts, with what ties them.
    pub structure: Structure,
    /// By node or entry, what was released.
    pub values: Vec<f64>,
    /// Whether all of that are integers.
    pub integers: bool,
    /// The law of the noise.
    pub law: LawKind,
    /// Whether the law is no more than what a variance suggests.
    pub assumed: bool,
    /// By level, lambda or sigma in counts, 0 where the level is known; a table has one.
    pub scales: Vec<f64>,
    /// What was done with the noise.
    pub method: Method,
}

/// Counts, with what ties them.
#[derive(Debug, Clone)]
pub enum Structure {
    /// The nodes of a tree.
    Tree(Nodes),
    /// The entries of a table under equations.
    Table(Entries),
}

impl Noisy {
    /// Reads a noisy file. `keys`: its columns of keys; none: all columns without a meaning. `invariants`: a file with the
    /// `[[invariant]]` blocks of a table; without one those of the file's footer; a file without any is that of a tree.
    ///
    /// Refused, with file and row: a missing column; values that are no numbers, or known ones that are no counts; laws, scales
    /// and methods that differ where they must not, or say nothing; and what does not fit the place. On a tree: keys that are
    /// blank above one that is not; a node twice, or without the one above; no total; a leaf above the last level; a release that was
    /// to add up and does not. On a table: an entry twice; invariants that do not fit the columns; values that do not keep what they fix.
    pub fn read(path: &Path, keys: &[String], invariants: Option<&Path>) -> Result<Self> {
        let invariants = match invariants {
            Some(file) => Some(Invariants::read(file)?),
            None => footer(path, NOISY_INVARIANTS)?.map(|text| Invariants::of(path, text)).transpose()?,
        };
        let table = CsvTable::read_wanted(path, &Wanted::readable())?;
        let bounds: Vec<&str> = invariants.iter().flat_map(Invariants::bound_columns).collect();
        let is_key = |name: &str| !NOISY.contains(&name) && !name.is_empty() && !bounds.contains(&name);
        let keys: Vec<usize> = match keys.is_empty() {
            true => (0..table.columns.len()).filter(|&i| is_key(&table.columns[i])).collect(),
            false => keys.iter().map(|key| table.column(key)).collect::<Result<_>>()?,
        };
        if keys.is_empty() {
            let want = match invariants {
                None => "want one for each level below the total",
                Some(_) => "want those that tell entries apart",
            };
            return Err(Failure::data(path, format!("no column of keys, {want}")));
        }
        if let Some((name, why)) = table.unread().first() {
            return Err(Failure::data(path, format!("column `{name}` {why}")));
        }
        table.column("method")?;
        let file = File::of(&table, keys)?;
        if table.is_empty() {
            return Err(Failure::data(path, "no rows below the header, want one for each count"));
        }
        let (structure, told) = match invariants {
            None => {
                let (nodes, told) = Nodes::read(&file)?;
                (Structure::Tree(nodes), told)
            }
            Some(invariants) => {
                let (entries, told) = Entries::read(&file, &invariants)?;
                (Structure::Table(entries), told)
            }
        };
        let (path, columns) = (path.to_owned(), file.columns());
        let Told { values, integers, law, assumed, scales, method } = told;
        Ok(Self { path, columns, structure, values, integers, law, assumed, scales, method })
    }

    /// The number of counts of which intervals are given: of a tree its nodes, of a table the sums that its invariant leaves open and
    /// its entries.
    pub fn counts(&self) -> usize {
        match &self.structure {
            Structure::Tree(nodes) => nodes.tree.nodes(),
            Structure::Table(entries) => entries.counts(),
        }
    }

    /// The keys of a count; blank below a node's level, and where a sum of a table goes over all values.
    pub fn keys(&self, count: usize) -> Vec<&str> {
        match &self.structure {
            Structure::Tree(nodes) => nodes.keys(count, self.columns.len()),
            Structure::Table(entries) => entries.keys(count),
        }
    }

    /// The number of levels: of a tree its own, of a table one for each kind of sum, and one for its entries.
    pub fn levels(&self) -> usize {
        match &self.structure {
            Structure::Tree(nodes) => nodes.tree.levels(),
            Structure::Table(entries) => entries.levels(),
        }
    }

    /// The level of a count.
    pub fn level(&self, count: usize) -> usize {
        match &self.structure {
            Structure::Tree(nodes) => nodes.tree.level(count),
            Structure::Table(entries) => entries.level(count),
        }
    }

    /// A level in words.
    pub fn level_name(&self, level: usize) -> &str {
        match &self.structure {
            Structure::Tree(_) => level.checked_sub(1).map_or("total", |below| &self.columns[below]),
            Structure::Table(entries) => {
                entries.column(level).map_or("entry", |column| column.map_or("total", |i| &self.columns[i]))
            }
        }
    }

    /// The scale of a level's own noise; `None` of what is known, and of sums.
    pub fn scale(&self, level: usize) -> Option<f64> {
        match &self.structure {
            Structure::Tree(_) => Some(self.scales[level]).filter(|scale| *scale > 0.0),
            Structure::Table(entries) => (level + 1 == entries.levels()).then(|| self.scales[0]),
        }
    }

    /// Whether it is of a table under equations; else of a tree.
    pub fn is_table(&self) -> bool {
        matches!(self.structure, Structure::Table(_))
    }

    /// An entry of a two-way table with fixed margins that has no row, in words; empty if there is none.
    pub fn absent(&self) -> &str {
        match &self.structure {
            Structure::Tree(_) => "",
            Structure::Table(entries) => &entries.absent,
        }
    }

    /// What a row of a table of queries is, and what it is part of: a leaf of a district, an entry of a query.
    pub fn query_words(&self) -> (&'static str, &'static str) {
        match &self.structure {
            Structure::Tree(_) => ("leaf", "district"),
            Structure::Table(_) => ("entry", "query"),
        }
    }

    /// What districts and queries are made of, by their keys: leaves, or entries; each with its place among the values.
    pub(super) fn parts(&self) -> HashMap<Vec<&str>, u32> {
        match &self.structure {
            Structure::Tree(nodes) => {
                let part = |&leaf: &u32| (nodes.keys(leaf as usize, self.columns.len()), leaf);
                nodes.tree.leaves().iter().map(part).collect()
            }
            Structure::Table(entries) => entries.parts(),
        }
    }

    /// What an interval of a count is of.
    pub(super) fn target(&self, count: usize) -> Target {
        match &self.structure {
            Structure::Tree(_) => Target::Count(count),
            Structure::Table(entries) => entries.target(count),
        }
    }

    /// What was done with the noise, in words.
    pub fn method_words(&self) -> String {
        let sign = if self.method.conditions() && self.method.nonnegative() { " >= 0" } else { "" };
        let within = match &self.structure {
            Structure::Table(entries) if self.method.conditions() && !entries.inequalities.is_empty() => {
                " within inequalities"
            }
            _ => "",
        };
        self.method.words() + sign + within
    }

    /// What was released of a target.
    pub(super) fn estimate(&self, target: &Target) -> f64 {
        target.value(|count| self.values[count])
    }

    /// What the core refuses, as an error of the file.
    pub(super) fn refused(&self, error: crate::Error) -> Failure {
        let message = match error {
            crate::Error::AtNode { node: 0, why } => format!("the total {why}"),
            crate::Error::AtNode { node, why } => {
                format!("`{}` {why}", self.keys(node)[..self.level(node)].join(", "))
            }
            // That method has the same law: its errors are drawn by this one here.
            crate::Error::Instead { why, .. } if self.is_pivot() => {
                let other = match self.law.family() {
                    Family::DoubleGeometric => "laplace",
                    _ => "gaussian",
                };
                format!(
                    "{why}; noise this wide is hardly another than {other} noise of the same scale: with `law` = `{other}` it fits"
                )
            }
            error => error.to_string(),
        };
        Failure::data(&self.path, message)
    }

    /// Whether what was released of a node may be the true count, and is not known to be: an integer of at least 0.
    pub(super) fn may_be_true(&self, node: usize) -> bool {
        let is_open = matches!(&self.structure, Structure::Tree(nodes) if !nodes.tree.is_known(node));
        is_open && self.integers && self.values[node] >= 0.0
    }

    /// The noise of every level. What it pays is not looked at.
    pub fn calibration(&self) -> Calibration {
        Calibration { scales: self.scales.clone(), epsilon: 1.0, delta: 0.0 }
    }

    /// The variance of each level's noise; of a known one that of another. Errors: scales out of range.
    pub fn variances(&self) -> crate::Result<Vec<f64>> {
        let of = |scale: f64| match noise(self.law, scale) {
            Some(noise) => Ok(noise.variance()),
            None => Err(crate::Error::parameter("scale", scale, "one that the law can have")),
        };
        self.calibration().laws(of).collect()
    }

    /// Whether the released counts are the counts plus noise under equations alone, whose law does not depend on the counts. On a table
    /// every method moves noise under equations alone, whatever the counts are; on a tree least squares does.
    pub fn is_pivot(&self) -> bool {
        match &self.structure {
            _ if !self.law.is_noise() => false,
            _ if self.method.kind().is_free() => true,
            Structure::Tree(_) => {
                !self.method.nonnegative() && (self.is_linear() || self.method.conditions())
            }
            Structure::Table(entries) => entries.inequalities.is_empty(),
        }
    }

    /// Whether the law of its errors is computed, or drawn as it is, whatever the counts are.
    pub(super) fn has_law(&self) -> bool {
        self.is_pivot() && !self.assumed && !self.method.kind().is_chain()
    }

    /// Whether the release is a linear function of free noise.
    pub fn is_linear(&self) -> bool {
        matches!(self.method.projection(), Some(Projection::L2))
    }

    /// Where the method serves, or what is drawn in its stead.
    pub(super) fn place(&self) -> Place {
        match &self.structure {
            Structure::Tree(_) => Place::Tree { inequalities: false },
            Structure::Table(_) => Place::Table { inequalities: !self.is_pivot() },
        }
    }

    /// The counts that a method is given.
    pub(super) fn on<'a>(&'a self, ground: &'a Ground) -> On<'a> {
        match &self.structure {
            Structure::Tree(nodes) => {
                let region = &ground.region;
                On::Tree(OnTree { hierarchy: &nodes.tree, counts: &ground.counts, region, piece: None })
            }
            Structure::Table(entries) => On::Table(OnTable {
                invariant: &entries.invariant,
                inequalities: &ground.inequalities,
                region: &ground.region,
                counts: &ground.counts,
                known: &entries.known,
            }),
        }
    }
}

/// Counts on which a method is repeated; of a table with inequalities around them.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) counts: Arc<[i64]>,
    pub(super) inequalities: Inequalities,
    pub(super) region: Region,
}

impl Ground {
    /// Counts without inequalities.
    pub(super) fn free(counts: Vec<i64>) -> Self {
        let (inequalities, region) = (Inequalities::default(), Region::everything());
        Self { counts: counts.into(), inequalities, region }
    }

    /// Counts of a table within inequalities. Errors: counts that do not satisfy them.
    pub(super) fn within(counts: Vec<i64>, inequalities: Inequalities) -> crate::Result<Self> {
        let region = inequalities.around(&counts)?;
        Ok(Self { counts: counts.into(), inequalities, region })
    }
}
