//! What a noisy file says: the intervals of its counts, and of districts or queries.

use super::districts::District;
use super::interval::{Bounds, Interval, Said};
use super::noisy::Structure;
use super::ratios::Ratio;
use super::target::Target;
use super::{Noisy, Wish, pivots, posterior, ratios, raw, table_posterior};
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
    /// Draws that were taken; 0 where none were.
    pub draws: usize,
    /// Ratios of districts or queries.
    pub ratios: Vec<Ratio>,
    /// Nodes in the order of the tree, or sums and entries of a table; then districts or queries.
    pub intervals: Vec<Interval>,
}

/// The intervals of a file. Errors: the method; a prior that does not serve it.
pub(super) fn of(wish: &Wish, mut noisy: Noisy, districts: Vec<District>) -> Result<Inferred> {
    let projected = noisy.method.kind().is_free() && wish.prior.is_none();
    if projected {
        raw::project(&mut noisy).map_err(|e| noisy.refused(e))?;
    }
    let counts = noisy.counts();
    let mut targets: Vec<Target> = (0..counts).map(|count| noisy.target(count)).collect();
    targets.extend(districts.iter().map(|district| Target::Sum(district.weights.clone())));
    let (said, draws, prior) = match wish.prior {
        None => {
            let (said, draws) = pivots::said(wish, &noisy, &targets)?;
            (said, draws, None)
        }
        Some(prior) => {
            let (said, draws, words) = match &noisy.structure {
                Structure::Tree(nodes) => posterior::said(wish, &noisy, &nodes.tree, &targets, prior)?,
                Structure::Table(entries) => table_posterior::said(wish, &noisy, entries, &targets, prior)?,
            };
            (said, draws, Some(words))
        }
    };
    let bounds = Bounds::new(&noisy);
    let interval = |(place, (target, said)): (usize, (&Target, Said))| {
        let Said { estimate, deviation, low, high, by, naive } = said;
        let (of, count) = match place.checked_sub(counts) {
            None => (Ok(noisy.level(place)), Some(place)),
            Some(district) => (Err(districts[district].name.clone()), None),
        };
        let half = 0.5 * (high - low);
        let (low, high, met) = bounds.meet(target, low, high);
        Interval { of, count, estimate, deviation, half, low, high, met, by, band: None, naive }
    };
    let mut intervals: Vec<Interval> = targets.iter().zip(said).enumerate().map(interval).collect();
    if wish.bands {
        pivots::bands(&noisy, wish, &targets, &bounds, &mut intervals)?;
    }
    let names: Vec<&str> = districts.iter().map(|district| &*district.name).collect();
    let ratios = ratios::of(wish, &noisy, &names, &targets[counts..])?;
    let is_guaranteed =
        prior.is_none() && noisy.is_pivot() && !noisy.assumed && !noisy.method.kind().is_chain();
    let (queries, level) = (wish.queries.clone(), wish.level);
    Ok(Inferred { noisy, queries, level, is_guaranteed, projected, prior, draws, ratios, intervals })
}
