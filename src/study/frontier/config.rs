//! The config of a study of the frontier: what is its own.

use crate::config::wire::study;
use crate::config::{Checker, Config, ConfigPart, Queries, Section};
use crate::failure::Result;
use crate::input::{Asked, DataSource, Subject};
use crate::study::equal::PaidChange;
use crate::study::release::{add_report, key_of_queries, resolve_queries};
use std::sync::Arc;
use toml::Spanned;
use toml_edit::{DocumentMut, Table, value};

study! {
    /// A study of the frontier: errors of releases that pay the same.
    FrontierFile "frontier" ("String", "Vec<FrontierBlock>"), FrontierTop {
        /// The change of the confidential table whose loss `paid` is: "added" (one record added or removed), "moved" (one record
        /// moved to another entry) or "smallest" (the smallest change that keeps the invariant).
        #[schemars(with = "String", extend("enum" = ["added", "moved", "smallest"]))]
        change: Spanned<String>,
        /// Releases of every cell, unless its block says otherwise.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// What the report adds.
        #[serde(default)]
        report: WireReport,
    }
    /// One `[[grid]]` block: the product of its axes.
    FrontierBlock by paid (WirePaid, "crate::config::wire::WirePaid"): "What a release pays for the change, \
        conditioning included: epsilon, of Gaussian laws at `delta`; or `{ rho = [...] }`, rho of zero-concentrated \
        privacy, where it is computed." {
        /// Releases of the block's cells.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
    }
}

/// `[report]`
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WireReport {
    /// CSV file of published figures to print beside ours, relative to the config file.
    #[schemars(with = "Option<String>")]
    published: Option<Spanned<String>>,
    /// Queries, as in a study of releases.
    #[schemars(with = "Option<Vec<Vec<String>>>")]
    queries: Option<Spanned<Vec<Spanned<Vec<String>>>>>,
    /// The smallest count of every size, as in a study of releases.
    #[schemars(with = "Option<Vec<i64>>")]
    sizes: Option<Spanned<Vec<i64>>>,
}

/// The part of a config of the frontier: the change of the confidential table whose loss the budgets are.
#[derive(Debug, Clone)]
pub(super) struct FrontierPart {
    pub(super) change: PaidChange,
    /// Sums whose errors are summed up group by group.
    queries: Queries,
}

impl FrontierPart {
    /// The part of a config of this study.
    pub(super) fn of(config: &Config) -> &Self {
        config.part.as_own().expect("a study of the frontier names its change")
    }
}

impl ConfigPart for FrontierPart {
    fn queries(&self) -> &Queries {
        &self.queries
    }

    fn key(&self, _: &Subject, asked: Option<&Asked>) -> Result<String> {
        Ok(format!("change={}\n{}", self.change.kind.name(), key_of_queries(&self.queries, asked)))
    }

    fn resolve(&self, document: &mut DocumentMut, _: &DataSource) {
        document["change"] = value(self.change.kind.name());
        let mut report = Table::new();
        resolve_queries(&self.queries, &mut report);
        add_report(document, report);
    }
}

impl Section for FrontierBlock {
    const STUDY: &'static str = "frontier";
    const LENGTHS: bool = true;
    const REPLICATES: bool = true;

    fn all_replicates(top: &FrontierTop) -> Option<&Spanned<i64>> {
        top.replicates.as_ref()
    }

    fn published(top: &FrontierTop) -> Option<&Spanned<String>> {
        top.report.published.as_ref()
    }

    /// Errors: there is no change of this name.
    fn config_part(
        top: &FrontierTop,
        checker: &Checker,
        data: &DataSource,
        _: bool,
    ) -> Result<Arc<dyn ConfigPart>> {
        let queries = checker.asked(top.report.queries.as_ref(), top.report.sizes.as_ref(), data)?;
        Ok(Arc::new(FrontierPart { change: PaidChange::of(checker, &top.change)?, queries }))
    }

    fn replicates(&self, checker: &Checker, top: Option<u64>) -> Result<u64> {
        checker.replicates(self.replicates.as_ref(), top, self.paid.span())
    }
}
