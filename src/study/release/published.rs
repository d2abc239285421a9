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
    published_from(&CsvTable::read(path)?)
}

/// The same from a file that was read.
pub fn published_from(table: &CsvTable) -> Result<Vec<Published>> {
    let names = ["column", "method", "laws", "epsilon", "level", "value"];
    let mut place = [0; 6];
    for (place, name) in place.iter_mut().zip(names) {
        *place = table.column(name)?;
    }
    table
        .to_rows()
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
                level: text(4).parse().ok().filter(|&level| level >= 1).ok_or_else(|| {
                    table.bad(*line, format!("`level` = `{}`, want an integer >= 1", text(4)))
                })?,
                value: number(5)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_integers_from_1() {
        let read = |level: &str| {
            let text = format!("column,method,laws,epsilon,level,value\nc,exact,l1|l2,1,{level},2\n");
            published_from(&CsvTable::from_reader(Path::new("p.csv"), text.as_bytes())?)
        };
        assert_eq!(read("3").unwrap()[0].level, 3);
        for level in ["0", "-1", "1.5", "4294967296", "1e400", ""] {
            let refused = read(level).unwrap_err().to_string();
            assert_eq!(refused, format!("p.csv: line 2: `level` = `{level}`, want an integer >= 1"));
        }
    }
}
