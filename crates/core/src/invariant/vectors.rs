//! Sparse lattice vectors of one component: a basis, and short vectors to move along.

use super::inequalities::{Bounded, Region};
use super::linear::Component;
use super::mobility;
use super::side::{NO_LOWER, NO_UPPER};
use crate::error::{Error, Result};
use crate::lattice::{Basis, BasisKind, IntMatrix, Row, Sparse, check_dimension, graver, inner};
use crate::rng::Odds;

/// Short vectors that are written out; beyond, vectors are drawn entry by entry.
const MAX_LISTED: usize = 1 << 16;

/// Vectors of a component whose region may be listed.
const MAX_EXACT: usize = 512;

/// Entries of a total that start from pairs of neighbours.
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
        return Ok(component.entries.iter().map(|&entry| vec![(entry, 1)]).collect());
    }
    if component.is_total() {
        let entries = &component.entries;
        return Ok(match kind {
            BasisKind::Smith => {
                entries[1..].iter().map(|&entry| vec![(entries[0], -1), (entry, 1)]).collect()
            }
            BasisKind::Reduced => entries.windows(2).map(|pair| vec![(pair[0], 1), (pair[1], -1)]).collect(),
        });
    }
    check_dimension(component.entries.len().max(component.rows.len()))?;
    sparse(&Basis::of_kernel(&component.matrix(), kind)?.vectors, &component.entries)
}

/// A basis that is cheap for every named form and for many equal columns: where a chain starts.
pub fn start_basis(component: &Component) -> Result<Vec<Sparse>> {
    if component.rows.is_empty() || component.is_total() {
        // In a long total all vectors of the Smith form meet in one entry, where starts would pile up.
        let long = component.entries.len() > LONG_TOTAL;
        return basis(component, if long { BasisKind::Reduced } else { BasisKind::Smith });
    }
    let Some((rows, columns)) = component.margins else {
        // The group sums on the first entry of each group, and pairs inside the groups.
        let groups = groups(component);
        let first: Vec<u32> = groups.iter().map(|group| group[0]).collect();
        let sums = Basis::of_kernel(&component.distinct_columns(), BasisKind::Smith)?;
        let mut vectors = sparse(&sums.vectors, &first)?;
        for group in &groups {
            vectors.extend(group[1..].iter().map(|&entry| vec![(group[0], -1), (entry, 1)]));
        }
        return Ok(vectors);
    };
    let entry = |i: usize, j: usize| component.entries[i * columns + j];
    let corner = |i, j| vec![(entry(0, 0), 1), (entry(0, j), -1), (entry(i, 0), -1), (entry(i, j), 1)];
    Ok((1..rows).flat_map(|i| (1..columns).map(move |j| (i, j))).map(|(i, j)| corner(i, j)).collect())
}

/// Entries of the table grouped by equal column.
fn groups(component: &Component) -> Vec<Vec<u32>> {
    let entries =
        |members: Vec<u32>| members.into_iter().map(|entry| component.entries[entry as usize]).collect();
    component.equal_columns().into_iter().map(|(_, members)| entries(members)).collect()
}

fn sparse(vectors: &IntMatrix, entries: &[u32]) -> Result<Vec<Sparse>> {
    let coordinate = |(entry, &x): (&u32, &i64)| {
        let x = i32::try_from(x).map_err(|_| Error::Invariant("basis: an entry beyond 32 bits".into()))?;
        Ok((*entry, x))
    };
    (0..vectors.rows())
        .map(|i| entries.iter().zip(vectors.row(i)).filter(|(_, x)| **x != 0).map(coordinate).collect())
        .collect()
}

/// How line moves of a component are chosen: always a symmetric choice that does not depend on the state,
/// of vectors that generate the lattice.
#[derive(Debug, Clone)]
pub(crate) enum Moves {
    /// A vector of the list, drawn with these odds.
    Listed(Vec<Sparse>, Odds),
    /// A difference `e_i - e_j` of two of the entries.
    Pairs(Vec<u32>),
    /// A 2 × 2 swap of a two-way table, entries row by row.
    Swaps { entries: Vec<u32>, rows: usize, columns: usize },
    /// Two entries of one group of equal columns; or a short vector of the group sums, each group represented
    /// by one of its entries: each dimension of a group and each vector alike, and then the vectors with these
    /// odds. `pairs`: the groups, each as often as it has dimensions of its own. `spread`: every unit of
    /// a coefficient goes to an entry of its own choice.
    Grouped { groups: Vec<Vec<u32>>, pairs: Vec<u32>, vectors: Vec<Sparse>, odds: Odds, spread: bool },
}

impl Moves {
    /// Whether all coefficients are ±1.
    pub fn is_unit(&self) -> bool {
        match self {
            Self::Listed(vectors, _) | Self::Grouped { vectors, .. } => {
                vectors.iter().flatten().all(|(_, x)| x.abs() == 1)
            }
            Self::Pairs(_) | Self::Swaps { .. } => true,
        }
    }

    /// The moves of a component under equations alone. Errors: as [`basis`] with a reduced basis (of the group sums).
    pub fn of(component: &Component) -> Result<Self> {
        let entries = &component.entries;
        if component.rows.is_empty() {
            return Ok(Self::listed(entries.iter().map(|&entry| vec![(entry, 1)]).collect()));
        }
        if component.is_total() {
            return Ok(Self::Pairs(entries.clone()));
        }
        if let Some((rows, columns)) = component.margins {
            return Ok(if rows * (rows - 1) / 2 * columns * (columns - 1) / 2 <= MAX_LISTED {
                Self::listed(all_swaps(entries, rows, columns))
            } else {
                Self::Swaps { entries: entries.clone(), rows, columns }
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
    /// - pairs, for one total under any bounds of its entries;
    /// - 2 × 2 swaps, for a two-way table without upper bounds (Diaconis, Sturmfels 1998);
    /// - else pairs of equal columns and the Graver basis of the group sums and the slacks of the explicit rows.
    ///
    /// Errors: as [`basis`] with a reduced basis (of the group sums); a Graver basis beyond its limit: nothing then
    /// says that the chain could reach everything.
    pub fn within(bounded: &Bounded) -> Result<Self> {
        let (component, region) = (&bounded.component, &bounded.region);
        if region.is_everything()
            || (component.is_total() && region.rows.is_empty())
            || (component.margins.is_some() && region.upper.is_open() && region.rows.is_empty())
        {
            return Self::of(component);
        }
        let columns = bounded.equal_columns();
        let mut vectors = bounded.irreducible()?;
        vectors.iter_mut().for_each(|vector| vector.truncate(columns.len()));
        let indices: Vec<u32> = (0..columns.len() as u32).collect();
        let vectors = match IntMatrix::from_rows(&vectors) {
            Some(vectors) if vectors.rows() > 0 => sparse(&vectors, &indices)?,
            _ => Vec::new(),
        };
        let place =
            |entries: Vec<u32>| entries.into_iter().map(|entry| component.entries[entry as usize]).collect();
        Ok(Self::lifted(columns.into_iter().map(|(_, entries)| place(entries)).collect(), vectors, true))
    }

    /// Those of connecting moves ([`Moves::within`]) that can move, with fixed odds, and the share of their draws that can:
    /// so many points of the region, on average over the draws, have a step of ±1 along the vector within the region.
    ///
    /// Where the region's points are few, they are listed, and all vectors with them: exact. Else that share is taken from the
    /// bounds of the entries (of groups of equal columns: of their sums), see [`mobility::estimated`] and [`Bounded::fits`], and
    /// taken to be 1 for pairs and for the swaps of large tables. Pairs in a total and swaps in a table with lower bounds can all
    /// move if no entry is fixed: what is left above the lower bounds is placed so that the step is free. Half of the draws
    /// are even, and half in proportion to the vector's share: what can often move is not crowded out by what seldom can, and
    /// what seldom can is still drawn.
    ///
    /// A vector that can move from any point is never left out. For [`Bounded::reduced`] regions. `looks`: see
    /// [`mobility::listed`].
    pub fn mobile(self, bounded: &Bounded, looks: &mut usize) -> Option<(Self, f64)> {
        let entries = &bounded.component.entries;
        if bounded.region.is_everything() {
            return Some((self, 1.0));
        }
        let place = |entry: u32| entries.binary_search(&entry).expect("its own entry") as u32;
        let local =
            |vector: &Sparse| -> Sparse { vector.iter().map(|&(entry, c)| (place(entry), c)).collect() };
        if let Some(vectors) = self.list(MAX_EXACT).filter(|vectors| vectors.len() <= MAX_EXACT) {
            let own: Vec<Sparse> = vectors.iter().map(local).collect();
            if let Some(shares) = mobility::listed(bounded, &own, looks) {
                let (vectors, odds, share) = chosen(vectors, &shares)?;
                return Some((Self::Listed(vectors, odds), share));
            }
        }
        match self {
            Self::Pairs(_) | Self::Swaps { .. } => Some((self, 1.0)),
            Self::Listed(vectors, _) => {
                let within = bounded.narrowed()?;
                // All swaps of a two-way table fit, see there; there may be very many.
                let known = bounded.component.margins.is_some() && bounded.region.rows.is_empty();
                let fits = |vector: &Sparse| known || bounded.fits(vector);
                let share = |vector: &Sparse| match local(vector) {
                    vector if fits(&vector) => mobility::estimated(&within, &vector),
                    _ => 0.0,
                };
                let shares: Vec<f64> = vectors.iter().map(share).collect();
                let (vectors, odds, share) = chosen(vectors, &shares)?;
                Some((Self::Listed(vectors, odds), share))
            }
            Self::Grouped { groups, pairs, vectors, spread, .. } => {
                let sums = bounded.sums();
                let within = sums.narrowed()?;
                let share = |vector: &Sparse| match sums.fits(vector) {
                    true => mobility::estimated(&within, vector),
                    false => 0.0,
                };
                let shares: Vec<f64> = vectors.iter().map(share).collect();
                let (vectors, odds, share) =
                    chosen(vectors, &shares).unwrap_or_else(|| (Vec::new(), Odds::even(1), 0.0));
                let (n, all) = (vectors.len() as f64, (vectors.len() + pairs.len()) as f64);
                let share = (n * share + pairs.len() as f64) / all;
                Some((Self::Grouped { groups, pairs, vectors, odds, spread }, share))
            }
        }
    }

    fn listed(vectors: Vec<Sparse>) -> Self {
        let odds = Odds::even(vectors.len().max(1));
        Self::Listed(vectors, odds)
    }

    /// All vectors, one of each pair ±b; `None` if there are more than `limit`.
    pub fn list(&self, limit: usize) -> Option<Vec<Sparse>> {
        let pairs = |entries: &[u32]| -> Vec<Sparse> {
            let before = |(k, &i): (usize, &u32)| entries[..k].iter().map(move |&j| vec![(i, 1), (j, -1)]);
            entries.iter().enumerate().flat_map(|at| before(at).collect::<Vec<_>>()).collect()
        };
        match self {
            Self::Listed(vectors, _) => Some(vectors.clone()),
            Self::Pairs(entries) => (entries.len() * entries.len() / 2 <= limit).then(|| pairs(entries)),
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
                                    groups[group as usize].iter().map(move |&entry| {
                                        let mut next = head.clone();
                                        match next.iter_mut().find(|(other, _)| *other == entry) {
                                            Some((_, units)) => *units += c.signum(),
                                            None => next.push((entry, c.signum())),
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
            return Self::listed(vectors.into_iter().map(lift).collect());
        }
        // Every group counts with its dimension, so that all of them are moved equally often.
        let pairs = groups
            .iter()
            .zip(0u32..)
            .flat_map(|(group, g)| std::iter::repeat_n(g, group.len() - 1))
            .collect();
        let odds = Odds::even(vectors.len().max(1));
        Self::Grouped { groups, pairs, vectors, odds, spread }
    }
}

/// The vectors whose share is not 0, their odds, and the share of all draws: `None` if there is none.
fn chosen(vectors: Vec<Sparse>, shares: &[f64]) -> Option<(Vec<Sparse>, Odds, f64)> {
    let (vectors, shares): (Vec<Sparse>, Vec<f64>) =
        vectors.into_iter().zip(shares.iter().copied()).filter(|(_, share)| *share > 0.0).unzip();
    if vectors.is_empty() {
        return None;
    }
    let (n, total) = (shares.len() as f64, shares.iter().sum::<f64>());
    let weights: Vec<f64> = shares.iter().map(|share| 1.0 / n + share / total).collect();
    let share: f64 = shares.iter().zip(&weights).map(|(share, weight)| 0.5 * share * weight).sum();
    // From every point some vector can move, and half of the draws are even: no estimate need be smaller.
    Some((vectors, Odds::of(&weights), share.max(0.5 / n)))
}

impl Bounded {
    /// The Graver basis of the sums of groups of equal columns together with the slacks of the explicit rows, one of each pair ±v: whatever
    /// two tables differ by is a sum of them whose sizes add up in every sum and slack. The groups are those of [`Bounded::equal_columns`].
    ///
    /// Errors: as [`basis`] with a reduced basis; a Graver basis beyond its limit; a slack beyond 64 bits.
    pub(crate) fn irreducible(&self) -> Result<Vec<Vec<i64>>> {
        let columns = self.equal_columns();
        let (a, b) = self.matrices(columns.iter().map(|(column, _)| column));
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
        graver(&IntMatrix::from_rows(&extended).expect("rows of one length"))
    }

    /// What holds for the sums of groups of equal columns, as entries numbered from 0.
    pub(crate) fn sums(&self) -> Self {
        let columns = self.equal_columns();
        let equations = self.component.rows.len();
        let mut rows: Vec<Row> = vec![Row::new(); equations + self.region.rows.len()];
        for ((column, _), g) in columns.iter().zip(0u32..) {
            column.iter().for_each(|&(row, a)| rows[row as usize].push((g, a)));
        }
        let explicit = rows.split_off(equations);
        let (lower, upper) = (&self.region.lower, &self.region.upper);
        let sum = |bound: &dyn Fn(usize) -> i64, none: i64, members: &[u32]| {
            let bounds =
                members.iter().map(|&entry| Some(bound(entry as usize)).filter(|bound| *bound != none));
            bounds.sum::<Option<i64>>().unwrap_or(none)
        };
        Self {
            component: Component { entries: (0..columns.len() as u32).collect(), rows, margins: None },
            region: Region {
                lower: columns.iter().map(|(_, members)| sum(&|i| lower[i], NO_LOWER, members)).collect(),
                upper: columns.iter().map(|(_, members)| sum(&|i| upper[i], NO_UPPER, members)).collect(),
                rows: explicit
                    .into_iter()
                    .zip(&self.region.rows)
                    .map(|(row, (_, least))| (row, *least))
                    .collect(),
            },
        }
    }
}

fn all_swaps(entries: &[u32], rows: usize, columns: usize) -> Vec<Sparse> {
    let mut swaps = Vec::new();
    for (i, k) in (0..rows).flat_map(|k| (0..k).map(move |i| (i, k))) {
        for (j, l) in (0..columns).flat_map(|l| (0..l).map(move |j| (j, l))) {
            let at = |row: usize, column: usize| entries[row * columns + column];
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
    let mut all: Sparse = a.iter().copied().chain(b.iter().map(|&(entry, x)| (entry, sign * x))).collect();
    all.sort_unstable_by_key(|&(entry, _)| entry);
    let mut sum: Sparse = Vec::with_capacity(all.len());
    for (entry, x) in all {
        match sum.last_mut() {
            Some(last) if last.0 == entry => last.1 = last.1.checked_add(x)?,
            _ => sum.push((entry, x)),
        }
    }
    sum.retain(|&(_, x)| x != 0);
    Some(sum)
}
