//! Counts that are known: whole levels, and what a column marks.

use super::column::without_zeros;
use super::{CsvTable, HierarchyTable, Known};
use crate::failure::Result;
use crate::hash::hex;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};

impl Known {
    /// By row, the level (by its place in `levels`, the root's first) of the node at or above the row that the column marks, if it marks
    /// one: `1` or `true` stand for the row's own count, which is of the last level; `0`, `false` and nothing for none; else the name of a
    /// level.
    ///
    /// Refused, with the row: any other text.
    pub(super) fn marks(&self, table: &CsvTable, levels: &[&str]) -> Result<Option<Vec<Option<usize>>>> {
        let Some(column) = &self.column else { return Ok(None) };
        let place = table.column(column)?;
        let mark = |row: usize| match table.text(row, place) {
            "" | "0" | "0.0" | "false" | "FALSE" | "False" => Ok(None),
            "1" | "1.0" | "true" | "TRUE" | "True" => Ok(Some(levels.len() - 1)),
            text => match levels.iter().position(|level| *level == text) {
                Some(level) => Ok(Some(level)),
                None => {
                    let names = if levels.len() > 1 { levels.join(", ") } else { String::new() };
                    let or = if names.is_empty() { "" } else { " or the name of a level: " };
                    Err(table.bad_row(row, format!("`{column}` = `{text}`, want 1, 0, nothing{or}{names}")))
                }
            },
        };
        (0..table.len()).map(mark).collect::<Result<Vec<_>>>().map(Some)
    }

    /// Marks what is known on a tree. `marks`: [`Known::marks`]; `leaves`: by row, its leaf; `levels`: their names, the root's first.
    ///
    /// Errors: nothing is left to release.
    pub(super) fn on_tree(
        &self,
        table: &mut HierarchyTable,
        marks: Option<&[Option<usize>]>,
        leaves: &[u32],
        levels: &[&str],
    ) -> crate::Result<()> {
        let tree = &table.hierarchy;
        let whole = levels.iter().filter(|level| self.levels.iter().any(|name| name == *level)).count();
        let mut known: Vec<bool> = (0..tree.nodes()).map(|v| tree.level(v) < whole).collect();
        for (mark, &leaf) in marks.into_iter().flatten().zip(leaves) {
            let Some(level) = *mark else { continue };
            let mut node = leaf as usize;
            while tree.level(node) > level {
                node = tree.parent(node);
            }
            known[node] = true;
        }
        table.hierarchy = tree.clone().with_known(known)?;
        let tree = &table.hierarchy;
        if tree.has_known() {
            let mut hash = Sha256::new();
            hash.update(table.digest.as_bytes());
            (0..tree.nodes()).for_each(|v| hash.update([u8::from(tree.is_known(v))]));
            table.digest = hex(hash.finalize());
        }
        Ok(())
    }
}

/// Refuses a level on which a name of digits stands beside the same one with more leading zeros, under one parent: `1` beside `01`.
pub(super) fn check_zeros(table: &CsvTable, columns: &[String]) -> Result<()> {
    let places = columns.iter().map(|column| table.column(column)).collect::<Result<Vec<_>>>()?;
    for (depth, &place) in places.iter().enumerate() {
        let suspects = table.lost_zeros(place);
        if suspects.is_empty() {
            continue;
        }
        let mut first: HashMap<(Vec<&str>, &str), usize> = HashMap::new();
        for row in 0..table.len() {
            let name = table.text(row, place);
            let short = without_zeros(name);
            if !suspects.contains(short) {
                continue;
            }
            let path: Vec<&str> = places[..depth].iter().map(|&place| table.text(row, place)).collect();
            let before = *first.entry((path, short)).or_insert(row);
            if table.text(before, place) != name {
                return Err(table.bad_row(
                    row,
                    format!(
                        "`{}` = `{name}`, and `{}` on {}: leading zeros seem lost, want one name for one thing",
                        columns[depth],
                        table.text(before, place),
                        table.place(before)
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Rows by which the order of levels is judged.
const JUDGED: usize = 100_000;

/// What tells that levels may not be given coarse to fine: a level has fewer names than the one above it, and most nodes of that one have
/// one child. In words, with the rows; `None` if nothing does.
pub(super) fn doubtful_order(table: &CsvTable, columns: &[String]) -> Result<Option<String>> {
    for pair in columns.windows(2) {
        let [coarse, fine] = [table.column(&pair[0])?, table.column(&pair[1])?];
        // By coarse name, its first child and whether it has others; by fine name, its first parent and the row.
        let mut children: HashMap<&str, (&str, bool)> = HashMap::new();
        let mut parents: HashMap<&str, (&str, usize)> = HashMap::new();
        let mut repeats = None;
        for row in 0..table.len().min(JUDGED) {
            let (coarse, fine) = (table.text(row, coarse), table.text(row, fine));
            let (first, others) = children.entry(coarse).or_insert((fine, false));
            *others |= *first != fine;
            let (parent, before) = *parents.entry(fine).or_insert((coarse, row));
            if parent != coarse && repeats.is_none() {
                repeats = Some((before, row));
            }
        }
        let alone = children.values().filter(|(_, others)| !others).count();
        if let Some((before, row)) = repeats
            && parents.len() < children.len()
            && 2 * alone > children.len()
        {
            let [(one, first), (other, second)] =
                [before, row].map(|row| (table.text(row, coarse), table.place(row)));
            let name = table.text(row, fine);
            let (coarse, fine) = (&pair[0], &pair[1]);
            return Ok(Some(format!(
                "`{fine}` = `{name}` has two parents, `{coarse}` = `{one}` on {first} and `{coarse}` = `{other}` on {second}, and most \
                 `{coarse}` have one child. Each is a node of its own. If that is not meant, put `{fine}` before `{coarse}` in the levels."
            )));
        }
    }
    Ok(None)
}
