//! Times at which pairs and chains are looked at.

/// `1, 10^0.5, 10, …` up to a limit, rounded.
pub(in crate::study) fn half_decades(limit: u64) -> Vec<u64> {
    (0..38)
        .map(|k| libm::rint(libm::pow(10.0, 0.5 * f64::from(k))) as u64)
        .take_while(|&t| t <= limit)
        .collect()
}
