//! What integer noise on a two-way table loses, given both margins, for the smallest change: two records trade places.
//!
//! Column by column the noise is independent but for the sums of the rows: with `T(s)` the weight of a column s whose entries
//! sum to 0, r - 1 of which are free, c columns have the weight `T^c` convolved, at 0. Two of them are changed, and lose each what
//! they are: with `T_l` the weight of those columns that lose l the law of the losses is
//! `P(l + l') ∝ mean over k of T_l^(k) conj(T_l'^(k)) T^(k)^(c - 2)`, by transforms on a torus, whatever c is; the second column
//! changes as the first does, seen in the mirror. A Gaussian weight loses a linear function of the noise, and the factor
//! `e^(iω(s_0 - s_1))` of a column shifts its transform: then `T^(k + m) T^(k - m) T^(k)^(c - 2)` gives the characteristic function of
//! it, its transform the likeliest losses, and these all others ([`super::translated`]).
//!
//! All changes of this kind are alike. What the torus takes for 0, and what lies outside of it, is bounded by the law of one entry of a
//! column and of a sum of c such, over the probability of the margins, and counts as a loss of its own, the largest that there is.

use super::entry::{largest, square, unit};
use super::losses::Losses;
use super::translated;
use crate::error::Result;
use crate::exact::Table;
use crate::fourier::{even_transform, transform};
use crate::law::IntegerLaw;
use std::f64::consts::TAU;

/// Points of the torus.
const MOST: usize = 1 << 21;
/// What tails hold, over the probability of the margins.
const TAILS: f64 = 1e-18;
/// Rounding of a sum of transforms, a column.
const ROUNDING: f64 = 1e-15;
/// The least weight of a period over the largest: of one below rounding leaves too few digits.
const LEAST: f64 = 1e-4;
/// Entries that the smallest change changes.
pub(super) const CHANGED: usize = 4;

/// The losses of the smallest change in a table of three rows and columns or more; `None`: the torus would be too large, or the scale of a
/// Gaussian weight is so small that a transform loses what is seldom.
///
/// Errors: a scale so large that the table of a law has more than 2^18 entries.
pub(super) fn of_table<L: IntegerLaw>(law: &L, sizes: (usize, usize)) -> Result<Option<Losses>> {
    let (rows, columns) = (sizes.0.min(sizes.1), sizes.0.max(sizes.1));
    let Some((side, left_out)) = side(law, rows, columns)? else { return Ok(None) };
    let (torus, unit) = (Torus::new(law, side, rows, columns), unit(law));
    Ok(Some(match law.as_double_geometric() {
        Some(_) => {
            let (weights, event) = torus.by_sign();
            let beyond = ROUNDING * (columns * weights.len()) as f64 + left_out / event;
            Losses::of_units(unit, &weights, beyond.min(1.0), CHANGED as f64 * largest(law))
        }
        None => {
            let (period, event) = torus.by_product();
            // Losses are even multiples of the unit, and all of them are possible.
            let even = || period.iter().copied().step_by(2);
            if even().fold(f64::INFINITY, f64::min) < LEAST * even().fold(0.0, f64::max) {
                return Ok(None);
            }
            let beyond = TAILS + left_out / event;
            let weights = translated::weights(unit, &period);
            Losses::of_units(unit, &weights, beyond.min(1.0), f64::INFINITY)
                .moved_by(square(law).map(|one| CHANGED as f64 * one))
        }
    }))
}

/// The side of a torus that is large enough, and the probability of what it leaves out and what it takes for 0; `None`: it has too
/// many points.
fn side<L: IntegerLaw>(law: &L, rows: usize, columns: usize) -> Result<Option<(usize, f64)>> {
    let free = rows - 1;
    let entry = |cut: f64| -> Result<Table> {
        let one = Table::tilted(law, i64::MIN, i64::MAX, 0.0, cut)?;
        one.power(free, cut)?.weighted(law, cut)
    };
    // The sums of the rows are next to normal.
    let (_, variance) = entry(TAILS)?.moments();
    let event = libm::pow(1.0 + TAU * columns as f64 * variance, -0.5 * free as f64);
    let cut = TAILS * event;
    let one = entry(cut)?;
    let all = one.power(columns, cut)?;
    // Of what a Gaussian weight loses the probability falls as that of a normal law: of the points that fall on one, one counts.
    let turns = match law.as_double_geometric() {
        Some(_) => 0,
        None => libm::ceil(2.0 * law.scale() * libm::sqrt(-2.0 * libm::log(cut))) as usize + CHANGED,
    };
    let wide = 2 * (*one.support().end() as usize + 1);
    let side = (*all.support().end() as usize + 1).max(wide).max(turns).next_power_of_two();
    let left_out = free as f64 * (columns as f64 * one.lost() + all.lost());
    let fits = side.checked_pow(free as u32).is_some_and(|points| points <= MOST);
    Ok(fits.then_some((side, left_out)))
}

/// The columns of a table, as far as a torus holds them.
struct Torus {
    side: usize,
    free: usize,
    columns: usize,
    /// By point, in `side` steps a coordinate: the weight of a column, all together 1.
    weights: Vec<f64>,
}

impl Torus {
    fn new<L: IntegerLaw>(law: &L, side: usize, rows: usize, columns: usize) -> Self {
        let free = rows - 1;
        let weight: Vec<f64> = (0..(free * side) as i64).map(|z| libm::exp(law.log_weight(z))).collect();
        let half = side as i64 / 2;
        let mut torus = Self { side, free, columns, weights: Vec::new() };
        let of = |point: usize| {
            let column: Vec<i64> = (0..free).map(|i| torus.coordinate(point, i)).collect();
            if column.contains(&-half) {
                return 0.0;
            }
            let last: i64 = column.iter().sum();
            column.iter().chain([&last]).map(|z| weight[z.unsigned_abs() as usize]).product()
        };
        let weights: Vec<f64> = (0..side.pow(free as u32)).map(of).collect();
        let all: f64 = weights.iter().sum();
        torus.weights = weights.into_iter().map(|weight| weight / all).collect();
        torus
    }

    /// A coordinate of a point, from `-side/2` on.
    fn coordinate(&self, point: usize, i: usize) -> i64 {
        let place = point / self.side.pow(i as u32) % self.side;
        if 2 * place >= self.side { place as i64 - self.side as i64 } else { place as i64 }
    }

    /// The mean over all points of the torus: sums at 0.
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        (0..self.weights.len()).map(of).sum::<f64>() / self.weights.len() as f64
    }

    /// What the columns that do not change make of a transform.
    fn others(&self, transformed: f64) -> f64 {
        libm::pow(transformed.abs(), self.columns as f64 - 2.0)
            * if self.columns % 2 == 1 { transformed.signum() } else { 1.0 }
    }

    /// The weights of the losses `Σ |z - u| - |z|`, and the probability of the margins.
    fn by_sign(&self) -> (Vec<(i64, f64)>, f64) {
        let loss = |point: usize| {
            let [first, second] = [0, 1].map(|i| self.coordinate(point, i));
            (first - 1).abs() - first.abs() + (second + 1).abs() - second.abs()
        };
        let losses = [-2, 0, 2];
        let with = |own: i64| -> Vec<f64> {
            (0..self.weights.len())
                .map(|point| if loss(point) == own { self.weights[point] } else { 0.0 })
                .collect()
        };
        let parts = losses.map(|own| transform(&with(own), self.side, self.free));
        let others: Vec<f64> =
            (0..self.weights.len()).map(|k| self.others(parts.iter().map(|part| part[k].0).sum())).collect();
        let mut weights: Vec<(i64, f64)> = [-4, -2, 0, 2, 4].map(|loss| (loss, 0.0)).to_vec();
        for (one, a) in losses.iter().zip(&parts) {
            for (other, b) in losses.iter().zip(&parts) {
                let mean = self.mean(|k| (a[k].0 * b[k].0 + a[k].1 * b[k].1) * others[k]);
                weights[((one + other + 4) / 2) as usize].1 += mean;
            }
        }
        let event: f64 = weights.iter().map(|(_, weight)| weight).sum();
        (weights.into_iter().map(|(loss, weight)| (loss, (weight / event).max(0.0))).collect(), event)
    }

    /// The weights of the losses `Σ (z - u)² - z²` from 0 to one less than twice the size of the change, and the probability of the
    /// margins.
    fn by_product(&self) -> (Vec<f64>, f64) {
        let own = even_transform(&self.weights, self.side, self.free);
        let others: Vec<f64> = own.iter().map(|&own| self.others(own)).collect();
        let mask = self.side - 1;
        // The first two coordinates, moved by m and by -m.
        let moved = |k: usize, m: usize| {
            let (first, second) = (k & mask, (k / self.side) & mask);
            k - first - second * self.side
                + ((first + m) & mask)
                + ((second + self.side - m) & mask) * self.side
        };
        let characteristic =
            |m: usize| self.mean(|k| own[moved(k, m)] * own[moved(k, (self.side - m) & mask)] * others[k]);
        let values: Vec<f64> = (0..self.side).map(characteristic).collect();
        let law = even_transform(&values, self.side, 1);
        // Of the product <u, z> = v the loss is `‖u‖² - 2v`.
        let of = |loss: usize| match loss % 2 {
            0 => law[(CHANGED / 2).abs_diff(loss / 2)] / (self.side as f64 * values[0]),
            _ => 0.0,
        };
        ((0..2 * CHANGED).map(of).collect(), values[0])
    }
}
