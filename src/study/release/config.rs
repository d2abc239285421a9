//! The config of a study of releases: what is its own.

use crate::config::wire::{WireCertify, WireKeep, WireReport, study};
use crate::config::{Checker, Own, Section};
use crate::failure::Result;
use toml::Spanned;

study! {
    /// A study of releases.
    ReleaseFile "release" ("Option<String>", "Vec<ReleaseBlock>") {
        /// Replicates of every cell, unless its block says otherwise.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// Which draws are written out, beside their summaries: true for all, on a tree also a list of levels (`total` is the root).
        #[schemars(with = "Option<crate::config::wire::WireKeep>")]
        keep_draws: Option<Spanned<WireKeep>>,
        /// What the report adds.
        #[serde(default)]
        report: WireReport,
        /// Coupled pairs that certify the chains, run with the releases.
        certify: Option<WireCertify>,
    }
    /// One `[[grid]]` block: the product of its axes.
    ReleaseBlock by epsilon (Epsilons, "crate::config::wire::Epsilons"): "Privacy budgets: epsilon of pure \
        differential privacy, of the Gaussian laws at `delta`; of each level or of all together, by `split`." {
        /// Replicates of the block's cells: releases, or chains.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// Draws recorded of each chain's second half, at most, by entry of a table; default 0: the last state only.
        #[schemars(with = "Option<i64>", range(min = 0))]
        records: Option<Spanned<i64>>,
    }
}

impl Section for ReleaseBlock {
    const STUDY: &'static str = "release";
    const LENGTHS: bool = true;
    const REPLICATES: bool = true;

    fn replicates(&self, checker: &Checker, top: Option<u64>) -> Result<u64> {
        checker.replicates(self.replicates.as_ref(), top, self.epsilon.span())
    }

    fn own(&self, checker: &Checker, on_table: bool) -> Result<Own> {
        let Some(records) = &self.records else { return Ok(Own::Records(0)) };
        if !on_table {
            let label = "only releases of a table take it";
            return Err(checker.error("records: not used", records.span(), label));
        }
        let n = *records.get_ref();
        let refused = |_| checker.error(format!("records: got {n}"), records.span(), "want an integer >= 0");
        u64::try_from(n).map_err(refused).map(Own::Records)
    }
}
