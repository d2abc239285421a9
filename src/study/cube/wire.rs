//! The shape of a config file of a study of trees of tables.

use crate::config::Preface;
use crate::config::wire::{Axis, WireCompare};
use std::collections::BTreeMap;
use toml::Spanned;

/// A study of trees of tables: a table of attributes in every area of a hierarchy, measured by queries.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "CubeFile")]
pub(super) struct Wire {
    /// Name of the run: part of the folder's name.
    #[schemars(with = "String")]
    pub(super) name: Spanned<String>,
    /// Master seed.
    pub(super) seed: u64,
    /// "cube"
    #[serde(rename = "study")]
    #[schemars(extend("enum" = ["cube"]))]
    _study: String,
    /// The areas, and the tables in them.
    pub(super) data: WireData,
    /// What is measured.
    #[schemars(with = "Vec<WireQuery>")]
    pub(super) query: Vec<Spanned<WireQuery>>,
    /// Blocks of the grid, concatenated.
    pub(super) grid: Vec<WireBlock>,
    /// What the study says of itself; no figure depends on it.
    #[serde(default)]
    pub(super) about: Preface,
    /// How `compare` judges runs of this config.
    #[serde(default)]
    pub(super) compare: WireCompare,
}

/// `[data]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "CubeData")]
pub(super) struct WireData {
    /// "tree-of-tables"
    #[schemars(with = "String", extend("enum" = ["tree-of-tables"]))]
    pub(super) kind: Spanned<String>,
    /// CSV or parquet file with a row for each area of the last level, relative to the config file.
    pub(super) areas: String,
    /// Its columns of the levels below the root, coarse to fine.
    #[schemars(with = "Vec<String>")]
    pub(super) levels: Spanned<Vec<String>>,
    /// The name of the root's level; default "total".
    pub(super) root: Option<String>,
    /// Attributes, each with the number of its categories (named 0, 1, 2 and so on) or with their names.
    #[schemars(with = "BTreeMap<String, WireAttribute>")]
    pub(super) attributes: BTreeMap<String, Spanned<WireAttribute>>,
    /// CSV or parquet file with a row for each cell that is not 0: columns of the levels, or the last of them alone; of the attributes;
    /// and the count.
    pub(super) counts: String,
    /// Its column of counts; default "count".
    pub(super) count: Option<String>,
    /// What is released as it is: levels of which every area's total is known, or queries of a level.
    #[serde(default)]
    #[schemars(with = "Vec<WireKnown>")]
    pub(super) known: Vec<Spanned<WireKnown>>,
    /// Cells that cannot be other than 0, such as "hhgq = 3 & voting_age = 0 | 1".
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) zeros: Vec<Spanned<String>>,
}

/// An attribute.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum WireAttribute {
    /// So many categories.
    Number(i64),
    /// Their names.
    Names(Vec<String>),
}

/// What is known.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum WireKnown {
    /// The totals of a level.
    Level(String),
    /// The answers of a query on a level.
    Query {
        /// The level.
        level: String,
        /// The name of the query.
        query: String,
    },
}

/// `[[query]]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "CubeQuery")]
pub(super) struct WireQuery {
    /// Its name in results; default its attributes with `*` between, or "total".
    pub(super) name: Option<String>,
    /// The attributes that it tells apart; the others are summed over. None: the total.
    #[schemars(with = "Vec<String>")]
    pub(super) of: Spanned<Vec<String>>,
    /// Of some of these groups of categories in their place.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<Vec<WireCategory>>>")]
    pub(super) groups: BTreeMap<String, Spanned<Vec<Vec<WireCategory>>>>,
    /// Shares of the budget, by level: all of them add up to 1.
    #[serde(default = "no_shares")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub(super) shares: Spanned<BTreeMap<String, f64>>,
}

fn no_shares() -> Spanned<BTreeMap<String, f64>> {
    Spanned::new(0..0, BTreeMap::new())
}

/// A category.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum WireCategory {
    /// Its number.
    Number(i64),
    /// Its name.
    Name(String),
}

impl WireCategory {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

/// `[[grid]]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "CubeBlock")]
pub(super) struct WireBlock {
    /// What all measurements together pay for one record that is added or removed.
    #[schemars(with = "Axis<f64>")]
    pub(super) epsilon: Spanned<Axis<f64>>,
    /// Laws of the noise.
    #[schemars(with = "Axis<String>")]
    pub(super) law: Spanned<Axis<String>>,
    /// Of the Gaussian laws: the delta at which epsilon is stated.
    #[schemars(with = "Option<f64>")]
    pub(super) delta: Option<Spanned<f64>>,
    /// "unconstrained" (each answer with its own noise), "gls" (the best linear unbiased estimate).
    #[schemars(with = "Axis<String>")]
    pub(super) method: Spanned<Axis<String>>,
    /// Releases of every cell.
    #[schemars(with = "i64", range(min = 1))]
    pub(super) replicates: Spanned<i64>,
}
