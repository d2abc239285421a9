//! The shape of a config file of a study of trees of tables.

use crate::config::Preface;
use crate::config::tables::{WireAttribute, WireKnown, WireQuery};
use crate::config::wire::{Axis, WireCompare};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
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
    /// Whether what was measured in the first release of every cell is written as a noisy file, which `infer` reads; not of `exact`.
    #[serde(default)]
    pub(super) keep_draws: bool,
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
    #[schemars(with = "Option<String>")]
    pub(super) count: Option<Spanned<String>>,
    /// CSV or parquet file with bounds of answers, which `topdown` and `bluedown` keep: columns of all levels (blank below the area's), of
    /// `query`, of the attributes (as in a noisy file), and `least` and `most`, either of which may be blank. They must not be made from
    /// the counts.
    #[schemars(with = "Option<String>")]
    pub(super) bounds: Option<Spanned<String>>,
    /// What is released as it is: levels of which every area's total is known, or queries of a level.
    #[serde(default)]
    #[schemars(with = "Vec<WireKnown>")]
    pub(super) known: Vec<Spanned<WireKnown>>,
    /// Cells that cannot be other than 0, such as "hhgq = 3 & voting_age = 0 | 1".
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) zeros: Vec<Spanned<String>>,
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
    /// The delta at which epsilon is stated, for the Gaussian laws.
    #[schemars(with = "Option<f64>")]
    pub(super) delta: Option<Spanned<f64>>,
    /// "unconstrained" (each answer with its own noise), "gls" (the best linear unbiased estimate), "exact" (noise given that all
    /// tables add up, where the detailed table alone is measured), "topdown" and "bluedown" (integers at least 0 that add up, from the root
    /// down: each area by its own answers, or by all answers in its subtree). Of these two `{ kind = "topdown", passes = ["total"] }`
    /// settles the answers of queries first, one after the other, and then the tables given these.
    #[schemars(with = "Axis<WireWay>")]
    pub(super) method: Spanned<Axis<WireWay>>,
    /// How often the released tables of "topdown" and "bluedown" are released again, with each replicate, for the intervals of a parametric
    /// bootstrap; at least 19, such as 99. Default: no intervals.
    #[schemars(with = "Option<i64>", range(min = 19))]
    pub(super) bootstrap: Option<Spanned<i64>>,
    /// Releases of every cell.
    #[schemars(with = "i64", range(min = 1))]
    pub(super) replicates: Spanned<i64>,
}

/// A method.
#[derive(Debug, schemars::JsonSchema)]
#[schemars(untagged, rename = "CubeMethod")]
pub(super) enum WireWay {
    /// Its name.
    Name(String),
    /// With queries that are settled first.
    Passing(WirePassing),
}

/// A method with queries that are settled first.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CubePassing")]
pub(super) struct WirePassing {
    /// "topdown" or "bluedown"
    pub(super) kind: String,
    /// The names of queries, each finer than those before it.
    pub(super) passes: Option<Axis<String>>,
}

impl<'de> Deserialize<'de> for WireWay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Way;
        impl<'de> Visitor<'de> for Way {
            type Value = WireWay;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a method, or such as { kind = \"topdown\", passes = [\"total\"] }")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<WireWay, E> {
                Ok(WireWay::Name(v.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WireWay, A::Error> {
                WirePassing::deserialize(de::value::MapAccessDeserializer::new(map)).map(WireWay::Passing)
            }
        }
        deserializer.deserialize_any(Way)
    }
}
