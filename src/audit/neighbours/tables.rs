//! Changes of a table: a record is one entry, but where entries are the nodes of a tree.

use super::trees::{random, step as tree_step};
use super::{Collector, Step, paying, pick};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::{Bounded, Component, TreeOfEntries};
use crate::privacy::{ChangeKind, Conditioning, TreeCosts, short_changes};
use crate::rng::{Stream, below};

/// Short vectors that are listed of a component.
const LISTED: usize = 1 << 12;
/// Entries of a component whose conditioning is computed, and components of which it is.
const COMPUTED: (usize, usize) = (24, 8);

/// How records change in one component.
enum Records {
    /// The entries are the nodes of a tree.
    Tree(TreeOfEntries, Vec<f64>),
    /// Entries that no equation holds, and groups of entries that lie in the same equations.
    Flat(Vec<u32>, Vec<Vec<u32>>),
}

impl Records {
    fn of(component: &Component) -> Self {
        if let Some(tree) = component.tree().filter(|_| !component.is_total()) {
            let costs = vec![1.0; tree.hierarchy.levels()];
            return Self::Tree(tree, costs);
        }
        let (mut free, mut groups) = (Vec::new(), Vec::new());
        for (column, entries) in component.equal_columns() {
            let entries: Vec<u32> =
                entries.into_iter().map(|entry| component.entries[entry as usize]).collect();
            match column.is_empty() {
                true => free.extend(entries),
                false if entries.len() > 1 => groups.push(entries),
                false => {}
            }
        }
        Self::Flat(free, groups)
    }

    /// A random change of a kind within the component.
    fn random(&self, component: &Component, kind: ChangeKind, rng: &mut Stream) -> Option<Step> {
        match (self, kind) {
            (Self::Tree(tree, costs), _) => {
                let costs = TreeCosts::new(&tree.hierarchy, costs).ok()?;
                Some(on_entries(tree, component, random(&tree.hierarchy, &costs, kind, rng)?))
            }
            (Self::Flat(free, _), ChangeKind::Added) => Some(vec![(*pick(rng, free)? as usize, 1)]),
            (Self::Flat(_, groups), ChangeKind::Moved) => {
                let group = pick(rng, groups)?;
                moved(*pick(rng, group)?, *pick(rng, group)?)
            }
            (_, ChangeKind::Smallest) => None,
        }
    }
}

fn moved(from: u32, to: u32) -> Option<Step> {
    (from != to).then(|| vec![(from as usize, -1), (to as usize, 1)])
}

/// A record that is removed by the opposite of one change and added by another, which have nothing in common.
fn apart(removed: Step, added: Step) -> Option<Step> {
    let meet = removed.iter().any(|(i, _)| added.iter().any(|(j, _)| i == j));
    (!meet).then(|| removed.into_iter().map(|(i, c)| (i, -c)).chain(added).collect())
}

/// A change of the nodes of a tree as one of entries.
fn on_entries(tree: &TreeOfEntries, component: &Component, step: Step) -> Step {
    let first = usize::from(tree.hierarchy.is_known(0));
    let entry = |node: usize| component.entries[tree.entries[node - first] as usize] as usize;
    step.into_iter().map(|(node, c)| (entry(node), c)).collect()
}

pub(super) fn collect(
    collector: &mut Collector,
    cell: &Cell,
    table: &InvariantTable,
    records: Option<u64>,
    mut rng: Stream,
) {
    let parts = table.region.components(&table.invariant);
    let reduced: Vec<Bounded> = parts.iter().flat_map(Bounded::reduced).collect();
    collect_paying(collector, cell, table, &reduced, records);
    let known: Vec<(&Component, Records)> =
        reduced.iter().map(|part| (&part.component, Records::of(&part.component))).collect();
    for (component, records) in &known {
        let Records::Tree(tree, costs) = records else { continue };
        let Ok(costs) = TreeCosts::new(&tree.hierarchy, costs) else { continue };
        for (kind, worst) in
            [(ChangeKind::Added, costs.worst_added()), (ChangeKind::Moved, costs.worst_moved())]
        {
            if let Some(worst) = worst {
                let step = on_entries(tree, component, tree_step(&tree.hierarchy, worst.change));
                collector.add(kind, &table.counts, &step);
            }
        }
    }
    // Where counts are 0, then anywhere.
    let corner = corner(table, &known);
    for from in [&corner[..], &table.counts, &table.counts] {
        for kind in [ChangeKind::Added, ChangeKind::Moved] {
            collector.add_random(kind, from, || {
                let is_across = kind == ChangeKind::Moved && below(&mut rng, 2) == 0;
                let mut one = |kind| {
                    let (component, records) = pick(&mut rng, &known)?;
                    records.random(component, kind, &mut rng)
                };
                match is_across {
                    true => apart(one(ChangeKind::Added)?, one(ChangeKind::Added)?),
                    false => one(kind),
                }
            });
        }
    }
    if collector.found.pairs.iter().all(|pair| pair.kind == ChangeKind::Smallest) {
        collect_smallest(collector, table, &reduced, records, &mut rng);
    }
}

/// The table with all counts of every group of entries that lie in the same equations in its largest entry, and all others as small as they
/// can be: 0, or their bound.
fn corner(table: &InvariantTable, known: &[(&Component, Records)]) -> Vec<i64> {
    let counts = &table.counts;
    let mut corner = counts.clone();
    for (_, records) in known {
        let Records::Flat(_, groups) = records else { continue };
        for group in groups {
            let largest = group.iter().copied().max_by_key(|&entry| counts[entry as usize]);
            let Some(largest) = largest.map(|entry| entry as usize) else { continue };
            for entry in group.iter().map(|&entry| entry as usize).filter(|&entry| entry != largest) {
                let down = counts[entry].max(0).min(table.region.lower[entry].saturating_neg());
                corner[largest] += down;
                corner[entry] -= down;
            }
        }
    }
    corner
}

/// The pairs between which conditioning on the inequalities of small components pays most: around the corner, where few differ.
fn collect_paying(
    collector: &mut Collector,
    cell: &Cell,
    table: &InvariantTable,
    parts: &[Bounded],
    records: Option<u64>,
) {
    let Some(laws) = paying(cell) else { return };
    let (entries, components) = COMPUTED;
    let bounded = parts.iter().filter(|part| !part.region.is_everything());
    for part in bounded.filter(|part| part.component.entries.len() <= entries).take(components) {
        let mut conditioning = Conditioning::new(part, laws[0]);
        let Some(v) = conditioning.corner() else { continue };
        let Ok(Some(worst)) = conditioning.worst_neighbour(&v) else { continue };
        let mut from = table.counts.clone();
        let of = |i: usize| part.component.entries[i] as usize;
        worst.from.iter().enumerate().for_each(|(i, c)| from[of(i)] += c);
        let step: Step =
            (0..v.len()).map(|i| (of(i), worst.to[i] - worst.from[i])).filter(|(_, c)| *c != 0).collect();
        let kind = match step.iter().map(|(_, c)| *c).collect::<Vec<_>>()[..] {
            [1 | -1] => ChangeKind::Added,
            [1, -1] | [-1, 1] => ChangeKind::Moved,
            _ if records == Some(size(&step)) => ChangeKind::Smallest,
            _ => continue,
        };
        collector.add(kind, &from, &step);
    }
}

fn size(step: &Step) -> u64 {
    step.iter().map(|(_, c)| c.unsigned_abs()).sum()
}

/// Changes of the size of the smallest, where a record can neither be added nor moved.
fn collect_smallest(
    collector: &mut Collector,
    table: &InvariantTable,
    parts: &[Bounded],
    records: Option<u64>,
    rng: &mut Stream,
) {
    for Bounded { component, .. } in parts {
        let mut steps: Vec<Step> = match (short_changes(component, LISTED), component.margins) {
            (Some(vectors), _) => {
                let dense = |v: Vec<(u32, i32)>| v.into_iter().map(|(i, c)| (i as usize, i64::from(c)));
                vectors.into_iter().map(|v| dense(v).collect()).collect()
            }
            (None, Some((rows, columns))) => {
                (0..super::TRIES).filter_map(|_| swap(component, rows, columns, rng)).collect()
            }
            (None, None) => continue,
        };
        steps.retain(|step| records == Some(size(step)));
        collector.add_random(ChangeKind::Smallest, &table.counts, || pick(rng, &steps).cloned());
        for step in &steps {
            if collector.is_full(ChangeKind::Smallest) {
                return;
            }
            collector.add(ChangeKind::Smallest, &table.counts, step);
        }
    }
}

/// A random 2 × 2 swap of a table of margins.
fn swap(component: &Component, rows: usize, columns: usize, rng: &mut Stream) -> Option<Step> {
    let mut two = |n: usize| {
        let (a, b) = (below(rng, n as u64) as usize, below(rng, n as u64) as usize);
        (a != b).then_some((a, b))
    };
    let ((i, k), (j, l)) = (two(rows)?, two(columns)?);
    let entry = |row: usize, column: usize| component.entries[row * columns + column] as usize;
    Some(vec![(entry(i, j), 1), (entry(i, l), -1), (entry(k, j), -1), (entry(k, l), 1)])
}
