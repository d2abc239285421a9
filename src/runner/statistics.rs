//! What is compared of the releases of two cells with the same noise.

use super::{CellOutcome, Draw};
use crate::grid::Plan;
use crate::rng::{Role, TaskKey, sign, stream};

/// Cells of the table that are compared one by one, evenly spaced if there are more.
const CELLS: usize = 256;
/// Sums over all cells with random signs: four for each cell, at most so many.
const DIRECTIONS: u64 = 64;

/// Statistics of releases, each a sorted sample.
#[derive(Debug)]
pub struct Statistics {
    /// Signs by direction and cell: a function of the seed.
    directions: Vec<Vec<f64>>,
}

impl Statistics {
    /// For the subject of a plan.
    pub fn new(plan: &Plan) -> Self {
        let cells = plan.subject.nodes();
        let direction = |replicate| {
            let key = TaskKey { seed: plan.config.seed, cell: 0, replicate, role: Role::Noise };
            let mut rng = stream(key);
            (0..cells).map(|_| sign(&mut rng)).collect()
        };
        Self { directions: (0..DIRECTIONS.min(4 * cells as u64)).map(direction).collect() }
    }

    /// Of a table: errors of cells, sums over all cells with random signs, and the L1 and L2 norms of all errors, which see
    /// a scale that is wrong.
    pub fn of_draws(&self, draws: &[Draw]) -> Vec<Vec<f64>> {
        let cells = draws.first().map_or(0, |draw| draw.errors.len());
        let chosen = cells.min(CELLS);
        let cell = |k: usize| {
            let cell = k * cells / chosen;
            sorted(draws.iter().map(|draw| draw.errors[cell]))
        };
        let sum = |signs: &Vec<f64>| {
            let along = |draw: &Draw| draw.errors.iter().zip(signs).map(|(z, sign)| z * sign).sum::<f64>();
            sorted(draws.iter().map(along))
        };
        let norm =
            |of: fn(&f64) -> f64| sorted(draws.iter().map(|draw| draw.errors.iter().map(of).sum::<f64>()));
        let norms = [norm(|z| z.abs()), norm(|z| z * z)];
        (0..chosen).map(cell).chain(self.directions.iter().map(sum)).chain(norms).collect()
    }

    /// Of releases of any kind: of a hierarchy the L1 error, the L2 error and the bias of every level.
    pub fn of(&self, outcome: &CellOutcome) -> Vec<Vec<f64>> {
        if !outcome.rows.draws.is_empty() {
            return self.of_draws(&outcome.rows.draws);
        }
        let rows = &outcome.rows.errors;
        let levels = rows.iter().map(|row| row.level).max().unwrap_or(0);
        let mut statistics = Vec::new();
        for level in 1..=levels {
            let here = || rows.iter().filter(move |row| row.level == level);
            statistics.push(sorted(here().map(|row| row.l1)));
            statistics.push(sorted(here().map(|row| row.l2)));
            statistics.push(sorted(here().map(|row| row.bias)));
        }
        statistics
    }
}

/// Rounding of values and sums is no difference of laws; the offset keeps common fractions off the edges.
pub(crate) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.map(|x| libm::rint(x * 1e4 + 0.137) * 1e-4).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}
