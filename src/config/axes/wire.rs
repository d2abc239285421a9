//! The shape of axes in a file, and how they are read.

use super::super::checker::Checker;
use super::super::excluded::ExcludedMethod;
use super::super::names::LawName;
use super::super::values::{Axis, Budgets, WireMethod, WirePaid, WireZip};
use super::{Axes, AxisName, Exclude, Here, Optional, optional, with_optional_axes};
use crate::catalogue::{LawKind, Method};
use crate::failure::Result;
use crate::privacy::Amount;
use std::ops::Range;
use toml::Spanned;

/// The axes of a block, and an `[[exclude]]` block, with those that may be left out.
macro_rules! shapes {
    ([$(
        $(#[$doc:meta])* $name:ident $axis:ident: $wire:ty as $schema:literal,
        out $out:literal, $facts:tt;
    )*]) => {
        /// The axes of a block.
        #[derive(Debug, Clone)]
        pub struct WireAxes<'a> {
            /// Privacy budgets, their key and its place.
            pub budget: (&'static str, Range<usize>, Budgets<'a>),
            /// Noise laws.
            pub law: &'a Spanned<Axis<String>>,
            /// Methods.
            pub method: &'a Spanned<Axis<WireMethod>>,
            $($(#[$doc])* pub $axis: Option<&'a Spanned<Axis<$wire>>>,)*
            /// Axes that go together.
            pub zip: Option<&'a Spanned<WireZip>>,
        }

        impl WireAxes<'_> {
            /// The place of an axis; where it is left out that of the budgets.
            pub fn place(&self, axis: AxisName) -> Range<usize> {
                let given = match axis {
                    AxisName::Law => Some(self.law.span()),
                    AxisName::Method | AxisName::Lag => Some(self.method.span()),
                    AxisName::Budget => None,
                    $(AxisName::$name => self.$axis.map(Spanned::span),)*
                };
                given.unwrap_or(self.budget.1.clone())
            }
        }

        /// One `[[exclude]]` block: cells that match every key given are left out.
        #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct WireExclude {
            /// Budgets.
            #[schemars(with = "Option<Axis<f64>>")]
            pub epsilon: Option<Spanned<Axis<f64>>>,
            /// Budgets of a study of the kind frontier.
            #[schemars(with = "Option<WirePaid>")]
            pub paid: Option<Spanned<WirePaid>>,
            /// Laws.
            #[schemars(with = "Option<Axis<LawName>>")]
            pub law: Option<Spanned<Axis<String>>>,
            /// Methods: by their names all of them, by a table those with these options.
            #[schemars(with = "Option<Axis<WireMethod>>")]
            pub method: Option<Spanned<Axis<WireMethod>>>,
            /// Non-negativity.
            pub nonnegative: Option<bool>,
            $(
                #[doc = $out]
                #[schemars(with = $schema)]
                pub $axis: Option<Spanned<Axis<$wire>>>,
            )*
            /// Lags, of a study of meetings.
            #[schemars(with = "Option<Axis<i64>>")]
            pub lag: Option<Spanned<Axis<i64>>>,
        }

        impl Checker<'_> {
            /// The values of a block, but for budgets, laws and methods, which are given, and lags.
            pub(crate) fn with_optional(
                &self,
                wire: &WireAxes,
                here: &Here,
                budget: Vec<Amount>,
                law: Vec<LawKind>,
                method: Vec<Method>,
            ) -> Result<Axes> {
                let lag = Vec::new();
                Ok(Axes { budget, law, method, lag, $($axis: self.optional::<optional::$name>(stringify!($axis), wire.$axis, here)?,)* })
            }

            /// An `[[exclude]]` block, but for budgets, laws, methods and lags, which are given.
            pub(crate) fn left_out_with_optional(
                &self,
                wire: &WireExclude,
                budget: Option<Vec<Amount>>,
                law: Option<Vec<LawKind>>,
                method: Option<Vec<ExcludedMethod>>,
                lag: Option<Vec<u64>>,
            ) -> Result<Exclude> {
                Ok(Exclude {
                    budget, law, method, lag,
                    nonnegative: wire.nonnegative,
                    $($axis: wire.$axis.as_ref().map(|axis| self.left_out::<optional::$name>(stringify!($axis), axis)).transpose()?,)*
                })
            }
        }
    };
}
with_optional_axes! { shapes! {} }

impl Checker<'_> {
    /// The values of a block on an axis that it may leave out. Errors: of [`Optional`]; an axis that is empty, a value twice.
    fn optional<A: Optional>(
        &self,
        key: &str,
        given: Option<&Spanned<Axis<A::Wire>>>,
        here: &Here,
    ) -> Result<Vec<A::Value>> {
        let Some(axis) = given else { return A::default(self, here) };
        A::refused(self, here, axis.span())?;
        self.axis(key, axis, |wire, span| {
            let value = A::value(self, key, wire, span.clone())?;
            A::known(self, here, &value, span).map(|()| value)
        })
    }

    /// Reads the optional axes of an `[[exclude]]` block, which may name what is not there.
    fn left_out<A: Optional>(&self, key: &str, axis: &Spanned<Axis<A::Wire>>) -> Result<Vec<A::Value>> {
        let key = format!("exclude.{key}");
        self.axis(&key, axis, |wire, span| A::value(self, &key, wire, span))
    }
}
