//! Down a tree of tables: tables of integers >= 0 that sum to their area's, from the root to the leaves.
//!
//! What is settled at once of the children of an area is a `stage`: the tables, or before them the answers of a query; their estimates are
//! in `standing`. `support` is where an area has anything; `shape` what is known of its children there, as matrices of the kind of
//! `operator`; `fit` their tables as reals, `columns` a step of that, `limits` bounds of their sums; `rounding` as integers, by sets of
//! cells that nest.

mod columns;
mod fit;
mod limits;
mod operator;
mod rounding;
mod shape;
mod stage;
mod standing;
mod support;
#[cfg(test)]
mod tests;

use self::stage::{Kept, Settled, Stage};
use self::standing::Standing;
use super::bounds::Bounds;
use super::gls::{Gls, Tables};
use super::measurements::Measurements;
use super::subtrees::{Cut, cut, ranges};
use super::sweep::{Answers, Risen, Scratch};
use super::variance::Variances;
use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::imaging::FlowScratch;
use crate::invariant::Hierarchy;
use crate::rng::Rng;
use std::ops::Range;

/// A table of integers: the cells that are not 0, ascending by their places in the domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Places in the domain.
    pub places: Vec<u32>,
    /// Their counts, more than 0.
    pub counts: Vec<i64>,
}

/// How close tables are to those that fit best, before they are rounded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Certificate {
    /// By how much the sum of squares of the children of one area is above the least, at most, as a part of it (of 0.2, if it is less): the
    /// largest of all areas.
    pub gap: f64,
    /// Rounds that one area took at most.
    pub rounds: usize,
}

/// Tables of integers >= 0 from the root down: those of the children of an area are the non-negative least-squares fit to their estimates,
/// by the inverses of these' covariances, that sums to the area's table cell by cell and has what is known; then the closest integers.
///
/// - **TopDown** (Abowd et al. 2022): the estimate of an area is that of its own answers.
/// - **BlueDown** (Ghazi, Kamath, Manurangsi, Sealfon 2026, arXiv 2603.10099): that of all answers in its subtree.
///
/// The fit is found without a solver, and comes with a proof of how close it is ([`Certificate`]). Of the integers every cell, and every
/// sum of cells of the queries that nest, in the order of the queries, is the real number rounded down or up; of those they are closest in
/// L1 by cells. With a table of one cell these are [`crate::imaging::TopDown`] and [`crate::imaging::BlueDown`].
///
/// # Examples
///
/// ```
/// use congenial_core::Alone;
/// use congenial_core::cube::{Answers, Descent, Domain, Marginal, Measurements, Query};
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::rng::{Role, TaskKey, piece_stream};
///
/// // Two districts of a town, each by sex: tables are measured, and the town's is known.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let domain = Domain::new(&[2], &[], &[Query::of(&[0])])?;
/// let queries = vec![Marginal::new(&domain, &Query::of(&[0]))];
/// let measurements = Measurements::new(&domain, queries, vec![vec![Some(0.0)], vec![Some(1.0)]])?;
/// let noisy = [[5.0, 4.0], [6.0, 1.0], [-3.0, 2.0]];
/// let measure = |v: usize, answers: &mut Answers| answers.of[0].copy_from_slice(&noisy[v]);
/// let key = TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise };
/// let (tables, certificate) = Descent::topdown(&tree, measurements)?.release(
///     &Alone,
///     0,
///     measure,
///     |v| piece_stream(key, 0, v as u32),
///     |tables: &mut Vec<_>, v, table| Ok(tables.push((v, table.clone()))),
/// )?;
/// let counts: Vec<_> = tables.concat().into_iter().map(|(v, table)| (v, table.places, table.counts)).collect();
/// assert_eq!(counts[0], (0, vec![0, 1], vec![5, 4]));
/// assert_eq!(counts[1].2[0], 5); // 6 against -3, of 5: the first has all.
/// assert!(certificate.gap <= 1e-6);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Descent {
    tree: Hierarchy,
    from: Source,
    /// By query, on how many levels it is known.
    known: Vec<usize>,
    /// Queries that are settled before the tables.
    passes: Vec<usize>,
    bounds: Option<Bounds>,
    /// What is settled of an area's children one after the other; the tables last.
    stages: Vec<Stage>,
    /// By coefficient of the free attributes its kind.
    kinds: Vec<usize>,
}

/// What the tables of children are fitted to.
#[derive(Debug)]
enum Source {
    /// By level, the estimate of an area from its own answers.
    Own(Vec<Gls>),
    /// The estimates from subtrees.
    Subtrees(Box<Gls>),
}

impl Descent {
    /// TopDown. `measurements`: of as many levels as the tree has.
    ///
    /// Refused: another number of levels; a level whose tables do not follow from what is measured there; queries that are known on a level
    /// and not on one above; known queries that do not nest.
    pub fn topdown(tree: &Hierarchy, measurements: Measurements) -> Result<Self> {
        tree.check_one_per_level("variances", measurements.levels())?;
        let one = Hierarchy::from_parents(&[0])?;
        let known = known(&measurements)?;
        let own = |level: usize| {
            let refused = |e| match e {
                Error::Parameter { .. } => Error::parameter("queries of level", level, WANTED),
                other => other,
            };
            Gls::new(&one, measurements.on(level)).map_err(refused)
        };
        let own = (0..measurements.levels()).map(own).collect::<Result<_>>()?;
        Self::from(tree, Source::Own(own), known)
    }

    /// BlueDown.
    ///
    /// Refused: as [`Gls::new`]; queries that are known on a level and not on one above; known queries that do not nest.
    pub fn bluedown(tree: &Hierarchy, measurements: Measurements) -> Result<Self> {
        let known = known(&measurements)?;
        Self::from(tree, Source::Subtrees(Box::new(Gls::new(tree, measurements)?)), known)
    }

    fn from(tree: &Hierarchy, from: Source, known: Vec<usize>) -> Result<Self> {
        let (passes, stages) = Default::default();
        let mut own =
            Self { tree: tree.clone(), from, known, passes, bounds: None, stages, kinds: Vec::new() };
        let runs = &own.gls(0).runs;
        own.kinds = runs.iter().flat_map(|&(from, to, kind)| std::iter::repeat_n(kind, to - from)).collect();
        own.stage()
    }

    /// Settles the answers of queries first, one query after the other, and then the tables given these.
    ///
    /// Of each query the answers of an area's children are the non-negative least-squares fit to what is estimated of them given those
    /// before it, and then integers, as the tables are without passes. TopDown has the total first, so that what small counts gain by not
    /// being negative is not taken from the totals (Abowd et al. 2022, section 5).
    ///
    /// - `queries`: each finer than those before it: every answer of these is a sum of its own.
    ///
    /// Refused: queries that are not there, or not finer than those before; queries that are known on some level, and neither sums of a
    /// pass's answers nor such that these are sums of theirs; queries that have bounds and are no sums of the first pass's answers.
    pub fn passing(mut self, queries: &[usize]) -> Result<Self> {
        let Measurements { domain, queries: all, .. } = &self.gls(0).measurements;
        let finer = |own: usize, other: usize| own != other && all[other].on(&all[own], domain).is_some();
        for (place, &query) in queries.iter().enumerate() {
            if query >= all.len() || !queries[..place].iter().all(|&other| finer(query, other)) {
                let got = format!("query {}", query + 1);
                return Err(Error::parameter(
                    "passes",
                    got,
                    "queries that are there, each finer than those before it",
                ));
            }
        }
        self.passes = queries.to_vec();
        self.stage()
    }

    /// Keeps bounds, too.
    ///
    /// Every area has tables within its bounds, whatever is released above it, where below the root no answer that has bounds holds another
    /// that has or is known, or is part of one that is known. Else what some areas need together can be more than their parent has; then
    /// [`Descent::release`] finds no tables.
    ///
    /// Refused: queries that have bounds and cross each other, or one that is known; and, where queries are settled first, those that are
    /// no sums of the first's answers.
    pub fn bounded(mut self, bounds: Bounds) -> Result<Self> {
        self.bounds = Some(bounds);
        self.stage()
    }

    /// What is settled one after the other.
    fn stage(mut self) -> Result<Self> {
        let whole = &self.gls(0).measurements;
        let bounded = self.bounds.as_ref().map_or(&[][..], Bounds::queries);
        if let Some(&first) = self.passes.first() {
            let is_finer =
                |query: &&usize| whole.queries[**query].on(&whole.queries[first], &whole.domain).is_none();
            if let Some(query) = bounded.iter().find(is_finer) {
                let got = format!("bounds of query {}, and query {} before it", query + 1, first + 1);
                return Err(Error::parameter("passes", got, "bounds of sums of the first pass's answers"));
            }
        }
        // The levels of the tree: of one level's own measurements there is one.
        let levels = self.tree.levels();
        let whole = Measurements::new(
            &whole.domain,
            whole.queries.clone(),
            vec![vec![None; whole.queries.len()]; levels],
        )?;
        let stage = |(place, query): (usize, Option<usize>)| {
            let bounded = if place == 0 || query.is_none() { bounded } else { &[] };
            Stage::new(&whole, query, &Kept { known: &self.known, bounded, before: &self.passes[..place] })
        };
        let queries = self.passes.iter().map(|&query| Some(query)).chain([None]).enumerate();
        self.stages = queries.map(stage).collect::<Result<_>>()?;
        Ok(self)
    }

    /// The variances of the estimates as a user may take them to be the errors: of TopDown those of the estimates from an area's own
    /// answers, of BlueDown those of the best linear estimates ([`Gls::each_variances`]). Given areas that have the same.
    pub fn each_variances(&self, mut see: impl FnMut(&[usize], &Variances)) {
        match &self.from {
            Source::Subtrees(gls) => gls.each_variances(see),
            Source::Own(own) => {
                for (level, gls) in own.iter().enumerate() {
                    let areas: Vec<usize> =
                        (0..self.tree.nodes()).filter(|&v| self.tree.level(v) == level).collect();
                    see(&areas, &gls.variances(&[(0, 1.0)]));
                }
            }
        }
    }

    /// What is measured of a level.
    fn gls(&self, level: usize) -> &Gls {
        match &self.from {
            Source::Own(own) => &own[level],
            Source::Subtrees(gls) => gls,
        }
    }

    /// Makes the release, in subtrees that are cut alike on all machines.
    ///
    /// - `crew`: who does it.
    /// - `keep`: numbers that may be held at once beside the tables above the subtrees.
    /// - `measure`: writes the noisy answers of a node, each query's as long as [`super::Marginal::answers`] says; called twice for some
    ///   nodes, with the same answers.
    /// - `ties`: the stream by which ties among the children of a node are broken; of the root itself, the one for the number of nodes.
    /// - `see`: is given the tables of the nodes of a subtree one after the other, parents first; what it makes of them is handed back,
    ///   that of the nodes above the subtrees first.
    ///
    /// Errors: those of `see`; children of an area for whom no tables are found.
    pub fn release<R: Default + Send, S: Rng>(
        &self,
        crew: &dyn Crew,
        keep: usize,
        measure: impl Fn(usize, &mut Answers) + Sync + Send,
        ties: impl Fn(usize) -> S + Sync + Send,
        see: impl Fn(&mut R, usize, &Table) -> Result<()> + Sync + Send,
    ) -> Result<(Vec<R>, Certificate)> {
        let cells = self.gls(0).measurements.domain.cells();
        let Risen { above, held, tables, subtrees } = match &self.from {
            Source::Subtrees(gls) => gls.rise(crew, keep, &measure),
            Source::Own(_) => {
                let Cut { above, roots, held } = cut(&self.tree, cells);
                let subtrees = roots.into_iter().map(|root| (root, Vec::new())).collect();
                Risen { above, held, tables: Vec::new(), subtrees }
            }
        };
        let place = |v: usize| held.binary_search(&v).expect("it is held");
        let mut scratch = DescentScratch::default();
        let mut results = vec![R::default()];
        let mut certificate = Certificate::default();
        let mut released = vec![Table::default(); held.len()];
        let estimates = |nodes: Range<usize>, scratch: &mut DescentScratch| {
            scratch.estimates.clear();
            match tables.is_empty() {
                true => self.estimate(nodes, &measure, scratch),
                false => scratch
                    .estimates
                    .extend_from_slice(&tables[place(nodes.start) * cells..][..nodes.len() * cells]),
            }
        };
        estimates(0..1, &mut scratch);
        let root = self.family(0..1, None, &mut ties(self.tree.nodes()), &mut scratch);
        let root = root.map_err(|e| e.in_area(0))?;
        released[0] = root.tables.into_iter().next().expect("there is a root");
        certificate.add(root.certificate);
        // Families of one level do not depend on each other.
        for level in above.chunk_by(|a, b| self.tree.level(*a) == self.tree.level(*b)) {
            let families = crew.each(level.to_vec(), |scratch: &mut DescentScratch, v: usize| {
                let children = self.tree.children(v);
                estimates(children.clone(), scratch);
                self.family(children, Some(&released[place(v)]), &mut ties(v), scratch)
            });
            for (&v, family) in level.iter().zip(families) {
                let family = family.map_err(|e| among_children(v, e))?;
                certificate.add(family.certificate);
                for (child, table) in self.tree.children(v).zip(family.tables) {
                    released[place(child)] = table;
                }
            }
        }
        for &v in &above {
            self.check(v, &released[place(v)])?;
            see(&mut results[0], v, &released[place(v)])?;
        }
        let down = |scratch: &mut DescentScratch, (root, levels): (usize, Vec<Vec<f64>>)| {
            let mut result = R::default();
            let certificate =
                self.down((root, &released[place(root)], levels), &measure, &ties, scratch, |v, table| {
                    see(&mut result, v, table)
                })?;
            Ok((result, certificate))
        };
        for done in crew.each(subtrees, down) {
            let (result, own): (R, Certificate) = done?;
            results.push(result);
            certificate.add(own);
        }
        Ok((results, certificate))
    }

    /// The tables of a subtree's nodes from its root's, each of which is seen.
    fn down<S: Rng>(
        &self,
        (root, table, levels): (usize, &Table, Vec<Vec<f64>>),
        measure: &(impl Fn(usize, &mut Answers) + Sync + Send),
        ties: &impl Fn(usize) -> S,
        scratch: &mut DescentScratch,
        mut see: impl FnMut(usize, &Table) -> Result<()>,
    ) -> Result<Certificate> {
        let cells = self.gls(0).measurements.domain.cells();
        let ranges = ranges(&self.tree, root);
        let mut certificate = Certificate::default();
        match &self.from {
            Source::Subtrees(gls) if levels.is_empty() && ranges.len() > 1 => {
                gls.up(root, measure, &mut scratch.sweep)
            }
            Source::Subtrees(_) => scratch.sweep.levels = levels,
            Source::Own(_) => {}
        }
        let mut own = vec![table.clone()];
        for (depth, range) in ranges.iter().enumerate() {
            let mut below = Vec::new();
            for (v, table) in range.clone().zip(&own) {
                self.check(v, table)?;
                see(v, table)?;
                let children = self.tree.children(v);
                if children.is_empty() {
                    continue;
                }
                scratch.estimates.clear();
                match &self.from {
                    Source::Own(_) => self.estimate(children.clone(), measure, scratch),
                    Source::Subtrees(_) => {
                        let first = children.start - ranges[depth + 1].start;
                        let family =
                            &scratch.sweep.levels[depth + 1][first * cells..][..children.len() * cells];
                        scratch.estimates.extend_from_slice(family);
                    }
                }
                let family = self
                    .family(children, Some(table), &mut ties(v), scratch)
                    .map_err(|e| among_children(v, e))?;
                certificate.add(family.certificate);
                below.extend(family.tables);
            }
            own = below;
        }
        Ok(certificate)
    }

    /// The estimates of nodes from their own answers, behind what is there of the estimates.
    fn estimate(
        &self,
        nodes: Range<usize>,
        measure: &impl Fn(usize, &mut Answers),
        scratch: &mut DescentScratch,
    ) {
        let gls = self.gls(self.tree.level(nodes.start));
        let cells = gls.measurements.domain.cells();
        for v in nodes {
            let from = scratch.estimates.len();
            scratch.estimates.resize(from + cells, 0.0);
            let own = |_: usize, answers: &mut Answers| measure(v, answers);
            gls.combine(0, &mut scratch.estimates[from..], &own, &mut scratch.sweep);
        }
    }

    /// What is known of a node's table by its estimate.
    fn tables(&self, v: usize) -> (u32, &[Tables]) {
        match &self.from {
            Source::Own(own) => (0, own[self.tree.level(v)].tables(0)),
            Source::Subtrees(gls) => (gls.shapes.of_node[v], gls.tables(v)),
        }
    }

    /// The tables of the children of a node, by its own and their estimates in `scratch`; of the root alone without one.
    fn family(
        &self,
        nodes: Range<usize>,
        parent: Option<&Table>,
        ties: &mut impl Rng,
        scratch: &mut DescentScratch,
    ) -> Result<Settled> {
        if let Some(table) = parent.filter(|table| table.places.is_empty() || nodes.len() == 1) {
            let tables = vec![table.clone(); nodes.len()];
            return Ok(Settled { tables, certificate: Certificate::default() });
        }
        let level = self.tree.level(nodes.start);
        let mut standing = self.standing(nodes.clone(), std::mem::take(&mut scratch.estimates));
        let mut certificate = Certificate::default();
        let mut tables = Vec::new();
        for (place, stage) in self.stages.iter().enumerate().filter(|(_, stage)| !stage.is_idle(level)) {
            let bounds = self.bounds.as_ref().filter(|_| place == 0);
            let settled = stage.settle(
                (level, nodes.clone()),
                parent,
                &standing,
                bounds,
                (&mut *ties, &mut *scratch),
            )?;
            certificate.add(settled.certificate);
            if let Some(query) = &stage.query {
                standing.know(query, &settled.tables, &self.kinds);
            }
            tables = settled.tables;
        }
        scratch.estimates = standing.estimates;
        Ok(Settled { tables, certificate })
    }

    /// The estimates of nodes with their covariances. `estimates`: their coefficients.
    fn standing(&self, nodes: Range<usize>, estimates: Vec<f64>) -> Standing {
        let joint = self.gls(0).measurements.domain.joint();
        let (mut kinds, mut covariances, mut of): (Vec<u32>, Vec<_>, Vec<u32>) = Default::default();
        for v in nodes {
            let (kind, tables) = self.tables(v);
            let known = kinds.iter().position(|own| *own == kind);
            of.push(known.unwrap_or(kinds.len()) as u32);
            if known.is_none() {
                kinds.push(kind);
                covariances.push(tables.iter().map(|own| own.covariance(joint)).collect());
            }
        }
        Standing { covariances, of, estimates, joint }
    }

    /// A table that is within its node's bounds. Errors: it is not.
    fn check(&self, v: usize, table: &Table) -> Result<()> {
        match (&self.bounds, self.stages.last()) {
            (Some(bounds), Some(stage)) => stage.check(bounds, v, table),
            _ => Ok(()),
        }
    }
}

/// What a thread uses again and again.
#[derive(Default)]
struct DescentScratch {
    sweep: Scratch,
    /// The coefficients of the estimates of a family.
    estimates: Vec<f64>,
    integers: Vec<i64>,
    flow: FlowScratch,
}

impl Certificate {
    fn add(&mut self, other: Self) {
        self.gap = self.gap.max(other.gap);
        self.rounds = self.rounds.max(other.rounds);
    }
}

/// An error in the children of a node.
fn among_children(v: usize, error: Error) -> Error {
    match error {
        Error::NotConverged { what, residuals } => {
            Error::NotConverged { what, residuals: format!("among the children: {residuals}") }.in_area(v)
        }
        Error::InArea { .. } => error,
        other => other.in_area(v),
    }
}

const WANTED: &str = "queries from which every cell of a table follows, such as the detailed table";

/// By query on how many levels it is known, from the root's on. Errors: what is known on a level and not on one above.
fn known(measurements: &Measurements) -> Result<Vec<usize>> {
    let queries = 0..measurements.queries.len();
    for query in queries.clone() {
        if let Some(level) = (1..measurements.levels())
            .find(|&level| measurements.is_known(level, query) && !measurements.is_known(level - 1, query))
        {
            let got = format!("query {} is known on level {} and not above", query + 1, level + 1);
            return Err(Error::parameter(
                "known queries",
                got,
                "what is known on a level, known on all above",
            ));
        }
    }
    let levels = |query: usize| {
        (0..measurements.levels()).take_while(|&level| measurements.is_known(level, query)).count()
    };
    Ok(queries.map(levels).collect())
}
