//! A list of all leaves of a tree, which does not depend on counts.

use super::areas::{AreaKeys, names_above};
use super::{CsvTable, Wanted};
use crate::failure::{Failure, Result};
use crate::hash::FileDigest;
use crate::invariant::Hierarchy;
use hashbrown::HashMap;
use std::path::{Path, PathBuf};

/// A tree by the list of its leaves.
#[derive(Debug)]
pub struct LeafList {
    path: PathBuf,
    table: CsvTable,
    /// By level below the total, its column.
    places: Vec<usize>,
    /// The tree, with what is known.
    pub tree: Hierarchy,
    /// By node, a row of it or of one below it.
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
        for (level, &place) in levels.iter().zip(&places) {
            if let Some(row) = (0..table.len()).find(|&row| table.text(row, place).is_empty()) {
                return Err(table.bad_row(row, format!("`{level}` is blank, want a name")));
            }
        }
        let AreaKeys { tree, of_area, area } = AreaKeys::read(&table, &places)?;
        if let Some(row) = (0..table.len()).find(|&row| of_area[area[row] as usize] != row as u32) {
            let name = places.last().map_or("", |&place| table.text(row, place));
            return Err(table.bad_row(row, format!("`{name}` stands there twice")));
        }
        let refused = |e: crate::Error| Failure::data(path, e.to_string());
        let marks = (0..tree.nodes()).map(|v| tree.level(v) < known).collect();
        let tree = if known > 0 { tree.with_known(marks).map_err(refused)? } else { tree };
        Ok(Self { path: path.to_owned(), table, places, tree, rows: of_area, sha256 })
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
        names_above(&self.tree, self.places.len(), node, |v| self.name(v))
    }

    /// Finds the leaves of a table's rows, by the columns that name the nodes of each level. Refused: a missing column.
    pub fn finder<'a>(&'a self, table: &'a CsvTable, levels: &'a [String]) -> Result<Finder<'a>> {
        let places = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
        let child = |v: usize| ((self.tree.parent(v) as u32, self.name(v)), v as u32);
        Ok(Finder {
            list: self,
            table,
            levels,
            places,
            children: (1..self.tree.nodes()).map(child).collect(),
        })
    }
}

/// Finds the leaves of a table's rows.
#[derive(Debug)]
pub struct Finder<'a> {
    list: &'a LeafList,
    table: &'a CsvTable,
    levels: &'a [String],
    places: Vec<usize>,
    /// The children of every node, by their names.
    children: HashMap<(u32, &'a str), u32>,
}

impl Finder<'_> {
    /// The leaf of a row. Refused, with file and row: names that are not in the list.
    pub fn leaf(&self, row: usize) -> Result<u32> {
        let mut node = 0;
        for (&place, level) in self.places.iter().zip(self.levels) {
            let name = self.table.text(row, place);
            node = *self.children.get(&(node, name)).ok_or_else(|| {
                let file = self.list.path.display();
                self.table.bad_row(row, format!("`{level}` = `{name}` is not in {file}"))
            })?;
        }
        Ok(node)
    }
}
