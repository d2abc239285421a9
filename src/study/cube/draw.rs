//! The draws of a cell: noise on every answer of every area, what is made of it, and its errors.

use super::areas::{Areas, Filled};
use super::config::{Point, Way};
use super::exact::{DETAILED, Exact};
use super::{CubeDrawRow, Planned};
use super::{bootstrap, descent};
use crate::catalogue::{LawKind, noise};
use crate::config::tables::{Asked, Measured, shares};
use crate::cube::{Answers, Certificate, Descent, Estimate, Gls, Measurements, Table, Variances};
use crate::engine::{Drawn, Pool, Prepared, encode};
use crate::invariant::Hierarchy;
use crate::law::Sampler;
use crate::methods::{IntegerNoise, OnLaw, RealNoise};
use crate::privacy::{Budget, Split};
use crate::rng::{Role, Stream, TaskKey, piece_stream};
use crate::study::release::{size, size_words};
use crate::table::Key;
use crate::{Crew, Error, Result};
use std::ops::Range;

/// The smallest total of the areas of each size.
const SIZES: [i64; 7] = [0, 1, 10, 100, 1000, 10_000, 100_000];
/// Numbers of tables that are held at once: 512 MiB.
const KEEP: usize = 1 << 26;
/// Half a 90 % interval in standard deviations, by the normal law; what it may miss by rounding.
const HALF: f64 = 1.644_853_626_951_472_7;
const MISSED: f64 = 1e-6;
/// Errors of what is known are 0 but for this part of the others.
const ROUNDING: f64 = 1e-7;
/// Cells whose trees one thread draws at once.
const CELLS: usize = 8;
/// Areas whose free noise one thread draws at once.
const BATCH: usize = 256;

/// Writes noise.
type Fill = Box<dyn Fn(&mut Stream, &mut [f64]) + Send + Sync>;

/// The noise of a law at a scale.
struct Scaled(f64);

impl OnLaw for Scaled {
    type Output = Fill;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Fill> {
        let sampler = law(self.0)?.sampler();
        Ok(Box::new(move |rng, out| out.iter_mut().for_each(|z| *z = sampler.draw(rng) as f64)))
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<Fill> {
        let sampler = law(self.0)?.sampler();
        Ok(Box::new(move |rng, out| out.iter_mut().for_each(|z| *z = sampler.draw(rng))))
    }

    fn euclidean(self, _: fn(f64) -> Result<crate::law::EuclideanLaplace>) -> Result<Fill> {
        Err(Error::parameter("law", "l2", "one that is a product over answers"))
    }
}

/// Sums over the answers of a query in the areas of a level and a size.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    answers: u64,
    absolute: f64,
    square: f64,
    sum: f64,
    covered: u64,
}

/// A cell that is ready.
pub(super) struct Ready<'a> {
    planned: &'a Planned,
    cell: u64,
    /// How often the tables of a replicate are released again.
    bootstrap: Option<u64>,
    measurements: Measurements,
    /// By query and level, the scale of its noise where it has any.
    pub(super) scales: Vec<Vec<Option<f64>>>,
    made: Made,
    deviations: Deviations,
    /// The largest standard deviation of the noise: what is rounded is as large.
    widest: f64,
    /// By level, by query.
    fill: Vec<Vec<Option<Fill>>>,
}

/// What is made of the noisy answers.
enum Made {
    Free,
    Gls(Box<Gls>),
    Exact(Exact),
    Descent(Box<Descent>),
}

/// The standard deviations of answers: by level of free noise, else by node; by query, and by its answers that are alike.
#[derive(Debug)]
struct Deviations {
    of: Vec<f64>,
    /// By query, where its own begin; how many there are of all.
    first: Vec<usize>,
    all: usize,
}

impl Deviations {
    fn new(nodes: usize, measurements: &Measurements, made: &Made) -> Self {
        let queries = measurements.queries();
        let (mut first, mut all) = (Vec::new(), 0);
        for marginal in queries {
            first.push(all);
            all += marginal.alike().count();
        }
        let mut of = Vec::new();
        let mut of_areas = |areas: &[usize], variances: &Variances| {
            let alike = queries.iter().flat_map(|query| query.alike().map(move |own| (query, own.0)));
            let deviation = |(query, answer)| libm::sqrt(variances.answer(query, answer));
            let own: Vec<f64> = alike.map(deviation).collect();
            of.resize(nodes * all, 0.0);
            areas.iter().for_each(|v| of[v * all..][..all].copy_from_slice(&own));
        };
        match made {
            Made::Gls(gls) => gls.each_variances(of_areas),
            Made::Descent(descent) => descent.each_variances(&mut of_areas),
            Made::Exact(exact) => {
                of.extend(exact.deviations.iter().flat_map(|&own| std::iter::repeat_n(own, all)));
            }
            Made::Free => {
                for level in 0..measurements.levels() {
                    let mut own = vec![0.0; queries.len()];
                    measurements
                        .of_level(level)
                        .for_each(|(query, variance)| own[query] = libm::sqrt(variance));
                    let alike = queries
                        .iter()
                        .zip(own)
                        .flat_map(|(marginal, own)| marginal.alike().map(move |_| own));
                    of.extend(alike);
                }
            }
        }
        Self { of, first, all }
    }
}

/// The error of what is known of an area and is not there.
fn missing(v: usize, residual: impl ToString) -> Error {
    let residual = residual.to_string();
    Error::InvariantViolated { place: "what is known of it".into(), residual }.in_area(v)
}

/// Whether every cell of a leaf's table follows from what is measured or known of it.
pub(super) fn is_determined(planned: &Planned) -> bool {
    let areas = &planned.areas;
    let last = areas.list.tree.levels() - 1;
    let variances = vec![planned.queries().iter().map(|asked| descent::unit(asked, last)).collect()];
    let measurements = Measurements::new(&areas.domain, areas.queries.clone(), variances);
    let leaf = Hierarchy::from_parents(&[0]);
    measurements.and_then(|measurements| Gls::new(&leaf?, measurements)).is_ok()
}

/// By query and level the scale of what is measured. Errors: scales out of range.
pub(super) fn scales(planned: &Planned, point: &Point) -> Result<Vec<Vec<Option<f64>>>> {
    let shares = given(planned.queries());
    let measured = shares.len();
    let all = budget(point, Split::Shares(shares)).calibrate(measured)?.scales;
    all.iter().try_for_each(|&scale| variance(point.law, scale).map(drop))?;
    let mut scales = all.into_iter();
    let mut scale = |measured: &Measured| match measured {
        Measured::Share(_) => scales.next(),
        _ => None,
    };
    let each = planned.queries().iter();
    Ok(each.map(|asked| asked.measured.iter().map(&mut scale).collect()).collect())
}

/// By level and query the variances of what is measured, 0 of what is known. `scales`: as [`scales`] gives them. Errors: out of range.
pub(super) fn variances(
    planned: &Planned,
    point: &Point,
    scales: &[Vec<Option<f64>>],
) -> Result<Vec<Vec<Option<f64>>>> {
    let own = |level: usize| {
        let of_query = |(asked, scales): (&Asked, &Vec<Option<f64>>)| match asked.measured[level] {
            Measured::Known => Ok(Some(0.0)),
            _ => scales[level].map(|scale| variance(point.law, scale)).transpose(),
        };
        planned.queries().iter().zip(scales).map(of_query).collect()
    };
    (0..planned.areas.list.tree.levels()).map(own).collect()
}

/// The shares that are given, which add up to 1 in as many digits as they were written with.
pub(super) fn given(queries: &[Asked]) -> Vec<f64> {
    let sum: f64 = shares(queries).sum();
    shares(queries).map(|share| share / sum).collect()
}

pub(super) fn budget(point: &Point, split: Split) -> Budget {
    let guarantee = point.law.guarantee(point.delta);
    Budget { epsilon: point.epsilon, guarantee, sensitivity: 1.0, split }
}

/// The variance of noise. Errors: out of range.
pub(super) fn variance(law: LawKind, scale: f64) -> Result<f64> {
    let variance = noise(law, scale).map_or(f64::NAN, |noise| noise.variance());
    match Measurements::has_range(variance) {
        true => Ok(variance),
        false => {
            let got = format!("{variance:e}");
            Err(Error::parameter("epsilon: variance of the noise", got, "a number from 2^-300 to 2^300"))
        }
    }
}

impl<'a> Ready<'a> {
    /// Errors: scales out of range; queries from which not every cell follows; tables that do not fit.
    pub(super) fn new(planned: &'a Planned, cell: usize) -> Result<Self> {
        Self::with(planned, cell, planned.config.points[cell].method)
    }

    /// The cell with its noise alone. Errors: scales out of range.
    pub(super) fn free(planned: &'a Planned, cell: usize) -> Result<Self> {
        Self::with(planned, cell, Way::Unconstrained)
    }

    fn with(planned: &'a Planned, cell: usize, method: Way) -> Result<Self> {
        let (point, areas) = (&planned.config.points[cell], &planned.areas);
        let scales = scales(planned, point)?;
        let levels = areas.list.tree.levels();
        let mut fill: Vec<Vec<Option<Fill>>> = (0..levels).map(|_| Vec::new()).collect();
        for scales in &scales {
            for (fill, scale) in fill.iter_mut().zip(scales) {
                fill.push(scale.map(|scale| LawKind::on(point.law, Scaled(scale))).transpose()?);
            }
        }
        let mut variances = variances(planned, point, &scales)?;
        if method.is_descent() {
            descent::complete(&mut variances);
        }
        let measurements = Measurements::new(&areas.domain, areas.queries.clone(), variances)?;
        let key = planned.units[cell].key;
        let made = match method {
            Way::Gls => Made::Gls(Box::new(Gls::new(&areas.list.tree, measurements.clone())?)),
            Way::Exact => Made::Exact(Exact::new(planned, point, &scales, key)?),
            Way::Unconstrained => Made::Free,
            Way::TopDown | Way::BlueDown => {
                let made = descent::descent(&areas.list.tree, measurements.clone(), method)?;
                let made = descent::keeping(made, &point.passes, planned.bounds.as_ref())?;
                Made::Descent(Box::new(made))
            }
        };
        let deviations = Deviations::new(areas.list.tree.nodes(), &measurements, &made);
        let bootstrap = point.bootstrap;
        let widest = measurements.variances().iter().flatten().flatten().fold(0.0, |a: f64, b| a.max(*b));
        let widest = libm::sqrt(widest);
        Ok(Self { planned, cell: key, bootstrap, measurements, scales, made, deviations, widest, fill })
    }

    pub(super) fn areas(&self) -> &Areas {
        &self.planned.areas
    }

    pub(super) fn tree(&self) -> &Hierarchy {
        &self.areas().list.tree
    }

    /// What the answers of a node and a query are told with.
    pub(super) fn place(&self, v: usize, query: usize) -> usize {
        let size = size(&SIZES, self.areas().totals[v]);
        (self.tree().level(v) * self.planned.queries().len() + query) * SIZES.len() + size
    }

    pub(super) fn places(&self) -> usize {
        self.tree().levels() * self.planned.queries().len() * SIZES.len()
    }

    /// The key of a replicate's noise.
    pub(super) fn key(&self, replicate: u64) -> TaskKey {
        TaskKey { seed: self.planned.config.seed, cell: self.cell, replicate, role: Role::Noise }
    }

    /// What is measured of a node by a replicate: by query its noisy answers; empty where it is not measured.
    pub(super) fn released(&self, replicate: u64, v: usize, answers: &mut Answers) {
        answers.prepare(&self.measurements, self.tree().level(v));
        self.measure(self.key(replicate), v, answers);
        self.areas().answer(v, &mut answers.of);
    }

    /// Writes the noise of a node's answers: by a stream of its own, so that it is the same whoever asks and how often.
    fn measure(&self, key: TaskKey, v: usize, answers: &mut Answers) {
        let level = self.tree().level(v);
        let mut rng = piece_stream(key, level as u32, v as u32);
        for (query, (fill, own)) in self.fill[level].iter().zip(&mut answers.of).enumerate() {
            if let Some(fill) = fill {
                fill(&mut rng, own);
                // What is known by levels below has no noise.
                if self.measurements.is_known(level, query) {
                    own.fill(0.0);
                }
            }
        }
    }

    fn see(&self, sums: &mut Vec<Sums>, (v, query): (usize, usize), mut errors: &[f64]) {
        sums.resize(self.places(), Sums::default());
        let own = &mut sums[self.place(v, query)];
        own.answers += errors.len() as u64;
        for (deviation, number) in self.deviations(v, query) {
            let half = HALF * deviation + MISSED;
            let (these, rest) = errors.split_at(number.min(errors.len()));
            errors = rest;
            for error in these {
                own.absolute += error.abs();
                own.square += error * error;
                own.sum += error;
                own.covered += u64::from(error.abs() <= half);
            }
        }
    }

    /// The standard deviations of a node's answers to a query, each with how many have it.
    fn deviations(&self, v: usize, query: usize) -> impl Iterator<Item = (f64, usize)> {
        let Deviations { of, first, all } = &self.deviations;
        let at = if let Made::Free = self.made { self.tree().level(v) } else { v };
        let alike = self.measurements.queries()[query].alike();
        alike.zip(&of[at * all + first[query]..]).map(|((_, number), deviation)| (*deviation, number))
    }

    /// The errors of an estimate's answers. Errors: what is known is missed, by more than rounding.
    fn see_estimate(&self, seen: &mut (Vec<Sums>, Vec<f64>), v: usize, estimate: &Estimate) -> Result<()> {
        let (sums, errors) = seen;
        let (mut largest, mut missed) = (0.0f64, 0.0f64);
        for (query, marginal) in self.measurements.queries().iter().enumerate() {
            estimate.answers(marginal, errors);
            self.see(sums, (v, query), errors);
            let own = errors.iter().fold(0.0, |most: f64, error| most.max(error.abs()));
            largest = largest.max(own);
            if self.planned.queries()[query].measured[self.tree().level(v)] == Measured::Known {
                missed = missed.max(own);
            }
        }
        match missed <= ROUNDING * (1.0 + largest + self.widest) {
            true => Ok(()),
            false => Err(missing(v, missed)),
        }
    }

    /// The errors of a table's answers. Errors: what is known is not there.
    fn see_table(
        &self,
        (sums, errors): &mut (Vec<Sums>, Vec<Vec<f64>>),
        v: usize,
        table: &Table,
    ) -> Result<()> {
        self.areas().errors(v, table, &self.areas().cells, errors);
        for (query, own) in errors.iter().enumerate() {
            self.see(sums, (v, query), own);
        }
        let is_known = |query: usize| self.measurements.is_known(self.tree().level(v), query);
        let misses = |own: &Vec<f64>| own.iter().any(|error| *error != 0.0);
        match errors.iter().enumerate().any(|(query, own)| is_known(query) && misses(own)) {
            false => Ok(()),
            true => Err(missing(v, "some counts")),
        }
    }

    /// The stream that breaks ties among the children of a node, or for the number of nodes of the root: none that makes noise.
    fn ties(&self, key: TaskKey, v: usize) -> Stream {
        piece_stream(key, self.tree().levels() as u32, v as u32)
    }

    /// Releases tables of the cells of leaves.
    pub(super) fn release<R: Default + Send>(
        &self,
        descent: &Descent,
        key: TaskKey,
        cells: &[Filled],
        see: impl Fn(&mut R, usize, &Table) -> Result<()> + Sync + Send,
    ) -> Result<(Vec<R>, Certificate)> {
        let measured = |v: usize, answers: &mut Answers| {
            self.measure(key, v, answers);
            self.areas().answer_of(v, cells, &mut answers.of);
        };
        descent.release(&Pool, KEEP, measured, |v| self.ties(key, v), see)
    }

    /// The errors of exact draws: of all cells, some at a time. Errors: the sampler.
    fn exact_errors(&self, exact: &Exact, replicate: u64) -> Result<Vec<Vec<Sums>>> {
        let cells = self.areas().domain.cells() as u64;
        let batches = (0..cells).step_by(CELLS).map(|from| from..(from + CELLS as u64).min(cells)).collect();
        let crew: &dyn Crew = &Pool;
        let draw = |(): &mut (), batch: Range<u64>| {
            let mut sums = Vec::new();
            exact.draw(replicate, batch, |error| {
                for v in 0..self.tree().nodes() {
                    self.see(&mut sums, (v, DETAILED), &[error(v)]);
                }
            })?;
            Ok(sums)
        };
        crew.each(batches, draw).into_iter().collect()
    }

    /// Whether a query has answers on a level: of an estimate every query has, else those that are measured.
    fn has_answers(&self, level: usize, query: usize) -> bool {
        matches!(self.made, Made::Gls(_) | Made::Descent(_)) || self.measurements.is_measured(level, query)
    }

    /// The errors of a replicate, by level, query and size, and how close tables of integers are to those that fit best before they are
    /// rounded. Errors: an estimate that does not add up, or misses what is known.
    fn errors(&self, replicate: u64) -> Result<(Vec<Sums>, Option<Certificate>)> {
        let key = self.key(replicate);
        let measure = |v: usize, answers: &mut Answers| self.measure(key, v, answers);
        let crew: &dyn Crew = &Pool;
        let mut certificate = None;
        let parts: Vec<Vec<Sums>> = match &self.made {
            Made::Descent(descent) => {
                let see = |seen: &mut _, v: usize, table: &Table| self.see_table(seen, v, table);
                let (parts, own) = self.release(descent, key, &self.areas().cells, see)?;
                certificate = Some(own);
                parts.into_iter().map(|(sums, _)| sums).collect()
            }
            Made::Gls(gls) => {
                let see = |seen: &mut _, v: usize, estimate: &Estimate| self.see_estimate(seen, v, estimate);
                gls.estimate(crew, KEEP, measure, see)?.into_iter().map(|(sums, _)| sums).collect()
            }
            Made::Exact(exact) => self.exact_errors(exact, replicate)?,
            Made::Free => {
                let nodes = self.tree().nodes();
                let batches = (0..nodes).step_by(BATCH).map(|from| from..(from + BATCH).min(nodes)).collect();
                crew.each(batches, |answers: &mut Answers, batch: Range<usize>| {
                    let mut sums = Vec::new();
                    for v in batch {
                        answers.prepare(&self.measurements, self.tree().level(v));
                        measure(v, answers);
                        for (query, own) in answers.of.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
                            self.see(&mut sums, (v, query), own);
                        }
                    }
                    sums
                })
            }
        };
        let mut all = vec![Sums::default(); self.places()];
        for part in &parts {
            for (all, own) in all.iter_mut().zip(part) {
                all.answers += own.answers;
                all.absolute += own.absolute;
                all.square += own.square;
                all.sum += own.sum;
                all.covered += own.covered;
            }
        }
        Ok((all, certificate))
    }

    /// The mean variance of an answer by level, query and size of those that have answers: in the order of the rows of a replicate.
    fn variances(&self) -> Vec<f64> {
        let mut all = vec![(0.0, 0u64); self.places()];
        for v in 0..self.tree().nodes() {
            let level = self.tree().level(v);
            for query in 0..self.planned.queries().len() {
                if self.has_answers(level, query) {
                    for (deviation, number) in self.deviations(v, query) {
                        let own = &mut all[self.place(v, query)];
                        own.0 += deviation * deviation * number as f64;
                        own.1 += number as u64;
                    }
                }
            }
        }
        all.into_iter()
            .filter(|(_, answers)| *answers > 0)
            .map(|(sum, answers)| sum / answers as f64)
            .collect()
    }

    /// The rows of a replicate. Errors: as of its errors.
    fn rows(&self, replicate: u64, rows: &mut Vec<CubeDrawRow>) -> Result<()> {
        let tables = &self.planned.config.data.tables;
        let named = |error: Error| error.of_areas(|v| self.areas().words(v));
        let (errors, certificate) = self.errors(replicate).map_err(named)?;
        let held = match (&self.made, self.bootstrap) {
            (Made::Descent(descent), Some(times)) => {
                Some(bootstrap::held(self, descent, replicate, times).map_err(named)?)
            }
            _ => None,
        };
        for (at, own) in errors.iter().enumerate().filter(|(_, own)| own.answers > 0) {
            let (place, size) = (at / SIZES.len(), at % SIZES.len());
            let (level, query) = (place / tables.queries.len(), place % tables.queries.len());
            let each = |sum: f64| sum / own.answers as f64;
            rows.push(CubeDrawRow {
                cell: Key(self.cell),
                replicate,
                level: tables.levels[level].clone(),
                query: tables.queries[query].name.clone(),
                size: size_words(&SIZES, size),
                answers: own.answers,
                l1: each(own.absolute),
                squared: each(own.square),
                bias: each(own.sum),
                covered: each(own.covered as f64),
                bootstrapped: held.as_ref().map(|held| each(held[at] as f64)),
                gap: certificate.map(|certificate| certificate.gap),
            });
        }
        Ok(())
    }
}

impl Prepared for Ready<'_> {
    fn draw(&self, replicates: Range<u64>) -> (Drawn, Result<()>) {
        let mut rows = Vec::new();
        let drawn = replicates.into_iter().try_for_each(|replicate| self.rows(replicate, &mut rows));
        Drawn::all(drawn.map(|()| rows))
    }

    fn close(&self) -> Result<Vec<u8>> {
        Ok(encode(&self.variances()))
    }
}
