//! Ratios of two districts.

use super::pivots::{drawn_errors, upper};
use super::target::Target;
use super::{Noisy, Wish};
use crate::failure::{Failure, Result};
use std::collections::HashMap;
use std::f64::consts::FRAC_PI_2;

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
}

/// Angles, from a ratio of 0 to one of infinity, at which an interval is looked for.
const ANGLES: usize = 128;
/// Halvings of where it ends.
const STEPS: usize = 60;

/// The intervals of ratios: all r at which `y_Q - r y_R` is no farther from 0 than `z_Q - r z_R` is with the level's chance,
/// by draws. The true ratio is one of them with at least that chance, since the law of its noise does not depend on the
/// counts (Fieller's way).
///
/// Refused: a name that is not that of two districts; a release whose error depends on the counts.
pub(super) fn of(wish: &Wish, noisy: &Noisy, names: &[&str], targets: &[Target]) -> Result<Vec<Ratio>> {
    if wish.ratios.is_empty() {
        return Ok(Vec::new());
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
        return Err(Failure::Usage(message.into()));
    }
    let own: Vec<Target> =
        pairs.iter().flat_map(|&(above, below)| [targets[above].clone(), targets[below].clone()]).collect();
    // Other draws than those of the intervals.
    let errors = drawn_errors(noisy, &own, (wish.level, wish.seed.wrapping_add(1)))?;
    let ratio = |((name, pair), errors): ((&String, &[Target]), &[Vec<f64>])| {
        interval(name, (noisy.estimate(&pair[0]), noisy.estimate(&pair[1])), errors, wish.level)
    };
    Ok(wish.ratios.iter().zip(own.chunks(2)).zip(errors.chunks(2)).map(ratio).collect())
}

fn interval(name: &str, (above, below): (f64, f64), errors: &[Vec<f64>], level: f64) -> Ratio {
    // By the angle, tan r: an end at infinity is one like the others.
    let holds = |angle: f64| {
        let (sin, cos) = libm::sincos(angle);
        let all: Vec<f64> = errors[0].iter().zip(&errors[1]).map(|(a, b)| cos * a - sin * b).collect();
        (cos * above - sin * below).abs() <= upper(&all, level, f64::abs) * (1.0 + 1e-12)
    };
    let ratio = |angle: f64| match angle {
        0.0 => 0.0,
        FRAC_PI_2 => f64::INFINITY,
        angle => libm::tan(angle),
    };
    // Counts are >= 0.
    let centre = libm::atan2(above.max(0.0), below.max(0.0));
    let estimate = match (above > 0.0, below > 0.0) {
        (_, true) => above.max(0.0) / below,
        (true, false) => f64::INFINITY,
        (false, false) => f64::NAN,
    };
    let mut angles: Vec<f64> = (0..=ANGLES).map(|i| i as f64 * (FRAC_PI_2 / ANGLES as f64)).collect();
    angles.push(centre);
    angles.sort_by(f64::total_cmp);
    let inside: Vec<usize> = (0..angles.len()).filter(|&i| holds(angles[i])).collect();
    let (Some(&first), Some(&last)) = (inside.first(), inside.last()) else {
        let end = if estimate.is_nan() { (0.0, f64::INFINITY) } else { (estimate, estimate) };
        return Ratio { name: name.to_owned(), estimate, low: end.0, high: end.1, is_empty: true };
    };
    let between = |mut inside: f64, mut outside: f64| {
        for _ in 0..STEPS {
            let middle = 0.5 * (inside + outside);
            if holds(middle) { inside = middle } else { outside = middle }
        }
        outside
    };
    let end = |inside: usize, outside: Option<usize>| {
        ratio(outside.map_or(angles[inside], |outside| between(angles[inside], angles[outside])))
    };
    let (low, high) =
        (end(first, first.checked_sub(1)), end(last, Some(last + 1).filter(|&next| next < angles.len())));
    Ratio { name: name.to_owned(), estimate, low, high, is_empty: false }
}
