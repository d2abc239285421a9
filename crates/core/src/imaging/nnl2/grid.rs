//! The dyadic grid of results, and sizes that it follows from.

/// Results are multiples of `2^-GRID` as long as neither their size nor the equations ask for another grid.
pub(super) const GRID: u32 = 24;

/// The finest grid of any result, and of what [`super::Nnl2::check`] accepts.
pub(super) const FINEST: u32 = 50;

/// `2^bits`.
pub(super) fn power(bits: u32) -> f64 {
    (1u64 << bits) as f64
}

/// The nearest integer to a number within ±2^52, ties to even: in that range doubles beyond 2^52 are the integers.
pub(super) fn nearest(x: f64) -> f64 {
    let size = (x.abs() + power(52)) - power(52);
    size.copysign(x)
}

pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, z| m.max(z.abs()))
}

/// No coordinate of the projection is farther from 0: it is no longer than the noise.
pub(super) fn reach(u: &[f64]) -> f64 {
    1.0 + 1.001 * libm::sqrt(u.iter().map(|u| u * u).sum())
}

/// Bits of the grid: `wanted`, or fewer so that values up to `size` have at most 52 bits.
pub(super) fn grid(size: f64, wanted: u32) -> u32 {
    let integer = libm::ilogb(size.max(1.0)) + 1;
    wanted.min((52 - integer) as u32).min(FINEST)
}

pub(super) fn clamp(z: f64, lower: f64, upper: f64) -> f64 {
    z.max(lower).min(upper)
}
