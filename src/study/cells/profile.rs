//! What the releases of a cell pay as a whole curve, and how it is known.

use super::Statements;
use crate::catalogue::Family;
use crate::grid::Cell;
use crate::input::Subject;
use crate::invariant::Hierarchy;
use crate::privacy::{ChangeKind, Gamma, IntegerNoise, Price, Profile, Rho, TreeChange, TreeCosts};

/// How a curve is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::study) enum Known {
    /// It is that of the release.
    Computed,
    /// It is that of free noise, which is moved to the invariant: what is released pays at most as much.
    OfNoise,
    /// No release with what is stated pays more.
    Bounded,
}

impl Known {
    pub(in crate::study) fn name(self) -> &'static str {
        match self {
            Self::Computed => "computed",
            Self::OfNoise => "noise",
            Self::Bounded => "bounded",
        }
    }
}

/// The curve of a change that costs a price; `None` if nothing bounds it.
pub(in crate::study) fn profile(
    cell: &Cell,
    subject: &Subject,
    statements: &Statements,
    kind: ChangeKind,
    price: &Price,
) -> Option<(Profile, Known)> {
    let family = cell.at.law.family();
    // Normal noise has the curve of two normal laws, under equations itself, under convex inequalities as a bound.
    let normal = |rho: f64| Profile::normal((2.0 * rho).sqrt());
    let is_exact = price.gamma == Gamma::Proved && !price.is_bound();
    let computed = match (family, price.rho) {
        (Family::Gaussian, Rho::Computed(rho)) => Some((normal(rho), Known::Computed)),
        (Family::Gaussian, Rho::OfNoise(rho)) => Some((normal(rho), Known::OfNoise)),
        _ if is_exact => computed(cell, subject, statements, kind),
        _ => None,
    };
    computed.or_else(|| {
        let bound = match family {
            _ if price.loss.delta > 0.0 && price.gamma == Gamma::Declared => None,
            Family::Gaussian => price.rho.value().map(normal),
            Family::DiscreteGaussian => price.rho.value().map(Profile::concentrated),
            Family::Euclidean | Family::Laplace | Family::DoubleGeometric => {
                price.epsilon().map(Profile::pure)
            }
        };
        Some((bound?, Known::Bounded))
    })
}

/// The curve of other noise where it is computed: of free noise, and of integer noise under such equations as
/// [`Profile::of_tree`] and [`Profile::of_table`] serve and within their limits.
fn computed(
    cell: &Cell,
    subject: &Subject,
    statements: &Statements,
    kind: ChangeKind,
) -> Option<(Profile, Known)> {
    let noise = match cell.at.law.family() {
        Family::DoubleGeometric => Some(IntegerNoise::DoubleGeometric),
        Family::DiscreteGaussian => Some(IntegerNoise::DiscreteGaussian),
        Family::Gaussian | Family::Euclidean | Family::Laplace => None,
    };
    let scales: Vec<f64> = cell.calibration.laws(|scale| scale).collect();
    if cell.at.method.conditions() {
        let curve = match subject {
            Subject::Hierarchy(table) => Profile::of_tree(&table.hierarchy, &scales, noise?, kind),
            Subject::Table(table) => Profile::of_table(&table.invariant, scales[0], noise?, kind),
        };
        // What is too large is bounded.
        return Some((curve.ok()??, Known::Computed));
    }
    let known = if cell.at.method.kind().is_free() { Known::Computed } else { Known::OfNoise };
    let changed = match subject {
        Subject::Hierarchy(table) => on_path(&table.hierarchy, &scales, kind)?,
        Subject::Table(_) => vec![scales[0]; statements.ones(kind)? as usize],
    };
    let curve = match (noise, cell.at.law.family()) {
        (Some(noise), _) => Profile::of_free(&changed, noise).ok()?,
        (None, Family::Laplace) => Profile::of_free_laplace(&changed),
        (None, _) => return None,
    };
    Some((curve, known))
}

/// The scales of the counts that a change of one record changes, of the change that changes most of them; every other
/// changes some of those. `None`: not all leaves lie on one level, so that none need be the worst.
fn on_path(tree: &Hierarchy, scales: &[f64], kind: ChangeKind) -> Option<Vec<f64>> {
    let last = tree.levels() - 1;
    if tree.leaves().iter().any(|&leaf| tree.level(leaf as usize) != last) {
        return None;
    }
    let ones = vec![1.0; tree.levels()];
    let costs = TreeCosts::new(tree, &ones).ok()?;
    let worst = match kind {
        ChangeKind::Added => costs.worst_added(),
        ChangeKind::Moved => costs.worst_moved(),
        ChangeKind::Smallest => costs.worst_added().or_else(|| costs.worst_moved()),
    }?;
    // So many of the lowest levels, on one path or on two.
    let paths = if matches!(worst.change, TreeChange::Added(_)) { 1 } else { 2 };
    let levels = worst.cost as usize / paths;
    let scales = scales[scales.len() - levels..].iter().flat_map(|&scale| vec![scale; paths]);
    Some(scales.collect())
}
