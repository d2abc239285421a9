//! Entries that are equal up to sign wherever some equations hold.

use super::linear::{Component, Linear};
use crate::lattice::{Row, gcd};
use std::collections::HashSet;
use std::ops::Neg;

/// Equations with entries that are equal up to sign taken together: in a 2 × 2 × n table with all two-way sums kept,
/// the four entries of every layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Tied {
    /// The equations of the groups, each by its first entry.
    pub equations: Linear,
    /// The entries of each group, numbered in the table, and whether each has the sign of the first.
    pub groups: Vec<Vec<(u32, bool)>>,
    /// The entries that are 0.
    pub zeros: Vec<u32>,
}

impl Tied {
    /// The number of entries of each group.
    pub fn size(&self) -> usize {
        self.groups[0].len()
    }

    /// Writes the values of groups into their entries of a table, and 0 into those that are fixed.
    pub fn spread<V: Copy + Default + Neg<Output = V>>(&self, values: &[V], table: &mut [V]) {
        for (group, &value) in self.groups.iter().zip(values) {
            group.iter().for_each(|&(entry, same)| table[entry as usize] = if same { value } else { -value });
        }
        self.zeros.iter().for_each(|&entry| table[entry as usize] = V::default());
    }
}

/// Where an entry stands among those that are equal to it: one of no higher number, and whether their signs agree. The
/// first of all stands for all.
struct Forest(Vec<(u32, bool)>);

impl Forest {
    /// The entry that stands for this one, and whether it has its sign.
    fn root(&mut self, entry: u32) -> (u32, bool) {
        let (mut at, mut same) = (entry, true);
        while self.0[at as usize].0 != at {
            let (up, sign) = self.0[at as usize];
            let (top, more) = self.0[up as usize];
            self.0[at as usize] = (top, sign == more);
            (at, same) = (up, same == sign);
        }
        (at, same)
    }
}

impl Component {
    /// Takes together what equations of two terms say is equal up to sign, again and again: such an equation may be what others leave.
    ///
    /// `None` where no entries are tied, where some groups have more entries than others, or where no equation is left.
    pub fn tied(&self) -> Option<Tied> {
        let n = self.entries.len() as u32;
        let mut forest = Forest((0..n).map(|entry| (entry, true)).collect());
        let mut zero = vec![false; n as usize];
        loop {
            let mut found = false;
            for row in &self.rows {
                match left(row, &mut forest, &zero)?[..] {
                    [(entry, _)] => {
                        zero[entry as usize] = true;
                        found = true;
                    }
                    // `a z + b z' = 0`, in the order of their numbers.
                    [(one, a), (other, b)] if a.abs() == b.abs() => {
                        forest.0[other as usize] = (one, a == -b);
                        found = true;
                    }
                    _ => {}
                }
            }
            if !found {
                break;
            }
        }
        // By first entry: the number of its group.
        let mut place = vec![0; n as usize];
        let (mut groups, mut zeros): (Vec<Vec<(u32, bool)>>, _) = (Vec::new(), Vec::new());
        for entry in 0..n {
            let (root, same) = forest.root(entry);
            if zero[root as usize] {
                zeros.push(self.entries[entry as usize]);
                continue;
            }
            if root == entry {
                place[entry as usize] = groups.len() as u32;
                groups.push(Vec::new());
            }
            groups[place[root as usize] as usize].push((self.entries[entry as usize], same));
        }
        let size = groups.first()?.len();
        if size < 2 || groups.iter().any(|group| group.len() != size) {
            return None;
        }
        let mut known = HashSet::new();
        for row in &self.rows {
            let mut row = left(row, &mut forest, &zero)?;
            row.iter_mut().for_each(|(root, _)| *root = place[*root as usize]);
            let Some(&(_, first)) = row.first() else { continue };
            let divisor =
                row.iter().try_fold(0, |g, &(_, a)| gcd(&g, &i128::from(a)))? as i64 * first.signum();
            row.iter_mut().for_each(|(_, a)| *a /= divisor);
            known.insert(row);
        }
        let mut rows: Vec<Row> = known.into_iter().collect();
        rows.sort_unstable();
        Some(Tied { equations: Linear::from_rows(groups.len(), rows).ok()?, groups, zeros })
    }
}

/// What an equation says of those that stand for others, in the order of their numbers. `None`: coefficients beyond 64 bits.
fn left(row: &Row, forest: &mut Forest, zero: &[bool]) -> Option<Row> {
    let mut terms: Row = Vec::with_capacity(row.len());
    for &(entry, a) in row {
        let (root, same) = forest.root(entry);
        if !zero[root as usize] {
            terms.push((root, if same { a } else { -a }));
        }
    }
    terms.sort_unstable();
    let mut sums: Row = Vec::with_capacity(terms.len());
    for (root, a) in terms {
        match sums.last_mut().filter(|(last, _)| *last == root) {
            Some((_, sum)) => *sum = sum.checked_add(a)?,
            None => sums.push((root, a)),
        }
    }
    sums.retain(|&(_, a)| a != 0);
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lattice_points, layers, small_lattices};

    #[test]
    fn layers_are_one_total() {
        for n in [3, 4, 7] {
            let tied = layers(n).components()[0].tied().unwrap();
            assert_eq!(tied.groups.len(), n as usize);
            assert!(tied.groups.iter().all(|group| group.len() == 4));
            assert!(tied.zeros.is_empty() && tied.equations == Linear::total(n as usize).unwrap());
        }
        // Two layers are one number: no equation is left.
        assert_eq!(layers(2).components()[0].tied(), None);
    }

    /// The points of the groups are those of the entries, on every small lattice, and on some with more ties.
    #[test]
    fn points_are_those_of_the_equations() {
        let more = [
            Linear::from_rows(4, vec![vec![(0, 1), (1, 1)], vec![(2, 1), (3, -1)], vec![(0, 1), (2, -2)]]),
            Linear::from_rows(
                5,
                vec![
                    vec![(4, 3)],
                    vec![(0, 2), (1, -2), (4, 1)],
                    vec![(2, 1), (3, 1)],
                    vec![(0, 1), (1, 1), (2, 3), (3, -1), (4, 1)],
                ],
            ),
            Linear::margins(2, 3),
        ];
        let mut tied_ones = 0;
        for invariant in more.into_iter().map(|invariant| invariant.unwrap()).chain(small_lattices()) {
            for component in invariant.components() {
                let Some(tied) = component.tied() else { continue };
                tied_ones += 1;
                let reach = if component.entries.len() > 4 { 2 } else { 4 };
                let own = Linear::from_rows(component.entries.len(), component.rows.clone()).unwrap();
                let want: HashSet<Vec<i64>> = lattice_points(&own, reach).into_iter().collect();
                let number = |entry: u32| component.entries.binary_search(&entry).unwrap();
                let spread = |u: Vec<i64>| {
                    let mut z = vec![0; component.entries.len()];
                    for (group, u) in tied.groups.iter().zip(u) {
                        group.iter().for_each(|&(entry, same)| z[number(entry)] = if same { u } else { -u });
                    }
                    z
                };
                let got: HashSet<Vec<i64>> =
                    lattice_points(&tied.equations, reach).into_iter().map(spread).collect();
                assert_eq!(got, want, "{component:?}");
            }
        }
        assert!(tied_ones >= 3, "{tied_ones}");
    }
}
