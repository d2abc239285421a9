//! The continuous law of a norm along a line, by its quantile.

use crate::rng::normal_cdf;
use std::sync::LazyLock;

/// Quantiles of the density `∝ exp(-rate √(a² + x²))` on the reals, from those of the standard normal.
///
/// With `κ = rate a` put `√(a² + x²) = a + y²/(2 rate)`, so that `x = y √(κ + y²/4)/rate` and y has the density
///
/// ```text
/// ∝ exp(-y²/2) g(y),   g(y) = (κ + y²/2)/√(κ + y²/4),
/// ```
///
/// normal for large κ. The `Φ(z)`-quantile y is odd in z, and `y/z` is smooth in z and in `1/(1 + κ)`: it is
/// tabled on a grid and interpolated by cubics, to [`error`].
#[derive(Debug)]
pub(super) struct NormQuantiles {
    /// `y/z` by row `1/(1 + κ) = (i - 1) STEP_W` and column `z = (j - 1) STEP_Z`.
    ratios: Vec<[f64; COLUMNS]>,
}

/// The least κ of the table.
pub(super) const LEAST_KAPPA: f64 = 0.25;
/// The largest |z| of the table.
pub(super) const REACH: f64 = 6.0;
/// Bound of the relative error of y (the tests compare it with quadrature: there is room for a factor of 1.9).
#[inline]
pub(super) fn error(z: f64, kappa: f64) -> f64 {
    let (square, heavy) = (z * z, 1.0 / (kappa * kappa));
    1e-8 + 1e-7 * heavy * heavy + 5e-11 * square * square * square
}

const STEP_Z: f64 = 1.0 / 32.0;
const STEP_W: f64 = 1.0 / 128.0;
/// One column before 0 and two beyond the reach.
const COLUMNS: usize = 196;
/// One row before 0 and two beyond the least κ.
const ROWS: usize = 107;

static QUANTILES: LazyLock<NormQuantiles> = LazyLock::new(NormQuantiles::new);

impl NormQuantiles {
    /// The table, made once: some milliseconds.
    pub fn tables() -> &'static Self {
        &QUANTILES
    }

    fn new() -> Self {
        let mut ratios: Vec<[f64; COLUMNS]> =
            (1..ROWS).map(|row| Self::row((row - 1) as f64 * STEP_W)).collect();
        // Cubics need a row beyond: that which continues the first four.
        let beyond = std::array::from_fn(|j| {
            4.0 * ratios[0][j] - 6.0 * ratios[1][j] + 4.0 * ratios[2][j] - ratios[3][j]
        });
        ratios.insert(0, beyond);
        Self { ratios }
    }

    /// One row of the table.
    fn row(w: f64) -> [f64; COLUMNS] {
        let mut ratios = [1.0; COLUMNS];
        if w == 0.0 {
            return ratios;
        }
        let law = Density { kappa: (1.0 - w) / w };
        let tails = law.tails();
        // At 0 the ratio of the densities; it is even in z.
        ratios[1] = tails[0] / (libm::sqrt(0.5 * std::f64::consts::PI) * law.at(0.0));
        let mut y = 0.0;
        for j in 2..COLUMNS {
            let z = (j - 1) as f64 * STEP_Z;
            y = law.quantile(&tails, 2.0 * normal_cdf(-z) * tails[0], y + STEP_Z * ratios[j - 1]);
            ratios[j] = y / z;
        }
        ratios[0] = ratios[2];
        ratios
    }

    /// The quantile y for κ >= [`LEAST_KAPPA`] and |z| <= [`REACH`].
    #[inline]
    pub fn quantile(&self, z: f64, kappa: f64) -> f64 {
        let (i, across) = cubic(1.0 / (STEP_W * (1.0 + kappa)));
        let (j, along) = cubic(z.abs() / STEP_Z);
        let mut sum = 0.0;
        for (row, weight) in self.ratios[i..i + 4].iter().zip(across) {
            let row = &row[j..j + 4];
            sum += weight * (row[0] * along[0] + row[1] * along[1] + (row[2] * along[2] + row[3] * along[3]));
        }
        z * sum
    }
}

/// The first of four places -1, 0, 1, 2 of a grid around `x >= 0`, and their weights in the cubic through them.
#[inline]
fn cubic(x: f64) -> (usize, [f64; 4]) {
    let i = x as usize;
    let f = x - i as f64;
    let (a, b, c) = (f + 1.0, f - 1.0, f - 2.0);
    (i, [f * b * c * (-1.0 / 6.0), a * b * c * 0.5, a * f * c * -0.5, a * f * b * (1.0 / 6.0)])
}

/// Width of a panel on which the density is integrated, and their number: up to exp(-72).
const PANEL: f64 = 0.125;
const PANELS: usize = 96;

/// The density of y, not normalised.
struct Density {
    kappa: f64,
}

impl Density {
    fn at(&self, y: f64) -> f64 {
        let square = y * y;
        libm::exp(-0.5 * square) * (self.kappa + 0.5 * square) / libm::sqrt(self.kappa + 0.25 * square)
    }

    /// The integral of the density between two points that are no further apart than a panel: Gauss and Legendre with
    /// five points.
    fn between(&self, from: f64, to: f64) -> f64 {
        const POINTS: [(f64, f64); 3] = [
            (0.0, 0.568_888_888_888_888_9),
            (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
            (0.906_179_845_938_664, 0.236_926_885_056_189_1),
        ];
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let sum: f64 = POINTS[1..]
            .iter()
            .map(|(x, w)| w * (self.at(middle - half * x) + self.at(middle + half * x)))
            .sum();
        half * (sum + POINTS[0].1 * self.at(middle))
    }

    /// The integrals of the density above the ends of the panels.
    fn tails(&self) -> Vec<f64> {
        let mut tails = vec![0.0; PANELS + 1];
        for j in (0..PANELS).rev() {
            tails[j] = tails[j + 1] + self.between(j as f64 * PANEL, (j + 1) as f64 * PANEL);
        }
        tails
    }

    /// Finds where the integral above is `tail`, by Newton's method from `start`.
    fn quantile(&self, tails: &[f64], tail: f64, start: f64) -> f64 {
        let mut y = start;
        for _ in 0..4 {
            let panel = (libm::ceil(y / PANEL) as usize).min(PANELS);
            let above = tails[panel] + self.between(y, panel as f64 * PANEL);
            y += (above / tail - 1.0) * tail / self.at(y);
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below the interpolated quantile the law has the mass of the normal, by quadrature between the points of the
    /// grid.
    #[test]
    fn interpolation_is_within_its_error() {
        let table = NormQuantiles::tables();
        for i in 0..120 {
            let kappa = LEAST_KAPPA * libm::pow(1.07, f64::from(i)) * 1.001;
            let law = Density { kappa };
            let tails = law.tails();
            for j in 0..(REACH / STEP_Z) as usize {
                let z = (j as f64 + 0.47) * STEP_Z;
                let y = table.quantile(z, kappa);
                let exact = law.quantile(&tails, 2.0 * normal_cdf(-z) * tails[0], y);
                let (off, error) = ((y / exact - 1.0).abs(), error(z, kappa));
                assert!(off <= error / 1.9, "kappa {kappa}, z {z}: off by {off:e} of it, bound {error:e}");
            }
        }
    }
}
