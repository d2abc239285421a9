//! Intervals from the law of the error: where it does not depend on the counts, by the law itself or by draws; else by a
//! parametric bootstrap.

use super::interval::{Band, Bounds, By, Interval, Said};
use super::target::Target;
use super::{Noisy, Wish, drawn};
use crate::catalogue::{Family, Method, MethodKind, Place, Projection};
use crate::diagnostics::Moments;
use crate::failure::{Failure, Result};
use crate::inference::{NodeLaws, SumLaw, SumLaws};
use crate::invariant::Hierarchy;
use crate::law::{DiscreteGaussian, DoubleGeometric, IntegerLaw};
use rayon::prelude::*;
use std::sync::Arc;

/// Products that the law of one district may take: a minute.
pub(super) const PRODUCTS: f64 = 1e10;
/// The same where it only stands beside a bootstrap: some milliseconds.
const BESIDE: f64 = 1e7;

/// Where a noisy file is from.
pub(super) const TREE: Place = Place::Tree { inequalities: false };

/// What is known of the error of a target, whatever the counts are.
#[derive(Debug, Clone, Copy)]
pub struct Width {
    /// The least half width that holds at least the level.
    pub half: f64,
    /// The standard deviation, in counts.
    pub deviation: f64,
    /// `P(|error| <= half)`, where the law is computed.
    pub holds: Option<f64>,
    /// How it was found.
    pub by: By,
}

/// What is said of the targets, and by how many draws. Errors: the method.
pub(super) fn said(wish: &Wish, noisy: &Noisy, targets: &[Target]) -> Result<(Vec<Said>, usize)> {
    if noisy.is_pivot() {
        let (widths, draws) = widths(noisy, targets, (wish.level, wish.seed), PRODUCTS)?;
        let said = |(target, width): (&Target, Width)| {
            Said::around(noisy.estimate(target), width.half, width.deviation, width.by)
        };
        return Ok((targets.iter().zip(widths).map(said).collect(), draws));
    }
    let by_law = laws(noisy, targets, wish.level, BESIDE).map_err(|e| noisy.refused(e))?;
    let errors = drawn_errors(noisy, targets, (wish.level, wish.seed))?;
    let draws = errors.first().map_or(0, Vec::len);
    let said = |(target, (errors, law)): (&Target, (Vec<f64>, Option<Width>))| {
        let naive = law.map_or(f64::NAN, |law| {
            errors.iter().filter(|z| z.abs() <= law.half).count() as f64 / errors.len() as f64
        });
        Said { naive, ..bootstrap(noisy.estimate(target), &errors, wish.level) }
    };
    Ok((targets.iter().zip(errors.into_iter().zip(by_law)).map(said).collect(), draws))
}

/// What is known of the errors of a pivot whatever the counts are: by their law where it is computed, else by draws, whose number
/// comes with it. `most`: products that the law of one district may take. Errors: the method.
pub(super) fn widths(
    noisy: &Noisy,
    targets: &[Target],
    (level, seed): (f64, u64),
    most: f64,
) -> Result<(Vec<Width>, usize)> {
    let by_law = match noisy.method.conditions() {
        true => laws(noisy, targets, level, most).map_err(|e| noisy.refused(e))?,
        false => vec![None; targets.len()],
    };
    if by_law.iter().all(Option::is_some) {
        return Ok((by_law.into_iter().flatten().collect(), 0));
    }
    // Draws are of all targets where any is wanted: they come together.
    let errors = drawn_errors(noisy, targets, (level, seed))?;
    let draws = errors.first().map_or(0, Vec::len);
    let width = |(law, errors): (Option<Width>, Vec<f64>)| {
        law.unwrap_or_else(|| Width {
            half: upper(&errors, level, f64::abs),
            deviation: deviation(&errors),
            holds: None,
            by: By::Draws,
        })
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
    Said { estimate, deviation: deviation(errors), low, high, by: By::Bootstrap, naive: f64::NAN }
}

/// Errors of some targets in draws of the method, as many as serve. Errors: the method.
pub(super) fn drawn_errors(
    noisy: &Noisy,
    targets: &[Target],
    (level, seed): (f64, u64),
) -> Result<Vec<Vec<f64>>> {
    let draws = drawn::number(targets.len(), level).map_err(|e| noisy.refused(e))?;
    let how = (pivot(noisy)?, &counts(noisy));
    drawn::errors(noisy, how, targets, (draws, seed)).map_err(|e| noisy.refused(e))
}

/// The counts on which a method is repeated: of a pivot any, else what was released, with leaves as whole numbers >= 0.
fn counts(noisy: &Noisy) -> Arc<[i64]> {
    match noisy.is_pivot() {
        true => vec![0; noisy.tree.nodes()].into(),
        false => as_counts(&noisy.tree, &noisy.values),
    }
}

/// What was released as counts: leaves as whole numbers >= 0, and their sums.
pub(super) fn as_counts(tree: &Hierarchy, values: &[f64]) -> Arc<[i64]> {
    let mut counts = vec![0; tree.nodes()];
    for &leaf in tree.leaves() {
        counts[leaf as usize] = libm::round(values[leaf as usize]).max(0.0) as i64;
    }
    tree.sum_up(&mut counts);
    counts.into()
}

/// The method whose errors are drawn: that of the file; of values that were projected least squares; of a chain the exact
/// sampler of its law.
fn pivot(noisy: &Noisy) -> Result<Method> {
    let with = |kind: &MethodKind| kind.with(|option| option.default());
    let all = || MethodKind::ALL.iter().map(with);
    let found = match noisy.method.kind() {
        kind if kind.is_free() => all().find(|method| method.projection() == Some(Projection::L2)),
        kind if kind.is_chain() && noisy.is_pivot() => {
            let exact = |method: &Method| method.conditions() && !method.is_chain();
            all().find(|method| exact(method) && method.serves(noisy.law, TREE).is_ok())
        }
        _ => Some(noisy.method),
    };
    found.filter(|method| method.serves(noisy.law, TREE).is_ok()).ok_or_else(|| {
        let message =
            format!("no draws of the error of {} with {} noise", noisy.method.name(), noisy.law.name());
        Failure::data(&noisy.path, message)
    })
}

/// Half widths and deviations of integer noise under the equations of the tree, as far as they fit. Errors: scales out of range.
fn laws(noisy: &Noisy, targets: &[Target], level: f64, most: f64) -> crate::Result<Vec<Option<Width>>> {
    let calibration = noisy.calibration();
    match noisy.law.family() {
        Family::DoubleGeometric => {
            let laws: Vec<_> = calibration.laws(DoubleGeometric::new).collect::<crate::Result<_>>()?;
            of_laws(noisy, &laws, targets, (level, most))
        }
        Family::DiscreteGaussian => {
            let laws: Vec<_> = calibration.laws(DiscreteGaussian::new).collect::<crate::Result<_>>()?;
            of_laws(noisy, &laws, targets, (level, most))
        }
        _ => Ok(vec![None; targets.len()]),
    }
}

fn of_laws<L: IntegerLaw + Sync>(
    noisy: &Noisy,
    laws: &[L],
    targets: &[Target],
    (level, most): (f64, f64),
) -> crate::Result<Vec<Option<Width>>> {
    let said = |law: &SumLaw| {
        let half = law.half_width(level);
        Width {
            half: half as f64,
            deviation: libm::sqrt(law.variance()),
            holds: Some(1.0 - law.beyond(half)),
            by: By::Law,
        }
    };
    let fits = |law: crate::Result<Width>| match law {
        Ok(said) => Ok(Some(said)),
        Err(crate::Error::TooLarge { .. }) => Ok(None),
        Err(other) => Err(other),
    };
    let nodes = match NodeLaws::on_tree(&noisy.tree, laws) {
        Ok(nodes) => nodes,
        Err(crate::Error::TooLarge { .. }) => return Ok(vec![None; targets.len()]),
        Err(other) => return Err(other),
    };
    let of_nodes: Vec<Width> = nodes.each().map(said).collect();
    let of = |target: &Target| match target {
        Target::Node(v) => Ok(Some(of_nodes[nodes.place(*v)])),
        Target::Sum(own) => {
            let mut weights = vec![0i8; noisy.tree.leaves().len()];
            own.iter().for_each(|&(leaf, weight)| weights[leaf as usize] = weight);
            fits(SumLaws::new(&noisy.tree, laws, most).and_then(|mut sums| sums.of(&weights).map(said)))
        }
    };
    targets.par_iter().map(of).collect()
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
    let group = |interval: &Interval| interval.of.as_ref().map_or(noisy.tree.levels(), |level| *level);
    let mut largest = vec![vec![0.0f64; draws]; noisy.tree.levels() + 1];
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
