//! The best linear unbiased estimate of a tree of tables.

use super::domain::runs;
use super::measurements::{Measurements, Said};
use super::small::{axpy, generalised_inverse, inverse, measured};
use crate::error::{Error, Result};
use crate::inference::shapes::{Shapes, Under};
use crate::invariant::Hierarchy;
use std::sync::Arc;

/// Numbers that all shapes together may take: 2 GiB.
const NUMBERS: usize = 1 << 28;

/// Generalised least squares on a tree of tables: of all tables `x_v` with `x_v = Σ_(children) x_c`, those that minimise `Σ |y - M x_v|² /
/// variance` over all that is measured, and have what is known.
///
/// Up the tree every table is estimated from its subtree: the sum of its children's estimates, whose covariances add, is moved by what is
/// measured of it (Kalman's way, so that what is known has no variance). Down the tree what a table has more than its children's estimates
/// together is spread over these by their covariances. Both act on coefficients, in which covariances are scalars of each kind, or small
/// matrices where attributes are joined ([`super`]). Subtrees of one shape share them.
///
/// Without attributes this is [`crate::imaging::L2`].
///
/// # Examples
///
/// ```
/// use congenial_core::cube::{Domain, Gls, Marginal, Measurements, Query};
/// use congenial_core::invariant::Hierarchy;
///
/// // Two districts of a town, each by sex and age group: the table and its total are measured everywhere.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let queries = [Query::of(&[0, 1]), Query::total()];
/// let domain = Domain::new(&[2, 5], &[], &queries)?;
/// let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
/// let measurements = Measurements::new(&domain, marginals, vec![vec![Some(4.0), Some(1.0)]; 2])?;
/// let gls = Gls::new(&tree, measurements)?;
/// // The standard error of the number of people in the first district: of the total alone it would be 1.
/// let variances = gls.variances(&[(1, 1.0)]);
/// let total = &gls.measurements().queries()[1];
/// assert!(variances.answer(total, 0) < 1.0);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gls {
    pub(super) tree: Hierarchy,
    pub(super) measurements: Measurements,
    /// By level, by kind.
    pub(super) said: Vec<Vec<Said>>,
    /// The shapes of subtrees.
    pub(super) shapes: Arc<Shapes>,
    /// By shape, by kind.
    pub(super) tables: Vec<Vec<Tables>>,
    /// Runs of coefficients of one kind: from where, to where, the kind.
    pub(super) runs: Vec<(usize, usize, usize)>,
}

/// What a shape of subtrees has of a kind of coefficients.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    /// The covariance of the estimate from the subtree.
    pub(super) covariance: Vec<f64>,
    /// By what is known: how the estimate moves with it.
    pub(super) gains: Vec<Vec<f64>>,
    /// The (generalised) inverse of the covariance of the sum of the children's estimates; empty without children.
    pub(super) spread: Vec<f64>,
}

impl Gls {
    /// Prepares the estimate. `measurements`: of as many levels as the tree has.
    ///
    /// Refused: another number of levels; tables of leaves of which not every cell follows from what is measured of them; subtrees of so
    /// many shapes that their covariances do not fit.
    pub fn new(tree: &Hierarchy, measurements: Measurements) -> Result<Self> {
        let shapes = Arc::new(Shapes::of(tree, &[]));
        let (runs, all) = (runs(&measurements.domain.free_sizes()), measurements.variances.clone());
        let mut gls =
            Self { tree: tree.clone(), measurements, said: Vec::new(), shapes, tables: Vec::new(), runs };
        gls.reweigh(all)?;
        Ok(gls)
    }

    /// Gives what is measured other variances: by level, by query, as of [`Measurements::new`]. Refused: as by [`Gls::new`]; then the
    /// estimate is as before.
    pub fn reweigh(&mut self, variances: Vec<Vec<Option<f64>>>) -> Result<()> {
        self.tree.check_one_per_level("variances", variances.len())?;
        let measurements = self.measurements.with(variances)?;
        let said: Vec<Vec<Said>> = (0..self.tree.levels()).map(|level| measurements.kinds(level)).collect();
        let joint = measurements.domain.joint();
        let shapes = &self.shapes.all;
        let needed = shapes.len().saturating_mul(said[0].len()).saturating_mul(2 * joint * joint);
        if needed > NUMBERS {
            return Err(Error::TooLarge {
                what: format!("the covariances of {} shapes of subtrees", shapes.len()),
                needed: needed as u64,
                limit: NUMBERS as u64,
                unit: "numbers",
            });
        }
        let mut all: Vec<Vec<Tables>> = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let children: &[(u32, u32)] = match &shape.under {
                Under::Leaf(_) => &[],
                Under::Children(children) => children,
            };
            let of_kind = |(kind, said): (usize, &Said)| {
                let covariances =
                    children.iter().map(|&(child, number)| (&*all[child as usize][kind].covariance, number));
                let tables = Tables::new(said, covariances, joint);
                tables.ok_or_else(|| Error::parameter("queries of level", shape.level, WANTED))
            };
            all.push(said[shape.level].iter().enumerate().map(of_kind).collect::<Result<_>>()?);
        }
        (self.measurements, self.said, self.tables) = (measurements, said, all);
        Ok(())
    }

    /// How many numbers the covariances of all subtrees are.
    pub fn numbers(&self) -> usize {
        let joint = self.measurements.domain.joint();
        self.shapes.all.len() * self.said[0].len() * joint * joint
    }

    /// What is measured.
    pub fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    /// The areas.
    pub fn tree(&self) -> &Hierarchy {
        &self.tree
    }

    pub(super) fn tables(&self, v: usize) -> &[Tables] {
        &self.tables[self.shapes.of_node[v] as usize]
    }

    /// Moves the sum of the estimates of a node's children, or 0 of a leaf, to the estimate from its subtree.
    ///
    /// - `weighed`: `Σ h y / variance` over what is measured, as coefficients.
    /// - `known`: by what is known, `y`, as coefficients; `None`: all of it is 0.
    pub(super) fn move_up(
        &self,
        v: usize,
        estimate: &mut [f64],
        weighed: &[f64],
        known: Option<&[f64]>,
        scratch: &mut Vec<f64>,
    ) {
        let (joint, cells) = (self.measurements.domain.joint(), self.measurements.domain.free_cells());
        let (tables, said) = (self.tables(v), &self.said[self.tree.level(v)]);
        for &(from, to, kind) in &self.runs {
            let (own, said) = (&tables[kind], &said[kind]);
            let length = to - from;
            scratch.clear();
            for (j, precision) in said.precision.chunks_exact(joint).enumerate() {
                scratch.extend_from_slice(&weighed[j * cells + from..j * cells + to]);
                less(scratch, length, precision, (estimate, cells, from));
            }
            for (row, h) in said.known.iter().enumerate() {
                match known {
                    Some(known) => scratch.extend_from_slice(&known[row * cells + from..row * cells + to]),
                    None => scratch.resize(scratch.len() + length, 0.0),
                }
                less(scratch, length, h, (estimate, cells, from));
            }
            let (measured, known) = scratch.split_at(joint * length);
            for j in 0..joint {
                let moved = &mut estimate[j * cells + from..j * cells + to];
                let weights = &own.covariance[j * joint..][..joint];
                measured
                    .chunks_exact(length)
                    .zip(weights)
                    .for_each(|(rest, &weight)| axpy(moved, weight, rest));
                known
                    .chunks_exact(length)
                    .zip(&own.gains)
                    .for_each(|(rest, gains)| axpy(moved, gains[j], rest));
            }
        }
    }

    /// What each child's estimate moves by is its covariance times this: replaces what a table has more than its children's estimates
    /// together.
    pub(super) fn spread(&self, v: usize, rest: &mut [f64], scratch: &mut Vec<f64>) {
        let (joint, cells) = (self.measurements.domain.joint(), self.measurements.domain.free_cells());
        let tables = self.tables(v);
        for &(from, to, kind) in &self.runs {
            scratch.clear();
            (0..joint).for_each(|j| scratch.extend_from_slice(&rest[j * cells + from..j * cells + to]));
            for (j, weights) in tables[kind].spread.chunks_exact(joint).enumerate() {
                let out = &mut rest[j * cells + from..j * cells + to];
                out.fill(0.0);
                scratch
                    .chunks_exact(to - from)
                    .zip(weights)
                    .for_each(|(own, &weight)| axpy(out, weight, own));
            }
        }
    }

    /// Moves the estimate of a child by what its parent's table has more, as [`Gls::spread`] gave it.
    pub(super) fn move_down(&self, child: usize, estimate: &mut [f64], spread: &[f64]) {
        let (joint, cells) = (self.measurements.domain.joint(), self.measurements.domain.free_cells());
        let tables = self.tables(child);
        for &(from, to, kind) in &self.runs {
            for (j, weights) in tables[kind].covariance.chunks_exact(joint).enumerate() {
                let moved = &mut estimate[j * cells + from..j * cells + to];
                for (other, &weight) in weights.iter().enumerate() {
                    axpy(moved, weight, &spread[other * cells + from..other * cells + to]);
                }
            }
        }
    }
}

const WANTED: &str = "queries from which every cell of a leaf's table follows, such as the detailed table";

/// Takes the rows of an array (with its row length, and where in the rows), by their weights, from the last `length` numbers of `out`.
fn less(out: &mut [f64], length: usize, weights: &[f64], (array, cells, from): (&[f64], usize, usize)) {
    let at = out.len() - length;
    for (j, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        axpy(&mut out[at..], -weight, &array[j * cells + from..][..length]);
    }
}

/// Takes what is known, `hᵀ x` for each h, from a covariance: by h how the estimate moves with it.
pub(super) fn known<'a>(covariance: &mut [f64], rows: impl Iterator<Item = &'a [f64]>) -> Vec<Vec<f64>> {
    let mut gains: Vec<Vec<f64>> = Vec::new();
    for h in rows {
        let gain = measured(covariance, h, 0.0);
        for before in &mut gains {
            let along: f64 = before.iter().zip(h).map(|(gain, h)| gain * h).sum();
            before.iter_mut().zip(&gain).for_each(|(own, gain)| *own -= gain * along);
        }
        gains.push(gain);
    }
    gains
}

impl Tables {
    /// `None`: a leaf of which not everything follows from what is measured.
    fn new<'a>(said: &Said, children: impl Iterator<Item = (&'a [f64], u32)>, joint: usize) -> Option<Self> {
        let mut sum: Vec<f64> = Vec::new();
        for (covariance, number) in children {
            sum.resize(joint * joint, 0.0);
            axpy(&mut sum, f64::from(number), covariance);
        }
        let is_leaf = sum.is_empty();
        let (spread, mut covariance) = match is_leaf {
            true => (Vec::new(), Self::alone(said, joint)?),
            false => (generalised_inverse(&sum, joint), sum),
        };
        let finite = said.finite.iter().filter(|_| !is_leaf);
        finite.for_each(|(h, variance)| drop(measured(&mut covariance, h, *variance)));
        let gains = known(&mut covariance, said.known.iter().map(Vec::as_slice));
        Some(Self { covariance, gains, spread })
    }

    /// The covariance of a leaf's estimate from what is measured of it. What is known counts with some weight: it is what is said of the
    /// rest once it is known that does not depend on the weight.
    fn alone(said: &Said, joint: usize) -> Option<Vec<f64>> {
        let mut precision = said.precision.clone();
        let most = (0..joint).map(|j| precision[j * joint + j]).fold(0.0, f64::max);
        let weight = if most > 0.0 { most } else { 1.0 };
        for h in &said.known {
            let square: f64 = h.iter().map(|h| h * h).sum();
            for (i, row) in precision.chunks_exact_mut(joint).enumerate().filter(|(i, _)| h[*i] != 0.0) {
                row.iter_mut().zip(h).for_each(|(p, other)| *p += weight * h[i] * other / square);
            }
        }
        inverse(&precision, joint)
    }
}
