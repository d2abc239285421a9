//! What a noisy file says: the intervals of its counts, and of districts or queries.

use super::conditioned::Walked;
use super::districts::District;
use super::interval::{Bounds, By, Interval, Met, Said};
use super::leaves::Leaves;
use super::model::Modelled;
use super::noisy::Structure;
use super::posterior::Believed;
use super::ratios::{Ratio, RatioRow};
use super::target::Target;
use super::{Noisy, Wish, customary, model, pivots, posterior, ratios, raw, table_posterior};
use crate::failure::Result;
use std::path::PathBuf;

/// What a noisy file says.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// The file.
    pub noisy: Noisy,
    /// Where districts or queries come from.
    pub queries: Option<PathBuf>,
    /// What the intervals hold.
    pub level: f64,
    /// Whether they hold at least that, whatever the counts are.
    pub is_guaranteed: bool,
    /// Whether values that do not add up were projected by least squares.
    pub projected: bool,
    /// What the posterior rests on, in words; `None` without a prior.
    pub prior: Option<String>,
    /// The chains that gave the posterior; `None` where its laws and draws are exact.
    pub chains: Option<Walked>,
    /// Draws that were taken; 0 where none were.
    pub draws: usize,
    /// Draws of the posterior that were asked for, one after the other, each with the counts of all nodes.
    pub kept: Vec<i64>,
    /// What it says of a model.
    pub modelled: Option<Modelled>,
    /// Ratios of districts or queries.
    pub ratios: Vec<Ratio>,
    /// Draws that were taken for those; 0 where none were.
    pub ratio_draws: usize,
    /// Nodes in the order of the tree, or sums and entries of a table; then districts or queries.
    pub intervals: Vec<Interval>,
}

/// The intervals of a file. Errors: the method; a prior or a model that does not serve it.
pub(super) fn of(
    wish: &Wish,
    mut noisy: Noisy,
    leaves: Option<&Leaves>,
    districts: Vec<District>,
) -> Result<Inferred> {
    let modelled = wish.model.as_ref().map(|model| model::of(wish, &noisy, leaves, model)).transpose()?;
    let projected = noisy.law.is_noise() && noisy.method.kind().is_free() && wish.prior.is_none();
    if projected {
        raw::project(&mut noisy).map_err(|e| noisy.refused(e))?;
    }
    let counts = noisy.counts();
    let mut targets: Vec<Target> = (0..counts).map(|count| noisy.target(count)).collect();
    targets.extend(districts.iter().map(|district| Target::Sum(district.weights.clone())));
    let (said, draws, prior, chains, kept) = match &wish.prior {
        prior if !noisy.law.is_noise() => {
            let Believed { said, draws, words, chains, kept } =
                customary::said(wish, (&noisy, leaves), &targets)?;
            (said, draws, prior.as_ref().map(|_| words), chains, kept)
        }
        None => {
            let (said, draws) = pivots::said(wish, &noisy, &targets)?;
            (said, draws, None, None, Vec::new())
        }
        Some(prior) => {
            let Believed { said, draws, words, chains, kept } = match &noisy.structure {
                Structure::Tree(_) => posterior::said(wish, (&noisy, leaves), &targets, prior)?,
                Structure::Table(entries) => table_posterior::said(wish, &noisy, entries, &targets, prior)?,
            };
            (said, draws, Some(words), chains, kept)
        }
    };
    let bounds = Bounds::new(&noisy);
    let interval = |(place, (target, said)): (usize, (&Target, Said))| {
        let Said { estimate, deviation, low, high, by, naive, is_true } = said;
        let (of, count) = match place.checked_sub(counts) {
            None => (Ok(noisy.level(place)), Some(place)),
            Some(district) => (Err(districts[district].name.clone()), None),
        };
        let half = 0.5 * (high - low);
        let (low, high, met) = bounds.meet(target, low, high);
        Interval { of, count, estimate, deviation, half, low, high, met, by, band: None, naive, is_true }
    };
    let mut intervals: Vec<Interval> = targets.iter().zip(said).enumerate().map(interval).collect();
    if wish.bands {
        pivots::bands(&noisy, wish, &targets, &bounds, &mut intervals)?;
    }
    let names: Vec<&str> = districts.iter().map(|district| &*district.name).collect();
    let ratios::Told { ratios, draws: ratio_draws } = ratios::of(wish, &noisy, &names, &targets[counts..])?;
    let is_normal = intervals.iter().any(|interval| interval.by == By::Normal);
    let has_law = noisy.has_law() && !is_normal || !noisy.law.is_noise();
    let is_guaranteed = prior.is_none() && has_law;
    let (queries, level) = (wish.queries.clone(), wish.level);
    Ok(Inferred {
        noisy,
        queries,
        level,
        is_guaranteed,
        projected,
        prior,
        chains,
        draws,
        kept,
        modelled,
        ratios,
        ratio_draws,
        intervals,
    })
}

impl Inferred {
    /// Whether an interval holds at least the level, whatever the counts are.
    pub fn guarantees(&self, interval: &Interval) -> bool {
        let is_told_by_value = !self.noisy.law.is_noise() && matches!(interval.by, By::Law | By::Bound);
        self.is_guaranteed || is_told_by_value
    }

    /// The ratios as rows.
    pub fn ratio_rows(&self) -> Vec<RatioRow> {
        let met = |ratio: &Ratio| if ratio.is_empty { Met::Empty } else { Met::Whole };
        let row = |ratio: &Ratio| RatioRow {
            ratio: ratio.name.clone(),
            estimate: ratio.estimate,
            low: ratio.low,
            high: ratio.high,
            level: self.level,
            found_by: ratio.by.word().to_owned(),
            guaranteed: self.noisy.has_law(),
            met: met(ratio).word().to_owned(),
        };
        self.ratios.iter().map(row).collect()
    }
}
