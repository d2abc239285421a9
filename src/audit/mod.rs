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
use crate::privacy::{Change, ChangeKind, Claim, Columns, Event, Found, Gamma, Price, Score, choose};
use crate::study::cells::{Profiles, Statements};
use draws::Looked;
use neighbours::{Neighbours, Pair};
use rayon::prelude::*;
use std::fmt;
use std::ops::RangeInclusive;
pub use told::{described, page};

/// How an audit is made.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Releases of each of two tables that are judged, of a chain a tenth; others are looked at before, to find what is judged.
    pub draws: u64,
    /// The probability at most that some method is accused that pays what is stated.
    pub level: f64,
    /// Whether all cells are audited; else the first of each method and law.
    pub all: bool,
}

/// Releases that are judged.
const DRAWS: RangeInclusive<u64> = 100..=1_000_000_000;
/// Releases of a table at most from which scores are learned; as many more are those on which an event is chosen.
const LOOKED_AT: u64 = 20_000;

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
    pub found: std::result::Result<Found, Unproved>,
}

/// Why nothing could be proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unproved {
    /// No two tables were found that differ by such a change.
    NoPair,
    /// Of two such tables the method released nothing that could be compared.
    NothingReleased,
    /// The method could not be drawn, for this reason.
    NotDrawn(String),
}

impl fmt::Display for Unproved {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NoPair => write!(f, "no two tables were found that differ by such a change"),
            Self::NothingReleased => {
                write!(f, "the method released too little of two tables to compare them")
            }
            Self::NotDrawn(why) => write!(f, "{why}"),
        }
    }
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
    /// No two tables were found, or nothing was released of them.
    NotAudited,
    /// The method could not be drawn.
    Failed,
}

impl Audited {
    /// Whether something speaks against the method: it pays more than it states, or could not be drawn.
    pub fn is_wrong(&self) -> bool {
        matches!(self.verdict(), Verdict::PaysMore | Verdict::Failed)
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match &self.found {
            Err(Unproved::NoPair | Unproved::NothingReleased) => Verdict::NotAudited,
            Err(Unproved::NotDrawn(_)) => Verdict::Failed,
            Ok(found) if found.exceeds() => Verdict::PaysMore,
            Ok(found) if found.stated.is_infinite() => Verdict::NothingStated,
            Ok(_) => Verdict::Consistent,
        }
    }
}

/// Audits the methods of some plans, each under each law at its first cell or, if all cells are wanted, with each noise: for each kind of
/// change that the statement does not call impossible. With each the name of its data.
///
/// Errors: threads; [`Failure::Interrupted`] by who watches.
pub fn audit(plans: &[Plan], effort: Effort, manner: &Manner) -> Result<Vec<(String, Audited)>> {
    on_threads(manner.threads, || audited(plans, effort, manner))?
}

fn audited(plans: &[Plan], effort: Effort, manner: &Manner) -> Result<Vec<(String, Audited)>> {
    let asked: Vec<(&Plan, &Cell, Vec<Stated>)> =
        plans.iter().flat_map(|plan| asked(plan, effort.all)).collect();
    // One chance of a wrong verdict, for all statements together.
    let statements: usize = asked.iter().map(|(.., stated)| stated.len()).sum();
    let level = effort.level / statements.max(1) as f64;
    let kind = Kind { words: "auditing", total: asked.len() as u64, shared: true };
    let mut progress = Progress::new("audit: ", vec![kind], manner);
    let mut audited = Vec::new();
    for (plan, cell, stated) in asked {
        if manner.watch.is_some_and(|watch| watch.is_stopped()) {
            return Err(Failure::Interrupted("the audit was stopped".into()));
        }
        let own = || Audit { plan, cell, effort: Effort { level, ..effort.of(cell) } }.of(&stated);
        let found = progress.doing(0, 1, || cell.words(), own);
        audited.extend(found.into_iter().map(|one| (plan.config.data_name.clone(), one)));
    }
    progress.finish();
    Ok(audited)
}

/// The cells of a plan that are audited, with what is stated of each.
fn asked(plan: &Plan, all: bool) -> Vec<(&Plan, &Cell, Vec<Stated>)> {
    let mut cells: Vec<&Cell> = Vec::new();
    for cell in &plan.cells {
        let same = |other: &&Cell| {
            let is_same = (other.at.law, other.at.method) == (cell.at.law, cell.at.method);
            is_same && (!all || other.calibration == cell.calibration)
        };
        if !cells.iter().any(same) {
            cells.push(cell);
        }
    }
    let statements = Statements::new(plan);
    let profiles = Profiles::new(&plan.subject, &statements);
    cells.into_iter().map(|cell| (plan, cell, stated(cell, &statements, &profiles))).collect()
}

/// What is stated of a kind of change.
struct Stated {
    kind: ChangeKind,
    claim: Claim,
    /// Records that it adds or removes. `None`: this is not known, and what is stated is not of any change that could be found.
    records: Option<u64>,
}

/// What is stated of each kind of change that may be possible; of the smallest where no record can change.
fn stated(cell: &Cell, statements: &Statements, profiles: &Profiles) -> Vec<Stated> {
    let pays = statements.found(cell);
    // A mechanism speaks of the smallest change itself, which must be known: not of an upper bound.
    let is_known = cell.pays.is_none() || {
        let noise = statements.quick(&Cell { pays: None, ..cell.clone() });
        noise.smallest.price().is_some_and(|price| !price.is_bound())
    };
    let is_open = |change: &Change| matches!(change, Change::Unknown(_));
    let records_are_open = is_open(&pays.added) || is_open(&pays.moved);
    let stated = pays.of_records().filter_map(|(kind, change)| match change {
        Change::Impossible(_) => None,
        Change::Unknown(_) if kind == ChangeKind::Smallest && records_are_open => None,
        Change::Unknown(_) => Some(Stated { kind, claim: Claim::nothing(), records: None }),
        Change::Possible(price) => {
            let records = Some(price.records).filter(|records| *records > 0 && is_known);
            Some(Stated { kind, claim: claim(cell, kind, price, profiles), records })
        }
    });
    stated.collect()
}

/// A pure loss at delta 0. What Gaussian noise pays at every delta; of a mechanism what it says at its own.
fn claim(cell: &Cell, kind: ChangeKind, price: &Price, profiles: &Profiles) -> Claim {
    let delta = price.loss.delta;
    let is_gaussian = matches!(cell.at.law.family(), Family::Gaussian | Family::DiscreteGaussian);
    let has_curve = is_gaussian && price.gamma != Gamma::Declared;
    if let Some((curve, _)) = has_curve.then(|| profiles.of(cell, kind, price)).flatten() {
        return Claim::of_curve(&curve, delta);
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
struct Learned<'a, 'b> {
    pair: &'b Pair,
    drawn: [&'a Table; 2],
    claim: Claim,
    share: f64,
    event: Event,
}

impl Audit<'_> {
    fn of(&self, stated: &[Stated]) -> Vec<Audited> {
        let smallest = stated.iter().find(|stated| stated.kind == ChangeKind::Smallest);
        let records = smallest.and_then(|stated| stated.records);
        let neighbours = neighbours::of(self.cell, &self.plan.subject, records);
        let looked = Looked::new(self.cell, &neighbours);
        let tables = if stated.is_empty() { Vec::new() } else { self.tables(&looked, &neighbours) };
        let of = |stated: &Stated| {
            let (pair, found) = match self.judged(&looked, &tables, &neighbours, stated) {
                Ok((pair, found)) => (pair.words.clone(), Ok(found)),
                Err(why) => (String::new(), Err(why)),
            };
            Audited { cell: self.cell.clone(), change: stated.kind, pair, found }
        };
        stated.iter().map(of).collect()
    }

    /// Every table with its releases that are looked at first, or why it cannot be drawn.
    fn tables(&self, looked: &Looked, neighbours: &Neighbours) -> Vec<crate::Result<Table>> {
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
        tables.map(|one| pace::part(one.0, parts, || table(one))).collect()
    }

    /// What the worst pair of a kind proves. Errors: there is none; the confidential table cannot be drawn.
    fn judged<'b>(
        &self,
        looked: &Looked,
        tables: &[crate::Result<Table>],
        neighbours: &'b Neighbours,
        stated: &Stated,
    ) -> std::result::Result<(&'b Pair, Found), Unproved> {
        let Effort { draws, level, .. } = self.effort;
        let not_drawn = |error: &crate::Error| Unproved::NotDrawn(error.to_string());
        if let Err(error) = &tables[0] {
            return Err(not_drawn(error));
        }
        let learn = |(number, pair): (usize, &'b Pair)| {
            let [Ok(a), Ok(b)] = pair.tables.map(|table| &tables[table]) else { return None };
            let claim = with_errors(&stated.claim, [a, b]);
            let (forms, together) = looked.forms(pair);
            let mut scores = Score::learned(&forms, together, [&a.learning, &b.learning]);
            scores.push(Score::Given(number));
            let (share, event) = choose(scores, [&a.choosing, &b.choosing], &claim, level)?;
            Some(Learned { pair, drawn: [a, b], claim, share, event })
        };
        let pairs: Vec<(usize, &Pair)> =
            neighbours.pairs.iter().enumerate().filter(|(_, pair)| pair.kind == stated.kind).collect();
        if pairs.is_empty() {
            return Err(Unproved::NoPair);
        }
        let learned: Vec<Learned> = pairs.into_par_iter().filter_map(learn).collect();
        let best = learned.into_iter().max_by(|a, b| a.share.total_cmp(&b.share));
        let Learned { pair, drawn, claim, event, .. } = best.ok_or(Unproved::NothingReleased)?;
        let before = 2 * self.effort.looked_at();
        let count = |of: usize| {
            let range = before..before + draws;
            let counted = looked.count(&*drawn[of].releases, pair.tables[of], range, &event);
            counted.map_err(|error| not_drawn(&error))
        };
        Ok((pair, event.judge([count(0)?, count(1)?], draws, &claim, level)))
    }
}

/// A claim of draws with the larger total variation error of both tables, as far as these are known.
fn with_errors(claim: &Claim, drawn: [&Table; 2]) -> Claim {
    let error = drawn.map(|table| table.releases.tv_error()).into_iter().fold(0.0, f64::max);
    if error > 0.0 { claim.clone().with_error(error) } else { claim.clone() }
}

/// A table with some of its releases.
struct Table {
    releases: Box<dyn Draws>,
    learning: Columns,
    choosing: Columns,
}
