//! The config of a study of privacy: what is its own.

use crate::catalogue::{LawKind, MethodKind};
use crate::config::wire::{WirePublished, study};
use crate::config::{Checker, Own, Section};
use crate::failure::Result;

study! {
    /// A study of privacy: everything is computed, nothing drawn.
    PrivacyFile "privacy" ("String", "Vec<PrivacyBlock>") {
        /// What the report adds.
        #[serde(default)]
        report: WirePublished,
    }
    /// One `[[grid]]` block: the product of its axes.
    PrivacyBlock by epsilon (Epsilons, "crate::config::wire::Epsilons"): "Privacy budgets: epsilon of pure differential privacy, of the Gaussian laws at `delta`; of each level or of all together, by `split`." {}
}

impl Section for PrivacyBlock {
    const STUDY: &'static str = "privacy";
    const LENGTHS: bool = false;
    const REPLICATES: bool = false;

    fn takes_law(law: LawKind) -> bool {
        matches!(law, LawKind::DoubleGeometric | LawKind::L1)
    }

    fn takes_method(kind: MethodKind) -> std::result::Result<(), &'static str> {
        match kind.facts().is_listed {
            true => Ok(()),
            false => Err(
                "a study of privacy wants exact, or l1, l2, nnl2, topdown, bluedown of a few counts: it computes, it draws nothing",
            ),
        }
    }

    fn replicates(&self, _: &Checker, _: Option<u64>) -> Result<u64> {
        Ok(1)
    }

    fn own(&self, _: &Checker, _: bool) -> Result<Own> {
        Ok(Own::Nothing)
    }
}
