//! Sparse lattice vectors of one component: a basis, and short vectors to move along.

use super::inequalities::Bounded;
use super::linear::Component;
use crate::error::{Error, Result};
use crate::lattice::{Basis, BasisKind, IntMatrix, Sparse, check_dimension, graver, inner};

/// Short vectors that are written out; beyond, vectors are drawn cell by cell.
const MAX_LISTED: usize = 1 << 16;

/// Cells of a total that start from pairs of neighbours.
const LONG_TOTAL: usize = 10_000;

/// A basis of the lattice of a component.
///
/// - [`BasisKind::Smith`]: of the Smith normal form, as published. For one total it is known without
///   elimination: `e_j - e_1`.
/// - [`BasisKind::Reduced`]: reduced by LLL. For one total as short vectors are known: `e_j - e_{j+1}`.
///
/// Empty if the component has no free dimension. Errors: as [`Basis::of_kernel`].
pub fn basis(component: &Component, kind: BasisKind) -> Result<Vec<Sparse>> {
    if component.rows.is_empty() {
        return Ok(component.cells.iter().map(|&cell| vec![(cell, 1)]).collect());
    }
    if component.is_total() {
        let cells = &component.cells;
        return Ok(match kind {
            BasisKind::Smith => cells[1..].iter().map(|&cell| vec![(cells[0], -1), (cell, 1)]).collect(),
            BasisKind::Reduced => cells.windows(2).map(|pair| vec![(pair[0], 1), (pair[1], -1)]).collect(),
        });
    }
    check_dimension(component.cells.len().max(component.rows.len()))?;
    sparse(&Basis::of_kernel(&component.matrix(), kind)?.vectors, &component.cells)
}

/// A basis that is cheap for every named form and for many equal columns: where a chain starts.
pub fn start_basis(component: &Component) -> Result<Vec<Sparse>> {
    if component.rows.is_empty() || component.is_total() {
        // In a long total all vectors of the Smith form meet in one cell, where starts would pile up.
        let long = component.cells.len() > LONG_TOTAL;
        return basis(component, if long { BasisKind::Reduced } else { BasisKind::Smith });
    }
    let Some((rows, columns)) = component.margins else {
        // The group sums on the first cell of each group, and pairs inside the groups.
        let groups = groups(component);
        let first: Vec<u32> = groups.iter().map(|group| group[0]).collect();
        let sums = Basis::of_kernel(&component.distinct_columns(), BasisKind::Smith)?;
        let mut vectors = sparse(&sums.vectors, &first)?;
        for group in &groups {
            vectors.extend(group[1..].iter().map(|&cell| vec![(group[0], -1), (cell, 1)]));
        }
        return Ok(vectors);
    };
    let cell = |i: usize, j: usize| component.cells[i * columns + j];
    let corner = |i, j| vec![(cell(0, 0), 1), (cell(0, j), -1), (cell(i, 0), -1), (cell(i, j), 1)];
    Ok((1..rows).flat_map(|i| (1..columns).map(move |j| (i, j))).map(|(i, j)| corner(i, j)).collect())
}

/// Cells of the table grouped by equal column.
fn groups(component: &Component) -> Vec<Vec<u32>> {
    let cells = |members: Vec<u32>| members.into_iter().map(|cell| component.cells[cell as usize]).collect();
    component.equal_columns().into_iter().map(|(_, members)| cells(members)).collect()
}

fn sparse(vectors: &IntMatrix, cells: &[u32]) -> Result<Vec<Sparse>> {
    let entry = |(cell, &x): (&u32, &i64)| {
        let x = i32::try_from(x).map_err(|_| Error::Invariant("basis: an entry beyond 32 bits".into()))?;
        Ok((*cell, x))
    };
    (0..vectors.rows())
        .map(|i| cells.iter().zip(vectors.row(i)).filter(|(_, x)| **x != 0).map(entry).collect())
        .collect()
}

/// How line moves of a component are chosen: always a symmetric choice that does not depend on the state,
/// of vectors that generate the lattice.
#[derive(Debug, Clone)]
pub(crate) enum Moves {
    /// A vector of the list.
    Listed(Vec<Sparse>),
    /// `e_i - e_j`.
    Pairs(Vec<u32>),
    /// 2 × 2 swaps of a two-way table, cells row by row.
    Swaps { cells: Vec<u32>, rows: usize, columns: usize },
    /// Two cells of one group of equal columns; or a short vector of the group sums, each group represented
    /// by one of its cells. `pairs`: the groups, each as often as it has dimensions of its own. `spread`: every unit of
    /// an entry goes to a cell of its own choice.
    Grouped { groups: Vec<Vec<u32>>, pairs: Vec<u32>, vectors: Vec<Vec<(u32, i32)>>, spread: bool },
}

impl Moves {
    /// Errors: as [`basis`] with a reduced basis (of the group sums).
    pub fn of(component: &Component) -> Result<Self> {
        let cells = &component.cells;
        if component.rows.is_empty() {
            return Ok(Self::Listed(cells.iter().map(|&cell| vec![(cell, 1)]).collect()));
        }
        if component.is_total() {
            return Ok(Self::Pairs(cells.clone()));
        }
        if let Some((rows, columns)) = component.margins {
            return Ok(if rows * (rows - 1) / 2 * columns * (columns - 1) / 2 <= MAX_LISTED {
                Self::Listed(all_swaps(cells, rows, columns))
            } else {
                Self::Swaps { cells: cells.clone(), rows, columns }
            });
        }
        let groups = groups(component);
        let a = component.distinct_columns();
        let indices: Vec<u32> = (0..groups.len() as u32).collect();
        // Beyond the size that is reduced the vectors of the Smith form serve as they are.
        let kernel = match Basis::of_kernel(&a, BasisKind::Reduced) {
            Err(Error::TooLarge { unit: "dimensions", .. }) => Basis::of_kernel(&a, BasisKind::Smith)?,
            other => other?,
        };
        let vectors = short_vectors(sparse(&kernel.vectors, &indices)?);
        Ok(Self::lifted(groups, vectors, false))
    }

    /// Moves that connect all points within the bounds:
    ///
    /// - pairs, for one total under any bounds of its cells;
    /// - 2 × 2 swaps, for a two-way table without upper bounds (Diaconis, Sturmfels 1998);
    /// - else pairs of equal columns and the Graver basis of the group sums and the slacks of the explicit rows.
    ///
    /// Errors: as [`basis`] with a reduced basis (of the group sums); a Graver basis beyond its limit: nothing then
    /// says that the chain could reach everything.
    pub fn within(bounded: &Bounded) -> Result<Self> {
        let (component, region) = (&bounded.component, &bounded.region);
        if region.is_everything()
            || (component.is_total() && region.rows.is_empty())
            || (component.margins.is_some() && !region.has_upper() && region.rows.is_empty())
        {
            return Self::of(component);
        }
        let columns = bounded.equal_columns();
        let (a, b) = bounded.matrices(columns.iter().map(|(column, _)| column));
        let kernel = match a.rows() {
            0 => IntMatrix::identity(columns.len()),
            _ => Basis::of_kernel(&a, BasisKind::Reduced)?.vectors,
        };
        let with_slacks = |i: usize| -> Result<Vec<i64>> {
            let slack = |j: usize| {
                let slack = i64::try_from(inner(b.row(j), kernel.row(i)));
                slack.map_err(|_| Error::Invariant("Graver basis: a slack beyond 64 bits".into()))
            };
            kernel.row(i).iter().map(|&x| Ok(x)).chain((0..b.rows()).map(slack)).collect()
        };
        let extended = (0..kernel.rows()).map(with_slacks).collect::<Result<Vec<_>>>()?;
        let extended = IntMatrix::from_rows(&extended).expect("rows of one length");
        let mut vectors = graver(&extended)?;
        vectors.iter_mut().for_each(|vector| vector.truncate(columns.len()));
        let indices: Vec<u32> = (0..columns.len() as u32).collect();
        let vectors = match IntMatrix::from_rows(&vectors) {
            Some(vectors) if vectors.rows() > 0 => sparse(&vectors, &indices)?,
            _ => Vec::new(),
        };
        let place = |cells: Vec<u32>| cells.into_iter().map(|cell| component.cells[cell as usize]).collect();
        Ok(Self::lifted(columns.into_iter().map(|(_, cells)| place(cells)).collect(), vectors, true))
    }

    /// All vectors, one of each pair ±b; `None` if there are more than `limit`.
    pub fn list(&self, limit: usize) -> Option<Vec<Sparse>> {
        let pairs = |cells: &[u32]| -> Vec<Sparse> {
            let before = |(k, &i): (usize, &u32)| cells[..k].iter().map(move |&j| vec![(i, 1), (j, -1)]);
            cells.iter().enumerate().flat_map(|at| before(at).collect::<Vec<_>>()).collect()
        };
        match self {
            Self::Listed(vectors) => Some(vectors.clone()),
            Self::Pairs(cells) => (cells.len() * cells.len() / 2 <= limit).then(|| pairs(cells)),
            Self::Swaps { .. } => None,
            Self::Grouped { groups, vectors, .. } => {
                let mut all: Vec<Sparse> = groups.iter().flat_map(|group| pairs(group)).collect();
                for sums in vectors {
                    let mut lifted: Vec<Sparse> = vec![Vec::new()];
                    for &(group, c) in sums {
                        for _ in 0..c.unsigned_abs() {
                            if lifted.len().saturating_mul(groups[group as usize].len()) > limit {
                                return None;
                            }
                            lifted = lifted
                                .into_iter()
                                .flat_map(|head| {
                                    groups[group as usize].iter().map(move |&cell| {
                                        let mut next = head.clone();
                                        match next.iter_mut().find(|(other, _)| *other == cell) {
                                            Some((_, units)) => *units += c.signum(),
                                            None => next.push((cell, c.signum())),
                                        }
                                        next
                                    })
                                })
                                .collect();
                        }
                    }
                    all.extend(lifted);
                }
                (all.len() <= limit).then_some(all)
            }
        }
    }

    fn lifted(groups: Vec<Vec<u32>>, vectors: Vec<Sparse>, spread: bool) -> Self {
        if groups.iter().all(|group| group.len() == 1) {
            let lift = |vector: Sparse| vector.into_iter().map(|(g, c)| (groups[g as usize][0], c)).collect();
            return Self::Listed(vectors.into_iter().map(lift).collect());
        }
        // Every group counts with its dimension, so that all of them are moved equally often.
        let pairs = groups
            .iter()
            .zip(0u32..)
            .flat_map(|(group, g)| std::iter::repeat_n(g, group.len() - 1))
            .collect();
        Self::Grouped { groups, pairs, vectors, spread }
    }
}

fn all_swaps(cells: &[u32], rows: usize, columns: usize) -> Vec<Sparse> {
    let mut swaps = Vec::new();
    for (i, k) in (0..rows).flat_map(|k| (0..k).map(move |i| (i, k))) {
        for (j, l) in (0..columns).flat_map(|l| (0..l).map(move |j| (j, l))) {
            let at = |row: usize, column: usize| cells[row * columns + column];
            swaps.push(vec![(at(i, j), 1), (at(i, l), -1), (at(k, j), -1), (at(k, l), 1)]);
        }
    }
    swaps
}

/// The basis and its sums and differences by pairs that are no longer (in ℓ1) than its longest vector.
fn short_vectors(basis: Vec<Sparse>) -> Vec<Sparse> {
    let length = |vector: &Sparse| vector.iter().map(|(_, x)| i64::from(x.abs())).sum::<i64>();
    let longest = basis.iter().map(length).max().unwrap_or(0);
    let mut vectors = basis.clone();
    for (k, b) in basis.iter().enumerate() {
        for a in &basis[..k] {
            for sign in [1, -1] {
                if vectors.len() == MAX_LISTED {
                    break;
                }
                vectors.extend(combine(a, b, sign).filter(|sum| length(sum) <= longest));
            }
        }
    }
    for vector in &mut vectors {
        // One of each pair ±b.
        if vector[0].1 < 0 {
            vector.iter_mut().for_each(|(_, x)| *x = -*x);
        }
    }
    vectors.sort();
    vectors.dedup();
    vectors
}

/// `a + sign b`; `None` if an entry leaves 32 bits.
fn combine(a: &Sparse, b: &Sparse, sign: i32) -> Option<Sparse> {
    let mut all: Sparse = a.iter().copied().chain(b.iter().map(|&(cell, x)| (cell, sign * x))).collect();
    all.sort_unstable_by_key(|&(cell, _)| cell);
    let mut sum: Sparse = Vec::with_capacity(all.len());
    for (cell, x) in all {
        match sum.last_mut() {
            Some(last) if last.0 == cell => last.1 = last.1.checked_add(x)?,
            _ => sum.push((cell, x)),
        }
    }
    sum.retain(|&(_, x)| x != 0);
    Some(sum)
}
