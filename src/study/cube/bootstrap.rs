//! Intervals of tables of integers by a parametric bootstrap: what releases of the released tables are off by.

use super::areas::Filled;
use super::draw::Ready;
use crate::cube::{Descent, Table};
use crate::hash;
use crate::rng::TaskKey;
use crate::{Error, Result};

/// The share of releases on each side of an interval of 90 %.
const SIDE: f64 = 0.05;
/// Numbers that are kept at most: 512 MiB.
const MOST: usize = 1 << 26;

/// The errors of all answers of an area, query by query.
type Errors = Vec<(u32, Vec<i64>)>;

/// Refuses so many releases that their errors do not fit. `answers`: of all areas and queries.
pub(super) fn check(answers: usize, times: u64) -> Result<()> {
    let needed = answers.saturating_mul(times as usize);
    match needed <= MOST {
        true => Ok(()),
        false => Err(Error::TooLarge {
            what: "the errors of a bootstrap".into(),
            needed: needed as u64,
            limit: MOST as u64,
            unit: "numbers",
        }),
    }
}

/// By level, query and size, how many answers of a release are in their intervals.
///
/// The released tables are taken for the true ones, and released again, `times` times, with noise of their own. An answer that was released
/// as y, with errors e of those releases, has the interval from y less the upper to y less the lower quantile of e: it holds the true
/// answer where the error of the release itself is between the two. Errors: those of the releases.
pub(super) fn held(ready: &Ready, descent: &Descent, replicate: u64, times: u64) -> Result<Vec<u64>> {
    let (areas, key) = (ready.areas(), ready.key(replicate));
    let (own, cells) = released(ready, descent, key, &areas.cells)?;
    let mut all: Vec<Vec<i64>> =
        own.iter().map(|(_, own)| Vec::with_capacity(own.len() * times as usize)).collect();
    let again = TaskKey { cell: hash::word(&format!("bootstrap {}", key.cell)), ..key };
    for time in 0..times {
        let key = TaskKey { replicate: replicate * times + time, ..again };
        for (all, (_, errors)) in all.iter_mut().zip(released(ready, descent, key, &cells)?.0) {
            all.extend(errors);
        }
    }
    let rank = ((SIDE * (times + 1) as f64) as usize).max(1) - 1;
    let mut held = vec![0u64; ready.places()];
    let mut sorted = Vec::with_capacity(times as usize);
    for ((v, own), all) in own.iter().zip(&all) {
        let mut at = 0;
        for (query, marginal) in areas.queries.iter().enumerate() {
            let place = ready.place(*v as usize, query);
            for _ in 0..marginal.answers() {
                sorted.clear();
                sorted.extend(all.iter().skip(at).step_by(own.len()));
                sorted.sort_unstable();
                let (low, high) = (sorted[rank], sorted[sorted.len() - 1 - rank]);
                held[place] += u64::from((low..=high).contains(&own[at]));
                at += 1;
            }
        }
    }
    Ok(held)
}

/// A release of the cells of leaves: its errors by area, and the cells of its leaves.
fn released(
    ready: &Ready,
    descent: &Descent,
    key: TaskKey,
    cells: &[Filled],
) -> Result<(Errors, Vec<Filled>)> {
    let (areas, tree) = (ready.areas(), ready.tree());
    type Seen = (Errors, Vec<Filled>, Vec<Vec<f64>>);
    let see = |(errors, filled, answers): &mut Seen, v: usize, table: &Table| {
        areas.errors(v, table, cells, answers);
        errors.push((v as u32, answers.iter().flatten().map(|error| *error as i64).collect()));
        if tree.is_leaf(v) {
            let own = table.places.iter().zip(&table.counts);
            filled.extend(own.map(|(&place, &count)| Filled { leaf: v as u32, place, count }));
        }
        Ok(())
    };
    let (mut errors, mut filled) = (Errors::new(), Vec::new());
    for (own, cells, _) in ready.release(descent, key, cells, see)?.0 {
        errors.extend(own);
        filled.extend(cells);
    }
    errors.sort_unstable_by_key(|(v, _)| *v);
    filled.sort_unstable();
    Ok((errors, filled))
}
