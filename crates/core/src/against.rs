//! Draws against the law of an oracle.

use crate::oracle::tables::TableLaw;
use crate::testing::ALPHA;

/// Asserts that draws have the law of an oracle: every entry and the norm, together at level ALPHA.
pub fn assert_oracle(draws: &[Vec<f64>], want: &TableLaw) {
    let norm: Vec<f64> = draws.iter().map(|z| z.iter().map(|z| z.abs()).sum()).collect();
    let entries = (0..want.entries.len()).map(|i| draws.iter().map(|z| z[i]).collect::<Vec<f64>>());
    let laws = want.entries.iter().chain([&want.norm]);
    let limit =
        (libm::log(2.0 * (want.entries.len() + 1) as f64 / ALPHA) / (2.0 * draws.len() as f64)).sqrt();
    for (i, (mut values, law)) in entries.chain([norm]).zip(laws).enumerate() {
        values.sort_by(f64::total_cmp);
        let distance = law.distance(&values);
        assert!(distance <= limit, "entry {} (the last is the norm): {distance}, limit {limit}", i + 1);
    }
}
