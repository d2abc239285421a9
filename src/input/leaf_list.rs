//! A list of all leaves of a tree, which does not depend on counts.

use super::{CsvTable, Wanted};
use crate::failure::{Failure, Result};
use crate::hash::FileDigest;
use crate::invariant::Hierarchy;
use hashbrown::HashMap;
use std::path::Path;

/// A tree by the list of its leaves.
#[derive(Debug)]
pub struct LeafList {
    table: CsvTable,
    /// By level below the total, its column.
    places: Vec<usize>,
    /// The tree, with what is known.
    pub tree: Hierarchy,
    /// By node but the total, a row of it.
    rows: Vec<u32>,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

impl LeafList {
    /// Reads a list.
    ///
    /// - `levels`: the columns that name the nodes of the levels below the root, coarse to fine.
    /// - `known`: how many levels, from the root's, are known.
    ///
    /// Refused, with file and row: a missing column, a blank name, a leaf twice, no row; a tree in which nothing is left to release.
    pub fn read(path: &Path, levels: &[String], known: usize) -> Result<Self> {
        let sha256 = FileDigest::of(path)?.sha256;
        let table = CsvTable::read_wanted(path, &Wanted::of(levels.iter().map(String::as_str), ""))?;
        let places = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
        if FileDigest::of(path)?.sha256 != sha256 {
            return Err(Failure::data(path, "it was changed while it was read"));
        }
        if table.is_empty() {
            return Err(Failure::data(path, "no rows below the header, want one for each leaf"));
        }
        Hierarchy::check_nodes(table.len()).map_err(|e| Failure::data(path, e.to_string()))?;
        let (mut parents, mut rows) = (vec![0u32], vec![0u32]);
        let mut nodes = vec![0u32; table.len()];
        for (level, &place) in places.iter().enumerate() {
            let codes = table.numbers(place);
            if let Some(row) = (0..table.len()).find(|&row| table.text(row, place).is_empty()) {
                return Err(table.bad_row(row, format!("`{}` is blank, want a name", levels[level])));
            }
            // Children of one parent become neighbours, in the order of the file.
            let mut order: Vec<u32> = (0..table.len() as u32).collect();
            order.sort_by_key(|&row| nodes[row as usize]);
            let mut found: HashMap<(u32, u32), u32> = HashMap::new();
            let is_last = level + 1 == places.len();
            for row in order {
                let (parent, next) = (nodes[row as usize], parents.len() as u32);
                let node = *found.entry((parent, codes[row as usize])).or_insert(next);
                if node == next {
                    parents.push(parent);
                    rows.push(row);
                } else if is_last {
                    let message = format!("`{}` stands there twice", table.text(row as usize, place));
                    return Err(table.bad_row(row as usize, message));
                }
                nodes[row as usize] = node;
            }
        }
        let refused = |e: crate::Error| Failure::data(path, e.to_string());
        let tree = Hierarchy::from_numbers(parents).map_err(refused)?;
        let marks = (0..tree.nodes()).map(|v| tree.level(v) < known).collect();
        let tree = if known > 0 { tree.with_known(marks).map_err(refused)? } else { tree };
        Ok(Self { table, places, tree, rows, sha256 })
    }

    /// The name of a node; of the total nothing.
    pub fn name(&self, node: usize) -> &str {
        match self.tree.level(node) {
            0 => "",
            level => self.table.text(self.rows[node] as usize, self.places[level - 1]),
        }
    }

    /// The names of a node and of those above it; blank below its level.
    pub fn keys(&self, node: usize) -> Vec<&str> {
        let mut keys = vec![""; self.places.len()];
        let mut v = node;
        while v > 0 {
            keys[self.tree.level(v) - 1] = self.name(v);
            v = self.tree.parent(v);
        }
        keys
    }

    /// The children of every node, by their names.
    pub fn children(&self) -> HashMap<(u32, &str), u32> {
        let child = |v: usize| ((self.tree.parent(v) as u32, self.name(v)), v as u32);
        (1..self.tree.nodes()).map(child).collect()
    }
}
