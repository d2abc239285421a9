//! What a study asks of single counts: sums over groups of leaves or entries, and levels of a tree whose draws are kept.

use super::between::between;
use super::invariant_table::{InvariantTable, Refusal};
use super::known::{check_zeros, doubtful_order};
use super::source::{DataSource, Keep, Shape};
use super::{CsvTable, HierarchyTable, Subject};
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::invariant::Hierarchy;
use crate::law::Value;
use crate::page::line;
use crate::table::Texts;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// What is asked of the counts of every release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Sums over groups.
    pub queries: Vec<Query>,
    /// Levels of a tree whose draws are kept.
    pub nodes: Option<KeptNodes>,
    /// SHA-256 of all of it with its names, in hexadecimal.
    pub digest: String,
}

/// Leaves of a tree, or entries of a table, that agree in some columns are a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The columns whose values make the groups.
    pub columns: Vec<String>,
    /// By column, its value in each group.
    pub values: Vec<Names>,
    /// By group, the confidential count.
    pub counts: Vec<i64>,
    /// How the query is answered.
    pub answered: Answered,
}

/// What answers a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// Its groups are the nodes of a level (from 0), in order, and the released values are theirs.
    Level(usize, Range<usize>),
    /// Sums of the released values of leaves or entries: the first of them, and the group of each from there on.
    Sums(usize, Vec<u32>),
}

/// Levels of a tree whose draws are kept, with the names of their nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptNodes {
    /// The levels, from 0, downwards.
    pub levels: Vec<usize>,
    /// The nodes of the levels, in the order of `levels`.
    pub nodes: Vec<Range<usize>>,
    /// By level down to the last of `levels`, the column that names its nodes; for the root `total`.
    pub level_names: Vec<String>,
    /// By level down to the last of `levels`, the names of its nodes.
    names: Vec<Names>,
}

/// Texts that are compared by what they say.
#[derive(Debug, Clone, Default)]
pub struct Names(Texts);

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().eq(other.0.iter())
    }
}

impl Eq for Names {}

impl std::ops::Index<usize> for Names {
    type Output = str;
    fn index(&self, i: usize) -> &str {
        &self.0[i]
    }
}

impl Query {
    /// Groups in the order of their first leaf or entry; `rows`: by leaf or entry, its row in `table`; `first`: the first of them.
    fn new(
        table: &CsvTable,
        columns: &[String],
        rows: &[u32],
        (first, counts): (usize, &[i64]),
    ) -> Result<Self> {
        let places = columns.iter().map(|column| table.column(column)).collect::<Result<Vec<_>>>()?;
        let mut groups = vec![0u32; rows.len()];
        for &place in &places {
            let codes = table.numbers(place);
            let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
            for (group, &row) in groups.iter_mut().zip(rows) {
                let next = numbers.len() as u32;
                *group = *numbers.entry((*group, codes[row as usize])).or_insert(next);
            }
        }
        let mut values = vec![Names::default(); places.len()];
        let mut sums: Vec<i64> = Vec::new();
        for ((&group, &row), &count) in groups.iter().zip(rows).zip(&counts[first..]) {
            if group as usize == sums.len() {
                sums.push(0);
                for (values, &place) in values.iter_mut().zip(&places) {
                    values.0.push(table.text(row as usize, place).as_bytes());
                }
            }
            sums[group as usize] += count;
        }
        Ok(Self { columns: columns.to_vec(), values, counts: sums, answered: Answered::Sums(first, groups) })
    }

    /// Takes the values of nodes where the groups are those of a level: that of its columns, or else the highest.
    fn on_tree(mut self, tree: &Hierarchy, levels: &[String]) -> Self {
        let Answered::Sums(_, groups) = &self.answered else { return self };
        let mut nodes: Vec<usize> = tree.leaves().iter().map(|&leaf| leaf as usize).collect();
        let mut found = None;
        for level in (0..tree.levels()).rev() {
            let range = tree.level_nodes(level);
            let same =
                || groups.iter().zip(&nodes).all(|(&group, &node)| node - range.start == group as usize);
            let own = self.columns.len() == level && levels[..level].iter().all(|l| self.columns.contains(l));
            if own || (range.len() == self.counts.len() && same()) {
                found = Some(Answered::Level(level, range));
            }
            if own {
                break;
            }
            if level > 0 {
                nodes.iter_mut().for_each(|node| *node = tree.parent(*node));
            }
        }
        self.answered = found.unwrap_or(self.answered);
        self
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.counts.len()
    }

    /// The values of a group's columns, joined by `/`.
    pub fn name(&self, group: usize) -> String {
        self.values.iter().map(|values| &values[group]).collect::<Vec<_>>().join("/")
    }

    /// Adds the error of every group, of the errors of all nodes or entries.
    fn answer<V: Value>(&self, errors: &[V], out: &mut Vec<f64>) {
        match &self.answered {
            Answered::Level(_, nodes) => out.extend(errors[nodes.clone()].iter().map(|z| z.to_f64())),
            Answered::Sums(first, groups) => {
                let start = out.len();
                out.resize(start + self.groups(), 0.0);
                for (z, &group) in errors[*first..].iter().zip(groups) {
                    out[start + group as usize] += z.to_f64();
                }
            }
        }
    }
}

impl KeptNodes {
    /// `levels`: those to keep; `rows`: by leaf, its row in `table`; `columns`: of all levels, but for the name of the root's.
    fn new(
        table: &CsvTable,
        columns: &[&str],
        tree: &Hierarchy,
        levels: Vec<usize>,
        rows: &[u32],
    ) -> Result<Self> {
        let deepest = levels.last().copied().unwrap_or(0);
        let mut names = vec![Names::default(); deepest + 1];
        names[0].0.push(columns[0].as_bytes());
        let mut nodes: Vec<usize> = tree.leaves().iter().map(|&leaf| leaf as usize).collect();
        for level in (1..tree.levels()).rev() {
            if level <= deepest {
                let place = table.column(columns[level])?;
                let mut last = 0;
                // The nodes of a level stand in the order of their leaves.
                for (&node, &row) in nodes.iter().zip(rows) {
                    if node != last {
                        names[level].0.push(table.text(row as usize, place).as_bytes());
                        last = node;
                    }
                }
            }
            nodes.iter_mut().for_each(|node| *node = tree.parent(*node));
        }
        let ranges = levels.iter().map(|&level| tree.level_nodes(level)).collect();
        let level_names = columns[..=deepest].iter().map(|&name| name.to_owned()).collect();
        Ok(Self { levels, nodes: ranges, level_names, names })
    }

    /// The name of a node of a level, and its path: the names from below the root to it, joined by `/`.
    pub fn name(&self, tree: &Hierarchy, level: usize, node: usize) -> (&str, String) {
        (&self.names[level][node - tree.level_nodes(level).start], self.keys(tree, level, node).join("/"))
    }

    /// The names of a node of a level and of those above it, from below the root on.
    pub fn keys(&self, tree: &Hierarchy, level: usize, node: usize) -> Vec<&str> {
        let mut keys = Vec::new();
        let mut at = node;
        for level in (1..=level).rev() {
            keys.push(&self.names[level][at - tree.level_nodes(level).start]);
            at = tree.parent(at);
        }
        keys.reverse();
        keys
    }

    /// The number of nodes that are kept.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|nodes| nodes.len()).sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Asked {
    /// Joins what is asked; `None` if nothing is.
    fn new(queries: Vec<Query>, nodes: Option<KeptNodes>) -> Option<Self> {
        if queries.is_empty() && nodes.is_none() {
            return None;
        }
        let mut hash = Sha256::new();
        let text = |hash: &mut Sha256, text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        for Query { columns, values, answered, .. } in &queries {
            hash.update(b"query");
            columns.iter().for_each(|column| text(&mut hash, column));
            values.iter().flat_map(|values| values.0.iter()).for_each(|value| text(&mut hash, value));
            match answered {
                Answered::Level(level, _) => hash.update((*level as u64).to_le_bytes()),
                Answered::Sums(_, groups) => groups.iter().for_each(|group| hash.update(group.to_le_bytes())),
            }
        }
        if let Some(nodes) = &nodes {
            hash.update(b"nodes");
            nodes.levels.iter().for_each(|&level| hash.update((level as u64).to_le_bytes()));
            nodes.level_names.iter().for_each(|name| text(&mut hash, name));
            nodes.names.iter().flat_map(|names| names.0.iter()).for_each(|name| text(&mut hash, name));
        }
        Some(Self { queries, nodes, digest: hex(hash.finalize()) })
    }

    /// The number of groups of all queries.
    pub fn groups(&self) -> usize {
        self.queries.iter().map(Query::groups).sum()
    }

    /// The errors of all groups, query by query, of the errors of all nodes or entries.
    pub fn answers<V: Value>(&self, errors: &[V]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.groups());
        self.queries.iter().for_each(|query| query.answer(errors, &mut out));
        out
    }

    /// The errors of the nodes that are kept, of those of all.
    pub fn kept<V: Value>(&self, errors: &[V]) -> Vec<f64> {
        let nodes = self.nodes.iter().flat_map(|kept| kept.nodes.iter().cloned());
        nodes.flat_map(|nodes| errors[nodes].iter().map(|z| z.to_f64())).collect()
    }
}

/// The rows by leaf, from the leaves by row; leaves are numbered one after the other.
fn rows_of(tree: &Hierarchy, leaves: &[u32]) -> Vec<u32> {
    let first = tree.leaves()[0];
    let mut rows = vec![0; leaves.len()];
    (0u32..).zip(leaves).for_each(|(row, &leaf)| rows[(leaf - first) as usize] = row);
    rows
}

/// Builds what a config names of its table: the counts with their structure, and what is asked of single ones.
///
/// Refused: as by [`HierarchyTable::from_csv`] and [`InvariantTable::from_csv`]; a missing column.
pub fn read_subject(
    table: CsvTable,
    source: &DataSource,
    queries: &[&[String]],
    keep: &Keep,
) -> std::result::Result<(Subject, Option<Asked>), Refusal> {
    let table = table.filter(&source.filter)?;
    let queried = queries.iter().flat_map(|columns| columns.iter().map(String::as_str));
    match &source.shape {
        Shape::Hierarchy { levels, inequalities } => {
            let kept = match keep {
                Keep::Nothing => None,
                Keep::All => Some((0..=levels.len()).collect()),
                Keep::Levels(levels) => Some(levels.clone()),
            };
            let named = source.level_names();
            let warning = doubtful_order(&table, levels)?.map(|warning| line(&warning).into_owned());
            check_zeros(&table, levels)?;
            let marks = source.known.marks(&table, &named)?;
            // The tree takes the columns of its levels.
            let named_nodes = kept.is_some() || !inequalities.is_empty();
            let of_levels = levels.iter().map(String::as_str).filter(|_| named_nodes);
            let columns = table.only(queried.chain(of_levels))?;
            let (table, asked) =
                HierarchyTable::with_rows(table, levels, &source.count, &[], |table, leaves| {
                    let warnings = table.warning.take().into_iter().chain(warning);
                    table.warning = warnings.reduce(|all, next| format!("{all}; {next}"));
                    let known = source.known.on_tree(table, marks.as_deref(), leaves, &named);
                    known.map_err(|e| Failure::data(&columns.path, e.to_string()))?;
                    if let Err(refusal) = between(table, &columns, leaves, levels, inequalities) {
                        return Ok(Err(refusal));
                    }
                    if queries.is_empty() && kept.is_none() {
                        return Ok(Ok(None));
                    }
                    let tree = &table.hierarchy;
                    let rows = rows_of(tree, leaves);
                    let first = tree.leaves()[0] as usize;
                    let queries = queries.iter().map(|names| {
                        let query = Query::new(&columns, names, &rows, (first, &table.counts))?;
                        Ok(query.on_tree(tree, levels))
                    });
                    let queries = queries.collect::<Result<_>>()?;
                    let nodes = kept.map(|kept| KeptNodes::new(&columns, &named, tree, kept, &rows));
                    Ok(Ok(Asked::new(queries, nodes.transpose()?)))
                })?;
            Ok((Subject::Hierarchy(table), asked?))
        }
        Shape::Table { .. } => {
            let columns = table.only(queried)?;
            let kept = match keep {
                Keep::Nothing => None,
                _ => Some(table.only(source.key_columns(&table.columns))?),
            };
            let (mut table, rows) = InvariantTable::with_rows(table, source)?;
            if let Some(kept) = kept {
                table.take_columns(&kept, &rows);
            }
            let queries = queries.iter().map(|names| Query::new(&columns, names, &rows, (0, &table.counts)));
            let asked = Asked::new(queries.collect::<Result<_>>()?, None);
            Ok((Subject::Table(table), asked))
        }
    }
}
