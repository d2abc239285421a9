//! Exact integers: checked `i128`, or big integers when that overflows.

use crate::error::Error;
use dashu_int::IBig;
use dashu_int::ops::BitTest;
use std::cmp::Ordering;

/// Integer arithmetic in which an overflow is `None`.
pub(crate) trait Exact: Clone + PartialEq {
    fn of(x: i64) -> Self;
    fn to_i64(&self) -> Option<i64>;
    fn is_zero(&self) -> bool;
    fn is_negative(&self) -> bool;
    fn cmp_abs(&self, other: &Self) -> Ordering;
    /// Whether it is so large that nothing of 64 bits can be hoped for.
    fn is_hopeless(&self) -> bool;
    fn neg(&self) -> Option<Self>;
    fn add(&self, other: &Self) -> Option<Self>;
    fn mul(&self, other: &Self) -> Option<Self>;
    /// The quotient, rounded towards minus infinity; the divisor is > 0.
    fn div_floor(&self, divisor: &Self) -> Option<Self>;
    /// What [`Exact::div_floor`] leaves, >= 0; the divisor is > 0.
    fn rem(&self, divisor: &Self) -> Option<Self> {
        self.minus(&self.div_floor(divisor)?, divisor)
    }
    fn abs(&self) -> Option<Self> {
        if self.is_negative() { self.neg() } else { Some(self.clone()) }
    }
    /// `self - q other`.
    fn minus(&self, q: &Self, other: &Self) -> Option<Self> {
        self.add(&q.mul(other)?.neg()?)
    }
    /// The quotient, rounded to the nearest integer; the divisor is > 0.
    fn div_round(&self, divisor: &Self) -> Option<Self> {
        self.add(self)?.add(divisor)?.div_floor(&divisor.add(divisor)?)
    }
}

impl Exact for i128 {
    fn of(x: i64) -> Self {
        x.into()
    }
    fn to_i64(&self) -> Option<i64> {
        (*self).try_into().ok()
    }
    fn is_zero(&self) -> bool {
        *self == 0
    }
    fn is_negative(&self) -> bool {
        *self < 0
    }
    fn cmp_abs(&self, other: &Self) -> Ordering {
        self.unsigned_abs().cmp(&other.unsigned_abs())
    }
    fn is_hopeless(&self) -> bool {
        false
    }
    fn neg(&self) -> Option<Self> {
        self.checked_neg()
    }
    fn add(&self, other: &Self) -> Option<Self> {
        self.checked_add(*other)
    }
    fn mul(&self, other: &Self) -> Option<Self> {
        self.checked_mul(*other)
    }
    fn div_floor(&self, divisor: &Self) -> Option<Self> {
        self.checked_div_euclid(*divisor)
    }
    fn rem(&self, divisor: &Self) -> Option<Self> {
        self.checked_rem_euclid(*divisor)
    }
    fn minus(&self, q: &Self, other: &Self) -> Option<Self> {
        self.checked_sub(q.checked_mul(*other)?)
    }
}

impl Exact for IBig {
    fn of(x: i64) -> Self {
        x.into()
    }
    fn to_i64(&self) -> Option<i64> {
        self.try_into().ok()
    }
    fn is_zero(&self) -> bool {
        IBig::is_zero(self)
    }
    fn is_negative(&self) -> bool {
        *self < IBig::ZERO
    }
    fn cmp_abs(&self, other: &Self) -> Ordering {
        let size = |x: &IBig| if Exact::is_negative(x) { -x } else { x.clone() };
        size(self).cmp(&size(other))
    }
    fn is_hopeless(&self) -> bool {
        self.bit_len() > 1024
    }
    fn neg(&self) -> Option<Self> {
        Some(-self)
    }
    fn add(&self, other: &Self) -> Option<Self> {
        Some(self + other)
    }
    fn mul(&self, other: &Self) -> Option<Self> {
        Some(self * other)
    }
    fn div_floor(&self, divisor: &Self) -> Option<Self> {
        let quotient = self / divisor;
        let exact = &quotient * divisor == *self;
        Some(if Exact::is_negative(self) && !exact { quotient - IBig::ONE } else { quotient })
    }
}

/// Runs an algorithm on `i128`, and on big integers if that overflows.
///
/// Errors: a result that does not fit into `i64`.
macro_rules! exactly {
    ($what:literal, $run:ident($($argument:expr),*)) => {
        match $run::<i128>($($argument),*) {
            Some(done) => done,
            None => $run::<dashu_int::IBig>($($argument),*).expect("big integers do not overflow"),
        }
        .ok_or_else(|| $crate::lattice::exact::too_big($what))
    };
}
pub(super) use exactly;

pub(super) fn too_big(what: &str) -> Error {
    Error::Invariant(format!("{what}: an entry does not fit into 64 bits"))
}

/// The entries as `i64`.
pub(super) fn entries<T: Exact>(values: &[T]) -> Option<Vec<i64>> {
    values.iter().map(T::to_i64).collect()
}
