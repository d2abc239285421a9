//! Changes of a tree, and of entries of a table that are the nodes of one: a record counts on every node from its leaf to the root.

use super::{Collector, Step, paying, pick};
use crate::grid::Cell;
use crate::input::HierarchyTable;
use crate::invariant::Hierarchy;
use crate::privacy::{ChangeKind, TreeChange, TreeConditioning, TreeCosts, tree_corner};
use crate::rng::Stream;
use std::cmp::Reverse;

/// Nodes of a tree whose conditioning is computed.
const COMPUTED: usize = 500;
/// Leaves from which moves are tried, those with the largest counts.
const GIVERS: usize = 32;

/// What a change of a tree changes, from the leaves up.
pub(super) fn step(tree: &Hierarchy, change: TreeChange) -> Step {
    change.step(tree).into_iter().rev().map(|(node, sign)| (node as usize, i64::from(sign))).collect()
}

/// A random record more in a leaf, or the random move of one.
pub(super) fn random(
    tree: &Hierarchy,
    costs: &TreeCosts,
    kind: ChangeKind,
    rng: &mut Stream,
) -> Option<Step> {
    let mut leaf = || pick(rng, tree.leaves()).copied();
    let change = match kind {
        ChangeKind::Added => TreeChange::Added(leaf()?),
        ChangeKind::Moved => TreeChange::Moved { from: leaf()?, to: leaf()? },
        ChangeKind::Smallest => return None,
    };
    costs.cost(change)?;
    Some(step(tree, change))
}

/// The move from one table that costs most: the worst of all if a record can go either way, else the worst from its largest leaves.
fn worst_moved(tree: &Hierarchy, costs: &TreeCosts, counts: &[i64]) -> Option<TreeChange> {
    let worst = costs.worst_moved()?.change;
    let TreeChange::Moved { from, to } = worst else { return None };
    if counts[from as usize] > 0 || counts[to as usize] > 0 {
        return Some(worst);
    }
    let mut givers: Vec<u32> =
        tree.leaves().iter().copied().filter(|&leaf| counts[leaf as usize] > 0).collect();
    givers.sort_by_key(|&leaf| Reverse(counts[leaf as usize]));
    givers.truncate(GIVERS);
    let takers = tree.leaves();
    let moves = givers.iter().flat_map(|&from| takers.iter().map(move |&to| TreeChange::Moved { from, to }));
    let costly = moves.filter_map(|change| Some((costs.cost(change)?, change)));
    costly.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, change)| change)
}

pub(super) fn collect(collector: &mut Collector, cell: &Cell, table: &HierarchyTable, mut rng: Stream) {
    let tree = &table.hierarchy;
    let rate = |scale: f64| if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let rates: Vec<f64> = cell.calibration.laws(rate).collect();
    let Ok(costs) = TreeCosts::new(tree, &rates) else { return };
    let corner = tree_corner(tree, &table.counts);
    // Where noise is pressed against floors conditioning pays most.
    let may_pay = (cell.nonnegative || cell.pays.is_some()) && tree.nodes() <= COMPUTED;
    let laws = paying(cell).filter(|_| may_pay);
    if let Some(laws) = laws
        && let Ok(around) = TreeConditioning::new(tree, &rates, &laws, &corner)
    {
        let worst = [around.added(), around.moved().ok().flatten()];
        for paid in worst.into_iter().flatten() {
            add(collector, tree, &corner, paid.change);
        }
    }
    for from in [&table.counts[..], &corner] {
        if let Some(worst) = costs.worst_added() {
            add(collector, tree, from, worst.change);
        }
        if let Some(worst) = worst_moved(tree, &costs, from) {
            add(collector, tree, from, worst);
        }
    }
    for kind in [ChangeKind::Added, ChangeKind::Moved] {
        collector.add_random(kind, &table.counts, || random(tree, &costs, kind, &mut rng));
    }
}

fn add(collector: &mut Collector, tree: &Hierarchy, from: &[i64], change: TreeChange) {
    let kind = match change {
        TreeChange::Added(_) => ChangeKind::Added,
        TreeChange::Moved { .. } => ChangeKind::Moved,
    };
    collector.add(kind, from, &step(tree, change));
}
