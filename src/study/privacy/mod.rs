//! Privacy: nothing is drawn; between which tables does conditioning pay most?

mod attained;
mod config;
mod draw;
mod tree;

use self::config::{PrivacyBlock, PrivacyFile};
use crate::engine::{Drawn, Each, Prepared, Sink};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::input::{InvariantTable, Subject};
use crate::invariant::Bounded;
use crate::page::{Column, Page, counted, number};
use crate::privacy::WorstPair;
use crate::store::{Run, RunFolder, TableFile};
use crate::study::cells::{self, CellRow, CellTables, FailureRow, StatementRow};
use crate::study::grid::Kind;
use crate::study::kind::{Study, Tables};
use crate::study::tell::figures::{Figures, Sample};
use crate::study::tell::records::{Named, Records};
use crate::table;
use crate::table::{Declared, Key};

/// The study.
#[derive(Default)]
pub struct Privacy;

table! {
    /// Study `privacy`: one row per cell, component of the table and search.
    pub struct PaidRow in "privacy.parquet", also serde::Deserialize {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// the component, from 1: entries that nothing ties to the rest, single ones included; of a hierarchy 1, all of
        /// it
        component: u64;
        /// of the component; of a hierarchy its leaves
        entries: u64, "entries";
        /// what was compared: `table` (the confidential table with its neighbours), `corner` (the table with all counts
        /// of every group of equal columns in one entry, with its neighbours; of a hierarchy the table of zeros, or
        /// with each known count in one leaf), `all` (all pairs; absent for more than 5,000 tables, and on
        /// hierarchies); `attained`: what a method that moves free noise pays in truth, by listing the noise of up to
        /// four counts (the confidential table with its neighbours)
        scope: String;
        /// by what the tables of the worst pair differ: `added` (one record more), `moved` (one record in another
        /// entry), `other`. Of a hierarchy one row for each of the first two, as far as they are possible
        change: String;
        /// compared tables
        tables: u64;
        /// compared ordered pairs
        pairs: u64;
        /// of the worst pair: `log_ratio / loss`; of a scope `attained` at most 0, up to rounding
        gamma: f64;
        /// proved for all such pairs
        gamma_bound: f64;
        /// ln of the ratio of the probabilities of the invariant; of a scope `attained` `loss_conditioned - loss`
        log_ratio: f64, "nats";
        /// of the mechanism between the two tables
        loss: f64, "nats";
        /// of the conditioned mechanism: `loss + log_ratio`; of a scope `attained` the largest log ratio of the
        /// probabilities of an output that are known to 1e-9, relatively
        loss_conditioned: f64, "nats";
        /// entries in which the two differ, with their counts in both; leaves of a hierarchy by their numbers, from 1
        pair: String;
    }
}

/// The entries in which the two tables differ, with their counts in both.
fn words(table: &InvariantTable, part: &Bounded, worst: &WorstPair) -> String {
    let entries = &part.component.entries;
    let differing = (0..entries.len()).filter(|&i| worst.from[i] != worst.to[i]);
    let entry = |i: usize| {
        let x = table.counts[entries[i] as usize];
        format!("{}: {} -> {}", &table.names[entries[i] as usize], x + worst.from[i], x + worst.to[i])
    };
    differing.map(entry).collect::<Vec<_>>().join(", ")
}

impl Kind for Privacy {
    type File = PrivacyFile;
    type Block = PrivacyBlock;

    fn prepare<'a>(plan: &'a Plan, cell: usize) -> crate::Result<Box<dyn Prepared + 'a>> {
        if !plan.cells[cell].at.method.conditions() {
            return attained::prepare(&plan.cells[cell], &plan.subject);
        }
        match &plan.subject {
            Subject::Table(table) => draw::prepare(&plan.cells[cell], table),
            Subject::Hierarchy(table) => Ok(tree::prepare(&plan.cells[cell], table)),
        }
    }

    fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        Ok(Box::new(PrivacyTables { plan, cells: CellTables::begin(folder, plan)?, pairs: folder.table()? }))
    }

    fn leaves(_: &Plan, _: &Cell) -> Each {
        Each::default()
    }
}

/// The tables while they are computed.
struct PrivacyTables<'a> {
    plan: &'a Plan,
    cells: CellTables<'a>,
    pairs: TableFile<'a, PaidRow>,
}

impl Sink for PrivacyTables<'_> {
    fn rows(&mut self, _: usize, rows: Drawn) -> Result<()> {
        rows.take::<Vec<PaidRow>>()?.iter().try_for_each(|row| self.pairs.push(row))?;
        Ok(())
    }

    fn close(&mut self, number: usize, _: &[u8], error: Option<&str>) -> Result<()> {
        self.cells.close_computed(&self.plan.cells[number], error)
    }
}

impl Tables for PrivacyTables<'_> {}

impl Study for Privacy {
    fn tables(&self) -> Vec<Declared> {
        vec![
            Declared::of::<CellRow>(),
            Declared::of::<StatementRow>(),
            Declared::of::<FailureRow>(),
            Declared::of::<PaidRow>(),
        ]
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        let of = |run: &Named| {
            let cells = run.by_cell(|row: &PaidRow| row.cell)?;
            let page = |cell: &CellRow, rows: &[PaidRow]| Ok(page(&run.name, cell, rows));
            run.pages(&cells, "privacy.csv", page)
        };
        runs.iter().map(of).collect()
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        Ok(vec![Records::of_cells::<PaidRow>("privacy", "privacy.csv", runs)])
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        let of = |run: &Run| {
            let mut figures = Figures::new(cells::by_key(run)?, run.all()?);
            let mut number = 0;
            run.each(|row: PaidRow| {
                let scope =
                    ["table", "corner", "all", "attained"].iter().position(|scope| *scope == row.scope);
                let change = CHANGES.iter().position(|change| *change == row.change);
                number = 12 * row.component + 3 * scope.unwrap_or(0) as u64 + change.unwrap_or(2) as u64;
                let place = || format!("component {} {} {}", row.component, row.scope, row.change);
                figures.add(row.cell, number, place, "gamma", row.gamma, Sample::computed);
                Ok(())
            })?;
            Ok(figures)
        };
        Ok([of(runs[0])?, of(runs[1])?])
    }
}

/// What the tables of a pair differ by.
const CHANGES: [&str; 3] = ["added", "moved", "other"];

/// Rows of a scope that are shown, those with the largest gamma.
const SHOWN: usize = 6;

/// The worst pairs of a cell.
fn page(run: &str, cell: &CellRow, rows: &[PaidRow]) -> Page {
    let mut page = Page::default();
    for (scope, words) in [
        ("table", "the confidential table and its neighbours"),
        (
            "corner",
            "the table with every group's counts in one entry (a hierarchy: no counts but known ones), and its neighbours",
        ),
        ("all", "all pairs of tables that satisfy the invariant"),
        ("attained", "the confidential table and its neighbours, as post-processing attains it"),
    ] {
        let mut rows: Vec<&PaidRow> = rows.iter().filter(|row| row.scope == scope).collect();
        if rows.is_empty() {
            continue;
        }
        let gammas = rows.iter().map(|row| row.gamma);
        let (low, high) = gammas.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
        let compared = counted(rows.len() as f64, "row");
        rows.sort_by(|a, b| b.gamma.total_cmp(&a.gamma));
        rows.truncate(SHOWN);
        let pair = |row: &&PaidRow| match row.pair.chars().count() {
            0..=90 => row.pair.clone(),
            _ => row.pair.chars().take(87).chain("...".chars()).collect(),
        };
        let columns: &[Column<&PaidRow>] = &[
            ("component", &|row| row.component.to_string()),
            ("entries", &|row| row.entries.to_string()),
            ("change", &|row| row.change.clone()),
            ("tables", &|row| row.tables.to_string()),
            ("gamma", &|row| format!("{:.6}", row.gamma)),
            ("at most", &|row| format!("{:.6}", row.gamma_bound)),
            ("loss", &|row| number(row.loss)),
            ("conditioned", &|row| number(row.loss_conditioned)),
            ("worst pair: counts in x -> x'", &pair),
        ];
        let what = format!("{run}: {}, gamma over {words}; {}", cell.method_words(), cell.noise_words());
        let headed = Page::main(what);
        page = page.and(headed.listed(3, &rows, columns)).text(format!(
            "{compared}; gamma from {low:.6} to {high:.6}. At most: a proved bound for all such pairs; loss: of the \
                unconditioned mechanism between the two tables; conditioned: (1 + gamma) times \
             that, attained."
        ));
    }
    page
}
