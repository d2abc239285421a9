//! The nodes of a tree, from a noisy file.

use super::file::{File, Told};
use crate::catalogue::{Method, Place};
use crate::failure::{Failure, Result};
use crate::input::{depth, names_above};
use crate::invariant::Hierarchy;
use crate::sdc::Publishing;
use std::collections::HashMap;

/// The nodes of a tree.
#[derive(Debug, Clone)]
pub struct Nodes {
    /// The tree of the counts, with those that are known.
    pub tree: Hierarchy,
    /// By node, its value in the column of its level; of the total nothing.
    pub names: Vec<String>,
}

impl Nodes {
    /// The keys of a node on so many levels below the total; blank below it.
    pub(super) fn keys(&self, node: usize, levels: usize) -> Vec<&str> {
        names_above(&self.tree, levels, node, |v| &self.names[v])
    }

    /// What a file says of a tree. Refused: as [`super::Noisy::read`] says.
    pub(super) fn read(file: &File) -> Result<(Self, Told)> {
        let table = file.table;
        let (parents, node_of_row) = file.nodes()?;
        let nodes = parents.len();
        let mut row_of_node = vec![0; nodes];
        node_of_row.iter().enumerate().for_each(|(row, &node)| row_of_node[node as usize] = row);
        let tree = Hierarchy::from_numbers(parents).map_err(|e| Failure::data(&table.path, e.to_string()))?;
        file.check_leaves(&tree, &row_of_node)?;
        let (mut values, integers) = file.values(&row_of_node)?;
        let known = file.known(&row_of_node, &values)?;
        let method = file.method(&row_of_node, Place::Tree { inequalities: false })?;
        let measured = (0..nodes).filter(|&v| !known[v]).map(|v| (row_of_node[v], tree.level(v)));
        let (levels, place) = (file.keys.len() + 1, Place::Tree { inequalities: false });
        let measured: Vec<(usize, usize)> = measured.collect();
        let publishing = method.publishing().map_err(|e| Failure::data(&table.path, e.to_string()))?;
        let (law, assumed, scales) = match publishing {
            None => file.noise(&measured, (levels, "each level"), place)?,
            Some(_) => {
                file.check_options(method, &row_of_node)?;
                (file.no_noise(&measured)?, false, vec![0.0; levels])
            }
        };
        file.check_integers(method, law, &values, &row_of_node)?;
        if let Some(v) = values.iter().position(|value| *value < 0.0).filter(|_| method.nonnegative()) {
            let want = format!(", want none below 0: {} releases none", method.name());
            return Err(file.bad_value(row_of_node[v], want));
        }
        let names = (0..nodes).map(|v| match tree.level(v) {
            0 => String::new(),
            level => table.text(row_of_node[v], file.keys[level - 1]).to_owned(),
        });
        let names = names.collect();
        file.settle(&tree, &known, &mut values, &row_of_node)?;
        let tree = match known.contains(&true) {
            true => tree.with_known(known).map_err(|e| Failure::data(&table.path, e.to_string()))?,
            false => tree,
        };
        if !method.kind().is_free() {
            file.check_sums(&tree, (&values, method.releases_integers(law)), law.is_noise(), &row_of_node)?;
        }
        if let Some(publishing) = publishing {
            file.check_published((&publishing, method), &tree, &values, &row_of_node)?;
        }
        Ok((Self { tree, names }, Told { values, integers, law, assumed, scales, method }))
    }
}

impl File<'_> {
    /// The level of a row: how many of its keys, from the first, are not blank.
    fn level(&self, row: usize) -> Result<usize> {
        depth(self.table, &self.keys, row)
    }

    /// The parents of the nodes, breadth first, and by row its node.
    fn nodes(&self) -> Result<(Vec<u32>, Vec<u32>)> {
        let table = self.table;
        Hierarchy::check_nodes(table.len()).map_err(|e| Failure::data(&table.path, e.to_string()))?;
        let codes: Vec<Vec<u32>> = self.keys.iter().map(|&place| table.numbers(place)).collect();
        let mut by_level: Vec<Vec<usize>> = vec![Vec::new(); self.keys.len() + 1];
        for row in 0..table.len() {
            by_level[self.level(row)?].push(row);
        }
        match by_level[0][..] {
            [] => {
                let message = "no row of the total, want one whose keys are all blank; a table of counts under equations \
                               wants --invariants";
                return Err(Failure::data(&table.path, message));
            }
            [_] => {}
            [first, second, ..] => {
                let message = format!("a second total, the first is on {}", table.place(first));
                return Err(table.bad_row(second, message));
            }
        }
        let (mut parents, mut node_of_row) = (vec![0u32], vec![0u32; table.len()]);
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        for (level, rows) in by_level.iter().enumerate().skip(1) {
            let mut of_parents = Vec::with_capacity(rows.len());
            for &row in rows {
                let mut node = 0;
                for (codes, &place) in codes.iter().zip(&self.keys).take(level - 1) {
                    let Some(&found) = known.get(&(node, codes[row])) else {
                        let (name, above) = (self.words(row), table.text(row, place));
                        let message =
                            format!("`{name}` is below `{above}`, which has no row of its own here");
                        return Err(table.bad_row(row, message));
                    };
                    node = found;
                }
                of_parents.push((node, row));
            }
            // Children of one parent become neighbours, in the order of the file.
            of_parents.sort_by_key(|(parent, _)| *parent);
            for (parent, row) in of_parents {
                let node = parents.len() as u32;
                if let Some(first) = known.insert((parent, codes[level - 1][row]), node) {
                    let name = self.words(row);
                    let first = node_of_row.iter().position(|&node| node == first).unwrap_or(0);
                    let message = format!("`{name}` stands there twice (first on {})", table.place(first));
                    return Err(table.bad_row(row, message));
                }
                parents.push(parent);
                node_of_row[row] = node;
            }
        }
        Ok((parents, node_of_row))
    }

    fn check_leaves(&self, tree: &Hierarchy, rows: &[usize]) -> Result<()> {
        let last = self.keys.len();
        let short = (0..tree.nodes()).find(|&v| tree.is_leaf(v) && tree.level(v) < last);
        short.map_or(Ok(()), |v| {
            let level = &self.table.columns[self.keys[tree.level(v)]];
            Err(self.table.bad_row(rows[v], format!("nothing is below it, want its counts by `{level}`")))
        })
    }

    /// Gives nodes whose count follows from known ones that count, whatever was released of them. Refused: known counts that do not go
    /// together.
    fn settle(&self, tree: &Hierarchy, known: &[bool], values: &mut [f64], rows: &[usize]) -> Result<()> {
        let mut known = known.to_vec();
        let refused = |v: usize, want: String| {
            Err(self.bad_value(rows[v], format!(" is known, and the known counts below it {want}")))
        };
        for v in (0..tree.nodes()).rev().filter(|&v| !tree.is_leaf(v)) {
            if !tree.children(v).all(|child| known[child]) {
                continue;
            }
            let sum: f64 = tree.children(v).map(|child| values[child]).sum();
            if known[v] && values[v] != sum {
                return refused(v, format!("add up to {sum}: want the sum"));
            }
            (known[v], values[v]) = (true, sum);
        }
        for v in (0..tree.nodes()).filter(|&v| !tree.is_leaf(v)) {
            let mut open = tree.children(v).filter(|&child| !known[child]);
            if let (true, Some(last), None) = (known[v], open.next(), open.next()) {
                let others: f64 =
                    tree.children(v).filter(|&child| child != last).map(|child| values[child]).sum();
                if values[v] < others {
                    return refused(v, format!("add up to {others}: want at least as much"));
                }
                (known[last], values[last]) = (true, values[v] - others);
            }
        }
        Ok(())
    }

    /// Refuses a release that was to add up and does not: exactly for integers, to rounding for reals.
    fn check_sums(
        &self,
        tree: &Hierarchy,
        (values, are_integers): (&[f64], bool),
        is_noise: bool,
        rows: &[usize],
    ) -> Result<()> {
        for v in (0..tree.nodes()).filter(|&v| !tree.is_leaf(v)) {
            let children = || tree.children(v).map(|child| values[child]);
            let (sum, adds_up) = match are_integers {
                true => {
                    let sum: i128 = children().map(|value| value as i128).sum();
                    (sum as f64, sum == values[v] as i128)
                }
                false => {
                    let (sum, size): (f64, f64) = (children().sum(), children().map(f64::abs).sum());
                    (sum, (sum - values[v]).abs() <= 1e-6 * (size + 1.0))
                }
            };
            if !adds_up {
                let other = if is_noise { ", or the method unconstrained" } else { "" };
                let want = format!(", and what is below it adds up to {sum}: want the sum{other}");
                return Err(self.bad_value(rows[v], want));
            }
        }
        Ok(())
    }

    /// Refuses what a method without noise never publishes: a value of a leaf, or of every node; counts that are known of one that keeps
    /// none; a sum that is too far from what is below it.
    fn check_published(
        &self,
        (publishing, method): (&Publishing, Method),
        tree: &Hierarchy,
        values: &[f64],
        rows: &[usize],
    ) -> Result<()> {
        let name = method.name();
        let every = matches!(publishing, Publishing::CellKeys(_));
        if let Some(v) = (0..tree.nodes()).find(|&v| tree.is_known(v)).filter(|_| !every) {
            return Err(self.bad_value(rows[v], format!(" is known, want none: under {name} all may change")));
        }
        let mut possible = vec![(0i128, 0i128); tree.nodes()];
        for v in (0..tree.nodes()).rev() {
            let below = tree.children(v).fold((0, 0), |sum: (i128, i128), child| {
                (sum.0 + possible[child].0, sum.1 + possible[child].1)
            });
            let value = values[v] as i64;
            let own = match every || tree.is_leaf(v) {
                true if tree.is_known(v) => Some((value, value)),
                true => publishing.possible(value),
                false => continue,
            };
            let Some((least, most)) = own else {
                let options = method.all_options();
                let want = format!(", want 0 or more than {} with {options}", publishing.unpublished());
                return Err(self.bad_value(rows[v], want));
            };
            possible[v] = (least.into(), most.into());
            if !tree.is_leaf(v) && (below.1 < possible[v].0 || below.0 > possible[v].1) {
                let want = format!(
                    " was a count from {least} to {most}, and what is below it from {} to {} together: want those of one table",
                    below.0, below.1
                );
                return Err(self.bad_value(rows[v], want));
            }
        }
        Ok(())
    }
}
