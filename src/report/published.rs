//! Published figures, to print beside ours.

use crate::failure::Result;
use crate::input::CsvTable;
use std::path::Path;

/// One published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The source's own name of the column.
    pub column: String,
    /// The method of ours that it stands beside.
    pub method: String,
    /// The laws beside which it is shown.
    pub laws: Vec<String>,
    /// Budget.
    pub epsilon: f64,
    /// 1 = root.
    pub level: u32,
    /// Normalised L1 error.
    pub value: f64,
}

/// Reads a table with the columns `column, method, laws, epsilon, level, value`; `laws` are joined by `|`.
pub fn read_published(path: &Path) -> Result<Vec<Published>> {
    let table = CsvTable::read(path)?;
    let names = ["column", "method", "laws", "epsilon", "level", "value"];
    let mut place = [0; 6];
    for (place, name) in place.iter_mut().zip(names) {
        *place = table.column(name)?;
    }
    table
        .rows
        .iter()
        .map(|(line, row)| {
            let text = |i: usize| row[place[i]].as_str();
            let number =
                |i: usize| {
                    text(i).parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
                        table.bad(*line, format!("`{}` = `{}`, want a number", names[i], text(i)))
                    })
                };
            Ok(Published {
                column: text(0).into(),
                method: text(1).into(),
                laws: text(2).split('|').map(str::to_owned).collect(),
                epsilon: number(3)?,
                level: number(4)? as u32,
                value: number(5)?,
            })
        })
        .collect()
}
