//! The config of a study of profiles: what is its own.

use crate::config::wire::{Axis, WirePublished, study};
use crate::config::{Checker, Config, ConfigPart, Section};
use crate::failure::Result;
use crate::input::{Asked, DataSource, Subject};
use std::sync::Arc;
use toml::Spanned;
use toml_edit::{Array, DocumentMut, value};

study! {
    /// A study of profiles: the whole law of what releases pay; nothing is drawn.
    ProfileFile "profile" ("String", "Vec<ProfileBlock>"), ProfileTop {
        /// The delta at which epsilon is stated, between 0 and 1. Gaussian laws have one of their own in their block.
        #[schemars(with = "f64")]
        delta: Spanned<f64>,
        /// How many releases of the same data pay together; default 1.
        #[schemars(with = "Option<Axis<i64>>")]
        releases: Option<Spanned<Axis<i64>>>,
        /// What the report adds.
        #[serde(default)]
        report: WirePublished,
    }
    /// One `[[grid]]` block: the product of its axes.
    ProfileBlock by epsilon (Epsilons, "crate::config::wire::Epsilons"): "Privacy budgets: epsilon of pure \
        differential privacy, of the Gaussian laws at `delta`; of each level or of all together, by `split`." {}
}

/// The part of a config of profiles: at which delta epsilon is stated, and of how many releases.
#[derive(Debug, Clone)]
pub(super) struct ProfilePart {
    pub(super) delta: f64,
    pub(super) releases: Vec<u64>,
}

impl ProfilePart {
    /// The part of a config of this study.
    pub(super) fn of(config: &Config) -> &Self {
        config.part.as_own().expect("a study of profiles names its delta")
    }
}

impl ConfigPart for ProfilePart {
    fn key(&self, _: &Subject, _: Option<&Asked>) -> Result<String> {
        Ok(format!("delta={:?} releases={:?}\n", self.delta, self.releases))
    }

    fn resolve(&self, document: &mut DocumentMut, _: &DataSource) {
        document["delta"] = value(self.delta);
        document["releases"] = value(self.releases.iter().map(|&k| k as i64).collect::<Array>());
    }
}

impl Section for ProfileBlock {
    const STUDY: &'static str = "profile";
    const LENGTHS: bool = false;
    const REPLICATES: bool = false;

    fn published(top: &ProfileTop) -> Option<&Spanned<String>> {
        top.report.published.as_ref()
    }

    /// Errors: a delta, or a number of releases, beyond its range; a number twice.
    fn config_part(
        top: &ProfileTop,
        checker: &Checker,
        _: &DataSource,
        _: bool,
    ) -> Result<Arc<dyn ConfigPart>> {
        let delta = checker.probability("delta", *top.delta.get_ref(), top.delta.span())?;
        let releases = match &top.releases {
            None => vec![1],
            Some(axis) => checker.axis("releases", axis, |&k, span| checker.releases("releases", k, span))?,
        };
        Ok(Arc::new(ProfilePart { delta, releases }))
    }

    fn replicates(&self, _: &Checker, _: Option<u64>) -> Result<u64> {
        Ok(1)
    }
}
