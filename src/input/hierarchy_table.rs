//! A hierarchy and its counts from one table with a row per leaf.

use super::CsvTable;
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::invariant::Hierarchy;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Confidential counts on a hierarchy.
#[derive(Debug, Clone)]
pub struct HierarchyTable {
    /// The tree; all leaves lie on the last level.
    pub hierarchy: Hierarchy,
    /// The count of every node.
    pub counts: Vec<i64>,
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
        let table = table.filter(filter)?;
        let path = &table.path;
        let places = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
        let count_place = table.column(count)?;
        if table.rows.is_empty() {
            return Err(Failure::data(path, "no rows below the header, want one per leaf"));
        }
        // Children of a node in the order of the file, level by level: breadth first.
        let mut parents = vec![0usize];
        let mut counts = vec![0i64];
        let mut of_row: Vec<usize> = vec![0; table.rows.len()];
        for (depth, &place) in places.iter().enumerate() {
            let last = depth + 1 == places.len();
            let mut children: HashMap<(usize, &str), usize> = HashMap::new();
            let mut found: Vec<(usize, usize)> = Vec::new();
            for (row, (line, values)) in table.rows.iter().enumerate() {
                let name = values[place].as_str();
                if name.is_empty() {
                    let message = if last {
                        format!("no `{}`, want an id", levels[depth])
                    } else {
                        let leaf = &values[places[places.len() - 1]];
                        format!("`{leaf}` has no parent: `{}` is empty", levels[depth])
                    };
                    return Err(table.bad(*line, message));
                }
                let next = found.len();
                match children.entry((of_row[row], name)) {
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        entry.insert(next);
                        found.push((of_row[row], row));
                    }
                    std::collections::hash_map::Entry::Occupied(entry) if last => {
                        let first = table.rows[found[*entry.get()].1].0;
                        let message =
                            format!("`{}` = `{name}` is duplicated (first on line {first})", levels[depth]);
                        return Err(table.bad(*line, message));
                    }
                    std::collections::hash_map::Entry::Occupied(_) => {}
                }
            }
            // Number them so that the children of one parent are neighbours.
            let mut order: Vec<usize> = (0..found.len()).collect();
            order.sort_by_key(|&i| found[i].0);
            let mut number = vec![0; found.len()];
            for &i in &order {
                number[i] = parents.len();
                parents.push(found[i].0);
                counts.push(0);
            }
            for (row, (_, values)) in table.rows.iter().enumerate() {
                of_row[row] = number[children[&(of_row[row], values[place].as_str())]];
            }
        }
        let hierarchy = Hierarchy::from_parents(&parents).map_err(|e| Failure::data(path, e.to_string()))?;
        let mut total = 0i64;
        for (row, (line, values)) in table.rows.iter().enumerate() {
            let text = &values[count_place];
            let value = text.parse::<i64>().ok().filter(|&x| x >= 0);
            let value = value
                .ok_or_else(|| table.bad(*line, format!("`{count}` = `{text}`, want an integer >= 0")))?;
            counts[of_row[row]] = value;
            total = total.saturating_add(value);
        }
        if total > 1 << 53 {
            return Err(Failure::data(path, format!("the counts sum to {total}, the limit is 2^53")));
        }
        hierarchy.sum_up(&mut counts);
        let mut hash = Sha256::new();
        for v in 0..hierarchy.nodes() {
            hash.update((parents[v] as u64).to_le_bytes());
            hash.update(counts[v].to_le_bytes());
        }
        let digest = hex(hash.finalize());
        Ok(Self { hierarchy, counts, digest })
    }
}
