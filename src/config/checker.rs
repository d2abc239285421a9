//! What every check of a config needs: errors with their place, axes, numbers.

use super::nearest::meant;
use super::split::SplitSpec;
use super::types;
use super::values::{Axis, Budgets};
use crate::catalogue::{LawKind, Method, MethodKind, Value};
use crate::failure::{Failure, Result};
use crate::page::place;
use crate::privacy::{Amount, Measure};
use miette::NamedSource;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Releases that pay together, at most.
pub(crate) const MOST_RELEASES: u64 = 1_000_000;

/// Checks the values of a config; errors show its text.
#[derive(Debug)]
pub struct Checker<'a> {
    pub(crate) path: &'a Path,
    /// The text as it was given, and with overrides applied.
    pub(crate) given: &'a str,
    /// See `given`.
    pub(crate) text: &'a str,
    /// Why a key is not used in this file, if it is one of other studies.
    elsewhere: fn(&str) -> Option<String>,
}

/// Most bytes of the name of a run: with a hash, `.partial` and what else is put behind it, it stays below what file systems allow.
const LONGEST_NAME: usize = 100;

/// A value of a config as a message shows it; two that differ are shown differently.
pub trait Shown {
    /// In words.
    fn shown(&self) -> String;
}

/// Values that say it themselves.
macro_rules! shown {
    ($($type:ty: $value:ident => $words:expr;)*) => {
        $(impl Shown for $type {
            fn shown(&self) -> String {
                let $value = self;
                $words
            }
        })*
    };
}

shown! {
    f64: value => format!("{value:?}");
    Amount: value => value.exact();
    u64: value => value.to_string();
    String: value => format!("{value:?}");
    LawKind: value => format!("`{}`", value.name());
    MethodKind: value => format!("`{}`", value.name());
    Method: value => format!("`{}`{}", value.words(), if value.nonnegative() { " >= 0" } else { "" });
    SplitSpec: value => value.label();
    Option<Value>: value => value.map_or("nothing".into(), |value| value.to_string());
}

impl<'a> Checker<'a> {
    /// `elsewhere`: why a key is not used here, if it is one of other studies.
    pub(crate) fn new(
        path: &'a Path,
        given: &'a str,
        text: &'a str,
        elsewhere: fn(&str) -> Option<String>,
    ) -> Self {
        Self { path, given, text, elsewhere }
    }

    pub(crate) fn error(
        &self,
        message: impl Into<String>,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Failure {
        let (text, span, note) = super::excerpt::excerpt(self.text, span);
        Failure::Config {
            message: message.into(),
            source_code: NamedSource::new(place(self.path), text).into(),
            span: span.into(),
            label: label.into() + &note,
        }
    }

    /// A name of plain letters. Errors: another.
    pub(crate) fn name(&self, key: &str, name: &Spanned<String>) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let long = name.get_ref().len() > LONGEST_NAME;
        if name.get_ref().is_empty() || long || !name.get_ref().chars().all(plain) {
            let got = if long {
                format!("{} characters", name.get_ref().len())
            } else {
                format!("`{}`", name.get_ref())
            };
            let folder = if key == "name" { " (it becomes a folder's name)" } else { "" };
            let label = format!("want at most {LONGEST_NAME} letters, digits, - and _{folder}");
            return Err(self.error(format!("{key}: got {got}"), name.span(), label));
        }
        Ok(())
    }

    /// The text in the shape of a file. Errors: no TOML, unknown keys, wrong types.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(self.text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            let message = e.message();
            // The first is what was given, the others are what could be.
            let names: Vec<&str> = match message.starts_with("unknown ") {
                true => message.split('`').skip(1).step_by(2).collect(),
                false => Vec::new(),
            };
            let key = names.first().filter(|_| message.starts_with("unknown field"));
            match key.and_then(|key| Some((key, (self.elsewhere)(key)?))) {
                Some((key, why)) => self.error(format!("{key}: not used"), span, why),
                None => {
                    let meant = names.split_first().map(|(given, names)| meant(given, names));
                    let label = types::plain(message).unwrap_or_else(|| message.to_owned());
                    let label = label + &meant.unwrap_or_default();
                    // Nothing is drawn beside what cannot be seen.
                    let first = self.text.get(span.start..).and_then(|text| text.chars().next());
                    let is_hidden = first.is_some_and(|c| c.is_control() && !c.is_whitespace());
                    match self.text.trim().is_empty() || is_hidden {
                        true => self.error(format!("the config cannot be read: {label}"), span, ""),
                        false => self.error("the config cannot be read", span, label),
                    }
                }
            }
        })
    }

    /// Replicates of a block, or of every cell. Errors: neither is given.
    pub(crate) fn replicates(
        &self,
        own: Option<&Spanned<i64>>,
        top: Option<u64>,
        span: Range<usize>,
    ) -> Result<u64> {
        match (own, top) {
            (Some(own), _) => self.positive_integer("replicates", own),
            (None, Some(top)) => Ok(top),
            (None, None) => {
                Err(self.error("replicates: missing", span, "want `replicates` at the top or in this block"))
            }
        }
    }

    /// An integer from 1.
    pub(crate) fn count(&self, key: &str, n: i64, span: Range<usize>) -> Result<u64> {
        let refused = || self.error(format!("{key}: got {n}"), span, "want an integer >= 1");
        u64::try_from(n).ok().filter(|&n| n > 0).ok_or_else(refused)
    }

    /// How many releases pay together.
    pub(crate) fn releases(&self, key: &str, n: i64, span: Range<usize>) -> Result<u64> {
        let refused = || self.error(format!("{key}: got {n}"), span, format!("want 1 to {MOST_RELEASES}"));
        u64::try_from(n).ok().filter(|n| (1..=MOST_RELEASES).contains(n)).ok_or_else(refused)
    }

    pub(crate) fn not_empty<T>(&self, key: &str, values: &Axis<T>, span: Range<usize>) -> Result<()> {
        if values.0.is_empty() {
            return Err(self.error(format!("{key}: got an empty axis"), span, "want at least one value"));
        }
        Ok(())
    }

    pub(crate) fn no_duplicates<T: Shown>(&self, key: &str, values: &[T], span: Range<usize>) -> Result<()> {
        // Their text tells values apart, and can be hashed.
        let mut seen = HashSet::new();
        match values.iter().map(Shown::shown).find(|value| !seen.insert(value.clone())) {
            Some(twice) => {
                Err(self.error(format!("{key}: got {twice} twice"), span, "want every value once"))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn axis<T, U: Shown>(
        &self,
        key: &str,
        axis: &Spanned<Axis<T>>,
        check: impl Fn(&T, Range<usize>) -> Result<U>,
    ) -> Result<Vec<U>> {
        self.values(key, (axis.get_ref(), axis.span()), check)
    }

    pub(super) fn values<T, U: Shown>(
        &self,
        key: &str,
        (axis, span): (&Axis<T>, Range<usize>),
        check: impl Fn(&T, Range<usize>) -> Result<U>,
    ) -> Result<Vec<U>> {
        self.not_empty(key, axis, span.clone())?;
        let values = axis.0.iter().map(|value| check(value, span.clone())).collect::<Result<Vec<_>>>()?;
        self.no_duplicates(key, &values, span)?;
        Ok(values)
    }

    /// Budgets under a key.
    pub(crate) fn budgets(
        &self,
        key: &str,
        (measure, axis): Budgets,
        span: Range<usize>,
    ) -> Result<Vec<Amount>> {
        if let Measure::Together { delta, releases } = measure {
            self.probability(&format!("{key}.delta"), delta, span.clone())?;
            self.releases(
                &format!("{key}.releases"),
                i64::try_from(releases).unwrap_or(i64::MAX),
                span.clone(),
            )?;
        }
        self.values(key, (axis, span), |&loss, span| {
            Ok(Amount { loss: self.positive(key, loss, span)?, measure })
        })
    }

    /// Budgets of what promises nothing: `inf`.
    pub(crate) fn no_budgets(
        &self,
        key: &str,
        (measure, axis): Budgets,
        span: Range<usize>,
    ) -> Result<Vec<Amount>> {
        self.values(key, (axis, span), |&loss, span| match loss == f64::INFINITY {
            true => Ok(Amount { loss, measure }),
            false => {
                let label = format!("want {key} = inf with the law none: nothing bounds what is paid");
                Err(self.error(format!("{key}: got {loss}"), span, label))
            }
        })
    }

    /// A number that is neither 0 nor 1.
    pub(crate) fn probability(&self, key: &str, x: f64, span: Range<usize>) -> Result<f64> {
        if x > 0.0 && x < 1.0 {
            Ok(x)
        } else {
            Err(self.error(format!("{key}: got {x}"), span, "want a number in (0, 1)"))
        }
    }

    pub(crate) fn positive(&self, key: &str, x: f64, span: Range<usize>) -> Result<f64> {
        if x.is_finite() && x > 0.0 {
            Ok(x)
        } else {
            Err(self.error(format!("{key}: got {x}"), span, "want a finite number > 0"))
        }
    }

    pub(crate) fn positive_integer(&self, key: &str, value: &Spanned<i64>) -> Result<u64> {
        self.count(key, *value.get_ref(), value.span())
    }
}
