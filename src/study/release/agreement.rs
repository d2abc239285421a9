//! Whether two methods with the same noise release the same law.

use super::config::recorded;
use super::rows::{Draw, Rows};
use crate::diagnostics::Agreement;
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::pace;
use crate::page::{Column, Page};
use crate::rng::{Role, TaskKey, sign, stream};
use crate::study::tell::records::Named;
use crate::table;
use crate::table::Key;
use std::collections::HashMap;

table! {
    /// Releases of a table: one row per pair of cells with the same noise that move it or condition it and keep no
    /// records; of several master seeds all together. Compared are the first releases of both, at most 100,000 and
    /// fewer where a release has many statistics.
    pub struct AgreementRow in "agreement.parquet" {
        /// the first cell, in `cells.parquet`
        cell: Key;
        /// the second cell
        other_cell: Key;
        /// its method with its options
        other: String;
        /// compared releases of the first
        draws: u64;
        /// of the second
        other_draws: u64;
        /// statistics: errors of up to 256 entries, up to 64 sums over all entries with random signs, L1 and L2 norm of
        /// all errors
        comparisons: u64;
        /// the largest two-sample Kolmogorov-Smirnov distance
        distance: f64, "probability";
        /// `e exp(-2 distance² n m/(n + m))` times the comparisons, at most 1: an approximate bound (values are
        /// compared to 1e-4)
        p: f64, "probability";
    }
}

/// Entries of the table that are compared one by one, evenly spaced if there are more.
const ENTRIES: usize = 256;
/// Sums over all entries with random signs: four for each entry, at most so many.
const DIRECTIONS: u64 = 64;
/// Values of all statistics that are kept of a cell, and releases at least and at most.
const VALUES: usize = 2_000_000;
const RELEASES: (usize, usize) = (1_000, 100_000);

/// Statistics of releases, each a sample.
#[derive(Debug)]
pub struct Statistics {
    /// Signs by direction and entry: a function of the seed.
    directions: Vec<Vec<f64>>,
}

impl Statistics {
    /// For the subject of a plan.
    pub fn new(plan: &Plan) -> Self {
        let entries = plan.subject.nodes();
        let direction = |replicate| {
            let key = TaskKey { seed: plan.config.seeds[0], cell: 0, replicate, role: Role::Noise };
            let mut rng = stream(key);
            (0..entries).map(|_| sign(&mut rng)).collect()
        };
        Self { directions: (0..DIRECTIONS.min(4 * entries as u64)).map(direction).collect() }
    }

    /// Adds a release of a table to the samples: errors of entries, sums over all entries with random signs, and the L1 and L2
    /// norms of all errors, which see a scale that is wrong.
    fn add(&self, draw: Draw, samples: &mut Vec<Vec<f64>>) {
        let entries = draw.errors.len();
        let chosen = entries.min(ENTRIES);
        let single = (0..chosen).map(|k| draw.errors[k * entries / chosen]);
        let along = |signs: &Vec<f64>| draw.errors.iter().zip(signs).map(|(z, sign)| z * sign).sum::<f64>();
        let norm = |of: fn(&f64) -> f64| draw.errors.iter().map(of).sum::<f64>();
        let norms = [norm(|z| z.abs()), norm(|z| z * z)];
        let all = single.chain(self.directions.iter().map(along)).chain(norms);
        samples.resize(chosen + self.directions.len() + 2, Vec::new());
        samples.iter_mut().zip(all).for_each(|(sample, value)| sample.push(value));
    }

    /// Sorted statistics of releases of any kind: of a hierarchy the L1 error, the L2 error and the bias of every level.
    pub fn of(&self, rows: &Rows) -> Vec<Vec<f64>> {
        if !rows.draws.is_empty() {
            let mut samples = Vec::new();
            rows.draws.iter().for_each(|draw| self.add(draw, &mut samples));
            return samples.into_iter().map(|sample| sorted(sample.into_iter())).collect();
        }
        let levels = rows.errors.iter().map(|row| row.level).max().unwrap_or(0);
        let mut by_level = vec![Vec::new(); levels as usize];
        rows.errors.iter().for_each(|row| by_level[row.level as usize - 1].push(row));
        let mut statistics = Vec::new();
        for here in by_level {
            statistics.push(sorted(here.iter().map(|row| row.l1)));
            statistics.push(sorted(here.iter().map(|row| row.l2)));
            statistics.push(sorted(here.iter().map(|row| row.bias)));
        }
        statistics
    }
}

/// Rounding of values and sums is no difference of laws; the offset keeps common fractions off the edges.
pub fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.map(|x| libm::rint(x * 1e4 + 0.137) * 1e-4).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Cells with the same noise: how many are to come, and the sorted statistics of those that are done.
#[derive(Default)]
struct Group {
    left: usize,
    done: Vec<(usize, Vec<Vec<f64>>)>,
}

/// Compares the cells of a plan as they are drawn. What is kept of a cell is forgotten with the last cell of its noise.
pub(super) struct Comparisons {
    statistics: Statistics,
    /// By cell: its noise, if it has others beside it.
    noise: Vec<Option<usize>>,
    /// By noise.
    groups: Vec<Group>,
    /// What the cell that is drawn has come to.
    samples: Vec<Vec<f64>>,
    rows: Vec<(usize, usize, AgreementRow)>,
}

impl Comparisons {
    pub(super) fn new(plan: &Plan) -> Self {
        // Chains that record have no independent releases, and free noise is of another law.
        // Of several master seeds all are compared together.
        let compared = |cell: &Cell| recorded(cell) == 0 && cell.at.method.keeps_equations() && !cell.seeded;
        let mut members: HashMap<_, Vec<usize>> = HashMap::new();
        for (i, cell) in plan.cells.iter().enumerate().filter(|(_, cell)| compared(cell)) {
            members.entry(cell.noise()).or_default().push(i);
        }
        let mut comparisons = Self {
            statistics: Statistics::new(plan),
            noise: vec![None; plan.cells.len()],
            groups: Vec::new(),
            samples: Vec::new(),
            rows: Vec::new(),
        };
        for cells in members.into_values().filter(|cells| cells.len() > 1) {
            for &cell in &cells {
                comparisons.noise[cell] = Some(comparisons.groups.len());
            }
            comparisons.groups.push(Group { left: cells.len(), ..Group::default() });
        }
        comparisons
    }

    /// Adds a release of the cell that is drawn.
    pub(super) fn push(&mut self, cell: usize, draw: Draw) {
        if self.noise[cell].is_none() {
            return;
        }
        let most = (VALUES / self.samples.len().max(1)).clamp(RELEASES.0, RELEASES.1);
        if self.samples.first().map_or(0, Vec::len) < most {
            self.statistics.add(draw, &mut self.samples);
        }
    }

    /// The end of a cell of which nothing is kept.
    pub(super) fn forget(&mut self, plan: &Plan, cell: usize) {
        self.samples.iter_mut().for_each(Vec::clear);
        self.close(plan, cell);
    }

    /// The end of a cell.
    pub(super) fn close(&mut self, plan: &Plan, cell: usize) {
        let Some(group) = self.noise[cell] else { return };
        let samples = std::mem::take(&mut self.samples);
        let Group { left, done } = &mut self.groups[group];
        *left -= 1;
        if samples.first().is_some_and(|sample| sample.len() > 1) {
            let sorted: Vec<Vec<f64>> =
                samples.into_iter().map(|sample| sorted(sample.into_iter())).collect();
            for (i, (first, theirs)) in done.iter().enumerate() {
                pace::at(i as f64, done.len() as f64);
                let Agreement { draws, comparisons, distance, p } = Agreement::of(theirs, &sorted);
                let other = &plan.cells[cell];
                let row = AgreementRow {
                    cell: Key(plan.cells[*first].key),
                    other_cell: Key(other.key),
                    other: other.at.method.words(),
                    draws: draws.0,
                    other_draws: draws.1,
                    comparisons,
                    distance,
                    p,
                };
                self.rows.push((cell, *first, row));
            }
            done.push((cell, sorted));
        }
        if *left == 0 {
            done.clear();
        }
    }

    /// All rows: by the second cell, then by the first.
    pub(super) fn rows(mut self) -> Vec<AgreementRow> {
        self.rows.sort_by_key(|(second, first, _)| (*second, *first));
        self.rows.into_iter().map(|(.., row)| row).collect()
    }
}

/// Below this a difference is called one.
const LEVEL: f64 = 1e-3;

/// A line for each pair.
pub(super) fn pages(run: &Named) -> Result<Page> {
    let mut rows: Vec<AgreementRow> = run.run.all()?;
    if rows.is_empty() {
        return Ok(Page::default());
    }
    let cells: HashMap<Key, _> = run.printed.iter().map(|cell| (cell.cell, cell)).collect();
    rows.retain(|row| cells.contains_key(&row.cell));
    let p_text = |row: &AgreementRow| {
        let AgreementRow { draws, other_draws, comparisons, distance, p, .. } = *row;
        Agreement { draws: (draws, other_draws), comparisons, distance, p }.p_text()
    };
    let columns: &[Column<AgreementRow>] = &[
        ("noise", &|row| cells[&row.cell].noise_words()),
        ("method", &|row| cells[&row.cell].method_words()),
        ("other method", &|row| row.other.clone()),
        ("draws", &|row| format!("{}, {}", row.draws, row.other_draws)),
        ("comparisons", &|row| row.comparisons.to_string()),
        ("largest KS", &|row| format!("{:.5}", row.distance)),
        ("p", &p_text),
        ("the same law?", &|row| if row.p < LEVEL { "no" } else { "no difference seen" }.into()),
    ];
    let page = Page::headed(format!("{}: methods with the same noise", run.name));
    Ok(page.listed(3, &rows, columns).text(
        "Two-sample Kolmogorov-Smirnov distances over entries, sums with random signs and the norms of all errors; p is an \
           approximate bound for all of them together.",
    ))
}
