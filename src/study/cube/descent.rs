//! Tables of integers that are not negative: TopDown and BlueDown.

use super::Planned;
use super::config::Way;
use crate::config::tables::{Asked, Measured};
use crate::cube::{Descent, Measurements};
use crate::invariant::Hierarchy;
use crate::{Error, Result};

/// The descent of a method. Errors: as of [`Descent::topdown`] and [`Descent::bluedown`].
pub(super) fn descent(tree: &Hierarchy, measurements: Measurements, method: Way) -> Result<Descent> {
    match method {
        Way::TopDown => Descent::topdown(tree, measurements),
        _ => Descent::bluedown(tree, measurements),
    }
}

/// What is known on a level is known on those above: all leaves stand on the last.
pub(super) fn complete(variances: &mut [Vec<Option<f64>>]) {
    for level in (1..variances.len()).rev() {
        let [above, own] = &mut variances[level - 1..=level] else { return };
        let known = above.iter_mut().zip(own).filter(|(_, own)| **own == Some(0.0));
        known.for_each(|(above, _)| *above = Some(0.0));
    }
}

/// As a variance, whether and how a query is measured: 1 of what has noise.
pub(super) fn unit(asked: &Asked, level: usize) -> Option<f64> {
    match asked.measured[level] {
        Measured::Not => None,
        Measured::Known => Some(0.0),
        Measured::Share(_) => Some(1.0),
    }
}

/// Refuses queries that these methods do not serve. Errors: why, in words that name them.
pub(super) fn serves(planned: &Planned, method: Way) -> std::result::Result<(), String> {
    let (areas, tables) = (&planned.areas, &planned.config.data.tables);
    let tree = &areas.list.tree;
    let of_level = |level: usize| tables.queries.iter().map(|asked| unit(asked, level)).collect();
    let mut variances: Vec<Vec<Option<f64>>> = (0..tree.levels()).map(of_level).collect();
    complete(&mut variances);
    let known: Vec<usize> = (0..tables.queries.len())
        .filter(|&query| variances.iter().any(|level| level[query] == Some(0.0)))
        .collect();
    for (place, &one) in known.iter().enumerate() {
        let crossing = known[..place]
            .iter()
            .find(|&&other| areas.queries[one].crosses(&areas.queries[other], &areas.domain));
        if let Some(&other) = crossing {
            return Err(format!(
                "`{}` and `{}` are known and cross: some answers of theirs share cells, and neither has all of the other's; \
                 `{}` finds integers where known queries nest",
                tables.queries[other].name,
                tables.queries[one].name,
                method.name()
            ));
        }
    }
    // A tree of one area on each level stands for all of that many.
    let path: Vec<usize> = (0..tree.levels()).map(|level| level.saturating_sub(1)).collect();
    let measurements = Measurements::new(&areas.domain, areas.queries.clone(), variances);
    match measurements.and_then(|own| descent(&Hierarchy::from_parents(&path)?, own, method)) {
        Ok(_) => Ok(()),
        Err(Error::Parameter { got, want, .. }) => {
            let level = got.parse().ok().and_then(|level: usize| tables.levels.get(level));
            Err(format!(
                "not every cell of a `{}` follows from what is measured or known there, and `{}` wants that on every level: {want}",
                level.map_or("", String::as_str),
                method.name()
            ))
        }
        Err(e) => Err(e.to_string()),
    }
}
