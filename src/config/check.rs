//! From the wire shape to a config that can be run. Every check of a value lives here.

use super::model::{Block, Config, DataSource, Exclude, LawKind, Method, SplitSpec};
use super::wire::{Axis, WireConfig, WireMethod, WireMethodTable, WireSplit};
use crate::failure::{Failure, Result};
use miette::NamedSource;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Reads and checks a config file, with `--set` overrides.
pub fn read(path: &Path, sets: &[String]) -> Result<Config> {
    let given = std::fs::read_to_string(path).map_err(|e| Failure::io(path, "cannot read the config", e))?;
    let text = super::overrides::apply(&given, sets)?;
    let checker = Checker { path, text: &text };
    let wire: WireConfig = toml::from_str(&text).map_err(|e| {
        let span = e.span().unwrap_or(0..0);
        checker.error("the config cannot be read", span, e.message().to_owned())
    })?;
    let mut config = checker.config(wire)?;
    config.given = given;
    Ok(config)
}

impl Config {
    /// An error at a place of the config.
    pub fn error(&self, message: impl Into<String>, span: Range<usize>, label: impl Into<String>) -> Failure {
        Checker { path: &self.path, text: &self.text }.error(message, span, label)
    }
}

struct Checker<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Checker<'_> {
    fn error(&self, message: impl Into<String>, span: Range<usize>, label: impl Into<String>) -> Failure {
        Failure::Config {
            message: message.into(),
            source_code: NamedSource::new(self.path.display().to_string(), self.text.to_owned()).into(),
            span: span.into(),
            label: label.into(),
        }
    }

    fn config(&self, wire: WireConfig) -> Result<Config> {
        let name = wire.name.get_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(self.error(
                format!("name: got `{name}`"),
                wire.name.span(),
                "want letters, digits, - and _ (it becomes a folder's name)",
            ));
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let levels = wire.data.levels.get_ref();
        if levels.is_empty() {
            return Err(self.error(
                "data.levels: got an empty list",
                wire.data.levels.span(),
                "want the columns of the levels below the root, coarse to fine",
            ));
        }
        if wire.grid.get_ref().is_empty() {
            return Err(self.error("grid: got no block", wire.grid.span(), "want at least one [[grid]]"));
        }
        let default = wire.replicates.as_ref().map(|r| self.positive_integer("replicates", r)).transpose()?;
        let mut blocks = Vec::new();
        for grid in wire.grid.get_ref() {
            let law =
                self.axis("epsilon", &grid.epsilon, |x, span| self.positive("epsilon", *x, span)).and_then(
                    |epsilon| Ok((epsilon, self.axis("law", &grid.law, |name, span| self.law(name, span))?)),
                )?;
            let (epsilon, law) = law;
            let needs_delta = law.iter().any(|law| law.needs_delta());
            let delta = match &grid.delta {
                Some(delta) => self.axis("delta", delta, |&x, span| {
                    if x > 0.0 && x < 1.0 {
                        Ok(x)
                    } else {
                        Err(self.error(format!("delta: got {x}"), span, "want a number in (0, 1)"))
                    }
                })?,
                None if needs_delta => {
                    return Err(self.error(
                        "delta: missing",
                        grid.law.span(),
                        "gaussian and discrete-gaussian need `delta` in the same block",
                    ));
                }
                None => Vec::new(),
            };
            if let (Some(given), false) = (&grid.delta, needs_delta) {
                return Err(self.error(
                    "delta: not used",
                    given.span(),
                    "only gaussian and discrete-gaussian take a delta",
                ));
            }
            let mut method = Vec::new();
            self.not_empty("method", &grid.method)?;
            for one in &grid.method.get_ref().0 {
                method.extend(self.methods(one, grid.method.span())?);
            }
            self.no_duplicates("method", &method, grid.method.span())?;
            let sensitivity = match &grid.sensitivity {
                Some(axis) => {
                    self.axis("sensitivity", axis, |x, span| self.positive("sensitivity", *x, span))?
                }
                None => vec![1.0],
            };
            let split = match &grid.split {
                Some(axis) => self.axis("split", axis, |split, span| self.split(split, span))?,
                None => vec![SplitSpec::Each],
            };
            let replicates = match (&grid.replicates, default) {
                (Some(own), _) => self.positive_integer("replicates", own)?,
                (None, Some(default)) => default,
                (None, None) => {
                    return Err(self.error(
                        "replicates: missing",
                        grid.epsilon.span(),
                        "want `replicates` at the top or in this block",
                    ));
                }
            };
            blocks.push(Block {
                epsilon,
                law,
                method,
                sensitivity,
                split,
                delta,
                replicates,
                method_span: grid.method.span(),
                split_span: grid.split.as_ref().map_or(grid.epsilon.span(), Spanned::span),
            });
        }
        let mut excludes = Vec::new();
        for wire in &wire.exclude {
            let law = wire.law.as_ref().map(|axis| self.axis("law", axis, |name, span| self.law(name, span)));
            let method = wire.method.as_ref().map(|axis| {
                self.axis("method", axis, |name, span| {
                    self.method(&WireMethodTable::named(name, span.clone())).map(|_| name.clone())
                })
            });
            excludes.push(Exclude {
                epsilon: wire.epsilon.as_ref().map(|axis| axis.0.clone()),
                law: law.transpose()?,
                method: method.transpose()?,
                nonnegative: wire.nonnegative,
                sensitivity: wire.sensitivity.as_ref().map(|axis| axis.0.clone()),
            });
        }
        Ok(Config {
            name: name.clone(),
            seed: *wire.seed.get_ref(),
            data: DataSource {
                table: folder.join(wire.data.table.get_ref()),
                levels: levels.clone(),
                count: wire.data.count.get_ref().clone(),
            },
            blocks,
            excludes,
            published: wire.report.published.map(|path| folder.join(path.get_ref())),
            text: self.text.to_owned(),
            given: String::new(),
            path: self.path.to_owned(),
        })
    }

    fn not_empty<T>(&self, key: &str, axis: &Spanned<Axis<T>>) -> Result<()> {
        if axis.get_ref().0.is_empty() {
            return Err(self.error(
                format!("{key}: got an empty axis"),
                axis.span(),
                "want at least one value",
            ));
        }
        Ok(())
    }

    fn no_duplicates<T: PartialEq + std::fmt::Debug>(
        &self,
        key: &str,
        values: &[T],
        span: Range<usize>,
    ) -> Result<()> {
        match values.iter().enumerate().find(|(i, value)| values[..*i].contains(value)) {
            Some((_, twice)) => {
                Err(self.error(format!("{key}: got {twice:?} twice"), span, "want every value once"))
            }
            None => Ok(()),
        }
    }

    fn axis<T, U: PartialEq + std::fmt::Debug>(
        &self,
        key: &str,
        axis: &Spanned<Axis<T>>,
        check: impl Fn(&T, Range<usize>) -> Result<U>,
    ) -> Result<Vec<U>> {
        self.not_empty(key, axis)?;
        let values =
            axis.get_ref().0.iter().map(|value| check(value, axis.span())).collect::<Result<Vec<_>>>()?;
        self.no_duplicates(key, &values, axis.span())?;
        Ok(values)
    }

    fn positive(&self, key: &str, x: f64, span: Range<usize>) -> Result<f64> {
        if x.is_finite() && x > 0.0 {
            Ok(x)
        } else {
            Err(self.error(format!("{key}: got {x}"), span, "want a finite number > 0"))
        }
    }

    fn positive_integer(&self, key: &str, value: &Spanned<i64>) -> Result<u64> {
        u64::try_from(*value.get_ref()).ok().filter(|&n| n > 0).ok_or_else(|| {
            self.error(format!("{key}: got {}", value.get_ref()), value.span(), "want an integer >= 1")
        })
    }

    fn law(&self, name: &str, span: Range<usize>) -> Result<LawKind> {
        LawKind::ALL.into_iter().find(|law| law.name() == name).ok_or_else(|| {
            let names = LawKind::ALL.map(LawKind::name).join(", ");
            self.error(format!("law: got `{name}`"), span, format!("want one of {names}"))
        })
    }

    fn split(&self, wire: &WireSplit, span: Range<usize>) -> Result<SplitSpec> {
        match wire {
            WireSplit::Name(name) if name == "each" => Ok(SplitSpec::Each),
            WireSplit::Name(name) if name == "even" => Ok(SplitSpec::Even),
            WireSplit::Name(name) => {
                Err(self.error(format!("split: got `{name}`"), span, "want each, even or a list of shares"))
            }
            WireSplit::Shares(shares) => {
                shares
                    .iter()
                    .try_for_each(|&share| self.positive("split", share, span.clone()).map(|_| ()))?;
                Ok(SplitSpec::Shares(shares.clone()))
            }
        }
    }

    fn methods(&self, wire: &WireMethod, span: Range<usize>) -> Result<Vec<Method>> {
        match wire {
            WireMethod::Name(name) => self.method(&WireMethodTable::named(name, span)),
            WireMethod::Table(table) => self.method(table),
        }
    }

    /// One method for each combination of its options.
    fn method(&self, table: &WireMethodTable) -> Result<Vec<Method>> {
        let kind = table.kind.get_ref().as_str();
        let refuse = |key: &str, span: Range<usize>| {
            self.error(format!("{key}: not an option of `{kind}`"), span, "want it left out")
        };
        let chain = matches!(kind, "line-gibbs" | "hierarchical-mh");
        if let (Some(axis), true) = (&table.sweeps, kind != "line-gibbs") {
            return Err(refuse("sweeps", axis.span()));
        }
        if let (Some(axis), true) = (&table.steps, kind != "hierarchical-mh") {
            return Err(refuse("steps", axis.span()));
        }
        if let (Some(axis), true) = (&table.proposal_scale, kind != "hierarchical-mh") {
            return Err(refuse("proposal-scale", axis.span()));
        }
        if let (Some(axis), false) = (&table.nonnegative, chain || kind == "exact") {
            return Err(refuse("nonnegative", axis.span()));
        }
        let count = |key: &str, axis: &Option<Spanned<Axis<i64>>>, default: u64| match axis {
            None => Ok(vec![default]),
            Some(axis) => self.axis(key, axis, |&n, span| {
                u64::try_from(n)
                    .ok()
                    .filter(|&n| n > 0)
                    .ok_or_else(|| self.error(format!("{key}: got {n}"), span, "want an integer >= 1"))
            }),
        };
        let signs = match &table.nonnegative {
            None => vec![false],
            Some(axis) => self.axis("nonnegative", axis, |&b, _| Ok(b))?,
        };
        let mut methods = Vec::new();
        for nonnegative in signs {
            match kind {
                "unconstrained" => methods.push(Method::Unconstrained),
                "exact" => methods.push(Method::Exact { nonnegative }),
                "l2" => methods.push(Method::L2),
                "topdown" => methods.push(Method::TopDown),
                "line-gibbs" => {
                    let sweeps = count("sweeps", &table.sweeps, DEFAULT_SWEEPS)?;
                    methods
                        .extend(sweeps.into_iter().map(|sweeps| Method::LineGibbs { sweeps, nonnegative }));
                }
                "hierarchical-mh" => {
                    let scales = match &table.proposal_scale {
                        None => vec![None],
                        Some(axis) => self.axis("proposal-scale", axis, |&x, span| {
                            self.positive("proposal-scale", x, span).map(Some)
                        })?,
                    };
                    for steps in count("steps", &table.steps, DEFAULT_STEPS)? {
                        methods.extend(scales.iter().map(|&proposal_scale| Method::HierarchicalMh {
                            steps,
                            proposal_scale,
                            nonnegative,
                        }));
                    }
                }
                _ => {
                    return Err(self.error(
                        format!("method: got `{kind}`"),
                        table.kind.span(),
                        format!("want one of {}", Method::NAMES),
                    ));
                }
            }
        }
        Ok(methods)
    }
}

/// Sweeps of a line Gibbs chain if the config does not say: see `experiments/taxi`.
const DEFAULT_SWEEPS: u64 = 100;
/// Steps of a hierarchical Metropolis-Hastings chain if the config does not say: see `experiments/taxi`.
const DEFAULT_STEPS: u64 = 200_000;

impl WireMethodTable {
    fn named(name: &str, span: Range<usize>) -> Self {
        Self {
            kind: Spanned::new(span, name.to_owned()),
            nonnegative: None,
            sweeps: None,
            steps: None,
            proposal_scale: None,
        }
    }
}
