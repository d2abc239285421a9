//! Chains: every one, and how well they mix by cell and level.

use super::{ChainRow, EntryRow, LevelRow};
use crate::Error;
use crate::diagnostics::{Estimate, Mixing, Moments, bulk_ess, jackknife};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::grid::Cell;
use crate::page::{Page, grouped, with_error};
use crate::store::Run;
use crate::study::cells::{CellRow, Convergence};
use crate::study::tell::published::{self, Published};
use crate::study::tell::records::{FAILED, Named};
use crate::table;
use crate::table::Key;
use std::collections::HashMap;

table! {
    /// Studies `release` and `frontier`: one row per cell with chains and level, over its chains.
    pub struct MixingRow in "mixing.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// 1 = root
        level: u32;
        /// how many
        chains: u64;
        /// of each
        steps: u64, "kernel steps";
        /// mean share of the steps that changed the state
        acceptance: Estimate, error acceptance_se;
        /// chains whose traces were kept: the first 8; what follows is taken over them together, and null for fewer
        /// than 2 or where nothing varies
        traces: u64;
        /// length of each trace
        records: u64;
        /// rank-normalised split R-hat (Vehtari et al. 2021)
        rhat: Option<f64>;
        /// effective sample size of the bulk, chains that disagree included
        ess_bulk: Option<Estimate>, "records", error ess_bulk_se {
            /// its standard error: jackknife over the chains
        };
        /// effective sample size of the tails (5 % and 95 %)
        ess_tail: Option<f64>, "records";
    }
}

/// The chains of a cell as they come.
#[derive(Debug, Default)]
pub(super) struct Chains {
    levels: Vec<Level>,
    traces: Vec<Vec<Vec<f64>>>,
}

#[derive(Debug, Default, Clone)]
struct Level {
    steps: u64,
    acceptance: Moments,
}

impl Chains {
    /// Adds a chain on one level.
    pub(super) fn push(&mut self, row: &ChainRow) {
        let place = row.level as usize - 1;
        if self.levels.len() <= place {
            self.levels.resize(place + 1, Level::default());
        }
        let level = &mut self.levels[place];
        if level.acceptance.count() == 0 {
            level.steps = row.steps;
        }
        level.acceptance.push(row.acceptance);
    }

    /// Adds the traces of chains: by chain and level.
    pub(super) fn trace(&mut self, mut traces: Vec<Vec<Vec<f64>>>) {
        self.traces.append(&mut traces);
    }

    /// The rows.
    pub(super) fn rows(&self, cell: Key) -> Vec<MixingRow> {
        let row = |(i, level): (usize, &Level)| {
            // A journal may hold anything: chains of different lengths tell nothing.
            let traces: Vec<&[f64]> =
                self.traces.iter().map(|chain| chain.get(i).map_or(&[][..], |trace| trace)).collect();
            let mixing = Mixing::of(&traces);
            let bulk_se = || jackknife(&traces, |some| bulk_ess(some).unwrap_or(f64::NAN));
            MixingRow {
                cell,
                level: i as u32 + 1,
                chains: level.acceptance.count(),
                steps: level.steps,
                acceptance: level.acceptance.estimate(),
                traces: traces.len() as u64,
                records: traces.first().map_or(0, |trace| trace.len() as u64),
                rhat: mixing.map(|mixing| mixing.rhat),
                ess_bulk: mixing.map(|mixing| Estimate { mean: mixing.bulk, standard_error: bulk_se() }),
                ess_tail: mixing.map(|mixing| mixing.tail),
            }
        };
        self.levels.iter().enumerate().map(row).collect()
    }
}

impl MixingRow {
    fn mixing(&self) -> Option<Mixing> {
        let (rhat, bulk, tail) = (self.rhat?, self.ess_bulk?.mean, self.ess_tail?);
        Some(Mixing { rhat, bulk, tail })
    }
}

/// Fewest chains of a cell of which one may never move.
const LEAST_CHAINS: u64 = 10;

/// Why a cell fails of whose chains so many never moved; `None` if it does not.
///
/// A chain that never moved would release its start, so it releases nothing, and what the others release has the law of a chain given that
/// it moves. That differs from the law of all chains by the share that is left out, in total variation. Beyond a tenth the others are
/// no sample of what was asked for.
pub(super) fn stuck_error(stuck: u64, chains: u64, steps: u64) -> Option<String> {
    match (stuck, chains) {
        (1.., 1) => Some(Error::NeverMoved { steps }.to_string()),
        (1.., _) if stuck.saturating_mul(LEAST_CHAINS) > chains => Some(format!(
            "{stuck} of {chains} chains never moved in {steps} steps: they would release their starting points, which is refused \
             (more steps, or another proposal scale)"
        )),
        _ => None,
    }
}

/// Whether the chains of a cell may be trusted: by the levels' L1 errors, and by the entries that are recorded.
/// `stuck`: how many never moved.
pub(super) fn convergence(
    cell: &Cell,
    levels: &[MixingRow],
    entries: &[EntryRow],
    stuck: u64,
) -> Convergence {
    if !cell.at.method.is_chain() {
        return Convergence::NoChains;
    }
    if stuck > 0 {
        return Convergence::NotConverged;
    }
    let recorded = entries.iter().filter_map(EntryRow::mixing);
    let mut all = levels.iter().filter_map(MixingRow::mixing).chain(recorded).peekable();
    if levels.iter().any(|level| level.traces < 2 || level.records < 4) || levels.is_empty() {
        return Convergence::Unknown;
    }
    // What no chain can change says nothing, and is right.
    match all.all(|mixing| mixing.converged()) {
        true => Convergence::Converged,
        false => Convergence::NotConverged,
    }
}

/// The chains of a run that may not be trusted, in a sentence; `None` if there are none. Errors: its tables.
pub(super) fn unconverged(run: &Run) -> Result<Option<String>> {
    let (mut chains, mut not, mut unknown) = (0, Vec::new(), 0);
    run.each(|cell: CellRow| {
        chains += u64::from(cell.converged != Convergence::NoChains);
        unknown += u64::from(cell.converged == Convergence::Unknown);
        if cell.converged == Convergence::NotConverged {
            not.push(cell);
        }
        Ok(())
    })?;
    let single = match unknown {
        0 => String::new(),
        n => format!(
            "of {n}, with one chain, few records, or coupled pairs that say nothing, nothing is known"
        ),
    };
    let Some(first) = not.first() else {
        return Ok((unknown > 0).then(|| format!("{unknown} of {chains} cells with chains: {single}")));
    };
    let mut worst: Option<Mixing> = None;
    run.each(|row: MixingRow| {
        if let Some(mixing) = row.mixing().filter(|_| row.cell == first.cell) {
            worst = Some(worst.map_or(mixing, |worst| Mixing {
                rhat: worst.rhat.max(mixing.rhat),
                bulk: worst.bulk.min(mixing.bulk),
                tail: worst.tail.min(mixing.tail),
            }));
        }
        Ok(())
    })?;
    let worst = worst.map_or(String::new(), |Mixing { rhat, bulk, tail }| {
        format!(" (R-hat {rhat:.3}, effective sample sizes {bulk:.0} and {tail:.0})")
    });
    let rest = if unknown > 0 { format!("; {single}") } else { String::new() };
    let (releases, mut stuck) = (releases(run)?, 0);
    run.each(|row: MixingRow| {
        let moved = releases.get(&row.cell).is_none_or(|&moved| moved == row.chains);
        stuck += u64::from(row.level == 1 && !moved);
        Ok(())
    })?;
    let stuck = if stuck > 0 { format!("; in {stuck} of them chains never moved") } else { String::new() };
    // Without the mark.
    let (not, first) = (not.len(), CellRow { converged: Convergence::NoChains, ..first.clone() }.words());
    let which = if not > 1 { "the first" } else { "it" };
    Ok(Some(format!(
        "{not} of {chains} cells with chains have not converged; {which}: {first}{worst}{stuck}{rest}"
    )))
}

/// What the table of chains shows.
const ABOUT: &str = "Effective sample sizes (ESS) of the first 8 chains' recorded second halves together, and \
    rank-normalised split R-hat, of the levels' L1 errors: the smallest and the largest over the levels.";

/// What the marks mean.
const CERTIFIED: &str = "§ Certified: coupled pairs bound how far the law of a release, the last state of its chain, is from \
    its target (TV of sampling). R-hat and effective sample sizes are of the second half of the chains, and tell how they move.";
const NOT_CONVERGED: &str = "† Not converged: R-hat above 1.01 or an effective sample size below 400 on a level, or on \
    an entry that is recorded. Do not trust its figures.";
const UNKNOWN: &str = "‡ A single chain, few records, or coupled pairs that were asked for and say nothing: nothing tells \
    whether it has converged.";

/// What it means that chains never moved.
const STUCK: &str = "A chain that never moved would release its start, so it releases nothing: its cell has one \
    release less, and has not converged. The cell's figures are those of chains that moved. They can differ from those \
    of all chains: in total variation the two laws differ by at most the share that is left out.";

/// Releases of every cell. Errors: the table.
fn releases(run: &Run) -> Result<HashMap<Key, u64>> {
    let mut releases = HashMap::new();
    run.each(|row: LevelRow| {
        releases.insert(row.cell, row.replicates);
        Ok(())
    })?;
    Ok(releases)
}

/// A cell with chains as a page tells it.
struct Told<'a> {
    run: &'a str,
    cell: &'a CellRow,
    /// By level; none of a cell that failed.
    levels: Vec<MixingRow>,
    /// How many chains moved.
    moved: u64,
}

impl Told<'_> {
    /// What the levels of a cell that did not fail tell.
    fn words(&self, of: impl Fn(&[MixingRow]) -> Option<String>) -> String {
        if self.levels.is_empty() { FAILED.into() } else { of(&self.levels).unwrap_or_else(|| "-".into()) }
    }

    fn chains(&self) -> String {
        self.words(|levels| {
            let (chains, moved) = (levels[0].chains, self.moved);
            Some(if moved < chains { format!("{moved} of {chains}") } else { chains.to_string() })
        })
    }

    /// Its value on the level where it is smallest, with its standard error if that is known.
    fn bulk(&self) -> String {
        self.words(|levels| {
            let all = levels.iter().filter_map(|level| level.ess_bulk);
            let ess = all.min_by(|a, b| a.mean.partial_cmp(&b.mean).unwrap_or(std::cmp::Ordering::Equal))?;
            let is_known = ess.standard_error.is_finite();
            Some(if is_known { with_error(ess) } else { format!("{:.0}", ess.mean) })
        })
    }

    /// Why it has fewer releases than chains, if it has.
    fn stuck(&self) -> Option<String> {
        let level = self.levels.first().filter(|level| self.moved < level.chains)?;
        let (chains, steps) = (level.chains, level.steps);
        let stuck = format!("{} of {chains} chains never moved in {steps} steps", chains - self.moved);
        Some(format!("{}: {}: {stuck}", self.run, self.cell.words()))
    }
}

/// One line for each cell with chains.
pub(super) fn pages(runs: &[Named]) -> Result<Page> {
    let mut all = Vec::new();
    for run in runs {
        let told = |cell, levels, moved| Told { run: &run.name, cell, levels, moved };
        let failed = run.printed_failed().filter(|cell| cell.chain.is_some());
        all.extend(failed.map(|cell| told(cell, Vec::new(), 0)));
        let releases = releases(&run.run)?;
        for (cell, levels) in run.by_cell(|row: &MixingRow| row.cell)? {
            all.push(told(cell, levels, releases.get(&cell.cell).copied().unwrap_or(0)));
        }
    }
    if all.is_empty() {
        return Ok(Page::default());
    }
    let mut page = Page::headed("Chains").text(ABOUT);
    for run in runs {
        page = acceptance(run)?.into_iter().fold(page, Page::figure);
    }
    let tail = |levels: &[MixingRow]| levels.iter().filter_map(|level| level.ess_tail).reduce(f64::min);
    let rhat = |levels: &[MixingRow]| levels.iter().filter_map(|level| level.rhat).reduce(f64::max);
    let page = page.listed(
        5,
        &all,
        &[
            ("run", &|told| told.run.to_owned()),
            ("law", &|told| told.cell.law.name().to_owned()),
            ("epsilon", &|told| told.cell.epsilon.to_string()),
            ("method", &|told| told.cell.method_name()),
            ("options", &|told| told.cell.options_words()),
            ("chains", &Told::chains),
            ("moves / step", &|told| told.words(|levels| Some(with_error(levels[0].acceptance)))),
            ("bulk ESS", &Told::bulk),
            ("tail ESS", &|told| told.words(|levels| Some(format!("{:.0}", tail(levels)?)))),
            ("max R-hat", &|told| told.words(|levels| Some(format!("{:.3}", rhat(levels)?)))),
        ],
    );
    let has = |mark| all.iter().any(|told| !told.levels.is_empty() && told.cell.converged == mark);
    let note = |page: Page, mark, text| if has(mark) { page.text(text) } else { page };
    let stuck: Vec<String> = all.iter().filter_map(Told::stuck).collect();
    let page = note(page, Convergence::Certified, CERTIFIED);
    let page = note(page, Convergence::NotConverged, NOT_CONVERGED);
    let page = if stuck.is_empty() { page } else { page.text(STUCK).list(stuck) };
    Ok(note(page, Convergence::Unknown, UNKNOWN))
}

/// Values of an option from which on moves per step are drawn against it.
const VALUES: usize = 3;

/// An option that is a number: its name and value, and the others.
fn numbers(options: &str) -> Vec<(&str, f64, String)> {
    let mut all = Vec::new();
    for (name, value) in options.split(',').filter_map(|option| option.split_once('=')) {
        let Ok(value) = value.parse() else { continue };
        let others =
            options.split(',').filter(|other| other.split_once('=').is_none_or(|other| other.0 != name));
        all.push((name, value, others.collect::<Vec<_>>().join(", ")));
    }
    all
}

/// Moves per step against every option of which at least three values differ by nothing else, published ones beside. Errors: the tables.
fn acceptance(run: &Named) -> Result<Vec<Figure>> {
    struct One<'a> {
        option: &'a str,
        value: f64,
        others: (String, String),
        cell: &'a CellRow,
        share: Estimate,
    }
    let cells = run.by_cell(|row: &MixingRow| row.cell)?;
    let mut all = Vec::new();
    for (cell, levels) in &cells {
        let Some(first) = levels.first() else { continue };
        let share = first.acceptance;
        for (option, value, others) in numbers(&cell.options) {
            all.push(One { option, value, others: (cell.method.name().to_owned(), others), cell, share });
        }
    }
    let published = published::of(&run.run)?;
    let mut figures = Vec::new();
    for same in grouped(all, |one| one.option.to_owned()) {
        let option = same[0].option.to_owned();
        let lines = grouped(same, |one| format!("{:?} {}", one.others, one.cell.noise_words()));
        let lines: Vec<Vec<One>> = lines.into_iter().filter(|line| line.len() >= VALUES).collect();
        if lines.is_empty() {
            continue;
        }
        let ours = |line: &Vec<One>| {
            let words = format!("{} {}", line[0].cell.method_plain(), line[0].others.1);
            let mut marks: Vec<Mark> =
                line.iter().map(|one| Mark::new(one.value, one.share.mean).estimated(one.share)).collect();
            marks.sort_by(|a, b| a.x.total_cmp(&b.x));
            let name = format!("{}, {}", words.trim_end(), line[0].cell.noise_words());
            Series { name, kind: Kind::DottedLine, marks }
        };
        let theirs = |one: &Published| {
            let method = one.key("method").filter(|_| one.figure == "acceptance")?.to_owned();
            let (_, value, others) =
                numbers(one.key("options")?).into_iter().find(|number| number.0 == option)?;
            let others = (method, others);
            lines.iter().any(|line| line[0].others == others).then(|| Series {
                name: format!("{}, published", one.source),
                kind: Kind::Dots,
                marks: vec![Mark::new(value, one.value)],
            })
        };
        figures.push(Figure {
            name: Figure::named(&format!("{}-moves-{option}", run.name)),
            title: format!("{}: moves per step against {option}", run.name),
            about: format!(
                "The share of kernel steps that changed the state, with its 95 % interval over the chains, against \
                    the option {option}. The table below has the figures."
            ),
            x: Axis::new(option.clone(), Scale::Linear),
            y: Axis::new("moves / step", Scale::Linear),
            panels: Panel::only(lines.iter().map(ours).chain(published.iter().filter_map(theirs))),
            note: String::new(),
        });
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chains of different shapes tell nothing, and are no panic.
    #[test]
    fn uneven_traces_are_no_panic() {
        let trace = || (0..8).map(|x| f64::from(x * x % 5)).collect::<Vec<_>>();
        let rhat = |traces: &[Vec<Vec<f64>>]| {
            let levels = vec![Level::default()];
            Chains { levels, traces: traces.to_vec() }.rows(Key(1))[0].rhat
        };
        assert!(rhat(&[vec![trace()], vec![trace()]]).is_some());
        assert_eq!(rhat(&[vec![trace(), trace()], vec![]]), None);
        assert_eq!(rhat(&[vec![trace()], vec![vec![1.0]]]), None);
    }
}
