//! The part of a table in which something is.

use super::super::domain::{Domain, runs};
use super::super::small::axpy;
use super::Table;

/// The smallest product of combinations of joined attributes and of categories of each free one that holds all cells of a table that are
/// not 0.
#[derive(Debug)]
pub(super) struct Support {
    /// Combinations of the joined attributes.
    joint: Vec<u32>,
    /// By free attribute, how many categories it has, here and in the domain.
    sizes: Vec<usize>,
    all: Vec<usize>,
    /// By cell, its place in the domain.
    pub(super) places: Vec<u32>,
    /// Runs of coefficients of one kind, which are those of the domain: from where, to where, the kind.
    pub(super) runs: Vec<(usize, usize, usize)>,
}

impl Support {
    /// The whole domain.
    pub(super) fn all(domain: &Domain) -> Self {
        let sizes = domain.free_sizes();
        Self {
            joint: (0..domain.joint() as u32).collect(),
            places: (0..domain.cells() as u32).collect(),
            runs: runs(&sizes),
            all: sizes.clone(),
            sizes,
        }
    }

    /// That of some cells, at least one.
    pub(super) fn of(domain: &Domain, cells: &[u32]) -> Self {
        let all = domain.free_sizes();
        let mut kept: Vec<Vec<bool>> =
            [domain.joint()].iter().chain(&all).map(|&size| vec![false; size]).collect();
        for &cell in cells {
            let mut rest = cell as usize;
            for (kept, n) in kept[1..].iter_mut().zip(&all).rev() {
                kept[rest % n] = true;
                rest /= n;
            }
            kept[0][rest] = true;
        }
        let numbers = |kept: &Vec<bool>| -> Vec<u32> {
            (0..).zip(kept).filter(|(_, is)| **is).map(|(at, _)| at).collect()
        };
        let kept: Vec<Vec<u32>> = kept.iter().map(numbers).collect();
        let mut places = kept[0].clone();
        for (kept, &n) in kept[1..].iter().zip(&all) {
            places =
                places.iter().flat_map(|place| kept.iter().map(move |own| place * n as u32 + own)).collect();
        }
        let sizes: Vec<usize> = kept[1..].iter().map(Vec::len).collect();
        Self { joint: kept[0].clone(), places, runs: runs(&sizes), all, sizes }
    }

    /// How many cells it has.
    pub(super) fn cells(&self) -> usize {
        self.places.len()
    }

    /// Combinations of the joined attributes.
    pub(super) fn joint(&self) -> usize {
        self.joint.len()
    }

    /// The place of a combination of the joined attributes here.
    pub(super) fn find(&self, combination: u32) -> Option<usize> {
        self.joint.binary_search(&combination).ok()
    }

    /// By free attribute, how many categories it has here.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Whether it is the whole domain.
    pub(super) fn is_all(&self, domain: &Domain) -> bool {
        self.cells() == domain.cells()
    }

    /// By cell what a table has there, which has no others.
    pub(super) fn counts(&self, table: &Table) -> Vec<i64> {
        let mut rest = table.places.iter().zip(&table.counts).peekable();
        let count = |place: &u32| rest.next_if(|(own, _)| *own == place).map_or(0, |(_, count)| *count);
        self.places.iter().map(count).collect()
    }

    /// A symmetric matrix of the cells of the domain, in terms of coefficients, on the cells that are here.
    ///
    /// The matrix is `⊗ (deviations or mean)` along free attributes, a matrix of joined ones for each of those kinds. Along one attribute
    /// it is `D (I - J/n) + M J/n`, J all ones, of the n categories; on m of them `D (I - J/m) + (D + (m/n) (M - D)) J/m`: deviations stay,
    /// the mean's moves towards them.
    ///
    /// - `kinds`: by kind, the matrix over the combinations of the domain's joined attributes.
    pub(super) fn restrict(&self, kinds: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let joint = libm::sqrt(kinds[0].len() as f64) as usize;
        let own = |matrix: &Vec<f64>| -> Vec<f64> {
            let row = |&i: &u32| self.joint.iter().map(move |&j| matrix[i as usize * joint + j as usize]);
            self.joint.iter().flat_map(row).collect()
        };
        let mut kinds: Vec<Vec<f64>> = kinds.iter().map(own).collect();
        for (bit, (&m, &n)) in self.sizes.iter().zip(&self.all).enumerate().filter(|(_, (m, n))| m < n) {
            let stays = 1.0 - m as f64 / n as f64;
            for kind in (0..kinds.len()).filter(|kind| kind >> bit & 1 == 0) {
                let (means, deviations) = kinds.split_at_mut(kind | 1 << bit);
                let mean = &mut means[kind];
                mean.iter_mut().for_each(|x| *x *= 1.0 - stays);
                axpy(mean, stays, &deviations[0]);
            }
        }
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::basis;
    use super::super::super::domain::Zero;
    use super::super::super::query::Query;
    use super::super::operator::Operator;
    use super::super::shape::multiply;
    use super::*;
    use crate::rng::{below, normal};
    use crate::testing::test_stream;

    /// Entry by entry of the matrix of the domain's cells.
    #[test]
    fn a_matrix_on_some_cells_has_the_entries_of_the_whole() {
        let mut rng = test_stream(4201);
        let zeros = [Zero { of: vec![(0, vec![1]), (1, vec![0])] }];
        for (sizes, zeros) in [(&[2, 2, 3][..], &zeros[..]), (&[4, 3], &[]), (&[2, 3, 1, 4], &[]), (&[], &[])]
        {
            let domain = Domain::new(sizes, zeros, &[Query::total()]).unwrap();
            let (joint, cells) = (domain.joint(), domain.cells());
            let kinds: Vec<Vec<f64>> = (0..1 << domain.free_sizes().len())
                .map(|_| (0..joint * joint).map(|_| normal(&mut rng)).collect())
                .collect();
            let apply = |support: &Support, kinds: &[Vec<f64>], x: &[f64]| {
                let (mut coefficients, mut out) = (x.to_vec(), vec![0.0; x.len()]);
                basis::forward(&mut coefficients, support.sizes());
                multiply(&support.runs, kinds, &coefficients, &mut out);
                basis::backward(&mut out, support.sizes());
                out
            };
            for _ in 0..20 {
                let some: Vec<u32> =
                    (0..1 + below(&mut rng, 3)).map(|_| below(&mut rng, cells as u64) as u32).collect();
                let support = Support::of(&domain, &some);
                assert!(some.iter().all(|cell| support.places.contains(cell)));
                let restricted = support.restrict(&kinds);
                // Without the basis it is the same.
                let given: Vec<f64> = (0..support.cells()).map(|_| normal(&mut rng)).collect();
                let mut without = given.clone();
                Operator::new(&support, &restricted).apply(&mut without, &mut Vec::new());
                let with = apply(&support, &restricted, &given);
                assert!(with.iter().zip(&without).all(|(a, b)| (a - b).abs() < 1e-12), "{sizes:?}");
                for column in 0..support.cells() {
                    let unit = |cells: usize, at: usize| -> Vec<f64> {
                        (0..cells).map(|i| f64::from(u8::from(i == at))).collect()
                    };
                    let got = apply(&support, &restricted, &unit(support.cells(), column));
                    let want =
                        apply(&Support::all(&domain), &kinds, &unit(cells, support.places[column] as usize));
                    for (got, &place) in got.iter().zip(&support.places) {
                        assert!((got - want[place as usize]).abs() < 1e-12, "{sizes:?} {some:?}");
                    }
                }
            }
        }
    }
}
