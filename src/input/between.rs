//! Inequalities between nodes of a tree, found in its data.

use super::invariant_table::Refusal;
use super::source::{NodeInequality, NodeName};
use super::{CsvTable, HierarchyTable};
use crate::hash::hex;
use crate::invariant::{Hierarchy, Region};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Names of a level that a message shows.
const SHOWN: usize = 8;

/// Coefficients by node, none of which is 0.
type Coefficients = BTreeMap<u32, i64>;

/// Adds the inequalities to a tree: those on the noise of nodes that are not known, and all of them to its digest.
///
/// - `columns`: the table, with the columns of all levels; `leaves`: by row, its leaf.
///
/// Refused, by its place in the list: an inequality with a node that is not there, is one of several of its name, or counts twice; one
/// that the confidential counts do not satisfy; one about the same counts as another; two that leave one value.
pub(super) fn between(
    table: &mut HierarchyTable,
    columns: &CsvTable,
    leaves: &[u32],
    levels: &[String],
    inequalities: &[(NodeInequality, Range<usize>)],
) -> Result<(), Refusal> {
    if inequalities.is_empty() {
        return Ok(());
    }
    let nodes = Nodes { tree: &table.hierarchy, columns, leaves, levels };
    let (mut seen, mut region) = (HashMap::<Coefficients, usize>::new(), Region::everything());
    let mut hash = Sha256::new();
    hash.update(table.digest.as_bytes());
    for (i, (one, _)) in inequalities.iter().enumerate() {
        let refuse = |message: String| Refusal::Invariant(i, message);
        let row = nodes.coefficients(one)?.map_err(refuse)?;
        let slack = slack(one, &row, &table.counts).map_err(refuse)?;
        if let Some(&other) = seen.get(&row) {
            let other = inequalities[other].0.words();
            return Err(refuse(format!(
                "`{}` and `{other}` are about the same counts: want the stronger alone",
                one.words()
            )));
        }
        let opposite: Coefficients = row.iter().map(|(&node, &b)| (node, -b)).collect();
        if let Some((other, _)) = seen.get(&opposite).map(|&other| &inequalities[other])
            && i128::from(one.least) + i128::from(other.least) == 0
        {
            return Err(refuse(format!(
                "`{}` and `{}` leave one value, which is an equation: want a count known (`known-column`), or no equation",
                one.words(),
                other.words()
            )));
        }
        hash.update(b"at least");
        hash.update(one.least.to_le_bytes());
        for (node, b) in &row {
            hash.update(node.to_le_bytes());
            hash.update(b.to_le_bytes());
        }
        bound(&mut region, &table.hierarchy, &row, slack);
        seen.insert(row, i);
    }
    table.region = region;
    table.digest = hex(hash.finalize());
    Ok(())
}

/// The least value on the noise, at most 0. Errors: the counts do not satisfy the inequality, or satisfy it by too much for 64 bits.
fn slack(one: &NodeInequality, row: &Coefficients, counts: &[i64]) -> Result<i64, String> {
    let value: i128 = row.iter().map(|(&node, &b)| i128::from(b) * i128::from(counts[node as usize])).sum();
    let slack = i128::from(one.least) - value;
    if slack > 0 {
        let got = if one.of.is_empty() { -value } else { value };
        let what = match (&one.of[..], &one.minus[..]) {
            ([_], []) | ([], [_]) => "the count is",
            (_, []) | ([], _) => "the sum is",
            _ => "the difference is",
        };
        return Err(format!("`{}` does not hold in the data: {what} {got}", one.words()));
    }
    i64::try_from(slack).map_err(|_| format!("`{}`: want a value within 2^53", one.words()))
}

/// Adds `row · z >= slack` to the region: known nodes have no noise, and one node alone is bounded.
fn bound(region: &mut Region, tree: &Hierarchy, row: &Coefficients, slack: i64) {
    let open = row.iter().filter(|(node, _)| !tree.is_known(**node as usize));
    let open: Vec<(u32, i64)> = open.map(|(&node, &b)| (node, b)).collect();
    match open[..] {
        [] => {}
        [(node, 1)] => region.lower.set(node as usize, region.lower[node as usize].max(slack)),
        [(node, -1)] => region.upper.set(node as usize, region.upper[node as usize].min(-slack)),
        _ => region.rows.push((open, slack)),
    }
}

/// The nodes of a tree, by the names of its leaves' rows.
struct Nodes<'a> {
    tree: &'a Hierarchy,
    columns: &'a CsvTable,
    leaves: &'a [u32],
    levels: &'a [String],
}

impl Nodes<'_> {
    /// The coefficients of an inequality. Inner error: a node that is not there, or that counts twice.
    fn coefficients(&self, one: &NodeInequality) -> Result<Result<Coefficients, String>, Refusal> {
        let mut row = Coefficients::new();
        for (key, nodes, sign) in [("of", &one.of, 1), ("minus", &one.minus, -1)] {
            for name in nodes {
                let node = match self.find(name)? {
                    Ok(node) => node,
                    Err(why) => return Ok(Err(format!("{key}: {why}"))),
                };
                if row.insert(node as u32, sign).is_some() {
                    return Ok(Err(format!("{key}: `{}` counts twice: want every node once", name.words())));
                }
            }
        }
        Ok(Ok(row))
    }

    /// The node of a name. Inner error: none has it, or several have.
    fn find(&self, name: &NodeName) -> Result<Result<usize, String>, Refusal> {
        let Some((finest, _)) = name.names.last() else { return Ok(Ok(0)) };
        let place = |column: &String| self.columns.column(column);
        let places = name.names.iter().map(|(column, _)| place(column)).collect::<Result<Vec<_>, _>>()?;
        let level = self.levels.iter().position(|level| level == finest).map_or(0, |depth| depth + 1);
        let mut found: Option<usize> = None;
        for (row, &leaf) in self.leaves.iter().enumerate() {
            let mut wanted = name.names.iter().zip(&places);
            if !wanted.all(|((_, value), &place)| self.columns.text(row, place) == value) {
                continue;
            }
            let mut node = leaf as usize;
            while self.tree.level(node) > level {
                node = self.tree.parent(node);
            }
            if found.is_some_and(|other| other != node) {
                let above = &self.levels[..level - 1];
                return Ok(Err(format!(
                    "several nodes have {}: want the levels above, too ({})",
                    words(name),
                    above.join(", ")
                )));
            }
            found = Some(node);
        }
        Ok(found.ok_or_else(|| {
            let column = places[places.len() - 1];
            let mut some: Vec<&str> = Vec::new();
            for row in 0..self.leaves.len() {
                let text = self.columns.text(row, column);
                if !some.contains(&text) && some.len() <= SHOWN {
                    some.push(text);
                }
            }
            let more = if some.len() > SHOWN { ", …" } else { "" };
            some.truncate(SHOWN);
            format!("no node has {}: `{finest}` has {}{more}", words(name), some.join(", "))
        }))
    }
}

/// A node by columns and names.
fn words(name: &NodeName) -> String {
    name.names.iter().map(|(column, value)| format!("`{column}` = `{value}`")).collect::<Vec<_>>().join(", ")
}
