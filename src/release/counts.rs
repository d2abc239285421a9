//! The confidential counts, on the tree of the domain. What is refused here names them: it is for the operator alone.

use super::config::Data;
use crate::failure::{Failure, Result};
use crate::hash::FileDigest;
use crate::input::LeafList;
use crate::input::{CsvTable, Wanted, whole_counts};

/// Totals beyond this are refused: with noise they stay within 2^53.
const MOST: i64 = 1 << 52;

/// Reads the counts of all nodes. A leaf without a row counts 0.
///
/// Refused, with file and row: a missing column; keys that are not in the domain, or twice; what is no count; a total beyond 2^52; the
/// list itself.
pub(super) fn read(data: &Data, domain: &LeafList) -> Result<Vec<i64>> {
    let path = &data.table;
    if FileDigest::of(path)?.sha256 == domain.sha256 {
        let message = format!(
            "it is the list of leaves {}, too: want a public list that was not made of these data",
            data.domain.display()
        );
        return Err(Failure::data(path, message));
    }
    let columns = data.levels.iter().map(String::as_str);
    let table = CsvTable::read_wanted(path, &Wanted::of(columns, data.count.as_deref().unwrap_or_default()))?;
    let finder = domain.finder(&table, &data.levels)?;
    let given = data.count.as_ref().map(|count| whole_counts(&table, table.column(count)?)).transpose()?;
    let mut counts = vec![0i64; domain.tree.nodes()];
    let mut first: Vec<u32> = if given.is_some() { vec![u32::MAX; counts.len()] } else { Vec::new() };
    let mut total = 0i64;
    for row in 0..table.len() {
        let node = finder.leaf(row)?;
        let count = given.as_ref().map_or(1, |given| given[row]);
        if let Some(first) = first.get_mut(node as usize) {
            if *first != u32::MAX {
                let before = table.place(*first as usize);
                return Err(table.bad_row(row, format!("its leaf stands there twice (first on {before})")));
            }
            *first = row as u32;
        }
        counts[node as usize] += count;
        total = total.saturating_add(count);
    }
    if total > MOST {
        return Err(Failure::data(path, format!("the counts sum to {total}, the limit is 2^52")));
    }
    domain.tree.sum_up(&mut counts);
    Ok(counts)
}
