//! Which data a config names: the table, the columns, and what every release must keep.

use std::ops::Range;
use std::path::PathBuf;

/// Which counts are known, and so released as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Levels that are known whole; with each of them all above it.
    pub levels: Vec<String>,
    /// A column that marks single counts.
    pub column: Option<String>,
}

/// The table of confidential counts.
#[derive(Debug, Clone)]
pub struct DataSource {
    /// CSV or parquet file.
    pub table: PathBuf,
    /// Column of the counts.
    pub count: String,
    /// Rows to take: column and values.
    pub filter: Vec<(String, Vec<String>)>,
    /// What is released, and what is kept.
    pub shape: Shape,
    /// The name of the root's level.
    pub root: String,
    /// Which counts are known.
    pub known: Known,
}

impl DataSource {
    /// The names of the levels of a tree, the root's first; none of a table.
    pub fn level_names(&self) -> Vec<&str> {
        match &self.shape {
            Shape::Hierarchy { levels, .. } => {
                std::iter::once(self.root.as_str()).chain(levels.iter().map(String::as_str)).collect()
            }
            Shape::Table { .. } => Vec::new(),
        }
    }

    /// The columns of a table that tell its entries apart or stand in an invariant, in the order of `all`; of a tree none.
    pub fn key_columns<'a>(&self, all: &'a [String]) -> Vec<&'a str> {
        let Shape::Table { entry, invariants } = &self.shape else { return Vec::new() };
        let named: Vec<&str> = invariants.iter().flat_map(|(spec, _)| spec.columns()).collect();
        let is_key = |column: &&String| match entry {
            Some(entry) => entry.contains(column) || named.contains(&column.as_str()),
            None => **column != self.count && self.known.column.as_ref() != Some(*column),
        };
        all.iter().filter(is_key).map(String::as_str).collect()
    }

    /// The equations that every release keeps, in words.
    pub fn equation_words(&self) -> String {
        let Shape::Table { invariants, .. } = &self.shape else { return "the hierarchy".into() };
        let known = (self.known != Known::default()).then(|| "the known counts".to_owned());
        let words = invariants.iter().filter_map(|(spec, _)| spec.equation_words());
        words.chain(known).collect::<Vec<_>>().join(" and ")
    }

    /// The inequalities between nodes of a tree, in words behind a sign; nothing where there are none.
    pub fn within_words(&self, sign: &str) -> String {
        let Shape::Hierarchy { inequalities, .. } = &self.shape else { return String::new() };
        let words: Vec<String> = inequalities.iter().map(|(one, _)| format!("`{}`", one.words())).collect();
        if words.is_empty() { String::new() } else { format!("{sign}within {}", words.join(", ")) }
    }

    /// All that every release keeps, in words.
    pub fn invariant_words(&self) -> String {
        let invariants = match &self.shape {
            Shape::Hierarchy { .. } => {
                return format!("each count is the sum of those below it: {}", self.level_names().join(", "))
                    + if self.known == Known::default() { "" } else { "; the known counts" }
                    + &self.within_words("; ");
            }
            Shape::Table { invariants, .. } => invariants,
        };
        let bounds = invariants.iter().filter_map(|(spec, _)| match spec {
            InvariantSpec::Nonnegative => Some("counts >= 0".to_owned()),
            InvariantSpec::Bounds(..) => Some("bounds of entries".into()),
            InvariantSpec::AtLeast(rows, _) => Some(format!("linear inequalities ({})", rows.len())),
            _ => None,
        });
        let equations = Some(self.equation_words()).filter(|words| !words.is_empty());
        equations.into_iter().chain(bounds).collect::<Vec<_>>().join("; ")
    }
}

/// The inequalities between nodes in what [`DataSource::invariant_words`] says; `None` where it says none.
pub fn within_of(invariant: &str) -> Option<&str> {
    invariant.find("within `").map(|at| &invariant[at..])
}

/// What is released, and what every release keeps.
#[derive(Debug, Clone)]
pub enum Shape {
    /// All nodes of a tree; parents are the sums of their children.
    Hierarchy {
        /// Columns of the levels below the root.
        levels: Vec<String>,
        /// Inequalities between nodes, with their places in the text.
        inequalities: Vec<(NodeInequality, Range<usize>)>,
    },
    /// The entries of a table, under linear equations.
    Table {
        /// Columns that name an entry; `None` for all but the count.
        entry: Option<Vec<String>>,
        /// The equations, with their places in the text.
        invariants: Vec<(InvariantSpec, Range<usize>)>,
    },
}

/// One `[[invariant]]`.
#[derive(Debug, Clone, PartialEq)]
pub enum InvariantSpec {
    /// The sum of all entries.
    Total,
    /// Sums of the entries that agree in these columns.
    Partition(Vec<String>),
    /// Both margins of a two-way table.
    Margins {
        /// Column of the rows.
        rows: String,
        /// Column of the columns.
        columns: String,
    },
    /// Sums over sets of entries, numbered from 0.
    Sets(Vec<Vec<usize>>),
    /// Sums over the entries that have 1 in a column.
    Indicators(Vec<String>),
    /// Further entries for the nodes of a tree.
    Hierarchy(Vec<String>),
    /// Explicit coefficients.
    Matrix {
        /// Row by row.
        rows: Vec<Vec<i64>>,
        /// What the equations must give.
        values: Option<Vec<i64>>,
    },
    /// No release is below 0.
    Nonnegative,
    /// Bounds by entry: lower and upper.
    Bounds(Option<Bound>, Option<Bound>),
    /// Rows of explicit coefficients and the least values.
    AtLeast(Vec<Vec<i64>>, Vec<i64>),
}

impl InvariantSpec {
    /// Columns by which sums are kept: of each group of entries that agree in the columns of one list; `None` of what is no such sum.
    pub fn sums(&self) -> Option<Vec<Vec<&str>>> {
        match self {
            Self::Total => Some(vec![Vec::new()]),
            Self::Partition(by) => Some(vec![by.iter().map(String::as_str).collect()]),
            Self::Margins { rows, columns } => Some(vec![vec![rows], vec![columns]]),
            _ => None,
        }
    }

    /// The columns that are named.
    pub fn columns(&self) -> Vec<&str> {
        let column = |bound| match bound {
            &Some(Bound::Column(ref column)) => Some(column.as_str()),
            _ => None,
        };
        match self {
            Self::Indicators(columns) | Self::Hierarchy(columns) => {
                columns.iter().map(String::as_str).collect()
            }
            Self::Bounds(lower, upper) => [lower, upper].into_iter().filter_map(column).collect(),
            other => other.sums().into_iter().flatten().flatten().collect(),
        }
    }

    /// This source with other names of columns.
    pub fn renamed(&self, name: impl Fn(&str) -> String) -> Self {
        let all = |columns: &[String]| columns.iter().map(|column| name(column)).collect();
        let bound = |bound: &Option<Bound>| match bound {
            Some(Bound::Column(column)) => Some(Bound::Column(name(column))),
            other => other.clone(),
        };
        match self {
            Self::Partition(by) => Self::Partition(all(by)),
            Self::Margins { rows, columns } => Self::Margins { rows: name(rows), columns: name(columns) },
            Self::Indicators(columns) => Self::Indicators(all(columns)),
            Self::Hierarchy(levels) => Self::Hierarchy(all(levels)),
            Self::Bounds(lower, upper) => Self::Bounds(bound(lower), bound(upper)),
            other => other.clone(),
        }
    }

    /// The equations in words, if it is of equations.
    fn equation_words(&self) -> Option<String> {
        match self {
            Self::Total => Some("the total".to_owned()),
            Self::Partition(by) => Some(format!("the partition by {}", by.join(", "))),
            Self::Margins { rows, columns } => Some(format!("the margins of {rows} and {columns}")),
            Self::Sets(_) => Some("the subsets".into()),
            Self::Indicators(columns) => Some(format!("the subsets {}", columns.join(", "))),
            Self::Hierarchy(levels) => Some(format!("the hierarchy {}", levels.join(", "))),
            Self::Matrix { .. } => Some("the matrix".into()),
            Self::Nonnegative | Self::Bounds(..) | Self::AtLeast(..) => None,
        }
    }
}

/// Counts of some nodes of a tree, less those of others, are at least a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInequality {
    /// The nodes that count for it.
    pub of: Vec<NodeName>,
    /// The nodes that count against it.
    pub minus: Vec<NodeName>,
    /// The least value.
    pub least: i64,
}

/// A node by its name and as many names above it as tell it from others: columns of levels, coarse to fine, with values. The root: none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeName {
    /// Its names.
    pub names: Vec<(String, String)>,
    /// The name of the root's level.
    pub root: String,
}

impl NodeName {
    /// The names, joined by `/`.
    pub fn words(&self) -> String {
        match &self.names[..] {
            [] => self.root.clone(),
            names => names.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join("/"),
        }
    }
}

impl NodeInequality {
    /// In words: `Bronx >= 10`, `Bronx <= 90`, `Manhattan >= Bronx`, `Manhattan - Bronx >= 5`.
    pub fn words(&self) -> String {
        let sum = |nodes: &[NodeName]| nodes.iter().map(NodeName::words).collect::<Vec<_>>().join(" + ");
        let (of, minus) = (sum(&self.of), sum(&self.minus));
        match (self.of.is_empty(), &self.minus[..], self.least) {
            (true, _, least) => format!("{minus} <= {}", -i128::from(least)),
            (false, [], least) => format!("{of} >= {least}"),
            (false, _, 0) => format!("{of} >= {minus}"),
            (false, [_], least) => format!("{of} - {minus} >= {least}"),
            (false, _, least) => format!("{of} - ({minus}) >= {least}"),
        }
    }
}

/// A number or a column.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Bound {
    /// One bound for all entries.
    Value(i64),
    /// A column with the bound of each entry.
    Column(String),
}

/// Which draws are written out.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Keep {
    /// No draws.
    #[default]
    Nothing,
    /// The draws of all entries of a table, or of all levels of a tree.
    All,
    /// The draws of some levels of a tree, from 0 for the root; in this order, each once.
    Levels(Vec<usize>),
}
