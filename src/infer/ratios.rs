//! Ratios of two districts.

use super::interval::By;
use super::laws::{Joint, PRODUCTS, joints};
use super::pivots::drawn_errors;
use super::target::Target;
use super::{Noisy, Wish};
use crate::failure::{Failure, Result};
use crate::inference::{Ratios, drawn_ratios};
use crate::table;
use std::collections::HashMap;

table! {
    /// `congenial infer --ratio`: one row for each ratio, in the order in which they are asked for.
    pub struct RatioRow in "ratios.csv" {
        /// the names of both districts or queries, with `/` between
        ratio: String;
        /// of the estimates, those below 0 as 0: `inf` where the lower one is 0, `NaN` where both are
        estimate: f64;
        /// the interval begins there: it has in it all ratios that the noise does not rule out
        low: f64;
        /// and ends there: `inf` where the lower district may be 0
        high: f64;
        /// what the interval holds
        level: f64, "probability";
        /// `law` of both errors together, or `draws` of them
        found_by: String;
        /// whether an interval holds at least that, whatever the counts are
        guaranteed: bool;
        /// `whole`, or `empty` where no ratio >= 0 goes with the release: the ends are then those of the estimate, or 0 and `inf` where
        /// both are below 0
        met: String;
    }
}

/// What is said of the ratio of two districts.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// The names of both, with `/` between.
    pub name: String,
    /// The ratio of the estimates, those below 0 taken as 0; of 0 and 0 not a number.
    pub estimate: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends; infinite where the lower district may be 0.
    pub high: f64,
    /// Whether no ratio >= 0 goes with the release: counts below 0 were released of one district or both. The ends are then those of the
    /// estimate, or 0 and infinity where both are below 0.
    pub is_empty: bool,
    /// How it was found: by the law, or by draws.
    pub by: By,
}

/// What is said of all of them, and draws of the error that were taken; 0 where none were.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) ratios: Vec<Ratio>,
    pub(super) draws: usize,
}

/// The intervals of ratios: from the least to the largest r at which `y_Q - r y_R` is no farther from 0 than `z_Q - r z_R` is with the
/// level's chance, by the joint law of both errors where it is computed, else by draws. The true ratio is one of them with at least that
/// chance, since the law of its noise does not depend on the counts (Fieller's way).
///
/// Refused: a name that is not that of two districts; a release whose error depends on the counts.
pub(super) fn of(wish: &Wish, noisy: &Noisy, names: &[&str], targets: &[Target]) -> Result<Told> {
    if wish.ratios.is_empty() {
        return Ok(Told::default());
    }
    let places: HashMap<&str, usize> = names.iter().copied().zip(0..).collect();
    let pair = |ratio: &String| {
        let mut parts = ratio.match_indices('/').map(|(at, _)| (&ratio[..at], &ratio[at + 1..]));
        let two = |(above, below): (&str, &str)| Some((*places.get(above)?, *places.get(below)?));
        parts.find_map(two).ok_or_else(|| {
            let known = names.join(", ");
            let message = format!(
                "--ratio {ratio}: want the names of two of --queries with `/` between; there are {known}"
            );
            Failure::Usage(message)
        })
    };
    let pairs = wish.ratios.iter().map(pair).collect::<Result<Vec<_>>>()?;
    if !noisy.is_pivot() || wish.prior.is_some() {
        let message = "--ratio: want a release whose error does not depend on the counts, and no prior";
        return Err(Failure::data(&noisy.path, message));
    }
    let own: Vec<[Target; 2]> =
        pairs.iter().map(|&(above, below)| [targets[above].clone(), targets[below].clone()]).collect();
    let by_law = joints(noisy, &own, PRODUCTS).map_err(|e| noisy.refused(e))?;
    let is_drawn = |(_, law): &(&[Target; 2], &Option<Joint>)| law.is_none();
    let drawn: Vec<Target> =
        own.iter().zip(&by_law).filter(is_drawn).flat_map(|(pair, _)| pair.clone()).collect();
    // Other draws than those of the intervals.
    let errors = match drawn.is_empty() {
        true => Vec::new(),
        false => drawn_errors(noisy, &drawn, (wish.level, wish.seed.wrapping_add(1)))?,
    };
    let draws = errors.first().map_or(0, Vec::len);
    let mut errors = errors.chunks(2);
    let mut ratio = |((name, pair), law): ((&String, &[Target; 2]), &Option<Joint>)| {
        let released = [0, 1].map(|i| noisy.estimate(&pair[i]));
        let (ratios, by) = match law {
            Some(law) => (law.ratios(released, wish.level), By::Law),
            None => {
                let noise = errors.next().unwrap_or_default();
                (drawn_ratios(released, [&noise[0], &noise[1]], wish.level), By::Draws)
            }
        };
        said(name, released, (ratios, by))
    };
    let ratios = wish.ratios.iter().zip(&own).zip(&by_law).map(&mut ratio).collect();
    Ok(Told { ratios, draws })
}

fn said(name: &str, [above, below]: [f64; 2], (ratios, by): (Ratios, By)) -> Ratio {
    // Counts are >= 0.
    let estimate = match (above > 0.0, below > 0.0) {
        (_, true) => above.max(0.0) / below,
        (true, false) => f64::INFINITY,
        (false, false) => f64::NAN,
    };
    let nearest = if estimate.is_nan() { (0.0, f64::INFINITY) } else { (estimate, estimate) };
    let (low, high) = ratios.unwrap_or(nearest);
    Ratio { name: name.to_owned(), estimate, low, high, is_empty: ratios.is_none(), by }
}
