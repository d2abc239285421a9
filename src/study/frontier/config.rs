//! The config of a study of the frontier: what is its own.

use crate::config::wire::{WirePublished, study};
use crate::config::{Checker, Own, Section};
use crate::failure::Result;
use toml::Spanned;

study! {
    /// A study of the frontier: errors of releases that pay the same.
    FrontierFile "frontier" ("String", "Vec<FrontierBlock>") {
        /// The change of the confidential table whose loss `paid` is: "added" (one record added or removed), "moved" (one record
        /// moved to another entry) or "smallest" (the smallest change that keeps the invariant).
        #[schemars(with = "String", extend("enum" = ["added", "moved", "smallest"]))]
        change: Spanned<String>,
        /// Releases of every cell, unless its block says otherwise.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// What the report adds.
        #[serde(default)]
        report: WirePublished,
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

impl Section for FrontierBlock {
    const STUDY: &'static str = "frontier";
    const LENGTHS: bool = true;
    const REPLICATES: bool = true;

    fn replicates(&self, checker: &Checker, top: Option<u64>) -> Result<u64> {
        checker.replicates(self.replicates.as_ref(), top, self.paid.span())
    }

    fn own(&self, _: &Checker, _: bool) -> Result<Own> {
        Ok(Own::Nothing)
    }
}
