//! Conditioned real noise on a table with few free dimensions: every entry and the norm, by quadrature.

use super::tables::TableLaw;
use super::{Distribution, Formula};
use congenial_core::invariant::{Linear, NO_LOWER, NO_UPPER, Region};

/// Points along each axis of the grid, by free dimensions.
const POINTS: [usize; 3] = [200_000, 1500, 160];
/// Entries that are looked at.
const MOST_ENTRIES: usize = 64;
/// Weights below this part of the largest do not count.
const LEAST_WEIGHT: f64 = 1e-11;
/// Bins of an entry's values.
const BINS: usize = 2000;

/// The law with the given weight on the reals that satisfy the equations and lie in the region: the midpoint
/// rule on a grid of the entries that elimination leaves free, twice refined to where weight is.
///
/// Errors: why there is none, in words.
pub fn conditioned(invariant: &Linear, region: &Region, law: Formula) -> Result<TableLaw, String> {
    let d = invariant.entries();
    if d > MOST_ENTRIES {
        return Err("it has too many entries to be integrated over".into());
    }
    let (free, solved) = eliminated(invariant);
    if free.is_empty() || free.len() > POINTS.len() {
        return Err(format!(
            "it has {} free dimensions, integrated over are 1 to {}",
            free.len(),
            POINTS.len()
        ));
    }
    let points = POINTS[free.len() - 1];
    let grid = Grid { region, law, free: &free, solved: &solved, entries: d };
    let within = propagated(invariant, region, 1.2 * law.reach());
    let mut ranges: Vec<(f64, f64)> = free.iter().map(|&i| within[i]).collect();
    for _ in 0..3 {
        ranges = grid.refined(&ranges, points / 2).ok_or("no point of a grid satisfies everything")?;
    }
    grid.law(&ranges, points).ok_or_else(|| "no point of a grid satisfies everything".into())
}

/// By entry: the range that its bounds, the reach of the law, and the ranges of the others leave it, row by
/// row a few times.
fn propagated(invariant: &Linear, region: &Region, reach: f64) -> Vec<(f64, f64)> {
    let bound = |i: usize| {
        let (lower, upper) = (region.lower[i], region.upper[i]);
        let low = if lower == NO_LOWER { -reach } else { (lower as f64).max(-reach) };
        (low, if upper == NO_UPPER { reach } else { (upper as f64).min(reach) })
    };
    let mut ranges: Vec<(f64, f64)> = (0..invariant.entries()).map(bound).collect();
    let equations = invariant.rows().iter().map(|row| (row, 0.0, 0.0));
    let rows: Vec<_> =
        equations.chain(region.rows.iter().map(|(row, least)| (row, *least as f64, f64::INFINITY))).collect();
    for _ in 0..5 {
        for &(row, least, most) in &rows {
            for &(i, a) in row {
                // least <= a z_i + (the others) <= most.
                let others = row.iter().filter(|(j, _)| *j != i).map(|&(j, b)| {
                    let (low, high) = ranges[j as usize];
                    if b > 0 { (b as f64 * low, b as f64 * high) } else { (b as f64 * high, b as f64 * low) }
                });
                let (low, high) = others.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
                let ends = ((least - high) / a as f64, (most - low) / a as f64);
                let (from, to) = if a > 0 { ends } else { (ends.1, ends.0) };
                let range = &mut ranges[i as usize];
                *range = (range.0.max(from).min(range.1), range.1.min(to).max(range.0));
            }
        }
    }
    ranges
}

/// Free entries, and every other one as a combination of them.
fn eliminated(invariant: &Linear) -> (Vec<usize>, Vec<(usize, Vec<f64>)>) {
    let d = invariant.entries();
    let mut rows: Vec<Vec<f64>> = invariant
        .rows()
        .iter()
        .map(|row| {
            let mut dense = vec![0.0; d];
            row.iter().for_each(|&(i, a)| dense[i as usize] = a as f64);
            dense
        })
        .collect();
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    for c in 0..d {
        let open = (0..rows.len()).filter(|i| pivots.iter().all(|&(row, _)| row != *i));
        let Some(at) = open.max_by(|&i, &j| rows[i][c].abs().total_cmp(&rows[j][c].abs())) else { break };
        if rows[at][c].abs() < 1e-9 {
            continue;
        }
        let own = rows[at][c];
        rows[at].iter_mut().for_each(|x| *x /= own);
        let row = rows[at].clone();
        for other in rows.iter_mut().enumerate().filter(|&(i, _)| i != at).map(|(_, other)| other) {
            let factor = other[c];
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
        pivots.push((at, c));
    }
    let free: Vec<usize> = (0..d).filter(|c| pivots.iter().all(|(_, pivot)| pivot != c)).collect();
    let solved = pivots.iter().map(|&(i, c)| (c, free.iter().map(|&f| -rows[i][f]).collect())).collect();
    (free, solved)
}

struct Grid<'a> {
    region: &'a Region,
    law: Formula,
    free: &'a [usize],
    solved: &'a [(usize, Vec<f64>)],
    entries: usize,
}

impl Grid<'_> {
    /// Calls back with every midpoint that satisfies everything: its place by free entry, the noise, its
    /// log-weight.
    fn each(&self, ranges: &[(f64, f64)], n: usize, mut found: impl FnMut(&[usize], &[f64], f64)) {
        let points = n.pow(ranges.len() as u32);
        let (mut place, mut z) = (vec![0; ranges.len()], vec![0.0; self.entries]);
        for index in 0..points {
            let mut rest = index;
            for (k, &(low, high)) in ranges.iter().enumerate() {
                place[k] = rest % n;
                rest /= n;
                z[self.free[k]] = low + (high - low) * (place[k] as f64 + 0.5) / n as f64;
            }
            for (entry, combination) in self.solved {
                z[*entry] = combination.iter().zip(self.free).map(|(a, &i)| a * z[i]).sum();
            }
            if self.inside(&z) {
                found(&place, &z, z.iter().map(|&z| self.law.log_weight(z)).sum());
            }
        }
    }

    fn inside(&self, z: &[f64]) -> bool {
        let Region { lower, upper, rows } = self.region;
        let off = |(i, &z): (usize, &f64)| {
            (lower[i] != NO_LOWER && z < lower[i] as f64) || (upper[i] != NO_UPPER && z > upper[i] as f64)
        };
        let value = |row: &[(u32, i64)]| row.iter().map(|&(i, b)| b as f64 * z[i as usize]).sum::<f64>();
        !z.iter().enumerate().any(off) && rows.iter().all(|(row, least)| value(row) >= *least as f64)
    }

    /// The ranges in which weight is, and a cell more on each side.
    fn refined(&self, ranges: &[(f64, f64)], n: usize) -> Option<Vec<(f64, f64)>> {
        let mut largest = f64::NEG_INFINITY;
        self.each(ranges, n, |_, _, weight| largest = largest.max(weight));
        if largest == f64::NEG_INFINITY {
            return None;
        }
        let mut seen = vec![(n, 0); ranges.len()];
        self.each(ranges, n, |place, _, weight| {
            if weight >= largest + libm::log(LEAST_WEIGHT) {
                for (seen, &at) in seen.iter_mut().zip(place) {
                    *seen = (seen.0.min(at), seen.1.max(at));
                }
            }
        });
        let narrowed = |(&(low, high), &(first, last)): (&(f64, f64), &(usize, usize))| {
            let cell = (high - low) / n as f64;
            (low + cell * first.saturating_sub(1) as f64, low + cell * (last + 2).min(n) as f64)
        };
        Some(ranges.iter().zip(&seen).map(narrowed).collect())
    }

    fn law(&self, ranges: &[(f64, f64)], n: usize) -> Option<TableLaw> {
        let mut spans = vec![(f64::INFINITY, f64::NEG_INFINITY); self.entries + 1];
        let mut largest = f64::NEG_INFINITY;
        let norm = |z: &[f64]| z.iter().map(|z| z.abs()).sum::<f64>();
        self.each(ranges, n, |_, z, weight| {
            largest = largest.max(weight);
            for (span, z) in spans.iter_mut().zip(z.iter().copied().chain([norm(z)])) {
                *span = (span.0.min(z), span.1.max(z));
            }
        });
        if largest == f64::NEG_INFINITY {
            return None;
        }
        let mut bins = vec![vec![0.0; BINS]; self.entries + 1];
        let mut total = 0.0;
        self.each(ranges, n, |_, z, weight| {
            let weight = libm::exp(weight - largest);
            total += weight;
            for ((bins, &(low, high)), z) in
                bins.iter_mut().zip(&spans).zip(z.iter().copied().chain([norm(z)]))
            {
                let at = (z - low) / (high - low).max(f64::MIN_POSITIVE) * BINS as f64;
                bins[(at as usize).min(BINS - 1)] += weight;
            }
        });
        let distribution = |(bins, &(low, high)): (&Vec<f64>, &(f64, f64))| {
            let value = |k: usize| low + (high - low) * (k as f64 + 0.5) / BINS as f64;
            let filled = bins.iter().enumerate().filter(|(_, p)| **p > 0.0);
            let points: Vec<(f64, f64)> = if high - low < 1e-9 {
                vec![(0.5 * (low + high), 1.0)]
            } else {
                filled.map(|(k, p)| (value(k), p / total)).collect()
            };
            // A value counts for its bin; a constant is one point.
            let grain =
                if points.len() > 1 { points.iter().map(|(_, p)| *p).fold(0.0, f64::max) } else { 0.0 };
            Distribution { points, grain }
        };
        let mut all: Vec<Distribution> = bins.iter().zip(&spans).map(distribution).collect();
        let norm = all.pop().expect("the norm is the last");
        Some(TableLaw { entries: all, norm })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use congenial_core::invariant::Inequalities;
    use congenial_core::rng::normal_cdf;

    fn assert_cdf(law: &Distribution, cdf: impl Fn(f64) -> f64) {
        let (mut sum, slack) = (0.0, 2e-4 + law.grain);
        assert!(slack < 0.03);
        for &(x, p) in &law.points {
            assert!((sum + 0.5 * p - cdf(x)).abs() < slack, "at {x}: {} {}", sum + 0.5 * p, cdf(x));
            sum += p;
        }
    }

    /// Closed forms in one and two dimensions: two entries of a total with bounds, three without, and the
    /// half of a plane.
    #[test]
    fn quadrature_agrees_with_closed_forms() {
        // z2 = -z1, weight exp(-2 |z1|) on -1 <= z1 <= 2.
        let total = Linear::total(2).unwrap();
        let region = Inequalities::nonnegative(2).around(&[1, 2]).unwrap();
        let law = conditioned(&total, &region, Formula::Laplace(1.0)).unwrap();
        let whole = 1.0 - 0.5 * (libm::exp(-2.0) + libm::exp(-4.0));
        let one = |x: f64| {
            let below = if x < 0.0 { 0.5 * libm::exp(2.0 * x) } else { 1.0 - 0.5 * libm::exp(-2.0 * x) };
            (below - 0.5 * libm::exp(-2.0)) / whole
        };
        assert_cdf(&law.entries[0], one);
        let normal = conditioned(&total, &region, Formula::Gaussian(1.0)).unwrap();
        let phi = |x: f64| normal_cdf(x * libm::sqrt(2.0));
        assert_cdf(&normal.entries[1], |x| (phi(x) - phi(-2.0)) / (phi(1.0) - phi(-2.0)));
        // "Two views", section 4.
        let three = Linear::total(3).unwrap();
        let law = conditioned(&three, &Region::everything(), Formula::Laplace(1.0)).unwrap();
        let tail = |s: f64| libm::exp(-2.0 * s) * (0.5 + s / 3.0);
        for entry in &law.entries {
            assert_cdf(entry, |x| if x < 0.0 { tail(-x) } else { 1.0 - tail(x) });
        }
        // x + y >= 0 of two free normals: their sum is half normal.
        let region =
            Inequalities::rows(vec![(vec![(0, 1), (1, 1), (2, 1)], 0)]).unwrap().around(&[0; 3]).unwrap();
        let free = Linear::from_rows(3, vec![vec![(2, 1)]]).unwrap();
        let law = conditioned(&free, &region, Formula::Gaussian(1.0)).unwrap();
        // P(x <= a, x + y >= 0) = ∫_{-inf}^a φ(x) Φ(x) dx = Φ(a)²/2.
        assert_cdf(&law.entries[0], |x| normal_cdf(x) * normal_cdf(x));
        assert_eq!(law.entries[2].points, [(0.0, 1.0)]);
        assert!(
            conditioned(&Linear::total(9).unwrap(), &Region::everything(), Formula::Laplace(1.0)).is_err()
        );
    }
}
