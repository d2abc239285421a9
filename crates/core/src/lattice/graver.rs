//! The Graver basis of a small lattice.

use super::IntMatrix;
use crate::error::{Error, Result};
use std::collections::HashSet;

/// Vectors (one of each pair ±v) of a basis that is completed.
const MAX_VECTORS: usize = 500;
/// Sums of pairs that are looked at.
const MAX_SUMS: u64 = 1 << 19;

/// The vectors of the lattice spanned by the rows of `basis` that are no sum of two others of the same signs, one of
/// each pair ±v: moves along them connect the points of every box (Graver 1975; a Markov basis for any bounds).
///
/// By completion (Pottier 1996): sums of pairs are reduced by vectors of the same signs that are no larger, and join the
/// set if something is left; the minimal ones of the closed set are the answer.
///
/// Errors: [`Error::TooLarge`] beyond 500 vectors.
pub fn graver(basis: &IntMatrix) -> Result<Vec<Vec<i64>>> {
    let mut all: Vec<Vec<i64>> = Vec::new();
    let mut known: HashSet<Vec<i64>> = HashSet::new();
    let mut add = |v: Vec<i64>, all: &mut Vec<Vec<i64>>| {
        if v.iter().any(|&x| x != 0) && !known.contains(&v) {
            let minus: Vec<i64> = v.iter().map(|x| -x).collect();
            for v in [v, minus] {
                known.insert(v.clone());
                all.push(v);
            }
        }
    };
    (0..basis.rows()).for_each(|i| add(basis.row(i).to_vec(), &mut all));
    let mut sums = 0;
    let mut i = 0;
    while i < all.len() {
        for j in 0..i {
            sums += 1;
            if all.len() > 2 * MAX_VECTORS || sums > MAX_SUMS {
                return Err(Error::TooLarge {
                    what:
                        "the Graver basis of the invariant (moves that connect everything within the bounds)"
                            .into(),
                    needed: all.len() as u64 / 2,
                    limit: MAX_VECTORS as u64,
                    unit: "vectors or more",
                });
            }
            let sum =
                all[i].iter().zip(&all[j]).map(|(a, b)| a.checked_add(*b)).collect::<Option<Vec<i64>>>();
            let mut rest =
                sum.ok_or_else(|| Error::Invariant("Graver basis: an entry beyond 64 bits".into()))?;
            while let Some(smaller) = all.iter().find(|v| divides(v, &rest)) {
                rest.iter_mut().zip(smaller).for_each(|(x, y)| *x -= y);
            }
            add(rest, &mut all);
        }
        i += 1;
    }
    let minimal = |v: &&Vec<i64>| all.iter().all(|other| other == *v || !divides(other, v));
    let positive = |v: &&Vec<i64>| v.iter().find(|&&x| x != 0).is_some_and(|&x| x > 0);
    Ok(all.iter().filter(positive).filter(minimal).cloned().collect())
}

/// Whether `v` is not 0, has the signs of `w` and is nowhere larger.
fn divides(v: &[i64], w: &[i64]) -> bool {
    let mut some = false;
    for (&v, &w) in v.iter().zip(w) {
        if v != 0 {
            some = true;
            if v.signum() != w.signum() || v.abs() > w.abs() {
                return false;
            }
        }
    }
    some
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::{Basis, BasisKind};

    fn of(rows: &[Vec<i64>]) -> Vec<Vec<i64>> {
        let a = IntMatrix::from_rows(rows).unwrap();
        let mut vectors = graver(&Basis::of_kernel(&a, BasisKind::Reduced).unwrap().vectors).unwrap();
        vectors.sort();
        vectors
    }

    /// By definition, from all lattice points of a box that holds them.
    fn listed(rows: &[Vec<i64>], reach: i64) -> Vec<Vec<i64>> {
        let d = rows[0].len();
        let mut points: Vec<Vec<i64>> = vec![Vec::new()];
        for _ in 0..d {
            points = points
                .into_iter()
                .flat_map(|head| (-reach..=reach).map(move |x| [head.clone(), vec![x]].concat()))
                .collect();
        }
        let zero =
            |v: &Vec<i64>| rows.iter().all(|row| row.iter().zip(v).map(|(a, x)| a * x).sum::<i64>() == 0);
        points.retain(|v| zero(v) && v.iter().any(|&x| x != 0));
        let minimal = |v: &&Vec<i64>| points.iter().all(|other| other == *v || !divides(other, v));
        let positive = |v: &&Vec<i64>| v.iter().find(|&&x| x != 0).is_some_and(|&x| x > 0);
        let mut vectors: Vec<_> = points.iter().filter(positive).filter(minimal).cloned().collect();
        vectors.sort();
        vectors
    }

    #[test]
    fn small_bases_are_those_of_the_definition() {
        for rows in [
            vec![vec![1, 1, 1]],
            vec![vec![1, 2, 1]],
            vec![vec![1, 2, 3]],
            vec![vec![1, 1, 1, 0], vec![0, 1, 2, -1]],
        ] {
            assert_eq!(of(&rows), listed(&rows, 5), "{rows:?}");
        }
        // The twisted cubic and the four groups of the sex × age table.
        assert_eq!(of(&[vec![1, 1, 1, 1], vec![0, 1, 2, 3]]).len(), 5);
        assert_eq!(of(&[vec![1, 1, 1, 1], vec![1, 1, 0, 0], vec![0, 1, 0, 1]]), [vec![1, -1, -1, 1]]);
        // 3 × 3 tables: 9 swaps and 6 hexagons.
        let margin = |is: &dyn Fn(usize) -> bool| (0..9).map(|entry| i64::from(is(entry))).collect();
        let by_row = (0..3).map(|i| margin(&|entry| entry / 3 == i));
        let by_column = (0..3).map(|j| margin(&|entry| entry % 3 == j));
        assert_eq!(of(&by_row.chain(by_column).collect::<Vec<_>>()).len(), 15);
    }
}
