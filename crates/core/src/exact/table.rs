//! Probability tables on consecutive integers.

use crate::error::{Error, Result};
use crate::law::Law;
use crate::rng::{Rng, open01};

/// Truncation of one table: both tails together lose at most this fraction of the mass.
pub(crate) const TRUNCATION: f64 = 1e-18;
/// Entries of one table.
pub(super) const MAX_ENTRIES: usize = 1 << 18;

/// A probability table on `lo, lo + 1, …`, normalised after truncation.
///
/// All entries are sums and products of positive numbers: relative accuracy near 1e-16 each, in the
/// tails too.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::Table;
/// use congenial_core::law::{DoubleGeometric, Law};
///
/// let law = DoubleGeometric::new(1.0)?;
/// let one = Table::of_law(&law, i64::MIN, i64::MAX)?;
/// let two = one.convolve(&one)?; // the law of the sum of two draws
/// let (mean, variance) = two.moments();
/// assert!(mean.abs() < 1e-12 && (variance - 2.0 * law.variance()).abs() < 1e-12);
/// assert!(two.lost() < 1e-17);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    lo: i64,
    p: Vec<f64>,
    /// Total variation distance to the law that was meant: mass cut here and in the tables it came from.
    lost: f64,
    /// `ln` of the sum of the weights that were normalised away.
    log_mass: f64,
}

impl Table {
    /// Normalises and trims positive weights on `lo, lo + 1, …`; `lost`: mass lost before. Both tails together lose at
    /// most the fraction `cut`.
    ///
    /// Errors: [`Error::TooLarge`]; no weight above 0.
    pub(crate) fn from_weights(lo: i64, mut p: Vec<f64>, lost: f64, cut: f64) -> Result<Self> {
        let total: f64 = p.iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(nothing_left());
        }
        let ends = |weights: &mut dyn Iterator<Item = &f64>| {
            let mut mass = 0.0;
            let mut count = 0;
            for &weight in weights {
                if mass + weight > 0.5 * cut * total {
                    break;
                }
                mass += weight;
                count += 1;
            }
            (count, mass)
        };
        let (left, lost_left) = ends(&mut p.iter());
        let (right, lost_right) = ends(&mut p.iter().rev());
        p.truncate(p.len() - right);
        p.drain(..left);
        if p.len() > MAX_ENTRIES {
            return Err(too_large(p.len()));
        }
        let kept = total - lost_left - lost_right;
        for weight in &mut p {
            *weight /= kept;
        }
        let lost = lost + (lost_left + lost_right) / total;
        Ok(Self { lo: lo + left as i64, p, lost, log_mass: libm::log(total) })
    }

    /// An integer law on `floor <= z <= ceiling` (which contain 0, or a floor above it alone), truncated.
    /// [`Table::log_mass`] is then `ln P(floor <= z <= ceiling)`.
    ///
    /// Errors: [`Error::TooLarge`] if the scale asks for more than 2^18 entries.
    pub fn of_law<L: Law<Value = i64>>(law: &L, floor: i64, ceiling: i64) -> Result<Self> {
        Self::tilted(law, floor, ceiling, 0.0, TRUNCATION)
    }

    fn untilted<L: Law<Value = i64>>(law: &L, floor: i64, ceiling: i64, cut: f64) -> Result<Self> {
        let reach = reach(law);
        // A floor above 0 cuts the mode: relative to the floor the weights fall at least as fast.
        let hi = reach.max(floor.saturating_add(reach)).min(ceiling);
        let lo = (-reach).max(floor);
        let size = (hi - lo) as usize + 1;
        if size.max(2 * reach as usize) > 2 * MAX_ENTRIES {
            return Err(too_large(size.max(2 * reach as usize)));
        }
        let top = law.log_weight(lo.max(0));
        let weights = (lo..=hi).map(|z| libm::exp(law.log_weight(z) - top)).collect();
        let mut table = Self::from_weights(lo, weights, 0.0, cut)?;
        let one_side: f64 = (1..=reach).rev().map(|z| libm::exp(law.log_weight(z))).sum();
        table.log_mass += top - libm::log1p(2.0 * one_side);
        Ok(table)
    }

    /// An integer law on `floor <= z <= ceiling` with the weights `w(z) e^(tilt z)`; both tails together lose at most
    /// the fraction `cut`.
    ///
    /// Errors: [`Error::TooLarge`], also where the weights do not fall.
    pub(crate) fn tilted<L: Law<Value = i64>>(
        law: &L,
        floor: i64,
        ceiling: i64,
        tilt: f64,
        cut: f64,
    ) -> Result<Self> {
        if tilt == 0.0 && cut >= TRUNCATION {
            return Self::untilted(law, floor, ceiling, cut);
        }
        // Beyond so many powers of e both tails together hold less than the cut.
        let depth = 45.0f64.max(4.0 - libm::log(cut));
        let log_weight = |z: i64| law.log_weight(z) + tilt * z as f64;
        let side = |from: i64, step: i64, on: &dyn Fn(i64) -> bool| -> Result<i64> {
            let mut z = from;
            while z != (if step > 0 { ceiling } else { floor }) && on(z) {
                z += step;
                if (z - from).unsigned_abs() as usize > 2 * MAX_ENTRIES {
                    return Err(too_large(2 * MAX_ENTRIES + 1));
                }
            }
            Ok(z)
        };
        let zero = 0i64.clamp(floor, ceiling);
        let step = if tilt > 0.0 { 1 } else { -1 };
        let mode = side(zero, step, &|z| log_weight(z + step) > log_weight(z))?;
        let top = log_weight(mode);
        let lo = side(mode, -1, &|z| log_weight(z) > top - depth)?;
        let hi = side(mode, 1, &|z| log_weight(z) > top - depth)?;
        let weights = (lo..=hi).map(|z| libm::exp(log_weight(z) - top)).collect();
        let mut table = Self::from_weights(lo, weights, 0.0, cut)?;
        let one_side: f64 = (1..=reach(law)).rev().map(|z| libm::exp(law.log_weight(z))).sum();
        table.log_mass += top - libm::log1p(2.0 * one_side);
        Ok(table)
    }

    /// The law of the sum of two independent draws, by direct convolution: O(product of the lengths).
    ///
    /// Errors: [`Error::TooLarge`].
    pub fn convolve(&self, other: &Self) -> Result<Self> {
        self.convolve_within(other, TRUNCATION)
    }

    /// The law of the sum of two independent draws; both tails together lose at most the fraction `cut`.
    pub(super) fn convolve_within(&self, other: &Self, cut: f64) -> Result<Self> {
        let p = convolution(&self.p, &other.p)?;
        let mut table = Self::from_weights(self.lo + other.lo, p, self.lost + other.lost, cut)?;
        table.log_mass += self.log_mass + other.log_mass;
        Ok(table)
    }

    /// The law of the sum of so many independent draws, one or more; both tails of each sum together lose at most the fraction `cut`.
    ///
    /// Errors: [`Error::TooLarge`].
    pub(crate) fn power(&self, many: usize, cut: f64) -> Result<Self> {
        if many <= 1 {
            return Ok(self.clone());
        }
        let half = self.power(many / 2, cut)?;
        let even = half.convolve_within(&half, cut)?;
        if many.is_multiple_of(2) { Ok(even) } else { even.convolve_within(self, cut) }
    }

    /// The law of a draw that is kept with probability `w(z)`.
    pub(crate) fn weighted<L: Law<Value = i64>>(&self, law: &L, cut: f64) -> Result<Self> {
        let weights = self.support().zip(&self.p).map(|(z, p)| p * libm::exp(law.log_weight(z))).collect();
        let mut table = Self::from_weights(self.lo, weights, self.lost, cut)?;
        table.log_mass += self.log_mass;
        Ok(table)
    }

    /// The integers with an entry.
    pub fn support(&self) -> std::ops::RangeInclusive<i64> {
        self.lo..=self.lo + self.p.len() as i64 - 1
    }

    /// The probability `P(z)`; 0 outside the support.
    #[inline]
    pub fn at(&self, z: i64) -> f64 {
        self.p.get(z.wrapping_sub(self.lo) as usize).copied().unwrap_or(0.0)
    }

    /// Bound on the total variation distance to the law that was meant.
    pub fn lost(&self) -> f64 {
        self.lost
    }

    /// `ln` of the probability that all terms kept their bounds: what normalising divided by.
    pub fn log_mass(&self) -> f64 {
        self.log_mass
    }

    /// The entries, from the first of the support on.
    pub(crate) fn entries(&self) -> &[f64] {
        &self.p
    }

    /// Multiplies all entries.
    pub(super) fn scale(&mut self, factor: f64) {
        self.p.iter_mut().for_each(|p| *p *= factor);
        self.log_mass -= libm::log(factor);
    }

    /// Adds the logarithms of what was divided by before.
    pub(super) fn add_log_mass(&mut self, more: f64) {
        self.log_mass += more;
    }

    /// Takes the weights as a whole law: nothing was cut but tails.
    pub(super) fn into_whole(mut self) -> Self {
        self.log_mass = 0.0;
        self
    }

    /// Mean and variance of the table.
    pub fn moments(&self) -> (f64, f64) {
        let mean: f64 = self.support().zip(&self.p).map(|(z, p)| z as f64 * p).sum();
        let variance =
            self.support().zip(&self.p).map(|(z, p)| (z as f64 - mean) * (z as f64 - mean) * p).sum();
        (mean, variance)
    }

    /// Draws one value, by inversion.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        let mut rest = open01(rng);
        for (z, p) in self.support().zip(&self.p) {
            rest -= p;
            if rest < 0.0 {
                return z;
            }
        }
        *self.support().end()
    }
}

/// A draw from the weights on a range that are known one by one, by [`zigzag`] from a likely place in it. `target`:
/// uniform below their sum.
#[inline]
pub(super) fn outwards(target: f64, from: i64, (lo, hi): (i64, i64), weight: impl Fn(i64) -> f64) -> i64 {
    let (mut above, mut below) = (from, from);
    let offset = zigzag(
        target,
        weight(from),
        || {
            above += 1;
            (above <= hi).then(|| weight(above))
        },
        || {
            below -= 1;
            (below >= lo).then(|| weight(below))
        },
    );
    from + offset
}

/// The smallest `z` with `w(z) < exp(-45)`: what lies beyond is below the truncation.
pub(crate) fn reach<L: Law<Value = i64>>(law: &L) -> i64 {
    let (mut inside, mut outside) = (0, 1i64);
    while law.log_weight(outside) >= -45.0 {
        (inside, outside) = (outside, 2 * outside);
    }
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        if law.log_weight(middle) >= -45.0 {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

/// `Σ_i a_i b_(k - i)`, by O(product of the lengths) multiplications. Errors: [`Error::TooLarge`].
pub(super) fn convolution(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    let size = a.len() + b.len() - 1;
    if size > 2 * MAX_ENTRIES {
        return Err(too_large(size));
    }
    let mut sums = vec![0.0; size];
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    for (i, x) in short.iter().enumerate() {
        for (sum, y) in sums[i..].iter_mut().zip(long) {
            *sum += x * y;
        }
    }
    Ok(sums)
}

pub(super) fn nothing_left() -> Error {
    Error::Unsupported {
        method: "exact",
        what: "these scales and counts".into(),
        reason: "a probability table leaves the range of numbers; line-gibbs serves them",
    }
}

pub(super) fn too_large(needed: usize) -> Error {
    Error::TooLarge {
        what: "exact: a probability table".into(),
        needed: needed as u64,
        limit: MAX_ENTRIES as u64,
        unit: "entries",
    }
}

/// Draws from the weights `w(mode), w(mode ± 1), …` given one by one, with `total` their sum: outwards
/// from the mode, so that the expected work is O(standard deviation).
///
/// `up` and `down` give the next weight on their side, or `None` at its end. Returns the signed offset
/// from the mode; the mode itself if rounding leaves some of `target` over.
#[inline]
pub(super) fn zigzag(
    mut target: f64,
    at_mode: f64,
    mut up: impl FnMut() -> Option<f64>,
    mut down: impl FnMut() -> Option<f64>,
) -> i64 {
    target -= at_mode;
    if target < 0.0 {
        return 0;
    }
    let (mut more_up, mut more_down) = (true, true);
    let mut offset = 0;
    while more_up || more_down {
        offset += 1;
        if more_up {
            match up() {
                Some(weight) => target -= weight,
                None => more_up = false,
            }
            if target < 0.0 {
                return offset;
            }
        }
        if more_down {
            match down() {
                Some(weight) => target -= weight,
                None => more_down = false,
            }
            if target < 0.0 {
                return -offset;
            }
        }
    }
    0
}
