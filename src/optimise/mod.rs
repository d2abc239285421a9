//! The splits of the budgets of a config that answer its queries best, and the config with them.

mod levels;
mod queries;
mod told;

use crate::design::{Answers, Goal, OfQuery, best, of_queries};
use crate::study::{Place, Splitting};
pub use levels::levels;
pub use queries::queries;

/// Shares are multiples of one over this.
const PARTS: usize = 1_000_000;

/// What was found of a config.
#[derive(Debug, Clone)]
pub struct Optimised {
    /// What was to be small.
    pub goal: Goal,
    /// The best split of each noise.
    pub designs: Vec<Design>,
    /// The config with the splits, as a file that runs.
    pub config: String,
    /// What is to be said of methods that do not weigh measurements as least squares do, in words.
    left: Option<String>,
}

/// The best split of a budget.
#[derive(Debug, Clone)]
pub struct Design {
    /// The name of the data set; empty if it has none.
    pub data: String,
    /// The name of the law.
    pub law: &'static str,
    /// epsilon of all measurements together, and delta; 0 of pure laws.
    pub total: (f64, f64),
    /// By how much one neighbouring step changes the counts of a level.
    pub sensitivity: f64,
    /// What is measured, with its share.
    pub shares: Vec<(Place, f64)>,
    /// The names of the splits that are compared; this one is the last.
    pub splits: Vec<&'static str>,
    /// What was to be small, by split: roots of it, in counts.
    pub errors: Vec<f64>,
    /// No split has less of it.
    pub at_least: f64,
    /// The queries.
    pub queries: Vec<Query>,
    /// What no query asks for.
    pub others: Vec<Query>,
}

/// What is told of a query.
#[derive(Debug, Clone)]
pub struct Query {
    /// Its name, and of a tree of tables its level.
    pub place: Place,
    /// Errors by split.
    pub errors: Vec<Errors>,
}

/// Errors of the answers of a query, in counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// The root of the mean squared error.
    pub mean: f64,
    /// The root of the largest.
    pub largest: f64,
}

impl Design {
    /// The error under the first split, and under the best.
    fn gain(&self) -> [f64; 2] {
        [self.errors.first(), self.errors.last()].map(|error| error.copied().unwrap_or(f64::NAN))
    }
}

/// The name of equal shares.
const EVEN: &str = "even";

/// The best split, and its shares by measurement. Errors: noise out of range; answers without noise.
fn design(data: &str, splitting: &Splitting, goal: Goal) -> crate::Result<(Vec<f64>, Design)> {
    let measured = splitting.measured.len();
    let found =
        best(&*splitting.asked.0, goal, &splitting.given.iter().cloned().collect::<Vec<_>>(), |share| {
            Ok(1.0 / (splitting.variance)(share)?)
        })?;
    let shares = rounded(&found.shares);
    let given = splitting.given.iter().map(|given| ("given", given.clone()));
    let others = [(EVEN, vec![1.0 / measured as f64; measured]), ("best", shares.clone())];
    let splits: Vec<(&'static str, Vec<f64>)> = given.chain(others).collect();
    let variances =
        |(_, shares): &(_, Vec<f64>)| shares.iter().map(|&share| (splitting.variance)(share)).collect();
    let variances: Vec<Vec<f64>> = splits.iter().map(variances).collect::<crate::Result<_>>()?;
    let by_split =
        |(answers, places): &(Box<dyn Answers + '_>, Vec<Place>)| -> crate::Result<Vec<Vec<OfQuery>>> {
            match places.is_empty() {
                true => Ok(Vec::new()),
                false => variances.iter().map(|own| of_queries(&**answers, own)).collect(),
            }
        };
    let told = |all: &[Vec<OfQuery>], places: &[Place]| -> Vec<Query> {
        let errors =
            |query: &OfQuery| Errors { mean: query.mean.value.sqrt(), largest: query.largest.value.sqrt() };
        let one = |(query, place): (usize, &Place)| Query {
            place: place.clone(),
            errors: all.iter().map(|split| errors(&split[query])).collect(),
        };
        places.iter().enumerate().map(one).collect()
    };
    let (asked, others) = (by_split(&splitting.asked)?, by_split(&splitting.others)?);
    let design = Design {
        data: data.to_owned(),
        law: splitting.law,
        total: splitting.total,
        sensitivity: splitting.sensitivity,
        shares: splitting.measured.iter().cloned().zip(shares.clone()).collect(),
        splits: splits.into_iter().map(|(name, _)| name).collect(),
        errors: asked.iter().map(|split| goal.of(split).sqrt()).collect(),
        at_least: found.at_least.sqrt(),
        queries: told(&asked, &splitting.asked.1),
        others: told(&others, &splitting.others.1),
    };
    Ok((shares, design))
}

/// Shares as multiples of one over [`PARTS`] that sum to 1: those that lose most by it are rounded up.
fn rounded(shares: &[f64]) -> Vec<f64> {
    let mut parts: Vec<usize> = shares.iter().map(|share| (share * PARTS as f64) as usize).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let lost = |k: usize| shares[k] * PARTS as f64 - parts[k] as f64;
    order.sort_by(|&a, &b| lost(b).total_cmp(&lost(a)));
    let missing = PARTS - parts.iter().sum::<usize>();
    order.into_iter().cycle().take(missing).for_each(|k| parts[k] += 1);
    parts.into_iter().map(|part| part as f64 / PARTS as f64).collect()
}
