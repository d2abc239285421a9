//! The shape of a config file. Unknown keys are refused; every checked value keeps its place in the file.

use super::schema::{BasisName, LawName, MethodName, SourceName, SplitAxis, StudyName};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

/// The whole file.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireConfig {
    /// Name of the run: part of the folder's name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Master seed.
    #[schemars(with = "u64")]
    pub seed: Spanned<u64>,
    /// What is done with the cells: "release" (default), "meeting" or "privacy".
    #[schemars(with = "Option<StudyName>")]
    pub study: Option<Spanned<String>>,
    /// Replicates of every cell, unless its block says otherwise.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub replicates: Option<Spanned<i64>>,
    /// Whether the draws are written out, beside their summaries.
    #[serde(default)]
    pub keep_draws: bool,
    /// The confidential counts.
    pub data: WireData,
    /// What every release must keep, for tables that are not a hierarchy of their own; all of them together.
    #[serde(default)]
    #[schemars(with = "Vec<WireInvariant>")]
    pub invariant: Vec<Spanned<WireInvariant>>,
    /// Blocks of the grid, concatenated.
    #[schemars(with = "Vec<WireGrid>")]
    pub grid: Spanned<Vec<WireGrid>>,
    /// Combinations to leave out.
    #[serde(default)]
    pub exclude: Vec<WireExclude>,
    /// What the report adds.
    #[serde(default)]
    pub report: WireReport,
    /// How `compare` judges runs of this config.
    #[serde(default)]
    pub compare: WireCompare,
}

/// `[compare]`
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireCompare {
    /// Chance of a wrong verdict over all figures together; default 0.05.
    #[schemars(with = "Option<f64>", range(min = 0, max = 1))]
    pub level: Option<Spanned<f64>>,
    /// Share of the base's mean within which a difference does not matter; default 0.05.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub margin: Option<Spanned<f64>>,
    /// The same for single metrics.
    #[serde(default)]
    pub margins: WireMargins,
}

/// `[compare.margins]`
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireMargins {
    /// Of the mean L1 error.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub l1: Option<Spanned<f64>>,
    /// Of the mean L2 error.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub l2: Option<Spanned<f64>>,
    /// Of the mean meeting time.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub tau: Option<Spanned<f64>>,
    /// Of the largest gamma.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub gamma: Option<Spanned<f64>>,
}

/// `[data]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireData {
    /// CSV or parquet file with a row per leaf, relative to the config file.
    #[schemars(with = "String")]
    pub table: Spanned<String>,
    /// Columns that name the nodes of each level below the root, coarse to fine: every node is released.
    #[schemars(with = "Option<Vec<String>>")]
    pub levels: Option<Spanned<Vec<String>>>,
    /// Column of the counts.
    #[schemars(with = "String")]
    pub count: Spanned<String>,
    /// Columns that name a cell of a table; default: all but the count.
    #[schemars(with = "Option<Vec<String>>")]
    pub cell: Option<Spanned<Vec<String>>>,
    /// Rows to take: column = value or list of values.
    #[serde(default, rename = "where")]
    #[schemars(with = "std::collections::BTreeMap<String, Axis<String>>")]
    pub filter: std::collections::BTreeMap<String, Spanned<Axis<String>>>,
}

/// One `[[invariant]]`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum WireInvariant {
    /// The sum of all cells.
    Total {},
    /// The sum of every group: cells that agree in these columns.
    Partition {
        /// Columns.
        by: Axis<String>,
    },
    /// Both margins of a two-way table.
    Margins {
        /// Column that names the row.
        rows: String,
        /// Column that names the column.
        columns: String,
    },
    /// Sums over sets of cells: either listed or given by columns of 0 and 1.
    Subsets {
        /// Cells by number, from 1 in the order of the table.
        sets: Option<Vec<Vec<i64>>>,
        /// Columns.
        columns: Option<Vec<String>>,
    },
    /// Further cells for the nodes of a tree, each the sum of its children; the rows are the leaves.
    Hierarchy {
        /// Columns that name the levels below the root, coarse to fine; the last names the leaves.
        levels: Vec<String>,
    },
    /// Explicit coefficients: one list per equation, or a CSV file with a column per cell, a row per equation and no
    /// header.
    Matrix {
        /// Coefficients.
        rows: Option<Vec<Vec<i64>>>,
        /// File, relative to the config.
        table: Option<String>,
        /// What the equations must give, if the data are to be checked.
        values: Option<Vec<i64>>,
    },
    /// No release is below 0.
    Nonnegative {},
    /// Bounds of every cell.
    Bounds {
        /// Least value, or the column that holds it (empty for none).
        lower: Option<WireBound>,
        /// Largest value, or its column.
        upper: Option<WireBound>,
    },
    /// Inequalities with explicit coefficients, as for a matrix: `rows · y >= values`.
    AtLeast {
        /// Coefficients.
        rows: Option<Vec<Vec<i64>>>,
        /// File, relative to the config.
        table: Option<String>,
        /// The least values.
        values: Vec<i64>,
    },
}

/// A number or a column.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum WireBound {
    /// The same for every cell.
    Value(i64),
    /// By cell.
    Column(String),
}

/// One `[[grid]]` block: the product of its axes.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireGrid {
    /// Privacy budgets.
    #[schemars(with = "Axis<f64>")]
    pub epsilon: Spanned<Axis<f64>>,
    /// Noise laws.
    #[schemars(with = "Axis<LawName>")]
    pub law: Spanned<Axis<String>>,
    /// Methods.
    #[schemars(with = "Axis<WireMethod>")]
    pub method: Spanned<Axis<WireMethod>>,
    /// Sensitivities of one level's counts; default 1.
    #[schemars(with = "Option<Axis<f64>>")]
    pub sensitivity: Option<Spanned<Axis<f64>>>,
    /// Splits of the budget over the levels; default "each".
    #[schemars(with = "Option<SplitAxis>")]
    pub split: Option<Spanned<Axis<WireSplit>>>,
    /// Deltas, for the Gaussian laws.
    #[schemars(with = "Option<Axis<f64>>")]
    pub delta: Option<Spanned<Axis<f64>>>,
    /// Replicates of the block's cells: releases, chains, or coupled pairs.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub replicates: Option<Spanned<i64>>,
    /// Draws recorded of each chain's second half, at most, by cell; default 0: the last state only.
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub records: Option<Spanned<i64>>,
    /// Lags of coupled chains.
    #[schemars(with = "Option<Axis<i64>>")]
    pub lag: Option<Spanned<Axis<i64>>>,
    /// Steps after which a coupled pair is cut short.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub max_steps: Option<Spanned<i64>>,
    /// Chains whose marginals are compared with the exact law, up to `marginal-steps`.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub marginal_chains: Option<Spanned<i64>>,
    /// The last step at which they are.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub marginal_steps: Option<Spanned<i64>>,
}

/// `"name"` or `{ kind = "name", option = value or list, … }`.
#[derive(Debug)]
pub enum WireMethod {
    /// Default options.
    Name(String),
    /// With options; lists are axes.
    Table(Box<WireMethodTable>),
}

/// A method with its options.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireMethodTable {
    /// The method's name.
    #[schemars(with = "MethodName")]
    pub kind: Spanned<String>,
    /// Whether releases must not be negative.
    #[schemars(with = "Option<Axis<bool>>")]
    pub nonnegative: Option<Spanned<Axis<bool>>>,
    /// Sweeps of a Gibbs chain.
    #[schemars(with = "Option<Axis<i64>>")]
    pub sweeps: Option<Spanned<Axis<i64>>>,
    /// Steps of a Metropolis-Hastings chain.
    #[schemars(with = "Option<Axis<i64>>")]
    pub steps: Option<Spanned<Axis<i64>>>,
    /// Standard deviation of its proposal, in units of the leaves' scale.
    #[schemars(with = "Option<Axis<f64>>")]
    pub proposal_scale: Option<Spanned<Axis<f64>>>,
    /// Parameter of a double geometric proposal.
    #[schemars(with = "Option<Axis<f64>>")]
    pub a: Option<Spanned<Axis<f64>>>,
    /// Basis of the lattice: "smith" or "reduced".
    #[schemars(with = "Option<Axis<BasisName>>")]
    pub basis: Option<Spanned<Axis<String>>>,
    /// Inverse scale of a double geometric proposal.
    #[schemars(with = "Option<Axis<f64>>")]
    pub proposal_epsilon: Option<Spanned<Axis<f64>>>,
    /// Share of the excess that the first cell of a total keeps.
    #[schemars(with = "Option<Axis<f64>>")]
    pub beta: Option<Spanned<Axis<f64>>>,
    /// What proposals satisfy: "equations" or "unconstrained".
    #[schemars(with = "Option<Axis<SourceName>>")]
    pub from: Option<Spanned<Axis<String>>>,
}

/// `"each"`, `"even"`, or one share per level.
#[derive(Debug)]
pub enum WireSplit {
    /// A named split.
    Name(String),
    /// Shares, the root's first.
    Shares(Vec<f64>),
}

/// One `[[exclude]]` block: cells that match every key given are left out.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireExclude {
    /// Budgets.
    pub epsilon: Option<Axis<f64>>,
    /// Laws.
    #[schemars(with = "Option<Axis<LawName>>")]
    pub law: Option<Spanned<Axis<String>>>,
    /// Names of methods.
    #[schemars(with = "Option<Axis<MethodName>>")]
    pub method: Option<Spanned<Axis<String>>>,
    /// Non-negativity.
    pub nonnegative: Option<bool>,
    /// Sensitivities.
    pub sensitivity: Option<Axis<f64>>,
}

/// `[report]`
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireReport {
    /// CSV file of published figures to print beside ours, relative to the config file.
    #[schemars(with = "Option<String>")]
    pub published: Option<Spanned<String>>,
    /// A release by somebody else, to print beside our errors cell by cell.
    pub beside: Option<WireBeside>,
}

/// `[report.beside]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireBeside {
    /// CSV file with the columns that name a cell, relative to the config file.
    #[schemars(with = "String")]
    pub table: Spanned<String>,
    /// Its column of confidential counts.
    pub confidential: String,
    /// Its column of released counts.
    pub released: String,
    /// What it is and how it differs: printed with the table.
    pub note: String,
}

/// One value or a list of them.
#[derive(Debug)]
pub struct Axis<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Axis<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMany(PhantomData))
    }
}

struct OneOrMany<T>(PhantomData<T>);

/// Passes a scalar on to `T`.
fn one<'de, T: Deserialize<'de>, E: de::Error>(
    value: impl de::IntoDeserializer<'de, E>,
) -> Result<Axis<T>, E> {
    T::deserialize(value.into_deserializer()).map(|value| Axis(vec![value]))
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Axis<T>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value or a list of values")
    }
    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Axis<T>, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(|value| Axis(vec![value]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Axis<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Axis(values))
    }
}

impl<'de> Deserialize<'de> for WireMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MethodVisitor;
        impl<'de> Visitor<'de> for MethodVisitor {
            type Value = WireMethod;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a method's name or a table { kind = \"name\", options }")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<WireMethod, E> {
                Ok(WireMethod::Name(v.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WireMethod, A::Error> {
                Deserialize::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|table| WireMethod::Table(Box::new(table)))
            }
        }
        deserializer.deserialize_any(MethodVisitor)
    }
}

impl<'de> Deserialize<'de> for WireSplit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SplitVisitor;
        impl<'de> Visitor<'de> for SplitVisitor {
            type Value = WireSplit;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("\"each\", \"even\" or a list of shares inside the list of splits")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<WireSplit, E> {
                Ok(WireSplit::Name(v.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WireSplit, A::Error> {
                let mut shares = Vec::new();
                while let Some(share) = seq.next_element()? {
                    shares.push(share);
                }
                Ok(WireSplit::Shares(shares))
            }
        }
        deserializer.deserialize_any(SplitVisitor)
    }
}
