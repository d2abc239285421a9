//! Sets of areas: sums and differences over areas of any level, from a table with a row for each of each.

use super::measured::Measured;
use crate::failure::{Failure, Result};
use crate::input::{CsvTable, Wanted, depth};
use crate::page::line;
use std::collections::HashMap;
use std::path::Path;

/// Weights of areas under a name.
#[derive(Debug, Clone)]
pub(super) struct AreaSet {
    pub(super) name: String,
    /// Areas, ascending, with 1 or -1.
    pub(super) weights: Vec<(usize, f64)>,
}

/// Reads sets: the columns with the names of an area, blank below its level, `name`, and perhaps `weight`, which is 1, 0 or -1.
///
/// Refused, with file and row: a missing column, a blank name, names that are those of no area, one twice under one name, another weight.
pub(super) fn read(path: &Path, measured: &Measured) -> Result<Vec<AreaSet>> {
    let table = CsvTable::read_wanted(path, &Wanted::readable())?;
    let levels = measured.columns.levels.iter().map(|name| table.column(name)).collect::<Result<Vec<_>>>()?;
    let name = table.column("name")?;
    let weight = table.columns.iter().position(|column| column == "weight");
    if table.is_empty() {
        return Err(Failure::data(path, "no rows below the header, want one for each area of each district"));
    }
    let areas: HashMap<Vec<&str>, usize> =
        (0..measured.tree().nodes()).map(|area| (measured.keys(area), area)).collect();
    let (mut places, mut sets): (HashMap<&str, usize>, Vec<AreaSet>) = Default::default();
    let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
    for row in 0..table.len() {
        depth(&table, &levels, row)?;
        let own: Vec<&str> = levels.iter().map(|&place| table.text(row, place)).collect();
        let area = *areas.get(&own).ok_or_else(|| {
            let message =
                format!("`{}` is no area of {}", own.join(", "), line(&measured.path.display().to_string()));
            table.bad_row(row, message)
        })?;
        let text = table.text(row, name);
        if text.is_empty() {
            return Err(table.bad_row(row, "`name` is blank, want the name of a district"));
        }
        let place = *places.entry(text).or_insert_with(|| {
            sets.push(AreaSet { name: text.to_owned(), weights: Vec::new() });
            sets.len() - 1
        });
        if let Some(first) = seen.insert((place, area), row) {
            let message =
                format!("`{}` is in {text} twice (first on {})", own.join(", "), table.place(first));
            return Err(table.bad_row(row, message));
        }
        let weight = match weight.map_or("1", |place| table.text(row, place)) {
            "1" => 1.0,
            "-1" => -1.0,
            "0" => continue,
            other => return Err(table.bad_row(row, format!("`weight` = `{other}`, want 1, 0 or -1"))),
        };
        sets[place].weights.push((area, weight));
    }
    sets.iter_mut().for_each(|set| set.weights.sort_unstable_by_key(|(area, _)| *area));
    Ok(sets)
}
