//! The shape of a config file. Unknown keys are refused; every checked value keeps its place in the file.

use super::axes::{WireAxes, WireExclude};
pub use super::values::{
    Axis, Budgeted, Budgets, Epsilons, WireKeep, WireMethod, WirePaid, WireSplit, WireZip,
};
use crate::config::Preface;
use crate::input::Bound;
use std::ops::Range;
use toml::Spanned;

/// What the files of all studies of a grid have in common, and a block of each.
pub struct WireFile<B: GridBlock> {
    /// Name of the run.
    pub name: Spanned<String>,
    /// Master seeds.
    pub seed: Option<Spanned<Axis<u64>>>,
    /// How many master seeds, from 1 on.
    pub seeds: Option<Spanned<i64>>,
    /// Place of the study.
    pub study: Range<usize>,
    /// `[data]`, or several `[[data]]`.
    pub data: Spanned<Axis<WireData>>,
    /// `[[invariant]]`
    pub invariant: Vec<Spanned<WireInvariant>>,
    /// `[[grid]]`
    pub grid: Spanned<Vec<B>>,
    /// `[[exclude]]`
    pub exclude: Vec<WireExclude>,
    /// `[about]`
    pub about: Preface,
    /// `[compare]`
    pub compare: WireCompare,
    /// What the study has of its own.
    pub top: B::Top,
}

/// A block of any study, by its macro.
pub trait GridBlock {
    /// What its study has at the top of a file.
    type Top;
    /// Keys of a file and its blocks that not every study has.
    const KEYS: &[&str];
    /// The axes.
    fn axes(&self) -> WireAxes<'_>;
}

/// The file of one study of a grid and its block: what all have in common, and what is its own, at the top and in a block.
macro_rules! study {
    ($($rest:tt)*) => { $crate::config::axes::with_optional_axes! { crate::config::wire::study_with! { $($rest)* } } };
}
pub(crate) use study;

/// What [`study!`] expands to, with the rows of the axes that a block may leave out.
macro_rules! study_with {
    (
        [$(
            $(#[$axis_doc:meta])* $name:ident $axis:ident: $wire:ty as $schema:literal,
            out $out:literal, $facts:tt;
        )*]
        $(#[$doc:meta])* $file:ident $study_name:tt ($study:tt, $blocks:tt), $top_name:ident {
            $($(#[$top_meta:meta])* $top:ident: $top_type:ty,)*
        }
        $(#[$block_doc:meta])* $block:ident by $budget:ident ($budgets:ident, $of_budgets:tt): $budget_doc:literal {
            $($(#[$own_meta:meta])* $own:ident: $own_type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        #[schemars(extend("oneOf" = [{ "required": ["seed"] }, { "required": ["seeds"] }]))]
        pub struct $file {
            /// Name of the run: part of the folder's name.
            #[schemars(with = "String")]
            name: toml::Spanned<String>,
            /// Master seed; of several each draws the whole grid.
            #[schemars(with = "Option<crate::config::wire::Axis<u64>>")]
            seed: Option<toml::Spanned<$crate::config::wire::Axis<u64>>>,
            /// In place of `seed`: so many master seeds, 1, 2, 3 and so on.
            #[schemars(with = "Option<i64>", range(min = 1))]
            seeds: Option<toml::Spanned<i64>>,
            /// What is done with the cells: release (default), meeting, privacy, profile, frontier, coverage; or composition or cube,
            /// which have other keys.
            #[schemars(with = $study, extend("enum" = [$study_name]))]
            study: Option<toml::Spanned<String>>,
            /// The confidential counts; of several data sets, each with a `name`, every one has the whole grid.
            #[schemars(with = "crate::config::wire::Axis<crate::config::wire::WireData>")]
            data: toml::Spanned<$crate::config::wire::Axis<$crate::config::wire::WireData>>,
            /// What every release must keep, for tables that are not a hierarchy of their own; all of them together.
            #[serde(default)]
            #[schemars(with = "Vec<crate::config::wire::WireInvariant>")]
            invariant: Vec<toml::Spanned<$crate::config::wire::WireInvariant>>,
            /// Blocks of the grid, concatenated.
            #[schemars(with = $blocks)]
            grid: toml::Spanned<Vec<$block>>,
            /// Combinations to leave out.
            #[serde(default)]
            exclude: Vec<$crate::config::axes::WireExclude>,
            /// What the study says of itself; no figure depends on it.
            #[serde(default)]
            about: $crate::config::Preface,
            /// How `compare` judges runs of this config.
            #[serde(default)]
            compare: $crate::config::wire::WireCompare,
            $($(#[$top_meta])* $top: $top_type,)*
        }

        /// What only this study has at the top of its file.
        pub struct $top_name {
            $($top: $top_type,)*
        }

        impl From<$file> for $crate::config::wire::WireFile<$block> {
            fn from(file: $file) -> Self {
                Self {
                    name: file.name,
                    seed: file.seed,
                    seeds: file.seeds,
                    study: file.study.map_or(0..0, |study| study.span()),
                    data: file.data,
                    invariant: file.invariant,
                    grid: file.grid,
                    exclude: file.exclude,
                    about: file.about,
                    compare: file.compare,
                    top: $top_name { $($top: file.$top,)* },
                }
            }
        }

        $(#[$block_doc])*
        #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $block {
            #[doc = $budget_doc]
            #[schemars(with = $of_budgets)]
            $budget: toml::Spanned<$crate::config::wire::$budgets>,
            /// Noise laws.
            #[schemars(with = "crate::config::wire::Axis<crate::config::names::LawName>")]
            law: toml::Spanned<$crate::config::wire::Axis<String>>,
            /// Methods.
            #[schemars(with = "crate::config::wire::Axis<crate::config::wire::WireMethod>")]
            method: toml::Spanned<$crate::config::wire::Axis<$crate::config::wire::WireMethod>>,
            $(
                $(#[$axis_doc])*
                #[schemars(with = $schema)]
                $axis: Option<toml::Spanned<$crate::config::wire::Axis<$wire>>>,
            )*
            /// Names of axes that go together, the first value of one with the first of the others, instead of every
            /// value of one with every value of the others; several such lists in a list.
            #[schemars(with = "Option<crate::config::wire::WireZip>")]
            zip: Option<toml::Spanned<$crate::config::wire::WireZip>>,
            $($(#[$own_meta])* $own: $own_type,)*
        }

        impl $crate::config::wire::GridBlock for $block {
            type Top = $top_name;
            const KEYS: &[&str] = &[stringify!($budget), $(stringify!($top),)* $(stringify!($own),)*];

            fn axes(&self) -> $crate::config::axes::WireAxes<'_> {
                $crate::config::axes::WireAxes {
                    budget: (stringify!($budget), self.$budget.span(), $crate::config::wire::Budgeted::budgets(self.$budget.get_ref())),
                    law: &self.law,
                    method: &self.method,
                    $($axis: self.$axis.as_ref(),)*
                    zip: self.zip.as_ref(),
                }
            }
        }
    };
}
pub(crate) use study_with;

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
    /// A margin for each of `l1`, `l2`, `bias`, `tau`, `gamma` that is to have its own.
    #[serde(default)]
    pub margins: WireMargins,
}

/// `[compare.margins]`
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireMargins {
    /// The margin of the mean L1 error.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub l1: Option<Spanned<f64>>,
    /// The margin of the mean L2 error.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub l2: Option<Spanned<f64>>,
    /// The margin of the bias, as a share of the mean absolute error of a count.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub bias: Option<Spanned<f64>>,
    /// The margin of the mean meeting time.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub tau: Option<Spanned<f64>>,
    /// The margin of the largest gamma.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub gamma: Option<Spanned<f64>>,
}

/// `[data]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WireData {
    /// Its name in results; wanted where there are several data sets.
    #[schemars(with = "Option<String>")]
    pub name: Option<Spanned<String>>,
    /// CSV or parquet file with a row per leaf, relative to the config file.
    #[schemars(with = "String")]
    pub table: Spanned<String>,
    /// Columns that name the nodes of each level below the root, coarse to fine: every node is released.
    #[schemars(with = "Option<Vec<String>>")]
    pub levels: Option<Spanned<Vec<String>>>,
    /// Name of the root's level; default: "total".
    #[schemars(with = "Option<String>")]
    pub root: Option<Spanned<String>>,
    /// Levels whose counts are known, and so released as they are: the root's and those below it, without a gap.
    #[schemars(with = "Option<Vec<String>>")]
    pub known: Option<Spanned<Vec<String>>>,
    /// Column that marks single counts as known: 1 for the count of the row, or on trees the name of the level of its node.
    #[schemars(with = "Option<String>")]
    pub known_column: Option<Spanned<String>>,
    /// Column of the counts.
    #[schemars(with = "String")]
    pub count: Spanned<String>,
    /// Columns that name an entry of a table; default: all but the count.
    #[schemars(with = "Option<Vec<String>>")]
    pub entry: Option<Spanned<Vec<String>>>,
    /// Rows to take: column = value or list of values.
    #[serde(default, rename = "where")]
    #[schemars(with = "std::collections::BTreeMap<String, Axis<String>>")]
    pub filter: std::collections::BTreeMap<String, Spanned<Axis<String>>>,
}

/// One `[[invariant]]`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum WireInvariant {
    /// The sum of all entries.
    Total {},
    /// The sum of every group: entries that agree in these columns.
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
    /// Sums over sets of entries: either listed or given by columns of 0 and 1.
    Subsets {
        /// Entries by number, from 1 in the order of the table.
        sets: Option<Vec<Vec<i64>>>,
        /// Columns.
        columns: Option<Vec<String>>,
    },
    /// Further entries for the nodes of a tree, each the sum of its children; the rows are the leaves.
    Hierarchy {
        /// Columns that name the levels below the root, coarse to fine; the last names the leaves.
        levels: Vec<String>,
    },
    /// Explicit coefficients: one list per equation, or a CSV file with a column per entry, a row per equation and no
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
    /// Bounds of every entry.
    Bounds {
        /// Least value, or the column that holds it (empty for none).
        lower: Option<Bound>,
        /// Largest value, or its column.
        upper: Option<Bound>,
    },
    /// Inequalities. On a table with explicit coefficients, as for a matrix: `rows · y >= values`. On a hierarchy (`data.levels`) one
    /// between counts of nodes: those of `of`, less those of `minus`, are at least `value`.
    AtLeast {
        /// Coefficients.
        rows: Option<Vec<Vec<i64>>>,
        /// File, relative to the config.
        table: Option<String>,
        /// The least values.
        values: Option<Vec<i64>>,
        /// Nodes that count for it: each by its name on its level, with as many levels above as tell it from others; the root by the
        /// name of its level.
        of: Option<Axis<WireNode>>,
        /// Nodes that count against it.
        minus: Option<Axis<WireNode>>,
        /// The least value; default 0.
        value: Option<i64>,
    },
}

/// A node of a hierarchy: `{ borough = "Bronx" }`, or `"total"` for the root.
#[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "want names by level, as { borough = \"Bronx\" }, or the name of the root's level"
)]
pub enum WireNode {
    /// The root, by the name of its level.
    Root(String),
    /// Columns of levels and names.
    Names(std::collections::BTreeMap<String, String>),
}

/// `[report]` of a study that draws no releases.
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WirePublished {
    /// CSV file of published figures to print beside ours, relative to the config file.
    #[schemars(with = "Option<String>")]
    pub published: Option<Spanned<String>>,
}
