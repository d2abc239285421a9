//! `agreement.parquet`: whether two methods with the same noise release the same law.

use super::RunFolder;
use super::tables::{Frame, Group, Reader};
use crate::config::Method;
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::rng::{Role, TaskKey, sign, stream};
use crate::runner::{CellOutcome, Draw};
use std::path::Path;
use std::sync::Arc;

/// A pair of cells of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct AgreementRow {
    /// The first cell; shared by its rows.
    pub group: Arc<Group>,
    /// Method of the second, with its options.
    pub other: String,
    /// Releases of both.
    pub draws: (u64, u64),
    /// Statistics that were compared: errors of cells, and sums with random signs.
    pub comparisons: u64,
    /// The largest two-sample Kolmogorov-Smirnov distance.
    pub distance: f64,
    /// Approximate bound on the probability of such a distance if both laws are the same, times the comparisons.
    pub p: f64,
}

/// Cells of the table that are compared one by one, evenly spaced if there are more.
const CELLS: usize = 256;
/// Sums over all cells with random signs: four for each cell, at most so many.
const DIRECTIONS: u64 = 64;

pub(super) fn write(folder: &RunFolder, plan: &Plan, outcomes: &[CellOutcome], hash: &str) -> Result<()> {
    // Chains that record have no independent releases, and free noise is of another law.
    let drawn: Vec<(&Cell, &[Draw])> = plan
        .cells
        .iter()
        .zip(outcomes)
        .filter(|(cell, outcome)| {
            cell.records == 0 && cell.method != Method::Unconstrained && outcome.rows.draws.len() > 1
        })
        .map(|(cell, outcome)| (cell, &outcome.rows.draws[..]))
        .collect();
    let same = |a: &Cell, b: &Cell| {
        (a.law, a.epsilon, a.delta, a.sensitivity) == (b.law, b.epsilon, b.delta, b.sensitivity)
    };
    let mut rows: Vec<(&Cell, &Cell, [u64; 3], f64, f64)> = Vec::new();
    let directions = directions(plan);
    let mut known: Vec<Option<Vec<Vec<f64>>>> = vec![None; drawn.len()];
    for j in 0..drawn.len() {
        for i in 0..j {
            if !same(drawn[i].0, drawn[j].0) {
                continue;
            }
            for k in [i, j] {
                if known[k].is_none() {
                    known[k] = Some(statistics(drawn[k].1, &directions));
                }
            }
            let (Some(a), Some(b)) = (&known[i], &known[j]) else { continue };
            let distance = a.iter().zip(b).map(|(a, b)| two_sample(a, b)).fold(0.0, f64::max);
            let (n, m) = (drawn[i].1.len() as f64, drawn[j].1.len() as f64);
            let p = std::f64::consts::E
                * libm::exp(-2.0 * distance * distance * n * m / (n + m))
                * a.len() as f64;
            rows.push((drawn[i].0, drawn[j].0, [n as u64, m as u64, a.len() as u64], distance, p.min(1.0)));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let mut frame = Frame::new(rows.iter().map(|(cell, ..)| (*cell, 1)).collect());
    let words =
        |cell: &Cell| format!("{} {}", cell.method.name(), cell.method.options()).trim_end().to_owned();
    frame.push("other_cell", rows.iter().map(|(_, other, ..)| other.key_text()).collect::<Vec<String>>());
    frame.push("other", rows.iter().map(|(_, other, ..)| words(other)).collect::<Vec<String>>());
    for (i, name) in ["draws", "other_draws", "comparisons"].into_iter().enumerate() {
        frame.push(name, rows.iter().map(|(_, _, n, ..)| n[i]).collect::<Vec<_>>());
    }
    frame.push("distance", rows.iter().map(|(.., distance, _)| *distance).collect::<Vec<_>>());
    frame.push("p", rows.iter().map(|(.., p)| *p).collect::<Vec<_>>());
    frame.write(folder, "agreement.parquet", hash)
}

/// Signs by direction and cell: a function of the seed.
fn directions(plan: &Plan) -> Vec<Vec<f64>> {
    let cells = plan.subject.nodes();
    (0..DIRECTIONS.min(4 * cells as u64))
        .map(|replicate| {
            let key = TaskKey { seed: plan.config.seed, cell: 0, replicate, role: Role::Noise };
            let mut rng = stream(key);
            (0..cells).map(|_| sign(&mut rng)).collect()
        })
        .collect()
}

/// Every statistic of the draws, sorted.
fn statistics(draws: &[Draw], directions: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let cells = draws[0].errors.len();
    let chosen = cells.min(CELLS);
    let sorted = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    // Rounding of values and sums is no difference of laws; the offset keeps common fractions off the edges.
    let rounded = |x: f64| libm::rint(x * 1e4 + 0.137) * 1e-4;
    let cell = |k: usize| {
        let cell = k * cells / chosen;
        sorted(draws.iter().map(|draw| rounded(draw.errors[cell])).collect())
    };
    let sum = |signs: &Vec<f64>| {
        let along = |draw: &Draw| draw.errors.iter().zip(signs).map(|(z, sign)| z * sign).sum::<f64>();
        sorted(draws.iter().map(|draw| rounded(along(draw))).collect())
    };
    (0..chosen).map(cell).chain(directions.iter().map(sum)).collect()
}

/// The largest difference of two empirical distribution functions.
fn two_sample(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        while i < a.len() && a[i] <= x {
            i += 1;
        }
        while j < b.len() && b[j] <= x {
            j += 1;
        }
        largest = largest.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    largest
}

/// Reads `agreement.parquet` of a run folder; empty if the run has none.
pub fn read_agreement(folder: &Path) -> Result<Vec<AgreementRow>> {
    let Some(reader) = Reader::open_if_there(folder, "agreement.parquet")? else { return Ok(Vec::new()) };
    let other = reader.text("other")?;
    let (n, m, comparisons) = (reader.u64("draws")?, reader.u64("other_draws")?, reader.u64("comparisons")?);
    let (distance, p) = (reader.f64("distance")?, reader.f64("p")?);
    let rows = reader.groups()?.into_iter().enumerate().filter_map(|(i, group)| {
        Some(AgreementRow {
            group,
            other: other.get(i)?.to_owned(),
            draws: (n[i]?, m[i]?),
            comparisons: comparisons[i]?,
            distance: distance[i]?,
            p: p[i]?,
        })
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn distances_of_samples() {
        let two = super::two_sample;
        assert_eq!(two(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(two(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(two(&[0.0, 0.0, 1.0, 1.0], &[0.0, 1.0, 1.0, 1.0]), 0.25);
    }
}
