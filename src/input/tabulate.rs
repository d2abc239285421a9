//! Raw records, or rows of a finer table, as a table of counts by several columns.

use super::csv_table::{CsvTable, Wanted};
use super::guess::{Bundle, bundles};
use super::numbers::Numbers;
use crate::failure::{Failure, Result};
use hashbrown::HashMap;
use std::path::PathBuf;

/// What to tabulate.
#[derive(Debug, Clone)]
pub struct Tabulate {
    /// The records: parquet or CSV.
    pub records: PathBuf,
    /// Columns of the records that name a group.
    pub by: Vec<String>,
    /// A column that is added up; without it records are counted.
    pub sum: Option<String>,
    /// A table that lists the groups, with these columns and maybe others.
    pub list: Option<PathBuf>,
    /// Name of the column of counts.
    pub count: String,
}

/// A table of counts and what was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tabulated {
    /// The columns of the groups, then the count.
    pub columns: Vec<String>,
    /// One row per group.
    pub rows: Vec<Vec<String>>,
    /// Records that were read.
    pub records: usize,
    /// Groups without a record.
    pub empty: usize,
    /// Where groups without a record come from, in words.
    pub groups: String,
    /// What was seen of the file that not every file has.
    pub notes: Vec<String>,
}

/// Groups of a product at most.
const MOST: f64 = 1e7;

/// Counts records by several columns, or adds one up.
///
/// Groups are those of the list, in its order; else all combinations of values, where columns of which one follows from the
/// other, or that are named as places one in another (regions and their municipalities), are combined as they stand, in the
/// order of the values: numbers by size, else by letters.
///
/// Refused: files that cannot be read; a missing column, or one that is named twice; a record with a blank in one of
/// them; what is added up and is no whole number >= 0; a sum beyond 2^53; a group that the list has not, or has twice;
/// over 10^7 combinations.
pub fn tabulate(job: &Tabulate) -> Result<Tabulated> {
    let refused = |message: String| Err(Failure::data(&job.records, message));
    let value = job.sum.as_ref().unwrap_or(&job.by[0]);
    let table = CsvTable::read_wanted(&job.records, &Wanted::of(job.by.iter().map(String::as_str), value))?;
    if job.by.contains(&job.count) {
        return refused(format!("`{}` names groups; choose another name for the count (--count)", job.count));
    }
    if let Some(twice) = (1..job.by.len()).find(|&i| job.by[..i].contains(&job.by[i])) {
        return refused(format!("`{}` is named twice", job.by[twice]));
    }
    let places = job.by.iter().map(|name| table.column(name)).collect::<Result<Vec<_>>>()?;
    let (sums, notes) = sums(job, &table, &places)?;
    let mut done = match &job.list {
        Some(list) => listed(job, &table, &places, &sums, &CsvTable::read(list)?)?,
        None => combined(job, &table, &places, &sums)?,
    };
    done.notes.splice(0..0, notes);
    Ok(done)
}

/// By group, the numbers of its values in the columns and its count; and what is to be said.
type Sums = HashMap<Vec<u32>, i64>;

fn sums(job: &Tabulate, table: &CsvTable, places: &[usize]) -> Result<(Sums, Vec<String>)> {
    let codes: Vec<Vec<u32>> = places.iter().map(|&place| table.numbers(place)).collect();
    let sum = job.sum.as_ref().map(|name| table.column(name)).transpose()?;
    let numbers = Numbers::new(table, sum.unwrap_or(places[0]));
    let (mut sums, mut total) = (Sums::new(), 0i64);
    let mut group = vec![0; places.len()];
    for row in 0..table.len() {
        if let Some(&place) = places.iter().find(|&&place| table.text(row, place).is_empty()) {
            let message = format!("`{}` is blank, want the name of a group", table.columns[place]);
            return Err(table.bad_row(row, message));
        }
        group.iter_mut().zip(&codes).for_each(|(group, codes)| *group = codes[row]);
        let value = if sum.is_some() { numbers.count(row)? } else { 1 };
        total = total.saturating_add(value);
        if total > 1 << 53 {
            return Err(Failure::data(&table.path, format!("the counts sum to {total}, the limit is 2^53")));
        }
        match sums.get_mut(&group) {
            Some(sum) => *sum += value,
            None => drop(sums.insert(group.clone(), value)),
        }
    }
    Ok((sums, table.notes().iter().cloned().chain(numbers.note()).collect()))
}

/// By value of a column, its text.
fn texts(table: &CsvTable, place: usize) -> Vec<&str> {
    let firsts = CsvTable::first_rows(&table.numbers(place));
    firsts.into_iter().map(|row| table.text(row, place)).collect()
}

/// By value, its place among all: numbers by size, else by letters.
fn ranks(texts: &[&str]) -> Vec<u32> {
    let numbers: Option<Vec<i64>> = texts.iter().map(|text| text.parse().ok()).collect();
    let mut order: Vec<usize> = (0..texts.len()).collect();
    match numbers {
        Some(numbers) => order.sort_by_key(|&i| (numbers[i], texts[i])),
        None => order.sort_by_key(|&i| texts[i]),
    }
    let mut ranks = vec![0; texts.len()];
    order.into_iter().zip(0..).for_each(|(i, rank)| ranks[i] = rank);
    ranks
}

/// All combinations of values.
fn combined(job: &Tabulate, table: &CsvTable, places: &[usize], sums: &Sums) -> Result<Tabulated> {
    if table.is_empty() {
        return Err(Failure::data(&table.path, "no rows below the header, want one per record"));
    }
    let bundles = bundles(table, places);
    // By bundle, the values of its columns that stand together in some record.
    let mut parts: Vec<Vec<Vec<u32>>> = Vec::new();
    for bundle in &bundles {
        let of = |group: &Vec<u32>| bundle.places.iter().map(|&i| group[i]).collect::<Vec<u32>>();
        let mut part: Vec<Vec<u32>> = sums.keys().map(of).collect();
        part.sort_unstable();
        part.dedup();
        parts.push(part);
    }
    let names: Vec<String> = bundles
        .iter()
        .map(|bundle| bundle.places.iter().map(|&i| job.by[i].as_str()).collect::<Vec<_>>().join(" in "))
        .collect();
    let all: f64 = parts.iter().map(|part| part.len() as f64).product();
    if all > MOST {
        let message =
            format!("{all} combinations of {}, at most {MOST}: list the groups (--list)", names.join(" x "));
        return Err(Failure::data(&table.path, message));
    }
    let mut groups = vec![vec![0u32; places.len()]];
    for (bundle, part) in bundles.iter().zip(&parts) {
        let with = |group: &Vec<u32>| {
            let group = group.clone();
            part.iter().map(move |values| {
                let mut group = group.clone();
                bundle.places.iter().zip(values).for_each(|(&i, &value)| group[i] = value);
                group
            })
        };
        groups = groups.iter().flat_map(with).collect();
    }
    let texts: Vec<Vec<&str>> = places.iter().map(|&place| texts(table, place)).collect();
    let ranks: Vec<Vec<u32>> = texts.iter().map(|texts| ranks(texts)).collect();
    groups.sort_by_cached_key(|group| {
        group.iter().zip(&ranks).map(|(&value, ranks)| ranks[value as usize]).collect::<Vec<u32>>()
    });
    let row = |group: &Vec<u32>| {
        let names = group.iter().zip(&texts).map(|(&value, texts)| texts[value as usize].to_owned());
        names.chain([sums.get(group).copied().unwrap_or(0).to_string()]).collect()
    };
    Ok(Tabulated {
        columns: job.by.iter().chain([&job.count]).cloned().collect(),
        rows: groups.iter().map(row).collect(),
        records: table.len(),
        empty: groups.iter().filter(|group| !sums.contains_key(*group)).count(),
        groups: format!("all combinations of {}", names.join(" x ")),
        notes: bundles.iter().zip(&names).filter(|(bundle, _)| bundle.doubtful).map(doubt).collect(),
    })
}

/// What is said where few records tell that columns contain each other.
fn doubt((_, names): (&Bundle, &String)) -> String {
    format!(
        "`{names}`, since no value stands in two; few records say so, and groups may be missing: if other combinations are \
         possible, list the groups (--list)"
    )
}

/// The groups of a list.
fn listed(
    job: &Tabulate,
    table: &CsvTable,
    places: &[usize],
    sums: &Sums,
    list: &CsvTable,
) -> Result<Tabulated> {
    if list.columns.contains(&job.count) {
        let message = format!("has a column `{}` already; choose another name for the count", job.count);
        return Err(Failure::data(&list.path, message));
    }
    let listed = job.by.iter().map(|name| list.column(name)).collect::<Result<Vec<_>>>()?;
    let texts: Vec<Vec<&str>> = places.iter().map(|&place| texts(table, place)).collect();
    let names = |group: &Vec<u32>| -> Vec<&str> {
        group.iter().zip(&texts).map(|(&value, texts)| texts[value as usize]).collect()
    };
    let mut counts: HashMap<Vec<&str>, i64> = sums.iter().map(|(group, sum)| (names(group), *sum)).collect();
    let (mut rows, mut empty) = (Vec::new(), 0);
    let mut first: HashMap<Vec<&str>, usize> = HashMap::new();
    for row in 0..list.len() {
        let group: Vec<&str> = listed.iter().map(|&place| list.text(row, place)).collect();
        if let Some(before) = first.insert(group.clone(), row) {
            let message = format!("`{}` is duplicated (first on {})", group.join("/"), list.place(before));
            return Err(list.bad_row(row, message));
        }
        let count = counts.remove(&group);
        empty += usize::from(count.is_none());
        let names = (0..list.columns.len()).map(|place| list.text(row, place).to_owned());
        rows.push(names.chain([count.unwrap_or(0).to_string()]).collect());
    }
    if let Some(group) = counts.keys().min() {
        let message = format!(
            "`{}` is a group of the records that {} does not list",
            group.join("/"),
            list.path.display()
        );
        return Err(Failure::data(&table.path, message));
    }
    Ok(Tabulated {
        columns: list.columns.iter().chain([&job.count]).cloned().collect(),
        rows,
        records: table.len(),
        empty,
        groups: format!("those of {}", list.path.display()),
        notes: Vec::new(),
    })
}
