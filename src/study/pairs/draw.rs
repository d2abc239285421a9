//! A cell of a study of meetings: coupled pairs of chains, and the chains' marginals beside the exact law.

use super::divergences;
use super::marginals::Comparison;
use super::{Meetings, Pair, Pairs, Part};
use crate::catalogue::unsupported;
use crate::coupling::{Meeting as Met, MeetingTimes};
use crate::engine::{self, Drawn, Prepared, encode};
use crate::grid::{Cell, Plan};
use crate::kernel::LANES;
use crate::methods::Chains;
use crate::rng::{Role, TaskKey, stream};
use crate::study::cells::{Paid, gamma};
use crate::{Error, Result};
use std::ops::Range;

/// Prepares a cell: everything that does not depend on the pair.
///
/// `meeting`: what is asked for, without what an earlier cell with the same chain does.
pub(in crate::study) fn prepare<'a>(
    plan: &'a Plan,
    cell: &'a Cell,
    meeting: Meetings,
) -> Result<Box<dyn Prepared + 'a>> {
    Ok(Box::new(ReadyPairs::new(plan, cell, meeting, (cell.at.lag, cell.streams))?))
}

/// Meeting times of a range of coupled pairs of a cell's chain, by lag: those of a study of meetings with this chain and seed.
///
/// Errors: a chain or a law without a coupling; no start.
pub(in crate::study) fn certify(
    plan: &Plan,
    cell: &Cell,
    pairs: &Pairs,
    range: Range<u64>,
) -> Result<Vec<MeetingTimes>> {
    let (method, law) = (cell.at.method, cell.at.law);
    (method.facts().couples)(law).map_err(|reason| {
        let what = format!("coupled pairs with {} noise", law.name());
        Error::Unsupported { method: method.name(), what, reason }
    })?;
    let times = |&lag: &u64| {
        let meeting = Meetings { max_steps: pairs.max_steps, marginals: None, harmonized: None };
        let key = cell.meeting_key(lag, &plan.subject);
        let ready = ReadyPairs::new(plan, cell, meeting, (Some(lag), key))?;
        let mut times = MeetingTimes::new(lag);
        ready.pairs(range.clone(), &mut |_, met| times.push(met.tau))?;
        Ok(times)
    };
    pairs.lag.iter().map(times).collect()
}

fn refused(cell: &Cell) -> crate::Error {
    unsupported(cell.at.method.name(), "a study of meetings")
}

/// Pairs that are in memory at a time.
const AT_A_TIME: u64 = 8 * LANES as u64;

struct ReadyPairs<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    meeting: Meetings,
    /// The lag of its pairs, if there are any.
    lag: Option<u64>,
    /// The key of their streams.
    key: u64,
    chains: Box<dyn Chains>,
    comparison: Option<Comparison<'a>>,
}

impl<'a> ReadyPairs<'a> {
    /// Errors: a method without a chain; pairs or groups are asked for, and no coupling is known.
    fn new(
        plan: &'a Plan,
        cell: &'a Cell,
        meeting: Meetings,
        (lag, key): (Option<u64>, u64),
    ) -> Result<Self> {
        let chains = cell.at.method.chains(&cell.problem(&plan.subject))?;
        let couples = (cell.at.method.facts().couples)(cell.at.law).is_ok();
        if !couples && (lag.is_some() || meeting.harmonized.is_some()) {
            return Err(refused(cell));
        }
        let comparison = meeting.marginals.map(|extent| Comparison::new(extent, cell, &plan.subject));
        Ok(Self { plan, cell, meeting, lag, key, chains, comparison })
    }

    /// Runs pairs and tells of each in order, up to the first that fails. Errors: the chain has no coupling; no start.
    fn pairs(&self, range: Range<u64>, each: &mut dyn FnMut(u64, Met)) -> Result<()> {
        let (cell, meeting, key) = (self.cell, self.meeting, self.key);
        let Some(lag) = self.lag else { return Err(refused(cell)) };
        let mut from = range.start;
        while from < range.end {
            let some = from..range.end.min(from + AT_A_TIME);
            let streams = some.clone().map(|replicate| {
                let stream = |role| stream(TaskKey { seed: cell.at.seed, cell: key, replicate, role });
                (stream(Role::Start), stream(Role::Moves))
            });
            let start = cell.at.method.start();
            let all = self.chains.meet(lag, meeting.max_steps, start, streams.collect());
            for (replicate, met) in some.clone().zip(all.ok_or_else(|| refused(cell))?) {
                each(replicate, met?);
            }
            from = some.end;
        }
        Ok(())
    }
}

impl Prepared for ReadyPairs<'_> {
    fn draw(&self, range: Range<u64>) -> (Drawn, Result<()>) {
        let mut pairs: Vec<Pair> = Vec::new();
        let drawn = self.pairs(range, &mut |replicate, met| pairs.push((replicate, met)));
        (Drawn::Encoded(encode(&pairs)), drawn)
    }

    fn part(&self, number: u64) -> Result<Vec<u8>> {
        let start = self.cell.at.method.start();
        let chain = TaskKey {
            seed: self.cell.at.seed,
            cell: self.cell.chain.expect("it has a chain"),
            replicate: 0,
            role: Role::Noise,
        };
        let compared = self.comparison.as_ref().map_or(0, Comparison::parts);
        let part = match (&self.comparison, self.meeting.harmonized) {
            (Some(comparison), _) if number < compared => {
                Part::Samples(comparison.part(&*self.chains, start, chain, number)?)
            }
            (_, Some(asked)) => {
                let (parts, _) = divergences::parts(asked, self.cell);
                let group = |replicate| {
                    let mut rng = stream(TaskKey { role: Role::Group, replicate, ..chain });
                    let group = self.chains.group(start, asked.chains, asked.steps, &mut rng);
                    group.unwrap_or_else(|| Err(refused(self.cell)))
                };
                let share = engine::share(asked.groups, number - compared, parts);
                Part::Groups(share.map(group).collect::<Result<_>>()?)
            }
            _ => return Err(refused(self.cell)),
        };
        Ok(encode(&part))
    }

    fn close(&self) -> Result<Vec<u8>> {
        Ok(encode(&Paid::new(f64::NAN, gamma(self.cell, &self.plan.subject))))
    }
}
