//! The frontier: errors of releases that pay the same for the same change, and where the better method changes.
//!
//! An epsilon of the noise is not what a release pays: conditioning on inequalities pays more than post-processing with
//! the same noise, and on a tree the levels add up. Here budgets are losses (`equal`); the releases and their tables
//! are those of [`crate::study::release`].

mod answer;
mod config;
mod curve;
mod page;

use self::config::{FrontierBlock, FrontierFile, FrontierPart};
use crate::engine::{Drawn, Each, Look, Prepared, Sink};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::page::Page;
use crate::privacy::{Amount, ChangeKind, Measure};
use crate::store::{Run, RunFolder, TableFile};
use crate::study::equal;
use crate::study::grid::Kind;
use crate::study::kind::{Study, Tables};
use crate::study::release::{self, Release};
use crate::study::tell::figures::Figures;
use crate::study::tell::frame::{FrameRow, Framing};
use crate::study::tell::records::{Named, Records};
use crate::table::{Declared, Key};
use crate::{table, text_value};
use std::collections::HashMap;

text_value!(column Measure, |measure: &Measure| measure.name().into_owned(), Measure::named);

/// The study.
#[derive(Default)]
pub struct Frontier;

table! {
    /// Studies `frontier` and `coverage`: one row per cell.
    pub struct FrontierRow in "frontier.parquet" {
        /// the cell, in `cells.parquet`; its `epsilon` is that of the noise, found such that it pays `paid`
        cell: Key;
        /// the change that is paid for, as in `statements.parquet`
        change: ChangeKind;
        /// `epsilon_conditioned` of that change in `statements.parquet`, or what `measure` says, is this or at most 3e-8
        /// less, relatively (1e-4 where the bound of Gaussian noise jumps)
        paid: f64;
        /// in what `paid` is counted: `epsilon`, `rho`, `mu`, or as in `epsilon at delta 1e-6 of 12 releases` what
        /// releases pay together by the whole law of their loss
        measure: Measure;
    }
}

impl Kind for Frontier {
    type File = FrontierFile;
    type Block = FrontierBlock;

    fn settle(plan: Plan) -> Result<Plan> {
        let change = FrontierPart::of(&plan.config).change.clone();
        equal::settle(plan, change)
    }

    fn prepare<'a>(plan: &'a Plan, cell: usize) -> crate::Result<Box<dyn Prepared + 'a>> {
        Release::prepare(plan, cell)
    }

    fn objection(plan: &Plan, cell: usize, rows: Look) -> Result<Option<String>> {
        Release::objection(plan, cell, rows)
    }

    fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        Ok(Box::new(FrontierTables {
            plan,
            releases: Release::begin(plan, folder)?,
            frontier: folder.table()?,
        }))
    }

    fn parts(plan: &Plan, cell: usize) -> (u64, u64) {
        Release::parts(plan, cell)
    }

    fn twice(rows: Drawn, from: u64) -> Result<[Drawn; 2]> {
        Release::twice(rows, from)
    }

    fn leaves(plan: &Plan, cell: &Cell) -> Each {
        Release::leaves(plan, cell)
    }
}

/// The tables of releases, and what each cell is to pay.
struct FrontierTables<'a> {
    plan: &'a Plan,
    releases: Box<dyn Tables + 'a>,
    frontier: TableFile<'a, FrontierRow>,
}

impl Sink for FrontierTables<'_> {
    fn rows(&mut self, cell: usize, rows: Drawn) -> Result<()> {
        self.releases.rows(cell, rows)
    }

    fn part(&mut self, cell: usize, part: &[u8]) -> Result<()> {
        self.releases.part(cell, part)
    }

    fn close(&mut self, number: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
        let cell = &self.plan.cells[number];
        if let Some(Amount { loss: paid, measure }) = cell.paid {
            let change = FrontierPart::of(&self.plan.config).change.kind;
            self.frontier.push(&FrontierRow { cell: Key(cell.key), change, paid, measure })?;
        }
        self.releases.close(number, closing, error)
    }
}

impl Tables for FrontierTables<'_> {
    fn finish(self: Box<Self>) -> Result<()> {
        self.releases.finish()
    }
}

impl Study for Frontier {
    fn tables(&self) -> Vec<Declared> {
        let mut tables = Release.tables();
        tables.push(Declared::of::<FrontierRow>());
        tables
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        let pages = runs.iter().map(page::of).collect::<Result<Page>>()?;
        Ok(pages.and(release::trust(runs)?))
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        let own = [page::points(runs), page::crossing_records(runs)];
        Ok(own.into_iter().chain(Release.records(runs)?).collect())
    }

    fn warning(&self, run: &Run) -> Result<Option<String>> {
        Release.warning(run)
    }

    fn frame(&self, run: &Run, asked: Framing) -> Result<Vec<FrameRow>> {
        let mut paid = HashMap::new();
        run.each(|row: FrontierRow| {
            paid.insert(row.cell, (row.change, row.paid, row.measure));
            Ok(())
        })?;
        release::frame(run, asked, &paid)
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        Release.figures(runs)
    }
}
