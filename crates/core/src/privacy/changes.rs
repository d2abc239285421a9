//! By what two tables can differ that satisfy everything, and which of these changes are worst: the same for every noise.
//!
//! What releases protect are the tables with the equations' values within the inequalities. Parts that nothing ties
//! together are looked at one by one, without the entries that cannot change. A part whose equations are a tree
//! ([`crate::invariant::Component::tree`]), and no mere total, takes records as a tree does: one counts on every node
//! from its leaf to the root. Elsewhere a record is one entry: it can be added where no equation holds the entry, and
//! moved between entries of equal columns.
//!
//! The smallest change is looked for where no record can be added or moved ([`smallest`]).

use super::between::Between;
use super::smallest::{Smallest, smallest};
use super::worst::{Bounds, Ties, Worst, tree, worse};
use super::{ChangeKind, TreeChange, TreeCosts, WorstChange};
use crate::invariant::{Bounded, Component, Linear, Region, TreeOfEntries};
use crate::lattice::{Row, Sparse};

/// Leaves of a tree with bounds of any kind of which all changes are tried.
const LEAVES_TRIED: usize = 64;

/// Why nothing can change.
pub(super) const ONE_TABLE: &str = "only one table keeps the invariant";
/// Why a change is impossible that the equations allow.
pub(super) const NO_ROOM: &str = "the inequalities leave no room for it";

/// The changes that are possible in a table: the same for every noise.
///
/// # Examples
///
/// ```
/// use congenial_core::invariant::{Linear, Region};
/// use congenial_core::privacy::{Change, Gamma, Inequalities, PureNoise, Standard, TableChanges};
///
/// // The total is kept: no record can be added, and one that moves pays 2/lambda.
/// let total = Linear::total(3)?;
/// let changes = TableChanges::new(&total, &Region::everything(), "total", |entry| format!("entry {entry}"));
/// let standard = Standard::Pure { noise: PureNoise::DoubleGeometric, conditioned: true };
/// let pays = changes.statement(4.0, standard, Inequalities::Times(Gamma::Proved));
/// assert!(matches!(pays.added, Change::Impossible(_)));
/// assert_eq!(pays.moved.price().unwrap().epsilon(), Some(0.5));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TableChanges {
    /// The worst changes by one record added, or why none can be added.
    pub(super) added: Result<Worst, String>,
    /// The worst changes by one record moved, or why none can be moved.
    pub(super) moved: Result<Worst, String>,
    pub(super) smallest: Smallest,
}

impl TableChanges {
    /// Finds the changes that are possible in a table.
    ///
    /// - `region`: the bounds of the given table's noise.
    /// - `invariants`: the equations in words, for what is impossible.
    /// - `name`: of an entry.
    pub fn new(invariant: &Linear, region: &Region, invariants: &str, name: impl Fn(u32) -> String) -> Self {
        let components = region.components(invariant);
        let parts: Vec<Bounded> = components.iter().flat_map(Bounded::reduced).collect();
        let parts: Vec<Between> = parts.iter().map(Between::new).collect();
        // The two records that change most entries when they are added, in different parts.
        let (mut added, mut moved): (Vec<Worst>, Option<Worst>) = Default::default();
        let (mut bounds, mut ties) = (Bounds::default(), Ties::default());
        for part in &parts {
            let [own, within] = records(part, &name);
            if let Some(own) = own {
                (bounds, ties) = (bounds.or(own.bounds), ties.or(own.ties));
                added.push(own);
            }
            moved = worse(moved, within);
            added.sort_by(|a, b| b.size.total_cmp(&a.size));
            added.truncate(2);
        }
        added.iter_mut().for_each(|worst| (worst.bounds, worst.ties) = (bounds, ties));
        if let [first, second] = &added[..] {
            let places = [&first.place[..], &second.place].into_iter().filter(|place| !place.is_empty());
            let both = Worst {
                records: 2,
                size: first.size + second.size,
                square: first.square + second.square,
                bounds,
                ties,
                place: places.collect::<Vec<_>>().join(" and "),
                is_certain: first.is_certain && second.is_certain,
            };
            moved = worse(moved, Some(both));
        }
        let added = added.into_iter().next();
        let smallest = match (&added, &moved) {
            (Some(worst), _) | (None, Some(worst)) => Smallest::Is(worst.clone()),
            (None, None) => smallest(&parts),
        };
        let why = |equations_allow: bool, else_it_is: String| match smallest {
            Smallest::None => ONE_TABLE.to_owned(),
            _ if equations_allow => NO_ROOM.to_owned(),
            _ => else_it_is,
        };
        let allowed: Vec<[bool; 2]> =
            components.iter().map(|bounded| by_equations(&bounded.component)).collect();
        let can_add = allowed.iter().filter(|[added, _]| *added).count();
        let can_move = can_add > 1 || allowed.iter().any(|[_, moved]| *moved);
        let fixed = || {
            let sum = components.iter().find_map(|bounded| fixed_sum(&bounded.component));
            sum.map_or(String::new(), |(component, row)| {
                format!("{} is fixed by {invariants}", sum_words(component, row, &name))
            })
        };
        Self {
            added: added.ok_or_else(|| why(can_add > 0, fixed())),
            moved: moved.ok_or_else(|| why(can_move, "no two entries lie in the same fixed sums".into())),
            smallest,
        }
    }
}

impl TableChanges {
    /// The most entries that a change of a kind changes, by 1 each. `None`: there is no such change, some change by more, or not all
    /// of this is known.
    pub fn ones(&self, kind: ChangeKind) -> Option<u64> {
        let records = || self.added.as_ref().or(self.moved.as_ref()).ok();
        let worst = match (kind, &self.smallest) {
            (ChangeKind::Added, _) => self.added.as_ref().ok(),
            (ChangeKind::Moved, _) => self.moved.as_ref().ok(),
            (ChangeKind::Smallest, Smallest::Is(worst)) => records().or(Some(worst)),
            (ChangeKind::Smallest, _) => records(),
        };
        worst.filter(|worst| worst.is_certain && worst.square == worst.size).map(|worst| worst.size as u64)
    }
}

/// What one record more, and one moved, can do in a part.
fn records(part: &Between, name: &impl Fn(u32) -> String) -> [Option<Worst>; 2] {
    match tree(&part.part.component) {
        Some(tree) => tree_records(part, &tree, name),
        None => flat_records(part),
    }
}

/// Entries of which each is a record.
fn flat_records(between: &Between) -> [Option<Worst>; 2] {
    let Bounded { component, region } = between.part;
    let bounds = Bounds::of(region);
    let equations = component.rows.len() as u32;
    // By column of the equations, one entry or two of each group with a column of its own in the inequalities.
    let mut alike: Vec<(Row, Vec<Vec<u32>>)> = Vec::new();
    for (column, entries) in between.part.equal_columns() {
        let own: Row = column.into_iter().filter(|(row, _)| *row < equations).collect();
        match alike.iter_mut().find(|(known, _)| *known == own) {
            Some((_, groups)) => groups.push(entries),
            None => alike.push((own, vec![entries])),
        }
    }
    // Entries of one group are alike: whether one of them can change, or two can, is the same for all.
    let some = |changes: &mut dyn Iterator<Item = Sparse>, records: u64, ties: Ties| {
        let mut open = false;
        for change in changes {
            match between.differ_by(&change) {
                Some(true) => return Some(Worst::of_ones(records, records as f64, bounds, ties, true)),
                None => open = true,
                Some(false) => {}
            }
        }
        open.then(|| Worst::of_ones(records, records as f64, bounds, ties, false))
    };
    let free = alike.iter().filter(|(column, _)| column.is_empty()).flat_map(|(_, groups)| groups);
    let added = some(&mut free.map(|entries| vec![(entries[0], 1)]), 1, Ties::FREE);
    let within = alike.iter().flat_map(|(_, groups)| groups).filter(|entries| entries.len() > 1);
    let within = within.map(|entries| vec![(entries[0], -1), (entries[1], 1)]);
    let across = alike.iter().flat_map(|(_, groups)| {
        let pairs = (0..groups.len()).flat_map(move |j| (0..j).map(move |i| (i, j)));
        pairs.flat_map(|(i, j)| {
            let (a, b) = (groups[i][0], groups[j][0]);
            [vec![(a, -1), (b, 1)], vec![(a, 1), (b, -1)]]
        })
    });
    [added, some(&mut within.chain(across), 2, Ties::of_moves(component))]
}

/// Entries that are the nodes of a tree.
fn tree_records(
    between: &Between,
    tree: &TreeOfEntries,
    name: &impl Fn(u32) -> String,
) -> [Option<Worst>; 2] {
    let Bounded { component, region } = between.part;
    let hierarchy = &tree.hierarchy;
    let ones = vec![1.0; hierarchy.levels()];
    let costs = TreeCosts::new(hierarchy, &ones).expect("one cost for each level");
    // A known root is no entry.
    let first = u32::from(hierarchy.is_known(0));
    let entry = |node: u32| tree.entries[(node - first) as usize];
    let named = |node: u32| name(component.entries[entry(node) as usize]);
    // Bounds of leaves alone, or none: all changes that the equations allow are possible, since no leaf is left that cannot move.
    let floors = between.part.tree();
    let bounds = match &floors {
        Some((_, least)) => Bounds::of_leaves(least.is_some()),
        None => Bounds::of(region),
    };
    let worst = |change: TreeChange, size: f64, is_certain: bool| {
        let records = if matches!(change, TreeChange::Added(_)) { 1 } else { 2 };
        // All single entries are alike.
        let place = if component.rows.is_empty() { String::new() } else { place(change, named) };
        let ties = if component.rows.is_empty() { Ties::FREE } else { Ties::OTHER };
        Worst { place, ..Worst::of_ones(records, size, bounds, ties, is_certain) }
    };
    let step = |change: TreeChange| -> Sparse {
        change.step(hierarchy).into_iter().map(|(node, sign)| (entry(node), sign)).collect()
    };
    let leaves = hierarchy.leaves();
    let all_tried = |changes: &mut dyn Iterator<Item = TreeChange>| {
        let mut sized: Vec<(TreeChange, f64)> =
            changes.filter_map(|change| Some((change, costs.cost(change)?))).collect();
        sized.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut open = None;
        for (change, size) in sized {
            match between.differ_by(&step(change)) {
                Some(true) => return Some(open.unwrap_or_else(|| worst(change, size, true))),
                None => open = open.or_else(|| Some(worst(change, size, false))),
                Some(false) => {}
            }
        }
        open
    };
    if floors.is_none() && leaves.len() <= LEAVES_TRIED {
        let pairs =
            leaves.iter().flat_map(|&from| leaves.iter().map(move |&to| TreeChange::Moved { from, to }));
        return [
            all_tried(&mut leaves.iter().map(|&leaf| TreeChange::Added(leaf))),
            all_tried(&mut pairs.into_iter()),
        ];
    }
    let of = |found: Option<WorstChange>| {
        found.map(|WorstChange { change, cost, .. }| {
            let is_certain = floors.is_some() || between.differ_by(&step(change)) == Some(true);
            worst(change, cost, is_certain)
        })
    };
    [of(costs.worst_added()), of(costs.worst_moved())]
}

/// Whether the equations alone allow a record to be added, and to be moved.
fn by_equations(component: &Component) -> [bool; 2] {
    match tree(component) {
        Some(tree) => {
            let ones = vec![1.0; tree.hierarchy.levels()];
            let costs = TreeCosts::new(&tree.hierarchy, &ones).expect("one cost for each level");
            [costs.worst_added().is_some(), costs.worst_moved().is_some()]
        }
        None => {
            let columns = component.equal_columns();
            let free = columns.iter().any(|(column, _)| column.is_empty());
            [free, columns.iter().any(|(_, entries)| entries.len() > 1)]
        }
    }
}

/// A sum that no record can be added to.
fn fixed_sum(component: &Component) -> Option<(&Component, &Row)> {
    let row = match tree(component) {
        Some(tree) => {
            let ones = vec![1.0; tree.hierarchy.levels()];
            let costs = TreeCosts::new(&tree.hierarchy, &ones).expect("one cost for each level");
            match costs.worst_added() {
                Some(_) => None,
                None => component.rows.iter().find(|row| row.iter().all(|(_, a)| *a == row[0].1)),
            }
        }
        None => component.rows.first(),
    };
    row.map(|row| (component, row))
}

/// The sum of a row in words.
fn sum_words(component: &Component, row: &[(u32, i64)], name: &impl Fn(u32) -> String) -> String {
    let names: Vec<String> =
        row.iter().take(2).map(|&(entry, _)| name(component.entries[entry as usize])).collect();
    let more = if row.len() > 2 { ", ..." } else { "" };
    let what = if row.iter().all(|&(_, a)| a == 1) { "the sum of" } else { "an equation of" };
    let plural = if row.len() == 1 { "entry" } else { "entries" };
    format!("{what} {} {plural} ({}{more})", row.len(), names.join(", "))
}

/// The leaves of a change by name.
pub(super) fn place(change: TreeChange, name: impl Fn(u32) -> String) -> String {
    match change {
        TreeChange::Added(leaf) => name(leaf),
        TreeChange::Moved { from, to } => format!("{} and {}", name(from), name(to)),
    }
}
