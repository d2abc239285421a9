//! Pairs of tables that differ by one change and keep the invariant: those that are likely to pay most, and random ones.

mod tables;
mod trees;

use crate::grid::Cell;
use crate::input::Subject;
use crate::law::DoubleGeometric;
use crate::privacy::ChangeKind;
use crate::rng::{Role, Stream, TaskKey, below, stream};

/// Pairs of a kind at most.
const PAIRS: usize = 4;
/// Random changes that are tried for one that is possible.
const TRIES: usize = 64;

/// A change, sparse: counts by number, and what each changes by.
type Step = Vec<(usize, i64)>;

/// Two tables that differ by one change.
#[derive(Debug)]
pub(super) struct Pair {
    /// The kind of the change.
    pub(super) kind: ChangeKind,
    /// The tables by number.
    pub(super) tables: [usize; 2],
    /// Counts that differ.
    pub(super) changed: Vec<usize>,
    /// What differs, in words.
    pub(super) words: String,
}

/// Pairs of tables.
#[derive(Debug)]
pub(super) struct Neighbours {
    /// The tables, each once; the first is the confidential one.
    pub(super) tables: Vec<Subject>,
    /// The pairs.
    pub(super) pairs: Vec<Pair>,
}

/// Collects pairs from tables.
struct Collector<'a> {
    subject: &'a Subject,
    found: Neighbours,
}

impl Collector<'_> {
    /// Whether a kind has pairs enough.
    fn is_full(&self, kind: ChangeKind) -> bool {
        self.found.pairs.iter().filter(|pair| pair.kind == kind).count() >= PAIRS
    }

    /// The number of a table, which is added if it is new.
    fn table(&mut self, counts: Vec<i64>) -> usize {
        let known = self.found.tables.iter().position(|table| table.counts() == counts);
        known.unwrap_or_else(|| {
            self.found.tables.push(self.subject.with_counts(counts));
            self.found.tables.len() - 1
        })
    }

    /// Adds the pair of a table and the one that a step leads to or, if there is none, that the opposite step leads to. Tables of counts:
    /// none is below 0, and all keep the inequalities. Tells whether it could.
    fn add(&mut self, kind: ChangeKind, from: &[i64], step: &Step) -> bool {
        if self.is_full(kind) {
            return true;
        }
        let given = self.subject.counts();
        let is_possible = |counts: &[i64]| {
            let moved: Vec<i64> = counts.iter().zip(given).map(|(new, old)| new - old).collect();
            let none_below = counts.iter().zip(given).all(|(&new, &old)| new >= old.min(0));
            none_below && self.subject.region().contains(&moved)
        };
        let to = [1, -1].into_iter().find_map(|sign| {
            let mut to = from.to_vec();
            step.iter().for_each(|&(i, c)| to[i] += sign * c);
            is_possible(&to).then_some(to)
        });
        let Some(to) = to.filter(|_| is_possible(from)) else { return false };
        let changed: Vec<usize> = step.iter().map(|&(i, _)| i).collect();
        let shown = changed.iter().filter(|&&i| self.subject.is_entry(i)).take(SHOWN + 1);
        let mut words: Vec<String> =
            shown.map(|&i| format!("{}: {} -> {}", self.subject.entry_name(i), from[i], to[i])).collect();
        if words.len() > SHOWN {
            words[SHOWN] = "...".into();
        }
        let tables = [self.table(from.to_vec()), self.table(to)];
        let is_new = self.found.pairs.iter().all(|pair| pair.tables != tables);
        if is_new {
            self.found.pairs.push(Pair { kind, tables, changed, words: words.join(", ") });
        }
        is_new
    }

    /// Adds a random change if one of some tries is possible.
    fn add_random(&mut self, kind: ChangeKind, from: &[i64], mut step: impl FnMut() -> Option<Step>) {
        for step in (0..TRIES).filter_map(|_| step()) {
            if self.add(kind, from, &step) {
                break;
            }
        }
    }
}

/// Counts that are named of a pair.
const SHOWN: usize = 4;

/// The pairs of a cell. `records`: of the smallest change, where it is neither a record added nor one moved and its size is known.
pub(super) fn of(cell: &Cell, subject: &Subject, records: Option<u64>) -> Neighbours {
    let rng =
        stream(TaskKey { seed: cell.at.seed, cell: cell.streams, replicate: u64::MAX, role: Role::Start });
    let found = Neighbours { tables: vec![subject.clone()], pairs: Vec::new() };
    let mut collector = Collector { subject, found };
    match subject {
        Subject::Hierarchy(table) => trees::collect(&mut collector, cell, table, rng),
        Subject::Table(table) => tables::collect(&mut collector, cell, table, records, rng),
    }
    collector.found
}

/// The law of double geometric noise of a scale, where a cell has it and its method, or what a mechanism says of it, may pay for
/// inequalities.
fn paying(cell: &Cell) -> Option<Vec<DoubleGeometric>> {
    let pays = cell.at.method.conditions() || cell.pays.is_some();
    let is_geometric = cell.at.law.family() == crate::catalogue::Family::DoubleGeometric;
    (pays && is_geometric)
        .then(|| cell.calibration.laws(DoubleGeometric::new).collect::<crate::Result<_>>().ok())?
}

fn pick<'a, T>(rng: &mut Stream, from: &'a [T]) -> Option<&'a T> {
    (!from.is_empty()).then(|| &from[below(rng, from.len() as u64) as usize])
}
