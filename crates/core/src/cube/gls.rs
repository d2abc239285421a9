//! The best linear unbiased estimate of a tree of tables.

use super::domain::runs;
use super::measurements::{Measurements, Said};
use super::small::{add, axpy};
use super::squares::{Filter, Stack, covariance, gains, gathered, times};
use crate::error::{Error, Result};
use crate::inference::shapes::{Shape, Shapes, Under};
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
    /// The size of the numbers that the parts of all covariances were made of.
    pub(super) most: f64,
    /// Runs of coefficients of one kind: from where, to where, the kind.
    pub(super) runs: Vec<(usize, usize, usize)>,
}

/// By level and kind what is said, by shape and kind what follows.
type Filtered = (Vec<Vec<Said>>, Vec<Vec<Tables>>);

/// What a shape of subtrees has of a kind of coefficients.
#[derive(Debug, Clone)]
pub(super) enum Tables {
    /// Where no attribute is joined.
    One(One),
    /// Where coefficients are vectors over the combinations of the joined attributes.
    Joined(Joined),
}

/// What a shape of subtrees has of a kind of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct One {
    /// The variance of the estimate from the subtree.
    pub(super) variance: f64,
    /// One over the sum of the variances of the children's estimates; 0 where that is 0, and without children.
    spread: f64,
    /// By how much what is known moves the estimate; 0 where nothing is, or the children say it already.
    gain: f64,
}

/// What a shape of subtrees has of a kind of vectors.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    /// The parts of the covariance of the estimate from the subtree.
    pub(super) parts: Vec<f64>,
    /// Row by row of the vector, by how much each measurement less what the children say of it moves the estimate.
    gains: Vec<f64>,
    pub(super) spread: Spread,
    /// The largest size of numbers that its parts were made of.
    pub(super) most: f64,
}

/// How what a table has more than its children's estimates together goes to these.
#[derive(Debug, Clone)]
pub(super) enum Spread {
    /// To each alike, where all are of one shape: this part of it. (A leaf's is 0.)
    Evenly(f64),
    /// By shape of children.
    By(Vec<Given>),
}

/// A child's estimate, given the sum of all children's tables.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// Row by row, by how much it moves with that sum.
    pub(super) moves: Vec<f64>,
    /// The parts of its covariance where the sum is known.
    pub(super) parts: Vec<f64>,
}

impl Gls {
    /// Prepares the estimate. `measurements`: of as many levels as the tree has.
    ///
    /// Refused: another number of levels; tables of leaves of which not every cell follows from what is measured of them; subtrees of so
    /// many shapes that their covariances do not fit.
    pub fn new(tree: &Hierarchy, measurements: Measurements) -> Result<Self> {
        let shapes = Arc::new(Shapes::of(tree, &[]));
        let (runs, all) = (runs(&measurements.domain.free_sizes()), measurements.variances.clone());
        let mut gls = Self {
            tree: tree.clone(),
            measurements,
            said: Vec::new(),
            shapes,
            tables: Vec::new(),
            most: 0.0,
            runs,
        };
        gls.reweigh(all)?;
        Ok(gls)
    }

    /// Gives what is measured other variances: by level, by query, as of [`Measurements::new`]. Refused: as by [`Gls::new`]; then the
    /// estimate is as before.
    pub fn reweigh(&mut self, variances: Vec<Vec<Option<f64>>>) -> Result<()> {
        self.tree.check_one_per_level("variances", variances.len())?;
        Measurements::check(&variances, self.measurements.queries.len())?;
        let before = std::mem::replace(&mut self.measurements.variances, variances);
        match self.filtered() {
            Ok((said, tables)) => {
                let sizes = tables.iter().flatten().map(Tables::most);
                self.most = sizes.fold(0.0, f64::max);
                (self.said, self.tables) = (said, tables);
                Ok(())
            }
            Err(refused) => {
                self.measurements.variances = before;
                Err(refused)
            }
        }
    }

    /// What is said of each level, and what shapes of subtrees have of it, by kind.
    fn filtered(&self) -> Result<Filtered> {
        let joint = self.measurements.domain.joint();
        let shapes = &self.shapes.all;
        let needed = self.needed();
        if needed > NUMBERS {
            return Err(Error::TooLarge {
                what: format!("the covariances of {} shapes of subtrees", shapes.len()),
                needed: needed as u64,
                limit: NUMBERS as u64,
                unit: "numbers",
            });
        }
        let said: Vec<Vec<Said>> =
            (0..self.tree.levels()).map(|level| self.measurements.kinds(level)).collect();
        let mut all: Vec<Vec<Tables>> = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let children = children(shape);
            let of_kind = |(kind, said): (usize, &Said)| {
                let children = children.iter().map(|&(child, number)| (&all[child as usize][kind], number));
                let tables = Tables::new(said, children, joint);
                tables.ok_or_else(|| Error::parameter("queries of level", shape.level, WANTED))
            };
            all.push(said[shape.level].iter().enumerate().map(of_kind).collect::<Result<_>>()?);
        }
        Ok((said, all))
    }

    /// How many numbers are held at most: by shape and kind the parts of the covariance, the gains, and where children are of several
    /// shapes what each of them is given their sum; by level what is said of it.
    fn needed(&self) -> usize {
        let (joint, kinds) = (self.measurements.domain.joint(), 1 << self.measurements.domain.free().len());
        let of_level: Vec<usize> =
            (0..self.tree.levels()).map(|level| self.measurements.numbers(level)).collect();
        let square = joint.saturating_mul(joint).saturating_mul(kinds);
        let of_shape = |shape: &Shape| {
            let given = children(shape).len();
            let squares = if given > 1 && joint > 1 { 1 + 2 * given } else { 1 };
            of_level[shape.level].saturating_add(square.saturating_mul(squares))
        };
        let all = self.shapes.all.iter().map(of_shape).chain(of_level.iter().copied());
        all.fold(0, usize::saturating_add)
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

    /// Moves the sum of the estimates of a node's children, or 0 of a leaf, to the estimate from its subtree, where no attribute is joined.
    ///
    /// - `weighed`: `Σ h y / variance` over what has noise, as coefficients.
    /// - `known`: by row of all queries, of those that are known `y`, as coefficients; `None`: all of it is 0.
    pub(super) fn move_one(&self, v: usize, estimate: &mut [f64], weighed: &[f64], known: Option<&[f64]>) {
        let (tables, said) = (self.tables(v), &self.said[self.tree.level(v)]);
        for &(from, to, kind) in &self.runs {
            let Tables::One(own) = &tables[kind] else { unreachable!("nothing is joined") };
            let (said, moved) = (&said[kind], &mut estimate[from..to]);
            if own.gain != 0.0 {
                let row = said.rows.iter().find(|row| row.variance == 0.0).expect("it has a gain");
                let y = known.map(|known| &known[row.at * weighed.len()..][from..to]);
                for (i, x) in moved.iter_mut().enumerate() {
                    *x += own.gain * (y.map_or(0.0, |y| y[i]) - row.h[0] * *x);
                }
            } else if own.variance > 0.0 && said.precision > 0.0 {
                let all = moved.iter_mut().zip(&weighed[from..to]);
                all.for_each(|(x, weighed)| *x += own.variance * (weighed - said.precision * *x));
            }
        }
    }

    /// Moves an estimate up as [`Gls::move_one`] does, where attributes are joined. `rest`: by row of all queries, what is measured less
    /// what the children say of it, as coefficients.
    pub(super) fn move_joined(&self, v: usize, estimate: &mut [f64], rest: &[f64]) {
        let (joint, cells) = (self.measurements.domain.joint(), self.measurements.domain.free_cells());
        let (tables, said) = (self.tables(v), &self.said[self.tree.level(v)]);
        for &(from, to, kind) in &self.runs {
            let Tables::Joined(own) = &tables[kind] else { unreachable!("attributes are joined") };
            let rows = &said[kind].rows;
            for j in 0..joint {
                let moved = &mut estimate[j * cells + from..j * cells + to];
                let gains = own.gains[j * rows.len()..][..rows.len()].iter();
                for (row, gain) in rows.iter().zip(gains).filter(|(_, gain)| **gain != 0.0) {
                    axpy(moved, *gain, &rest[row.at * cells + from..row.at * cells + to]);
                }
            }
        }
    }

    /// Replaces what a table has more than its children's estimates together by what [`Gls::move_down`] is given of it.
    pub(super) fn spread(&self, v: usize, rest: &mut [f64]) {
        let (joint, cells) = (self.measurements.domain.joint(), self.measurements.domain.free_cells());
        let tables = self.tables(v);
        for &(from, to, kind) in &self.runs {
            let evenly = match &tables[kind] {
                Tables::One(own) => own.spread,
                Tables::Joined(Joined { spread: Spread::Evenly(part), .. }) => *part,
                Tables::Joined(_) => continue,
            };
            for j in 0..joint {
                rest[j * cells + from..j * cells + to].iter_mut().for_each(|x| *x *= evenly);
            }
        }
    }

    /// Moves the estimate of a child of `v` by what the table of `v` has more, as [`Gls::spread`] gave it.
    pub(super) fn move_down(&self, (v, child): (usize, usize), estimate: &mut [f64], spread: &[f64]) {
        let (joint, cells) = (self.measurements.domain.joint(), self.measurements.domain.free_cells());
        let (above, tables) = (self.tables(v), self.tables(child));
        let shapes = &self.shapes;
        let family = children(&shapes.all[shapes.of_node[v] as usize]);
        let place = family.partition_point(|(shape, _)| *shape < shapes.of_node[child]);
        for &(from, to, kind) in &self.runs {
            match (&above[kind], &tables[kind]) {
                (_, Tables::One(own)) => axpy(&mut estimate[from..to], own.variance, &spread[from..to]),
                (Tables::Joined(Joined { spread: Spread::By(given), .. }), _) => {
                    for (j, row) in given[place].moves.chunks_exact(joint).enumerate() {
                        let moved = &mut estimate[j * cells + from..j * cells + to];
                        for (other, &weight) in row.iter().enumerate() {
                            axpy(moved, weight, &spread[other * cells + from..other * cells + to]);
                        }
                    }
                }
                _ => {
                    for own in (0..joint).map(|j| j * cells + from..j * cells + to) {
                        add(&mut estimate[own.clone()], &spread[own]);
                    }
                }
            }
        }
    }
}

const WANTED: &str = "queries from which every cell of a leaf's table follows, such as the detailed table";

/// The children of a shape, by their shapes, with how many of each there are.
pub(super) fn children(shape: &Shape) -> &[(u32, u32)] {
    match &shape.under {
        Under::Leaf(_) => &[],
        Under::Children(children) => children,
    }
}

impl Tables {
    /// `None`: a leaf of which not everything follows from what is measured.
    fn new<'a>(
        said: &Said,
        children: impl ExactSizeIterator<Item = (&'a Self, u32)>,
        joint: usize,
    ) -> Option<Self> {
        match joint {
            1 => One::new(said, children.map(|(own, number)| (own.variance(), number))).map(Self::One),
            _ => {
                let children: Vec<(&[f64], f64)> =
                    children.map(|(own, number)| (own.parts(), f64::from(number))).collect();
                Joined::new(said, &children, joint).map(Self::Joined)
            }
        }
    }

    /// The size of the numbers that the parts of a vector's covariance were made of.
    fn most(&self) -> f64 {
        match self {
            Self::One(_) => 0.0,
            Self::Joined(own) => own.most,
        }
    }

    /// The variance of a number's estimate.
    pub(super) fn variance(&self) -> f64 {
        match self {
            Self::One(own) => own.variance,
            Self::Joined(_) => unreachable!("attributes are joined"),
        }
    }

    /// What there is of a vector.
    pub(super) fn joined(&self) -> &Joined {
        match self {
            Self::One(_) => unreachable!("nothing is joined"),
            Self::Joined(own) => own,
        }
    }

    /// The parts of the covariance of a vector's estimate.
    pub(super) fn parts(&self) -> &[f64] {
        &self.joined().parts
    }

    /// The covariance of the estimate from the subtree.
    pub(super) fn covariance(&self, joint: usize) -> Vec<f64> {
        match self {
            Self::One(own) => vec![own.variance],
            Self::Joined(own) => covariance(&own.parts, own.most, joint),
        }
    }
}

impl One {
    /// Estimates a number from the variances of the children's estimates, each with how many children have it. No difference is taken.
    fn new(said: &Said, children: impl ExactSizeIterator<Item = (f64, u32)>) -> Option<Self> {
        let is_leaf = children.len() == 0;
        let below: f64 = children.map(|(variance, number)| f64::from(number) * variance).sum();
        let spread = if below > 0.0 { 1.0 / below } else { 0.0 };
        let known = said.rows.iter().find(|row| row.variance == 0.0);
        let (variance, gain) = match known {
            Some(row) if is_leaf || below > 0.0 => (0.0, 1.0 / row.h[0]),
            Some(_) => (0.0, 0.0),
            None if is_leaf && said.precision == 0.0 => return None,
            None if is_leaf => (1.0 / said.precision, 0.0),
            None => (below / (1.0 + below * said.precision), 0.0),
        };
        Some(Self { variance, spread, gain })
    }
}

impl Joined {
    /// Estimates a vector from the parts of the children's covariances, each with how many children have them.
    fn new(said: &Said, children: &[(&[f64], f64)], joint: usize) -> Option<Self> {
        let (mut filter, spread) = match children {
            [] => (Filter::open(joint), Spread::Evenly(0.0)),
            [(parts, number)] => {
                (Filter::of(&times(parts, libm::sqrt(*number)), joint), Spread::Evenly(1.0 / number))
            }
            _ => {
                let (sum, given) = family(children, joint);
                (Filter::of(&sum, joint), Spread::By(given))
            }
        };
        let gains = gains(&mut filter, said.rows.iter().map(|row| (&*row.h, row.variance)));
        let most = filter.most();
        Some(Self { parts: filter.parts()?, gains, spread, most })
    }
}

/// Adds up children of several shapes, by the parts of their covariances and how many have them: the parts of the covariance of their
/// sum, and what each is where that is given. The mean of the children of a shape is measured by the sum, with the others for noise; each
/// is off from that mean.
fn family(children: &[(&[f64], f64)], n: usize) -> (Vec<f64>, Vec<Given>) {
    let mut after = vec![Vec::new(); children.len() + 1];
    for (at, (parts, number)) in children.iter().enumerate().rev() {
        after[at] = gathered(after[at + 1].iter().copied().chain(times(parts, libm::sqrt(*number))), n);
    }
    let mut before = Vec::new();
    let given = |(&(parts, number), after): (&(&[f64], f64), &Vec<f64>)| {
        let root = libm::sqrt(number);
        let mut stack = Stack::new(2 * n, n);
        for part in before.chunks_exact(n).chain(after.chunks_exact(n)) {
            stack.add(part.iter().copied().chain(std::iter::repeat_n(0.0, n)));
        }
        for part in parts.chunks_exact(n) {
            stack.add(part.iter().map(|x| root * x).chain(part.iter().map(|x| x / root)));
        }
        let triangle = stack.triangle();
        before = gathered(std::mem::take(&mut before).into_iter().chain(times(parts, root)), n);
        let off = times(parts, libm::sqrt((number - 1.0) / number));
        Given { moves: triangle.moves(n), parts: gathered(off.into_iter().chain(triangle.left(n)), n) }
    };
    let given = children.iter().zip(&after[1..]).map(given).collect();
    (after.swap_remove(0), given)
}
