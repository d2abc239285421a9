//! Kept draws with what is released in them, and one release of them as a table with the keys of the data.

use crate::failure::guarded_harness;
use crate::table::{Table, View};
use congenial::failure::{Failure, Result as Done};
use congenial::store::Run;
use congenial::study::cells::{CellRow, by_key};
use congenial::study::release::{EntryRow, NodeDrawRow, NodeRow};
use congenial::table::{Data, Field, Key, Kind, Reader, Record, Value, Values};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use toml_edit::{DocumentMut, Item};

/// The resolved config.
const RESOLVED: &str = "config.resolved.toml";
/// The column of what is released.
const RELEASED: &str = "released";

/// The draws of nodes of a tree, with what is released beside the error.
#[pyfunction]
pub fn node_draws(py: Python, folder: PathBuf) -> PyResult<Table> {
    py.detach(|| {
        guarded_harness(|| {
            let run = Run::open(&folder)?;
            let mut counts: HashMap<String, HashMap<u64, i64>> = HashMap::new();
            run.each(|row: NodeRow| {
                counts.entry(row.data).or_default().insert(row.node, row.count);
                Ok(())
            })?;
            let cells = by_key(&run)?;
            let path = run.path(NodeDrawRow::FILE)?;
            let table = Table::open("draws", path.clone())?;
            let mut fields = table.fields().to_vec();
            fields.push(Field::new(RELEASED, Kind::F64));
            let view: View = Box::new(move |_, columns| {
                let rows = columns.first().map_or(0, Values::len);
                let mut released = Values::new(Kind::F64, false, rows);
                for row in 0..rows {
                    let draw = NodeDrawRow::get(columns, row);
                    let count = |draw: &NodeDrawRow| {
                        let of_data = counts.get(&cells.get(&draw.cell)?.data)?;
                        of_data.get(&draw.node).copied()
                    };
                    let found = draw.and_then(|draw| Some(count(&draw)? as f64 + draw.error));
                    let lost =
                        || Failure::data(&path, "a draw has a cell or a node that no table of the run has");
                    found.ok_or_else(lost)?.put(&mut released);
                }
                let mut all = columns.to_vec();
                all.push(released);
                Ok(all)
            });
            Ok(table.seen(fields, view))
        })
    })
}

/// By cell the confidential counts of the entries, in their order. Errors: the tables of the run; a cell without entries.
fn counts(run: &Run, cells: &[String]) -> Done<HashMap<String, Vec<i64>>> {
    let mut counts: HashMap<String, Vec<i64>> = cells.iter().map(|cell| (cell.clone(), Vec::new())).collect();
    run.each(|row: EntryRow| {
        if let Some(counts) = counts.get_mut(&row.cell.to_string()) {
            counts.push(row.count);
        }
        Ok(())
    })?;
    match counts.iter().find(|(_, counts)| counts.is_empty()) {
        Some((cell, _)) => {
            Err(Failure::data(&run.folder, format!("entries.parquet has no entry of the cell {cell}")))
        }
        None => Ok(counts),
    }
}

/// The draws of entries with what is released in the place of the error. `table`: of these cells, each a file.
pub fn with_counts(run: &Run, table: Table, cells: &[String]) -> Done<Table> {
    let counts = counts(run, cells)?;
    let (only, folder) = (cells.first().cloned().unwrap_or_default(), run.folder.clone());
    let fields = table.fields().to_vec();
    let kinds: Vec<Kind> = fields.iter().map(|field| field.kind).collect();
    let view: View = Box::new(move |cell, columns| {
        let counts = counts.get(cell.unwrap_or(&only)).map_or(&[][..], Vec::as_slice);
        if columns.len() != NUMBERS + counts.len() || columns.len() != kinds.len() {
            return Err(Failure::data(
                &folder,
                "the draws of a cell have other entries than entries.parquet",
            ));
        }
        let (numbers, errors) = columns.split_at(NUMBERS);
        let released = errors.iter().zip(counts).map(|(errors, &count)| {
            let data = match &errors.data {
                Data::I64(errors) => Data::I64(errors.iter().map(|error| count + error).collect()),
                Data::F64(errors) => Data::F64(errors.iter().map(|error| count as f64 + error).collect()),
                other => other.clone(),
            };
            Values { data, present: errors.present.clone() }
        });
        Ok(numbers.iter().cloned().chain(released).collect())
    });
    Ok(table.seen(fields, view))
}

/// Columns of the draws of entries that are numbers: `.chain`, `.iteration`, `.draw`.
const NUMBERS: usize = 3;

/// One release of a cell: a row for each count of a level of a tree, or for each entry, with the keys of the data and what is released.
#[pyfunction]
#[pyo3(signature = (folder, cell, replicate, level))]
pub fn release(
    py: Python,
    folder: PathBuf,
    cell: String,
    replicate: u64,
    level: Option<String>,
) -> PyResult<Table> {
    py.detach(|| {
        guarded_harness(|| {
            let run = Run::open(&folder)?;
            let cells = by_key(&run)?;
            let known = u64::from_str_radix(&cell, 16).ok().and_then(|key| cells.get(&Key(key)));
            let cell = known.ok_or_else(|| {
                Failure::Usage(format!("release: got the cell `{cell}`, want one of cells.parquet"))
            })?;
            if run.has::<NodeDrawRow>() {
                of_tree(&run, cell, replicate, level.as_deref())
            } else if level.is_some() {
                Err(Failure::Usage("release: a table of counts has no levels: want no `level`".into()))
            } else {
                of_table(&run, cell, replicate)
            }
        })
    })
}

/// What is said of a replicate that has no draw.
fn no_replicate(cell: &CellRow, replicate: u64) -> Failure {
    let last = cell.replicates.saturating_sub(1);
    Failure::Usage(format!(
        "release: got the replicate {replicate} of the cell {}, want one that was kept, of 0 to {last}",
        cell.cell
    ))
}

/// Keys, column by column, and what is released. Errors: none; whoever calls has columns of one length.
fn keyed(names: &[String], keys: &[Vec<String>], released: &[f64], integers: bool) -> Table {
    let mut fields: Vec<Field> = names.iter().map(|name| Field::new(name, Kind::Text)).collect();
    let mut columns: Vec<Values> = Vec::new();
    for place in 0..names.len() {
        let mut column = Values::new(Kind::Text, false, 0);
        keys.iter().for_each(|keys| column.put_text(keys[place].as_bytes()));
        columns.push(column);
    }
    let kind = if integers { Kind::I64 } else { Kind::F64 };
    fields.push(Field::new(RELEASED, kind));
    let mut column = Values::new(kind, false, released.len());
    match integers {
        true => released.iter().for_each(|&x| (x as i64).put(&mut column)),
        false => released.iter().for_each(|x| x.put(&mut column)),
    }
    columns.push(column);
    Table::held("release", fields, columns)
}

fn of_tree(run: &Run, cell: &CellRow, replicate: u64, level: Option<&str>) -> Done<Table> {
    let mut nodes: Vec<NodeRow> = run.all()?;
    nodes.retain(|node| node.data == cell.data);
    let mut kept: Vec<(u32, &str)> = nodes.iter().map(|node| (node.level, &node.level_name[..])).collect();
    kept.dedup();
    let level = match level {
        None => kept.last(),
        Some(name) => kept.iter().find(|(_, of)| *of == name),
    };
    let Some(&(level, _)) = level else {
        let have = kept.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!(
            "release: got another level than those that were kept, want one of {have}"
        )));
    };
    let mut errors: HashMap<u64, f64> = HashMap::new();
    run.each(|row: NodeDrawRow| {
        if row.cell == cell.cell && row.replicate == replicate {
            errors.insert(row.node, row.error);
        }
        Ok(())
    })?;
    if errors.is_empty() {
        return Err(no_replicate(cell, replicate));
    }
    let keys = node_keys(&nodes, level)?;
    let here: Vec<&NodeRow> = nodes.iter().filter(|node| node.level == level).collect();
    let error = |node: &&NodeRow| errors.get(&node.node).map(|error| node.count as f64 + error);
    let released: Option<Vec<f64>> = here.iter().map(error).collect();
    let released = released.ok_or_else(|| no_replicate(cell, replicate))?;
    let levels = run.manifest.of_data(&cell.data).levels;
    let names = levels.get(1..level as usize).unwrap_or_default();
    Ok(keyed(names, &keys, &released, cell.integers))
}

/// By node of a level the values of the columns from below the root to it. Errors: a path that can be read in two ways.
fn node_keys(nodes: &[NodeRow], level: u32) -> Done<Vec<Vec<String>>> {
    // By level and path; none of a path that two nodes have.
    let mut known: HashMap<(u32, String), Option<Vec<String>>> = HashMap::new();
    let mut keys = Vec::new();
    for node in nodes.iter().filter(|node| node.level <= level) {
        let below_root = node.level as usize - 1;
        let own = match (below_root, node.path.strip_suffix(&node.name[..])) {
            (0, _) => Some(Vec::new()),
            (1, _) => Some(vec![node.name.clone()]),
            (_, None) => None,
            (_, Some(before)) => {
                let before = before.strip_suffix('/').unwrap_or(before);
                let above = match known.get(&(node.level - 1, before.to_owned())) {
                    Some(above) => above.clone(),
                    None => split(before, below_root - 1),
                };
                above.map(|above| above.into_iter().chain([node.name.clone()]).collect())
            }
        };
        if node.level == level {
            keys.push(own.clone().ok_or_else(|| two_ways(&node.path))?);
        }
        known.entry((node.level, node.path.clone())).and_modify(|other| *other = None).or_insert(own);
    }
    Ok(keys)
}

/// Values that are joined by `/`, if there are so many.
fn split(joined: &str, values: usize) -> Option<Vec<String>> {
    let parts: Vec<String> =
        if values == 1 { vec![joined.to_owned()] } else { joined.split('/').map(str::to_owned).collect() };
    (parts.len() == values).then_some(parts)
}

fn two_ways(name: &str) -> Failure {
    Failure::Usage(format!(
        "release: `{name}` joins values that have `/` themselves: want values without, or on a tree the draws of all levels"
    ))
}

fn of_table(run: &Run, cell: &CellRow, replicate: u64) -> Done<Table> {
    let name = cell.cell.to_string();
    let path = run.file(&format!("cells/{name}/draws.parquet")).ok_or_else(|| {
        let message = format!("it has no draws of the cell {name}; they are kept with `keep-draws = true`");
        Failure::data(&run.folder, message)
    })?;
    let counts = counts(run, std::slice::from_ref(&name))?.remove(&name).unwrap_or_default();
    let reader = Reader::open(&path)?;
    let entries: Vec<String> = reader.fields().iter().skip(NUMBERS).map(|field| field.name.clone()).collect();
    if entries.len() != counts.len() {
        return Err(Failure::data(&path, "it has other entries than entries.parquet"));
    }
    let (mut errors, mut integers) = (None, true);
    let is_chain = cell.chain.is_some();
    reader.groups(|columns| {
        let [chain, _, draw, ..] = columns else { return Ok(false) };
        for row in 0..chain.len() {
            // A release is the last state of its chain.
            if u64::get(if is_chain { chain } else { draw }, row) == Some(replicate + 1) {
                let values = columns[NUMBERS..].iter().map(|column| {
                    let integer = i64::get(column, row);
                    integers &= integer.is_some();
                    integer.map(|x| x as f64).or_else(|| f64::get(column, row))
                });
                errors = values.collect::<Option<Vec<f64>>>();
            }
        }
        Ok(true)
    })?;
    let errors = errors.ok_or_else(|| no_replicate(cell, replicate))?;
    let released: Vec<f64> = errors.iter().zip(&counts).map(|(error, &count)| count as f64 + error).collect();
    let columns = entry_columns(run, &cell.data)?;
    let names = columns.unwrap_or_else(|| vec!["entry".to_owned()]);
    let of_data = entries.len() - sums(&entries);
    let keys =
        entries[..of_data].iter().map(|entry| split(entry, names.len()).ok_or_else(|| two_ways(entry)));
    Ok(keyed(&names, &keys.collect::<Done<Vec<_>>>()?, &released[..of_data], integers))
}

/// How many of the last entries are sums that a hierarchy adds: their names stand in brackets, and those of the first do not.
fn sums(entries: &[String]) -> usize {
    let is_sum = |entry: &&String| entry.starts_with('(') && entry.ends_with(')');
    let some = entries.iter().rev().take_while(is_sum).count();
    if some < entries.len() { some } else { 0 }
}

/// The columns that name an entry, as the resolved config has them; none if it names none.
fn entry_columns(run: &Run, data: &str) -> Done<Option<Vec<String>>> {
    let (path, text) = (run.path(RESOLVED)?, run.text(RESOLVED)?);
    // Behind it stand the cells, of which there may be many.
    let head = text.split("\n# cell ").next().unwrap_or_default();
    let document: DocumentMut =
        head.parse().map_err(|e| Failure::data(&path, format!("it is no TOML: {e}")))?;
    let entry = match document.get("data") {
        Some(Item::ArrayOfTables(sets)) => {
            let named = |set: &&toml_edit::Table| set.get("name").and_then(Item::as_str) == Some(data);
            sets.iter().find(named).and_then(|set| set.get("entry"))
        }
        Some(one) => one.get("entry"),
        None => None,
    };
    let names = entry
        .and_then(Item::as_array)
        .map(|names| names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect());
    Ok(names)
}
