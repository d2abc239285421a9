//! Rows of tables as records of CSV and JSON.

use super::cells::{self, CellRow};
use super::release::known;
use crate::failure::Result;
use crate::store::Run;
use crate::table::{Key, Record};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A run and its name in a report.
#[derive(Debug)]
pub struct Named {
    /// Two runs of one name are told apart by their hash.
    pub name: String,
    /// The run.
    pub run: Run,
    /// Its first cells, as many as pages show.
    pub printed: Vec<CellRow>,
}

/// Cells of a run that pages show; the others are in its tables.
pub const PRINTED: usize = 200;
/// Cells of a run that get a page each, in studies that print such pages; the others are in the tables.
pub(super) const PAGES: usize = 24;

impl Named {
    /// Of a run. Errors: its cells.
    pub fn new(name: String, run: Run) -> Result<Self> {
        let mut printed = Vec::new();
        run.while_true(|row: CellRow| {
            printed.push(row);
            Ok(printed.len() < PRINTED)
        })?;
        Ok(Self { name, run, printed })
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
        page: impl Fn(&CellRow, &[R]) -> String,
    ) -> String {
        let mut out: String = cells.iter().take(PAGES).map(|(cell, rows)| page(cell, rows)).collect();
        if cells.len() > PAGES {
            out += &format!(
                "{}: pages like these are printed for the first {PAGES} cells. The rows of all cells are in {}, and in {csv} \
                 of `report {} --out DIRECTORY`.\n\n",
                self.name,
                R::FILE,
                self.run.folder.display()
            );
        }
        out
    }
}

/// Records of some runs.
#[derive(Debug)]
pub struct Records {
    /// Their key in JSON.
    pub key: &'static str,
    /// Their file in CSV.
    pub file: &'static str,
    /// Names of the fields, in order.
    pub header: Vec<String>,
    /// The records, each with these fields.
    pub rows: Vec<Map<String, Value>>,
}

/// What of a cell stands in every record.
const CELL: [&str; 8] =
    ["law", "split", "sensitivity", "delta", "method", "options", "nonnegative", "epsilon"];

impl Records {
    /// No records of these fields.
    pub fn new(key: &'static str, file: &'static str, header: &[&str]) -> Self {
        Self { key, file, header: header.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// The rows of a table, each with its run; `R` stands for no cell of a grid.
    pub fn of<R: Record>(key: &'static str, file: &'static str, runs: &[Named]) -> Result<Self> {
        let mut records = Self::new(key, file, &["run"]);
        records.header.extend(R::COLUMNS.iter().map(|column| column.name.to_owned()));
        for Named { name, run, .. } in runs {
            run.each(|row: R| {
                let mut record = fields(&row);
                record.insert("run".into(), name.as_str().into());
                records.rows.push(record);
                Ok(())
            })?;
        }
        Ok(records)
    }

    /// The rows of a table, each with its run and what its cell is.
    pub fn of_cells<R: Record>(key: &'static str, file: &'static str, runs: &[Named]) -> Result<Self> {
        let mut records = Self::new(key, file, &["run"]);
        // A column that has the name of one of the cell's is called after its table; those of the cells themselves stand there already.
        let named = |name: &str| match CELL.contains(&name) && R::FILE != CellRow::FILE {
            true => format!("{key}_{name}"),
            false => name.to_owned(),
        };
        let own = R::COLUMNS.iter().map(|column| named(column.name));
        let own = own.filter(|name| name != "cell" && !CELL.contains(&name.as_str()));
        records.header.extend(CELL.map(str::to_owned).into_iter().chain(own));
        for Named { name, run, .. } in runs {
            if !run.has::<R>() {
                continue;
            }
            let cells = cells::by_key(run)?;
            run.each(|row: R| {
                let fields = fields(&row).into_iter();
                let mut record: Map<String, Value> =
                    fields.map(|(name, value)| (named(&name), value)).collect();
                if let Some(key) = record.remove("cell").as_ref().and_then(Value::as_str) {
                    let key = Key(u64::from_str_radix(key, 16).unwrap_or_default());
                    record.extend(identity(known(&cells, key, run)?));
                }
                record.insert("run".into(), name.as_str().into());
                records.rows.push(record);
                Ok(())
            })?;
        }
        Ok(records)
    }

    /// As CSV.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.header).expect("writing to memory");
        for row in &self.rows {
            let text = |name: &String| match row.get(name) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => plain(text),
                Some(other) => other.to_string(),
            };
            writer.write_record(self.header.iter().map(text)).expect("writing to memory");
        }
        String::from_utf8(writer.into_inner().expect("writing to memory")).expect("UTF-8 in, UTF-8 out")
    }
}

/// A text that a spreadsheet does not take for a formula: one that begins as such, and is no number, stands behind an apostrophe.
fn plain(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if formula && text.parse::<f64>().is_err() { format!("'{text}") } else { text.to_owned() }
}

/// What a cell is.
pub(super) fn identity(cell: &CellRow) -> Map<String, Value> {
    fields(cell).into_iter().filter(|(name, _)| CELL.contains(&name.as_str())).collect()
}

/// The fields of a row.
pub(super) fn fields<R: Record>(row: &R) -> Map<String, Value> {
    match serde_json::to_value(row) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}
