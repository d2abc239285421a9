//! How far an estimate may be off: variances of sums over areas.

use super::gls::Gls;
use super::query::Marginal;
use super::small::{add, product, transposed};
use std::collections::BTreeMap;

/// What cancels to less than this part of its terms is 0.
const ROUNDING: f64 = 1e-12;

/// The covariance of the estimate of `Σ_v a_v x_v`, a sum of tables of areas with weights, by kind of coefficients.
#[derive(Debug, Clone)]
pub struct Variances {
    /// By kind, over combinations of the joined attributes.
    kinds: Vec<Vec<f64>>,
    joint: usize,
    /// By free attribute its number of categories.
    sizes: Vec<usize>,
}

/// What a subtree has of the sum, given the table of its root: a multiple of that, and what is left of its covariance.
struct Given {
    times: Vec<f64>,
    rest: Vec<f64>,
}

impl Gls {
    /// The covariance of the estimate of a sum of tables of areas: `(area, weight)`, areas of any levels.
    ///
    /// Given the table of a parent, the estimates of its children are off by independent errors that sum to a known one: up the tree the
    /// sum is a multiple of the parent's table and of what does not depend on it. The cost is that of the areas and all above them.
    pub fn variances(&self, areas: &[(usize, f64)]) -> Variances {
        let joint = self.measurements.domain.joint();
        let of_kind = |kind: usize| {
            let mut open: BTreeMap<usize, Given> = BTreeMap::new();
            for &(v, weight) in areas {
                let given = open.entry(v).or_insert_with(|| Given::none(joint));
                (0..joint).for_each(|j| given.times[j * joint + j] += weight);
            }
            while let Some((v, given)) = open.pop_last() {
                if v == 0 {
                    return given.with(&self.tables(0)[kind].covariance, joint);
                }
                let parent = self.tree.parent(v);
                // All children of a parent stand side by side.
                let mut family = vec![(v, given)];
                while let Some(last) = open
                    .last_entry()
                    .filter(|last| self.tree.parent(*last.key()) == parent && *last.key() > 0)
                {
                    family.push(last.remove_entry());
                }
                let above = open.entry(parent).or_insert_with(|| Given::none(joint));
                let mut together = vec![0.0; joint * joint];
                for (child, given) in family {
                    let covariance = &self.tables(child)[kind].covariance;
                    add(&mut together, &product(&given.times, covariance, joint));
                    add(&mut above.rest, &given.with(covariance, joint));
                }
                let share = product(&together, &self.tables(parent)[kind].spread, joint);
                add(&mut above.times, &share);
                let less = product(&share, &transposed(&together, joint), joint);
                above.rest.iter_mut().zip(&less).for_each(|(rest, less)| *rest -= less);
            }
            vec![0.0; joint * joint]
        };
        let kinds = 1 << self.measurements.domain.free().len();
        self.with_kinds((0..kinds).map(of_kind).collect())
    }

    /// The covariances of the estimates of all areas, parents first; areas of one shape below areas that are alike have the same, and are
    /// handed on together. With `V` the covariance of a child's estimate from its subtree, `B` the sum of it over the children and `C` the
    /// parent's covariance, a child has `V - V B⁻ V + V B⁻ C B⁻ V`.
    pub fn each_variances(&self, mut see: impl FnMut(&[usize], &Variances)) {
        let joint = self.measurements.domain.joint();
        let root = self.tables(0).iter().map(|own| own.covariance.clone()).collect();
        let mut open = vec![(vec![0], self.with_kinds(root))];
        while let Some((areas, variances)) = open.pop() {
            see(&areas, &variances);
            let mut by_shape: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for child in areas.iter().flat_map(|&v| self.tree.children(v)) {
                by_shape.entry(self.shapes.of_node[child]).or_default().push(child);
            }
            for (shape, children) in by_shape.into_iter().rev() {
                let of_kind = |(kind, above): (usize, &Vec<f64>)| {
                    let own = &self.tables[shape as usize][kind].covariance;
                    let share = product(own, &self.tables(areas[0])[kind].spread, joint);
                    let back = transposed(&share, joint);
                    let mut all = product(&product(&share, above, joint), &back, joint);
                    add(&mut all, own);
                    let less = product(own, &back, joint);
                    all.iter_mut().zip(&less).for_each(|(all, less)| *all -= less);
                    all
                };
                let kinds = variances.kinds.iter().enumerate().map(of_kind).collect();
                open.push((children, self.with_kinds(kinds)));
            }
        }
    }

    fn with_kinds(&self, kinds: Vec<Vec<f64>>) -> Variances {
        let domain = &self.measurements.domain;
        Variances { kinds, joint: domain.joint(), sizes: domain.free_sizes() }
    }
}

impl Variances {
    /// The variance of the estimate of an answer of a query, of the sum over the areas, in counts squared. It is the same for all answers
    /// of one row of the query: `Σ_S h' C_S h Π_(i in S) (1 - 1/n_i) Π_(named, not in S) 1/n_i`, over the kinds S that the query reaches.
    pub fn answer(&self, query: &Marginal, answer: usize) -> f64 {
        let row = &query.rows[answer / query.places.len()];
        let of = |(kind, covariance): (usize, &Vec<f64>)| {
            let pairs = row.iter().flat_map(|&i| row.iter().map(move |&j| (i as usize, j as usize)));
            let terms = pairs.map(|(i, j)| covariance[i * self.joint + j]);
            let (along, size) =
                terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()));
            // What is known has none, but for rounding.
            let along = if along > ROUNDING * size { along } else { 0.0 };
            let part = |(bit, &n): (usize, &usize)| match (query.named >> bit & 1, kind >> bit & 1) {
                (1, 1) => 1.0 - 1.0 / n as f64,
                (1, 0) => 1.0 / n as f64,
                _ => 1.0,
            };
            query.factor * query.factor * along * self.sizes.iter().enumerate().map(part).product::<f64>()
        };
        let kinds = self.kinds.iter().enumerate().filter(|(kind, _)| query.reaches(*kind as u32));
        kinds.map(of).sum()
    }
}

impl Given {
    fn none(joint: usize) -> Self {
        Self { times: vec![0.0; joint * joint], rest: vec![0.0; joint * joint] }
    }

    /// The covariance, where that of the root's table is this.
    fn with(&self, covariance: &[f64], joint: usize) -> Vec<f64> {
        let mut all =
            product(&product(&self.times, covariance, joint), &transposed(&self.times, joint), joint);
        add(&mut all, &self.rest);
        all
    }
}
