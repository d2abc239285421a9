//! A table of counts with its invariant.

use super::CsvTable;
use super::Known;
use super::column::Names;
use super::encoding::Encoding;
use super::numbers::Numbers;
use super::rows::Rows;
use super::source::{Bound, DataSource, InvariantSpec, Shape};
use crate::failure::{Failure, Result};
use crate::hash::hex;
use crate::invariant::{Inequalities, Linear, NO_LOWER, NO_UPPER, Region, Row};
use crate::lattice::IntMatrix;
use crate::table::Texts;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Confidential counts and what every release of them keeps.
#[derive(Debug, Clone)]
pub struct InvariantTable {
    /// By entry, its name: the values of its columns joined by `/`.
    pub names: Texts,
    /// By entry, its count.
    pub counts: Vec<i64>,
    /// Entries that are known, ascending: an equation each.
    pub known: Vec<u32>,
    /// The equations `A y = A x`.
    pub invariant: Linear,
    /// The inequalities `B y >= b`.
    pub inequalities: Inequalities,
    /// The inequalities on the noise.
    pub region: Region,
    /// SHA-256 of the counts, the equations and the inequalities, in hexadecimal.
    pub digest: String,
    /// What may be wrong with the data, for people.
    pub warning: Option<String>,
    /// Columns with the value of every entry: those that tell entries apart or stand in invariants. Only where draws are kept.
    pub columns: Vec<(String, Texts)>,
}

/// What `[[invariant]]` says of the rows of a table, whatever counts they have.
#[derive(Debug, Clone)]
pub struct System {
    /// By entry, its row in the table.
    pub rows: Vec<u32>,
    /// All equations.
    pub invariant: Linear,
    /// By block, its equations; `None` of one that has none.
    pub blocks: Vec<Option<Linear>>,
    /// All inequalities.
    pub inequalities: Inequalities,
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
    /// Takes a table with one row per entry and builds its invariant.
    ///
    /// A two-way table that is complete is put in row-major order, unless other invariants number its entries; nodes of
    /// a `hierarchy` follow the rows as further entries.
    ///
    /// Refused, with file and line: a missing column, a repeated or empty entry name, a count that is no integer or
    /// negative, no row at all, a total beyond 2^53; and every system of equations that is empty, does not fit the
    /// entries, or that the counts do not satisfy, with its inequalities.
    pub fn from_csv(table: CsvTable, source: &DataSource) -> std::result::Result<Self, Refusal> {
        let table = table.filter(&source.filter)?;
        Self::with_rows(table, source).map(|(table, _)| table)
    }

    /// Builds the table and its invariant, and returns with them the row of every entry after the filter; nodes of a
    /// `hierarchy` have none.
    pub(super) fn with_rows(
        table: CsvTable,
        source: &DataSource,
    ) -> std::result::Result<(Self, Vec<u32>), Refusal> {
        let Shape::Table { entry, invariants } = &source.shape else {
            unreachable!("the caller has a table");
        };
        let path = &table.path.clone();
        let count_place = table.column(&source.count)?;
        let named: Vec<usize> = match entry {
            Some(columns) => columns.iter().map(|c| table.column(c)).collect::<Result<_>>()?,
            None => (0..table.columns.len()).filter(|&i| i != count_place).collect(),
        };
        if table.is_empty() {
            return Err(Failure::data(path, "no rows (after `where`), want one per entry").into());
        }
        let mut entries = Entries::read(&table, &named, count_place)?;
        let specs = || invariants.iter().map(|(spec, _)| spec);
        if let Some((rows, columns)) = two_ways(specs()) {
            entries.sort_by(rows, columns)?;
        }
        let invariant = entries.all_equations(specs())?;
        let mut known = entries.known(&source.known, &source.root)?;
        let mut invariant = invariant.with_known(&known).map_err(|e| Failure::data(path, e.to_string()))?;
        let inequalities = entries.all_inequalities(specs(), &invariant)?;
        let Entries { rows, names, counts, warning, .. } = entries;
        drop(table);
        let mut region = inequalities.around(&counts).expect("each of them holds");
        // An entry between two equal bounds is known: its noise is 0, and no inequality's.
        let fixed = between_equal_bounds(&region, &known);
        if !fixed.is_empty() {
            invariant = invariant.with_known(&fixed).map_err(|e| Failure::data(path, e.to_string()))?;
            for &entry in &fixed {
                region.lower.set(entry as usize, NO_LOWER);
                region.upper.set(entry as usize, NO_UPPER);
            }
            known.extend(fixed);
            known.sort_unstable();
        }
        check_names(path, &names, rows.len())?;
        let digest = digest_of(&counts, &invariant, &region);
        let columns = Vec::new();
        let table = Self { names, counts, known, invariant, inequalities, region, digest, warning, columns };
        Ok((table, rows))
    }

    /// Takes the values of entries in the columns that tell them apart or stand in invariants. `rows`: by entry, its row; nodes of a
    /// `hierarchy` have none.
    pub(super) fn take_columns(&mut self, table: &CsvTable, rows: &[u32]) {
        for (place, name) in table.columns.iter().enumerate().filter(|(place, _)| table.is_read(*place)) {
            let mut texts = Texts::default();
            rows.iter().for_each(|&row| texts.push(table.text(row as usize, place).as_bytes()));
            self.columns.push((name.clone(), texts));
        }
    }
}

impl System {
    /// Builds equations and inequalities on some rows, in the order that a study gives their entries.
    ///
    /// Refused: a missing column; what does not fit the rows; a `hierarchy`, whose nodes are entries without rows.
    pub fn of<'b>(
        table: &CsvTable,
        rows: Vec<u32>,
        specs: impl Iterator<Item = &'b InvariantSpec> + Clone,
    ) -> std::result::Result<Self, Refusal> {
        let mut names = Texts::default();
        rows.iter().for_each(|row| names.push(row.to_string().as_bytes()));
        let counts = vec![0; rows.len()];
        let none = || (Vec::new(), Vec::new());
        let ((depths, levels), warning) = (none(), None);
        let mut entries = Entries { table, rows, names, counts, warning, depths, levels };
        if let Some((rows, columns)) = two_ways(specs.clone()) {
            entries.sort_by(rows, columns)?;
        }
        let (mut blocks, mut inequalities) = (Vec::new(), Inequalities::default());
        for (i, spec) in specs.enumerate() {
            let refuse = |e: crate::Error| Refusal::Invariant(i, e.to_string());
            let spec = match spec {
                InvariantSpec::Hierarchy(_) => {
                    let message = "hierarchy: its nodes have no rows here, want a noisy file of a tree";
                    return Err(Refusal::Invariant(i, message.into()));
                }
                // Its values are those of no counts here.
                InvariantSpec::Matrix { rows, .. } => {
                    &InvariantSpec::Matrix { rows: rows.clone(), values: None }
                }
                other => other,
            };
            blocks.push(entries.equations(spec)?.transpose().map_err(refuse)?);
            if let Some(own) = entries.inequalities(spec)?.transpose().map_err(refuse)? {
                inequalities = inequalities.and(own);
            }
        }
        let entries_of = entries.rows.len();
        let invariant = blocks.iter().flatten().cloned().reduce(Linear::and);
        let invariant = invariant.unwrap_or_else(|| Linear::none(entries_of));
        Ok(Self { rows: entries.rows, invariant, blocks, inequalities })
    }
}

/// The columns of a two-way table, if its margins are the only ones that are kept and nothing numbers its entries.
fn two_ways<'a>(specs: impl Iterator<Item = &'a InvariantSpec> + Clone) -> Option<(&'a str, &'a str)> {
    let numbered = specs.clone().any(|s| {
        matches!(s, InvariantSpec::Sets(_) | InvariantSpec::Matrix { .. } | InvariantSpec::AtLeast(..))
    });
    let mut margins = specs.filter_map(|spec| match spec {
        InvariantSpec::Margins { rows, columns } => Some((&**rows, &**columns)),
        _ => None,
    });
    match (margins.next(), margins.next(), numbered) {
        (Some(columns), None, false) => Some(columns),
        _ => None,
    }
}

/// In words, an equation that asks for more or less than the bounds of its entries allow. `None` if there is none.
fn infeasible(
    inequalities: &Inequalities,
    invariant: &Linear,
    names: &Texts,
    counts: &[i64],
) -> Option<String> {
    let (row, wanted, least, largest) = inequalities.conflict(invariant, counts)?;
    let allowed = match (least, largest) {
        (Some(least), _) if least > wanted => format!("at least {least}"),
        (_, largest) => format!("at most {}", largest.unwrap_or_default()),
    };
    let of: Vec<&str> = invariant.rows()[row].iter().map(|&(c, _)| &names[c as usize]).collect();
    let of = if of.len() > 6 { format!("{}, …", of[..5].join(", ")) } else { of.join(", ") };
    Some(format!(
        "infeasible: equation {} (entries {of}) asks for {wanted}, the bounds of its entries allow {allowed}",
        row + 1
    ))
}

/// In words, the first count outside its bounds. `None` if there is none.
fn outside(bounds: &Inequalities, names: &Texts, counts: &[i64]) -> Option<String> {
    let outside = |&i: &usize| {
        let (least, most) = bounds.bounds_of(i);
        counts[i] < least || counts[i] > most
    };
    let entry = (0..counts.len()).find(outside)?;
    let (least, most) = bounds.bounds_of(entry);
    let want = if counts[entry] < least { format!(">= {least}") } else { format!("<= {most}") };
    let (name, count) = (&names[entry], counts[entry]);
    Some(format!("the confidential count of `{name}` is {count}, want {want}"))
}

/// The entries whose noise has both bounds at 0, without those that are known; `known`: ascending.
fn between_equal_bounds(region: &Region, known: &[u32]) -> Vec<u32> {
    let fixed = |entry: &u32| {
        let (lower, upper) = (region.lower[*entry as usize], region.upper[*entry as usize]);
        lower == 0 && upper == 0 && known.binary_search(entry).is_err()
    };
    (0..region.upper.bounds().len() as u32).filter(fixed).collect()
}

/// Refuses names that cannot head the columns of the draws: one that stands twice, one that begins with a dot. The
/// first `distinct` names are those of rows, of which no two are the same.
fn check_names(path: &Path, names: &Texts, distinct: usize) -> Result<()> {
    let mut sorted: Vec<&str> = Vec::new();
    if names.len() > distinct {
        sorted.extend(names.iter());
        sorted.sort_unstable();
    }
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::data(path, format!("two entries have the name `{}`", pair[0])));
    }
    if let Some(name) = names.iter().find(|name| name.starts_with('.')) {
        let message = format!("the entry `{name}`: names that begin with a dot are columns of the draws");
        return Err(Failure::data(path, message));
    }
    Ok(())
}

impl InvariantTable {
    /// The same entries with other counts.
    pub(super) fn with_counts(&self, counts: Vec<i64>) -> Self {
        let moved: Vec<i64> = counts.iter().zip(&self.counts).map(|(new, old)| new - old).collect();
        let region =
            if self.region.is_everything() { Region::everything() } else { self.region.around_moved(&moved) };
        let digest = digest_of(&counts, &self.invariant, &region);
        Self { counts, region, digest, ..self.clone() }
    }
}

/// SHA-256 of counts, equations, bounds and explicit inequalities, in hexadecimal.
fn digest_of(counts: &[i64], invariant: &Linear, region: &Region) -> String {
    let mut hash = Sha256::new();
    counts.iter().for_each(|count| hash.update(count.to_le_bytes()));
    for row in invariant.rows() {
        hash.update((row.len() as u64).to_le_bytes());
        for (entry, a) in row {
            hash.update(entry.to_le_bytes());
            hash.update(a.to_le_bytes());
        }
    }
    for i in 0..region.lower.bounds().len().max(region.upper.bounds().len()) {
        let (lower, upper) = (region.lower[i], region.upper[i]);
        if (lower, upper) != (NO_LOWER, NO_UPPER) {
            hash.update(b"bounds");
            hash.update((i as u64).to_le_bytes());
            hash.update(lower.to_le_bytes());
            hash.update(upper.to_le_bytes());
        }
    }
    for (row, least) in &region.rows {
        hash.update(b"at least");
        hash.update(least.to_le_bytes());
        for (entry, b) in row {
            hash.update(entry.to_le_bytes());
            hash.update(b.to_le_bytes());
        }
    }
    hex(hash.finalize())
}

/// Entries while their equations are built.
struct Entries<'a> {
    table: &'a CsvTable,
    /// The rows of the table, in the order of the entries.
    rows: Vec<u32>,
    /// By entry, behind them by node of a hierarchy.
    names: Texts,
    counts: Vec<i64>,
    warning: Option<String>,
    /// By node of hierarchies: its level, the root's 0; and the columns of the others.
    depths: Vec<usize>,
    levels: Vec<String>,
}

/// Outer error: the file; inner: the invariant. `None` for what is none.
type Built<T> = Result<Option<crate::Result<T>>>;

impl<'a> Entries<'a> {
    fn read(table: &'a CsvTable, named: &[usize], count_place: usize) -> Result<Self> {
        let mut names = Names::default();
        let mut counts = Vec::with_capacity(table.len());
        let (mut total, mut name, numbers) = (0i64, String::new(), Numbers::new(table, count_place));
        for row in 0..table.len() {
            name.clear();
            for (i, &place) in named.iter().enumerate() {
                let value = table.text(row, place);
                if value.is_empty() {
                    return Err(table.bad_row(row, "an entry without a name"));
                }
                name.push_str(if i > 0 { "/" } else { "" });
                name.push_str(value);
            }
            if name.is_empty() {
                return Err(table.bad_row(row, "an entry without a name"));
            }
            let first = names.number(name.as_bytes()) as usize;
            if first < row {
                let first = table.place(first);
                let message = format!("the entry `{name}` is duplicated (first on {first})");
                return Err(table.bad_row(row, message));
            }
            let value = numbers.count(row)?;
            total = total.saturating_add(value);
            counts.push(value);
        }
        if total > 1 << 53 {
            return Err(Failure::data(&table.path, format!("the counts sum to {total}, the limit is 2^53")));
        }
        Ok(Self {
            table,
            rows: (0..table.len() as u32).collect(),
            names: names.into_texts(),
            counts,
            warning: table
                .notes()
                .iter()
                .cloned()
                .chain(numbers.note())
                .reduce(|all, next| format!("{all}; {next}")),
            depths: Vec::new(),
            levels: Vec::new(),
        })
    }

    /// Puts entries that stand in the order of the file in that of their values in two columns.
    fn sort_by(&mut self, first: &str, second: &str) -> Result<()> {
        let (first, second) = (self.key(first)?, self.key(second)?);
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_by_key(|&entry| (first[entry as usize], second[entry as usize]));
        self.names.select(&order);
        self.counts = order.iter().map(|&entry| self.counts[entry as usize]).collect();
        self.rows = order.iter().map(|&entry| self.rows[entry as usize]).collect();
        Ok(())
    }

    /// The number of the value in a column, in the order of first appearance in the file, among the rows of entries.
    fn key(&self, column: &str) -> Result<Vec<usize>> {
        let mut numbers = self.table.numbers(self.table.column(column)?);
        if self.rows.len() < self.table.len() {
            let mut rows = self.rows.clone();
            rows.sort_unstable();
            let mut own: HashMap<u32, u32> = HashMap::new();
            for row in rows {
                let next = own.len() as u32;
                let number = &mut numbers[row as usize];
                *number = *own.entry(*number).or_insert(next);
            }
        }
        Ok(self.rows.iter().map(|&row| numbers[row as usize] as usize).collect())
    }

    /// The row and the text of every entry in a column.
    fn texts(&self, column: &str) -> Result<impl Iterator<Item = (usize, &'a str)>> {
        let (table, place) = (self.table, self.table.column(column)?);
        Ok(self.rows.iter().map(move |&row| (row as usize, table.text(row as usize, place))))
    }

    fn bounds(&self, bound: &Option<Bound>, none: i64) -> Result<Vec<i64>> {
        let column = match bound {
            None => return Ok(vec![none; self.rows.len()]),
            Some(Bound::Value(x)) => return Ok(vec![*x; self.rows.len()]),
            Some(Bound::Column(column)) => column,
        };
        let bad =
            |row, text| self.table.bad_row(row, format!("`{column}` = `{text}`, want an integer or nothing"));
        self.texts(column)?
            .map(|(row, text)| {
                // A column that misses values is one of decimals for some programs.
                let whole = text.strip_suffix(".0").unwrap_or(text);
                if text.is_empty() { Ok(none) } else { whole.parse().map_err(|_| bad(row, text)) }
            })
            .collect()
    }

    /// The equations of all invariants together. Errors: the file; an invariant, by its place in the list.
    fn all_equations<'b>(
        &mut self,
        specs: impl Iterator<Item = &'b InvariantSpec>,
    ) -> std::result::Result<Linear, Refusal> {
        let mut whole: Option<Linear> = None;
        for (i, spec) in specs.enumerate() {
            let Some(built) = self.equations(spec)? else { continue };
            let linear = built.map_err(|e| Refusal::Invariant(i, e.to_string()))?;
            whole = Some(match whole {
                None => linear,
                Some(before) => before.and(linear),
            });
        }
        Ok(whole.unwrap_or_else(|| Linear::none(self.names.len())))
    }

    /// The inequalities of all invariants together. Errors: the file; an invariant, by its place in the list, whose
    /// bounds leave nothing that keeps the equations, or which the counts do not satisfy.
    fn all_inequalities<'b>(
        &self,
        specs: impl Iterator<Item = &'b InvariantSpec>,
        invariant: &Linear,
    ) -> std::result::Result<Inequalities, Refusal> {
        let Self { names, counts, .. } = self;
        let mut inequalities = Inequalities::default();
        for (i, spec) in specs.enumerate() {
            let refuse = |message: String| Refusal::Invariant(i, message);
            let Some(built) = self.inequalities(spec)? else { continue };
            let one = built.map_err(|e| refuse(e.to_string()))?;
            inequalities = inequalities.and(one.clone());
            let wrong = infeasible(&inequalities, invariant, names, counts);
            if let Some(message) = wrong.or_else(|| outside(&one, names, counts)) {
                return Err(refuse(message));
            }
            one.around(counts).map_err(|e| refuse(e.to_string()))?;
        }
        Ok(inequalities)
    }

    fn inequalities(&self, spec: &InvariantSpec) -> Built<Inequalities> {
        Ok(Some(match spec {
            InvariantSpec::Nonnegative => Ok(Inequalities::nonnegative(self.names.len())),
            InvariantSpec::Bounds(lower, upper) => {
                Inequalities::bounds(self.bounds(lower, NO_LOWER)?, self.bounds(upper, NO_UPPER)?)
            }
            InvariantSpec::AtLeast(rows, values) => {
                let (width, d) = (rows.first().map_or(0, Vec::len), self.rows.len());
                if width != d {
                    let message = format!("the rows have {width} columns for {d} entries");
                    return Ok(Some(Err(crate::Error::Invariant(message))));
                }
                let sparse =
                    |row: &Vec<i64>| (0u32..).zip(row.iter().copied()).filter(|(_, b)| *b != 0).collect();
                Inequalities::rows(rows.iter().map(sparse).zip(values.iter().copied()).collect())
            }
            _ => return Ok(None),
        }))
    }

    fn equations(&mut self, spec: &InvariantSpec) -> Built<Linear> {
        let d = self.rows.len();
        Ok(Some(match spec {
            InvariantSpec::Nonnegative | InvariantSpec::Bounds(..) | InvariantSpec::AtLeast(..) => {
                return Ok(None);
            }
            InvariantSpec::Total => Linear::total(d),
            InvariantSpec::Partition(columns) => {
                // Column by column: those that agree so far, and in the next.
                let mut groups = vec![0; d];
                for column in columns {
                    let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
                    for (group, key) in groups.iter_mut().zip(self.key(column)?) {
                        let next = numbers.len();
                        *group = *numbers.entry((*group, key)).or_insert(next);
                    }
                }
                Linear::partition(&groups)
            }
            InvariantSpec::Margins { rows, columns } => {
                let (row, column) = (self.key(rows)?, self.key(columns)?);
                let number = |key: &[usize]| key.iter().max().map_or(0, |most| most + 1);
                let (r, c) = (number(&row), number(&column));
                let complete = d == r * c && (0..d).all(|i| row[i] * c + column[i] == i);
                if complete {
                    Linear::margins(r, c)
                } else {
                    // Entries that are missing (structural zeros), in another order, or finer than two ways.
                    Linear::partition(&row).and_then(|by_row| Ok(by_row.and(Linear::partition(&column)?)))
                }
            }
            InvariantSpec::Sets(sets) => Linear::subsets(d, sets),
            InvariantSpec::Indicators(columns) => {
                let mut sets = vec![Vec::new(); columns.len()];
                for (column, set) in columns.iter().zip(&mut sets) {
                    for (entry, (row, text)) in self.texts(column)?.enumerate() {
                        match text {
                            "1" | "1.0" | "true" | "TRUE" | "True" => set.push(entry),
                            "0" | "0.0" | "false" | "FALSE" | "False" => {}
                            _ => {
                                let message = format!("`{column}` = `{text}`, want 0 or 1");
                                return Err(self.table.bad_row(row, message));
                            }
                        }
                    }
                }
                Linear::subsets(d, &sets)
            }
            InvariantSpec::Hierarchy(levels) => self.hierarchy(levels)?,
            InvariantSpec::Matrix { rows, values } => matrix(rows, values.as_deref(), &self.counts[..d]),
        }))
    }

    /// The entries that are known: those that the column marks, and the nodes of known levels, of which the config has checked that
    /// they belong to the one tree.
    fn known(&self, known: &Known, root: &str) -> Result<Vec<u32>> {
        let mut entries: Vec<u32> = Vec::new();
        if let Some(marks) = known.marks(self.table, &[""])? {
            entries.extend(
                (0u32..).zip(&self.rows).filter(|(_, row)| marks[**row as usize].is_some()).map(|x| x.0),
            );
        }
        let depth_of = |name: &String| match name == root {
            true => Some(0),
            false => self.levels.iter().position(|level| level == name).map(|depth| depth + 1),
        };
        let depths: Vec<usize> = known.levels.iter().filter_map(depth_of).collect();
        let nodes = (self.rows.len() as u32..).zip(&self.depths);
        entries.extend(nodes.filter(|(_, depth)| depths.contains(depth)).map(|(node, _)| node));
        Ok(entries)
    }

    /// Adds an entry for every inner node (root first), tied to its children.
    fn hierarchy(&mut self, levels: &[String]) -> Result<crate::Result<Linear>> {
        let table = self.table;
        let places = levels.iter().map(|level| table.column(level)).collect::<Result<Vec<_>>>()?;
        let numbers: Vec<Vec<u32>> = places.iter().map(|&place| table.numbers(place)).collect();
        // Nodes from the root, each the entry `first` + its number, with its equation.
        let first = self.names.len();
        self.depths.push(0);
        self.levels = levels.to_vec();
        let mut rows: Vec<Row> = vec![vec![(first as u32, -1)]];
        self.names.push(format!("(all by {})", levels.join("/")).as_bytes());
        self.counts.push(0);
        // By the parent and the number of the name.
        let mut inner: HashMap<(u32, u32), u32> = HashMap::new();
        let mut leaves: HashMap<(u32, u32), u32> = HashMap::new();
        for (entry, &row) in self.rows.iter().enumerate() {
            let (row, count) = (row as usize, self.counts[entry]);
            if places.iter().any(|&place| table.text(row, place).is_empty()) {
                return Err(table.bad_row(row, format!("an empty name in {}", levels.join(", "))));
            }
            let mut parent = 0u32;
            self.counts[first] += count;
            for depth in 1..places.len() {
                let next = rows.len() as u32;
                let node = *inner.entry((parent, numbers[depth - 1][row])).or_insert(next);
                if node == next {
                    let number = first as u32 + node;
                    rows[parent as usize].push((number, 1));
                    rows.push(vec![(number, -1)]);
                    let of = levels.iter().zip(&places[..depth]);
                    let of = of.map(|(level, &place)| format!("{level}={}", table.text(row, place)));
                    self.names.push(format!("({})", of.collect::<Vec<_>>().join("/")).as_bytes());
                    self.counts.push(0);
                    self.depths.push(depth);
                }
                self.counts[first + node as usize] += count;
                parent = node;
            }
            let number = numbers.last().map_or(0, |numbers| numbers[row]);
            if let Some(before) = leaves.insert((parent, number), row as u32) {
                let path: Vec<_> = places.iter().map(|&place| table.text(row, place)).collect();
                let (path, before) = (path.join("/"), table.place(before as usize));
                let message = format!("the leaf `{path}` is duplicated (first on {before})");
                return Err(table.bad_row(row, message));
            }
            rows[parent as usize].push((entry as u32, 1));
        }
        Ok(Linear::from_rows(self.names.len(), rows))
    }
}

fn matrix(rows: &[Vec<i64>], values: Option<&[i64]>, counts: &[i64]) -> crate::Result<Linear> {
    let wrong = |message: String| Err(crate::Error::Invariant(message));
    let width = rows.first().map_or(0, Vec::len);
    if width != counts.len() && !rows.is_empty() {
        return wrong(format!("the matrix has {width} columns for {} entries", counts.len()));
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

/// Reads a matrix: a CSV file without a header, integers only.
pub fn read_matrix(path: &Path) -> Result<Vec<Vec<i64>>> {
    let file = crate::files::open(path)?;
    matrix_from_reader(path, file)
}

/// Reads a matrix from anywhere; `path` is its name in messages. Refused: as by [`CsvTable::from_reader`]; what is no
/// integer.
pub fn matrix_from_reader(path: &Path, source: impl std::io::Read) -> Result<Vec<Vec<i64>>> {
    let mut lines = Rows::new(path, source, Encoding::ByMark)?;
    let mut rows = Vec::new();
    while lines.next()? {
        let number = |text: &str| {
            text.parse::<i64>().map_err(|_| lines.bad(lines.line(), format!("got `{text}`, want an integer")))
        };
        rows.push(lines.fields().map(number).collect::<Result<Vec<_>>>()?);
    }
    if rows.is_empty() {
        return Err(Failure::data(path, "the file is empty, want a row per equation"));
    }
    Ok(rows)
}
