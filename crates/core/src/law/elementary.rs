//! Exponential and logarithm for line draws: by tables, without a branch that depends on the argument.
//!
//! A draw waits for each of them, and their arguments are nothing that a processor could predict. Both are plain IEEE
//! arithmetic, the same on every machine.

use std::sync::LazyLock;

/// Entries of each table.
const SIZE: usize = 128;

static TABLES: LazyLock<Elementary> = LazyLock::new(Elementary::new);

/// Tables of `2^(-j/128)`, and of the middles of 128 parts of [1, 2): `1/c` and `ln c`.
#[derive(Debug)]
pub(super) struct Elementary {
    powers: [f64; SIZE],
    middles: [(f64, f64, f64); SIZE],
}

/// Adding 1.5 * 2^52 leaves no fraction, and the integer in the low bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts: the first times any integer below 2^20 is exact.
const LN2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);

impl Elementary {
    fn new() -> Self {
        let middle = |j: usize| 1.0 + (2.0 * j as f64 + 1.0) / (2.0 * SIZE as f64);
        Self {
            powers: std::array::from_fn(|j| libm::exp2(-(j as f64) / SIZE as f64)),
            middles: std::array::from_fn(|j| (middle(j), 1.0 / middle(j), libm::log(middle(j)))),
        }
    }

    /// The tables, made once.
    #[inline]
    pub fn tables() -> &'static Self {
        &TABLES
    }

    /// `exp(-x)` for `x >= 0` to 2^-51 of it; 0 from `x = 700` on.
    #[inline]
    pub fn exp_neg(&self, x: f64) -> f64 {
        let x_in = x.min(700.0);
        let shifted = x_in * (SIZE as f64 / std::f64::consts::LN_2) + SHIFT;
        let n = shifted.to_bits() as u32;
        let part = (shifted - SHIFT) * (1.0 / SIZE as f64);
        // |r| <= ln 2/256: the next term of the series is 1e-18.
        let r = (part * LN2.0 - x_in) + part * LN2.1;
        let r2 = r * r;
        let tail = r2 * ((0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0)));
        let power = self.powers[n as usize % SIZE];
        let y = power + power * (r + tail);
        let scaled = f64::from_bits(y.to_bits() - (u64::from(n) / SIZE as u64) * (1 << 52));
        if x >= 700.0 { 0.0 } else { scaled }
    }

    /// `ln x` for a normal `x > 0`, to 2^-52 max(1, |ln x|).
    #[inline]
    pub fn ln(&self, x: f64) -> f64 {
        let bits = x.to_bits();
        let exponent = ((bits >> 52) as i64 - 1023) as f64;
        let z = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
        let (middle, inverse, log) = self.middles[(bits >> 45) as usize % SIZE];
        // |r| <= 1/256: the next term of the series is 3e-18.
        let r = (z - middle) * inverse;
        let r2 = r * r;
        let tail = (-0.5 + r * (1.0 / 3.0)) + r2 * ((-0.25 + r * 0.2) + r2 * (-1.0 / 6.0));
        exponent * LN2.0 + (log + (exponent * LN2.1 + (r + r2 * tail)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::open01;

    #[test]
    fn as_libm_says() {
        let (tables, mut rng) = (Elementary::tables(), crate::testing::test_stream(1));
        let unit = f64::EPSILON;
        for i in 0..400_000 {
            let u = open01(&mut rng);
            let x = u * [1e-12, 1e-3, 1.0, 40.0, 699.9][i % 5];
            let (ours, theirs) = (tables.exp_neg(x), libm::exp(-x));
            assert!((ours - theirs).abs() <= 2.0 * unit * theirs, "exp(-{x}): {ours}, libm {theirs}");
            let x = [u, 1.0 - u * 1e-9, libm::exp(-700.0 * u), 1.0 + u, 1e300 * u][i % 5];
            let (ours, theirs) = (tables.ln(x), libm::log(x));
            assert!((ours - theirs).abs() <= unit * theirs.abs().max(1.0), "ln {x}: {ours}, libm {theirs}");
        }
        assert_eq!([0.0, 700.0, 1e9, f64::INFINITY].map(|x| tables.exp_neg(x)), [1.0, 0.0, 0.0, 0.0]);
    }
}
