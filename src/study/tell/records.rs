//! Rows of tables as records of CSV and JSON.

use crate::failure::{Failure, Result};
use crate::page::{Page, field};
use crate::store::Run;
use crate::study::cells::{self, CELL, CellRow, FailureRow, known};
use crate::table::{Key, Record};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

/// A run and its name in a report.
#[derive(Debug)]
pub struct Named {
    /// Two runs of one name are told apart by their hash.
    pub name: String,
    /// The run.
    pub run: Run,
    /// Its first cells, as many as pages show.
    pub printed: Vec<CellRow>,
    /// Errors of its cells that failed: they have rows in no table of results.
    pub failed: HashMap<Key, String>,
}

/// What stands in a table, and in the column of this name in CSV, where a cell failed.
pub const FAILED: &str = "failed";

/// Cells of a run that pages show; the others are in its tables.
pub const PRINTED: usize = 200;
/// Cells of a run that get a page each, in studies that print such pages; the others are in the tables.
pub const PAGES: usize = 24;

impl Named {
    /// The parts of a run that pages tell by themselves: its data sets; of several master seeds the cells that stand
    /// for all of them, or those of each of the first seeds. Errors: its cells.
    pub fn parts(name: &str, run: &Run, by_seed: bool) -> Result<Vec<Self>> {
        let several = !run.manifest.seeds.is_empty();
        let by_seed = several && by_seed;
        let shown = &run.manifest.seeds[..run.manifest.seeds.len().min(PAGES)];
        Self::grouped(name, run, |row| match row.seed {
            seed if several && seed.is_some() != by_seed => None,
            Some(seed) if by_seed => shown.contains(&seed).then_some(Some(seed)),
            _ => Some(None),
        })
    }

    /// The parts of a run that are listed by themselves: its data sets, with the cells of every seed. Errors: its cells.
    pub fn of_seeds(name: &str, run: &Run) -> Result<Vec<Self>> {
        Self::grouped(name, run, |row| row.seed.map(|_| None))
    }

    /// Parts by data set and what is told of a cell's seed; cells of which nothing is told are left out.
    fn grouped(name: &str, run: &Run, part: impl Fn(&CellRow) -> Option<Option<u64>>) -> Result<Vec<Self>> {
        type Part = (String, Option<u64>);
        // In the order of the cells: data set by data set.
        let mut parts: Vec<(Part, HashSet<Key>)> = Vec::new();
        let mut places: HashMap<Part, usize> = HashMap::new();
        run.each(|row: CellRow| {
            if let Some(seed) = part(&row) {
                let of = (row.data, seed);
                let place = *places.entry(of.clone()).or_insert(parts.len());
                if place == parts.len() {
                    parts.push((of, HashSet::new()));
                }
                parts[place].1.insert(row.cell);
            }
            Ok(())
        })?;
        let part = |((data, seed), cells): (Part, HashSet<Key>)| {
            let set = (!run.manifest.data_sets.is_empty()).then(|| format!(", {data}"));
            let seed = seed.map(|seed| format!(", seed {seed}"));
            let words = [Some(name.to_owned()), set, seed].into_iter().flatten().collect();
            Self::new(words, run.of_cells(&data, cells))
        };
        parts.into_iter().map(part).collect()
    }

    /// The run with its name and cells. Errors: its cells.
    pub fn new(name: String, run: Run) -> Result<Self> {
        let mut printed = Vec::new();
        run.while_true(|row: CellRow| {
            printed.push(row);
            Ok(printed.len() < PRINTED)
        })?;
        let mut failed = HashMap::new();
        run.each(|row: FailureRow| {
            failed.insert(row.cell, row.error);
            Ok(())
        })?;
        Ok(Self { name, run, printed, failed })
    }

    /// Cells that pages show, and that failed.
    pub fn printed_failed(&self) -> impl Iterator<Item = &CellRow> {
        self.printed.iter().filter(|cell| self.failed.contains_key(&cell.cell))
    }

    /// Behind a page with a part for each cell: those that failed.
    pub fn with_failed(&self, page: Page) -> Page {
        match page.is_empty() {
            true => page,
            false => {
                page.list(self.printed_failed().map(|cell| format!("{FAILED}: {}", cell.words())).collect())
            }
        }
    }

    /// The name of a level, from 1.
    pub fn level(&self, level: u32) -> String {
        self.run.manifest.level(level)
    }

    /// The rows of a table with their cells, as far as pages show them: cell by cell. Errors: the tables.
    pub fn by_cell<R: Record>(&self, key: impl Fn(&R) -> Key) -> Result<Vec<(&CellRow, Vec<R>)>> {
        let mut cells: Vec<(&CellRow, Vec<R>)> = self.printed.iter().map(|cell| (cell, Vec::new())).collect();
        let places: HashMap<Key, usize> =
            cells.iter().enumerate().map(|(i, (cell, _))| (cell.cell, i)).collect();
        // Rows stand in the order of the cells: after those that are shown nothing is wanted.
        self.run.while_true(|row: R| {
            let Some(&place) = places.get(&key(&row)) else { return Ok(false) };
            cells[place].1.push(row);
            Ok(true)
        })?;
        cells.retain(|(_, rows)| !rows.is_empty());
        Ok(cells)
    }

    /// A page for each of the first cells, and where the rows of all are: in the table of `R`, and in `csv` of a report.
    pub fn pages<R: Record>(
        &self,
        cells: &[(&CellRow, Vec<R>)],
        csv: &str,
        page: impl Fn(&CellRow, &[R]) -> Result<Page>,
    ) -> Result<Page> {
        let pages = cells.iter().take(PAGES).map(|(cell, rows)| page(cell, rows));
        let pages = self.with_failed(pages.collect::<Result<_>>()?);
        if cells.len() <= PAGES {
            return Ok(pages);
        }
        Ok(pages.text(format!(
            "{}: pages like these are printed for the first {PAGES} cells. The rows of all cells are in {}, and in {csv} \
                 of `report {} --out DIRECTORY`.",
            self.name,
            R::FILE,
            self.run.folder.display()
        )))
    }
}

/// A record: its fields by name.
pub type Row = Map<String, Value>;

/// Goes through rows, as long as what takes them returns true.
type Source<'a> = Box<dyn Fn(Take) -> Result<()> + 'a>;
/// Takes a row; returns whether it wants more.
pub(in crate::study) type Take<'a> = &'a mut dyn FnMut(Row) -> Result<bool>;

/// Records of some runs, read from their tables when they are wanted.
pub struct Records<'a> {
    /// Their key in JSON.
    pub key: &'static str,
    /// Their file in CSV.
    pub file: &'static str,
    /// Names of the fields, in order.
    pub header: Vec<String>,
    /// The records, each with these fields.
    source: Source<'a>,
}

impl<'a> Records<'a> {
    /// Records of these fields.
    pub(in crate::study) fn new(
        key: &'static str,
        file: &'static str,
        header: Vec<String>,
        source: impl Fn(Take) -> Result<()> + 'a,
    ) -> Self {
        Self { key, file, header, source: Box::new(source) }
    }

    /// The rows of a table, each with its run; `R` stands for no cell of a grid.
    pub fn of<R: Record>(key: &'static str, file: &'static str, runs: &'a [Named]) -> Self {
        let own = R::COLUMNS.iter().map(|column| column.name.to_owned());
        let header = std::iter::once("run".to_owned()).chain(own).collect();
        Self::new(key, file, header, |take| each(runs, take, |row: R, _| Ok(fields(&row))))
    }

    /// The rows of a table, each with its run and what its cell is.
    pub fn of_cells<R: Record>(key: &'static str, file: &'static str, runs: &'a [Named]) -> Self {
        // A column that has the name of one of the cell's is called after its table; those of the cells themselves stand there already.
        let named = move |name: &str| match CELL.contains(&name) && R::FILE != CellRow::FILE {
            true => format!("{key}_{name}"),
            false => name.to_owned(),
        };
        let own = R::COLUMNS.iter().map(|column| named(column.name));
        let own = own.filter(|name| name != "cell" && !CELL.contains(&name.as_str()));
        let failed = runs.iter().any(|run| !run.failed.is_empty()).then(|| FAILED.to_owned());
        let header = ["run"].into_iter().chain(CELL).map(str::to_owned).chain(own).chain(failed).collect();
        Self::new(key, file, header, move |take| {
            for run in runs.iter().filter(|run| run.run.has::<R>()) {
                let cells = cells::by_key(&run.run)?;
                let (mut drawn, mut goes_on, mut told) = (false, true, HashSet::new());
                let what = |record: &mut Row, key: Key| -> Result<()> {
                    record.insert("run".into(), run.name.as_str().into());
                    record.extend(identity(known(&cells, key, &run.run)?));
                    record
                        .extend(run.failed.get(&key).map(|error| (FAILED.to_owned(), error.as_str().into())));
                    Ok(())
                };
                run.run.while_true(|row: R| {
                    let mut record: Row =
                        fields(&row).into_iter().map(|(name, value)| (named(&name), value)).collect();
                    let key = record.remove("cell").as_ref().and_then(Value::as_str).map(str::to_owned);
                    let key = Key(u64::from_str_radix(&key.unwrap_or_default(), 16).unwrap_or_default());
                    what(&mut record, key)?;
                    match run.failed.contains_key(&key) {
                        true => drop(told.insert(key)),
                        false => drawn = true,
                    }
                    goes_on = take(record)?;
                    Ok(goes_on)
                })?;
                // A table that no other cell of the run has says nothing of those that failed.
                let failed =
                    if drawn || run.failed.len() == cells.len() { run.run.all()? } else { Vec::new() };
                for FailureRow { cell, .. } in failed {
                    if goes_on && told.insert(cell) {
                        let mut record = Row::new();
                        what(&mut record, cell)?;
                        goes_on = take(record)?;
                    }
                }
                if !goes_on {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Goes through the records, as long as `take` returns true. Errors: the tables, and of `take`.
    pub fn while_true(&self, take: Take) -> Result<()> {
        (self.source)(take)
    }

    /// Whether there are any. Errors: the tables.
    pub fn is_empty(&self) -> Result<bool> {
        let mut empty = true;
        self.while_true(&mut |_| {
            empty = false;
            Ok(false)
        })?;
        Ok(empty)
    }

    /// The records, each changed.
    pub(in crate::study) fn with(self, change: impl Fn(&mut Row) + 'a) -> Self {
        let before = self.source;
        let source = move |take: Take| {
            before(&mut |mut row| {
                change(&mut row);
                take(row)
            })
        };
        Self { source: Box::new(source), ..self }
    }

    /// The records, and more behind them.
    pub(in crate::study) fn and(self, more: Vec<Row>) -> Self {
        let before = self.source;
        let source = move |take: Take| {
            let mut goes_on = true;
            before(&mut |row| {
                goes_on = take(row)?;
                Ok(goes_on)
            })?;
            let mut more = more.iter();
            while let Some(row) = more.next().filter(|_| goes_on) {
                goes_on = take(row.clone())?;
            }
            Ok(())
        };
        Self { source: Box::new(source), ..self }
    }

    /// Writes them as CSV. `place`: what is written, for errors; `headed`: with the header. Errors: the tables; the place.
    pub fn csv(&self, place: &Path, out: &mut dyn Write, headed: bool) -> Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let failed = |e: csv::Error| Failure::write(place, e);
        if headed {
            writer.write_record(&self.header).map_err(failed)?;
        }
        self.while_true(&mut |row| {
            let text = |name: &String| match row.get(name) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => field(text).into_owned(),
                Some(other) => other.to_string(),
            };
            writer.write_record(self.header.iter().map(text)).map_err(failed)?;
            Ok(true)
        })?;
        writer.flush().map_err(|e| Failure::write(place, e))
    }
}

/// Goes through the rows of a table of some runs, each as a record with its run.
fn each<R: Record>(runs: &[Named], take: Take, mut record: impl FnMut(R, &Run) -> Result<Row>) -> Result<()> {
    for Named { name, run, .. } in runs {
        let mut goes_on = true;
        run.while_true(|row: R| {
            let mut record = record(row, run)?;
            record.insert("run".into(), name.as_str().into());
            goes_on = take(record)?;
            Ok(goes_on)
        })?;
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// Words as CSV.
pub fn lines(header: &[String], rows: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in std::iter::once(header).chain(rows.iter().map(Vec::as_slice)) {
        writer.write_record(row.iter().map(|text| field(text).into_owned())).expect("it goes to memory");
    }
    String::from_utf8_lossy(&writer.into_inner().expect("it goes to memory")).into_owned()
}

/// What a cell is.
pub(in crate::study) fn identity(cell: &CellRow) -> Map<String, Value> {
    fields(cell).into_iter().filter(|(name, _)| CELL.contains(&name.as_str())).collect()
}

/// The fields of a row.
pub(in crate::study) fn fields<R: Record>(row: &R) -> Map<String, Value> {
    match serde_json::to_value(row) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}
