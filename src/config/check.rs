//! Checks of what the studies of a grid have in common.

use super::axes::{AXES, AxisName, AxisRow, Exclude, Here, WireExclude};
use super::checker::Checker;
use super::excluded::ExcludedMethod;
use super::limits::MOST_CELLS;
use super::model::{Block, Config, Thresholds};
use super::nearest::one_of;
use super::part::{CellPart, ConfigPart};
use super::wire::{Axis, Budgeted, GridBlock, WireCompare, WireFile, WireZip};
use crate::catalogue::{LawKind, Method, MethodKind, Place};
use crate::failure::Result;
use crate::input::{DataSource, Shape};
use crate::own::EXTERNAL;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;

/// Steps after which a coupled pair is cut short if the config does not say.
pub(crate) const DEFAULT_MAX_STEPS: u64 = 10_000_000;

/// A block of the grid of one study, with what the study has at the top of its file: what is its own.
pub trait Section: GridBlock {
    /// The name of the study.
    const STUDY: &'static str;
    /// Whether the length of a chain is an option of its methods; else chains run until they meet.
    const LENGTHS: bool;
    /// Whether something is drawn, replicate by replicate.
    const REPLICATES: bool;
    /// Laws that it takes; all of noise, if it says nothing else.
    fn takes_law(law: LawKind) -> bool {
        law.is_noise()
    }
    /// Errors: why it does not take a method; it takes all, if it says nothing else.
    fn takes_method(_: MethodKind) -> std::result::Result<(), &'static str> {
        Ok(())
    }
    /// Replicates of every cell, as the top of the file has them.
    fn all_replicates(_: &Self::Top) -> Option<&Spanned<i64>> {
        None
    }
    /// Published figures that the top of the file names.
    fn published(top: &Self::Top) -> Option<&Spanned<String>>;
    /// The part of a config that belongs to the study. `data`: its data set; `several`: whether there are others.
    fn config_part(
        _: &Self::Top,
        _: &Checker,
        _data: &DataSource,
        _several: bool,
    ) -> Result<Arc<dyn ConfigPart>> {
        Ok(Arc::new(()))
    }
    /// Replicates of the block's cells; `top`: of every cell.
    fn replicates(&self, checker: &Checker, top: Option<u64>) -> Result<u64>;
    /// Lags of coupled pairs; none, if it says nothing else.
    fn lags(&self, _checker: &Checker) -> Result<Vec<u64>> {
        Ok(Vec::new())
    }
    /// The part of its cells that belongs to the study. `on_table`: whether the entries of a table are released.
    fn cell_part(&self, _: &Checker, _on_table: bool) -> Result<Arc<dyn CellPart>> {
        Ok(Arc::new(()))
    }
}

/// What all blocks of a config have.
#[derive(Clone, Copy)]
struct All<'a> {
    seeds: &'a [u64],
    data: &'a [String],
    replicates: Option<u64>,
    /// Whether the entries of a table are released.
    on_table: bool,
}

impl Checker<'_> {
    /// The config of a study of a grid, for each of its data sets.
    pub(crate) fn configs<B: Section>(&self, wire: WireFile<B>) -> Result<Vec<Config>> {
        self.name("name", &wire.name)?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let seeds = self.seeds(&wire)?;
        let data = self.data_sets(&wire.data, &wire.invariant, folder)?;
        let on_table = matches!(data[0].1.shape, Shape::Table { .. });
        if wire.grid.get_ref().is_empty() {
            return Err(self.error("grid: got no block", wire.grid.span(), "want at least one [[grid]]"));
        }
        let replicates = B::all_replicates(&wire.top).map(|r| self.positive_integer("replicates", r));
        let (replicates, mut cells) = (replicates.transpose()?, 0);
        let names: Vec<String> = data.iter().map(|(name, _)| name.clone()).collect();
        let all = All { seeds: &seeds, data: &names, replicates, on_table };
        let mut blocks = Vec::new();
        for block in wire.grid.get_ref() {
            blocks.push(self.block(block, &all, &mut cells)?);
        }
        let (published, several) = (B::published(&wire.top), data.len() > 1);
        self.one_data_set("report.published", published, several)?;
        let excludes: Vec<Exclude> = wire
            .exclude
            .iter()
            .map(|exclude| self.exclude(exclude, wire.grid.get_ref()[0].axes().budget.0))
            .collect::<Result<_>>()?;
        let lag = wire.exclude.iter().find_map(|exclude| exclude.lag.as_ref());
        if let Some(lag) = lag.filter(|_| !B::KEYS.contains(&"lag")) {
            let label = "only a study of the kind meeting has lags";
            return Err(self.error("exclude.lag: not used", lag.span(), label));
        }
        let config = |(data_name, data): (String, DataSource)| {
            Ok(Config {
                about: wire.about.clone(),
                compare: self.thresholds(&wire.compare)?,
                name: wire.name.get_ref().clone(),
                seeds: seeds.clone(),
                study: B::STUDY,
                replicates: B::REPLICATES,
                paid: wire.grid.get_ref()[0].axes().budget.0 == "paid",
                part: B::config_part(&wire.top, self, &data, several)?,
                data,
                data_name,
                blocks: blocks.clone(),
                excludes: excludes.clone(),
                published: published.map(|path| folder.join(path.get_ref())),
                text: self.text.to_owned(),
                given: self.given.to_owned(),
                path: self.path.to_owned(),
            })
        };
        data.into_iter().map(config).collect()
    }

    /// Refuses what would stand beside each of several data sets.
    pub(crate) fn one_data_set<T>(&self, key: &str, given: Option<&Spanned<T>>, several: bool) -> Result<()> {
        let Some(given) = given.filter(|_| several) else { return Ok(()) };
        let label = "it would stand beside each of several data sets: want a config with one of them";
        Err(self.error(format!("{key}: not used"), given.span(), label))
    }

    /// The master seeds. Errors: none, one twice, `seed` and `seeds`; several of a study that draws nothing.
    fn seeds<B: Section>(&self, wire: &WireFile<B>) -> Result<Vec<u64>> {
        let (seeds, span) = match (&wire.seed, &wire.seeds) {
            (Some(_), Some(seeds)) => {
                let label = "want `seed` (one, or a list) or `seeds` (how many), not both";
                return Err(self.error("seeds: not used beside `seed`", seeds.span(), label));
            }
            (Some(seed), None) => (self.axis("seed", seed, |&seed, _| Ok(seed))?, seed.span()),
            (None, Some(seeds)) => {
                let n = self.positive_integer("seeds", seeds)?;
                if n > MOST_CELLS as u64 {
                    let label = format!("want at most {MOST_CELLS}");
                    return Err(self.error(format!("seeds: got {n}"), seeds.span(), label));
                }
                ((1..=n).collect(), seeds.span())
            }
            (None, None) => {
                let label = "want `seed`, the master seed, beside it";
                return Err(self.error("seed: missing", wire.name.span(), label));
            }
        };
        if seeds.len() > 1 && !B::REPLICATES {
            let message = format!("seed: got {} of them", seeds.len());
            return Err(self.error(message, span, "this study draws nothing: want one"));
        }
        Ok(seeds)
    }

    /// Lags, and the steps after which a pair is cut short. Errors: an empty list, a number below 1, a lag that leaves no step to meet.
    pub(crate) fn lags(
        &self,
        lag: &Spanned<Axis<i64>>,
        max_steps: Option<&Spanned<i64>>,
    ) -> Result<(Vec<u64>, u64)> {
        let lags = self.axis("lag", lag, |&n, span| self.count("lag", n, span))?;
        let max_steps = max_steps.map(|steps| self.positive_integer("max-steps", steps)).transpose()?;
        let max_steps = max_steps.unwrap_or(DEFAULT_MAX_STEPS);
        if let Some(&longest) = lags.iter().max().filter(|&&lag| lag >= max_steps) {
            let message = format!("lag: got {longest}, with max-steps {max_steps}");
            return Err(self.error(message, lag.span(), "want a lag below max-steps: no pair could meet"));
        }
        Ok((lags, max_steps))
    }

    /// `cells`: of the blocks before, then with this one.
    fn block<B: Section>(&self, block: &B, all: &All, cells: &mut usize) -> Result<Block> {
        let (axes, All { on_table, replicates, .. }) = (block.axes(), *all);
        let (key, ref budget_span, budget) = axes.budget;
        let law = self.axis("law", axes.law, |name, span| self.law(name, span))?;
        let budget = match law.iter().any(|law| law.is_noise()) {
            true => self.budgets(key, budget, budget_span.clone())?,
            false => self.no_budgets(key, budget, budget_span.clone())?,
        };
        let fits = |law: LawKind| {
            let facts = law.facts();
            B::takes_law(law) && if on_table { facts.on_tables } else { facts.on_trees }.is_some()
        };
        if let Some(law) = law.iter().find(|law| !fits(**law)) {
            let names: Vec<&str> =
                LawKind::ALL.iter().filter(|law| fits(**law)).map(|law| law.name()).collect();
            return Err(self.error(
                format!("law: got `{}`", law.name()),
                axes.law.span(),
                format!("want one of {} here", names.join(", ")),
            ));
        }
        let method = self.methods::<B>(axes.method, on_table)?;
        let here = Here { seeds: all.seeds, data: all.data, on_table, law: &law, law_span: axes.law.span() };
        let needs_delta = here.needs_delta();
        let mut values = self.with_optional(&axes, &here, budget, law.clone(), method)?;
        let replicates = block.replicates(self, replicates)?;
        let part = block.cell_part(self, on_table)?;
        values.lag = block.lags(self)?;
        let length = |axis: &AxisRow| {
            let key = if axis.keys.contains(&key) { key } else { axis.keys[0] };
            (key, (axis.len)(&values).max(1), axes.place(axis.name))
        };
        let lengths: Vec<_> = AXES.iter().map(length).collect();
        let zip = axes.zip.map(|zip| self.zip(zip, &lengths, needs_delta)).transpose()?.unwrap_or_default();
        // Of axes that go together the first counts.
        let counts = |(key, ..): &&(&str, usize, Range<usize>)| {
            zip.iter().all(|group| {
                group.iter().position(|axis| AxisName::of(key) == Some(*axis)).is_none_or(|place| place == 0)
            })
        };
        let lengths: Vec<_> = lengths.iter().filter(counts).cloned().collect();
        *cells = self.product(*cells, &lengths)?;
        Ok(Block {
            axes: values,
            zip,
            replicates,
            part,
            method_span: axes.method.span(),
            split_span: axes.place(AxisName::Split),
        })
    }

    /// Axes that go together; `lengths`: of all axes. Errors: what is no axis, an axis twice or alone, axes of different lengths.
    fn zip(
        &self,
        wire: &Spanned<WireZip>,
        lengths: &[(&str, usize, Range<usize>)],
        needs_delta: bool,
    ) -> Result<Vec<Vec<AxisName>>> {
        let refuse = |message: String, label: String| Err(self.error(message, wire.span(), label));
        let groups: Vec<&Vec<String>> = match wire.get_ref() {
            WireZip::One(group) => vec![group],
            WireZip::Several(groups) => groups.iter().collect(),
        };
        let known: Vec<&str> = lengths
            .iter()
            .map(|axis| axis.0)
            .filter(|key| AxisName::of(key) != Some(AxisName::Lag))
            .collect();
        let (mut seen, mut zip) = (Vec::new(), Vec::new());
        for group in groups {
            let mut axes = Vec::new();
            for name in group {
                let axis = AxisName::of(name).filter(|_| known.contains(&name.as_str()));
                let Some(axis) = axis else {
                    return refuse(format!("zip: got `{name}`"), one_of(name, &known));
                };
                if axis == AxisName::Delta && !needs_delta {
                    return refuse("zip: got `delta`".into(), "only Gaussian laws take a delta".into());
                }
                if seen.contains(&axis) {
                    return refuse(format!("zip: got `{name}` twice"), "want every axis once".into());
                }
                seen.push(axis);
                axes.push(axis);
            }
            let length =
                |name: &String| lengths.iter().find(|(key, ..)| key == name).map_or(0, |axis| axis.1);
            let of: Vec<String> = group.iter().map(|name| format!("{name} has {}", length(name))).collect();
            if group.len() < 2 {
                return refuse(
                    format!("zip: got {group:?}"),
                    "want two axes or more that go together".into(),
                );
            }
            if group.iter().any(|name| length(name) != length(&group[0])) {
                return refuse(format!("zip: {}", of.join(", ")), "want as many values of each".into());
            }
            zip.push(axes);
        }
        Ok(zip)
    }

    /// The method axis: every method serves what is released, and the study.
    fn methods<B: Section>(
        &self,
        axis: &Spanned<super::wire::Axis<super::wire::WireMethod>>,
        on_table: bool,
    ) -> Result<Vec<Method>> {
        self.not_empty("method", axis.get_ref(), axis.span())?;
        let mut methods = Vec::new();
        for wire in &axis.get_ref().0 {
            methods.extend(self.method(wire, axis.span(), B::LENGTHS)?);
        }
        for method in &methods {
            let refuse = |message: String, label: &str| Err(self.error(message, axis.span(), label));
            let got = format!("method: got `{}`", method.name());
            let place = if on_table {
                Place::Table { inequalities: false }
            } else {
                Place::Tree { inequalities: false }
            };
            if let Err(why) = method.kind().somewhere(place) {
                return refuse(got, why);
            }
            if on_table && method.nonnegative() {
                let label = "on a table it is an [[invariant]] of kind \"nonnegative\", for all methods";
                return refuse("nonnegative: got true".into(), label);
            }
            if let Err(why) = B::takes_method(method.kind()) {
                return refuse(got, why);
            }
        }
        self.no_duplicates("method", &methods, axis.span())?;
        Ok(methods)
    }

    /// `budget`: the key of the budgets.
    fn exclude(&self, wire: &WireExclude, budget: &str) -> Result<Exclude> {
        let epsilon = wire.epsilon.as_ref().map(|axis| ("epsilon", axis.span(), axis.get_ref().budgets()));
        let paid = wire.paid.as_ref().map(|axis| ("paid", axis.span(), axis.get_ref().budgets()));
        let mut budgets = epsilon.into_iter().chain(paid);
        if let Some((key, span, _)) = budgets.clone().find(|(key, ..)| *key != budget) {
            let label = format!("the budgets of this study are `{budget}`");
            return Err(self.error(format!("{key}: not used"), span, label));
        }
        let law = wire.law.as_ref().map(|axis| self.axis("law", axis, |name, span| self.law(name, span)));
        let mut methods = Vec::new();
        for axis in wire.method.iter() {
            self.not_empty("method", axis.get_ref(), axis.span())?;
            for wire in &axis.get_ref().0 {
                if wire.kind == EXTERNAL {
                    methods.push(ExcludedMethod::Own(self.excluded_own(wire)?));
                    continue;
                }
                let options: Vec<String> = wire.options.iter().map(|(key, _)| key.clone()).collect();
                let all = self.method(wire, axis.span(), true)?.into_iter();
                methods.extend(all.map(|method| ExcludedMethod::Ours { method, options: options.clone() }));
            }
        }
        let lag = |axis| self.axis("exclude.lag", axis, |&n, span| self.count("exclude.lag", n, span));
        let budget =
            budgets.next().map(|(key, span, budgets)| self.budgets(&format!("exclude.{key}"), budgets, span));
        self.left_out_with_optional(
            wire,
            budget.transpose()?,
            law.transpose()?,
            wire.method.is_some().then_some(methods),
            wire.lag.as_ref().map(lag).transpose()?,
        )
    }

    /// How `compare` judges.
    pub(crate) fn thresholds(&self, wire: &WireCompare) -> Result<Thresholds> {
        let mut thresholds = Thresholds::default();
        if let Some(level) = &wire.level {
            thresholds.level = self.probability("compare.level", *level.get_ref(), level.span())?;
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
            ("bias", &wire.margins.bias),
            ("tau", &wire.margins.tau),
            ("gamma", &wire.margins.gamma),
        ] {
            if let Some(x) = margin(&format!("margins.{metric}"), given)? {
                thresholds.margins.insert(metric.to_owned(), x);
            }
        }
        Ok(thresholds)
    }

    pub(crate) fn law(&self, name: &str, span: Range<usize>) -> Result<LawKind> {
        LawKind::named(name).ok_or_else(|| {
            let names: Vec<&str> = LawKind::ALL.iter().map(|law| law.name()).collect();
            self.error(format!("law: got `{name}`"), span, one_of(name, &names))
        })
    }
}
