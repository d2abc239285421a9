//! What is known of the leaves: a table with a row for each.

use super::Noisy;
use super::noisy::Structure;
use crate::failure::{Failure, Result};
use crate::input::{CsvTable, Wanted};
use std::path::Path;

/// A table with a row for each leaf.
#[derive(Debug)]
pub(super) struct Leaves {
    table: CsvTable,
    /// By leaf, in the order of the tree.
    rows: Vec<usize>,
}

impl Leaves {
    /// Reads the columns of the levels with the keys of a leaf, and all others.
    ///
    /// Refused, with file and row: a missing column, keys that are those of no leaf, a leaf twice, one without a row.
    pub(super) fn read(path: &Path, noisy: &Noisy) -> Result<Self> {
        let Structure::Tree(nodes) = &noisy.structure else {
            let message = "--leaves: want the release of a tree, this is one of a table";
            return Err(Failure::data(&noisy.path, message));
        };
        let table = CsvTable::read_wanted(path, &Wanted::readable())?;
        let keys = noisy.columns.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
        let leaves = noisy.parts();
        let mut rows: Vec<Option<usize>> = vec![None; nodes.tree.leaves().len()];
        for row in 0..table.len() {
            let own: Vec<&str> = keys.iter().map(|&place| table.text(row, place)).collect();
            let refused = |what: String| table.bad_row(row, format!("`{}` {what}", own.join(", ")));
            let leaf =
                leaves.get(&own).ok_or_else(|| refused(format!("is no leaf of {}", noisy.path.display())))?;
            if let Some(first) = rows[nodes.tree.leaf_number(*leaf) - 1].replace(row) {
                return Err(refused(format!("stands there twice (first on {})", table.place(first))));
            }
        }
        if let Some(leaf) = rows.iter().position(Option::is_none) {
            let keys = noisy.keys(nodes.tree.leaves()[leaf] as usize).join(", ");
            let message = format!("no row of `{keys}`, want one for each leaf of {}", noisy.path.display());
            return Err(Failure::data(path, message));
        }
        Ok(Self { table, rows: rows.into_iter().flatten().collect() })
    }

    /// Where the table is.
    pub(super) fn path(&self) -> &Path {
        &self.table.path
    }

    /// By leaf, the text in a column. Errors: no such column, one that cannot be read.
    fn texts(&self, name: &str) -> Result<Vec<(usize, &str)>> {
        if let Some((name, why)) = self.table.unread().iter().find(|(unread, _)| unread == name) {
            return Err(Failure::data(self.path(), format!("column `{name}` {why}")));
        }
        let place = self.table.column(name)?;
        Ok(self.rows.iter().map(|&row| (row, self.table.text(row, place))).collect())
    }

    /// By leaf, what is read of a column. Errors: what cannot be, with its row; `want`: what is wanted.
    fn read_as<T>(&self, name: &str, want: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
        let refused = |row, text| self.table.bad_row(row, format!("`{name}` = `{text}`, want {want}"));
        self.texts(name)?
            .into_iter()
            .map(|(row, text)| read(text).ok_or_else(|| refused(row, text)))
            .collect()
    }

    /// By leaf, a finite number.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        self.read_as(name, "a number", |text| text.parse().ok().filter(|x: &f64| x.is_finite()))
    }

    /// By leaf, a number > 0.
    pub(super) fn positive(&self, name: &str) -> Result<Vec<f64>> {
        let good = |x: &f64| x.is_finite() && *x > 0.0;
        self.read_as(name, "a number > 0", |text| text.parse().ok().filter(good))
    }

    /// By leaf, an end of a range; `none` where it is blank.
    pub(super) fn ends(&self, name: &str, none: i64) -> Result<Vec<i64>> {
        let read = |text: &str| match text {
            "" => Some(none),
            text => {
                let number = text.parse::<f64>().ok();
                number.filter(|x| x.fract() == 0.0 && x.abs() <= (1u64 << 53) as f64).map(|x| x as i64)
            }
        };
        self.read_as(name, "an integer of at most 2^53 in size, or a blank", read)
    }
}
