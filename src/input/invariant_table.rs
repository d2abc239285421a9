//! A table of counts with its invariant.

use super::CsvTable;

use super::source::{Bound, DataSource, InvariantSpec, Shape};
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::invariant::{Inequalities, Linear, NO_LOWER, NO_UPPER, Region, Row};
use crate::lattice::IntMatrix;
use hashbrown::{DefaultHashBuilder, HashTable};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::path::Path;

/// Confidential counts and what every release of them keeps.
#[derive(Debug, Clone)]
pub struct InvariantTable {
    /// By cell: its name, the values of its columns joined by `/`.
    pub names: Vec<String>,
    /// By cell.
    pub counts: Vec<i64>,
    /// `A`.
    pub invariant: Linear,
    /// `B y >= b`.
    pub inequalities: Inequalities,
    /// The same on the noise.
    pub region: Region,
    /// SHA-256 of the counts, the equations and the inequalities, in hexadecimal.
    pub digest: String,
}

/// Why a table cannot be used: in the file, or in one `[[invariant]]` (by its place in the list).
#[derive(Debug)]
pub enum Refusal {
    /// The file.
    File(Failure),
    /// The invariant, and what is wrong with it.
    Invariant(usize, String),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::File(failure)
    }
}

impl InvariantTable {
    /// Takes a table with one row per cell and builds its invariant.
    ///
    /// A two-way table that is complete is put in row-major order, unless other invariants number its cells; nodes of a `hierarchy` follow the rows as
    /// further cells.
    ///
    /// Refused, with file and line: a missing column, a repeated or empty cell name, a count that is no integer or
    /// negative, no row at all, a total beyond 2^53; and every system of equations that is empty, does not fit the
    /// cells, or that the counts do not satisfy, with its inequalities.
    pub fn from_csv(table: CsvTable, source: &DataSource) -> std::result::Result<Self, Refusal> {
        let Shape::Table { cell, invariants } = &source.shape else {
            unreachable!("the caller has a table");
        };
        let table = table.filter(&source.filter)?;
        let path = &table.path;
        let count_place = table.column(&source.count)?;
        let named: Vec<usize> = match cell {
            Some(columns) => columns.iter().map(|c| table.column(c)).collect::<Result<_>>()?,
            None => (0..table.columns.len()).filter(|&i| i != count_place).collect(),
        };
        if table.is_empty() {
            return Err(Failure::data(path, "no rows (after `where`), want one per cell").into());
        }
        let (mut names, mut cells) = read_cells(&table, &named, count_place, &source.count)?;
        let specs = || invariants.iter().map(|(spec, _)| spec);
        let numbered = specs().any(|s| {
            matches!(s, InvariantSpec::Sets(_) | InvariantSpec::Matrix { .. } | InvariantSpec::AtLeast(..))
        });
        let margins: Vec<_> = specs()
            .filter_map(|spec| match spec {
                InvariantSpec::Margins { rows, columns } => Some((rows, columns)),
                _ => None,
            })
            .collect();
        if let ([(rows, columns)], false) = (&margins[..], numbered) {
            let (row, column) = (key(&table, rows)?, key(&table, columns)?);
            cells.sort_by_key(|cell| (row[cell.row], column[cell.row]));
            names = cells.iter().map(|cell| std::mem::take(&mut names[cell.row])).collect();
        }
        let mut counts: Vec<i64> = cells.iter().map(|cell| cell.count).collect();
        let mut whole: Option<Linear> = None;
        for (i, (spec, _)) in invariants.iter().enumerate() {
            let refuse = |message: String| Refusal::Invariant(i, message);
            let Some(built) = build(spec, &table, &cells, (&mut names, &mut counts))? else { continue };
            let linear = built.map_err(|e| refuse(e.to_string()))?;
            whole = Some(match whole {
                None => linear,
                Some(before) => before.and(linear),
            });
        }
        let invariant = whole.unwrap_or_else(|| Linear::none(names.len()));
        let mut inequalities = Inequalities::default();
        for (i, (spec, _)) in invariants.iter().enumerate() {
            let refuse = |message: String| Refusal::Invariant(i, message);
            let Some(built) = inequality(spec, &table, &cells, names.len())? else { continue };
            let one = built.map_err(|e| refuse(e.to_string()))?;
            inequalities = inequalities.and(one.clone());
            if let Some((row, wanted, least, largest)) = inequalities.conflict(&invariant, &counts) {
                let allowed = match (least, largest) {
                    (Some(least), _) if least > wanted => format!("at least {least}"),
                    (_, largest) => format!("at most {}", largest.unwrap_or_default()),
                };
                let of: Vec<&str> =
                    invariant.rows()[row].iter().map(|&(c, _)| names[c as usize].as_str()).collect();
                let of = if of.len() > 6 { format!("{}, …", of[..5].join(", ")) } else { of.join(", ") };
                return Err(refuse(format!(
                    "infeasible: equation {} (cells {of}) asks for {wanted}, the bounds of its cells allow {allowed}",
                    row + 1
                )));
            }
            let outside = |&i: &usize| {
                let (least, most) = one.cell(i);
                counts[i] < least || counts[i] > most
            };
            if let Some(cell) = (0..counts.len()).find(outside) {
                let (least, most) = one.cell(cell);
                let want = if counts[cell] < least { format!(">= {least}") } else { format!("<= {most}") };
                let (name, count) = (&names[cell], counts[cell]);
                return Err(refuse(format!("the confidential count of `{name}` is {count}, want {want}")));
            }
            one.around(&counts).map_err(|e| refuse(e.to_string()))?;
        }
        let region = inequalities.around(&counts).expect("each of them holds");
        // Names head the columns of the draws. Those of the rows are distinct.
        let mut sorted: Vec<&String> = Vec::new();
        if names.len() > cells.len() {
            sorted.extend(&names);
            sorted.sort_unstable();
        }
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Failure::data(path, format!("two cells have the name `{}`", pair[0])).into());
        }
        if let Some(name) = names.iter().find(|name| name.starts_with('.')) {
            let message = format!("the cell `{name}`: names that begin with a dot are columns of the draws");
            return Err(Failure::data(path, message).into());
        }
        let mut hash = Sha256::new();
        counts.iter().for_each(|count| hash.update(count.to_le_bytes()));
        for row in invariant.rows() {
            hash.update((row.len() as u64).to_le_bytes());
            for (cell, a) in row {
                hash.update(cell.to_le_bytes());
                hash.update(a.to_le_bytes());
            }
        }
        for (i, (lower, upper)) in region.lower.iter().zip(&region.upper).enumerate() {
            if (*lower, *upper) != (NO_LOWER, NO_UPPER) {
                hash.update(b"bounds");
                hash.update((i as u64).to_le_bytes());
                hash.update(lower.to_le_bytes());
                hash.update(upper.to_le_bytes());
            }
        }
        for (row, least) in &region.rows {
            hash.update(b"at least");
            hash.update(least.to_le_bytes());
            for (cell, b) in row {
                hash.update(cell.to_le_bytes());
                hash.update(b.to_le_bytes());
            }
        }
        let digest = hex(hash.finalize());
        Ok(Self { names, counts, invariant, inequalities, region, digest })
    }
}

struct CellRow {
    row: usize,
    count: i64,
}

/// Names and counts by row.
fn read_cells(
    table: &CsvTable,
    named: &[usize],
    count_place: usize,
    count: &str,
) -> Result<(Vec<String>, Vec<CellRow>)> {
    let mut names: Vec<String> = Vec::with_capacity(table.len());
    let mut cells = Vec::with_capacity(table.len());
    let (mut seen, hasher) = (HashTable::<u32>::with_capacity(table.len()), DefaultHashBuilder::default());
    let (mut total, mut name) = (0i64, String::new());
    for row in 0..table.len() {
        name.clear();
        for (i, &place) in named.iter().enumerate() {
            let value = table.text(row, place);
            if value.is_empty() {
                return Err(table.bad_row(row, "a cell without a name"));
            }
            if i > 0 {
                name.push('/');
            }
            name.push_str(&value);
        }
        if name.is_empty() {
            return Err(table.bad_row(row, "a cell without a name"));
        }
        let hash = hasher.hash_one(&name);
        if let Some(&first) = seen.find(hash, |&first| names[first as usize] == name) {
            let first = table.place(first as usize);
            return Err(table.bad_row(row, format!("the cell `{name}` is duplicated (first on {first})")));
        }
        seen.insert_unique(hash, row as u32, |&other| hasher.hash_one(&names[other as usize]));
        names.push(name.as_str().to_owned());
        let value = table.count(row, count_place, count)?;
        total = total.saturating_add(value);
        cells.push(CellRow { row, count: value });
    }
    if total > 1 << 53 {
        return Err(Failure::data(&table.path, format!("the counts sum to {total}, the limit is 2^53")));
    }
    Ok((names, cells))
}

/// By row of the file: the number of its value in a column, in the order of first appearance.
fn key(table: &CsvTable, column: &str) -> Result<Vec<usize>> {
    let place = table.column(column)?;
    Ok(table.numbers(place).into_iter().map(|number| number as usize).collect())
}

type Built = std::result::Result<Linear, crate::Error>;

/// Outer error: the file; inner: the invariant. `None` for equations.
fn inequality(
    spec: &InvariantSpec,
    table: &CsvTable,
    cells: &[CellRow],
    all: usize,
) -> Result<Option<std::result::Result<Inequalities, crate::Error>>> {
    let by_cell = |bound: &Option<Bound>, none: i64| -> Result<Vec<i64>> {
        match bound {
            None => Ok(vec![none; cells.len()]),
            Some(Bound::Value(x)) => Ok(vec![*x; cells.len()]),
            Some(Bound::Column(column)) => {
                let place = table.column(column)?;
                cells
                    .iter()
                    .map(|cell| {
                        let text = table.text(cell.row, place);
                        match &*text {
                            "" => Ok(none),
                            text => text.parse().map_err(|_| {
                                table.bad_row(
                                    cell.row,
                                    format!("`{column}` = `{text}`, want an integer or nothing"),
                                )
                            }),
                        }
                    })
                    .collect()
            }
        }
    };
    Ok(match spec {
        InvariantSpec::Nonnegative => Some(Ok(Inequalities::nonnegative(all))),
        InvariantSpec::Bounds(lower, upper) => {
            Some(Inequalities::bounds(by_cell(lower, NO_LOWER)?, by_cell(upper, NO_UPPER)?))
        }
        InvariantSpec::AtLeast(rows, values) => {
            let width = rows.first().map_or(0, Vec::len);
            if width != cells.len() {
                let message = format!("the rows have {width} columns for {} cells", cells.len());
                return Ok(Some(Err(crate::Error::Invariant(message))));
            }
            let sparse =
                |row: &Vec<i64>| (0u32..).zip(row.iter().copied()).filter(|(_, b)| *b != 0).collect();
            Some(Inequalities::rows(rows.iter().map(sparse).zip(values.iter().copied()).collect()))
        }
        _ => None,
    })
}

/// Outer error: the file; inner: the invariant. `None` for inequalities.
fn build(
    spec: &InvariantSpec,
    table: &CsvTable,
    cells: &[CellRow],
    (names, counts): (&mut Vec<String>, &mut Vec<i64>),
) -> Result<Option<Built>> {
    let d = cells.len();
    let in_order = |by_row: Vec<usize>| -> Vec<usize> { cells.iter().map(|cell| by_row[cell.row]).collect() };
    Ok(Some(match spec {
        InvariantSpec::Nonnegative | InvariantSpec::Bounds(..) | InvariantSpec::AtLeast(..) => {
            return Ok(None);
        }
        InvariantSpec::Total => Linear::total(d),
        InvariantSpec::Partition(columns) => {
            let keys = columns.iter().map(|c| Ok(in_order(key(table, c)?))).collect::<Result<Vec<_>>>()?;
            // Column by column: those that agree so far, and in the next.
            let mut groups = vec![0; d];
            for key in keys {
                let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
                for (group, key) in groups.iter_mut().zip(key) {
                    let next = numbers.len();
                    *group = *numbers.entry((*group, key)).or_insert(next);
                }
            }
            Linear::partition(&groups)
        }
        InvariantSpec::Margins { rows, columns } => {
            let (row, column) = (in_order(key(table, rows)?), in_order(key(table, columns)?));
            let (r, c) = (row.iter().max().map_or(0, |m| m + 1), column.iter().max().map_or(0, |m| m + 1));
            let complete = d == r * c && (0..d).all(|i| row[i] * c + column[i] == i);
            if complete {
                Linear::margins(r, c)
            } else {
                // Cells that are missing (structural zeros), in another order, or finer than two ways.
                Linear::partition(&row).and_then(|by_row| Ok(by_row.and(Linear::partition(&column)?)))
            }
        }
        InvariantSpec::Sets(sets) => Linear::subsets(d, sets),
        InvariantSpec::Indicators(columns) => {
            let mut sets = Vec::new();
            for column in columns {
                let place = table.column(column)?;
                let mut set = Vec::new();
                for (cell, at) in cells.iter().enumerate() {
                    match &*table.text(at.row, place) {
                        "1" => set.push(cell),
                        "0" => {}
                        other => {
                            return Err(table.bad_row(at.row, format!("`{column}` = `{other}`, want 0 or 1")));
                        }
                    }
                }
                sets.push(set);
            }
            Linear::subsets(d, &sets)
        }
        InvariantSpec::Hierarchy(levels) => hierarchy(levels, table, cells, names, counts)?,
        InvariantSpec::Matrix { rows, values } => {
            matrix(rows, values.as_deref(), &cells.iter().map(|cell| cell.count).collect::<Vec<_>>())
        }
    }))
}

fn matrix(rows: &[Vec<i64>], values: Option<&[i64]>, counts: &[i64]) -> Built {
    let wrong = |message: String| Err(crate::Error::Invariant(message));
    let width = rows.first().map_or(0, Vec::len);
    if width != counts.len() && !rows.is_empty() {
        return wrong(format!("the matrix has {width} columns for {} cells", counts.len()));
    }
    let a = IntMatrix::from_rows(rows).expect("the config checked their lengths");
    for (i, &want) in values.unwrap_or_default().iter().enumerate() {
        let got: i128 = a.row(i).iter().zip(counts).map(|(&a, &x)| i128::from(a) * i128::from(x)).sum();
        if got != i128::from(want) {
            return wrong(format!("inconsistent: equation {} gives {got} on the data, want {want}", i + 1));
        }
    }
    Linear::matrix(&a)
}

/// Adds a cell for every inner node (root first), tied to its children.
fn hierarchy(
    levels: &[String],
    table: &CsvTable,
    cells: &[CellRow],
    names: &mut Vec<String>,
    counts: &mut Vec<i64>,
) -> Result<Built> {
    let places = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
    let numbers: Vec<Vec<u32>> = places.iter().map(|&place| table.numbers(place)).collect();
    let mut rows: Vec<Row> = Vec::new();
    // By a cell below it and its depth; the root has none.
    let mut new_node = |below: Option<(&CellRow, usize)>, names: &mut Vec<String>, counts: &mut Vec<i64>| {
        let node = names.len();
        names.push(match below {
            None => format!("(all by {})", levels.join("/")),
            Some((cell, depth)) => {
                let of = levels.iter().zip(&places[..depth]);
                let of = of.map(|(level, &place)| format!("{level}={}", table.text(cell.row, place)));
                format!("({})", of.collect::<Vec<_>>().join("/"))
            }
        });
        counts.push(0);
        rows.push(vec![(node as u32, -1)]);
        (node, rows.len() - 1)
    };
    // Nodes with their rows, by the row of the parent and the number of the name; in the same way the leaves.
    let root = new_node(None, names, counts);
    let mut inner: HashMap<(u32, u32), (usize, usize)> = HashMap::new();
    let mut leaves: HashMap<(u32, u32), u32> = HashMap::new();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (leaf, cell) in cells.iter().enumerate() {
        if places.iter().any(|&place| table.text(cell.row, place).is_empty()) {
            return Err(table.bad_row(cell.row, format!("an empty name in {}", levels.join(", "))));
        }
        let number = |depth: usize| numbers.get(depth).map_or(0, |numbers| numbers[cell.row]);
        let mut parent = root;
        counts[root.0] += cell.count;
        for depth in 1..places.len() {
            let key = (parent.1 as u32, number(depth - 1));
            let node = match inner.get(&key) {
                Some(&node) => node,
                None => {
                    let node = new_node(Some((cell, depth)), names, counts);
                    inner.insert(key, node);
                    edges.push((parent.1 as u32, node.0 as u32));
                    node
                }
            };
            counts[node.0] += cell.count;
            parent = node;
        }
        let key = (parent.1 as u32, number(places.len().saturating_sub(1)));
        if let Some(first) = leaves.insert(key, cell.row as u32) {
            let path: Vec<_> = places.iter().map(|&place| table.text(cell.row, place)).collect();
            let (path, first) = (path.join("/"), table.place(first as usize));
            return Err(
                table.bad_row(cell.row, format!("the leaf `{path}` is duplicated (first on {first})"))
            );
        }
        edges.push((parent.1 as u32, leaf as u32));
    }
    for (row, child) in edges {
        rows[row as usize].push((child, 1));
    }
    Ok(Linear::from_rows(names.len(), rows))
}

/// Reads a matrix: a CSV file without a header, integers only.
pub fn read_matrix(path: &Path) -> Result<Vec<Vec<i64>>> {
    let file = std::fs::File::open(path).map_err(|e| Failure::io(path, "cannot read", e))?;
    matrix_from_reader(path, file)
}

/// The same from anywhere; `path` is its name in messages.
pub fn matrix_from_reader(path: &Path, source: impl std::io::Read) -> Result<Vec<Vec<i64>>> {
    let bad = |e: csv::Error| Failure::data(path, e.to_string());
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(source);
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(bad)?;
        let line = record.position().map_or(0, csv::Position::line);
        let number = |text: &str| {
            text.parse::<i64>()
                .map_err(|_| Failure::data(path, format!("line {line}: got `{text}`, want an integer")))
        };
        rows.push(record.iter().map(number).collect::<Result<Vec<_>>>()?);
    }
    if rows.is_empty() {
        return Err(Failure::data(path, "the file is empty, want a row per equation"));
    }
    Ok(rows)
}
