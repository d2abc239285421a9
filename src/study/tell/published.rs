//! Published figures: a file of them, for every kind of study.
//!
//! A figure names a table of the report (`l1_error`: what `report --out` writes as `l1_error.csv`), a column of it, and
//! by further columns the rows beside which it stands.

use crate::failure::Result;
use crate::input::CsvTable;
use crate::store::{PUBLISHED, Run};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::Path;

/// The `source` of a row that is no row of ours, in a table with that column.
pub(in crate::study) const PUBLISHED_ROW: &str = "published";
/// Columns that every file has; `se` may be left out.
const COLUMNS: [&str; 5] = ["source", "name", "table", "figure", "value"];
const ERROR: &str = "se";
/// Before a column of the table that has a name of these.
const OF_ROW: &str = "row.";

/// One published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Where it was published.
    pub source: String,
    /// The source's own name of what it is of.
    pub name: String,
    /// The table of the report that it stands beside.
    pub table: String,
    /// The column of that table.
    pub figure: String,
    /// The figure.
    pub value: f64,
    /// Its standard error, if it was published.
    pub standard_error: Option<f64>,
    /// Columns of that table and what they must say: one of the values between `|`. What is empty may say anything.
    pub keys: Vec<(String, String)>,
    /// Its line in the file.
    pub line: u64,
}

impl Published {
    /// What a column must say, if anything.
    pub fn key(&self, name: &str) -> Option<&str> {
        self.keys.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a row has these keys.
    pub(super) fn meets(&self, row: &Map<String, Value>) -> bool {
        self.keys.iter().all(|(key, wanted)| wanted.split('|').any(|wanted| is(row.get(key), wanted)))
    }
}

/// Whether a field says something: numbers as numbers.
fn is(field: Option<&Value>, wanted: &str) -> bool {
    match field {
        Some(Value::String(text)) => text == wanted,
        Some(Value::Number(x)) => wanted.parse::<f64>().is_ok_and(|wanted| x.as_f64() == Some(wanted)),
        Some(Value::Bool(x)) => wanted.parse::<bool>().is_ok_and(|wanted| *x == wanted),
        _ => false,
    }
}

/// Reads a file of published figures.
pub fn read_published(path: &Path) -> Result<Vec<Published>> {
    published_from(&CsvTable::read(path)?)
}

/// Published figures of a file that was read. Errors: a column that is missing; what is no number; a figure twice; none.
pub fn published_from(table: &CsvTable) -> Result<Vec<Published>> {
    let mut place = [0; COLUMNS.len()];
    for (place, name) in place.iter_mut().zip(COLUMNS) {
        *place = table.column(name)?;
    }
    let keys: Vec<usize> = (0..table.columns.len())
        .filter(|&i| !COLUMNS.contains(&&*table.columns[i]) && table.columns[i] != ERROR)
        .collect();
    let error = table.columns.iter().position(|column| column == ERROR);
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for (line, row) in table.to_rows() {
        let number = |place: usize, least: f64, wanted: &str| {
            let refused =
                || table.bad(line, format!("`{}` = `{}`, want {wanted}", table.columns[place], row[place]));
            let fits = |x: &f64| x.is_finite() && *x >= least;
            row[place].parse::<f64>().ok().filter(fits).ok_or_else(refused)
        };
        let [source, name, of, figure, value] = place;
        let given = keys.iter().filter(|&&key| !row[key].is_empty());
        let published = Published {
            source: match row[source].is_empty() {
                false => row[source].clone(),
                true => {
                    return Err(
                        table.bad(line, format!("`{}` is empty, want where it was published", COLUMNS[0]))
                    );
                }
            },
            name: row[name].clone(),
            table: row[of].clone(),
            figure: row[figure].clone(),
            value: number(value, f64::MIN, "a number")?,
            standard_error: match error.filter(|&place| !row[place].is_empty()) {
                Some(place) => Some(number(place, 0.0, "a number >= 0, or nothing")?),
                None => None,
            },
            keys: given
                .map(|&key| {
                    let name = &table.columns[key];
                    (name.strip_prefix(OF_ROW).unwrap_or(name).to_owned(), row[key].clone())
                })
                .collect(),
            line,
        };
        let what = (
            published.source.clone(),
            published.name.clone(),
            published.table.clone(),
            published.figure.clone(),
            published.keys.iter().map(|(key, value)| (key.clone(), normal(value))).collect::<Vec<_>>(),
        );
        if !seen.insert(what) {
            return Err(table.bad(line, "this figure of this source is given twice"));
        }
        all.push(published);
    }
    if all.is_empty() {
        return Err(table.bad(1, "want at least one figure"));
    }
    Ok(all)
}

/// Values that say the same are the same text: numbers, and several in another order.
fn normal(values: &str) -> Vec<String> {
    let number = |value: &str| value.parse::<f64>().map_or_else(|_| value.to_owned(), |x| x.to_string());
    let mut values: Vec<String> = values.split('|').map(number).collect();
    values.sort_unstable();
    values
}

/// The figures of a run, if it has any. Errors: the file.
pub(in crate::study) fn of(run: &Run) -> Result<Vec<Published>> {
    run.file(PUBLISHED).map_or_else(|| Ok(Vec::new()), |path| read_published(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Published>> {
        published_from(&CsvTable::from_reader(Path::new("p.csv"), text.as_bytes())?)
    }

    const HEADER: &str = "source,name,table,figure,value,se,law,epsilon\n";

    #[test]
    fn what_is_wrong_is_named() {
        for (rows, wanted) in [
            ("a,b,t,f,x,,l1,1\n", "line 2: `value` = `x`, want a number"),
            ("a,b,t,f,nan,,l1,1\n", "line 2: `value` = `nan`, want a number"),
            ("a,b,t,f,1,-1,l1,1\n", "line 2: `se` = `-1`, want a number >= 0, or nothing"),
            ("a,b,t,f,1,,l1,1\na,b,t,f,2,,l1,1\n", "line 3: this figure of this source is given twice"),
            (
                "a,b,t,f,1,,l1|l2,0.5\na,b,t,f,2,,l2|l1,0.50\n",
                "line 3: this figure of this source is given twice",
            ),
            (",b,t,f,1,,l1,1\n", "line 2: `source` is empty, want where it was published"),
            ("", "line 1: want at least one figure"),
        ] {
            assert_eq!(read(&format!("{HEADER}{rows}")).unwrap_err().to_string(), format!("p.csv: {wanted}"));
        }
        assert!(read("source,table\n").unwrap_err().to_string().contains("no column `name`"));
        // Without `se` and keys.
        let all = read("source,name,table,figure,value\na,b,t,f,1\n").unwrap();
        assert_eq!((all[0].standard_error, all[0].keys.len()), (None, 0));
    }
}
