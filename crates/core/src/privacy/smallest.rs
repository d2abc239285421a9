//! The smallest change between two tables that satisfy everything, where no record can be added or moved.
//!
//! It is an irreducible vector of sums and slacks (a Graver basis): whatever two tables differ by is a sum of such
//! vectors of the same signs, and the table moved by one of them lies between the two. Of those of the least size that
//! two tables differ by ([`Between`]) the worst is meant: they have one `Σ |u|`, but not one `Σ u²`. Where these are
//! too many, all vectors up to the size of one that was found are listed; and where they are too many as well, that one
//! is an upper bound, and `Σ u²` of any smaller one is bounded by [`largest_square`].

use super::between::Between;
use super::worst::{Bounds, Ties, Worst, tree, worse};
use crate::invariant::{Bounded, Component, Moves};
use crate::lattice::Sparse;

/// Short vectors that are tried where irreducible ones are too many.
const TRIED: usize = 1 << 16;
/// Vectors of one size that are listed.
const LISTED: f64 = 2e6;

/// The smallest change that keeps everything.
#[derive(Debug, Clone)]
pub(super) enum Smallest {
    /// The smallest change is this.
    Is(Worst),
    /// There is one table alone.
    None,
    /// No change is known, and not that there is none.
    Unknown,
}

/// Short changes of the entries of a component that keep its equations, one of each pair ±b; `None` if there are more than `limit`, or no
/// basis of them is known.
pub fn short_changes(component: &Component, limit: usize) -> Option<Vec<Sparse>> {
    Moves::of(component).ok()?.list(limit)
}

/// Finds the smallest change of parts in which no record can be added or moved.
pub(super) fn smallest(parts: &[Between]) -> Smallest {
    // Parts that may have a smaller change than was found in them.
    let mut open: Vec<&Bounded> = Vec::new();
    let mut found: Option<Worst> = None;
    for between in parts {
        let own = smallest_of(between);
        if matches!(&own, Smallest::Unknown | Smallest::Is(Worst { is_certain: false, .. })) {
            open.push(between.part);
        }
        let Smallest::Is(own) = own else { continue };
        found = Some(match found {
            Some(before) if before.records == own.records => before.or(own),
            Some(before) if before.records < own.records => before,
            _ => own,
        });
    }
    let Some(mut worst) = found else {
        return if open.is_empty() { Smallest::None } else { Smallest::Unknown };
    };
    for part in open {
        worst.square = worst.square.max(largest_square(&part.component, worst.records));
        worst.bounds = worst.bounds.or(Bounds::of(&part.region));
        worst.is_certain = false;
    }
    Smallest::Is(worst)
}

fn smallest_of(between: &Between) -> Smallest {
    let Bounded { component, region } = between.part;
    let bounds = Bounds::of(region);
    let is_record = match tree(component) {
        // Leaves of a tree move, or nothing does.
        Some(_) if region.rows.is_empty() => return Smallest::None,
        Some(tree) => {
            let mut is_leaf = vec![false; component.entries.len()];
            let first = usize::from(tree.hierarchy.is_known(0));
            let leaves = tree.hierarchy.leaves().iter();
            leaves.for_each(|&leaf| is_leaf[tree.entries[leaf as usize - first] as usize] = true);
            is_leaf
        }
        None => vec![true; component.entries.len()],
    };
    // Each row and each column has something above its lower bounds, else its entries could not change: the rest of a table with
    // one more in two places of different rows and columns can be filled.
    let filled = region.upper.is_open() && region.rows.is_empty();
    if component.margins.is_some_and(|(rows, columns)| rows > 1 && columns > 1) && filled {
        return Smallest::Is(Worst::of_ones(4, 4.0, bounds, Ties::OTHER, true));
    }
    match between.irreducible() {
        Some(vectors) => smallest_listed(between, vectors, &is_record, bounds),
        None if is_record.contains(&false) => Smallest::Unknown,
        None => smallest_tried(between, bounds),
    }
}

/// Finds the smallest change among all irreducible vectors. `is_record`: the entries that count as records.
fn smallest_listed(between: &Between, vectors: &[Vec<i64>], is_record: &[bool], bounds: Bounds) -> Smallest {
    let counts: Vec<bool> =
        between.part.equal_columns().iter().map(|(_, own)| is_record[own[0] as usize]).collect();
    let sum = |of: &mut dyn Iterator<Item = &i64>| of.map(|x| x.unsigned_abs()).sum::<u64>();
    let sized = vectors.iter().map(|vector| {
        let sums = &vector[..counts.len()];
        (sum(&mut sums.iter().zip(&counts).filter(|(_, counts)| **counts).map(|(x, _)| x)), sums)
    });
    let mut sized: Vec<(u64, &[i64])> = sized.collect();
    sized.sort_unstable();
    let mut worst: Option<Worst> = None;
    for (records, sums) in sized {
        if worst.as_ref().is_some_and(|worst| worst.records < records) {
            break;
        }
        let Some((change, square)) = between.most_uneven(sums) else { continue };
        if between.differ_by(&change) == Some(true) {
            let size = sum(&mut sums.iter()) as f64;
            worst = worse(
                worst,
                Some(Worst { square, ..Worst::of_ones(records, size, bounds, Ties::OTHER, true) }),
            );
        }
    }
    worst.map_or(Smallest::None, Smallest::Is)
}

/// Finds the smallest change among short vectors, in a part that is too large for more: the first that two tables
/// differ by, and then all vectors up to its size where these can be listed.
fn smallest_tried(between: &Between, bounds: Bounds) -> Smallest {
    let part = between.part;
    let own =
        Component { entries: (0..part.component.entries.len() as u32).collect(), ..part.component.clone() };
    let vectors = short_changes(&own, TRIED).unwrap_or_default();
    let size = |vector: &Sparse| vector.iter().map(|(_, x)| u64::from(x.unsigned_abs())).sum::<u64>();
    let mut sized: Vec<(u64, Sparse)> = vectors.into_iter().map(|vector| (size(&vector), vector)).collect();
    sized.sort_unstable();
    let found = sized.into_iter().find(|(_, vector)| between.differ_by(vector) == Some(true));
    let Some((found, _)) = found else { return Smallest::Unknown };
    let bound = |records: u64| {
        let square = largest_square(&part.component, records);
        Smallest::Is(Worst { square, ..Worst::of_ones(records, records as f64, bounds, Ties::OTHER, false) })
    };
    if !may_be_listed(part.component.entries.len(), found) {
        return bound(found);
    }
    for records in 1..=found {
        let mut worst: Option<Worst> = None;
        for vector in of_size(&part.component, records) {
            match between.differ_by(&vector) {
                Some(false) => {}
                None => return bound(found),
                Some(true) => {
                    let square = vector.iter().map(|&(_, x)| f64::from(x) * f64::from(x)).sum();
                    let own = Worst {
                        square,
                        ..Worst::of_ones(records, records as f64, bounds, Ties::OTHER, true)
                    };
                    worst = worse(worst, Some(own));
                }
            }
        }
        if let Some(worst) = worst {
            return Smallest::Is(worst);
        }
    }
    bound(found)
}

/// Whether the integer vectors of so many entries and sizes up to this are few enough to be listed: `(2n)^size / size!` of each.
fn may_be_listed(entries: usize, size: u64) -> bool {
    let number = (1..=size).fold(1.0, |number, k| number * 2.0 * entries as f64 / k as f64);
    number <= LISTED
}

/// All vectors with `Σ |u_i| = size` that keep the equations, one of each pair ±u.
fn of_size(component: &Component, size: u64) -> Vec<Sparse> {
    let mut columns: Vec<Vec<(usize, i64)>> = vec![Vec::new(); component.entries.len()];
    for (i, row) in component.rows.iter().enumerate() {
        row.iter().for_each(|&(entry, a)| columns[entry as usize].push((i, a)));
    }
    let mut found = Vec::new();
    let mut sums = vec![0i128; component.rows.len()];
    extend(&columns, 0, size as i32, &mut Sparse::new(), &mut sums, &mut found);
    found
}

/// Goes on from a vector with what is left of its size, on the entries from one on.
fn extend(
    columns: &[Vec<(usize, i64)>],
    from: usize,
    left: i32,
    vector: &mut Sparse,
    sums: &mut [i128],
    found: &mut Vec<Sparse>,
) {
    if left == 0 {
        if sums.iter().all(|sum| *sum == 0) {
            found.push(vector.clone());
        }
        return;
    }
    for entry in from..columns.len() {
        // The first is positive.
        let least = if vector.is_empty() { 1 } else { -left };
        for x in (least..=left).filter(|x| *x != 0) {
            vector.push((entry as u32, x));
            columns[entry].iter().for_each(|&(row, a)| sums[row] += i128::from(a) * i128::from(x));
            extend(columns, entry + 1, left - x.abs(), vector, sums, found);
            columns[entry].iter().for_each(|&(row, a)| sums[row] -= i128::from(a) * i128::from(x));
            vector.pop();
        }
    }
}

/// A bound on `Σ u_i²` of all vectors with `Σ |u_i| = size` that keep the equations: `m size`, m the largest entry that they can have.
///
/// An equation with the coefficient a of an entry, and others of at most b in size, wants `Σ |u_j| >= |u_i| |a| / b` of the others; several
/// equations that share nothing but the entry want this of each. So `|u_i| (1 + Σ |a| / b) <= size`.
pub(super) fn largest_square(component: &Component, size: u64) -> f64 {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); component.entries.len()];
    for (i, row) in component.rows.iter().enumerate() {
        row.iter().for_each(|(entry, _)| rows[*entry as usize].push(i));
    }
    let mut most = 0u64;
    for (entry, own) in rows.iter().enumerate() {
        let (mut wanted, mut met) = (1.0, vec![entry as u32]);
        for &i in own {
            let row = &component.rows[i];
            let others = || row.iter().filter(|(other, _)| *other as usize != entry);
            if others().any(|(other, _)| met.contains(other)) {
                continue;
            }
            let largest = others().map(|(_, b)| b.unsigned_abs()).max();
            let a =
                row.iter().find(|(other, _)| *other as usize == entry).map_or(0, |(_, a)| a.unsigned_abs());
            // Alone in an equation it cannot change.
            wanted += largest.map_or(f64::INFINITY, |largest| a as f64 / largest as f64);
            met.extend(others().map(|(other, _)| *other));
        }
        most = most.max((size as f64 / wanted * (1.0 + 1e-12)) as u64);
    }
    most as f64 * size as f64
}

#[cfg(test)]
mod tests {
    use super::super::TableChanges;
    use super::*;
    use crate::invariant::{Inequalities, Linear, Region};

    fn smallest_of(invariant: &Linear, inequalities: &Inequalities, counts: &[i64]) -> Option<(u64, f64)> {
        let region = inequalities.around(counts).unwrap();
        match TableChanges::new(invariant, &region, "", |entry| entry.to_string()).smallest {
            Smallest::Is(worst) if worst.is_certain => Some((worst.records, worst.square)),
            Smallest::None => None,
            other => panic!("{other:?}"),
        }
    }

    /// Where all entries of a table but those around a ring are fixed, the ring alone can change.
    #[test]
    fn what_bounds_forbid_is_not_the_smallest() {
        let ring = |i: usize, j: usize| j == i || j == (i + 1) % 6;
        let bounds = |open: i64, fixed: i64| -> Vec<i64> {
            (0..36).map(|c| if ring(c / 6, c % 6) { open } else { fixed }).collect()
        };
        let margins = Linear::margins(6, 6).unwrap();
        for open in [(0, 5), (0, i64::MAX)] {
            let inequalities = Inequalities::bounds(bounds(open.0, 3), bounds(open.1, 3)).unwrap();
            assert_eq!(smallest_of(&margins, &inequalities, &[3; 36]), Some((12, 12.0)));
        }
        assert_eq!(smallest_of(&margins, &Inequalities::default(), &[3; 36]), Some((4, 4.0)));
    }

    /// Two inequalities that are an equation together: no single bound shows that one entry cannot change alone.
    #[test]
    fn what_rows_forbid_together_is_not_the_smallest() {
        let rows = vec![(vec![(0, 1), (1, -1)], 0), (vec![(0, -1), (1, 1)], 0)];
        let inequalities = Inequalities::rows(rows).unwrap();
        assert_eq!(smallest_of(&Linear::none(2), &inequalities, &[4, 4]), Some((2, 2.0)));
        let halves =
            Inequalities::rows(vec![(vec![(0, 1), (1, -2)], 0), (vec![(0, -1), (1, 2)], 0)]).unwrap();
        assert_eq!(smallest_of(&Linear::none(2), &halves, &[4, 2]), Some((3, 5.0)));
        // Nothing but the table itself.
        let point = Inequalities::bounds(vec![0, 0], vec![1, 1]).unwrap().and(halves);
        assert_eq!(smallest_of(&Linear::none(2), &point, &[0, 0]), None);
    }

    /// The change with the largest squares is meant, where several have one size.
    #[test]
    fn the_worst_of_the_smallest_is_meant() {
        let a = crate::lattice::IntMatrix::from_rows(&[vec![-1, 1, 1, 3], vec![-1, -1, 3, 3]]).unwrap();
        let matrix = Linear::matrix(&a).unwrap();
        assert_eq!(smallest_of(&matrix, &Inequalities::default(), &[3, 0, 0, 2]), Some((4, 10.0)));
        // Bounds forbid (3, 0, 0, 1).
        let inequalities = Inequalities::bounds(vec![1, -9, -9, -9], vec![3, 9, 9, 9]).unwrap();
        assert_eq!(smallest_of(&matrix, &inequalities, &[3, 0, 0, 2]), Some((4, 6.0)));
    }

    /// Random equations of twelve entries, whose irreducible vectors are too many: all vectors of sizes up to 3 are.
    #[test]
    fn short_vectors_are_listed() {
        let rows = [
            vec![0, 0, 1, 2, -1, -1, 1, -1, 0, 1, -1, 1],
            vec![0, -1, -1, 1, 1, -1, 0, -1, 1, 1, -1, 1],
            vec![-1, 0, 2, 2, 1, -1, 1, 1, 1, -1, 0, -1],
            vec![1, 0, 0, 1, 0, 1, -1, 1, 0, 1, 2, 0],
        ];
        let matrix = Linear::matrix(&crate::lattice::IntMatrix::from_rows(&rows).unwrap()).unwrap();
        assert!(Between::new(&Region::everything().whole(&matrix)).irreducible().is_none());
        let all = crate::testing::lattice_points(&matrix, 1);
        let size = |v: &Vec<i64>| v.iter().map(|x| x.unsigned_abs()).sum::<u64>();
        let least = all.iter().map(size).filter(|size| *size > 0).min().unwrap();
        let found = smallest_of(&matrix, &Inequalities::default(), &[9; 12]).unwrap();
        assert_eq!((found.0, least), (3, 3));
        for size in 1..=3 {
            let own = of_size(&matrix.whole(), size);
            assert!(
                own.iter().all(|v| v.iter().map(|(_, x)| u64::from(x.unsigned_abs())).sum::<u64>() == size)
            );
            assert_eq!(own.is_empty(), size < 3);
        }
    }

    /// No vector of a lattice has larger squares than are stated for its size.
    #[test]
    fn squares_are_bounded() {
        let mut systems = crate::testing::small_lattices();
        systems.push(Linear::margins(3, 3).unwrap());
        for invariant in systems {
            for part in Region::everything().components(&invariant) {
                let own = Linear::from_rows(part.component.entries.len(), part.component.rows.clone());
                let Ok(own) = own else { continue };
                for v in crate::testing::lattice_points(&own, 2) {
                    let size = v.iter().map(|x| x.unsigned_abs()).sum::<u64>();
                    let square = v.iter().map(|x| (x * x) as f64).sum::<f64>();
                    assert!(square <= largest_square(&part.component, size), "{v:?} of {invariant:?}");
                }
            }
        }
        // A table with margins: an entry of 2 wants 4 others.
        assert_eq!(
            largest_square(&Region::everything().components(&Linear::margins(3, 3).unwrap())[0].component, 4),
            4.0
        );
    }
}
