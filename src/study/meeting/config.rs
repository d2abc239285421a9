//! The config of a study of meetings: what is its own.

use crate::catalogue::MethodKind;
use crate::config::wire::{Axis, WirePublished, study};
use crate::config::{CellPart, Checker, DEFAULT_MAX_STEPS, Section};
use crate::coupling::MOST_CHAINS;
use crate::failure::Result;
use crate::study::pairs::{Groups, Meetings};
use std::sync::Arc;
use toml::Spanned;

study! {
    /// A study of meetings.
    MeetingFile "meeting" ("String", "Vec<MeetingBlock>"), MeetingTop {
        /// Coupled pairs of every cell, unless its block says otherwise.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// What the report adds.
        #[serde(default)]
        report: WirePublished,
    }
    /// One `[[grid]]` block: the product of its axes.
    MeetingBlock by epsilon (Epsilons, "crate::config::wire::Epsilons"): "Privacy budgets: epsilon of pure \
        differential privacy, of the Gaussian laws at `delta`; of each level or of all together, by `split`." {
        /// Coupled pairs of the block's cells.
        #[schemars(with = "Option<i64>", range(min = 1))]
        replicates: Option<Spanned<i64>>,
        /// Lags of coupled pairs, in kernel steps; none where the chains' marginals alone are compared.
        #[schemars(with = "Option<Axis<i64>>")]
        lag: Option<Spanned<Axis<i64>>>,
        /// Kernel steps after which a coupled pair is cut short; default 10,000,000.
        #[schemars(with = "Option<i64>", range(min = 1))]
        max_steps: Option<Spanned<i64>>,
        /// Chains whose marginals are compared with the exact law, up to `marginal-steps`.
        #[schemars(with = "Option<i64>", range(min = 1))]
        marginal_chains: Option<Spanned<i64>>,
        /// The last kernel step at which they are; default 1000.
        #[schemars(with = "Option<i64>", range(min = 1))]
        marginal_steps: Option<Spanned<i64>>,
        /// Groups of chains that share weights, for bounds on f-divergences without a lag.
        #[schemars(with = "Option<i64>", range(min = 2))]
        harmonized_groups: Option<Spanned<i64>>,
        /// Chains of each group; default 64.
        #[schemars(with = "Option<i64>", range(min = 2, max = 65536))]
        harmonized_chains: Option<Spanned<i64>>,
        /// Kernel steps after which a group is left; default 10,000,000.
        #[schemars(with = "Option<i64>", range(min = 1))]
        harmonized_steps: Option<Spanned<i64>>,
    }
}

/// Most groups: the bootstrap keeps 8 kB for each.
const MOST_GROUPS: u64 = 10_000;
/// Chains of a group if the config does not say.
const DEFAULT_GROUP: u64 = 64;
/// Steps of the comparison of marginals if the config does not say.
const DEFAULT_MARGINAL_STEPS: u64 = 1000;

impl Section for MeetingBlock {
    const STUDY: &'static str = "meeting";
    const LENGTHS: bool = false;
    const REPLICATES: bool = true;

    fn takes_method(kind: MethodKind) -> std::result::Result<(), &'static str> {
        match kind.is_chain() {
            true => Ok(()),
            false => Err("a study of meetings wants line-gibbs, hierarchical-mh, lattice-metropolis or mis"),
        }
    }

    fn all_replicates(top: &MeetingTop) -> Option<&Spanned<i64>> {
        top.replicates.as_ref()
    }

    fn published(top: &MeetingTop) -> Option<&Spanned<String>> {
        top.report.published.as_ref()
    }

    fn replicates(&self, checker: &Checker, top: Option<u64>) -> Result<u64> {
        match (&self.lag, &self.replicates) {
            (None, Some(replicates)) => {
                let label = "want `lag` beside it: they are coupled pairs";
                Err(checker.error("lag: missing", replicates.span(), label))
            }
            (None, None) => Ok(0),
            (Some(_), own) => checker.replicates(own.as_ref(), top, self.epsilon.span()),
        }
    }

    fn lags(&self, checker: &Checker) -> Result<Vec<u64>> {
        let lags = self.lag.as_ref().map(|lag| checker.lags(lag, self.max_steps.as_ref())).transpose()?;
        Ok(lags.map_or(Vec::new(), |(lags, _)| lags))
    }

    fn cell_part(&self, checker: &Checker, _: bool) -> Result<Arc<dyn CellPart>> {
        let integer = |key: &str, value: &Option<Spanned<i64>>| {
            value.as_ref().map(|value| checker.positive_integer(key, value)).transpose()
        };
        if let (None, None, None) = (&self.lag, &self.marginal_chains, &self.harmonized_groups) {
            let label = "want `lag` for coupled pairs, `harmonized-groups` for chains with weights, or `marginal-chains` for the \
                         distance of the chains' marginals";
            return Err(checker.error("lag: missing", self.method.span(), label));
        }
        if let (None, Some(steps)) = (&self.lag, &self.max_steps) {
            let label = "want `lag` beside it: it cuts coupled pairs short";
            return Err(checker.error("lag: missing", steps.span(), label));
        }
        let max_steps = match &self.lag {
            None => DEFAULT_MAX_STEPS,
            Some(lag) => checker.lags(lag, self.max_steps.as_ref())?.1,
        };
        let chains = integer("marginal-chains", &self.marginal_chains)?;
        let steps = integer("marginal-steps", &self.marginal_steps)?;
        if let (None, Some(steps)) = (chains, &self.marginal_steps) {
            let label = "want it beside `marginal-steps`";
            return Err(checker.error("marginal-chains: missing", steps.span(), label));
        }
        let marginals = chains.map(|chains| (chains, steps.unwrap_or(DEFAULT_MARGINAL_STEPS)));
        let harmonized = self.harmonized(checker)?;
        Ok(Arc::new(Meetings { max_steps, marginals, harmonized }))
    }
}

impl MeetingBlock {
    /// Groups of chains with weights.
    fn harmonized(&self, checker: &Checker) -> Result<Option<Groups>> {
        let others =
            [("harmonized-chains", &self.harmonized_chains), ("harmonized-steps", &self.harmonized_steps)];
        let Some(groups) = &self.harmonized_groups else {
            let given = others.iter().find_map(|(key, value)| Some((key, value.as_ref()?)));
            return given.map_or(Ok(None), |(key, value)| {
                let label = format!("want it beside `{key}`");
                Err(checker.error("harmonized-groups: missing", value.span(), label))
            });
        };
        let within = |key: &str, value: &Spanned<i64>, most: u64| -> Result<u64> {
            let n = checker.positive_integer(key, value)?;
            let refused =
                || checker.error(format!("{key}: got {n}"), value.span(), format!("want 2 to {most}"));
            if (2..=most).contains(&n) { Ok(n) } else { Err(refused()) }
        };
        let [(chains_key, chains), (steps_key, steps)] = others;
        Ok(Some(Groups {
            groups: within("harmonized-groups", groups, MOST_GROUPS)?,
            chains: chains
                .as_ref()
                .map_or(Ok(DEFAULT_GROUP), |chains| within(chains_key, chains, MOST_CHAINS))?,
            steps: steps
                .as_ref()
                .map_or(Ok(DEFAULT_MAX_STEPS), |steps| checker.positive_integer(steps_key, steps))?,
        }))
    }
}
