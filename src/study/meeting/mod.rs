//! Meetings: every replicate is a coupled pair of chains, and what counts is when it meets.

mod bounds;
mod config;

pub use crate::study::pairs::{DivergenceRow, DivergenceTimesRow, EntryMarginalRow, MarginalRow};
pub use bounds::{BoundRow, TimesRow};

use self::config::{MeetingBlock, MeetingFile};
use crate::coupling::{Group, Meeting as Met, MeetingTimes};
use crate::diagnostics::Moments;
use crate::engine::{Drawn, Each, Prepared, Sink, decode, encode};
use crate::failure::Result;
use crate::grid::{Cell, Plan, same_seeds_of_chains};
use crate::page::Page;
use crate::rng::{Role, TaskKey, stream};
use crate::store::{Run, RunFolder, TableFile};
use crate::study::cells::{self, CellRow, CellTables, Convergence, FailureRow, Paid, StatementRow, known};
use crate::study::grid::Kind;
use crate::study::kind::{Study, Tables};
use crate::study::pairs::marginals::Samples;
use crate::study::pairs::{self, Groups, Limits, Meetings, Pair, Part, divergences, marginals};
use crate::study::tell::figures::{Figures, Sample};
use crate::study::tell::records::{Named, Records};
use crate::table;
use crate::table::{Declared, Key};
use std::collections::HashSet;

/// The study.
#[derive(Default)]
pub struct Meeting;

table! {
    /// Study `meeting`: one row per cell and coupled pair. Both chains of a pair start where the option `start` of
    /// their method says, independently.
    pub struct PairRow in "meetings.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// L
        lag: u64, "kernel steps";
        /// the pair
        replicate: u64;
        /// `inf{t > L : X_t = Y_{t-L}}`; null if censored
        tau: Option<u64>, "kernel steps";
        /// the pair was cut short before it met: it enters no average
        censored: bool;
        /// of both chains together
        steps: u64, "kernel steps";
        /// those that changed a state
        moves: u64, "kernel steps";
    }
}

/// What is asked of a cell. The marginals of a chain know nothing of lags, nor do its groups: the first cell that asks
/// this chain for them has them.
fn asked(plan: &Plan, cell: usize) -> Meetings {
    let this = &plan.cells[cell];
    let first = |asks: fn(&Meetings) -> bool| {
        let seed = |cell: &Cell| if plan.pooled { 0 } else { cell.at.seed };
        let chain = |cell: &Cell| Some((seed(cell), cell.chain)).filter(|_| asks(of(cell)));
        chain(this).is_some_and(|own| plan.cells[..cell].iter().all(|other| chain(other) != Some(own)))
    };
    let asked = of(this);
    Meetings {
        marginals: asked.marginals.filter(|_| first(|asked| asked.marginals.is_some())),
        harmonized: asked.harmonized.filter(|_| first(|asked| asked.harmonized.is_some())),
        ..*asked
    }
}

/// What its block asks of a cell of this study.
fn of(cell: &Cell) -> &Meetings {
    cell.part.as_own().expect("a study of meetings asks for some")
}

impl Kind for Meeting {
    type File = MeetingFile;
    type Block = MeetingBlock;

    /// Refuses other seeds for cells of one chain whose marginals or groups belong to all of them.
    fn settle(plan: Plan) -> Result<Plan> {
        same_seeds_of_chains(&plan, |cell| of(cell).marginals.is_some() || of(cell).harmonized.is_some())?;
        Ok(plan)
    }

    fn prepare<'a>(plan: &'a Plan, cell: usize) -> crate::Result<Box<dyn Prepared + 'a>> {
        pairs::prepare(plan, &plan.cells[cell], asked(plan, cell))
    }

    fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        Ok(Box::new(MeetingTables {
            plan,
            cells: CellTables::begin(folder, plan)?,
            pairs: (!plan.pooled).then(|| folder.table()).transpose()?,
            marginals: folder.table()?,
            entries: folder.table()?,
            times: folder.table()?,
            bounds: folder.table()?,
            divergences: folder.table()?,
            divergence_times: folder.table()?,
            met: None,
            samples: Samples::default(),
            groups: Vec::new(),
        }))
    }

    fn twice(rows: Drawn, from: u64) -> Result<[Drawn; 2]> {
        let own: Vec<Pair> = rows.take()?;
        let all: Vec<Pair> = own.iter().map(|(replicate, met)| (from + replicate, *met)).collect();
        Ok([encode(&own), encode(&all)].map(Drawn::Encoded))
    }

    fn leaves(_: &Plan, _: &Cell) -> Each {
        Each { work: 0, rows: 1, disk: 4, memory: 40 }
    }

    fn parts(plan: &Plan, cell: usize) -> (u64, u64) {
        let (asked, cell) = (asked(plan, cell), &plan.cells[cell]);
        let marginals =
            asked.marginals.map_or((0, 0), |extent| marginals::parts(extent, cell, &plan.subject));
        let groups = asked.harmonized.map_or((0, 0), |groups| divergences::parts(groups, cell));
        // The progress bar takes all for equal.
        let number = marginals.0 + groups.0;
        let work = [marginals, groups].map(|(number, work)| number.saturating_mul(work));
        (number, work[0].saturating_add(work[1]) / number.max(1))
    }
}

/// The tables while they are drawn.
struct MeetingTables<'a> {
    plan: &'a Plan,
    cells: CellTables<'a>,
    /// None where cells stand for those of several seeds.
    pairs: Option<TableFile<'a, PairRow>>,
    marginals: TableFile<'a, MarginalRow>,
    entries: TableFile<'a, EntryMarginalRow>,
    times: TableFile<'a, TimesRow>,
    bounds: TableFile<'a, BoundRow>,
    divergences: TableFile<'a, DivergenceRow>,
    divergence_times: TableFile<'a, DivergenceTimesRow>,
    /// The meeting times of the cell that is drawn, and the share of steps that moved.
    met: Option<(MeetingTimes, Moments)>,
    /// What the chains and exact draws of that cell have come to.
    samples: Samples,
    /// Its groups.
    groups: Vec<Group>,
}

impl Sink for MeetingTables<'_> {
    fn rows(&mut self, number: usize, rows: Drawn) -> Result<()> {
        let cell = &self.plan.cells[number];
        for (replicate, meeting) in rows.take::<Vec<Pair>>()? {
            let Met { tau, lag, steps, moves } = meeting;
            let (times, moved) = self.met.get_or_insert_with(|| (MeetingTimes::new(lag), Moments::default()));
            times.push(tau);
            moved.push(moves as f64 / steps as f64);
            let censored = tau.is_none();
            let row = PairRow { cell: Key(cell.key), lag, replicate, tau, censored, steps, moves };
            self.pairs.as_mut().map_or(Ok(()), |file| file.push(&row))?;
        }
        Ok(())
    }

    fn part(&mut self, _: usize, part: &[u8]) -> Result<()> {
        match decode(part)? {
            Part::Samples(more) => self.samples.merge(more),
            Part::Groups(more) => self.groups.extend(more),
        }
        Ok(())
    }

    fn close(&mut self, number: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
        let cell = &self.plan.cells[number];
        let paid = if closing.is_empty() { Paid::default() } else { decode(closing)? };
        self.cells.close(cell, &paid, Convergence::NoChains, error)?;
        let (samples, groups) = (std::mem::take(&mut self.samples), std::mem::take(&mut self.groups));
        if error.is_some() {
            // Of other seeds.
            self.met = None;
            return Ok(());
        }
        let asked = asked(self.plan, number);
        // Where parts have failed, the others say nothing.
        let complete = |extent: &(u64, u64)| samples.chains() == extent.0;
        if let Some(extent) = asked.marginals.filter(complete) {
            let (levels, entries) = marginals::rows(extent, Key(cell.key), samples, &self.plan.subject);
            levels.iter().try_for_each(|row| self.marginals.push(row))?;
            entries.iter().try_for_each(|row| self.entries.push(row))?;
        }
        let complete = |asked: &Groups| groups.len() as u64 == asked.groups;
        if let Some(groups_asked) = asked.harmonized.filter(complete) {
            let (seed, chain) = (cell.at.seed, cell.chain.expect("it has a chain"));
            let key = TaskKey { seed, cell: chain, replicate: 0, role: Role::Group };
            let (bounds, times) = divergences::rows(groups_asked, Key(cell.key), groups, key);
            bounds.iter().try_for_each(|row| self.divergences.push(row))?;
            times.iter().try_for_each(|row| self.divergence_times.push(row))?;
        }
        let Some((times, moved)) = self.met.take() else { return Ok(()) };
        let epsilon = paid.gamma.map(|gamma| (1.0 + gamma) * cell.calibration.epsilon);
        // Pairs use other roles.
        let key = TaskKey { seed: cell.at.seed, cell: cell.streams, replicate: 0, role: Role::Noise };
        let known = bounds::Known { epsilon, limits: Limits::of(self.plan, cell) };
        let (row, bounds) = bounds::rows(Key(cell.key), &times, &moved, known, &mut stream(key));
        self.times.push(&row)?;
        bounds.iter().try_for_each(|row| self.bounds.push(row))
    }
}

impl Tables for MeetingTables<'_> {}

impl Study for Meeting {
    fn tables(&self) -> Vec<Declared> {
        vec![
            Declared::of::<CellRow>(),
            Declared::of::<StatementRow>(),
            Declared::of::<FailureRow>(),
            Declared::of::<PairRow>(),
            Declared::of::<TimesRow>(),
            Declared::of::<BoundRow>(),
            Declared::of::<MarginalRow>(),
            Declared::of::<EntryMarginalRow>(),
            Declared::of::<DivergenceRow>(),
            Declared::of::<DivergenceTimesRow>(),
        ]
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        let page = |run| Ok(bounds::pages(run)?.and(divergences::pages(run)?));
        runs.iter().map(page).collect()
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        Ok(vec![
            Records::of_cells::<BoundRow>("tv_bounds", "tv_bound.csv", runs),
            Records::of_cells::<TimesRow>("meeting_times", "meeting_times.csv", runs),
            Records::of_cells::<MarginalRow>("marginals", "marginals.csv", runs),
            Records::of_cells::<EntryMarginalRow>("marginal_entries", "marginal_entries.csv", runs),
            Records::of_cells::<DivergenceRow>("divergences", "divergences.csv", runs),
            Records::of_cells::<DivergenceTimesRow>("divergence_times", "divergence_times.csv", runs),
        ])
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        let [base, candidate] = [cells::by_key(runs[0])?, cells::by_key(runs[1])?];
        // Pairs that were cut at different lengths are compared up to the shorter; one that was cut counts with that.
        let cut = |key: &Key| {
            let most = [&base, &candidate].map(|cells| cells.get(key).and_then(|cell| cell.max_steps));
            most.into_iter().flatten().min()
        };
        let cuts: std::collections::HashMap<Key, Option<u64>> =
            base.keys().chain(candidate.keys()).map(|key| (*key, cut(key))).collect();
        let of = |run: &Run, cells: &std::collections::HashMap<Key, CellRow>| {
            let pooled = cells::pooled(run)?;
            let mut figures = Figures::new(cells.clone(), run.all()?);
            run.each(|row: PairRow| {
                known(cells, row.cell, run)?;
                let most = cuts.get(&row.cell).copied().flatten().unwrap_or(u64::MAX);
                let tau = row.tau.map_or(most, |tau| tau.min(most)) as f64;
                let cell = pooled.get(&row.cell).copied().unwrap_or(row.cell);
                figures.add(cell, row.lag, || format!("lag {}", row.lag), "tau", tau, Sample::drawn);
                Ok(())
            })?;
            Ok(figures)
        };
        Ok([of(runs[0], &base)?, of(runs[1], &candidate)?])
    }
}

/// What tells the chain of a cell from others of its noise.
fn kernels(cells: &[(&CellRow, Vec<TimesRow>)]) -> Vec<(crate::catalogue::MethodKind, String)> {
    let mut seen = HashSet::new();
    let all = cells.iter().map(|(cell, _)| (cell.method, cell.options.clone()));
    all.filter(|kernel| seen.insert(kernel.clone())).collect()
}
