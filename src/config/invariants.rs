//! Checks of `[[invariant]]`: everything that can be seen without the data.

use super::checker::Checker;
use super::wire::WireInvariant;
use crate::failure::Result;
use crate::input::{InvariantSpec, read_matrix};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

impl Checker<'_> {
    pub(super) fn invariant(
        &self,
        wire: &WireInvariant,
        span: Range<usize>,
        folder: &Path,
    ) -> Result<InvariantSpec> {
        let refuse =
            |message: &str, label: &str| self.error(message.to_owned(), span.clone(), label.to_owned());
        let named = |key: &str, columns: &[String]| {
            if columns.is_empty() {
                return Err(refuse(&format!("{key}: got an empty list"), "want at least one column"));
            }
            let mut seen = HashSet::new();
            match columns.iter().find(|column| !seen.insert(*column)) {
                Some(twice) => Err(refuse(&format!("{key}: got `{twice}` twice"), "want every column once")),
                None => Ok(columns.to_vec()),
            }
        };
        let coefficients = |rows: &Option<Vec<Vec<i64>>>, table: &Option<String>| {
            let rows = match (rows, table) {
                (Some(rows), None) => rows.clone(),
                (None, Some(path)) => read_matrix(&folder.join(path))?,
                _ => {
                    let message = "coefficients: want one of `rows` and `table`";
                    return Err(refuse(message, "either rows or a table"));
                }
            };
            match rows.iter().position(|row| row.len() != rows[0].len()) {
                Some(i) => {
                    let message = format!("coefficients: row {} has {} entries", i + 1, rows[i].len());
                    Err(refuse(&message, &format!("want {} as in the first", rows[0].len())))
                }
                None => Ok(rows),
            }
        };
        Ok(match wire {
            WireInvariant::Nonnegative {} => InvariantSpec::Nonnegative,
            WireInvariant::Bounds { lower: None, upper: None } => {
                return Err(refuse("bounds: got none", "want `lower` or `upper`"));
            }
            WireInvariant::Bounds { lower, upper } => InvariantSpec::Bounds(lower.clone(), upper.clone()),
            WireInvariant::AtLeast { rows, table, values } => {
                let rows = coefficients(rows, table)?;
                if values.len() != rows.len() {
                    let message = format!("values: got {} for {} rows", values.len(), rows.len());
                    return Err(refuse(&message, "want one value per row"));
                }
                InvariantSpec::AtLeast(rows, values.clone())
            }
            WireInvariant::Total {} => InvariantSpec::Total,
            WireInvariant::Partition { by } => InvariantSpec::Partition(named("by", &by.0)?),
            WireInvariant::Margins { rows, columns } => {
                if rows == columns {
                    return Err(refuse(
                        &format!("margins: got `{rows}` for both"),
                        "want two different columns",
                    ));
                }
                InvariantSpec::Margins { rows: rows.clone(), columns: columns.clone() }
            }
            WireInvariant::Subsets { sets: Some(sets), columns: None } => {
                let mut zero_based = Vec::new();
                for set in sets {
                    let of = |&entry: &i64| {
                        entry.checked_sub(1).and_then(|entry| usize::try_from(entry).ok()).ok_or(entry)
                    };
                    let set =
                        set.iter().map(of).collect::<std::result::Result<Vec<_>, _>>().map_err(|entry| {
                            refuse(&format!("sets: got entry {entry}"), "entries are numbered from 1")
                        })?;
                    zero_based.push(set);
                }
                InvariantSpec::Sets(zero_based)
            }
            WireInvariant::Subsets { sets: None, columns: Some(columns) } => {
                InvariantSpec::Indicators(named("columns", columns)?)
            }
            WireInvariant::Subsets { .. } => {
                return Err(refuse("subsets: want one of `sets` and `columns`", "either sets or columns"));
            }
            WireInvariant::Hierarchy { levels } => InvariantSpec::Hierarchy(named("levels", levels)?),
            WireInvariant::Matrix { rows, table, values } => {
                let rows = coefficients(rows, table)?;
                if let Some(values) = values.as_ref().filter(|values| values.len() != rows.len()) {
                    let message = format!("values: got {} for {} rows", values.len(), rows.len());
                    return Err(refuse(&message, "want one value per row"));
                }
                InvariantSpec::Matrix { rows, values: values.clone() }
            }
        })
    }
}
