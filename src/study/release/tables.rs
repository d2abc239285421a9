//! The tables of a study of releases while it is drawn.

use super::agreement::Comparisons;
use super::answers::Answers;
use super::certify::Certificates;
use super::chains::{Chains, convergence};
use super::components::Components;
use super::config::{ReleasePart, recorded};
use super::entries::Entries;
use super::errors::Level;
use super::nodes::NodeDraws;
use super::noisy;
use super::rows::{Draw, Rows};
use super::tails::{self, NORMS};
use super::{
    AgreementRow, CertificateRow, ChainRow, ComponentRow, EntryRow, ErrorRow, LevelRow, MetTimes, MixingRow,
    TailRow,
};
use crate::coupling::MeetingTimes;
use crate::engine::{Drawn, Sink, decode};
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan};
use crate::input::{InvariantTable, Keep, Subject};
use crate::privacy::NormTail;
use crate::store::{RowsFile, RunFolder, TableFile};
use crate::study::cells::{CellTables, Convergence, Paid};
use crate::study::kind::Tables;
use crate::table::{Field, Key, Kind, Record, Value};

/// Begins the tables. Errors: the disk.
pub(super) fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
    let table = match &plan.subject {
        Subject::Hierarchy(_) => None,
        Subject::Table(table) => Some(OfTable {
            table,
            norm_tail: plan
                .cells
                .iter()
                .any(tails::bounded)
                .then(|| NormTail::of(&table.invariant).ok())
                .flatten(),
            entries: (Entries::default(), folder.table()?),
            components: (Components::new(table), folder.table()?),
            comparisons: (Comparisons::new(plan), folder.table()?),
            tails: (Vec::new(), folder.table()?),
            draws: None,
        }),
    };
    Ok(Box::new(ReleaseTables {
        plan,
        folder,
        cells: CellTables::begin(folder, plan)?,
        errors: by_replicate(plan, folder)?,
        levels: (vec![Level::default(); plan.subject.levels()], folder.table()?),
        chains: by_replicate(plan, folder)?,
        mixing: (Chains::default(), folder.table()?),
        met: None,
        certificates: Certificates::of(plan)?
            .map(|all| Ok::<_, Failure>((all, folder.table()?)))
            .transpose()?,
        answers: Answers::begin(plan, folder)?,
        nodes: NodeDraws::begin(plan, folder)?,
        table,
    }))
}

/// A table with rows by replicate; none where cells stand for those of several seeds.
fn by_replicate<'a, R: Record>(plan: &Plan, folder: &'a RunFolder) -> Result<Option<TableFile<'a, R>>> {
    (!plan.pooled).then(|| folder.table()).transpose()
}

/// Each summary with what is known of the cell that is drawn.
struct ReleaseTables<'a> {
    plan: &'a Plan,
    folder: &'a RunFolder,
    cells: CellTables<'a>,
    errors: Option<TableFile<'a, ErrorRow>>,
    levels: (Vec<Level>, TableFile<'a, LevelRow>),
    chains: Option<TableFile<'a, ChainRow>>,
    mixing: (Chains, TableFile<'a, MixingRow>),
    certificates: Option<(Certificates, TableFile<'a, CertificateRow>)>,
    /// The pairs that the cell which is drawn runs itself.
    met: Option<MetTimes>,
    answers: Option<Answers<'a>>,
    nodes: Option<NodeDraws<'a>>,
    table: Option<OfTable<'a>>,
}

/// What only releases of a table have.
struct OfTable<'a> {
    table: &'a InvariantTable,
    /// If a cell has one.
    norm_tail: Option<NormTail>,
    entries: (Entries, TableFile<'a, EntryRow>),
    components: (Components, TableFile<'a, ComponentRow>),
    comparisons: (Comparisons, TableFile<'a, AgreementRow>),
    /// Norms of the first releases.
    tails: (Vec<f64>, TableFile<'a, TailRow>),
    draws: Option<DrawsFile<'a>>,
}

impl Sink for ReleaseTables<'_> {
    fn rows(&mut self, number: usize, rows: Drawn) -> Result<()> {
        let (cell, subject) = (&self.plan.cells[number], &self.plan.subject);
        let rows: Rows = rows.take()?;
        let asked = self.plan.asked.as_ref();
        let of_nodes = asked.and_then(|asked| asked.nodes.as_ref()).map_or(0, |nodes| nodes.len());
        let widths = [subject.nodes(), asked.map_or(0, |asked| asked.groups()), of_nodes];
        if !rows.fit(subject.levels(), widths) {
            return Err(Failure::Wrong("rows of a batch are not of these data".into()));
        }
        let Rows { errors, chains, traces, draws, answers, nodes, .. } = rows;
        let (all, tailed) = (subject.nodes() as u64, tails::bounded(cell));
        for row in errors {
            let level = row.level as usize - 1;
            self.levels.0[level].push(&row, subject.level_size(level) as u64, all);
            if let Some(of) = self.table.as_mut().filter(|of| tailed && of.tails.0.len() < NORMS) {
                of.tails.0.push(row.l2);
            }
            self.errors.as_mut().map_or(Ok(()), |file| file.push(&row))?;
        }
        for row in chains {
            self.mixing.0.push(&row);
            self.chains.as_mut().map_or(Ok(()), |file| file.push(&row))?;
        }
        self.mixing.0.trace(traces);
        if let Some(all) = &mut self.answers {
            answers.iter().for_each(|draw| all.push(cell, draw));
        }
        if let Some(file) = &mut self.nodes {
            nodes.iter().try_for_each(|draw| file.push(cell, draw))?;
        }
        if let Some(of) = &mut self.table {
            for draw in draws.iter() {
                of.entries.0.push(of.table, draw, recorded(cell) > 0);
                // The recorded states of a chain are no independent releases.
                if recorded(cell) == 0 {
                    of.components.0.push(cell, draw);
                    of.comparisons.0.push(number, draw);
                }
                if ReleasePart::of(&self.plan.config).keep_draws != Keep::Nothing && !self.plan.pooled {
                    if draw.replicate == 0 && recorded(cell) == 0 && !cell.at.method.kind().is_own() {
                        noisy::write_table(self.plan, self.folder, cell, draw.errors)?;
                    }
                    let file = match &mut of.draws {
                        Some(file) => file,
                        none => none.insert(DrawsFile::begin(self.folder, cell, of.table)?),
                    };
                    file.push(draw)?;
                }
            }
        }
        Ok(())
    }

    fn part(&mut self, _: usize, part: &[u8]) -> Result<()> {
        self.met = Some(match (self.met.take(), decode(part)?) {
            (Some(Ok(mut before)), Ok(more)) => {
                let more: Vec<MeetingTimes> = more;
                before.iter_mut().zip(more).for_each(|(before, more)| before.merge(more));
                Ok(before)
            }
            (Some(Err(why)), _) => Err(why),
            (_, part) => part,
        });
        Ok(())
    }

    fn close(&mut self, number: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
        let (cell, subject) = (&self.plan.cells[number], &self.plan.subject);
        let mut paid: Paid = if closing.is_empty() { Paid::default() } else { decode(closing)? };
        let met = self.met.take();
        if error.is_some() {
            self.forget(number, met);
            return self.cells.close(cell, &paid, Convergence::NoChains, error);
        }
        // What is not released is a chain that never moved.
        let releases = self.levels.0.first().map_or(0, Level::releases);
        let stuck = if cell.at.method.is_chain() { cell.replicates.saturating_sub(releases) } else { 0 };
        let mixing = std::mem::take(&mut self.mixing.0).rows(Key(cell.key));
        let entries = self.table.as_mut().map_or_else(Vec::new, |of| of.entries.0.close(cell, of.table));
        let mut certified = None;
        if let Some((certificates, file)) = &mut self.certificates
            && let Some(row) = certificates.row(self.plan, cell, mixing.first().map(|level| level.steps), met)
        {
            // Pairs tell of all chains, releases are those of chains that moved.
            paid.certified = row.bound_high.filter(|_| stuck == 0);
            certified = Some(row.is_known() && stuck == 0);
            file.push(&row)?;
        }
        // A chain that has nothing to choose draws its law.
        let converged = match paid.tv_error.filter(|_| cell.at.method.is_chain()) {
            Some(_) => Convergence::Converged,
            None => convergence(cell, &mixing, &entries, stuck),
        };
        let converged = certified.map_or(converged, |known| converged.certified(known));
        self.cells.close(cell, &paid, converged, None)?;
        for (i, level) in self.levels.0.iter_mut().enumerate() {
            let scale = cell.calibration.scales[i];
            let row = level.row(Key(cell.key), i as u32 + 1, scale, subject.level_size(i) as u64);
            row.map_or(Ok(()), |row| self.levels.1.push(&row))?;
            *level = Level::default();
        }
        mixing.iter().try_for_each(|row| self.mixing.1.push(row))?;
        self.answers.as_mut().map_or(Ok(()), |answers| answers.close(cell))?;
        let Some(of) = &mut self.table else { return Ok(()) };
        entries.iter().try_for_each(|row| of.entries.1.push(row))?;
        of.components.0.close(cell, of.table).iter().try_for_each(|row| of.components.1.push(row))?;
        of.comparisons.0.close(self.plan, number);
        let norms = std::mem::take(&mut of.tails.0);
        if let Some(tail) = of.norm_tail.filter(|_| tails::bounded(cell)) {
            tails::rows(cell, &tail, norms).iter().try_for_each(|row| of.tails.1.push(row))?;
        }
        of.draws.take().map_or(Ok(()), DrawsFile::finish)
    }
}

impl ReleaseTables<'_> {
    /// Forgets what other seeds of a cell that failed have left. Its pairs are of its chain, and stay for other cells. `met`: the pairs.
    fn forget(&mut self, number: usize, met: Option<MetTimes>) {
        let cell = &self.plan.cells[number];
        if let Some((certificates, _)) = &mut self.certificates {
            certificates.row(self.plan, cell, Some(0), met);
        }
        self.levels.0.fill(Level::default());
        self.mixing.0 = Chains::default();
        self.answers.iter_mut().for_each(Answers::forget);
        if let Some(of) = &mut self.table {
            of.entries.0 = Entries::default();
            of.components.0 = Components::new(of.table);
            of.comparisons.0.forget(self.plan, number);
            of.tails.0.clear();
        }
    }
}

impl Tables for ReleaseTables<'_> {
    fn finish(self: Box<Self>) -> Result<()> {
        let Some(OfTable { comparisons: (comparisons, mut file), .. }) = self.table else { return Ok(()) };
        comparisons.rows().iter().try_for_each(|row| file.push(row))
    }
}

/// The draws of a cell: `.chain`, `.iteration`, `.draw` and a column per entry, what R's posterior and Python's ArviZ read.
struct DrawsFile<'a> {
    rows: RowsFile<'a>,
    /// Independent releases are one long chain.
    chained: bool,
    integer: bool,
    written: u64,
}

impl<'a> DrawsFile<'a> {
    fn begin(folder: &'a RunFolder, cell: &Cell, table: &InvariantTable) -> Result<Self> {
        let integer = cell.at.method.keeps_integers() && !cell.at.law.is_continuous();
        let kind = if integer { Kind::I64 } else { Kind::F64 };
        let numbers = [".chain", ".iteration", ".draw"].map(|name| Field::new(name, Kind::U64));
        let entries = table.names.iter().map(|name| Field::new(name, kind));
        let fields = numbers.into_iter().chain(entries).collect();
        let rows = folder.rows(&format!("cells/{}/draws.parquet", cell.key_text()), fields, &[])?;
        Ok(Self { rows, chained: cell.at.method.is_chain(), integer, written: 0 })
    }

    fn push(&mut self, draw: Draw) -> Result<()> {
        self.written += 1;
        let (chain, iteration) =
            if self.chained { (draw.replicate + 1, draw.iteration) } else { (1, self.written) };
        let columns = self.rows.row()?;
        for (number, column) in [chain, iteration, self.written].iter().zip(columns.iter_mut()) {
            number.put(column);
        }
        for (z, column) in draw.errors.iter().zip(&mut columns[3..]) {
            if self.integer { (*z as i64).put(column) } else { z.put(column) }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.rows.finish()
    }
}
