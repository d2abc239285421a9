//! The areas and the tables in them.

use super::config::CubeConfig;
use crate::cube::{Domain, Query};
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::input::{CsvTable, LeafList, Wanted, whole_counts};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};

/// Totals beyond this are refused.
const MOST: i64 = 1 << 53;

/// The areas, and what is in them.
#[derive(Debug)]
pub(super) struct Areas {
    pub(super) list: LeafList,
    pub(super) domain: Domain,
    /// By area, its total.
    pub(super) totals: Vec<i64>,
    /// SHA-256 of the tree and of the cells, in hexadecimal.
    pub(super) digest: String,
    /// Cells that are not 0.
    pub(super) cells: usize,
}

impl Areas {
    /// Reads the data of a config.
    ///
    /// Refused, with file and row: a missing column; areas that are not in the list; categories that are none; counts that are none, or
    /// not 0 in cells that have to be; a cell twice; a total beyond 2^53.
    pub(super) fn read(config: &CubeConfig) -> Result<Self> {
        let data = &config.data;
        let list = LeafList::read(&data.areas, &data.levels[1..], 0)?;
        let sizes: Vec<u32> = data.attributes.iter().map(|(_, categories)| categories.len() as u32).collect();
        let queries: Vec<Query> = config.queries.iter().map(|asked| asked.query.clone()).collect();
        let refused = |e: crate::Error| Failure::Usage(format!("{}: {e}", config.path.display()));
        let domain = Domain::new(&sizes, &data.zeros, &queries).map_err(refused)?;
        let attributes = data.attributes.iter().map(|(name, _)| name.as_str());
        let columns = data.levels[1..].iter().map(String::as_str).chain(attributes);
        let table = CsvTable::read_wanted(&data.counts, &Wanted::of(columns, &data.count))?;
        let leaf = leaves(config, &list, &table)?;
        let places: Vec<usize> =
            data.attributes.iter().map(|(name, _)| table.column(name)).collect::<Result<_>>()?;
        let counts = whole_counts(&table, table.column(&data.count)?)?;
        let numbers = |(_, categories): &(String, Vec<String>)| -> HashMap<String, u32> {
            categories.iter().cloned().zip(0..).collect()
        };
        let known: Vec<HashMap<String, u32>> = data.attributes.iter().map(numbers).collect();
        let mut cells: BTreeMap<(u32, u32), (i64, usize)> = BTreeMap::new();
        let (mut totals, mut total) = (vec![0i64; list.tree.nodes()], 0i64);
        for (row, &count) in counts.iter().enumerate() {
            let mut cell = Vec::with_capacity(places.len());
            for ((&place, known), (name, _)) in places.iter().zip(&known).zip(&data.attributes) {
                let text = table.text(row, place);
                let refused = || table.bad_row(row, format!("`{name}` has no category `{text}`"));
                cell.push(*known.get(text).ok_or_else(refused)?);
            }
            let area = leaf(row)?;
            match domain.place(&cell) {
                None if count == 0 => continue,
                None => {
                    let message = format!("a count of {count} in a cell that has to be 0 (data.zeros)");
                    return Err(table.bad_row(row, message));
                }
                Some(place) => {
                    if let Some((_, first)) = cells.insert((area, place as u32), (count, row)) {
                        let message =
                            format!("its cell stands there twice (first on {})", table.place(first));
                        return Err(table.bad_row(row, message));
                    }
                }
            }
            totals[area as usize] += count;
            total = total.saturating_add(count);
        }
        if total > MOST {
            return Err(Failure::data(&data.counts, format!("the counts sum to {total}, the limit is 2^53")));
        }
        drop(leaf);
        list.tree.sum_up(&mut totals);
        let mut hash = Sha256::new();
        hash.update(&list.sha256);
        let mut filled = 0;
        for ((area, place), (count, _)) in cells.iter().filter(|(_, (count, _))| *count != 0) {
            filled += 1;
            hash.update(area.to_le_bytes());
            hash.update(place.to_le_bytes());
            hash.update(count.to_le_bytes());
        }
        Ok(Self { list, domain, totals, digest: hex(hash.finalize()), cells: filled })
    }
}

/// By row of the counts its leaf: by the columns of all levels, or by that of the last alone.
fn leaves<'a>(
    config: &'a CubeConfig,
    list: &'a LeafList,
    table: &'a CsvTable,
) -> Result<impl Fn(usize) -> Result<u32> + 'a> {
    let levels = &config.data.levels[1..];
    let all = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>();
    let last = levels.last().expect("there are levels");
    let places = match all {
        Ok(places) => places,
        Err(_) => vec![table.column(last)?],
    };
    let children = list.children();
    let mut named: HashMap<&str, Option<u32>> = HashMap::new();
    if places.len() < levels.len() {
        for &leaf in list.tree.leaves() {
            named.entry(list.name(leaf as usize)).and_modify(|known| *known = None).or_insert(Some(leaf));
        }
    }
    let file = config.data.areas.display();
    Ok(move |row: usize| {
        if places.len() < levels.len() {
            let name = table.text(row, places[0]);
            return match named.get(name) {
                Some(Some(leaf)) => Ok(*leaf),
                Some(None) => {
                    let message = format!(
                        "`{last}` = `{name}` is in several areas of {file}: want columns of all levels"
                    );
                    Err(table.bad_row(row, message))
                }
                None => Err(table.bad_row(row, format!("`{last}` = `{name}` is not in {file}"))),
            };
        }
        let mut node = 0u32;
        for (&place, level) in places.iter().zip(levels) {
            let name = table.text(row, place);
            let refused = || table.bad_row(row, format!("`{level}` = `{name}` is not in {file}"));
            node = *children.get(&(node, name)).ok_or_else(refused)?;
        }
        Ok(node)
    })
}
