//! Independent double geometric draws given their sum.

use super::composition;
use super::table::{TRUNCATION, Table, zigzag};
use crate::error::{Error, Result};
use crate::invariant::NO_LOWER;
use crate::law::{DoubleGeometric, Law};
use crate::rng::{Rng, open01};

/// Standard deviation of the sum of the minus parts beyond which nothing is drawn.
const MAX_SPREAD: f64 = (1u64 << 22) as f64;

/// `n` independent double geometric draws `z_1 … z_n`: the law of their sum and exact draws given it.
///
/// A double geometric is a difference of two geometrics. Given the sum `t`, the minus parts sum to `r`
/// with
///
/// `P(r | t) ∝ C(r + n - 1, n - 1) C(r + t + n - 1, n - 1) a^(2r)`, `r >= max(0, -t)`,
///
/// and are a uniform composition of `r`; the plus parts are a uniform composition of `r + t`. A draw
/// takes O(n + r) time.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::{GeometricSum, SplitScratch};
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let law = DoubleGeometric::new(2.0)?;
/// let sum = GeometricSum::new(&law, 5, None)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut parts = [0; 5];
/// sum.split(&mut rng, -3, &mut SplitScratch::default(), &mut parts);
/// assert_eq!(parts.iter().sum::<i64>(), -3);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GeometricSum {
    n: usize,
    square: f64,
    /// By `|t|`: the most likely `r` (for `t >= 0`) and its probability.
    modes: Vec<(u64, f64)>,
    /// By `|t|`: the logarithm of the sum's weight, up to a constant.
    log_sums: Vec<f64>,
    sum: Table,
}

impl GeometricSum {
    /// Prepares the sampler. `reach`: the largest `|t|` that will be asked for; `None` for all that the sum takes.
    ///
    /// Errors: no part, a support beyond 2^18 values, or a sum of the minus parts whose standard deviation, which a draw
    /// takes steps in proportion to, is beyond 2^22.
    pub fn new(law: &DoubleGeometric, n: usize, reach: Option<u64>) -> Result<Self> {
        Self::tilted(law, n, reach, 0.0, TRUNCATION)
    }

    /// Prepares the sampler with the weights `e^(tilt t)` on the sum in its table, of which both tails together lose at
    /// most the fraction `cut`. Given their sum, the parts have the law that they have without a tilt.
    ///
    /// Errors: as [`GeometricSum::new`]; a tilt under which the sum has no law, one at or beyond the rate.
    pub(super) fn tilted(
        law: &DoubleGeometric,
        n: usize,
        reach: Option<u64>,
        tilt: f64,
        cut: f64,
    ) -> Result<Self> {
        if n == 0 {
            return Err(Error::parameter("number of parts", n, ">= 1"));
        }
        let a = law.ratio();
        let ratio = Ratio { n: n as f64, square: a * a };
        // Given t = 0, r is as likely as any near its mode within about sqrt(n/8) lambda of it.
        let spread = libm::sqrt(n as f64 / 8.0) * law.scale();
        if spread > MAX_SPREAD {
            return Err(Error::TooLarge {
                what: format!("exact: the sum of the positive parts of {n} entries"),
                needed: spread as u64,
                limit: MAX_SPREAD as u64,
                unit: "counts of standard deviation",
            });
        }
        // The mode of r moves upwards as |t| falls: start at t = 0 and go up, all weights relative to
        // the joint weight P(r, t) at the first mode, so that no factorial is needed.
        let mut mode = ratio.first_mode(a);
        let (lean, depth) = (tilt.abs(), 50.0f64.max(8.0 - libm::log(cut)));
        let mut top = f64::NEG_INFINITY;
        let mut modes = Vec::new();
        let mut weights = Vec::new();
        let mut log_weight = 0.0f64;
        for t in 0..=reach.unwrap_or(u64::MAX) {
            let sum = ratio.sum(mode, t);
            modes.push((mode, 1.0 / sum));
            weights.push(log_weight + libm::log(sum));
            let tilted = weights[t as usize] + lean * t as f64;
            top = top.max(tilted);
            if tilted < top - depth && reach.is_none() {
                break;
            }
            if t > (1 << 18) {
                return Err(Error::TooLarge {
                    what: "exact: the sum of the leaves of one node".into(),
                    needed: t,
                    limit: 1 << 18,
                    unit: "values",
                });
            }
            // From (r, t) to (r, t + 1), then down to the mode there.
            log_weight += libm::log(a * (mode + t + n as u64) as f64 / (mode + t + 1) as f64);
            while mode > 0 && ratio.up(mode - 1, t + 1) < 1.0 {
                mode -= 1;
                log_weight -= libm::log(ratio.up(mode, t + 1));
            }
        }
        let last = modes.len() as i64 - 1;
        // Without a tilt the first weight is the largest.
        let p = (-last..=last)
            .map(|t| libm::exp(weights[t.unsigned_abs() as usize] + tilt * t as f64 - top))
            .collect();
        let sum = Table::from_weights(-last, p, 0.0, cut)?.into_whole();
        Ok(Self { n, square: ratio.square, modes, log_sums: weights, sum })
    }

    /// The law of the sum, on the values within reach.
    pub fn sum(&self) -> &Table {
        &self.sum
    }

    /// At most what draws in which a part lies below `floor` <= 0 add to the weight of `t` in the table, which has the given
    /// tilt: `n Σ_(k > -floor) a^k G(t + k)` with `G(y)`, the weight of a sum y, in the place of that of n - 1 parts.
    pub(super) fn beyond_floor(&self, law: &DoubleGeometric, floor: i64, tilt: f64, t: i64) -> f64 {
        if floor == NO_LOWER {
            return 0.0;
        }
        let first = 1 - floor;
        // G falls on both sides of 0.
        let nearest = (t + first).max(0);
        let parts = libm::log(self.n as f64) - law.rate() * first as f64 - libm::log1p(-law.ratio());
        libm::exp(parts + self.log_g(nearest) + tilt * t as f64 + self.log_scale(tilt))
    }

    /// At most the weights of the sums next to those of the table, which has the given tilt, in the table's scale.
    pub(super) fn beside(&self, tilt: f64) -> [f64; 2] {
        [self.sum.support().start() - 1, self.sum.support().end() + 1]
            .map(|t| libm::exp(self.log_g(t) + tilt * t as f64 + self.log_scale(tilt)).max(f64::MIN_POSITIVE))
    }

    /// `ln G` up to a constant; at least that for sums beyond those that were computed.
    fn log_g(&self, sum: i64) -> f64 {
        self.log_sums[(sum.unsigned_abs() as usize).min(self.log_sums.len() - 1)]
    }

    /// The constant that makes of `ln G(t) + tilt t` the logarithm of the table's entry.
    fn log_scale(&self, tilt: f64) -> f64 {
        let here = self.sum.support().start() + self.sum.entries().len() as i64 / 2;
        libm::log(self.sum.at(here)) - self.log_g(here) - tilt * here as f64
    }

    /// Draws the parts given that they sum to `t`, into `parts` (of length n).
    #[inline]
    pub fn split<R: Rng + ?Sized>(&self, rng: &mut R, t: i64, scratch: &mut SplitScratch, parts: &mut [i64]) {
        debug_assert_eq!(parts.len(), self.n);
        if self.n == 1 {
            parts[0] = t;
            return;
        }
        let size = t.unsigned_abs();
        let r = self.small_side(rng, size);
        // For t < 0 the roles of plus and minus change.
        let (plus, minus) = if t >= 0 { (r + size, r) } else { (r, r + size) };
        scratch.minus.resize(self.n, 0);
        composition::uniform(rng, plus, parts, &mut scratch.bars);
        composition::uniform(rng, minus, &mut scratch.minus, &mut scratch.bars);
        for (part, minus) in parts.iter_mut().zip(&scratch.minus) {
            *part -= minus;
        }
    }

    /// Draws `r` given `|t|`.
    #[inline]
    fn small_side<R: Rng + ?Sized>(&self, rng: &mut R, t: u64) -> u64 {
        let ratio = Ratio { n: self.n as f64, square: self.square };
        let (mode, p) = self.modes[t as usize];
        let (mut above, mut below) = (mode, mode);
        let (mut up, mut down) = (p, p);
        let offset = zigzag(
            open01(rng),
            p,
            || {
                up *= ratio.up(above, t);
                above += 1;
                (up > 1e-20).then_some(up)
            },
            || {
                if below == 0 {
                    return None;
                }
                below -= 1;
                down /= ratio.up(below, t);
                (down > 1e-20).then_some(down)
            },
        );
        mode.wrapping_add_signed(offset)
    }
}

/// Space for one split, reused from draw to draw.
#[derive(Debug, Clone, Default)]
pub struct SplitScratch {
    minus: Vec<i64>,
    bars: Vec<u64>,
}

/// Ratios of `P(r, t)`.
struct Ratio {
    n: f64,
    square: f64,
}

impl Ratio {
    /// `P(r + 1, t) / P(r, t)`.
    #[inline]
    fn up(&self, r: u64, t: u64) -> f64 {
        let (r, t) = (r as f64, t as f64);
        self.square * (r + self.n) * (r + t + self.n) / ((r + 1.0) * (r + t + 1.0))
    }

    /// The most likely `r` given `t = 0`; `a`: the ratio of the law.
    fn first_mode(&self, a: f64) -> u64 {
        // Up to rounding a (r + n) > r + 1 below the mode of t = 0.
        let mut mode = ((a * self.n - 1.0) / (1.0 - a)).max(0.0) as u64;
        while mode > 0 && self.up(mode - 1, 0) <= 1.0 {
            mode -= 1;
        }
        while self.up(mode, 0) > 1.0 {
            mode += 1;
        }
        mode
    }

    /// `Σ_r P(r, t) / P(mode, t)` with the mode of `r` given `t`; a side ends with its first term below 1e-20.
    #[inline]
    fn sum(&self, mode: u64, t: u64) -> f64 {
        let mut sum = 1.0;
        let mut weight = 1.0;
        for r in mode.. {
            weight *= self.up(r, t);
            sum += weight;
            if weight < 1e-20 {
                break;
            }
        }
        weight = 1.0;
        for r in (0..mode).rev() {
            weight /= self.up(r, t);
            sum += weight;
            if weight < 1e-20 {
                break;
            }
        }
        sum
    }
}
