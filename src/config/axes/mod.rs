//! The axes of a grid, a row of facts each. Reading a block, its product, `zip`, `[[exclude]]`, keys of cells and resolved configs go
//! through the rows and name no axis.

mod optional;
mod value;
mod wire;

use super::excluded::ExcludedMethod;
use crate::catalogue::{LawKind, Method, MethodKind};
use crate::privacy::{Amount, Measure};
pub use optional::{Data, Delta, Here, Optional, Seed, Sensitivity, Split};
pub use value::{Held, Names, Valued};
pub use wire::{WireAxes, WireExclude};

/// The axes that a block may leave out, for a macro that is called as `then! { [rows] rest }`. A row:
///
/// - what the documentation says of its values in a block;
/// - its name as a type (which reads it: [`Optional`]) and as a key; the type of a value in a file, and that of all in its schema;
/// - what the documentation says of its values in an `[[exclude]]` block;
/// - in braces what only [`AXES`] is made of: the type of a cell's value (`Option` of that of an axis that not every cell
///   has), the value where nothing is said, and which cells have it; whether it is of the noise, or says only how often
///   and on what that is drawn; its words in the key of a cell, and its line in a resolved config (on a tree, or not),
///   `None` where it has none. A later axis has no words where it stands at its default, so that cells of earlier
///   configs keep their keys.
macro_rules! with_optional_axes {
    ($($then:ident)::+! { $($rest:tt)* }) => {
        $($then)::+! { [
            /// Deltas, for the Gaussian laws: probabilities in (0, 1).
            Delta delta: f64 as "Option<crate::config::wire::Axis<f64>>",
            out "Deltas.", {
                at Option<f64> = None, of |point| point.law.needs_delta(),
                noise true,
                key |point| Some(format!("delta={:?}", point.delta)),
                line |point, _| Some(format!("delta = {:?}", point.delta?))
            };

            /// Sensitivities of one level's counts, in counts: what one change does to them, in the law's norm; default 1.
            Sensitivity sensitivity: f64 as "Option<crate::config::wire::Axis<f64>>",
            out "Sensitivities.", {
                at f64 = 1.0, of |_| true,
                noise true,
                key |point| Some(format!("sensitivity={:?}", point.sensitivity)),
                line |point, _| point.law.is_noise().then(|| format!("sensitivity = {:?}", point.sensitivity))
            };

            /// Splits of the budget over the levels; default "each".
            Split split: crate::config::values::WireSplit as "Option<crate::config::names::SplitAxis>",
            out "Splits of the budget.", {
                at crate::config::SplitSpec = crate::config::SplitSpec::Each, of |_| true,
                noise true,
                key |point| Some(format!("split={}", point.split.label())),
                line |point, on_tree| {
                    (on_tree && point.law.is_noise()).then(|| format!("split = {}", point.split.written()))
                }
            };

            /// Those of the config's master seeds that the block has; default: all.
            Seed seed: u64 as "Option<crate::config::wire::Axis<u64>>",
            out "Master seeds.", {
                at u64 = 0, of |_| true,
                noise false,
                key |_| None,
                line |_, _| None
            };

            /// Those of the config's data sets that the block has, by their names; default: all.
            Data data: String as "Option<crate::config::wire::Axis<String>>",
            out "Data sets, by their names.", {
                at String = String::new(), of |_| true,
                noise false,
                key |_| None,
                line |_, _| None
            };
        ] $($rest)* }
    };
}
pub(crate) use with_optional_axes;

/// The stores of values, and [`AXES`].
macro_rules! axes {
    ([$(
        $(#[$doc:meta])* $name:ident $axis:ident: $wire:ty as $schema:literal,
        out $out:literal, {
            at $one:ty = $alone:expr, of $has:expr,
            noise $noise:literal,
            key $key:expr,
            line $line:expr
        };
    )*]) => {
        axes! { rows
            /// Budgets: epsilon, or what is to be paid.
            Budget budget: Amount, named Amount,
            at Amount = Amount { loss: 1.0, measure: Measure::Epsilon }, of |_| true,
            keys ["epsilon", "paid"], noise true, key |_| None, line |_, _| None;
            $(
                $(#[$doc])*
                $name $axis: <$name as Optional>::Value, named <$name as Optional>::Value, at $one = $alone, of $has,
                keys [stringify!($axis)], noise $noise, key $key, line $line;
            )*
            /// Noise laws.
            Law law: LawKind, named LawKind, at LawKind = LawKind::ALL[0], of |_| true, keys ["law"], noise true,
            key |point| Some(format!("law={}", point.law.name())),
            line |_, _| None;
            /// Methods, each combination of its options by itself.
            Method method: Method, named ExcludedMethod,
            at Method = MethodKind::ALL[0].with(|_| None), of |_| true,
            keys ["method"], noise false, key |_| None, line |_, _| None;
            /// Lags of coupled pairs; empty if there are none.
            Lag lag: u64, named u64, at Option<u64> = None, of |_| true, keys ["lag"], noise false, key |_| None, line |_, _| None;
        }
    };
    (rows $(
        $(#[$doc:meta])* $name:ident $axis:ident: $value:ty, named $named:ty,
        at $one:ty = $alone:expr, of $has:expr,
        keys [$($word:expr),*], noise $noise:expr,
        key $key:expr, line $line:expr;
    )*) => {
        /// The values of a block on every axis.
        #[derive(Debug, Clone)]
        pub struct Axes {
            $($(#[$doc])* pub $axis: Vec<$value>,)*
        }

        /// What a cell is: its place on every axis.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Point {
            $($(#[$doc])* pub $axis: $one,)*
        }

        /// An `[[exclude]]` block: cells that match every list that it has are left out.
        #[derive(Debug, Clone, Default)]
        pub struct Exclude {
            $($(#[$doc])* pub $axis: Option<Vec<$named>>,)*
            /// Non-negativity.
            pub nonnegative: Option<bool>,
        }

        impl Default for Point {
            /// The first law and method, and what no axis changes.
            fn default() -> Self {
                Self { $($axis: $alone,)* }
            }
        }

        /// The name of an axis.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AxisName {
            $(
                #[doc = concat!("`", stringify!($axis), "`")]
                $name,
            )*
        }

        /// All axes. Of those of the noise a later one is the outer in the order of cells.
        pub static AXES: &[AxisRow] = &[$(
            AxisRow {
                name: AxisName::$name,
                keys: &[$($word),*],
                of_noise: $noise,
                has: $has,
                len: |axes| axes.$axis.len(),
                put: |axes, place, point| point.$axis = axes.$axis[place].clone().into(),
                leaves_out: |block, point| match &block.$axis {
                    None => true,
                    Some(named) => {
                        let is = |value: &$value| named.iter().any(|named| Names::<$value>::names(named, value));
                        Held::<$value>::held(&point.$axis).is_some_and(is)
                    }
                },
                idle: |block, blocks| {
                    let has = |axes: &&Axes, named: &$named| {
                        axes.$axis.iter().any(|value| Names::<$value>::names(named, value))
                    };
                    let is_there = |named: &&$named| blocks.iter().any(|axes| has(axes, named));
                    block.$axis.iter().flatten().find(|named| !is_there(named)).map(Valued::words)
                },
                number: |point| Held::<$value>::held(&point.$axis)?.number(),
                numbers: |block| block.$axis.as_ref()?.iter().map(Valued::number).collect(),
                json: |point| Held::<$value>::held(&point.$axis).map_or(serde_json::Value::Null, Valued::json),
                key: $key,
                line: $line,
            },
        )*];
    };
}

/// What is known of an axis.
pub struct AxisRow {
    /// Its name.
    pub name: AxisName,
    /// Its key in a config; of budgets that is `epsilon`, or `paid`.
    pub keys: &'static [&'static str],
    /// Whether it is of the noise.
    pub of_noise: bool,
    /// Whether a cell that is on the outer axes is on it.
    pub has: fn(&Point) -> bool,
    /// Values of a block.
    pub len: fn(&Axes) -> usize,
    /// Moves a cell to the value at a place.
    pub put: fn(&Axes, usize, &mut Point),
    /// Whether an `[[exclude]]` block leaves out a cell, as far as this axis goes.
    pub leaves_out: fn(&Exclude, &Point) -> bool,
    /// The first value of an `[[exclude]]` block that no block of the grid has, in words.
    pub idle: fn(&Exclude, &[&Axes]) -> Option<String>,
    /// The number of a cell's value: see [`Valued::number`].
    pub number: fn(&Point) -> Option<u64>,
    /// The numbers of the values of an `[[exclude]]` block, if it has any and all of them have a number.
    pub numbers: fn(&Exclude) -> Option<Vec<u64>>,
    /// The value of a cell, for programs; null of one that is not on it.
    pub json: fn(&Point) -> serde_json::Value,
    /// Its words in the key of a cell.
    pub key: fn(&Point) -> Option<String>,
    /// Its line in a resolved config, on a tree or not.
    pub line: fn(&Point, bool) -> Option<String>,
}

with_optional_axes! { axes! {} }

impl AxisName {
    /// That of a key.
    pub fn of(key: &str) -> Option<Self> {
        AXES.iter().find(|axis| axis.keys.contains(&key)).map(|axis| axis.name)
    }
}

impl Exclude {
    /// Whether it leaves out a cell; one that names values of an axis that not every cell has, only cells that are on it.
    pub fn has(&self, point: &Point) -> bool {
        self.nonnegative.is_none_or(|nonnegative| nonnegative == point.method.nonnegative())
            && AXES.iter().all(|axis| (axis.leaves_out)(self, point))
    }
}
