//! A hierarchy and its counts from one table with a row per leaf.

use super::CsvTable;
use super::column::Column;
use super::numbers::Numbers;
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::invariant::{Hierarchy, Region};
use hashbrown::{HashMap, HashSet};
use sha2::{Digest, Sha256};
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

/// Confidential counts on a hierarchy.
#[derive(Debug, Clone)]
pub struct HierarchyTable {
    /// The tree; all leaves lie on the last level.
    pub hierarchy: Hierarchy,
    /// The count of every node; clones share them.
    pub counts: Arc<[i64]>,
    /// The inequalities between nodes, on the noise.
    pub region: Region,
    /// SHA-256 of the tree's shape, of the inequalities and the leaves' counts, in hexadecimal.
    pub digest: String,
    /// What may be wrong with the data, for people.
    pub warning: Option<String>,
}

impl HierarchyTable {
    /// Builds the hierarchy of a table with one row per leaf.
    ///
    /// - `levels`: the columns that name a node on each level below the root, coarse to fine. A node is its whole path,
    ///   so that equal names under different parents are different nodes.
    /// - `count`: the column of the leaves' counts.
    /// - `filter`: rows to take: column and values.
    ///
    /// Refused, with file and line: a missing column, an empty name (a leaf without a parent), a duplicated leaf, a
    /// count that is not an integer >= 0, no row at all, a total beyond 2^53.
    pub fn from_csv(
        table: CsvTable,
        levels: &[String],
        count: &str,
        filter: &[(String, Vec<String>)],
    ) -> Result<Self> {
        Self::with_rows(table, levels, count, filter, |_, _| Ok(())).map(|(table, ())| table)
    }

    /// Builds the hierarchy, and returns with it what `rows` makes of the tree and, by row after the filter, its leaf.
    pub(super) fn with_rows<T>(
        table: CsvTable,
        levels: &[String],
        count: &str,
        filter: &[(String, Vec<String>)],
        rows: impl FnOnce(&mut Self, &[u32]) -> Result<T>,
    ) -> Result<(Self, T)> {
        let mut table = table.filter(filter)?;
        let path = table.path.clone();
        let places = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
        let count_place = table.column(count)?;
        if table.is_empty() {
            return Err(Failure::data(&path, "no rows below the header, want one per leaf"));
        }
        let refuse = |e: crate::Error| Failure::data(&path, e.to_string());
        // Children of a node in the order of the file, level by level: breadth first.
        let mut parents = vec![0u32];
        let mut of_row = vec![0u32; table.len()];
        let mut level = 0..1;
        // The last use of a column takes it.
        let again =
            |depth: usize| places[depth + 1..].contains(&places[depth]) || places[depth] == count_place;
        let leaf = places.len() - 1;
        for (depth, &place) in places[..leaf].iter().enumerate() {
            let column = match again(depth) {
                true => table.values[place].clone(),
                false => std::mem::replace(&mut table.values[place], Column::Skipped),
            };
            let (codes, empty) = column.into_codes();
            if let Some(row) = codes.iter().position(|&code| Some(code) == empty) {
                let leaf = table.text(row, places[leaf]);
                let message = format!(
                    "`{leaf}` has no parent: `{}` is empty; where nothing is on this level, write the name of the level above",
                    levels[depth]
                );
                return Err(table.bad_row(row, message));
            }
            inner_nodes(codes, &mut of_row, level.clone(), &mut parents).map_err(refuse)?;
            level = level.end..parents.len();
        }
        let firsts = add_level(&mut of_row, level, &mut parents).map_err(refuse)?;
        if !distinct(&table.values[places[leaf]], &firsts, &of_row) {
            return Err(bad_leaf(&table, places[leaf], &levels[leaf], |row| parents[of_row[row] as usize]));
        }
        if !again(leaf) {
            table.values[places[leaf]] = Column::Skipped;
        }
        let nodes = parents.len();
        let hierarchy = Hierarchy::from_numbers(parents).map_err(refuse)?;
        let mut counts = vec![0i64; nodes];
        let mut total = 0i64;
        let numbers = Numbers::new(&table, count_place);
        for (row, &node) in of_row.iter().enumerate() {
            let value = numbers.count(row)?;
            counts[node as usize] = value;
            total = total.saturating_add(value);
        }
        let notes: Vec<String> = table.notes().iter().cloned().chain(numbers.note()).collect();
        drop(table);
        if total > 1 << 53 {
            return Err(Failure::data(&path, format!("the counts sum to {total}, the limit is 2^53")));
        }
        hierarchy.sum_up(&mut counts);
        let digest = digest(&hierarchy, &counts);
        let warning = (!notes.is_empty()).then(|| notes.join("; "));
        let region = Region::everything();
        let mut table = Self { hierarchy, counts: counts.into(), region, digest, warning };
        let made = rows(&mut table, &of_row)?;
        Ok((table, made))
    }
}

/// Adds the next level to `parents`: `children` has the parent of every child, in the order of the file, and then its number;
/// `level` are the nodes above. Children of one parent become neighbours. Returns the first child of every parent, and a number
/// behind. Errors: too many nodes.
fn add_level(children: &mut [u32], level: Range<usize>, parents: &mut Vec<u32>) -> crate::Result<Vec<u32>> {
    let (start, first) = (level.start, parents.len());
    Hierarchy::check_nodes(first + children.len())?;
    let mut firsts = vec![0u32; level.len() + 1];
    children.iter().for_each(|&parent| firsts[parent as usize - start + 1] += 1);
    parents.reserve_exact(children.len());
    firsts[0] = first as u32;
    for (i, parent) in level.enumerate() {
        parents.extend(std::iter::repeat_n(parent as u32, firsts[i + 1] as usize));
        firsts[i + 1] += firsts[i];
    }
    let mut next = firsts.clone();
    for child in children {
        let next = &mut next[*child as usize - start];
        *child = *next;
        *next += 1;
    }
    Ok(firsts)
}

/// Finds the nodes of a level above the leaves, by the codes of their names; `of_row` goes from the parents to them.
fn inner_nodes(
    mut codes: Vec<u32>,
    of_row: &mut [u32],
    level: Range<usize>,
    parents: &mut Vec<u32>,
) -> crate::Result<()> {
    // Parent and code of every node, in the order of the file.
    let mut found: Vec<(u32, u32)> = Vec::new();
    let mut index: HashMap<(u32, u32), u32> = HashMap::new();
    let mut last = 0;
    for (code, &parent) in codes.iter_mut().zip(&*of_row) {
        let node = (parent, *code);
        if found.get(last as usize) != Some(&node) {
            let next = found.len() as u32;
            last = *index.entry(node).or_insert(next);
            if last == next {
                found.push(node);
            }
        }
        *code = last;
    }
    drop(index);
    let mut numbers: Vec<u32> = found.into_iter().map(|(parent, _)| parent).collect();
    add_level(&mut numbers, level, parents)?;
    of_row.iter_mut().zip(codes).for_each(|(node, child)| *node = numbers[child as usize]);
    Ok(())
}

/// Whether no leaf lacks a name or shares it with another of its parent.
fn distinct(column: &Column, firsts: &[u32], leaf_of_row: &[u32]) -> bool {
    let first = firsts[0];
    // Rows that stand parent by parent are numbered as they stand.
    let mut rows = Vec::new();
    if !leaf_of_row.is_sorted() {
        rows.resize(leaf_of_row.len(), 0);
        (0..).zip(leaf_of_row).for_each(|(row, &leaf)| rows[(leaf - first) as usize] = row);
    }
    let row = |leaf: u32| rows.get((leaf - first) as usize).copied().unwrap_or(leaf - first) as usize;
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
        Column::Skipped => unreachable!("a level is read"),
    }
}

/// Whether the keys of the children of every parent differ. Increasing ones, as files have them, need no table.
fn differ<K: Ord + Hash>(firsts: &[u32], key: impl Fn(u32) -> K) -> bool {
    firsts.windows(2).all(|pair| {
        let (children, mut seen) = (pair[0]..pair[1], HashSet::new());
        children.clone().is_sorted_by(|&a, &b| key(a) < key(b))
            || children.into_iter().all(|leaf| seen.insert(key(leaf)))
    })
}

/// The first row whose leaf has no name or that of another row; there is one.
fn bad_leaf(table: &CsvTable, place: usize, level: &str, parent: impl Fn(usize) -> u32) -> Failure {
    let mut seen = HashMap::new();
    for row in 0..table.len() {
        let name = table.text(row, place);
        if name.is_empty() {
            return table.bad_row(row, format!("no `{level}`, want an id"));
        }
        if let Some(first) = seen.insert((parent(row), name), row) {
            let first = table.place(first);
            return table.bad_row(row, format!("`{level}` = `{name}` is duplicated (first on {first})"));
        }
    }
    unreachable!("a leaf was refused")
}

impl HierarchyTable {
    /// The same tree with other counts, each the sum of its children's.
    pub(super) fn with_counts(&self, counts: Vec<i64>) -> Self {
        let moved: Vec<i64> = counts.iter().zip(&*self.counts).map(|(new, old)| new - old).collect();
        let region =
            if self.region.is_everything() { Region::everything() } else { self.region.around_moved(&moved) };
        let digest = format!("{} {}", self.digest, digest(&self.hierarchy, &counts));
        Self { counts: counts.into(), region, digest, ..self.clone() }
    }
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
