//! The config of a study of coverage: what is its own.

use crate::config::wire::study;
use crate::config::{Checker, Config, ConfigPart, Queries, Section};
use crate::failure::Result;
use crate::files;
use crate::hash;
use crate::infer::{self, District, Mean, Shared};
use crate::inference::Counts;
use crate::input::{Asked, DataSource, Keep, Subject};
use crate::study::equal::PaidChange;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

study! {
    /// A study of coverage: what the intervals of releases hold that pay the same, and how long they are.
    CoverageFile "coverage" ("String", "Vec<CoverageBlock>"), CoverageTop {
        /// The change of the confidential counts whose loss `paid` is, as in a study of the frontier.
        #[schemars(with = "String", extend("enum" = ["added", "moved", "smallest"]))]
        change: Spanned<String>,
        /// What an interval is to hold at least, as a fraction or a number between 0 and 1; default "9/10".
        #[schemars(with = "Option<String>")]
        level: Option<Spanned<String>>,
        /// CSV file of districts, relative to the config file, as `congenial infer --queries` takes it: sums over any leaves.
        #[schemars(with = "Option<String>")]
        districts: Option<Spanned<String>>,
        /// The smallest count of every size by which the last level is told; default [0, 1, 10, 100, 1000, 10000].
        #[schemars(with = "Option<Vec<i64>>")]
        sizes: Option<Spanned<Vec<i64>>>,
        /// Draws for each release of a parametric bootstrap, at least 99: releases whose error depends on the counts get its
        /// intervals, too.
        #[schemars(with = "Option<i64>", range(min = 99))]
        bootstrap: Option<Spanned<i64>>,
        /// A prior of every leaf, as `congenial infer --prior` takes it, without columns of a table: releases that have a
        /// posterior get its intervals, too.
        #[schemars(with = "Option<String>")]
        prior: Option<Spanned<String>>,
        /// A model by which the counts are drawn anew for every release, and whose coefficients are looked for in the place of
        /// counts.
        model: Option<WireModel>,
        /// Releases of every cell, unless its block says otherwise.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
    }
    /// One `[[grid]]` block: the product of its axes.
    CoverageBlock by paid (WirePaid, "crate::config::wire::WirePaid"): "What a release pays for the change, \
        conditioning included, as in a study of the frontier." {
        /// Releases of the block's cells.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
    }
}

/// `[model]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WireModel {
    /// Table with a row for each leaf, its keys and columns of numbers, relative to the config file.
    #[schemars(with = "String")]
    leaves: Spanned<String>,
    /// Its column by which means are multiplied: persons, years.
    offset: Option<String>,
    /// The logarithm of the mean where all columns are 0 and the offset is 1.
    intercept: f64,
    /// Columns with the coefficient by which the logarithm of the mean moves.
    #[schemars(with = "std::collections::BTreeMap<String, f64>")]
    coefficients: Spanned<BTreeMap<String, f64>>,
    /// The size of negative binomial counts, whose variance is `mean + mean^2/size`; without it counts are Poisson.
    #[schemars(with = "Option<f64>")]
    size: Option<Spanned<f64>>,
}

/// A model of the counts, with its coefficients.
#[derive(Debug, Clone)]
pub(super) struct ModelSpec {
    pub(super) leaves: PathBuf,
    pub(super) offset: Option<String>,
    pub(super) intercept: f64,
    pub(super) coefficients: Vec<(String, f64)>,
    pub(super) size: Option<f64>,
}

impl ModelSpec {
    /// The law of the counts.
    pub(super) fn counts(&self) -> Counts {
        if self.size.is_some() { Counts::NegativeBinomial } else { Counts::Poisson }
    }

    /// The names of the coefficients, in the order of a fit.
    pub(super) fn names(&self) -> Vec<String> {
        let columns = self.coefficients.iter().map(|(name, _)| name.clone());
        let size = self.size.map(|_| "size".to_owned());
        std::iter::once("intercept".to_owned()).chain(columns).chain(size).collect()
    }

    /// Errors: a size that is not > 0, coefficients that are no numbers.
    fn of(wire: &WireModel, checker: &Checker, folder: &Path) -> Result<Self> {
        let size =
            wire.size.as_ref().map(|size| checker.positive("model.size", *size.get_ref(), size.span()));
        let coefficients: Vec<(String, f64)> =
            wire.coefficients.get_ref().iter().map(|(name, b)| (name.clone(), *b)).collect();
        let all = std::iter::once(&wire.intercept).chain(coefficients.iter().map(|(_, b)| b));
        if let Some(b) = all.into_iter().find(|b| !b.is_finite()) {
            let message = format!("model: got the coefficient {b}");
            return Err(checker.error(message, wire.coefficients.span(), "want finite numbers"));
        }
        Ok(Self {
            leaves: folder.join(wire.leaves.get_ref()),
            offset: wire.offset.clone(),
            intercept: wire.intercept,
            coefficients,
            size: size.transpose()?,
        })
    }
}

/// The part of a config of coverage.
#[derive(Debug, Clone)]
pub(super) struct CoveragePart {
    pub(super) change: PaidChange,
    /// What the intervals are to hold.
    pub(super) level: f64,
    /// As it was given.
    level_text: String,
    /// The file of districts.
    pub(super) file: Option<PathBuf>,
    /// Its districts, once the data are there.
    pub(super) districts: Vec<District>,
    /// The smallest count of every size.
    pub(super) sizes: Vec<i64>,
    /// Draws of a bootstrap; 0 without one.
    pub(super) bootstrap: usize,
    /// A prior, and as it was given.
    pub(super) prior: Option<(Shared, String)>,
    /// A model by which counts are drawn anew.
    pub(super) model: Option<ModelSpec>,
}

impl CoveragePart {
    /// The part of a config of this study.
    pub(super) fn of(config: &Config) -> &Self {
        config.part.as_own().expect("a study of coverage has its part")
    }
}

impl ConfigPart for CoveragePart {
    fn keep(&self) -> &Keep {
        // Nodes have names.
        &Keep::All
    }

    fn key(&self, _: &Subject, _: Option<&Asked>) -> Result<String> {
        let Self { change, level, sizes, bootstrap, .. } = self;
        let mut key = format!("change={} level={level:?} sizes={sizes:?}", change.kind.name());
        if *bootstrap > 0 {
            key += &format!(" bootstrap={bootstrap}");
        }
        if let Some((_, prior)) = &self.prior {
            key += &format!(" prior={prior}");
        }
        if let Some(file) = &self.file {
            let text = files::text(file, "cannot read the districts")?;
            key += &format!(" districts={:016x}", hash::word(&text));
        }
        if let Some(model) = &self.model {
            let text = files::text(&model.leaves, "cannot read the table of leaves")?;
            let ModelSpec { leaves: _, offset, intercept, coefficients, size } = model;
            key += &format!(
                " model={:016x} {offset:?} {intercept} {coefficients:?} {size:?}",
                hash::word(&text)
            );
        }
        Ok(key + "\n")
    }

    fn resolve(&self, document: &mut DocumentMut, _: &DataSource) {
        document["change"] = value(self.change.kind.name());
        document["level"] = value(self.level_text.as_str());
        if let Some(file) = &self.file {
            document["districts"] = value(crate::grid::absolute(file));
        }
        if self.sizes != Queries::SIZES {
            document["sizes"] = value(self.sizes.iter().copied().collect::<Array>());
        }
        if self.bootstrap > 0 {
            document["bootstrap"] = value(self.bootstrap as i64);
        }
        if let Some((_, prior)) = &self.prior {
            document["prior"] = value(prior.as_str());
        }
        if let Some(model) = &self.model {
            let mut table = Table::new();
            table["leaves"] = value(crate::grid::absolute(&model.leaves));
            if let Some(offset) = &model.offset {
                table["offset"] = value(offset.as_str());
            }
            table["intercept"] = value(model.intercept);
            let mut coefficients = InlineTable::new();
            coefficients.extend(
                model.coefficients.iter().map(|(name, b)| (name.as_str(), toml_edit::Value::from(*b))),
            );
            table["coefficients"] = value(coefficients);
            if let Some(size) = model.size {
                table["size"] = value(size);
            }
            document["model"] = Item::Table(table);
        }
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.file.iter().cloned().chain(self.model.iter().map(|model| model.leaves.clone())).collect()
    }
}

impl Section for CoverageBlock {
    const STUDY: &'static str = "coverage";
    const LENGTHS: bool = true;
    const REPLICATES: bool = true;

    fn all_replicates(top: &CoverageTop) -> Option<&Spanned<i64>> {
        top.replicates.as_ref()
    }

    fn published(_: &CoverageTop) -> Option<&Spanned<String>> {
        None
    }

    /// Errors: another change or level, sizes that do not ascend from 0, too few draws.
    fn config_part(
        top: &CoverageTop,
        checker: &Checker,
        _: &DataSource,
        several: bool,
    ) -> Result<Arc<dyn ConfigPart>> {
        checker.one_data_set("districts", top.districts.as_ref(), several)?;
        let model = top.model.as_ref();
        checker.one_data_set("model", model.map(|model| &model.leaves), several)?;
        let of_counts = top.districts.is_some() || top.bootstrap.is_some() || top.prior.is_some();
        if let Some(model) = model.filter(|_| of_counts) {
            let label = "want it without `districts`, `bootstrap` and `prior`, which are of counts that stay";
            return Err(checker.error("model: not used", model.leaves.span(), label));
        }
        let folder = checker.path.parent().unwrap_or(Path::new("."));
        let level_text = top.level.as_ref().map_or("9/10", |level| level.get_ref());
        let level = infer::level(level_text).map_err(|want| {
            let span = top.level.as_ref().map_or(0..0, Spanned::span);
            checker.error(format!("level: got `{level_text}`"), span, want)
        })?;
        let bootstrap = match &top.bootstrap {
            None => 0,
            Some(draws) => match checker.positive_integer("bootstrap", draws)? {
                n @ 99..=99_999 => n as usize,
                n => {
                    let label = "want from 99 to 99999 draws for each release";
                    return Err(checker.error(format!("bootstrap: got {n}"), draws.span(), label));
                }
            },
        };
        let prior = top.prior.as_ref().map(|text| {
            let of =
                |want: String| checker.error(format!("prior: got `{}`", text.get_ref()), text.span(), want);
            let prior = infer::prior(text.get_ref()).map_err(of)?;
            let by_column = matches!(&prior, Shared::Poisson(Some(Mean::Column(_))))
                || matches!(&prior, Shared::NegativeBinomial(Some((Mean::Column(_), _))));
            match by_column {
                true => Err(of("want a number for the mean, there is no table of leaves here".into())),
                false => Ok((prior, text.get_ref().clone())),
            }
        });
        Ok(Arc::new(CoveragePart {
            change: PaidChange::of(checker, &top.change)?,
            level,
            level_text: level_text.to_owned(),
            file: top.districts.as_ref().map(|file| folder.join(file.get_ref())),
            districts: Vec::new(),
            sizes: checker.sizes("sizes", top.sizes.as_ref())?,
            bootstrap,
            prior: prior.transpose()?,
            model: model.map(|model| ModelSpec::of(model, checker, folder)).transpose()?,
        }))
    }

    fn replicates(&self, checker: &Checker, top: Option<u64>) -> Result<u64> {
        checker.replicates(self.replicates.as_ref(), top, self.paid.span())
    }
}
