//! A cell of a study of meetings: coupled pairs of chains, and the chains' marginals beside the exact law.

use super::divergences;
use super::marginals::{Comparison, Exact};
use super::{Pair, Part};
use crate::catalogue::unsupported;
use crate::catalogue::{IntegerNoise, Method, OnLaw, RealNoise};
use crate::config;
use crate::coupling::{Group, Meeting as Met, MeetingTimes, harmonize, meet_all};
use crate::engine::{self, Drawn, Prepared, encode};
use crate::exact::{ExactLattice, LatticeExact, LatticeScratch, TreeSampler};
use crate::grid::{Cell, Meeting, Plan};
use crate::input::{HierarchyTable, InvariantTable, Subject};
use crate::kernel::{
    Coupled, Dispersed, HierarchicalMh, LANES, LatticeGibbs, LatticeMetropolis, LineGibbs,
    MetropolizedIndependence, Start,
};
use crate::law::{EuclideanLaplace, Law};
use crate::rng::{Role, Stream, TaskKey, stream};
use crate::study::cells::Paid;
use crate::study::cells::gamma;
use crate::{Error, Result};
use std::ops::Range;

/// Prepares a cell: everything that does not depend on the pair.
///
/// `meeting`: what is asked for, without what an earlier cell with the same chain does.
pub(in crate::study) fn prepare<'a>(
    plan: &'a Plan,
    cell: &'a Cell,
    meeting: Option<Meeting>,
) -> Result<Box<dyn Prepared + 'a>> {
    let Some(meeting) = meeting else { return Err(refused(cell)) };
    Ok(cell.law.on(OnCell { plan, cell, meeting, key: cell.streams })?)
}

/// Meeting times of a range of coupled pairs of a cell's chain, by lag: those of a study of meetings with this chain and seed.
///
/// Errors: a chain or a law without a coupling; no start.
pub(in crate::study) fn certify(
    plan: &Plan,
    cell: &Cell,
    pairs: &config::Pairs,
    range: Range<u64>,
) -> Result<Vec<MeetingTimes>> {
    if !cell.method.kind().facts().coupled {
        let reason = "no coupling of two of its chains is known";
        return Err(Error::Unsupported { method: cell.method.name(), what: "coupled pairs".into(), reason });
    }
    if cell.law.is_continuous() {
        let (what, reason) = ("coupled pairs with real noise".into(), "couplings are of integer laws");
        return Err(Error::Unsupported { method: cell.method.name(), what, reason });
    }
    let times = |&lag: &u64| {
        let meeting = Meeting {
            lag: Some(lag),
            chain_key: cell.chain_key(&plan.subject),
            max_steps: pairs.max_steps,
            marginals: None,
            harmonized: None,
        };
        let key = cell.meeting_key(meeting, &plan.subject);
        let ready = cell.law.on(OnCell { plan, cell, meeting, key })?;
        let mut times = MeetingTimes::new(lag);
        ready.pairs(range.clone(), &mut |_, met| times.push(met.tau))?;
        Ok(times)
    };
    pairs.lag.iter().map(times).collect()
}

fn refused(cell: &Cell) -> crate::Error {
    unsupported(cell.method.name(), "a study of meetings")
}

#[derive(Clone, Copy)]
struct OnCell<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    meeting: Meeting,
    /// Of the streams of its pairs.
    key: u64,
}

/// A cell whose coupled pairs can be run by themselves.
trait Pairs: Prepared {
    /// Runs pairs and tells of each in order, up to the first that fails. Errors: the chain has no coupling; no start.
    fn pairs(&self, range: Range<u64>, each: &mut dyn FnMut(u64, Met)) -> Result<()>;
}

impl<'a> OnLaw for OnCell<'a> {
    type Output = Box<dyn Pairs + 'a>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let calibration = &self.cell.calibration;
        match &self.plan.subject {
            Subject::Hierarchy(table) => {
                let laws: Vec<L> = calibration.laws(law).collect::<Result<_>>()?;
                self.on_tree(table, &laws)
            }
            Subject::Table(table) => self.on_table(table, law(calibration.scales[0])?),
        }
    }

    fn reals<L: RealNoise>(self, _: fn(f64) -> Result<L>) -> Result<Self::Output> {
        Err(unsupported(self.cell.method.name(), self.cell.law.name()))
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        match &self.plan.subject {
            Subject::Hierarchy(_) => Err(unsupported(self.cell.method.name(), self.cell.law.name())),
            Subject::Table(table) => self.on_table(table, law(self.cell.calibration.scales[0])?),
        }
    }
}

impl<'a> OnCell<'a> {
    fn on_tree<L: IntegerNoise>(self, table: &'a HierarchyTable, laws: &[L]) -> Result<Box<dyn Pairs + 'a>> {
        let (tree, method) = (&table.hierarchy, &self.cell.method);
        let counts = method.nonnegative().then_some(&table.counts[..]);
        let own = laws.to_vec();
        let comparison = self.comparison(move || {
            let sampler = L::tree_sampler(tree, &own, counts)?;
            let nodes = tree.nodes();
            Ok(Box::new(move |key, replicates, each| {
                let (mut noise, mut scratch) = (vec![0; nodes], Default::default());
                for replicate in replicates {
                    let mut rng = stream(TaskKey { replicate, role: Role::Noise, ..key });
                    sampler.draw(&mut rng, &mut scratch, &mut noise);
                    each(&noise);
                }
            }))
        });
        match *method {
            Method::LineGibbs { .. } => Ok(self.coupled(LineGibbs::new(tree, laws, counts)?, comparison)),
            Method::HierarchicalMh { proposal_scale, .. } => {
                let proposal = match proposal_scale {
                    Some(scale) => scale * Law::scale(&laws[laws.len() - 1]),
                    None => HierarchicalMh::default_proposal(tree, laws),
                };
                self.alone(HierarchicalMh::new(tree, laws, proposal, counts)?, comparison)
            }
            _ => Err(refused(self.cell)),
        }
    }

    fn on_table<L: ExactLattice>(self, table: &'a InvariantTable, law: L) -> Result<Box<dyn Pairs + 'a>> {
        let (invariant, region) = (&table.invariant, Some(&table.region));
        let comparison = self.comparison(move || {
            let exact = LatticeExact::new(invariant, region, law)?;
            let entries = invariant.entries();
            Ok(Box::new(move |key, replicates, each| {
                let (mut noise, mut scratch) = (vec![0; entries], LatticeScratch::default());
                for replicate in replicates {
                    let mut rng = stream(TaskKey { replicate, role: Role::Noise, ..key });
                    exact.draw(&mut rng, &mut scratch, &mut noise);
                    each(&noise);
                }
            }))
        });
        match self.cell.method {
            Method::LineGibbs { .. } => {
                Ok(self.coupled(LatticeGibbs::new(invariant, region, law)?, comparison))
            }
            Method::LatticeMetropolis { a, basis, .. } => {
                Ok(self.coupled(LatticeMetropolis::new(invariant, law, a, basis)?, comparison))
            }
            Method::Mis { proposal_epsilon, solve_for, .. } => {
                let rate = proposal_epsilon.unwrap_or(1.0 / law.scale());
                let dependent = solve_for.dependent(invariant, &table.counts)?;
                let mis = MetropolizedIndependence::new(invariant, region, law, rate, dependent.as_deref())?;
                Ok(self.coupled(mis, comparison))
            }
            _ => Err(refused(self.cell)),
        }
    }

    /// Streams of what its chain is asked for.
    fn chain(&self) -> TaskKey {
        let (seed, cell) = (self.cell.seed, self.meeting.chain_key);
        TaskKey { seed, cell, replicate: 0, role: Role::Noise }
    }

    /// The comparison of marginals, if this cell makes it. `exact` makes the exact law when it is wanted, so that no pair waits for
    /// it.
    fn comparison(&self, exact: impl Fn() -> Result<Exact> + Send + Sync + 'a) -> Option<Comparison<'a>> {
        self.meeting
            .marginals
            .map(|extent| Comparison::new(Box::new(exact), extent, self.cell, &self.plan.subject))
    }

    fn coupled<K>(self, kernel: K, comparison: Option<Comparison<'a>>) -> Box<dyn Pairs + 'a>
    where
        K: Coupled<Value = i64, State: Send, Noise: Send> + Send + Sync + 'static,
    {
        let coupling = Some(Coupling { pairs: meet_all::<K>, group: harmonize::<K, Stream> });
        Box::new(Ready { on: self, kernel, coupling, comparison })
    }

    /// Of chains without a coupling. Errors: pairs or groups are asked for.
    fn alone<K>(self, kernel: K, comparison: Option<Comparison<'a>>) -> Result<Box<dyn Pairs + 'a>>
    where
        K: Dispersed<Value = i64, State: Send, Noise: Send> + Send + Sync + 'static,
    {
        match (self.meeting.lag, self.meeting.harmonized) {
            (None, None) => Ok(Box::new(Ready { on: self, kernel, coupling: None, comparison })),
            _ => Err(refused(self.cell)),
        }
    }
}

/// What a coupling of two chains serves: see [`meet_all`] and [`harmonize()`].
struct Coupling<K> {
    pairs: RunPairs<K>,
    group: fn(&K, Start, u64, u64, &mut Stream) -> Result<Group>,
}

/// Runs pairs.
type RunPairs<K> = fn(&K, u64, u64, Start, Vec<(Stream, Stream)>) -> Vec<Result<Met>>;

/// Pairs that are in memory at a time.
const AT_A_TIME: u64 = 8 * LANES as u64;

struct Ready<'a, K> {
    on: OnCell<'a>,
    kernel: K,
    coupling: Option<Coupling<K>>,
    comparison: Option<Comparison<'a>>,
}

impl<K> Pairs for Ready<'_, K>
where
    K: Dispersed<Value = i64, State: Send, Noise: Send> + Send + Sync,
{
    fn pairs(&self, range: Range<u64>, each: &mut dyn FnMut(u64, Met)) -> Result<()> {
        let OnCell { cell, meeting, key, .. } = self.on;
        let (Some(coupling), Some(lag)) = (&self.coupling, meeting.lag) else { return Err(refused(cell)) };
        let mut from = range.start;
        while from < range.end {
            let some = from..range.end.min(from + AT_A_TIME);
            let streams = some.clone().map(|replicate| {
                let stream = |role| stream(TaskKey { seed: cell.seed, cell: key, replicate, role });
                (stream(Role::Start), stream(Role::Moves))
            });
            let start = cell.method.start();
            let all = (coupling.pairs)(&self.kernel, lag, meeting.max_steps, start, streams.collect());
            for (replicate, met) in some.clone().zip(all) {
                each(replicate, met?);
            }
            from = some.end;
        }
        Ok(())
    }
}

impl<K> Prepared for Ready<'_, K>
where
    K: Dispersed<Value = i64, State: Send, Noise: Send> + Send + Sync,
{
    fn draw(&self, range: Range<u64>) -> (Drawn, Result<()>) {
        let mut pairs: Vec<Pair> = Vec::new();
        let drawn = self.pairs(range, &mut |replicate, met| pairs.push((replicate, met)));
        (Drawn::Encoded(encode(&pairs)), drawn)
    }

    fn part(&self, number: u64) -> Result<Vec<u8>> {
        let start = self.on.cell.method.start();
        let chain = self.on.chain();
        let compared = self.comparison.as_ref().map_or(0, Comparison::parts);
        let part = match (&self.comparison, self.on.meeting.harmonized, &self.coupling) {
            (Some(comparison), ..) if number < compared => {
                Part::Samples(comparison.part(&self.kernel, start, chain, number)?)
            }
            (_, Some(asked), Some(coupling)) => {
                let (parts, _) = divergences::parts(asked, self.on.cell);
                let group = |replicate| {
                    let mut rng = stream(TaskKey { role: Role::Group, replicate, ..chain });
                    (coupling.group)(&self.kernel, start, asked.chains, asked.steps, &mut rng)
                };
                let share = engine::share(asked.groups, number - compared, parts);
                Part::Groups(share.map(group).collect::<Result<_>>()?)
            }
            _ => return Err(refused(self.on.cell)),
        };
        Ok(encode(&part))
    }

    fn close(&self) -> Result<Vec<u8>> {
        let OnCell { plan, cell, .. } = self.on;
        Ok(encode(&Paid::new(f64::NAN, gamma(cell, &plan.subject))))
    }
}
