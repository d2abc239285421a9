//! Linear equations with integer coefficients: any equality invariant of a table.

use crate::error::{Error, Result};
use crate::lattice::{IntMatrix, Row, independent_rows, real_value, value};
use std::collections::{HashMap, HashSet};

/// `A y = A x` on a table of `entries` counts: the release `y` keeps what `A` counts of the confidential `x`.
///
/// Equivalently the noise `z = y - x` lies in the lattice `{z in Z^d : A z = 0}` (Dharangutte, Gao, Gong, Yu,
/// "Integer subspace differential privacy", Prop. 8). Rows may be dependent.
///
/// # Examples
///
/// ```
/// use congenial_core::invariant::Linear;
///
/// // Both margins of a 2 × 2 table: one dimension of noise is free.
/// let margins = Linear::margins(2, 2)?;
/// assert!(margins.holds(&[1, -1, -1, 1]));
/// assert!(!margins.holds(&[1, -1, 0, 0]));
/// assert_eq!(margins.component_count(), 1);
/// // The sums of two groups do not tie their entries together.
/// assert_eq!(Linear::partition(&[0, 0, 1, 1, 1])?.component_count(), 2);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linear {
    entries: usize,
    rows: Vec<Row>,
    /// Rows and columns, if this is nothing but the margins of a two-way table.
    margins: Option<(usize, usize)>,
}

/// Entries that no equation ties to others, with their equations; entries are renumbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Entries of the table, ascending.
    pub entries: Vec<u32>,
    /// Equations, on the renumbered entries.
    pub rows: Vec<Row>,
    /// Rows and columns of a two-way table with both margins fixed, if it is one (entries row by row).
    pub margins: Option<(usize, usize)>,
}

/// A coefficient of more than 2^31 in size, if there is one: sums over counts could leave 64 bits.
pub(super) fn oversized(row: &Row) -> Option<i64> {
    row.iter().map(|&(_, a)| a).find(|a| a.unsigned_abs() > 1 << 31)
}

/// Refuses more entries than can be numbered, before anything is made of them.
fn check_entries(entries: usize) -> Result<()> {
    match u32::try_from(entries) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Invariant(format!("{entries} entries, the limit is {}", u32::MAX))),
    }
}

impl Linear {
    /// The invariant without an equation: every entry is free.
    pub fn none(entries: usize) -> Self {
        Self { entries, rows: Vec::new(), margins: None }
    }

    /// The invariant that keeps the sum of all entries. Errors: no entry, more than can be numbered.
    pub fn total(entries: usize) -> Result<Self> {
        check_entries(entries)?;
        Self::new(entries, vec![(0..entries as u32).map(|c| (c, 1)).collect()], None)
    }

    /// The invariant that keeps the sum of every group; `groups`: the group of each entry.
    pub fn partition(groups: &[usize]) -> Result<Self> {
        let mut rows: Vec<Row> = Vec::new();
        let mut row_of: HashMap<usize, usize> = HashMap::new();
        for (entry, &group) in groups.iter().enumerate() {
            let row = *row_of.entry(group).or_insert_with(|| {
                rows.push(Row::new());
                rows.len() - 1
            });
            rows[row].push((entry as u32, 1));
        }
        Self::new(groups.len(), rows, None)
    }

    /// The invariant that keeps both margins of a two-way table; entries row by row. Errors: no entry, more than can be
    /// numbered.
    pub fn margins(rows: usize, columns: usize) -> Result<Self> {
        check_entries(rows.saturating_mul(columns))?;
        let entry = |i: usize, j: usize| ((i * columns + j) as u32, 1);
        let by_row = (0..rows).map(|i| (0..columns).map(|j| entry(i, j)).collect());
        let by_column = (0..columns).map(|j| (0..rows).map(|i| entry(i, j)).collect());
        Self::new(rows * columns, by_row.chain(by_column).collect(), Some((rows, columns)))
    }

    /// The invariant that keeps the sum over every listed set of entries.
    ///
    /// Errors: an empty set, an entry twice in a set or out of range.
    pub fn subsets(entries: usize, sets: &[Vec<usize>]) -> Result<Self> {
        let mut rows = Vec::new();
        for (i, set) in sets.iter().enumerate() {
            let mut set = set.clone();
            set.sort_unstable();
            if set.is_empty() || set.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Error::Invariant(format!(
                    "set {}: want a non-empty set of different entries",
                    i + 1
                )));
            }
            if let Some(&entry) = set.iter().find(|&&entry| entry >= entries) {
                return Err(Error::Invariant(format!(
                    "set {}: got entry {}, want an entry of 1 to {entries}",
                    i + 1,
                    entry + 1
                )));
            }
            rows.push(set.into_iter().map(|entry| (entry as u32, 1)).collect());
        }
        Self::new(entries, rows, None)
    }

    /// The invariant with explicit coefficients, k × d.
    pub fn matrix(a: &IntMatrix) -> Result<Self> {
        let sparse = |row: &[i64]| -> Row {
            row.iter().enumerate().filter(|(_, a)| **a != 0).map(|(entry, &a)| (entry as u32, a)).collect()
        };
        Self::new(a.columns(), (0..a.rows()).map(|i| sparse(a.row(i))).collect(), None)
    }

    /// The invariant with equations given by their non-zero coefficients; rows without any are dropped.
    ///
    /// Errors: no equation is left, an entry out of range, a coefficient of more than 2^31 in size.
    pub fn from_rows(entries: usize, rows: Vec<Row>) -> Result<Self> {
        Self::new(entries, rows, None)
    }

    fn new(entries: usize, mut rows: Vec<Row>, margins: Option<(usize, usize)>) -> Result<Self> {
        check_entries(entries)?;
        for row in &mut rows {
            row.retain(|&(_, a)| a != 0);
            row.sort_unstable();
            if let Some(&(entry, _)) = row.last().filter(|(entry, _)| *entry as usize >= entries) {
                return Err(Error::Invariant(format!(
                    "entry {} of a table of {entries}",
                    u64::from(entry) + 1
                )));
            }
            if row.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return Err(Error::Invariant("an entry has two coefficients in one equation".into()));
            }
            if let Some(a) = oversized(row) {
                return Err(Error::Invariant(format!(
                    "got the coefficient {a}, want at most 2^31 in size: sums could leave 64 bits"
                )));
            }
        }
        rows.retain(|row| !row.is_empty());
        let margins = margins.or_else(|| two_way(entries, &rows));
        if rows.is_empty() {
            return Err(Error::Invariant("the system is empty: no equation ties any entry".into()));
        }
        Ok(Self { entries, rows, margins })
    }

    /// Joins the equations of two invariants, on the larger of the two tables: entries have the same numbers in both.
    pub fn and(mut self, other: Self) -> Self {
        let total = |row: &Row| row.len() == self.entries && row.iter().all(|&(_, a)| a == 1);
        // Margins imply the total.
        let known: HashSet<&Row> = self.rows.iter().collect();
        let known = |row: &Row| known.contains(row) || (self.margins.is_some() && total(row));
        let new: Vec<Row> = other.rows.iter().filter(|row| !known(row)).cloned().collect();
        if other.entries > self.entries || (other.margins.is_some() && self.margins.is_none()) {
            // Margins keep their form if they come first.
            if other.margins.is_some() && other.entries == self.entries {
                return other.and(self);
            }
            self.entries = self.entries.max(other.entries);
            self.margins = None;
        }
        if !new.is_empty() {
            self.rows.extend(new);
            self.margins = two_way(self.entries, &self.rows);
        }
        self
    }

    /// Adds an equation for each of some entries that are known: their noise is 0, and the other equations go on
    /// without them.
    ///
    /// Errors: an entry out of range.
    pub fn with_known(&self, known: &[u32]) -> Result<Self> {
        if known.is_empty() {
            return Ok(self.clone());
        }
        let fixed: HashSet<u32> = known.iter().copied().collect();
        let open = |row: &Row| row.iter().copied().filter(|(entry, _)| !fixed.contains(entry)).collect();
        let rows = self.rows.iter().map(open).chain(known.iter().map(|&entry| vec![(entry, 1)]));
        Self::new(self.entries, rows.collect(), None)
    }

    /// The number d of entries.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The equations, each by its non-zero coefficients.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether `A z = 0`, in exact arithmetic.
    pub fn holds(&self, noise: &[i64]) -> bool {
        self.rows.iter().all(|row| value(row, noise) == 0)
    }

    /// Checks `A z = 0` in exact arithmetic.
    ///
    /// Errors: [`Error::InvariantViolated`] with the first equation that fails.
    pub fn check(&self, noise: &[i64]) -> Result<()> {
        for (i, row) in self.rows.iter().enumerate() {
            let residual = value(row, noise);
            if residual != 0 {
                return Err(Error::violated(format!("equation {}", i + 1), residual));
            }
        }
        Ok(())
    }

    /// Checks `|a z| <= 1e-9 ‖a‖₁ (1 + max(‖z‖∞, before))` of real noise, with `before` the largest absolute value of what it was
    /// computed from, whose rounding stays when it nearly cancels.
    ///
    /// Errors: [`Error::InvariantViolated`] with the first equation that fails.
    pub fn check_reals(&self, noise: &[f64], before: f64) -> Result<()> {
        let size = 1.0 + noise.iter().fold(before, |m, z| m.max(z.abs()));
        for (i, row) in self.rows.iter().enumerate() {
            let residual = real_value(row, noise);
            let weight: f64 = row.iter().map(|&(_, a)| (a as f64).abs()).sum();
            if residual.abs().partial_cmp(&(1e-9 * weight * size)) != Some(std::cmp::Ordering::Less) {
                return Err(Error::violated(format!("equation {}", i + 1), residual));
            }
        }
        Ok(())
    }

    /// The connected components: noise laws that are products over entries factorise over them. An entry in
    /// no equation is a component of its own.
    pub fn components(&self) -> Vec<Component> {
        if let Some(margins) = self.margins {
            let entries = (0..self.entries as u32).collect();
            return vec![Component { entries, rows: self.rows.clone(), margins: Some(margins) }];
        }
        let rows: Vec<&Row> = self.rows.iter().collect();
        let recognised =
            |(component, _): (Component, Vec<usize>)| Component::of(component.entries, component.rows);
        connected(self.entries, &rows).into_iter().map(recognised).collect()
    }

    /// The number of connected components.
    pub fn component_count(&self) -> usize {
        if self.margins.is_some() { 1 } else { self.components().len() }
    }

    /// All entries and equations as one component: for laws that do not factorise.
    pub fn whole(&self) -> Component {
        Component {
            entries: (0..self.entries as u32).collect(),
            rows: self.rows.clone(),
            margins: self.margins,
        }
    }
}

/// Refuses an invariant that fixes every entry: its only release is the confidential table.
pub fn check_free(invariant: &Linear) -> Result<()> {
    // What cannot be computed is left to those who need it.
    let margins_fix = invariant.margins.is_none_or(|(rows, columns)| rows == 1 || columns == 1);
    let fixed = |component: &Component| component.is_fixed().unwrap_or(false);
    match margins_fix && invariant.components().iter().all(fixed) {
        false => Ok(()),
        true => Err(Error::no_free_dimension()),
    }
}

/// Rows and columns, if these equations are the margins of a two-way table row by row and nothing else: one form for
/// one lattice, however it was given.
pub(super) fn two_way(entries: usize, rows: &[Row]) -> Option<(usize, usize)> {
    let columns = rows.first()?.len();
    if columns < 2
        || !entries.is_multiple_of(columns)
        || entries / columns < 2
        || rows.len() != entries / columns + columns
    {
        return None;
    }
    let at = |i: usize, j: usize| ((i * columns + j) as u32, 1);
    let r = entries / columns;
    let is = |row: &Row, at: &dyn Fn(usize) -> (u32, i64), n: usize| {
        row.len() == n && row.iter().enumerate().all(|(k, &coefficient)| coefficient == at(k))
    };
    let by_row = (0..r).all(|i| is(&rows[i], &|j| at(i, j), columns));
    let by_column = (0..columns).all(|j| is(&rows[r + j], &|i| at(i, j), r));
    (by_row && by_column).then_some((r, columns))
}

/// What rows tie together, in the order of the first entries; each with the numbers of its rows.
pub(super) fn connected(entries: usize, rows: &[&Row]) -> Vec<(Component, Vec<usize>)> {
    let mut parent: Vec<u32> = (0..entries as u32).collect();
    fn root(parent: &mut [u32], mut v: u32) -> u32 {
        while parent[v as usize] != v {
            parent[v as usize] = parent[parent[v as usize] as usize];
            v = parent[v as usize];
        }
        v
    }
    for row in rows {
        let first = root(&mut parent, row[0].0);
        for &(entry, _) in &row[1..] {
            let other = root(&mut parent, entry);
            parent[other as usize] = first;
        }
    }
    let mut place: HashMap<u32, usize> = HashMap::new();
    let mut components: Vec<(Vec<u32>, Vec<usize>)> = Vec::new();
    for entry in 0..entries as u32 {
        let at = *place.entry(root(&mut parent, entry)).or_insert_with(|| {
            components.push((Vec::new(), Vec::new()));
            components.len() - 1
        });
        components[at].0.push(entry);
    }
    for (i, row) in rows.iter().enumerate() {
        components[place[&root(&mut parent, row[0].0)]].1.push(i);
    }
    let renumbered = |(entries, members): (Vec<u32>, Vec<usize>)| {
        let place = |entry| entries.binary_search(&entry).expect("its own entry") as u32;
        let local = |&i: &usize| rows[i].iter().map(|&(entry, a)| (place(entry), a)).collect();
        (Component { rows: members.iter().map(local).collect(), entries, margins: None }, members)
    };
    components.into_iter().map(renumbered).collect()
}

impl Component {
    /// Makes a component of equations on entries, which they number from 0. If they are the margins of a two-way table
    /// row by row, in whatever order, they are put into the order of [`two_way`].
    pub(super) fn of(entries: Vec<u32>, mut rows: Vec<Row>) -> Self {
        let runs = |row: &Row| row.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
        let mut sorted = rows.clone();
        sorted.sort_by_key(|row| (!runs(row), row.first().copied()));
        let margins = two_way(entries.len(), &sorted);
        if margins.is_some() {
            rows = sorted;
        }
        Self { entries, rows, margins }
    }

    /// The equations as a dense matrix.
    pub fn matrix(&self) -> IntMatrix {
        let mut a = IntMatrix::zero(self.rows.len(), self.entries.len());
        for (i, row) in self.rows.iter().enumerate() {
            for &(entry, coefficient) in row {
                a[(i, entry as usize)] = coefficient;
            }
        }
        a
    }

    /// Whether all entries are in one equation with coefficient 1 and there is no other.
    pub fn is_total(&self) -> bool {
        matches!(&self.rows[..], [row] if row.len() == self.entries.len() && row.iter().all(|&(_, a)| a == 1))
    }

    /// The equations with each different column once: the same rank, and as a rule far fewer columns.
    pub fn distinct_columns(&self) -> IntMatrix {
        let groups = self.equal_columns();
        IntMatrix::from_columns(0..self.rows.len(), groups.iter().map(|(column, _)| column))
    }

    /// The numbers of the first equations that are independent. Errors: as [`independent_rows`].
    pub fn independent_rows(&self) -> Result<Vec<usize>> {
        independent_rows(&self.distinct_columns())
    }

    /// Whether the equations leave the entries no other noise than 0. Errors: coefficients beyond 64 bits.
    pub fn is_fixed(&self) -> Result<bool> {
        if self.rows.is_empty() {
            return Ok(false);
        }
        if let Some((rows, columns)) = self.margins {
            return Ok(rows == 1 || columns == 1);
        }
        let entries = self.entries.len();
        Ok(match entries {
            1 => true,
            _ if self.is_total() => false,
            _ => self.independent_rows()?.len() == entries,
        })
    }

    /// Entries grouped by equal column of `A`, each with its column (sparse, by row).
    pub fn equal_columns(&self) -> Vec<(Row, Vec<u32>)> {
        let mut columns: Vec<Row> = vec![Row::new(); self.entries.len()];
        for (i, row) in self.rows.iter().enumerate() {
            for &(entry, a) in row {
                columns[entry as usize].push((i as u32, a));
            }
        }
        let mut place: HashMap<&Row, usize> = HashMap::new();
        let mut groups: Vec<(Row, Vec<u32>)> = Vec::new();
        for (entry, column) in columns.iter().enumerate() {
            let at = *place.entry(column).or_insert_with(|| {
                groups.push((column.clone(), Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(entry as u32);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equations are told from those known without comparing all with all.
    #[test]
    fn long_systems_are_joined() {
        let pairs = |shift: usize| {
            Linear::partition(&(0..400_000).map(|entry| (entry + shift) / 2).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(pairs(0).and(pairs(0)).rows().len(), 200_000);
        assert_eq!(pairs(0).and(pairs(1)).rows().len(), 400_001);
    }
}
