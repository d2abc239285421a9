//! Intervals of many releases of one kind: what does not depend on a release is found once.

use super::districts::{self, District};
use super::interval::Bounds;
use super::laws::Width;
use super::noisy::{Ground, Structure};
use super::pivots;
use super::target::Target;
use super::{Noisy, Shared, Wish, drawn, posterior, raw};
use crate::catalogue::Place;
use crate::failure::Result;
use crate::invariant::Inequalities;
use std::path::Path;

/// Releases by one method of one tree, and what they are asked for: every node, then districts.
#[derive(Debug)]
pub struct Repeated {
    noisy: Noisy,
    targets: Vec<Target>,
    level: f64,
    widths: Vec<Width>,
}

/// The ends of an interval after it met what is known, and the deviation that it states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// The standard deviation of the error, as the interval has it, in counts.
    pub deviation: f64,
}

/// Reads districts as sums over the leaves of a tree. Errors: the file.
pub fn named(path: &Path, noisy: &Noisy) -> Result<Vec<District>> {
    districts::read(path, noisy)
}

/// A release of other counts: their values, by node. `noisy`: the tree, the noise and the method. Errors: the method.
pub fn release(noisy: &Noisy, counts: Vec<i64>, seed: u64) -> Result<Vec<f64>> {
    let targets: Vec<Target> = (0..counts.len()).map(Target::Count).collect();
    let ground = Ground::free(counts);
    let errors = drawn::errors(noisy, (noisy.method, &ground), &targets, (1, seed));
    let errors = errors.map_err(|e| noisy.refused(e))?;
    Ok(ground.counts.iter().zip(&errors).map(|(&count, error)| count as f64 + error[0]).collect())
}

impl Repeated {
    /// - `noisy`: the tree, the noise and the method; its values are those of known nodes.
    /// - `level`: what the intervals hold; `seed`: of draws where no law is computed.
    ///
    /// Errors: the method.
    pub fn new(noisy: Noisy, districts: &[District], (level, seed): (f64, u64)) -> Result<Self> {
        let mut targets: Vec<Target> = (0..noisy.counts()).map(|count| noisy.target(count)).collect();
        targets.extend(districts.iter().map(|district| Target::Sum(district.weights.clone())));
        let (widths, _) = pivots::widths(&unprocessed(&noisy), &targets, (level, seed))?;
        let widths = widths.into_iter().map(|(width, _)| width).collect();
        Ok(Self { noisy, targets, level, widths })
    }

    /// Half of the interval by the noise of every target, before it meets what is known, in counts.
    pub fn halves(&self) -> impl Iterator<Item = f64> {
        self.widths.iter().map(|width| width.half)
    }

    /// Whether the intervals by the noise hold at least the level, whatever the counts are.
    pub fn is_guaranteed(&self) -> bool {
        self.noisy.is_pivot() && !self.noisy.method.kind().is_chain()
    }

    /// What is inferred from of a release: values that do not add up are projected by least squares. Errors: the variances.
    pub fn settled(&self, nodes: Vec<f64>) -> Result<Vec<f64>> {
        if !self.noisy.method.kind().is_free() {
            return Ok(nodes);
        }
        let mut noisy = Noisy { values: nodes, ..self.noisy.clone() };
        raw::project(&mut noisy).map_err(|e| self.noisy.refused(e))?;
        Ok(noisy.values)
    }

    /// The values of all targets, of those of the nodes.
    pub fn values(&self, nodes: &[f64]) -> Vec<f64> {
        self.targets.iter().map(|target| target.value(|v| nodes[v])).collect()
    }

    /// The intervals around a release by the law of its noise under the equations, as if nothing else had been done to it.
    pub fn by_noise(&self, nodes: &[f64]) -> Vec<Span> {
        let around =
            |(width, value): (&Width, f64)| (value - width.half, value + width.half, width.deviation);
        self.met(self.widths.iter().zip(self.values(nodes)).map(around))
    }

    /// How often an interval by the noise holds where the counts of all nodes are these, by the law of a pivot; `None` without
    /// one.
    pub fn by_noise_holds(&self, counts: &[f64]) -> Option<Vec<f64>> {
        if !self.noisy.is_pivot() {
            return None;
        }
        let bounds = Bounds::new(&self.noisy);
        let holds = |((target, width), count): ((&Target, &Width), f64)| {
            let holds = width.holds?;
            // Where nothing is left of an interval, it is the least or the largest value that can be.
            let (least, most) = bounds.of(target);
            let ends = f64::from(u8::from(count == least)) + f64::from(u8::from(count == most));
            Some(holds + 0.5 * (1.0 - holds) * ends)
        };
        self.targets.iter().zip(&self.widths).zip(self.values(counts)).map(holds).collect()
    }

    /// The intervals of a parametric bootstrap: the method is repeated on what was released. Errors: the method.
    pub fn by_bootstrap(&self, nodes: &[f64], draws: (usize, u64)) -> Result<Vec<Span>> {
        let refused = |e| self.noisy.refused(e);
        let released = Noisy { values: nodes.to_vec(), ..self.noisy.clone() };
        let ground: Ground = pivots::ground(&released).map_err(refused)?;
        let errors = drawn::errors(&self.noisy, (self.noisy.method, &ground), &self.targets, draws);
        let errors = errors.map_err(refused)?;
        let interval = |(value, errors): (f64, &Vec<f64>)| {
            let said = pivots::bootstrap(value, errors, self.level);
            (said.low, said.high, said.deviation)
        };
        Ok(self.met(self.values(nodes).into_iter().zip(&errors).map(interval)))
    }

    /// The intervals of the posterior, where there is one. Errors: the prior; tables that are too large.
    pub fn by_posterior(&self, nodes: &[f64], prior: &Shared, seed: u64) -> Result<Vec<Span>> {
        let noisy = Noisy { values: nodes.to_vec(), ..self.noisy.clone() };
        let wish = Wish { level: self.level, seed, ..Wish::of(noisy.path.clone()) };
        let believed = posterior::said(&wish, (&noisy, None), &self.targets, prior)?;
        Ok(self.met(believed.said.iter().map(|said| (said.low, said.high, said.deviation))))
    }

    /// Whether releases have a posterior.
    pub fn has_posterior(&self) -> bool {
        posterior::tree(&self.noisy, "", true).is_ok()
    }

    /// Intervals after they met what is known.
    fn met(&self, all: impl Iterator<Item = (f64, f64, f64)>) -> Vec<Span> {
        let bounds = Bounds::new(&self.noisy);
        let met = |(target, (low, high, deviation)): (&Target, (f64, f64, f64))| {
            let (low, high, _) = bounds.meet(target, low, high);
            Span { low, high, deviation }
        };
        self.targets.iter().zip(all).map(met).collect()
    }
}

/// A release as somebody reads it who knows its noise alone: as it is where the law of its error does not depend on the counts, else as
/// noise that was conditioned on the equations and on nothing else.
fn unprocessed(noisy: &Noisy) -> Noisy {
    if noisy.is_pivot() {
        return noisy.clone();
    }
    let mut free = noisy.clone();
    if let Structure::Table(entries) = &mut free.structure {
        entries.inequalities = Inequalities::default();
    }
    if let Some(exact) = pivots::exact_sampler(noisy.law, unconditioned(noisy)) {
        free.method = exact;
    }
    free
}

/// Where noise is drawn under equations alone.
fn unconditioned(noisy: &Noisy) -> Place {
    match noisy.place() {
        Place::Tree { .. } => Place::Tree { inequalities: false },
        Place::Table { .. } => Place::Table { inequalities: false },
    }
}
