//! The numbers that a law lives on.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// Errors of counts: all integers, or all reals.
#[derive(Debug, Clone, Copy)]
pub enum Errors<'a> {
    /// Errors that are integers.
    Integers(&'a [i64]),
    /// Errors that are reals.
    Reals(&'a [f64]),
}

/// An integer (`i64`) or a real (`f64`) noise value, in counts.
pub trait Value:
    Copy
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + Default
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// Stands for "no lower bound".
    const MIN_BOUND: Self;
    /// Stands for "no upper bound".
    const MAX_BOUND: Self;
    /// Whether values of this type are integers.
    const WHOLE: bool;
    /// Wraps values of this type as [`Errors`] of their kind.
    fn errors(values: &[Self]) -> Errors<'_>;
    /// Converts the value to a real number.
    fn to_f64(self) -> f64;
    /// Converts an exact count to a value.
    fn from_count(count: i64) -> Self;
    /// The closest value to a real number (itself, or the rounded integer).
    fn nearest(x: f64) -> Self;
    /// Sums values in their order.
    fn sum(values: &[Self]) -> Self;
    /// Whether `total` is the sum of `terms` parts: exactly for integers; for reals to the rounding of such a sum, `(terms +
    /// 2) 2^-52 magnitude`, where `magnitude` adds up the absolute values of whatever was summed to give the parts and the
    /// total, which may be much larger than they are.
    fn is_sum(total: Self, sum: Self, terms: usize, magnitude: f64) -> bool;
}

impl Value for i64 {
    const MIN_BOUND: Self = i64::MIN;
    const MAX_BOUND: Self = i64::MAX;
    const WHOLE: bool = true;
    fn errors(values: &[Self]) -> Errors<'_> {
        Errors::Integers(values)
    }
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn from_count(count: i64) -> Self {
        count
    }
    #[inline]
    fn nearest(x: f64) -> Self {
        // Adding 1.5 * 2^52 leaves no fraction: the sum is rounded to an integer, ties to even.
        const SHIFT: f64 = 6_755_399_441_055_744.0;
        if x.abs() < (1u64 << 51) as f64 { ((x + SHIFT) - SHIFT) as i64 } else { x as i64 }
    }
    #[inline]
    fn sum(values: &[Self]) -> Self {
        values.iter().sum()
    }
    fn is_sum(total: Self, sum: Self, _: usize, _: f64) -> bool {
        total == sum
    }
}

impl Value for f64 {
    const MIN_BOUND: Self = f64::NEG_INFINITY;
    const MAX_BOUND: Self = f64::INFINITY;
    const WHOLE: bool = false;
    fn errors(values: &[Self]) -> Errors<'_> {
        Errors::Reals(values)
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn from_count(count: i64) -> Self {
        count as f64
    }
    fn nearest(x: f64) -> Self {
        x
    }
    #[inline]
    fn sum(values: &[Self]) -> Self {
        // In fours: the compiler unrolls no sum whose order counts.
        let (fours, rest) = values.as_chunks::<4>();
        let mut sum = 0.0;
        for [a, b, c, d] in fours {
            sum += a;
            sum += b;
            sum += c;
            sum += d;
        }
        rest.iter().for_each(|value| sum += value);
        sum
    }
    fn is_sum(total: Self, sum: Self, terms: usize, magnitude: f64) -> bool {
        (total - sum).abs() <= (terms as f64 + 2.0) * f64::EPSILON * magnitude
    }
}
