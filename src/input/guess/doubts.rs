//! What may be wrong with a table: rows of totals, groups without a row, names that are the same to the eye.

use super::super::CsvTable;
use super::columns::Seen;
use super::nesting::Order;
use hashbrown::HashMap;
use unicode_normalization::UnicodeNormalization;

/// What rows of totals are called, in small letters.
const TOTALS: [&str; 26] = [
    "total",
    "totals",
    "all",
    "grand total",
    "subtotal",
    "sum",
    "overall",
    "both",
    "both sexes",
    "all ages",
    "all sexes",
    "gesamt",
    "insgesamt",
    "summe",
    "zusammen",
    "alle",
    "ensemble",
    "total général",
    "tous",
    "totale",
    "totaal",
    "totalt",
    "i alt",
    "ogółem",
    "razem",
    "celkem",
];
/// A sum of others from which on it is no accident.
const LARGE: i64 = 10;

/// Adds what is doubtful of a table with its counts.
pub(super) fn add(table: &CsvTable, order: &Order, counts: &[i64], doubts: &mut Vec<String>) {
    for key in &order.keys {
        doubts.extend(called_total(table, key));
    }
    if doubts.iter().all(|doubt| !doubt.contains("total of others")) {
        doubts.extend(sum_of_others(table, order, counts));
    }
    for (depth, key) in order.keys.iter().enumerate() {
        doubts.extend(same_to_the_eye(table, &order.keys[..if order.nested { depth } else { 0 }], key));
    }
    doubts.extend(without_row(table, order));
}

/// A row, for people.
fn at(table: &CsvTable, row: usize, place: usize) -> String {
    let text = toml::Value::String(table.text(row, place).to_owned());
    format!("{text} in `{}` on {}", table.columns[place], table.place(row))
}

/// A row whose name is one of totals.
fn called_total(table: &CsvTable, key: &Seen) -> Option<String> {
    let total = |row: &usize| {
        let name = table.text(*row, key.place).to_lowercase();
        let bare = name.trim_matches(|c: char| !c.is_alphanumeric());
        TOTALS.contains(&bare)
            || bare.starts_with("total ")
            || bare.ends_with(" total")
            || bare.starts_with("summe ")
    };
    let row = CsvTable::first_rows(&key.numbers).into_iter().find(total)?;
    Some(format!("{} may be a total of others: leave such rows out", at(table, row, key.place)))
}

/// A node that is the sum of its siblings, of which there are several: of a hierarchy by level; of a table by column, among
/// the rows that agree in the others.
fn sum_of_others(table: &CsvTable, order: &Order, counts: &[i64]) -> Option<String> {
    (0..order.keys.len()).rev().find_map(|depth| {
        let key = &order.keys[depth];
        // The number of the parent by row.
        let others = order
            .keys
            .iter()
            .enumerate()
            .filter(|(i, _)| if order.nested { *i < depth } else { *i != depth });
        let mut parents = vec![0u32; table.len()];
        for (_, other) in others {
            let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
            for (parent, &number) in parents.iter_mut().zip(&other.numbers) {
                let next = numbers.len() as u32;
                *parent = *numbers.entry((*parent, number)).or_insert(next);
            }
        }
        // By parent the sum and the number of children; by child its sum and its first row.
        let mut children: HashMap<(u32, u32), (i64, usize)> = HashMap::new();
        let mut sums: HashMap<u32, (i64, usize)> = HashMap::new();
        for row in 0..table.len() {
            let next = children.len();
            let child = children.entry((parents[row], key.numbers[row])).or_insert((0, row));
            child.0 = child.0.saturating_add(counts[row]);
            let new = usize::from(next < children.len());
            let sum = sums.entry(parents[row]).or_insert((0, 0));
            *sum = (sum.0.saturating_add(counts[row]), sum.1 + new);
        }
        let total = |(&(parent, _), &(count, row)): (&(u32, u32), &(i64, usize))| {
            let (sum, several) = sums[&parent];
            (several > 2 && count >= LARGE && sum - count == count).then_some(row)
        };
        // In every group, or it is an accident.
        let rows: Vec<usize> = children.iter().filter_map(total).collect();
        let crowded = sums.values().filter(|(sum, several)| *several > 2 && *sum > 0).count();
        let row = rows.iter().min().filter(|_| 2 * rows.len() > crowded)?;
        Some(format!(
            "{} is the sum of those beside it: a total of others? leave such rows out",
            at(table, *row, key.place)
        ))
    })
}

/// Two names under one parent that differ in letters that look alike, in capitals or in blanks alone.
fn same_to_the_eye(table: &CsvTable, above: &[Seen], key: &Seen) -> Option<String> {
    let bare = |name: &str| {
        name.nfkc().collect::<String>().to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut texts: HashMap<String, usize> = HashMap::new();
    let suspects: Vec<(usize, usize)> = CsvTable::first_rows(&key.numbers)
        .into_iter()
        .filter_map(|row| {
            let before = *texts.entry(bare(table.text(row, key.place))).or_insert(row);
            (before < row).then_some((before, row))
        })
        .collect();
    suspects.into_iter().find_map(|(one, other)| {
        let mut parents: HashMap<(Vec<u32>, bool), usize> = HashMap::new();
        (0..table.len()).find_map(|row| {
            let is = [one, other].map(|suspect| key.numbers[row] == key.numbers[suspect]);
            if is == [false; 2] {
                return None;
            }
            let path: Vec<u32> = above.iter().map(|level| level.numbers[row]).collect();
            parents.insert((path.clone(), is[0]), row);
            let before = *parents.get(&(path, !is[0]))?;
            let before = toml::Value::String(table.text(before, key.place).to_owned());
            Some(format!("{} and {before} are two groups: the same?", at(table, row, key.place)))
        })
    })
}

/// How many groups of a table, or of what crosses a hierarchy, have no row.
fn without_row(table: &CsvTable, order: &Order) -> Option<String> {
    if order.nested && order.chain == order.keys.len() {
        return None;
    }
    let leaves = if order.nested {
        let chain = &order.keys[..order.chain];
        let paths: hashbrown::HashSet<Vec<u32>> =
            (0..table.len()).map(|row| chain.iter().map(|key| key.numbers[row]).collect()).collect();
        paths.len()
    } else {
        1
    };
    let all = order.keys[order.chain..].iter().fold(leaves as f64, |all, key| all * key.values as f64);
    let none = all - table.len() as f64;
    (none > 0.5).then(|| {
        format!("{none} of {all} groups have no row: they are taken to be empty for everybody to know; else give them a row with 0")
    })
}
