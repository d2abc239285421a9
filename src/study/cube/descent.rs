//! Tables of integers that are not negative: TopDown and BlueDown.

use super::Planned;
use super::areas::Areas;
use super::config::{Passes, Way};
use crate::config::tables::{AreaTables, Asked, Measured};
use crate::cube::{Bounds, Descent, Measurements};
use crate::invariant::Hierarchy;
use crate::{Error, Result};

/// The descent of a method. Errors: as of [`Descent::topdown`] and [`Descent::bluedown`].
pub(super) fn descent(tree: &Hierarchy, measurements: Measurements, method: Way) -> Result<Descent> {
    match method {
        Way::TopDown => Descent::topdown(tree, measurements),
        _ => Descent::bluedown(tree, measurements),
    }
}

/// A descent in passes, and within bounds. Errors: as of [`Descent::passing`] and [`Descent::bounded`].
pub(super) fn keeping(descent: Descent, passes: &Passes, bounds: Option<&Bounds>) -> Result<Descent> {
    let queries: Vec<usize> = passes.0.iter().map(|(query, _)| *query).collect();
    let descent = if queries.is_empty() { descent } else { descent.passing(&queries)? };
    match bounds {
        Some(bounds) => descent.bounded(bounds.clone()),
        None => Ok(descent),
    }
}

/// By level and query, as variances, what is measured and what is known, there and by levels below.
pub(super) fn units(tables: &AreaTables) -> Vec<Vec<Option<f64>>> {
    let of_level = |level: usize| tables.queries.iter().map(|asked| unit(asked, level)).collect();
    let mut variances: Vec<Vec<Option<f64>>> = (0..tables.levels.len()).map(of_level).collect();
    complete(&mut variances);
    variances
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

/// Refuses queries that are known or have bounds, and cross. Errors: which, in words.
pub(super) fn nest(tables: &AreaTables, areas: &Areas, bounded: &[usize]) -> std::result::Result<(), String> {
    let variances = units(tables);
    let fixed: Vec<usize> = (0..tables.queries.len())
        .filter(|query| variances.iter().any(|level| level[*query] == Some(0.0)) || bounded.contains(query))
        .collect();
    for (place, &one) in fixed.iter().enumerate() {
        let crosses = |other: &&usize| areas.queries[one].crosses(&areas.queries[**other], &areas.domain);
        if let Some(&other) = fixed[..place].iter().find(crosses) {
            return Err(format!(
                "`{}` and `{}` are known{} and cross: some answers of theirs share cells, and neither has all of the other's; \
                 integers are found where such queries nest",
                tables.queries[other].name,
                tables.queries[one].name,
                if bounded.is_empty() { "" } else { " or have bounds" },
            ));
        }
    }
    Ok(())
}

/// Refuses queries that these methods do not serve. Errors: why, in words that name them.
pub(super) fn serves(planned: &Planned, method: Way, passes: &Passes) -> std::result::Result<(), String> {
    let (areas, tables) = (&planned.areas, &planned.config.data.tables);
    let tree = &areas.list.tree;
    let variances = units(tables);
    let bounded = planned.bounds.as_ref().map_or(&[][..], Bounds::queries);
    nest(tables, areas, bounded).map_err(|why| format!("query: {why}"))?;
    // A tree of one area on each level stands for all of that many.
    let path: Vec<usize> = (0..tree.levels()).map(|level| level.saturating_sub(1)).collect();
    let measurements = Measurements::new(&areas.domain, areas.queries.clone(), variances);
    let made = measurements.and_then(|own| descent(&Hierarchy::from_parents(&path)?, own, method));
    let made = made.map_err(|e| match e {
        Error::Parameter { got, want, .. } => {
            let level = got.parse().ok().and_then(|level: usize| tables.levels.get(level));
            format!(
                "query: not every cell of a `{}` follows from what is measured or known there, and `{}` wants that on every level: {want}",
                level.map_or("", String::as_str),
                method.name()
            )
        }
        e => e.to_string(),
    })?;
    keeping(made, passes, planned.bounds.as_ref()).map(drop).map_err(|e| named(&e, tables))
}

/// An error in words that have the names of queries in the place of their numbers.
fn named(error: &Error, tables: &AreaTables) -> String {
    let names = tables.queries.iter().map(|asked| &asked.name).enumerate().rev();
    names.fold(error.to_string(), |text, (query, name)| {
        text.replace(&format!("query {}", query + 1), &format!("`{name}`"))
    })
}
