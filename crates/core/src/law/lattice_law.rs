//! Laws on a lattice of integer vectors: weights that depend on a norm.

use super::norm_line::{self, LEAST_KAPPA, NormQuantiles, REACH};
use super::{
    DiscreteGaussian, DoubleGeometric, EuclideanLaplace, Law, Line, LineLaw, Term, blocks, geometric_line,
    whole,
};
use crate::error::{Error, Result};
use crate::rng::normal_quantile;
use std::fmt::Debug;

/// A law `q(z) ∝ exp(-energy(Σ part(z_i)))` on integer vectors, restricted to some lattice.
///
/// The statistic `Σ part(z_i)` is an integer, so that chains can carry it without rounding.
pub trait LatticeLaw: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// Whether the weight is a product over entries.
    const FACTORISES: bool;
    /// What line draws look up.
    type Tables: Send + Sync + Debug;
    /// The scale parameter, in counts.
    fn scale(&self) -> f64;
    /// What one value adds to the statistic: `|z|` or `z²`. It is `z²` unless the law says otherwise, here and in the
    /// next two.
    #[inline]
    fn part(z: i64) -> i64 {
        z * z
    }
    /// What a value within ±2^13 adds to the statistic: [`LatticeLaw::part`] in 32 bits.
    #[inline]
    fn part_of_small(z: i16) -> i32 {
        i32::from(z) * i32::from(z)
    }
    /// The largest statistic by which every value must lie within ±`bound`.
    #[inline]
    fn most_within(bound: i64) -> i64 {
        bound * bound
    }
    /// `-ln q` up to a constant, as a function of the statistic; 0 at 0, increasing.
    fn energy(&self, sum: i64) -> f64;
    /// Builds the tables that line draws look up.
    fn tables(&self) -> Self::Tables;
    /// The `u`-quantile of `p(t) ∝ q(z + t b)` over the integers `first <= t <= last`, with `b` given by its non-zero
    /// coefficients.
    ///
    /// `at`: z and its statistic. `u`: in (0, 1). The result increases with `u`; with uniform `u` it has the law `p`.
    /// `within`: first <= 0 <= last;
    /// `i64::MIN` and `i64::MAX` for no bound.
    fn line(
        &self,
        tables: &Self::Tables,
        line: &mut Line<i64>,
        b: &[(u32, i32)],
        at: (&[i64], i64),
        within: (i64, i64),
        u: f64,
    ) -> i64;
    /// Scale of the double geometric coordinates of an over-dispersed start on a table of `entries`: twice the
    /// standard deviation that the law gives a free entry.
    fn start_scale(&self, entries: usize) -> f64;
    /// Refuses what could carry the statistic (of squares or of absolute values, see [`LatticeLaw::part`]) of `entries`
    /// values out of 64 bits: values of 100 scales, and those that coordinates of the start's scale or of a jump give
    /// on a basis.
    ///
    /// `widest`: the largest sum of absolute coefficients of a basis over one entry; `jump`: the largest jump of a
    /// coordinate; `unit`: whether lines have coefficients of ±1 alone. Along others a draw lists values, and widths
    /// are bounded as squares are.
    fn check_size(&self, entries: usize, widest: f64, jump: f64, unit: bool) -> Result<()> {
        let coordinate = (45.0 * self.start_scale(entries)).max(jump).max(1.0);
        let largest = 100.0 * self.scale() + widest * coordinate;
        let is_square = !unit || Self::most_within(2) == 4;
        let sum = if is_square { largest * largest } else { largest } * entries as f64;
        if sum < (1u64 << 62) as f64 {
            Ok(())
        } else {
            let parts = if is_square { "squares" } else { "absolute values" };
            Err(Error::TooLarge {
                what: format!("a sum of {entries} {parts} of values up to {largest:.0}"),
                needed: libm::ceil(libm::log2(sum)) as u64,
                limit: 62,
                unit: "bits",
            })
        }
    }
}

impl LatticeLaw for DoubleGeometric {
    const FACTORISES: bool = true;
    fn start_scale(&self, _: usize) -> f64 {
        2.0 * Law::scale(self)
    }
    type Tables = <Self as LineLaw>::Tables;
    fn scale(&self) -> f64 {
        Law::scale(self)
    }
    #[inline]
    fn part(z: i64) -> i64 {
        z.abs()
    }
    #[inline]
    fn part_of_small(z: i16) -> i32 {
        i32::from(z).abs()
    }
    #[inline]
    fn most_within(bound: i64) -> i64 {
        bound
    }
    #[inline]
    fn energy(&self, sum: i64) -> f64 {
        sum as f64 * self.rate()
    }
    fn tables(&self) -> Self::Tables {
        <Self as LineLaw>::tables(&[*self])
    }

    /// Draws in closed form where all coefficients of `b` are ±1, else by search: O(lambda).
    #[inline]
    fn line(
        &self,
        tables: &Self::Tables,
        line: &mut Line<i64>,
        b: &[(u32, i32)],
        (z, sum): (&[i64], i64),
        within: (i64, i64),
        u: f64,
    ) -> i64 {
        if within == (i64::MIN, i64::MAX)
            && let Some(t) = geometric_line::free_line(tables, b, z, u)
        {
            return t;
        }
        line.terms.clear();
        let mut unit = true;
        for &(entry, coefficient) in b {
            unit &= coefficient.abs() == 1;
            line.terms.push(Term { level: 0, at: z[entry as usize] * i64::from(coefficient) });
        }
        if unit {
            return <Self as LineLaw>::line(tables, line, within.0, within.1, u);
        }
        let outside = sum - b.iter().map(|&(entry, _)| z[entry as usize].abs()).sum::<i64>();
        let inside =
            |t: i64| b.iter().map(|&(entry, c)| (z[entry as usize] + i64::from(c) * t).abs()).sum::<i64>();
        search(line, within, u, |t| self.energy(outside + inside(t)))
    }
}

impl LatticeLaw for DiscreteGaussian {
    const FACTORISES: bool = true;
    fn start_scale(&self, _: usize) -> f64 {
        std::f64::consts::SQRT_2 * Law::scale(self)
    }
    type Tables = ();
    fn scale(&self) -> f64 {
        Law::scale(self)
    }
    #[inline]
    fn energy(&self, sum: i64) -> f64 {
        let sigma = Law::scale(self);
        0.5 * sum as f64 / (sigma * sigma)
    }
    fn tables(&self) {}
    fn line(
        &self,
        (): &(),
        _: &mut Line<i64>,
        b: &[(u32, i32)],
        (z, _): (&[i64], i64),
        within: (i64, i64),
        u: f64,
    ) -> i64 {
        let (square, product) = along(b, z);
        let centre = nearest_ratio(-product, square);
        let rest = -((product + centre * square) as f64) / square as f64;
        let sd = Law::scale(self) / libm::sqrt(square as f64);
        super::discrete_gaussian::quantile((centre, rest), sd, within, u)
    }
}

/// The integer next to `a / b`, for `b > 0`.
#[inline]
fn nearest_ratio(a: i64, b: i64) -> i64 {
    (a + (b >> 1)).div_euclid(b)
}

/// Squared norms whose weights are tabled: all that a law with epsilon >= 0.25 meets often.
const TABLED: usize = 1 << 17;

impl LatticeLaw for EuclideanLaplace {
    const FACTORISES: bool = false;
    /// Takes the norm to be near d/epsilon, and an entry to be near its share of it.
    fn start_scale(&self, entries: usize) -> f64 {
        libm::sqrt(2.0 * (entries as f64 + 1.0)) / self.rate()
    }
    type Tables = NormTables;
    fn scale(&self) -> f64 {
        1.0 / self.rate()
    }
    #[inline]
    fn energy(&self, sum: i64) -> f64 {
        // Rounded correctly by any processor, and many at once.
        self.rate() * (sum as f64).sqrt()
    }
    fn tables(&self) -> NormTables {
        let last = libm::pow(600.0 / self.rate(), 2.0);
        let size = if last < TABLED as f64 { last as usize + 1 } else { TABLED };
        let weights = (0..size).map(|sum| libm::exp(-self.energy(sum as i64))).collect();
        NormTables { weights, quantiles: NormQuantiles::tables() }
    }

    /// Draws from the quantile of the continuous law along the line where that decides, else by search: O(norm).
    #[inline]
    fn line(
        &self,
        tables: &NormTables,
        line: &mut Line<i64>,
        b: &[(u32, i32)],
        (z, sum): (&[i64], i64),
        (first, last): (i64, i64),
        u: f64,
    ) -> i64 {
        let (square, product) = along(b, z);
        let centre = nearest_ratio(-product, square);
        // From the place next to the centre: the square of the norm at t is least + t (2 product + t square).
        let least = sum + centre * (2 * product + centre * square);
        let product = product + centre * square;
        let (lo, hi) = (first.saturating_sub(centre), last.saturating_sub(centre));
        let form = Form { square, product, least };
        let t = tables.by_quantile(self.rate(), &form, (lo, hi), u);
        centre + t.unwrap_or_else(|| self.by_sum(&tables.weights, line, form, (lo, hi), u))
    }
}

/// The squared norm `least + t (2 product + t square)` along a line, from the place next to its least.
#[derive(Debug, Clone, Copy)]
struct Form {
    square: i64,
    product: i64,
    least: i64,
}

impl Form {
    /// The form with its steps counted from the place `t`.
    fn from(self, t: i64) -> Self {
        Self { product: self.product + t * self.square, least: self.at(t), ..self }
    }

    #[inline]
    fn at(&self, t: i64) -> i64 {
        self.least + t * (2 * self.product + t * self.square)
    }
}

impl EuclideanLaplace {
    /// The quantile from sums of weights: point by point while these are few, else by blocks.
    fn by_sum(&self, weights: &[f64], line: &mut Line<i64>, form: Form, (lo, hi): (i64, i64), u: f64) -> i64 {
        let mode = 0.clamp(lo, hi);
        let form = form.from(mode);
        let (lo, hi) = (lo.saturating_sub(mode), hi.saturating_sub(mode));
        let unit = 1.0 / (self.rate() * libm::sqrt(form.square as f64));
        let (square, product) = (form.square as f64, form.product as f64);
        let norm = libm::sqrt(form.least as f64);
        // The difference of two norms, from that of their squares.
        let log = |d: f64| {
            let more = d * (2.0 * product + d * square);
            -self.rate() * more / (norm + libm::sqrt((form.least as f64 + more).max(0.0)))
        };
        if unit < FEW_POINTS {
            let scale = weights.get(form.least as usize).map(|top| 1.0 / top);
            return mode
                + quantile(line, 0, (lo, hi), u, |t| match (scale, weights.get(form.at(t) as usize)) {
                    (Some(scale), Some(weight)) => weight * scale,
                    _ => libm::exp(log(t as f64)),
                });
        }
        let slope = self.rate() * product.abs() / norm.max(1.0);
        let sd = libm::sqrt(norm / (self.rate() * square));
        let scale = (2.0 * unit + 1.5 * sd).min(4.0 / slope);
        mode + blocks::quantile(|d| libm::exp(log(d)), (lo, hi), scale, u)
    }
}

/// Decay length along a line, in steps, up to which weights are summed one by one: some 100 of them.
const FEW_POINTS: f64 = 4.0;

/// What line draws of the l2 norm look up.
#[derive(Debug)]
pub struct NormTables {
    /// `exp(-epsilon sqrt(s))` by squared norm, as far as it does not underflow.
    weights: Vec<f64>,
    quantiles: &'static NormQuantiles,
}

impl NormTables {
    /// The quantile of `p(t) ∝ exp(-rate √(least + t (2 product + t square)))`, where the continuous law decides.
    #[inline]
    fn by_quantile(&self, rate: f64, form: &Form, (lo, hi): (i64, i64), u: f64) -> Option<i64> {
        // √square (t - rest) is the distance from the line's point next to the origin, a² that of this point.
        let (square, product) = (form.square as f64, form.product as f64);
        let rest = -product / square;
        let length = libm::sqrt(square);
        let a = libm::sqrt(form.least as f64 - product * product / square);
        let kappa = rate * a;
        let width = a / length;
        let sd = width / libm::sqrt(kappa);
        if !(kappa >= LEAST_KAPPA && sd >= whole::LEAST && width >= LEAST_WIDTH) {
            return None;
        }
        let z = normal_quantile(u);
        let y = self.quantiles.quantile(z.clamp(-REACH, REACH), kappa);
        let root = libm::sqrt(kappa + 0.25 * y * y);
        let unit = 1.0 / (rate * length);
        let slope = y * root / (kappa + 0.5 * y * y) / unit;
        let x = rest + y * root * unit - slope / 24.0;
        // Beyond 9 of y there is less than 1e-16 of the law.
        let reach = 9.0 * unit * libm::sqrt(kappa + 20.25);
        if z.abs() >= REACH || (lo as f64) > -reach || (hi as f64) < reach {
            return None;
        }
        let error = whole::error(z, sd, 1.0 / kappa) + 2.0 * (x - rest).abs() * norm_line::error(z, kappa);
        whole::whole(x, error)
    }
}

/// Least distance of the line from the origin, in steps of the line: below it a sum is no integral.
const LEAST_WIDTH: f64 = 4.0;

/// `Σ b²` and `Σ b z`.
#[inline]
fn along(b: &[(u32, i32)], z: &[i64]) -> (i64, i64) {
    b.iter().fold((0, 0), |(square, product), &(entry, c)| {
        let c = i64::from(c);
        (square + c * c, product + c * z[entry as usize])
    })
}

/// The least of a convex function and where it is, from 0 by strides that double, then halve, to either side in turn: a long stride
/// may lead beyond.
pub(crate) fn downhill<E: PartialOrd>(energy: impl Fn(i64) -> E) -> (i64, E) {
    let (mut mode, mut least) = (0, energy(0));
    let (mut side, mut exhausted) = (1i64, 0);
    while exhausted < 2 {
        let (mut stride, from) = (1i64, mode);
        loop {
            let next = energy(mode + side * stride);
            if next < least {
                (mode, least) = (mode + side * stride, next);
                stride *= 2;
            } else if stride > 1 {
                stride /= 2;
            } else {
                break;
            }
        }
        exhausted = if mode == from { exhausted + 1 } else { 1 };
        side = -side;
    }
    (mode, least)
}

/// The `u`-quantile of `p(t) ∝ exp(-energy(t))` on `first <= t <= last` (which contain 0) for a convex energy.
fn search(line: &mut Line<i64>, within: (i64, i64), u: f64, energy: impl Fn(i64) -> f64) -> i64 {
    let inside = |t: i64| within.0 <= t && t <= within.1;
    let energy = |t: i64| if inside(t) { energy(t) } else { f64::INFINITY };
    let (mode, least) = downhill(energy);
    quantile(line, mode, within, u, |t| libm::exp(least - energy(t)))
}

/// The `u`-quantile of `p(t) ∝ weight(t)`, log-concave with weight 1 at its mode: weights are summed from there to
/// both sides until they fall below 1e-20 or the interval ends.
#[inline]
fn quantile(
    line: &mut Line<i64>,
    mode: i64,
    (first, last): (i64, i64),
    u: f64,
    weight: impl Fn(i64) -> f64,
) -> i64 {
    const LEAST: f64 = 1e-20;
    let weights = &mut line.weights;
    weights.clear();
    let (mut left, mut below) = (mode, 0.0);
    while left > first {
        let next = weight(left - 1);
        if next < LEAST {
            break;
        }
        left -= 1;
        below += next;
        weights.push(next);
    }
    weights.reverse();
    weights.push(1.0);
    let (mut right, mut above) = (mode, 0.0);
    while right < last {
        let next = weight(right + 1);
        if next < LEAST {
            break;
        }
        right += 1;
        above += next;
        weights.push(next);
    }
    let mut rest = u * (below + 1.0 + above);
    for (t, weight) in (left..).zip(&*weights) {
        rest -= weight;
        if rest < 0.0 {
            return t;
        }
    }
    right
}
