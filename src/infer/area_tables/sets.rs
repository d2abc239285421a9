//! Sets of areas: sums and differences over areas of any level, from a table with a row for each of each.

use super::measured::Measured;
use crate::failure::Result;
use crate::infer::districts::{District, of_table};
use crate::input::{CsvTable, Wanted, depth};
use std::collections::HashMap;
use std::path::Path;

/// Reads sets: the columns with the names of an area, blank below its level, `name`, and perhaps `weight`, which is 1, 0 or -1.
///
/// Refused, with file and row: a missing column, a blank name, names that are those of no area, one twice under one name, another weight.
pub(super) fn read(path: &Path, measured: &Measured) -> Result<Vec<District>> {
    let table = CsvTable::read_wanted(path, &Wanted::readable())?;
    let levels = measured.columns.levels.iter().map(|name| table.column(name)).collect::<Result<Vec<_>>>()?;
    (0..table.len()).try_for_each(|row| depth(&table, &levels, row).map(drop))?;
    let areas: HashMap<Vec<&str>, u32> =
        (0..measured.tree().nodes()).map(|area| (measured.keys(area), area as u32)).collect();
    of_table(&table, &levels, (("area", "district"), &measured.path), |own| areas.get(own).copied())
}
