//! What integer noise loses under any equations, where few points of their lattice matter: all of these are listed.
//!
//! Entries with equal columns meet the equations by their sum alone, so that those which a change leaves alone are one coordinate, with
//! the law of their sum; entries that it changes are coordinates of their own. A point has the product of the coordinates'
//! probabilities as its weight, and the loss of the changed entries.
//!
//! **What is cut.** Tables end where less than 1e-18 of their mass is left. Points are left out whose weight is so small that all of
//! them, as many as the tables hold, have less than 1e-17 of the weight of 0. Both are divided by the weight of all points, and count
//! as a loss of their own, the largest that there is.

use super::entry::{largest, square, unit, units};
use super::losses::Losses;
use crate::error::{Error, Result};
use crate::exact::Table;
use crate::exact::points::{MAX_VISITED, Points};
use crate::exact::table::TRUNCATION;
use crate::invariant::Component;
use crate::lattice::{Basis, BasisKind, IntMatrix, Row, Sparse};
use crate::law::IntegerLaw;
use std::collections::BTreeMap;

/// Free dimensions beyond which points are not tried to be listed.
const MOST_FREE: usize = 16;
/// The weight of all points that are left out, over that of 0.
const LEFT_OUT: f64 = 1e-17;

/// The losses of a record moved between two entries of equal columns, one for each group of them.
///
/// Errors: tables of more than 2^18 entries, more than 2^24 points that are looked at ([`crate::Error::TooLarge`]);
/// coefficients beyond 64 bits.
pub(super) fn moved<L: IntegerLaw>(component: &Component, law: &L) -> Result<Vec<Losses>> {
    let mut found = Vec::new();
    for (_, entries) in component.equal_columns() {
        if let [first, second, ..] = entries[..] {
            found.extend(of_changes(component, law, &[vec![(first, -1), (second, 1)]])?);
        }
    }
    Ok(found)
}

/// The losses of all smallest changes, one of each pair ±u, with their size; `None`: nothing can change.
///
/// Errors: as [`moved`].
pub(super) fn smallest<L: IntegerLaw>(component: &Component, law: &L) -> Result<Option<(u64, Vec<Losses>)>> {
    check_free(component.entries.len(), component)?;
    let short = Basis::of_kernel(&component.matrix(), BasisKind::Reduced)?.vectors;
    let size = |v: &[i64]| v.iter().map(|x| x.unsigned_abs()).sum::<u64>();
    let Some(bound) = (0..short.rows()).map(|i| size(short.row(i))).min() else { return Ok(None) };
    let (mut least, mut changes) = (bound, Vec::<Sparse>::new());
    // Of weights e^-|z| those that sum to no more than that.
    let weights = (-(bound as i64)..=bound as i64).map(|z| libm::exp(-(z as f64).abs()));
    let ball = Table::from_weights(-(bound as i64), weights.collect(), 0.0, 0.0)?;
    let tables = vec![&ball; component.entries.len()];
    let lightest = tables.len() as f64 * libm::log(ball.at(0)) - bound as f64 - 0.5;
    Points::new(&component.matrix())?.each(&tables, lightest, MAX_VISITED, &mut |z| {
        let own = size(z);
        // Of a pair the one that begins with a positive entry.
        let is_first = z.iter().find(|x| **x != 0).is_some_and(|x| *x > 0);
        if is_first && own <= least {
            if own < least {
                (least, changes) = (own, Vec::new());
            }
            let of = |(entry, &x): (u32, &i64)| (x != 0).then_some((entry, x as i32));
            changes.push((0..).zip(z).filter_map(of).collect());
        }
        Ok(())
    })?;
    Ok(Some((least, of_changes(component, law, &changes)?)))
}

/// The losses of some changes.
fn of_changes<L: IntegerLaw>(component: &Component, law: &L, changes: &[Sparse]) -> Result<Vec<Losses>> {
    let is_changed = |entry: &u32| changes.iter().flatten().any(|(changed, _)| changed == entry);
    let one = Table::of_law(law, i64::MIN, i64::MAX)?;
    let mut place = vec![0; component.entries.len()];
    let (mut columns, mut tables): (Vec<Row>, Vec<Table>) = Default::default();
    for (column, entries) in component.equal_columns() {
        let (own, rest): (Vec<u32>, Vec<u32>) = entries.iter().partition(|entry| is_changed(entry));
        for entry in own {
            place[entry as usize] = columns.len();
            columns.push(column.clone());
            tables.push(one.clone());
        }
        if !rest.is_empty() {
            columns.push(column);
            tables.push(one.power(rest.len(), TRUNCATION)?);
        }
    }
    check_free(columns.len(), component)?;
    let changes: Vec<Vec<(usize, i64)>> = changes
        .iter()
        .map(|u| u.iter().map(|&(entry, x)| (place[entry as usize], i64::from(x))).collect())
        .collect();
    let tables: Vec<&Table> = tables.iter().collect();
    let points = Points::new(&IntMatrix::from_columns(0..component.rows.len(), columns.iter()))?;
    let log_zero: f64 = tables.iter().map(|table| libm::log(table.at(0))).sum();
    let most = points.most(&tables);
    let mut weights: Vec<BTreeMap<i64, f64>> = vec![BTreeMap::new(); changes.len()];
    let mut event = 0.0;
    points.each(&tables, log_zero + libm::log(LEFT_OUT / most), MAX_VISITED, &mut |z| {
        let weight: f64 = tables.iter().zip(z).map(|(table, &z)| table.at(z)).product();
        event += weight;
        for (u, weights) in changes.iter().zip(&mut weights) {
            let times = u.iter().map(|&(at, x)| units(law, z[at], x)).sum();
            *weights.entry(times).or_default() += weight;
        }
        Ok(())
    })?;
    let lost: f64 = tables.iter().map(|table| table.lost()).sum();
    let beyond = ((lost + LEFT_OUT * libm::exp(log_zero)) / event).min(1.0);
    let of = |(weights, u): (BTreeMap<i64, f64>, &Vec<(usize, i64)>)| {
        let weights: Vec<(i64, f64)> = weights.into_iter().collect();
        // As many changes by 1.
        let steps: usize = u.iter().map(|(_, x)| x.unsigned_abs() as usize).sum();
        let squares: i64 = u.iter().map(|(_, x)| x * x).sum();
        Losses::of_units(unit(law), &weights, beyond, steps as f64 * largest(law))
            .moved_by(square(law).map(|one| squares as f64 * one))
    };
    Ok(weights.into_iter().zip(&changes).map(of).collect())
}

/// Refuses what has far too many points before anything is computed. `coordinates`: those of the points.
fn check_free(coordinates: usize, component: &Component) -> Result<()> {
    let free = coordinates.saturating_sub(component.rows.len());
    if free <= MOST_FREE {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "the law of losses by listing".into(),
        needed: free as u64,
        limit: MOST_FREE as u64,
        unit: "free dimensions",
    })
}
