//! Two rows of double geometric noise given the sums of their columns.

use crate::error::{Error, Result};
use crate::law::{DoubleGeometric, Law};
use crate::rng::{Rng, geometric, open01};

/// Entries of the transforms (8 bytes each).
const MAX_ENTRIES: f64 = (1u64 << 23) as f64;
/// What is called 0, relative to the largest.
const NOTHING: f64 = 1e-20;
/// Frequencies that are worked on at once.
const LANES: usize = 8;

/// The weight of two rows whose columns sum to `s`, and their law given that.
///
/// With `g_p(t) = w(t) w(p - t)` it is `T_2(s) = Σ_t Π_j g_(s_j)(t_j)` over `Σ_j t_j = 0`: by one discrete Fourier
/// transform of N frequencies `T_2(s) = (1/N) Σ_k Π_j ĝ_(s_j)(2πk/N)`. Measured from the middle of 0 and p, `ĝ_p` is
/// real, even in p and in the frequency, and since the `s_j` sum to 0 the shifts cancel:
///
/// `ĝ_p(θ) = a^p [Σ_(j=0…p) cos(θ(j - p/2)) + 2 Σ_(m>=1) a^(2m) cos(θ(m + p/2))]` for `p >= 0`.
///
/// N is beyond the reach of the sum of a row with the weights `w²`, which by the inequality of Cauchy and Schwarz bounds what the sum over
/// `Σ_j t_j = ±N, ±2N, …` adds: less than 1e-18 of that row's law, whatever s.
#[derive(Debug)]
pub(super) struct Pair {
    columns: usize,
    /// `a²`, and `1 + 2 a²/(1 - a²)`: the mass of `g_0`; each step further from 0 adds 1, relative to the top.
    square: f64,
    mass: f64,
    scale: f64,
    /// Powers of `a²`, until they are nothing.
    powers: Vec<f64>,
    /// Frequencies, a multiple of [`LANES`].
    frequencies: usize,
    /// By |s| and frequency: `ĝ`.
    transforms: Vec<f64>,
    /// By frequency: its weight over `T_2(0)`.
    weights: Vec<f64>,
}

impl Pair {
    /// Errors: [`Error::TooLarge`] where the transforms need more than 2^23 entries, with the largest scale that would do.
    pub(super) fn new(columns: usize, law: &DoubleGeometric) -> Result<Self> {
        let entries = |scale: f64| frequencies(columns, scale) * sums(scale);
        let needed = entries(law.scale());
        if needed > MAX_ENTRIES {
            // The scale that would do, to some digits.
            let (mut low, mut high) = (0.0, law.scale());
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if entries(middle) <= MAX_ENTRIES { low = middle } else { high = middle }
            }
            return Err(Error::TooLarge {
                what: format!(
                    "exact: margins of {columns} columns at the scale {} ({low:.0} would do)",
                    law.scale()
                ),
                needed: needed.min(1e18) as u64,
                limit: MAX_ENTRIES as u64,
                unit: "entries of transforms",
            });
        }
        let (frequencies, sums) = (frequencies(columns, law.scale()) as usize, sums(law.scale()) as usize);
        let side = 2 * frequencies - 1;
        // cos(πi/N), in which all phases are multiples.
        let cosines: Vec<f64> =
            (0..2 * side).map(|i| libm::cos(std::f64::consts::PI * i as f64 / side as f64)).collect();
        let a = law.ratio();
        let square = a * a;
        let mut transforms = vec![0.0; frequencies * sums];
        for k in 0..frequencies {
            let cos = |half: usize| cosines[k * half % (2 * side)];
            // sin(x) = cos(x - π/2): by the same table only where N is even, so computed.
            let sin = |half: usize| {
                let phase = k * half % (2 * side);
                libm::sin(std::f64::consts::PI * phase as f64 / side as f64)
            };
            let (re, im) = (cos(2), sin(2));
            let half = sin(1);
            let norm = (1.0 - square) * (1.0 - square) + 4.0 * square * half * half;
            let (even, odd) = (2.0 * square * (re - square) / norm, 2.0 * square * im / norm);
            // The sums over 0 … p, by p in turn.
            let mut flat = [1.0, 2.0 * cos(1)];
            let mut power = 1.0;
            for p in 0..sums {
                if p >= 2 {
                    flat[p % 2] += 2.0 * cos(p);
                }
                transforms[p * frequencies + k] = power * (flat[p % 2] + even * cos(p) - odd * sin(p));
                power *= a;
            }
        }
        let mut pair = Self {
            columns,
            square,
            mass: 1.0 + 2.0 * square / (1.0 - square),
            scale: 0.5 * law.scale(),
            powers: (0..)
                .map(|m| libm::exp(-2.0 * f64::from(m) / law.scale()))
                .take_while(|&p| p > NOTHING)
                .collect(),
            frequencies,
            transforms,
            weights: vec![2.0; frequencies],
        };
        pair.weights[0] = 1.0;
        let top = pair.ratio(&vec![0; columns]);
        pair.weights.iter_mut().for_each(|weight| *weight /= top);
        Ok(pair)
    }

    /// `T_2(s)/T_2(0)`, to rounding; `s` sums to 0.
    #[inline]
    pub(super) fn ratio(&self, sums: &[i64]) -> f64 {
        let n = self.frequencies;
        let last = self.transforms.len() / n;
        if sums.iter().any(|s| s.unsigned_abs() as usize >= last) {
            return 0.0;
        }
        let row = |s: i64| &self.transforms[s.unsigned_abs() as usize * n..][..n];
        // Lanes of fixed width, added up in a fixed order.
        let mut total = [0.0; LANES];
        for first in (0..n).step_by(LANES) {
            let mut product: [f64; LANES] = std::array::from_fn(|l| self.weights[first + l]);
            for &s in sums {
                let row = &row(s)[first..first + LANES];
                for l in 0..LANES {
                    product[l] *= row[l];
                }
            }
            for l in 0..LANES {
                total[l] += product[l];
            }
        }
        total.into_iter().sum()
    }

    /// The first row given the sums of the columns: `∝ Π_j g_(s_j)(t_j)` on `Σ_j t_j = 0`.
    ///
    /// All columns but the one with the widest law are drawn from their own `g`, which is even between 0 and s and falls geometrically
    /// outside; the last one follows and is accepted with `g/max g`.
    pub(super) fn first<R: Rng + ?Sized>(&self, rng: &mut R, sums: &[i64], first: &mut [i64]) {
        debug_assert_eq!(sums.len(), self.columns);
        let widest = (0..sums.len()).max_by_key(|&j| sums[j].abs()).expect("columns");
        loop {
            let mut rest = 0;
            for (j, (&s, t)) in sums.iter().zip(&mut *first).enumerate() {
                if j != widest {
                    *t = self.between(rng, s);
                    rest -= *t;
                }
            }
            first[widest] = rest;
            let s = sums[widest];
            let outside = (s.min(0) - rest).max(rest - s.max(0)).max(0);
            let keep = self.powers.get(outside as usize).copied().unwrap_or(0.0);
            if outside == 0 || open01(rng) < keep {
                return;
            }
        }
    }

    /// One entry with the weight `g_s`.
    #[inline]
    fn between<R: Rng + ?Sized>(&self, rng: &mut R, s: i64) -> i64 {
        let size = s.abs();
        let x = open01(rng) * (size as f64 + self.mass);
        let inside = size + 1;
        let t = if x < inside as f64 {
            (x as i64).min(size)
        } else {
            let beyond = 1 + geometric(rng, self.scale);
            // The side from what is left of the word.
            if x - inside as f64 > self.square / (1.0 - self.square) { size + beyond } else { -beyond }
        };
        if s < 0 { -t } else { t }
    }

    /// What [`Pair::ratio`] may be off by rounding.
    pub(super) fn rounding(&self) -> f64 {
        1e-16 * self.frequencies as f64
    }
}

/// Frequencies, a multiple of [`LANES`]: a row with the weights `w²` reaches N with less than [`NOTHING`] of what it
/// has at 0, by the bound of Chernoff, `P(S >= N) <= e^(-tN) E(e^(tS))`, for the best of some t.
fn frequencies(columns: usize, scale: f64) -> f64 {
    let rate = 2.0 / scale;
    let log_moment = |t: f64| {
        let over = |s: f64| libm::log(-libm::expm1(s - rate));
        2.0 * over(0.0) - over(t) - over(-t)
    };
    // At 0 it has at least the density of a normal law three times as wide.
    let spread = libm::sqrt(columns as f64 * 2.0) * (scale + 1.0);
    let depth = libm::log(10.0 * spread / NOTHING);
    let reach = |k: i32| {
        let t = rate * f64::from(k) / 64.0;
        (columns as f64 * log_moment(t) + depth) / t
    };
    let beyond = libm::ceil((1..64).map(reach).fold(f64::INFINITY, f64::min));
    let lanes = LANES as f64;
    libm::ceil((beyond + 1.0) / (2.0 * lanes)) * lanes
}

/// Sums of a column, from 0 on, that are not [`NOTHING`]: `(p + 2) a^p` bounds `ĝ_p/ĝ_0`.
fn sums(scale: f64) -> f64 {
    let depth = -libm::log(NOTHING);
    let mut p = scale * depth;
    for _ in 0..20 {
        p = scale * (depth + libm::log(p + 2.0));
    }
    libm::ceil(p) + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::HashMap;

    /// `Σ_t Π_j w(t_j) w(s_j - t_j)` over `Σ t = 0`: the sum itself, column by column.
    fn by_convolution(law: &DoubleGeometric, sums: &[i64]) -> f64 {
        let reach = (45.0 * law.scale()) as i64 + sums.iter().map(|s| s.abs()).sum::<i64>();
        let mut table: HashMap<i64, f64> = HashMap::from([(0, 1.0)]);
        for &s in sums {
            let mut next: HashMap<i64, f64> = HashMap::new();
            for (at, weight) in &table {
                for t in -reach..=reach {
                    let w = libm::exp(law.log_weight(t) + law.log_weight(s - t));
                    if w > 1e-25 && (at + t).abs() <= reach {
                        *next.entry(at + t).or_default() += weight * w;
                    }
                }
            }
            table = next;
        }
        table[&0]
    }

    #[test]
    fn transforms_give_the_sum() {
        for (scale, columns) in [(0.3, 3), (1.0, 2), (1.5, 4), (4.0, 3)] {
            let law = DoubleGeometric::new(scale).unwrap();
            let pair = Pair::new(columns, &law).unwrap();
            let top = by_convolution(&law, &vec![0; columns]);
            for shift in [0i64, 1, 2, 5, 17] {
                let mut sums: Vec<i64> = (0..columns as i64).map(|j| shift * (1 - j % 2) * (1 + j)).collect();
                sums[columns - 1] -= sums.iter().sum::<i64>();
                let (got, want) = (pair.ratio(&sums), by_convolution(&law, &sums) / top);
                assert!((got - want).abs() < 1e-14, "{scale} {sums:?}: {got} {want}");
            }
        }
    }

    /// The first row against its weights, listed.
    #[test]
    fn first_rows_have_their_law() {
        let law = DoubleGeometric::new(1.2).unwrap();
        let pair = Pair::new(3, &law).unwrap();
        let mut rng = test_stream(87);
        for sums in [[0, 0, 0], [3, -5, 2], [0, 1, -1]] {
            let weight = |t: [i64; 3]| -> f64 {
                libm::exp(t.iter().zip(&sums).map(|(&t, s)| law.log_weight(t) + law.log_weight(s - t)).sum())
            };
            let mut listed: HashMap<[i64; 3], f64> = HashMap::new();
            for x in -25..=25 {
                for y in -25..=25 {
                    listed.insert([x, y, -x - y], weight([x, y, -x - y]));
                }
            }
            let total: f64 = listed.values().sum();
            let mut seen: HashMap<[i64; 3], u64> = HashMap::new();
            let draws = 100_000;
            for _ in 0..draws {
                let mut first = [0; 3];
                pair.first(&mut rng, &sums, &mut first);
                *seen.entry(first).or_default() += 1;
            }
            let bins = listed.iter().map(|(t, w)| (seen.get(t).copied().unwrap_or(0), w / total));
            assert_frequencies(bins, draws);
        }
    }
}
