//! What a study of meetings tells of the chains of a study of releases.

use super::super::cells::CellRow;
use super::super::meeting::PairRow;
use crate::config::Certify;
use crate::coupling::MeetingTimes;
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan};
use crate::rng::{Role, TaskKey, stream};
use crate::store::Run;
use crate::table;
use crate::table::Key;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

table! {
    /// How far the releases of a chain are from their law.
    pub struct CertificateRow in "certificates.parquet", "Studies `release` and `frontier` with `report.certify` or a `[certify]` block: one row per cell with chains. The bound is that of coupled pairs of the same chain, at as many steps as the release makes." {
        cell: Key, "", "the cell, in `cells.parquet`";
        steps: u64, "kernel steps", "of each release";
        lag: Option<u64>, "kernel steps", "of the pairs: of several lags that whose upper limit is smallest";
        pairs: Option<u64>, "", "coupled pairs";
        apart: Option<u64>, "", "of them, those still apart after so many steps beyond the lag; fewer than 10 say little";
        bound: Option<f64>, "probability", "on the total variation distance of a release to its law (Biswas, Jacob, Vanetti 2019)";
        bound_low: Option<f64>, "probability", "its interval at 95 %, by the bootstrap over pairs";
        bound_high: Option<f64>, "probability", "its interval; never below 3 / pairs, which is where what no pair has shown begins";
        unknown: String, "", "why there is no bound; empty if there is one";
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
    /// Of the config. Errors: the folder holds no run of a study of meetings; its tables.
    pub(super) fn of(plan: &Plan) -> Result<Option<Self>> {
        match &plan.config.certify {
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
        let steps = steps.filter(|_| cell.method.is_chain())?;
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
        let chain = Key(cell.chain_key(&plan.subject));
        let all = match self {
            Self::Run(name, chains) => match chains.get(&chain) {
                None => return Some(unknown(format!("{name} has no coupled pairs of this chain"))),
                Some(all) => all,
            },
            Self::Own(chains) => {
                let chain = (if plan.pooled { 0 } else { cell.seed }, chain);
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
        let key = TaskKey { seed: cell.seed, cell: cell.streams, replicate: u64::MAX, role: Role::Noise };
        let bounded = all.iter().filter(|times| times.is_bounded()).map(|times| {
            let interval = times.intervals(&mut stream(key), |sample| vec![sample.mean_bound(steps)]);
            let (low, high) = interval[0].unwrap_or((f64::NAN, f64::INFINITY));
            (times, low, high.max(3.0 / times.met() as f64))
        });
        let Some((times, low, high)) = bounded.min_by(|a, b| a.2.total_cmp(&b.2)) else {
            let (censored, pairs) = all
                .iter()
                .fold((0, 0), |(c, n), times| (c + times.censored(), n + times.met() + times.censored()));
            return Some(unknown(format!("{censored} of {pairs} pairs were cut short")));
        };
        Some(CertificateRow {
            lag: Some(times.lag()),
            pairs: Some(times.met()),
            apart: Some(times.apart(steps)),
            bound: Some(times.mean_bound(steps)),
            bound_low: Some(low),
            bound_high: Some(high),
            ..unknown(String::new())
        })
    }
}

impl CertificateRow {
    /// The bound in words.
    pub(super) fn words(&self) -> String {
        match (self.bound, self.bound_high) {
            (Some(_), Some(high)) if high >= 1.0 => "nothing known below 1".into(),
            (Some(bound), Some(high)) if bound > 0.0 => format!("{bound:.1e} (<= {high:.1e})"),
            (Some(_), Some(high)) => format!("below about {high:.1e}"),
            _ => "unknown".into(),
        }
    }
}
