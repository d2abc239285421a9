//! Tables of typed rows: a line for each, or their values by keys down and across.

use super::Table;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// A column of a table with a line for each row: its name, and what stands in it.
pub type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> String);

impl Table {
    /// A line for each row; the first `keys` columns say what it is about.
    pub fn listed<R>(keys: usize, rows: &[R], columns: &[Column<R>]) -> Self {
        let header = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let line = |row: &R| columns.iter().map(|(_, words)| words(row)).collect();
        Self { keys, header, rows: rows.iter().map(line).collect(), errors: Vec::new() }
    }

    /// Adds lines of which only is known what they are about; `other` stands in all other columns.
    pub fn and_lines(mut self, lines: impl IntoIterator<Item = Vec<String>>, other: &str) -> Self {
        for mut line in lines {
            line.resize(self.header.len(), other.to_owned());
            self.rows.push(line);
        }
        self
    }
}

/// Rows by keys down and keys across, each in its order. Rows that the keys do not tell apart stand on lines of their
/// own: a key that was forgotten is seen, and no row is lost.
#[derive(Debug)]
pub struct Pivot<D, A, R> {
    across: BTreeSet<A>,
    lines: BTreeMap<D, Vec<BTreeMap<A, R>>>,
}

impl<D: Ord, A: Ord + Clone, R> Pivot<D, A, R> {
    /// A table of rows by their keys down and across.
    pub fn of(rows: impl IntoIterator<Item = (D, A, R)>) -> Self {
        let mut pivot = Self { across: BTreeSet::new(), lines: BTreeMap::new() };
        for (down, across, row) in rows {
            pivot.across.insert(across.clone());
            let lines = pivot.lines.entry(down).or_default();
            match lines.iter_mut().find(|line| !line.contains_key(&across)) {
                Some(line) => drop(line.insert(across, row)),
                None => lines.push(BTreeMap::from([(across, row)])),
            }
        }
        pivot
    }

    /// A table of rows by their keys, with keys that are there without a row, too.
    pub fn and_keys(
        mut self,
        down: impl IntoIterator<Item = D>,
        across: impl IntoIterator<Item = A>,
    ) -> Self {
        for down in down {
            let lines = self.lines.entry(down).or_default();
            if lines.is_empty() {
                lines.push(BTreeMap::new());
            }
        }
        self.across.extend(across);
        self
    }

    /// The keys across.
    pub fn across(&self) -> &BTreeSet<A> {
        &self.across
    }

    /// The lines: what they are about, and their rows by key across.
    pub fn lines(&self) -> impl Iterator<Item = (&D, &BTreeMap<A, R>)> {
        self.lines.iter().flat_map(|(down, lines)| lines.iter().map(move |line| (down, line)))
    }

    /// The table.
    ///
    /// - `names`: of the columns that say what a line is about; `words`: what stands in them.
    /// - `head`: the columns of a key across; `cell`: what stands in them, of a line with its rows by key across.
    pub fn table<const K: usize, const N: usize>(
        &self,
        names: [&str; K],
        words: impl Fn(&D) -> [String; K],
        head: impl Fn(&A) -> [String; N],
        cell: impl Fn(&D, &A, &BTreeMap<A, R>) -> [String; N],
    ) -> Table {
        let header = names.map(str::to_owned).into_iter().chain(self.across.iter().flat_map(head));
        let line = |(down, line)| {
            let cells = self.across.iter().flat_map(|across| cell(down, across, line));
            words(down).into_iter().chain(cells).collect()
        };
        Table::new(K, header, self.lines().map(line).collect())
    }
}

/// A number as a key: in its order, to the last bit.
#[derive(Debug, Clone, Copy)]
pub struct Number(pub f64);

impl Ord for Number {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

/// Things of one key together, in the order in which they come.
pub fn grouped<T, K: Eq + Hash>(all: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for one in all {
        let place = *places.entry(key(&one)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(one);
    }
    groups
}

/// Numbers in order, each once.
pub fn distinct(numbers: impl IntoIterator<Item = f64>) -> Vec<f64> {
    numbers.into_iter().map(Number).collect::<BTreeSet<_>>().into_iter().map(|Number(x)| x).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are in order, what is not there is asked for, and what keys do not tell apart is seen.
    #[test]
    fn no_row_of_a_pivot_is_lost() {
        let rows = [(2.0, "b", 1), (1.0, "a", 2), (2.0, "b", 3), (2.0, "a", 4)];
        let rows = rows.map(|(down, across, row)| (Number(down), across, row));
        let table = Pivot::of(rows).and_keys([Number(0.5)], ["c"]).table(
            ["x"],
            |down| [down.0.to_string()],
            |across| [(*across).to_owned()],
            |_, across, line| [line.get(across).map_or("-".into(), i32::to_string)],
        );
        assert_eq!((table.keys, table.header), (1, ["x", "a", "b", "c"].map(str::to_owned).into()));
        let want = [["0.5", "-", "-", "-"], ["1", "2", "-", "-"], ["2", "4", "1", "-"], ["2", "-", "3", "-"]];
        assert_eq!(table.rows, want);
    }
}
