//! What a study of meetings tells of the chains of a study of releases.

use super::config::{Certify, ReleasePart};
use crate::coupling::MeetingTimes;
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan};
use crate::rng::{Role, TaskKey, stream};
use crate::store::Run;
use crate::study::cells::CellRow;
use crate::study::meeting::PairRow;
use crate::study::pairs::Limits;
use crate::table;
use crate::table::Key;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

table! {
    /// Studies `release` and `frontier` with `report.certify` or a `[certify]` block: one row per cell with chains. The
    /// bound is that of coupled pairs of the same chain, at as many steps as the release makes, and what is stated of a
    /// release is its upper limit.
    pub struct CertificateRow in "certificates.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// of each release
        steps: u64, "kernel steps";
        /// of the pairs: of several lags the largest, so that no limit is chosen by what it says; null where no pairs
        /// are known
        lag: Option<u64>, "kernel steps";
        /// coupled pairs with this lag, those that were cut short included
        pairs: Option<u64>;
        /// of them, those still apart after so many steps beyond the lag
        apart: Option<u64>;
        /// mean over the pairs of a bound on the total variation distance of a release to its law (Biswas, Jacob,
        /// Vanetti 2019); null without a limit
        bound: Option<f64>, "probability";
        /// its 2.5 % quantile by the bootstrap over pairs
        bound_low: Option<f64>, "probability";
        /// its upper limit at 95 %, one-sided, at most 1: of n pairs that count `B_i = max(0, ceil((tau - lag - steps)
        /// / lag))`, with m the largest `B_i` or 1, `m` times the largest u with `n kl(mean / m, u) <= ln 20`
        /// (Hoeffding 1963), under the assumption that no pair is slower than the slowest one seen; null where it is
        /// unknown: if a pair was cut short, if fewer than 10 are apart with a lag below `steps`, and for `mis` with
        /// proposals narrower than the law. Of `mis` with proposals as wide as the law it is not of the pairs, but `Σ
        /// (1 - a_c / C)^steps` over its C components, `a_c` the lower limit of the share of proposals that the
        /// heaviest state accepts (`congenial::kernel::Forgetting`)
        bound_high: Option<f64>, "probability";
        /// why there is no limit; empty if there is one
        unknown: String;
    }
}

/// Where the pairs of a chain come from.
#[derive(Debug)]
pub(super) enum Certificates {
    /// A study of meetings: its name, and its pairs by the key of the chain.
    Run(String, HashMap<Key, Vec<MeetingTimes>>),
    /// The first cell with a chain runs them: by master seed and key of the chain, or why there are none.
    Own(HashMap<(u64, Key), std::result::Result<Vec<MeetingTimes>, String>>),
}

impl Certificates {
    /// Where the pairs that a config asks for come from. Errors: the folder holds no run of a study of meetings; its tables.
    pub(super) fn of(plan: &Plan) -> Result<Option<Self>> {
        match &ReleasePart::of(&plan.config).certify {
            None => Ok(None),
            Some(Certify::Run(folder)) => Self::read(folder).map(Some),
            Some(Certify::Pairs(_)) => Ok(Some(Self::Own(HashMap::new()))),
        }
    }

    fn read(folder: &Path) -> Result<Self> {
        let run = Run::open(folder)?;
        if run.manifest.study != "meeting" {
            let message = format!(
                "{}: report.certify: a run of the study `{}`, want one of `meeting`",
                folder.display(),
                run.manifest.study
            );
            return Err(Failure::Usage(message));
        }
        let mut chains: HashMap<Key, Key> = HashMap::new();
        run.each(|cell: CellRow| {
            chains.extend(cell.chain.map(|chain| (cell.cell, chain)));
            Ok(())
        })?;
        let mut times: BTreeMap<(Key, u64), MeetingTimes> = BTreeMap::new();
        run.each(|pair: PairRow| {
            if let Some(&chain) = chains.get(&pair.cell) {
                times.entry((chain, pair.lag)).or_insert_with(|| MeetingTimes::new(pair.lag)).push(pair.tau);
            }
            Ok(())
        })?;
        let mut by_chain: HashMap<Key, Vec<MeetingTimes>> = HashMap::new();
        for ((chain, _), times) in times {
            by_chain.entry(chain).or_default().push(times);
        }
        Ok(Self::Run(run.manifest.name.clone(), by_chain))
    }

    /// The row of a cell whose releases make so many steps; for others there is none. `own`: meeting times of pairs that it ran, by lag.
    pub(super) fn row(
        &mut self,
        plan: &Plan,
        cell: &Cell,
        steps: Option<u64>,
        own: Option<std::result::Result<Vec<MeetingTimes>, String>>,
    ) -> Option<CertificateRow> {
        let steps = steps.filter(|_| cell.at.method.is_chain())?;
        let unknown = |why: String| CertificateRow {
            cell: Key(cell.key),
            steps,
            lag: None,
            pairs: None,
            apart: None,
            bound: None,
            bound_low: None,
            bound_high: None,
            unknown: why,
        };
        let chain = Key(cell.chain.expect("it has a chain"));
        let all = match self {
            Self::Run(name, chains) => match chains.get(&chain) {
                None => return Some(unknown(format!("{name} has no coupled pairs of this chain"))),
                Some(all) => all,
            },
            Self::Own(chains) => {
                let chain = (if plan.pooled { 0 } else { cell.at.seed }, chain);
                if let Some(own) = own {
                    chains.insert(chain, own);
                }
                match chains.get(&chain) {
                    Some(Ok(all)) => all,
                    Some(Err(why)) => return Some(unknown(why.clone())),
                    None => return Some(unknown("the first cell with this chain failed".into())),
                }
            }
        };
        let Some(times) = all.iter().max_by_key(|times| times.lag()) else {
            return Some(unknown("there are no pairs".into()));
        };
        let (lag, pairs) = (Some(times.lag()), Some(times.met() + times.censored()));
        let seen = |why| CertificateRow { lag, pairs, apart: Some(times.apart(steps)), ..unknown(why) };
        let high = match Limits::of(plan, cell).limit(times, steps) {
            Ok(high) => high,
            Err(why) => return Some(seen(why)),
        };
        let key = TaskKey { seed: cell.at.seed, cell: cell.streams, replicate: u64::MAX, role: Role::Noise };
        let interval = times.intervals(&mut stream(key), |sample| vec![sample.mean_bound(steps)]);
        let low = interval[0].map(|(low, _)| low);
        let bound = Some(times.mean_bound(steps));
        Some(CertificateRow { bound, bound_low: low, bound_high: Some(high), ..seen(String::new()) })
    }
}

impl CertificateRow {
    /// The bound in words.
    pub(super) fn words(&self) -> String {
        match (self.bound, self.bound_high) {
            (Some(_), Some(high)) if high >= 1.0 => "nothing known below 1".into(),
            (Some(bound), Some(high)) if bound > 0.0 => format!("{bound:.1e} (<= {high:.1e})"),
            (Some(_), Some(high)) => format!("<= {high:.1e}"),
            _ => "unknown".into(),
        }
    }

    /// Whether it says anything.
    pub(super) fn is_known(&self) -> bool {
        self.bound_high.is_some_and(|high| high < 1.0)
    }
}
