//! Every method of a plan once, briefly: against its invariant, another sampler of its law, and laws computed in full.

mod judge;
pub mod systems;
mod told;

use crate::catalogue::{Family, Method, MethodKind, NONNEGATIVE_KEY, OptionFacts, Projection, Value, noise};
use crate::config::{AXES, DEFAULT_STUDY, Point};
use crate::diagnostics::{Agreement, Moments};
use crate::engine::{Kind, Manner, Progress, Watch};
use crate::failure::Result;
use crate::grid::{Cell, Plan, servable};
use crate::input::Subject;
use crate::pace;
use crate::rng::normal_quantile;
use crate::study::cells::expected;
use crate::study::release::{Outcome, Statistics, draw_all};
pub use judge::{Comparison, judge};
use std::collections::HashMap;
pub use told::TOLD;

/// What was found of one method under one law.
#[derive(Debug)]
pub struct Checked {
    /// The cell of the grid that stands for the method and the law: the first.
    pub cell: Cell,
    /// The number of releases that were drawn.
    pub releases: u64,
    /// The number of these releases that keep the invariant; `None` for a method that does not promise it.
    pub kept: Option<u64>,
    /// What the releases were compared with.
    pub oracle: Oracle,
    /// Comparisons of the same method, law and scales with laws that are computed in full: on the config's own counts
    /// where that is possible, and on small systems of the same kind.
    pub computed: Vec<OnSystem>,
    /// Why the method could not be drawn.
    pub error: Option<String>,
}

/// What was found on one system.
#[derive(Debug)]
pub struct OnSystem {
    /// The name of the system.
    pub name: String,
    /// Comparisons of its releases with the law computed another way, or why there are none.
    pub comparisons: std::result::Result<Vec<Comparison>, String>,
    /// What must not happen on a system that is served: a broken invariant, a panic.
    pub broken: Option<String>,
}

impl OnSystem {
    /// The smallest bound on a probability, times the number of comparisons.
    pub fn p(&self) -> Option<f64> {
        let all = self.comparisons.as_ref().ok()?;
        all.iter().map(|one| one.p).min_by(f64::total_cmp).map(|p| (p * all.len() as f64).min(1.0))
    }

    /// Compares an outcome of a cell on a subject. `steps`: of the oracle's work.
    pub fn new(name: &str, cell: &Cell, subject: &Subject, outcome: &Outcome, steps: u64) -> Self {
        let broken = |error: &&String| {
            error.contains("violates its invariant") || error.contains("a bug of congenial")
        };
        let comparisons = match &outcome.error {
            Some(error) => Err(error.clone()),
            None => judge(cell, subject, outcome, steps),
        };
        let mut broken = outcome.error.as_ref().filter(broken).cloned();
        if cell.at.method.keeps_equations() && outcome.rows.errors.iter().any(|row| !row.invariant_ok) {
            broken = Some("a release does not keep the invariant".into());
        }
        if let Some(error) = outcome.paid.tv_error.filter(|error| !(0.0..=1e-6).contains(error)) {
            broken = Some(format!("the stated total variation error is {error}"));
        }
        Self { name: name.to_owned(), comparisons, broken }
    }
}

/// The verdict on a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The method agrees with everything that it was compared with.
    Fine,
    /// The method keeps what it promises; nothing tells whether its law is right.
    NotCompared,
    /// Something speaks against the method.
    Wrong,
}

/// Another way to the same law.
#[derive(Debug)]
pub enum Oracle {
    /// There is no oracle here, for this reason.
    None(String),
    /// Draws by another method.
    Method(String, Agreement),
    /// The variance in closed form: mean of the squares over it, less 1, and its standard error.
    Variance(f64, f64),
    /// A method that is not ours, drawn again in other batches: whether the rows are the same. Its law is not known.
    Again(bool),
}

/// Chance of a wrong alarm, for each comparison.
pub const LEVEL: f64 = 1e-6;

impl Checked {
    /// The verdict on the method.
    pub fn finding(&self) -> Finding {
        let agrees = match &self.oracle {
            Oracle::None(_) => None,
            Oracle::Method(_, agreement) => Some(agreement.p >= LEVEL),
            // The same rows once more say nothing of their law.
            Oracle::Again(same) => (!same).then_some(false),
            Oracle::Variance(off, error) => Some(off.abs() <= -normal_quantile(LEVEL / 2.0) * error),
        };
        let mut computed = self.computed.iter().filter_map(OnSystem::p).map(|p| p >= LEVEL).peekable();
        let compared = agrees.is_some() || computed.peek().is_some();
        let broken = self.computed.iter().any(|one| one.broken.is_some());
        let kept = self.kept.is_none_or(|kept| kept == self.releases);
        match self.error.is_none() && agrees != Some(false) && computed.all(|fine| fine) && !broken && kept {
            false => Finding::Wrong,
            true if compared => Finding::Fine,
            true => Finding::NotCompared,
        }
    }
}

/// Releases of a method that draws at once, and of a chain.
const RELEASES: [u64; 2] = [1000, 100];
/// The number of these releases that a method which is not ours draws again.
const AGAIN: u64 = 37;

/// Checks a plan. Coupled chains are checked as chains of `SWEEPS` sweeps or `STEPS` steps.
///
/// Errors: threads.
pub fn verify(mut plan: Plan, manner: Manner) -> Result<Vec<Checked>> {
    let quiet = Manner { quiet: true, ..manner };
    plan.config.study = DEFAULT_STUDY;
    let (tested, noises) = tested(&plan);
    let on_small = on_small_systems(&plan, &noises, &manner)?;
    let oracles: Vec<Option<Cell>> = tested
        .iter()
        .map(|cell| {
            let candidates = oracles(cell, &plan.subject)
                .into_iter()
                .map(|method| brief(&cell.with(method, &plan.subject)));
            candidates.into_iter().find(|cell| servable(cell, &plan.subject).is_ok())
        })
        .collect();
    plan.cells = Vec::new();
    let mut places = HashMap::new();
    for cell in tested.iter().chain(oracles.iter().flatten()) {
        places.entry(cell.key).or_insert_with(|| {
            plan.cells.push(cell.clone());
            plan.cells.len() - 1
        });
    }
    let drawn = Stage::of(&manner, 0.3, 0.3);
    let (plan, outcomes) = draw_all(plan, drawn.manner(&manner))?;
    let (plan, again) = own_again(plan, Manner { threads: 1, ..quiet })?;
    let statistics = Statistics::new(&plan);
    let stage = Stage::of(&manner, 0.6, 0.4);
    let progress = progress("comparisons: ", "comparing", tested.len(), &stage.manner(&manner));
    let compared = |((cell, oracle), mut computed): ((Cell, Option<Cell>), Vec<OnSystem>)| {
        let outcome = &outcomes[places[&cell.key]];
        computed.insert(0, OnSystem::new("its own counts", &cell, &plan.subject, outcome, OWN_STEPS));
        let oracle = match oracle {
            _ if outcome.error.is_some() => Oracle::None("no releases".into()),
            _ if is_own(&cell) => {
                let again = &again[&cell.key];
                let least = again.rows.errors.len();
                let same = again.error.is_none() && again.rows.errors[..] == outcome.rows.errors[..least];
                Oracle::Again(same)
            }
            Some(other) => against_method(&other, &outcomes[places[&other.key]], outcome, &statistics),
            None => against_variance(&cell, &plan, outcome).unwrap_or(Oracle::None("none here".into())),
        };
        let kept = outcome.rows.errors.iter().filter(|row| row.level == 1 && row.invariant_ok).count() as u64;
        Checked {
            releases: outcome.rows.errors.iter().filter(|row| row.level == 1).count() as u64,
            kept: cell.at.method.keeps_equations().then_some(kept),
            oracle,
            computed,
            error: outcome.error.clone(),
            cell,
        }
    };
    let all = tested.into_iter().zip(oracles).zip(on_small);
    Ok(all
        .map(|one| {
            let words = one.0.0.words();
            progress.doing(0, 1, || words, || compared(one))
        })
        .collect())
}

/// The cells that are tested, briefly: the first of every method and law. Beside each, those that are drawn on small
/// systems: itself, and some that differ from it in the noise alone.
fn tested(plan: &Plan) -> (Vec<Cell>, Vec<Vec<Cell>>) {
    let mut tested: Vec<Cell> = Vec::new();
    let mut noises: Vec<Vec<Cell>> = Vec::new();
    for cell in &plan.cells {
        let method = cell.at.method.with_length(|option| if option.key == "sweeps" { SWEEPS } else { STEPS });
        let cell = brief(&cell.with(method, &plan.subject));
        match tested.iter().position(|other| (other.at.law, other.at.method) == (cell.at.law, method)) {
            Some(i) if noises[i].iter().all(|other| other.calibration != cell.calibration) => {
                noises[i].push(cell)
            }
            Some(_) => {}
            None => {
                tested.push(cell.clone());
                noises.push(vec![cell]);
            }
        }
    }
    for noises in &mut noises {
        // The first, the last, and some between.
        let last = noises.len() - 1;
        let keep = NOISES.min(noises.len());
        *noises = (0..keep).map(|k| noises[(k * last) / (keep - 1).max(1)].clone()).collect();
    }
    (tested, noises)
}

/// What is found on small systems of the kind of the plan's subject, by tested method; `noises`: the cells of each that
/// are drawn there, but of methods that are not ours. Errors: threads.
fn on_small_systems(plan: &Plan, noises: &[Vec<Cell>], manner: &Manner) -> Result<Vec<Vec<OnSystem>>> {
    let quiet = Manner { quiet: true, ..*manner };
    let mut on_small: Vec<Vec<OnSystem>> = noises.iter().map(|_| Vec::new()).collect();
    let systems = systems::like(&plan.subject);
    let stage = Stage::of(manner, 0.0, 0.3);
    let mut progress = progress("small systems: ", "comparing on", systems.len(), &stage.manner(manner));
    for (name, subject) in systems {
        let cells: Vec<(usize, Cell)> = (0..noises.len())
            .flat_map(|i| noises[i].iter().map(move |cell| (i, cell)))
            .filter(|(_, cell)| servable(cell, &subject).is_ok() && !is_own(cell))
            .map(|(i, cell)| (i, brief(&cell.with(cell.at.method, &subject))))
            .collect();
        let served = cells.iter().map(|(_, cell)| cell.clone()).collect();
        let config = plan.config.clone();
        let small =
            Plan { config, subject, cells: served, asked: None, part_key: String::new(), pooled: false };
        let compared = || -> Result<()> {
            let (small, outcomes) = draw_all(small, quiet)?;
            for (k, ((i, cell), outcome)) in cells.iter().zip(&outcomes).enumerate() {
                let name = format!("{name}, {}", noise_words(cell));
                let on = || OnSystem::new(&name, cell, &small.subject, outcome, SMALL_STEPS);
                on_small[*i].push(pace::part(k, cells.len(), on));
            }
            Ok(())
        };
        progress.doing(0, 1, || name.clone(), compared)?;
    }
    progress.finish();
    Ok(on_small)
}

/// A part of the work for who watches all of it: from which share on, and how large it is.
#[derive(Debug)]
struct Stage<'a>(Option<&'a dyn Watch>, f64, f64);

impl<'a> Stage<'a> {
    fn of(manner: &Manner<'a>, from: f64, size: f64) -> Self {
        Self(manner.watch, from, size)
    }

    fn manner<'b>(&'b self, manner: &Manner<'b>) -> Manner<'b> {
        Manner { watch: self.0.map(|_| self as &dyn Watch), ..*manner }
    }
}

impl Watch for Stage<'_> {
    fn progress(&self, share: f64) {
        self.0.iter().for_each(|watch| watch.progress((self.1 + self.2 * share).min(1.0)));
    }

    fn is_stopped(&self) -> bool {
        self.0.is_some_and(|watch| watch.is_stopped())
    }
}

/// Tells how many of so many comparisons are done, one after the other.
fn progress<'a>(title: &'static str, words: &'static str, total: usize, manner: &Manner<'a>) -> Progress<'a> {
    Progress::new(title, vec![Kind { words, total: total as u64, shared: false }], manner)
}

fn is_own(cell: &Cell) -> bool {
    cell.at.method.kind().is_own()
}

/// The first releases of methods that are not ours once more, on one thread and in other batches, by cell; with the plan. Errors: threads.
fn own_again(mut plan: Plan, manner: Manner) -> Result<(Plan, HashMap<u64, Outcome>)> {
    let cells = plan.cells.clone();
    plan.cells.retain(is_own);
    plan.cells.iter_mut().for_each(|cell| cell.replicates = AGAIN);
    let (mut plan, outcomes) = draw_all(plan, manner)?;
    let again = plan.cells.iter().map(|cell| cell.key).zip(outcomes).collect();
    plan.cells = cells;
    Ok((plan, again))
}

/// Budgets and splits of one method and law that are tried on small systems.
const NOISES: usize = 4;

/// The noise of a cell, but for its law: the budget, and what is not as where nothing is said.
fn noise_words(cell: &Cell) -> String {
    let usual = Point::default();
    let others = AXES.iter().filter(|axis| axis.of_noise && (axis.json)(&cell.at) != (axis.json)(&usual));
    let others = others.filter_map(|axis| (axis.line)(&cell.at, true));
    let others: String =
        others.map(|line| format!(", {}", line.replace(" = ", " ").replace('"', ""))).collect();
    format!("epsilon {}{others}", cell.epsilon)
}

/// Steps of a computed law, on the config's own counts and on small ones: a second or so.
const OWN_STEPS: u64 = 100_000_000;
/// See [`OWN_STEPS`].
const SMALL_STEPS: u64 = 300_000_000;
/// Sweeps of a chain that is an oracle, or that the config leaves open.
const SWEEPS: u64 = 200;
/// See [`SWEEPS`].
const STEPS: u64 = 200_000;

fn brief(cell: &Cell) -> Cell {
    let most = RELEASES[usize::from(cell.at.method.is_chain())];
    Cell { replicates: most, ..cell.clone() }
}

/// Methods that release the same law, the surest first; none for those that move noise in their own way.
fn oracles(cell: &Cell, subject: &Subject) -> Vec<Method> {
    let method = cell.at.method;
    let same = |kind: MethodKind| {
        kind.with(|option| match option.key {
            NONNEGATIVE_KEY => Some(Value::Flag(method.nonnegative())),
            _ if option.length => Some(Value::Count(SWEEPS)),
            _ => option.default(),
        })
    };
    // Least squares moves Gaussian noise to the law that conditions it.
    let squares = |method: &Method| method.projection() == Some(Projection::L2);
    let is_gaussian = cell.at.law.family() == Family::Gaussian;
    let exact = (method.kind() != MethodKind::EXACT).then_some(MethodKind::EXACT);
    let chain = (method.kind() == MethodKind::EXACT).then_some(MethodKind::GIBBS);
    if method.conditions() && subject.ties_nodes() {
        let rejection = MethodKind::REJECTION;
        (method.kind() != rejection).then(|| same(rejection)).into_iter().collect()
    } else if method.conditions() {
        let all = MethodKind::ALL.iter().map(|kind| kind.with(OptionFacts::default));
        let moved = all.filter(|other| chain.is_some() && is_gaussian && squares(other));
        exact.into_iter().chain(chain).map(same).chain(moved).collect()
    } else if is_gaussian && squares(&method) {
        vec![same(MethodKind::EXACT)]
    } else {
        Vec::new()
    }
}

/// Releases against those of another method for the same law: `theirs`, of the cell `other`.
fn against_method(other: &Cell, theirs: &Outcome, ours: &Outcome, statistics: &Statistics) -> Oracle {
    let words = other.at.method.words();
    match &theirs.error {
        Some(error) => Oracle::None(format!("{words}: {error}")),
        None => {
            let both = [ours, theirs].map(|outcome| statistics.of(&outcome.rows));
            Oracle::Method(words, Agreement::of(&both[0], &both[1]))
        }
    }
}

/// The squares of the errors against their means in closed form: by level of a hierarchy for free noise, by part of a table
/// where there is one. `None` if there is none.
fn against_variance(cell: &Cell, plan: &Plan, outcome: &Outcome) -> Option<Oracle> {
    let mut shares: Vec<f64> = Vec::new();
    match &plan.subject {
        Subject::Hierarchy(table) if cell.at.method.kind().is_free() => {
            let levels = cell.calibration.scales.len();
            let measured: usize = (0..levels).map(|level| table.hierarchy.measured(level)).sum();
            for release in outcome.rows.errors.chunks(levels) {
                let mut sum = 0.0;
                for row in release {
                    let scale = cell.calibration.scales[row.level as usize - 1];
                    if scale == 0.0 {
                        continue;
                    }
                    sum += row.l2 * row.l2 / noise(cell.at.law, scale)?.variance();
                }
                shares.push(sum / measured as f64);
            }
        }
        Subject::Hierarchy(_) => return None,
        Subject::Table(table) => {
            let parts = table.region.components(&table.invariant);
            // Components of one entry have no noise, unless nothing holds them.
            let known: Vec<(&[u32], f64)> = parts
                .iter()
                .filter_map(|part| {
                    let variance = expected::variance(cell, table, part, expected::rank(part))?;
                    (variance > 0.0).then_some((&part.component.entries[..], variance))
                })
                .collect();
            let entries: usize = known.iter().map(|(entries, _)| entries.len()).sum();
            if entries == 0 {
                return None;
            }
            for draw in outcome.rows.draws.iter() {
                let squares = |entries: &[u32]| {
                    entries.iter().map(|&i| draw.errors[i as usize] * draw.errors[i as usize]).sum::<f64>()
                };
                let sum: f64 = known.iter().map(|(entries, variance)| squares(entries) / variance).sum();
                shares.push(sum / entries as f64);
            }
        }
    }
    let estimate = shares.into_iter().map(|share| share - 1.0).collect::<Moments>().estimate();
    Some(Oracle::Variance(estimate.mean, estimate.standard_error))
}
