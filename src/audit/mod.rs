//! What releases prove of the privacy loss of a method: a lower confidence bound beside what is stated.
//!
//! For each method tables are found that differ by one change and keep the invariant (`neighbours`), releases of both are
//! drawn (`draws`), a set of releases that tells them apart is looked for on some draws and judged on others
//! ([`crate::privacy::choose`]), and what it proves is set against the statement.

mod draws;
mod neighbours;
mod told;

use crate::catalogue::Family;
use crate::engine::{Kind, Manner, Progress, on_threads};
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan};
use crate::methods::Draws;
use crate::pace;
use crate::privacy::{
    Change, ChangeKind, Claim, Columns, Event, Found, Gamma, Price, Score, Statement, choose,
};
use crate::study::cells::{Profiles, Statements};
use draws::Looked;
use neighbours::{Neighbours, Pair};
use rayon::prelude::*;
use std::ops::RangeInclusive;
pub use told::{described, page};

/// How an audit is made.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Releases of each of two tables that are judged, of a chain a tenth; others are looked at before, to find what is judged.
    pub draws: u64,
    /// The probability at most of accusing a method that pays what is stated.
    pub level: f64,
    /// Whether all cells are audited; else the first of each method and law.
    pub all: bool,
}

/// Releases that are judged.
const DRAWS: RangeInclusive<u64> = 100..=1_000_000_000;
/// Releases of a table at most from which scores are learned; as many more are those on which an event is chosen.
const LOOKED_AT: u64 = 50_000;

impl Effort {
    /// That of a cell: a tenth of the releases where each takes a chain.
    fn of(self, cell: &Cell) -> Self {
        let draws = if cell.at.method.is_chain() { self.draws / 10 } else { self.draws };
        Self { draws, ..self }
    }

    /// Releases of a table from which scores are learned.
    fn looked_at(self) -> u64 {
        LOOKED_AT.min(self.draws / 4)
    }

    /// Checks what a user asks for. Errors: what is out of range.
    pub fn check(self) -> std::result::Result<(), String> {
        let Self { draws, level, .. } = self;
        if !DRAWS.contains(&draws) {
            return Err(format!("draws: got {draws}, want {} to {}", DRAWS.start(), DRAWS.end()));
        }
        match level > 0.0 && level < 1.0 {
            true => Ok(()),
            false => Err(format!("level: got {level}, want a number in (0, 1)")),
        }
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self { draws: 20_000, level: 1e-6, all: false }
    }
}

/// What was found of a method for one kind of change.
#[derive(Debug, Clone)]
pub struct Audited {
    /// The cell of the grid.
    pub cell: Cell,
    /// The kind of the change.
    pub change: ChangeKind,
    /// How two tables differed: those of which most was proved.
    pub pair: String,
    /// What was proved, or why nothing could be.
    pub found: std::result::Result<Found, String>,
}

/// The verdict on a method for one kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against the statement.
    Consistent,
    /// More is paid than is stated.
    PaysMore,
    /// Nothing is stated.
    NothingStated,
    /// Nothing could be drawn or compared.
    Failed,
}

impl Audited {
    /// Whether something speaks against the method: it pays more than it states, or could not be audited.
    pub fn is_wrong(&self) -> bool {
        matches!(self.verdict(), Verdict::PaysMore | Verdict::Failed)
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match &self.found {
            Err(_) => Verdict::Failed,
            Ok(found) if found.exceeds() => Verdict::PaysMore,
            Ok(found) if found.stated.is_infinite() => Verdict::NothingStated,
            Ok(_) => Verdict::Consistent,
        }
    }
}

/// Audits the methods of a plan, each under each law at its first cell or, if all cells are wanted, with each noise: for each kind of
/// change that the statement does not call impossible.
///
/// Errors: threads; [`Failure::Interrupted`] by who watches.
pub fn audit(plan: &Plan, effort: Effort, manner: &Manner) -> Result<Vec<Audited>> {
    on_threads(manner.threads, || audited(plan, effort, manner))?
}

fn audited(plan: &Plan, effort: Effort, manner: &Manner) -> Result<Vec<Audited>> {
    let mut cells: Vec<&Cell> = Vec::new();
    for cell in &plan.cells {
        let same = |other: &&Cell| {
            let is_same = (other.at.law, other.at.method) == (cell.at.law, cell.at.method);
            is_same && (!effort.all || other.calibration == cell.calibration)
        };
        if !cells.iter().any(same) {
            cells.push(cell);
        }
    }
    let kind = Kind { words: "auditing", total: cells.len() as u64, shared: true };
    let mut progress = Progress::new("audit: ", vec![kind], manner);
    let statements = Statements::new(plan);
    let profiles = Profiles::new(&plan.subject, &statements);
    let mut audited = Vec::new();
    for cell in cells {
        if manner.watch.is_some_and(|watch| watch.is_stopped()) {
            return Err(Failure::Interrupted("the audit was stopped".into()));
        }
        let pays = statements.found(cell);
        let claims = claims(cell, &pays, &profiles);
        let own = || Audit { plan, cell, effort: effort.of(cell) }.of(&claims);
        audited.extend(progress.doing(0, 1, || cell.words(), own));
    }
    progress.finish();
    Ok(audited)
}

/// What is stated of a kind of change.
struct Stated {
    kind: ChangeKind,
    claim: Claim,
    /// Records that it adds or removes, where they are known.
    records: Option<u64>,
}

/// What is stated of each kind of change that may be possible; of the smallest where nothing is said of the others.
fn claims(cell: &Cell, pays: &Statement, profiles: &Profiles) -> Vec<Stated> {
    let has_records = [&pays.added, &pays.moved].iter().any(|change| change.price().is_some());
    let changes = pays.changes().into_iter();
    let changes = changes.filter(|(kind, _)| (*kind == ChangeKind::Smallest) != has_records);
    let stated = changes.filter_map(|(kind, change)| match change {
        Change::Impossible(_) => None,
        Change::Unknown(_) => Some(Stated { kind, claim: Claim::nothing(), records: None }),
        Change::Possible(price) => {
            let records = Some(price.records).filter(|records| *records > 0);
            Some(Stated { kind, claim: claim(cell, kind, price, profiles), records })
        }
    });
    stated.collect()
}

/// A pure loss at delta 0. What Gaussian noise pays at every delta; of a mechanism what it says at its own.
fn claim(cell: &Cell, kind: ChangeKind, price: &Price, profiles: &Profiles) -> Claim {
    let delta = price.loss.delta;
    let is_gaussian = matches!(cell.at.law.family(), Family::Gaussian | Family::DiscreteGaussian);
    if is_gaussian && price.gamma != Gamma::Declared {
        return match profiles.of(cell, kind, price) {
            Some((curve, _)) => Claim::of_curve(&curve, delta),
            None => price.epsilon().map_or(Claim::nothing(), |epsilon| Claim::at(epsilon, delta)),
        };
    }
    price.epsilon().map_or(Claim::nothing(), |epsilon| Claim::at(epsilon, delta))
}

/// One cell.
struct Audit<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    effort: Effort,
}

/// A pair with what was learned of it.
struct Learned<'a> {
    pair: &'a Pair,
    share: f64,
    event: Event,
}

impl Audit<'_> {
    fn of(&self, stated: &[Stated]) -> Vec<Audited> {
        let smallest = stated.iter().find(|stated| stated.kind == ChangeKind::Smallest);
        let neighbours =
            neighbours::of(self.cell, &self.plan.subject, smallest.and_then(|stated| stated.records));
        let level = self.effort.level / stated.len().max(1) as f64;
        let all = self.looked_at(&neighbours);
        let of = |stated: &Stated| {
            let found = match &all {
                Err(error) => Err(error.to_string()),
                Ok((looked, tables)) => self.judged(looked, tables, &neighbours, stated, level),
            };
            let (pair, found) = match found {
                Ok((pair, found)) => (pair.words.clone(), Ok(found)),
                Err(why) => (String::new(), Err(why)),
            };
            Audited { cell: self.cell.clone(), change: stated.kind, pair, found }
        };
        stated.iter().map(of).collect()
    }

    /// Every table with its releases that are looked at first. Errors: what the method does not serve.
    fn looked_at<'b>(&'b self, neighbours: &'b Neighbours) -> crate::Result<(Looked<'b>, Vec<Table>)> {
        let looked = Looked::new(self.cell, neighbours);
        let some = self.effort.looked_at();
        let table = |(number, subject)| {
            // Each table has streams of its own: what is drawn of two is independent.
            let cell = Cell { pays: self.cell.pays, ..self.cell.with(self.cell.at.method, subject) };
            let releases = cell.at.method.prepare(&cell.problem(subject))?;
            let learning = looked.draw(&*releases, number, 0..some)?;
            let choosing = looked.draw(&*releases, number, some..2 * some)?;
            Ok(Table { releases, learning, choosing })
        };
        // As it were beside two more, that are judged.
        let parts = neighbours.tables.len() + 2;
        let tables = neighbours.tables.iter().enumerate();
        let tables =
            tables.map(|one| pace::part(one.0, parts, || table(one))).collect::<crate::Result<_>>()?;
        Ok((looked, tables))
    }

    /// What the worst pair of a kind proves. Errors: there is none; it cannot be drawn.
    fn judged<'b>(
        &self,
        looked: &Looked,
        tables: &[Table],
        neighbours: &'b Neighbours,
        stated: &Stated,
        level: f64,
    ) -> std::result::Result<(&'b Pair, Found), String> {
        let Stated { kind, claim, .. } = stated;
        let eta = tables[0].releases.tv_error();
        let claim = if eta > 0.0 { claim.clone().with_error(eta) } else { claim.clone() };
        let learn = |(number, pair): (usize, &'b Pair)| {
            let [a, b] = pair.tables.map(|table| &tables[table]);
            let mut scores = Score::learned(&looked.forms(pair), [&a.learning, &b.learning]);
            scores.push(Score::Given(number));
            let (share, event) = choose(scores, [&a.choosing, &b.choosing], &claim, level)?;
            Some(Learned { pair, share, event })
        };
        let kinds = match kind {
            ChangeKind::Smallest => ChangeKind::ALL.to_vec(),
            kind => vec![*kind],
        };
        let own = |kind: ChangeKind| -> Vec<(usize, &Pair)> {
            neighbours.pairs.iter().enumerate().filter(|(_, pair)| pair.kind == kind).collect()
        };
        let pairs = kinds.into_iter().map(own).find(|pairs| !pairs.is_empty()).unwrap_or_default();
        let learned: Vec<Learned> = pairs.into_par_iter().filter_map(learn).collect();
        let best = learned.into_iter().max_by(|a, b| a.share.total_cmp(&b.share));
        let Learned { pair, event, .. } =
            best.ok_or("no two tables were found that differ by such a change")?;
        let (draws, before) = (self.effort.draws, 2 * self.effort.looked_at());
        let count = |table: usize| {
            let counted = looked.count(&*tables[table].releases, table, before..before + draws, &event);
            counted.map_err(|error| error.to_string())
        };
        let [a, b] = pair.tables;
        Ok((pair, event.judge([count(a)?, count(b)?], draws, &claim, level)))
    }
}

/// A table with some of its releases.
struct Table {
    releases: Box<dyn Draws>,
    learning: Columns,
    choosing: Columns,
}
