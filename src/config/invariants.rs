//! Checks of `[[invariant]]`: everything that can be seen without the data.

use super::checker::Checker;
use super::nearest::one_of;
use super::wire::{Axis, WireInvariant, WireNode};
use crate::failure::{Failure, Result};
use crate::input::{InvariantSpec, NodeInequality, NodeName, read_matrix};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The `[[invariant]]` blocks of a file that has nothing else.
#[derive(Debug, Clone)]
pub struct Invariants {
    path: PathBuf,
    text: String,
    blocks: Vec<(InvariantSpec, Range<usize>)>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    #[serde(default)]
    invariant: Vec<Spanned<WireInvariant>>,
}

impl Invariants {
    /// Reads a file of blocks. Refused: as by [`Invariants::of`].
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::files::text(path, "cannot read the invariants")?;
        Self::of(path, text)
    }

    /// Checks a text of blocks. `path`: its name in messages, and where paths in it begin.
    ///
    /// Refused, with the place in the text: no block, another key, and what is refused in a config.
    pub fn of(path: &Path, text: String) -> Result<Self> {
        let checker = Checker::new(path, &text, &text, |_| None);
        let wire: Blocks = checker.parse()?;
        if wire.invariant.is_empty() {
            return Err(checker.error(
                "invariants: got none",
                0..0,
                "want [[invariant]] blocks, as a config has",
            ));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let block = |wire: &Spanned<WireInvariant>| {
            Ok((checker.invariant(wire.get_ref(), wire.span(), folder)?, wire.span()))
        };
        let blocks = wire.invariant.iter().map(block).collect::<Result<_>>()?;
        Ok(Self { path: path.to_owned(), text, blocks })
    }

    /// The blocks, in their order.
    pub fn specs(&self) -> impl Iterator<Item = &InvariantSpec> + Clone {
        self.blocks.iter().map(|(spec, _)| spec)
    }

    /// The columns of bounds, which say nothing else.
    pub fn bound_columns(&self) -> impl Iterator<Item = &str> {
        let bounds = self.specs().filter(|spec| matches!(spec, InvariantSpec::Bounds(..)));
        bounds.flat_map(InvariantSpec::columns)
    }

    /// An error of a block.
    pub fn refused(&self, block: usize, message: String) -> Failure {
        let checker = Checker::new(&self.path, &self.text, &self.text, |_| None);
        checker.error(message, self.blocks[block].1.clone(), "this invariant")
    }
}

impl Checker<'_> {
    pub(super) fn invariant(
        &self,
        wire: &WireInvariant,
        span: Range<usize>,
        folder: &Path,
    ) -> Result<InvariantSpec> {
        let refuse: &Refuse =
            &|message: &str, label: &str| self.error(message.to_owned(), span.clone(), label.to_owned());
        Ok(match wire {
            WireInvariant::Nonnegative {} => InvariantSpec::Nonnegative,
            WireInvariant::Bounds { lower: None, upper: None } => {
                return Err(refuse("bounds: got none", "want `lower` or `upper`"));
            }
            WireInvariant::Bounds { lower, upper } => InvariantSpec::Bounds(lower.clone(), upper.clone()),
            WireInvariant::AtLeast { rows, table, values, of: None, minus: None, value: None } => {
                let rows = coefficients(rows, table, folder, refuse)?;
                let Some(values) = values else {
                    return Err(refuse("values: missing", "want the least value of each row"));
                };
                check_values(values, &rows, refuse)?;
                InvariantSpec::AtLeast(rows, values.clone())
            }
            WireInvariant::AtLeast { of, minus, .. } => {
                let key = if of.is_some() {
                    "of"
                } else if minus.is_some() {
                    "minus"
                } else {
                    "value"
                };
                let label = "it is for nodes of a hierarchy (`data.levels`): want `rows` and `values` here";
                return Err(refuse(&format!("{key}: not used"), label));
            }
            WireInvariant::Total {} => InvariantSpec::Total,
            WireInvariant::Partition { by } => InvariantSpec::Partition(named("by", &by.0, refuse)?),
            WireInvariant::Margins { rows, columns } => {
                if rows == columns {
                    return Err(refuse(
                        &format!("margins: got `{rows}` for both"),
                        "want two different columns",
                    ));
                }
                InvariantSpec::Margins { rows: rows.clone(), columns: columns.clone() }
            }
            WireInvariant::Subsets { sets: Some(sets), columns: None } => {
                InvariantSpec::Sets(zero_based(sets, refuse)?)
            }
            WireInvariant::Subsets { sets: None, columns: Some(columns) } => {
                InvariantSpec::Indicators(named("columns", columns, refuse)?)
            }
            WireInvariant::Subsets { .. } => {
                return Err(refuse("subsets: want one of `sets` and `columns`", "either sets or columns"));
            }
            WireInvariant::Hierarchy { levels } => InvariantSpec::Hierarchy(named("levels", levels, refuse)?),
            WireInvariant::Matrix { rows, table, values } => {
                let rows = coefficients(rows, table, folder, refuse)?;
                if let Some(values) = values {
                    check_values(values, &rows, refuse)?;
                }
                InvariantSpec::Matrix { rows, values: values.clone() }
            }
        })
    }
}

impl Checker<'_> {
    /// What an invariant beside `data.levels` says of nodes; `root`: the name of the root's level.
    ///
    /// Errors: an invariant of another kind, coefficients by entry, no node at all, what is no level or no name of the root.
    pub(super) fn between_nodes(
        &self,
        wire: &Spanned<WireInvariant>,
        levels: &Spanned<Vec<String>>,
        root: &str,
    ) -> Result<NodeInequality> {
        let refuse: &Refuse =
            &|message: &str, label: &str| self.error(message.to_owned(), wire.span(), label.to_owned());
        let WireInvariant::AtLeast { rows, table, values, of, minus, value } = wire.get_ref() else {
            return Err(self.error(
                "data.levels: not used beside an [[invariant]]",
                levels.span(),
                BESIDE_LEVELS,
            ));
        };
        let of_tables = [("rows", rows.is_some()), ("table", table.is_some()), ("values", values.is_some())];
        if let Some((key, _)) = of_tables.into_iter().find(|(_, given)| *given) {
            let label =
                "it is for tables: on a hierarchy want `of`, `minus` and `value`, nodes by their names";
            return Err(refuse(&format!("{key}: not used beside `data.levels`"), label));
        }
        let named = |key: &str, nodes: &Option<Axis<WireNode>>| {
            let Some(nodes) = nodes else { return Ok(Vec::new()) };
            if nodes.0.is_empty() {
                return Err(refuse(&format!("{key}: got an empty list"), "want at least one node"));
            }
            nodes.0.iter().map(|node| node_name(key, node, levels.get_ref(), root, refuse)).collect()
        };
        let (of, minus) = (named("of", of)?, named("minus", minus)?);
        if of.is_empty() && minus.is_empty() {
            return Err(refuse("of: missing", "want nodes in `of`, in `minus`, or in both"));
        }
        Ok(NodeInequality { of, minus, least: value.unwrap_or(0) })
    }
}

/// What is said where other invariants stand beside levels.
const BESIDE_LEVELS: &str = "other equations would tie nodes across the tree, which samplers of trees do not draw: want \
    inequalities alone (kind \"at-least\"), or an [[invariant]] of kind \"hierarchy\" with these levels in its place, beside the others";

/// A node by its names, coarse to fine. Refused: no name, a column that is no level, another name of the root.
fn node_name(key: &str, node: &WireNode, levels: &[String], root: &str, refuse: &Refuse) -> Result<NodeName> {
    let names = match node {
        WireNode::Root(name) if name == root => Vec::new(),
        WireNode::Root(name) => {
            let label =
                format!("want names by level, as {{ {} = \"…\" }}, or `{root}` for the root", levels[0]);
            return Err(refuse(&format!("{key}: got `{name}`"), &label));
        }
        WireNode::Names(names) => {
            if names.is_empty() {
                return Err(refuse(&format!("{key}: got no name"), "want the name of the node on its level"));
            }
            let all: Vec<&str> = levels.iter().map(String::as_str).collect();
            if let Some(other) = names.keys().find(|column| !levels.contains(column)) {
                return Err(refuse(&format!("{key}: got `{other}`"), &one_of(other, &all)));
            }
            let named = |level: &String| names.get(level).map(|name| (level.clone(), name.clone()));
            levels.iter().filter_map(named).collect()
        }
    };
    Ok(NodeName { names, root: root.to_owned() })
}

/// Makes the error of a block from what is wrong with it and from what is wanted there.
type Refuse<'a> = dyn Fn(&str, &str) -> Failure + 'a;

/// The columns that a key lists. Refused: none; one that stands there twice.
fn named(key: &str, columns: &[String], refuse: &Refuse) -> Result<Vec<String>> {
    if columns.is_empty() {
        return Err(refuse(&format!("{key}: got an empty list"), "want at least one column"));
    }
    let mut seen = HashSet::new();
    match columns.iter().find(|column| !seen.insert(*column)) {
        Some(twice) => Err(refuse(&format!("{key}: got `{twice}` twice"), "want every column once")),
        None => Ok(columns.to_vec()),
    }
}

/// The rows of a matrix, from the config or from a table, whose path begins at `folder`. Refused: both or none of them;
/// rows of different lengths; a table that cannot be read.
fn coefficients(
    rows: &Option<Vec<Vec<i64>>>,
    table: &Option<String>,
    folder: &Path,
    refuse: &Refuse,
) -> Result<Vec<Vec<i64>>> {
    let rows = match (rows, table) {
        (Some(rows), None) => rows.clone(),
        (None, Some(path)) => read_matrix(&folder.join(path))?,
        _ => {
            let message = "coefficients: want one of `rows` and `table`";
            return Err(refuse(message, "either rows or a table"));
        }
    };
    match rows.iter().position(|row| row.len() != rows[0].len()) {
        Some(i) => {
            let message = format!("coefficients: row {} has {} entries", i + 1, rows[i].len());
            Err(refuse(&message, &format!("want {} as in the first", rows[0].len())))
        }
        None => Ok(rows),
    }
}

/// Refuses another number of values than of rows.
fn check_values(values: &[i64], rows: &[Vec<i64>], refuse: &Refuse) -> Result<()> {
    if values.len() != rows.len() {
        let message = format!("values: got {} for {} rows", values.len(), rows.len());
        return Err(refuse(&message, "want one value per row"));
    }
    Ok(())
}

/// Sets of entries that the config numbers from 1, numbered from 0. Refused: an entry below 1.
fn zero_based(sets: &[Vec<i64>], refuse: &Refuse) -> Result<Vec<Vec<usize>>> {
    let number = |&entry: &i64| {
        let number = entry.checked_sub(1).and_then(|entry| usize::try_from(entry).ok());
        number.ok_or_else(|| refuse(&format!("sets: got entry {entry}"), "entries are numbered from 1"))
    };
    sets.iter().map(|set| set.iter().map(number).collect()).collect()
}
