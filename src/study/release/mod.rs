//! Releases: every replicate is one, and what counts is its error.

mod agreement;
mod answers;
mod beside;
mod boxes;
mod certify;
mod chain_row;
mod chains;
mod components;
mod config;
mod draw;
mod draw_all;
mod entries;
mod errors;
mod frame;
mod nodes;
mod noisy;
mod paid;
mod rows;
mod shown;
mod tables;
mod tails;
mod traces;

pub use agreement::{AgreementRow, Statistics, sorted};
pub use answers::{AnswerRow, GroupRow, QueryRow, SizeRow, SmallRow};
pub use beside::{BesideRow, beside_from, beside_source_from, write_beside};
pub use certify::CertificateRow;
pub use chain_row::ChainRow;
pub use chains::MixingRow;
pub use components::ComponentRow;
pub use draw_all::{Outcome, draw_all};
pub use entries::EntryRow;
pub use errors::{ErrorRow, LevelRow};
pub use nodes::{NodeDrawRow, NodeRow};
pub use rows::{Draw, Draws as KeptDraws, Rows};
pub use tails::TailRow;

pub(super) use self::answers::{by_size, pages as answered, size, size_words};
pub use self::config::{Beside, Certify, ReleasePart};
use self::config::{ReleaseBlock, ReleaseFile, recorded};
pub(super) use self::config::{add_report, key_of_queries, resolve_queries};
pub(super) use self::draw::{prepare, with_own};
pub(super) use self::frame::rows as frame;
use crate::coupling::MeetingTimes;
use crate::engine::{self, Drawn, Each, Look, Pool, Prepared, encode};
use crate::failure::Result;
use crate::grid::{Cell, Plan, same_seeds_of_chains};
use crate::input::{Keep, KeptNodes};
use crate::methods::{Draws, Out};
use crate::page::Page;
use crate::store::{Run, RunFolder};
use crate::study::cells::{self, CellRow, FailureRow, Paid, StatementRow, gamma};
use crate::study::grid::{COUPLED_STEPS, Kind};
use crate::study::kind::{Study, Tables};
use crate::study::pairs::{Pairs, certify as certified};
use crate::study::tell::figures::{Figures, Sample};
use crate::study::tell::frame::{FrameRow, Framing};
use crate::study::tell::published::Published;
use crate::study::tell::records::{Named, Records};
use crate::table::{Declared, Key};
use std::collections::HashMap;
use std::ops::Range;

/// The study.
#[derive(Default)]
pub struct Release;

/// Meeting times of a cell's chain by lag, or why there are none.
type MetTimes = std::result::Result<Vec<MeetingTimes>, String>;

/// A cell ready to release.
struct ReadyReleases<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    releases: Box<dyn Draws>,
}

/// The pairs that a cell runs: the first with its chain those that certify all of them.
fn own_pairs<'a>(plan: &'a Plan, cell: &Cell) -> Option<&'a Pairs> {
    let Some(Certify::Pairs(pairs)) = &ReleasePart::of(&plan.config).certify else { return None };
    let first = || plan.cells.iter().find(|other| other.has_chain_of(cell));
    (cell.at.method.is_chain() && first().is_some_and(|first| first.key == cell.key)).then_some(pairs)
}

/// The parts of pairs: how many, and the rough cost of one in random words.
fn parts(pairs: &Pairs, cell: &Cell) -> (u64, u64) {
    let steps = COUPLED_STEPS.min(pairs.max_steps).saturating_mul(10 * cell.at.method.kind().facts().words);
    engine::parts(pairs.pairs.saturating_mul(pairs.lag.len() as u64).saturating_mul(steps), pairs.pairs)
}

impl Prepared for ReadyReleases<'_> {
    fn draw(&self, replicates: Range<u64>) -> (Drawn, crate::Result<()>) {
        let mut rows = Rows::of(Key(self.cell.key), self.plan.asked.clone());
        let drawn = self.releases.draw(replicates, &mut Out { crew: &Pool, sink: &mut rows });
        (Drawn::Held(Box::new(rows)), drawn)
    }

    fn part(&self, number: u64) -> crate::Result<Vec<u8>> {
        let Some(pairs) = own_pairs(self.plan, self.cell) else { return Ok(Vec::new()) };
        let share = engine::share(pairs.pairs, number, parts(pairs, self.cell).0);
        let met: MetTimes = certified(self.plan, self.cell, pairs, share).map_err(|error| error.to_string());
        Ok(encode(&met))
    }

    fn close(&self) -> crate::Result<Vec<u8>> {
        Ok(encode(&Paid::new(self.releases.tv_error(), gamma(self.cell, &self.plan.subject))))
    }
}

impl Kind for Release {
    type File = ReleaseFile;
    type Block = ReleaseBlock;

    /// Refuses other seeds for cells of one chain whose pairs certify all of them.
    fn settle(plan: Plan) -> Result<Plan> {
        if let Some(Certify::Pairs(_)) = ReleasePart::of(&plan.config).certify {
            same_seeds_of_chains(&plan, |cell| cell.at.method.is_chain())?;
        }
        Ok(plan)
    }

    fn prepare<'a>(plan: &'a Plan, cell: usize) -> crate::Result<Box<dyn Prepared + 'a>> {
        let cell = &plan.cells[cell];
        Ok(Box::new(ReadyReleases { plan, cell, releases: draw::prepare(plan, cell)? }))
    }

    fn objection(plan: &Plan, cell: usize, rows: Look) -> Result<Option<String>> {
        let cell = &plan.cells[cell];
        if !cell.at.method.is_chain() {
            return Ok(None);
        }
        let (mut releases, mut steps) = (0, 0);
        rows(&mut |rows| {
            rows.look(|rows: &Rows| {
                releases += rows.releases();
                steps = rows.chains.first().map_or(steps, |chain| chain.steps);
            })
        })?;
        Ok(chains::stuck_error(cell.replicates.saturating_sub(releases), cell.replicates, steps))
    }

    fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        tables::begin(plan, folder)
    }

    fn parts(plan: &Plan, cell: usize) -> (u64, u64) {
        let cell = &plan.cells[cell];
        own_pairs(plan, cell).map_or((0, 0), |pairs| parts(pairs, cell))
    }

    fn twice(rows: Drawn, from: u64) -> Result<[Drawn; 2]> {
        let own: Rows = rows.take()?;
        let all = own.clone().counted_from(from);
        Ok([own, all].map(|rows| Drawn::Held(Box::new(rows))))
    }

    fn copies(plan: &Plan) -> Result<Vec<(&'static str, Vec<u8>)>> {
        // The study that certifies its chains can be read.
        certify::Certificates::of(plan)?;
        shown::check(plan)?;
        Ok(beside::copy(plan)?.into_iter().collect())
    }

    fn leaves(plan: &Plan, cell: &Cell) -> Each {
        let (levels, states) = (plan.subject.levels() as u64, recorded(cell).max(1));
        let entries = match &plan.subject {
            crate::input::Subject::Hierarchy(_) => 0,
            crate::input::Subject::Table(table) => table.counts.len() as u64,
        };
        let (draws, nodes) = match &plan.asked {
            None => (0, 0),
            Some(asked) => (asked.groups() as u64, asked.nodes.as_ref().map_or(0, KeptNodes::len) as u64),
        };
        let kept = if ReleasePart::of(&plan.config).keep_draws == Keep::All { states } else { 0 };
        Each {
            work: 0,
            rows: levels + nodes + if entries > 0 { kept } else { 0 },
            // Compressed: what the full studies here have at least.
            disk: 4 * levels + nodes + kept.saturating_mul(entries) / 4,
            memory: (8 * entries + 8 * levels).saturating_mul(states) + 40 * levels + 8 * (draws + nodes),
        }
    }
}

impl Study for Release {
    fn tables(&self) -> Vec<Declared> {
        vec![
            Declared::of::<CellRow>(),
            Declared::of::<StatementRow>(),
            Declared::of::<FailureRow>(),
            Declared::of::<ErrorRow>(),
            Declared::of::<LevelRow>(),
            Declared::of::<ChainRow>(),
            Declared::of::<MixingRow>(),
            Declared::of::<EntryRow>(),
            Declared::of::<ComponentRow>(),
            Declared::of::<AgreementRow>(),
            Declared::of::<TailRow>(),
            Declared::of::<CertificateRow>(),
            Declared::of::<QueryRow>(),
            Declared::of::<GroupRow>(),
            Declared::of::<AnswerRow>(),
            Declared::of::<SizeRow>(),
            Declared::of::<SmallRow>(),
            Declared::of::<NodeRow>(),
            Declared::of::<NodeDrawRow>(),
        ]
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        let each = |page: fn(&Named) -> Result<Page>| runs.iter().map(page).collect::<Result<Page>>();
        Ok(errors::side_by_side(runs)?
            .and(each(errors::pages)?)
            .and(each(components::pages)?)
            .and(each(agreement::pages)?)
            .and(each(|run| answers::by_size(run, "epsilon", &|cell| Some(cell.epsilon)))?)
            .and(each(|run| answers::pages(run, &CellRow::noise_words))?)
            .and(paid::pages(runs)?)
            .and(each(tails::pages)?)
            .and(each(entries::pages)?)
            .and(each(boxes::pages)?)
            .and(chains::pages(runs)?))
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        Ok(vec![
            errors::records(runs)?,
            Records::of_cells::<MixingRow>("chains", "chains.csv", runs),
            entries::records(runs)?,
            Records::of_cells::<ComponentRow>("components", "components.csv", runs),
            Records::of_cells::<AgreementRow>("agreement", "agreement.csv", runs),
            Records::of_cells::<TailRow>("tails", "tails.csv", runs),
            Records::of_cells::<CertificateRow>("certificates", "certificates.csv", runs),
            answers::records(runs)?,
            answers::size_records(runs)?,
            answers::small_records(runs)?,
            Records::of_cells::<StatementRow>("statements", "statements.csv", runs),
            Records::of_cells::<CellRow>("cells", "cells.csv", runs),
        ])
    }

    fn warning(&self, run: &Run) -> Result<Option<String>> {
        chains::unconverged(run)
    }

    fn shows(&self, run: &Named, published: &Published) -> Result<bool> {
        errors::shows(run, published)
    }

    fn frame(&self, run: &Run, asked: Framing) -> Result<Vec<FrameRow>> {
        frame(run, asked, &HashMap::new())
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        let of = |run: &Run| {
            let (cells, pooled) = (cells::by_key(run)?, cells::pooled(run)?);
            let mut figures = Figures::new(cells, run.all()?);
            let data = figures.data();
            // A bias is small beside the error of a count.
            let mut units: HashMap<(Key, u32), f64> = HashMap::new();
            run.each(|row: LevelRow| {
                units.insert((row.cell, row.level), row.l1_per_node.mean);
                Ok(())
            })?;
            run.each(|row: ErrorRow| {
                let cell = pooled.get(&row.cell).copied().unwrap_or(row.cell);
                let place = || match data.get(&cell) {
                    Some(data) => run.manifest.of_data(data).level(row.level),
                    None => run.manifest.level(row.level),
                };
                let unit = units.get(&(cell, row.level)).copied().unwrap_or(f64::NAN);
                let bias = || Sample::drawn().in_units_of(unit);
                figures.add(cell, row.level.into(), place, "l1", row.l1, Sample::drawn);
                figures.add(cell, row.level.into(), place, "l2", row.l2, Sample::drawn);
                figures.add(cell, row.level.into(), place, "bias", row.bias, bias);
                Ok(())
            })?;
            Ok(figures)
        };
        Ok([of(runs[0])?, of(runs[1])?])
    }
}

/// Whether chains of releases may be trusted, and in detail what they pay: pages of some runs. Errors: their tables.
pub(super) fn trust(runs: &[Named]) -> Result<Page> {
    Ok(chains::pages(runs)?.and(paid::pages(runs)?.aside()))
}
