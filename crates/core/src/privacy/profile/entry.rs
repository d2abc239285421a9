//! What the noise of one entry loses whose count changes.

use crate::law::IntegerLaw;

/// What noise z loses for a change by 1: `ln w(z)/w(z - 1)`.
pub(super) fn loss<L: IntegerLaw>(law: &L, z: i64) -> f64 {
    match law.as_double_geometric() {
        // All digits of the rate.
        Some(_) if z > 0 => -1.0 / law.scale(),
        Some(_) => 1.0 / law.scale(),
        None => (0.5 - z as f64) / (law.scale() * law.scale()),
    }
}

/// What all losses are multiples of, those of a change by 1 odd ones.
pub(super) fn unit<L: IntegerLaw>(law: &L) -> f64 {
    match law.as_double_geometric() {
        Some(_) => 1.0 / law.scale(),
        None => 0.5 / (law.scale() * law.scale()),
    }
}

/// What noise z loses for a change by x, in units: `|z - x| - |z|`, `(z - x)² - z²`.
pub(super) fn units<L: IntegerLaw>(law: &L, z: i64, x: i64) -> i64 {
    match law.as_double_geometric() {
        Some(_) => (z - x).abs() - z.abs(),
        None => x * (x - 2 * z),
    }
}

/// The largest loss of a change by 1.
pub(super) fn largest<L: IntegerLaw>(law: &L) -> f64 {
    law.as_double_geometric().map_or(f64::INFINITY, |_| 1.0 / law.scale())
}

/// What a change by 1 adds to the loss `‖u‖²` by which a Gaussian weight moves P to Q ([`super::translated`]); `None`: others
/// do not.
pub(super) fn square<L: IntegerLaw>(law: &L) -> Option<f64> {
    law.as_double_geometric().is_none().then(|| 2.0 * unit(law))
}
