//! The draws of a cell: noise on every answer of every area, what is made of it, and its errors.

use super::areas::Areas;
use super::config::{Asked, CubeConfig, Measured, Point, Way, shares};
use super::{CubeDrawRow, Planned};
use crate::catalogue::{LawKind, noise};
use crate::cube::{Answers, Gls, Marginal, Measurements};
use crate::engine::{Drawn, Pool, Prepared, encode};
use crate::invariant::Hierarchy;
use crate::law::Sampler;
use crate::methods::{IntegerNoise, OnLaw, RealNoise};
use crate::privacy::{Budget, Guarantee, Split};
use crate::rng::{Role, Stream, TaskKey, piece_stream};
use crate::table::Key;
use crate::{Crew, Error, Result};
use std::ops::Range;

/// The smallest total of the areas of each size.
const SIZES: [i64; 7] = [0, 1, 10, 100, 1000, 10_000, 100_000];
/// Numbers of tables that are held at once: 512 MiB.
const KEEP: usize = 1 << 26;
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
}

/// A cell that is ready.
pub(super) struct Ready<'a> {
    planned: &'a Planned,
    cell: u64,
    measurements: Measurements,
    /// Where it is wanted.
    gls: Option<Gls>,
    /// By level, by query.
    fill: Vec<Vec<Option<Fill>>>,
}

/// Whether every cell of a leaf's table follows from what is measured or known of it.
pub(super) fn is_determined(planned: &Planned) -> bool {
    let (config, areas) = (&planned.config, &planned.areas);
    let last = areas.list.tree.levels() - 1;
    let variance = |asked: &Asked| match asked.measured[last] {
        Measured::Not => None,
        Measured::Known => Some(0.0),
        Measured::Share(_) => Some(1.0),
    };
    let marginals = config.queries.iter().map(|asked| Marginal::new(&areas.domain, &asked.query)).collect();
    let variances = vec![config.queries.iter().map(variance).collect()];
    let measurements = Measurements::new(&areas.domain, marginals, variances);
    let leaf = Hierarchy::from_parents(&[0]);
    measurements.and_then(|measurements| Gls::new(&leaf?, measurements)).is_ok()
}

/// The scales of all that is measured, query by query and level by level in each. Errors: scales out of range.
pub(super) fn scales(planned: &Planned, point: &Point) -> Result<Vec<f64>> {
    let shares: Vec<f64> = shares(&planned.config.queries).collect();
    let guarantee = match (point.delta, point.law.facts().accountant) {
        (Some(delta), Some(accountant)) => Guarantee::Concentrated { delta, accountant },
        _ => Guarantee::Pure,
    };
    let measured = shares.len();
    // Shares that were written with few digits add up to 1 to those.
    let sum: f64 = shares.iter().sum();
    let split = Split::Shares(shares.iter().map(|share| share / sum).collect());
    let budget = Budget { epsilon: point.epsilon, guarantee, sensitivity: 1.0, split };
    budget.calibrate(measured).map(|calibration| calibration.scales)
}

impl<'a> Ready<'a> {
    /// Errors: scales out of range; queries from which not every cell follows; tables that do not fit.
    pub(super) fn new(planned: &'a Planned, cell: usize) -> Result<Self> {
        let (config, areas) = (&planned.config, &planned.areas);
        let point = config.points[cell];
        let mut scales = scales(planned, &point)?.into_iter();
        let levels = areas.list.tree.levels();
        let mut fill: Vec<Vec<Option<Fill>>> = (0..levels).map(|_| Vec::new()).collect();
        let mut variances = vec![Vec::new(); levels];
        for asked in &config.queries {
            for (level, measured) in asked.measured.iter().enumerate() {
                let scale = match measured {
                    Measured::Share(_) => scales.next(),
                    _ => None,
                };
                let variance =
                    |scale: f64| noise(point.law, scale).map_or(f64::NAN, |noise| noise.variance());
                variances[level].push(match measured {
                    Measured::Known => Some(0.0),
                    _ => scale.map(variance),
                });
                fill[level].push(scale.map(|scale| LawKind::on(point.law, Scaled(scale))).transpose()?);
            }
        }
        let marginals =
            config.queries.iter().map(|asked| Marginal::new(&areas.domain, &asked.query)).collect();
        let measurements = Measurements::new(&areas.domain, marginals, variances)?;
        let gls = match point.method {
            Way::Gls => Some(Gls::new(&areas.list.tree, measurements.clone())?),
            Way::Unconstrained => None,
        };
        Ok(Self { planned, cell: planned.units[cell].key, measurements, gls, fill })
    }

    fn areas(&self) -> &Areas {
        &self.planned.areas
    }

    fn tree(&self) -> &Hierarchy {
        &self.areas().list.tree
    }

    /// What the answers of a node and a query are told with.
    fn place(&self, v: usize, query: usize) -> usize {
        let total = self.areas().totals[v];
        let size = SIZES.partition_point(|least| *least <= total) - 1;
        (self.tree().level(v) * self.planned.config.queries.len() + query) * SIZES.len() + size
    }

    fn places(&self) -> usize {
        self.tree().levels() * self.planned.config.queries.len() * SIZES.len()
    }

    /// Writes the noise of a node's answers: by a stream of its own, so that it is the same whoever asks and how often.
    fn measure(&self, key: TaskKey, v: usize, answers: &mut Answers) {
        let level = self.tree().level(v);
        let mut rng = piece_stream(key, level as u32, v as u32);
        for (fill, own) in self.fill[level].iter().zip(&mut answers.of) {
            if let Some(fill) = fill {
                fill(&mut rng, own);
            }
        }
    }

    fn see(&self, sums: &mut Vec<Sums>, (v, query): (usize, usize), errors: &[f64]) {
        sums.resize(self.places(), Sums::default());
        let own = &mut sums[self.place(v, query)];
        own.answers += errors.len() as u64;
        for error in errors {
            own.absolute += error.abs();
            own.square += error * error;
            own.sum += error;
        }
    }

    /// The errors of a replicate, by level, query and size.
    fn errors(&self, replicate: u64) -> Vec<Sums> {
        let key = TaskKey { seed: self.planned.config.seed, cell: self.cell, replicate, role: Role::Noise };
        let measure = |v: usize, answers: &mut Answers| self.measure(key, v, answers);
        let crew: &dyn Crew = &Pool;
        let parts: Vec<Vec<Sums>> = match &self.gls {
            Some(gls) => {
                let queries = self.measurements.queries();
                gls.estimate(
                    crew,
                    KEEP,
                    measure,
                    |(sums, errors): &mut (Vec<Sums>, Vec<f64>), v, estimate| {
                        for (query, marginal) in queries.iter().enumerate() {
                            estimate.answers(marginal, errors);
                            self.see(sums, (v, query), errors);
                        }
                    },
                )
                .into_iter()
                .map(|(sums, _)| sums)
                .collect()
            }
            None => {
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
            }
        }
        all
    }

    /// By level, query and size the mean variance of an answer; NaN where there is none.
    fn variances(&self) -> Vec<f64> {
        let mut all = vec![(0.0, 0u64); self.places()];
        let queries = self.measurements.queries();
        let mut add = |place: usize, variance: f64, answers: u64| {
            all[place].0 += variance * answers as f64;
            all[place].1 += answers;
        };
        match &self.gls {
            Some(gls) => gls.each_variances(|v, variances| {
                for (query, marginal) in queries.iter().enumerate() {
                    for (answer, number) in marginal.alike() {
                        add(self.place(v, query), variances.answer(marginal, answer), number as u64);
                    }
                }
            }),
            None => {
                for v in 0..self.tree().nodes() {
                    for (query, variance) in self.measurements.of_level(self.tree().level(v)) {
                        add(self.place(v, query), variance, queries[query].answers() as u64);
                    }
                }
            }
        }
        all.into_iter().map(|(sum, answers)| sum / answers as f64).collect()
    }
}

impl Prepared for Ready<'_> {
    fn draw(&self, replicates: Range<u64>) -> (Drawn, Result<()>) {
        let (levels, queries) = (self.tree().levels(), self.planned.config.queries.len());
        let mut rows = Vec::new();
        for replicate in replicates {
            let errors = self.errors(replicate);
            for level in 0..levels {
                for query in 0..queries {
                    let from = (level * queries + query) * SIZES.len();
                    for (size, own) in
                        errors[from..from + SIZES.len()].iter().enumerate().filter(|(_, own)| own.answers > 0)
                    {
                        let each = |sum: f64| sum / own.answers as f64;
                        let config = &self.planned.config;
                        rows.push(CubeDrawRow {
                            cell: Key(self.cell),
                            replicate,
                            level: config.data.levels[level].clone(),
                            query: config.queries[query].name.clone(),
                            size: size_words(size),
                            answers: own.answers,
                            l1: each(own.absolute),
                            squared: each(own.square),
                            bias: each(own.sum),
                        });
                    }
                }
            }
        }
        Drawn::all(Ok(rows))
    }

    fn close(&self) -> Result<Vec<u8>> {
        Ok(encode(&self.variances()))
    }
}

/// A size in words.
fn size_words(size: usize) -> String {
    let least = SIZES[size];
    match SIZES.get(size + 1) {
        Some(next) if *next == least + 1 => least.to_string(),
        Some(next) => format!("{least} to {}", next - 1),
        None => format!("{least} and more"),
    }
}

/// The place of a row among all levels, queries and sizes of a run. `None`: it is of another.
pub(super) fn place_of(config: &CubeConfig, row: &CubeDrawRow) -> Option<usize> {
    let level = config.data.levels.iter().position(|level| *level == row.level)?;
    let query = config.queries.iter().position(|asked| asked.name == row.query)?;
    let size = (0..SIZES.len()).position(|size| size_words(size) == row.size)?;
    Some((level * config.queries.len() + query) * SIZES.len() + size)
}
