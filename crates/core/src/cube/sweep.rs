//! Up and down a tree of tables, subtree by subtree, on all cores.

use super::basis;
use super::gls::Gls;
use super::measurements::Measurements;
use super::query::Marginal;
use super::small::add;
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
    known: Vec<f64>,
    rest: Vec<f64>,
    scratch: Vec<f64>,
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
        // Numbers that are not negative are in the order of their bits.
        let most = AtomicU64::new(0);
        let measure = |v: usize, answers: &mut Answers| {
            measure(v, answers);
            most.fetch_max(answers.of.iter().map(|own| largest(own)).fold(0.0, f64::max).to_bits(), Relaxed);
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
        let Scratch { rest, scratch, .. } = scratch;
        let left = |family: &[f64], rest: &mut Vec<f64>| {
            rest.clear();
            rest.extend_from_slice(own);
            for child in family.chunks_exact(own.len()) {
                rest.iter_mut().zip(child).for_each(|(rest, x)| *rest -= x);
            }
        };
        let before = largest(family);
        left(family, rest);
        self.spread(v, rest, scratch);
        let children = self.tree.children(v);
        children
            .zip(family.chunks_exact_mut(own.len()))
            .for_each(|(child, own)| self.move_down(child, own, rest));
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
        let Scratch { answers, weighed, known, scratch, .. } = scratch;
        let level = self.tree.level(v);
        answers.prepare(&self.measurements, level);
        measure(v, answers);
        let has_known = self.weigh(level, answers, weighed, known);
        self.move_up(v, estimate, weighed, has_known.then_some(&**known), scratch);
    }

    /// What the answers of a node say of its coefficients: `Σ h y / variance` of what is measured, `y` of what is known; whether anything
    /// is known to be other than 0.
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
        weighed.resize(domain.cells(), 0.0);
        known.clear();
        let mut is_any = false;
        for (query, variance) in self.measurements.of_level(level) {
            let (marginal, own) = (&queries[query], &mut answers.of[query]);
            marginal.forward(own);
            for (row, values) in marginal.rows.iter().zip(own.chunks_exact(marginal.places.len())) {
                if variance == 0.0 {
                    let from = known.len();
                    known.resize(from + cells, 0.0);
                    marginal
                        .places
                        .iter()
                        .zip(values)
                        .for_each(|(&place, y)| known[from + place as usize] = *y);
                    is_any |= values.iter().any(|y| *y != 0.0);
                    continue;
                }
                let weight = marginal.factor / variance;
                for &combination in row {
                    let own = &mut weighed[combination as usize * cells..][..cells];
                    if marginal.places.len() == cells {
                        own.iter_mut().zip(values).for_each(|(sum, y)| *sum += weight * y);
                    } else {
                        marginal
                            .places
                            .iter()
                            .zip(values)
                            .for_each(|(&place, y)| own[place as usize] += weight * y);
                    }
                }
            }
        }
        is_any
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

/// The largest size of numbers.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}
