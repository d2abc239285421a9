//! A hierarchy and its counts from one table with a row per leaf.

use super::CsvTable;
use super::column::Column;
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::invariant::Hierarchy;
use hashbrown::{DefaultHashBuilder, HashTable};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::Arc;

/// Confidential counts on a hierarchy.
#[derive(Debug, Clone)]
pub struct HierarchyTable {
    /// The tree; all leaves lie on the last level.
    pub hierarchy: Hierarchy,
    /// The count of every node; clones share them.
    pub counts: Arc<[i64]>,
    /// SHA-256 of the tree's shape and the leaves' counts, in hexadecimal.
    pub digest: String,
}

impl HierarchyTable {
    /// Of a table with one row per leaf.
    ///
    /// - `levels`: the columns that name a node on each level below the root, coarse to fine. A node is
    ///   its whole path, so that equal names under different parents are different nodes.
    /// - `count`: the column of the leaves' counts.
    ///
    /// Refused, with file and line: a missing column, an empty name (a leaf without a parent), a
    /// duplicated leaf, a count that is not an integer >= 0, no row at all, a total beyond 2^53.
    /// - `filter`: rows to take: column and values.
    pub fn from_csv(
        table: CsvTable,
        levels: &[String],
        count: &str,
        filter: &[(String, Vec<String>)],
    ) -> Result<Self> {
        let mut table = table.filter(filter)?;
        let path = table.path.clone();
        let places = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
        let count_place = table.column(count)?;
        if table.is_empty() {
            return Err(Failure::data(&path, "no rows below the header, want one per leaf"));
        }
        // Children of a node in the order of the file, level by level: breadth first.
        let mut parents = vec![0u32];
        let mut of_row = vec![0u32; table.len()];
        let mut above = 0;
        for (depth, &place) in places.iter().enumerate() {
            let level = above..parents.len();
            above = parents.len();
            // The last use of a column takes it.
            let again = place == count_place || places[depth + 1..].contains(&place);
            let stop = if depth + 1 == places.len() {
                let stop = leaves(&table.values[place], &mut of_row, level, &mut parents);
                if stop.is_ok() && !again {
                    table.values[place] = Column::Skipped;
                }
                stop
            } else {
                let column = match again {
                    true => table.values[place].clone(),
                    false => std::mem::replace(&mut table.values[place], Column::Skipped),
                };
                inner_nodes(column, &mut of_row, level, &mut parents)
            };
            stop.map_err(|stop| match stop {
                Stop::Empty(row) => {
                    let leaf = table.text(row, places[places.len() - 1]);
                    table.bad_row(row, format!("`{leaf}` has no parent: `{}` is empty", levels[depth]))
                }
                Stop::Leaf => bad_leaf(&table, place, &of_row, &levels[depth]),
                Stop::Nodes(e) => Failure::data(&path, e.to_string()),
            })?;
        }
        let nodes = parents.len();
        let hierarchy = Hierarchy::from_numbers(parents).map_err(|e| Failure::data(&path, e.to_string()))?;
        let mut counts = vec![0i64; nodes];
        let mut total = 0i64;
        for (row, &node) in of_row.iter().enumerate() {
            let value = table.count(row, count_place, count)?;
            counts[node as usize] = value;
            total = total.saturating_add(value);
        }
        drop((table, of_row));
        if total > 1 << 53 {
            return Err(Failure::data(&path, format!("the counts sum to {total}, the limit is 2^53")));
        }
        hierarchy.sum_up(&mut counts);
        let digest = digest(&hierarchy, &counts);
        Ok(Self { hierarchy, counts: counts.into(), digest })
    }
}

/// Why a level has no nodes.
enum Stop {
    /// The row has no name.
    Empty(usize),
    /// Some row has no name, or another has the same parent and name.
    Leaf,
    /// They are too many.
    Nodes(crate::Error),
}

/// Adds the next level to `parents`: `by_child` has the parent of every child, in the order of the file; `level` are the
/// nodes above. Children of one parent become neighbours. Returns the first child of every parent, and a number behind.
fn add_level(
    by_child: impl ExactSizeIterator<Item = u32>,
    level: Range<usize>,
    parents: &mut Vec<u32>,
) -> std::result::Result<Vec<u32>, Stop> {
    let (first, children) = (parents.len(), by_child.len());
    Hierarchy::check_nodes(first + children).map_err(Stop::Nodes)?;
    let mut firsts = vec![0u32; level.len() + 1];
    by_child.for_each(|parent| firsts[parent as usize - level.start + 1] += 1);
    parents.reserve_exact(children);
    firsts[0] = first as u32;
    for (i, parent) in level.enumerate() {
        parents.extend(std::iter::repeat_n(parent as u32, firsts[i + 1] as usize));
        firsts[i + 1] += firsts[i];
    }
    Ok(firsts)
}

/// Finds the nodes of a level above the leaves; `of_row` goes from the parents to them.
fn inner_nodes(
    column: Column,
    of_row: &mut [u32],
    level: Range<usize>,
    parents: &mut Vec<u32>,
) -> std::result::Result<(), Stop> {
    let (mut codes, empty) = column.into_codes();
    if let Some(row) = empty.and_then(|empty| codes.iter().position(|&code| code == empty)) {
        return Err(Stop::Empty(row));
    }
    // Parent and code of every node, in the order of the file.
    let mut found: Vec<(u32, u32)> = Vec::new();
    let mut index: HashTable<u32> = HashTable::new();
    let hasher = DefaultHashBuilder::default();
    let mut last = 0;
    for (code, &parent) in codes.iter_mut().zip(&*of_row) {
        let node = (parent, *code);
        if found.get(last as usize) != Some(&node) {
            let next = found.len() as u32;
            let entry = index.entry(
                hasher.hash_one(node),
                |&i| found[i as usize] == node,
                |&i| hasher.hash_one(found[i as usize]),
            );
            last = *entry.or_insert(next).get();
            if last == next {
                found.push(node);
            }
        }
        *code = last;
    }
    drop(index);
    let start = level.start;
    let mut next = add_level(found.iter().map(|node| node.0), level, parents)?;
    let mut numbers = Vec::with_capacity(found.len());
    for &(parent, _) in &found {
        let next = &mut next[parent as usize - start];
        numbers.push(*next);
        *next += 1;
    }
    of_row.iter_mut().zip(codes).for_each(|(node, child)| *node = numbers[child as usize]);
    Ok(())
}

/// The leaves, one for each row; `of_row` goes from their parents to them.
fn leaves(
    column: &Column,
    of_row: &mut Vec<u32>,
    level: Range<usize>,
    parents: &mut Vec<u32>,
) -> std::result::Result<(), Stop> {
    let start = level.start;
    let firsts = add_level(of_row.iter().copied(), level, parents)?;
    // Rows that stand parent by parent are numbered as they stand.
    let first = firsts[0];
    if of_row.is_sorted() {
        let row = |leaf: u32| (leaf - first) as usize;
        if !distinct(column, &firsts, row) {
            return Err(Stop::Leaf);
        }
        of_row.iter_mut().zip(first..).for_each(|(node, leaf)| *node = leaf);
        return Ok(());
    }
    let (mut next, mut rows) = (firsts.clone(), vec![0u32; of_row.len()]);
    let mut numbers = Vec::with_capacity(of_row.len());
    for (row, &parent) in of_row.iter().enumerate() {
        let next = &mut next[parent as usize - start];
        rows[(*next - first) as usize] = row as u32;
        numbers.push(*next);
        *next += 1;
    }
    if !distinct(column, &firsts, |leaf| rows[(leaf - first) as usize] as usize) {
        return Err(Stop::Leaf);
    }
    *of_row = numbers;
    Ok(())
}

/// Whether no leaf lacks a name or shares it with another of its parent; `row`: of a leaf.
fn distinct(column: &Column, firsts: &[u32], row: impl Fn(u32) -> usize) -> bool {
    match column {
        Column::Coded { codes, names } => {
            let empty = names.empty();
            (empty.is_none() || codes.iter().all(|&code| Some(code) != empty))
                && differ(firsts, |leaf| codes[row(leaf)])
        }
        Column::Plain(names) => {
            (0..names.len()).all(|row| !names.bytes(row).is_empty())
                && differ(firsts, |leaf| names.bytes(row(leaf)))
        }
        Column::Skipped | Column::Integers { .. } => unreachable!("a level is read as text"),
    }
}

/// Whether the keys of the children of every parent differ. Increasing ones, as files have them, need no table.
fn differ<K: Ord + Hash>(firsts: &[u32], key: impl Fn(u32) -> K) -> bool {
    let hasher = DefaultHashBuilder::default();
    firsts.windows(2).all(|pair| {
        let mut children = pair[0]..pair[1];
        if children.clone().skip(1).all(|leaf| key(leaf - 1) < key(leaf)) {
            return true;
        }
        let mut index: HashTable<u32> = HashTable::with_capacity(children.len());
        children.all(|leaf| {
            let hash = hasher.hash_one(key(leaf));
            let new = index.find(hash, |&other| key(other) == key(leaf)).is_none();
            if new {
                index.insert_unique(hash, leaf, |&other| hasher.hash_one(key(other)));
            }
            new
        })
    })
}

/// The first row whose leaf has no name or that of another row; there is one.
fn bad_leaf(table: &CsvTable, place: usize, parents: &[u32], level: &str) -> Failure {
    let mut seen = HashMap::new();
    for (row, &parent) in parents.iter().enumerate() {
        let name = table.text(row, place);
        if name.is_empty() {
            return table.bad_row(row, format!("no `{level}`, want an id"));
        }
        if let Some(&first) = seen.get(&(parent, name.clone())) {
            let first = table.place(first);
            return table.bad_row(row, format!("`{level}` = `{name}` is duplicated (first on {first})"));
        }
        seen.insert((parent, name), row);
    }
    unreachable!("a leaf was refused")
}

/// SHA-256 of the parent and the count of every node.
fn digest(hierarchy: &Hierarchy, counts: &[i64]) -> String {
    let mut hash = Sha256::new();
    let mut block = Vec::with_capacity(1 << 12);
    for (v, count) in counts.iter().enumerate() {
        let parent = if v == 0 { 0 } else { hierarchy.parent(v) };
        block.extend_from_slice(&(parent as u64).to_le_bytes());
        block.extend_from_slice(&count.to_le_bytes());
        if block.len() == block.capacity() {
            hash.update(&block);
            block.clear();
        }
    }
    hash.update(&block);
    hex(hash.finalize())
}
