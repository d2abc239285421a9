//! Two-way tables of any size: entries that each lie in one row sum and in one column sum.

mod exact;

use super::super::network::Network;
use super::grid::{clamp, largest};
use super::solve::REFINED;
use crate::error::{Error, Result};
use crate::invariant::Component;

/// Rounds of a search for the multipliers; a dozen are common.
const ROUNDS: usize = 200;
/// Relative residual below which nothing is to be gained.
const SETTLED: f64 = 1e-14;
/// Relative residual from which on sums are no longer met one by one between the steps.
const CLOSE: f64 = 1e-6;

/// A component whose equations are row sums and column sums, every entry in one of each: the margins of a two-way table, whole or with
/// gaps, with one entry or several where a row meets a column; and bounds around 0.
#[derive(Debug, Clone)]
pub(super) struct Crossing {
    /// By entry: its row and its column, as numbers of equations.
    ends: Vec<[u32; 2]>,
    /// By equation: whether it is a column.
    columns: Vec<bool>,
    /// Entries by equation, in `members` from `first[equation]`.
    first: Vec<usize>,
    members: Vec<u32>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Crossing {
    /// Recognises a two-way table. The least and the greatest i64 mean no bound. `None`: another coefficient than 1, an
    /// entry in one equation or in more than two, or equations that do not fall into two sides.
    pub(super) fn of(component: &Component, lower: &[i64], upper: &[i64]) -> Option<Self> {
        if component.rows.iter().flatten().any(|&(_, a)| a != 1) {
            return None;
        }
        let network = Network::plain(&component.rows, component.entries.len())?;
        // What flows from or to outside is in one equation.
        let outside = component.rows.len();
        let mut columns = vec![false; outside];
        for &(row, column) in &network.ends {
            if row as usize == outside || column as usize == outside {
                return None;
            }
            columns[column as usize] = true;
        }
        let ends = network.ends.iter().map(|&(row, column)| [row, column]).collect();
        let (first, members) = (network.first, network.edges);
        let real = |bounds: &[i64]| bounds.iter().map(|&bound| bound as f64).collect();
        Some(Self { ends, columns, first, members, lower: real(lower), upper: real(upper) })
    }

    fn of_sum(&self, equation: usize) -> &[u32] {
        &self.members[self.first[equation]..self.first[equation + 1]]
    }

    /// The projection of `u`, to rounding: `z_ij = clamp(u_ij - a_i - b_j, lower_ij, upper_ij)` with all sums 0.
    ///
    /// The multipliers a and b maximise the dual, which is concave with a continuous slope: the sums. Sums are met one
    /// by one, rows then columns; then all together by a semismooth Newton step, with conjugate gradients on the
    /// entries between their bounds, and a search along it. Qi and Sun 2006, "A quadratically convergent Newton method
    /// for computing the nearest correlation matrix", do the same for another cone.
    ///
    /// Counts that are mostly 0 under noise far wider make it almost a transport problem, where steps are short: then
    /// `u` grows from the size of the counts, by twos, and each search begins at twice the multipliers of the one
    /// before.
    ///
    /// Errors: the sums are not 0 to 1e-9 of `1 + ‖u‖∞` times the root of their entries.
    pub(super) fn solve(&self, u: &[f64]) -> Result<Vec<f64>> {
        let from = |u: &[f64], multipliers: Vec<f64>, rounds: usize| {
            Dual { table: self, u, scale: 1.0 + largest(u), multipliers }.search(rounds)
        };
        let mut best = from(u, vec![0.0; self.columns.len()], ROUNDS);
        if best.0 > REFINED {
            let finite = |bounds: &[f64]| -> f64 {
                bounds.iter().map(|bound| bound.abs()).filter(|bound| *bound < 1e15).fold(1.0, f64::max)
            };
            let size = finite(&self.lower).max(finite(&self.upper));
            let (mut share, mut multipliers) = (1.0, vec![0.0; self.columns.len()]);
            while share * largest(u) > size {
                share *= 0.5;
            }
            while share < 1.0 {
                let part: Vec<f64> = u.iter().map(|u| share * u).collect();
                multipliers = from(&part, multipliers, ROUNDS).1;
                multipliers.iter_mut().for_each(|m| *m *= 2.0);
                share *= 2.0;
            }
            best = from(u, multipliers, 10 * ROUNDS);
        }
        if best.0 <= REFINED {
            let dual = Dual { table: self, u, scale: 1.0, multipliers: Vec::new() };
            return Ok((0..u.len()).map(|entry| dual.value(&best.1, entry)).collect());
        }
        Err(Error::NotConverged {
            what: "the least squares of a two-way table under bounds",
            residuals: format!("relative residual {:e}", best.0),
        })
    }
}

/// The multipliers of the sums of one projection, on the way to those that solve it.
struct Dual<'a> {
    table: &'a Crossing,
    u: &'a [f64],
    scale: f64,
    multipliers: Vec<f64>,
}

impl Dual<'_> {
    /// The smallest residual of so many rounds, and its multipliers.
    fn search(mut self, rounds: usize) -> (f64, Vec<f64>) {
        let mut best = (f64::INFINITY, self.multipliers.clone());
        let mut since = 0;
        for _ in 0..rounds {
            if best.0 > CLOSE {
                self.meet(false);
                self.meet(true);
            }
            let sums = self.sums(&self.multipliers);
            let residual = self.residual(&sums);
            since = if residual < 0.5 * best.0 { 0 } else { since + 1 };
            if residual < best.0 {
                best = (residual, self.multipliers.clone());
            }
            // What is left then is rounding.
            if residual <= SETTLED || (best.0 <= REFINED && since > 1) {
                break;
            }
            self.step(&sums, residual);
        }
        best
    }

    /// What the multipliers leave of an entry, before its bounds.
    fn free(&self, multipliers: &[f64], entry: usize) -> f64 {
        let [row, column] = self.table.ends[entry];
        self.u[entry] - multipliers[row as usize] - multipliers[column as usize]
    }

    fn value(&self, multipliers: &[f64], entry: usize) -> f64 {
        clamp(self.free(multipliers, entry), self.table.lower[entry], self.table.upper[entry])
    }

    fn sums(&self, multipliers: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; multipliers.len()];
        for (entry, ends) in self.table.ends.iter().enumerate() {
            let z = self.value(multipliers, entry);
            ends.iter().for_each(|&end| sums[end as usize] += z);
        }
        sums
    }

    /// The largest sum relative to the scale and the length of its equation; all else that makes a projection holds by its form.
    fn residual(&self, sums: &[f64]) -> f64 {
        let relative = |(equation, sum): (usize, &f64)| {
            sum.abs() / (self.scale * libm::sqrt(self.table.of_sum(equation).len().max(1) as f64))
        };
        sums.iter().enumerate().map(relative).fold(0.0, f64::max)
    }

    /// Meets each sum of one side alone, the others' multipliers as they are.
    fn meet(&mut self, columns: bool) {
        let mut within: Vec<[f64; 3]> = Vec::new();
        for equation in
            (0..self.multipliers.len()).filter(|&equation| self.table.columns[equation] == columns)
        {
            let own = self.multipliers[equation];
            within.clear();
            within.extend(self.table.of_sum(equation).iter().map(|&entry| {
                let entry = entry as usize;
                [self.free(&self.multipliers, entry) + own, self.table.lower[entry], self.table.upper[entry]]
            }));
            self.multipliers[equation] = level(&within, own, 1e-14 * self.scale);
        }
    }

    /// A Newton step from the point with these sums.
    fn step(&mut self, sums: &[f64], residual: f64) {
        let direction = self.direction(sums, residual.clamp(1e-10, 1e-2));
        let slope = |sums: &[f64]| -> f64 { sums.iter().zip(&direction).map(|(sum, d)| sum * d).sum() };
        let start = slope(sums);
        let along = |length: f64| -> Vec<f64> {
            self.multipliers.iter().zip(&direction).map(|(m, d)| m + length * d).collect()
        };
        if start <= 0.0 || !start.is_finite() {
            return;
        }
        // The slope falls along the way: it is 0 at the best length, and between none and most of what it was where the
        // step is good enough.
        let good = |slope: f64| (-0.1 * start..=0.9 * start).contains(&slope);
        let (mut low, mut high, mut length) = ((0.0, start), None, 1.0);
        let mut to = along(length);
        for _ in 0..60 {
            let now = slope(&self.sums(&to));
            if good(now) {
                break;
            }
            if now > 0.0 {
                low = (length, now)
            } else {
                high = Some((length, now))
            }
            length = match high {
                None => 4.0 * length,
                Some((high, below)) => {
                    // Between the secant and the middle.
                    let (at, above) = low;
                    let secant = at + (high - at) * above / (above - below);
                    0.5 * (secant + 0.5 * (at + high))
                }
            };
            to = along(length);
        }
        self.multipliers = to;
    }

    /// `H d = sums` by conjugate gradients, where `H` counts the entries between their bounds: of each sum on its
    /// diagonal, raised by `shift` of it, and of each row and column.
    fn direction(&self, sums: &[f64], shift: f64) -> Vec<f64> {
        let table = self.table;
        let between = |&entry: &usize| {
            let z = self.free(&self.multipliers, entry);
            table.lower[entry] < z && z < table.upper[entry]
        };
        let moving: Vec<[u32; 2]> =
            (0..self.u.len()).filter(between).map(|entry| table.ends[entry]).collect();
        let mut diagonal = vec![0.0; sums.len()];
        for &end in moving.iter().flatten() {
            diagonal[end as usize] += 1.0 + shift;
        }
        // A sum that no entry can change waits for others.
        let mut rest: Vec<f64> =
            sums.iter().zip(&diagonal).map(|(sum, d)| if *d > 0.0 { *sum } else { 0.0 }).collect();
        diagonal.iter_mut().for_each(|d| *d = if *d > 0.0 { *d } else { 1.0 });
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let scaled =
            |rest: &[f64]| -> Vec<f64> { rest.iter().zip(&diagonal).map(|(rest, d)| rest / d).collect() };
        let mut found = vec![0.0; sums.len()];
        let mut way = scaled(&rest);
        let mut size = dot(&rest, &way);
        let enough = 1e-16 * size;
        for _ in 0..4 * sums.len() + 20 {
            if size <= enough {
                break;
            }
            let mut image: Vec<f64> = way.iter().zip(&diagonal).map(|(way, d)| way * d).collect();
            for &[row, column] in &moving {
                let (row, column) = (row as usize, column as usize);
                image[row] += way[column];
                image[column] += way[row];
            }
            let curvature = dot(&way, &image);
            if curvature <= 0.0 || curvature.is_nan() {
                break;
            }
            let length = size / curvature;
            found.iter_mut().zip(&way).for_each(|(found, way)| *found += length * way);
            rest.iter_mut().zip(&image).for_each(|(rest, image)| *rest -= length * image);
            let next = scaled(&rest);
            let before = std::mem::replace(&mut size, dot(&rest, &next));
            way.iter_mut().zip(&next).for_each(|(way, next)| *way = next + size / before * *way);
        }
        found
    }
}

/// The t at which `Σ clamp(v - t, lower, upper)` is 0 to `tolerance` for each value, from a start: Newton steps in a bracket. `within`: v,
/// lower and upper. Where rounding ends the search it is the best t met.
fn level(within: &[[f64; 3]], start: f64, tolerance: f64) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut t, mut best) = (start, (f64::INFINITY, start));
    for _ in 0..100 {
        // What a larger t, or a smaller one, would move.
        let (mut sum, mut falling, mut rising, mut nearest) =
            (0.0, 0.0, 0.0, [f64::INFINITY, f64::NEG_INFINITY]);
        for &[v, lower, upper] in within {
            let z = v - t;
            sum += clamp(z, lower, upper);
            falling += f64::from(u8::from(lower < z && z <= upper));
            rising += f64::from(u8::from(lower <= z && z < upper));
            if z > upper {
                nearest[0] = nearest[0].min(v - upper);
            } else if z < lower {
                nearest[1] = nearest[1].max(v - lower);
            }
        }
        if sum.abs() < best.0 {
            best = (sum.abs(), t);
        }
        if best.0 <= tolerance * within.len() as f64 {
            break;
        }
        let (count, other) = if sum > 0.0 {
            low = t;
            (falling, nearest[0])
        } else {
            high = t;
            (rising, nearest[1])
        };
        let next = if count > 0.0 { t + sum / count } else { other };
        t = if next > low && next < high { next } else { 0.5 * (low + high) };
        if t <= low || t >= high || !t.is_finite() {
            break;
        }
    }
    best.1
}

#[cfg(test)]
mod tests;
