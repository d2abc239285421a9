//! Up and down a tree of tables, subtree by subtree, on all cores.

use super::basis;
use super::gls::Gls;
use super::measurements::Measurements;
use super::query::Marginal;
use super::small::{add, axpy};
use super::subtrees::{Cut, cut, nodes_under, ranges};
use crate::crew::Crew;
use crate::error::{Error, Result};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Tables of children miss their parent's by this part of the largest number among them at most, and of the largest answer of all.
const ROUNDING: (f64, f64) = (1e-7, 1e-12);

/// What was measured of a node: by query, its answers.
#[derive(Debug, Default)]
pub struct Answers {
    /// By query; empty where it is not measured on this level.
    pub of: Vec<Vec<f64>>,
}

/// The estimate of a node's table.
#[derive(Debug)]
pub struct Estimate<'a> {
    gls: &'a Gls,
    coefficients: &'a [f64],
}

impl Estimate<'_> {
    /// The answers of a query.
    pub fn answers(&self, query: &Marginal, out: &mut Vec<f64>) {
        query.of_coefficients(self.coefficients, self.gls.measurements.domain.free_cells(), out);
    }

    /// All cells, in the order of the domain.
    pub fn cells(&self, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(self.coefficients);
        basis::backward(out, &self.gls.measurements.domain.free_sizes());
    }
}

/// The estimates of tables from what is below them.
pub(super) struct Risen {
    /// The nodes above the subtrees, ascending.
    pub(super) above: Vec<usize>,
    /// They and the roots of the subtrees, as of [`Cut`].
    pub(super) held: Vec<usize>,
    /// The coefficients of the tables of those, one after the other.
    pub(super) tables: Vec<f64>,
    /// The subtrees by their roots, with the coefficients of their tables by level; empty where they are not kept.
    pub(super) subtrees: Vec<(usize, Vec<Vec<f64>>)>,
}

/// What a thread uses again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    answers: Answers,
    weighed: Vec<f64>,
    rows: Vec<f64>,
    rest: Vec<f64>,
    /// By level below a subtree's root, the estimates of its nodes.
    pub(super) levels: Vec<Vec<f64>>,
}

impl Gls {
    /// Estimates all tables, in subtrees that are cut alike on all machines: up, then down.
    ///
    /// - `crew`: who does it.
    /// - `keep`: numbers that may be held at once beside the tables above the subtrees; where all subtrees have more, each is gone up
    ///   twice.
    /// - `measure`: writes the answers of a node, each query's as long as [`Marginal::answers`] says; called twice for some nodes, with
    ///   the same answers.
    /// - `see`: is given the estimates of a subtree's nodes one after the other, parents first; what it makes of them is handed back, that
    ///   of the nodes above the subtrees first.
    ///
    /// Errors: those of `see`; children whose tables do not sum to their parent's, by more than rounding.
    pub fn estimate<R: Default + Send>(
        &self,
        crew: &dyn Crew,
        keep: usize,
        measure: impl Fn(usize, &mut Answers) + Sync + Send,
        see: impl Fn(&mut R, usize, &Estimate) -> Result<()> + Sync + Send,
    ) -> Result<Vec<R>> {
        let cells = self.measurements.domain.cells();
        // Numbers that are not negative are in the order of their bits, and what is none is above them.
        let most = AtomicU64::new(0);
        let measure = |v: usize, answers: &mut Answers| {
            measure(v, answers);
            let own: Vec<f64> = answers.of.iter().map(|own| largest(own)).collect();
            most.fetch_max(largest(&own).to_bits(), Relaxed);
        };
        let Risen { above, held, mut tables, subtrees } = self.rise(crew, keep, &measure);
        let place = |v: usize| cells * held.binary_search(&v).expect("it is held");
        let mut scratch = Scratch::default();
        let mut results = vec![R::default()];
        for &v in &above {
            let children = self.tree.children(v);
            let (upper, family) = tables.split_at_mut(place(children.start));
            let own = &upper[place(v)..][..cells];
            see(&mut results[0], v, &Estimate { gls: self, coefficients: own })?;
            let slack = ROUNDING.1 * f64::from_bits(most.load(Relaxed));
            self.settle((v, slack), own, &mut family[..children.len() * cells], &mut scratch)?;
        }
        let down = |scratch: &mut Scratch, (root, levels): (usize, Vec<Vec<f64>>)| {
            match levels.is_empty() {
                true => self.up(root, &measure, scratch),
                false => scratch.levels = levels,
            }
            let mut result = R::default();
            scratch.levels[0].copy_from_slice(&tables[place(root)..][..cells]);
            let slack = ROUNDING.1 * f64::from_bits(most.load(Relaxed));
            self.down((root, slack), scratch, |v, estimate| see(&mut result, v, estimate))?;
            Ok(result)
        };
        for result in crew.each(subtrees, down) {
            results.push(result?);
        }
        Ok(results)
    }

    /// Up the tree, in its subtrees: every table's estimate from what is below it. `keep` and `measure`: as of [`Gls::estimate`].
    pub(super) fn rise(
        &self,
        crew: &dyn Crew,
        keep: usize,
        measure: &(impl Fn(usize, &mut Answers) + Sync + Send),
    ) -> Risen {
        let cells = self.measurements.domain.cells();
        let Cut { above, roots, held } = cut(&self.tree, cells);
        let place = |v: usize| cells * held.binary_search(&v).expect("it is held");
        let mut tables = vec![0.0; held.len() * cells];
        let total: usize = roots.iter().map(|&root| nodes_under(&self.tree, root) * cells).sum();
        let kept = total <= keep;
        let subtrees = crew.each(roots, |scratch: &mut Scratch, root: usize| {
            self.up(root, measure, scratch);
            let top = scratch.levels[0].clone();
            (root, top, if kept { std::mem::take(&mut scratch.levels) } else { Vec::new() })
        });
        for (root, top, _) in &subtrees {
            tables[place(*root)..][..cells].copy_from_slice(top);
        }
        let mut scratch = Scratch::default();
        for &v in above.iter().rev() {
            let mut sum = vec![0.0; cells];
            self.tree.children(v).for_each(|child| add(&mut sum, &tables[place(child)..][..cells]));
            self.combine(v, &mut sum, measure, &mut scratch);
            tables[place(v)..][..cells].copy_from_slice(&sum);
        }
        let subtrees = subtrees.into_iter().map(|(root, _, levels)| (root, levels)).collect();
        Risen { above, held, tables, subtrees }
    }

    /// The estimates of the nodes of a subtree from what is below each, into `scratch.levels`.
    pub(super) fn up(&self, root: usize, measure: &impl Fn(usize, &mut Answers), scratch: &mut Scratch) {
        let cells = self.measurements.domain.cells();
        let ranges = ranges(&self.tree, root);
        let mut levels = std::mem::take(&mut scratch.levels);
        levels.resize(ranges.len(), Vec::new());
        for (depth, range) in ranges.iter().enumerate().rev() {
            let (upper, lower) = levels.split_at_mut(depth + 1);
            let own = &mut upper[depth];
            own.clear();
            own.resize(range.len() * cells, 0.0);
            for (v, estimate) in range.clone().zip(own.chunks_exact_mut(cells)) {
                for child in self.tree.children(v) {
                    add(estimate, &lower[0][(child - ranges[depth + 1].start) * cells..][..cells]);
                }
                self.combine(v, estimate, measure, scratch);
            }
        }
        scratch.levels = levels;
    }

    /// From the estimate of a subtree's root those of all its nodes, which are seen parents first. `slack`: by how much more tables of
    /// children may miss their parent's.
    fn down(
        &self,
        (root, slack): (usize, f64),
        scratch: &mut Scratch,
        mut see: impl FnMut(usize, &Estimate) -> Result<()>,
    ) -> Result<()> {
        let cells = self.measurements.domain.cells();
        let ranges = ranges(&self.tree, root);
        let mut levels = std::mem::take(&mut scratch.levels);
        for (depth, range) in ranges.iter().enumerate() {
            let (upper, lower) = levels.split_at_mut(depth + 1);
            for (v, own) in range.clone().zip(upper[depth].chunks_exact(cells)) {
                see(v, &Estimate { gls: self, coefficients: own })?;
                let children = self.tree.children(v);
                if !children.is_empty() {
                    let first = ranges[depth + 1].start;
                    let family = (children.start - first) * cells..(children.end - first) * cells;
                    self.settle((v, slack), own, &mut lower[0][family], scratch)?;
                }
            }
        }
        scratch.levels = levels;
        Ok(())
    }

    /// Moves the estimates of a node's children from their subtrees, one after the other, so that they sum to the node's own. Errors: they
    /// do not, by more than rounding.
    fn settle(
        &self,
        (v, slack): (usize, f64),
        own: &[f64],
        family: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { rest, .. } = scratch;
        let left = |family: &[f64], rest: &mut Vec<f64>| {
            rest.clear();
            rest.extend_from_slice(own);
            for child in family.chunks_exact(own.len()) {
                rest.iter_mut().zip(child).for_each(|(rest, x)| *rest -= x);
            }
        };
        let before = largest(family);
        left(family, rest);
        self.spread(v, rest);
        let children = self.tree.children(v);
        children
            .zip(family.chunks_exact_mut(own.len()))
            .for_each(|(child, own)| self.move_down((v, child), own, rest));
        left(family, rest);
        let residual = largest(rest);
        match residual <= ROUNDING.0 * (largest(own) + largest(family) + before) + slack {
            true => Ok(()),
            false => Err(Error::violated("the tables of its children", residual).in_area(v)),
        }
    }

    /// Moves the sum of the estimates of a node's children by what is measured of it.
    pub(super) fn combine(
        &self,
        v: usize,
        estimate: &mut [f64],
        measure: &impl Fn(usize, &mut Answers),
        scratch: &mut Scratch,
    ) {
        let Scratch { answers, weighed, rows, .. } = scratch;
        let level = self.tree.level(v);
        answers.prepare(&self.measurements, level);
        measure(v, answers);
        if self.measurements.domain.joint() == 1 {
            let has_known = self.weigh(level, answers, weighed, rows);
            self.move_one(v, estimate, weighed, has_known.then_some(&**rows));
        } else {
            self.compare(level, answers, estimate, rows);
            self.move_joined(v, estimate, rows);
        }
    }

    /// What the answers of a node say of its coefficients, where no attribute is joined: `Σ h y / variance` of what has noise, and by row
    /// of all queries `y` of what is known; whether anything is known to be other than 0.
    fn weigh(
        &self,
        level: usize,
        answers: &mut Answers,
        weighed: &mut Vec<f64>,
        known: &mut Vec<f64>,
    ) -> bool {
        let Measurements { domain, queries, .. } = &self.measurements;
        let cells = domain.free_cells();
        weighed.clear();
        weighed.resize(cells, 0.0);
        let (mut is_any, mut at) = (false, 0);
        for (query, variance) in self.measurements.of_level(level) {
            let (marginal, own) = (&queries[query], &mut answers.of[query]);
            // All answers are of categories that are left out.
            if marginal.rows.is_empty() {
                continue;
            }
            marginal.forward(own);
            let pairs = marginal.places.iter().zip(&*own);
            if variance == 0.0 {
                known.resize(known.len().max((at + 1) * cells), 0.0);
                pairs.for_each(|(&place, y)| known[at * cells + place as usize] = *y);
                is_any |= own.iter().any(|y| *y != 0.0);
            } else if marginal.places.len() == cells {
                axpy(weighed, marginal.factor / variance, own);
            } else {
                let weight = marginal.factor / variance;
                pairs.for_each(|(&place, y)| weighed[place as usize] += weight * y);
            }
            at += 1;
        }
        is_any
    }

    /// By row of all queries what is measured less what an estimate says of it, as coefficients.
    fn compare(&self, level: usize, answers: &mut Answers, estimate: &[f64], rest: &mut Vec<f64>) {
        let Measurements { domain, queries, .. } = &self.measurements;
        let cells = domain.free_cells();
        let mut at = 0;
        for (query, _) in self.measurements.of_level(level) {
            let (marginal, own) = (&queries[query], &mut answers.of[query]);
            marginal.forward(own);
            rest.resize(rest.len().max((at + marginal.rows.len()) * cells), 0.0);
            for (row, values) in marginal.rows.iter().zip(own.chunks_exact(marginal.places.len())) {
                let rest = &mut rest[at * cells..][..cells];
                if marginal.places.len() == cells {
                    rest.copy_from_slice(values);
                    for &combination in row {
                        axpy(rest, -marginal.factor, &estimate[combination as usize * cells..][..cells]);
                    }
                } else {
                    for (&place, y) in marginal.places.iter().zip(values) {
                        let of = |&combination: &u32| estimate[combination as usize * cells + place as usize];
                        rest[place as usize] = y - marginal.factor * row.iter().map(of).sum::<f64>();
                    }
                }
                at += 1;
            }
        }
    }
}

impl Answers {
    /// Makes place for the answers of a level: 0s.
    pub fn prepare(&mut self, measurements: &Measurements, level: usize) {
        self.of.resize(measurements.queries.len(), Vec::new());
        self.of.iter_mut().for_each(Vec::clear);
        for (query, _) in measurements.of_level(level) {
            self.of[query].resize(measurements.queries[query].answers(), 0.0);
        }
    }
}

/// The largest size of numbers; not a number where one of them is none.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, x| if most.is_nan() || x.abs() <= most { most } else { x.abs() })
}

#[cfg(test)]
mod tests {
    use super::super::{Domain, Query};
    use super::*;
    use crate::Alone;
    use crate::invariant::Hierarchy;

    #[test]
    fn what_is_no_number_is_the_largest() {
        assert!(largest(&[]) == 0.0 && largest(&[1.0, -3.0, 2.0]) == 3.0);
        for place in 0..3 {
            let mut values = [1.0, -2.0, 0.5];
            values[place] = f64::NAN;
            assert!(largest(&values).is_nan());
        }
    }

    /// An answer that is no number, of any node, joined attributes or not, is refused: no estimate follows from it.
    #[test]
    fn answers_that_are_no_numbers_are_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1]).unwrap();
        for query in [Query::total(), Query::total().grouping(0, vec![vec![0], vec![1, 2]])] {
            let queries = [Query::of(&[0]), query];
            let domain = Domain::new(&[3], &[], &queries).unwrap();
            let marginals: Vec<Marginal> =
                queries.iter().map(|query| Marginal::new(&domain, query)).collect();
            let measurements = Measurements::new(&domain, marginals, vec![vec![Some(1.0); 2]; 3]).unwrap();
            let gls = Gls::new(&tree, measurements).unwrap();
            for wrong in 0..tree.nodes() {
                let measure = |v: usize, out: &mut Answers| {
                    if v == wrong {
                        out.of[1][0] = f64::NAN;
                    }
                };
                let told = gls.estimate(&Alone, usize::MAX, measure, |(): &mut (), _, _| Ok(()));
                assert!(told.unwrap_err().to_string().contains("NaN"));
            }
        }
    }
}
