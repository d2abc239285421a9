//! What a study is about.

use super::{HierarchyTable, InvariantTable};
use crate::invariant::Region;
use crate::page::counted;

/// Confidential counts with the structure that every release keeps.
#[derive(Debug, Clone)]
pub enum Subject {
    /// All nodes of a tree.
    Hierarchy(HierarchyTable),
    /// The entries of a table under linear equations.
    Table(InvariantTable),
}

impl Subject {
    /// The kind of subject: "hierarchy" or "table".
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hierarchy(_) => "hierarchy",
            Self::Table(_) => "table",
        }
    }

    /// The number of levels with a noise scale of their own; a table has one.
    pub fn levels(&self) -> usize {
        match self {
            Self::Hierarchy(table) => table.hierarchy.levels(),
            Self::Table(_) => 1,
        }
    }

    /// The number of levels, from the root's, that are known whole and not measured.
    pub fn known_levels(&self) -> usize {
        match self {
            Self::Hierarchy(table) => {
                let tree = &table.hierarchy;
                (0..tree.levels()).take_while(|&level| tree.is_level_known(level)).count()
            }
            Self::Table(_) => 0,
        }
    }

    /// Whether a node or an entry is known.
    pub fn is_known(&self, i: usize) -> bool {
        match self {
            Self::Hierarchy(table) => table.hierarchy.is_known(i),
            Self::Table(table) => table.known.binary_search(&(i as u32)).is_ok(),
        }
    }

    /// The number of counts that are released, all levels together.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Hierarchy(table) => table.hierarchy.nodes(),
            Self::Table(table) => table.counts.len(),
        }
    }

    /// The confidential counts, by node or entry.
    pub fn counts(&self) -> &[i64] {
        match self {
            Self::Hierarchy(table) => &table.counts,
            Self::Table(table) => &table.counts,
        }
    }

    /// The inequalities on the noise.
    pub fn region(&self) -> &Region {
        match self {
            Self::Hierarchy(table) => &table.region,
            Self::Table(table) => &table.region,
        }
    }

    /// The same structure with other counts: a table that is released under the same invariant, with a digest of its own. A tree's are
    /// each the sum of its children's.
    pub fn with_counts(&self, counts: Vec<i64>) -> Self {
        match self {
            Self::Hierarchy(table) => Self::Hierarchy(table.with_counts(counts)),
            Self::Table(table) => Self::Table(table.with_counts(counts)),
        }
    }

    /// Whether a count is a leaf of a tree, or an entry: else it is the sum of others.
    pub fn is_entry(&self, i: usize) -> bool {
        match self {
            Self::Hierarchy(table) => table.hierarchy.is_leaf(i),
            Self::Table(_) => true,
        }
    }

    /// The name of a leaf, by its number, or of an entry.
    pub fn entry_name(&self, i: usize) -> String {
        match self {
            Self::Hierarchy(table) => format!("leaf {}", table.hierarchy.leaf_number(i as u32)),
            Self::Table(table) => table.names[i].to_owned(),
        }
    }

    /// The number of counts of one level, from 0.
    pub fn level_size(&self, level: usize) -> usize {
        match self {
            Self::Hierarchy(table) => table.hierarchy.level_nodes(level).len(),
            Self::Table(table) => table.counts.len(),
        }
    }

    /// SHA-256 of structure and counts.
    pub fn digest(&self) -> &str {
        match self {
            Self::Hierarchy(table) => &table.digest,
            Self::Table(table) => &table.digest,
        }
    }

    /// Whether what every release keeps leaves no count below 0.
    pub fn implies_nonnegative(&self) -> bool {
        match self {
            Self::Hierarchy(_) => false,
            Self::Table(table) => table.inequalities.implies_nonnegative(table.counts.len()),
        }
    }

    /// Whether inequalities tie nodes of a tree, beside those of leaves that are >= 0.
    pub fn ties_nodes(&self) -> bool {
        match self {
            Self::Hierarchy(table) => !table.region.is_everything(),
            Self::Table(_) => false,
        }
    }

    /// What may be wrong with the data, for people.
    pub fn warning(&self) -> Option<&str> {
        match self {
            Self::Hierarchy(table) => table.warning.as_deref(),
            Self::Table(table) => table.warning.as_deref(),
        }
    }

    /// The subject in words, for people.
    pub fn summary(&self) -> String {
        match self {
            Self::Hierarchy(table) => {
                let tree = &table.hierarchy;
                let known = (0..tree.nodes()).filter(|&v| tree.is_known(v)).count();
                let known = if known > 0 { format!(", {known} known") } else { String::new() };
                let (nodes, levels, leaves) = (tree.nodes(), tree.levels(), tree.leaves().len());
                format!("{nodes} nodes in {levels} levels ({leaves} leaves{known})")
            }
            Self::Table(table) => {
                let rows = table.invariant.rows().len();
                let parts = table.invariant.component_count();
                format!(
                    "{} entries under {} ({})",
                    table.counts.len(),
                    counted(rows as f64, "equation"),
                    counted(parts as f64, "connected component")
                )
            }
        }
    }
}
