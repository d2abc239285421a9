//! From the wire shape to a config that can be run. Every check of a value lives here.

use super::model::{
    Beside, Block, Config, DataSource, Exclude, LawKind, Shape, SplitSpec, Study, Thresholds,
};
use super::wire::{Axis, WireCompare, WireConfig, WireGrid, WireMethodTable, WireSplit};
use crate::failure::{Failure, Result};
use miette::NamedSource;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Reads and checks a config file, with `--set` overrides.
pub fn load(path: &Path, sets: &[String]) -> Result<Document> {
    let given = std::fs::read_to_string(path).map_err(|e| Failure::io(path, "cannot read the config", e))?;
    read(path, &given, sets)
}

/// Checks the text of a config. `path`: its name in messages, and where its own paths begin.
pub fn read(path: &Path, given: &str, sets: &[String]) -> Result<Document> {
    let text = super::overrides::apply(given, sets)?;
    if let Some(worlds) = super::worlds::read(path, given, &text)? {
        return Ok(Document::Worlds(worlds));
    }
    let checker = Checker { path, text: &text };
    let wire: WireConfig = toml::from_str(&text).map_err(|e| {
        let span = e.span().unwrap_or(0..0);
        checker.error("the config cannot be read", span, e.message().to_owned())
    })?;
    let mut config = checker.config(wire)?;
    config.given = given.to_owned();
    Ok(Document::Grid(Box::new(config)))
}

/// What a config file can be.
#[derive(Debug)]
pub enum Document {
    /// A grid over data.
    Grid(Box<Config>),
    /// A study of composition on finite worlds.
    Worlds(super::worlds::WorldsConfig),
}

impl Config {
    /// An error at a place of the config.
    pub fn error(&self, message: impl Into<String>, span: Range<usize>, label: impl Into<String>) -> Failure {
        Checker { path: &self.path, text: &self.text }.error(message, span, label)
    }
}

pub(super) struct Checker<'a> {
    pub(super) path: &'a Path,
    text: &'a str,
}

impl<'a> Checker<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        Self { path, text }
    }

    pub(super) fn error(
        &self,
        message: impl Into<String>,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Failure {
        let (text, span, note) = super::excerpt::excerpt(self.text, span);
        Failure::Config {
            message: message.into(),
            source_code: NamedSource::new(self.path.display().to_string(), text).into(),
            span: span.into(),
            label: label.into() + &note,
        }
    }

    pub(super) fn name(&self, name: &Spanned<String>) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.get_ref().is_empty() || !name.get_ref().chars().all(plain) {
            return Err(self.error(
                format!("name: got `{}`", name.get_ref()),
                name.span(),
                "want letters, digits, - and _ (it becomes a folder's name)",
            ));
        }
        Ok(())
    }

    fn config(&self, wire: WireConfig) -> Result<Config> {
        self.name(&wire.name)?;
        let name = wire.name.get_ref();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let study = match wire.study.as_ref().map(|study| (study.get_ref().as_str(), study.span())) {
            None | Some(("release", _)) => Study::Release,
            Some(("meeting", _)) => Study::Meeting,
            Some(("privacy", _)) => Study::Privacy,
            Some((other, span)) => {
                let label = "want release, meeting, privacy or composition";
                return Err(self.error(format!("study: got `{other}`"), span, label));
            }
        };
        let data = self.data(&wire, folder)?;
        let on_table = matches!(data.shape, Shape::Table { .. });
        if let (Study::Meeting | Study::Privacy, false, Some(wire)) = (study, on_table, &wire.study) {
            return Err(self.error(
                format!("study: {} needs an [[invariant]]", study.name()),
                wire.span(),
                "a hierarchy as an [[invariant]] serves; `data.levels` does not",
            ));
        }
        if wire.grid.get_ref().is_empty() {
            return Err(self.error("grid: got no block", wire.grid.span(), "want at least one [[grid]]"));
        }
        let default = wire.replicates.as_ref().map(|r| self.positive_integer("replicates", r)).transpose()?;
        let mut blocks = Vec::new();
        let mut cells = 0;
        for grid in wire.grid.get_ref() {
            let law =
                self.axis("epsilon", &grid.epsilon, |x, span| self.positive("epsilon", *x, span)).and_then(
                    |epsilon| Ok((epsilon, self.axis("law", &grid.law, |name, span| self.law(name, span))?)),
                )?;
            let (epsilon, law) = law;
            let fits = |law: &LawKind| match (on_table, study) {
                (false, _) => law.on_hierarchies(),
                (true, Study::Release) => true,
                (true, Study::Meeting) => !law.is_continuous(),
                (true, Study::Privacy) => matches!(law, LawKind::DoubleGeometric | LawKind::L1),
            };
            if let Some(law) = law.iter().find(|law| !fits(law)) {
                let names: Vec<&str> = LawKind::ALL.into_iter().filter(fits).map(LawKind::name).collect();
                return Err(self.error(
                    format!("law: got `{}`", law.name()),
                    grid.law.span(),
                    format!("want one of {} here", names.join(", ")),
                ));
            }
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
                        "Gaussian laws need `delta` in the same block",
                    ));
                }
                None => Vec::new(),
            };
            if let (Some(given), false) = (&grid.delta, needs_delta) {
                return Err(self.error("delta: not used", given.span(), "only Gaussian laws take a delta"));
            }
            let mut method = Vec::new();
            self.not_empty("method", &grid.method)?;
            for one in &grid.method.get_ref().0 {
                method.extend(self.methods(one, grid.method.span(), study)?);
            }
            self.methods_fit(&method, grid.method.span(), on_table, study)?;
            self.no_duplicates("method", &method, grid.method.span())?;
            let sensitivity = match &grid.sensitivity {
                Some(axis) => {
                    self.axis("sensitivity", axis, |x, span| self.positive("sensitivity", *x, span))?
                }
                None => vec![1.0],
            };
            let split = match &grid.split {
                Some(axis) if on_table => {
                    return Err(self.error("split: not used", axis.span(), "a table has one level"));
                }
                Some(axis) => self.axis("split", axis, |split, span| self.split(split, span))?,
                None => vec![SplitSpec::Each],
            };
            let replicates = match (&grid.replicates, default) {
                (Some(given), _) if study == Study::Privacy => {
                    return Err(self.error(
                        "replicates: not used",
                        given.span(),
                        "privacy is computed, not drawn",
                    ));
                }
                (None, _) if study == Study::Privacy => 1,
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
            let extra = self.block_options(grid, study, on_table)?;
            let place = |axis: Option<Range<usize>>| axis.unwrap_or(grid.epsilon.span());
            let sensitivity_span = place(grid.sensitivity.as_ref().map(Spanned::span));
            let split_span = place(grid.split.as_ref().map(Spanned::span));
            let axes = [
                ("epsilon", epsilon.len(), grid.epsilon.span()),
                ("law", law.len(), grid.law.span()),
                ("method", method.len(), grid.method.span()),
                ("sensitivity", sensitivity.len(), sensitivity_span),
                ("split", split.len(), split_span.clone()),
                ("delta", delta.len().max(1), place(grid.delta.as_ref().map(Spanned::span))),
                ("lag", extra.lag.len().max(1), place(grid.lag.as_ref().map(Spanned::span))),
            ];
            cells = self.product(cells, &axes)?;
            blocks.push(Block {
                epsilon,
                law,
                method,
                sensitivity,
                split,
                delta,
                replicates,
                records: extra.records,
                lag: extra.lag,
                max_steps: extra.max_steps,
                marginals: extra.marginals,
                method_span: grid.method.span(),
                split_span,
            });
        }
        let mut excludes = Vec::new();
        for wire in &wire.exclude {
            let law = wire.law.as_ref().map(|axis| self.axis("law", axis, |name, span| self.law(name, span)));
            let method = wire.method.as_ref().map(|axis| {
                self.axis("method", axis, |name, span| {
                    self.method(&WireMethodTable::named(name, span.clone()), study).map(|_| name.clone())
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
        let compare = self.thresholds(&wire.compare)?;
        Ok(Config {
            compare,
            name: name.clone(),
            seed: *wire.seed.get_ref(),
            study,
            keep_draws: wire.keep_draws,
            data,
            blocks,
            excludes,
            published: wire.report.published.as_ref().map(|path| folder.join(path.get_ref())),
            beside: wire.report.beside.map(|beside| Beside {
                table: folder.join(beside.table.get_ref()),
                confidential: beside.confidential,
                released: beside.released,
                note: beside.note,
            }),
            text: self.text.to_owned(),
            given: String::new(),
            path: self.path.to_owned(),
        })
    }

    /// How `compare` judges.
    pub(super) fn thresholds(&self, wire: &WireCompare) -> Result<Thresholds> {
        let mut thresholds = Thresholds::default();
        if let Some(level) = &wire.level {
            thresholds.level = *level.get_ref();
            if !(thresholds.level > 0.0 && thresholds.level < 1.0) {
                let message = format!("compare.level: got {}", thresholds.level);
                return Err(self.error(message, level.span(), "want a number in (0, 1)"));
            }
        }
        let margin = |key: &str, given: &Option<Spanned<f64>>| match given {
            None => Ok(None),
            Some(x) if x.get_ref().is_finite() && *x.get_ref() >= 0.0 => Ok(Some(*x.get_ref())),
            Some(x) => {
                let message = format!("compare.{key}: got {}", x.get_ref());
                Err(self.error(message, x.span(), "want a number >= 0"))
            }
        };
        if let Some(all) = margin("margin", &wire.margin)? {
            thresholds.margin = all;
        }
        for (metric, given) in [
            ("l1", &wire.margins.l1),
            ("l2", &wire.margins.l2),
            ("tau", &wire.margins.tau),
            ("gamma", &wire.margins.gamma),
        ] {
            if let Some(x) = margin(&format!("margins.{metric}"), given)? {
                thresholds.margins.insert(metric.to_owned(), x);
            }
        }
        Ok(thresholds)
    }

    fn data(&self, wire: &WireConfig, folder: &Path) -> Result<DataSource> {
        let filter = wire
            .data
            .filter
            .iter()
            .map(|(column, values)| {
                Ok((
                    column.clone(),
                    self.axis(&format!("where.{column}"), values, |value, _| Ok(value.clone()))?,
                ))
            })
            .collect::<Result<Vec<_>>>()?;
        if let Some(cell) = &wire.data.cell {
            self.no_duplicates("data.cell", cell.get_ref(), cell.span())?;
        }
        let shape = match (&wire.data.levels, &wire.invariant[..]) {
            (Some(levels), []) => {
                if levels.get_ref().is_empty() {
                    return Err(self.error(
                        "data.levels: got an empty list",
                        levels.span(),
                        "want the columns of the levels below the root, coarse to fine",
                    ));
                }
                self.no_duplicates("data.levels", levels.get_ref(), levels.span())?;
                if let Some(cell) = &wire.data.cell {
                    return Err(self.error("data.cell: not used", cell.span(), "the levels name the nodes"));
                }
                Shape::Hierarchy { levels: levels.get_ref().clone() }
            }
            (Some(levels), _) => {
                return Err(self.error(
                    "data.levels: not used beside an [[invariant]]",
                    levels.span(),
                    "want it left out, or an [[invariant]] of kind \"hierarchy\" with these levels",
                ));
            }
            (None, []) => {
                return Err(self.error(
                    "invariant: missing",
                    wire.data.table.span(),
                    "want `data.levels` (a hierarchy) or an [[invariant]]",
                ));
            }
            (None, invariants) => Shape::Table {
                cell: wire.data.cell.as_ref().map(|cell| cell.get_ref().clone()),
                invariants: invariants
                    .iter()
                    .map(|wire| Ok((self.invariant(wire.get_ref(), wire.span(), folder)?, wire.span())))
                    .collect::<Result<Vec<_>>>()?,
            },
        };
        Ok(DataSource {
            table: folder.join(wire.data.table.get_ref()),
            count: wire.data.count.get_ref().clone(),
            filter,
            shape,
        })
    }

    /// The options of a block that belong to one kind of study.
    fn block_options(&self, grid: &WireGrid, study: Study, on_table: bool) -> Result<BlockOptions> {
        let meeting = study == Study::Meeting;
        let only = |key: &str, span: Option<Range<usize>>, allowed: bool, why: &str| match span {
            Some(span) if !allowed => Err(self.error(format!("{key}: not used"), span, why.to_owned())),
            _ => Ok(()),
        };
        let meetings = "only a study of meetings takes it";
        only("lag", grid.lag.as_ref().map(Spanned::span), meeting, meetings)?;
        for (key, value) in [
            ("max-steps", &grid.max_steps),
            ("marginal-chains", &grid.marginal_chains),
            ("marginal-steps", &grid.marginal_steps),
        ] {
            only(key, value.as_ref().map(Spanned::span), meeting, meetings)?;
        }
        let records = on_table && study == Study::Release;
        only(
            "records",
            grid.records.as_ref().map(Spanned::span),
            records,
            "only releases of a table take it",
        )?;
        let integer = |key: &str, value: &Option<Spanned<i64>>| {
            value.as_ref().map(|value| self.positive_integer(key, value)).transpose()
        };
        let lag = match (&grid.lag, meeting) {
            (Some(axis), _) => self.axis("lag", axis, |&n, span| {
                u64::try_from(n)
                    .ok()
                    .filter(|&n| n > 0)
                    .ok_or_else(|| self.error(format!("lag: got {n}"), span, "want an integer >= 1"))
            })?,
            (None, true) => {
                return Err(self.error(
                    "lag: missing",
                    grid.method.span(),
                    "coupled chains need `lag` in the block",
                ));
            }
            (None, false) => Vec::new(),
        };
        let max_steps = integer("max-steps", &grid.max_steps)?.unwrap_or(DEFAULT_MAX_STEPS);
        if let Some(&longest) = lag.iter().max().filter(|&&lag| lag >= max_steps) {
            let span = grid.lag.as_ref().map_or(0..0, Spanned::span);
            return Err(self.error(
                format!("lag: got {longest}, with max-steps {max_steps}"),
                span,
                "want a lag below max-steps: no pair could meet",
            ));
        }
        let marginals = match (
            integer("marginal-chains", &grid.marginal_chains)?,
            integer("marginal-steps", &grid.marginal_steps)?,
        ) {
            (None, None) => None,
            (Some(chains), steps) => Some((chains, steps.unwrap_or(1000))),
            (None, Some(_)) => {
                let span = grid.marginal_steps.as_ref().map_or(0..0, Spanned::span);
                return Err(self.error("marginal-chains: missing", span, "want it beside `marginal-steps`"));
            }
        };
        let records = grid.records.as_ref().map_or(Ok(0), |value| {
            u64::try_from(*value.get_ref()).map_err(|_| {
                self.error(format!("records: got {}", value.get_ref()), value.span(), "want an integer >= 0")
            })
        })?;
        Ok(BlockOptions { records, lag, max_steps, marginals })
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

    fn no_duplicates<T: std::fmt::Debug>(&self, key: &str, values: &[T], span: Range<usize>) -> Result<()> {
        // Their text tells values apart, and can be hashed.
        let mut seen = HashSet::new();
        match values.iter().find(|value| !seen.insert(format!("{value:?}"))) {
            Some(twice) => {
                Err(self.error(format!("{key}: got {twice:?} twice"), span, "want every value once"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn axis<T, U: std::fmt::Debug>(
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

    pub(super) fn positive(&self, key: &str, x: f64, span: Range<usize>) -> Result<f64> {
        if x.is_finite() && x > 0.0 {
            Ok(x)
        } else {
            Err(self.error(format!("{key}: got {x}"), span, "want a finite number > 0"))
        }
    }

    pub(super) fn positive_integer(&self, key: &str, value: &Spanned<i64>) -> Result<u64> {
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
}

/// What [`Checker::block_options`] checks.
struct BlockOptions {
    records: u64,
    lag: Vec<u64>,
    max_steps: u64,
    marginals: Option<(u64, u64)>,
}

/// Steps after which a coupled pair is cut short if the config does not say.
const DEFAULT_MAX_STEPS: u64 = 10_000_000;
