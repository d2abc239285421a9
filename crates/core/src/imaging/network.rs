//! Equations that are a network: every unknown flows from one node to another.

use crate::lattice::{IntMatrix, Row, gcd, independent_rows};

/// Entries of the dense matrix by which dependent rows are told.
const MOST_DENSE: usize = 1 << 22;

/// A directed graph whose edges are the unknowns: what flows into a node flows out of it.
#[derive(Debug)]
pub(crate) struct Network {
    pub(super) nodes: usize,
    /// By unknown, the nodes that it flows from and to.
    pub(super) ends: Vec<(u32, u32)>,
    /// Unknowns by node, in `edges` from `first[node]`.
    pub(super) first: Vec<usize>,
    pub(super) edges: Vec<u32>,
    /// The node at the other end, place by place of `edges`.
    pub(super) others: Vec<u32>,
    /// By unknown: its places in `edges`, where it flows out and where it flows in. None for what flows from a node to itself.
    pub(super) places: Vec<[usize; 2]>,
}

impl Network {
    /// The network of the equations `rows` in so many unknowns: if every unknown is in at most two of them with coefficients ±1
    /// (of rows without a common divisor), and rows can be negated so that each has one +1 and one -1; unknowns in one equation
    /// flow from or to one more node. Such matrices are totally unimodular.
    ///
    /// If the rows as given are none, they are tried without what they imply: a row that holds all of a shorter one is replaced
    /// by their difference, and of dependent rows the shortest are taken. `None`: no network was found.
    pub(super) fn of(rows: &[Row], unknowns: usize) -> Option<Self> {
        Self::plain(rows, unknowns).or_else(|| Self::plain(&reduced(rows, unknowns)?, unknowns))
    }

    /// The network of the rows exactly as they are given; `None` if they are none.
    pub(super) fn plain(rows: &[Row], unknowns: usize) -> Option<Self> {
        let mut columns: Vec<[Option<(usize, bool)>; 2]> = vec![[None; 2]; unknowns];
        for (i, row) in rows.iter().enumerate() {
            let content = row.iter().try_fold(0i128, |content, &(_, a)| gcd(&content, &i128::from(a)))?;
            for &(unknown, a) in row {
                let place = columns[unknown as usize].iter_mut().find(|place| place.is_none())?;
                *place = (i128::from(a).abs() == content).then_some((i, a > 0));
                (*place)?;
            }
        }
        let mut of_row: Vec<Vec<(usize, bool)>> = vec![Vec::new(); rows.len()];
        for column in &columns {
            if let [Some((i, up)), Some((j, other))] = *column {
                of_row[i].push((j, up == other));
                of_row[j].push((i, up == other));
            }
        }
        // Rows of one sign in an unknown have opposite signs in the network.
        let mut negated: Vec<Option<bool>> = vec![None; rows.len()];
        for first in 0..rows.len() {
            if negated[first].is_some() {
                continue;
            }
            negated[first] = Some(false);
            let mut open = vec![first];
            while let Some(i) = open.pop() {
                for &(j, differ) in &of_row[i] {
                    let want = negated[i] != Some(differ);
                    match negated[j] {
                        None => {
                            negated[j] = Some(want);
                            open.push(j);
                        }
                        Some(is) if is != want => return None,
                        Some(_) => {}
                    }
                }
            }
        }
        let nodes = rows.len() + 1;
        let outside = rows.len() as u32;
        let end = |(i, up): (usize, bool)| (i as u32, Some(up) != negated[i]);
        let ends: Vec<(u32, u32)> = columns
            .iter()
            .map(|column| match column.map(|place| place.map(end)) {
                [Some((i, true)), Some((j, _))] | [Some((j, false)), Some((i, _))] => (i, j),
                [Some((i, true)), None] => (i, outside),
                [Some((i, false)), None] => (outside, i),
                _ => (outside, outside),
            })
            .collect();
        Some(Self::between(nodes, ends))
    }

    /// The network of these nodes, with the nodes that each unknown flows from and to.
    pub(crate) fn between(nodes: usize, ends: Vec<(u32, u32)>) -> Self {
        let mut of_node: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for (edge, &(from, to)) in ends.iter().enumerate().filter(|(_, (from, to))| from != to) {
            of_node[from as usize].push(edge as u32);
            of_node[to as usize].push(edge as u32);
        }
        let mut first = vec![0];
        of_node.iter().for_each(|edges| first.push(first[first.len() - 1] + edges.len()));
        let edges: Vec<u32> = of_node.concat();
        let (mut others, mut places) = (vec![0; edges.len()], vec![[usize::MAX; 2]; ends.len()]);
        for node in 0..nodes {
            for (place, &edge) in edges.iter().enumerate().take(first[node + 1]).skip(first[node]) {
                let (from, to) = ends[edge as usize];
                let flows_in = to as usize == node;
                others[place] = if flows_in { from } else { to };
                places[edge as usize][usize::from(flows_in)] = place;
            }
        }
        Self { nodes, ends, first, edges, others, places }
    }
}

/// Finds rows of the same lattice that are shorter. `None`: too large to tell.
fn reduced(rows: &[Row], unknowns: usize) -> Option<Vec<Row>> {
    if rows.len().checked_mul(unknowns)? > MOST_DENSE {
        return None;
    }
    let mut rows = rows.to_vec();
    let mut changed = true;
    while changed {
        changed = false;
        rows.retain(|row| !row.is_empty());
        rows.sort_by_key(Vec::len);
        for long in (1..rows.len()).rev() {
            for short in 0..long {
                if let Some(rest) = without(&rows[long], &rows[short]) {
                    rows[long] = rest;
                    changed = true;
                    if rows[long].len() < rows[short].len() {
                        break;
                    }
                }
            }
        }
    }
    let mut dense = IntMatrix::zero(rows.len(), unknowns);
    for (i, row) in rows.iter().enumerate() {
        row.iter().for_each(|&(unknown, a)| dense[(i, unknown as usize)] = a);
    }
    let kept = independent_rows(&dense).ok()?;
    Some(kept.into_iter().map(|i| rows[i].clone()).collect())
}

/// The rest of a row that has all the coefficients of another, or all of them negated.
fn without(long: &Row, short: &Row) -> Option<Row> {
    let coefficient = |unknown: u32| {
        let place = long.binary_search_by_key(&unknown, |&(unknown, _)| unknown).ok()?;
        Some(long[place].1)
    };
    let (head, a) = *short.first()?;
    let sign = if coefficient(head)? == a { 1 } else { -1 };
    let all = short.iter().all(|&(unknown, a)| coefficient(unknown) == Some(sign * a));
    let held = |unknown: u32| short.binary_search_by_key(&unknown, |&(unknown, _)| unknown).is_ok();
    all.then(|| long.iter().copied().filter(|&(unknown, _)| !held(unknown)).collect())
}
