//! One release of a tree as a noisy file: what `congenial infer` reads.

use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::input::{KeptNodes, NOISY, Subject};
use crate::page::data_column;
use crate::store::RunFolder;
use crate::table::{Field, Kind, Value};

/// The name of the file in the folder of a cell.
pub(super) const FILE: &str = "release.parquet";

/// Whether a noisy file says all of the law of a cell's releases: it has no inequalities between nodes.
pub(super) fn has_law(plan: &Plan, cell: &Cell) -> bool {
    cell.at.method.kind().is_free() || !plan.subject.ties_nodes()
}

/// Writes the release with these errors of all nodes. Errors: the disk.
pub(super) fn write(
    plan: &Plan,
    folder: &RunFolder,
    (cell, kept): (&Cell, &KeptNodes),
    errors: &[f64],
) -> Result<()> {
    let Subject::Hierarchy(table) = &plan.subject else { return Ok(()) };
    let tree = &table.hierarchy;
    let integers = cell.at.method.releases_integers(cell.at.law);
    let keys = kept.level_names[1..].iter().map(|name| Field::new(&data_column(name, &NOISY), Kind::Text));
    let kinds = [
        if integers { Kind::I64 } else { Kind::F64 },
        Kind::Text,
        Kind::F64,
        Kind::Bool,
        Kind::Text,
        Kind::Text,
    ];
    let names = ["value", "law", "scale", "known", "method", "options"];
    let own = names.iter().zip(kinds).map(|(name, kind)| Field::new(name, kind));
    let mut file = folder.rows(&format!("cells/{}/{FILE}", cell.key_text()), keys.chain(own).collect())?;
    let below = kept.level_names.len() - 1;
    let options = cell.at.method.all_options();
    for (v, error) in errors.iter().enumerate() {
        let level = tree.level(v);
        let keys = kept.keys(tree, level, v);
        let columns = file.row()?;
        let (of_keys, own) = columns.split_at_mut(below);
        for (place, column) in of_keys.iter_mut().enumerate() {
            column.put_text(keys.get(place).copied().unwrap_or_default().as_bytes());
        }
        match integers {
            true => (table.counts[v] + *error as i64).put(&mut own[0]),
            false => (table.counts[v] as f64 + error).put(&mut own[0]),
        }
        own[1].put_text(cell.at.law.name().as_bytes());
        cell.calibration.scales[level].put(&mut own[2]);
        tree.is_known(v).put(&mut own[3]);
        own[4].put_text(cell.at.method.name().as_bytes());
        own[5].put_text(options.as_bytes());
    }
    file.finish()
}
