//! What a release of tables of attributes in all areas of a hierarchy says: of every answer of every query in every area, and of sets of
//! areas, the best linear estimate with an interval.
//!
//! The file is read (`measured`), with sets of areas (`sets`); all its answers together give the estimate and its variances
//! ([`crate::cube::Gls`]); `page` tells them.

mod measured;
mod page;
mod sets;

use self::measured::Measured;
use super::Wish;
use super::districts::District;
use super::interval::{By, Met, meet};
use super::write::{IntervalRow, Told};
use crate::cube::{Answers, Estimate, Marginal, Query, Variances};
use crate::engine::Pool;
use crate::failure::{Failure, Result};
use crate::invariant::Hierarchy;
use crate::page::{Page, data_column, thousands};
use crate::rng::normal_quantile;
use crate::{Crew, Error};
use std::path::PathBuf;

/// Intervals of areas at most.
const MOST: usize = 5_000_000;
/// Numbers of tables that are held at once: 512 MiB.
const KEEP: usize = 1 << 26;
/// What is known is met to this part of it, and as it is whole to less than a half.
const ROUNDING: f64 = 1e-6;
const HALF: f64 = 0.4;
/// Beyond this a normal law says nothing of another.
const FAR: f64 = 0.99;

/// What is said of one answer.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// An area, or a set of areas.
    of: std::result::Result<u32, u32>,
    query: u32,
    answer: u32,
    estimate: f64,
    deviation: f64,
    /// Half the width of the interval, before it met anything.
    half: f64,
    low: f64,
    high: f64,
    met: Met,
}

/// What a noisy file of tables of attributes says.
#[derive(Debug)]
pub struct AreaInferred {
    measured: Measured,
    level: f64,
    sets: Vec<District>,
    /// Where the sets come from.
    file: Option<PathBuf>,
    answers: Vec<Answer>,
    /// Whether areas are told, too.
    has_areas: bool,
}

/// The intervals of a file, if it is one of tables of attributes: if its footer, or `tables`, says what these are.
///
/// Errors: the files; what is asked for and is not there for such files; known counts that do not go together; more intervals than fit.
pub(super) fn of(wish: &Wish) -> Result<Option<AreaInferred>> {
    let Some(tables) = measured::description(&wish.file, wish.tables.as_deref())? else { return Ok(None) };
    let absent = [
        (wish.prior.is_some(), "a prior"),
        (wish.model.is_some(), "a model"),
        (wish.bounds.is_some(), "bounds"),
        (wish.draws > 0, "draws"),
        (wish.bands, "bands"),
        (!wish.ratios.is_empty(), "ratios"),
        (wish.leaves.is_some(), "a table of leaves"),
        (wish.invariants.is_some(), "invariants"),
        (!wish.levels.is_empty(), "levels of one's own"),
    ];
    if let Some((_, what)) = absent.iter().find(|(given, _)| *given) {
        let message = format!("{what}: want none, a release of tables of attributes has none here");
        return Err(Failure::Usage(message));
    }
    let measured = Measured::read(&wish.file, tables)?;
    if wish.level > FAR && !measured.is_normal() {
        let message = format!(
            "level: got {}, want at most {FAR} where the law of the errors is not computed: it is taken as normal, and far out that says \
             nothing",
            wish.level
        );
        return Err(Failure::Usage(message));
    }
    let sets = wish.queries.as_ref().map(|path| sets::read(path, &measured)).transpose()?;
    AreaInferred::new(measured, wish, sets.unwrap_or_default()).map(Some)
}

impl AreaInferred {
    fn new(measured: Measured, wish: &Wish, sets: Vec<District>) -> Result<Self> {
        let (each, areas) = (measured.each(), measured.tree().nodes());
        let has_areas = areas.saturating_mul(each) <= MOST;
        if !has_areas && sets.is_empty() {
            let message = format!(
                "{} intervals of all areas do not fit, the limit is {}: want --queries with the areas of interest",
                thousands((areas * each) as f64),
                thousands(MOST as f64)
            );
            return Err(Failure::data(&measured.path, message));
        }
        if sets.len().saturating_mul(each) > MOST {
            let what = thousands((sets.len() * each) as f64);
            let message = format!("{what} intervals of districts, the limit is {}", thousands(MOST as f64));
            return Err(Failure::data(wish.queries.as_deref().unwrap_or(&measured.path), message));
        }
        let mut wanted = vec![has_areas; areas];
        sets.iter().flat_map(|set| &set.weights).for_each(|(area, _)| wanted[*area as usize] = true);
        let refused = |e: Error| Failure::data(&measured.path, e.to_string());
        let estimates = estimates(&measured, &wanted).map_err(refused)?;
        let mut told = Self {
            measured,
            level: wish.level,
            sets,
            file: wish.queries.clone(),
            answers: Vec::new(),
            has_areas,
        };
        if has_areas {
            told.tell_areas(&estimates);
        }
        told.tell_sets(&estimates);
        Ok(told)
    }

    fn tree(&self) -> &Hierarchy {
        self.measured.tree()
    }

    fn queries(&self) -> &[Marginal] {
        self.measured.gls.measurements().queries()
    }

    /// By area, the least known total of it and of those above it.
    fn most(&self) -> Vec<f64> {
        let mut most = vec![f64::INFINITY; self.tree().nodes()];
        for area in 0..most.len() {
            let level = self.tree().level(area);
            let asked = self.measured.tables.queries.iter().enumerate();
            let total = asked.filter(|(_, asked)| asked.query == Query::total());
            let known = total.filter(|(query, _)| self.measured.is_known(level, *query));
            let own = known.filter_map(|(query, _)| Some(self.measured.answers(area, query)?[0]));
            let above = if area > 0 { most[self.tree().parent(area)] } else { f64::INFINITY };
            most[area] = own.fold(above, f64::min);
        }
        most
    }

    fn tell_areas(&mut self, estimates: &[Vec<f64>]) {
        let most = self.most();
        let mut answers: Vec<Vec<Answer>> = vec![Vec::new(); self.tree().nodes()];
        self.measured.gls.each_variances(|areas, variances| {
            for &area in areas {
                answers[area] = self.tell(Ok(area as u32), &estimates[area], variances, (0.0, most[area]));
            }
        });
        self.answers.extend(answers.into_iter().flatten());
    }

    fn tell_sets(&mut self, estimates: &[Vec<f64>]) {
        let mut all = Vec::new();
        for (number, set) in self.sets.iter().enumerate() {
            let mut sum = vec![0.0; self.measured.each()];
            let weights: Vec<(usize, f64)> =
                set.weights.iter().map(|&(area, weight)| (area as usize, f64::from(weight))).collect();
            for (area, weight) in &weights {
                sum.iter_mut().zip(&estimates[*area]).for_each(|(sum, x)| *sum += weight * x);
            }
            let least = if weights.iter().all(|(_, weight)| *weight > 0.0) { 0.0 } else { f64::NEG_INFINITY };
            let variances = self.measured.gls.variances(&weights);
            all.extend(self.tell(Err(number as u32), &sum, &variances, (least, f64::INFINITY)));
        }
        self.answers.extend(all);
    }

    /// What is said of the answers of all queries, of which these are the estimates and their covariance.
    fn tell(
        &self,
        of: std::result::Result<u32, u32>,
        estimates: &[f64],
        variances: &Variances,
        ends: (f64, f64),
    ) -> Vec<Answer> {
        let quantile = normal_quantile(0.5 * (1.0 + self.level));
        let mut told = Vec::with_capacity(estimates.len());
        for (query, marginal) in self.queries().iter().enumerate() {
            for (first, number) in marginal.alike() {
                let deviation = libm::sqrt(variances.answer(marginal, first));
                for answer in first..first + number {
                    let estimate = estimates[told.len()];
                    let half = quantile * deviation;
                    let (low, high, met) = match deviation > 0.0 {
                        true => meet(ends, estimate - half, estimate + half),
                        // What follows from what is known is what it is.
                        false => (estimate, estimate, Met::Whole),
                    };
                    let (query, answer) = (query as u32, answer as u32);
                    told.push(Answer { of, query, answer, estimate, deviation, half, low, high, met });
                }
            }
        }
        told
    }

    /// Whether the law of all errors is normal.
    fn is_guaranteed(&self) -> bool {
        self.measured.is_normal() && !self.measured.assumed
    }

    fn by(&self, answer: &Answer) -> By {
        if self.is_guaranteed() || answer.deviation == 0.0 { By::Law } else { By::Normal }
    }

    /// The words of an answer, by attribute.
    fn words(&self, answer: &Answer) -> Vec<String> {
        let (query, tables) = (answer.query as usize, &self.measured.tables);
        let codes = self.queries()[query].codes(&self.measured.domain, answer.answer as usize);
        tables.words(&tables.queries[query].query, &codes)
    }
}

/// By area that is wanted, the estimates of the answers of all queries, one after the other. Errors: known counts that do not go together.
fn estimates(measured: &Measured, wanted: &[bool]) -> crate::Result<Vec<Vec<f64>>> {
    let queries = measured.gls.measurements().queries();
    let measure = |area: usize, out: &mut Answers| {
        for (query, own) in out.of.iter_mut().enumerate() {
            if let Some(answers) = measured.answers(area, query) {
                own.copy_from_slice(answers);
            }
        }
    };
    let see = |seen: &mut Vec<(usize, Vec<f64>)>, area: usize, estimate: &Estimate| {
        let (mut all, mut own) = (Vec::new(), Vec::new());
        for (query, marginal) in queries.iter().enumerate() {
            estimate.answers(marginal, &mut own);
            if measured.is_known(measured.tree().level(area), query) {
                let known = measured.answers(area, query).unwrap_or_default();
                let off = own
                    .iter()
                    .zip(known)
                    .find(|(x, known)| (*x - *known).abs() > (ROUNDING * (1.0 + known.abs())).min(HALF));
                if let Some((x, known)) = off {
                    let (name, words) = (&measured.tables.queries[query].name, measured.words(area));
                    let message = format!(
                        "known counts do not go together: by others an answer of `{name}` in `{words}` is {x}, and {known} is known"
                    );
                    return Err(Error::Invariant(message));
                }
                own.copy_from_slice(known);
            }
            all.extend_from_slice(&own);
        }
        if wanted[area] {
            seen.push((area, all));
        }
        Ok(())
    };
    let crew: &dyn Crew = &Pool;
    let mut estimates = vec![Vec::new(); wanted.len()];
    let found = measured.gls.estimate(crew, KEEP, measure, see);
    let found = found.map_err(|error| error.of_areas(|area| measured.words(area)))?;
    for (area, own) in found.into_iter().flatten() {
        estimates[area] = own;
    }
    Ok(estimates)
}

impl Told for AreaInferred {
    fn page(&self) -> Page {
        self.page()
    }

    fn title(&self) -> String {
        self.title()
    }

    fn is_guaranteed(&self) -> bool {
        self.is_guaranteed()
    }

    fn keys(&self) -> Vec<String> {
        let ours: Vec<&str> = IntervalRow::names().chain(["value", "district"]).collect();
        self.measured.columns.keys().map(|name| data_column(name, &ours)).collect()
    }

    fn rows(&self) -> usize {
        self.answers.len()
    }

    fn row(&self, place: usize) -> (IntervalRow, Vec<String>) {
        let answer = &self.answers[place];
        let (of, name, areas) = match answer.of {
            Ok(area) => {
                let level = self.tree().level(area as usize);
                (self.measured.tables.levels[level].clone(), None, self.measured.keys(area as usize))
            }
            Err(set) => {
                let blank = vec![""; self.measured.columns.levels.len()];
                ("district".to_owned(), Some(self.sets[set as usize].name.clone()), blank)
            }
        };
        let query = self.measured.tables.queries[answer.query as usize].name.clone();
        let keys = areas.into_iter().map(str::to_owned).chain([query]).chain(self.words(answer));
        let row = IntervalRow {
            of,
            name,
            estimate: answer.estimate,
            standard_deviation: Some(answer.deviation),
            low: answer.low,
            high: answer.high,
            band_low: None,
            band_high: None,
            level: self.level,
            is_true: None,
            found_by: self.by(answer).word().to_owned(),
            guaranteed: self.is_guaranteed(),
            met: answer.met.word().to_owned(),
        };
        (row, keys.collect())
    }

    fn named(&self) -> Option<&'static str> {
        (!self.sets.is_empty()).then_some("district")
    }
}
