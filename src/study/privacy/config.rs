//! The config of a study of privacy: what is its own.

use crate::catalogue::{Family, LawKind, MethodKind};
use crate::config::wire::{WirePublished, study};
use crate::config::{Checker, Section};
use crate::failure::Result;
use std::sync::LazyLock;
use toml::Spanned;

study! {
    /// A study of privacy: everything is computed, nothing drawn.
    PrivacyFile "privacy" ("String", "Vec<PrivacyBlock>"), PrivacyTop {
        /// What the report adds.
        #[serde(default)]
        report: WirePublished,
    }
    /// One `[[grid]]` block: the product of its axes.
    PrivacyBlock by epsilon (Epsilons, "crate::config::wire::Epsilons"): "Privacy budgets: epsilon of pure \
        differential privacy, of the Gaussian laws at `delta`; of each level or of all together, by `split`." {}
}

impl Section for PrivacyBlock {
    const STUDY: &'static str = "privacy";
    const LENGTHS: bool = false;
    const REPLICATES: bool = false;

    fn takes_law(law: LawKind) -> bool {
        law.family() == Family::DoubleGeometric
    }

    fn takes_method(kind: MethodKind) -> std::result::Result<(), &'static str> {
        /// What is wanted in the place of others.
        static WANTED: LazyLock<String> = LazyLock::new(|| {
            let listed = MethodKind::ALL.iter().filter(|kind| kind.facts().is_listed);
            let (laws, images): (Vec<_>, Vec<_>) = listed.partition(|kind| kind.conditions());
            let names =
                |kinds: Vec<&MethodKind>| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
            let (laws, images) = (names(laws), names(images));
            format!(
                "a study of privacy wants {laws}, or {images} of a few counts: it computes, it draws nothing"
            )
        });
        if kind.facts().is_listed { Ok(()) } else { Err(&WANTED) }
    }

    fn published(top: &PrivacyTop) -> Option<&Spanned<String>> {
        top.report.published.as_ref()
    }

    fn replicates(&self, _: &Checker, _: Option<u64>) -> Result<u64> {
        Ok(1)
    }
}
