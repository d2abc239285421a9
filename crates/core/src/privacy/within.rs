//! Which records can change on a tree whose nodes inequalities tie: the same for every noise.
//!
//! A change u of one record is possible where two tables x and x + u keep everything: the known counts, the sums and the inequalities.
//! The changes are tried in the order of what they cost, the dearest first, so that what is stated is never below the worst of those
//! that are possible: the first that is possible, or the first of which that was not found out.

use super::between::Between;
use super::{TreeChange, TreeCosts};
use crate::error::Result;
use crate::invariant::{Bounded, Hierarchy, Linear, Region};
use crate::lattice::Sparse;

/// Leaves up to which all changes of one record are tried; of larger trees as many changes of each kind are.
const TRIED: usize = 64;

/// The worst change of a kind that may be possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dearest {
    /// The change.
    pub(super) change: TreeChange,
    /// What the change costs: no possible change of its kind costs more.
    pub(super) cost: f64,
    /// Whether this very change is possible.
    pub(super) is_certain: bool,
    /// Whether some change of its kind is.
    pub(super) exists: bool,
}

/// The worst record added or removed within a region of noise, and the worst moved; `None`: the region leaves no room for any.
///
/// Errors: equations that are none ([`Linear::from_rows`]).
pub(super) fn dearest(tree: &Hierarchy, costs: &TreeCosts, region: &Region) -> Result<[Option<Dearest>; 2]> {
    let parts: Vec<Bounded> =
        region.components(&equations(tree)?).iter().flat_map(Bounded::reduced).collect();
    let parts = Parts::new(tree, &parts);
    let mut leaves: Vec<(u32, f64)> = tree
        .leaves()
        .iter()
        .filter_map(|&leaf| Some((leaf, costs.cost(TreeChange::Added(leaf)).or_else(|| below(tree, leaf))?)))
        .collect();
    leaves.sort_by(|a, b| b.1.total_cmp(&a.1));
    let are_all = leaves.len() <= TRIED;
    leaves.truncate(TRIED);
    let added = leaves.iter().map(|&(leaf, _)| TreeChange::Added(leaf)).collect();
    let moved = |from: usize, to: usize| TreeChange::Moved { from: leaves[from].0, to: leaves[to].0 };
    let n = leaves.len();
    let mut moves: Vec<TreeChange> = match are_all {
        true => (0..n * n).map(|pair| moved(pair / n, pair % n)).collect(),
        false => (0..n).map(|from| moved(from, (from + 1) % n)).collect(),
    };
    let worst = [costs.worst_added(), costs.worst_moved()].map(|worst| worst.map(|worst| worst.change));
    if !are_all {
        moves.extend(worst[1]);
    }
    let tried = |changes: Vec<TreeChange>, worst: Option<TreeChange>| {
        // Changes beyond those that are tried cost no more than the worst of all.
        let rest = worst.filter(|_| !are_all).and_then(|change| Some((change, costs.cost(change)?)));
        let priced = changes.into_iter().filter_map(|change| Some((change, costs.cost(change)?)));
        of_kind(&parts, tree, priced.collect(), rest)
    };
    Ok([tried(added, worst[0]), tried(moves, worst[1])])
}

/// Leaves below known counts can move, though none can be added: they are sorted behind the others.
fn below(tree: &Hierarchy, leaf: u32) -> Option<f64> {
    (!tree.is_known(leaf as usize)).then_some(0.0)
}

/// The worst change of some. `rest`: the worst of changes that are not among them.
fn of_kind(
    parts: &Parts,
    tree: &Hierarchy,
    mut changes: Vec<(TreeChange, f64)>,
    rest: Option<(TreeChange, f64)>,
) -> Option<Dearest> {
    changes.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut open = rest;
    for (change, cost) in changes {
        match parts.differ_by(&change.step(tree)) {
            Some(true) => {
                // As dear as any that is left open.
                let certain = Dearest { change, cost, is_certain: true, exists: true };
                let dearer = open.filter(|open| open.1 > cost);
                return Some(dearer.map_or(certain, |(change, cost)| Dearest {
                    change,
                    cost,
                    is_certain: false,
                    exists: true,
                }));
            }
            None => open = open.or(Some((change, cost))),
            Some(false) => {}
        }
    }
    open.map(|(change, cost)| Dearest { change, cost, is_certain: false, exists: false })
}

/// The sums of a tree and its known counts, as equations of the noise of its nodes.
pub(super) fn equations(tree: &Hierarchy) -> Result<Linear> {
    let inner = (0..tree.nodes()).filter(|&v| !tree.is_leaf(v));
    let rows: Vec<Vec<(u32, i64)>> = inner
        .map(|v| {
            std::iter::once((v as u32, -1)).chain(tree.children(v).map(|child| (child as u32, 1))).collect()
        })
        .collect();
    let known: Vec<u32> = (0..tree.nodes()).filter(|&v| tree.is_known(v)).map(|v| v as u32).collect();
    let sums =
        if rows.is_empty() { Linear::none(tree.nodes()) } else { Linear::from_rows(tree.nodes(), rows)? };
    sums.with_known(&known)
}

/// The parts of a tree that nothing ties together, without the nodes that can only keep their counts.
struct Parts<'a> {
    parts: Vec<Between<'a>>,
    /// By node, its part and its number there.
    places: Vec<Option<(usize, u32)>>,
}

impl<'a> Parts<'a> {
    fn new(tree: &Hierarchy, parts: &'a [Bounded]) -> Self {
        let mut places = vec![None; tree.nodes()];
        for (part, bounded) in parts.iter().enumerate() {
            for (number, &node) in (0..).zip(&bounded.component.entries) {
                places[node as usize] = Some((part, number));
            }
        }
        Self { parts: parts.iter().map(Between::new).collect(), places }
    }

    /// Whether two tables that keep everything differ by a step; `None` where that was not found out.
    fn differ_by(&self, step: &Sparse) -> Option<bool> {
        let mut of_parts: Vec<(usize, Sparse)> = Vec::new();
        for &(node, sign) in step {
            let Some((part, number)) = self.places[node as usize] else { return Some(false) };
            match of_parts.iter_mut().find(|(other, _)| *other == part) {
                Some((_, own)) => own.push((number, sign)),
                None => of_parts.push((part, vec![(number, sign)])),
            }
        }
        let mut all = Some(true);
        for (part, mut own) in of_parts {
            own.sort_unstable();
            match self.parts[part].differ_by(&own) {
                Some(true) => {}
                None => all = None,
                Some(false) => return Some(false),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DoubleGeometric, Law};
    use crate::privacy::{Accountant, Change, Gamma, Inequalities, PureNoise, Standard, Statement};
    use crate::rng::below;
    use crate::testing::test_stream;

    /// 0 -> 1, 2; 1 -> 3, 4; 2 -> 5: three leaves.
    fn tree() -> Hierarchy {
        Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2]).unwrap()
    }

    /// All tables with leaves from `low` to `high`, by node, that keep rows `b·y >= c`.
    fn listed(tree: &Hierarchy, (low, high): (i64, i64), rows: &[(Vec<(u32, i64)>, i64)]) -> Vec<Vec<i64>> {
        let (n, side) = (tree.leaves().len() as u32, (high - low + 1) as usize);
        let table = |index: usize| {
            let mut counts = vec![0; tree.nodes()];
            for (place, &leaf) in tree.leaves().iter().enumerate() {
                counts[leaf as usize] = low + (index / side.pow(place as u32) % side) as i64;
            }
            tree.sum_up(&mut counts);
            counts
        };
        (0..side.pow(n)).map(table).filter(|y| keeps(rows, y)).collect()
    }

    fn keeps(rows: &[(Vec<(u32, i64)>, i64)], y: &[i64]) -> bool {
        rows.iter().all(|(row, least)| row.iter().map(|&(v, b)| b * y[v as usize]).sum::<i64>() >= *least)
    }

    /// The rows as a region of noise around a table.
    fn around(rows: &[(Vec<(u32, i64)>, i64)], x: &[i64]) -> Region {
        let moved = |(row, least): &(Vec<(u32, i64)>, i64)| {
            (row.clone(), least - row.iter().map(|&(v, b)| b * x[v as usize]).sum::<i64>())
        };
        Region { rows: rows.iter().map(moved).collect(), ..Region::everything() }
    }

    /// How two tables differ: by a record added (0), moved (1), or otherwise.
    fn kind(tree: &Hierarchy, x: &[i64], other: &[i64]) -> Option<usize> {
        let steps = tree.leaves().iter().map(|&leaf| other[leaf as usize] - x[leaf as usize]);
        let mut steps: Vec<i64> = steps.filter(|step| *step != 0).collect();
        steps.sort_unstable();
        match steps[..] {
            [1 | -1] => Some(0),
            [-1, 1] => Some(1),
            _ => None,
        }
    }

    /// Random inequalities: between all listed neighbours the exact law of the releases, listed far beyond the tables, pays no more than
    /// the statement; what it calls impossible none of them do; and it is not far off: with rows that press, conditioning pays.
    #[test]
    fn no_listed_pair_pays_more_than_the_statement() {
        let tree = tree();
        let mut rng = test_stream(91);
        let (mut pairs, mut added, mut closest) = (0, 0, 0.0f64);
        for case in 0..16 {
            let scales = [[1.0, 1.0, 1.0], [2.5, 0.8, 1.4]][case % 2];
            let laws = scales.map(|scale| DoubleGeometric::new(scale).unwrap());
            let mut row = || {
                let coefficient = |rng: &mut crate::rng::Stream| below(rng, 3) as i64 - 1;
                let row: Vec<(u32, i64)> = (0..6).map(|v| (v, coefficient(&mut rng))).collect();
                let row: Vec<(u32, i64)> = row.into_iter().filter(|(_, b)| *b != 0).collect();
                (row, below(&mut rng, 3) as i64 - 1)
            };
            let rows: Vec<_> = (0..1 + case % 3).map(|_| row()).filter(|(row, _)| !row.is_empty()).collect();
            let tables = listed(&tree, (0, 2), &rows);
            let Some(first) = tables.get(tables.len() / 2) else { continue };
            let releases = listed(&tree, (-9, 11), &rows);
            let log = |y: &[i64], x: &[i64]| -> f64 {
                (0..6).map(|v| laws[tree.level(v)].log_weight(y[v] - x[v])).sum()
            };
            let masses: Vec<f64> = tables
                .iter()
                .map(|x| libm::log(releases.iter().map(|y| libm::exp(log(y, x))).sum::<f64>()))
                .collect();
            let standard = Standard::Pure { noise: PureNoise::DoubleGeometric, conditioned: true };
            let statement = Statement::of_tree_within(
                &tree,
                &scales,
                standard,
                Inequalities::Times(Gamma::Bounded(1.0)),
                None,
                &around(&rows, first),
                |v| format!("node {v}"),
            )
            .unwrap();
            let kinds = [&statement.added, &statement.moved];
            let mut smallest: Option<(usize, f64)> = None;
            for (i, x) in tables.iter().enumerate() {
                for (j, other) in tables.iter().enumerate() {
                    let Some(kind) = kind(&tree, x, other) else { continue };
                    let ratio = |y: &Vec<i64>| log(y, x) - masses[i] - log(y, other) + masses[j];
                    let loss = releases.iter().map(ratio).fold(f64::MIN, f64::max);
                    let price = kinds[kind].price().unwrap_or_else(|| panic!("{case}: {kinds:?} {rows:?}"));
                    let stated = price.epsilon().unwrap();
                    assert!(loss <= stated + 1e-6, "{case}: {loss} above {stated}, {rows:?} {x:?} {other:?}");
                    let free =
                        (0..6).map(|v| (other[v] - x[v]).abs() as f64 / scales[tree.level(v)]).sum::<f64>();
                    closest = closest.max(loss / free);
                    (pairs, added) = (pairs + 1, added + usize::from(kind == 0));
                    let (of_kind, most) = smallest.unwrap_or((kind, 0.0));
                    if kind <= of_kind {
                        smallest = Some((kind, if kind < of_kind { loss } else { most.max(loss) }));
                    }
                }
            }
            if let (Some((_, loss)), Some(price)) = (smallest, statement.smallest.price()) {
                assert!(price.epsilon().unwrap() >= loss - 1e-6, "{case}");
            }
        }
        assert!(pairs > 500 && added > 100, "{pairs} {added}");
        assert!(closest > 1.09, "conditioning pays beyond the free loss somewhere: {closest}");
    }

    /// Rows that fix the total leave moves alone; rows that fix every leaf leave nothing of either kind.
    #[test]
    fn what_leaves_no_room_is_impossible() {
        let tree = tree();
        let x = [4, 3, 1, 2, 1, 1];
        let fixed = |v: u32| [(vec![(v, 1)], x[v as usize]), (vec![(v, -1)], -x[v as usize])];
        let of = |nodes: &[u32]| {
            let rows: Vec<_> = nodes.iter().flat_map(|&v| fixed(v)).collect();
            let standard = Standard::Pure { noise: PureNoise::Laplace, conditioned: true };
            let inequalities = Inequalities::Times(Gamma::Bounded(1.0));
            let name = |v: u32| format!("node {v}");
            Statement::of_tree_within(
                &tree,
                &[1.0; 3],
                standard,
                inequalities,
                None,
                &around(&rows, &x),
                name,
            )
            .unwrap()
        };
        let total = of(&[0]);
        assert!(matches!(total.added, Change::Impossible(_)), "{:?}", total.added);
        assert_eq!(total.moved.words(), "epsilon 4, conditioned at most 8");
        assert_eq!(total.smallest, total.moved);
        let group = of(&[0, 2]);
        assert_eq!(group.moved.words(), "epsilon 2, conditioned at most 4");
        let all = of(&[3, 4, 5]);
        assert!(matches!(all.added, Change::Impossible(_)) && matches!(all.moved, Change::Impossible(_)));
        assert!(matches!(all.smallest, Change::Unknown(_)));
    }

    /// Normal noise of reals on two leaves and their sum, inside `y_1 >= y_2`: the hockey-stick divergence by quadrature is within delta at
    /// the epsilon that is stated, which is that of the free noise.
    #[test]
    fn normal_noise_pays_no_more_within_inequalities() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let (scales, delta) = ([2.0, 1.5], 1e-3);
        let row = vec![(vec![(1, 1), (2, -1)], 0)];
        let x = [2, 1, 1];
        let standard = Standard::Concentrated { delta, accountant: Accountant::Normal };
        let statement = Statement::of_tree_within(
            &tree,
            &scales,
            standard,
            Inequalities::Times(Gamma::Proved),
            None,
            &around(&row, &x),
            |v| format!("node {v}"),
        )
        .unwrap();
        let epsilon = statement.added.price().unwrap().epsilon().unwrap();
        let log = |y: [f64; 2], x: [f64; 2]| {
            let (a, b) = (y[0] - x[0], y[1] - x[1]);
            let leaves = (a * a + b * b) / (2.0 * scales[1] * scales[1]);
            -leaves - (a + b) * (a + b) / (2.0 * scales[0] * scales[0])
        };
        let step = 0.05;
        let grid: Vec<[f64; 2]> = (-300..300)
            .flat_map(|i| (-300..300).map(move |j| [f64::from(i) * step, f64::from(j) * step]))
            .filter(|y| y[0] >= y[1])
            .collect();
        for (from, to) in [([1.0, 1.0], [2.0, 1.0]), ([2.0, 1.0], [1.0, 1.0]), ([3.0, 2.0], [3.0, 3.0])] {
            let mass = |x| grid.iter().map(|&y| libm::exp(log(y, x))).sum::<f64>();
            let (p, q) = (mass(from), mass(to));
            let divergence: f64 = grid
                .iter()
                .map(|&y| (libm::exp(log(y, from)) / p - libm::exp(epsilon + log(y, to)) / q).max(0.0))
                .sum();
            assert!(divergence <= 1.02 * delta, "{divergence} at {epsilon}");
            assert!(divergence > 0.05 * delta, "far from what is stated: {divergence}");
        }
    }
}
