//! Districts and queries: sums and differences over any leaves or entries, from a table with a row for each of each.

use super::Noisy;
use crate::failure::{Failure, Result};
use crate::input::{CsvTable, Wanted};
use crate::page::data_column;
use std::collections::HashMap;
use std::path::Path;

/// Weights of leaves or entries under a name.
#[derive(Debug, Clone)]
pub struct District {
    /// The name.
    pub name: String,
    /// Nodes or entries, ascending, with 1 or -1.
    pub weights: Vec<(u32, i8)>,
}

/// Reads districts or queries: the columns with the keys of a leaf or an entry, `name`, and perhaps `weight`, which is 1, 0 or -1.
///
/// Refused, with file and row: a missing column, a blank name, keys that are those of no leaf or entry, one twice under one name,
/// another weight.
pub(super) fn read(path: &Path, noisy: &Noisy) -> Result<Vec<District>> {
    let table = CsvTable::read_wanted(path, &Wanted::readable())?;
    let key = |level: &String| table.column(&data_column(level, &["name", "weight"]));
    let keys = noisy.columns.iter().map(key).collect::<Result<Vec<_>>>()?;
    let parts = noisy.parts();
    of_table(&table, &keys, (noisy.query_words(), &noisy.path), |own| parts.get(own).copied())
}

/// Reads them from a table. `keys`: its columns that name a part; then what a part and what it is part of is called, and the file that has
/// the parts; `find`: the number of a part.
pub(in crate::infer) fn of_table(
    table: &CsvTable,
    keys: &[usize],
    ((part, word), file): ((&str, &str), &Path),
    find: impl Fn(&[&str]) -> Option<u32>,
) -> Result<Vec<District>> {
    let name = table.column("name")?;
    let weight = table.columns.iter().position(|column| column == "weight");
    if table.is_empty() {
        let message = format!("no rows below the header, want one for each {part} of each {word}");
        return Err(Failure::data(&table.path, message));
    }
    let (mut places, mut districts): (HashMap<&str, usize>, Vec<District>) = Default::default();
    let mut seen: HashMap<(usize, u32), usize> = HashMap::new();
    for row in 0..table.len() {
        let own: Vec<&str> = keys.iter().map(|&place| table.text(row, place)).collect();
        let leaf = find(&own).ok_or_else(|| {
            let message = format!("`{}` is no {part} of {}", own.join(", "), file.display());
            table.bad_row(row, message)
        })?;
        let text = table.text(row, name);
        if text.is_empty() {
            return Err(table.bad_row(row, format!("`name` is blank, want the name of a {word}")));
        }
        let place = *places.entry(text).or_insert_with(|| {
            districts.push(District { name: text.to_owned(), weights: Vec::new() });
            districts.len() - 1
        });
        if let Some(first) = seen.insert((place, leaf), row) {
            let message =
                format!("`{}` is in {text} twice (first on {})", own.join(", "), table.place(first));
            return Err(table.bad_row(row, message));
        }
        let weight = match weight.map_or("1", |place| table.text(row, place)) {
            "1" => 1,
            "-1" => -1,
            "0" => continue,
            other => return Err(table.bad_row(row, format!("`weight` = `{other}`, want 1, 0 or -1"))),
        };
        districts[place].weights.push((leaf, weight));
    }
    districts.iter_mut().for_each(|district| district.weights.sort_unstable());
    Ok(districts)
}
