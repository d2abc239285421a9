//! What is compared of two runs: figures of their cells, each a sample of which sums are kept.

use crate::diagnostics::Moments;
use crate::study::cells::{CellRow, FailureRow};
use crate::table::Key;
use std::collections::{BTreeMap, HashMap};

/// Figures of a run, by cell, place in it and metric.
#[derive(Debug, Default)]
pub struct Figures {
    /// Cells in words.
    pub cells: HashMap<Key, String>,
    data: HashMap<Key, String>,
    /// Errors of cells that failed.
    pub failed: BTreeMap<Key, String>,
    /// The samples; places are numbered, and in words beside it.
    pub samples: BTreeMap<(Key, u64, &'static str), (String, Sample)>,
}

/// The values of a figure.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Mean and spread.
    pub moments: Moments,
    /// A hash of the values' bits in order: equal hashes, equal values.
    pub bits: u64,
    /// Whether no chance had a part in it.
    pub computed: bool,
    /// What margins are shares of, if not its mean.
    pub unit: Option<f64>,
}

impl Sample {
    /// A sample of values that are drawn, replicate by replicate.
    pub fn drawn() -> Self {
        Self { moments: Moments::default(), bits: 0xcbf2_9ce4_8422_2325, computed: false, unit: None }
    }

    /// The sample with a unit of its margins.
    pub fn in_units_of(self, unit: f64) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// A sample of a value that is computed.
    pub fn computed() -> Self {
        Self { computed: true, ..Self::drawn() }
    }

    fn push(&mut self, value: f64) {
        self.moments.push(value);
        let mixed = (self.bits ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.bits = mixed ^ (mixed >> 29);
    }
}

impl Figures {
    /// The data set of every cell that has one with a name.
    pub fn data(&self) -> HashMap<Key, String> {
        self.data.clone()
    }

    /// No figures yet of a run with cells that are named like this, some of which failed.
    pub fn of(cells: HashMap<Key, String>, failed: Vec<FailureRow>) -> Self {
        let failed = failed.into_iter().map(|row| (row.cell, row.error)).collect();
        Self { cells, failed, ..Self::default() }
    }

    /// No figures yet of a run with these cells, some of which failed.
    pub fn new(cells: HashMap<Key, CellRow>, failed: Vec<FailureRow>) -> Self {
        let words = |row: &CellRow| {
            let options = if row.options.is_empty() { String::new() } else { format!(" {}", row.options) };
            let data = if row.data.is_empty() { String::new() } else { format!("{}: ", row.data) };
            format!("{data}{}{options} {} epsilon {}", row.method.name(), row.law.name(), row.epsilon)
        };
        // The seeds of one cell are compared together.
        let stands = |row: &FailureRow| cells.get(&row.cell).is_none_or(|cell| cell.pooled.is_none());
        let named = cells.iter().filter(|(_, row)| !row.data.is_empty());
        let data = named.map(|(key, row)| (*key, row.data.clone())).collect();
        let names = cells.iter().map(|(key, row)| (*key, words(row))).collect();
        Self { data, ..Self::of(names, failed.into_iter().filter(stands).collect()) }
    }

    /// Adds a value, unless the cell failed: of several seeds one may have; `place`: its number in the cell, and in words.
    pub fn add(
        &mut self,
        cell: Key,
        number: u64,
        place: impl Fn() -> String,
        metric: &'static str,
        value: f64,
        empty: impl FnOnce() -> Sample,
    ) {
        if self.failed.contains_key(&cell) {
            return;
        }
        let sample = self.samples.entry((cell, number, metric)).or_insert_with(|| (place(), empty()));
        sample.1.push(value);
    }

    /// A cell in words.
    pub fn words(&self, cell: Key) -> &str {
        self.cells.get(&cell).map_or("", String::as_str)
    }
}
