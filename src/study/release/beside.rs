//! A release by somebody else, to print beside our errors entry by entry.

use super::config::{Beside, ReleasePart};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::input::{CsvTable, Shape, Subject};
use crate::page::line;
use crate::store::{BESIDE, Run};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// One entry of it.
#[derive(Debug, Clone, PartialEq)]
pub struct BesideRow {
    /// The entry, named as in our table.
    pub name: String,
    /// Its confidential count.
    pub confidential: i64,
    /// What was released.
    pub released: i64,
    /// What release this is, and how it differs.
    pub note: String,
}

/// The copy that a run keeps of the release that its config names, if it names one. Errors: the file; nothing of ours
/// that its rows could stand beside.
pub(super) fn copy(plan: &Plan) -> Result<Option<(&'static str, Vec<u8>)>> {
    let config = &plan.config;
    let asked = ReleasePart::of(config);
    let Some(source) = &asked.beside else { return Ok(None) };
    let names = match &config.data.shape {
        Shape::Table { entry: Some(names), .. } => names,
        // On a tree it stands beside the answers to the query of its leaves.
        Shape::Hierarchy { levels, .. }
            if asked.queries.queries.iter().any(|query| query.columns == *levels) =>
        {
            levels
        }
        shape => {
            let needs = match shape {
                Shape::Table { .. } => "`data.entry`, the columns that name an entry in both tables",
                Shape::Hierarchy { .. } => {
                    "one of `report.queries` to be `data.levels`, the columns that name a leaf in both tables"
                }
            };
            return Err(Failure::Usage(format!("{}: report.beside needs {needs}", config.path.display())));
        }
    };
    let rows = beside_source_from(&CsvTable::read(&source.table)?, source, names)?;
    known_beside(&rows, source, names, plan)?;
    Ok(Some((BESIDE, write_beside(&rows))))
}

/// The release that a config names, from its file; `entry`: the columns that name an entry.
///
/// Refused: a missing column, a count that is not an integer, an entry twice, no row.
pub fn beside_source_from(table: &CsvTable, beside: &Beside, entry: &[String]) -> Result<Vec<BesideRow>> {
    let named = entry.iter().map(|c| table.column(c)).collect::<Result<Vec<_>>>()?;
    let columns = [&beside.confidential, &beside.released];
    let places = [table.column(columns[0])?, table.column(columns[1])?];
    let row = |(line, values): &(u64, Vec<String>)| {
        let number = |i: usize| {
            let text = &values[places[i]];
            text.parse::<i64>()
                .map_err(|_| table.bad(*line, format!("`{}` = `{text}`, want an integer", columns[i])))
        };
        Ok(BesideRow {
            name: named.iter().map(|&i| values[i].as_str()).collect::<Vec<_>>().join("/"),
            confidential: number(0)?,
            released: number(1)?,
            note: beside.note.clone(),
        })
    };
    let rows = table.to_rows();
    if rows.is_empty() {
        return Err(table.bad(1, "want at least one entry"));
    }
    let mut seen = HashSet::new();
    rows.iter()
        .map(|line| {
            let row = row(line)?;
            match seen.insert(row.name.clone()) {
                true => Ok(row),
                false => Err(table.bad(line.0, format!("the entry `{}` stands there twice", row.name))),
            }
        })
        .collect()
}

/// Whether the release is of our entries: what is not is said. `entry`: the columns that name an entry. Refused: it has none of them.
fn known_beside(rows: &[BesideRow], beside: &Beside, entry: &[String], plan: &Plan) -> Result<()> {
    let ours: HashSet<Cow<str>> = match (&plan.subject, &plan.asked) {
        (Subject::Table(table), _) => {
            (0..table.counts.len()).map(|i| Cow::Borrowed(&table.names[i])).collect()
        }
        (Subject::Hierarchy(_), Some(asked)) => {
            let leaves = asked.queries.iter().find(|query| query.columns == entry);
            leaves
                .into_iter()
                .flat_map(|query| (0..query.groups()).map(|i| Cow::Owned(query.name(i))))
                .collect()
        }
        (Subject::Hierarchy(_), None) => return Ok(()),
    };
    let unknown: Vec<&str> =
        rows.iter().map(|row| row.name.as_str()).filter(|name| !ours.contains(*name)).collect();
    let Some(first) = unknown.first() else { return Ok(()) };
    let (path, all) = (beside.table.display(), rows.len());
    if unknown.len() == all {
        let message = format!("none of its {all} entries is one of ours: the first is `{first}`");
        return Err(Failure::data(&beside.table, message));
    }
    say!(
        "warning: {path}: {} of {all} entries are none of ours, the first is `{}`",
        unknown.len(),
        line(first)
    );
    Ok(())
}

/// The rows as the CSV that a run folder keeps.
pub fn write_beside(rows: &[BesideRow]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let record = |writer: &mut csv::Writer<Vec<u8>>, fields: [&str; 4]| {
        writer.write_record(fields).expect("writing to memory");
    };
    record(&mut writer, ["name", "confidential", "released", "note"]);
    for row in rows {
        let (confidential, released) = (row.confidential.to_string(), row.released.to_string());
        record(&mut writer, [&row.name, &confidential, &released, &row.note]);
    }
    writer.into_inner().expect("writing to memory")
}

/// The rows of the copy that a run keeps. Errors: a column that is missing; a count that is no integer.
pub fn beside_from(table: &CsvTable) -> Result<Vec<BesideRow>> {
    let places = ["name", "confidential", "released", "note"].map(|name| table.column(name));
    let [name, confidential, released, note] = places;
    let (name, confidential, released, note) = (name?, confidential?, released?, note?);
    let row = |(line, values): &(u64, Vec<String>)| {
        let number = |i: usize| {
            let text = &values[i];
            text.parse().map_err(|_| table.bad(*line, format!("got `{text}`, want an integer")))
        };
        Ok(BesideRow {
            name: values[name].clone(),
            confidential: number(confidential)?,
            released: number(released)?,
            note: values[note].clone(),
        })
    };
    table.to_rows().iter().map(row).collect()
}

/// The release by somebody else that a run keeps.
pub(super) struct Theirs {
    /// Its entries, in the order of its file.
    pub(super) rows: Vec<BesideRow>,
    /// What release it is.
    pub(super) note: String,
    places: HashMap<String, usize>,
}

impl Theirs {
    /// That of a run, if it has one with any entry. Errors: the file.
    pub(super) fn of(run: &Run) -> Result<Option<Self>> {
        let Some(path) = run.file(BESIDE) else { return Ok(None) };
        let rows = beside_from(&CsvTable::read(&path)?)?;
        let Some(note) = rows.first().map(|row| row.note.clone()) else { return Ok(None) };
        // Of a name that stands there twice the first.
        let places = rows.iter().enumerate().rev().map(|(place, row)| (row.name.clone(), place)).collect();
        Ok(Some(Self { rows, note, places }))
    }

    /// The entry of this name.
    pub(super) fn get(&self, name: &str) -> Option<&BesideRow> {
        self.places.get(name).map(|&place| &self.rows[place])
    }
}

impl BesideRow {
    /// Released less confidential.
    pub(super) fn error(&self) -> i64 {
        self.released.saturating_sub(self.confidential)
    }
}
