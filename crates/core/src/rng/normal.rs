//! Standard normal draws, distribution function and quantile.

use super::{exponential::exponential, uniform::open01, ziggurat::Layers};
use rand::Rng;
use std::sync::LazyLock;

const TAIL: f64 = 3.654_152_885_361_009;
static LAYERS: LazyLock<Layers> = LazyLock::new(|| {
    let tail_area = libm::sqrt(std::f64::consts::FRAC_PI_2) * libm::erfc(TAIL / std::f64::consts::SQRT_2);
    let density = |x: f64| libm::exp(-0.5 * x * x);
    Layers::new(TAIL, TAIL * density(TAIL) + tail_area, density, |y| libm::sqrt(-2.0 * libm::log(y)))
});

/// Normal with mean 0 and variance 1, by the ziggurat method; the tail by Marsaglia (1964).
#[inline]
pub fn normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    let layers = &*LAYERS;
    loop {
        let word = rng.next_u64();
        let layer = (word & 0xff) as usize;
        let x = (word as i64 >> 11) as f64 * (1.0 / (1u64 << 52) as f64) * layers.edge[layer];
        if x.abs() < layers.edge[layer + 1] {
            return x;
        }
        if layer == 0 {
            loop {
                let beyond = exponential(rng) / TAIL;
                if 2.0 * exponential(rng) > beyond * beyond {
                    return (TAIL + beyond).copysign(x);
                }
            }
        }
        let (low, high) = (layers.height[layer], layers.height[layer + 1]);
        if low + (high - low) * open01(rng) < libm::exp(-0.5 * x * x) {
            return x;
        }
    }
}

/// `P(Z <= x)` of a standard normal.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The `x` with `P(Z <= x) = p`, for `0 < p < 1`, to about 16 digits.
///
/// Wichura (1988), Algorithm AS 241 (PPND16). Accurate in the lower tail down to `p` = 1e-300; for an
/// upper tail use the symmetry and pass the tail's own probability.
pub fn normal_quantile(p: f64) -> f64 {
    debug_assert!(p > 0.0 && p < 1.0);
    let ratio = |x: f64, num: &[f64; 8], den: &[f64; 8]| {
        let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |acc, &a| acc * x + a);
        horner(num) / horner(den)
    };
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180_625 - q * q, &CENTRE.0, &CENTRE.1);
    }
    let r = libm::sqrt(-libm::log(if q < 0.0 { p } else { 1.0 - p }));
    let x = if r <= 5.0 { ratio(r - 1.6, &MIDDLE.0, &MIDDLE.1) } else { ratio(r - 5.0, &FAR.0, &FAR.1) };
    x.copysign(q)
}

type Rational = ([f64; 8], [f64; 8]);
#[allow(clippy::excessive_precision)]
const CENTRE: Rational = (
    [
        3.387_132_872_796_366_608_0,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083_0e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061_0e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561_0e3,
    ],
);
#[allow(clippy::excessive_precision)]
const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_90,
        5.769_497_221_460_691_405_50,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_70e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_40e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_40,
        6.897_673_349_851_000_045_50e-1,
        1.481_039_764_274_800_745_90e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946_00e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);
#[allow(clippy::excessive_precision)]
const FAR: Rational = (
    [
        6.657_904_643_501_103_777_20,
        5.463_784_911_164_114_369_90,
        1.784_826_539_917_291_335_80,
        2.965_605_718_285_048_912_30e-1,
        2.653_218_952_657_612_309_30e-2,
        1.242_660_947_388_078_438_60e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_90e-1,
        1.369_298_809_227_358_053_10e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591_00e-4,
        1.846_318_317_510_054_681_80e-5,
        1.421_511_758_316_445_888_70e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for x in [-37.0, -12.5, -6.0, -2.0, -0.3, 0.0, 0.7, 1.9, 4.0] {
            let back = normal_quantile(normal_cdf(x));
            // Above 0 the probability itself is rounded near 1: error up to 1e-16 / density(x).
            let rounding = 2e-16 / (libm::exp(-0.5 * x * x) / 2.5066) * f64::from(u8::from(x > 0.0));
            assert!((back - x).abs() <= 1e-13 * x.abs().max(1.0) + rounding, "{x}: {back}");
        }
    }
}
