//! The areas and the tables in them.

use super::config::CubeConfig;
use crate::cube::{Domain, Marginal, Query, Table};
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::input::{CsvTable, LeafList, Wanted, joined, whole_counts};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Totals beyond this are refused.
const MOST: i64 = 1 << 53;

/// The areas, and what is in them.
#[derive(Debug)]
pub(super) struct Areas {
    pub(super) list: LeafList,
    pub(super) domain: Domain,
    /// The queries of the config on the domain.
    pub(super) queries: Vec<Marginal>,
    /// By query, by cell the answer that it is counted in; beyond all where it is in none.
    pub(super) maps: Vec<Vec<u32>>,
    /// By area, its total.
    pub(super) totals: Vec<i64>,
    /// The cells of leaves that are not 0, ascending.
    pub(super) cells: Vec<Filled>,
    /// SHA-256 of the tree and of the cells, in hexadecimal.
    pub(super) digest: String,
}

/// A cell of a leaf that is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Filled {
    pub(super) leaf: u32,
    /// In the domain.
    pub(super) place: u32,
    pub(super) count: i64,
}

impl Areas {
    /// Reads the data of a config.
    ///
    /// Refused, with file and row: a missing column; areas that are not in the list; categories that are none; counts that are none, or
    /// not 0 in cells that have to be; a cell twice; a total beyond 2^53.
    pub(super) fn read(config: &CubeConfig) -> Result<Self> {
        let (data, tables) = (&config.data, &config.data.tables);
        let list = LeafList::read(&data.areas, &tables.levels[1..], 0)?;
        let queries: Vec<Query> = tables.queries.iter().map(|asked| asked.query.clone()).collect();
        let refused = |e: crate::Error| Failure::Usage(format!("{}: {e}", config.path.display()));
        let domain = Domain::new(&tables.sizes(), &tables.zeros, &queries).map_err(refused)?;
        let queries: Vec<Marginal> = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let maps = queries.iter().map(|query| query.map(&domain)).collect();
        let attributes = tables.attributes.iter().map(|(name, _)| name.as_str());
        let columns = tables.levels[1..].iter().map(String::as_str).chain(attributes);
        let table = CsvTable::read_wanted(&data.counts, &Wanted::of(columns, &data.count))?;
        let cells = cells(config, &list, &domain, &table)?;
        let mut totals = vec![0i64; list.tree.nodes()];
        for cell in &cells {
            let own = &mut totals[cell.leaf as usize];
            *own = own.saturating_add(cell.count);
        }
        let total = totals.iter().fold(0i64, |sum, total| sum.saturating_add(*total));
        if total > MOST {
            return Err(Failure::data(&data.counts, format!("the counts sum to {total}, the limit is 2^53")));
        }
        list.tree.sum_up(&mut totals);
        let mut hash = Sha256::new();
        hash.update(&list.sha256);
        for cell in &cells {
            hash.update(cell.leaf.to_le_bytes());
            hash.update(cell.place.to_le_bytes());
            hash.update(cell.count.to_le_bytes());
        }
        Ok(Self { list, domain, queries, maps, totals, cells, digest: hex(hash.finalize()) })
    }

    /// An area in words.
    pub(super) fn words(&self, v: usize) -> String {
        let own = joined(self.list.keys(v));
        if own.is_empty() { "the whole".to_owned() } else { own }
    }

    /// Adds what is in an area to the answers of its queries; those that are empty are left so.
    pub(super) fn answer(&self, v: usize, answers: &mut [Vec<f64>]) {
        self.answer_of(v, &self.cells, answers);
    }

    /// Adds what is in an area of other cells, ascending, to the answers; those that are empty are left so.
    pub(super) fn answer_of(&self, v: usize, cells: &[Filled], answers: &mut [Vec<f64>]) {
        let tree = &self.list.tree;
        let (mut first, mut last) = (v, v);
        while !tree.is_leaf(first) {
            (first, last) = (tree.children(first).start, tree.children(last).end - 1);
        }
        let from = cells.partition_point(|cell| (cell.leaf as usize) < first);
        let to = cells.partition_point(|cell| cell.leaf as usize <= last);
        self.count(cells[from..to].iter().map(|cell| (cell.place, cell.count)), answers);
    }

    /// By query, what a table's answers have more than those of an area of these cells.
    pub(super) fn errors(&self, v: usize, table: &Table, cells: &[Filled], errors: &mut Vec<Vec<f64>>) {
        errors.resize(self.queries.len(), Vec::new());
        for (own, query) in errors.iter_mut().zip(&self.queries) {
            own.clear();
            own.resize(query.answers(), 0.0);
        }
        self.answer_of(v, cells, errors);
        errors.iter_mut().flatten().for_each(|answer| *answer = -*answer);
        self.count(table.places.iter().copied().zip(table.counts.iter().copied()), errors);
    }

    /// Adds cells, by their places and counts, to the answers of the queries; those that are empty are left so.
    pub(super) fn count(&self, cells: impl Iterator<Item = (u32, i64)> + Clone, answers: &mut [Vec<f64>]) {
        for (map, own) in self.maps.iter().zip(answers).filter(|(_, own)| !own.is_empty()) {
            for (place, count) in cells.clone() {
                if let Some(answer) = own.get_mut(map[place as usize] as usize) {
                    *answer += count as f64;
                }
            }
        }
    }
}

/// The cells that are not 0, ascending.
fn cells(config: &CubeConfig, list: &LeafList, domain: &Domain, table: &CsvTable) -> Result<Vec<Filled>> {
    let attributes = &config.data.tables.attributes;
    let leaf = leaves(config, list, table)?;
    let places: Vec<usize> = attributes.iter().map(|(name, _)| table.column(name)).collect::<Result<_>>()?;
    let counts = whole_counts(table, table.column(&config.data.count)?)?;
    let numbers = |(_, categories): &(String, Vec<String>)| -> HashMap<String, u32> {
        categories.iter().cloned().zip(0..).collect()
    };
    let known: Vec<HashMap<String, u32>> = attributes.iter().map(numbers).collect();
    let mut cells: Vec<(Filled, usize)> = Vec::with_capacity(counts.len());
    let mut own = Vec::with_capacity(places.len());
    for (row, &count) in counts.iter().enumerate() {
        own.clear();
        for ((&place, known), (name, _)) in places.iter().zip(&known).zip(attributes) {
            let text = table.text(row, place);
            let refused = || table.bad_row(row, format!("`{name}` has no category `{text}`"));
            own.push(*known.get(text).ok_or_else(refused)?);
        }
        let leaf = leaf(row)?;
        match domain.place(&own) {
            None if count == 0 => {}
            None => {
                let message = format!("a count of {count} in a cell that has to be 0 (data.zeros)");
                return Err(table.bad_row(row, message));
            }
            Some(place) => cells.push((Filled { leaf, place: place as u32, count }, row)),
        }
    }
    cells.sort_unstable_by_key(|(cell, row)| (cell.leaf, cell.place, *row));
    let twice = cells.windows(2).filter(|pair| {
        let [(one, _), (other, _)] = pair else { return false };
        (one.leaf, one.place) == (other.leaf, other.place)
    });
    // The first row that says again what a row before it said.
    if let Some([(_, first), (_, row)]) = twice.min_by_key(|pair| pair[1].1) {
        let message = format!("its cell stands there twice (first on {})", table.place(*first));
        return Err(table.bad_row(*row, message));
    }
    Ok(cells.into_iter().map(|(cell, _)| cell).filter(|cell| cell.count != 0).collect())
}

/// By row of the counts its leaf: by the columns of all levels, or by that of the last alone.
fn leaves<'a>(
    config: &'a CubeConfig,
    list: &'a LeafList,
    table: &'a CsvTable,
) -> Result<Box<dyn Fn(usize) -> Result<u32> + 'a>> {
    let levels = &config.data.tables.levels[1..];
    if let Ok(finder) = list.finder(table, levels) {
        return Ok(Box::new(move |row| finder.leaf(row)));
    }
    let last = levels.last().expect("there are levels");
    let place = table.column(last)?;
    let mut named: HashMap<&str, Option<u32>> = HashMap::new();
    for &leaf in list.tree.leaves() {
        named.entry(list.name(leaf as usize)).and_modify(|known| *known = None).or_insert(Some(leaf));
    }
    let file = config.data.areas.display();
    Ok(Box::new(move |row| {
        let name = table.text(row, place);
        let (what, want) = match named.get(name) {
            Some(Some(leaf)) => return Ok(*leaf),
            Some(None) => ("is in several areas of", ": want columns of all levels"),
            None => ("is not in", ""),
        };
        Err(table.bad_row(row, format!("`{last}` = `{name}` {what} {file}{want}")))
    }))
}
