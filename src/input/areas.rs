//! Areas of a hierarchy by their names in a table, on any level.

use super::{CsvTable, NOISY};
use crate::failure::{Failure, Result};
use crate::invariant::Hierarchy;
use crate::page::data_column;
use hashbrown::HashMap;

/// The key in the footer of a noisy file of tables of attributes under which stands what the tables are.
pub const NOISY_TABLES: &str = "congenial.tables";

/// The columns that tell the answers of a noisy file of tables of attributes apart.
#[derive(Debug, Clone)]
pub struct AreaColumns {
    /// The names of areas, a column for each level below the root.
    pub levels: Vec<String>,
    /// The name of the query.
    pub query: String,
    /// Categories, a column for each attribute.
    pub attributes: Vec<String>,
}

impl AreaColumns {
    /// The columns for these levels and attributes.
    pub fn of<'a>(levels: &[String], attributes: impl Iterator<Item = &'a String>) -> Self {
        let ours: Vec<&str> = NOISY.into_iter().chain(["query", "name", "weight"]).collect();
        let own = |name: &String| data_column(name, &ours);
        Self {
            levels: levels.iter().map(own).collect(),
            query: "query".to_owned(),
            attributes: attributes.map(own).collect(),
        }
    }

    /// Refuses a table with other columns than these and `more`.
    pub fn check(&self, table: &CsvTable, more: &[&str]) -> Result<()> {
        let wanted: Vec<&str> = self.keys().chain(more.iter().copied()).collect();
        match table.columns.iter().find(|name| !wanted.contains(&name.as_str())) {
            None => Ok(()),
            Some(other) => {
                let message = format!("a column `{other}`, want none but {}", wanted.join(", "));
                Err(Failure::data(&table.path, message))
            }
        }
    }

    /// All of them in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().chain([&self.query]).chain(&self.attributes).map(String::as_str)
    }
}

/// The areas of a table's rows, and the tree that they are of.
#[derive(Debug)]
pub struct AreaKeys {
    /// The areas that rows name, and all above them.
    pub tree: Hierarchy,
    /// By area, a row of it or of one below it.
    pub of_area: Vec<u32>,
    /// By row its area.
    pub area: Vec<u32>,
}

impl AreaKeys {
    /// Reads the names of areas. `levels`: the places of their columns, coarse to fine; blank below the level of an area.
    ///
    /// Refused, with file and row: a name that is blank above one that is not; areas that do not end on the last level.
    pub fn read(table: &CsvTable, levels: &[usize]) -> Result<Self> {
        let codes: Vec<Vec<u32>> = levels.iter().map(|&place| table.numbers(place)).collect();
        // In the order in which they come, the root first.
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        let (mut parents, mut rows, mut level) = (vec![0u32], vec![0u32], vec![0u16]);
        let mut found = Vec::with_capacity(table.len());
        for row in 0..table.len() {
            let depth = depth(table, levels, row)?;
            let mut node = 0;
            for (above, codes) in codes[..depth].iter().enumerate() {
                node = *known.entry((node, codes[row])).or_insert_with(|| {
                    parents.push(node);
                    rows.push(row as u32);
                    level.push(above as u16 + 1);
                    parents.len() as u32 - 1
                });
            }
            found.push(node);
        }
        // Level by level, children side by side.
        let mut order: Vec<u32> = vec![0];
        let mut place = vec![0u32; parents.len()];
        for depth in 1..=levels.len() {
            let mut own: Vec<u32> =
                (0..parents.len() as u32).filter(|&v| usize::from(level[v as usize]) == depth).collect();
            own.sort_by_key(|&v| place[parents[v as usize] as usize]);
            for v in own {
                place[v as usize] = order.len() as u32;
                order.push(v);
            }
        }
        let numbers = order.iter().map(|&v| place[parents[v as usize] as usize]).collect();
        let tree = Hierarchy::from_numbers(numbers).map_err(|e| Failure::data(&table.path, e.to_string()))?;
        let of_area: Vec<u32> = order.iter().map(|&v| rows[v as usize]).collect();
        if let Some(short) = (0..tree.nodes()).find(|&v| tree.is_leaf(v) && tree.level(v) < levels.len()) {
            let level = &table.columns[levels[tree.level(short)]];
            return Err(table.bad_row(
                of_area[short] as usize,
                format!("nothing is below its area, want areas by `{level}`"),
            ));
        }
        let area = found.into_iter().map(|v| place[v as usize]).collect();
        Ok(Self { tree, of_area, area })
    }
}

/// The names of a node and of those above it, one for each of so many levels below the root; blank below its own. `name`: that of a node.
pub fn names_above<'a>(
    tree: &Hierarchy,
    levels: usize,
    node: usize,
    name: impl Fn(usize) -> &'a str,
) -> Vec<&'a str> {
    let mut names = vec![""; levels];
    let mut v = node;
    while v > 0 {
        names[tree.level(v) - 1] = name(v);
        v = tree.parent(v);
    }
    names
}

/// The words that are not blank, with commas between.
pub fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// How many names of a row are not blank.
pub fn depth(table: &CsvTable, levels: &[usize], row: usize) -> Result<usize> {
    let is_blank = |&&place: &&usize| table.text(row, place).is_empty();
    let level = levels.iter().take_while(|place| !is_blank(place)).count();
    match levels[level..].iter().find(|place| !is_blank(place)) {
        None => Ok(level),
        Some(&below) => {
            let (above, below) = (&table.columns[levels[level]], &table.columns[below]);
            let message =
                format!("`{above}` is blank and `{below}` below it is not, want the name of a node");
            Err(table.bad_row(row, message))
        }
    }
}
