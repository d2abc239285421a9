//! Intervals from the law of the error: where it does not depend on the counts, by the law itself or by draws; else by a
//! parametric bootstrap.

use super::interval::{Band, Bounds, By, Interval, Said};
use super::laws::{Law, laws};
use super::noisy::{Ground, Structure};
use super::target::Target;
use super::{Noisy, Wish, drawn};
use crate::catalogue::{LawKind, Method, MethodKind, Place, Projection};
use crate::diagnostics::Moments;
use crate::failure::{Failure, Result};

/// What is said of the targets, and by how many draws. Errors: the method.
pub(super) fn said(wish: &Wish, noisy: &Noisy, targets: &[Target]) -> Result<(Vec<Said>, usize)> {
    let is_pivot = noisy.is_pivot();
    let by_law = laws(noisy, targets, wish.level).map_err(|e| noisy.refused(e))?;
    if is_pivot && by_law.iter().all(Option::is_some) {
        let said = |(target, law): (&Target, Law)| {
            let (half, deviation) = law.unwrap_or_default();
            Said::around(noisy.estimate(target), half, deviation, By::Law)
        };
        return Ok((targets.iter().zip(by_law).map(said).collect(), 0));
    }
    // Draws are of all targets where any is wanted: they come together.
    let errors = drawn_errors(wish, noisy, targets, wish.seed)?;
    let draws = errors.first().map_or(0, Vec::len);
    let said = |(target, mut errors, law): (&Target, Vec<f64>, Law)| {
        let estimate = noisy.estimate(target);
        if let (true, Some((half, deviation))) = (is_pivot, law) {
            return Said::around(estimate, half, deviation, By::Law);
        }
        let mut moments = Moments::default();
        errors.iter().for_each(|&z| moments.push(z));
        let deviation = moments.deviation();
        if is_pivot {
            let half = upper(&mut errors, wish.level, f64::abs);
            return Said::around(estimate, half, deviation, By::Draws);
        }
        let side = 0.5 * (1.0 + wish.level);
        let above = upper(&mut errors, side, |z| z);
        let below = upper(&mut errors, side, |z| -z);
        let naive = law.map_or(f64::NAN, |(half, _)| {
            errors.iter().filter(|z| z.abs() <= half).count() as f64 / errors.len() as f64
        });
        Said { estimate, deviation, low: estimate - above, high: estimate + below, by: By::Bootstrap, naive }
    };
    let all = targets.iter().zip(errors).zip(by_law).map(|((target, errors), law)| (target, errors, law));
    Ok((all.map(said).collect(), draws))
}

/// Errors of some targets in draws of the method, as many as serve. Errors: the method.
pub(super) fn drawn_errors(
    wish: &Wish,
    noisy: &Noisy,
    targets: &[Target],
    seed: u64,
) -> Result<Vec<Vec<f64>>> {
    let draws = drawn::number(targets.len(), wish.level).map_err(|e| noisy.refused(e))?;
    let how = (pivot(noisy)?, &ground(noisy).map_err(|e| noisy.refused(e))?);
    drawn::errors(noisy, how, targets, (draws, seed)).map_err(|e| noisy.refused(e))
}

/// The counts on which a method is repeated: of a pivot any, else what was released, with leaves as whole numbers >= 0, and
/// entries as whole numbers that they can be. Errors: what was released breaks an inequality.
fn ground(noisy: &Noisy) -> crate::Result<Ground> {
    let any = vec![0; noisy.values.len()];
    match &noisy.structure {
        _ if noisy.is_pivot() => Ok(Ground::free(any)),
        Structure::Tree(nodes) => {
            let mut counts = any;
            for &leaf in nodes.tree.leaves() {
                counts[leaf as usize] = libm::round(noisy.values[leaf as usize]).max(0.0) as i64;
            }
            nodes.tree.sum_up(&mut counts);
            Ok(Ground::free(counts))
        }
        Structure::Table(entries) => {
            let whole = |(entry, &value): (usize, &f64)| {
                let (least, most) = entries.reach.of(&Target::Count(entry));
                libm::round(value).clamp(least, most) as i64
            };
            let counts = noisy.values.iter().enumerate().map(whole).collect();
            Ground::within(counts, entries.inequalities.clone())
        }
    }
}

/// The sampler of noise given what is kept, at once; `None` where there is none.
pub(super) fn exact(law: LawKind, place: Place) -> Option<Method> {
    let mut all = MethodKind::ALL.iter().map(|kind| kind.with(|option| option.default()));
    all.find(|method| method.conditions() && !method.is_chain() && method.serves(law, place).is_ok())
}

/// The method whose errors are drawn: that of the file; of values that were projected least squares; of a chain the exact
/// sampler of its law.
fn pivot(noisy: &Noisy) -> Result<Method> {
    let with = |kind: &MethodKind| kind.with(|option| option.default());
    let all = || MethodKind::ALL.iter().map(with);
    let found = match noisy.method.kind() {
        kind if kind.is_free() => all().find(|method| method.projection() == Some(Projection::L2)),
        kind if kind.is_chain() && noisy.is_pivot() => exact(noisy.law, noisy.place()),
        _ => Some(noisy.method),
    };
    found.filter(|method| method.serves(noisy.law, noisy.place()).is_ok()).ok_or_else(|| {
        let message =
            format!("no draws of the error of {} with {} noise", noisy.method.name(), noisy.law.name());
        Failure::data(&noisy.path, message)
    })
}

/// The k-th smallest of what draws give, with k as small as `k/(n + 1)` is at least the level.
pub(super) fn upper(errors: &mut [f64], level: f64, of: impl Fn(f64) -> f64) -> f64 {
    let n = errors.len();
    let k = libm::ceil(level * (n + 1) as f64 - 1e-9) as usize;
    let mut values: Vec<f64> = errors.iter().map(|&z| of(z)).collect();
    let place = k.clamp(1, n) - 1;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Bands that hold for all counts of a level, or all districts, at once: a multiple of the deviations, by draws.
pub(super) fn bands(
    noisy: &Noisy,
    wish: &Wish,
    targets: &[Target],
    bounds: &Bounds,
    intervals: &mut [Interval],
) -> Result<()> {
    if !noisy.is_pivot() {
        let message = format!(
            "bands: {} has no law of its error that holds whatever the counts are",
            noisy.method.name()
        );
        return Err(Failure::data(&noisy.path, message));
    }
    // Other draws than those of the intervals.
    let errors = drawn_errors(wish, noisy, targets, wish.seed.wrapping_add(1))?;
    let draws = errors.first().map_or(0, Vec::len);
    let group = |interval: &Interval| interval.of.as_ref().map_or(noisy.levels(), |level| *level);
    let mut largest = vec![vec![0.0f64; draws]; noisy.levels() + 1];
    for (interval, errors) in intervals.iter().zip(&errors).filter(|(interval, _)| interval.deviation > 0.0) {
        let all = &mut largest[group(interval)];
        all.iter_mut().zip(errors).for_each(|(all, z)| *all = all.max(z.abs() / interval.deviation));
    }
    let multiples: Vec<f64> = largest.iter_mut().map(|all| upper(all, wish.level, |x| x)).collect();
    for (interval, target) in intervals.iter_mut().zip(targets) {
        // No rounding may leave out an integer.
        let half = multiples[group(interval)] * interval.deviation * (1.0 + 1e-12);
        let half = if noisy.integers { libm::floor(half) } else { half };
        let (low, high, _) = bounds.meet(target, interval.estimate - half, interval.estimate + half);
        interval.band = Some(Band { half, low, high });
    }
    Ok(())
}
