//! Ratios of two districts.

use super::pivots::{drawn_errors, upper};
use super::target::Target;
use super::{Noisy, Wish};
use crate::failure::{Failure, Result};
use std::collections::HashMap;

/// What is said of the ratio of two districts.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// The names of both, with `/` between.
    pub name: String,
    /// The ratio of the estimates.
    pub estimate: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends; infinite where the lower district may be 0.
    pub high: f64,
}

/// Halvings of where an interval ends.
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
    let holds = |r: f64| {
        let all: Vec<f64> = errors[0].iter().zip(&errors[1]).map(|(a, b)| a - r * b).collect();
        (above - r * below).abs() <= upper(&all, level, f64::abs)
    };
    // Counts are >= 0.
    let estimate = if below > 0.0 { (above / below).max(0.0) } else { f64::INFINITY };
    let between = |mut inside: f64, mut outside: f64| {
        for _ in 0..STEPS {
            let middle = 0.5 * (inside + outside);
            if holds(middle) { inside = middle } else { outside = middle }
        }
        outside
    };
    let inside = if estimate.is_finite() { estimate } else { f64::MAX.sqrt() };
    let low = if holds(0.0) { 0.0 } else { between(inside, 0.0) };
    // Without an end where the lower district is as far from 0 as its noise, or less.
    let all = errors[1].clone();
    let high = match below <= upper(&all, level, f64::abs) {
        true => f64::INFINITY,
        false => {
            let mut far = inside.max(1e-9);
            while holds(far) && far < 1e300 {
                far *= 2.0;
            }
            between(inside, far)
        }
    };
    Ratio { name: name.to_owned(), estimate, low, high }
}
