//! Intervals from the law of the error: where it does not depend on the counts, by the law itself or by draws; else by a
//! parametric bootstrap.

use super::interval::{Band, Bounds, By, Interval, Said};
use super::laws::{BESIDE, Law, PRODUCTS, Width, as_if_normal, laws};
use super::noisy::{Ground, Structure};
use super::target::Target;
use super::{Noisy, Wish, drawn};
use crate::catalogue::{LawKind, Method, MethodKind, Place, Projection};
use crate::diagnostics::Moments;
use crate::failure::{Failure, Result};

/// What is said of the targets, and by how many draws. Errors: the method.
pub(super) fn said(wish: &Wish, noisy: &Noisy, targets: &[Target]) -> Result<(Vec<Said>, usize)> {
    if noisy.is_pivot() {
        let (widths, draws) = match many(noisy, targets, wish.level)? {
            Some(widths) => (widths, 0),
            None => widths(noisy, targets, (wish.level, wish.seed))?,
        };
        let said = |(target, (width, by)): (&Target, (Width, By))| {
            Said::around(noisy.estimate(target), width.half, width.deviation, by)
        };
        return Ok((targets.iter().zip(widths).map(said).collect(), draws));
    }
    let by_law = laws(noisy, targets, wish.level, BESIDE).map_err(|e| noisy.refused(e))?;
    let errors = drawn_errors(noisy, targets, (wish.level, wish.seed))?;
    let draws = errors.first().map_or(0, Vec::len);
    let said = |(target, (errors, law)): (&Target, (Vec<f64>, Law))| {
        let naive = law.map_or(f64::NAN, |law| {
            errors.iter().filter(|z| z.abs() <= law.half).count() as f64 / errors.len() as f64
        });
        Said { naive, ..bootstrap(noisy.estimate(target), &errors, wish.level) }
    };
    Ok((targets.iter().zip(errors.into_iter().zip(by_law)).map(said).collect(), draws))
}

/// What is said of so many errors of least squares on a tree that draws of them do not fit. Errors: the variances.
fn many(noisy: &Noisy, targets: &[Target], level: f64) -> Result<Option<Vec<(Width, By)>>> {
    // Far out a normal law says nothing of another.
    if level > 0.99 || drawn::number(targets.len(), level).is_ok() {
        return Ok(None);
    }
    let widths = as_if_normal(noisy, targets, level).map_err(|e| noisy.refused(e))?;
    Ok(widths.map(|widths| widths.into_iter().map(|width| (width, By::Normal)).collect()))
}

/// What is known of the errors of a pivot whatever the counts are: by their law where it is computed, else by draws, whose number
/// comes with it. Errors: the method.
pub(super) fn widths(
    noisy: &Noisy,
    targets: &[Target],
    (level, seed): (f64, u64),
) -> Result<(Vec<(Width, By)>, usize)> {
    let by_law = laws(noisy, targets, level, PRODUCTS).map_err(|e| noisy.refused(e))?;
    if by_law.iter().all(Option::is_some) {
        return Ok((by_law.into_iter().flatten().map(|width| (width, By::Law)).collect(), 0));
    }
    // Draws are of all targets where any is wanted: they come together.
    let errors = drawn_errors(noisy, targets, (level, seed))?;
    let draws = errors.first().map_or(0, Vec::len);
    let width = |(law, errors): (Law, Vec<f64>)| match law {
        Some(width) => (width, By::Law),
        None => {
            // What is held at an end is not lost to rounding: errors of integers are often equal.
            let half = upper(&errors, level, f64::abs) * (1.0 + 1e-9) + 1e-9;
            let deviation = deviation(&errors);
            (Width { half, deviation, holds: None }, By::Draws)
        }
    };
    Ok((by_law.into_iter().zip(errors).map(width).collect(), draws))
}

fn deviation(errors: &[f64]) -> f64 {
    errors.iter().copied().collect::<Moments>().deviation()
}

/// The interval of a parametric bootstrap around what was released, by errors of the method repeated on that: equal tails.
pub(super) fn bootstrap(estimate: f64, errors: &[f64], level: f64) -> Said {
    let side = 0.5 * (1.0 + level);
    let (above, below) = (upper(errors, side, |z| z), upper(errors, side, |z| -z));
    let (low, high) = (estimate - above, estimate + below);
    Said { low, high, ..Said::around(estimate, 0.0, deviation(errors), By::Bootstrap) }
}

/// Errors of some targets in draws of the method, as many as serve. Errors: the method.
pub(super) fn drawn_errors(
    noisy: &Noisy,
    targets: &[Target],
    (level, seed): (f64, u64),
) -> Result<Vec<Vec<f64>>> {
    let draws = drawn::number(targets.len(), level).map_err(|e| noisy.refused(e))?;
    let how = (pivot(noisy)?, &ground(noisy).map_err(|e| noisy.refused(e))?);
    drawn::errors(noisy, how, targets, (draws, seed)).map_err(|e| noisy.refused(e))
}

/// The counts on which a method is repeated: of a pivot any, else what was released, with leaves as whole numbers >= 0, and
/// entries as whole numbers that they can be. Errors: what was released breaks an inequality.
pub(super) fn ground(noisy: &Noisy) -> crate::Result<Ground> {
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

/// The first method that draws noise of a law under the equations exactly.
pub fn exact_sampler(law: LawKind, place: Place) -> Option<Method> {
    let serves = |method: &Method| {
        method.conditions() && !method.kind().is_chain() && method.serves(law, place).is_ok()
    };
    MethodKind::ALL.iter().map(plain).find(serves)
}

/// A method as it is without options of one's own.
fn plain(kind: &MethodKind) -> Method {
    kind.with(|option| option.default())
}

/// The method whose errors are drawn: that of the file; of values that were projected least squares; of a chain the exact
/// sampler of its law.
fn pivot(noisy: &Noisy) -> Result<Method> {
    let found = match noisy.method.kind() {
        kind if kind.is_free() => {
            MethodKind::ALL.iter().map(plain).find(|method| method.projection() == Some(Projection::L2))
        }
        kind if kind.is_chain() && noisy.is_pivot() => exact_sampler(noisy.law, noisy.place()),
        _ => Some(noisy.method),
    };
    found.filter(|method| method.serves(noisy.law, noisy.place()).is_ok()).ok_or_else(|| {
        let message =
            format!("no draws of the error of {} with {} noise", noisy.method.name(), noisy.law.name());
        Failure::data(&noisy.path, message)
    })
}

/// The k-th smallest of what draws give, with k as small as `k/(n + 1)` is at least the level.
pub(super) fn upper(errors: &[f64], level: f64, of: impl Fn(f64) -> f64) -> f64 {
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
    let errors = drawn_errors(noisy, targets, (wish.level, wish.seed.wrapping_add(1)))?;
    let draws = errors.first().map_or(0, Vec::len);
    let group = |interval: &Interval| interval.of.as_ref().map_or(noisy.levels(), |level| *level);
    let mut largest = vec![vec![0.0f64; draws]; noisy.levels() + 1];
    for (interval, errors) in intervals.iter().zip(&errors).filter(|(interval, _)| interval.deviation > 0.0) {
        let all = &mut largest[group(interval)];
        all.iter_mut().zip(errors).for_each(|(all, z)| *all = all.max(z.abs() / interval.deviation));
    }
    let multiples: Vec<f64> = largest.iter().map(|all| upper(all, wish.level, |x| x)).collect();
    for (interval, target) in intervals.iter_mut().zip(targets) {
        // No rounding may leave out an integer.
        let half = multiples[group(interval)] * interval.deviation * (1.0 + 1e-12);
        let half = if noisy.integers { libm::floor(half) } else { half };
        let (low, high, _) = bounds.meet(target, interval.estimate - half, interval.estimate + half);
        interval.band = Some(Band { half, low, high });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many counts of Laplace noise that draws do not fit: intervals are those of normal errors with the deviations of least squares, by
    /// hand; of fewer counts, and far out, nothing is said.
    #[test]
    #[allow(clippy::disallowed_methods)] // A file of its own.
    fn errors_of_many_counts_are_taken_as_normal() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("noisy.csv");
        let row = |key: &str| format!("{key},3,laplace,2,unconstrained\n");
        let rows: String = ["", "a", "b"].map(row).concat();
        std::fs::write(&file, format!("zone,value,law,scale,method\n{rows}")).unwrap();
        let noisy = Noisy::read(&file, &[], None).unwrap();
        let targets = vec![Target::Count(1); 1_400_000];
        let all = many(&noisy, &targets, 0.9).unwrap().unwrap();
        // Variances of 8: that of a leaf is 2/3 of it once all three are projected.
        let deviation = libm::sqrt(16.0 / 3.0);
        let (width, by) = all[0];
        assert!(by == By::Normal && (width.deviation - deviation).abs() < 1e-9);
        assert!((width.half - 1.644_853_626_951_472_7 * deviation).abs() < 1e-6 && width.holds.is_none());
        assert!(many(&noisy, &targets[..1000], 0.9).unwrap().is_none());
        assert!(many(&noisy, &targets, 0.999).unwrap().is_none());
    }
}
