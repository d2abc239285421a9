//! The entries of a table under equations, from a noisy file.

use super::file::{File, Told};
use super::reach::{Equation, Reach};
use super::target::Target;
use crate::catalogue::Place;
use crate::config::Invariants;
use crate::failure::{Failure, Result};
use crate::input::{InvariantSpec, InvariantTable, Refusal, System};
use crate::invariant::{Inequalities, Linear};
use crate::lattice::Row;
use std::collections::HashMap;

/// The entries of a table, with what ties them.
#[derive(Debug, Clone)]
pub struct Entries {
    /// All equations; of a known entry that its noise is 0.
    pub invariant: Linear,
    /// The inequalities on the counts.
    pub inequalities: Inequalities,
    /// Entries that are known, ascending.
    pub known: Vec<u32>,
    /// Entries of a two-way table that have no row, in words; empty if there are none.
    pub absent: String,
    /// By entry, its keys.
    keys: Vec<Vec<String>>,
    /// The equations one by one, with what they fix.
    pub(super) equations: Vec<Equation>,
    /// What the counts can be.
    pub(super) reach: Reach,
    /// Sums that the invariant leaves open, level by level.
    sums: Vec<Sum>,
    /// By level of sums the column of its keys; of the total none.
    columns: Vec<Option<usize>>,
}

/// The sum of all entries that agree in a column.
#[derive(Debug, Clone)]
struct Sum {
    level: usize,
    keys: Vec<String>,
    weights: Vec<(u32, i8)>,
}

impl Entries {
    /// The entries of a table that is held. Errors: no table of counts >= 0 keeps its equations and inequalities.
    pub fn of(table: &InvariantTable) -> crate::Result<Self> {
        let values: Vec<f64> = table.counts.iter().map(|&count| count as f64).collect();
        let equation = |(family, row): (usize, &Row)| {
            let value = row.iter().map(|&(entry, a)| a as f64 * values[entry as usize]).sum();
            Equation { row: row.clone(), value, family }
        };
        let equations: Vec<Equation> = table.invariant.rows().iter().enumerate().map(equation).collect();
        let inequalities = table.inequalities.clone();
        let reach = Reach::new(&equations, &inequalities, &table.known, &values).map_err(|entry| {
            crate::Error::Invariant(format!("no count fits `{}`, with what is fixed", &table.names[entry]))
        })?;
        let key = |entry: usize| table.columns.iter().map(|(_, texts)| texts[entry].to_owned()).collect();
        Ok(Self {
            invariant: table.invariant.clone(),
            inequalities,
            known: table.known.clone(),
            absent: String::new(),
            keys: (0..values.len()).map(key).collect(),
            equations,
            reach,
            sums: Vec::new(),
            columns: Vec::new(),
        })
    }

    pub(super) fn counts(&self) -> usize {
        self.sums.len() + self.keys.len()
    }

    pub(super) fn levels(&self) -> usize {
        self.columns.len() + 1
    }

    pub(super) fn level(&self, count: usize) -> usize {
        self.sums.get(count).map_or(self.columns.len(), |sum| sum.level)
    }

    /// The column of the keys of a level of sums, none of the total; `None` of the entries.
    pub(super) fn column(&self, level: usize) -> Option<Option<usize>> {
        self.columns.get(level).copied()
    }

    pub(super) fn keys(&self, count: usize) -> Vec<&str> {
        let own = self.sums.get(count).map(|sum| &sum.keys);
        let own = own.unwrap_or_else(|| &self.keys[count - self.sums.len()]);
        own.iter().map(String::as_str).collect()
    }

    pub(super) fn target(&self, count: usize) -> Target {
        match self.sums.get(count) {
            Some(sum) => Target::Sum(sum.weights.clone()),
            None => Target::Count(count - self.sums.len()),
        }
    }

    /// Entries by their keys.
    pub(super) fn parts(&self) -> HashMap<Vec<&str>, u32> {
        let keys = self.keys.iter().map(|keys| keys.iter().map(String::as_str).collect());
        keys.zip(0..).collect()
    }

    /// What a file says of a table. Refused: as [`super::Noisy::read`] says.
    pub(super) fn read(file: &File, invariants: &Invariants) -> Result<(Self, Told)> {
        let table = file.table;
        let refused = |e: crate::Error| Failure::data(&table.path, e.to_string());
        let is_sum = |row: &usize| file.keys.iter().any(|&place| table.text(*row, place).is_empty());
        let (sums, own): (Vec<usize>, Vec<usize>) = (0..table.len()).partition(is_sum);
        let (Some(&first), Ok(_)) = (own.first(), u32::try_from(table.len())) else {
            return Err(Failure::data(&table.path, "no row of an entry, want one whose keys are not blank"));
        };
        file.check_twice(&own)?;
        let sums = file.sums(&sums)?;
        let system = System::of(table, own.iter().map(|&row| row as u32).collect(), invariants.specs());
        let system = system.map_err(|refusal| match refusal {
            Refusal::Invariant(block, message) => invariants.refused(block, message),
            Refusal::File(failure) => failure,
        })?;
        let rows: Vec<usize> = system.rows.iter().map(|&row| row as usize).collect();
        let (values, integers) = file.values(&rows)?;
        let is_known = file.known(&rows, &values)?;
        let place = Place::Table { inequalities: !system.inequalities.is_empty() };
        let method = file.method(&rows, place)?;
        let measured: Vec<(usize, usize)> =
            rows.iter().zip(&is_known).filter(|(_, known)| !**known).map(|(&row, _)| (row, 0)).collect();
        let (law, assumed, scales) = file.noise(&measured, (1, "all entries"), place)?;
        if method.nonnegative() {
            let message =
                "option nonnegative = `true`: on a table it is an [[invariant]] of kind \"nonnegative\"";
            return Err(table.bad_row(first, message));
        }
        if let Err(why) = method.serves(law, place) {
            let (method, law) = (method.name(), law.name());
            let message = format!("no release of this table is by `{method}` with {law} noise: {why}");
            return Err(table.bad_row(first, message));
        }
        file.check_integers(method, law, &values, &rows)?;
        let known: Vec<u32> = (0..).zip(&is_known).filter(|(_, known)| **known).map(|(i, _)| i).collect();
        let invariant = system.invariant.with_known(&known).map_err(refused)?;
        crate::invariant::check_free(&invariant).map_err(refused)?;
        let keys: Vec<Vec<String>> = rows
            .iter()
            .map(|&row| file.keys.iter().map(|&place| table.text(row, place).to_owned()).collect())
            .collect();
        let places: HashMap<&str, usize> =
            file.keys.iter().map(|&place| table.columns[place].as_str()).zip(0..).collect();
        let mut fixed = Fixed { file, keys: &keys, places, sums, equations: Vec::new() };
        for (block, (spec, linear)) in invariants.specs().zip(&system.blocks).enumerate() {
            let refused = |message: String| invariants.refused(block, message);
            fixed.add(spec, linear.as_ref(), &refused)?;
        }
        let equations = fixed.finish(method.kind().is_free(), &values)?;
        let absent = absent(invariants.specs(), &keys, &file.columns());
        let reach = Reach::new(&equations, &system.inequalities, &known, &values).map_err(|entry| {
            let message =
                format!("no count fits `{}`, with what the invariant fixes", keys[entry].join(", "));
            table.bad_row(rows[entry], message)
        })?;
        let inequalities = system.inequalities;
        let (sums, columns) = open_sums(&keys, &invariant);
        let entries = Self { invariant, inequalities, known, absent, keys, equations, reach, sums, columns };
        Ok((entries, Told { values, integers, law, assumed, scales, method }))
    }
}

/// Rows of sums that are known, by their keys: the row and its value, and whether an equation took it.
type KnownSums<'a> = HashMap<Vec<&'a str>, (usize, f64, bool)>;

/// What fixes a value: a row of the file with `known`, or a block of the invariants.
struct Fixed<'a> {
    file: &'a File<'a>,
    /// By entry.
    keys: &'a [Vec<String>],
    /// By the name of a column of keys, its place among them.
    places: HashMap<&'a str, usize>,
    /// Rows of sums that are known, by their keys: the row and its value, and whether an equation took it.
    sums: KnownSums<'a>,
    /// What is fixed, as far as it is given, in words with its row.
    equations: Vec<(Row, Option<f64>, usize, String)>,
}

impl<'a> Fixed<'a> {
    /// Adds the equations of a block. Errors: a sum over a column that is no key.
    fn add(
        &mut self,
        spec: &InvariantSpec,
        linear: Option<&Linear>,
        refused: &dyn Fn(String) -> Failure,
    ) -> Result<()> {
        let family = self.equations.last().map_or(0, |(_, _, family, _)| family + 1);
        if let Some(lists) = spec.sums() {
            for (list, columns) in lists.iter().enumerate() {
                let place = |column: &&str| {
                    self.places
                        .get(column)
                        .copied()
                        .ok_or_else(|| refused(format!("`{column}` is no column of keys")))
                };
                let places = columns.iter().map(place).collect::<Result<Vec<usize>>>()?;
                self.by_columns(&places, family + list);
            }
            return Ok(());
        }
        let Some(linear) = linear else { return Ok(()) };
        let values = match spec {
            // Rows without coefficients are no equations.
            InvariantSpec::Matrix { rows, values: Some(values) } => {
                let pairs = rows.iter().zip(values);
                pairs
                    .filter(|(row, _)| row.iter().any(|&a| a != 0))
                    .map(|(_, &value)| Some(value as f64))
                    .collect()
            }
            _ => vec![None; linear.rows().len()],
        };
        for (i, (row, value)) in linear.rows().iter().zip(values).enumerate() {
            self.equations.push((row.clone(), value, family + i, format!("equation {}", i + 1)));
        }
        Ok(())
    }

    /// Adds the sums of all entries that agree in some columns, each with the value of its own row if it has one.
    fn by_columns(&mut self, places: &[usize], family: usize) {
        let mut groups: HashMap<Vec<&str>, usize> = HashMap::new();
        let first = self.equations.len();
        for (entry, keys) in self.keys.iter().enumerate() {
            let mut own = vec![""; keys.len()];
            places.iter().for_each(|&place| own[place] = &keys[place]);
            let at = *groups.entry(own.clone()).or_insert_with(|| {
                let given = self.sums.get_mut(&own).map(|(_, value, taken)| {
                    *taken = true;
                    *value
                });
                let said: Vec<&str> = own.iter().copied().filter(|key| !key.is_empty()).collect();
                let words = match said.is_empty() {
                    true => "the total".to_owned(),
                    false => format!("the sum of `{}`", said.join(", ")),
                };
                self.equations.push((Row::new(), given, family, words));
                self.equations.len() - 1 - first
            });
            self.equations[first + at].0.push((entry as u32, 1));
        }
    }

    /// The equations with what they fix. `is_free`: the values need not keep them. Refused: a known sum that the invariant does not
    /// fix; values that do not keep what is fixed; of free noise an equation whose value nothing gives.
    fn finish(self, is_free: bool, values: &[f64]) -> Result<Vec<Equation>> {
        let table = self.file.table;
        if let Some((row, ..)) = self.sums.values().filter(|(.., taken)| !taken).min_by_key(|(row, ..)| *row)
        {
            let message = format!(
                "the sum of `{}`: no [[invariant]] fixes it, or it is that of no entry",
                self.file.words(*row)
            );
            return Err(table.bad_row(*row, message));
        }
        let equation = |(row, given, family, words): (Row, Option<f64>, usize, String)| {
            let sum: f64 = row.iter().map(|&(entry, a)| a as f64 * values[entry as usize]).sum();
            let size: f64 = row.iter().map(|&(entry, a)| (a as f64 * values[entry as usize]).abs()).sum();
            let value = match given {
                Some(value) if is_free || (sum - value).abs() <= 1e-6 * (1.0 + size) => value,
                Some(value) => {
                    let message = format!("{words}: the values give {sum}, and the invariant fixes {value}");
                    return Err(Failure::data(&table.path, message));
                }
                None if is_free => {
                    let message = format!(
                        "{words}: nothing gives what the invariant fixes, and values with noise of their own do not; want a \
                         row of the sum with `known` true and blanks for what it goes over, or `values` of a matrix"
                    );
                    return Err(Failure::data(&table.path, message));
                }
                // Of counts it is a whole number.
                None if (sum - libm::round(sum)).abs() <= 1e-6 * (1.0 + size) => libm::round(sum),
                None => {
                    let message = format!(
                        "{words}: the values give {sum}, want a whole number as that of counts, or the method unconstrained"
                    );
                    return Err(Failure::data(&table.path, message));
                }
            };
            Ok(Equation { row, value, family })
        };
        self.equations.into_iter().map(equation).collect()
    }
}

impl<'a> File<'a> {
    /// Refuses an entry that stands there twice.
    fn check_twice(&self, rows: &[usize]) -> Result<()> {
        let codes: Vec<Vec<u32>> = self.keys.iter().map(|&place| self.table.numbers(place)).collect();
        let mut seen: HashMap<Vec<u32>, usize> = HashMap::new();
        for &row in rows {
            let own: Vec<u32> = codes.iter().map(|codes| codes[row]).collect();
            if let Some(first) = seen.insert(own, row) {
                let (name, first) = (self.words(row), self.table.place(first));
                return Err(self
                    .table
                    .bad_row(row, format!("`{name}` stands there twice (first on {first})")));
            }
        }
        Ok(())
    }

    /// Rows whose keys are not all there: sums, which must be known. By their keys, row and value. Refused: one that is not; two.
    fn sums(&self, rows: &[usize]) -> Result<KnownSums<'a>> {
        let table = self.table;
        let (values, _) = self.values(rows)?;
        let known = self.known(rows, &values)?;
        let mut sums = HashMap::new();
        for ((&row, value), known) in rows.iter().zip(values).zip(known) {
            if !known {
                let message =
                    "a key is blank, which makes it a sum: want `known` true, and what the invariant fixes";
                return Err(table.bad_row(row, message));
            }
            let keys: Vec<&str> = self.keys.iter().map(|&place| table.text(row, place)).collect();
            if let Some((first, ..)) = sums.insert(keys, (row, value, false)) {
                let message = format!("a second row of this sum, the first is on {}", table.place(first));
                return Err(table.bad_row(row, message));
            }
        }
        Ok(sums)
    }
}

/// Sums by one column, and that of all entries, which the invariant does not fix; by level their column.
fn open_sums(keys: &[Vec<String>], invariant: &Linear) -> (Vec<Sum>, Vec<Option<usize>>) {
    let l2 = crate::imaging::LatticeL2::new(invariant).ok();
    let is_open = |weights: &[(u32, i8)]| {
        let Some(l2) = &l2 else { return true };
        let mut noise = vec![0.0; keys.len()];
        weights.iter().for_each(|&(entry, weight)| noise[entry as usize] = f64::from(weight));
        l2.project(&mut noise);
        noise.iter().any(|z| z.abs() > 1e-9)
    };
    let (mut sums, mut columns) = (Vec::new(), Vec::new());
    let width = keys.first().map_or(0, Vec::len);
    for column in std::iter::once(None).chain((0..width).map(Some)) {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut all: Vec<Sum> = Vec::new();
        for (entry, own) in keys.iter().enumerate() {
            let key = column.map_or("", |column| &own[column]);
            let place = *places.entry(key).or_insert_with(|| {
                let mut keys = vec![String::new(); width];
                column.iter().for_each(|&column| keys[column] = key.to_owned());
                all.push(Sum { level: columns.len(), keys, weights: Vec::new() });
                all.len() - 1
            });
            all[place].weights.push((entry as u32, 1));
        }
        // One entry a group is the entries themselves, one group the total.
        let says_more = all.len() < keys.len() && (all.len() > 1 || column.is_none());
        all.retain(|sum| says_more && is_open(&sum.weights));
        if !all.is_empty() {
            columns.push(column);
            sums.extend(all);
        }
    }
    (sums, columns)
}

/// Entries of two-way tables with fixed margins that have no row, in words: the first of them.
fn absent<'a>(
    specs: impl Iterator<Item = &'a InvariantSpec>,
    keys: &[Vec<String>],
    columns: &[String],
) -> String {
    for spec in specs {
        let InvariantSpec::Margins { rows, columns: across } = spec else { continue };
        let place = |name: &String| columns.iter().position(|column| column == name);
        let (Some(down), Some(across)) = (place(rows), place(across)) else { continue };
        let names = |place: usize| {
            let mut names: Vec<&str> = keys.iter().map(|keys| keys[place].as_str()).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let there: std::collections::HashSet<(&str, &str)> =
            keys.iter().map(|keys| (keys[down].as_str(), keys[across].as_str())).collect();
        for one in names(down) {
            if let Some(other) = names(across).into_iter().find(|other| !there.contains(&(one, other))) {
                return format!("{one}, {other}");
            }
        }
    }
    String::new()
}
